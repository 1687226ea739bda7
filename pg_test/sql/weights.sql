-- The JSON of weights and options: what it does, and what it refuses.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA weights_test;
SET search_path = weights_test, public, simhash_methods;

CREATE TABLE petition (id int, subject text, body text, "$odd" text, fp bigint);
INSERT INTO petition VALUES (1, 'a subject', 'the body of the petition', 'odd', 42);

-- Each feature's weight tells what counted.
CREATE FUNCTION parts(weights jsonb, preset text DEFAULT 'plain') RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s=%s', column_name, share), ' ' ORDER BY column_name) FROM (
		SELECT column_name, round(sum(weight ^ 2)::numeric, 4) AS share
		FROM petition AS p, simhash_features(p, weights, preset) GROUP BY column_name) AS s
$$;
SELECT w AS weights, parts(w::jsonb) FROM unnest(ARRAY[
	NULL,
	'{}',
	'{"subject": 2}',
	'{"subject": 2, "body": {"weight": 6}}',
	'{"subject": 2, "body": {}}',
	'{"subject": 2, "*": 1}',
	'{"subject": 0, "*": 1}',
	'{"subject": 2, "*": {"weight": 1, "as": "value"}, "$exclude": ["fp", "id"]}',
	'{"$exclude": ["fp"]}',
	'{"$$odd": 1, "subject": 1}',
	'{"$columns": ["n", "s", "b", "o", "f"], "s": 1, "b": 1}',
	'{"$balance": false, "subject": 2, "body": 3}',
	'{"$tf": "log", "$balance": false, "body": 1}',
	'{"$tf": "log", "$balance": false, "body": {"tf": "set"}}',
	'{"subject": 1e-90, "body": 1e90}'
]) AS w;
SELECT column_name, feature FROM petition AS p,
	simhash_features(p, '{"subject": {"as": "value"}, "body": {"features": ["pairs"]}, "fp": {"as": "text"}}', preset => 'words') AS f
ORDER BY 1, 2;
-- As a value, a text is one feature in its normal form.
SELECT simhash64(ROW(' A ＳＵＢＪＥＣＴ'::text), '{"f1": {"as": "value"}}', preset => 'words')
	= simhash64(ROW('a subject'::text), '{"f1": {"as": "value"}}', preset => 'words') AS same;
-- {} says nothing; the scale of weights does not matter.
SELECT simhash64(p, preset => 'words') = simhash64(p, '{}', preset => 'words') AS empty,
	simhash64(p, '{"subject": 1, "body": 3}', preset => 'words') = simhash64(p, '{"subject": 100, "body": 300}', preset => 'words') AS scaled,
	simhash64(p, '{"subject": 1, "body": 3}', preset => 'words') = simhash64(p, '{"body": 3, "subject": 1, "id": 0}',
		preset => 'words') AS zero
FROM petition AS p;

-- Kinds of features, stop words, masked runs and dictionaries: what is left of a text.
SELECT o AS options, string_agg(format('%s=%s', feature, round(weight::numeric, 2)), ', ' ORDER BY feature COLLATE "C")
FROM unnest(ARRAY[
	'{"$balance": false}',
	'{"$balance": false, "$features": ["pairs"], "$stop_words": true}',
	'{"$balance": false, "$features": {"words": 1, "pairs": 0.5}, "$stop_words": ["FOX"], "$tf": "sqrt"}',
	'{"$balance": false, "$features": ["ngrams"], "$ngram": 9, "$drop_runs": true}',
	'{"$balance": false, "$features": ["whole"]}',
	'{"$balance": false, "$drop_runs": true, "$dictionary": ["quick fox"]}'
]) AS o, simhash_features(ROW('The quick fox, the 00000 xxxxx'::text), o::jsonb, 'plain')
GROUP BY o ORDER BY o COLLATE "C";
SELECT simhash64('关于道路的问题', '{"stop_words": true}', preset => 'words') = simhash64('道路问题', preset => 'words') AS chinese_stop_words,
	simhash64('电话 0000000000', '{"drop_runs": true}', preset => 'words') = simhash64('电话 ****', preset => 'words') AS masks;

