-- Fingerprints of 128 bits and feature hashes by name.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA wide_test;
SET search_path = wide_test, public, simhash_methods;

-- One feature: the fingerprint is its hash. Values of the reference code of each hash.
SELECT simhash128('hello', preset => 'words')::text = simhash128('HELLO!', preset => 'words')::text AS normal_form,
	length(simhash128('hello', preset => 'words')) AS bits;
SELECT h AS hash, to_hex(simhash64('中国', o, 'plain')) AS w64, to_hex(simhash32('中国', o, 'plain')) AS w32,
	to_hex(substring(simhash128('中国', o, 'plain') FOR 64)::bigint) AS high,
	to_hex(substring(simhash128('中国', o, 'plain') FROM 65)::bigint) AS low
FROM unnest(ARRAY['cityhash64', 'murmur64a', 'bkdr', 'murmur3', 'xxh3']) AS h, jsonb_build_object('hash', h) AS o;

-- Sums, a row, a bare row with names, s1 with its own weights, nothing.
CREATE TABLE t (a text, n int);
INSERT INTO t VALUES ('The quick brown fox', 7), ('', NULL), (NULL, NULL);
SELECT simhash128(t, preset => 'words') IS NOT NULL AS present,
	simhash128(t, preset => 'words') IS NOT DISTINCT FROM simhash128(ROW(a, n), '{"$columns": ["a", "n"]}', preset => 'words') AS same_row,
	simhash128(a, preset => 'words') IS NOT DISTINCT FROM simhash128(ROW(a), '{"$columns": ["a"]}', preset => 'words') AS text_is_row
FROM t;
SELECT simhash128('a^1 b^1 c^1', preset => 's1') = simhash128('b^2 c^2 a^2', preset => 's1') AS scaled,
	simhash128('', preset => 's1') AS empty, simhash128(NULL::text, preset => 'words') AS unknown,
	simhash128(NULL::t, preset => 'words') AS no_row;

-- Distance: brute force over the text of the bits.
SELECT count(*) AS pairs, count(*) FILTER (WHERE hamming128(x, y) = (
		SELECT count(*) FROM generate_series(1, 128) AS i WHERE substr(x::text, i, 1) <> substr(y::text, i, 1))) AS right
FROM (SELECT simhash128('word' || i, preset => 'words') AS x, simhash128('word' || i || ' and ' || i * 7, preset => 'words') AS y
	FROM generate_series(1, 200) AS i) AS s;
SELECT hamming128(repeat('0', 128)::bit(128), repeat('1', 128)::bit(128)) AS most, hamming128(NULL, repeat('1', 128)::bit(128)) AS unknown;
-- The same bits as a column, stored with a short header.
CREATE TABLE stored (fp bit(128));
INSERT INTO stored SELECT simhash128('street lamp ' || i, preset => 'words') FROM generate_series(1, 5) AS i;
SELECT count(*) FROM stored WHERE hamming128(fp, simhash128('Street lamp 3', preset => 'words')) = 0;


CREATE FUNCTION fault(expression text) RETURNS TABLE (state text, message text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || expression;
	RETURN QUERY SELECT 'none', expression, '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN NEXT;
END $$;
SELECT f.* FROM unnest(ARRAY[
	$$hamming128(B'101', B'101')$$,
	$$hamming128(repeat('0', 128)::bit(128), B'1')$$,
	$$simhash64('a', '{"hash": "md5"}')$$,
	$$simhash128('a', '{"hash": "md5"}')$$
]) AS e, fault(e) AS f;
DROP SCHEMA wide_test CASCADE;
