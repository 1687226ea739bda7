-- Stored configurations: what a name means, who sees it when, damage.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA stored_test;
SET search_path = stored_test, public;

CREATE TABLE petition (id int, subject text, body text);
INSERT INTO petition VALUES (1, '库区移民', '丹江口库区移民问题请处理'), (2, 'Street lamp', 'the lamp in our street'), (3, NULL, '');
CREATE FUNCTION agrees(name text, options jsonb, preset text DEFAULT 'plain') RETURNS boolean LANGUAGE sql AS $$
	SELECT bool_and(simhash64_named(p, name) IS NOT DISTINCT FROM simhash64(p, options, preset)) FROM petition AS p
$$;
SELECT length(simhash_create_config('petition', '{"subject": 1, "body": 3}', 'plain')) AS digits;
SELECT agrees('petition', '{"subject": 1, "body": 3}'), simhash_create_config('petition', '{"body": 3, "subject": 1}',
	'plain') = simhash_config_digest('petition') AS again;
-- A text has options of another grammar.
SELECT simhash_create_config('body', '{"tf": "set"}', 'plain') IS NOT NULL AS stored;
SELECT simhash64_named_text(body, 'body') = simhash64(body, '{"tf": "set"}', 'plain') AS same FROM petition WHERE id < 3;
SELECT simhash64_named_text('', 'body') AS empty, simhash64_named_text('a', NULL) AS no_name,
	simhash64_named(NULL::petition, 'petition') AS no_row,
	simhash_config_digest(NULL) AS no_digest;

-- Words and stop words; more of them, and fewer.
SELECT simhash_create_config('places', base => 'petition', words => ARRAY['丹江口库区移民', 'street lamp'],
	stop_words => '{THE, 请}') IS NOT NULL AS stored;
SELECT agrees('places', '{"subject": 1, "body": 3, "$dictionary": ["丹江口库区移民", "street lamp"], "$stop_words": ["the", "请"]}'),
	agrees('petition', '{"subject": 1, "body": 3}') AS base;
SELECT simhash_create_config('fewer', base => 'places', without => '{street lamp, 请}') IS NOT NULL AS stored;
SELECT agrees('fewer', '{"subject": 1, "body": 3, "$dictionary": ["丹江口库区移民"], "$stop_words": ["the"]}');
SELECT simhash_create_config('more', '{"body": 1}', base => 'fewer', words => '{street lamp, 移民, street lamp}') IS NOT NULL AS stored;
SELECT agrees('more', '{"body": 1, "$dictionary": ["丹江口库区移民", "street lamp", "移民"], "$stop_words": ["the"]}');
SELECT simhash_create_config('none', base => 'fewer', without => '{丹江口库区移民, THE}') = simhash_create_config('none too',
	'{"subject": 1, "body": 3}', 'plain') AS empty_lists_are_none;
-- A file may begin with a byte order mark.
SELECT simhash_create_config('mark', preset => 'plain', words => ARRAY[U&'\FEFF丹江口库区移民', '移民'], stop_words => ARRAY[U&'\FEFFthe'])
	= simhash_create_config('no mark', preset => 'plain', words => ARRAY['丹江口库区移民', '移民'], stop_words => ARRAY['the']) AS mark_is_cut;
-- Stop words add to those of the preset.
SELECT simhash_create_config('s0', '{"body": 1}', 's0', '{丹江口库区移民}', stop_words => '{THE}') IS NOT NULL AS stored;
SELECT agrees('s0', '{"body": {"stop_words": ["@en", "@zh", "the"], "dictionary": ["丹江口库区移民"]}}', 's0') AS joined;
-- A tag is a part of speech; the last one given for a word counts, and any before that of the base.
SELECT simhash_create_config('nouns', '{"pos": {"noun": 0, "verb": 1, "other": 0}}', 'plain', '{移民}', '{n}') IS NOT NULL AS stored;
SELECT simhash_create_config('verbs', base => 'nouns', words => '{移民, 移民}', tags => '{n, v}') IS NOT NULL AS stored;
SELECT simhash64_named_text('库区移民', 'verbs') = simhash64('移民', preset => 'plain') AS verb, simhash64_named_text('库区移民', 'nouns') AS nouns;
-- Two configurations have one list, whatever the order of its words.
SELECT simhash_create_config('places too', '{}', 'plain', ARRAY['street lamp', '丹江口库区移民']) IS NOT NULL AS stored;
SELECT count(*), count(DISTINCT words) FROM simhash_catalog.config WHERE name LIKE 'places%';
SELECT simhash_create_config('same twice', preset => 'plain', words => '{word}', stop_words => '{word}') IS NOT NULL AS stored;
SELECT words = stop_words AS one_list, digest = simhash_config_digest(name) AS whole FROM simhash_catalog.config WHERE name = 'same twice';

