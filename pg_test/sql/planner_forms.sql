-- What the planner makes of each way to ask for a distance: which index and condition answer it, and that its rows are those that are
-- found without any index. Behind an index <@ shows that it is searched; a filter with <~> is the clause as it was written.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA planner_forms;
SET search_path = planner_forms, public;
CREATE TABLE t (id int, grp int, fp bigint, plain bigint);
-- A few rows at each distance of 42 up to 11, a few that are near the first ten, and others that are near nothing.
INSERT INTO t SELECT i, i % 7, CASE
		WHEN i % 30 = 0 THEN 42 # ((1::bigint << i / 30 % 12) - 1)
		WHEN i > 2900 THEN hashint8extended(i % 10 + 1, 1) # (15::bigint >> i % 4)
		ELSE hashint8extended(i, 1)
	END, i
FROM generate_series(1, 3000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE TABLE bare (id int, fp bigint);
INSERT INTO bare SELECT id, fp FROM t WHERE id <= 10;
INSERT INTO bare VALUES (11, 43);
ANALYZE t, bare;

-- Drops all indexes; the caller rolls it back.
CREATE FUNCTION remove_indexes() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = planner_forms AS $$
DECLARE
	index regclass;
BEGIN
	FOR index IN SELECT indexrelid FROM pg_index JOIN pg_class ON oid = indexrelid
		WHERE relnamespace = 'planner_forms'::regnamespace AND NOT relispartition
	LOOP
		EXECUTE 'DROP INDEX ' || index;
	END LOOP;
END $$;
-- The rows of a query, whose changes are undone: in their order if it asks for one.
CREATE FUNCTION rows_of(query text, with_indexes boolean) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	line record;
	lines text[] := '{}';
BEGIN
	IF NOT with_indexes THEN
		PERFORM remove_indexes();
	END IF;
	FOR line IN EXECUTE query LOOP
		lines := lines || line::text;
	END LOOP;
	RAISE SQLSTATE 'UNDO0';
EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
	RETURN ARRAY(SELECT l FROM unnest(lines) WITH ORDINALITY u (l, place) ORDER BY CASE WHEN query ~ 'ORDER BY' THEN place END, l);
END $$;
-- What a plan reads, with conditions and filters, from its top down. The rest of a plan, and what a sub-plan is called, depends on the
-- major.
CREATE FUNCTION reads(plan jsonb) RETURNS SETOF text LANGUAGE sql AS $$
	WITH RECURSIVE nodes (place, node) AS (
		SELECT '{}'::bigint[], plan
		UNION ALL
		SELECT place || number, child FROM nodes, jsonb_array_elements(node -> 'Plans') WITH ORDINALITY c (child, number)
	)
	SELECT regexp_replace(regexp_replace(
		concat_ws(': ',
			concat_ws(' ', ' ', nullif(node ->> 'Node Type', 'Index Scan'), node ->> 'Index Name', 'on ' || (node ->> 'Relation Name'),
				nullif(node ->> 'Alias', node ->> 'Relation Name')),
			node ->> 'Index Cond', 'order by ' || (node ->> 'Order By'), 'filter ' || coalesce(node ->> 'Filter', node ->> 'One-Time Filter')),
		'\$0|\(InitPlan \w+\)\.col1', '(a sub-plan)'), '(EXISTS)?\(SubPlan \w+\)', '(a sub-plan)')
	FROM nodes WHERE node ->> 'Node Type' ~ 'Scan|Sort' OR node ? 'One-Time Filter' ORDER BY place
$$;
CREATE FUNCTION answer(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	found text[];
	wanted text[];
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT reads(plan -> 0 -> 'Plan');
	found := rows_of(query, with_indexes => true);
	wanted := rows_of(query, with_indexes => false);
	RETURN NEXT format(CASE WHEN found = wanted THEN '%s rows, as without an index' ELSE '%s rows, OTHERS THAN THE %s WITHOUT AN INDEX' END,
		cardinality(found), cardinality(wanted));
END $$;

-- The first query of a session: nothing has loaded the library before.
\c -
\t on
\pset format unaligned
SET search_path = planner_forms, public;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_material = off;
SET enable_memoize = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET max_parallel_workers_per_gather = 0;
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <= 3$$);

-- comparisons
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 < 3$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 = 3$$);
SELECT answer($$SELECT id FROM t WHERE 3 >= fp <~> 42$$);
SELECT answer($$SELECT id FROM t WHERE 3 > 42 <~> fp$$);
SELECT answer($$SELECT id FROM t WHERE 3 = (fp <~> 42)$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 BETWEEN 1 AND 3$$);
SELECT answer($$SELECT id FROM t WHERE NOT (fp <~> 42 > 3)$$);
SELECT answer($$SELECT id FROM t WHERE NOT (fp <~> 42 > 3 OR grp = 1)$$);
SELECT answer($$SELECT id FROM t WHERE hamming(fp, 42) <= 3$$);
SELECT answer($$SELECT id FROM t WHERE hamming_within(42, fp, 3)$$);
SELECT answer($$SELECT id FROM t WHERE fp ~= 42$$);
SELECT answer($$SELECT id FROM t WHERE fp <@ hamming_ball(42, 3)$$);
-- these ask for far rows, and are left alone
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 > 3$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <> 3$$);

