-- CONTEXT lines of errors: those of the extension's own functions in PL/pgSQL are left out, those of users' functions stay.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA error_context;
SET search_path = error_context, public;
CREATE TABLE t (id int PRIMARY KEY, fp bigint, body text);
CREATE INDEX t_fp ON t USING simhash (fp);
INSERT INTO t VALUES (1, 1, 'a b');

-- Raised by the function that is called, by one that it calls, by one of those that it calls, in PL/pgSQL and in C.
SELECT simhash_made_by('t', 'nope');
SELECT * FROM simhash_fingerprint_verify('t', 'nope');
SELECT * FROM simhash_fingerprint_verify('t', 'fp', -1);
SELECT rows FROM simhash_catalog.index_stats_shards('t_pkey');
SELECT rows FROM simhash_catalog.index_stats_shards('t_fp');
SELECT * FROM simhash_catalog.index_verify_shards('t_fp');

-- Functions of users that call them, or that they call.
CREATE FUNCTION calls(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
END $$;
SELECT calls('SELECT simhash_made_by(''t'', ''nope'')');
SELECT calls('SELECT calls(''SELECT * FROM simhash_fingerprint_verify(NULL, NULL)'')');
CREATE FUNCTION words(body text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'no words in "%"', body;
END $$;
CREATE TABLE checked (fp bigint, body text);
INSERT INTO checked VALUES (1, 'a b');
ALTER TABLE checked ADD CHECK (NOT (fp IS DISTINCT FROM simhash64(error_context.words(body)))) NOT VALID;
SELECT calls('SELECT * FROM simhash_fingerprint_verify(''checked'', ''fp'')');
-- One that has caught such an error.
CREATE FUNCTION catches() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM simhash_made_by('t', 'nope');
	EXCEPTION WHEN undefined_column THEN
		RAISE WARNING 'caught';
	END;
	RAISE EXCEPTION 'another';
END $$;
SELECT catches();
-- The function is of use to nobody else, and harms nobody.
SELECT simhash_catalog.hide_context();
SELECT calls('SELECT simhash_catalog.hide_context()');
SELECT calls('SELECT 1 / 0');

-- Each function that raises an error begins with it.
SELECT p.oid::regproc FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid JOIN pg_proc AS p ON p.oid = d.objid
WHERE d.refclassid = 'pg_extension'::regclass AND e.extname = 'simhash_dedup' AND d.classid = 'pg_proc'::regclass
	AND p.prosrc LIKE '%RAISE EXCEPTION%' AND p.prosrc !~ '\nBEGIN\s+PERFORM simhash_catalog\.hide_context\(\);';

DROP SCHEMA error_context CASCADE;
