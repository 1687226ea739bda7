-- Stored versions on several servers: export, import, what is refused. The nodes of Citus: t/072_citus_stored.pl.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA stored_copy;
SET search_path = stored_copy, public;

-- Words that come and go, one of another part of speech, an idf table, configurations of rows and of texts.
SELECT simhash_add_words('places', '{幸福路, 长安街, lamps}') AS first, simhash_add_stop_words('places', '{the, 请问}') AS second,
	simhash_remove_word('places', '长安街') AS third, simhash_add_word('places', '移民', 'v') AS fourth;
CREATE TABLE corpus AS SELECT i AS id, format('the lamps in 幸福路 %s 移民 %s', i % 7, i % 3) AS body, 'x' || i AS abc, '一' AS "长" FROM generate_series(1, 100) AS i;
SELECT simhash_build_idf('corpus', 'corpus', 'body', 'places') AS idf;
SELECT simhash_create_config('body', '{"stop_words": ["灯", "a"], "tf": "set"}', 's2', 'places', 'corpus') AS text_version,
	simhash_create_config('row', '{"body": 3, "abc": 0.50, "长": {"weight": 2, "stop_words": ["二"]}, "$dictionary": ["一", "二"]}', 'plain') AS row_version;
SELECT simhash_add_word('places', 'in') AS fifth;
CREATE TEMP TABLE copied AS SELECT * FROM simhash_stored_export();
\pset format unaligned
SELECT kind, name, version, content - 'terms' AS content, digest FROM copied ORDER BY kind DESC, name, version;
\pset format aligned
CREATE TEMP TABLE before AS SELECT c AS config, id, simhash64_named_text(body, c) AS fp FROM corpus, unnest('{body@1, body@2}'::text[]) AS c
	UNION ALL SELECT 'row@1', id, simhash64_named(corpus, 'row@1') FROM corpus;
CREATE TEMP TABLE held AS SELECT v, w.* FROM generate_series(1, 5) AS v, simhash_dictionary_words('places', v) AS w;

-- What is there is the same, and nothing is written.
SELECT simhash_stored_import(kind, name, version, content) AS outcome, count(*) FROM copied GROUP BY 1;
SELECT count(*) FROM simhash_catalog.dictionary_word;

-- Dropped, and imported in the order in which one version needs another.
CREATE FUNCTION drop_all() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	v record;
BEGIN
	FOR v IN SELECT name, version FROM simhash_catalog.config ORDER BY 1, 2 LOOP
		PERFORM simhash_drop_config(v.name, v.version);
	END LOOP;
	FOR v IN SELECT DISTINCT name FROM simhash_catalog.dictionary LOOP
		PERFORM simhash_drop_dictionary(v.name);
	END LOOP;
	FOR v IN SELECT name, version FROM simhash_catalog.idf ORDER BY 1, 2 LOOP
		PERFORM simhash_drop_idf(v.name, v.version);
	END LOOP;
	RETURN format('%s rows left', (SELECT count(*) FROM simhash_stored_export()) + (SELECT count(*) FROM simhash_catalog.dictionary_word)
		+ (SELECT count(*) FROM simhash_catalog.idf_term));
END $$;
CREATE FUNCTION agrees() RETURNS TABLE (versions boolean, words boolean, fingerprints boolean) LANGUAGE sql AS $$
	SELECT NOT EXISTS ((TABLE copied EXCEPT SELECT * FROM simhash_stored_export()) UNION ALL (SELECT * FROM simhash_stored_export() EXCEPT TABLE copied)),
		NOT EXISTS ((SELECT v, w.* FROM generate_series(1, 5) AS v, simhash_dictionary_words('places', v) AS w EXCEPT TABLE held)
			UNION ALL (TABLE held EXCEPT SELECT v, w.* FROM generate_series(1, 5) AS v, simhash_dictionary_words('places', v) AS w)),
		NOT EXISTS (SELECT FROM before AS b JOIN corpus AS c USING (id) WHERE b.fp IS DISTINCT FROM
			CASE WHEN b.config LIKE 'row%' THEN simhash64_named(c, b.config) ELSE simhash64_named_text(c.body, b.config) END)