-- the radius: smallint, bigint, the ends of the ranges, NULL, an expression
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <= 3::smallint$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 < 3::bigint$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 < (-2147483648)$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 < (-9223372036854775808)::bigint$$);
SELECT answer($$SELECT id FROM t WHERE 9223372036854775807 >= fp <~> 42$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <= NULL$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> NULL <= 3$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <= (SELECT 3)$$);

-- parameters: custom and generic plans
PREPARE p4(bigint, int) AS SELECT id FROM t WHERE fp <~> $1 <= $2;
PREPARE p4lt(bigint, int) AS SELECT id FROM t WHERE fp <~> $1 < $2;
PREPARE p8lt(bigint, bigint) AS SELECT id FROM t WHERE fp <~> $1 < $2;
PREPARE p2(bigint, smallint) AS SELECT id FROM t WHERE $2 >= fp <~> $1;
SELECT answer($$EXECUTE p4(42, 3)$$);
SET plan_cache_mode = force_generic_plan;
SELECT answer($$EXECUTE p4(42, 3)$$);
SELECT answer($$EXECUTE p4lt(42, 3)$$);
SELECT answer($$EXECUTE p8lt(42, 3)$$);
SELECT answer($$EXECUTE p2(42, 3::smallint)$$);
RESET plan_cache_mode;

-- a volatile centre or radius is not fixed during a scan
SELECT answer($$SELECT id FROM t WHERE fp <~> (42 + random() * 0)::bigint <= 3$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> (42 + random() * 0)::bigint = 3$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <= (3 + random() * 0)::int$$);
-- nor is another column of the same row
SELECT answer($$SELECT id FROM t WHERE fp <~> plain <= 3$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <= grp$$);

-- without the index
SELECT answer($$SELECT id FROM t WHERE plain <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM bare WHERE fp <~> 42 <= 3$$);

-- OR
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <= 3 OR fp <~> 43 < 2$$);
SELECT answer($$SELECT id FROM t WHERE (fp <~> 42 = 3 AND grp = 1) OR 2 >= fp <~> 43$$);
SET enable_indexscan = on;
SET enable_bitmapscan = off;

-- ordering goes through the operator class
SELECT answer($$SELECT fp <~> 42 FROM t ORDER BY fp <~> 42 LIMIT 10$$);
SELECT answer($$SELECT fp <~> 42 FROM t WHERE fp <~> 42 <= 10 ORDER BY fp <~> 42 LIMIT 10$$);

