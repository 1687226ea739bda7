-- simhash_dedup 0.1.0: the SQL objects, in the order in which data flows.
-- Every function is C: no body depends on a search_path. The Rust symbol of each function stands
-- behind MODULE_PATHNAME; its argument types here are what the Rust side relies on.

\echo Use "CREATE EXTENSION simhash_dedup" to load this file. \quit

-- ---------------------------------------------------------------- fingerprints
-- Not STRICT: weights, options and presets default to NULL. IMMUTABLE: a fingerprint depends on the
-- arguments alone, whatever the settings are (docs/weights.md). The costs say that a fingerprint is
-- worth a parallel worker.

CREATE FUNCTION simhash64(record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row64';
COMMENT ON FUNCTION simhash64(record, jsonb, text) IS '64-bit SimHash of a row; NULL when it has no feature';

CREATE FUNCTION simhash32(record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row32';
COMMENT ON FUNCTION simhash32(record, jsonb, text) IS '32-bit SimHash of a row, 0 to 2^32 - 1; NULL when it has no feature';

CREATE FUNCTION simhash64(text, options jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text64';
COMMENT ON FUNCTION simhash64(text, jsonb, text) IS '64-bit SimHash of a text; NULL when it has no word';

CREATE FUNCTION simhash32(text, options jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text32';
COMMENT ON FUNCTION simhash32(text, jsonb, text) IS '32-bit SimHash of a text, 0 to 2^32 - 1; NULL when it has no word';

CREATE FUNCTION simhash128(record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bit(128)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row128';
COMMENT ON FUNCTION simhash128(record, jsonb, text) IS '128-bit SimHash of a row; NULL when it has no feature; not served by the index';

CREATE FUNCTION simhash128(text, options jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bit(128)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text128';
COMMENT ON FUNCTION simhash128(text, jsonb, text) IS '128-bit SimHash of a text; NULL when it has no word; not served by the index';

CREATE FUNCTION simhash64(tsvector) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'simhash_tsvector64';
COMMENT ON FUNCTION simhash64(tsvector) IS '64-bit SimHash of lexemes, weighed by the labels of their positions; NULL when there is none';

CREATE FUNCTION simhash64_tokens(tokens text[], weights float8[] DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'simhash_tokens64';
COMMENT ON FUNCTION simhash64_tokens(text[], float8[]) IS '64-bit SimHash of tokens, taken literally, with weights (1 each without)';

CREATE FUNCTION simhash32_tokens(tokens text[], weights float8[] DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'simhash_tokens32';
COMMENT ON FUNCTION simhash32_tokens(text[], float8[]) IS '32-bit SimHash of tokens, taken literally, with weights (1 each without)';

CREATE FUNCTION simhash_features(
	record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL,
	OUT column_name text, OUT feature text, OUT tf float8, OUT weight float8, OUT hash bigint
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'simhash_features';
COMMENT ON FUNCTION simhash_features(record, jsonb, text) IS 'why a row has its 64-bit fingerprint: its features and what they weigh';

CREATE FUNCTION simhash_bits(fingerprint bigint, bits int DEFAULT 64) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_bits';
COMMENT ON FUNCTION simhash_bits(bigint, int) IS 'a fingerprint of 64 or 32 bits as 0s and 1s';

CREATE FUNCTION simhash_similarity(a bigint, b bigint, bits int DEFAULT 64) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_similarity';
COMMENT ON FUNCTION simhash_similarity(bigint, bigint, int) IS 'share of equal bits of two fingerprints: (bits - distance) / bits';

-- ---------------------------------------------------------------- checks of candidates
-- How similar two texts or sets are that have close fingerprints. NULL when there is nothing to compare.

CREATE FUNCTION simhash_jaccard(a text, b text, n int DEFAULT 5) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_jaccard';
COMMENT ON FUNCTION simhash_jaccard(text, text, int) IS 'Jaccard similarity of the sets of character n-grams of two texts';

CREATE FUNCTION simhash_cosine(a text, b text, options jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 AS 'MODULE_PATHNAME', 'simhash_cosine_text';
COMMENT ON FUNCTION simhash_cosine(text, text, jsonb, text) IS 'cosine of the features of two texts, weighed as simhash64 does';

CREATE FUNCTION simhash_cosine(a float8[], b float8[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'simhash_cosine_array';
COMMENT ON FUNCTION simhash_cosine(float8[], float8[]) IS 'cosine of two vectors';

CREATE FUNCTION minhash(tokens text[], n int DEFAULT 100) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_minhash';
COMMENT ON FUNCTION minhash(text[], int) IS 'MinHash signature of a set of tokens by n hash functions';

CREATE FUNCTION minhash_similarity(a bigint[], b bigint[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'simhash_minhash_similarity';
COMMENT ON FUNCTION minhash_similarity(bigint[], bigint[]) IS 'share of equal minima: estimates the Jaccard similarity, standard error sqrt(J (1 - J) / n)';

CREATE FUNCTION simhash_blend(d int, jaccard float8, mu float8 DEFAULT 0.9) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_blend';
COMMENT ON FUNCTION simhash_blend(int, float8, float8) IS
	'mu / (d + 1) + (1 - mu) * jaccard: distance of fingerprints and similarity of other data in one number';

-- ---------------------------------------------------------------- bits in doubt
-- Bits whose sum was close to zero flip first. Searching with some of them flipped finds more.

CREATE FUNCTION simhash64_margin(record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL, n int DEFAULT 8) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row_margin';
COMMENT ON FUNCTION simhash64_margin(record, jsonb, text, int) IS 'mask of the n bits of a row''s fingerprint whose sums were closest to zero';

CREATE FUNCTION simhash64_margin(text, options jsonb DEFAULT NULL, preset text DEFAULT NULL, n int DEFAULT 8) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text_margin';
COMMENT ON FUNCTION simhash64_margin(text, jsonb, text, int) IS 'mask of the n bits of a text''s fingerprint whose sums were closest to zero';

CREATE FUNCTION simhash_probes(fp bigint, mask bigint, flips int DEFAULT 2) RETURNS SETOF bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 37 AS 'MODULE_PATHNAME', 'simhash_probes';
COMMENT ON FUNCTION simhash_probes(bigint, bigint, int) IS 'a fingerprint, and it with up to flips of the bits of mask flipped';

CREATE FUNCTION hamming_masked(a bigint, b bigint, mask_a bigint, mask_b bigint DEFAULT 0) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF AS 'MODULE_PATHNAME', 'simhash_hamming_masked';
COMMENT ON FUNCTION hamming_masked(bigint, bigint, bigint, bigint) IS 'number of bits outside of both masks in which two fingerprints differ';

-- ---------------------------------------------------------------- distance
-- The support functions are how the planner meets us: the first query that mentions hamming() or
-- <~> loads the library, which from then on makes index conditions of `fp <~> $1 <= k`.

CREATE FUNCTION hamming_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_hamming_support';

CREATE FUNCTION hamming_within_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_within_support';

CREATE FUNCTION hamming(bigint, bigint) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT hamming_support
AS 'MODULE_PATHNAME', 'simhash_hamming';
COMMENT ON FUNCTION hamming(bigint, bigint) IS 'number of bits in which two fingerprints differ, 0 to 64';

CREATE FUNCTION hamming128(a bit, b bit) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_hamming128';
COMMENT ON FUNCTION hamming128(bit, bit) IS 'number of bits in which two fingerprints of 128 bits differ, 0 to 128';

CREATE FUNCTION hamming_within(a bigint, b bigint, k int) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT hamming_within_support
AS 'MODULE_PATHNAME', 'simhash_hamming_within';
COMMENT ON FUNCTION hamming_within(bigint, bigint, int) IS 'do two fingerprints differ in at most k bits';

CREATE OPERATOR <~> (
	LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming, COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (bigint, bigint) IS 'Hamming distance';

-- ---------------------------------------------------------------- a ball of fingerprints
-- The right-hand side of index conditions: a centre and a radius.

CREATE TYPE hamming_ball;

CREATE FUNCTION hamming_ball_in(cstring) RETURNS hamming_ball
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_in';
CREATE FUNCTION hamming_ball_out(hamming_ball) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_out';
CREATE FUNCTION hamming_ball_recv(internal) RETURNS hamming_ball
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_recv';
CREATE FUNCTION hamming_ball_send(hamming_ball) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_send';

CREATE TYPE hamming_ball (
	INPUT = hamming_ball_in, OUTPUT = hamming_ball_out,
	RECEIVE = hamming_ball_recv, SEND = hamming_ball_send,
	INTERNALLENGTH = 16, ALIGNMENT = double, STORAGE = plain
);
COMMENT ON TYPE hamming_ball IS 'all fingerprints within a radius of a centre, written (centre,radius)';

CREATE FUNCTION hamming_ball(centre bigint, radius int) RETURNS hamming_ball
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF AS 'MODULE_PATHNAME', 'simhash_ball_make';
COMMENT ON FUNCTION hamming_ball(bigint, int) IS 'all fingerprints within radius of centre; none when radius is negative';

CREATE FUNCTION hamming_ball_contains(bigint, hamming_ball) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF AS 'MODULE_PATHNAME', 'simhash_ball_contains';

CREATE FUNCTION hamming_near(bigint, bigint) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF AS 'MODULE_PATHNAME', 'simhash_near';
COMMENT ON FUNCTION hamming_near(bigint, bigint) IS 'do two fingerprints differ in at most 3 bits';

CREATE FUNCTION hamming_ball_sel(internal, oid, internal, int) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_sel';
CREATE FUNCTION hamming_ball_joinsel(internal, oid, internal, smallint, internal) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_joinsel';
CREATE FUNCTION hamming_near_sel(internal, oid, internal, int) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_near_sel';
CREATE FUNCTION hamming_near_joinsel(internal, oid, internal, smallint, internal) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_near_joinsel';

CREATE OPERATOR <@ (
	LEFTARG = bigint, RIGHTARG = hamming_ball, FUNCTION = hamming_ball_contains,
	RESTRICT = hamming_ball_sel, JOIN = hamming_ball_joinsel
);
COMMENT ON OPERATOR <@ (bigint, hamming_ball) IS 'is the fingerprint in the ball';

CREATE OPERATOR ~= (
	LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming_near, COMMUTATOR = ~=,
	RESTRICT = hamming_near_sel, JOIN = hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (bigint, bigint) IS 'Hamming distance of at most 3';

-- ---------------------------------------------------------------- the access method

CREATE FUNCTION simhash_handler(internal) RETURNS index_am_handler
LANGUAGE c AS 'MODULE_PATHNAME', 'simhash_handler';

CREATE ACCESS METHOD simhash TYPE INDEX HANDLER simhash_handler;
COMMENT ON ACCESS METHOD simhash IS 'exact Hamming search over 64-bit fingerprints, filed under four 16-bit keys';

-- No equality: with it the planner would pick this index for plain `fp = 1`.
CREATE OPERATOR CLASS simhash_ops DEFAULT FOR TYPE bigint USING simhash AS
	OPERATOR 1 <@ (bigint, hamming_ball),
	OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 3 ~= (bigint, bigint);
COMMENT ON OPERATOR CLASS simhash_ops USING simhash IS '64-bit fingerprints under Hamming distance';

-- ---------------------------------------------------------------- checking an index

CREATE FUNCTION simhash_index_verify(
	index regclass, heapallindexed boolean DEFAULT false,
	OUT block bigint, OUT "offset" int, OUT fault text
) RETURNS SETOF record
LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'simhash_index_verify';
COMMENT ON FUNCTION simhash_index_verify(regclass, boolean) IS
	'faults of a simhash index, no row when it is sound; blocks writers while it runs; for its owner';

CREATE FUNCTION simhash_index_stats(
	index regclass,
	OUT rows bigint, OUT null_rows bigint, OUT pages bigint, OUT leaves bigint,
	OUT bytes_per_row float8, OUT leaf_fill float8, OUT height int, OUT format_version int,
	OUT hottest_block int, OUT hottest_key int, OUT hottest_share float8, OUT candidates float8[]
) RETURNS SETOF record
LANGUAGE c VOLATILE STRICT ROWS 1 AS 'MODULE_PATHNAME', 'simhash_index_stats';
COMMENT ON FUNCTION simhash_index_stats(regclass) IS
	'what a simhash index holds: candidates[k + 1] is how many postings a search within k compares on average, hottest_* the 16-bit key with the most rows; reads the whole index; for whoever may read its table';
