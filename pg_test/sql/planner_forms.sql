-- What the planner makes of each way to ask for a distance. 'Index Cond' with <@ means that the
-- index is searched; 'Filter' with <~> means that the clause was left as it was written.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA planner_forms;
SET search_path = planner_forms, public;
CREATE TABLE t (id int, grp int, fp bigint, plain bigint);
INSERT INTO t SELECT i, i % 7, hashint8extended(i, 1), i FROM generate_series(1, 3000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE TABLE bare (id int, fp bigint);
INSERT INTO bare SELECT id, fp FROM t WHERE id <= 10;
ANALYZE t, bare;

-- The first query of a session: nothing has loaded the library before.
\c -
SET search_path = planner_forms, public;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_material = off;
SET enable_memoize = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= 3;

-- comparisons
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 < 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 = 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE 3 >= fp <~> 42;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE 3 > 42 <~> fp;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE 3 = (fp <~> 42);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 BETWEEN 1 AND 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE NOT (fp <~> 42 > 3);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE NOT (fp <~> 42 > 3 OR grp = 1);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE hamming(fp, 42) <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE hamming_within(42, fp, 3);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp ~= 42;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <@ hamming_ball(42, 3);
-- these ask for far rows, and are left alone
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 > 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <> 3;

-- the radius: smallint, bigint, the ends of the ranges, NULL, an expression
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= 3::smallint;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 < 3::bigint;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 < (-2147483648);
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 < (-9223372036854775808)::bigint;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE 9223372036854775807 >= fp <~> 42;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= NULL;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> NULL <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= (SELECT 3);

-- parameters: custom and generic plans
PREPARE p4(bigint, int) AS SELECT id FROM t WHERE fp <~> $1 <= $2;
PREPARE p4lt(bigint, int) AS SELECT id FROM t WHERE fp <~> $1 < $2;
PREPARE p8lt(bigint, bigint) AS SELECT id FROM t WHERE fp <~> $1 < $2;
PREPARE p2(bigint, smallint) AS SELECT id FROM t WHERE $2 >= fp <~> $1;
EXPLAIN (COSTS OFF) EXECUTE p4(42, 3);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE p4(42, 3);
EXPLAIN (COSTS OFF) EXECUTE p4lt(42, 3);
EXPLAIN (COSTS OFF) EXECUTE p8lt(42, 3);
EXPLAIN (COSTS OFF) EXECUTE p2(42, 3::smallint);
RESET plan_cache_mode;

-- a volatile centre or radius is not fixed during a scan
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> (random() * 10)::bigint <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> (random() * 10)::bigint = 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= (random() * 10)::int;
-- nor is another column of the same row
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> plain <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= grp;

-- without the index
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE plain <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM bare WHERE fp <~> 42 <= 3;

-- OR
SET enable_bitmapscan = on;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= 3 OR fp <~> 43 < 2;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE (fp <~> 42 = 3 AND grp = 1) OR 2 >= fp <~> 43;
SET enable_indexscan = on;
SET enable_bitmapscan = off;

-- ordering goes through the operator class
EXPLAIN (COSTS OFF) SELECT id FROM t ORDER BY fp <~> 42 LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= 10 ORDER BY fp <~> 42 LIMIT 10;

-- joins
EXPLAIN (COSTS OFF) SELECT b.id, t.id FROM bare b JOIN t ON t.fp <~> b.fp <= 3;
EXPLAIN (COSTS OFF) SELECT b.id, t.id FROM bare b, t WHERE 3 >= b.fp <~> t.fp;
EXPLAIN (COSTS OFF) SELECT b.id, t.id FROM bare b LEFT JOIN t ON t.fp <~> b.fp < 3 AND t.grp = 1;
EXPLAIN (COSTS OFF) SELECT b.id, n.id FROM bare b, LATERAL (SELECT id FROM t WHERE fp <~> b.fp <= b.id) n;
EXPLAIN (COSTS OFF) SELECT b.id, n.id FROM bare b, LATERAL (SELECT id FROM t ORDER BY fp <~> b.fp LIMIT 2) n;
EXPLAIN (COSTS OFF) SELECT a.id FROM t a JOIN t b ON a.fp <~> b.fp = 3 WHERE a.id < b.id;
EXPLAIN (COSTS OFF) SELECT id FROM bare b WHERE EXISTS (SELECT FROM t WHERE t.fp <~> b.fp <= 3 OFFSET 0);
EXPLAIN (COSTS OFF) SELECT id, (SELECT count(*) FROM t WHERE t.fp <~> b.fp <= 3) FROM bare b;

-- views, sub-queries, common table expressions
CREATE VIEW v AS SELECT id, fp FROM t WHERE grp = 1;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, fp FROM t WHERE grp = 1;
EXPLAIN (COSTS OFF) SELECT id FROM v WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM barrier WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM (SELECT id, fp FROM t OFFSET 0) s WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM (SELECT DISTINCT id, fp FROM t) s WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) WITH c AS (SELECT id, fp FROM t) SELECT id FROM c WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT max(id) FROM t WHERE fp <~> 42 <= 3 HAVING count(*) <= 3;

-- writing (MERGE: merge.sql)
EXPLAIN (COSTS OFF) UPDATE t SET grp = 0 WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) DELETE FROM t USING bare b WHERE t.fp <~> b.fp <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 42 <= 3 FOR UPDATE;

