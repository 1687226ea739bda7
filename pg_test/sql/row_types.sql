-- Rows of every kind and columns of every type.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA row_types_test;
SET search_path = row_types_test, public;
SET TimeZone = 'UTC';

-- The canonical form of one value: the features of a row of one column.
CREATE FUNCTION canonical(r record) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT string_agg(feature, ' | ' ORDER BY feature) FROM simhash_features(r, '{"$features": ["words"]}', preset => 'words'));
END $$;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (n int, s text);
CREATE TYPE nested AS (p pair, ps pair[], at timestamptz);
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE DOMAIN positives AS positive[];
CREATE DOMAIN a_pair AS pair;
CREATE DOMAIN padded AS char(9);
CREATE DOMAIN words AS varchar(40) CHECK (value <> '');

-- Numbers: equal values have one form.
SELECT canonical(ROW(1::int2)), canonical(ROW(-1::int4)), canonical(ROW(9223372036854775807)),
	canonical(ROW(1.00::numeric)), canonical(ROW(100::numeric)), canonical(ROW(-0.50::numeric)),
	canonical(ROW('NaN'::numeric)), canonical(ROW(1::float4)), canonical(ROW(0.1::float4)),
	canonical(ROW(0.1::float8)), canonical(ROW('-0'::float8)), canonical(ROW(1e300::float8)), canonical(ROW('-Infinity'::float8)),
	canonical(ROW(true)), canonical(ROW(12.34::money)), canonical(ROW(4000000000::oid));
-- Dates and times.
SELECT canonical(ROW('2024-02-29'::date)), canonical(ROW('infinity'::date)), canonical(ROW('0044-03-15 BC'::date)),
	canonical(ROW('2024-02-29 12:34:56.7'::timestamp)), canonical(ROW('2024-02-29 12:34:56.7+02'::timestamptz)),
	canonical(ROW('-infinity'::timestamptz)), canonical(ROW('23:59:60'::time)), canonical(ROW('01:02:03-08'::timetz)),
	canonical(ROW('1 year -2 days 03:04:05.006'::interval)), canonical(ROW('-00:00:01.5'::interval));
SELECT canonical(ROW(d)) = to_char(d, 'FMYYYY-MM-DD') AS same, count(*)
FROM generate_series('1000-01-01'::date, '3000-01-01', '11 days') AS s (t), LATERAL (SELECT t::date AS d) AS x GROUP BY 1;
SELECT canonical(ROW(t)) = to_char(t, 'YYYY-MM-DD"T"HH24:MI:SS.US') AS same, count(*)
FROM generate_series(1, 2000) AS g, LATERAL (SELECT 'epoch'::timestamp + g * '123 days 4:56:07.123451'::interval AS t) AS x
WHERE to_char(t, 'US') NOT LIKE '%0' GROUP BY 1;
-- Text is segmented, whatever its type; char(n) has no padding.
SELECT canonical(ROW('B a'::text)), canonical(ROW('B a'::varchar)), canonical(ROW('B a'::char(9))), canonical(ROW('B a'::name)),
	canonical(ROW('B a')), canonical(ROW('B a'::words)), canonical(ROW('x'::"char")),
	canonical(ROW('{"b": "A"}'::json)), canonical(ROW('{"b": "A"}'::jsonb));
