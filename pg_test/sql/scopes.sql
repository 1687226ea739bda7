-- Scope columns from a user's side: each answer is compared with that of reading every row.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA scopes;
SET search_path = scopes, public;
RESET client_min_messages;
SET jit = off;
SET max_parallel_workers_per_gather = 0;

CREATE TYPE mood AS ENUM ('dry', 'warm', 'kind');
-- Three thousand rows: near-copies of a hundred fingerprints and lone rows, some without a fingerprint. The scope n is the
-- same in each type: 13 of them, the first with a third of the rows, and rows without.
CREATE TABLE doc AS SELECT i AS id, fp, n::bigint AS big, n AS int4, n::smallint AS small,
	md5('guid' || n)::uuid AS guid,
	'Source ' || n AS txt, ('Source ' || n)::varchar(20) AS var, ('s' || n)::char(6) AS fixed,
		date '2026-01-01' + n AS day,
	n = 0 AS flag, n::oid AS obj, (enum_range(NULL::mood))[1 + n % 3] AS mood
FROM (SELECT i, nullif(CASE WHEN i % 3 = 0 THEN 0 ELSE i % 17 END, 13) AS n, CASE WHEN i % 50 = 0 THEN NULL
	WHEN i % 10 = 0 THEN hashint8extended(i, 7)
		ELSE hashint8extended(i % 100, 1) # (1::bigint << (i % 61)) # (1::bigint << (i % 47)) END AS fp
	FROM generate_series(1, 3000) i) x;
ANALYZE doc;

-- A query without the indexes, and with them by each way that there is: how many rows it has, in how many ways an index
-- was used, and whether all give the same ones. In an ordered query the order of the rows counts.
CREATE FUNCTION asked(query text, ordered boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ways text[] := '{table,index,bitmap}';
	rows text[];
	want text[];
	line text;
	uses int := 0;
	answer text;
BEGIN
	FOR i IN 1 .. 3 LOOP
		PERFORM set_config('enable_seqscan', (i = 1)::text, true), set_config('enable_indexscan', (i = 2)::text, true),
			set_config('enable_bitmapscan', (i = 3)::text, true), set_config('enable_indexonlyscan', 'off', true);
		IF i > 1 THEN
			FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
				IF line ~ '(Index Scan using|Bitmap Index Scan on) \w*_sim' THEN
					uses := uses + 1;
					EXIT;
				END IF;
			END LOOP;
		END IF;
		EXECUTE format('SELECT coalesce(array_agg(r::text%s), ''{}'') FROM (%s) r',
			CASE WHEN NOT ordered THEN ' ORDER BY r::text' END, query) INTO rows;
		want := coalesce(want, rows);
		IF rows IS DISTINCT FROM want THEN
			answer := concat_ws('; ', answer, format('by %s: %s rows, not %s', ways[i], cardinality(rows), cardinality(want)));
		END IF;
	END LOOP;
	PERFORM set_config(s, 'on', true) FROM unnest('{enable_seqscan,enable_indexscan,enable_bitmapscan}'::text[]) s;
	RETURN coalesce(answer, format('%s rows, %s by the index', cardinality(want),
		(ARRAY['never', 'once', 'twice'])[1 + uses]));
END $$;
-- The questions that an index answers, beside a condition on the scopes.
CREATE FUNCTION questions(tab text, condition text, fp text DEFAULT 'fp') RETURNS TABLE (question text, ordered boolean)
	LANGUAGE sql AS $$
	SELECT format('SELECT id FROM %s WHERE %s AND %s', tab, condition, replace(c, 'FP', fp)), false
	FROM unnest('{FP <~> hashint8extended(7\, 1) <= 3,FP <~> hashint8extended(7\, 1) <= 25,FP ~= hashint8extended(8\, 1),
		FP = (SELECT fp FROM doc WHERE id = 100 + 3),"FP ~= ANY (ARRAY[hashint8extended(7, 1), hashint8extended(9, 1), NULL])",
		FP IS NULL,FP IS NOT NULL,true}'::text[]) c
	UNION ALL
	SELECT format('SELECT %3$s <~> hashint8extended(7, 1) AS d FROM %1$s WHERE %2$s ORDER BY %3$s <~> hashint8extended(7, 1) %4$s',
		tab, condition, fp, n), true
	FROM unnest('{"",LIMIT 7}'::text[]) n
$$;
-- All of them, beside each condition: was an index used for most (the order within all scopes needs none), and what was wrong?
CREATE FUNCTION asked_all(tab text, conditions text[], fp text DEFAULT 'fp')
RETURNS TABLE (questions bigint, by_index boolean, rows bigint, wrong text) LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE answer ~ 'never') <= count(*) * 3 / 10, sum(substring(answer FROM '^(\d+) rows')::int),
		string_agg(question || ': ' || answer, E'\n') FILTER (WHERE answer ~ '^by')
	FROM (SELECT q.question, asked(q.question, q.ordered) AS answer FROM unnest(conditions) c, questions(tab, c, fp) q) x
