-- hamming(a, b), simhash_catalog.distance(a, b) and a <~> b are one expression to the planner, however a
-- query, an index, a constraint or a statistics object has written it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA planner_hamming;
SET search_path = planner_hamming, public;
CREATE TABLE t (id int, fp bigint);
INSERT INTO t SELECT i, hashint8extended(i, 1) FROM generate_series(1, 3000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
ANALYZE t;

-- The first query of a session: nothing has loaded the library before.
\c -
SET search_path = planner_hamming, public;
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY hamming(fp, 42) LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY hamming(42, fp) LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY simhash_catalog.distance(fp, 42) LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE simhash_catalog.distance(fp, 42) <= 3;
EXPLAIN (COSTS OFF) SELECT id, hamming(fp, 42) FROM t WHERE hamming(fp, 42) <= 3 ORDER BY fp <~> 42 LIMIT 10;
SELECT (SELECT array_agg(hamming(fp, 42)) FROM (SELECT fp FROM t ORDER BY hamming(fp, 42) LIMIT 50) n)
    = (SELECT array_agg(d) FROM (SELECT bit_count((fp # 42)::bit(64))::int d FROM t ORDER BY d LIMIT 50) n) AS nearest_first;
PREPARE nearest(bigint) AS SELECT id FROM t ORDER BY hamming(fp, $1) LIMIT 10;
PREPARE near(bigint, int) AS SELECT id FROM t WHERE simhash_catalog.distance($1, fp) <= $2;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE nearest(42);
EXPLAIN (COSTS OFF) EXECUTE near(42, 3);
RESET plan_cache_mode;
DEALLOCATE ALL;
-- constants and NULL are folded as before
EXPLAIN (VERBOSE, COSTS OFF) SELECT hamming(0, 7), hamming(NULL, 7), simhash_catalog.distance(0, 7), 0 <~> 7;
-- what is left for each row is shown as the operator
SET enable_seqscan = on;
EXPLAIN (VERBOSE, COSTS OFF) SELECT hamming(fp, id) FROM t;
SET enable_seqscan = off;
-- what is stored stays as it was written
CREATE VIEW v AS SELECT hamming(fp, 1) AS a, fp <~> 1 AS b FROM t;
SELECT pg_get_viewdef('v') LIKE '%hamming(%' AS a, pg_get_viewdef('v') LIKE '%<~>%' AS b;
CREATE TABLE stored (id int PRIMARY KEY, fp bigint, d int GENERATED ALWAYS AS (hamming(fp, 0)) STORED);
CREATE INDEX stored_a ON stored (hamming(fp, 0));
CREATE UNIQUE INDEX stored_b ON stored ((fp <~> 1), id) WHERE hamming(fp, 1) < 9;
SELECT pg_get_indexdef(i::regclass) FROM unnest('{stored_a,stored_b}'::text[]) i;

-- indexes on a distance, and predicates: both spellings find them
EXPLAIN (COSTS OFF) SELECT id FROM stored WHERE hamming(fp, 0) > 40;
EXPLAIN (COSTS OFF) SELECT id FROM stored WHERE fp <~> 0 > 40;
EXPLAIN (COSTS OFF) SELECT id FROM stored WHERE fp <~> 1 < 4;
EXPLAIN (COSTS OFF) SELECT id FROM stored WHERE hamming(fp, 1) < 4;
INSERT INTO stored VALUES (1, 7), (2, 0), (3, -1);
INSERT INTO stored VALUES (1, 7) ON CONFLICT (hamming(fp, 1), id) WHERE fp <~> 1 < 9 DO NOTHING;
SELECT * FROM stored ORDER BY id;

-- statistics: the estimate of one spelling is that of the other
CREATE TABLE s AS SELECT g AS id, (g % 3)::bigint AS fp FROM generate_series(1, 3000) g;
CREATE STATISTICS s_d ON (hamming(fp, 0)) FROM s;
ANALYZE s;
CREATE FUNCTION rows_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    EXECUTE 'EXPLAIN ' || query INTO line;
    RETURN substring(line FROM 'rows=\d+');
END $$;
SELECT rows_of('SELECT FROM s WHERE hamming(fp, 0) = 1'), rows_of('SELECT FROM s WHERE fp <~> 0 = 1');

-- grouping, DISTINCT, windows
SELECT hamming(fp, 0) AS d, count(*) FROM s GROUP BY hamming(fp, 0) HAVING hamming(fp, 0) < 9 ORDER BY hamming(fp, 0);
SELECT d, count(*) FROM (SELECT hamming(fp, 0) AS d FROM s) g GROUP BY GROUPING SETS ((d), ()) ORDER BY d;
SELECT DISTINCT hamming(fp, 0), fp <~> 0 AS d FROM s ORDER BY d;
SELECT DISTINCT ON (hamming(fp, 0)) hamming(fp, 0), id FROM s ORDER BY hamming(fp, 0), id;
SELECT DISTINCT hamming(fp, 0), count(*) OVER (PARTITION BY fp <~> 0) FROM s ORDER BY hamming(fp, 0);

-- partitions by a distance, and constraints that exclude a table
SET enable_seqscan = on;
CREATE TABLE part (id int, fp bigint) PARTITION BY RANGE (hamming(fp, 0));
CREATE TABLE part_near PARTITION OF part FOR VALUES FROM (0) TO (20);
CREATE TABLE part_far PARTITION OF part FOR VALUES FROM (20) TO (65);
EXPLAIN (COSTS OFF) SELECT id FROM part WHERE fp <~> 0 = 30;
EXPLAIN (COSTS OFF) SELECT id FROM part WHERE hamming(fp, 0) < 20;
CREATE TABLE checked (id int, fp bigint, CHECK (hamming(fp, 0) < 20));
SET constraint_exclusion = on;
CREATE FUNCTION reads_nothing(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN plan #>> '{0,Plan,Node Type}' = 'Result' AND plan #>> '{0,Plan,One-Time Filter}' = 'false';
END $$;
SELECT reads_nothing('SELECT id FROM checked WHERE fp <~> 0 > 20'), reads_nothing('SELECT id FROM checked WHERE hamming(fp, 0) > 20'),
	reads_nothing('SELECT id FROM checked WHERE hamming(fp, 0) > 10') AS otherwise;
RESET constraint_exclusion;
SET enable_seqscan = off;

-- an operator of another schema that fits as well is not taken, wherever it stands on the path
CREATE FUNCTION foreign_distance(bigint, bigint) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT -1';
CREATE OPERATOR <~> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = foreign_distance);
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY hamming(fp, 42) LIMIT 10;
DROP OPERATOR <~> (bigint, bigint);

-- the extension's schema may be renamed
BEGIN;
ALTER SCHEMA public RENAME TO renamed;
SET LOCAL search_path = planner_hamming;
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY renamed.hamming(fp, 42) LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE simhash_catalog.distance(fp, 42) <= 3;
ROLLBACK;

-- a role that may not use the extension's schema: simhash_catalog.distance finds the index
CREATE ROLE planner_hamming_role;
GRANT USAGE ON SCHEMA planner_hamming TO planner_hamming_role;
GRANT SELECT ON t TO planner_hamming_role;
BEGIN;
REVOKE USAGE ON SCHEMA public FROM PUBLIC;
SET LOCAL search_path = planner_hamming;
SET LOCAL ROLE planner_hamming_role;
SELECT has_schema_privilege('public', 'USAGE') AS may_use_the_schema;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE simhash_catalog.distance(fp, 42) <= 3;
SELECT count(*) FROM t WHERE simhash_catalog.distance(fp, hashint8extended(7, 1)) <= 3;
SELECT id FROM t ORDER BY simhash_catalog.distance(fp, hashint8extended(7, 1)) LIMIT 1;
ROLLBACK;
REVOKE ALL ON t FROM planner_hamming_role;
REVOKE ALL ON SCHEMA planner_hamming FROM planner_hamming_role;
DROP ROLE planner_hamming_role;
SET client_min_messages = warning;
DROP SCHEMA planner_hamming CASCADE;
