-- Fingerprints of texts, rows and tokens: golden values, equal forms, places where they are used.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA fingerprint_test;
SET search_path = fingerprint_test, public, simhash_methods;

-- The tutorial's values, both widths.
SELECT text, to_hex(simhash64(text, preset => 's1')) AS w64, to_hex(simhash32(text, preset => 's1')) AS w32
FROM (VALUES ('中国^2 知乎^1 读者^2'), ('中国^2 世界^1 读者^2'), ('中国^2 知乎^1 读者^1')) AS v (text);
SELECT simhash_bits(simhash32('中国^2 知乎^1 读者^2', preset => 's1'), 32);
SELECT simhash_bits(simhash64('中国^2 知乎^1 读者^2', preset => 's1'));
SELECT simhash_similarity(simhash32('中国^2 知乎^1 读者^2', preset => 's1'),
	simhash32('中国^2 世界^1 读者^2', preset => 's1'), 32);
SELECT simhash_similarity(simhash64('中国^2 知乎^1 读者^2', preset => 's1'),
	simhash64('中国^2 知乎^1 读者^1', preset => 's1'));

-- A preset never changes.
SELECT p AS preset, to_hex(simhash64(t, preset => p)) AS w64, to_hex(simhash32(t, preset => p)) AS w32,
	to_hex(simhash64(ROW(t, 7, 'Street lamp'), preset => p)) AS "row"
FROM unnest(ARRAY['words', 'plain', 's0', 's2', 's3']) AS p,
	(VALUES ('The street lamp, 幸福路12号门前的路灯坏了两个星期 0000 但是 please please repair it; 综上所述')) AS v (t);

-- An input without a feature has no fingerprint.
SELECT simhash64(NULL::text, preset => 'words'), simhash64('', preset => 'words'), simhash64(' !? ', preset => 'words'),
	simhash32('', preset => 'words'), simhash64('', preset => 's1'),
	simhash64(ROW(NULL::int, ''::text), preset => 'words'), simhash64(NULL::pg_class, preset => 'words'), simhash64_tokens('{}'),
	simhash64_tokens('{a,b}', '{0,0}'), simhash64_tokens(NULL), simhash64_tokens('{NULL,""}');

-- Preset plain on a lone text is the SimHash of its words, each with its number.
SELECT simhash64('b a B c', preset => 'plain') = simhash64_tokens('{a,b,c}', '{1,2,1}') AS tokens,
	simhash64('b a B c', preset => 'plain') = simhash64_tokens('{a,b,b,c}') AS repeated,
	simhash64('b a b c', '{"tf": "set"}', 'plain') = simhash64_tokens('{c,b,a}') AS as_set,
	simhash64('a b c', '{"features": ["pairs"]}', 'plain') = simhash64_tokens('{a b,b c}') AS pairs,
	simhash64('a b c', '{"features": ["words", "pairs"]}', preset => 'words') = simhash64_tokens('{a,a b,b,b c,c}') AS words_and_pairs,
	simhash64('Ａ　Ｂ', preset => 'words') = simhash64('a b', preset => 'words') AS normal_form,
	simhash64('我来到北京清华大学', preset => 'plain') = simhash64_tokens('{我,来到,北京,清华大学}') AS han,
	simhash32('b a b c', preset => 'words') = (simhash64('b a b c', preset => 'words') & 4294967295) AS low_half,
	simhash32_tokens('{a,b}') = (simhash64_tokens('{a,b}') & 4294967295) AS low_half_tokens;
-- One feature: the fingerprint is its hash (CityHash64 of column name, 0x1F, word).
SELECT to_hex(simhash64('中国', preset => 'plain')) AS text,
	to_hex(simhash64(ROW('hello'::text), '{"$columns": ["subject"]}', preset => 'words')) AS "row";

-- The same row in every form.
CREATE TABLE pages (title text, pages int, body text);
INSERT INTO pages VALUES
	('A title', 7, 'The quick brown fox jumps over the lazy dog'),
	('另一个标题', NULL, '数据库中的重复记录 the quick brown fox'),
	(NULL, NULL, NULL);