-- Frequencies: counts against SQL's own.
CREATE TABLE corpus (id int, body text);
INSERT INTO corpus SELECT i, 'word' || i % 10 || ' word' || i % 7 || ' the 道路 word' || i % 10 || repeat(' filler', i % 50)
FROM generate_series(1, 3000) AS i;
INSERT INTO corpus VALUES (0, NULL), (-1, ''), (-2, repeat('x', 300));
SELECT simhash_create_config('rare', '{"body": 1}', 's2', idf_relation => 'corpus', idf_column => 'body') IS NOT NULL AS stored;
CREATE VIEW frequencies AS SELECT f.name, c.documents, t.term, t.count::bigint FROM simhash_catalog.config AS f
JOIN simhash_catalog.content AS c ON c.digest = f.frequencies,
	unnest(c.terms, c.about) AS t (term, count);
SELECT documents, count(*), count(*) FILTER (WHERE t.count <> c.n) AS different FROM frequencies AS t FULL JOIN (
	SELECT w, count(DISTINCT id) AS n FROM corpus, regexp_split_to_table(body, ' ') AS w WHERE w <> '' AND length(w) < 200
	GROUP BY w) AS c ON c.w = t.term GROUP BY documents;
SELECT jsonb_build_object('body', jsonb_build_object('idf', jsonb_build_object('documents', min(documents), 'terms',
	jsonb_object_agg(term, count)))) AS options FROM frequencies \gset
SELECT count(*) FILTER (WHERE simhash64_named(c, 'rare') = simhash64(c, :'options', 's2')) AS same,
	count(*) FILTER (WHERE simhash64_named(c, 'rare') = simhash64(c, '{"body": 1}', 's2')) < 3000 AS matters FROM corpus AS c;
