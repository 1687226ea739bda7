-- simhash_dedup 0.1.0: the SQL objects, in the order in which data flows.
-- No function depends on the caller's search_path: it is written in C, names every schema, or sets
-- the path itself. The Rust symbol of a C function follows MODULE_PATHNAME; the Rust code relies on
-- the argument types declared here.

\echo Use "CREATE EXTENSION simhash_dedup" to load this file. \quit

-- ---------------------------------------------------------------- the internal schema
-- Functions that the extension calls, and its triggers. Every role may use this
-- schema, so that an owner's triggers and views work for roles without rights on the schema of the
-- extension. No IF NOT EXISTS: another role could own a schema that exists already.

CREATE SCHEMA simhash_catalog;
COMMENT ON SCHEMA simhash_catalog IS
	'what simhash_dedup keeps to itself: internal functions';

-- Functions that describe the methods of papers: whoever compares methods puts this schema on the search_path. No
-- function outside of this schema uses one of it.
CREATE SCHEMA simhash_methods;
COMMENT ON SCHEMA simhash_methods IS
	'methods of the papers behind simhash_dedup: other widths, similarities, bits in doubt';

-- An error of a function in PL/pgSQL is reported as one of the function that the user called: each that raises one,
-- or calls another that does, begins with PERFORM simhash_catalog.hide_context().
CREATE FUNCTION simhash_catalog.hide_context() RETURNS void
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_hide_context';
COMMENT ON FUNCTION simhash_catalog.hide_context() IS
	'leaves the PL/pgSQL function that calls it by PERFORM out of the CONTEXT lines of errors';

-- ---------------------------------------------------------------- fingerprints
-- Not STRICT: weights, options and presets default to NULL. IMMUTABLE: a fingerprint depends on the
-- arguments alone, whatever the settings are (docs/presets.md). The costs say that a fingerprint is
-- worth a parallel worker.

