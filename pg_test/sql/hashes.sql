-- Hashes that people have already: to fingerprints and back, and hashes of more bits by indexes on their parts.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA hashes_test;
SET search_path = hashes_test, public, simhash_methods;

-- One number in all forms, as Python writes it: n = 0xc5334d134c17b573; n, n - 2**64, f'{n:b}', n.to_bytes(8, 'big').
SELECT fingerprint_from_hex('c5334d134c17b573') AS hex, fingerprint_from_unsigned(14209785994560386419) AS unsigned,
	fingerprint_from_bits(B'1100010100110011010011010001001101001100000101111011010101110011') AS bits,
	fingerprint_from_bytes('\xc5334d134c17b573') AS bytes;
SELECT fingerprint_to_hex(-4236958079149165197) AS hex, fingerprint_to_unsigned(-4236958079149165197) AS unsigned,
	(-4236958079149165197)::bit(64) AS bits, int8send(-4236958079149165197) AS bytes;
-- Either case, 0x, the text of a bytea; literals of other types, char(n), short and long forms of storage.
SELECT count(DISTINCT fingerprint_from_hex(h)) AS one
FROM unnest(ARRAY['C5334D134C17B573', '0xc5334d134c17b573', '0XC5334D134C17B573', '\xc5334d134c17b573', 'c5334D134c17B573']) AS h;
SELECT fingerprint_from_hex('c5334d134c17b573'::char(20)) AS char_n, fingerprint_from_unsigned('14209785994560386419') AS text_n,
	fingerprint_from_unsigned(14209785994560386419.000) AS scale, fingerprint_from_unsigned(1e3) AS exponent,
	fingerprint_from_unsigned(7::bigint) AS small, fingerprint_from_bits(7::bit(64)::bit varying) AS varying;

-- The ends of the range, from the unsigned numbers: 0, 1, 2^63 - 1, 2^63, 2^64 - 1.
SELECT u, fingerprint_from_unsigned(u) AS fingerprint, fingerprint_to_hex(fingerprint_from_unsigned(u)) AS hex,
	int8send(fingerprint_from_unsigned(u)) AS bytes
FROM unnest(ARRAY[0, 1, 9223372036854775807, 9223372036854775808, 18446744073709551615]) AS u;

-- There and back, and against the server's own conversions; Hamming distance is the same before and after.
CREATE TABLE fingerprint AS
SELECT hashint8extended(i, 7) AS fp FROM generate_series(1, 2000) AS i UNION ALL SELECT (1::bigint << i) # -j::bigint
FROM generate_series(0, 63) AS i, generate_series(0, 1) AS j;
SELECT count(*), count(*) FILTER (WHERE fingerprint_from_hex(fingerprint_to_hex(fp)) = fp) AS hex,
	count(*) FILTER (WHERE fingerprint_from_unsigned(fingerprint_to_unsigned(fp)) = fp) AS unsigned,
	count(*) FILTER (WHERE fingerprint_from_bits(fp::bit(64)) = fp) AS bits,
	count(*) FILTER (WHERE fingerprint_from_bytes(int8send(fp)) = fp) AS bytes,
	count(*) FILTER (WHERE fingerprint_from_hex(encode(int8send(fp), 'hex')) = fp
		AND fingerprint_to_hex(fp) = encode(int8send(fp), 'hex')) AS by_bytes,
	count(*) FILTER (WHERE ('x' || fingerprint_to_hex(fp))::bit(64)::bigint = fp) AS by_bits,
	count(*) FILTER (WHERE fingerprint_to_unsigned(fp) = (SELECT sum(2::numeric ^ (64 - i)) FROM generate_series(1, 64) AS i
		WHERE substr(fp::bit(64)::text, i, 1) = '1')
		OR fp = 0) AS by_powers,
	count(*) FILTER (WHERE fingerprint_to_unsigned(fp) % 1 = 0 AND scale(fingerprint_to_unsigned(fp)) = 0) AS whole
FROM fingerprint;
SELECT fingerprint_from_hex(NULL) AS hex, fingerprint_from_unsigned(NULL) AS unsigned, fingerprint_from_bits(NULL) AS bits,
	fingerprint_from_bytes(NULL) AS bytes,
	fingerprint_to_hex(NULL) AS to_hex, fingerprint_to_unsigned(NULL) AS to_unsigned,
	fingerprint_parts_from_hex(NULL) AS parts, fingerprint_parts_from_hex('', NULL) AS no_width,
	fingerprint_parts_from_bytes(NULL) AS parts_from_bytes,
	fingerprint_parts_to_hex(NULL) AS parts_to, fingerprint_from_hex('', NULL) AS no_pad;