-- Partitions, a view, children, columns of other types of text, terms that are too rare.
CREATE TABLE parts (id int, body text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (MAXVALUE);
INSERT INTO parts SELECT * FROM corpus;
CREATE DOMAIN letter AS varchar;
CREATE DOMAIN short_letter AS letter;
CREATE VIEW seen_types AS SELECT body::short_letter AS letter, ARRAY[body] AS letters, body::json AS json FROM corpus;
SELECT simhash_create_config('parts', base => 'rare', idf_relation => 'parts', idf_column => 'body')
	= simhash_config_digest('rare') AS same,
	simhash_create_config('letters', base => 'rare', idf_relation => 'seen_types', idf_column => 'letter')
	= simhash_config_digest('rare') AS of_domain;
SELECT simhash_create_config('few', base => 'rare', idf_relation => 'corpus', idf_column => 'body',
	min_documents => 3000) IS NOT NULL AS stored;
SELECT documents, term, count FROM frequencies WHERE name = 'few' ORDER BY term;
CREATE TABLE child () INHERITS (corpus);
INSERT INTO child VALUES (9000, 'orphan');
SELECT simhash_create_config('family', base => 'rare', idf_relation => 'corpus', idf_column => 'body') IS NOT NULL AS stored;
SELECT term, count FROM frequencies WHERE name = 'family' AND term IN ('orphan', 'the') ORDER BY term;
DROP TABLE child;
-- Words and frequencies belong together; a word that is left out weighs as one that is not known.
SELECT simhash_create_config('rare words', base => 'rare', words => '{filler filler}', idf_relation => 'corpus',
	idf_column => 'body') IS NOT NULL AS stored;
SELECT term FROM frequencies WHERE name = 'rare words' AND term LIKE 'filler%' ORDER BY term;
SELECT simhash_create_config('rare less', base => 'rare', without => '{the}') IS NOT NULL AS stored;
SELECT simhash_create_config('rare less', '{"body": 1}', 's2', idf_relation => 'corpus', idf_column => 'body', without => '{the}')
	= simhash_config_digest('rare less') AS counted;
SELECT name, count(*), count(*) FILTER (WHERE term = 'the') AS the FROM frequencies WHERE name IN ('rare', 'rare less')
GROUP BY name ORDER BY name;

-- The words of a text.
SELECT * FROM simhash_terms('The cat, the 道路 cat', '{"stop_words": true}');

-- Dropped, with the lists that no other has; the name keeps its meaning, also for a session that had loaded it.
SELECT simhash_create_config('person', '{"$dictionary": ["Ann Smith"]}', 'plain', '{Ann Smith}', stop_words => '{THE}') AS digest \gset
SELECT simhash_drop_config('person');
SELECT name, digest = :'digest' AS same, dropped, num_nonnulls(options, preset, words, stop_words, frequencies) AS others
FROM simhash_catalog.config WHERE name = 'person';
SELECT count(*) FILTER (WHERE 'Ann Smith' = ANY (terms)) AS her, count(*) FILTER (WHERE 'THE' = ANY (terms)) > 0 AS the
FROM simhash_catalog.content;
SELECT simhash_create_config('person', preset => 'plain');
SELECT simhash64_named_text('a', 'person');
SELECT simhash_create_config('person', '{"$dictionary": ["Ann Smith"]}', 'plain', '{Ann Smith}', stop_words => '{THE}')
	= :'digest' AS the_same;
SELECT simhash_config_digest('person') = :'digest' AS there;
BEGIN;
SELECT simhash_create_config('undone', '{"stop_words": ["two", "three"]}', 'plain') IS NOT NULL AS stored;
SELECT simhash64_named_text('one two three', 'undone') = simhash64('one', preset => 'plain') AS inside;
ROLLBACK;
SELECT simhash64_named_text('one two three', 'undone');
SELECT simhash_create_config('undone', preset => 'plain') IS NOT NULL AS stored;
SELECT simhash64_named_text('one two three', 'undone') = simhash64('one two three', preset => 'plain') AS another;

-- A configuration that is used again and again is loaded once, whatever others come and go; a list once for two of them.
SELECT count(simhash_create_config('passing' || i, jsonb_build_object('stop_words', ARRAY[i::text]), 'plain'))
FROM generate_series(1, 10) AS i;
BEGIN;
SELECT simhash64_named_text('one', 'undone') IS NOT NULL AS loaded;
CREATE FUNCTION checks() RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(sum(pg_stat_get_xact_numscans(oid)), 0)::bigint FROM pg_class WHERE oid = 'simhash_catalog.content_pkey'::regclass
$$;
SELECT count(simhash64_named_text('one', 'places too')), checks() AS checks FROM generate_series(1, 5) \gset
SELECT count(simhash64_named_text('one', c)) FROM generate_series(1, 10) AS i, LATERAL unnest(ARRAY['passing' || i, 'places too']) AS c;
SELECT checks() - :checks AS loaded_again;
COMMIT;

-- A call in a loop, which goes on over several snapshots, sees that the transaction has dropped its configuration since.
DO $$
DECLARE
	fp bigint;
BEGIN
	PERFORM simhash_create_config('looped', preset => 'plain');
	FOR i IN 1 .. 2 LOOP
		fp := simhash64_named_text('a', 'looped');
		IF i = 1 THEN
			PERFORM simhash_drop_config('looped');
		END IF;
	END LOOP;
END $$;

-- Parallel workers.
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT sum(simhash64_named(c, 'rare')) FROM corpus AS c;
SELECT (SELECT sum(simhash64_named(c, 'rare')) FROM corpus AS c) = (SELECT sum(simhash64(c, :'options', 's2')) FROM corpus AS c) AS same;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
RESET parallel_leader_participation;

-- What is refused.
CREATE ROLE simhash_reader;
CREATE VIEW never_read AS SELECT (1 / (id - id))::text AS body FROM corpus;
GRANT SELECT ON never_read, petition TO simhash_reader;
GRANT USAGE ON SCHEMA stored_test TO simhash_reader;
CREATE FUNCTION fault(statement text) RETURNS TABLE (state text, message text, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN QUERY SELECT 'none', statement, '', '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;
-- The counts of words stand in about.
CREATE FUNCTION listed(documents bigint, terms text[], about text[]) RETURNS simhash_catalog.content LANGUAGE sql AS $$
	SELECT simhash_catalog.list_digest($1, $2, $3), $1, $2, $3
$$;
\x on
SELECT f.* FROM unnest(ARRAY[
	$$UPDATE simhash_catalog.config SET options = '{}' WHERE name = 'petition'$$,
	$$UPDATE simhash_catalog.config SET name = 'other' WHERE name = 'petition'$$,
	$$UPDATE simhash_catalog.config SET (digest, dropped, options, preset) = (repeat('0', 64), true, NULL, NULL) WHERE name = 'petition'$$,
	$$UPDATE simhash_catalog.content SET about = NULL$$,
	$$DELETE FROM simhash_catalog.content WHERE digest = (SELECT stop_words FROM simhash_catalog.config WHERE name = 'places')$$,
	$$DELETE FROM simhash_catalog.config$$,
	$$TRUNCATE simhash_catalog.content$$,
	$$TRUNCATE simhash_catalog.content CASCADE$$,
	$$SELECT simhash64_named(p, 'nope') FROM petition AS p$$,
	$$SELECT simhash64_named_text('a', '')$$,
	$$SELECT simhash64_named_text('a', 'petition')$$,
	$$SELECT simhash64_named(p, 'body') FROM petition AS p$$,
	$$SELECT simhash64_named('text', 'body')$$,
	$$SELECT simhash_config_digest('nope')$$,
	$$SELECT simhash_create_config('')$$,
	$$SELECT simhash_create_config(repeat('x', 201))$$,
	$$SELECT simhash_create_config(NULL)$$,
	$$SELECT simhash_create_config('bad', '{"$nonsense": 1}')$$,
	$$SELECT simhash_create_config('bad', preset => 'nope')$$,
	$$SELECT simhash_create_config('bad', preset => 'shingles', words => '{a}')$$,
	$$SELECT simhash_create_config('bad', stop_words => '{the}')$$,
	$$SELECT simhash_create_config('bad', preset => 'shingles', idf_relation => 'corpus', idf_column => 'body')$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', words => '{a,NULL}')$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', words => '{""}')$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', words => ARRAY[repeat('x', 201)])$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', stop_words => ARRAY[repeat('字', 201)])$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', words => '{长安街,幸福路 5 n}')$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', words => E'{"长安街\t5"}')$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', words => '{"# streets",长安街}')$$,
	$$SELECT simhash64('幸福路', '{"dictionary": ["长安街", "幸福路 5 n"]}', 'plain')$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', words => '{a}', tags => '{n,v}')$$,
	$$SELECT simhash_create_config('bad', preset => 'plain', tags => '{n}')$$,
	$$SELECT simhash_create_config('bad', base => 'nope')$$,
	$$SELECT simhash_create_config('bad', base => 'rare', words => '{a b}')$$,
	$$SELECT simhash_create_config('bad', base => 'rare words', without => '{filler filler}')$$,
	$$SELECT simhash_create_config('bad', base => 'places', without => '{Street Lamp}')$$,
	$$SELECT simhash_create_config('bad', base => 'rare', without => '{the,NULL}')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf_relation => 'corpus', idf_column => 'nope')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf_relation => 'corpus', idf_column => 'id')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf_relation => 'seen_types', idf_column => 'letters')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf_relation => 'seen_types', idf_column => 'json')$$,
	$$CREATE TABLE no_parts (id int) PARTITION BY LIST (id); SELECT simhash_create_config('bad', preset => 's2', idf_relation => 'no_parts',
		idf_column => 'nope')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf_relation => 0, idf_column => 'body')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', idf_relation => 'corpus')$$,
	$$SELECT simhash_create_config('bad', preset => 's2', min_documents => NULL)$$,
	$$SELECT simhash_drop_config('nope')$$,
	$$SELECT simhash_drop_config(NULL)$$,
	$$SELECT simhash_drop_config('person'), simhash_drop_config('person')$$,
	$$INSERT INTO simhash_catalog.config SELECT 'copy', digest, false, '{"body": 2}', preset, words FROM simhash_catalog.config
		WHERE name = 'more'$$,
	$$INSERT INTO simhash_catalog.config (name, digest, dropped, preset) VALUES ('copy', repeat('0', 64), true, 's2')$$,
	$$INSERT INTO simhash_catalog.config (name, digest, dropped) VALUES ('rare', repeat('0', 64), true)$$,
	$$INSERT INTO simhash_catalog.config (name, digest, dropped) VALUES ('long', 'short', true)$$,
	$$INSERT INTO simhash_catalog.content (digest, terms) VALUES (repeat('0', 64), '{a}')$$,
	$$INSERT INTO simhash_catalog.content SELECT * FROM listed(NULL, '{a,b}', '{n}')$$,
	$$INSERT INTO simhash_catalog.content SELECT * FROM listed(NULL, '{{a,b}}', NULL)$$,
	$$INSERT INTO simhash_catalog.content SELECT * FROM listed(3, '{a,b}', '{1,4}')$$,
	$$INSERT INTO simhash_catalog.content SELECT * FROM listed(3, '{a,b}', '{1,-1}')$$,
	$$INSERT INTO simhash_catalog.content SELECT * FROM listed(3, '{a,b}', NULL)$$,
	$$SET ROLE simhash_reader; SELECT simhash_create_config('mine', preset => 'plain')$$,
	$$SET ROLE simhash_reader; SELECT simhash_create_config('mine', preset => 's2', idf_relation => 'never_read', idf_column => 'body')$$,
	$$SET ROLE simhash_reader; SELECT simhash_drop_config('petition')$$,
	$$SET ROLE simhash_reader; SELECT simhash_catalog.check_writer(false, true)$$,
	$$SET ROLE simhash_reader; DELETE FROM simhash_catalog.config$$,
	$$SET ROLE simhash_reader; DELETE FROM simhash_catalog.content$$,
	$$SET ROLE simhash_reader; UPDATE simhash_catalog.config SET dropped = true$$,
	$$SET ROLE simhash_reader; SELECT simhash64_named(p, 'petition') FROM stored_test.petition AS p$$
]) AS e, fault(e) AS f;
\x off
RESET ROLE;
-- Counts are written as the server writes them.
SELECT string_agg(c, ' ') AS counts FROM unnest('{1,9,10,"",0,01,11,+1,-1," 1",1.0,٣,9999999999999999999}'::text[]) AS c
WHERE simhash_catalog.list_fault(10, '{word}', ARRAY[c]) IS NULL;
-- 200 characters are a word. What is there is passed over.
SELECT simhash_create_config('long', preset => 'plain', words => ARRAY[repeat('x', 200)]) IS NOT NULL AS long;
INSERT INTO simhash_catalog.content SELECT * FROM simhash_catalog.content;
INSERT INTO simhash_catalog.config SELECT * FROM simhash_catalog.config;
-- A temporary table of the user's may have any name.
CREATE TEMP TABLE simhash_idf_part (documents text);
SELECT simhash_create_config('beside', base => 'rare', idf_relation => 'corpus', idf_column => 'body') IS NOT NULL AS stored;
DROP TABLE simhash_idf_part;

