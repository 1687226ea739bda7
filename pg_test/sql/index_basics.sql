-- The access method from a user's side: build, search, nearest, NULLs, kinds of index, errors.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA index_basics;
SET search_path = index_basics, public;
RESET client_min_messages;

-- Twelve rows whose distance to 0 is their id, thousands that are far away, and two without.
CREATE TABLE t (id int, fp bigint);
INSERT INTO t SELECT i, (1::bigint << i) - 1 FROM generate_series(0, 11) i;
INSERT INTO t SELECT 100 + i, hashint8extended(i, 17) FROM generate_series(1, 5000) i;
INSERT INTO t VALUES (90, NULL), (91, NULL);
CREATE INDEX t_fp ON t USING simhash (fp);
ANALYZE t;
SET enable_seqscan = off;

-- The search, as plain and as bitmap scan.
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 0 <= 3;
SELECT id FROM t WHERE fp <~> 0 <= 3 ORDER BY id;
SET enable_indexscan = off;
SET enable_bitmapscan = on;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 0 <= 3;
SELECT id FROM t WHERE fp <~> 0 <= 3 ORDER BY id;
RESET enable_indexscan;
SET enable_bitmapscan = off;

-- EXPLAIN ANALYZE counts the searches (from 18 on): each start of a scan is one.
CREATE FUNCTION index_searches(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT json) ' || query INTO plan;
	RETURN substring(plan::text FROM '"Index Searches": (\d+)');
END $$;
CREATE FUNCTION counts_searches(query text, searches int) RETURNS boolean LANGUAGE sql AS $$
	SELECT index_searches(query) IS NOT DISTINCT FROM
		CASE WHEN current_setting('server_version_num')::int >= 180000 THEN searches::text END