-- joins
SELECT answer($$SELECT b.id, t.id FROM bare b JOIN t ON t.fp <~> b.fp <= 3$$);
SELECT answer($$SELECT b.id, t.id FROM bare b, t WHERE 3 >= b.fp <~> t.fp$$);
SELECT answer($$SELECT b.id, t.id FROM bare b LEFT JOIN t ON t.fp <~> b.fp < 3 AND t.grp = 1$$);
SELECT answer($$SELECT b.id, n.id FROM bare b, LATERAL (SELECT id FROM t WHERE fp <~> b.fp <= b.id) n$$);
SELECT answer($$SELECT b.id, n.distance FROM bare b, LATERAL (SELECT fp <~> b.fp AS distance FROM t ORDER BY fp <~> b.fp LIMIT 2) n$$);
SELECT answer($$SELECT a.id FROM t a JOIN t b ON a.fp <~> b.fp = 3 WHERE a.id < b.id AND a.id <= 100$$);
SELECT answer($$SELECT id FROM bare b WHERE EXISTS (SELECT FROM t WHERE t.fp <~> b.fp <= 3 OFFSET 0)$$);
SELECT answer($$SELECT id, (SELECT count(*) FROM t WHERE t.fp <~> b.fp <= 3) FROM bare b$$);

-- views, sub-queries, common table expressions
CREATE VIEW v AS SELECT id, fp FROM t WHERE grp = 1;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, fp FROM t WHERE grp = 1;
SELECT answer($$SELECT id FROM v WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM barrier WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM (SELECT id, fp FROM t OFFSET 0) s WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM (SELECT DISTINCT id, fp FROM t) s WHERE fp <~> 42 <= 3$$);
SELECT answer($$WITH c AS (SELECT id, fp FROM t) SELECT id FROM c WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT max(id) FROM t WHERE fp <~> 42 <= 3 HAVING count(*) <= 64$$);

-- writing (MERGE: merge.sql)
SELECT answer($$UPDATE t SET grp = 0 WHERE fp <~> 42 <= 3 RETURNING id$$);
SELECT answer($$DELETE FROM t USING bare b WHERE t.fp <~> b.fp <= 3 RETURNING t.id$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 42 <= 3 FOR UPDATE$$);

-- row security
CREATE ROLE planner_forms_reader;
GRANT USAGE ON SCHEMA planner_forms TO planner_forms_reader;
GRANT SELECT ON t TO planner_forms_reader;
CREATE POLICY near ON t TO planner_forms_reader USING (fp <~> 42 <= 9);
CREATE POLICY grp ON t AS RESTRICTIVE TO planner_forms_reader USING (grp = 1);
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE planner_forms_reader;
SELECT answer($$SELECT id FROM t$$);
SELECT answer($$SELECT id FROM t WHERE fp <~> 43 <= 3$$);
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
INSERT INTO part SELECT id / 16, fp FROM t WHERE id % 30 = 0 OR id > 2900 OR id < 200;
CREATE INDEX part1_fp ON part1 USING simhash (fp);
SELECT answer($$SELECT id FROM part WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM part WHERE fp <~> 42 = 3$$);
SELECT answer($$SELECT b.id, p.id FROM bare b JOIN part p ON p.fp <~> b.fp < 3$$);
CREATE INDEX part_fp ON part USING simhash (fp);
SELECT answer($$SELECT id FROM part WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT b.id, p.id FROM bare b JOIN part p ON p.fp <~> b.fp = 3$$);
SELECT answer($$SELECT fp <~> 42 FROM part ORDER BY fp <~> 42 LIMIT 5$$);

