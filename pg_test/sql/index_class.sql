-- The operator classes, what amvalidate finds wrong with others, and the statistics counters.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
RESET client_min_messages;

SELECT opcname, opcdefault, opcintype::regtype, amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'simhash';

SELECT amopstrategy, amoppurpose, amopopr::regoperator
FROM pg_amop JOIN pg_am a ON a.oid = amopmethod WHERE amname = 'simhash' ORDER BY 1, amopopr;
-- Each hash function agrees with that of the server's own hash access method, or did so before it had one of its own.
SELECT p.amproclefttype::regtype, p.amproc
FROM pg_amproc p JOIN pg_opfamily f ON f.oid = p.amprocfamily JOIN pg_am a ON a.oid = f.opfmethod
WHERE amname = 'simhash' ORDER BY p.amproclefttype;

CREATE OPERATOR CLASS wrong_type FOR TYPE text USING simhash AS
	OPERATOR 3 = (text, text);
CREATE OPERATOR CLASS wrong_number FOR TYPE bigint USING simhash AS
	OPERATOR 1 <@ (bigint, hamming_ball), OPERATOR 2 = (bigint, bigint);
-- No order; an order by another family; the right operators under each other's numbers.
CREATE OPERATOR CLASS wrong_missing FOR TYPE bigint USING simhash AS
	OPERATOR 1 <@ (bigint, hamming_ball), OPERATOR 3 ~= (bigint, bigint);
CREATE OPERATOR CLASS wrong_order FOR TYPE bigint USING simhash AS
	OPERATOR 1 <@ (bigint, hamming_ball), OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.float_ops;
CREATE OPERATOR CLASS wrong_places FOR TYPE bigint USING simhash AS
	OPERATOR 1 ~= (bigint, bigint), OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 3 <@ (bigint, hamming_ball);
-- A stray member of a family that is sound otherwise.
CREATE OPERATOR CLASS wrong_member FOR TYPE bigint USING simhash AS
	OPERATOR 1 <@ (bigint, hamming_ball), OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops;
ALTER OPERATOR FAMILY wrong_member USING simhash ADD OPERATOR 3 = (int, int);
-- Scopes without a hash function, with one that returns 64 bits, and with one under another number.
CREATE OPERATOR CLASS wrong_hash FOR TYPE text USING simhash AS OPERATOR 4 = (text, text);
CREATE OPERATOR CLASS wrong_width FOR TYPE text USING simhash AS
	OPERATOR 4 = (text, text), FUNCTION 1 hashtextextended(text, bigint);
-- The function of another type.
CREATE OPERATOR CLASS wrong_argument FOR TYPE inet USING simhash AS
	OPERATOR 4 = (inet, inet), FUNCTION 1 hashtext(text);
-- Any type that can be hashed can be a scope.
CREATE OPERATOR CLASS right_numeric FOR TYPE numeric USING simhash AS
	OPERATOR 4 = (numeric, numeric), FUNCTION 1 hash_numeric(numeric);
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname LIKE 'wrong%' OR opcname LIKE 'right%' ORDER BY 1;
CREATE OPERATOR CLASS wrong_function FOR TYPE text USING simhash AS
	OPERATOR 4 = (text, text), FUNCTION 3 hashtext(text);
CREATE TABLE class_scoped AS SELECT (g % 3)::numeric AS tenant, 't' AS kind, g::bigint AS fp FROM generate_series(1, 300) g;
CREATE INDEX class_scoped_hash ON class_scoped USING simhash (kind wrong_hash, fp);
CREATE INDEX class_scoped_fp ON class_scoped USING simhash (tenant right_numeric, fp);
SET enable_seqscan = off;
SELECT count(*) FROM class_scoped WHERE tenant = 2.00 AND fp <~> 5 <= 1;
RESET enable_seqscan;
DROP TABLE class_scoped;
-- A class that lacks only the operator of constraints will do.
ALTER OPERATOR FAMILY wrong_member USING simhash DROP OPERATOR 3 (int, int);
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname = 'wrong_member';
SET client_min_messages = warning;
DROP OPERATOR FAMILY wrong_missing USING simhash;
DROP OPERATOR FAMILY wrong_order USING simhash;
DROP OPERATOR FAMILY wrong_places USING simhash;
DROP OPERATOR FAMILY wrong_member USING simhash;
RESET client_min_messages;
DROP OPERATOR FAMILY wrong_type USING simhash;
DROP OPERATOR FAMILY wrong_hash USING simhash;
DROP OPERATOR FAMILY wrong_width USING simhash;
DROP OPERATOR FAMILY wrong_argument USING simhash;
DROP OPERATOR FAMILY right_numeric USING simhash;
DROP OPERATOR FAMILY wrong_number USING simhash;