SELECT simhash64(p, preset => 'words') IS NOT NULL AS present,
	simhash64(p, preset => 'words') IS NOT DISTINCT FROM simhash64(ROW(title, pages, body)::pages, preset => 'words') AS cast_row,
	simhash64(p, preset => 'words') IS NOT DISTINCT FROM
		simhash64(ROW(title, pages, body), '{"$columns": ["title", "pages", "body"]}', preset => 'words') AS named_row,
	simhash64(p, preset => 'words') IS NOT DISTINCT FROM (SELECT simhash64(s, preset => 'words')
		FROM (SELECT title, pages, body) AS s) AS alias,
	simhash64(p, preset => 'words') IS DISTINCT FROM simhash64(ROW(title, pages, body), preset => 'words') AS bare_row_differs
FROM pages AS p;

-- Its features add up to it.
SELECT column_name, feature, tf, round(weight::numeric, 6) AS weight, to_hex(hash) AS hash
FROM simhash_features(ROW('the cat the hat'::text, 5), '{"$columns": ["s", "n"], "s": 3, "n": 1}', preset => 'words');
SELECT rebuilt = simhash64(p, preset => 'words') AS same
FROM pages AS p, LATERAL (
	SELECT bit_or(CASE WHEN total > 1e-9 THEN 1::bigint << bit ELSE 0 END) AS rebuilt FROM (
		SELECT bit, sum(CASE WHEN (hash >> bit) & 1 = 1 THEN weight ELSE -weight END) AS total
		FROM simhash_features(p, preset => 'words'), generate_series(0, 63) AS bit GROUP BY bit) AS sums
) AS r
WHERE title IS NOT NULL;
SELECT count(*) FROM simhash_features(NULL::pages, preset => 'words');
SELECT title, (simhash_features(p, '{"title": 1}', preset => 'words')).feature FROM pages AS p;
-- Those of a text, which may be of any string type or of none.
SELECT * FROM simhash_features('the cat the hat', preset => 'plain') ORDER BY feature;
SELECT bit_or(CASE WHEN total > 1e-9 THEN 1::bigint << bit ELSE 0 END) = simhash64('the cat the hat', '{"tf": "sqrt"}',
	preset => 'words') AS same FROM (
	SELECT bit, sum(CASE WHEN (hash >> bit) & 1 = 1 THEN weight ELSE -weight END) AS total
	FROM simhash_features('the cat the hat'::varchar, '{"tf": "sqrt"}', preset => 'words'),
		generate_series(0, 63) AS bit GROUP BY bit) AS sums;
SELECT feature, tf FROM simhash_features('a^2 b^0.5', preset => 's1');
SELECT count(*) FROM simhash_features(NULL, preset => 'words');
SELECT feature FROM (VALUES ('b'), (NULL), ('a')) AS v (t), simhash_features(t, preset => 'words');

-- A generated column, a trigger on NEW and an expression index agree.
CREATE TABLE docs (
	id int PRIMARY KEY, title text, body text,
	fp bigint GENERATED ALWAYS AS
		(simhash64(ROW(title, body), '{"$columns": ["title", "body"], "title": 1, "body": 3}', preset => 'words')) STORED,
	fp_trigger bigint
);
CREATE FUNCTION fingerprint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.fp_trigger := simhash64(NEW, '{"title": 1, "body": 3}', preset => 'words');
	RETURN NEW;
END $$;
CREATE TRIGGER fingerprint BEFORE INSERT OR UPDATE ON docs FOR EACH ROW EXECUTE FUNCTION fingerprint();
CREATE INDEX docs_body ON docs (simhash64(body, preset => 'words'));
INSERT INTO docs (id, title, body)
SELECT g, 'title ' || g, 'some words of document ' || g % 100 || ' 和一些中文' FROM generate_series(1, 2000) AS g;
SELECT count(*), count(fp), count(*) FILTER (WHERE fp = fp_trigger) AS trigger,
	count(*) FILTER (WHERE fp = simhash64(d, '{"body": 3, "title": 1}', preset => 'words')) AS whole_row FROM docs AS d;
