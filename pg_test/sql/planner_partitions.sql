-- What the planner compares clauses with, node by node, still finds them where an index has them
-- translated: partition keys, constraints, predicates of other indexes.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA planner_partitions;
SET search_path = planner_partitions, public;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE src AS SELECT i AS id, i % 2 AS g, (i * 37 % 251)::bigint AS fp FROM generate_series(1, 2000) i;

-- the plan, without what differs between majors and runs; is the answer that of a table without index?
CREATE FUNCTION explain(query text, scanned boolean DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE format('EXPLAIN (%s COSTS OFF, SUMMARY OFF) %s',
        CASE WHEN scanned THEN 'ANALYZE, BUFFERS OFF, TIMING OFF,' END, query)
    LOOP
        CONTINUE WHEN line ~ '(Heap Blocks|Index Searches|Disabled|Rows Removed|Replaces)';
        RETURN NEXT regexp_replace(line, ' \(actual .*\)', '');
    END LOOP;
END $$;
CREATE FUNCTION agrees(tab text, condition text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE same boolean;
BEGIN
    EXECUTE format('SELECT (SELECT sum(id) FROM %s WHERE %s) IS NOT DISTINCT FROM (SELECT sum(id) FROM src WHERE %2$s)', tab, condition)
        INTO same;
    RETURN same;
END $$;

-- partitions by a distance: pruned when the query is planned
CREATE TABLE rings (id int, g int, fp bigint) PARTITION BY RANGE ((fp <~> 0));
CREATE TABLE rings_near PARTITION OF rings FOR VALUES FROM (0) TO (4);
CREATE TABLE rings_far PARTITION OF rings FOR VALUES FROM (4) TO (65);
CREATE INDEX rings_fp ON rings USING simhash (fp);
INSERT INTO rings SELECT * FROM src;
ANALYZE rings;
\c -
SET client_min_messages = warning;
SET search_path = planner_partitions, public;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT explain('SELECT id FROM rings WHERE fp <~> 0 <= 3');
SELECT explain('SELECT id FROM rings WHERE hamming(fp, 0) < 4');
SELECT explain('SELECT id FROM rings WHERE fp <~> 0 = 5');
-- another distance says nothing about the partitions, and stays translated
SELECT explain('SELECT id FROM rings WHERE fp <~> 1 <= 2');
SELECT agrees('rings', c), c
FROM unnest('{fp <~> 0 <= 3,hamming(fp\, 0) < 4,fp <~> 0 = 5,fp <~> 1 <= 2,fp <~> 0 BETWEEN 3 AND 4}'::text[]) c;
-- pruned when the query runs
PREPARE within(int) AS SELECT count(*) FROM rings WHERE fp <~> 0 <= $1;
SET plan_cache_mode = force_generic_plan;
SELECT explain('EXECUTE within(3)', true);
SELECT explain('EXECUTE within(5)', true);
EXECUTE within(3);
EXECUTE within(5);
RESET plan_cache_mode;
DEALLOCATE within;

-- the index of the partitions alone
DROP INDEX rings_fp;
CREATE INDEX rings_near_fp ON rings_near USING simhash (fp);
CREATE INDEX rings_far_fp ON rings_far USING simhash (fp);
PREPARE within(int) AS SELECT count(*) FROM rings WHERE fp <~> 0 <= $1;
SET plan_cache_mode = force_generic_plan;
SELECT explain('SELECT id FROM rings WHERE fp <~> 0 <= 3');
SELECT explain('EXECUTE within(3)', true);
EXECUTE within(3);
RESET plan_cache_mode;
DEALLOCATE within;
DROP TABLE rings;

-- partitions of a partition by a distance, beside one without
CREATE TABLE tree (g int, id int, fp bigint) PARTITION BY LIST (g);
CREATE TABLE tree0 (id int, g int, fp bigint) PARTITION BY RANGE ((fp <~> 0));
CREATE TABLE tree0_near PARTITION OF tree0 FOR VALUES FROM (0) TO (4);
CREATE TABLE tree0_far PARTITION OF tree0 FOR VALUES FROM (4) TO (65);
ALTER TABLE tree ATTACH PARTITION tree0 FOR VALUES IN (0);
CREATE TABLE tree1 PARTITION OF tree FOR VALUES IN (1);
CREATE INDEX tree_fp ON tree USING simhash (fp);
INSERT INTO tree (id, g, fp) SELECT * FROM src;
ANALYZE tree;
SELECT explain('SELECT id FROM tree WHERE fp <~> 0 <= 3');
SELECT agrees('tree', c), c FROM unnest('{fp <~> 0 <= 3,hamming(fp\, 0) < 4,fp <~> 0 = 5,fp <~> 1 <= 2,fp <~> 0 < 9 AND g = 0}'::text[]) c;
PREPARE within(int) AS SELECT count(*) FROM tree WHERE fp <~> 0 <= $1;
SET plan_cache_mode = force_generic_plan;
SELECT explain('EXECUTE within(3)', true);
EXECUTE within(3);
RESET plan_cache_mode;
DEALLOCATE within;
DROP TABLE tree;

-- children: one has a simhash index, the others what the planner compares with the clause
CREATE TABLE family (id int, g int, fp bigint);
CREATE TABLE indexed () INHERITS (family);
CREATE TABLE partial () INHERITS (family);
CREATE TABLE excluded (CHECK (hamming(fp, 0) > 3)) INHERITS (family);
CREATE INDEX indexed_fp ON indexed USING simhash (fp);
CREATE INDEX partial_id ON partial (id) WHERE fp <~> 0 < 6;
INSERT INTO indexed SELECT * FROM src WHERE id <= 800;
INSERT INTO partial SELECT * FROM src WHERE id > 800 AND id <= 1200;
INSERT INTO excluded SELECT * FROM src WHERE id > 1200 AND fp <~> 0 > 3;
INSERT INTO family SELECT * FROM src WHERE id > 1200 AND fp <~> 0 <= 3;
ANALYZE family, indexed, partial, excluded;
SELECT explain('SELECT id FROM family WHERE fp <~> 0 <= 3');
SELECT explain('SELECT id FROM family WHERE fp <~> 0 <= 5');
SELECT agrees('family', c), c FROM unnest('{fp <~> 0 <= 3,fp <~> 0 <= 5,fp <~> 0 <= 2 OR g = 1,fp <~> 1 <= 2}'::text[]) c;
-- the same where the parent has an index too, so that the clause is replaced before the children come
CREATE INDEX family_fp ON family USING simhash (fp);
SELECT explain('SELECT id FROM family WHERE fp <~> 0 <= 3');
SELECT explain('SELECT id FROM family WHERE fp <~> 0 <= 5');
SELECT agrees('family', c), c FROM unnest('{fp <~> 0 <= 3,fp <~> 0 <= 5,fp <~> 0 <= 2 OR g = 1,fp <~> 1 <= 2}'::text[]) c;
DROP TABLE family CASCADE;

-- one table with a constraint, and a predicate that a clause of the distance implies by being strict
SET constraint_exclusion = on;
CREATE TABLE one (id int, fp bigint, CHECK (fp <~> 0 > 3));
CREATE INDEX one_fp ON one USING simhash (fp);
SELECT explain('SELECT id FROM one WHERE fp <~> 0 <= 3');
RESET constraint_exclusion;
DROP INDEX one_fp;
CREATE INDEX one_fp ON one USING simhash (fp) WHERE fp <~> 9 IS NOT NULL;
SELECT explain('SELECT id FROM one WHERE fp <~> 9 <= 3');

DROP SCHEMA planner_partitions CASCADE;
