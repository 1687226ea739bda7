-- Lists of many scopes: each answer is compared with counting bits row by row, and what the index hands over for the
-- server to compare again is counted.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA many_scopes;
SET search_path = many_scopes, public;
RESET client_min_messages;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;

-- Tenants of one row, of two, of fifty, of some leaves (-1 and -2), and of enough rows for a search of the nearest rows in it
-- alone (-3); without one. Half of the fingerprints lie near fifty centres. a and b together are the tenant, or b lacks.
CREATE TABLE doc AS SELECT id, tenant, tenant / 200 AS a, nullif(tenant % 200, 50) AS b,
	CASE WHEN id % 97 = 0 THEN NULL WHEN id % 2 = 0 THEN hashint8extended(id, 7)
		ELSE hashint8extended(id % 50, 1) # (1::bigint << (id % 61)) # (1::bigint << (id % 47)) END AS fp
FROM (SELECT i AS id, CASE WHEN i <= 20000 THEN i WHEN i <= 40000 THEN 20000 + i / 2 WHEN i <= 60000 THEN 40000 + i / 50
	WHEN i <= 63000 THEN -1 WHEN i <= 83000 THEN -2 WHEN i <= 243000 THEN -3 END AS tenant FROM generate_series(1, 244000) i) x;
CREATE INDEX doc_sim ON doc USING simhash (tenant, fp);
-- With few common values in the statistics, a list of 100,000 is planned quickly.
SET default_statistics_target = 5;
VACUUM ANALYZE doc;
-- What the index is asked for, the plain way.
CREATE TABLE seen AS SELECT id, tenant, a, b, d, fp IS NULL AS lacks
FROM doc, LATERAL (SELECT bit_count((fp # hashint8extended(7, 1))::bit(64)) AS d) x;

-- By a plain scan and by a bitmap, in plans that know the list and in generic ones: the rows within some radii, those
-- without a fingerprint, all, and the nearest. Says what is wrong, or how many rows there were.
CREATE FUNCTION compared(condition text, list int[], other int[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	-- The oracle finds the rows by hash joins with the lists.
	oracle text := replace(replace(replace(condition, 'tenant = ANY ($1)', 'tenant IN (SELECT unnest($1))'),
		'a = ANY ($1)', 'a IN (SELECT unnest($1))'), 'b = ANY ($2)', 'b IN (SELECT unnest($2))');
	wanted text[];
	answer text;
	wrong text := '';
	question text;
BEGIN
	EXECUTE format('WITH s AS MATERIALIZED (SELECT id, d, lacks FROM seen WHERE %s)
		SELECT array_agg(r ORDER BY i) FROM (SELECT k AS i, (count(id), sum(id))::text AS r
		FROM unnest(''{3,12,22}''::int[]) k LEFT JOIN s ON d <= k GROUP BY k
		UNION ALL SELECT 100, (count(*), sum(id))::text FROM s WHERE lacks
		UNION ALL SELECT 101, (count(*), sum(id))::text FROM s
		UNION ALL SELECT 102, string_agg(d::text, '' '') FROM (SELECT d FROM s ORDER BY d LIMIT 40) x
		UNION ALL SELECT 103, string_agg(d::text, '' '') FROM (SELECT d FROM s WHERE d <= 20 ORDER BY d LIMIT 40) x) r',
		oracle) USING list, other INTO wanted;
	FOR way IN 0 .. 3 LOOP
		PERFORM set_config('enable_indexscan', (way < 2)::text, true), set_config('enable_bitmapscan', (way > 1)::text, true),
			set_config('plan_cache_mode', CASE way % 2 WHEN 0 THEN 'force_generic_plan' ELSE 'force_custom_plan' END, true);
		FOR i IN 1 .. 7 LOOP
			-- A generic plan compares each row with the elements of the list one by one.
			CONTINUE WHEN greatest(cardinality(list), cardinality(other)) > 1000 AND (way = 0 AND i IN (2, 3, 4, 5) OR way = 2 AND i > 1);
			question := CASE WHEN i <= 5 THEN format('SELECT (count(*), sum(id))::text FROM doc WHERE %s AND %s', condition,
				(ARRAY['fp <~> hashint8extended(7, 1) <= 3', 'fp <~> hashint8extended(7, 1) <= 12',
				'fp <~> hashint8extended(7, 1) <= 22', 'fp IS NULL', 'true'])[i])
				ELSE format('SELECT string_agg(d::text, '' '') FROM (SELECT fp <~> hashint8extended(7, 1) AS d FROM doc WHERE %s%s
					ORDER BY fp <~> hashint8extended(7, 1) LIMIT 40) x', condition,
					CASE WHEN i = 7 THEN ' AND fp <~> hashint8extended(7, 1) <= 20' END) END;
			-- EXECUTE ... USING would never take a generic plan.
			EXECUTE format('PREPARE asked (int[], int[]) AS %s', question);
			EXECUTE format('EXECUTE asked (%L, %L)', list, other) INTO answer;
			DEALLOCATE asked;
			IF answer IS DISTINCT FROM wanted[i] THEN
				wrong := wrong || format('way %s, question %s: %s, not %s; ', way, i, answer, wanted[i]);
			END IF;
		END LOOP;
	END LOOP;
	RETURN coalesce(nullif(wrong, ''), wanted[1] || ' ' || wanted[5]);
END $$;
-- The parts of a list: from .. to.
CREATE FUNCTION upto(first int, last int) RETURNS int[] IMMUTABLE LANGUAGE sql AS 'SELECT array_agg(i) FROM generate_series(first, last) i';

SELECT what, compared('tenant = ANY ($1)', list) FROM (VALUES (1, 'empty', '{}'::int[]), (2, 'NULL', '{NULL}'), (3, 'no list', NULL),
	(4, 'one three times', '{5,5,5}'), (5, 'three', '{5,30000,-1}'), (6, '10,000', upto(1, 10000)), (7, '10,001', upto(1, 10001)),
	(8, '20,000', upto(15000, 34999)), (9, '100,000, most of them absent', upto(-50000, 49999)),
	(10, '50,000, all absent', upto(1000000, 1049999)),
	(11, '10,003 with NULLs, each twice', upto(1, 10000) || '{NULL,-2,NULL}'::int[] || upto(1, 10000) || '{NULL,-2,NULL}'::int[]),
	(12, 'all', upto(-3, 50000)), (13, 'large ones', '{-1,-2,-3}'),
	(14, 'large ones in the middle of others', upto(1, 10000) || '{-3,-2}'::int[] || upto(30000, 40000))) v (i, what, list) ORDER BY i;
-- Other conditions on the column beside the list.
SELECT c, compared(c, upto(1, 20000)) FROM unnest('{tenant = ANY ($1) AND tenant > 100,tenant = ANY ($1) AND tenant <> 7,
	tenant = ANY ($1) AND tenant IS NULL,tenant = ANY ($1) AND tenant = 19999}'::text[]) c;

-- What is handed over of other tenants, of the 9,000 rows that lie within the radius: a few rows, those that share a hash, or
-- those before it pays to multiply two lists.
CREATE FUNCTION others(condition text, list int[], other int[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	removed int := 0;
	name text := 'asked_' || (random() * 1e9)::int;
	rest text := '';
BEGIN
	PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
	FOR i IN 1 .. 2 LOOP
		PERFORM set_config('enable_indexscan', (i = 1)::text, true), set_config('enable_bitmapscan', (i = 2)::text, true);
		EXECUTE format('PREPARE %s (int[], int[]) AS SELECT id FROM doc WHERE %s AND fp <~> hashint8extended(7, 1) <= 24', name, condition);
		EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) EXECUTE %s (%L, %L)', name, list, other) INTO plan;
		EXECUTE 'DEALLOCATE ' || name;
		plan := plan -> 0 -> 'Plan';
		removed := coalesce((plan ->> 'Rows Removed by Index Recheck')::int, 0);
		rest := concat_ws(', ', nullif(rest, ''), format('%s: %s', plan ->> 'Node Type', CASE WHEN removed <= 40 THEN 'few' WHEN removed <= 3500 THEN 'some' ELSE removed || ' rows' END));
	END LOOP;
	RETURN rest;
END $$;
SELECT n, others('tenant = ANY ($1)', upto(1000001, 1000000 + n)) FROM unnest('{10000,10001,100000}'::int[]) n;
-- The planner takes the index, however long the list is.
CREATE FUNCTION plan_for(rest text, n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
BEGIN
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'on', true),
		set_config('enable_bitmapscan', 'on', true);
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE tenant = ANY (%L) %s', upto(1, n), rest) LOOP
		plan := plan || line;
	END LOOP;
	RETURN substring(plan FROM 'Seq Scan|Index Scan using doc_sim|Bitmap Index Scan on doc_sim');
END $$;
SELECT n, plan_for('AND fp <~> 7 <= 3', n) AS within, plan_for('ORDER BY fp <~> 7 LIMIT 10', n) AS nearest
FROM unnest('{2,1000,10000,10001,100000}'::int[]) n;
DROP INDEX doc_sim;

-- Two columns: their lists multiply, with memory for all scopes, and without.
CREATE INDEX doc_sim ON doc USING simhash (a, b, fp);
SELECT what, compared('a = ANY ($1) AND b = ANY ($2)', list, other) FROM (VALUES (1, '100 x 100', upto(0, 99), upto(0, 99)),
	(2, '101 x 100', upto(0, 100), upto(0, 99)), (3, '500 x 200', upto(-1, 498), upto(-3, 196)),
	(4, '500 x 1', upto(-1, 498), '{7}'), (5, '1 x 20,000', '{7}', upto(-9999, 10000)), (6, '100 x 0', upto(0, 99), '{NULL}'),
	(7, '1,000 x 0', upto(0, 999), NULL)) v (i, what, list, other) ORDER BY i;
SELECT compared('a = ANY ($1) AND b IS NULL', upto(0, 20000)), compared('a IS NULL AND b = ANY ($2)', NULL, upto(0, 20000));
-- A list beside a column that nothing pins.
SELECT compared('a = ANY ($1) AND b > 10', upto(0, 10000)), compared('a = ANY ($1)', upto(0, 20000));
SELECT what, others('a = ANY ($1) AND b = ANY ($2)', list, other) FROM (VALUES (1, '101 x 100', upto(1000, 1100), upto(0, 99)),
	(2, '1,000 x 1,000', upto(1000, 1999), upto(0, 999))) v (i, what, list, other) ORDER BY i;
SET work_mem = '64kB';
SELECT what, compared('a = ANY ($1) AND b = ANY ($2)', list, other) FROM (VALUES (1, '500 x 200', upto(-1, 498), upto(-3, 196)),
	(2, '2,000 x 2,000', upto(-1, 1998), upto(-3, 1996))) v (i, what, list, other) ORDER BY i;
-- One list beside a single value multiplies nothing: it needs no more memory than it has, however long it is.
SELECT others('a = ANY ($1) AND b = ANY ($2)', upto(1000, 30000), '{7}');
RESET work_mem;
DROP INDEX doc_sim;

-- Scopes that share a hash, here those of n and -n: the server compares the columns.
CREATE OPERATOR CLASS folded FOR TYPE int USING simhash AS OPERATOR 4 = (int, int), FUNCTION 1 int4abs(int);
CREATE INDEX doc_sim ON doc USING simhash (tenant folded, fp);
SELECT what, compared('tenant = ANY ($1)', list) FROM (VALUES (1, '-10,001 to 3', upto(-10001, 3)),
	(2, '20,000 on both sides', upto(-10000, 9999)), (3, '-1 to -3', '{-1,-2,-3}')) v (i, what, list) ORDER BY i;
SELECT others('tenant = ANY ($1)', upto(-10010, -4));
DROP INDEX doc_sim;

-- Started again with other lists, as the inner side of a join; ended early; and by a cursor that is moved to and fro.
CREATE INDEX doc_sim ON doc USING simhash (tenant, fp);
CREATE TABLE list AS SELECT n, CASE n WHEN 1 THEN upto(1, 10001) WHEN 2 THEN '{}' WHEN 3 THEN '{7}' WHEN 4 THEN upto(15000, 34999)
	WHEN 5 THEN '{-3,NULL,30001}' WHEN 7 THEN upto(-3, 12000) END AS tenants, hashint8extended(n, 1) AS centre
FROM generate_series(1, 7) n;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
CREATE FUNCTION joined(plain boolean) RETURNS TABLE (n int, rows bigint, ids bigint, nearest text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_indexscan', plain::text, true), set_config('enable_bitmapscan', (NOT plain)::text, true);
	RETURN QUERY SELECT list.n, x.*, y.* FROM list, LATERAL (SELECT count(*), sum(id) FROM doc WHERE tenant = ANY (tenants)
		AND fp <~> centre <= 20) x, LATERAL (SELECT string_agg(d::text, ' ') FROM (SELECT fp <~> centre AS d FROM doc
		WHERE tenant = ANY (tenants) ORDER BY fp <~> centre LIMIT 5) z) y;
END $$;
CREATE TABLE wanted AS SELECT list.n, x.*, y.* FROM list, LATERAL (SELECT count(*), sum(id) FROM doc WHERE tenant IN (SELECT unnest(tenants))
	AND bit_count((fp # centre)::bit(64)) <= 20) x, LATERAL (SELECT string_agg(d::text, ' ') FROM (SELECT bit_count((fp # centre)::bit(64)) AS d
	FROM doc WHERE tenant IN (SELECT unnest(tenants)) ORDER BY 1 LIMIT 5) z) y;
SELECT plain, (SELECT count(*) FROM (TABLE wanted INTERSECT SELECT * FROM joined(plain)) x) AS right,
	(SELECT count(*) FROM (SELECT * FROM joined(plain) EXCEPT TABLE wanted) x) AS wrong FROM unnest('{true,false}'::boolean[]) plain;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SET enable_bitmapscan = off;
SELECT count(*) FROM (SELECT id FROM doc WHERE tenant = ANY (upto(-3, 20000)) AND fp <~> hashint8extended(7, 1) <= 20 LIMIT 100) x
	WHERE id IN (SELECT id FROM seen WHERE d <= 20 AND tenant BETWEEN -3 AND 20000);
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM doc WHERE tenant = ANY (upto(-3, 20000)) AND fp <~> hashint8extended(7, 1) <= 20;
MOVE 700 IN c;
MOVE BACKWARD ALL IN c;
MOVE ALL IN c;
CLOSE c;
DECLARE c SCROLL CURSOR FOR SELECT fp <~> hashint8extended(7, 1) AS d FROM doc WHERE tenant = ANY (upto(-3, 20000))
	ORDER BY fp <~> hashint8extended(7, 1);
FETCH 3 FROM c;
MOVE 5000 IN c;
MOVE BACKWARD ALL IN c;
FETCH 3 FROM c;
COMMIT;
SELECT count(*) FROM seen WHERE d <= 20 AND tenant BETWEEN -3 AND 20000;
RESET enable_bitmapscan;
SELECT * FROM simhash_index_verify('doc_sim', true);

-- A large scope that is met before it pays to multiply the lists: what the walk has begun to read of it is not read again.
CREATE TABLE dense AS SELECT id, id % 400 * (id / 60000) AS a, id % 50 * (id / 60000) AS b, hashint8extended(1, 1) # bits AS fp
FROM generate_series(1, 66000) id, LATERAL (SELECT bit_or(1::bigint << abs(hashint8extended(id, i) % 64)::int) AS bits
	FROM generate_series(1, 6) i WHERE id > 0) x;
CREATE INDEX dense_sim ON dense USING simhash (a, b, fp);
VACUUM ANALYZE dense;
SET enable_bitmapscan = off;
SELECT n, rows, ids, (SELECT count(*) FROM dense WHERE a <= n AND b <= 100 AND bit_count((fp # hashint8extended(1, 1))::bit(64)) <= 4) AS wanted
FROM unnest('{100,300,1000,2000}'::int[]) n, LATERAL (SELECT count(*) AS rows, count(DISTINCT id) AS ids FROM dense
	WHERE a = ANY (upto(0, n)) AND b = ANY (upto(0, 100)) AND fp <~> hashint8extended(1, 1) <= 4) x;
RESET enable_bitmapscan;

SET client_min_messages = warning;
DROP SCHEMA many_scopes CASCADE;