$$;
SELECT counts_searches('SELECT id FROM t WHERE fp <~> 0 <= 3', 1) AS plain,
	counts_searches('SELECT id FROM t ORDER BY fp <~> 0 LIMIT 3', 1) AS nearest,
	counts_searches('SELECT id FROM (VALUES (0::bigint), (1), (3)) v (q),
		LATERAL (SELECT id FROM t WHERE fp <~> q <= 3 OFFSET 0) s', 3) AS three;
SET enable_indexscan = off;
SET enable_bitmapscan = on;
SELECT counts_searches('SELECT id FROM t WHERE fp <~> 0 <= 3', 1) AS bitmap;
RESET enable_indexscan;
SET enable_bitmapscan = off;

-- Radii at the edges: none, exact, all; NULL and negative find nothing, as SQL would have it.
SELECT count(*) FROM t WHERE fp <~> 0 <= 0;
SELECT count(*) FROM t WHERE fp <~> 0 <= -1;
SELECT count(*) FROM t WHERE fp <~> 0 <= -2147483648;
SELECT count(*) FROM t WHERE fp <~> 0 <= NULL::int;
SELECT count(*) FROM t WHERE fp <~> NULL <= 3;
SELECT count(*) FROM t WHERE fp <~> 0 <= 64;
SELECT count(*) FROM t WHERE fp <~> 0 <= 1000;
SELECT count(*) FROM t WHERE fp <~> (-1) <= 64;

-- A radius and a centre that come at run time.
PREPARE near (bigint, int) AS SELECT id FROM t WHERE fp <~> $1 <= $2 ORDER BY id;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE near(0, 2);
EXECUTE near(0, 2);
EXECUTE near(0, NULL);
EXECUTE near(NULL, 2);
RESET plan_cache_mode;
DEALLOCATE near;

-- The operator of exclusion constraints, which is distance <= 3.
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp ~= 0;
SELECT id FROM t WHERE fp ~= 0 ORDER BY id;

-- Nearest rows; NULLs come last, and come.
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY fp <~> 0 LIMIT 5;
SELECT id, fp <~> 0 AS distance FROM t ORDER BY fp <~> 0 LIMIT 5;
SELECT id, fp <~> 0 AS distance FROM t WHERE fp <~> 0 <= 2 ORDER BY fp <~> 0;
SELECT id FROM t ORDER BY fp <~> 0 OFFSET 5012;
SELECT count(*), count(fp) FROM (SELECT fp FROM t ORDER BY fp <~> 0) x;
SELECT count(*), count(fp) FROM (SELECT fp FROM t ORDER BY fp <~> NULL) x;

-- IS NULL and IS NOT NULL through the index.
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp IS NULL;
SELECT id FROM t WHERE fp IS NULL ORDER BY id;
SELECT count(*) FROM t WHERE fp IS NOT NULL;
SELECT count(*) FROM t WHERE fp IS NULL AND fp <~> 0 <= 3;
SELECT count(*) FROM t WHERE fp IS NOT NULL AND fp <~> 0 <= 3;
RESET enable_bitmapscan;
SET enable_indexscan = off;
SELECT id FROM t WHERE fp IS NULL ORDER BY id;
SELECT count(*) FROM t WHERE fp IS NULL OR fp <~> 0 <= 3;
RESET enable_indexscan;

-- Equality is a radius of 0, for which a b-tree is cheaper.
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp = 1;
SELECT count(*) FROM t WHERE fp = (SELECT fp FROM t WHERE id = 7);
CREATE INDEX t_btree ON t (fp);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp = 1;
DROP INDEX t_btree;

-- Changes are seen, deleted rows are not, also after VACUUM and REINDEX.
UPDATE t SET fp = 255 WHERE id = 0;
DELETE FROM t WHERE id = 1;
INSERT INTO t VALUES (50, 2);
SELECT id FROM t WHERE fp <~> 0 <= 2 ORDER BY id;
VACUUM t;
SELECT id FROM t WHERE fp <~> 0 <= 2 ORDER BY id;
REINDEX INDEX t_fp;
SELECT id FROM t WHERE fp <~> 0 <= 2 ORDER BY id;
REINDEX INDEX CONCURRENTLY t_fp;
SELECT id FROM t WHERE fp <~> 0 <= 2 ORDER BY id;
SELECT * FROM simhash_index_verify('t_fp', true);
TRUNCATE t;
SELECT id FROM t WHERE fp <~> 0 <= 2 ORDER BY id;
INSERT INTO t VALUES (1, 1);
SELECT id FROM t WHERE fp <~> 0 <= 2 ORDER BY id;

-- An index over no rows is a few pages.
TRUNCATE t;
SELECT pg_relation_size('t_fp') <= 10 * 8192 AS small;

-- Partial and expression indexes, and several columns through a bitmap of two indexes.
CREATE TABLE p (id int, kind text, body bigint);
INSERT INTO p SELECT i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END, i FROM generate_series(0, 1000) i;
CREATE INDEX p_even ON p USING simhash (body) WHERE kind = 'even';
CREATE INDEX p_expression ON p USING simhash ((body # 5));
ANALYZE p;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM p WHERE kind = 'even' AND body <~> 4 <= 1;
SELECT id FROM p WHERE kind = 'even' AND body <~> 4 <= 1 ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM p WHERE (body # 5) <~> 0 <= 1;
SELECT id FROM p WHERE (body # 5) <~> 0 <= 1 ORDER BY id;
RESET enable_bitmapscan;

-- A query that needs no column of the table does not get an index-only scan, which could return none.
VACUUM p;
CREATE FUNCTION has_index_only_scan(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%Index Only Scan%' THEN RETURN true; END IF;
	END LOOP;
	RETURN false;
END $$;
SELECT has_index_only_scan('SELECT count(*) FROM p') AS whole, has_index_only_scan($$SELECT count(*) FROM p WHERE kind = 'even'$$) AS part;
SELECT count(*) FROM p;
SELECT count(*) FROM p WHERE kind = 'even';
SELECT 1 AS one FROM p LIMIT 1;

-- A constraint.
CREATE TABLE apart (id int, fp bigint, CONSTRAINT apart_fp EXCLUDE USING simhash (fp WITH ~=));
INSERT INTO apart VALUES (1, 0), (2, 255), (3, NULL), (4, NULL);
INSERT INTO apart VALUES (5, 7);
INSERT INTO apart VALUES (5, 7) ON CONFLICT DO NOTHING;
UPDATE apart SET fp = 254 WHERE id = 1;
INSERT INTO apart VALUES (6, 15);
SELECT * FROM apart ORDER BY id;

-- A scan that looks for conflicts gives its memory back after the row, not after the statement.
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'simhash scan'
$$;
INSERT INTO apart SELECT i, 255::bigint << i FROM generate_series(16, 32, 8) i RETURNING id, scans();

-- A radius that no distance reaches finds all, on leaves of one scope and of several, with and without sorted rows.
CREATE TABLE far (id int, tenant int, fp bigint);
INSERT INTO far SELECT i, i % 3, hashint8extended(i, 5) FROM generate_series(1, 300) i;
CREATE INDEX far_fp ON far USING simhash (fp);
CREATE INDEX far_scoped ON far USING simhash (tenant, fp);
INSERT INTO far SELECT i, i % 3, hashint8extended(i, 5) FROM generate_series(301, 600) i;
SET enable_seqscan = off;
SELECT radius, (SELECT count(*) FROM far WHERE fp <@ hamming_ball(0, radius)) AS of_all,
	(SELECT count(*) FROM far WHERE tenant = 1 AND fp <@ hamming_ball(0, radius)) AS of_one
	FROM unnest('{64,65,255,256,257,287,512,1024,65536,2147483647}'::int[]) radius;
RESET enable_seqscan;

-- Options.
CREATE INDEX p_full ON p USING simhash (body) WITH (fillfactor = 100);
CREATE INDEX p_wrong ON p USING simhash (body) WITH (fillfactor = 5);
CREATE INDEX p_wrong ON p USING simhash (body) WITH (fillfactor = 101);
CREATE INDEX p_wrong ON p USING simhash (body) WITH (buckets = 7);
ALTER INDEX p_full SET (fillfactor = 70);
ALTER INDEX p_full RESET (fillfactor);

-- Index definitions that are refused.
CREATE INDEX p_wrong ON p USING simhash ((id > 5));
CREATE INDEX p_wrong ON p USING simhash (id);
CREATE INDEX p_wrong ON p USING simhash (body, id);
CREATE INDEX p_wrong ON p USING simhash (body) INCLUDE (id);
CREATE UNIQUE INDEX p_wrong ON p USING simhash (body);
-- PostgreSQL 19 points at the word.
\set VERBOSITY sqlstate
CREATE INDEX p_wrong ON p USING simhash (body DESC);
\echo :LAST_ERROR_MESSAGE
\set VERBOSITY default
CLUSTER p USING p_full;
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'simhash_ops';

SET client_min_messages = warning;
DROP SCHEMA index_basics CASCADE;
