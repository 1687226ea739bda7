-- Bits of least margin: which they are, and searching with them. The blend of distance and similarity.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA margin_test;
SET search_path = margin_test, public, simhash_methods;

CREATE TABLE doc (id int PRIMARY KEY, body text, fp bigint);
INSERT INTO doc SELECT i, (SELECT string_agg('word' || (i / 4 * 131 + j * 17) % 997, ' ') FROM generate_series(1, 60) AS j)
	|| ' extra' || i FROM generate_series(1, 4000) AS i;
UPDATE doc SET fp = simhash64(body, preset => 'words');
CREATE INDEX doc_fp ON doc USING simhash (fp);
ANALYZE doc;

-- The mask against the sums, added up from the features.
CREATE FUNCTION mask(doc, n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(bit_or(1::bigint << bit), 0) FROM (
		SELECT bit FROM (
			SELECT bit, sum(CASE WHEN (hash >> bit) & 1 = 1 THEN weight ELSE -weight END) AS total
			FROM simhash_features(ROW($1.body), preset => 'words'), generate_series(0, 63) AS bit GROUP BY bit) AS sums
		ORDER BY round(abs(total)::numeric, 9), bit LIMIT n) AS least
$$;
SELECT n, count(*) FILTER (WHERE simhash64_margin(ROW(body), bits => n, preset => 'words') = mask(doc, n)) AS same
FROM doc, unnest(ARRAY[0, 1, 8, 64]) AS n WHERE id <= 50 GROUP BY n ORDER BY n;
SELECT bit_count(simhash64_margin(body, preset => 'words')::bit(64)) AS bits, count(*),
	bool_and(simhash64_margin(body, preset => 'words') = simhash64_margin(body, NULL, 'words', 8)) AS by_default FROM doc GROUP BY 1;
SELECT simhash64_margin('', preset => 'words') AS empty, simhash64_margin(NULL::text, preset => 'words') AS unknown,
	simhash64_margin('a', bits => NULL, preset => 'words') AS no_number;

-- Probes by brute force: all numbers of 10 bits.
SELECT flips, count(*) AS probes, count(DISTINCT p) AS distinct, bool_and((p # 1000) & ~693::bigint = 0) AS masked,
	max(bit_count((p # 1000)::bit(64))) AS flipped,
	count(*) = (SELECT count(*) FROM generate_series(0, 1023) AS x WHERE x & ~693 = 0 AND bit_count(x::bit(10)) <= flips) AS all
FROM generate_series(0, 6) AS flips, simhash_probes(1000, 693, flips) AS p GROUP BY flips ORDER BY flips;
SELECT count(*) FROM simhash_probes(NULL, 1);
SELECT count(*) FROM simhash_probes(-1, -1, 1);

-- A search: each row within 3 bits of a probe, once. Through the index, and by brute force over masks.
CREATE FUNCTION found(i int) RETURNS SETOF int LANGUAGE sql AS $$
	SELECT DISTINCT t.id FROM doc AS q, simhash_probes(q.fp, simhash64_margin(q.body, preset => 'words'), 2) AS probe, doc AS t
	WHERE q.id = i AND t.fp <~> probe <= 3
$$;
CREATE FUNCTION by_hand(i int) RETURNS SETOF int LANGUAGE sql AS $$
	SELECT t.id FROM doc AS q, doc AS t, LATERAL (SELECT simhash64_margin(q.body, preset => 'words') AS mask) AS m
	WHERE q.id = i AND hamming_masked(q.fp, t.fp, mask) + greatest(0, bit_count(((q.fp # t.fp) & mask)::bit(64)) - 2) <= 3
$$;
SELECT count(*) AS found, count(*) FILTER (WHERE f IS NULL OR b IS NULL) AS different, count(*) > (
	SELECT count(*) FROM doc AS q JOIN doc AS t ON t.fp <~> q.fp <= 3 WHERE q.id <= 100) AS more
FROM generate_series(1, 100) AS i, LATERAL (SELECT f, b FROM found(i) AS f FULL JOIN by_hand(i) AS b ON f = b) AS x;
EXPLAIN (COSTS OFF) SELECT DISTINCT t.id FROM simhash_probes(42, 255, 2) AS probe JOIN doc AS t ON t.fp <~> probe <= 3;

SELECT hamming_masked(-1, 0, 1, 2) AS both, hamming_masked(-1, 0, 7) AS one, hamming_masked(5, 4, NULL) AS unknown;

-- S2's thresholds at mu = 0.9: similar from 0.25 on.
SELECT d, simhash_blend(d, 0) >= 0.25 AS always, simhash_blend(d, 0.25) >= 0.25 AS quarter, simhash_blend(d, 0.249) >= 0.25 AS less,
	simhash_blend(d, 0.7) >= 0.25 AS seven, simhash_blend(d, 0.699) >= 0.25 AS below, simhash_blend(d, 1) >= 0.25 AS full
FROM unnest(ARRAY[0, 2, 3, 4, 5, 6, 64]) AS d;
SELECT simhash_blend(1, 0.5, 0.8) AS blend;

CREATE FUNCTION fault(expression text) RETURNS TABLE (state text, message text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || expression;
	RETURN QUERY SELECT 'none', expression, '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;
SELECT f.* FROM unnest(ARRAY[
	$$simhash64_margin('a', bits => 65, preset => 'words')$$,
	$$simhash64_margin(ROW('a'), bits => -1, preset => 'words')$$,
	$$simhash_probes(1, 2, -1)$$,
	$$simhash_probes(1, -1, 5)$$,
	$$simhash_blend(-1, 0.5)$$,
	$$simhash_blend(1, 1.5)$$,
	$$simhash_blend(1, 0.5, 'NaN')$$
]) AS e, fault(e) AS f;
DROP SCHEMA margin_test CASCADE;
