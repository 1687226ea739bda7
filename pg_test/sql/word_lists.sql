-- Long lists of words: in options that a function of the user's carries, which a session keeps, and in options that change
-- from row to row.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA word_lists;
SET search_path = word_lists, public;
RESET client_min_messages;

-- Parts of speech: a word without a tag is a noun.
SELECT feature, weight FROM simhash_features('幸福路很长', '{"dictionary": ["幸福路"], "pos": true, "length": "none"}', 's3') WHERE feature = '幸福路'
UNION ALL SELECT feature, weight FROM simhash_features('幸福路很长', '{"dictionary": {"幸福路": "v"}, "pos": true, "length": "none"}', 's3') WHERE feature = '幸福路'
UNION ALL SELECT feature, weight FROM simhash_features('幸福路很长', '{"dictionary": {"幸福路": "x"}, "pos": true, "length": "none"}', 's3') WHERE feature = '幸福路';
SELECT simhash64('a', '{"dictionary": {"lamp": 1}}', 's2');
SELECT simhash64('a', '{"dictionary": {"幸福路 5 n": "n"}}', 's2');
SELECT simhash64('a', '{"dictionary": "lamp"}', 's2');

-- An idf table of 2,000 words in a function: each statement finds what the session has parsed, and a function that is
-- replaced has its own.
CREATE FUNCTION options(n int) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT jsonb_build_object('idf', jsonb_build_object('documents', 5000, 'terms', jsonb_object_agg('word' || i, i * n % 5000)))
	FROM generate_series(1, 2000) i
$$;
CREATE FUNCTION make(n int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('CREATE OR REPLACE FUNCTION word_lists.fp(body text) RETURNS bigint IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS %L',
		format('BEGIN RETURN public.simhash64(body, %L, ''s2''); END', options(n)));
END $$;
SELECT make(1);
CREATE TABLE doc (id int, body text, fp bigint GENERATED ALWAYS AS (fp(body)) STORED);
INSERT INTO doc SELECT i, (SELECT string_agg('word' || (i * j * 7 % 2000), ' ') FROM generate_series(1, 25) j) FROM generate_series(1, 200) i;
CREATE INDEX ON doc USING simhash (fp(body));
SELECT count(*) FILTER (WHERE fp = simhash64(body, options(1), 's2')) AS same, count(*) FILTER (WHERE fp <> simhash64(body, options(7), 's2')) > 50 AS others
FROM doc;
SELECT make(7);
SELECT count(*) FILTER (WHERE fp(body) = simhash64(body, options(7), 's2')) AS same FROM doc;
SELECT count(*) AS same FROM doc, generate_series(1, 10) n WHERE id <= 20
	AND simhash64(body, options(n), 's2') = (SELECT simhash64(d.body, o, 's2') FROM doc d, (SELECT options(n) AS o OFFSET 0) o WHERE d.id = doc.id);
-- What is options of a text is no weights of a row.
SELECT simhash64(ROW('word1'), options(1), 's2');
SELECT simhash64('word1', options(1), 's2') IS NOT NULL AS of_text;
SET client_min_messages = warning;
DROP SCHEMA word_lists CASCADE;
