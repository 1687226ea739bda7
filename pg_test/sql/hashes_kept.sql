-- simhash_keep_clusters() on hashes of more than 64 bits: after each of many statements drawn at random, the table of clusters is what
-- simhash_clusters finds afresh, at once and by notes, with indexes on all parts, on one and on none, within tenants and with decisions.
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA hashes_kept_test;
SET search_path = hashes_kept_test, public;

-- One of 12 pictures with up to 13 bits flipped: within 20 of each other are many, not all.
CREATE FUNCTION hash_of(i int) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(hashint8extended(abs(hashint4(i)) % 12, 10 + p) # CASE
		WHEN i % 5 = 0 THEN 0
		WHEN i % 3 = 0 AND p = 1 + i % 4 THEN (1::bigint << abs(hashint4extended(i, 1) % 14)::int) - 1
		WHEN i % 3 > 0 THEN (1::bigint << abs(hashint4extended(i, p) % 4)::int) - 1 ELSE 0 END ORDER BY p)
	FROM generate_series(1, 4) AS p
$$;
-- How many entries are too many or missing in a table of clusters, given the arguments of simhash_clusters behind the radius.
CREATE FUNCTION faults(cluster text, arguments text DEFAULT '') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('WITH stored AS (SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM %s) AS s
		WHERE size > 1),
		afresh AS MATERIALIZED (SELECT key, cluster_id FROM simhash_clusters(''picture'', ''id'', ''pdq'', 20, ''components''%s))
		SELECT (SELECT count(*) FROM (TABLE stored EXCEPT TABLE afresh) AS x) + (SELECT count(*) FROM (TABLE afresh EXCEPT TABLE stored) AS x)',
			cluster, arguments) INTO n;
	RETURN n;
END $$;
-- A statement drawn at random: rows come one by one or many at once, go, change, exchange hashes, lose them, and get another key.
CREATE FUNCTION step(i int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	x CONSTANT int := abs(hashint4extended(i, 77) % 1000);
	one CONSTANT int := 1 + x % 60;
BEGIN
	CASE abs(hashint4extended(i, 5) % 9)
		WHEN 0, 1 THEN INSERT INTO picture VALUES (one, x % 3, hash_of(x)) ON CONFLICT DO NOTHING;
		WHEN 2 THEN INSERT INTO picture SELECT x % 50 + k, k % 3, hash_of(x + k) FROM generate_series(1, 12) AS k
		ON CONFLICT (id) DO UPDATE SET pdq = excluded.pdq;
		WHEN 3 THEN DELETE FROM picture WHERE id = one;
		WHEN 4 THEN DELETE FROM picture WHERE id % 11 = x % 11;
		WHEN 5 THEN UPDATE picture SET pdq = hash_of(x + id) WHERE id % 7 = x % 7;
		WHEN 6 THEN UPDATE picture SET pdq = NULL WHERE id = one;
		WHEN 7 THEN UPDATE picture SET tenant = x % 3 WHERE id BETWEEN one AND one + 5;
		ELSE UPDATE picture AS a SET pdq = b.pdq FROM picture AS b WHERE a.id = one AND b.id = 61 - one;
	END CASE;
END $$;
CREATE FUNCTION run(cluster text, arguments text, first int, last int, refreshed boolean DEFAULT false, OUT steps int, OUT wrong bigint,
	OUT most_entries bigint) LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	wrong := 0; most_entries := 0; steps := 0;
	FOR i IN first .. last LOOP
		PERFORM step(i);
		IF refreshed THEN
			CONTINUE WHEN i % 4 <> 0;
			PERFORM simhash_refresh_clusters(cluster);
		END IF;
		steps := steps + 1;
		wrong := wrong + faults(cluster, arguments);
		EXECUTE format('SELECT count(*) FROM %s', cluster) INTO n;
		most_entries := greatest(most_entries, n);
	END LOOP;
END $$;

-- The clusters are right without an index, with one of one part, and with one of each part.
CREATE TABLE picture (id int PRIMARY KEY, tenant int, pdq bigint[]);
INSERT INTO picture SELECT k, k % 3, hash_of(k) FROM generate_series(1, 40) AS k;
SELECT simhash_keep_clusters('picture', 'id', 'pdq', 20);
SELECT count(*) > 10 AS some, faults('picture_cluster') AS wrong FROM picture_cluster;
SELECT * FROM run('picture_cluster', '', 1, 60);
CREATE INDEX ON picture USING simhash ((pdq[3]));
SELECT * FROM run('picture_cluster', '', 61, 120);
CREATE INDEX ON picture USING simhash ((pdq[1]));
CREATE INDEX ON picture USING simhash ((pdq[2]));
CREATE INDEX ON picture USING simhash ((pdq[4]));
SELECT * FROM run('picture_cluster', '', 121, 240);
-- Many equal ones, which come and go.
INSERT INTO picture SELECT 1000 + k, 0, '{5,6,7,8}' FROM generate_series(1, 300) AS k;
INSERT INTO picture VALUES (2000, 0, '{5,6,7,8}'), (2001, 0, '{5,6,7,9}');
DELETE FROM picture WHERE id BETWEEN 1001 AND 1100;
DELETE FROM picture WHERE id = 1200;
SELECT faults('picture_cluster') AS wrong, max(size) AS largest
FROM (SELECT count(*) AS size FROM picture_cluster GROUP BY cluster_id) AS c;
DELETE FROM picture WHERE id > 1000;
SELECT simhash_drop_clusters('picture_cluster');
-- Of tenants; by notes; both at once.
SELECT simhash_keep_clusters('picture', 'id', 'pdq', 20, within => '{tenant}', clusters => 'of_tenant');
SELECT simhash_keep_clusters('picture', 'id', 'pdq', 20, clusters => 'noted', refresh => 'manual');
SELECT * FROM run('of_tenant', ', within => ''{tenant}''', 241, 300);
SELECT * FROM run('noted', '', 301, 400, refreshed => true);
SELECT simhash_drop_clusters(c) FROM unnest('{of_tenant,noted}'::regclass[]) AS c;
-- What a person has decided.
CREATE TABLE decision (a int, b int, same boolean NOT NULL, PRIMARY KEY (a, b));
TRUNCATE picture;
INSERT INTO picture VALUES (1, 0, '{0,0,0,0}'), (2, 0, '{0,7,0,0}'), (3, 0, '{0,0,0,-1}');
SELECT simhash_keep_clusters('picture', 'id', 'pdq', 20, decisions => 'decision');
INSERT INTO decision VALUES (1, 2, false), (1, 3, true);
SELECT cluster_id, array_agg(key ORDER BY key) AS keys FROM picture_cluster GROUP BY 1 ORDER BY 1;
DELETE FROM decision;
SELECT cluster_id, array_agg(key ORDER BY key) AS keys FROM picture_cluster GROUP BY 1 ORDER BY 1;
SELECT simhash_drop_clusters('picture_cluster');
-- Without an index it warns, and says which one to make; a NULL part and another length end in errors.
DROP INDEX picture_pdq_idx, picture_pdq_idx1, picture_pdq_idx2, picture_pdq_idx3;
SET client_min_messages = warning;
SELECT simhash_keep_clusters('picture', 'id', 'pdq', 20, within => '{tenant}');
SET client_min_messages = error;
\set VERBOSITY terse
INSERT INTO picture VALUES (10, 0, '{1,NULL,3,4}');
INSERT INTO picture VALUES (10, 0, '{0,0,0}');
DROP SCHEMA hashes_kept_test CASCADE;