$$;

-- Each type, by its plain spelling: a value, none, lists, conditions that pin nothing.
CREATE FUNCTION asked_of_type(col text) RETURNS TABLE (questions bigint, by_index boolean, rows bigint, wrong text)
	LANGUAGE plpgsql AS $$
DECLARE
	vals text[];
BEGIN
	EXECUTE format('SELECT array_agg(v::text ORDER BY v) FROM (SELECT DISTINCT %I AS v FROM doc) x', col) INTO vals;
	EXECUTE format('CREATE INDEX doc_sim ON doc USING simhash (%I, fp)', col);
	RETURN QUERY SELECT * FROM asked_all('doc', ARRAY[format('%I = %L', col, vals[1]), format('%I = %L', col, vals[2]),
		format('%I IS NULL', col),
		format('%I IN (%L, %L, NULL)', col, vals[1], vals[2]), format('%I = ANY (%L)', col, vals),
		format('%I <> %L', col, vals[1]),
		format('%I IS NOT NULL', col), format('%1$I = %2$L AND %1$I IN (%2$L, %3$L)', col, vals[2], vals[1]),
		format('%1$I = %2$L AND %1$I IS NULL', col, vals[1])]);
	IF EXISTS (SELECT FROM simhash_index_verify('doc_sim', true)) THEN
		RAISE 'faults in the index of %', col;
	END IF;
	DROP INDEX doc_sim;
END $$;
SELECT col, a.* FROM unnest('{big,int4,small,guid,txt,var,fixed,day,flag,obj,mood}'::text[]) WITH ORDINALITY c (col, i),
	asked_of_type(col) a ORDER BY i;

-- What the plain spelling makes, and what a plan shows.
CREATE INDEX doc_sim ON doc USING simhash (big, fp);
SELECT pg_get_indexdef('doc_sim'::regclass);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE big = 7 AND fp <~> 1 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE big IS NULL ORDER BY fp <~> 1 LIMIT 5;
RESET enable_bitmapscan;
EXPLAIN (COSTS OFF) SELECT id FROM doc WHERE big IN (7, 8) AND fp <~> 1 <= 3;
RESET enable_seqscan;

-- Integers of other widths, as constants, in lists and as parameters.
CREATE FUNCTION asked_each(VARIADIC conditions text[]) RETURNS TABLE (condition text, questions bigint, by_index boolean,
	rows bigint, wrong text)
LANGUAGE sql AS 'SELECT c, a.* FROM unnest(conditions) WITH ORDINALITY u (c, i), asked_all(''doc'', ARRAY[c]) a ORDER BY i';
SELECT * FROM asked_each('big = 7', 'big = 7::smallint', 'big = 7::int', 'big IN (7, 8::smallint)',
	'big = ANY (ARRAY[7, 8]::int[])', 'big = 4294967303',
	'big = (SELECT 7::smallint)', 'big = (SELECT 7)');
DROP INDEX doc_sim;
CREATE INDEX doc_sim ON doc USING simhash (int4, fp);
SELECT * FROM asked_each('int4 = 7', 'int4 = 7::bigint', 'int4 = 7::smallint', 'int4 = 4294967303',
	'int4 IN (7, 8::bigint)', 'int4 = ANY (ARRAY[7, 8]::smallint[])',
	'int4 = (SELECT 7::bigint)');
