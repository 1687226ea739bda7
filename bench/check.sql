-- Prints what is wrong; nothing when the answers agree: index and b-trees for 500 centres, both and
-- reading every row for 10. Variables: simhash, btree, within_8, the queries.
CREATE FUNCTION answer(query text, q bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' rows '' || coalesce(sum(hashint8extended(id, 0)), 0) FROM (%s) x',
		replace(rtrim(query, E'; \n'), ':q', format('(%L::bigint)', q))) INTO result;
	RETURN result;
END $$;
SELECT 'simhash ' || s || ', b-trees ' || b || ' around ' || fp
FROM (SELECT fp, answer(:'simhash', fp) AS s, answer(:'btree', fp) AS b FROM centre WHERE n <= 500) x
WHERE s <> b;
SELECT 'simhash ' || s || ', every row ' || r || ' around ' || fp
FROM (SELECT fp, answer(:'simhash', fp) || ' / ' || answer(:'within_8', fp) AS s,
		answer('SELECT id FROM t WHERE bit_count((fp # :q)::bit(64)) <= 3', fp) || ' / ' ||
		answer('SELECT id FROM t WHERE bit_count((fp # :q)::bit(64)) <= 8', fp) AS r FROM centre WHERE n <= 10) x
WHERE s <> r;
SELECT 'nearest ' || s || ', every row ' || r || ' around ' || fp
FROM (SELECT fp, (SELECT array_agg(d)::text FROM (SELECT bit_count((t.fp # c.fp)::bit(64)) AS d FROM t ORDER BY t.fp <~> c.fp LIMIT 10) i) AS s,
		(SELECT array_agg(d)::text FROM (SELECT bit_count((t.fp # c.fp)::bit(64)) AS d FROM t ORDER BY d LIMIT 10) i) AS r
	FROM centre c WHERE n <= 10) x
WHERE s <> r;
