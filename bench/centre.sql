\set n random(1, 10000)
SELECT fp AS q FROM centre WHERE n = :n \gset