-- partitions of a partition, with the columns in another order
CREATE TABLE part3 (fp bigint, id int) PARTITION BY RANGE (id);
CREATE TABLE part31 PARTITION OF part3 FOR VALUES FROM (200) TO (250);
ALTER TABLE part ATTACH PARTITION part3 FOR VALUES FROM (200) TO (300);
INSERT INTO part SELECT 200 + id / 100, fp FROM t WHERE id % 30 = 0 OR id > 2900;
SELECT answer($$SELECT id FROM part WHERE fp <~> 42 <= 3 AND id >= 200$$);
DROP INDEX part_fp;
CREATE INDEX part31_fp ON part31 USING simhash (fp);
SELECT answer($$SELECT id FROM part WHERE fp <~> 42 <= 3 AND id >= 200$$);
SELECT answer($$SELECT b.id, p.id FROM bare b JOIN part p ON p.fp <~> b.fp <= 3 AND p.id >= 200$$);

-- inheritance and UNION ALL
CREATE TABLE kid (extra int) INHERITS (bare);
INSERT INTO kid SELECT id, fp FROM t WHERE id % 30 = 0;
CREATE INDEX kid_fp ON kid USING simhash (fp);
SELECT answer($$SELECT id FROM bare WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM (SELECT id, fp FROM t UNION ALL SELECT id, fp FROM ONLY bare) u WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM (SELECT id, fp FROM t UNION ALL SELECT id, fp FROM ONLY bare) u WHERE fp <~> 42 = 3$$);
SELECT answer($$SELECT b.id, u.id FROM ONLY bare b JOIN (SELECT id, fp FROM t UNION ALL SELECT id, fp FROM kid) u ON u.fp <~> b.fp <= 3$$);
DROP TABLE kid;

-- expression indexes, domains
CREATE DOMAIN fingerprint AS bigint;
CREATE TABLE e (id int, fp bigint, d fingerprint);
INSERT INTO e SELECT id, fp # 1, fp FROM t WHERE id % 30 = 0;
CREATE INDEX e_fp ON e USING simhash ((fp # 1));
CREATE INDEX e_d ON e USING simhash (d);
SELECT answer($$SELECT id FROM e WHERE (fp # 1) <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM e WHERE 3 > 42 <~> (fp # 1)$$);
SELECT answer($$SELECT id FROM e WHERE (fp # 2) <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM e WHERE d <~> 42 <= 3$$);

-- partial indexes: the planner must still see what implies the predicate
CREATE TABLE narrow (id int, fp bigint);
INSERT INTO narrow SELECT id, fp FROM t;
CREATE INDEX narrow_fp ON narrow USING simhash (fp) WHERE fp <~> 42 <= 10;
SELECT answer($$SELECT id FROM narrow WHERE fp <~> 42 <= 10$$);
SELECT answer($$SELECT id FROM narrow WHERE fp <~> 42 <= 3$$);
SELECT answer($$SELECT id FROM narrow WHERE fp <~> 42 <= 11$$);
DROP INDEX narrow_fp;
CREATE INDEX narrow_fp ON narrow USING simhash (fp) WHERE fp IS NOT NULL;
SELECT answer($$SELECT id FROM narrow WHERE fp <~> 42 <= 3$$);
-- (a simhash index that does not serve the query: the rewrite still happens)
DROP INDEX narrow_fp;
CREATE INDEX narrow_fp ON narrow USING simhash (fp) WHERE id IS NULL;
CREATE INDEX narrow_id ON narrow (id) WHERE fp <~> 42 <= 10;
SELECT answer($$SELECT id FROM narrow WHERE fp <~> 42 <= 9 ORDER BY id LIMIT 1$$);

-- an access method under another name
CREATE ACCESS METHOD planner_forms_am TYPE INDEX HANDLER simhash_catalog.simhash_handler;
CREATE OPERATOR CLASS planner_forms_ops DEFAULT FOR TYPE bigint USING planner_forms_am AS
    OPERATOR 1 <@ (bigint, hamming_ball),
    OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
    OPERATOR 3 ~= (bigint, bigint);
CREATE TABLE other (id int, fp bigint);
INSERT INTO other SELECT id, fp FROM t;
CREATE INDEX other_fp ON other USING planner_forms_am (fp);
SELECT answer($$SELECT id FROM other WHERE fp <~> 42 <= 3$$);

\t off
\pset format aligned
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