$$;
SELECT * FROM agrees();
CREATE TEMP TABLE ids AS SELECT id FROM simhash_catalog.config;
SELECT drop_all();
SELECT simhash_stored_import(kind, name, version, content) AS outcome FROM copied ORDER BY kind DESC, name, version;
SELECT * FROM agrees();
SELECT count(*) AS old_ids FROM simhash_catalog.config JOIN ids USING (id);
-- A version of a dictionary has rows for what it changes, no more.
SELECT version, count(*) FROM simhash_catalog.dictionary_word WHERE dictionary = 'places' GROUP BY 1 ORDER BY 1;
-- The next version is made as ever, with configurations that follow.
SELECT simhash_add_word('places', 'new') AS sixth, (SELECT max(version) FROM simhash_catalog.config WHERE name = 'body') AS before_it;
SELECT max(version) AS follows FROM simhash_catalog.config WHERE name = 'body';

-- Single versions, and those that lack others. The newest alone stands for itself: its content is complete.
SELECT drop_all();
CREATE FUNCTION import(kind text, name text, version int) RETURNS text LANGUAGE sql AS $$
	SELECT simhash_stored_import(c.kind, c.name, c.version, c.content) FROM copied AS c WHERE (c.kind, c.name, c.version) = ($1, $2, $3)
$$;
SELECT import('config', 'body', 2);
SELECT import('dictionary', 'places', 5);
SELECT import('config', 'body', 2);
SELECT import('idf', 'corpus', 1);
SELECT import('config', 'body', 2);
SELECT import('dictionary', 'places', 5), import('config', 'body', 1), import('dictionary', 'places', 4);
SELECT count(*) FILTER (WHERE simhash64_named_text(body, 'body') IS DISTINCT FROM fp) AS different FROM before JOIN corpus USING (id) WHERE config = 'body@2';
SELECT count(*) AS all_words, bool_and(version = 5 AND NOT removed) AS of_five FROM simhash_catalog.dictionary_word;

-- Dropped on purpose, words do not come back with older versions.
SELECT simhash_add_word('places', 'after') AS sixth, simhash_drop_config('body', 2), simhash_drop_dictionary('places', 6);
SELECT simhash_stored_import(kind, name, version, content) AS outcome FROM copied WHERE kind = 'dictionary' ORDER BY version;
SELECT * FROM simhash_dictionary_words('places', 6) ORDER BY kind, word COLLATE "C";

-- The same name and version with another meaning: made here meanwhile. Nothing is overwritten, and what builds on it is refused.
SELECT drop_all();
SELECT simhash_add_words('places', '{幸福路, 长安街}') AS mine, simhash_create_config('row', '{"body": 3}', 'plain') AS config;
CREATE TEMP TABLE mine AS SELECT * FROM simhash_stored_export();
SELECT kind, name, version, simhash_stored_import(kind, name, version, content) AS outcome FROM copied ORDER BY kind DESC, name, version;
SELECT count(*) AS mine, count(*) FILTER (WHERE m.content IS DISTINCT FROM e.content OR m.digest IS DISTINCT FROM e.digest) AS changed
FROM mine AS m LEFT JOIN simhash_stored_export() AS e USING (kind, name, version);
-- Versions after it have the words of the other server.
SELECT count(*) FILTER (WHERE h.v IS NULL OR w.version IS NULL) AS different
FROM (SELECT * FROM held WHERE v > 1) AS h FULL JOIN (SELECT v AS version, d.* FROM generate_series(2, 5) AS v, simhash_dictionary_words('places', v) AS d) AS w
	ON (h.v, h.kind, h.word) = (w.version, w.kind, w.word) AND h.tag IS NOT DISTINCT FROM w.tag;
-- A configuration whose row is the same, and whose dictionary is not, differs.
SELECT drop_all();
SELECT simhash_add_word('d', 'a') AS dictionary, simhash_create_config('c', preset => 'plain', dictionary => 'd') AS config;
CREATE TEMP TABLE of_a AS SELECT * FROM simhash_stored_export();
SELECT drop_all();
SELECT simhash_add_word('d', 'b') AS dictionary, simhash_create_config('c', preset => 'plain', dictionary => 'd') AS config;
SELECT kind, simhash_stored_import(kind, name, version, content) AS outcome FROM of_a ORDER BY kind DESC;
SELECT kind, e.digest = a.digest AS same FROM simhash_stored_export() AS e JOIN of_a AS a USING (kind, name, version) ORDER BY kind;
SELECT drop_all();

