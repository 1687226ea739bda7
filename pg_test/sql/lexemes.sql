-- Fingerprints of tsvectors: as a value and as a column.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA lexemes_test;
SET search_path = lexemes_test, public;

-- The oracle: the server's own unnest, and weights in tenths.
CREATE FUNCTION oracle(v tsvector) RETURNS bigint LANGUAGE sql AS $$
	SELECT simhash64_tokens(array_agg(lexeme), array_agg(weight)) FROM (
		SELECT lexeme, coalesce((
			SELECT sum(CASE w WHEN 'A' THEN 10 WHEN 'B' THEN 4 WHEN 'C' THEN 2 ELSE 1 END) FROM unnest(weights) AS w), 1)::float8 AS weight
		FROM unnest(v)) AS l
$$;
SELECT v, simhash64(v) = oracle(v) AS same FROM unnest(ARRAY[
	'fat:1', 'fat', 'a:1A b:2B c:3C d:4D', 'a:1A,2A,3,4C b:5 c', '''it''''s'':1B ''back\\slash'':2 '' '':3A ''x:1A'':9C',
	'中国:1A 读者:2,3 é:4', 'odd:1 even1:2A even12:3B,4C'
]::tsvector[]) AS v;
CREATE TABLE doc (id int, v tsvector);
INSERT INTO doc SELECT i, setweight(to_tsvector('simple', 'title ' || i % 7 || repeat(' word' || i, i % 5)), 'A')
	|| setweight(to_tsvector('simple', 'tags t' || i % 11), 'B') || to_tsvector('simple', 'body number ' || i || ' of ' || i * i)
	|| (repeat('x', i % 30 + 1) || ':' || i % 100 + 1 || 'C')::tsvector FROM generate_series(1, 1000) AS i;
INSERT INTO doc SELECT 1001, string_agg(md5(i::text) || ':' || i, ' ')::tsvector FROM generate_series(1, 3000) AS i;
SELECT count(*), count(*) FILTER (WHERE simhash64(v) = oracle(v)) AS same, count(DISTINCT simhash64(v)) > 900 AS differ FROM doc;
SELECT count(*) FROM doc WHERE simhash64(strip(v)) IS DISTINCT FROM oracle(strip(v));
SELECT simhash64(''::tsvector) AS empty, simhash64(NULL::tsvector) AS unknown;
-- Labels decide, places do not.
SELECT simhash64('a:1A b:2 c:3 d:4'::tsvector) = simhash64_tokens('{a}') AS heavy,
	simhash64('a:1 b:2 c:3'::tsvector) = simhash64('a:9 b:7 c:5'::tsvector) AS places;
-- An untyped literal is still a text.
SELECT simhash64('a b') = simhash64('a b'::text) AS text;

-- A column of a row: features, balance, other forms on demand.
SELECT column_name, feature, tf, round(weight::numeric, 4) AS weight FROM simhash_features(
	ROW('a:1A,2 b:3C'::tsvector, 7), '{"$columns": ["v", "n"], "$balance": false}', preset => 'words');
SELECT column_name, feature, tf, round(weight::numeric, 4) AS weight FROM simhash_features(
	ROW('a:1A,2 b:3C'::tsvector, 7), '{"$columns": ["v", "n"], "v": 3, "n": 1}', preset => 'words');
SELECT feature FROM simhash_features(ROW('b:3C a:1A'::tsvector), '{"f1": {"as": "value"}}', preset => 'words');
SELECT feature FROM simhash_features(ROW('b:3C a:1A'::tsvector), '{"f1": {"as": "text"}}', preset => 'words') ORDER BY 1;
SELECT count(*) FILTER (WHERE simhash64(ROW(v), '{"$columns": ["v"]}', preset => 'words') = (
	SELECT bit_or(CASE WHEN total > 1e-9 THEN 1::bigint << bit ELSE 0 END) FROM (
		SELECT bit, sum(CASE WHEN (hash >> bit) & 1 = 1 THEN weight ELSE -weight END) AS total
		FROM simhash_features(ROW(v), '{"$columns": ["v"]}', preset => 'words'), generate_series(0, 63) AS bit GROUP BY bit) AS s)) AS same
FROM doc WHERE id <= 100;

-- A generated column.
CREATE TABLE page (title text, body text, fp bigint GENERATED ALWAYS AS
	(simhash64(setweight(to_tsvector('english', title), 'A') || to_tsvector('english', body))) STORED);
INSERT INTO page VALUES ('Cats', 'the cat sat on the mat'), ('Cat', 'cats sat on mats'), ('', '');
SELECT count(fp), count(DISTINCT fp) FROM page;
DROP SCHEMA lexemes_test CASCADE;