-- Shorter ones, when asked: as programs print numbers, and hashes of 32, 49 and 63 bits.
SELECT fingerprint_from_hex('a3ef4b0f680c000', true) = fingerprint_from_hex('0a3ef4b0f680c000') AS hex,
	fingerprint_from_hex('0xff', true) AS prefixed,
	fingerprint_from_bits(B'1011', true) AS bits, fingerprint_from_bytes('\x0102', true) AS bytes,
	fingerprint_parts_from_hex('1' || repeat('0', 20), 84) AS of_84, fingerprint_parts_from_hex('1', 84, pad => true) AS of_84_short,
	fingerprint_parts_from_bits(B'1' || repeat('0', 80)::bit(80), 81) AS of_81,
	fingerprint_parts_from_bytes(decode(repeat('01', 18), 'hex'), 144) AS of_144,
	fingerprint_parts_from_bytes(decode(repeat('01', 17), 'hex'), 144, true) AS of_144_short;
-- Distances are those of the bits, for every number of bits.
SELECT count(*), count(*) FILTER (WHERE hamming_parts(fingerprint_parts_from_bits(a, n), fingerprint_parts_from_bits(b, n))
	= bit_count(a # b)) AS as_of_bits
FROM generate_series(1, 300) AS n, LATERAL (SELECT string_agg(md5(format('%s %s', n, i)), '') AS x,
	string_agg(md5(format('%s %s', i, n)), '') AS y FROM generate_series(1, 3) AS i) AS m,
	LATERAL (SELECT substring(('x' || x)::varbit FROM 1 FOR n) AS a, substring(('x' || y)::varbit FROM 1 FOR n) AS b) AS s;
-- Signed numbers of 32 bits, as docs/media.md converts them: distances are those of the 32 bits.
SELECT count(*) AS pairs, count(*) FILTER (WHERE (a::bigint & 4294967295) <~> (b::bigint & 4294967295)
	= bit_count((a # b)::bit(32))) AS same,
	max(a::bigint <~> b::bigint) AS by_cast
FROM unnest(ARRAY[-2147483648, -1, 0, 1, 77, 2147483647]) AS a, unnest(ARRAY[-2147483648, -1, 0, 1, 77, 2147483647]) AS b;
-- An index on what a column of another form says; the ways back are put into the query.
CREATE TABLE old_hash (id int PRIMARY KEY, hash text);
INSERT INTO old_hash SELECT i, fingerprint_to_hex(hashint8extended(i / 2, 7)) FROM generate_series(1, 5000) AS i;
CREATE INDEX ON old_hash USING simhash (fingerprint_from_hex(hash));
ANALYZE old_hash;
EXPLAIN (COSTS OFF) SELECT id FROM old_hash WHERE fingerprint_from_hex(hash) <~> fingerprint_from_hex('c5334d134c17b573') <= 3;
SELECT id FROM old_hash WHERE fingerprint_from_hex(hash) <~> hashint8extended(17, 7) <= 3 ORDER BY id;
EXPLAIN (COSTS OFF, VERBOSE) SELECT fingerprint_to_hex(fp), fingerprint_to_unsigned(fp) FROM fingerprint;

-- What would be cut, padded or rounded.
CREATE FUNCTION fault(expression text) RETURNS TABLE (state text, message text, detail text, hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || expression;
	RETURN QUERY SELECT 'none', expression, '', '';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	-- The server's own words differ between majors.
	IF state = '42883' THEN detail := ''; hint := ''; END IF;
	RETURN NEXT;
END $$;
\x
SELECT f.* FROM unnest(ARRAY[
	$$fingerprint_from_hex('')$$,
	$$fingerprint_from_hex('ff')$$,
	$$fingerprint_from_hex('0xff')$$,
	$$fingerprint_from_hex('c5334d134c17b5731')$$,
	$$fingerprint_from_hex(repeat('f8', 32))$$,
	$$fingerprint_from_hex('c5334d134c17b57g')$$,
	$$fingerprint_from_hex(' c5334d134c17b573')$$,
	$$fingerprint_from_hex('-c5334d134c17b57')$$,
	$$fingerprint_from_hex('c5334d13-4c17b573')$$,
	$$fingerprint_from_hex('0x0xc5334d134c17')$$,
	$$fingerprint_from_hex('c5334d134c17bé7')$$,
	$$fingerprint_from_hex('14209785994560386419')$$,
	$$fingerprint_from_unsigned(-1)$$,
	$$fingerprint_from_unsigned(-4236958079149165197)$$,
	$$fingerprint_from_unsigned(18446744073709551616)$$,
	$$fingerprint_from_unsigned(1e40)$$,
	$$fingerprint_from_unsigned(1.5)$$,
	$$fingerprint_from_unsigned('NaN')$$,
	$$fingerprint_from_unsigned('Infinity')$$,
	$$fingerprint_from_unsigned('-Infinity')$$,
	$$fingerprint_from_unsigned(14209785994560386419::float8)$$,
	$$fingerprint_from_bits(B'')$$,
	$$fingerprint_from_bits(repeat('1', 63)::bit(63))$$,
	$$fingerprint_from_bits(repeat('1', 65)::bit(65))$$,
	$$fingerprint_from_bits(repeat('1', 256)::bit(256))$$,
	$$fingerprint_from_bytes('')$$,
	$$fingerprint_from_bytes('\xc5334d134c17b5')$$,
	$$fingerprint_from_bytes('\xc5334d134c17b57300')$$,
	$$fingerprint_parts_from_hex('c5334d134c17b573')$$,
	$$fingerprint_parts_from_hex(repeat('f', 63))$$,
	$$fingerprint_parts_from_hex(repeat('f', 128))$$,
	$$fingerprint_parts_from_hex(repeat('f', 26), 100)$$,
	$$fingerprint_parts_from_hex('18aed6954b92d896989c6', 64)$$,
	$$fingerprint_from_hex('18aed6954b92d896989c6', true)$$,
	$$fingerprint_from_hex('', true)$$,
	$$fingerprint_parts_from_hex('ff', 4097)$$,
	$$fingerprint_parts_from_bytes('\x01', 256)$$,
	$$fingerprint_parts_from_bytes(decode(repeat('01', 18), 'hex'))$$,
	$$fingerprint_parts_from_hex('', 0)$$,
	$$fingerprint_parts_from_bits(repeat('1', 255)::bit(255))$$,
	$$fingerprint_parts_from_bits(repeat('1', 128)::bit(128))$$,
	$$fingerprint_parts_to_hex('{1,NULL}')$$,
	$$fingerprint_parts_to_hex(array_fill(1::bigint, ARRAY[65]))$$,
	$$hamming_parts('{1,2,3,4}', '{1,2,3}')$$,
	$$hamming_parts('{1,2,3,4}', '{1,2,3,4,5}')$$,
	$$hamming_parts('{1,2,3,4}', '{}')$$,
	$$hamming_parts('{}', '{}')$$,
	$$hamming_parts('{1,2,3,4}', '{1,2,3,NULL}')$$,
	$$hamming_parts_within('{1,2,3,NULL}', '{1,2,3,4}', 3)$$,
	$$hamming_parts_within('{1,2,3,4}', '{1,2,3}', 3)$$,
	$$hamming_parts('{1,2,3,4}', '{{1,2},{3,4}}')$$,
	$$hamming_parts('[0:3]={1,2,3,4}', '{1,2,3,4}')$$,
	$$hamming_parts_within('{1,2,3,4}', '{{1,2},{3,4}}', 3)$$,
	$$hamming_parts_within('{1,2,3,4}', '[0:3]={1,2,3,4}', 3)$$,
	$$fingerprint_parts_to_hex('{{1,2},{3,4}}')$$,
	$$fingerprint_parts_to_hex('[2147483645:2147483646]={1,2}')$$,
	$$hamming_parts_within('{1,2,3,4}', '{1,2,3,4}', -2147483648)$$
]) AS e, fault(e) AS f;
\x

-- Parts: the first is of the first digits.
SELECT fingerprint_parts_from_hex('0000000000000001' || 'ffffffffffffffff' || '8000000000000000' || 'C5334D134C17B573') AS parts,
	fingerprint_parts_from_hex('0x' || repeat('0', 31) || '7', 128) AS halves,
	fingerprint_parts_from_bits(3::bit(64) || (-4)::bigint::bit(64), bits => 128) AS of_bits;
SELECT count(*), count(*) FILTER (WHERE fingerprint_parts_from_hex(fingerprint_parts_to_hex(p)) = p) AS hex,
	count(*) FILTER (WHERE fingerprint_parts_from_bits(('x' || fingerprint_parts_to_hex(p))::varbit) = p) AS bits,
	count(*) FILTER (WHERE ('x' || fingerprint_parts_to_hex(p))::varbit = p[1]::bit(64) || p[2]::bit(64) || p[3]::bit(64) || p[4]::bit(64)) AS by_hand
FROM (SELECT ARRAY[fp, hashint8extended(fp, 1), hashint8extended(fp, 2), hashint8extended(fp, 3)] AS p FROM fingerprint) AS s;
-- What simhash128 gives, in halves.
SELECT count(*), count(*) FILTER (WHERE ('x' || fingerprint_parts_to_hex(fingerprint_parts_from_bits(w, 128)))::varbit = w) AS back
FROM generate_series(1, 50) AS i, simhash128('word ' || i) AS w;

-- 256 bits: 60 hashes with 40 variants each at 0 to 64 bits, in all ways spread over the parts, among random ones.
CREATE TABLE picture (id int PRIMARY KEY, pdq bigint[] CHECK (array_dims(pdq) IS NOT DISTINCT FROM '[1:4]'
	AND array_position(pdq, NULL) IS NULL), hex text, of int, far int);
CREATE FUNCTION flipped(p bigint[], bits int[]) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(part # coalesce((SELECT bit_or(1::bigint << (b % 64)) FROM unnest(bits) AS b WHERE b / 64 = n - 1), 0) ORDER BY n)
	FROM unnest(p) WITH ORDINALITY AS x (part, n)
$$;
CREATE FUNCTION try_picture(p text) RETURNS void LANGUAGE sql AS 'INSERT INTO picture (id, pdq) VALUES (0, p::bigint[])';
-- The CHECK of docs/media.md lets nothing in that the indexes could not find.
SELECT count(*) AS hashes, count(*) FILTER (WHERE f.state = '23514') AS refused
FROM unnest('{"{}", "{1,NULL,3,4}", "{1,2,3}", "[0:3]={1,2,3,4}", "{{1,2},{3,4}}"}'::text[]) AS hash,
	fault(format($$try_picture(%L)$$, hash)) AS f;
INSERT INTO picture (id, pdq) SELECT i, ARRAY[hashint8extended(i, 1), hashint8extended(i, 2),
	hashint8extended(i, 3), hashint8extended(i, 4)]
FROM generate_series(1, 4000) AS i;
-- Odd variants flip the same number of bits, one more or less, in each part: the hardest case for the rule; even ones flip any.
INSERT INTO picture (id, pdq, of, far)
SELECT 10000 + o * 100 + v, flipped(p.pdq, b.bits), o, cardinality(b.bits)
FROM generate_series(1, 60) AS o JOIN picture AS p ON p.id = o, generate_series(0, 39) AS v,
	LATERAL (SELECT coalesce(array_agg(bit), '{}') AS bits FROM (
		SELECT bit FROM generate_series(0, 255) AS bit
		ORDER BY CASE WHEN v % 2 = 1 THEN row_number() OVER (PARTITION BY bit / 64 ORDER BY hashint4extended(bit, o * 100 + v)) END,
			hashint4extended(bit, o + v * 100)
		LIMIT v * 64 / 39) AS chosen) AS b;
UPDATE picture SET hex = fingerprint_parts_to_hex(pdq);
CREATE INDEX ON picture USING simhash ((pdq[1]));
CREATE INDEX ON picture USING simhash ((pdq[2]));
CREATE INDEX ON picture USING simhash ((pdq[3]));
CREATE INDEX ON picture USING simhash ((pdq[4]));
ANALYZE picture;
SELECT count(*) AS variants, count(*) FILTER (WHERE hamming_parts(v.pdq, o.pdq) = v.far) AS as_planted,
	count(*) FILTER (WHERE bit_count(('x' || fingerprint_parts_to_hex(v.pdq))::varbit # ('x' || fingerprint_parts_to_hex(o.pdq))::varbit) = v.far) AS by_bits,
	count(*) FILTER (WHERE v.far <= 31) AS near
FROM picture AS v JOIN picture AS o ON o.id = v.of;
SELECT hamming_parts('{0,0,0,0}', '{-1,-1,-1,-1}') AS most, hamming_parts('{1,2,3,4}', '{1,2,3,4}') AS same,
	hamming_parts_within(NULL, '{1,2,3,4}', 31) AS no_hash, hamming_parts_within('{1,2,3,4}', '{1,2,3,4}', NULL) AS no_radius;

-- The plan: for a constant, for a parameter, for the rows of another table; with the digits in the table and in the query.
EXPLAIN (COSTS OFF) SELECT id FROM picture WHERE hamming_parts_within(pdq, '{1,2,3,4}', 31);
SET plan_cache_mode = force_generic_plan;
PREPARE near(text) AS SELECT id FROM picture WHERE hamming_parts_within(pdq, fingerprint_parts_from_hex($1), 31);
EXPLAIN (COSTS OFF) EXECUTE near(repeat('0', 64));
RESET plan_cache_mode;
CREATE FUNCTION plan_of(query text) RETURNS SETOF text
	LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query; END $$;
SELECT count(*) FROM plan_of('SELECT * FROM picture q JOIN picture p ON hamming_parts_within(p.pdq, q.pdq, 31) WHERE q.id < 20') AS p
WHERE p LIKE '%Bitmap Index Scan%';
CREATE TABLE of_text AS SELECT id, hex FROM picture;
CREATE INDEX ON of_text USING simhash (((fingerprint_parts_from_hex(hex))[1]));
CREATE INDEX ON of_text USING simhash (((fingerprint_parts_from_hex(hex))[2]));
CREATE INDEX ON of_text USING simhash (((fingerprint_parts_from_hex(hex))[3]));
CREATE INDEX ON of_text USING simhash (((fingerprint_parts_from_hex(hex))[4]));
ANALYZE of_text;
SELECT count(*)
FROM plan_of($$SELECT id FROM of_text WHERE hamming_parts_within(fingerprint_parts_from_hex(hex), fingerprint_parts_from_hex('$$
	|| repeat('0', 64) || $$'), 31)$$) AS p
WHERE p LIKE '%Bitmap Index Scan%';

-- Every radius, through the indexes and by brute force.
CREATE TABLE truth AS SELECT q.id AS q, p.id AS p,
	bit_count(('x' || fingerprint_parts_to_hex(p.pdq))::varbit # ('x' || fingerprint_parts_to_hex(q.pdq))::varbit)::int AS distance
FROM picture AS q, picture AS p WHERE q.id <= 60;
SET enable_seqscan = off;
CREATE FUNCTION compare(radius int, OUT found bigint, OUT wrong bigint) LANGUAGE sql AS $$
	SELECT count(f.p), count(*) FILTER (WHERE f.p IS NULL OR t.p IS NULL)
	FROM (SELECT q.id AS q, p.id AS p FROM picture AS q JOIN picture AS p ON hamming_parts_within(p.pdq, q.pdq, radius) WHERE q.id <= 60) AS f
	FULL JOIN (SELECT q, p FROM truth WHERE distance <= radius) AS t USING (q, p)
$$;
SELECT radius, c.*
FROM unnest(ARRAY[-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 27, 28, 29, 30, 31, 32, 33, 34, 35, 48, 64]) AS radius, compare(radius) AS c;
SELECT sum(wrong) AS wrong FROM generate_series(0, 40) AS radius, compare(radius);
-- With fewer indexes too: of one, of two, of three parts; in a view, under OR, in a table with tenants, in partitions.
CREATE TABLE of_some (id int, tenant int, pdq bigint[]) PARTITION BY LIST (tenant);
CREATE TABLE of_some_0 PARTITION OF of_some FOR VALUES IN (0);
CREATE TABLE of_some_1 PARTITION OF of_some FOR VALUES IN (1);
INSERT INTO of_some SELECT id, id % 2, pdq FROM picture;
CREATE VIEW seen AS SELECT id, tenant, pdq FROM of_some WHERE id <> 7;
CREATE FUNCTION compare_some(radius int, OUT wrong bigint) LANGUAGE sql AS $$
	SELECT count(*) FROM (
		SELECT q.id AS q, p.id AS p FROM picture AS q JOIN of_some AS p ON hamming_parts_within(q.pdq, p.pdq, radius) WHERE q.id <= 60
	) AS f FULL JOIN (SELECT q, p FROM truth WHERE distance <= radius) AS t USING (q, p) WHERE f.p IS NULL OR t.p IS NULL
$$;
CREATE FUNCTION indexes_in(query text) RETURNS bigint
	LANGUAGE sql AS $$ SELECT count(*) FROM plan_of(query) AS p WHERE p LIKE '%Index Scan%' $$;
CREATE INDEX ON of_some USING simhash ((pdq[3]));
SELECT sum(compare_some(radius)) AS wrong,
	min(indexes_in('SELECT * FROM of_some WHERE hamming_parts_within(''{1,2,3,4}'', pdq, 31)')) AS indexes
	FROM generate_series(0, 34, 2) AS radius;
CREATE INDEX ON of_some USING simhash ((pdq[1]));
CREATE INDEX ON of_some USING simhash (tenant, (pdq[2]));
ANALYZE of_some;
SELECT sum(compare_some(radius)) AS wrong FROM generate_series(0, 34) AS radius;
SELECT indexes_in('SELECT id FROM seen WHERE hamming_parts_within(pdq, ''{1,2,3,4}'', 20)
	OR hamming_parts_within(''{5,6,7,8}'', pdq, 2)') AS twice_three_of_two;
-- What is asked for lacks a part, or the radius is of the row: the function looks at each row.
SELECT indexes_in('SELECT * FROM of_some WHERE hamming_parts_within(pdq, ''{1,2}'', 3)') AS too_short,
	indexes_in('SELECT * FROM of_some WHERE hamming_parts_within(pdq, ''{1,2,3,4}'', tenant)') AS of_the_row,
	indexes_in('SELECT * FROM of_some WHERE NOT hamming_parts_within(pdq, ''{1,2,3,4}'', 3)') AS negated,
	indexes_in('SELECT * FROM of_some WHERE hamming_parts_within(pdq, pdq, 3)') AS of_itself,
	indexes_in('SELECT * FROM of_some WHERE hamming_parts_within(pdq, ''{1,2,3,4}'', (random() * 9)::int)') AS volatile;
-- The rule by hand: 31 = 4 * 7 + 3.
SELECT count(*) FROM picture AS q JOIN picture AS p ON
	(p.pdq[1] <~> q.pdq[1] <= 7 OR p.pdq[2] <~> q.pdq[2] <= 7 OR p.pdq[3] <~> q.pdq[3] <= 7 OR p.pdq[4] <~> q.pdq[4] <= 7)
	AND hamming_parts(p.pdq, q.pdq) <= 31
WHERE q.id <= 60;
-- From text.
SELECT count(*) AS found FROM picture AS q JOIN of_text AS t
	ON hamming_parts_within(fingerprint_parts_from_hex(t.hex), q.pdq, 31) WHERE q.id <= 60;
-- The nearest, as docs/media.md asks for them, and from all rows.
CREATE FUNCTION nearest_pictures(hash bigint[], n int) RETURNS TABLE (picture int, distance int) LANGUAGE plpgsql STABLE AS $$
BEGIN
	FOR radius IN 3 .. 127 BY 8 LOOP
		IF (SELECT count(*) FROM (SELECT FROM picture WHERE hamming_parts_within(pdq, hash, radius) LIMIT n) AS p) = n THEN
			RETURN QUERY SELECT id, hamming_parts(pdq, hash) AS bits FROM picture
				WHERE hamming_parts_within(pdq, hash, radius) ORDER BY bits, id LIMIT n;
			RETURN;
		END IF;
	END LOOP;
	RETURN QUERY SELECT id, hamming_parts(pdq, hash) AS bits FROM picture ORDER BY bits, id LIMIT n;
END $$;
SELECT n, count(*) AS hashes, count(*) FILTER (WHERE found IS DISTINCT FROM wanted) AS wrong, max(cardinality(found)) AS most
FROM unnest('{1,5,40,200}'::int[]) AS n, picture AS q,
	LATERAL (SELECT array_agg(f.picture ORDER BY f.distance, f.picture) AS found FROM nearest_pictures(q.pdq, n) AS f) AS f,
	LATERAL (SELECT array_agg(w.id ORDER BY w.bits, w.id) AS wanted FROM (
		SELECT id, bit_count(('x' || fingerprint_parts_to_hex(pdq))::varbit # ('x' || fingerprint_parts_to_hex(q.pdq))::varbit) AS bits FROM picture
		ORDER BY bits, id LIMIT n) AS w) AS w
WHERE q.id <= 12 GROUP BY n ORDER BY n;
RESET enable_seqscan;

-- Pairs, across two tables too, and clusters, of hashes of two, four and five parts: against brute force.
CREATE TABLE long_hash AS SELECT id, id % 3 AS tenant, pdq AS four, pdq[1:2] AS two, pdq || fp AS five, format('picture %s', of) AS body
FROM (SELECT id, pdq, of, hashint8extended(coalesce(of, id), 9) AS fp FROM picture WHERE of <= 6 OR id <= 6
	OR id BETWEEN 3000 AND 3040) AS p;
INSERT INTO long_hash SELECT 90000 + i, i % 3, array_fill(0::bigint, '{4}'), '{0,0}', '{0,0,0,0,0}', 'blank'
FROM generate_series(1, 20) AS i;
INSERT INTO long_hash VALUES (99999, 1, NULL, NULL, NULL, NULL);
CREATE TABLE some_picture AS SELECT id, pdq FROM picture WHERE id <= 40 OR of <= 3;
CREATE TABLE all_pairs AS SELECT a.id AS a, b.id AS b, a.tenant = b.tenant AS of_tenant, a.body = b.body AS same_body,
	hamming_parts(a.four, b.four) AS four, hamming_parts(a.two, b.two) AS two, hamming_parts(a.five, b.five) AS five
FROM long_hash AS a JOIN long_hash AS b ON a.id < b.id;
CREATE FUNCTION differ(got text, wanted text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE format('WITH f AS (%s), e AS (%s) SELECT count(*) FROM ((TABLE f EXCEPT ALL TABLE e) UNION ALL (TABLE e EXCEPT ALL TABLE f)) AS x',
		got, wanted) INTO n;
	RETURN n;
END $$;
SELECT radius, differ(format($$SELECT * FROM simhash_pairs('long_hash', 'id', 'four', %s)$$, radius),
	format('SELECT a, b, four FROM all_pairs WHERE four <= %s', radius)) AS four,
	differ(format($$SELECT * FROM simhash_pairs('long_hash', 'id', 'two', %s)$$, radius),
		format('SELECT a, b, two FROM all_pairs WHERE two <= %s', radius)) AS two,
	differ(format($$SELECT * FROM simhash_pairs('long_hash', 'id', 'five', %s, within => '{tenant}')$$, radius),
		format('SELECT a, b, five FROM all_pairs WHERE five <= %s AND of_tenant', radius)) AS five,
	differ(format($$SELECT * FROM simhash_pairs('long_hash', 'id', 'four', %s, text => 'body', min_jaccard => 1)$$, radius),
		format('SELECT a, b, four FROM all_pairs WHERE four <= %s AND same_body', radius)) AS checked,
	differ(format($$SELECT * FROM simhash_pairs_between('some_picture', 'id', 'pdq', 'long_hash', 'id', 'four', %s)$$, radius),
		format('SELECT p.id::bigint, l.id::bigint, hamming_parts(p.pdq, l.four)
			FROM some_picture AS p JOIN long_hash AS l ON hamming_parts(p.pdq, l.four) <= %s', radius)) AS across,
	differ(format($$SELECT c.key, min(c.key) OVER (PARTITION BY c.cluster_id), c.distance
		FROM simhash_clusters('long_hash', 'id', 'four', %s) AS c$$, radius),
		format($$SELECT r.id::bigint, r.first::bigint, hamming_parts((SELECT four FROM long_hash WHERE id = r.id),
		(SELECT four FROM long_hash WHERE id = c.representative)) FROM (
			WITH RECURSIVE edge AS (SELECT a, b FROM all_pairs WHERE four <= %1$s UNION ALL SELECT b, a FROM all_pairs WHERE four <= %1$s),
			reached AS (SELECT a, a AS b FROM edge UNION SELECT r.a, e.b FROM reached AS r JOIN edge AS e ON e.a = r.b)
			SELECT a AS id, min(b) AS first FROM reached GROUP BY a) AS r
		JOIN simhash_clusters('long_hash', 'id', 'four', %1$s) AS c ON c.key = r.id$$, radius)) AS clusters
FROM unnest('{0,3,20,31,40}'::int[]) AS radius;
-- The report counts pairs: with all rows in the sample the true numbers, of two to five parts; with a few of them, texts are compared and
-- a check is asked.
SELECT hash, count(*) AS distances, sum(pairs) > 0 AS some, sum(wrong) AS wrong FROM (
	SELECT 'four' AS hash, r.pairs, ((r.pairs, pairs_low, pairs_high) IS DISTINCT FROM (n, n, n))::int AS wrong
	FROM simhash_radius_report('long_hash', 'id', 'four', max_radius => 64, sample => 5000) AS r, LATERAL (SELECT count(*) AS n FROM all_pairs
		WHERE four = r.distance) AS p
	UNION ALL SELECT 'two', r.pairs, ((r.pairs, pairs_low, pairs_high) IS DISTINCT FROM (n, n, n))::int
	FROM simhash_radius_report('long_hash', 'id', 'two', max_radius => 128, sample => 5000) AS r, LATERAL (SELECT count(*) AS n FROM all_pairs
		WHERE two = r.distance) AS p
	UNION ALL SELECT 'five', r.pairs, ((r.pairs, pairs_low, pairs_high) IS DISTINCT FROM (n, n, n))::int
	FROM simhash_radius_report('long_hash', 'id', 'five', max_radius => 20, sample => 5000) AS r, LATERAL (SELECT count(*) AS n FROM all_pairs
		WHERE five = r.distance) AS p
) AS r GROUP BY hash ORDER BY hash;
SELECT count(*) AS distances, count(*) FILTER (WHERE pairs BETWEEN pairs_low AND pairs_high) AS between, max(compared) > 0 AS texts,
	max(jaccard_mean) <= 1 AS similar FROM simhash_radius_report('long_hash', 'id', 'four', 'body', max_radius => 31, sample => 50);
-- Hashes of two lengths, a NULL part, columns of two types, a radius that no hash has.
CREATE TABLE uneven AS SELECT i AS id, CASE i WHEN 2 THEN '{1,2,3}' WHEN 3 THEN '{1,NULL}' ELSE '{1,2}' END::bigint[] AS hash,
	1::bigint AS fp FROM generate_series(1, 3) AS i;
SELECT f.* FROM unnest(ARRAY[
	$$count(*) FROM simhash_pairs('uneven', 'id', 'hash', 3)$$,
	$$count(*) FROM simhash_pairs_between('uneven', 'id', 'hash', 'uneven', 'id', 'fp', 3)$$,
	$$count(*) FROM simhash_pairs('uneven', 'id', 'hash', 4097)$$,
	$$count(*) FROM simhash_pairs('uneven', 'id', 'fp', 65)$$,
	$$count(*) FROM simhash_radius_report('uneven', 'id', 'hash')$$,
	$$count(*) FROM simhash_radius_report('long_hash', 'id', 'four', max_radius => 4097)$$,
	$$simhash_keep_clusters('uneven', 'id', 'hash', 3)$$
]) AS e, fault(e) AS f;
DELETE FROM uneven WHERE id = 2;
SELECT f.* FROM fault($$count(*) FROM simhash_clusters('uneven', 'id', 'hash', 3)$$) AS f;

-- bktree's form of a search, as in docs/comparison.md#moving-from-others: a constant, parameters, a join.
CREATE TYPE bktree_area AS (center bigint, distance bigint);
CREATE FUNCTION bktree_within(phash bigint, area bktree_area) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN phash <~> (area).center <= (area).distance;
CREATE OPERATOR <@ (LEFTARG = bigint, RIGHTARG = bktree_area, FUNCTION = bktree_within);
CREATE INDEX fingerprint_fp ON fingerprint USING simhash (fp);
ANALYZE fingerprint;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT fp FROM fingerprint WHERE fp <@ (5, 8);
SET plan_cache_mode = force_generic_plan;
PREPARE area AS SELECT count(*) FROM fingerprint WHERE fp <@ ($1, $2);
SELECT count(*) FROM plan_of('EXECUTE area(5, 8)') AS p WHERE p LIKE '%Index Scan%' OR p LIKE '%Index Only Scan%';
RESET plan_cache_mode;
SELECT count(*) FROM plan_of('SELECT * FROM fingerprint a JOIN fingerprint b ON a.fp <@ (b.fp, 2)') AS p WHERE p LIKE '%Index%Scan using%';
SELECT r AS radius, (SELECT count(*) FROM fingerprint WHERE fp <@ (5, r)) = (SELECT count(*) FROM fingerprint
	WHERE bit_count((fp # 5)::bit(64)) <= r) AS same
FROM unnest(ARRAY[-1, 0, 3, 20, 64, 100000000000]) AS r;
RESET enable_seqscan;
DROP SCHEMA hashes_test CASCADE;
