-- Checks of candidates: Jaccard similarity, cosine, MinHash.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA similarity_test;
SET search_path = similarity_test, public, simhash_methods;

-- Bigrams ab, bc against bc, cd: one of three.
SELECT simhash_jaccard('abc', 'bcd', 2) AS third, simhash_jaccard('A-b c', 'ａＢＣ', 2) AS normal_form,
	simhash_jaccard('关于道路的问题', '关于道路问题', 2) AS chinese,
	simhash_jaccard('ab', 'ab') AS short, simhash_jaccard('', 'ab') AS one_empty,
	simhash_jaccard('。', '') AS symbol, simhash_jaccard(' ', '') AS both_empty, simhash_jaccard(NULL, 'a') AS unknown;

-- The worked example of the source, and edges.
SELECT round(simhash_cosine('{30,20,20,10,0}', '{40,0,30,20,10}'::float8[])::numeric, 4) AS worked,
	simhash_cosine('{1,0}'::float8[], '{0,2}') AS orthogonal, simhash_cosine('{1,2}'::float8[], '{-2,-4}') AS opposite,
	simhash_cosine('{0,0}'::float8[], '{1,1}') AS no_length, simhash_cosine('{1,NULL}'::float8[], '{1,1}') AS unknown;
SELECT round(simhash_cosine('a b c', 'b c d', '{"tf": "raw"}', preset => 'words')::numeric, 4) AS two_thirds,
	simhash_cosine('a b', 'B A', preset => 'words') AS same_words,
	round(simhash_cosine('a a b', 'a', '{"tf": "raw"}', preset => 'words')::numeric, 4) AS tf,
	round(simhash_cosine('a^2 b^1', 'a^1 b^2', preset => 's1')::numeric, 4) AS given, simhash_cosine('', 'a', preset => 'words') AS empty;

-- MinHash against the true similarity of two sets: within four standard errors.
CREATE TABLE sets AS
	SELECT common, ARRAY(SELECT 'token' || i FROM generate_series(1, 100) AS i) AS a,
		ARRAY(SELECT 'token' || i FROM generate_series(101 - common, 200 - common) AS i) AS b
	FROM unnest(ARRAY[0, 20, 50, 80, 100]) AS common;
SELECT common, abs(estimate - truth) <= 4 * sqrt(truth * (1 - truth) / 1000) AS within
FROM sets, LATERAL (
	SELECT minhash_similarity(minhash(a, 1000), minhash(b, 1000)) AS estimate, common / (200.0 - common)::float8 AS truth) AS s
ORDER BY common;
SELECT cardinality(minhash('{a,b}')) AS functions, minhash('{a,b,NULL,a}') = minhash('{b,a}') AS set_of_tokens,
	minhash('{}') AS empty, minhash_similarity('{}', '{}') AS nothing, minhash('{a,b}', 2) AS golden;

-- Errors.
CREATE FUNCTION fault(expression text) RETURNS TABLE (state text, message text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || expression;
	RETURN QUERY SELECT 'none', expression, '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;
SELECT f.* FROM unnest(ARRAY[
	$$simhash_jaccard('a', 'b', 0)$$,
	$$simhash_jaccard('a', 'b', 101)$$,
	$$simhash_cosine('{1}'::float8[], '{1,2}')$$,
	$$simhash_cosine('a', 'b', '{"nope": 1}')$$,
	$$minhash('{a}', 0)$$,
	$$minhash('{a}', 10001)$$,
	$$minhash_similarity('{1}', '{1,2}')$$
]) AS e, fault(e) AS f;

DROP SCHEMA similarity_test CASCADE;
