-- simhash_pairs_between: every pair of a row of one relation and a row of another once, the same as brute force finds, whatever
-- the relations, the types of their keys and the memory.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA pairs_across;
SET search_path = pairs_across, public;

-- Two tables of near-copies of the same rows, with masses of equal rows on both sides, NULLs, and a hot key.
CREATE FUNCTION turned(fp bigint, seed bigint, n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(bit_xor(1::bigint << (abs(hashint8extended(i, seed)) % 64)::int), 0) # fp FROM generate_series(1, n) i
$$;
CREATE TABLE corpus (id int PRIMARY KEY, fp bigint, name text);
INSERT INTO corpus SELECT i, CASE
		WHEN i % 10 = 0 THEN NULL
		WHEN i > 1450 THEN 42
		WHEN i % 5 = 0 THEN hashint8extended(i, 2) & ((1::bigint << 32) - 1)
		ELSE hashint8extended(i / 3, 1) END, 'row ' || lpad((i * 7919 % 2003)::text, 4, '0')
FROM generate_series(1, 1500) i;
CREATE TABLE batch (number bigint PRIMARY KEY, print bigint, u uuid);
INSERT INTO batch SELECT i, CASE
		WHEN i % 11 = 0 THEN NULL
		WHEN i > 570 THEN 42
		WHEN i % 7 = 0 THEN hashint8extended(i, 3) & ((1::bigint << 32) - 1)
		ELSE turned(hashint8extended(i / 2, 1), i, i % 12) END, md5(i::text)::uuid
FROM generate_series(1, 600) i;

CREATE TABLE all_pairs AS SELECT x.number AS a, y.id AS b, bit_count((x.print # y.fp)::bit(64))::int AS distance FROM batch x, corpus y
	WHERE bit_count((x.print # y.fp)::bit(64)) <= 20;
CREATE FUNCTION brute_force(k int) RETURNS TABLE (a bigint, b bigint, distance int) LANGUAGE sql AS $$
	SELECT a, b, distance FROM pairs_across.all_pairs WHERE distance <= k
$$;
-- Pairs that one side has and the other has not, and pairs that come twice.
CREATE FUNCTION faults(k int) RETURNS TABLE (pairs bigint, missing bigint, wrong bigint, twice bigint) LANGUAGE sql AS $$
	WITH found AS MATERIALIZED (
		SELECT * FROM simhash_pairs_between('pairs_across.batch', 'number', 'print', 'pairs_across.corpus', 'id', 'fp', k)),
	wanted AS MATERIALIZED (SELECT * FROM pairs_across.brute_force(k))
	SELECT (SELECT count(*) FROM wanted),
		(SELECT count(*) FROM (SELECT * FROM wanted EXCEPT SELECT * FROM found) x),
		(SELECT count(*) FROM (SELECT * FROM found EXCEPT SELECT * FROM wanted) x),
		(SELECT count(*) - count(DISTINCT (a, b)) FROM found)
$$;
SELECT k, f.* FROM unnest('{0,1,2,3,4,5,6,7,8,20}'::int[]) k, faults(k) f;
-- With a worker that searches some of the branches, whatever the number of rows; the query itself is not parallel.
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 1e9;
SELECT k, f.* FROM unnest('{0,1,2,3,5,9}'::int[]) k, faults(k) f;
SET max_parallel_workers = 0;
SELECT k, f.* FROM faults(3) f, (SELECT 3) k (k);
RESET max_parallel_workers;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
SET work_mem = '64kB';
SELECT k, f.* FROM unnest('{0,3,8}'::int[]) k, faults(k) f;
RESET work_mem;
-- The default radius is 3; the sides the other way round; the join through the index says the same.
CREATE INDEX corpus_fp ON corpus USING simhash (fp);
CREATE FUNCTION same_as(k int, query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	same bool;
BEGIN
	EXECUTE format('WITH found AS MATERIALIZED (%s), wanted AS (SELECT * FROM pairs_across.brute_force($1))
		SELECT count(*) > 0 AND NOT EXISTS (SELECT * FROM found EXCEPT ALL SELECT * FROM wanted)
			AND NOT EXISTS (SELECT * FROM wanted EXCEPT ALL SELECT * FROM found) FROM found', query)
	INTO same USING k;
	RETURN same;
END $$;
SELECT same_as(3, $$SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'id', 'fp')$$) AS default_radius;
SELECT same_as(4, $$SELECT b, a, distance FROM simhash_pairs_between('corpus', 'id', 'fp', 'batch', 'number', 'print', 4)$$) AS other_way;
SELECT same_as(2, $$SELECT number, id, print <~> fp FROM batch JOIN corpus ON fp <~> print <= 2$$) AS join_through_the_index;
SELECT same_as(2, $$SELECT * FROM simhash_pairs_between(relation_a => 'batch', key_a => 'number', columns_a => 'print',
	relation_b => 'corpus', key_b => 'id', columns_b => 'fp', radius => 2)$$) AS named;
PREPARE untyped AS SELECT count(*) > 0 AS found FROM simhash_pairs_between($1, $2, $3, $4, $5, $6, $7);
EXECUTE untyped ('batch', 'number', 'print', 'corpus', 'id', 'fp', 1);

-- Of few rows against many with an index, it reads the near ones alone: on either side, with equal keys, in groups, of texts.
CREATE TABLE many AS SELECT i AS id, i % 3 AS part, turned(hashint8extended(i / 2, 7), i, i % 9) AS fp,
	'report ' || md5(i::text) || ' of ' || md5((i * 7)::text) AS body FROM generate_series(1, 20000) i;
CREATE TABLE few AS SELECT id, part, turned(fp, id, 1) AS fp, upper(body) AS body FROM many WHERE id % 1500 = 1;
INSERT INTO few VALUES (-1, 0, NULL, NULL), (-2, NULL, 42, '');
ANALYZE many, few;
CREATE FUNCTION few_and_many() RETURNS TABLE (way text, pairs bigint, sum numeric) LANGUAGE sql AS $$
	SELECT 'one side', count(*), sum(a * 7 + b * 3 + distance) FROM simhash_pairs_between('few', 'id', 'fp', 'many', 'id', 'fp', 3)
	UNION ALL SELECT 'other side', count(*), sum(b * 7 + a * 3 + distance)
	FROM simhash_pairs_between('many', 'id', 'fp', 'few', 'id', 'fp', 3)
	UNION ALL SELECT 'within', count(*), sum(a * 7 + b * 3 + distance)
	FROM simhash_pairs_between('few', 'id', 'fp', 'many', 'id', 'fp', 3, within => '{part}')
	UNION ALL SELECT 'texts', count(*), sum(a * 7 + b * 3 + distance)
	FROM simhash_pairs_between('few', 'id', 'body', 'many', 'id', 'body')
$$;
CREATE TABLE by_reading AS SELECT * FROM few_and_many();
CREATE INDEX many_fp ON many USING simhash (fp);
CREATE INDEX many_body ON many USING simhash (body);
BEGIN;
TABLE by_reading;
SELECT * FROM few_and_many() EXCEPT TABLE by_reading;
SELECT indexrelid::regclass, pg_stat_get_xact_numscans(indexrelid) > 0 AS is_used FROM pg_index WHERE indrelid = 'many'::regclass ORDER BY 1;
COMMIT;

-- Privileges on the named columns suffice.
CREATE ROLE pairs_across_reader;
GRANT USAGE ON SCHEMA pairs_across TO pairs_across_reader;
GRANT SELECT (id, fp) ON many, few TO pairs_across_reader;
SET ROLE pairs_across_reader;
SELECT count(*) FROM simhash_pairs_between('few', 'id', 'fp', 'many', 'id', 'fp', 3);
RESET ROLE;
DROP OWNED BY pairs_across_reader;
DROP ROLE pairs_across_reader;

-- Every radius, on rows among which are the ends of the range and equal ones. The same relation on both sides: then a
-- row is in a pair with itself, and two rows are in two pairs.
CREATE TABLE small AS SELECT i AS id, CASE i % 4 WHEN 0 THEN hashint8extended(i, 9) WHEN 1 THEN 0 WHEN 2 THEN -1
	ELSE turned(hashint8extended(i / 8, 9), i, i % 30) END AS fp FROM generate_series(1, 100) i;
CREATE TABLE small_pairs AS SELECT x.id::bigint AS a, y.id::bigint AS b, bit_count((x.fp # y.fp)::bit(64))::int AS distance
FROM small x, small y;
SELECT count(*) AS radii, sum((SELECT count(*) FROM (TABLE small_pairs) w WHERE distance <= k)) AS pairs,
	sum((SELECT count(*) FROM (SELECT * FROM simhash_pairs_between('small', 'id', 'fp', 'small', 'id', 'fp', k) EXCEPT ALL SELECT *
		FROM small_pairs WHERE distance <= k) w)) AS wrong,
	sum((SELECT count(*) FROM (SELECT * FROM small_pairs WHERE distance <= k EXCEPT ALL SELECT *
		FROM simhash_pairs_between('small', 'id', 'fp', 'small', 'id', 'fp', k)) w)) AS missing
FROM generate_series(0, 64) k;

-- Keys of other types, of each side its own.
SELECT same_as(4, $$SELECT x.number, y.id, p.distance
	FROM simhash_pairs_between('batch', key_type_a => NULL::uuid, columns_a => 'print', relation_b => 'corpus', key_type_b => NULL::text, columns_b => 'fp', key_a => 'u', key_b => 'name', radius => 4) p
	JOIN batch x ON x.u = p.a JOIN corpus y ON y.name = p.b$$) AS uuid_and_text;
SET work_mem = '64kB';
SELECT same_as(4, $$SELECT y.number, x.id, p.distance
	FROM simhash_pairs_between('corpus', key_type_a => NULL::text, columns_a => 'fp', relation_b => 'batch', key_type_b => NULL::uuid, columns_b => 'print', key_a => 'name', key_b => 'u', radius => 4) p
	JOIN corpus x ON x.name = p.a JOIN batch y ON y.u = p.b$$) AS text_and_uuid_in_files;
RESET work_mem;
SELECT same_as(3, $$SELECT p.a, y.id, p.distance
	FROM simhash_pairs_between('batch', key_type_a => NULL::bigint, columns_a => 'print', relation_b => 'corpus', key_type_b => NULL::text, columns_b => 'fp', key_a => 'number', key_b => 'name') p
	JOIN corpus y ON y.name = p.b$$) AS bigint_and_text;
SELECT DISTINCT pg_typeof(a) AS a, pg_typeof(b) AS b
FROM simhash_pairs_between('batch', key_type_a => NULL::bigint, columns_a => 'print', relation_b => 'corpus', key_type_b => NULL::int, columns_b => 'fp', key_a => 'number', key_b => 'id', radius => 0);
SELECT same_as(3, $$SELECT * FROM simhash_pairs_between('batch', key_type_a => NULL::numeric, columns_a => 'print', relation_b => 'corpus', key_type_b => NULL::numeric, columns_b => 'fp', key_a => 'number', key_b => 'id')$$) AS numeric;
-- Two keys that are not told apart are two rows.
CREATE TABLE twice (id text, fp bigint);
INSERT INTO twice VALUES ('a', 1), ('a', 1), ('b', 3);
SELECT * FROM simhash_pairs_between('twice', key_type_a => NULL::text, columns_a => 'fp', relation_b => 'twice', key_type_b => NULL::text, columns_b => 'fp', key_a => 'id', key_b => 'id', radius => 1) ORDER BY 1, 2, 3;

-- Views, partitions, nothing, a query through a view, the same rows under other names.
CREATE TABLE parts (id int, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (700);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (700) TO (9999);
INSERT INTO parts SELECT id, fp FROM corpus;
CREATE VIEW "the Batch" AS SELECT number + 0 AS "Number", print # 0 AS "the fp" FROM batch;
SELECT same_as(3, $$SELECT * FROM simhash_pairs_between('"the Batch"', 'Number', 'the fp', 'parts', 'id', 'fp')$$) AS view_and_partitions;
CREATE TEMP TABLE nothing (id int, fp bigint);
SELECT * FROM simhash_pairs_between('nothing', 'id', 'fp', 'corpus', 'id', 'fp');
SELECT * FROM simhash_pairs_between('corpus', 'id', 'fp', 'nothing', 'id', 'fp', 64);
-- Both are read under one snapshot, which sees the transaction's own changes.
BEGIN;
DELETE FROM batch WHERE number > 2;
UPDATE batch SET print = 42 WHERE number = 1;
SELECT a, count(*) FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'id', 'fp', 0) GROUP BY a ORDER BY a;
ROLLBACK;

-- Whose rows: the caller's, of both.
CREATE ROLE across_reader;
GRANT USAGE ON SCHEMA pairs_across TO across_reader;
GRANT SELECT ON corpus TO across_reader;
SET ROLE across_reader;
SELECT count(*) FROM simhash_pairs_between('corpus', 'id', 'fp', 'batch', 'number', 'print');
RESET ROLE;
GRANT SELECT ON batch, all_pairs TO across_reader;
CREATE POLICY few ON batch TO across_reader USING (number <= 100);
ALTER TABLE batch ENABLE ROW LEVEL SECURITY;
SET ROLE across_reader;
SELECT count(*) > 0 AS found, max(a) <= 100 AS own_rows, count(*) = (SELECT count(*) FROM brute_force(3) WHERE a <= 100) AS all_of_them
FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'id', 'fp');
RESET ROLE;
ALTER TABLE batch DISABLE ROW LEVEL SECURITY;

-- Errors.
SELECT * FROM simhash_pairs_between('batch', 'u', 'print', 'corpus', 'id', 'fp');
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'name', 'fp');
SELECT * FROM simhash_pairs_between('batch', key_type_a => NULL::uuid, columns_a => 'print', relation_b => 'corpus', key_type_b => NULL::smallint, columns_b => 'fp', key_a => 'u', key_b => 'id');
SELECT * FROM simhash_pairs_between('batch', 'number', 'u', 'corpus', 'id', 'fp');
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'id', 'name');
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'nope', 'fp');
SELECT * FROM simhash_pairs_between(NULL, 'number', 'print', 'corpus', 'id', 'fp');
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', NULL, 'id', 'fp');
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'id', NULL);
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'id', 'fp', 65);
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 4294967290::oid, 'id', 'fp');
CREATE TABLE keyless (id int, fp bigint);
INSERT INTO keyless VALUES (NULL, 42);
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'keyless', 'id', 'fp');
-- A type that is forgotten is no other argument.
\set VERBOSITY sqlstate
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'corpus');
SELECT * FROM simhash_pairs_between('batch', 'number', 'print', 'corpus', 'id');
\set VERBOSITY default

DROP OWNED BY across_reader;
DROP ROLE across_reader;
SET client_min_messages = warning;
DROP SCHEMA pairs_across CASCADE;
