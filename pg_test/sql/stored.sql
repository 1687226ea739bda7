-- Stored configurations: versions, dictionaries, idf tables, who sees them when.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA stored_test;
SET search_path = stored_test, public;

CREATE TABLE petition (id int, subject text, body text);
INSERT INTO petition VALUES (1, '库区移民', '丹江口库区移民问题请处理'), (2, 'Street lamp', 'the lamp in our street'), (3, NULL, '');
SELECT simhash_create_config('petition', '{"subject": 1, "body": 3}', 'plain') AS version;
SELECT count(*), count(*) FILTER (WHERE simhash64_named(p, 'petition') IS DISTINCT FROM simhash64(p, '{"subject": 1, "body": 3}', 'plain')) AS different
FROM petition AS p;
-- A text has options of another grammar.
SELECT simhash_create_config('body', '{"tf": "set"}', 'plain') AS version;
SELECT simhash64_named_text(body, 'body') = simhash64(body, '{"tf": "set"}', 'plain') AS same FROM petition WHERE id < 3;
SELECT simhash64_named_text('', 'body') AS empty, simhash64_named_text('a', NULL) AS no_name, simhash64_named(NULL::petition, 'petition') AS no_row;

-- A dictionary: every change is a version, of the configurations that use it too.
SELECT simhash_add_words('places', ARRAY['丹江口库区移民', 'street lamp']) AS dictionary;
SELECT simhash_create_config('petition', '{"subject": 1, "body": 3}', 'plain', dictionary => 'places') AS version;
CREATE FUNCTION agrees(name text, options jsonb, preset text DEFAULT 'plain') RETURNS boolean LANGUAGE sql AS $$
	SELECT bool_and(simhash64_named(p, name) IS NOT DISTINCT FROM simhash64(p, options, preset)) FROM petition AS p
$$;
SELECT agrees('petition', '{"subject": 1, "body": 3, "$dictionary": ["丹江口库区移民", "street lamp"]}') AS newest,
	agrees('petition@1', '{"subject": 1, "body": 3}') AS first, agrees('petition@2', '{"subject": 1, "body": 3}') AS not_first;
SELECT simhash_add_stop_word('places', 'THE') AS dictionary, simhash_add_stop_words('places', '{请}') AS again, simhash_add_stop_word('places', '请') AS nothing_new;
SELECT agrees('petition', '{"subject": 1, "body": 3, "$dictionary": ["丹江口库区移民", "street lamp"], "$stop_words": ["the", "请"]}') AS newest;
SELECT simhash_remove_word('places', 'street lamp') AS dictionary;
SELECT simhash_remove_stop_word('places', '请') AS dictionary;
SELECT agrees('petition', '{"subject": 1, "body": 3, "$dictionary": ["丹江口库区移民"], "$stop_words": ["the"]}') AS newest,
	agrees('petition@2', '{"subject": 1, "body": 3, "$dictionary": ["丹江口库区移民", "street lamp"]}') AS second;
SELECT name, version, preset, dictionary, dictionary_version, idf FROM simhash_catalog.config ORDER BY 1, 2;
SELECT kind, word, tag FROM simhash_dictionary_words('places', 5) ORDER BY 1, 2;
-- Stop words add to those of the preset; a tag is a part of speech.
SELECT simhash_create_config('s0', '{"body": 1}', 's0', 'places') AS version;
SELECT agrees('s0', '{"body": {"stop_words": ["@en", "@zh", "the"], "dictionary": ["丹江口库区移民"]}}', 's0') AS joined;
SELECT simhash_add_word('verbs', '移民', 'v') AS dictionary;
SELECT simhash_create_config('verbs', '{"pos": {"noun": 0, "verb": 1, "other": 0}}', 'plain', 'verbs') AS version;
SELECT simhash64_named_text('库区移民', 'verbs') = simhash64('移民', preset => 'words') AS verb;