DROP INDEX doc_sim;
CREATE INDEX doc_sim ON doc USING simhash (small, fp);
SELECT * FROM asked_each('small = 7', 'small = 7::bigint', 'small = 7::smallint', 'small = 65543',
	'small IN (7, 8::bigint)', 'small = ANY (ARRAY[7, 8]::int[])',
	'small = (SELECT 7::bigint)');
DROP INDEX doc_sim;
-- char(n): trailing blanks do not count; varchar and text compare alike.
CREATE INDEX doc_sim ON doc USING simhash (fixed, fp);
SELECT * FROM asked_each('fixed = ''s7''', 'fixed = ''s7   ''', 'fixed = ''s7''::char(12)', 'fixed = ''s7''::bpchar',
	'fixed::text = ''s7''');
DROP INDEX doc_sim;
CREATE INDEX doc_sim ON doc USING simhash (var, fp);
SELECT * FROM asked_each('var = ''Source 7''', 'var = ''Source 7''::text', 'var = ''Source 7''::varchar(50)',
	'var = ANY (ARRAY[''Source 7'', ''Source 8'']::text[])');
DROP INDEX doc_sim;

-- Two and three columns: all pinned, some, none, lists of several.
CREATE INDEX doc_sim ON doc USING simhash (txt, flag, fp);
SELECT * FROM asked_each('txt = ''Source 7'' AND flag = false', 'txt = ''Source 0'' AND flag',
	'txt = ''Source 0'' AND NOT flag', 'txt IS NULL AND flag IS NULL',
	'txt = ''Source 7''', 'flag', 'txt IN (''Source 0'', ''Source 1'') AND flag IN (true, false)', 'flag IS NULL', 'true');
DROP INDEX doc_sim;
CREATE INDEX doc_sim ON doc USING simhash (int4, mood, day, fp);
SELECT * FROM asked_each('int4 = 7 AND mood = ''warm'' AND day = ''2026-01-08''',
	'int4 = 7 AND mood = ''dry'' AND day = ''2026-01-08''',
	'int4 IN (1, 7, 8) AND mood = ANY (''{dry,warm,kind}'') AND day IN (''2026-01-02'', ''2026-01-08'', ''2026-01-09'')',
	'int4 = 7 AND day = ''2026-01-08''',
	'int4 IS NULL AND mood IS NULL AND day IS NULL', 'int4 = 7 AND mood = ''warm'' AND day IS NULL', 'mood = ''kind''');
DROP INDEX doc_sim;