-- No plan is an index-only scan, whatever else is forbidden: this index returns no column.
CREATE TABLE class_bare AS SELECT g AS id, g::bigint AS fp FROM generate_series(1, 3000) g;
CREATE INDEX class_bare_fp ON class_bare USING simhash (fp);
CREATE INDEX class_bare_some ON class_bare USING simhash (fp) WHERE id < 1000;
VACUUM ANALYZE class_bare;
CREATE FUNCTION class_plans() RETURNS TABLE (setting text, query text, plan text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOREACH setting IN ARRAY '{none,enable_seqscan,enable_indexscan,enable_bitmapscan,enable_sort,all}'::text[] LOOP
		PERFORM set_config(s, CASE WHEN setting IN (s, 'all') THEN 'off' ELSE 'on' END, true)
		FROM unnest('{enable_seqscan,enable_indexscan,enable_bitmapscan,enable_sort}'::text[]) s;
		FOREACH query IN ARRAY ARRAY[
			'SELECT count(*) FROM class_bare', 'SELECT 1 FROM class_bare', 'SELECT FROM class_bare LIMIT 1',
			'SELECT count(*) FROM class_bare WHERE id < 1000', 'SELECT count(*) FROM class_bare WHERE id < 10',
			'SELECT count(fp) FROM class_bare', 'SELECT fp FROM class_bare WHERE fp <~> 1 <= 3',
			'SELECT count(*) FROM class_bare WHERE fp <~> 1 <= 3',
			'SELECT count(*) FROM class_bare WHERE fp IS NULL', 'SELECT count(*) FROM class_bare WHERE fp IS NOT NULL',
			'SELECT fp FROM class_bare ORDER BY fp <~> 1 LIMIT 1', 'SELECT 1 FROM class_bare ORDER BY fp <~> 1',
			'SELECT fp <~> 1 FROM class_bare ORDER BY fp <~> 1', 'SELECT EXISTS (SELECT FROM class_bare)',
			'SELECT count(*) FROM class_bare a, class_bare b', 'SELECT count(*) FROM class_bare a JOIN class_bare b ON a.fp <~> b.fp <= 3',
			'SELECT count(*) FROM class_bare WHERE fp ~= 7', 'SELECT count(*) FROM class_bare HAVING false'] LOOP
			plan := '';
			FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
				plan := plan || line || E'\n';
			END LOOP;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
SELECT setting, query FROM class_plans() WHERE plan LIKE '%Index Only Scan%';
SELECT count(*) AS plans, count(*) FILTER (WHERE plan LIKE '%class_bare_%') > 30 AS many_use_an_index FROM class_plans();
DROP TABLE class_bare;
DROP FUNCTION class_plans;

-- One scan counts once, and rows as they are read. The session's own counts are read, before it reports them.
CREATE FUNCTION class_counts(index regclass, OUT scans bigint, OUT reads bigint, OUT fetches bigint) LANGUAGE sql AS $$
	SELECT pg_stat_get_xact_numscans(index), pg_stat_get_xact_tuples_returned(index), pg_stat_get_xact_tuples_fetched(index)
$$;
CREATE TABLE class_counters AS SELECT g AS id, g::bigint AS fp FROM generate_series(1, 2000) g;
CREATE INDEX class_counters_fp ON class_counters USING simhash (fp);
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT count(*) FROM class_counters WHERE fp <~> 5 <= 1;
SELECT * FROM class_counts('class_counters_fp');
SET LOCAL enable_bitmapscan = on;
SET LOCAL enable_indexscan = off;
SELECT count(*) FROM class_counters WHERE fp <~> 5 <= 1;
SELECT * FROM class_counts('class_counters_fp');
COMMIT;
DROP TABLE class_counters;

-- As with a b-tree: the rows with one k are those with one fp, so that both indexes are asked for the same.
CREATE TABLE class_asked AS SELECT g AS id, g % 50 AS k, hashint8extended(g % 50, 1) AS fp FROM generate_series(1, 2000) g;
INSERT INTO class_asked SELECT 0, NULL, NULL FROM generate_series(1, 10);
CREATE INDEX class_asked_k ON class_asked (k);
CREATE INDEX class_asked_fp ON class_asked USING simhash (fp);
CREATE TABLE class_keys AS SELECT g AS k, hashint8extended(g, 1) AS fp FROM generate_series(1, 60, 6) g;
ANALYZE class_asked, class_keys;
-- Fewer dead rows than a search removes from the index.
DELETE FROM class_asked WHERE id % 500 = 7;
CREATE TABLE class_counted (step text, index text, scans bigint, reads bigint, fetches bigint);
-- Runs a query of each index and notes what it adds to the counts of both.
CREATE PROCEDURE class_step(step text, btree text, simhash text) LANGUAGE plpgsql AS $$
DECLARE
	btree_before record := class_counts('class_asked_k');
	simhash_before record := class_counts('class_asked_fp');
BEGIN
	EXECUTE btree;
	EXECUTE simhash;
	INSERT INTO class_counted
		SELECT step, 'btree', scans - btree_before.scans, reads - btree_before.reads, fetches - btree_before.fetches
		FROM class_counts('class_asked_k')
		UNION ALL
		SELECT step, 'simhash', scans - simhash_before.scans, reads - simhash_before.reads, fetches - simhash_before.fetches
		FROM class_counts('class_asked_fp');
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SET enable_material = off;
CALL class_step('a search', 'SELECT id FROM class_asked WHERE k = 7',
	'SELECT id FROM class_asked WHERE fp <~> hashint8extended(7, 1) <= 0');
CALL class_step('nothing found', 'SELECT id FROM class_asked WHERE k = 77',
	'SELECT id FROM class_asked WHERE fp <~> hashint8extended(77, 1) <= 0');
CALL class_step('a LIMIT', 'SELECT max(id) FROM (SELECT id FROM class_asked WHERE k = 8 LIMIT 3) x',
	'SELECT max(id) FROM (SELECT id FROM class_asked WHERE fp <~> hashint8extended(8, 1) <= 0 LIMIT 3) x');
CALL class_step('an order', 'SELECT max(id) FROM (SELECT id FROM class_asked ORDER BY k LIMIT 30) x',
	'SELECT max(id) FROM (SELECT id FROM class_asked ORDER BY fp <~> hashint8extended(9, 1) LIMIT 30) x');
CALL class_step('a nested loop', 'SELECT count(a.id) FROM class_keys b JOIN class_asked a ON a.k = b.k',
	'SELECT count(a.id) FROM class_keys b JOIN class_asked a ON a.fp <~> b.fp <= 0');
CALL class_step('NULL', 'SELECT id FROM class_asked WHERE k IS NULL', 'SELECT id FROM class_asked WHERE fp IS NULL');
SET enable_bitmapscan = on;
SET enable_indexscan = off;
CALL class_step('a bitmap', 'SELECT id FROM class_asked WHERE k = 10',
	'SELECT id FROM class_asked WHERE fp <~> hashint8extended(10, 1) <= 0');
RESET ALL;
SELECT step, b.scans, b.reads, b.fetches, (s.scans, s.reads, s.fetches) = (b.scans, b.reads, b.fetches) AS same
FROM class_counted b JOIN class_counted s USING (step) WHERE b.index = 'btree' AND s.index = 'simhash' ORDER BY step COLLATE "C";
DROP TABLE class_asked, class_keys, class_counted;
DROP PROCEDURE class_step;
DROP FUNCTION class_counts;