-- Idf: counts against SQL's own.
CREATE TABLE corpus (id int, body text);
INSERT INTO corpus SELECT i, 'word' || i % 10 || ' word' || i % 7 || ' the 道路 word' || i % 10 || repeat(' filler', i % 50) FROM generate_series(1, 3000) AS i;
INSERT INTO corpus VALUES (0, NULL), (-1, ''), (-2, repeat('x', 300));
SELECT simhash_build_idf('corpus', 'corpus', 'body') AS version;
SELECT documents, source FROM simhash_catalog.idf;
SELECT count(*), count(*) FILTER (WHERE t.documents <> c.n) AS different FROM simhash_catalog.idf_term AS t FULL JOIN (
	SELECT w, count(DISTINCT id) AS n FROM corpus, regexp_split_to_table(body, ' ') AS w WHERE w <> '' AND length(w) < 200 GROUP BY w) AS c ON c.w = t.term;
SELECT simhash_create_config('rare', '{"body": 1}', 's2', idf => 'corpus') AS version;
SELECT jsonb_build_object('body', jsonb_build_object('idf', jsonb_build_object('documents', i.documents, 'terms',
	(SELECT jsonb_object_agg(term, documents) FROM simhash_catalog.idf_term)))) AS options FROM simhash_catalog.idf AS i \gset
SELECT count(*) FILTER (WHERE simhash64_named(c, 'rare') = simhash64(c, :'options', 's2')) AS same,
	count(*) FILTER (WHERE simhash64_named(c, 'rare') = simhash64(c, '{"body": 1}', 's2')) < 3000 AS matters FROM corpus AS c;
