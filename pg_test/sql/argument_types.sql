-- Each C function takes the arguments and returns the result that the script declares; all arguments have names.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA argument_types;
SET search_path = argument_types, public;

-- A set of rows whose columns the query declares.
CREATE TABLE near (id bigint, fp bigint);
INSERT INTO near VALUES (1, 0), (2, 1);
CREATE FUNCTION some_columns(
	relation regclass, key text, columns text, radius int, within text[], text name, min_jaccard float8, checked_by regproc, across text[]
) RETURNS SETOF record
	LANGUAGE c AS '$libdir/simhash_dedup', 'simhash_pairs';
SELECT * FROM some_columns('near', 'id', 'fp', 3, '{}', NULL, NULL, NULL, '{}') AS (a text, b bigint, distance int);
SELECT * FROM some_columns('near', 'id', 'fp', 3, '{}', NULL, NULL, NULL, '{}') AS (a bigint, b bigint, distance bigint);
SELECT * FROM some_columns('near', 'id', 'fp', 3, '{}', NULL, NULL, NULL, '{}') AS (a bigint, b bigint);
SELECT * FROM some_columns('near', 'id', 'fp', 3, '{}', NULL, NULL, NULL, '{}') AS (a bigint, b bigint, distance int);

-- Beside a trigger function, somebody else's function with the name of one of the extension.
CREATE FUNCTION flag() RETURNS trigger LANGUAGE c AS '$libdir/simhash_dedup', 'simhash_flag_duplicate';
CREATE FUNCTION simhash64(record, jsonb, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'no number'; END $$;
CREATE TABLE flagged (fp bigint, body text, is_dup boolean);
CREATE INDEX ON flagged USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON flagged FOR EACH ROW EXECUTE FUNCTION flag('fingerprint=fp', 'flag=is_dup', 'weights={"body": 1}');
INSERT INTO flagged VALUES (NULL, 'text', NULL);
DROP FUNCTION simhash64(record, jsonb, text);

-- A type's receive function in the binary protocol, its only caller.
CREATE TABLE balls AS SELECT hamming_ball(i, 3) AS ball FROM generate_series(-1, 1) AS i;
\copy balls to 'balls.bin' (format binary)
\copy balls from 'balls.bin' (format binary)
SELECT ball::text, count(*) FROM balls GROUP BY ball::text ORDER BY ball::text COLLATE "C";

-- Every C function of the extension that SQL can call, once, with a value for each argument. (The others have arguments of
-- type internal, or none.)
BEGIN;
CREATE TABLE documents (fp bigint PRIMARY KEY, body text);
CREATE INDEX documents_fp ON documents USING simhash (fp);
INSERT INTO documents VALUES (1, 'one text'), (3, 'one text more');
CREATE TABLE kept (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON kept USING simhash (fp);
SELECT simhash_keep_clusters('kept', 'id', 'fp');
-- The value of an argument of that type, and of that name where one is given.
CREATE TABLE argument (type regtype, name text, value text);
INSERT INTO argument VALUES
	('record', NULL, 'ROW(''some'', ''words'')'),
	('text', NULL, '''config'''), ('text', 'preset', '''words'''), ('text', 'method', '''star'''),
	('text', 'key', '''fp'''), ('text', 'key_a', '''fp'''), ('text', 'key_b', '''fp'''), ('text', 'columns', '''fp'''),
	('text', 'columns_a', '''fp'''), ('text', 'columns_b', '''fp'''), ('text', 'list', '''body'''), ('text', 'within', '''body'''),
	('text', 'across', 'NULL'), ('text', 'differ', '''body'''), ('text', 'numbered', 'NULL'), ('text[]', 'keys', '''{fp}'''),
	('jsonb', NULL, '''{}'''), ('tsvector', NULL, '''words'''), ('cstring', NULL, '''(1,2)'''), ('hamming_ball', NULL, '''(1,2)'''),
	('bigint', NULL, '1'), ('int', NULL, '1'), ('int', 'bits', '64'), ('float8', NULL, '0.5'), ('boolean', NULL, 'true'),
	('bit', NULL, 'repeat(''1'', 128)::bit(128)'), ('text[]', NULL, '''{a}'''), ('text[]', 'differ', '''{body}'''), ('text[]', 'within', '''{body}'''),
	('text[]', 'columns', '''{body}'''), ('text[]', 'columns_a', '''{body}'''),
	('text[]', 'columns_b', '''{body}'''), ('float8[]', NULL, '''{1}'''), ('bigint[]', NULL, '''{1,2,3,4}'''),
	('regclass', NULL, '''documents'''), ('regclass', 'index', '''documents_fp'''),
	('regclass', 'clusters', '''kept_cluster'''), ('anyarray', NULL, '''{1}'''),
	('name', NULL, '''fp'''), ('name', 'text', '''body'''), ('name', 'text_a', '''body'''), ('name', 'text_b', '''body'''),
	('regproc', NULL, 'NULL'), ('anyelement', NULL, '1'), ('anycompatible', NULL, '1'),
	('oid', NULL, '0'), ('"any"', NULL, '1'),
	('bytea', NULL, '''fingerprint=fp\000'''), ('xid', NULL, '''3'''), ('numeric', NULL, '1'),
	('bigint', 'met_at', 'NULL'), ('text', 'hash', 'repeat(''f'', 16)'), ('bit', 'hash', 'repeat(''1'', 64)::bit(64)'),
	('bytea', 'hash', '''12345678''');
CREATE FUNCTION call_of(function oid) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT %s(%s)%s', function::regproc,
		string_agg(v.value || '::' || CASE WHEN a.type IN ('anyelement'::regtype, 'anycompatible'::regtype) THEN 'bigint'
			WHEN a.type = 'anyarray'::regtype THEN 'bigint[]' WHEN a.type = 'bit'::regtype THEN 'varbit'
			ELSE a.type::regtype::text END, ', ' ORDER BY a.number),
		CASE prokind WHEN 'w' THEN ' OVER ()' END)
	FROM pg_proc, unnest(proargtypes) WITH ORDINALITY AS a (type, number), LATERAL (
		SELECT value FROM argument WHERE argument.type = a.type AND coalesce(name = proargnames[a.number], name IS NULL)
		ORDER BY name LIMIT 1) AS v
	WHERE pg_proc.oid = function GROUP BY pg_proc.oid, prokind
$$;
CREATE TABLE called (function regprocedure, error text);
DO $$
DECLARE
	f oid;
	message text;
BEGIN
	FOR f IN
		SELECT p.oid FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
		WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simhash_dedup') AND p.probin LIKE '%simhash_dedup'
			AND p.pronargs > 0 AND NOT 'internal'::regtype = ANY (p.proargtypes)
	LOOP
		message := NULL;
		BEGIN
			EXECUTE call_of(f);
		EXCEPTION WHEN OTHERS THEN
			message := SQLERRM;
		END;
		INSERT INTO called VALUES (f, message);
	END LOOP;
END $$;
-- The one needs Citus: citus_guards calls it.
SELECT count(*) > 40 AS most, count(error) AS errors FROM called;
SELECT * FROM called WHERE error IS NOT NULL ORDER BY function::text;
ROLLBACK;
-- Every argument that a user can give has a name, for named notation and \df; the functions of types and of the server have none.
SELECT p.oid::regprocedure AS without_names
FROM pg_proc AS p JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'simhash_dedup') AND p.pronargs > 0
	AND NOT 'internal'::regtype = ANY (p.proargtypes)
	AND NOT EXISTS (SELECT FROM pg_type WHERE p.oid IN (typinput, typoutput, typreceive, typsend))
	AND (p.proargnames IS NULL OR '' = ANY (p.proargnames[:p.pronargs]))
ORDER BY 1;
SELECT simhash64(record => ROW('lamp')) = simhash64(ROW('lamp')) AS record, simhash64(text => 'lamp') = simhash64('lamp') AS text,
	hamming(a => 1, b => 2) AS distance, simhash64(lexemes => 'lamp') IS NULL AS nothing;
DROP SCHEMA argument_types CASCADE;