-- row security
CREATE ROLE planner_forms_reader;
GRANT USAGE ON SCHEMA planner_forms TO planner_forms_reader;
GRANT SELECT ON t TO planner_forms_reader;
CREATE POLICY near ON t TO planner_forms_reader USING (fp <~> 42 <= 9);
CREATE POLICY grp ON t AS RESTRICTIVE TO planner_forms_reader USING (grp = 1);
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE planner_forms_reader;
EXPLAIN (COSTS OFF) SELECT id FROM t;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE fp <~> 43 <= 3;
RESET ROLE;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
DROP POLICY near ON t;
DROP POLICY grp ON t;
REVOKE ALL ON t FROM planner_forms_reader;
REVOKE ALL ON SCHEMA planner_forms FROM planner_forms_reader;
DROP ROLE planner_forms_reader;

-- partitions: an index of the parent, and one of a partition alone
CREATE TABLE part (id int, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (100) TO (200);
CREATE INDEX part1_fp ON part1 USING simhash (fp);
EXPLAIN (COSTS OFF) SELECT id FROM part WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM part WHERE fp <~> 42 = 3;
EXPLAIN (COSTS OFF) SELECT b.id, p.id FROM bare b JOIN part p ON p.fp <~> b.fp < 3;
CREATE INDEX part_fp ON part USING simhash (fp);
EXPLAIN (COSTS OFF) SELECT id FROM part WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT b.id, p.id FROM bare b JOIN part p ON p.fp <~> b.fp = 3;
EXPLAIN (COSTS OFF) SELECT id FROM part ORDER BY fp <~> 42 LIMIT 5;

-- partitions of a partition, with the columns in another order
CREATE TABLE part3 (fp bigint, id int) PARTITION BY RANGE (id);
CREATE TABLE part31 PARTITION OF part3 FOR VALUES FROM (200) TO (250);
ALTER TABLE part ATTACH PARTITION part3 FOR VALUES FROM (200) TO (300);
EXPLAIN (COSTS OFF) SELECT id FROM part WHERE fp <~> 42 <= 3 AND id >= 200;
DROP INDEX part_fp;
CREATE INDEX part31_fp ON part31 USING simhash (fp);
EXPLAIN (COSTS OFF) SELECT id FROM part WHERE fp <~> 42 <= 3 AND id >= 200;
EXPLAIN (COSTS OFF) SELECT b.id, p.id FROM bare b JOIN part p ON p.fp <~> b.fp <= 3 AND p.id >= 200;

-- inheritance and UNION ALL
CREATE TABLE kid (extra int) INHERITS (bare);
CREATE INDEX kid_fp ON kid USING simhash (fp);
EXPLAIN (COSTS OFF) SELECT id FROM bare WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM (SELECT id, fp FROM t UNION ALL SELECT id, fp FROM ONLY bare) u WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM (SELECT id, fp FROM t UNION ALL SELECT id, fp FROM ONLY bare) u WHERE fp <~> 42 = 3;
EXPLAIN (COSTS OFF) SELECT b.id, u.id FROM ONLY bare b JOIN (SELECT id, fp FROM t UNION ALL SELECT id, fp FROM kid) u ON u.fp <~> b.fp <= 3;
DROP TABLE kid;

-- expression indexes, domains
CREATE DOMAIN fingerprint AS bigint;
CREATE TABLE e (id int, fp bigint, d fingerprint);
CREATE INDEX e_fp ON e USING simhash ((fp # 1));
CREATE INDEX e_d ON e USING simhash (d);
EXPLAIN (COSTS OFF) SELECT id FROM e WHERE (fp # 1) <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM e WHERE 3 > 42 <~> (fp # 1);
EXPLAIN (COSTS OFF) SELECT id FROM e WHERE (fp # 2) <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM e WHERE d <~> 42 <= 3;

-- partial indexes: the planner must still see what implies the predicate
CREATE TABLE narrow (id int, fp bigint);
CREATE INDEX narrow_fp ON narrow USING simhash (fp) WHERE fp <~> 42 <= 10;
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE fp <~> 42 <= 10;
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE fp <~> 42 <= 11;
DROP INDEX narrow_fp;
CREATE INDEX narrow_fp ON narrow USING simhash (fp) WHERE fp IS NOT NULL;
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE fp <~> 42 <= 3;
-- (a simhash index that does not serve the query: the rewrite still happens)
DROP INDEX narrow_fp;
CREATE INDEX narrow_fp ON narrow USING simhash (fp) WHERE id IS NULL;
CREATE INDEX narrow_id ON narrow (id) WHERE fp <~> 42 <= 10;
EXPLAIN (COSTS OFF) SELECT id FROM narrow WHERE fp <~> 42 <= 9 ORDER BY id LIMIT 1;

-- an access method under another name
CREATE ACCESS METHOD planner_forms_am TYPE INDEX HANDLER simhash_catalog.simhash_handler;
CREATE OPERATOR CLASS planner_forms_ops DEFAULT FOR TYPE bigint USING planner_forms_am AS
    OPERATOR 1 <@ (bigint, hamming_ball),
    OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
    OPERATOR 3 ~= (bigint, bigint);
CREATE TABLE other (id int, fp bigint);
CREATE INDEX other_fp ON other USING planner_forms_am (fp);
EXPLAIN (COSTS OFF) SELECT id FROM other WHERE fp <~> 42 <= 3;

SET client_min_messages = warning;
DROP TABLE other;
DROP ACCESS METHOD planner_forms_am CASCADE;
DROP SCHEMA planner_forms CASCADE;

-- Two columns of one analyzed table: there is no constant to estimate with.
CREATE TABLE two_columns AS SELECT g AS id, g::bigint AS a, (g * 3)::bigint AS b FROM generate_series(1, 1000) g;
ANALYZE two_columns;
SELECT count(*) FROM two_columns WHERE a ~= b;
SELECT count(*) FROM two_columns WHERE hamming_within(a, b, 3);
SELECT count(*) FROM two_columns WHERE a <@ hamming_ball(b, 3);
SELECT count(*) FROM two_columns WHERE a <~> b <= 3;
DROP TABLE two_columns;
