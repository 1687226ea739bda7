-- A threshold that one can defend: the sample that simhash_record_sample draws, and what simhash_record_quality makes of its labels.
SET client_min_messages = warning;
SET extra_float_digits = 0;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA labels_test;
SET search_path = labels_test, public;

-- Of 900 people every third has a second record with a few errors; the truth is known.
CREATE TABLE person (id int PRIMARY KEY, name text, street text, phone text);
INSERT INTO person SELECT i, substr(md5(i || 'g'), 1, 4 + i % 5) || ' ' || substr(md5((i / 2) || 's'), 1, 8),
	substr(md5((i % 150) || 'r'), 1, 9) || ' ' || i % 40, (5550000 + i * 7919)::text
FROM generate_series(1, 900) i;
INSERT INTO person SELECT id + 1000, CASE WHEN id % 2 = 0 THEN overlay(name PLACING 'x' FROM 3) ELSE name END,
	CASE WHEN id % 5 < 3 THEN street ELSE substr(md5(id || 'moved'), 1, 9) END, CASE WHEN id % 7 < 4 THEN phone END
FROM person WHERE id % 3 = 0;
CREATE TABLE found AS SELECT * FROM simhash_record_pairs('person', 'id', 0);

-- Pairs of all steps, each once, with their similarity and values; strata as the report counts them.
CREATE TABLE labelled AS SELECT s.*, abs(a::int - b::int) = 1000 AS same FROM simhash_record_sample('person', 'id', size => 150) AS s;
SELECT count(*), count(DISTINCT (a, b)), bool_and(similarity >= stratum AND similarity < stratum + 0.0501), min(drawn) > 0 AS of_each
FROM labelled, (SELECT count(*) AS drawn FROM labelled GROUP BY stratum) AS s;
SELECT bool_and(stratum_pairs = (SELECT count(*) FROM found WHERE similarity >= stratum
	AND (similarity < stratum + 0.05 OR stratum = 0.95))) AS counts,
	sum(DISTINCT stratum * 1000000 + stratum_pairs) = (SELECT sum(floor(least(s, 0.95) * 20 + 1e-9) / 20 * 1000000 + n) FROM (
		SELECT floor(least(similarity, 0.95) * 20 + 1e-9) / 20 AS s, count(*) AS n FROM found GROUP BY 1) AS f) AS all_strata
FROM labelled;
SELECT bool_and(f.similarity = l.similarity AND values_a = ARRAY[x.name, x.street, x.phone] AND values_b = ARRAY[y.name, y.street, y.phone])
FROM labelled AS l LEFT JOIN found AS f ON f.a = least(l.a::int, l.b::int) AND f.b = greatest(l.a::int, l.b::int)
JOIN person AS x ON x.id::text = l.a JOIN person AS y ON y.id::text = l.b;
-- The seed and the keys decide, not the order of the rows.
CREATE TABLE again AS SELECT * FROM person ORDER BY md5(id::text);
SELECT count(*) AS differ FROM labelled AS l FULL JOIN simhash_record_sample('again', 'id', size => 150) AS s USING (a, b)
WHERE l.similarity IS NULL OR s.similarity IS NULL;
SELECT count(*) > 20 AS others FROM labelled AS l
RIGHT JOIN simhash_record_sample('person', 'id', size => 150, seed => 2) AS s USING (a, b) WHERE l.a IS NULL;
SELECT count(*), count(DISTINCT least(a, b)) FROM simhash_record_sample('person', 'id', one_to_one => true, size => 30);
SELECT count(*), bool_and(a::int <= 900 AND b::int > 900) FROM simhash_record_sample('person', 'id', '{name}', 'again', 'id', '{name}',
	size => 10000, rare => 1) WHERE a::int <= 900 AND b::int > 900;