-- Partitions, a view, terms that are too rare; a newer table leaves the configuration alone.
CREATE TABLE parts (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (MAXVALUE);
INSERT INTO parts SELECT * FROM corpus;
CREATE VIEW seen AS SELECT id, body FROM corpus;
SELECT simhash_build_idf('corpus', 'parts', 'body') AS version;
SELECT simhash_build_idf('corpus', 'seen', 'body', min_documents => 3000) AS version;
SELECT version, i.documents, count(*), min(term), max(term) FROM simhash_catalog.idf AS i JOIN simhash_catalog.idf_term AS t USING (name, version) GROUP BY 1, 2 ORDER BY 1;
SELECT count(*) FROM (SELECT term, documents FROM simhash_catalog.idf_term WHERE version = 1 EXCEPT SELECT term, documents FROM simhash_catalog.idf_term WHERE version = 2) AS x;
SELECT idf, idf_version FROM simhash_catalog.config WHERE name = 'rare';
SELECT simhash_create_config('rare', '{"body": 1}', 's2', idf => 'corpus@2') AS version;
SELECT bool_and(simhash64_named(c, 'rare') = simhash64_named(c, 'rare@1')) AS same FROM corpus AS c WHERE id > 0;

-- Children count with their parent.
CREATE TABLE child () INHERITS (corpus);
INSERT INTO child VALUES (9000, 'orphan');
SELECT simhash_build_idf('family', 'corpus', 'body') AS version;
SELECT documents FROM simhash_catalog.idf_term WHERE name = 'family' AND term IN ('orphan', 'the') ORDER BY term;
DROP TABLE child;

-- The words of a text.
SELECT * FROM simhash_terms('The cat, the 道路 cat', '{"stop_words": true}');

-- Snapshots: one call site sees what its statement sees.
CREATE FUNCTION seen_by_statement() RETURNS TABLE (step text, same boolean) LANGUAGE plpgsql AS $$
DECLARE
	fp bigint;
	before bigint;
	n int := 0;
BEGIN
	FOR n IN 1 .. 5 LOOP
		-- The same call site each time.
		fp := simhash64_named_text('one two three', 'moving');
		step := n;
		same := fp IS NOT DISTINCT FROM before;
		RETURN NEXT;
		before := fp;
		IF n = 2 THEN
			PERFORM simhash_create_config('moving', '{"stop_words": ["one"]}', 'plain');
		ELSIF n = 3 THEN
			BEGIN
				PERFORM simhash_create_config('moving', '{"stop_words": ["two"]}', 'plain');
				RAISE EXCEPTION 'undo: %', simhash64_named_text('one two three', 'moving') = simhash64('one three', preset => 'plain');
			EXCEPTION WHEN raise_exception THEN
				step := SQLERRM;
				same := NULL;
				RETURN NEXT;
			END;
		ELSIF n = 4 THEN
			-- The same name and version as the one that was undone.
			PERFORM simhash_create_config('moving', '{"stop_words": ["three"]}', 'plain');
		END IF;
	END LOOP;
	step := 'last';
	same := fp = simhash64('one two', preset => 'plain');
	RETURN NEXT;
END $$;
SELECT simhash_create_config('moving', '{}', 'plain') AS version;
SELECT * FROM seen_by_statement();
-- Rolled back, also as seen by a session that had used it.
BEGIN;
SELECT simhash_create_config('moving', '{"stop_words": ["two", "three"]}', 'plain') AS version;
SELECT simhash64_named_text('one two three', 'moving') = simhash64('one', preset => 'words') AS inside;
ROLLBACK;
SELECT simhash64_named_text('one two three', 'moving') = simhash64('one two', preset => 'plain') AS outside;

-- A version that is used again and again is loaded once, whatever others come and go.
SELECT simhash_create_config('kept', '{}', 'plain', 'places') AS version;
SELECT count(simhash_create_config('passing' || i, '{}', 'plain')) FROM generate_series(1, 10) AS i;
BEGIN;
SELECT simhash64_named_text('one', 'kept') IS NOT NULL AS loaded;
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(pg_stat_get_xact_numscans(oid)) FROM pg_class WHERE relname LIKE 'dictionary_word%'
$$;
SELECT scans() AS scans \gset
SELECT count(simhash64_named_text('one', c)) FROM generate_series(1, 10) AS i, LATERAL unnest(ARRAY['passing' || i, 'kept']) AS c;
SELECT scans() - :scans AS loaded_again;
COMMIT;

-- Triggers, and rows that change their configuration's name.
CREATE TABLE filed (body text, config text, fp bigint);
CREATE FUNCTION file() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.fp := simhash64_named_text(NEW.body, NEW.config);
	RETURN NEW;
END $$;
CREATE TRIGGER file BEFORE INSERT OR UPDATE ON filed FOR EACH ROW EXECUTE FUNCTION file();
INSERT INTO filed SELECT 'one two three', 'moving' || c FROM generate_series(1, 50), unnest(ARRAY['', '@1', '@2', '@3']) AS c;
SELECT config, count(*), count(DISTINCT fp), min(fp) = min(CASE config WHEN 'moving@1' THEN simhash64('one two three', preset => 'plain')
	WHEN 'moving@2' THEN simhash64('two three', preset => 'plain') ELSE simhash64('one two', preset => 'plain') END) AS right
FROM filed GROUP BY config ORDER BY config;

-- Parallel workers.
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT sum(simhash64_named(c, 'rare')) FROM corpus AS c;
SELECT (SELECT sum(simhash64_named(c, 'rare')) FROM corpus AS c) = (SELECT sum(simhash64(c, :'options', 's2')) FROM corpus AS c) AS same;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
RESET parallel_leader_participation;

-- Versions never change; privileges.
CREATE ROLE simhash_reader;
CREATE VIEW never_read AS SELECT (1 / (id - id))::text AS body FROM corpus;
GRANT SELECT ON never_read TO simhash_reader;
GRANT USAGE ON SCHEMA stored_test TO simhash_reader;
GRANT SELECT ON petition TO simhash_reader;
CREATE FUNCTION fault(statement text) RETURNS TABLE (state text, message text, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN QUERY SELECT 'none', statement, '', '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;
\x on
SELECT f.* FROM unnest(ARRAY[
	$$UPDATE simhash_catalog.config SET options = '{}'$$,
	$$DELETE FROM simhash_catalog.dictionary_word$$,
	$$TRUNCATE simhash_catalog.idf_term$$,
	$$SELECT simhash64_named(p, 'nope') FROM petition AS p$$,
	$$SELECT simhash64_named_text('a', 'petition@99')$$,
	$$SELECT simhash64_named_text('a', 'petition@9999999999')$$,
	$$SELECT simhash64_named_text('a', 'petition@-1')$$,
	$$SELECT simhash64_named_text('a', '')$$,
	$$SELECT simhash64_named_text('a', 'petition')$$,
	$$SELECT simhash64_named(p, 'body') FROM petition AS p$$,
	$$SELECT simhash64_named('text', 'body')$$,
	$$SELECT simhash_create_config('a@1')$$,
	$$SELECT simhash_create_config('')$$,
	$$SELECT simhash_create_config(NULL)$$,
	$$SELECT simhash_create_config('bad', '{"$nonsense": 1}')$$,
	$$SELECT simhash_create_config('bad', preset => 'nope')$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', dictionary => 'nope')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf => 'corpus@9')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf => 'corpus@')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf => 'nope@1')$$,
	$$SELECT simhash_add_word('places', '')$$,
	$$SELECT simhash_add_word('places', NULL)$$,
	$$SELECT simhash_add_word('places', repeat('x', 201))$$,
	$$SELECT simhash_add_stop_word('places', repeat('字', 201))$$,
	$$SELECT simhash_add_words('places', NULL)$$,
	$$SELECT simhash_add_stop_words('places', '{a, NULL}')$$,
	$$SELECT simhash_add_word('', 'a')$$,
	$$SELECT simhash_add_word('places@1', 'a')$$,
	$$SELECT simhash_add_word(NULL, 'a')$$,
	$$SELECT simhash_remove_word('places', 'nope')$$,
	$$SELECT simhash_build_idf('x', 'corpus', 'nope')$$,
	$$CREATE TABLE no_parts (id int) PARTITION BY LIST (id); SELECT simhash_build_idf('x', 'no_parts', 'nope')$$,
	$$SELECT simhash_build_idf('x', 0, 'body')$$,
	$$SELECT simhash_build_idf('x@1', 'corpus', 'body')$$,
	$$SELECT simhash_build_idf(NULL, 'corpus', 'body')$$,
	$$SELECT simhash_build_idf('x', NULL, 'body')$$,
	$$SELECT simhash_build_idf('x', 'corpus', 'body', min_documents => NULL)$$,
	$$SELECT simhash_build_idf('x', 'corpus', 'body', 'nope')$$,
	$$SET ROLE simhash_reader; SELECT simhash_create_config('mine')$$,
	$$SET ROLE simhash_reader; SELECT simhash_add_word('places', 'mine')$$,
	$$SET ROLE simhash_reader; SELECT simhash_build_idf('mine', 'never_read', 'body')$$,
	$$SET ROLE simhash_reader; SELECT simhash_drop_config('petition', 1)$$,
	$$SET ROLE simhash_reader; SELECT simhash_catalog.lock_versions('config', 'mine', false)$$,
	$$SET ROLE simhash_reader; DELETE FROM simhash_catalog.config$$,
	$$SET ROLE simhash_reader; SELECT simhash64_named(p, 'petition') FROM stored_test.petition AS p$$
]) AS e, fault(e) AS f;
\x off
RESET ROLE;
-- 200 characters are a word; no words make nothing.
SELECT simhash_add_word('long', repeat('x', 200)) AS long, simhash_add_words('places', '{}') = max(version) AS newest, simhash_add_words('none', '{}') AS none
FROM simhash_catalog.dictionary WHERE name = 'places';
-- A temporary table of the user's may have any name.
CREATE TEMP TABLE simhash_idf_part (documents text);
SELECT simhash_build_idf('beside', 'corpus', 'body') AS version;
DROP TABLE simhash_idf_part;

-- A view works for a role that has no rights on the schema of the extension.
CREATE VIEW named AS SELECT id, simhash64_named(p, 'petition') AS fp FROM petition AS p;
GRANT SELECT ON named TO simhash_reader;
REVOKE USAGE ON SCHEMA public FROM PUBLIC;
SET ROLE simhash_reader;
SELECT count(fp) FROM stored_test.named;
SELECT public.simhash64_named_text('a', 'petition');
RESET ROLE;
GRANT USAGE ON SCHEMA public TO PUBLIC;
DROP VIEW named;
REVOKE ALL ON petition, never_read FROM simhash_reader;
REVOKE ALL ON SCHEMA stored_test FROM simhash_reader;
DROP ROLE simhash_reader;

-- How many words a version holds is told as they change.
SELECT count(*) > 5 AS some, bool_and(words = (SELECT count(*) FROM simhash_dictionary_words(name, version))) AS counted FROM simhash_catalog.dictionary;
-- Rows that are missing are an error, not another fingerprint.
CREATE FUNCTION after(damage text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	SET LOCAL session_replication_role = replica;
	EXECUTE damage;
	RAISE EXCEPTION 'fingerprint %', simhash64_named_text('a b', 'whole');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN NEXT SQLSTATE || ' ' || SQLERRM || ': ' || detail;
END $$;
SELECT simhash_create_config('whole', '{}', 's2', 'places', 'corpus@1') AS version;
SELECT a.* FROM unnest(ARRAY[
	$$DELETE FROM simhash_catalog.dictionary_word WHERE dictionary = 'places'$$,
	$$DELETE FROM simhash_catalog.dictionary_word WHERE dictionary = 'places' AND word = 'THE'$$,
	$$DELETE FROM simhash_catalog.dictionary WHERE name = 'places'$$,
	$$INSERT INTO simhash_catalog.dictionary_word SELECT name, version, 'word', 'smuggled' FROM simhash_catalog.dictionary WHERE name = 'places'$$,
	$$DELETE FROM simhash_catalog.idf_term WHERE name = 'corpus' AND version = 1$$,
	$$DELETE FROM simhash_catalog.idf_term WHERE name = 'corpus' AND version = 1 AND term = 'filler'$$,
	$$DELETE FROM simhash_catalog.idf WHERE name = 'corpus' AND version = 1$$
]) AS damage, after(damage) AS a;
SELECT simhash64_named_text('a b', 'whole') IS NOT NULL AS whole;

-- Outside of simhash_catalog the extension has no relation, only functions, types, operators and the access method.
SELECT DISTINCT i.type, i.schema FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid, pg_identify_object(d.classid, d.objid, d.objsubid) AS i
WHERE e.extname = 'simhash_dedup' AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND i.schema IS DISTINCT FROM 'simhash_catalog' ORDER BY 1;
SELECT c.relname, c.relkind, c.relnamespace::regnamespace FROM pg_class AS c JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	JOIN pg_extension AS e ON e.oid = d.refobjid WHERE e.extname = 'simhash_dedup' ORDER BY 1;

-- A search_path that puts other tables first changes nothing.
CREATE TABLE config (LIKE simhash_catalog.config);
SET search_path = stored_test, public, pg_catalog;
SELECT simhash64_named_text('one two three', 'moving') IS NOT NULL AS present;
RESET search_path;

-- It stays in its schema, which may get another name: everything still works, in the same session.
\set VERBOSITY sqlstate
ALTER EXTENSION simhash_dedup SET SCHEMA stored_test;
\set VERBOSITY default
ALTER SCHEMA public RENAME TO elsewhere;
SELECT elsewhere.simhash64_named_text('one two three', 'moving') IS NOT NULL AS present;
SELECT elsewhere.simhash_add_word('places', 'new place') AS dictionary, elsewhere.simhash_create_config('moved', preset => 'plain', dictionary => 'places') AS config;
SELECT elsewhere.simhash_build_idf('moved', 'stored_test.corpus', 'body') AS idf;
SELECT elsewhere.simhash_drop_config('moved', 1), elsewhere.simhash_drop_idf('moved', 1);
ALTER SCHEMA elsewhere RENAME TO public;
SELECT simhash_create_config('moved', '{"stop_words": ["one"]}', 'plain') AS version;
SELECT simhash64_named_text('one two three', 'moved') = simhash64('two three', preset => 'plain') AS new;

-- Dropped and created again, nothing is left, in the same session.
SET client_min_messages = error;
DROP SCHEMA stored_test CASCADE;
DROP EXTENSION simhash_dedup CASCADE;
CREATE EXTENSION simhash_dedup;
SELECT count(*) FROM simhash_catalog.config;
SELECT simhash_create_config('moving', '{"stop_words": ["two"]}', 'plain') AS version;
SELECT simhash64_named_text('one two three', 'moving') = simhash64('one three', preset => 'plain') AS new;
DROP EXTENSION simhash_dedup;