-- A view works for a role that has no rights on the schema of the extension.
CREATE VIEW named AS SELECT id, simhash64_named(p, 'places') AS fp FROM petition AS p;
GRANT SELECT ON named TO simhash_reader;
REVOKE USAGE ON SCHEMA public FROM PUBLIC;
\c
SET client_min_messages = warning;
SET ROLE simhash_reader;
SELECT count(fp) FROM stored_test.named;
SELECT public.simhash64_named_text('a', 'petition');
RESET ROLE;
GRANT USAGE ON SCHEMA public TO PUBLIC;
SET search_path = stored_test, public;
DROP VIEW named;
REVOKE ALL ON petition, never_read FROM simhash_reader;
REVOKE ALL ON SCHEMA stored_test FROM simhash_reader;
DROP ROLE simhash_reader;

-- Rows that are missing or changed are an error, not another fingerprint.
CREATE FUNCTION after(damage text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	call text;
BEGIN
	FOREACH call IN ARRAY '{"simhash64_named_text(''a b'', ''whole'')", "simhash_config_digest(''whole'')",
		"simhash_create_config(''new'', base => ''whole'')"}'::text[] LOOP
		BEGIN
			SET LOCAL session_replication_role = replica;
			EXECUTE damage;
			SET LOCAL session_replication_role = origin;
			EXECUTE 'SELECT ' || call INTO detail;
			RAISE EXCEPTION 'result %', detail;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			RETURN NEXT SQLSTATE || ' ' || SQLERRM || ': ' || detail;
		END;
	END LOOP;