-- Content as people write it: only what export gives is taken, whatever the order of keys.
SELECT simhash_stored_import('config', 'made', 1, '{"preset": "plain", "idf": null, "options": {"tf": "set", "stop_words": ["a"]}, "dictionary": null}') AS outcome;
SELECT simhash_stored_import('config', 'made', 1, '{"dictionary": null, "options": {"stop_words": ["a"], "tf": "set"}, "idf": null, "preset": "plain"}') AS outcome;
SELECT simhash_stored_import('idf', 'made', 7, '{"documents": 3, "terms": {"a": 3}, "source": "elsewhere"}') AS seventh,
	simhash_stored_import('idf', 'made', 7, '{"documents": 3, "terms": {"a": 3}, "source": "from another table"}') AS same_count,
	simhash_stored_import('idf', 'made', 7, '{"documents": 4, "terms": {"a": 3}, "source": "elsewhere"}') AS other_count;
SELECT simhash_stored_import('dictionary', 'empty', 1, '{"words": {}, "stop_words": {}}') AS empty;
CREATE FUNCTION fault(kind text, name text, version int, content jsonb) RETURNS TABLE (state text, message text, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT 'none', simhash_stored_import($1, $2, $3, $4), '', '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;
\pset format unaligned
SELECT n, f.* FROM (VALUES
	(1, NULL, 'x', 1, '{}'), (2, 'config', NULL, 1, '{}'), (3, 'config', 'x', NULL, '{}'), (4, 'config', 'x', 1, NULL), (5, 'word', 'x', 1, '{}'),
	(6, 'config', 'x@1', 1, '{}'), (7, 'idf', '', 1, '{}'), (8, 'dictionary', 'x', 0, '{}'),
	(9, 'config', 'x', 1, '{}'), (10, 'config', 'x', 1, '[1]'), (11, 'config', 'x', 1, 'null'),
	(12, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": null, "idf": null, "hash": "xxh3"}'),
	(13, 'config', 'x', 1, '{"options": {"$nope": 1}, "preset": null, "dictionary": null, "idf": null}'),
	(14, 'config', 'x', 1, '{"options": [], "preset": null, "dictionary": null, "idf": null}'),
	(15, 'config', 'x', 1, '{"options": {}, "preset": "s9", "dictionary": null, "idf": null}'),
	(16, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": "places@1", "idf": null}'),
	(17, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": {"name": "places", "version": 1}, "idf": null}'),
	(18, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": {"name": "places", "version": 1.5, "digest": "00"}, "idf": null}'),
	(19, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": null, "idf": {"name": "made", "version": "x", "digest": "00"}}'),
	(20, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": null, "idf": {"name": "made", "version": 7, "digest": "00"}}'),
	(21, 'dictionary', 'x', 1, '{"words": {"": null}, "stop_words": {}}'),
	(22, 'dictionary', 'x', 1, jsonb_build_object('words', '{}'::jsonb, 'stop_words', jsonb_build_object(repeat('字', 201), NULL))),
	(23, 'dictionary', 'x', 1, '{"words": ["a"], "stop_words": {}}'),
	(24, 'dictionary', 'x', 1, '{"words": {"a": {"b": 1}}, "stop_words": {}}'),
	(25, 'dictionary', 'x', 1, '{"words": {"a": 1}, "stop_words": {}}'),
	(26, 'idf', 'x', 1, '{"documents": 3, "terms": {"a": 4}, "source": "x"}'), (27, 'idf', 'x', 1, '{"documents": 3, "terms": {"a": 0}, "source": "x"}'),
	(28, 'idf', 'x', 1, '{"documents": 3, "terms": {"a": 1.5}, "source": "x"}'), (29, 'idf', 'x', 1, '{"documents": 3, "terms": {"a": "b"}, "source": "x"}'),
	(30, 'idf', 'x', 1, '{"documents": -1, "terms": {}, "source": "x"}'), (31, 'idf', 'x', 1, '{"documents": 1e30, "terms": {}, "source": "x"}'),
	(32, 'idf', 'x', 1, jsonb_build_object('documents', 3, 'source', 'x', 'terms', jsonb_build_object(repeat('x', 201), 1))),
	(33, 'idf', 'x', 1, '{"documents": 3, "terms": {}, "source": null}'), (34, 'idf', 'x', 1, '{"documents": 3, "terms": null, "source": "x"}'),
	(35, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": {"name": "nope", "version": 7, "digest": null}, "idf": null}'),
	(36, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": {"name": null, "version": 7, "digest": "00"}, "idf": null}'),
	(37, 'config', 'x', 1, '{"options": {}, "preset": null, "dictionary": null, "idf": {"name": "made", "version": null, "digest": "00"}}'),
	(38, 'dictionary', 'x', 2147483647, '{"words": {}, "stop_words": {}}'), (39, 'idf', 'x', 1, '{"documents": null, "terms": {}, "source": "x"}')
) AS v (n, kind, name, version, content), fault(v.kind, v.name, v.version, v.content) AS f ORDER BY n;
\pset format aligned
SELECT kind, name, version FROM simhash_stored_export() ORDER BY 1, 2, 3;

-- Rows that are missing, after half a restore for example: no content, and no import of what uses it.
SELECT drop_all();
SELECT simhash_stored_import(kind, name, version, content) = 'added' AS added, count(*) FROM copied GROUP BY 1;
BEGIN;
SET LOCAL session_replication_role = replica;
DELETE FROM simhash_catalog.dictionary_word WHERE word = 'lamps';
SELECT kind, name, version, content IS NULL AS without_content, digest IS NULL AS without_digest FROM simhash_stored_export() ORDER BY 1 DESC, 2, 3;
DELETE FROM simhash_catalog.config WHERE name = 'body' AND version = 2;
SELECT import('config', 'body', 2) AS config, import('dictionary', 'places', 5) AS dictionary;
ROLLBACK;

-- Rights, and transactions that keep their snapshot.
CREATE ROLE simhash_importer;
GRANT USAGE ON SCHEMA stored_copy TO simhash_importer;
GRANT SELECT ON copied TO simhash_importer;
SET ROLE simhash_importer;
SELECT count(*) AS everyone_exports FROM simhash_stored_export();
SELECT kind, (fault(kind, name, version, content)).* FROM copied WHERE version = 1 AND name <> 'row' ORDER BY 1;
RESET ROLE;
REVOKE ALL ON SCHEMA stored_copy FROM simhash_importer;
REVOKE ALL ON copied FROM simhash_importer;
DROP ROLE simhash_importer;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT (fault('config', name, version, content)).* FROM copied WHERE name = 'row';
ROLLBACK;

-- Without Citus there are no nodes to check.
SELECT * FROM simhash_stored_check();
SELECT * FROM simhash_stored_copy();

-- Another database, of another encoding.
CREATE DATABASE simhash_copy_target TEMPLATE template0 ENCODING 'EUC_CN' LC_COLLATE 'C' LC_CTYPE 'C';
SELECT string_agg(format('(%L, %L, %s, %L::jsonb, %L)', kind, name, version, content, digest), ', ') AS rows FROM copied \gset
SELECT current_database() AS source \gset
\connect simhash_copy_target
\encoding UTF8
SET client_min_messages = warning;
CREATE EXTENSION simhash_dedup;
CREATE TABLE copied (kind, name, version, content, digest) AS VALUES :rows;
SELECT simhash_stored_import(kind, name, version, content) AS outcome FROM copied ORDER BY kind DESC, name, version;
SELECT count(*), count(*) FILTER (WHERE e.digest IS DISTINCT FROM c.digest) AS different FROM copied AS c FULL JOIN simhash_stored_export() AS e USING (kind, name, version);
SELECT simhash64_named_text('the lamps in 幸福路 1 移民 1', 'body') AS fp;
\connect :source
\encoding UTF8
SELECT simhash64_named_text('the lamps in 幸福路 1 移民 1', 'body') AS fp;
DROP DATABASE simhash_copy_target;

SET client_min_messages = error;
DROP SCHEMA stored_copy CASCADE;
DROP EXTENSION simhash_dedup CASCADE;