CREATE FUNCTION simhash64(record record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row64';
COMMENT ON FUNCTION simhash64(record, jsonb, text) IS
	'64-bit fingerprint of a row; NULL when it has no feature';

CREATE FUNCTION simhash64(text text, options jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text64';
COMMENT ON FUNCTION simhash64(text, jsonb, text) IS
	'64-bit fingerprint of a text; NULL when it has no word';

CREATE FUNCTION simhash64(lexemes tsvector) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'simhash_tsvector64';
COMMENT ON FUNCTION simhash64(tsvector) IS
	'64-bit SimHash of lexemes, weighted by the labels of their positions; NULL when there is none';

CREATE FUNCTION simhash64_tokens(tokens text[], weights float8[] DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'simhash_tokens64';
COMMENT ON FUNCTION simhash64_tokens(text[], float8[]) IS
	'64-bit SimHash of tokens, taken literally; without weights each weighs 1';

CREATE FUNCTION simhash_features(
	record record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL,
	OUT column_name text, OUT feature text, OUT tf float8, OUT weight float8, OUT hash bigint
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'simhash_features';
COMMENT ON FUNCTION simhash_features(record, jsonb, text) IS
	'the features of a row; each has the weight and the hash by which it votes on the 64-bit '
	'fingerprint';

CREATE FUNCTION simhash_features(
	text text, options jsonb DEFAULT NULL, preset text DEFAULT NULL,
	OUT column_name text, OUT feature text, OUT tf float8, OUT weight float8, OUT hash bigint
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'simhash_text_features';
COMMENT ON FUNCTION simhash_features(text, jsonb, text) IS
	'the features of a text; each has the weight and the hash by which it votes on the 64-bit '
	'fingerprint; column_name is NULL';

-- ---------------------------------------------------------------- checks of candidates
-- How similar two texts or sets with close fingerprints are. NULL when there is nothing to compare.

CREATE FUNCTION simhash_jaccard(a text, b text, ngram int DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_jaccard';
COMMENT ON FUNCTION simhash_jaccard(text, text, int) IS
	'Jaccard similarity of the sets of character n-grams of two texts; ngram is their length in characters, NULL 2 for '
	'Han, 3 for kana and Hangul, 5 for other letters';

-- For the triggers' queries: whether simhash_jaccard(a, b) >= min_jaccard, without its value.
CREATE FUNCTION simhash_catalog.jaccard_at_least(a text, b text, min_jaccard float8) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_jaccard_at_least';
COMMENT ON FUNCTION simhash_catalog.jaccard_at_least(text, text, float8) IS
	'whether simhash_jaccard(a, b) is at least this, for triggers';

-- ---------------------------------------------------------------- passages
-- docs/passages.md. A GIN index on simhash_passages(text) answers which texts share a passage.

CREATE FUNCTION simhash_passages(text text, ngram int DEFAULT NULL, min_length int DEFAULT NULL) RETURNS bigint[]
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_passages';
COMMENT ON FUNCTION simhash_passages(text, int, int) IS
	'hashes of chosen n-grams of a text: two texts that share min_length letters in a row share one of them; by default 40 '
	'letters, 17 of Han, 25 of kana and Hangul';

CREATE FUNCTION simhash_containment(a text, b text, ngram int DEFAULT NULL) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_containment';
COMMENT ON FUNCTION simhash_containment(text, text, int) IS
	'share of the character n-grams of the smaller text that the larger one has; ngram is their length in characters, '
	'NULL 5 for Han, 7 for kana and Hangul, 12 for other letters';

CREATE FUNCTION simhash_shared_passages(
	a text, b text, min_length int DEFAULT NULL,
	OUT start_a int, OUT length_a int, OUT start_b int, OUT length_b int, OUT passage text
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 5 AS 'MODULE_PATHNAME', 'simhash_shared_passages';
COMMENT ON FUNCTION simhash_shared_passages(text, text, int) IS
	'the passages of at least min_length letters that two texts share, by their places in characters, and as they '
	'stand in the first';

-- ---------------------------------------------------------------- differences
-- docs/passages.md

CREATE FUNCTION simhash_diff(a text, b text, context int DEFAULT 3) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 4000 AS 'MODULE_PATHNAME', 'simhash_diff';
COMMENT ON FUNCTION simhash_diff(text, text, int) IS
	'the words in which two texts differ, [-marked-]{+so+} or, if they decide, [!so!]{!instead!}, each with up to context '
	'words around it';

CREATE FUNCTION simhash_same(a text, b text) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 3000 AS 'MODULE_PATHNAME', 'simhash_same';
COMMENT ON FUNCTION simhash_same(text, text) IS
	'whether a person would call two texts the same, by what differs; numbers, negations and other words decide, '
	'case, accents, punctuation and typing errors do not';

CREATE FUNCTION simhash_same_strict(a text, b text) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 3000 AS 'MODULE_PATHNAME', 'simhash_same_strict';
COMMENT ON FUNCTION simhash_same_strict(text, text) IS
	'whether two texts differ in spelling and layout alone; for what deletes, merges or refuses rows';

CREATE FUNCTION simhash_why(
	a text, b text, OUT kind text, OUT in_a text, OUT in_b text, OUT decides boolean
) RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 3000 ROWS 5 AS 'MODULE_PATHNAME', 'simhash_why';
COMMENT ON FUNCTION simhash_why(text, text) IS
	'in what two texts differ, and whether it makes them different for simhash_same';

CREATE FUNCTION simhash_explain(
	a record, b record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL,
	OUT column_name text, OUT features_a int, OUT features_b int, OUT shared int, OUT similarity float8, OUT bits float8,
	OUT only_a text[], OUT only_b text[]
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 ROWS 5 AS 'MODULE_PATHNAME', 'simhash_explain_row';
COMMENT ON FUNCTION simhash_explain(record, record, jsonb, text) IS
	'what each column of two rows adds to the distance of their fingerprints, and the heaviest features that only one has';

CREATE FUNCTION simhash_explain(
	a text, b text, options jsonb DEFAULT NULL, preset text DEFAULT NULL,
	OUT column_name text, OUT features_a int, OUT features_b int, OUT shared int, OUT similarity float8, OUT bits float8,
	OUT only_a text[], OUT only_b text[]
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 ROWS 1 AS 'MODULE_PATHNAME', 'simhash_explain_text';
COMMENT ON FUNCTION simhash_explain(text, text, jsonb, text) IS
	'the features of two texts, the distance of their fingerprints, and the heaviest features that only one has; '
	'column_name is NULL';

-- ---------------------------------------------------------------- distance
-- The planner calls the support functions, and so loads the library with the first query that has
-- hamming() or <~>. The library then makes an index condition of `fp <~> $1 <= radius`.

CREATE FUNCTION simhash_catalog.hamming_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_hamming_support';
COMMENT ON FUNCTION simhash_catalog.hamming_support(internal) IS 'planner support for hamming';

CREATE FUNCTION simhash_catalog.hamming_within_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_within_support';
COMMENT ON FUNCTION simhash_catalog.hamming_within_support(internal) IS 'planner support for hamming_within';

CREATE FUNCTION hamming(a bigint, b bigint) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_catalog.hamming_support
AS 'MODULE_PATHNAME', 'simhash_hamming';
COMMENT ON FUNCTION hamming(bigint, bigint) IS
	'number of bits in which two fingerprints differ, 0 to 64';

CREATE FUNCTION hamming_within(a bigint, b bigint, radius int) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_catalog.hamming_within_support
AS 'MODULE_PATHNAME', 'simhash_hamming_within';
COMMENT ON FUNCTION hamming_within(bigint, bigint, int) IS
	'whether two fingerprints differ in at most radius bits';

-- For the triggers' queries: the planner replaces it by <~>.
CREATE FUNCTION simhash_catalog.distance(a bigint, b bigint) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT simhash_catalog.hamming_support
AS 'MODULE_PATHNAME', 'simhash_hamming';
COMMENT ON FUNCTION simhash_catalog.distance(bigint, bigint) IS
	'the function hamming, for triggers';

CREATE OPERATOR <~> (
	LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming, COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (bigint, bigint) IS 'Hamming distance';

-- ---------------------------------------------------------------- a ball of fingerprints
-- The right-hand side of index conditions: a centre and a radius.

CREATE TYPE hamming_ball;

CREATE FUNCTION simhash_catalog.hamming_ball_in(cstring) RETURNS hamming_ball
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_in';
CREATE FUNCTION simhash_catalog.hamming_ball_out(hamming_ball) RETURNS cstring
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_out';
CREATE FUNCTION simhash_catalog.hamming_ball_recv(internal) RETURNS hamming_ball
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_recv';
CREATE FUNCTION simhash_catalog.hamming_ball_send(hamming_ball) RETURNS bytea
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_send';

CREATE TYPE hamming_ball (
	INPUT = simhash_catalog.hamming_ball_in, OUTPUT = simhash_catalog.hamming_ball_out,
	RECEIVE = simhash_catalog.hamming_ball_recv, SEND = simhash_catalog.hamming_ball_send,
	INTERNALLENGTH = 16, ALIGNMENT = double, STORAGE = plain
);
COMMENT ON FUNCTION simhash_catalog.hamming_ball_in(cstring) IS 'I/O';
COMMENT ON FUNCTION simhash_catalog.hamming_ball_out(hamming_ball) IS 'I/O';
COMMENT ON FUNCTION simhash_catalog.hamming_ball_recv(internal) IS 'I/O';
COMMENT ON FUNCTION simhash_catalog.hamming_ball_send(hamming_ball) IS 'I/O';
COMMENT ON TYPE hamming_ball IS
	'all fingerprints within a radius of a centre, written (centre,radius)';

CREATE FUNCTION hamming_ball(centre bigint, radius int) RETURNS hamming_ball
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF AS 'MODULE_PATHNAME', 'simhash_ball_make';
COMMENT ON FUNCTION hamming_ball(bigint, int) IS
	'all fingerprints within radius of centre; none when radius is negative';

CREATE FUNCTION simhash_catalog.hamming_ball_contains(fingerprint bigint, ball hamming_ball) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF AS 'MODULE_PATHNAME', 'simhash_ball_contains';
COMMENT ON FUNCTION simhash_catalog.hamming_ball_contains(bigint, hamming_ball) IS 'whether a ball has a fingerprint; the function of <@';

CREATE FUNCTION simhash_catalog.hamming_near(a bigint, b bigint) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF AS 'MODULE_PATHNAME', 'simhash_near';
COMMENT ON FUNCTION simhash_catalog.hamming_near(bigint, bigint) IS 'whether two fingerprints differ in at most 3 bits';

CREATE FUNCTION simhash_catalog.hamming_ball_sel(internal, oid, internal, int) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_sel';
CREATE FUNCTION simhash_catalog.hamming_ball_joinsel(internal, oid, internal, smallint, internal) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_ball_joinsel';
CREATE FUNCTION simhash_catalog.hamming_near_sel(internal, oid, internal, int) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_near_sel';
CREATE FUNCTION simhash_catalog.hamming_near_joinsel(internal, oid, internal, smallint, internal) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_near_joinsel';
COMMENT ON FUNCTION simhash_catalog.hamming_ball_sel(internal, oid, internal, int) IS
	'restriction selectivity of <@ for fingerprints in a ball';
COMMENT ON FUNCTION simhash_catalog.hamming_ball_joinsel(internal, oid, internal, smallint, internal) IS
	'join selectivity of <@ for fingerprints in a ball';
COMMENT ON FUNCTION simhash_catalog.hamming_near_sel(internal, oid, internal, int) IS
	'restriction selectivity of ~= for fingerprints';
COMMENT ON FUNCTION simhash_catalog.hamming_near_joinsel(internal, oid, internal, smallint, internal) IS
	'join selectivity of ~= for fingerprints';

CREATE OPERATOR <@ (
	LEFTARG = bigint, RIGHTARG = hamming_ball, FUNCTION = simhash_catalog.hamming_ball_contains,
	RESTRICT = simhash_catalog.hamming_ball_sel, JOIN = simhash_catalog.hamming_ball_joinsel
);
COMMENT ON OPERATOR <@ (bigint, hamming_ball) IS 'is the fingerprint in the ball';

CREATE OPERATOR ~= (
	LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = simhash_catalog.hamming_near, COMMUTATOR = ~=,
	RESTRICT = simhash_catalog.hamming_near_sel, JOIN = simhash_catalog.hamming_near_joinsel
);
COMMENT ON OPERATOR ~= (bigint, bigint) IS 'Hamming distance of at most 3';

-- ---------------------------------------------------------------- operators of texts
-- docs/search.md. The planner puts those of the texts' fingerprints in their place, which an index on the text
-- serves, and one on simhash64 of it. The library knows the radius (crates/hamming/src/ball.rs).

CREATE FUNCTION simhash_catalog.text_distance_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_text_distance_support';
COMMENT ON FUNCTION simhash_catalog.text_distance_support(internal) IS 'planner support for simhash_distance';

CREATE FUNCTION simhash_catalog.near_duplicate_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_near_duplicate_support';
COMMENT ON FUNCTION simhash_catalog.near_duplicate_support(internal) IS 'planner support for simhash_near_duplicate';

CREATE FUNCTION simhash_catalog.near_duplicate_sel(internal, oid, internal, int) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_near_duplicate_sel';
CREATE FUNCTION simhash_catalog.near_duplicate_joinsel(internal, oid, internal, smallint, internal) RETURNS float8
LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_near_duplicate_joinsel';
COMMENT ON FUNCTION simhash_catalog.near_duplicate_sel(internal, oid, internal, int) IS
	'restriction selectivity of ~= for texts';
COMMENT ON FUNCTION simhash_catalog.near_duplicate_joinsel(internal, oid, internal, smallint, internal) IS
	'join selectivity of ~= for texts';

CREATE FUNCTION simhash_distance(a text, b text) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 SUPPORT simhash_catalog.text_distance_support
AS 'MODULE_PATHNAME', 'simhash_text_distance';
COMMENT ON FUNCTION simhash_distance(text, text) IS
	'number of bits in which the fingerprints of two texts differ, 0 to 64; the function of <~>';

CREATE FUNCTION simhash_near_duplicate(a text, b text) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 SUPPORT simhash_catalog.near_duplicate_support
AS 'MODULE_PATHNAME', 'simhash_near_duplicate';
COMMENT ON FUNCTION simhash_near_duplicate(text, text) IS
	'whether two texts are near-duplicates: their fingerprints are near, and simhash_same holds; the function of ~=';

CREATE OPERATOR <~> (
	LEFTARG = text, RIGHTARG = text, FUNCTION = simhash_distance, COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (text, text) IS 'Hamming distance of the fingerprints of two texts';

CREATE OPERATOR ~= (
	LEFTARG = text, RIGHTARG = text, FUNCTION = simhash_near_duplicate, COMMUTATOR = ~=,
	RESTRICT = simhash_catalog.near_duplicate_sel, JOIN = simhash_catalog.near_duplicate_joinsel
);
COMMENT ON OPERATOR ~= (text, text) IS 'whether two texts are near-duplicates';

-- For the triggers' queries, whatever the schema of the extension.
CREATE FUNCTION simhash_catalog.same(a text, b text) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 3000 AS 'MODULE_PATHNAME', 'simhash_same';
COMMENT ON FUNCTION simhash_catalog.same(text, text) IS 'the function simhash_same, for triggers';

-- What an index has: the planner puts it in their place.
CREATE FUNCTION simhash_catalog.index_fingerprint_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_index_fingerprint_support';
COMMENT ON FUNCTION simhash_catalog.index_fingerprint_support(internal) IS 'planner support for index_fingerprint';
CREATE FUNCTION simhash_catalog.index_predicate_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_index_predicate_support';
COMMENT ON FUNCTION simhash_catalog.index_predicate_support(internal) IS 'planner support for index_predicate';

CREATE FUNCTION simhash_catalog.index_fingerprint(index oid, VARIADIC columns "any") RETURNS bigint
LANGUAGE c STABLE PARALLEL RESTRICTED SUPPORT simhash_catalog.index_fingerprint_support
AS 'MODULE_PATHNAME', 'simhash_index_term';
COMMENT ON FUNCTION simhash_catalog.index_fingerprint(oid, "any") IS
	'the fingerprint that an index makes of the columns of a row, for triggers';
CREATE FUNCTION simhash_catalog.index_predicate(index oid, VARIADIC columns "any") RETURNS boolean
LANGUAGE c STABLE PARALLEL RESTRICTED SUPPORT simhash_catalog.index_predicate_support
AS 'MODULE_PATHNAME', 'simhash_index_term';
COMMENT ON FUNCTION simhash_catalog.index_predicate(oid, "any") IS
	'the predicate of an index for a row, for triggers';

-- ---------------------------------------------------------------- hashes that people have already
-- docs/media.md. What would have to be cut is an error, and what is too short too unless "pad" allows it. The ways
-- back need no check, and are expressions that the planner puts into the query. They are parsed while this script
-- runs, so they name the schema of each operator and function.

CREATE FUNCTION fingerprint_from_hex(hash text, pad boolean DEFAULT false) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_from_hex';
COMMENT ON FUNCTION fingerprint_from_hex(text, boolean) IS
	'a fingerprint from 16 hexadecimal digits, with or without 0x or \x in front; with pad, of fewer';

CREATE FUNCTION fingerprint_from_unsigned(hash numeric) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_from_unsigned';
COMMENT ON FUNCTION fingerprint_from_unsigned(numeric) IS
	'a fingerprint from an unsigned number of 64 bits, 0 to 2^64 - 1';

CREATE FUNCTION fingerprint_from_bits(hash bit, pad boolean DEFAULT false) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_from_bits';
COMMENT ON FUNCTION fingerprint_from_bits(bit, boolean) IS
	'a fingerprint from 64 bits, the first the highest; with pad, of fewer';

CREATE FUNCTION fingerprint_from_bytes(hash bytea, pad boolean DEFAULT false) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_from_bytes';
COMMENT ON FUNCTION fingerprint_from_bytes(bytea, boolean) IS
	'a fingerprint from 8 bytes, the first the highest (big-endian); with pad, of fewer';

CREATE FUNCTION fingerprint_to_hex(fingerprint bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.lpad(pg_catalog.to_hex(fingerprint), 16, '0');
COMMENT ON FUNCTION fingerprint_to_hex(bigint) IS 'a fingerprint as 16 hexadecimal digits in lower case';

CREATE FUNCTION fingerprint_to_unsigned(fingerprint bigint) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.mod(
	fingerprint::pg_catalog.numeric OPERATOR(pg_catalog.+) 18446744073709551616, 18446744073709551616);
COMMENT ON FUNCTION fingerprint_to_unsigned(bigint) IS 'a fingerprint as an unsigned number, 0 to 2^64 - 1';

CREATE FUNCTION fingerprint_parts_from_hex(hash text, bits int DEFAULT 256, pad boolean DEFAULT false) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_parts_from_hex';
COMMENT ON FUNCTION fingerprint_parts_from_hex(text, int, boolean) IS
	'a hash of the given number of bits, in hexadecimal digits, as fingerprints of 64 bits, the highest first';

CREATE FUNCTION fingerprint_parts_from_bits(hash bit, bits int DEFAULT 256, pad boolean DEFAULT false) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_parts_from_bits';
COMMENT ON FUNCTION fingerprint_parts_from_bits(bit, int, boolean) IS
	'a hash of the given number of bits as fingerprints of 64 bits, the highest first';

CREATE FUNCTION fingerprint_parts_from_bytes(hash bytea, bits int DEFAULT 256, pad boolean DEFAULT false) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_parts_from_bytes';
COMMENT ON FUNCTION fingerprint_parts_from_bytes(bytea, int, boolean) IS
	'a hash of the given number of bits, in bytes, as fingerprints of 64 bits, the highest first';

CREATE FUNCTION fingerprint_parts_to_hex(parts bigint[]) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_parts_to_hex';
COMMENT ON FUNCTION fingerprint_parts_to_hex(bigint[]) IS
	'the hexadecimal digits of a hash in parts, 16 for each, in lower case';

CREATE FUNCTION hamming_parts(a bigint[], b bigint[]) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_hamming_parts';
COMMENT ON FUNCTION hamming_parts(bigint[], bigint[]) IS
	'number of bits in which two hashes of the same number of parts differ';

CREATE FUNCTION simhash_catalog.hamming_parts_support(internal) RETURNS internal
LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'simhash_parts_support';
COMMENT ON FUNCTION simhash_catalog.hamming_parts_support(internal) IS
	'planner support: the indexes on parts of hashes that serve hamming_parts_within';

CREATE FUNCTION hamming_parts_within(a bigint[], b bigint[], radius int) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE SUPPORT simhash_catalog.hamming_parts_support
AS 'MODULE_PATHNAME', 'simhash_hamming_parts_within';
COMMENT ON FUNCTION hamming_parts_within(bigint[], bigint[], int) IS
	'whether two hashes of the same number of parts differ in at most radius bits; served by the indexes on parts that there are';

-- For the triggers' queries, which say themselves in which parts rows are near.
CREATE FUNCTION simhash_catalog.hamming_parts_within(a bigint[], b bigint[], radius int) RETURNS boolean
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_hamming_parts_within';
COMMENT ON FUNCTION simhash_catalog.hamming_parts_within(bigint[], bigint[], int) IS
	'the function hamming_parts_within, for triggers';

-- ---------------------------------------------------------------- methods of the papers
-- What describes their methods, and what no index serves (docs/reference/functions.md). simhash64_margin tells which bits of a
-- fingerprint are in doubt: those whose sum was close to zero flip first.

CREATE FUNCTION simhash_methods.simhash32(record record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row32';
COMMENT ON FUNCTION simhash_methods.simhash32(record, jsonb, text) IS
	'32-bit fingerprint of a row, 0 to 2^32 - 1; NULL when it has no feature';

CREATE FUNCTION simhash_methods.simhash32(text text, options jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text32';
COMMENT ON FUNCTION simhash_methods.simhash32(text, jsonb, text) IS
	'32-bit fingerprint of a text, 0 to 2^32 - 1; NULL when it has no word';

CREATE FUNCTION simhash_methods.simhash32_tokens(tokens text[], weights float8[] DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'simhash_tokens32';
COMMENT ON FUNCTION simhash_methods.simhash32_tokens(text[], float8[]) IS
	'32-bit SimHash of tokens, taken literally; without weights each weighs 1';

CREATE FUNCTION simhash_methods.simhash128(record record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bit(128)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row128';
COMMENT ON FUNCTION simhash_methods.simhash128(record, jsonb, text) IS
	'128-bit fingerprint of a row; NULL when it has no feature; not served by the index';

CREATE FUNCTION simhash_methods.simhash128(text text, options jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS bit(128)
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text128';
COMMENT ON FUNCTION simhash_methods.simhash128(text, jsonb, text) IS
	'128-bit fingerprint of a text; NULL when it has no word; not served by the index';

CREATE FUNCTION simhash_methods.hamming128(a bit, b bit) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_hamming128';
COMMENT ON FUNCTION simhash_methods.hamming128(bit, bit) IS
	'number of bits in which two fingerprints of 128 bits differ, 0 to 128';

CREATE FUNCTION simhash_methods.simhash_bits(fingerprint bigint, bits int DEFAULT 64) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_bits';
COMMENT ON FUNCTION simhash_methods.simhash_bits(bigint, int) IS 'a fingerprint of 64 or 32 bits as 0s and 1s';

CREATE FUNCTION simhash_methods.simhash_similarity(a bigint, b bigint, bits int DEFAULT 64) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_similarity';
COMMENT ON FUNCTION simhash_methods.simhash_similarity(bigint, bigint, int) IS
	'share of bits that are equal in two fingerprints: (bits - distance) / bits';

CREATE FUNCTION simhash_methods.simhash_cosine(
	a text, b text, options jsonb DEFAULT NULL, preset text DEFAULT NULL
) RETURNS float8
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 AS 'MODULE_PATHNAME', 'simhash_cosine_text';
COMMENT ON FUNCTION simhash_methods.simhash_cosine(text, text, jsonb, text) IS
	'cosine similarity of two texts, by their features with the weights of simhash64';

CREATE FUNCTION simhash_methods.simhash_cosine(a float8[], b float8[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'simhash_cosine_array';
COMMENT ON FUNCTION simhash_methods.simhash_cosine(float8[], float8[]) IS 'cosine similarity of two vectors';

CREATE FUNCTION simhash_methods.minhash(tokens text[], functions int DEFAULT 100) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_minhash';
COMMENT ON FUNCTION simhash_methods.minhash(text[], int) IS
	'MinHash signature of a set of tokens: the minimum of each of the hash functions';

CREATE FUNCTION simhash_methods.minhash_similarity(a bigint[], b bigint[]) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'simhash_minhash_similarity';
COMMENT ON FUNCTION simhash_methods.minhash_similarity(bigint[], bigint[]) IS
	'share of equal minima in two signatures: estimates the Jaccard similarity J with standard '
	'error sqrt(J (1 - J) / functions)';

CREATE FUNCTION simhash_methods.simhash_blend(distance int, jaccard float8, mu float8 DEFAULT 0.9) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_blend';
COMMENT ON FUNCTION simhash_methods.simhash_blend(int, float8, float8) IS
	'mu / (distance + 1) + (1 - mu) * jaccard: one number from the distance of fingerprints and '
	'the similarity of other data';

CREATE FUNCTION simhash_methods.simhash64_margin(
	record record, weights jsonb DEFAULT NULL, preset text DEFAULT NULL, bits int DEFAULT 8
) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row_margin';
COMMENT ON FUNCTION simhash_methods.simhash64_margin(record, jsonb, text, int) IS
	'mask of the bits of a row''s fingerprint whose sums were closest to zero; bits is how many';

CREATE FUNCTION simhash_methods.simhash64_margin(
	text text, options jsonb DEFAULT NULL, preset text DEFAULT NULL, bits int DEFAULT 8
) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text_margin';
COMMENT ON FUNCTION simhash_methods.simhash64_margin(text, jsonb, text, int) IS
	'mask of the bits of a text''s fingerprint whose sums were closest to zero; bits is how many';

CREATE FUNCTION simhash_methods.simhash_probes(fingerprint bigint, mask bigint, flips int DEFAULT 2) RETURNS SETOF bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 37 AS 'MODULE_PATHNAME', 'simhash_probes';
COMMENT ON FUNCTION simhash_methods.simhash_probes(bigint, bigint, int) IS
	'a fingerprint, and its variants with at most flips bits of mask flipped';

CREATE FUNCTION simhash_methods.hamming_masked(a bigint, b bigint, mask_a bigint, mask_b bigint DEFAULT 0) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF AS 'MODULE_PATHNAME', 'simhash_hamming_masked';
COMMENT ON FUNCTION simhash_methods.hamming_masked(bigint, bigint, bigint, bigint) IS
	'number of bits outside of both masks in which two fingerprints differ';

-- ---------------------------------------------------------------- the access method

CREATE FUNCTION simhash_catalog.simhash_handler(internal) RETURNS index_am_handler
LANGUAGE c AS 'MODULE_PATHNAME', 'simhash_handler';
COMMENT ON FUNCTION simhash_catalog.simhash_handler(internal) IS 'simhash index access method handler';

CREATE ACCESS METHOD simhash TYPE INDEX HANDLER simhash_catalog.simhash_handler;
COMMENT ON ACCESS METHOD simhash IS
	'exact Hamming search over 64-bit fingerprints, filed under four 16-bit keys';

-- The last column of an index is the fingerprint, all before it are scopes, compared with `=`. A type has one default
-- class, so bigint's serves both. Strategy 4 is `=`, support function 1 a hash that agrees with it, 32 bits wide.
CREATE OPERATOR FAMILY simhash_ops USING simhash;
CREATE OPERATOR CLASS simhash_ops DEFAULT FOR TYPE bigint USING simhash FAMILY simhash_ops AS
	OPERATOR 1 <@ (bigint, hamming_ball),
	OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 3 ~= (bigint, bigint),
	OPERATOR 4 pg_catalog.= (bigint, bigint),
	FUNCTION 1 pg_catalog.hashint8(bigint);
CREATE OPERATOR CLASS simhash_int4_ops DEFAULT FOR TYPE int USING simhash FAMILY simhash_ops AS
	OPERATOR 4 pg_catalog.= (int, int),
	FUNCTION 1 pg_catalog.hashint4(int);
CREATE OPERATOR CLASS simhash_int2_ops DEFAULT FOR TYPE smallint USING simhash FAMILY simhash_ops AS
	OPERATOR 4 pg_catalog.= (smallint, smallint),
	FUNCTION 1 pg_catalog.hashint2(smallint);
-- Equal integers have equal hashes, whatever their width.
ALTER OPERATOR FAMILY simhash_ops USING simhash ADD
	OPERATOR 4 pg_catalog.= (bigint, int),
	OPERATOR 4 pg_catalog.= (bigint, smallint),
	OPERATOR 4 pg_catalog.= (int, bigint),
	OPERATOR 4 pg_catalog.= (int, smallint),
	OPERATOR 4 pg_catalog.= (smallint, bigint),
	OPERATOR 4 pg_catalog.= (smallint, int);

CREATE OPERATOR CLASS simhash_oid_ops DEFAULT FOR TYPE oid USING simhash AS
	OPERATOR 4 pg_catalog.= (oid, oid),
	FUNCTION 1 pg_catalog.hashoid(oid);
CREATE OPERATOR CLASS simhash_uuid_ops DEFAULT FOR TYPE uuid USING simhash AS
	OPERATOR 4 pg_catalog.= (uuid, uuid),
	FUNCTION 1 pg_catalog.uuid_hash(uuid);
-- As the last column a text is filed under the fingerprint that support function 2 makes of it: the planner sees such an
-- index twice, as one on the column (strategies 4 and 5) and as one on the expression (1 to 3).
CREATE OPERATOR CLASS simhash_text_ops DEFAULT FOR TYPE text USING simhash AS
	OPERATOR 1 <@ (bigint, hamming_ball),
	OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 3 ~= (bigint, bigint),
	OPERATOR 4 pg_catalog.= (text, text),
	OPERATOR 4 pg_catalog.= (bigint, bigint),
	OPERATOR 5 ~= (text, text),
	FUNCTION 1 pg_catalog.hashtext(text),
	FUNCTION 1 (bigint, bigint) pg_catalog.hashint8(bigint),
	FUNCTION 2 simhash64(text, jsonb, text);
-- Trailing blanks count for no fingerprint, so that of the value is that of the text.
CREATE OPERATOR CLASS simhash_bpchar_ops DEFAULT FOR TYPE bpchar USING simhash AS
	OPERATOR 1 <@ (bigint, hamming_ball),
	OPERATOR 2 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
	OPERATOR 3 ~= (bigint, bigint),
	OPERATOR 4 pg_catalog.= (bpchar, bpchar),
	OPERATOR 4 pg_catalog.= (bigint, bigint),
	FUNCTION 1 pg_catalog.hashbpchar(bpchar),
	FUNCTION 1 (bigint, bigint) pg_catalog.hashint8(bigint),
	FUNCTION 2 simhash64(text, jsonb, text);
-- As the hash access method of the server hashes dates and booleans up to PostgreSQL 17.
CREATE OPERATOR CLASS simhash_date_ops DEFAULT FOR TYPE date USING simhash AS
	OPERATOR 4 pg_catalog.= (date, date),
	FUNCTION 1 pg_catalog.hashint4(int);
CREATE OPERATOR CLASS simhash_bool_ops DEFAULT FOR TYPE boolean USING simhash AS
	OPERATOR 4 pg_catalog.= (boolean, boolean),
	FUNCTION 1 pg_catalog.hashchar("char");
CREATE OPERATOR CLASS simhash_enum_ops DEFAULT FOR TYPE anyenum USING simhash AS
	OPERATOR 4 pg_catalog.= (anyenum, anyenum),
	FUNCTION 1 pg_catalog.hashenum(anyenum);

COMMENT ON OPERATOR FAMILY simhash_ops USING simhash IS
	'64-bit fingerprints under Hamming distance, and scopes of integers';
COMMENT ON OPERATOR CLASS simhash_ops USING simhash IS
	'64-bit fingerprints under Hamming distance, and scopes of bigint';
COMMENT ON OPERATOR CLASS simhash_int4_ops USING simhash IS 'scopes of integer';
COMMENT ON OPERATOR CLASS simhash_int2_ops USING simhash IS 'scopes of smallint';
COMMENT ON OPERATOR CLASS simhash_oid_ops USING simhash IS 'scopes of oid';
COMMENT ON OPERATOR FAMILY simhash_oid_ops USING simhash IS 'scopes of oid';
COMMENT ON OPERATOR CLASS simhash_uuid_ops USING simhash IS 'scopes of uuid';
COMMENT ON OPERATOR FAMILY simhash_uuid_ops USING simhash IS 'scopes of uuid';
COMMENT ON OPERATOR CLASS simhash_text_ops USING simhash IS 'texts by their fingerprints, and scopes of text and varchar';
COMMENT ON OPERATOR FAMILY simhash_text_ops USING simhash IS
	'texts by their fingerprints, and scopes of text and varchar';
COMMENT ON OPERATOR CLASS simhash_bpchar_ops USING simhash IS 'char(n) by its fingerprint, and scopes of char(n)';
COMMENT ON OPERATOR FAMILY simhash_bpchar_ops USING simhash IS
	'char(n) by its fingerprint, and scopes of char(n)';
COMMENT ON OPERATOR CLASS simhash_date_ops USING simhash IS 'scopes of date';
COMMENT ON OPERATOR FAMILY simhash_date_ops USING simhash IS 'scopes of date';
COMMENT ON OPERATOR CLASS simhash_bool_ops USING simhash IS 'scopes of boolean';
COMMENT ON OPERATOR FAMILY simhash_bool_ops USING simhash IS 'scopes of boolean';
COMMENT ON OPERATOR CLASS simhash_enum_ops USING simhash IS 'scopes of enumerated types';
COMMENT ON OPERATOR FAMILY simhash_enum_ops USING simhash IS 'scopes of enumerated types';

-- ---------------------------------------------------------------- pairs and clusters
-- They read the table with the caller's privileges and row security, and need no index. Not STRICT:
-- a NULL relation is an error, and of key_type only the type is used. A NULL radius is that of texts or of hashes. PARALLEL
-- RESTRICTED, as the server's table_to_xml: the query they run may read temporary tables. checked_by is a
-- regproc, which the server looks up when the call is parsed: a view depends on the function.

-- The fingerprint of a text for the queries of these functions, whatever the schema of the extension.
CREATE FUNCTION simhash_catalog.text_fingerprint(text text, options jsonb DEFAULT NULL, preset text DEFAULT NULL)
RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text64';
COMMENT ON FUNCTION simhash_catalog.text_fingerprint(text, jsonb, text) IS
	'the function simhash64 of a text, for queries of functions';

CREATE FUNCTION simhash_catalog.named_columns(relation regclass, list text) RETURNS SETOF text
LANGUAGE c VOLATILE ROWS 3 AS 'MODULE_PATHNAME', 'simhash_named_columns';
COMMENT ON FUNCTION simhash_catalog.named_columns(regclass, text) IS
	'the columns in a list with commas; without one the column with the longest texts, which a NOTICE names';

-- key and columns are of type text, which literals and typed parameters fit best: so a call whose second argument has
-- another type is one of the second form, with the type of the keys there. All other arguments stand in the same places.
CREATE FUNCTION simhash_pairs(
	relation regclass, key text DEFAULT NULL, columns text DEFAULT NULL, radius int DEFAULT NULL, within text DEFAULT NULL,
	text name DEFAULT NULL, min_jaccard float8 DEFAULT NULL, checked_by regproc DEFAULT NULL,
	across text DEFAULT NULL,
	OUT a bigint, OUT b bigint, OUT distance int
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_pairs';
COMMENT ON FUNCTION simhash_pairs(regclass, text, text, int, text, name, float8, regproc, text) IS
	'every pair of near-duplicate rows, once, with a < b: their texts, or the fingerprints in a column, differ in at most '
	'radius bits; with '
	'within, names of columns, only pairs that are equal in all of them; with across, only the others; with text, the name of a column, '
	'only those whose texts are the same by simhash_same, or have a Jaccard similarity of at least min_jaccard; with '
	'checked_by, only those for which that function of two texts or two rows returns true';

CREATE FUNCTION simhash_pairs(
	relation regclass, key_type anyelement, columns text DEFAULT NULL, radius int DEFAULT NULL, within text DEFAULT NULL,
	text name DEFAULT NULL, min_jaccard float8 DEFAULT NULL, checked_by regproc DEFAULT NULL,
	across text DEFAULT NULL, key text DEFAULT NULL,
	OUT a anyelement, OUT b anyelement, OUT distance int
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_pairs';
COMMENT ON FUNCTION simhash_pairs(regclass, anyelement, text, int, text, name, float8, regproc, text, text) IS
	'the same for keys that are not integers; key_type is NULL::uuid or the like, and only its type is used';

CREATE FUNCTION simhash_pairs_between(
	relation_a regclass, key_a text, columns_a text,
	relation_b regclass, key_b text, columns_b text,
	radius int DEFAULT NULL, within text DEFAULT NULL,
	text_a name DEFAULT NULL, text_b name DEFAULT NULL, min_jaccard float8 DEFAULT NULL, checked_by regproc DEFAULT NULL,
	across text DEFAULT NULL,
	OUT a bigint, OUT b bigint, OUT distance int
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_pairs_between';
COMMENT ON FUNCTION simhash_pairs_between(
	regclass, text, text, regclass, text, text, int, text, name, name, float8, regproc, text
) IS
	'every pair of a row of one relation and a row of another whose texts or fingerprints differ in at most '
	'radius bits; within, across, texts, min_jaccard and checked_by as in simhash_pairs';

-- anyelement and anycompatible are of two families, and so of two types.
CREATE FUNCTION simhash_pairs_between(
	relation_a regclass, key_type_a anyelement, columns_a text,
	relation_b regclass, key_type_b anycompatible, columns_b text,
	radius int DEFAULT NULL, within text DEFAULT NULL,
	text_a name DEFAULT NULL, text_b name DEFAULT NULL, min_jaccard float8 DEFAULT NULL, checked_by regproc DEFAULT NULL,
	across text DEFAULT NULL, key_a text DEFAULT NULL, key_b text DEFAULT NULL,
	OUT a anyelement, OUT b anycompatible, OUT distance int
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_pairs_between';
COMMENT ON FUNCTION simhash_pairs_between(
	regclass, anyelement, text, regclass, anycompatible, text, int, text, name, name, float8, regproc, text, text, text
) IS
	'the same for keys that are not integers; key_type_a and key_type_b are NULL::uuid or the like, and only their types '
	'are used';

CREATE FUNCTION simhash_clusters(
	relation regclass, key text DEFAULT NULL, columns text DEFAULT NULL, radius int DEFAULT NULL, method text DEFAULT NULL,
	text name DEFAULT NULL, min_jaccard float8 DEFAULT NULL, within text DEFAULT NULL,
	checked_by regproc DEFAULT NULL, across text DEFAULT NULL,
	OUT cluster_id bigint, OUT key bigint, OUT size bigint, OUT representative bigint,
	OUT distance int, OUT jaccard float8
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_clusters';
COMMENT ON FUNCTION simhash_clusters(regclass, text, text, int, text, name, float8, text, regproc, text) IS
	'groups of near-duplicate rows; method is components, star or leader; groups of one row '
	'are left out; within, across, text, min_jaccard and checked_by say which pairs count, as in '
	'simhash_pairs; if pairs are checked, the default method is star instead of components';

CREATE FUNCTION simhash_clusters(
	relation regclass, key_type anyelement, columns text DEFAULT NULL, radius int DEFAULT NULL, method text DEFAULT NULL,
	text name DEFAULT NULL, min_jaccard float8 DEFAULT NULL, within text DEFAULT NULL,
	checked_by regproc DEFAULT NULL, across text DEFAULT NULL, key text DEFAULT NULL,
	OUT cluster_id anyelement, OUT key anyelement, OUT size bigint, OUT representative anyelement,
	OUT distance int, OUT jaccard float8
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_clusters';
COMMENT ON FUNCTION simhash_clusters(
	regclass, anyelement, text, int, text, name, float8, text, regproc, text, text
) IS
	'the same for keys that are not integers; key_type is NULL::uuid or the like, and only its type is used';

CREATE FUNCTION simhash_catalog.duplicate_groups(
	relation regclass, keys text[], numbered text, columns text[], within text, across text,
	OUT cluster bigint, OUT number bigint, OUT size bigint, OUT key text
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_duplicate_groups';
COMMENT ON FUNCTION simhash_catalog.duplicate_groups(regclass, text[], text, text[], text, text) IS
	'the groups of simhash_duplicates: rows are numbered by their keys, the first of a cluster has its number; a key of '
	'several columns is a row, as text; with numbered, an ORDER BY of the rows r, the key is the place in that order';

CREATE FUNCTION simhash_catalog.ordering(relation regclass, list text) RETURNS text
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_ordering';
COMMENT ON FUNCTION simhash_catalog.ordering(regclass, text) IS
	'an ORDER BY of the rows r as SQL text, from a list of columns with ASC, DESC, NULLS FIRST and NULLS LAST';

CREATE FUNCTION simhash_catalog.duplicates(
	relation regclass, columns text, within text, first_by text, across text, named text,
	OUT "group" bigint, OUT size bigint, OUT key text, OUT stays boolean, OUT original text, OUT differs text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE COST 100000 ROWS 1000 SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
	texts text[];
	numbered text;
	rows_of text := format('%s AS r', relation);
	-- The key of a row r as SQL text, its text, and what its group is found by.
	value text;
	shown text;
	found_by text;
	twice text;
	-- A ctid, or a key of one table, tells rows of several tables apart no more.
	has_heirs CONSTANT boolean := EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = relation);
	-- The primary key; of a table without one, where the row is.
	own text[] := ARRAY(
		SELECT a.attname FROM pg_index AS i, unnest(i.indkey) WITH ORDINALITY AS k (number, place), pg_attribute AS a
		WHERE i.indrelid = relation AND i.indisprimary AND a.attrelid = relation AND a.attnum = k.number
			AND k.place <= i.indnkeyatts
		ORDER BY k.place);
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF named = 'ctid' THEN
		own := '{}';
	ELSIF named IS NOT NULL THEN
		own := ARRAY(SELECT simhash_catalog.named_columns(relation, named));
	END IF;
	texts := ARRAY(SELECT simhash_catalog.named_columns(relation, columns));
	IF texts = own AND within IS NOT NULL THEN
		RAISE EXCEPTION 'column "%" is the key, not the text', array_to_string(own, ', ') USING ERRCODE = 'invalid_parameter_value',
			HINT = format('SELECT * FROM simhash_duplicates(%L, %L);', relation, within);
	ELSIF own = '{}' AND (has_heirs OR (SELECT c.relkind NOT IN ('r', 'm') FROM pg_class AS c WHERE c.oid = relation)) THEN
		RAISE EXCEPTION '%', format(CASE named WHEN 'ctid' THEN 'a ctid does not tell rows of "%s" apart' ELSE '"%s" has no primary key' END, relation)
			USING ERRCODE = 'wrong_object_type',
			HINT = format('Name the column that tells rows apart: SELECT * FROM simhash_duplicates(%L, %L, key => ''...'');',
				relation, array_to_string(texts, ','));
	ELSIF own = '{}' THEN
		own := '{ctid}';
	END IF;
	-- As the type's output function writes it, which a cast of some types does not.
	value := (SELECT format(CASE count(*) WHEN 1 THEN '%s' ELSE 'ROW(%s)' END, string_agg(format('r.%I', name), ', ' ORDER BY place))
		FROM unnest(own) WITH ORDINALITY AS n (name, place));
	shown := format('format(''%%s'', %s)', value);
	found_by := shown;
	-- A DELETE by a key deletes all rows that have it.
	IF named <> 'ctid' OR has_heirs AND (SELECT c.relkind = 'r' FROM pg_class AS c WHERE c.oid = relation) THEN
		EXECUTE format('SELECT %s FROM %s AS r WHERE %s IS NOT NULL GROUP BY 1 HAVING count(*) > 1 LIMIT 1', shown, relation, value) INTO twice;
		IF twice IS NOT NULL THEN
			RAISE EXCEPTION 'several rows of "%" have the key %', relation, quote_literal(twice) USING ERRCODE = 'cardinality_violation',
				HINT = 'Name columns that tell rows apart: key => ''...''.';
		END IF;
	END IF;
	IF first_by IS NOT NULL THEN
		numbered := simhash_catalog.ordering(relation, first_by)
			|| (SELECT string_agg(format(', r.%I', name), '' ORDER BY place) FROM unnest(own) WITH ORDINALITY AS n (name, place));
		rows_of := format('(SELECT %sr.*, row_number() OVER (ORDER BY %s) AS "simhash_dedup place" FROM %s AS r) AS r',
			CASE own WHEN '{ctid}' THEN 'r.ctid, ' ELSE '' END, numbered, relation);
		found_by := 'r."simhash_dedup place"::text';
	END IF;
	RETURN QUERY EXECUTE format(
		'SELECT dense_rank() OVER (ORDER BY g.size DESC, g.cluster), g.size, g.own, g.number = g.cluster, g.original,
			regexp_replace(CASE WHEN g.number = g.cluster THEN left(g.text, 80) || substr('' ...'', 1, 4 * (length(g.text) > 80)::int)
				WHEN g.text = g.first THEN '''' ELSE @extschema@.simhash_diff(g.first, g.text, 2) END, ''\s+'', '' '', ''g'')
		FROM (
			SELECT c.cluster, c.number, c.size, %s AS own, %s AS text, first_value(%1$s) OVER w AS original, first_value(%2$s) OVER w AS first
			FROM simhash_catalog.duplicate_groups($1, $2, $3, $4, $5, $6) AS c JOIN %s ON %s = c.key
			WINDOW w AS (PARTITION BY c.cluster ORDER BY c.number)) AS g
		ORDER BY 1, g.number',
		shown,
		(SELECT CASE count(*) WHEN 1 THEN min(text) ELSE 'concat_ws(chr(10), ' || string_agg(format('nullif(%s, '''')', text), ', ' ORDER BY place) || ')' END
			FROM unnest(texts) WITH ORDINALITY AS n (name, place), format('r.%I::text', name) AS text),
		rows_of, found_by)
	USING relation, own, numbered, texts, within, across;
END
$function$;
COMMENT ON FUNCTION simhash_catalog.duplicates(regclass, text, text, text, text, text) IS 'what simhash_duplicates returns';

-- In SQL, since an argument and a column are called key.
CREATE FUNCTION simhash_duplicates(
	relation regclass, columns text DEFAULT NULL, within text DEFAULT NULL, first_by text DEFAULT NULL,
	across text DEFAULT NULL, key text DEFAULT NULL,
	OUT "group" bigint, OUT size bigint, OUT key text, OUT stays boolean, OUT original text, OUT differs text
) RETURNS SETOF record
LANGUAGE sql STABLE COST 100000 ROWS 1000 AS 'SELECT * FROM simhash_catalog.duplicates($1, $2, $3, $4, $5, $6)';
COMMENT ON FUNCTION simhash_duplicates(regclass, text, text, text, text, text) IS
	'near-duplicate rows of a table, in groups: the size, the key as text, whether the row stays, the key of the one that does; differs shows '
	'how its text differs from that one, of that one it has the first 80 characters; columns names those of the text, within those in which '
	'rows of a group are equal, across those in which they differ from the row that stays, first_by what comes first, key what '
	'tells rows apart';

CREATE FUNCTION simhash_catalog.review_script() RETURNS text
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'simhash_review_script';
COMMENT ON FUNCTION simhash_catalog.review_script() IS 'the review page as a script for psql, that of this server';

-- VOLATILE: it draws at random. Keys of any type come back as text.
CREATE FUNCTION simhash_radius_report(
	relation regclass, key text DEFAULT NULL, columns text DEFAULT NULL, text name DEFAULT NULL, max_radius int DEFAULT 12,
	sample int DEFAULT 2000, checked_by regproc DEFAULT NULL, within text DEFAULT NULL, across text DEFAULT NULL,
	OUT distance int, OUT pairs bigint, OUT pairs_low bigint, OUT pairs_high bigint,
	OUT compared int, OUT jaccard_mean float8, OUT jaccard_p5 float8, OUT jaccard_median float8,
	OUT low_example text[], OUT median_example text[], OUT passing float8
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL RESTRICTED COST 100000 ROWS 13 AS 'MODULE_PATHNAME', 'simhash_radius_report';
COMMENT ON FUNCTION simhash_radius_report(regclass, text, text, name, int, int, regproc, text, text) IS
	'for each distance up to max_radius the number of pairs, estimated from a sample of rows, with a 95 % '
	'interval; and how similar the texts of up to 200 of them are, for the choice of a radius, and which share '
	'of these passes checked_by, a function as in simhash_pairs; within and across as there';

-- Nothing is stored here. The trigger fires at the end of statements that change rows of users
-- (src/clusters/kept/pending.rs).
CREATE TABLE simhash_catalog.statement_end ();
COMMENT ON TABLE simhash_catalog.statement_end IS
	'empty: its trigger answers the rows of a statement for simhash_catalog.maintain_clusters';
CREATE FUNCTION simhash_catalog.answer_rows() RETURNS trigger
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_answer_rows';
COMMENT ON FUNCTION simhash_catalog.answer_rows() IS
	'trigger: answers the rows that simhash_catalog.maintain_clusters has put off until the end of the statement';
CREATE TRIGGER answer_rows AFTER DELETE ON simhash_catalog.statement_end
	FOR EACH STATEMENT EXECUTE FUNCTION simhash_catalog.answer_rows();
ALTER TABLE simhash_catalog.statement_end ENABLE ALWAYS TRIGGER answer_rows;

-- ---------------------------------------------------------------- kept clusters
-- What a kept table is, its triggers say by their arguments: nothing else is stored.

CREATE FUNCTION simhash_catalog.maintain_clusters() RETURNS trigger
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_maintain_clusters';
COMMENT ON FUNCTION simhash_catalog.maintain_clusters() IS
	'AFTER trigger, for each row (TRUNCATE: for each statement), that keeps a table (key, cluster_id, lasting_id) of clusters '
	'current, or with notes= notes which rows have changed for simhash_refresh_clusters; simhash_keep_clusters makes '
	'it; arguments clusters=, key=, fingerprint=, radius=, within=, across=, text=, min_jaccard=, checked_by=, decisions=, '
	'log=, notes=, table=';

CREATE FUNCTION simhash_refresh_clusters(clusters regclass, nowait boolean DEFAULT false) RETURNS bigint
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_refresh_clusters';
COMMENT ON FUNCTION simhash_refresh_clusters(regclass, boolean) IS
	'brings a table of clusters that simhash_keep_clusters made up to date, and returns how many of its rows have '
	'changed; with nowait an error instead of a wait for another call';

CREATE FUNCTION simhash_judge_cluster(
	clusters regclass, lasting_id bigint, same boolean DEFAULT NULL, size bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_judge_cluster';
COMMENT ON FUNCTION simhash_judge_cluster(regclass, bigint, boolean, bigint) IS
	'notes that somebody has looked at a kept cluster; with same, true or false, decides so about its rows; returns how '
	'many decisions have changed; an error if the cluster does not have size rows';

CREATE FUNCTION simhash_undo_merge(clusters regclass, nr bigint) RETURNS bigint
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_undo_merge';
COMMENT ON FUNCTION simhash_undo_merge(regclass, bigint) IS
	'decides that the rows which came to a kept cluster by line nr of the log differ from those that were there; '
	'returns how many decisions have changed';

CREATE FUNCTION simhash_unjudged_clusters(clusters regclass, OUT lasting_id bigint, OUT size bigint) RETURNS SETOF record
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'simhash_unjudged_clusters';
COMMENT ON FUNCTION simhash_unjudged_clusters(regclass) IS
	'the kept clusters with rows that nobody has looked at together, by simhash_judge_cluster, or judged the same, the '
	'largest first';

CREATE FUNCTION simhash_catalog.clusters_among(
	relation regclass, key_type anyelement, columns text, radius int, method text, text name,
	min_jaccard float8, within text[], checked_by regproc, across text[], key text, decisions regclass, keys anyarray,
	OUT cluster_id anyelement, OUT key anyelement, OUT size bigint, OUT representative anyelement,
	OUT distance int, OUT jaccard float8
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_clusters_among';
COMMENT ON FUNCTION simhash_catalog.clusters_among(
	regclass, anyelement, text, int, text, name, float8, text[], regproc, text[], text, regclass, anyarray
) IS
	'as simhash_clusters, of the rows with these keys; of all rows if keys is NULL; pairs that the table of '
	'decisions says are different do not count';

CREATE FUNCTION simhash_catalog.components(a anyarray, b anyarray, OUT key anyelement, OUT cluster_id anyelement)
RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'simhash_components_of_any';
COMMENT ON FUNCTION simhash_catalog.components(anyarray, anyarray) IS
	'as simhash_components, of keys of any type with an order';

CREATE FUNCTION simhash_catalog.kept_by(
	clusters regclass, OUT relation regclass, OUT name text, OUT arguments text[], OUT notes text
) RETURNS SETOF record
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'simhash_kept_by';
COMMENT ON FUNCTION simhash_catalog.kept_by(regclass) IS
	'the triggers of the extension whose arguments name a table of clusters';

CREATE FUNCTION simhash_catalog.key_type(relation regclass, key name) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	WITH RECURSIVE below AS (
		SELECT a.atttypid AS type, a.atttypmod AS modifier FROM pg_attribute AS a WHERE a.attrelid = $1 AND a.attname = $2
		UNION ALL SELECT t.typbasetype, t.typtypmod FROM below AS b JOIN pg_type AS t ON t.oid = b.type WHERE t.typtype = 'd'
	) SELECT format_type(b.type, b.modifier) FROM below AS b JOIN pg_type AS t ON t.oid = b.type WHERE t.typtype <> 'd'
$$;
COMMENT ON FUNCTION simhash_catalog.key_type(regclass, name) IS
	'the type of a column, below domains, as SQL writes it';

CREATE FUNCTION simhash_catalog.check_decisions(decisions regclass, key_type text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF $1 IS NOT NULL AND ((SELECT count(*) FROM pg_attribute AS a WHERE a.attrelid = $1::oid AND NOT a.attisdropped
		AND a.attname = 'same' AND a.atttypid = 'boolean'::regtype) <> 1
		OR simhash_catalog.key_type($1, 'a')::regtype IS DISTINCT FROM $2::regtype
		OR simhash_catalog.key_type($1, 'b')::regtype IS DISTINCT FROM $2::regtype) THEN
		RAISE EXCEPTION 'table "%" is not one of decisions', $1 USING ERRCODE = 'undefined_column',
			HINT = format('A table that would do: CREATE TABLE decision (a %1$s, b %1$s, same boolean NOT NULL, PRIMARY KEY (a, b));', $2);
	END IF;
END $$;
COMMENT ON FUNCTION simhash_catalog.check_decisions(regclass, text) IS
	'raises an error unless a table has decisions about keys of this type';

CREATE FUNCTION simhash_catalog.has_class(type regtype, method name) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT EXISTS (
		SELECT FROM pg_opclass AS o JOIN pg_am AS m ON m.oid = o.opcmethod JOIN pg_type AS y ON y.oid = type::oid
		WHERE m.amname = method AND o.opcdefault AND (o.opcintype = y.oid
			OR y.oid = 'varchar'::regtype AND o.opcintype = 'text'::regtype
			OR o.opcintype = (CASE y.typtype WHEN 'e' THEN 'anyenum' WHEN 'r' THEN 'anyrange' WHEN 'm' THEN 'anymultirange'
				WHEN 'c' THEN 'record' WHEN 'b' THEN CASE y.typcategory WHEN 'A' THEN 'anyarray' END END)::regtype))
$$;
COMMENT ON FUNCTION simhash_catalog.has_class(regtype, name) IS
	'whether the access method has a default operator class for a type';

CREATE FUNCTION simhash_catalog.check_kept(
	relation regclass, key name, fingerprint name, radius int, within text[], refresh text, text name, min_jaccard float8,
	checked_by regproc, decisions regclass, across text[]
) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	computed text;
	key_type text;
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF $6 NOT IN ('at once', 'manual') THEN
		RAISE EXCEPTION 'refresh must be "at once" or "manual", not "%"', $6 USING ERRCODE = 'invalid_parameter_value';
	ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'simhash_keep_clusters cannot run in a transaction of isolation level %',
			current_setting('transaction_isolation') USING ERRCODE = 'invalid_transaction_state',
			HINT = 'It must see what is committed by now: use READ COMMITTED.';
	END IF;
	PERFORM simhash_catalog.check_column($1, $2);
	IF (SELECT c.relkind NOT IN ('r', 'p') FROM pg_class AS c WHERE c.oid = $1::oid) THEN
		RAISE EXCEPTION '"%" is not a table', $1 USING ERRCODE = 'wrong_object_type';
	ELSIF (SELECT c.relkind = 'r' FROM pg_class AS c WHERE c.oid = $1::oid)
		AND EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = $1::oid) THEN
		RAISE EXCEPTION 'tables inherit from "%"', $1 USING ERRCODE = 'feature_not_supported',
			DETAIL = 'Triggers of a table do not fire for rows of tables that inherit from it.';
	END IF;
	SELECT a.attname INTO computed FROM pg_attribute AS a
	WHERE a.attrelid = $1::oid AND a.attgenerated = 'v' AND a.attname = ANY ($5 || $11 || ARRAY[$2, $3, $7]::text[]) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" is a generated column: triggers do not see its value', computed
			USING ERRCODE = 'invalid_column_reference', HINT = 'Make it a stored one: GENERATED ALWAYS AS (...) STORED.';
	END IF;
	IF $2 = ANY ($11) THEN
		RAISE EXCEPTION 'arguments "across" and "key" of simhash_keep_clusters both name column "%"', $2
			USING ERRCODE = 'invalid_parameter_value', HINT = 'All rows differ there: name other columns.';
	END IF;
	SELECT a.attname INTO computed FROM pg_attribute AS a
	WHERE a.attrelid = $1::oid AND a.attname = ANY ($5)
		AND NOT simhash_catalog.has_class(simhash_catalog.key_type($1, a.attname)::regtype, 'hash') LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'type % of column "%" has no hash function', simhash_catalog.key_type($1, computed), computed
			USING ERRCODE = 'undefined_function', HINT = 'Name another column, or a stored generated one that computes its text.';
	END IF;
	key_type := simhash_catalog.key_type($1, $2);
	IF (SELECT t.typtype = 'c' OR t.typcategory = 'A' FROM pg_type AS t WHERE t.oid = key_type::regtype) THEN
		RAISE EXCEPTION 'keys of type % cannot be kept', key_type USING ERRCODE = 'feature_not_supported';
	END IF;
	PERFORM simhash_catalog.check_decisions($10, key_type);
	IF NOT pg_has_role((SELECT c.relowner FROM pg_class AS c WHERE c.oid = $10::oid),
		(SELECT c.relowner FROM pg_class AS c WHERE c.oid = $1::oid), 'USAGE') THEN
		RAISE EXCEPTION 'table "%" does not belong to the owner of table "%"', $10, $1 USING ERRCODE = 'insufficient_privilege';
	END IF;
	-- All else is checked as by simhash_clusters.
	EXECUTE format('SELECT FROM simhash_catalog.clusters_among($1, NULL::%1$s, $3, $4, ''components'', $5, $6, $7, '
		'$8, $10, $2, $9, ARRAY[]::%1$s[])', key_type)
	USING $1, $2, $3, $4, $7, $8, $5, $9, $10, $11;
END $$;
COMMENT ON FUNCTION simhash_catalog.check_kept(
	regclass, name, name, int, text[], text, name, float8, regproc, regclass, text[]
) IS
	'raises an error unless simhash_keep_clusters can keep clusters of these columns';

CREATE FUNCTION simhash_catalog.make_kept(kind text, name text, columns text, owner oid) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF to_regclass($2) IS NOT NULL THEN
		IF (SELECT c.relowner <> $4 FROM pg_class AS c WHERE c.oid = to_regclass($2)::oid) THEN
			RAISE EXCEPTION 'table "%" belongs to another owner', $2 USING ERRCODE = 'insufficient_privilege',
				HINT = 'Name another table with clusters => ''...''.';
		END IF;
		RETURN false;
	END IF;
	EXECUTE format('CREATE %sTABLE %s (%s) USING heap', $1, $2, $3);
	IF $4 <> current_user::regrole::oid THEN
		EXECUTE format('ALTER TABLE %s OWNER TO %s', $2, $4::regrole);
	END IF;
	RAISE NOTICE 'created table %', $2;
	RETURN true;
END $$;
COMMENT ON FUNCTION simhash_catalog.make_kept(text, text, text, oid) IS
	'makes a table for simhash_keep_clusters, unless there is one of that name';

CREATE FUNCTION simhash_catalog.make_entries(kind text, made text, logged text, key_type text, owner oid, argument text) RETURNS regclass
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of regclass;
	one record;
	is_new boolean;
	last bigint;
BEGIN
	PERFORM simhash_catalog.hide_context();
	is_new := simhash_catalog.make_kept($1, $2, format('key %1$s PRIMARY KEY, cluster_id %1$s NOT NULL, '
		'lasting_id bigint GENERATED BY DEFAULT AS IDENTITY, judged_at timestamptz', $4), $5);
	of := $2::regclass;
	IF (SELECT count(*) FROM pg_attribute AS a WHERE a.attrelid = of AND NOT a.attisdropped
		AND (a.attname IN ('key', 'cluster_id') OR a.attname = 'lasting_id' AND a.atttypid = 'bigint'::regtype
			OR a.attname = 'judged_at' AND a.atttypid = 'timestamptz'::regtype)) <> 4 THEN
		RAISE EXCEPTION 'table "%" is not one of clusters', $2 USING ERRCODE = 'undefined_column',
			HINT = format('It has other columns than key, cluster_id, lasting_id and judged_at: name another table with %s => ''...''.', $6);
	END IF;
	FOR one IN SELECT c.name FROM unnest(ARRAY['cluster_id', 'lasting_id']) AS c (name)
		WHERE NOT EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
			WHERE i.indrelid = of AND i.indisvalid AND a.attname = c.name) LOOP
		EXECUTE format('CREATE INDEX ON %s (%I)', $2, one.name);
	END LOOP;
	IF $3 IS NOT NULL THEN
		PERFORM simhash_catalog.make_kept($1, $3, format('nr bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, '
			'at timestamptz NOT NULL DEFAULT clock_timestamp(), event text NOT NULL, keys %1$s[] NOT NULL, '
			'from_id bigint, to_id bigint, decision %1$s[]', $4), $5);
		IF (SELECT count(*) FROM pg_attribute AS a WHERE a.attrelid = to_regclass($3)::oid AND NOT a.attisdropped
			AND a.attname IN ('nr', 'event', 'keys', 'from_id', 'to_id', 'decision')) <> 6 THEN
			RAISE EXCEPTION 'table "%" is not a log', $3 USING ERRCODE = 'undefined_column',
				HINT = 'It has other columns: name another table with log => ''...''.';
		ELSIF EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgfoid = 'simhash_catalog.maintain_clusters'::regproc
			AND position(convert_to('log=' || $3, getdatabaseencoding()) || '\000' IN t.tgargs) > 0
			AND position(convert_to('clusters=' || $2, getdatabaseencoding()) || '\000' IN t.tgargs) = 0) THEN
			RAISE EXCEPTION 'table "%" is the log of other clusters', $3 USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Name another table with log => ''...''.';
		END IF;
		-- Ids of new clusters go on from those of the lines that are there: a line means one cluster.
		EXECUTE format('SELECT max(greatest(from_id, to_id)) FROM %s', $3) INTO last;
		IF is_new AND last IS NOT NULL THEN
			EXECUTE format('ALTER TABLE %s ALTER lasting_id RESTART WITH %s', $2, last + 1);
		END IF;
	END IF;
	RETURN of;
END $$;
COMMENT ON FUNCTION simhash_catalog.make_entries(text, text, text, text, oid, text) IS
	'makes a table of clusters and its log, or checks those that there are';

CREATE FUNCTION simhash_catalog.name_beside(relation regclass, argument text, name text) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	parts text[];
BEGIN
	PERFORM simhash_catalog.hide_context();
	parts := parse_ident($3);
	IF cardinality(parts) > 2 THEN
		RAISE EXCEPTION '% must be the name of a table, not "%"', $2, $3 USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Write it as in SQL: table or schema.table.';
	END IF;
	RETURN CASE cardinality(parts) WHEN 1 THEN ARRAY[(SELECT n.nspname FROM pg_namespace AS n JOIN pg_class AS c
		ON c.relnamespace = n.oid WHERE c.oid = $1::oid)::text] END || parts;
END $$;
COMMENT ON FUNCTION simhash_catalog.name_beside(regclass, text, text) IS
	'schema and name of a table that an argument names, in the schema of the relation if it says none';

CREATE FUNCTION simhash_catalog.is_text(relation regclass, name name) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT t.typcategory = 'S' AND t.typlen = -1 FROM pg_type AS t WHERE t.oid = simhash_catalog.key_type($1, $2)::regtype
$$;
COMMENT ON FUNCTION simhash_catalog.is_text(regclass, name) IS 'whether a column has texts';

CREATE FUNCTION simhash_keep_clusters(
	relation regclass, key name DEFAULT NULL, fingerprint name DEFAULT NULL, radius int DEFAULT NULL, within text DEFAULT NULL,
	clusters text DEFAULT NULL, refresh text DEFAULT 'at once', text name DEFAULT NULL, min_jaccard float8 DEFAULT NULL,
	checked_by regproc DEFAULT NULL, decisions regclass DEFAULT NULL, log text DEFAULT NULL,
	across text DEFAULT NULL
) RETURNS regclass
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
DECLARE
	at_once CONSTANT boolean := $7 = 'at once';
	-- Whether the hashes have more than 64 bits.
	in_parts boolean;
	-- The extension's schema.
	here text;
	-- Of the table: its persistence as CREATE TABLE says it, and the type of its keys.
	kind text;
	key_type text;
	owner oid;
	parts text[];
	made text;
	notes text;
	logged text;
	wanted text[];
	of regclass;
	one record;
	scope text[];
	apart text[];
BEGIN
	PERFORM simhash_catalog.hide_context();
	SELECT format('%I', n.nspname) INTO here
	FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'simhash_dedup';
	SELECT a.name INTO made FROM (VALUES ('relation', $1 IS NULL), ('refresh', $7 IS NULL)) AS a (name, is_null)
	WHERE a.is_null LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'argument "%" of simhash_keep_clusters must not be null', made USING ERRCODE = 'null_value_not_allowed';
	END IF;
	scope := ARRAY(SELECT simhash_catalog.named_columns($1, within) WHERE within IS NOT NULL);
	apart := ARRAY(SELECT simhash_catalog.named_columns($1, across) WHERE across IS NOT NULL);
	-- The defaults of simhash_clusters.
	IF $3 IS NULL AND $8 IS NULL AND simhash_catalog.is_text($1, $2) AND NOT EXISTS (
		SELECT FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = $1 AND i.indisprimary AND a.attname = $2) THEN
		fingerprint := $2;
		key := NULL;
	END IF;
	fingerprint := coalesce($3, $8, (SELECT simhash_catalog.named_columns($1, NULL) LIMIT 1));
	IF $2 IS NULL THEN
		SELECT a.attname INTO key FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = $1 AND i.indisprimary AND i.indnkeyatts = 1;
		IF NOT FOUND THEN
			RAISE EXCEPTION '"%" has no primary key of one column', $1 USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name a column that tells rows apart, as argument "key" of simhash_keep_clusters.';
		END IF;
	END IF;
	IF simhash_catalog.is_text($1, $3) THEN
		text := coalesce($8, $3);
	END IF;
	in_parts := simhash_catalog.key_type($1, $3) = 'bigint[]';
	radius := coalesce($4, CASE WHEN $8 IS NULL THEN 3 ELSE 12 END);
	IF $8 IS NOT NULL AND $9 IS NULL AND $10 IS NULL THEN
		checked_by := (here || '.simhash_same(text, text)')::regprocedure;
	END IF;
	PERFORM simhash_catalog.check_kept($1, $2, $3, $4, scope, $7, $8, $9, $10, $11, apart);
	SELECT CASE c.relpersistence WHEN 't' THEN 'TEMPORARY ' WHEN 'u' THEN 'UNLOGGED ' ELSE '' END,
		simhash_catalog.key_type($1, $2), c.relowner,
		simhash_catalog.name_beside($1, 'clusters', coalesce($6, format('%I', c.relname || '_cluster')))
	INTO kind, key_type, owner, parts FROM pg_class AS c WHERE c.oid = $1::oid;
	IF octet_length(parts[2]) > 53 THEN
		RAISE EXCEPTION 'the name of table of clusters "%" is too long', parts[2] USING ERRCODE = 'name_too_long',
			HINT = 'Names of at most 53 bytes leave room for those of triggers: give one with clusters => ''...''.';
	END IF;
	made := format('%I.%I', parts[1], parts[2]);
	notes := format('%I.%I', parts[1], parts[2] || '_note');
	logged := (SELECT format('%I.%I', l[1], l[2]) FROM simhash_catalog.name_beside($1, 'log', $12) AS l WHERE $12 IS NOT NULL);
	wanted := ARRAY['clusters=' || made, 'table=' || (SELECT format('%I.%I', n.nspname, c.relname)
			FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $1::oid), 'key=' || $2, 'fingerprint=' || $3, 'radius=' || $4]
		|| CASE WHEN NOT at_once THEN ARRAY['notes=' || notes] END
		|| (SELECT array_agg(o.name || o.columns ORDER BY o.name DESC) FROM (
			SELECT o.name, string_agg(format('%I', c.name), ',' ORDER BY c.place) AS columns
			FROM (VALUES ('within=', scope), ('across=', apart)) AS o (name, columns), unnest(o.columns) WITH ORDINALITY AS c (name, place)
			GROUP BY o.name) AS o)
		|| CASE WHEN $8 IS NOT NULL THEN ARRAY['text=' || $8] END
		|| CASE WHEN $9 IS NOT NULL AND $10 IS NULL THEN ARRAY['min_jaccard=' || $9] END
		|| (SELECT ARRAY['checked_by=' || format('%I.%I', n.nspname, p.proname)]
			FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE p.oid = $10::oid)
		|| (SELECT ARRAY['decisions=' || format('%I.%I', n.nspname, c.relname)]
			FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $11::oid)
		|| CASE WHEN logged IS NOT NULL THEN ARRAY['log=' || logged] END;
	of := to_regclass(made);
	SELECT k.relation, k.name INTO one FROM simhash_catalog.kept_by(of) AS k
	WHERE k.arguments <> wanted LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'trigger "%" of table "%" keeps the clusters of "%" otherwise', one.name, one.relation, made
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = format('Call simhash_drop_clusters(%L, triggers_only => true) first, or name another table with '
					'clusters => ''...''.', made);
	END IF;
	-- Those of a table that had this name before.
	FOR one IN SELECT k.relation, k.name FROM simhash_catalog.kept_by(of) AS k
		WHERE k.relation <> $1 AND k.relation IS DISTINCT FROM $11 LOOP
		EXECUTE format('DROP TRIGGER %I ON %s', one.name, one.relation);
		RAISE NOTICE 'dropped trigger % on table %', one.name, one.relation;
	END LOOP;
	of := simhash_catalog.make_entries(kind, made, logged, key_type, owner, 'clusters');
	-- A publication of all tables takes only deletions that say which row has gone.
	IF NOT at_once AND simhash_catalog.make_kept(kind, notes, 'key ' || key_type, owner) THEN
		EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', notes);
	END IF;
	FOR one IN SELECT e.name, e.on_table, e.event, e.type FROM (VALUES
			(parts[2] || '_keep', $1, 'INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW', 29),
			(parts[2] || '_truncate', $1, 'TRUNCATE ON %s FOR EACH STATEMENT', 32),
			(parts[2] || '_decide', $11, 'INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW', 29),
			(parts[2] || '_undecide', $11, 'TRUNCATE ON %s FOR EACH STATEMENT', 32)) AS e (name, on_table, event, type)
		WHERE e.on_table IS NOT NULL AND NOT EXISTS (SELECT FROM simhash_catalog.kept_by(of) AS k JOIN pg_trigger AS t
			ON t.tgrelid = k.relation AND t.tgname = k.name
			WHERE t.tgrelid = e.on_table AND t.tgtype = e.type AND t.tgenabled <> 'D'
			AND NOT EXISTS (SELECT FROM pg_partition_tree(e.on_table) AS p JOIN pg_trigger AS c ON c.tgrelid = p.relid
				WHERE c.tgname = t.tgname AND c.tgparentid <> 0 AND c.tgenabled = 'D'))
		ORDER BY e.on_table <> $1, e.type LOOP
		-- CREATE TRIGGER locks out writers until this transaction ends, so the search below sees all rows.
		EXECUTE format('CREATE OR REPLACE TRIGGER %I AFTER ' || one.event || ' EXECUTE FUNCTION simhash_catalog.maintain_clusters(%s)',
			one.name, one.on_table, (SELECT string_agg(quote_literal(a), ', ') FROM unnest(wanted) AS a));
		RAISE NOTICE 'created trigger % on table %', one.name, one.on_table;
	END LOOP;
	IF NOT EXISTS (SELECT FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS m ON m.oid = c.relam
		CROSS JOIN ltrim(pg_get_indexdef(i.indexrelid, i.indnkeyatts, false), '(') AS last
		WHERE i.indrelid = $1 AND i.indisvalid AND m.amname = 'simhash'
		AND (last IN (format('%I', $3), format('%s.simhash64(%I)', here, $3), format('%s.simhash64((%I)::text)', here, $3))
			OR in_parts AND starts_with(last, format('%I[', $3)))) THEN
		RAISE WARNING 'no index serves the search of column "%" of table "%"', $3, $1
			USING HINT = format('CREATE INDEX CONCURRENTLY ON %s USING simhash (%s%s);', $1,
				(SELECT string_agg(format('%I, ', c), '') FROM unnest(scope) AS c
					WHERE simhash_catalog.has_class(simhash_catalog.key_type($1, c)::regtype, 'simhash')),
				CASE WHEN in_parts THEN format('(%I[1])', $3) ELSE format('%I', $3) END);
	END IF;
	IF at_once THEN
		EXECUTE format('SELECT %s.simhash_refresh_clusters($1)', here) USING of;
	ELSE
		EXECUTE format('INSERT INTO %s VALUES (NULL)', notes);
		RAISE NOTICE 'SELECT simhash_refresh_clusters(%) fills table %', quote_literal(made), made;
	END IF;
	RETURN of;
END $$;
COMMENT ON FUNCTION simhash_keep_clusters(
	regclass, name, name, int, text, text, text, name, float8, regproc, regclass, text, text
) IS
	'makes a table (key, cluster_id, lasting_id) of the clusters of a table''s rows, and triggers that keep it right at once, or with '
	'refresh => ''manual'' note what changes for simhash_refresh_clusters; a second call makes what is missing; fingerprint '
	'names a column of fingerprints or of texts, or else it is the widest one of texts, and key the primary key; radius, text, the name '
	'of a column, min_jaccard, checked_by, within and across as in simhash_clusters; what the table decisions (a, b, same) says of a pair '
	'decides before all; the table log takes a line for each change';

CREATE FUNCTION simhash_drop_clusters(clusters regclass, triggers_only boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	kept CONSTANT regclass := $1;
	made CONSTANT text := $1;
	one record;
	note text;
BEGIN
	PERFORM simhash_catalog.hide_context();
	FOR one IN SELECT k.relation, k.name, k.notes FROM simhash_catalog.kept_by(kept) AS k LOOP
		EXECUTE format('DROP TRIGGER %I ON %s', one.name, one.relation);
		-- Only notes of the same owner: anybody may write any name into a trigger.
		note := coalesce((SELECT one.notes FROM pg_class AS n JOIN pg_class AS c ON c.relowner = n.relowner
			WHERE n.oid = to_regclass(one.notes)::oid AND c.oid = kept::oid), note);
	END LOOP;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'no trigger keeps the clusters of table "%"', made USING ERRCODE = 'undefined_object';
	END IF;
	IF $2 THEN
		RAISE NOTICE 'dropped the triggers that kept table %', made;
		RETURN;
	END IF;
	EXECUTE format('DROP TABLE %s%s', made, ', ' || note);
	RAISE NOTICE 'dropped table % and the triggers that kept it', made;
END $$;
COMMENT ON FUNCTION simhash_drop_clusters(regclass, boolean) IS
	'drops a table that simhash_keep_clusters made, its notes and its triggers, but not its log; or the triggers alone';

-- ---------------------------------------------------------------- rows on several servers
-- docs/scale-out.md. IMMUTABLE, and of values alone: Citus runs only such functions where the rows are.
-- Keys stand in users' tables: what simhash_route returns must not change.

CREATE FUNCTION simhash_route(fingerprint bigint, radius int) RETURNS bigint[]
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_route';
COMMENT ON FUNCTION simhash_route(bigint, int) IS
	'the radius + 1 keys under which a row is stored, and looked for: two rows within radius share one';

CREATE FUNCTION simhash_meet(a bigint, b bigint, radius int) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'simhash_meet';
COMMENT ON FUNCTION simhash_meet(bigint, bigint, int) IS
	'the first of the keys that two fingerprints share, NULL when they share none: where a pair is reported once';

CREATE FUNCTION simhash_group_pairs(
	keys bigint[], fingerprints bigint[], radius int, met_at bigint DEFAULT NULL,
	OUT a bigint, OUT b bigint, OUT distance int
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'simhash_group_pairs';
COMMENT ON FUNCTION simhash_group_pairs(bigint[], bigint[], int, bigint) IS
	'as simhash_pairs, for rows in two arrays; with met_at, a key of simhash_route that all rows '
	'have, only the pairs that meet there';

CREATE FUNCTION simhash_group_clusters(
	keys bigint[], fingerprints bigint[], radius int, OUT key bigint, OUT cluster_id bigint
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'simhash_group_clusters';
COMMENT ON FUNCTION simhash_group_clusters(bigint[], bigint[], int) IS
	'the groups of connected rows of two arrays, without those of one row; cluster_id is the '
	'smallest key of a group';

CREATE FUNCTION simhash_components(a bigint[], b bigint[], OUT key bigint, OUT cluster_id bigint)
RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'simhash_components';
COMMENT ON FUNCTION simhash_components(bigint[], bigint[]) IS
	'the groups of keys that pairs (a, b) connect; cluster_id is the smallest key of a group';

CREATE FUNCTION simhash_catalog.check_column(relation regclass, name text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = $1::oid) THEN
		RAISE EXCEPTION 'relation with OID % does not exist', $1::oid USING ERRCODE = 'undefined_table';
	ELSIF NOT EXISTS (SELECT FROM pg_attribute AS a
		WHERE a.attrelid = $1::oid AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped) THEN
		RAISE EXCEPTION 'column "%" of relation "%" does not exist', $2, $1 USING ERRCODE = 'undefined_column';
	END IF;
END $$;
COMMENT ON FUNCTION simhash_catalog.check_column(regclass, text) IS
	'raises an error unless a relation has this column';

-- ---------------------------------------------------------------- records
-- docs/records.md. They read each relation once, with the caller's rights.

CREATE FUNCTION simhash_record_pairs(
	relation regclass, key name, threshold float8 DEFAULT NULL, columns text DEFAULT NULL,
	relation_b regclass DEFAULT NULL, key_b name DEFAULT NULL, columns_b text DEFAULT NULL,
	one_to_one boolean DEFAULT false, rare int DEFAULT 30, rarity float8 DEFAULT 2, ngram int DEFAULT 3,
	within text DEFAULT NULL, weights jsonb DEFAULT NULL, differ text DEFAULT NULL,
	OUT a bigint, OUT b bigint, OUT similarity float8
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_record_pairs';
COMMENT ON FUNCTION simhash_record_pairs(
	regclass, name, float8, text, regclass, name, text, boolean, int, float8, int, text, jsonb, text
) IS
	'pairs of records whose similarity, by words and n-grams that few rows have, is at least threshold, once, with a < b; with '
	'relation_b of a row of one relation and a row of the other; columns are all but the key if none is named';

CREATE FUNCTION simhash_record_pairs(
	relation_a regclass, key_a name, relation_b regclass, key_b name, threshold float8,
	columns_a text DEFAULT NULL, columns_b text DEFAULT NULL,
	one_to_one boolean DEFAULT false, rare int DEFAULT 30, rarity float8 DEFAULT 2, ngram int DEFAULT 3,
	within text DEFAULT NULL, weights jsonb DEFAULT NULL, differ text DEFAULT NULL,
	OUT a bigint, OUT b bigint, OUT similarity float8
) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 BEGIN ATOMIC
	SELECT * FROM simhash_record_pairs($1, $2, $5, $6, $3, $4, $7, $8, $9, $10, $11, $12, $13, $14);
END;
COMMENT ON FUNCTION simhash_record_pairs(
	regclass, name, regclass, name, float8, text, text, boolean, int, float8, int, text, jsonb, text
) IS
	'the same of two relations, their names and keys first';

CREATE FUNCTION simhash_record_pairs_keyed(
	key_type anyelement, relation regclass, key name, threshold float8 DEFAULT NULL, columns text DEFAULT NULL,
	relation_b regclass DEFAULT NULL, key_b name DEFAULT NULL, columns_b text DEFAULT NULL,
	one_to_one boolean DEFAULT false, rare int DEFAULT 30, rarity float8 DEFAULT 2, ngram int DEFAULT 3,
	within text DEFAULT NULL, weights jsonb DEFAULT NULL, differ text DEFAULT NULL,
	OUT a anyelement, OUT b anyelement, OUT similarity float8
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_record_pairs_keyed';
COMMENT ON FUNCTION simhash_record_pairs_keyed(
	anyelement, regclass, name, float8, text, regclass, name, text, boolean, int, float8, int, text, jsonb, text
) IS
	'as simhash_record_pairs, for keys that are not integers; key_type is NULL::uuid or the like, NULL::text for any, and '
	'only its type is used';

CREATE FUNCTION simhash_record_explain(
	relation regclass, key name, a text[], b text[], columns text DEFAULT NULL,
	relation_b regclass DEFAULT NULL, key_b name DEFAULT NULL, columns_b text DEFAULT NULL,
	rarity float8 DEFAULT 2, ngram int DEFAULT 3, within text DEFAULT NULL, weights jsonb DEFAULT NULL, differ text DEFAULT NULL,
	OUT a text, OUT b text, OUT column_name text, OUT value_a text, OUT value_b text, OUT shared float8, OUT against float8
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10 AS 'MODULE_PATHNAME', 'simhash_record_explain';
COMMENT ON FUNCTION simhash_record_explain(
	regclass, name, text[], text[], text, regclass, name, text, float8, int, text, jsonb, text
) IS
	'what each column of the rows with keys a and b does for their similarity in simhash_record_pairs: '
	'shared sums to it, and against to what is missing to 1; the keys at one place of a and b are a pair';

CREATE FUNCTION simhash_record_report(
	relation regclass, key name, columns text DEFAULT NULL,
	relation_b regclass DEFAULT NULL, key_b name DEFAULT NULL, columns_b text DEFAULT NULL,
	rare int DEFAULT 30, rarity float8 DEFAULT 2, ngram int DEFAULT 3,
	within text DEFAULT NULL, weights jsonb DEFAULT NULL, differ text DEFAULT NULL,
	OUT threshold float8, OUT pairs bigint, OUT one_to_one bigint, OUT alone bigint,
	OUT examples text[], OUT taken float8, OUT weights jsonb
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 20 AS 'MODULE_PATHNAME', 'simhash_record_report';
COMMENT ON FUNCTION simhash_record_report(
	regclass, name, text, regclass, name, text, int, float8, int, text, jsonb, text
) IS
	'how many pairs simhash_record_pairs returns from each threshold on, without and with one_to_one, and how many rows are in none; '
	'the keys of up to five pairs below the next threshold, which threshold is taken if none is given, and how much columns count';

CREATE FUNCTION simhash_record_sample(
	relation regclass, key name, columns text DEFAULT NULL,
	relation_b regclass DEFAULT NULL, key_b name DEFAULT NULL, columns_b text DEFAULT NULL,
	rare int DEFAULT 30, rarity float8 DEFAULT 2, ngram int DEFAULT 3,
	within text DEFAULT NULL, weights jsonb DEFAULT NULL, differ text DEFAULT NULL, one_to_one boolean DEFAULT false,
	size int DEFAULT 200, seed bigint DEFAULT 1,
	OUT stratum float8, OUT stratum_pairs bigint, OUT a text, OUT b text, OUT similarity float8,
	OUT values_a text[], OUT values_b text[]
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 200 AS 'MODULE_PATHNAME', 'simhash_record_sample';
COMMENT ON FUNCTION simhash_record_sample(
	regclass, name, text, regclass, name, text, int, float8, int, text, jsonb, text, boolean, int, bigint
) IS
	'size pairs of records for a person to label, some of each step of similarity, with their keys and columns side by '
	'side; stratum is the least similarity of a step, stratum_pairs how many pairs it has';

CREATE FUNCTION simhash_record_quality(
	labelled regclass,
	OUT threshold float8, OUT pairs bigint, OUT labels bigint,
	OUT "precision" float8, OUT precision_low float8, OUT precision_high float8,
	OUT recall float8, OUT recall_low float8, OUT recall_high float8
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 20 AS 'MODULE_PATHNAME', 'simhash_record_quality';
COMMENT ON FUNCTION simhash_record_quality(regclass) IS
	'precision and recall of the pairs from each threshold on, with their 95 % intervals, by a labelled sample; that is a table of '
	'what simhash_record_sample returned, with a column same, whether both records are one thing';

-- ---------------------------------------------------------------- stored records
-- docs/records.md#questions-and-groups. A table of clusters as simhash_keep_clusters makes it, and four beside it: _row has
-- a row for each row of the relation; _term how many records have each feature, and which if they are few; _pair the pairs
-- of records, which are named by their hashes since equal rows are one record; _about what simhash_keep_records was told.
-- is_old is false only while a refresh runs: of rows that come or go.

CREATE FUNCTION simhash_catalog.record_features(
	columns text[], scope bigint, differ text[], ngram int, OUT record bigint, OUT features bigint[], OUT parts bigint[]
) RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 ROWS 1 AS 'MODULE_PATHNAME', 'simhash_record_features';
COMMENT ON FUNCTION simhash_catalog.record_features(text[], bigint, text[], int) IS
	'the hash of a record; its words and n-grams, each once; the hashes of its columns that have a value';

CREATE FUNCTION simhash_catalog.record_links(
	records regclass, among bigint[], OUT a bigint, OUT b bigint, OUT similarity float8
) RETURNS SETOF record
LANGUAGE c VOLATILE COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_record_links';
COMMENT ON FUNCTION simhash_catalog.record_links(regclass, bigint[]) IS
	'pairs of stored records of which one is among these; all pairs if among is NULL, and then stores what the rows say about '
	'columns and the threshold if none were given; once or twice';

CREATE FUNCTION simhash_catalog.beside(records regclass, ending text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT format('%I.%I', n.nspname, c.relname || $2)
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $1::oid
$$;
COMMENT ON FUNCTION simhash_catalog.beside(regclass, text) IS
	'the name of a table beside one of stored records, as SQL writes it';

CREATE FUNCTION simhash_keep_records(
	relation regclass, key name, threshold float8 DEFAULT NULL, columns text DEFAULT NULL, decisions regclass DEFAULT NULL,
	records text DEFAULT NULL, rare int DEFAULT 30, rarity float8 DEFAULT 2, ngram int DEFAULT 3,
	within text DEFAULT NULL, weights jsonb DEFAULT NULL, differ text DEFAULT NULL, log text DEFAULT NULL,
	across text DEFAULT NULL, checked_by regproc DEFAULT NULL
) RETURNS regclass
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	owner CONSTANT oid := current_user::regrole;
	key_type text;
	made text;
	logged text;
	parts text[];
	compared text[];
	scope text[];
	differing text[];
	apart text[];
	-- The name of the function: pg_upgrade refuses tables with a column of type regproc.
	checked text;
	missing text;
	wrong text;
	here text;
	of regclass;
BEGIN
	PERFORM simhash_catalog.hide_context();
	SELECT a.name INTO missing
	FROM (VALUES ('relation', $1 IS NULL), ('key', $2 IS NULL), ('rare', $7 IS NULL),
		('rarity', $8 IS NULL), ('ngram', $9 IS NULL)) AS a (name, is_null)
	WHERE a.is_null LIMIT 1;
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'argument "%" of simhash_keep_records must not be null', missing USING ERRCODE = 'null_value_not_allowed';
	END IF;
	compared := ARRAY(SELECT simhash_catalog.named_columns($1, $4) WHERE $4 IS NOT NULL);
	scope := ARRAY(SELECT simhash_catalog.named_columns($1, $10) WHERE $10 IS NOT NULL);
	differing := ARRAY(SELECT simhash_catalog.named_columns($1, $12) WHERE $12 IS NOT NULL);
	apart := ARRAY(SELECT simhash_catalog.named_columns($1, $14) WHERE $14 IS NOT NULL);
	IF compared = '{}' THEN
		compared := ARRAY(SELECT a.attname::text FROM pg_attribute AS a
			WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attname <> $2 ORDER BY a.attnum);
	END IF;
	PERFORM simhash_catalog.check_column($1, c) FROM unnest($2::text || compared || scope || differing || apart) AS c;
	SELECT w INTO wrong FROM jsonb_object_keys($11) AS w WHERE w <> ALL (compared) LIMIT 1;
	IF wrong IS NOT NULL THEN
		RAISE EXCEPTION 'weights of simhash_keep_records names "%", which is not compared', wrong
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Name columns that are compared.';
	END IF;
	SELECT w.value INTO wrong FROM jsonb_each_text($11) AS w WHERE w.value IS NULL OR NOT w.value::float8 BETWEEN 0 AND 100 LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'a weight must be between 0 and 100, not %', coalesce(wrong, 'null') USING ERRCODE = 'invalid_parameter_value';
	END IF;
	key_type := simhash_catalog.key_type($1, $2);
	PERFORM simhash_catalog.check_decisions($5, key_type);
	parts := simhash_catalog.name_beside($1, 'records', coalesce($6, (SELECT format('%I', c.relname || '_records') FROM pg_class AS c
		WHERE c.oid = $1::oid)));
	IF octet_length(parts[2]) > 53 THEN
		RAISE EXCEPTION 'the name of table of records "%" is too long', parts[2] USING ERRCODE = 'name_too_long',
			HINT = 'Names of at most 53 bytes leave room for those beside it: give one with records => ''...''.';
	END IF;
	checked := (SELECT format('%I.%I', n.nspname, p.proname) FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE p.oid = $15::oid);
	IF checked IS NOT NULL THEN
		EXECUTE format('SELECT FROM %s AS x, %1$s AS y WHERE %s(x, y) LIMIT 0', $1, checked);
	END IF;
	made := format('%I.%I', parts[1], parts[2]);
	logged := (SELECT format('%I.%I', l[1], l[2]) FROM simhash_catalog.name_beside($1, 'log', $13) AS l WHERE $13 IS NOT NULL);
	IF to_regclass(made) IS NOT NULL THEN
		RAISE EXCEPTION 'relation "%" already exists', made USING ERRCODE = 'duplicate_object',
			HINT = 'simhash_refresh_records brings it up to date, simhash_drop_records drops it; records => ''...'' names another one.';
	END IF;
	of := simhash_catalog.make_entries('', made, logged, key_type, owner, 'records');
	EXECUTE format('CREATE TABLE %s (key %s PRIMARY KEY, record bigint, scope bigint NOT NULL, columns text[] NOT NULL, '
		'differ text[] NOT NULL, parts bigint[] NOT NULL, is_old boolean NOT NULL)', simhash_catalog.beside(of, '_row'), key_type);
	EXECUTE format('CREATE INDEX ON %s (record)', simhash_catalog.beside(of, '_row'));
	-- Without a list of pending entries, which each search would read through.
	EXECUTE format('CREATE INDEX ON %s USING gin (parts) WITH (fastupdate = off)', simhash_catalog.beside(of, '_row'));
	EXECUTE format('CREATE TABLE %s (feature bigint PRIMARY KEY, df int NOT NULL, records bigint[]) WITH (fillfactor = 70)',
		simhash_catalog.beside(of, '_term'));
	EXECUTE format('CREATE TABLE %s (a bigint, b bigint, similarity float8 NOT NULL, PRIMARY KEY (a, b))',
		simhash_catalog.beside(of, '_pair'));
	EXECUTE format('CREATE INDEX ON %s (b)', simhash_catalog.beside(of, '_pair'));
	EXECUTE format('CREATE TABLE %s AS SELECT $1 AS relation, simhash_catalog.beside($1, '''') AS named, $2 AS key, coalesce($3, 0) AS threshold, $3 IS NULL AS chooses, $4 AS columns, $5 AS decisions, '
		'$6 AS rare, $7 AS rarity, $8 AS ngram, $9 AS within, $10 AS weights, $11 AS learns, $12 AS differ, $13 AS across, '
		'$14 AS checked_by, to_regclass($15) AS log, 0::bigint AS count, 0::bigint AS version', simhash_catalog.beside(of, '_about'))
	USING $1, $2, $3, compared, $5, $7, $8, $9, scope, ARRAY(SELECT coalesce(($11 ->> c.name)::float8, 1)
		FROM unnest(compared) WITH ORDINALITY AS c (name, place) ORDER BY c.place), $11 IS NULL, differing, apart, checked, logged;
	-- A publication of all tables takes only updates that say which row was there.
	EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', simhash_catalog.beside(of, '_about'));
	SELECT format('%I', n.nspname) INTO here
	FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'simhash_dedup';
	EXECUTE format('SELECT %s.simhash_refresh_records($1, true)', here) USING of;
	RETURN of;
END $$;
COMMENT ON FUNCTION simhash_keep_records(
	regclass, name, float8, text, regclass, text, int, float8, int, text, jsonb, text, text, text, regproc
) IS
	'makes a table (key, cluster_id, lasting_id) of the groups of a relation''s rows, as simhash_keep_clusters does, and stores the columns '
	'that are compared; simhash_record_search asks them, simhash_refresh_records brings all up to date; pairs of groups differ '
	'in the columns of across, and checked_by, a function of two rows, returns true for them';

CREATE FUNCTION simhash_catalog.change_terms(records regclass, among bigint[], sign int) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	terms CONSTANT text := simhash_catalog.beside($1, '_term');
	few int;
	changed text;
BEGIN
	PERFORM simhash_catalog.hide_context();
	EXECUTE format('SELECT 2 * rare FROM %s', simhash_catalog.beside($1, '_about')) INTO few;
	changed := format('SELECT f.feature, count(*)::int AS df, array_agg(r.record) AS records FROM ('
		'SELECT DISTINCT ON (record) record, columns, scope, differ FROM %s WHERE %s) AS r, '
		'simhash_catalog.record_features(r.columns, r.scope, r.differ, (SELECT ngram FROM %s)) AS g, unnest(g.features) AS f (feature) '
		'GROUP BY f.feature', simhash_catalog.beside($1, '_row'), CASE WHEN $2 IS NULL THEN 'record IS NOT NULL' ELSE 'record = ANY ($1)' END,
		simhash_catalog.beside($1, '_about'));
	-- The list of records is left out for good once it is long: a refresh that needs it again counts all records.
	IF $3 > 0 THEN
		EXECUTE format('INSERT INTO %1$s AS t SELECT feature, df, CASE WHEN df <= $2 THEN records END FROM (%2$s) AS c '
			'ON CONFLICT (feature) DO UPDATE SET df = t.df + excluded.df, '
			'records = CASE WHEN t.records IS NOT NULL AND t.df + excluded.df <= $2 THEN t.records || excluded.records END', terms, changed) USING $2, few;
	ELSE
		EXECUTE format('UPDATE %1$s AS t SET df = t.df - c.df, records = ARRAY(SELECT unnest(t.records) EXCEPT SELECT unnest(c.records)) '
			'FROM (%2$s) AS c WHERE t.feature = c.feature AND t.records IS NOT NULL', terms, changed) USING $2;
		EXECUTE format('UPDATE %1$s AS t SET df = t.df - c.df FROM (%2$s) AS c WHERE t.feature = c.feature AND t.records IS NULL',
			terms, changed) USING $2;
		EXECUTE format('DELETE FROM %s WHERE df = 0', terms);
	END IF;
END $$;
COMMENT ON FUNCTION simhash_catalog.change_terms(regclass, bigint[], int) IS
	'counts these stored records in the table of features, or with sign -1 counts them no more; all if among is NULL';

CREATE FUNCTION simhash_catalog.record_groups(records regclass) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	about record;
	rows CONSTANT text := simhash_catalog.beside($1, '_row');
	pairs CONSTANT text := simhash_catalog.beside($1, '_pair');
	-- The records of which rows are linked one by one, and whether two rows are.
	touched text := 'SELECT NULL::bigint AS record WHERE false';
	is_linked text;
BEGIN
	PERFORM simhash_catalog.hide_context();
	EXECUTE format('SELECT * FROM %s', simhash_catalog.beside($1, '_about')) INTO about;
	IF about.across <> '{}' OR about.checked_by IS NOT NULL THEN
		touched := format('SELECT DISTINCT record FROM %s WHERE record IS NOT NULL', rows);
		is_linked := concat_ws(' AND ',
			(SELECT format('NOT (ROW(%s)::record = ROW(%s)::record AND ROW(%1$s) IS NOT NULL)', string_agg(format('x.%I', c), ', '),
				string_agg(format('y.%I', c), ', ')) FROM unnest(about.across) AS c HAVING count(*) > 0),
			about.checked_by || '(x, y)');
	ELSIF about.decisions IS NOT NULL THEN
		touched := format('SELECT DISTINCT r.record FROM %s AS r JOIN %s AS d ON r.key IN (d.a, d.b) WHERE NOT d.same AND r.record IS NOT NULL',
			rows, about.decisions);
	END IF;
	-- Links are between the first rows of two records, and of equal rows with the first of them. A record with a row that
	-- a person has judged different from another one is linked row by row, and all are where rows are checked. Equal rows with
	-- a value in one of several columns alone have similarity 0.9, as in crates/records/src/pair.rs.
	RETURN format('WITH touched AS MATERIALIZED (%s), first AS (
			SELECT DISTINCT ON (record) record, key FROM %2$s WHERE record IS NOT NULL AND record NOT IN (SELECT record FROM touched) ORDER BY record, key
		), equal AS (
			SELECT record, key FROM %2$s WHERE record IS NOT NULL AND (cardinality(parts) > 1 OR cardinality(columns) = 1 OR %3$L <= 0.9)
		), links AS (
			SELECT f.key AS a, r.key AS b FROM first AS f JOIN equal AS r USING (record) WHERE f.key <> r.key
			UNION ALL SELECT x.key, y.key FROM %4$s AS p JOIN first AS x ON x.record = p.a JOIN first AS y ON y.record = p.b
			UNION ALL SELECT p.a, p.b FROM (
				SELECT least(x.key, y.key) AS a, greatest(x.key, y.key) AS b FROM (
					SELECT a, b FROM %4$s WHERE a IN (SELECT record FROM touched) OR b IN (SELECT record FROM touched)
					UNION ALL SELECT DISTINCT record, record FROM touched JOIN equal USING (record)
				) AS p JOIN %2$s AS x ON x.record = p.a JOIN %2$s AS y ON y.record = p.b WHERE p.a <> p.b OR x.key < y.key
			) AS p%5$s
		) SELECT c.key, c.cluster_id FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM links) AS l,
			simhash_catalog.components(l.a, l.b) AS c', touched, rows, about.threshold, pairs, concat(
		CASE WHEN is_linked IS NOT NULL THEN format(' JOIN %1$s AS x ON x.%2$I = p.a JOIN %1$s AS y ON y.%2$I = p.b', about.relation, about.key) END,
		' WHERE ' || nullif(concat_ws(' AND ', is_linked, CASE WHEN about.decisions IS NOT NULL THEN format('NOT EXISTS (SELECT FROM %s AS d
			WHERE NOT d.same AND (d.a = p.a AND d.b = p.b OR d.a = p.b AND d.b = p.a))', about.decisions) END), '')));
END $$;
COMMENT ON FUNCTION simhash_catalog.record_groups(regclass) IS
	'the query for the groups of stored records that have several rows, without what a person has judged the same';

CREATE FUNCTION simhash_catalog.write_groups(records regclass, groups text) RETURNS bigint
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_write_groups';
COMMENT ON FUNCTION simhash_catalog.write_groups(regclass, text) IS
	'writes the groups that a query returns into a table of clusters, with ids and log; returns how many entries have changed';

CREATE FUNCTION simhash_refresh_records(records regclass, all_pairs boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	store CONSTANT text := simhash_catalog.beside($1, '_row');
	pairs CONSTANT text := simhash_catalog.beside($1, '_pair');
	terms CONSTANT text := simhash_catalog.beside($1, '_term');
	about record;
	from_rows text;
	gone bigint[];
	come bigint[];
	old_rows bigint;
	begins boolean := $2;
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF $1 IS NULL OR begins IS NULL THEN
		RAISE EXCEPTION 'argument "%" of simhash_refresh_records must not be null', CASE WHEN $1 IS NULL THEN 'records' ELSE 'all_pairs' END
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF to_regclass(terms) IS NULL THEN
		RAISE EXCEPTION '"%" is not a table of stored records', $1 USING ERRCODE = 'undefined_object',
			HINT = 'Call simhash_keep_records first, and name the table that it returns.';
	END IF;
	-- One refresh at a time; questions are answered meanwhile.
	EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', store);
	EXECUTE format('SELECT * FROM %s', simhash_catalog.beside($1, '_about')) INTO about;
	IF to_regclass(about.named) <> about.relation THEN
		RAISE EXCEPTION '"%" has clusters of table "%", and "%" is another one by now', $1, about.relation, about.named
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format('To go on with the new one, with ids and log: UPDATE %s SET relation = %L;',
				simhash_catalog.beside($1, '_about'), about.named);
	ELSIF row_security_active(about.relation) THEN
		RAISE EXCEPTION 'row security hides rows of table "%"', about.relation USING ERRCODE = 'insufficient_privilege',
			HINT = 'Groups are of all rows: use a role that sees them, such as one with BYPASSRLS.';
	END IF;
	from_rows := format('(SELECT %I AS key, ARRAY[%s]::text[] AS columns, ARRAY[%s]::text[] AS differ, %s AS scope FROM %s%s)', about.key,
		(SELECT string_agg(format('%I::text', c.name), ', ' ORDER BY c.place) FROM unnest(about.columns) WITH ORDINALITY AS c (name, place)),
		(SELECT string_agg(format('%I::text', c.name), ', ' ORDER BY c.place) FROM unnest(about.differ) WITH ORDINALITY AS c (name, place)),
		CASE WHEN about.within = '{}' THEN '0::bigint' ELSE format('hash_record_extended(ROW(%s), 0)',
			(SELECT string_agg(format('%I', c.name), ', ' ORDER BY c.place) FROM unnest(about.within) WITH ORDINALITY AS c (name, place))) END,
		about.relation, (SELECT ' WHERE ' || string_agg(format('%I IS DISTINCT FROM NULL', c), ' AND ') FROM unnest(about.within) AS c));
	-- Rows that are there no more, or otherwise; then those that come.
	EXECUTE format('UPDATE %s AS s SET is_old = false WHERE $1 OR NOT EXISTS (
		SELECT FROM %s AS r WHERE r.key = s.key AND r.columns = s.columns AND r.differ = s.differ AND r.scope = s.scope)', store, from_rows) USING begins;
	GET DIAGNOSTICS old_rows = ROW_COUNT;
	IF NOT begins AND old_rows > 0 THEN
		EXECUTE format('SELECT array_agg(record) FROM (SELECT record FROM %1$s WHERE record IN (
			SELECT record FROM %1$s WHERE NOT is_old) GROUP BY record HAVING NOT bool_or(is_old)) AS g', store) INTO gone;
		IF gone IS NOT NULL THEN
			PERFORM simhash_catalog.change_terms($1, gone, -1);
			EXECUTE format('DELETE FROM %s WHERE a = ANY ($1) OR b = ANY ($1)', pairs) USING gone;
			EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE records IS NULL AND df <= $1)', terms) INTO begins USING about.rare;
		END IF;
	END IF;
	EXECUTE format('DELETE FROM %s WHERE $1 OR NOT is_old', store) USING begins;
	EXECUTE format('INSERT INTO %1$s SELECT r.key, f.record, r.scope, r.columns, r.differ, f.parts, false
		FROM %2$s AS r, simhash_catalog.record_features(r.columns, r.scope, r.differ, $1) AS f WHERE NOT EXISTS (SELECT FROM %1$s AS s WHERE s.key = r.key)',
		store, from_rows) USING about.ngram;
	IF NOT begins THEN
		EXECUTE format('SELECT array_agg(record) FROM (SELECT record FROM %1$s WHERE record IN (
			SELECT record FROM %1$s WHERE NOT is_old) GROUP BY record HAVING NOT bool_or(is_old)) AS g', store) INTO come;
		-- Beyond that all pairs are found faster at once.
		begins := cardinality(come) > (SELECT 0.1 * greatest(about.count, 1000));
	END IF;
	-- No two refreshes have one time, not even if one of them is rolled back.
	EXECUTE format('UPDATE %s SET version = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count = (
		SELECT count(DISTINCT record) + count(*) FILTER (WHERE record IS NULL) FROM %s)', simhash_catalog.beside($1, '_about'), store);
	IF begins THEN
		EXECUTE format('TRUNCATE %s, %s', terms, pairs);
		PERFORM simhash_catalog.change_terms($1, NULL, 1);
		EXECUTE format('ANALYZE %s', store);
		EXECUTE format('ANALYZE %s', terms);
		EXECUTE format('INSERT INTO %s SELECT a, b, similarity FROM simhash_catalog.record_links($1, NULL)', pairs) USING $1;
	ELSIF come IS NOT NULL THEN
		PERFORM simhash_catalog.change_terms($1, come, 1);
		EXECUTE format('INSERT INTO %s SELECT a, b, similarity FROM simhash_catalog.record_links($1, $2) ON CONFLICT (a, b) DO NOTHING',
			pairs) USING $1, come;
	END IF;
	EXECUTE format('UPDATE %s SET is_old = true WHERE NOT is_old', store);
	RETURN simhash_catalog.write_groups($1, simhash_catalog.record_groups($1));
END $$;
COMMENT ON FUNCTION simhash_refresh_records(regclass, boolean) IS
	'brings a table that simhash_keep_records made up to date with its relation and decisions, and returns how many of its '
	'rows have changed; pairs of rows that are as they were stay, with all_pairs all are computed again';

CREATE FUNCTION simhash_record_search(
	records regclass, question jsonb, matches int DEFAULT 10, threshold float8 DEFAULT 0,
	OUT key text, OUT similarity float8
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 10 AS 'MODULE_PATHNAME', 'simhash_record_search';
COMMENT ON FUNCTION simhash_record_search(regclass, jsonb, int, float8) IS
	'the stored rows that are most similar to a record which is in no row, by names of columns and values; the similarity '
	'is that which it would have in simhash_record_pairs as a row more';

CREATE FUNCTION simhash_drop_records(records regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF $1 IS NULL OR to_regclass(simhash_catalog.beside($1, '_term')) IS NULL THEN
		RAISE EXCEPTION '"%" is not a table of stored records', $1 USING ERRCODE = 'undefined_object';
	END IF;
	EXECUTE format('DROP TABLE %s%s', $1, (SELECT string_agg(', ' || simhash_catalog.beside($1, e), '')
		FROM unnest(ARRAY['_row', '_term', '_pair', '_about']) AS e));
END $$;
COMMENT ON FUNCTION simhash_drop_records(regclass) IS
	'drops a table that simhash_keep_records made, and those beside it, but not its log';

-- ---------------------------------------------------------------- progress
-- Functions that take long write what they do in front of the text of their query. Anybody may write such a text: what it
-- holds is shown, and must not make this fail. No view: it would have privileges, which a dump names.

CREATE FUNCTION simhash_progress(
	OUT pid int, OUT datname name, OUT usename name, OUT function text, OUT doing text, OUT done bigint, OUT total bigint,
	OUT running interval
) RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL RESTRICTED ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
	SELECT a.pid, a.datname, a.usename, m.parts[1], m.parts[2], m.parts[3]::bigint, m.parts[4]::bigint,
		clock_timestamp() - a.query_start
	FROM pg_stat_activity AS a
		CROSS JOIN regexp_match(a.query, '^/\* (simhash_\w+): ([^:*]+)(?:: (\d{1,18})(?: of (\d{1,18}))?)? \*/') AS m (parts)
	WHERE a.state = 'active' AND m.parts IS NOT NULL
$$;
COMMENT ON FUNCTION simhash_progress() IS
	'what calls of functions that take long do now, and how much of it is done';

-- ---------------------------------------------------------------- checking an index

CREATE FUNCTION simhash_index_verify(
	index regclass, heapallindexed boolean DEFAULT false,
	OUT block bigint, OUT "offset" int, OUT fault text
) RETURNS SETOF record
LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'simhash_index_verify';
COMMENT ON FUNCTION simhash_index_verify(regclass, boolean) IS
	'faults of a simhash index, no row when it is sound; heapallindexed also looks up every row '
	'of the table; does not block writers; only for the owner, if row-level security does not apply';

CREATE FUNCTION simhash_index_stats(
	index regclass,
	OUT rows bigint, OUT null_rows bigint, OUT pages bigint, OUT leaves bigint,
	OUT bytes_per_row float8, OUT leaf_fill float8, OUT height int, OUT format_version int,
	OUT hottest_quarter int, OUT hottest_key int, OUT hottest_share float8, OUT candidates float8[]
) RETURNS SETOF record
LANGUAGE c VOLATILE STRICT ROWS 1 AS 'MODULE_PATHNAME', 'simhash_index_stats';
COMMENT ON FUNCTION simhash_index_stats(regclass) IS
	'what a simhash index holds, in one row; candidates[radius + 1] is how many postings a search within radius '
	'compares on average, hottest_* the 16-bit key with the most rows (NULL with scope columns); reads the whole index; '
	'needs SELECT on its table, whose row-level security must not apply';

CREATE FUNCTION simhash_catalog.index_verify(
	index regclass, heapallindexed boolean, OUT block bigint, OUT "offset" int, OUT fault text
) RETURNS SETOF record
LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'simhash_index_verify';
COMMENT ON FUNCTION simhash_catalog.index_verify(regclass, boolean) IS
	'the function simhash_index_verify, for simhash_catalog.index_verify_shards on other nodes';

CREATE FUNCTION simhash_catalog.index_stats(
	index regclass,
	OUT rows bigint, OUT null_rows bigint, OUT pages bigint, OUT leaves bigint,
	OUT bytes_per_row float8, OUT leaf_fill float8, OUT height int, OUT format_version int,
	OUT hottest_quarter int, OUT hottest_key int, OUT hottest_share float8, OUT candidates float8[]
) RETURNS SETOF record
LANGUAGE c VOLATILE STRICT ROWS 1 AS 'MODULE_PATHNAME', 'simhash_index_stats';
COMMENT ON FUNCTION simhash_catalog.index_stats(regclass) IS
	'the function simhash_index_stats, for simhash_catalog.index_stats_shards on other nodes';

CREATE FUNCTION simhash_catalog.distributed_table(index regclass, verify boolean) RETURNS regclass
LANGUAGE c VOLATILE STRICT AS 'MODULE_PATHNAME', 'simhash_distributed_table';
COMMENT ON FUNCTION simhash_catalog.distributed_table(regclass, boolean) IS
	'the distributed table of a simhash index that the user may verify, or ask for its statistics; an error for another index';

-- Where Citus distributes the table of an index, the rows are in the indexes of the shards. query_shards
-- runs a query on every placement of them, on all nodes at once, on each node one shard after the
-- other. command is its text for format(), with the shard's index as the argument; it returns one
-- text. A placement that does not answer is a row too.
CREATE FUNCTION simhash_catalog.query_shards(
	index regclass, verify boolean, command text,
	OUT node text, OUT port int, OUT shard bigint, OUT answered boolean, OUT answer text
) RETURNS SETOF record
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	distributed_table oid;
	nodes text[];
	ports int[];
	shards bigint[];
	commands text[];
BEGIN
	PERFORM simhash_catalog.hide_context();
	SELECT simhash_catalog.distributed_table($1, $2) INTO distributed_table;
	RETURN QUERY EXECUTE
		'SELECT NULL::text, NULL::int, s.shardid, false, ''no node is known to have the shard''::text
		FROM pg_catalog.pg_dist_shard AS s
		WHERE s.logicalrelid::oid = $1 AND NOT EXISTS (
			SELECT FROM pg_catalog.pg_dist_placement AS p JOIN pg_catalog.pg_dist_node AS n ON n.groupid = p.groupid
			WHERE p.shardid = s.shardid AND p.shardstate = 1 AND n.noderole::text = ''primary'')
		ORDER BY s.shardid'
	USING distributed_table;
	-- Citus makes the names of shards and their indexes, and cuts long ones.
	FOR nodes, ports, shards, commands IN EXECUTE
		'SELECT array_agg(o.node), array_agg(o.port), array_agg(o.shard),
			array_agg(format($2, quote_literal(
				format(''%I.%I'', o.schema, (parse_ident(o.name))[cardinality(parse_ident(o.name))]))))
		FROM (SELECT n.nodename AS node, n.nodeport AS port, s.shardid AS shard, h.nspname AS schema,
				pg_catalog.shard_name(c.oid::regclass, s.shardid) AS name,
				row_number() OVER (PARTITION BY n.nodeid ORDER BY s.shardid) AS turn
			FROM pg_class AS c JOIN pg_namespace AS h ON h.oid = c.relnamespace,
				pg_catalog.pg_dist_shard AS s JOIN pg_catalog.pg_dist_placement AS p ON p.shardid = s.shardid
				JOIN pg_catalog.pg_dist_node AS n ON n.groupid = p.groupid
			WHERE c.oid = $1 AND s.logicalrelid::oid = $3 AND p.shardstate = 1 AND n.noderole::text = ''primary'') AS o
		GROUP BY o.turn ORDER BY o.turn'
	USING $1::oid, $3, distributed_table LOOP
		RETURN QUERY EXECUTE
			'SELECT r.node, r.port, $4[r.place], r.success, r.result
			FROM pg_catalog.master_run_on_worker($1, $2, $3, true)
				WITH ORDINALITY AS r (node, port, success, result, place)'
		USING nodes, ports, commands, shards;
	END LOOP;
END $$;
COMMENT ON FUNCTION simhash_catalog.query_shards(regclass, boolean, text) IS
	'what each placement of the shards answers to a query of its index; implementation of '
	'simhash_catalog.index_verify_shards and simhash_catalog.index_stats_shards';

CREATE FUNCTION simhash_catalog.index_verify_shards(
	index regclass, heapallindexed boolean DEFAULT false,
	OUT node text, OUT port int, OUT shard bigint, OUT block bigint, OUT "offset" int, OUT fault text
) RETURNS SETOF record
LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	-- Of each placement: all are in memory at once.
	most CONSTANT int := 1000;
BEGIN
	PERFORM simhash_catalog.hide_context();
	RETURN QUERY
	SELECT a.node, a.port, a.shard,
		CASE WHEN f.place <= most THEN (f.fault ->> 0)::bigint END,
		CASE WHEN f.place <= most THEN (f.fault ->> 1)::int END,
		CASE WHEN f.place <= most THEN f.fault ->> 2
			ELSE format('more than %s faults: simhash_index_verify on the node returns all', most) END
	FROM simhash_catalog.query_shards($1, true,
			'SELECT coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(v.block, v."offset", v.fault)), ''[]'')::pg_catalog.text
			FROM (SELECT * FROM simhash_catalog.index_verify(%1$s::pg_catalog.regclass, ' || $2 || ') LIMIT ' || most + 1 || ') AS v'
		) AS a,
		jsonb_array_elements(CASE WHEN a.answered THEN a.answer::jsonb
			ELSE jsonb_build_array(jsonb_build_array(NULL, NULL, 'not verified: ' || a.answer)) END)
			WITH ORDINALITY AS f (fault, place);
END $$;
COMMENT ON FUNCTION simhash_catalog.index_verify_shards(regclass, boolean) IS
	'simhash_index_verify of the index of each shard, where Citus distributes the table; a placement '
	'that was not verified is a fault without a block';

CREATE FUNCTION simhash_catalog.index_stats_shards(
	index regclass,
	OUT node text, OUT port int, OUT shard bigint,
	OUT rows bigint, OUT null_rows bigint, OUT pages bigint, OUT leaves bigint,
	OUT bytes_per_row float8, OUT leaf_fill float8, OUT height int, OUT format_version int,
	OUT hottest_quarter int, OUT hottest_key int, OUT hottest_share float8, OUT candidates float8[]
) RETURNS SETOF record
LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	placement record;
BEGIN
	PERFORM simhash_catalog.hide_context();
	FOR placement IN SELECT * FROM simhash_catalog.query_shards($1, false,
		'SELECT pg_catalog.to_jsonb(s)::pg_catalog.text FROM simhash_catalog.index_stats(%1$s::pg_catalog.regclass) AS s') LOOP
		IF placement.answered IS NOT TRUE THEN
			RAISE EXCEPTION 'the index of shard % was not read: %', placement.shard, placement.answer
				USING ERRCODE = 'external_routine_exception',
					DETAIL = format('The node is %s.', coalesce(placement.node || ':' || placement.port, 'not known'));
		END IF;
		RETURN QUERY SELECT placement.node, placement.port, placement.shard, s.*
		FROM jsonb_to_record(placement.answer::jsonb) AS s (
			rows bigint, null_rows bigint, pages bigint, leaves bigint, bytes_per_row float8, leaf_fill float8, height int,
			format_version int, hottest_quarter int, hottest_key int, hottest_share float8, candidates float8[]);
	END LOOP;
END $$;
COMMENT ON FUNCTION simhash_catalog.index_stats_shards(regclass) IS
	'simhash_index_stats of the index of each shard, where Citus distributes the table; an error when '
	'a placement does not answer';

-- ---------------------------------------------------------------- privileges
-- Objects with privileges of their own belong to the bootstrap superuser, not to the role that
-- creates the extension, and lose what that role's default privileges grant. Otherwise a role that is
-- dropped later would stay in pg_init_privs, and no dump could be restored.
DO $$
DECLARE
	owner CONSTANT pg_catalog.text := pg_catalog.pg_get_userbyid(10::pg_catalog.oid);
	made pg_catalog.text;
	other pg_catalog.name;
BEGIN
	FOREACH made IN ARRAY '{SCHEMA simhash_catalog,SCHEMA simhash_methods,
			TABLE simhash_catalog.statement_end}'::pg_catalog.text[] LOOP
		EXECUTE pg_catalog.format('ALTER %s OWNER TO %I', made, owner);
	END LOOP;
	FOR other IN
		SELECT r.rolname FROM pg_catalog.pg_roles AS r
		WHERE r.oid OPERATOR(pg_catalog.<>) 10::pg_catalog.oid AND r.oid OPERATOR(pg_catalog.=) ANY (
			SELECT a.grantee FROM pg_catalog.pg_namespace AS n, pg_catalog.aclexplode(n.nspacl) AS a
			WHERE n.nspname OPERATOR(pg_catalog.=) ANY ('{simhash_catalog,simhash_methods}'::pg_catalog.name[])
			UNION ALL
			SELECT a.grantee FROM pg_catalog.pg_class AS c, pg_catalog.aclexplode(c.relacl) AS a
			WHERE c.relnamespace OPERATOR(pg_catalog.=) 'simhash_catalog'::pg_catalog.regnamespace::pg_catalog.oid)
	LOOP
		EXECUTE pg_catalog.format('REVOKE ALL ON SCHEMA simhash_catalog, simhash_methods FROM %I CASCADE', other);
		EXECUTE pg_catalog.format('REVOKE ALL ON ALL TABLES IN SCHEMA simhash_catalog FROM %I CASCADE', other);
	END LOOP;
END $$;
REVOKE ALL ON SCHEMA simhash_catalog, simhash_methods FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA simhash_catalog FROM PUBLIC;
GRANT USAGE ON SCHEMA simhash_catalog, simhash_methods TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA simhash_catalog TO PUBLIC;

-- ---------------------------------------------------------------- flagging

CREATE FUNCTION simhash_flag_duplicate() RETURNS trigger
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_flag_duplicate';
COMMENT ON FUNCTION simhash_flag_duplicate() IS
	'BEFORE INSERT OR UPDATE row trigger that marks, rejects or skips near-duplicates; arguments '
	'are ''name=value'' strings, see docs/flagging.md';

CREATE FUNCTION simhash_catalog.check_flag(relation regclass, function oid, name text, arguments text[]) RETURNS boolean
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_check_flag';
COMMENT ON FUNCTION simhash_catalog.check_flag(regclass, oid, text, text[]) IS
	'raises the error that a trigger with these arguments would raise; returns whether an index says what it compares';

CREATE FUNCTION simhash_catalog.same_flag(relation regclass, function oid, arguments text[]) RETURNS text
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_same_flag';
COMMENT ON FUNCTION simhash_catalog.same_flag(regclass, oid, text[]) IS
	'the name of a trigger that does what one with these arguments would do; NULL if there is none';

-- Each row is one statement in one line, a transaction of its own, for \gexec and the migrations of others.
CREATE FUNCTION simhash_guard(
	relation regclass, columns text DEFAULT NULL, within text DEFAULT NULL, arguments text[] DEFAULT '{}',
	fingerprint name DEFAULT NULL, across text DEFAULT NULL
) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
	texts text[];
	scope text[] := '{}';
	apart text[] := '{}';
	said text[] := '{}';
	has_index boolean;
	filled boolean;
	filling text;
	named text;
	schema name;
	short text;
	kind "char";
	taken text[];
	misplaced text[];
	made text;
	flags CONSTANT oid := '@extschema@.simhash_flag_duplicate'::regproc;
	other name;
BEGIN
	PERFORM simhash_catalog.hide_context();
	-- Names of triggers begin with that of the table, unless it is so long that they would be cut.
	SELECT n.nspname, CASE WHEN octet_length(c.relname) > 50 THEN 'simhash_' || c.oid ELSE c.relname::text END, c.relkind,
		format('%I.%I', n.nspname, c.relname) INTO schema, short, kind, named
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation;
	IF kind IS NULL OR kind NOT IN ('r', 'p', 'f') THEN
		RAISE EXCEPTION '"%" is not a table', coalesce(short, relation::text, 'NULL') USING ERRCODE = 'wrong_object_type';
	END IF;
	misplaced := ARRAY(SELECT a FROM unnest(ARRAY[columns, within, across]) AS a WHERE a ~ '^\s*\w+\s*='
		AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = relation AND attname = a));
	IF misplaced <> '{}' THEN
		RAISE EXCEPTION '"%" is an argument of the trigger, not a column', misplaced[1] USING ERRCODE = 'invalid_parameter_value',
			HINT = format('SELECT simhash_guard(%L, %sarguments => %L);', named, (
				SELECT string_agg(format('%s => %L, ', n, a), '' ORDER BY n) FROM (VALUES ('columns', columns), ('within', within), ('across', across)) AS g (n, a)
				WHERE a <> ALL (misplaced)), misplaced || arguments);
	END IF;
	texts := ARRAY(SELECT simhash_catalog.named_columns(relation, columns));
	IF within IS NOT NULL THEN
		scope := ARRAY(SELECT simhash_catalog.named_columns(relation, within));
	END IF;
	IF across IS NOT NULL THEN
		apart := ARRAY(SELECT simhash_catalog.named_columns(relation, across));
	END IF;
	said := ARRAY(
		SELECT format('%s=%s', argument, string_agg(
			CASE WHEN name ~ '[,"]|^\s|\s$' THEN '"' || replace(name, '"', '""') || '"' ELSE name END, ',' ORDER BY place))
		FROM (VALUES (1, 'text', texts), (2, 'within', scope), (3, 'across', apart)) AS l (number, argument, names),
			unnest(names) WITH ORDINALITY AS n (name, place)
		GROUP BY number, argument ORDER BY number) || arguments;
	IF NOT EXISTS (SELECT FROM unnest(said) AS a WHERE a ~ '^\s*(mode|flag|duplicate_of)\s*=') THEN
		said := said || ARRAY['mode=conflict'];
	END IF;
	has_index := simhash_catalog.check_flag(relation, flags, short || '_once', said);
	filled := EXISTS (SELECT FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_namespace AS n ON n.oid = p.pronamespace
		WHERE t.tgrelid = relation AND t.tgname = short || '_fingerprint' AND p.proname = t.tgname AND n.nspname = schema);
	IF fingerprint IS NOT NULL AND NOT filled THEN
		IF EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = fingerprint) THEN
			RAISE EXCEPTION 'column "%" of table "%" exists', fingerprint, relation USING ERRCODE = 'duplicate_object',
				HINT = 'Name a column that is to be made for the fingerprints, such as fingerprint => ''fp''.';
		ELSIF to_regprocedure(format('%I.%I()', schema, short || '_fingerprint')) IS NOT NULL THEN
			RAISE EXCEPTION 'function %.%() exists', quote_ident(schema), quote_ident(short || '_fingerprint') USING ERRCODE = 'duplicate_object',
				HINT = 'The trigger that fills the column would have a function of that name: drop it or rename it.';
		END IF;
	END IF;
	-- A document counts as its text.
	taken := ARRAY(
		SELECT '%1$s' || replace(quote_ident(name), '%', '%%') || CASE y.typcategory WHEN 'S' THEN '' ELSE '::text' END
		FROM unnest(texts) WITH ORDINALITY AS n (name, place)
			JOIN pg_attribute AS a ON a.attrelid = relation AND a.attname = name JOIN pg_type AS y ON y.oid = a.atttypid
		ORDER BY place);
	made := CASE WHEN cardinality(taken) > 1 THEN '@extschema@.simhash64(ROW(' || array_to_string(taken, ', ') || '))'
		WHEN fingerprint IS NOT NULL THEN '@extschema@.simhash64(' || taken[1] || ')'
		WHEN taken[1] LIKE '%::text' THEN '(' || taken[1] || ')'
		ELSE taken[1] END;
	IF fingerprint IS NOT NULL THEN
		said := ARRAY['fingerprint=' || fingerprint] || said;
		filling := format('BEGIN NEW.%I := %s; RETURN NEW; END', fingerprint, format(made, 'NEW.'));
		RETURN NEXT format('ALTER TABLE %s ADD COLUMN IF NOT EXISTS %I bigint', named, fingerprint);
		-- The trigger that fills the column comes before the batches, and by its name before the other one.
		RETURN NEXT format('CREATE OR REPLACE FUNCTION %I.%I() RETURNS trigger LANGUAGE plpgsql AS %s',
			schema, short || '_fingerprint', CASE WHEN filling LIKE '%$$%' THEN quote_literal(filling) ELSE '$$ ' || filling || ' $$' END);
		RETURN NEXT format('CREATE OR REPLACE TRIGGER %I BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %I.%1$I()',
			short || '_fingerprint', named, schema);
		RETURN QUERY
			SELECT format('UPDATE %1$s SET %2$I = %3$s WHERE ctid >= ''(%4$s,0)'' AND ctid < ''(%5$s,0)'' AND %2$I IS NULL',
				part, fingerprint, format(made, ''), block, block + 50)
			FROM (SELECT relation WHERE kind = 'r' UNION ALL SELECT p.relid FROM pg_partition_tree(relation) AS p WHERE kind = 'p' AND p.isleaf) AS t (part),
				generate_series(0, pg_relation_size(part) / current_setting('block_size')::int, 50) AS block
			ORDER BY part, block;
	END IF;
	IF fingerprint IS NOT NULL OR NOT has_index THEN
		RETURN NEXT format('CREATE INDEX %sON %s USING simhash (%s)',
			CASE kind WHEN 'p' THEN '/* CONCURRENTLY is not for partitioned tables: writers wait */ ' ELSE 'CONCURRENTLY ' END, named,
			array_to_string(ARRAY(SELECT quote_ident(name) FROM unnest(scope) WITH ORDINALITY AS n (name, place)
					WHERE simhash_catalog.has_class(simhash_catalog.key_type(relation, name)::regtype, 'simhash') ORDER BY place)
				|| coalesce(quote_ident(fingerprint), format(made, '')), ', '));
	END IF;
	other := simhash_catalog.same_flag(relation, flags, said);
	IF other IS NOT NULL THEN
		RAISE NOTICE 'trigger "%" of table "%" does this already, skipping', other, relation;
		RETURN;
	END IF;
	FOR other IN SELECT t.tgname FROM pg_trigger AS t WHERE t.tgrelid = relation AND t.tgfoid = flags ORDER BY t.tgname LOOP
		RAISE NOTICE 'trigger "%" of table "%" looks for near-duplicates too, with other arguments', other, relation;
	END LOOP;
	IF 'mode=conflict' = ANY (said) THEN
		RAISE NOTICE 'INSERT without ON CONFLICT fails if a near-duplicate is stored, and requires the privilege SELECT';
	END IF;
	FOR other IN SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attname = ANY (scope) AND NOT a.attnotnull LOOP
		RAISE NOTICE 'rows that are null in column "%" are not compared', other;
	END LOOP;
	RETURN NEXT format('CREATE TRIGGER %I BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION @extschema@.simhash_flag_duplicate(%s)',
		(SELECT name FROM generate_series(1, 99) AS n, concat(short, '_once', '_' || nullif(n, 1)) AS name
			WHERE NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = relation AND t.tgname = name)
			ORDER BY n LIMIT 1),
		named,
		(SELECT string_agg(quote_literal(a), ', ' ORDER BY place) FROM unnest(said) WITH ORDINALITY AS n (a, place)));
END
$function$;
COMMENT ON FUNCTION simhash_guard(regclass, text, text, text[], name, text) IS
	'the statements that keep near-duplicates of stored rows out of a table in use; index and trigger, with fingerprint also '
	'a column of that name, which is filled in batches; columns are those of the text, within those in which rows that are '
	'compared are equal, across those in which they differ, arguments those of simhash_flag_duplicate, which are checked; the default is mode=conflict';

-- ---------------------------------------------------------------- what made a column's fingerprints
-- Fingerprints made by different weights are numbers of one type, and do not meet.

-- For the trigger's look at a stored row, and simhash_fingerprint_verify. In the extension's schema
-- another role may have a simhash64 that fits the row better.
CREATE FUNCTION simhash_catalog.fingerprint(record record, weights jsonb, preset text DEFAULT NULL) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row64';
COMMENT ON FUNCTION simhash_catalog.fingerprint(record, jsonb, text) IS
	'the function simhash64 of a row, for triggers';

CREATE FUNCTION simhash_catalog.trigger_recipe(arguments bytea, fingerprint name) RETURNS text
LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'simhash_trigger_recipe';
COMMENT ON FUNCTION simhash_catalog.trigger_recipe(bytea, name) IS
	'weights and preset by which a simhash_flag_duplicate trigger with these arguments fills a '
	'column, as arguments of simhash64; NULL when it does not fill it';

-- What an expression of the catalog calls that is nobody's extension, and what these call in turn, as comments of SQL.
CREATE FUNCTION simhash_catalog.definitions(class oid, object oid) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RETURN (
		WITH RECURSIVE called (class, object) AS (
			SELECT $1, $2 UNION
			SELECT d.refclassid, d.refobjid FROM called AS c JOIN pg_depend AS d ON d.classid = c.class AND d.objid = c.object
			WHERE d.refclassid = 'pg_proc'::regclass AND NOT EXISTS (
				SELECT FROM pg_depend AS e
				WHERE e.classid = d.refclassid AND e.objid = d.refobjid AND e.deptype = 'e'))
		SELECT string_agg(format(' /* %s: %s */', p.oid::regprocedure,
			btrim(regexp_replace(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), '\s+', ' ', 'g'))), '' ORDER BY p.oid)
		FROM called AS c JOIN pg_proc AS p ON c.class = 'pg_proc'::regclass AND p.oid = c.object);
END $$;
COMMENT ON FUNCTION simhash_catalog.definitions(oid, oid) IS
	'the bodies of the functions that a default, a constraint or an index calls, for simhash_made_by';

-- With row_name, what the row is called in a query, an expression to evaluate; if it is empty, one to read.
CREATE FUNCTION simhash_catalog.made_by(relation regclass, fingerprint name, row_name text) RETURNS text
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	compared CONSTANT text := format('(NOT (%I IS DISTINCT FROM ', $2);
	made text;
	class regclass;
	object oid;
BEGIN
	PERFORM simhash_catalog.hide_context();
	PERFORM simhash_catalog.check_column($1, $2);
	SELECT pg_get_expr(d.adbin, d.adrelid), 'pg_attrdef', d.oid INTO made, class, object
	FROM pg_attribute AS a JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE a.attrelid = $1::oid AND a.attname = $2 AND a.attgenerated <> '';
	IF made IS NULL THEN
		SELECT pg_get_indexdef(i.indexrelid, a.attnum, false), 'pg_class', i.indexrelid INTO made, class, object
		FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indexrelid
		WHERE i.indexrelid = $1::oid AND a.attname = $2 AND i.indkey[a.attnum - 1] = 0;
	END IF;
	IF made IS NULL THEN
		-- Triggers fire in the order of their names: what the last one makes is stored.
		SELECT CASE WHEN $3 = '' THEN format('%I.simhash64(new.*, %s)', n.nspname, recipe)
			ELSE format('simhash_catalog.fingerprint(%s.*, %s)', $3, recipe) END INTO made
		FROM pg_extension AS x JOIN pg_namespace AS n ON n.oid = x.extnamespace
			JOIN pg_proc AS p ON p.pronamespace = n.oid AND p.proname = 'simhash_flag_duplicate'
			JOIN pg_trigger AS t ON t.tgfoid = p.oid,
			simhash_catalog.trigger_recipe(t.tgargs, $2) AS recipe
		WHERE x.extname = 'simhash_dedup' AND t.tgrelid = $1::oid AND t.tgenabled IN ('O', 'A') AND recipe IS NOT NULL
		ORDER BY t.tgname DESC LIMIT 1;
	END IF;
	IF made IS NULL THEN
		SELECT substr(e.text, length(compared) + 1, length(e.text) - length(compared) - 2), 'pg_constraint', c.oid
		INTO made, class, object
		FROM pg_constraint AS c, pg_get_expr(c.conbin, c.conrelid) AS e (text)
		WHERE c.conrelid = $1::oid AND c.contype = 'c' AND starts_with(e.text, compared)
		ORDER BY c.conname LIMIT 1;
	END IF;
	RETURN made || CASE WHEN $3 = '' THEN coalesce(simhash_catalog.definitions(class, object), '') ELSE '' END;
END $$;
COMMENT ON FUNCTION simhash_catalog.made_by(regclass, name, text) IS 'implementation of simhash_made_by';

CREATE FUNCTION simhash_made_by(relation regclass, fingerprint name) RETURNS text
LANGUAGE sql STABLE STRICT BEGIN ATOMIC SELECT simhash_catalog.made_by($1, $2, ''); END;
COMMENT ON FUNCTION simhash_made_by(regclass, name) IS
	'what makes the values of a fingerprint column: the expression of a generated column or of an '
	'index; what a simhash_flag_duplicate trigger with weights fills in; what a CHECK constraint '
	'says that it is not distinct from; then the bodies of the user''s functions in it; else NULL';

CREATE FUNCTION simhash_query(relation regclass, fingerprint name, question jsonb) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	name_of CONSTANT name := (SELECT relname FROM pg_class WHERE oid = $1::oid);
	made text;
	unknown text;
	result bigint;
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF (SELECT relkind NOT IN ('r', 'p') FROM pg_class WHERE oid = $1::oid) THEN
		RAISE EXCEPTION '% is not a table', $1 USING ERRCODE = 'wrong_object_type';
	END IF;
	made := simhash_catalog.made_by($1, $2, 'new');
	IF made IS NULL THEN
		RAISE EXCEPTION 'it is not known what makes column "%" of relation "%"', $2, name_of
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = format(
				'A constraint can state the expression: ALTER TABLE %s ADD CHECK (%I IS NOT DISTINCT FROM ...) NOT VALID;', $1, $2);
	ELSIF jsonb_typeof($3) <> 'object' THEN
		RAISE EXCEPTION 'a question must be a JSON object, not %', jsonb_typeof($3) USING ERRCODE = 'invalid_parameter_value',
			HINT = 'Write for example ''{"body": "a text"}'', with the columns of which the fingerprint is made.';
	END IF;
	SELECT key INTO unknown FROM jsonb_object_keys($3) AS key WHERE NOT EXISTS (
		SELECT FROM pg_attribute AS a WHERE a.attrelid = $1::oid AND a.attname = key AND a.attnum > 0 AND NOT a.attisdropped);
	IF FOUND THEN
		RAISE EXCEPTION 'column "%" of relation "%" does not exist', unknown, name_of
			USING ERRCODE = 'undefined_column';
	END IF;
	EXECUTE format('SELECT %s FROM jsonb_populate_record(NULL::%s, $1) AS new', made, $1) INTO result USING $3;
	RETURN result;
END $$;
COMMENT ON FUNCTION simhash_query(regclass, name, jsonb) IS
	'fingerprint of a question, a row with these columns, made as the fingerprints of a column are, as far as '
	'simhash_made_by knows that; an error otherwise';

CREATE FUNCTION simhash_fingerprint_verify(
	relation regclass, fingerprint name, pages int DEFAULT 100,
	OUT part regclass, OUT made_by text, OUT checked bigint, OUT differing bigint, OUT example tid
) RETURNS SETOF record
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	row_name text;
	size bigint;
BEGIN
	PERFORM simhash_catalog.hide_context();
	IF $1 IS NULL OR $2 IS NULL THEN
		RAISE EXCEPTION 'argument "%" of simhash_fingerprint_verify must not be null',
			CASE WHEN $1 IS NULL THEN 'relation' ELSE 'fingerprint' END USING ERRCODE = 'null_value_not_allowed';
	ELSIF $3 < 0 THEN
		RAISE EXCEPTION 'argument "pages" must not be negative: %', $3 USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM simhash_catalog.check_column($1, $2);
	IF (SELECT c.relkind NOT IN ('r', 'p') FROM pg_class AS c WHERE c.oid = $1::oid) THEN
		RAISE EXCEPTION '% is not a table', $1 USING ERRCODE = 'wrong_object_type';
	END IF;
	FOR part, row_name, size IN
		WITH RECURSIVE below (oid) AS (
			SELECT $1::oid UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN below AS b ON b.oid = i.inhparent)
		SELECT c.oid, quote_ident(c.relname), pg_relation_size(c.oid) / current_setting('block_size')::bigint
		FROM pg_class AS c JOIN below AS b ON b.oid = c.oid
		WHERE c.relkind = 'r' AND NOT pg_is_other_temp_schema(c.relnamespace) ORDER BY c.oid::regclass::text
	LOOP
		made_by := simhash_catalog.made_by(part, $2, '');
		checked := NULL;
		differing := NULL;
		example := NULL;
		IF made_by IS NOT NULL THEN
			EXECUTE format(
				'SELECT count(*), count(*) FILTER (WHERE l.differs), min(l.ctid) FILTER (WHERE l.differs)
				FROM (SELECT ctid, %1$I IS DISTINCT FROM (%2$s) AS differs FROM ONLY %3$s %4$s OFFSET 0) AS l',
				$2, simhash_catalog.made_by(part, $2, row_name), part,
				CASE WHEN $3 < size THEN format('TABLESAMPLE SYSTEM (%s)', 100.0 * $3 / size) ELSE '' END)
			INTO checked, differing, example;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;
COMMENT ON FUNCTION simhash_fingerprint_verify(regclass, name, int) IS
	'computes fingerprints again by what made them, and counts those that differ from the stored ones; for '
	'the rows of about a given number of pages of each table, of all with NULL; reads with the rights of '
	'the caller';
