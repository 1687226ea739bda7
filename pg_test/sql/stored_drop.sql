-- Dropping versions: only those that no object names, and for good.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA stored_drop;
SET search_path = stored_drop, public;
CREATE FUNCTION fault(statement text) RETURNS TABLE (state text, message text, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN QUERY SELECT 'none', statement, '', '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;
CREATE TABLE doc (id int, body text);
INSERT INTO doc SELECT i, 'word' || i % 7 || ' street lamp of Ann Smith' FROM generate_series(1, 50) AS i;

-- A dictionary with a name of a person, which is removed again, and a tag that changes.
SELECT simhash_add_words('d', '{street lamp, Ann Smith}') AS one, simhash_add_stop_word('d', 'of') AS two, simhash_add_word('d', 'street lamp', 'v') AS three,
	simhash_create_config('c', '{"pos": {"noun": 1, "verb": 2, "other": 1}}', 'plain', 'd') AS c;
SELECT simhash_remove_word('d', 'Ann Smith') AS four, simhash_add_word('d', 'last') AS five;
SELECT simhash_create_config('other', '{}', 'plain', 'd') AS other;
SELECT name, version, dictionary_version FROM simhash_catalog.config ORDER BY 1, 2;
CREATE TABLE before AS SELECT n, simhash64_named_text(body, n) AS fp, id FROM doc, unnest('{c@2, c@3, other@1}'::text[]) AS n;

\x on
SELECT f.* FROM unnest(ARRAY[
	$$SELECT simhash_drop_dictionary('d')$$,
	$$SELECT simhash_drop_dictionary('d', 5)$$,
	$$SELECT simhash_drop_dictionary('d', 6)$$,
	$$SELECT simhash_drop_dictionary('d', 0)$$,
	$$SELECT simhash_drop_dictionary('nope')$$,
	$$SELECT simhash_drop_dictionary(NULL)$$,
	$$SELECT simhash_drop_dictionary(NULL, 1)$$
]) AS e, fault(e) AS f;
\x off
-- No configuration uses versions 1 and 2. The name of the person is still in version 3, and goes with it.
SELECT simhash_drop_dictionary('d', 3);
SELECT * FROM simhash_catalog.dictionary_word ORDER BY version, kind, word;
SELECT simhash_drop_config('c', 1);
SELECT simhash_drop_dictionary('d', 4);
SELECT * FROM simhash_catalog.dictionary_word ORDER BY version, kind, word;
SELECT name, version, words FROM simhash_catalog.dictionary;
-- What stays gives what it gave, also to a session that has not loaded it.
SELECT count(*), count(*) FILTER (WHERE fp = simhash64_named_text(body, n)) AS same FROM before JOIN doc USING (id);
\c
SET search_path = stored_drop, public;
SET client_min_messages = warning;
SELECT count(*), count(*) FILTER (WHERE fp = simhash64_named_text(body, n)) AS same, count(DISTINCT fp) > 7 AS differ FROM before JOIN doc USING (id);
-- All words are gone, the version is still there, and its number is not given again.
SELECT simhash_remove_word('d', 'last') AS six, simhash_remove_word('d', 'street lamp') AS seven, simhash_remove_stop_word('d', 'of') AS eight;
SELECT count(simhash_drop_config('c', v)) FROM generate_series(2, 5) AS v;
SELECT count(simhash_drop_config('other', v)) FROM generate_series(1, 3) AS v;
SELECT simhash_drop_dictionary('d', 8);
SELECT count(*) FROM simhash_catalog.dictionary_word;
SELECT simhash64_named_text('street lamp', 'other') = simhash64('street lamp', preset => 'plain') AS without;
SELECT simhash_add_word('d', 'first again') AS nine;

-- Objects that name a configuration, by number or as the newest.
CREATE VIEW by_number AS SELECT simhash64_named_text(body, 'n@2') FROM doc;
SELECT simhash_create_config('n', '{}', 'plain') AS one, simhash_create_config('n', '{}', 's2') AS two, simhash_create_config('n', '{}', 's0') AS three;
CREATE MATERIALIZED VIEW by_name AS SELECT simhash64_named_text(body, 'n') FROM doc;
CREATE TABLE kept (body text, fp bigint DEFAULT simhash64_named_text('x', 'n'), CONSTRAINT sound CHECK (fp = simhash64_named_text(body, 'n@1')));
CREATE RULE copied AS ON DELETE TO kept DO ALSO UPDATE doc SET id = simhash64_named_text(body, 'n@1');
CREATE POLICY near ON kept USING (simhash64_named_text(body, 'n') > 0);
CREATE FUNCTION filed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fp := simhash64_named_text(NEW.body, TG_ARGV[0]); RETURN NEW; END $$;
CREATE FUNCTION other_filed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER newest BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION filed('n');
CREATE TRIGGER second BEFORE INSERT ON kept FOR EACH ROW WHEN (NEW.fp <> 1) EXECUTE FUNCTION filed('n@2');
CREATE TRIGGER unrelated BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION other_filed('n');
CREATE FUNCTION asks(text) RETURNS bigint LANGUAGE sql RETURN simhash64_named_text($1, 'n');
CREATE FUNCTION says_n() RETURNS text LANGUAGE sql AS $$ SELECT 'n' $$;
CREATE FUNCTION constant(text, text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT public.simhash64_named_text($1, $2) $$;
CREATE TABLE by_expression (body text, other text) PARTITION BY RANGE (constant(body, 'n@1'));
CREATE INDEX by_index ON kept (constant(body, 'n@1'));
CREATE INDEX by_predicate ON kept (body) WHERE constant(body, 'n@1') > 0;
CREATE STATISTICS by_statistics ON body, (simhash64_named_text(body, 'n@1')) FROM kept;
CREATE DOMAIN by_domain AS bigint DEFAULT simhash64_named_text('x', 'n@1');
CREATE PROCEDURE in_text() LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SELECT simhash64_named_text(''x'', ''n@1'')'; END $$;
\x on
SELECT f.* FROM unnest(ARRAY[
	$$SELECT simhash_drop_config('n', 1)$$,
	$$SELECT simhash_drop_config('n', 2)$$,
	$$SELECT simhash_drop_config('n', 3)$$,
	$$SELECT simhash_drop_config('n', 4)$$,
	$$SELECT simhash_drop_config('nope', 1)$$,
	$$SELECT simhash_drop_config(NULL, 1)$$,
	$$SELECT simhash_drop_config('n', NULL)$$
]) AS e, fault(e) AS f;
\x off
DROP VIEW by_number;
DROP TRIGGER second ON kept;
SELECT simhash64_named_text('a', 'n@2') IS NOT NULL AS loaded;
SELECT simhash_drop_config('n', 2);
SELECT simhash64_named_text('a', 'n@2');
DROP TABLE kept;
DROP MATERIALIZED VIEW by_name;
DROP FUNCTION asks;
DROP PROCEDURE in_text;
DROP TABLE by_expression;
DROP DOMAIN by_domain;
DROP FUNCTION constant;
-- The next version would be number 3 again, with another meaning.
SELECT * FROM fault($$SELECT simhash_drop_config('n', 3)$$);
SELECT simhash_drop_config('n', 1);
SELECT simhash64_named_text('a b', 'n') IS NOT NULL AS loaded;
SELECT simhash_drop_config('n', 3);
-- A new beginning, also for a session that has loaded the old one.
SELECT simhash_create_config('n', '{"stop_words": ["a"]}', 'plain') AS version;
SELECT simhash64_named_text('a b', 'n@1') = simhash64('b', preset => 'plain') AS new;

-- There is one way to write a version, and two to write a name with a backslash.
SELECT simhash64_named_text('a b', 'n@01');
SELECT simhash64_named_text('a b', 'n@+1');
SELECT count(simhash_create_config('it''s\n', preset => 'plain')) FROM generate_series(1, 2);
CREATE VIEW by_number AS SELECT simhash64_named_text('x', 'it''s\n@1');
CREATE VIEW by_name AS SELECT simhash64_named_text('x', 'it''s\n');
CREATE FUNCTION escaped() RETURNS bigint LANGUAGE sql AS $$ SELECT public.simhash64_named_text('x', E'it''s\\n@1') $$;
\x on
SELECT f.* FROM unnest(ARRAY[$$SELECT simhash_drop_config('it''s\n', 1)$$, $$SELECT simhash_drop_config('it''s\n', 2)$$]) AS e, fault(e) AS f;
\x off
-- Functions of other extensions count too.
ALTER EXTENSION plpgsql ADD FUNCTION escaped();
DROP VIEW by_number, by_name;
SELECT detail FROM fault($$SELECT simhash_drop_config('it''s\n', 1)$$);
ALTER EXTENSION plpgsql DROP FUNCTION escaped();
DROP FUNCTION escaped;
SELECT simhash_drop_config('it''s\n', 1), simhash_drop_config('it''s\n', 2);

-- An idf table.
SELECT simhash_build_idf('i', 'doc', 'body') AS one, simhash_build_idf('i', 'doc', 'body') AS two, simhash_create_config('uses', '{}', 's2', idf => 'i@1') AS version;
\x on
SELECT f.* FROM unnest(ARRAY[
	$$SELECT simhash_drop_idf('i', 1)$$,
	$$SELECT simhash_drop_idf('i', 2)$$,
	$$SELECT simhash_drop_idf('i', 3)$$
]) AS e, fault(e) AS f;
\x off
SELECT simhash_drop_config('uses', 1), simhash_drop_idf('i', 1);
SELECT name, version FROM simhash_catalog.idf;
SELECT DISTINCT name, version FROM simhash_catalog.idf_term;
SELECT simhash_drop_idf('i', 2);
SELECT count(*) FROM simhash_catalog.idf_term;

-- Dropped and taken back: the triggers hold again, also after an error half way.
BEGIN;
SELECT simhash_drop_config('n', 1);
ROLLBACK;
SELECT simhash64_named_text('a b', 'n') IS NOT NULL AS back;
CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stop'; END $$;
CREATE TRIGGER stop AFTER DELETE ON simhash_catalog.config FOR EACH ROW EXECUTE FUNCTION stop();
SELECT simhash_drop_config('n', 1);
DROP TRIGGER stop ON simhash_catalog.config;
SELECT simhash_catalog.is_dropping();
DELETE FROM simhash_catalog.config;

-- Privileges.
CREATE ROLE simhash_clerk;
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA simhash_catalog TO simhash_clerk;
SET ROLE simhash_clerk;
SELECT simhash_create_config('clerk') AS version;
SELECT simhash_drop_config('clerk', 1);
RESET ROLE;
GRANT DELETE ON ALL TABLES IN SCHEMA simhash_catalog TO simhash_clerk;
SET ROLE simhash_clerk;
SELECT simhash_drop_config('clerk', 1);
DELETE FROM simhash_catalog.config;
RESET ROLE;
DROP OWNED BY simhash_clerk;
DROP ROLE simhash_clerk;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT simhash_drop_config('n', 1);
ROLLBACK;
SELECT count(simhash_drop_config(name, version)) FROM (SELECT name, version FROM simhash_catalog.config ORDER BY version) AS c;
-- A sub-query for the oldest version in use gives NULL when none is: an error, and nothing is dropped.
SELECT simhash_drop_dictionary('d', (SELECT min(dictionary_version) FROM simhash_catalog.config WHERE dictionary = 'd'));
SELECT simhash_drop_dictionary('d');
SELECT (SELECT count(*) FROM simhash_catalog.config) AS configs, (SELECT count(*) FROM simhash_catalog.dictionary) AS dictionaries,
	(SELECT count(*) FROM simhash_catalog.dictionary_word) AS words;
SET client_min_messages = error;
DROP SCHEMA stored_drop CASCADE;
DROP EXTENSION simhash_dedup;