-- Expressions, as a scope and as the fingerprint.
CREATE INDEX doc_sim ON doc USING simhash (lower(txt), (fp # 5));
SELECT * FROM asked_all('doc', ARRAY['lower(txt) = ''source 7''', 'lower(txt) IN (''source 7'', ''source 8'')',
	'lower(txt) IS NULL', 'lower(txt) <> ''source 7'''], '(fp # 5)');
DROP INDEX doc_sim;

-- Scopes that share a hash: only the columns tell them apart. Here each tenant shares one with its negative.
CREATE OPERATOR CLASS folded FOR TYPE int USING simhash AS OPERATOR 4 = (int, int), FUNCTION 1 int4abs(int);
UPDATE doc SET int4 = -int4 WHERE id % 2 = 0;
CREATE INDEX doc_sim ON doc USING simhash (int4 folded, fp);
SELECT * FROM asked_each('int4 = 7', 'int4 = -7', 'int4 IN (7, -7)', 'int4 IN (7, -8)', 'int4 IS NULL',
	'int4 = ANY (''{7,-8,NULL}'') AND int4 <> 7');
DROP INDEX doc_sim;
CREATE TABLE folded_apart (tenant int, fp bigint, EXCLUDE USING simhash (tenant folded WITH =, fp WITH ~=));
INSERT INTO folded_apart VALUES (7, 0), (-7, 0), (8, 0), (7, 7), (-7, 7) ON CONFLICT DO NOTHING;
SELECT * FROM folded_apart ORDER BY tenant;
UPDATE doc SET int4 = abs(int4);

-- A partial index.
CREATE INDEX doc_sim ON doc USING simhash (big, fp) WHERE flag;
SELECT * FROM asked_each('flag AND big = 0', 'flag AND big IN (0, 1)', 'flag');
DROP INDEX doc_sim;

-- Partitions by tenant, whose indexes come from the parent's; the rows of one are of one tenant.
CREATE TABLE parted (LIKE doc) PARTITION BY LIST (big);
CREATE TABLE parted0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES IN (1, 2, 3, NULL);
CREATE TABLE parted2 PARTITION OF parted DEFAULT;
INSERT INTO parted SELECT * FROM doc;
CREATE INDEX parted_sim ON parted USING simhash (big, fp);
ALTER INDEX parted0_big_fp_idx RENAME TO parted0_sim;
ALTER INDEX parted1_big_fp_idx RENAME TO parted1_sim;
ALTER INDEX parted2_big_fp_idx RENAME TO parted2_sim;
ANALYZE parted;
SELECT c, a.* FROM unnest('{big = 0,big = 2,big IS NULL,"big IN (0, 2, 7)",big > 5,true}'::text[]) WITH ORDINALITY u (c, i),
	asked_all('parted', ARRAY[c]) a ORDER BY i;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM parted WHERE big = 2 AND fp <~> 1 <= 3;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- A nondeterministic collation: equal strings that differ are found. Where the server has no ICU nothing is asked. An
-- index is of no use for a condition with another collation than its own.
SELECT count(*) > 0 AS icu FROM pg_collation WHERE collname = 'und-x-icu' \gset
\set wrong ''
\set by_index t
\if :icu
SET client_min_messages = warning;
CREATE COLLATION no_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
RESET client_min_messages;
CREATE TABLE named AS SELECT id, fp, (CASE WHEN id % 2 = 0 THEN upper(txt) ELSE txt END) COLLATE no_case AS txt
	FROM doc;
CREATE INDEX named_sim ON named USING simhash (txt, fp);
SELECT coalesce(string_agg(wrong, ' '), '') || CASE WHEN min(rows) = 0 THEN 'nothing found' ELSE '' END AS wrong,
	bool_and(by_index) AS by_index
FROM unnest(ARRAY['txt = ''SOURCE 7''', 'txt = ''source 7''', 'txt IN (''source 7'', ''Source 8'')',
	'txt = ''source 0'' AND id > 5']) c, asked_all('named', ARRAY[c]) \gset
SELECT :'wrong' || coalesce(string_agg(a, '; ') FILTER (WHERE a !~ 'never'), '') AS wrong
FROM asked('SELECT id FROM named WHERE txt = ''Source 7'' COLLATE "C"') a \gset
\endif
SELECT :'wrong' AS wrong, :'by_index' AS by_index;
-- Of collations that every server has.
CREATE INDEX doc_sim ON doc USING simhash (txt COLLATE "C", fp);
SELECT asked('SELECT id FROM doc WHERE txt COLLATE "C" = ''Source 7'''),
	asked('SELECT id FROM doc WHERE txt COLLATE "POSIX" = ''Source 7''');
SELECT asked('SELECT id FROM doc WHERE txt COLLATE "POSIX" = ''Source 7'' AND fp <~> 1 <= 30');
DROP INDEX doc_sim;

-- Operators of fingerprints on a scope column, and orders by its distance: whatever the plan, the right rows.
CREATE INDEX doc_sim ON doc USING simhash (big, fp);
CREATE FUNCTION same(VARIADIC ordered text[]) RETURNS TABLE (query text, answer text) LANGUAGE sql AS
	'SELECT q, regexp_replace(asked(''SELECT '' || q, q ~ ''ORDER BY''), '', .*'', '''') FROM unnest(ordered) WITH ORDINALITY u (q, i)
		ORDER BY i';
SELECT * FROM same('id FROM doc WHERE big <~> 5 <= 1', 'id FROM doc WHERE big ~= 5',
	'id FROM doc WHERE big ~= ANY (ARRAY[5, NULL]::bigint[])',
	'id FROM doc WHERE big <~> 5 <= 1 AND fp <~> hashint8extended(7, 1) <= 20', 'id FROM doc WHERE big ~= 5 AND big = 4',
	'id FROM doc WHERE big <~> 0 <= 0 AND fp IS NULL',
	'id FROM doc WHERE big = 4 AND fp ~= big',
	'id FROM doc WHERE big = 4 AND big <~> 4 <= 0 AND fp <~> hashint8extended(7, 1) <= 25');
SELECT * FROM same('big <~> 5 FROM doc ORDER BY big <~> 5',
	'big <~> 5, fp <~> 1 FROM doc WHERE big = 4 ORDER BY big <~> 5, fp <~> 1',
	'fp <~> 1, big <~> 5 FROM doc WHERE fp IS NOT NULL ORDER BY fp <~> 1, big <~> 5',
	'fp <~> 1, fp <~> 2 FROM doc WHERE big IN (1, 2) ORDER BY fp <~> 1, fp <~> 2 LIMIT 40',
	'fp <~> 1, big <~> 5 FROM doc ORDER BY fp <~> 1, big <~> 5',
	'fp <~> 1, big <~> 5 FROM doc ORDER BY fp <~> 1, big <~> 5 LIMIT 40',
	'big <~> 5, fp <~> 1 FROM doc ORDER BY big <~> 5, fp <~> 1 LIMIT 500',
	'fp <~> NULL FROM doc WHERE big = 4 ORDER BY fp <~> NULL', 'fp <~> big FROM doc WHERE big = 4 ORDER BY fp <~> big',
	'fp <~> 1, big FROM doc WHERE fp <~> 1 <= 30 AND big IS NOT NULL ORDER BY fp <~> 1, big DESC',
	-- Ties, then the rows without a fingerprint.
	'fp <~> 1 FROM doc WHERE big = 4 ORDER BY fp <~> 1', 'fp <~> 1 FROM doc WHERE big IS NULL ORDER BY fp <~> 1',
	'fp <~> 1 FROM doc WHERE big IN (0, 5) ORDER BY fp <~> 1');

-- Lists: empty, of NULL, with the same value twice, long; as constants and as
-- parameters of both kinds of plans.
CREATE FUNCTION listed(list bigint[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	literal text := quote_nullable(list::text) || '::bigint[]';
	want text;
	got text;
	wrong text := '';
BEGIN
	FOR k IN 3 .. 33 BY 30 LOOP
		SELECT r::text INTO want FROM (SELECT count(*), sum(id) FROM doc WHERE big + 0 = ANY (list)
			AND bit_count((fp # hashint8extended(7, 1))::bit(64)) <= k) r;
		FOR way IN 0 .. 3 LOOP
			PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', (way < 2)::text, true),
				set_config('enable_bitmapscan', (way > 1)::text, true),
				set_config('plan_cache_mode', CASE way % 2 WHEN 0 THEN 'force_generic_plan' ELSE 'force_custom_plan' END, true);
			EXECUTE format('SELECT r::text FROM (SELECT count(*), sum(id) FROM doc WHERE big = ANY (%s) AND fp <~> hashint8extended(7, 1) <= %s) r',
				literal, k) INTO got;
			wrong := wrong || CASE WHEN got IS DISTINCT FROM want THEN format('constant %s: %s, not %s; ', way, got, want)
				ELSE '' END;
			SELECT r::text INTO got FROM (SELECT count(*), sum(id) FROM doc WHERE big = ANY (list)
				AND fp <~> hashint8extended(7, 1) <= k) r;
			wrong := wrong || CASE WHEN got IS DISTINCT FROM want THEN format('parameter %s: %s, not %s; ', way, got, want)
				ELSE '' END;
		END LOOP;
	END LOOP;
	RETURN coalesce(nullif(wrong, ''), want);
END $$;
SELECT what, listed(list) FROM (VALUES (1, 'empty', '{}'::bigint[]), (2, 'NULL', '{NULL}'), (3, 'no list', NULL),
	(4, 'with NULL', '{1,NULL,2}'), (5, 'twice', '{1,1,1,2,1}'),
	(6, 'none there', '{100,101,102}'), (7, '20,000', (SELECT array_agg(i % 10000) FROM generate_series(1, 20000) i)),
	(8, '20,000 different', (SELECT array_agg(i) FROM generate_series(2, 20001) i))) v (i, what, list) ORDER BY i;
PREPARE in_list (bigint[], int) AS SELECT count(*), sum(id) FROM doc WHERE big = ANY ($1)
	AND fp <~> hashint8extended(7, 1) <= $2;
PREPARE in_order (bigint[]) AS SELECT string_agg(d::text, ' ') FROM (SELECT fp <~> hashint8extended(7, 1) AS d FROM doc
	WHERE big = ANY ($1) ORDER BY d LIMIT 9) x;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXECUTE in_list('{1,2,2,NULL}', 20);
EXECUTE in_list('{}', 20);
EXECUTE in_list(NULL, 20);
EXECUTE in_order('{1,2,2,NULL}');
EXECUTE in_order('{}');
DEALLOCATE ALL;
RESET plan_cache_mode;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT string_agg(d::text, ' ') FROM (SELECT bit_count((fp # hashint8extended(7, 1))::bit(64)) AS d FROM doc
	WHERE big + 0 IN (1, 2) ORDER BY d LIMIT 9) x;

-- A table of tenants: for each the index is asked with its number, of another width. And rows of the table itself.
CREATE TABLE tenant AS SELECT n::int AS n, hashint8extended(n, 1) AS centre FROM generate_series(0, 20) n;
INSERT INTO tenant VALUES (NULL, hashint8extended(1, 1));
ANALYZE tenant;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT asked(q) FROM unnest(ARRAY['SELECT n, id FROM tenant JOIN doc ON big = n AND fp <~> centre <= 12',
	'SELECT n, id FROM tenant JOIN doc ON big = n WHERE fp <~> hashint8extended(7, 1) <= 25',
	'SELECT n, d FROM tenant, LATERAL (SELECT fp <~> centre AS d FROM doc WHERE big = n ORDER BY d LIMIT 3) x',
	'SELECT n, id FROM tenant LEFT JOIN doc ON big IN (n, n + 1) AND fp ~= centre',
	'SELECT a.id, b.id FROM doc a JOIN doc b ON a.big = b.big AND a.fp <~> b.fp <= 4 AND a.id < b.id WHERE a.id < 200',
	'SELECT n FROM tenant WHERE EXISTS (SELECT FROM doc WHERE big = n AND fp <~> centre <= 15)',
	'SELECT n FROM tenant WHERE NOT EXISTS (SELECT FROM doc WHERE big = n AND fp <~> centre <= 15)']) q;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- From PostgreSQL 18 on a line says what is disabled.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		CONTINUE WHEN line ~ 'Disabled: true';
		RETURN NEXT line;
	END LOOP;
END $$;
SELECT plan_of('SELECT n, id FROM tenant JOIN doc ON big = n AND fp <~> centre <= 12');
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
DROP INDEX doc_sim;

-- Row security that names the tenant: the rows of the setting's tenant, and no other ones.
CREATE TABLE secured AS SELECT id, big AS tenant, fp FROM doc;
CREATE INDEX secured_sim ON secured USING simhash (tenant, fp);
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON secured USING (tenant = current_setting('app.tenant')::int);
CREATE ROLE scopes_reader;
GRANT USAGE ON SCHEMA scopes TO scopes_reader;
GRANT SELECT ON secured TO scopes_reader;
SET ROLE scopes_reader;
SET app.tenant = 7;
SELECT asked('SELECT id FROM secured WHERE fp <~> hashint8extended(7, 1) <= 25'),
	asked('SELECT fp <~> 1 FROM secured ORDER BY fp <~> 1', true);
SELECT count(*), min(tenant), max(tenant) FROM secured WHERE fp <~> 0 <= 64;
SET app.tenant = 0;
SELECT count(*), min(tenant), max(tenant) FROM secured WHERE fp <~> 0 <= 64;
RESET ROLE;
DROP TABLE secured;
DROP OWNED BY scopes_reader;
DROP ROLE scopes_reader;

-- An exclusion constraint for each tenant.
CREATE TABLE apart (id int, tenant text, fp bigint, EXCLUDE USING simhash (tenant WITH =, fp WITH ~=));
INSERT INTO apart VALUES (1, 'a', 0), (2, 'b', 0), (3, 'a', 15), (4, NULL, 0), (5, NULL, 0), (6, 'a', NULL),
	(7, 'a', NULL);
INSERT INTO apart VALUES (8, 'a', 7);
INSERT INTO apart VALUES (8, 'b', 7) ON CONFLICT DO NOTHING;
INSERT INTO apart VALUES (8, 'c', 7), (9, 'c', 1), (10, 'c', -1) ON CONFLICT DO NOTHING;
UPDATE apart SET tenant = 'a' WHERE id = 2;
UPDATE apart SET tenant = 'd' WHERE id = 2;
SELECT id, tenant, fp FROM apart ORDER BY id;
CREATE TABLE late (id int, tenant bigint, fp bigint, EXCLUDE USING simhash (tenant WITH =, fp WITH ~=)
	DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO late VALUES (1, 1, 0), (2, 1, 1), (3, 2, 1);
DELETE FROM late WHERE id = 1;
COMMIT;
BEGIN;
INSERT INTO late VALUES (4, 2, 0);
COMMIT;
SELECT id, tenant FROM late ORDER BY id;
-- Equal fingerprints alone: `=` on the last column.
CREATE TABLE one_each (tenant int, fp bigint, EXCLUDE USING simhash (tenant WITH =, fp WITH =));
INSERT INTO one_each VALUES (1, 5), (2, 5), (1, 6), (1, NULL);
INSERT INTO one_each VALUES (1, 5);

-- From PostgreSQL 17 on the constraint may stand on a partitioned table whose key it compares with `=`.
SELECT current_setting('server_version_num')::int >= 170000 AS partitioned \gset
\set refused 1
\set stored 4
\if :partitioned
CREATE TABLE apart_parted (id int, tenant int, fp bigint, EXCLUDE USING simhash (tenant WITH =, fp WITH ~=))
	PARTITION BY LIST (tenant);
CREATE TABLE apart_parted1 PARTITION OF apart_parted FOR VALUES IN (1);
CREATE TABLE apart_parted2 PARTITION OF apart_parted DEFAULT;
INSERT INTO apart_parted VALUES (1, 1, 0), (2, 2, 0), (3, 3, 1), (4, 3, 255);
DO $$
BEGIN
	INSERT INTO apart_parted VALUES (5, 3, 3);
EXCEPTION WHEN exclusion_violation THEN
	CREATE TABLE refused_by_constraint ();
END $$;
SELECT count(*) AS refused FROM pg_class WHERE relname = 'refused_by_constraint' \gset
SELECT count(*) AS stored FROM apart_parted \gset
\endif
SELECT :refused AS refused, :stored AS stored;

-- Definitions that are refused, and what each says.
CREATE TABLE wrong (tenant int, place point, big bigint, fp bigint, more int);
CREATE INDEX wrong_sim ON wrong USING simhash (fp, tenant);
CREATE INDEX wrong_sim ON wrong USING simhash (tenant);
CREATE INDEX wrong_sim ON wrong USING simhash (place, fp);
CREATE INDEX wrong_sim ON wrong USING simhash (tenant, fp) INCLUDE (more);
CREATE UNIQUE INDEX wrong_sim ON wrong USING simhash (tenant, fp);
-- PostgreSQL 19 points at the word.
\set VERBOSITY sqlstate
CREATE INDEX wrong_sim ON wrong USING simhash (tenant DESC, fp);
\echo :LAST_ERROR_MESSAGE
CREATE INDEX wrong_sim ON wrong USING simhash (tenant simhash_ops, fp);
\echo :LAST_ERROR_MESSAGE
CREATE TABLE wrong_constraint (tenant int, fp bigint, EXCLUDE USING simhash (tenant WITH <>, fp WITH ~=));
\echo :LAST_ERROR_MESSAGE
\set VERBOSITY default
DO $$ BEGIN EXECUTE format('CREATE INDEX wrong_sim ON wrong USING simhash (%s, fp)',
	repeat('tenant, ', 31) || 'tenant'); END $$;
-- 31 scopes and the fingerprint are not too many. Of two columns of type bigint the place decides which is the fingerprint.
DO $$ BEGIN EXECUTE format('CREATE INDEX wrong_sim ON wrong USING simhash (%s, fp)',
	repeat('tenant, ', 30) || 'tenant'); END $$;
INSERT INTO wrong SELECT i % 5, NULL, i, i FROM generate_series(1, 200) i;
SELECT asked('SELECT fp FROM wrong WHERE tenant = 3 AND fp <~> 1 <= 2');
CREATE INDEX wrong_other ON wrong USING simhash (fp, big);
SELECT fault FROM simhash_index_verify('wrong_sim', true) UNION ALL
	SELECT fault FROM simhash_index_verify('wrong_other', true);

SET client_min_messages = warning;
DROP SCHEMA scopes CASCADE;