-- Labels of all pairs leave no doubt, and say what the truth says.
CREATE TABLE whole AS SELECT s.*, abs(a::int - b::int) = 1000 AS same
FROM simhash_record_sample('person', 'id', size => 10000, rare => 5) AS s;
CREATE TABLE found_whole AS SELECT *, b - a = 1000 AS same FROM simhash_record_pairs('person', 'id', 0, rare => 5);
SELECT (SELECT count(*) FROM whole) = (SELECT count(*) FROM found_whole) AS all_pairs;
SELECT count(*) > 8 AS several, bool_and(abs(precision - p) < 1e-9 AND abs(precision_low - p) < 1e-9
	AND abs(precision_high - p) < 1e-9) AS precision,
	bool_and(abs(recall - r) < 1e-9 AND abs(recall_low - r) < 1e-9 AND abs(recall_high - r) < 1e-9) AS recall,
	bool_and(pairs = n AND labels = n) AS counts
FROM simhash_record_quality('whole'), LATERAL (SELECT count(*) AS n, avg(same::int) AS p,
	sum(same::int)::float8 / (SELECT count(*) FROM found_whole WHERE same) AS r
	FROM found_whole WHERE similarity >= threshold) AS t;
-- Of samples of 10 seeds 95 of 100 intervals hold the truth, and more labels make them shorter.
CREATE TABLE one AS SELECT 0 AS seed, s.*, false AS same FROM simhash_record_sample('person', 'id') AS s LIMIT 0;
CREATE FUNCTION held(size int, seed int) RETURNS TABLE (held int, length float8) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE one;
	INSERT INTO one SELECT seed, s.*, abs(s.a::int - s.b::int) = 1000
	FROM simhash_record_sample('person', 'id', size => size, seed => seed) AS s;
	RETURN QUERY SELECT (p BETWEEN precision_low - 1e-9 AND precision_high + 1e-9)::int + (r BETWEEN recall_low - 1e-9
		AND recall_high + 1e-9)::int,
		precision_high - precision_low + recall_high - recall_low
	FROM simhash_record_quality('one'), LATERAL (SELECT avg((b - a = 1000)::int) AS p,
		sum((b - a = 1000)::int)::float8 / (SELECT count(*) FROM found WHERE b - a = 1000) AS r FROM found WHERE similarity >= threshold) AS t;
END $$;
CREATE TABLE run AS SELECT size, h.* FROM generate_series(1, 10) AS seed, unnest(ARRAY[60, 240]) AS size, held(size, seed) AS h;
SELECT size, sum(held) >= 0.95 * 2 * count(*) AS hold FROM run GROUP BY size ORDER BY size;
SELECT avg(length) FILTER (WHERE size = 240) < avg(length) FILTER (WHERE size = 60) AS shorter FROM run;

-- What is no sample.
CREATE TABLE unlabelled AS SELECT s.*, NULL::boolean AS same FROM simhash_record_sample('person', 'id', size => 30) AS s;
SELECT bool_and(precision_low = 0 AND precision_high = 1 AND labels = 0) FROM simhash_record_quality('unlabelled');
SELECT count(*) FROM simhash_record_quality('again');
SELECT count(*) FROM simhash_record_quality(NULL);
UPDATE unlabelled SET stratum_pairs = stratum_pairs + 1
WHERE ctid = (SELECT min(ctid) FROM unlabelled WHERE stratum = (SELECT stratum FROM unlabelled GROUP BY 1
	HAVING count(*) > 1 ORDER BY 1 LIMIT 1));
SELECT count(*) FROM simhash_record_quality('unlabelled');
UPDATE unlabelled SET stratum = NULL;
SELECT count(*) FROM simhash_record_quality('unlabelled');
SELECT count(*) FROM simhash_record_sample('person', 'id', size => 0);
SELECT count(*) FROM simhash_record_sample('person', 'id', seed => NULL);
SELECT count(*) FROM simhash_record_sample('person', 'nope');
SET client_min_messages = error;
DROP SCHEMA labels_test CASCADE;