-- HTML: what is left of a text, in words, as a whole, by column.
SELECT string_agg(feature, ' ' ORDER BY feature COLLATE "C") AS words FROM simhash_features(
	'<!DOCTYPE html><TITLE>On &amp; off</TITLE><p class="a>b">Caf&eacute; l<b>amp</b><br/>street<!-- no --><script>no()</script><td>1<td>2 <3',
	'{"markup": "html"}', preset => 'words');
SELECT o AS options, string_agg(format('%s:%s', column_name, feature), ', ' ORDER BY column_name, feature COLLATE "C")
FROM unnest(ARRAY[
	'{}',
	'{"$markup": "html"}',
	'{"$markup": "html", "b": {"markup": "none"}, "a": 1}',
	'{"$markup": "html", "*": {"as": "value"}}',
	'{"$markup": "html", "a": {"features": ["whole"]}}'
]) AS o, simhash_features(ROW('<i>x</i>'::text, '<p>y<p>z'::text, 5, '{<u>}'::text[], '''<b>'':1'::tsvector),
	o::jsonb || '{"$columns": ["a", "b", "c", "d", "e"]}', 'plain')
GROUP BY o ORDER BY o COLLATE "C";
SELECT simhash64('<p>a &lt; b</p>', '{"markup": "html"}', preset => 'words') = simhash64('a < b', preset => 'words') AS same,
	simhash64('<p>a b</p>', '{"markup": "none"}', preset => 'words') = simhash64('<p>a b</p>', preset => 'words') AS off,
	simhash64('<p><br></p>', '{"markup": "html"}', preset => 'words') AS nothing,
	simhash_cosine('<p>a b</p>', 'a <b>b</b>', '{"markup": "html"}', preset => 'words') AS cosine,
	simhash_jaccard('<p>a b</p>', 'a <b>b</b>') < 1 AS jaccard_reads_tags,
	ARRAY(SELECT feature FROM simhash_features('<p>b<p>a', '{"markup": "html"}', 'plain') ORDER BY 1) AS terms;

-- A mail without what others wrote in it, subtitles without their cues.
SELECT simhash64(E'It is out.\n\nOn 5 Jun Lena wrote:\n> Which?\n-- \nTom', '{"markup": "mail"}') = simhash64('It is out.') AS mail,
	simhash64(E'> Which?', '{"markup": "mail"}') = simhash64('> Which?') AS quotation_alone,
	simhash64(E'1\n00:00:01,000 --> 00:00:02,500\n<i>It is</i> out.', '{"markup": "subtitles"}') = simhash64('It is out.') AS subtitles,
	ARRAY(SELECT feature FROM simhash_features('see http://x.org/?utm_source=n&id=7', '{"markup": "mail"}', 'words') ORDER BY 1) AS terms;

-- Other software can compute the hash of a feature: what stands in front of it tells columns and kinds apart.
SELECT kind, bool_and(f.hash = simhash64_tokens(ARRAY[E'f1\x1f' || mark || f.feature])) AS as_documented
FROM (VALUES ('"words"', ''), ('"pairs"', ''), ('"ngrams"', E'\x1e'), ('"whole"', E'\x1d')) AS k (kind, mark),
	simhash_features(ROW('one two three'::text), ('{"$features": [' || kind || ']}')::jsonb, preset => 'words') AS f
	GROUP BY kind ORDER BY kind;
SELECT f.hash = simhash64_tokens(ARRAY[E'f1\x1fone two']) AS value
FROM simhash_features(ROW('one two'::text), '{"f1": {"as": "value"}}', preset => 'words') AS f;

-- An index on named columns stays right when the table gets a column, and when one is renamed. (On a whole row it would not.)
CREATE TABLE indexed AS SELECT i AS id, 'subject ' || i AS title, 'body number ' || i AS body FROM generate_series(1, 50) AS i;
CREATE INDEX indexed_fp ON indexed USING simhash (simhash64(ROW(title, body),
	'{"$columns": ["title", "body"], "title": 1, "body": 3}', preset => 'words'));
ALTER TABLE indexed ADD COLUMN extra text DEFAULT 'some more words';
ALTER TABLE indexed RENAME title TO heading;
INSERT INTO indexed VALUES (51, 'subject 7', 'body number 7');
SET enable_seqscan = off;
SELECT id FROM indexed WHERE simhash64(ROW(heading, body), '{"$columns": ["title", "body"], "title": 1, "body": 3}', preset => 'words')
	<~> simhash64(ROW('subject 7'::text, 'body number 7'::text), '{"$columns": ["title", "body"], "title": 1, "body": 3}',
		preset => 'words') <= 0 ORDER BY id;
RESET enable_seqscan;

-- What words weigh besides their frequency, and the presets that are made of it.
CREATE TABLE report (subject text, body text);
INSERT INTO report VALUES ('道路损坏', '但是 道路 修理 道路 12 的 公共汽车');
SELECT n, preset, w AS weights, string_agg(format('%s=%s', feature, round(weight::numeric, 3)), ' ' ORDER BY feature COLLATE "C")
FROM report AS r, (VALUES
	(1, 's2', '{"$balance": false, "body": 1}'),
	(2, 's2', '{"$balance": false, "body": {"idf": {"documents": 99, "terms": {"道路": 49, "公共汽车": 9}}}}'),
	(3, 's3', '{"$balance": false, "body": 1}'),
	(4, 's3', '{"$balance": false, "body": {"title": "subject"}}'),
	(5, 's3', '{"$balance": false, "body": {"title": "subject", "pos": false, "length": "none", "cue_words": ["修理"]}}'),
	(6, 'plain', '{"$balance": false, "body": 1, "$pos": {"noun": 3, "verb": 2, "other": 0}, "$stop_words": true}')
) AS v (n, preset, w), simhash_features(r, w::jsonb, preset) GROUP BY n, preset, w ORDER BY n;
-- The title column need not count, may be no text, and may be NULL.
SELECT simhash64(ROW('the road', 'road lamp'), '{"f2": {"title": "f1"}}', preset => 'words')
	= simhash64(ROW('road', 'road lamp'), '{"f2": {"title": "f1"}}', preset => 'words') AS title_words,
	simhash64(ROW(NULL, 'road lamp'), '{"f2": {"title": "f1"}}', preset => 'words') = simhash64(ROW('x', 'road lamp'), '{"f2": 1}',
		preset => 'words') AS no_title,
	simhash64(ROW(12, 'road 12'), '{"f2": {"title": "f1"}}', preset => 'words') = simhash64(ROW('12', 'road 12'), '{"f2": {"title": "f1"}}',
		preset => 'words') AS number;

-- Errors.
CREATE TABLE subject AS SELECT 'a subject'::text AS subject;
CREATE FUNCTION fault(expression text)
RETURNS TABLE (state text, message text, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || expression || ' FROM petition AS p';
	RETURN QUERY SELECT 'none', expression, '', '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;
\x on
SELECT f.* FROM unnest(ARRAY[
	$$simhash64(p, '{"subjet": 2}')$$,
	$$simhash64(ROW('a', 'b'), '{"subject": 2}')$$,
	$$simhash64(p, '{"$exclude": ["nope"]}')$$,
	$$simhash64(p, '{"subject": -1}')$$,
	$$simhash64(p, '{"subject": 1e400}')$$,
	$$simhash64(p, '{"subject": 0, "body": 0}')$$,
	$$simhash64(p, '{"*": 0}')$$,
	$$simhash64(p, '{"subject": 1e101}')$$,
	$$simhash64(p, '{"subject": "2"}')$$,
	$$simhash64(p, '{"subject": [2]}')$$,
	$$simhash64(p, '{"subject": {"weight": "NaN"}}')$$,
	$$simhash64(p, '{"subject": {"wieght": 2}}')$$,
	$$simhash64(p, '{"subject": {"as": "words"}}')$$,
	$$simhash64(p, '{"$features": ["words", "triples"]}')$$,
	$$simhash64(p, '{"$features": "words"}')$$,
	$$simhash64(p, '{"$tf": "idf"}')$$,
	$$simhash64(p, '{"$balance": 1}')$$,
	$$simhash64(p, '{"$weights": {}}')$$,
	$$simhash64(p, '{"$normalize": true}')$$,
	$$simhash64(p, '{"$idf": ["the"]}')$$,
	$$simhash64(p, '{"$idf": {"documents": 2, "terms": {"the": 3}}}')$$,
	$$simhash64(p, '{"body": {"length": "short"}}')$$,
	$$simhash64(p, '{"body": {"pos": {"adverb": 1}}}')$$,
	$$simhash64(p, '{"body": {"title": "heading"}}')$$,
	$$simhash64('a', '{"title": "subject"}')$$,
	$$simhash64(p, '{"$stop_words": ["@fr"]}')$$,
	$$simhash64(p, '{"subject": {"ngram": 0}}')$$,
	$$simhash64('a b', '{"dictionary": "word"}')$$,
	$$simhash64(p, '{"$columns": ["a", "b"]}')$$,
	$$simhash64(p, '{"$columns": ["a", "a", "b", "c", "d"]}')$$,
	$$simhash64(p, '{"subject": 1, "$exclude": ["subject"]}')$$,
	$$simhash64(p, '[1, 2]')$$,
	$$simhash64(p, 'null')$$,
	$$simhash64(p, preset => 'best')$$,
	$$simhash64(p, '{"$tf": "log"}', 's1')$$,
	$$simhash64('a b', '{"weight": 1}')$$,
	$$simhash64('a b', '2')$$,
	$$simhash64('a b', '{"tf": "log"}', 's1')$$,
	$$simhash64('a b', '{"markup": "html"}', 's1')$$,
	$$simhash64('a b', '{"markup": "xml"}')$$,
	$$simhash_features('a', '{"subject": 1}')$$,
	$$simhash32('a b', preset => 's4')$$,
	$$simhash64('a^1  b^1', preset => 's1')$$,
	$$simhash64('a^1 b', preset => 's1')$$,
	$$simhash64('a^-1', preset => 's1')$$,
	$$simhash64('a^inf', preset => 's1')$$,
	$$simhash64('a^x', preset => 's1')$$,
	$$simhash64_tokens('{a,b}', '{1}')$$,
	$$simhash64_tokens('{a,b}', '{1,-2}')$$,
	$$simhash64_tokens('{a,b}', '{1,NaN}')$$,
	$$simhash32_tokens('{a,b}', '{Infinity,1}')$$,
	$$simhash64_tokens('{a,b,c}', '{1e308,1e308,1e308}')$$,
	$$simhash_bits(1, 16)$$,
	$$simhash_bits(-1, 32)$$,
	$$simhash_similarity(1, 4294967296, 32)$$,
	$$simhash_similarity(1, 2, 128)$$,
	$$simhash_features(p, '{"nope": 1}')$$
]) AS e, fault(e) AS f;
-- A text where a row was meant, here because a column hides the table, and options of a text for a row.
SELECT f.* FROM unnest(ARRAY[
	$$simhash64(subject, '{"subject": 1}') FROM subject --$$,
	$$simhash32(subject, '{"subject": 1}') FROM subject --$$,
	$$simhash128(subject, '{"subject": 1}') FROM subject --$$,
	$$simhash64_margin(subject, '{"subject": 1}') FROM subject --$$,
	$$simhash64(subject.*, '{"subject": 1}') IS NOT NULL FROM subject --$$,
	$$simhash64(p, '{"tf": "log"}')$$,
	$$simhash64(p, '{"exclude": ["fp"]}')$$,
	$$simhash64(p, '{"ngram": 3}')$$,
	$$(SELECT count(*) FROM simhash_features('a b', '{"subject": 1}'))$$
]) AS e, fault(e) AS f;
\x off
-- After an error in a call site the next call starts anew.
DO $$
DECLARE w jsonb; n int := 0;
BEGIN
	FOR w IN SELECT unnest(ARRAY['{"subject": 1}', '{"nope": 1}', '{"subject": 1}', '{"subject": -1}', '{}']::jsonb[]) LOOP
		BEGIN
			PERFORM simhash64(p, w) FROM petition AS p;
			n := n + 1;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
	RAISE EXCEPTION '% calls without fault', n;
END $$;

DROP SCHEMA weights_test CASCADE;

-- Tiny and huge weights keep their proportions.
SELECT simhash64('a^1e-200 b^2e-200', preset => 's1') = simhash64('a^1 b^2', preset => 's1') AS tiny,
	simhash64('a^1e99 b^2e99', preset => 's1') = simhash64('a^1 b^2', preset => 's1') AS huge,
	simhash64(ROW('a^1e99 b^2e99'), '{"$columns": ["t"], "$balance": true}', 's1') = simhash64('a^1 b^2', preset => 's1') AS balanced;