-- Containers: their elements are canonical too, and different contents have different forms.
SELECT v.form FROM (VALUES
	(canonical(ROW('{1,2,NULL}'::int[]))), (canonical(ROW('{}'::int[]))), (canonical(ROW('[2:3]={1,2}'::int[]))),
	(canonical(ROW('{{a,b},{c,"d\" }"}}'::text[]))), (canonical(ROW('{NULL,"NULL"}'::text[]))),
	(canonical(ROW('{1.0,2.50}'::numeric[]))), (canonical(ROW('{2024-01-01}'::date[]))), (canonical(ROW('{ab ,c}'::char(5)[]))),
	(canonical(ROW(ROW('ab'::padded)))),
	(canonical(ROW('[1,5)'::int4range))), (canonical(ROW('(,2024-01-01 10:00+02]'::tstzrange))), (canonical(ROW('empty'::int8range))),
	(canonical(ROW('{[1,2],[5,9)}'::int4multirange))), (canonical(ROW('{}'::datemultirange))),
	(canonical(ROW(ROW(1, 'a b')::pair))), (canonical(ROW(ROW(NULL, '')::pair))), (canonical(ROW(ROW(1, ROW(2.50, NULL))))),
	(canonical(ROW(ROW(ROW(1, 'x'), ARRAY[ROW(2, 'y')::pair, NULL], '2024-01-01 00:00+00')::nested))),
	(canonical(ROW('{1,2}'::positives))), (canonical(ROW(ROW(1, 'x')::a_pair))), (canonical(ROW(ARRAY[ROW(1, 'x')::a_pair])))
) AS v (form);
-- Geometry, bits, network, keys.
SELECT v.form FROM (VALUES
	(canonical(ROW(point(1, 0.1)))), (canonical(ROW('[(1,2),(3,4)]'::lseg))), (canonical(ROW('(3,4),(1,2)'::box))),
	(canonical(ROW('{1,2,3}'::line))), (canonical(ROW('<(1,2),3>'::circle))), (canonical(ROW('((1,2),(3,4))'::path))),
	(canonical(ROW('[(1,2),(3,4)]'::path))), (canonical(ROW('((1,2),(3,4),(5,6))'::polygon))),
	(canonical(ROW('\x00ff'::bytea))), (canonical(ROW(B'0101'))), (canonical(ROW('10.0.0.1/8'::inet))),
	(canonical(ROW('08:00:2b:01:02:03'::macaddr))), (canonical(ROW('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid))),
	(canonical(ROW('fat & rat'::tsquery))), (canonical(ROW('a:1 b:2'::tsvector))), (canonical(ROW('16/B374D848'::pg_lsn))),
	(canonical(ROW('(1,2)'::tid))), (canonical(ROW('$.a'::jsonpath)))
) AS v (form);
-- Values that name an object of the catalog have the form of its OID.
SELECT canonical(ROW('sad'::mood)) = (SELECT oid::text FROM pg_enum WHERE enumlabel = 'sad' AND enumtypid = 'mood'::regtype) AS enum,
	canonical(ROW('pg_class'::regclass)) = '1259' AS regclass, canonical(ROW('int4'::regtype)) AS regtype,
	canonical(ROW('{int4,text}'::regtype[])) AS regtypes;
SELECT simhash64(ROW('sad'::mood, '{ok}'::mood[]), preset => 'words') AS before \gset
ALTER TYPE mood RENAME VALUE 'sad' TO 'unhappy';
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
SELECT simhash64(ROW('unhappy'::mood, '{fine}'::mood[]), preset => 'words') = :before AS "same";

-- Every row of every system table has a fingerprint, as columns and as a value in an array.
DO $$
DECLARE t regclass; n bigint; missing bigint;
BEGIN
	FOR t IN SELECT oid::regclass FROM pg_class WHERE relkind IN ('r', 'v') AND relnamespace = 'pg_catalog'::regnamespace
		AND relname NOT IN ('pg_hba_file_rules', 'pg_ident_file_mappings', 'pg_shmem_allocations_numa') ORDER BY oid LOOP
		EXECUTE format('SELECT count(*), count(*) - count(simhash64(x, preset => ''words'') # simhash64(ROW(ARRAY[x], x), preset => ''words''))
			FROM %s AS x', t) INTO n, missing;
		IF missing > 0 THEN
			RAISE EXCEPTION '% rows of % have no fingerprint', missing, t;
		END IF;
	END LOOP;
END $$;

-- Dropped, added and renamed columns.
CREATE TABLE evolving (a text, b text, c text);
INSERT INTO evolving VALUES ('first words', 'dropped words', 'last words');
CREATE TABLE fresh (a text, c text);
INSERT INTO fresh SELECT a, c FROM evolving;
ALTER TABLE evolving DROP COLUMN b;
SELECT simhash64(e, preset => 'words') = simhash64(f, preset => 'words') AS dropped FROM evolving AS e, fresh AS f;
ALTER TABLE evolving ADD COLUMN d int DEFAULT 7;
ALTER TABLE fresh ADD COLUMN d int;
UPDATE fresh SET d = 7;
SELECT simhash64(e, preset => 'words') = simhash64(f, preset => 'words') AS added FROM evolving AS e, fresh AS f;
SELECT simhash64(e, '{"b": 1}', preset => 'words') FROM evolving AS e;
-- A call site that lives on sees the change.
CREATE FUNCTION changes() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE r record; w jsonb;
BEGIN
	FOREACH w IN ARRAY ARRAY['{"a": 1}', '{"c": 1}', NULL]::jsonb[] LOOP
		FOR r IN SELECT 1 AS a UNION ALL SELECT 2 LOOP
			RETURN NEXT simhash64(r, '{"*": 1}', preset => 'words') = simhash64(ROW(r.a), '{"$columns": ["a"]}', preset => 'words');
		END LOOP;
		FOR r IN EXECUTE 'SELECT * FROM evolving' LOOP
			RETURN NEXT (SELECT simhash64(e, w, preset => 'words') FROM evolving AS e) = simhash64(r, w, preset => 'words');
		END LOOP;
		EXECUTE 'ALTER TABLE evolving ADD COLUMN IF NOT EXISTS later text DEFAULT ''later words''';
	END LOOP;
END $$;
SELECT * FROM changes();

-- Different rows from one call site.
SELECT count(DISTINCT simhash64(r, preset => 'words')) FROM (VALUES (ROW(1, 'a')), (ROW(2, 'b')), (ROW(1, 'a'))) AS v (r);
CREATE TABLE parent (id int, words text);
CREATE TABLE child (extra text) INHERITS (parent);
INSERT INTO parent VALUES (1, 'one two');
INSERT INTO child VALUES (1, 'one two', 'three');
SELECT count(*), count(DISTINCT simhash64(p, preset => 'words')) FROM parent AS p;

-- Compressed and out-of-line values.
CREATE TABLE big (plain text, compressed text, outside text, list text[]);
ALTER TABLE big ALTER COLUMN outside SET STORAGE EXTERNAL;
INSERT INTO big
SELECT 'x', repeat('word ', 20000), string_agg('w' || g, ' '), array_agg('w' || g) FROM generate_series(1, 20000) AS g;
SELECT simhash64(b, preset => 'words') = simhash64(ROW('x', repeat('word ', 20000), w, l),
	'{"$columns": ["plain", "compressed", "outside", "list"]}', preset => 'words') AS same
FROM big AS b, (SELECT string_agg('w' || g, ' ') AS w, array_agg('w' || g) AS l FROM generate_series(1, 20000) AS g) AS s;

-- Rows nested beyond the stack are an error, not a crash.
SET max_stack_depth = '100kB';
DO $$
DECLARE deep record := ROW('leaf');
BEGIN
	FOR i IN 1 .. 5000 LOOP
		deep := ROW(deep);
		IF i = 20 AND simhash64(deep, preset => 'words') IS NULL THEN
			RAISE EXCEPTION 'no fingerprint';
		END IF;
	END LOOP;
	PERFORM simhash64(deep, preset => 'words');
EXCEPTION WHEN statement_too_complex THEN
	RAISE EXCEPTION '%', SQLERRM;
END $$;
RESET max_stack_depth;

DROP SCHEMA row_types_test CASCADE;

-- Domains over ranges, and arrays of them: the range type is found below the domain.
CREATE DOMAIN small_range AS int4range;
CREATE DOMAIN small_ranges AS int4multirange;
CREATE TABLE domain_ranges (a small_range, b small_ranges, c small_range[], d int4range, e int4multirange, f int4range[]);
INSERT INTO domain_ranges VALUES ('[1,5)', '{[1,2),[4,9)}', '{"[1,5)",NULL,empty}', '[1,5)', '{[1,2),[4,9)}', '{"[1,5)",NULL,empty}');
SELECT simhash64(ROW(a), '{"$columns": ["x"]}', preset => 'words') = simhash64(ROW(d), '{"$columns": ["x"]}', preset => 'words') AS range,
	simhash64(ROW(b), '{"$columns": ["x"]}', preset => 'words') = simhash64(ROW(e), '{"$columns": ["x"]}', preset => 'words') AS multirange,
	simhash64(ROW(c), '{"$columns": ["x"]}', preset => 'words') = simhash64(ROW(f), '{"$columns": ["x"]}', preset => 'words') AS ranges
FROM domain_ranges;
DROP TABLE domain_ranges;
DROP DOMAIN small_range;
DROP DOMAIN small_ranges;
