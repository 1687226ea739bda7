-- simhash_pairs: every pair once, the same as brute force finds, whatever the table, the key's type and
-- the memory.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA pairs_test;
SET search_path = pairs_test, public;

-- Fingerprints from a hash function of the server, so that they are the same everywhere: 2,000 of which
-- every second is an earlier one with up to 9 bits turned over, some equal, and a hot key.
CREATE FUNCTION turned(fp bigint, seed bigint, n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(bit_xor(1::bigint << (abs(hashint8extended(i, seed)) % 64)::int), 0) # fp FROM generate_series(1, n) i
$$;
CREATE TABLE t (id int PRIMARY KEY, fp bigint, name text, u uuid);
INSERT INTO t SELECT i, CASE
		WHEN i % 10 = 0 THEN NULL
		WHEN i % 2 = 0 THEN turned(hashint8extended(i / 7, 1), i, i % 11)
		WHEN i % 5 = 0 THEN hashint8extended(i, 2) & ((1::bigint << 32) - 1)
		ELSE hashint8extended(i / 7, 1) END,
	'row ' || lpad((i * 7919 % 2003)::text, 4, '0'), md5(i::text)::uuid
FROM generate_series(1, 2000) i;
-- A mass of equal rows.
UPDATE t SET fp = 42 WHERE id > 1900 AND fp IS NOT NULL;

CREATE TABLE all_pairs AS SELECT a.id AS a, b.id AS b, bit_count((a.fp # b.fp)::bit(64))::int AS distance FROM t a JOIN t b ON a.id < b.id
	WHERE bit_count((a.fp # b.fp)::bit(64)) <= 20;
CREATE FUNCTION brute_force(k int) RETURNS TABLE (a int, b int, distance int) LANGUAGE sql AS $$
	SELECT a, b, distance FROM pairs_test.all_pairs WHERE distance <= k
$$;
-- Pairs that one side has and the other has not, and pairs that come twice.
CREATE FUNCTION faults(k int) RETURNS TABLE (pairs bigint, missing bigint, wrong bigint, twice bigint) LANGUAGE sql AS $$
	WITH found AS MATERIALIZED (SELECT * FROM simhash_pairs('pairs_test.t', 'id', 'fp', k)),
	wanted AS MATERIALIZED (SELECT * FROM pairs_test.brute_force(k))
	SELECT (SELECT count(*) FROM wanted),
		(SELECT count(*) FROM (SELECT * FROM wanted EXCEPT SELECT * FROM found) x),
		(SELECT count(*) FROM (SELECT * FROM found EXCEPT SELECT * FROM wanted) x),
		(SELECT count(*) - count(DISTINCT (a, b)) FROM found)
$$;
SELECT k, f.* FROM generate_series(0, 9) k, faults(k) f;
SELECT f.* FROM faults(20) f;
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
-- The default radius is 3, and the plain self-join says the same.
CREATE INDEX t_fp ON t USING simhash (fp);
SELECT count(*) AS pairs, count(*) FILTER (WHERE j.id IS NULL) AS missing FROM simhash_pairs('t', 'id', 'fp') p
FULL JOIN (SELECT a.id, b.id AS other, a.fp <~> b.fp AS d FROM t a JOIN t b ON a.fp <~> b.fp <= 3 AND a.id < b.id) j
	ON (p.a, p.b, p.distance) = (j.id, j.other, j.d);

-- Keys of other types, in their own order.
CREATE FUNCTION same_as(k int, query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	same bool;
BEGIN
	EXECUTE format('WITH found AS MATERIALIZED (%s), wanted AS (SELECT least(a, b) AS a, greatest(a, b) AS b, d
		FROM pairs_test.brute_force($1) x (a, b, d))
		SELECT NOT EXISTS (SELECT * FROM found EXCEPT ALL SELECT * FROM wanted)
			AND NOT EXISTS (SELECT * FROM wanted EXCEPT ALL SELECT * FROM found)', query)
	INTO same USING k;
	RETURN same;
END $$;
SELECT same_as(4, $$SELECT least(x.id, y.id), greatest(x.id, y.id), p.distance FROM simhash_pairs('t', key_type => NULL::text, columns => 'fp', key => 'name', radius => 4) p
	JOIN t x ON x.name = p.a JOIN t y ON y.name = p.b WHERE p.a < p.b$$) AS text_keys;
SELECT same_as(4, $$SELECT least(x.id, y.id), greatest(x.id, y.id), p.distance FROM simhash_pairs('t', key_type => NULL::uuid, columns => 'fp', key => 'u', radius => 4) p
	JOIN t x ON x.u = p.a JOIN t y ON y.u = p.b WHERE p.a < p.b$$) AS uuid_keys;
SET work_mem = '64kB';
SELECT same_as(4, $$SELECT least(x.id, y.id), greatest(x.id, y.id), p.distance FROM simhash_pairs('t', key_type => NULL::text, columns => 'fp', key => 'name', radius => 4) p
	JOIN t x ON x.name = p.a JOIN t y ON y.name = p.b WHERE p.a < p.b$$) AS text_keys_in_files;
RESET work_mem;
SELECT same_as(3, $$SELECT * FROM simhash_pairs('t', key_type => NULL::int, columns => 'fp', key => 'id')$$) AS int_keys;
SELECT pg_typeof(a) AS a, pg_typeof(b) AS b FROM simhash_pairs('t', key_type => NULL::int, columns => 'fp', key => 'id') LIMIT 1;
SELECT same_as(3, $$SELECT * FROM simhash_pairs('t', key_type => NULL::numeric, columns => 'fp', key => 'id')$$) AS numeric_keys;
-- Types whose name alone means a single character or bit: the keys come back whole.
CREATE VIEW bits AS SELECT id, ('row ' || id)::bpchar AS padded, id::bit(12)::varbit AS bits, fp FROM t;
SELECT same_as(3, $$SELECT least(x.id, y.id), greatest(x.id, y.id), p.distance FROM simhash_pairs('t', key_type => NULL::bpchar, columns => 'fp', key => 'name') p
	JOIN t x ON x.name = p.a JOIN t y ON y.name = p.b$$) AS text_as_bpchar;
SELECT same_as(3, $$SELECT least(x.id, y.id), greatest(x.id, y.id), p.distance FROM simhash_pairs('bits', key_type => NULL::bit, columns => 'fp', key => 'bits') p
	JOIN bits x ON x.bits = p.a JOIN bits y ON y.bits = p.b$$) AS varbit_as_bit;
SELECT same_as(3, $$SELECT least(x.id, y.id), greatest(x.id, y.id), p.distance
	FROM simhash_pairs('bits', key_type => NULL::text, columns => 'fp', key => 'padded') p
	JOIN bits x ON x.padded = p.a JOIN bits y ON y.padded = p.b$$) AS bpchar_as_text;
-- Every radius: the fingerprints of a small table, among them the ends of the range and equal ones.
CREATE TABLE small AS SELECT i AS id, CASE i % 4 WHEN 0 THEN hashint8extended(i, 9) WHEN 1 THEN 0 WHEN 2 THEN -1
	ELSE turned(hashint8extended(i / 8, 9), i, i % 30) END AS fp FROM generate_series(1, 160) i;
CREATE TABLE small_pairs AS SELECT x.id::bigint AS a, y.id::bigint AS b, bit_count((x.fp # y.fp)::bit(64))::int AS distance
FROM small x JOIN small y ON x.id < y.id;
SELECT count(*) AS radii, sum((SELECT count(*) FROM (TABLE small_pairs) w WHERE distance <= k)) AS pairs,
	sum((SELECT count(*) FROM (SELECT * FROM simhash_pairs('small', 'id', 'fp', k) EXCEPT ALL SELECT * FROM small_pairs
		WHERE distance <= k) w)) AS wrong,
	sum((SELECT count(*) FROM (SELECT * FROM small_pairs WHERE distance <= k EXCEPT ALL SELECT *
		FROM simhash_pairs('small', 'id', 'fp', k)) w)) AS missing
FROM generate_series(0, 64) k;
-- Long keys, compressed and out of line.
CREATE TABLE long_keys (id text, fp bigint);
INSERT INTO long_keys SELECT repeat(i::text, 3000) || CASE WHEN i > 3 THEN (SELECT string_agg(md5(j::text || i::text), '')
	FROM generate_series(1, 200) j) ELSE '' END, 7
FROM generate_series(1, 6) i;
SELECT left(a, 1) AS a, left(b, 1) AS b, length(a) AS length_a, length(b) AS length_b, distance
FROM simhash_pairs('long_keys', key_type => NULL::text, columns => 'fp', key => 'id', radius => 0) ORDER BY 1, 2;

-- Other relations, odd names, a domain.
CREATE DOMAIN fingerprint AS bigint CHECK (value <> 99);
CREATE TABLE "Odd ""table" ("the Key" int, "the fp" fingerprint) PARTITION BY RANGE ("the Key");
CREATE TABLE odd_1 PARTITION OF "Odd ""table" FOR VALUES FROM (0) TO (1000);
CREATE TABLE odd_2 PARTITION OF "Odd ""table" FOR VALUES FROM (1000) TO (9999);
INSERT INTO "Odd ""table" SELECT id, fp FROM t;
SELECT same_as(3, $$SELECT * FROM simhash_pairs('"Odd ""table"', 'the Key', 'the fp')$$) AS partitioned;
CREATE VIEW v AS SELECT id + 0 AS id, fp # 0 AS fp FROM t;
SELECT same_as(3, $$SELECT * FROM simhash_pairs('v', 'id', 'fp')$$) AS view;
CREATE MATERIALIZED VIEW mv AS SELECT id, fp FROM t;
SELECT same_as(3, $$SELECT * FROM simhash_pairs('mv', 'id', 'fp')$$) AS materialized;
SELECT count(*) FROM simhash_pairs('odd_1', 'the Key', 'the fp', 0);
CREATE TEMP TABLE nothing (id int, fp bigint);
SELECT * FROM simhash_pairs('nothing', 'id', 'fp');
-- Several times in one query, in a join, in a prepared statement.
SELECT k, (SELECT count(*) FROM simhash_pairs('t', 'id', 'fp', k)) AS pairs FROM generate_series(0, 2) k;
PREPARE p (regclass, int) AS SELECT count(*) FROM simhash_pairs($1, 'id', 'fp', $2);
EXECUTE p ('t', 1);
EXECUTE p ('v', 1);
-- Uncommitted rows of this transaction count, those that were deleted do not.
BEGIN;
DELETE FROM t WHERE id > 1;
INSERT INTO t SELECT 5, fp FROM t WHERE id = 1;
SELECT * FROM simhash_pairs('t', 'id', 'fp');
ROLLBACK;

-- The rest of the query may be parallel; the function runs in the leader, under the snapshot of the query.
CREATE FUNCTION is_parallel(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan LIKE '%"Gather%';
END $$;
CREATE FUNCTION with_rows(call text) RETURNS text LANGUAGE sql AS $$
	SELECT 'SELECT (SELECT count(*) FROM ' || call || ') AS results, count(*) AS rows FROM pairs_test.t'
$$;
CREATE FUNCTION run(query text, OUT results bigint, OUT rows bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query INTO results, rows;
END $$;
CREATE TABLE parallel AS SELECT with_rows(call) AS query FROM (VALUES
	($$simhash_pairs('pairs_test.t', 'id', 'fp', 2)$$), ($$simhash_pairs('pairs_test.t', key_type => NULL::text, columns => 'fp', key => 'name', radius => 2)$$),
	($$simhash_clusters('pairs_test.t', 'id', 'fp', 2, text => 'name', min_jaccard => 0)$$),
	($$simhash_clusters('pairs_test.t', key_type => NULL::text, columns => 'fp', key => 'name', radius => 2)$$)) AS calls (call);
SET work_mem = '256kB';
CREATE TABLE serial AS SELECT query, r.* FROM parallel, run(query) r;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT is_parallel(query), r.results > 0 AS found, (r.results, r.rows) = (s.results, s.rows) AS same FROM serial s, run(query) r;
-- With the setting that makes every query parallel that may be, whatever the major calls it.
SELECT count(set_config(name, 'on', false)) AS settings FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT is_parallel(query), r.results > 0 AS found, (r.results, r.rows) = (s.results, s.rows) AS same FROM serial s, run(query) r;
RESET ALL;
SET search_path = pairs_test, public;
SET client_min_messages = warning;

-- Whose rows: the caller's.
CREATE ROLE pairs_reader;
GRANT USAGE ON SCHEMA pairs_test TO pairs_reader;
SET ROLE pairs_reader;
SELECT count(*) FROM simhash_pairs('t', 'id', 'fp');
RESET ROLE;
GRANT SELECT (id) ON t TO pairs_reader;
SET ROLE pairs_reader;
SELECT count(*) FROM simhash_pairs('t', 'id', 'fp');
RESET ROLE;
GRANT SELECT ON t, all_pairs TO pairs_reader;
CREATE POLICY few ON t TO pairs_reader USING (id <= 100);
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE pairs_reader;
SELECT count(*) AS pairs, max(b) <= 100 AS own_rows, count(*) = (SELECT count(*) FROM brute_force(3) WHERE b <= 100) AS all_of_them
FROM simhash_pairs('t', 'id', 'fp');
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;

-- Errors.
SELECT * FROM simhash_pairs('t', 'name', 'fp');
SELECT * FROM simhash_clusters('t', 'u', 'fp');
SELECT * FROM simhash_clusters('t', key_type => NULL::int, columns => 'fp', key => 'name');
SELECT * FROM simhash_pairs('t', key_type => NULL::smallint, columns => 'fp', key => 'id');
SELECT * FROM simhash_clusters('t', key_type => NULL::uuid, columns => 'fp', key => 'id');
SELECT * FROM simhash_pairs('t', 'id', 'name');
SELECT * FROM simhash_pairs('t', 'id', 'id');
SELECT * FROM simhash_pairs('t', 'id', 'u');
SELECT * FROM simhash_pairs('t', 'nope', 'fp');
SELECT * FROM simhash_pairs('t', 'id', 'nope');
SELECT * FROM simhash_pairs('t', 'ctid', 'fp');
SELECT * FROM simhash_pairs('t', 'id', 'ctid');
SELECT * FROM simhash_pairs('v', 'ctid', 'fp');
-- key_type stands second: the server resolves polymorphic types by position.
SELECT * FROM simhash_pairs('t', key => 'u', columns => 'fp', key_type => NULL::uuid);
-- Two forms under one name: which one a call means, and what typed parameters mean.
CREATE TABLE keyed (id uuid PRIMARY KEY, body text, more text);
INSERT INTO keyed SELECT u, 'The street lamp number ' || id % 3 || ' is dark', 'and cold' FROM t WHERE id <= 6;
SELECT pg_typeof(a), count(*) FROM simhash_pairs('keyed', NULL::uuid, 'body') GROUP BY 1;
SELECT pg_typeof(a), count(*) FROM simhash_pairs('keyed', key_type => NULL::uuid) GROUP BY 1;
SELECT pg_typeof(key), count(*) FROM simhash_clusters('keyed', NULL::uuid, 'body,more', 12, 'leader') GROUP BY 1;
SELECT pg_typeof(a), pg_typeof(b), count(*) FROM simhash_pairs_between('keyed', NULL::uuid, 'body', 't', NULL::int, 'fp', 64) GROUP BY 1, 2;
SELECT * FROM simhash_pairs('keyed', 'body');
SELECT * FROM simhash_clusters('keyed', 'body, more');
SELECT pg_typeof(a), count(*) > 0 AS found FROM simhash_pairs('t', NULL::text, 'fp', key => 'name') GROUP BY 1;
PREPARE untyped AS SELECT count(*) > 0 AS found FROM simhash_pairs($1, $2, $3, $4, $5);
EXECUTE untyped('t', 'id', 'fp', 3, '{}');
PREPARE typed(text, varchar, text) AS SELECT count(*) > 0 AS found FROM simhash_pairs($1::regclass, $2, $3);
EXECUTE typed('t', 'id', 'fp');
SELECT count(*) > 0 AS found FROM simhash_clusters('t', 'id', 'fp', 3, 'star', 'name');
SELECT * FROM simhash_pairs('t', 'id', 'fp', -1);
SELECT * FROM simhash_pairs('t', 'id', 'fp', 65);
SELECT count(*) = (SELECT count(*) FROM simhash_pairs('t', 'id', 'fp', 3)) AS within_3 FROM simhash_pairs('t', 'id', 'fp', NULL::int);
SELECT * FROM simhash_pairs(NULL, 'id', 'fp');
SELECT count(*) = (SELECT count(*) FROM simhash_pairs('t', 'id', 'fp')) AS by_primary_key FROM simhash_pairs('t', NULL, 'fp');
SELECT * FROM simhash_pairs(4294967290::oid, 'id', 'fp');
-- The server refuses an index, from 16 on in other words: only the code of the error counts here.
\set VERBOSITY sqlstate
SELECT * FROM simhash_pairs('t_fp', 'id', 'fp');
\set VERBOSITY default
CREATE TABLE keyless (id int, j json, fp bigint);
INSERT INTO keyless VALUES (NULL, '1', 1);
SELECT * FROM simhash_pairs('keyless', 'id', 'fp');
SELECT * FROM simhash_pairs('keyless', key_type => NULL::json, columns => 'fp', key => 'j', radius => 3);
-- A type without an order; what the hint says is possible.
CREATE TABLE without_order (id int, j json, "J 2" json, fp bigint);
INSERT INTO without_order VALUES (1, '{"id": 1}', '[1]', 1), (2, '{"id": 2}', '[2]', 1);
SELECT * FROM simhash_pairs('without_order', 'j', 'fp');
SELECT * FROM simhash_pairs('without_order', key_type => NULL::text, columns => 'fp', key => 'J 2', radius => 3);
SELECT * FROM simhash_pairs_between('without_order', 'id', 'fp', 'without_order', 'j', 'fp');
SELECT * FROM simhash_pairs_between('without_order', key_type_a => NULL::int, columns_a => 'fp', relation_b => 'without_order', key_type_b => NULL::json, columns_b => 'fp', key_a => 'id', key_b => 'J 2');
CREATE VIEW with_order AS SELECT "J 2"::text AS j, fp FROM without_order;
SELECT * FROM simhash_pairs('with_order', key_type => NULL::text, columns => 'fp', key => 'j', radius => 3);
-- An expression is not a column.
SELECT * FROM simhash_pairs('without_order', 'id', 'simhash64(j::text)');
-- Changed between two runs of a prepared statement.
PREPARE q AS SELECT count(*) FROM simhash_pairs('keyless', 'id', 'fp');
UPDATE keyless SET id = 1;
EXECUTE q;
ALTER TABLE keyless DROP COLUMN fp;
EXECUTE q;
ALTER TABLE keyless ADD COLUMN fp text;
EXECUTE q;
DROP TABLE keyless;
EXECUTE q;

DROP OWNED BY pairs_reader;
DROP ROLE pairs_reader;
SET client_min_messages = warning;
DROP SCHEMA pairs_test CASCADE;