END $$;
SELECT simhash_create_config('whole', '{}', 's2', '{一词, word}', '{v, n}', '{too}', 'corpus', 'body') IS NOT NULL AS stored;
SELECT a.* FROM unnest(ARRAY[
	$$DELETE FROM simhash_catalog.content WHERE digest = (SELECT words FROM simhash_catalog.config WHERE name = 'whole')$$,
	$$DELETE FROM simhash_catalog.content$$,
	$$UPDATE simhash_catalog.content SET about = '{v,v}' WHERE '一词' = ANY (terms)$$,
	$$UPDATE simhash_catalog.content SET terms = '{to}' WHERE 'too' = ANY (terms)$$,
	$$UPDATE simhash_catalog.content SET documents = documents + 1$$,
	$$UPDATE simhash_catalog.config SET frequencies = NULL$$,
	$$UPDATE simhash_catalog.config SET options = '{"tf": "set"}'$$,
	$$UPDATE simhash_catalog.config SET (words, stop_words) = (stop_words, words)$$
]) AS damage, after(damage) AS a;
SELECT simhash64_named_text('a b', 'whole') IS NOT NULL AS whole;

-- Outside of simhash_catalog the extension has no relation, only functions, types, operators and the access method.
SELECT DISTINCT i.type, i.schema FROM pg_depend AS d
JOIN pg_extension AS e ON e.oid = d.refobjid, pg_identify_object(d.classid, d.objid, d.objsubid) AS i
WHERE e.extname = 'simhash_dedup' AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND i.schema IS DISTINCT FROM 'simhash_catalog' ORDER BY 1;
SELECT c.relname, c.relkind, c.relnamespace::regnamespace FROM pg_class AS c
JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	JOIN pg_extension AS e ON e.oid = d.refobjid WHERE e.extname = 'simhash_dedup' ORDER BY 1;