ANALYZE docs;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM docs
WHERE simhash64(body, preset => 'words') = simhash64('Some words of document 42 和一些中文', preset => 'words');
SELECT count(*) FROM docs WHERE simhash64(body, preset => 'words') = simhash64('Some words of document 42 和一些中文', preset => 'words');
RESET enable_seqscan;

-- Without weights a generated column does not count, so a backfill run twice gives the same values.
SELECT count(*) FILTER (WHERE simhash64(d, preset => 'words') = simhash64(s, preset => 'words')) AS same
FROM docs AS d, LATERAL (SELECT id, title, body, fp_trigger) AS s;
ALTER TABLE docs DISABLE TRIGGER fingerprint;
UPDATE docs AS d SET fp_trigger = simhash64(d, '{"$exclude": ["fp_trigger"]}', preset => 'words');
SELECT count(*) FILTER (WHERE fp_trigger = simhash64(d, '{"$exclude": ["fp_trigger"]}', preset => 'words')) AS same FROM docs AS d;

-- Parallel workers compute the same.
CREATE TABLE serial_result AS SELECT id, simhash64(d, preset => 'words') AS fp FROM docs AS d;
SET parallel_setup_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT sum(simhash64(d, preset => 'words')) FROM docs AS d;
SELECT (SELECT sum(simhash64(d, preset => 'words')) FROM docs AS d) = (SELECT sum(fp) FROM serial_result) AS same;
SELECT (SELECT sum(simhash64(s, preset => 'words')) FROM (SELECT id, ROW(title, body) AS pair FROM docs) AS s) IS NOT NULL AS anonymous;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;
RESET parallel_leader_participation;

-- A prepared statement may change its options from call to call.
PREPARE with_options(jsonb, text) AS SELECT simhash64('a b b c', $1, $2);
SET plan_cache_mode = force_generic_plan;
EXECUTE with_options('{"tf": "set"}', 'plain');
EXECUTE with_options('{"tf": "raw"}', 'plain');
EXECUTE with_options(NULL, 'plain');
RESET plan_cache_mode;
SELECT count(DISTINCT simhash64('a b b c', o, 'plain'))
FROM unnest(ARRAY['{"tf": "set"}', '{"tf": "raw"}', '{"features": ["pairs"]}', '{"tf": "set"}']::jsonb[]) AS o;

-- Long texts are processed in chunks, without a break in words across their borders, and can be cancelled.
SELECT simhash64(repeat('word 词语 ', 100000), preset => 'plain') = simhash64('word 词语', preset => 'plain') AS same;
SELECT feature, tf FROM simhash_features(ROW(repeat('word 词语 ', 100000)), preset => 'plain') ORDER BY feature COLLATE "C";
CREATE TABLE long AS SELECT repeat('数据库中的重复记录。', 1000000) AS body;
SELECT clock_timestamp() AS start \gset
SELECT simhash64(body, preset => 'words') IS NOT NULL AS present FROM long;
SELECT extract(epoch FROM clock_timestamp() - :'start') * 1000 AS whole \gset
SELECT ceil(:whole / 4) AS quarter \gset
SET statement_timeout = :quarter;
SELECT clock_timestamp() AS start \gset
SELECT simhash64(body, preset => 'words') FROM long;
RESET statement_timeout;
SELECT extract(epoch FROM clock_timestamp() - :'start') * 1000 < 0.75 * :whole AS at_once;

-- What the catalog says.
SELECT proname, provolatile, proparallel, proisstrict, pg_get_function_arguments(oid) AS arguments,
	pg_get_function_result(oid) AS result
FROM pg_proc
WHERE proname IN ('simhash64', 'simhash32', 'simhash64_tokens', 'simhash32_tokens', 'simhash_features', 'simhash_bits',
	'simhash_similarity')
ORDER BY proname, arguments;

DROP SCHEMA fingerprint_test CASCADE;