-- A search_path that puts other tables first changes nothing.
CREATE TABLE config (LIKE simhash_catalog.config);
SET search_path = stored_test, public, pg_catalog;
SELECT simhash64_named_text('one two three', 'undone') IS NOT NULL AS present;
RESET search_path;

-- It stays in its schema, which may get another name: everything still works, in the same session.
\set VERBOSITY sqlstate
ALTER EXTENSION simhash_dedup SET SCHEMA stored_test;
\set VERBOSITY default
ALTER SCHEMA public RENAME TO elsewhere;
SELECT elsewhere.simhash64_named_text('one two three', 'undone') IS NOT NULL AS present;
SELECT elsewhere.simhash_create_config('moved', base => 'whole', idf_relation => 'stored_test.corpus',
	idf_column => 'body') IS NOT NULL AS config;
SELECT elsewhere.simhash_config_digest('moved') IS NOT NULL AS whole, elsewhere.simhash_drop_config('moved');
ALTER SCHEMA elsewhere RENAME TO public;

-- Dropped and created again, nothing is left, in the same session.
SET client_min_messages = error;
DROP SCHEMA stored_test CASCADE;
DROP EXTENSION simhash_dedup CASCADE;
CREATE EXTENSION simhash_dedup;
SELECT count(*) FROM simhash_catalog.config;
SELECT simhash_create_config('undone', '{"stop_words": ["two"]}', 'plain') IS NOT NULL AS stored;
SELECT simhash64_named_text('one two three', 'undone') = simhash64('one three', preset => 'plain') AS new;
DROP EXTENSION simhash_dedup;
