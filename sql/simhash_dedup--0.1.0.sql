-- simhash_dedup 0.1.0: the SQL objects, in the order in which data flows.
-- Functions are C, or name everything with its schema: none depends on a search_path. The Rust symbol of each function stands
-- behind MODULE_PATHNAME; its argument types here are what the Rust side relies on.

\echo Use "CREATE EXTENSION simhash_dedup" to load this file. \quit

-- ---------------------------------------------------------------- what the extension keeps to itself
-- Tables of stored configurations, and functions that its triggers call. Every role may use this schema, so that what an owner put
-- into a trigger or a view works for roles that have no rights on the schema of the extension. Never IF NOT EXISTS: a schema
-- that somebody else made is no place for them.

CREATE SCHEMA simhash_catalog;
GRANT USAGE ON SCHEMA simhash_catalog TO PUBLIC;
COMMENT ON SCHEMA simhash_catalog IS 'what simhash_dedup keeps to itself: stored configurations and internal functions';

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

-- For the triggers' queries.
CREATE FUNCTION simhash_catalog.jaccard(a text, b text, n int) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_jaccard';
COMMENT ON FUNCTION simhash_catalog.jaccard(text, text, int) IS 'the function simhash_jaccard, for triggers';

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

-- For the triggers' queries: the planner replaces it by <~>.
CREATE FUNCTION simhash_catalog.distance(bigint, bigint) RETURNS int
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF SUPPORT hamming_support
AS 'MODULE_PATHNAME', 'simhash_hamming';
COMMENT ON FUNCTION simhash_catalog.distance(bigint, bigint) IS 'the function hamming, for triggers';

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

-- ---------------------------------------------------------------- pairs and clusters
-- They read a table as the caller may (privileges, row security) and need no index. Not strict: a
-- NULL among the first arguments is an error, key_type is only a type.

CREATE FUNCTION simhash_pairs(
	rel regclass, key name, fp name, k int DEFAULT 3,
	OUT a bigint, OUT b bigint, OUT distance int
) RETURNS SETOF record
LANGUAGE c STABLE COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_pairs';
COMMENT ON FUNCTION simhash_pairs(regclass, name, name, int) IS
	'every pair of rows whose fingerprints differ in at most k bits, once, with a < b';

-- For other keys than integers. The type of a result cannot depend on a default, hence two functions.
CREATE FUNCTION simhash_pairs(
	rel regclass, key name, fp name, key_type anyelement, k int DEFAULT 3,
	OUT a anyelement, OUT b anyelement, OUT distance int
) RETURNS SETOF record
LANGUAGE c STABLE COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_pairs_keyed';
COMMENT ON FUNCTION simhash_pairs(regclass, name, name, anyelement, int) IS
	'as simhash_pairs(regclass, name, name, int), with keys of the type of key_type, whose value does not matter';

CREATE FUNCTION simhash_clusters(
	rel regclass, key_column name, fp name, k int DEFAULT 3, method text DEFAULT NULL,
	text_column name DEFAULT NULL, min_jaccard float8 DEFAULT 0.8,
	OUT cluster_id bigint, OUT key bigint, OUT size bigint, OUT representative bigint,
	OUT distance int, OUT jaccard float8
) RETURNS SETOF record
LANGUAGE c STABLE COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_clusters';
COMMENT ON FUNCTION simhash_clusters(regclass, name, name, int, text, name, float8) IS
	'groups of near-duplicate rows by method components, star, leader or single_pass; rows alone are left out';

CREATE FUNCTION simhash_clusters(
	rel regclass, key_column name, fp name, key_type anyelement, k int DEFAULT 3, method text DEFAULT NULL,
	text_column name DEFAULT NULL, min_jaccard float8 DEFAULT 0.8,
	OUT cluster_id anyelement, OUT key anyelement, OUT size bigint, OUT representative anyelement,
	OUT distance int, OUT jaccard float8
) RETURNS SETOF record
LANGUAGE c STABLE COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'simhash_clusters_keyed';
COMMENT ON FUNCTION simhash_clusters(regclass, name, name, anyelement, int, text, name, float8) IS
	'as simhash_clusters(regclass, name, name, int, text, name, float8), with keys of the type of key_type, whose value does not matter';

CREATE FUNCTION simhash_cluster(fp bigint, k int DEFAULT 3) RETURNS int
LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 10000 AS 'MODULE_PATHNAME', 'simhash_cluster';
COMMENT ON FUNCTION simhash_cluster(bigint, int) IS
	'window function: a number, from 0 in order of appearance, that rows connected by distances of at most k share';

CREATE FUNCTION simhash_assign_cluster() RETURNS trigger
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_assign_cluster';
COMMENT ON FUNCTION simhash_assign_cluster() IS
	'AFTER INSERT OR UPDATE row trigger that keeps a table (key, cluster_id) of clusters current; arguments clusters=, key=, fingerprint=, radius=';

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

-- ---------------------------------------------------------------- stored configurations
-- docs/stored.md. Rows are only ever added: a name and a version say for ever what made a fingerprint.
-- Everybody may read the tables; the owner of the extension may add rows and pass that right on.

CREATE TABLE simhash_config (
	name text NOT NULL CHECK (name <> '' AND strpos(name, '@') = 0),
	version int NOT NULL CHECK (version > 0),
	-- Never the same twice, though a rolled back version may come again: what sessions go by.
	id uuid NOT NULL DEFAULT gen_random_uuid(),
	options jsonb NOT NULL,
	preset text,
	dictionary text,
	dictionary_version int,
	idf text,
	idf_version int,
	created timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (name, version)
);
COMMENT ON TABLE simhash_config IS 'stored configurations of simhash64_named; a version never changes';

-- What each version of a dictionary added or removed.
CREATE TABLE simhash_dictionary_word (
	dictionary text NOT NULL CHECK (dictionary <> '' AND strpos(dictionary, '@') = 0),
	version int NOT NULL CHECK (version > 0),
	kind text NOT NULL CHECK (kind IN ('word', 'stop')),
	word text NOT NULL CHECK (length(word) BETWEEN 1 AND 200),
	tag text,
	removed boolean NOT NULL DEFAULT false,
	PRIMARY KEY (dictionary, kind, word, version)
);
CREATE INDEX simhash_dictionary_word_version ON simhash_dictionary_word (dictionary, version);
COMMENT ON TABLE simhash_dictionary_word IS 'words and stop words that each version of a dictionary added or removed';

CREATE TABLE simhash_idf (
	name text NOT NULL CHECK (name <> '' AND strpos(name, '@') = 0),
	version int NOT NULL CHECK (version > 0),
	documents bigint NOT NULL CHECK (documents >= 0),
	source text NOT NULL,
	created timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (name, version)
);
COMMENT ON TABLE simhash_idf IS 'frozen tables of document frequencies';

CREATE TABLE simhash_idf_term (
	name text NOT NULL,
	version int NOT NULL,
	term text NOT NULL CHECK (length(term) <= 200),
	documents bigint NOT NULL CHECK (documents > 0),
	PRIMARY KEY (name, version, term)
);
COMMENT ON TABLE simhash_idf_term IS 'how many documents hold a word';

SELECT pg_catalog.pg_extension_config_dump('simhash_config', '');
SELECT pg_catalog.pg_extension_config_dump('simhash_dictionary_word', '');
SELECT pg_catalog.pg_extension_config_dump('simhash_idf', '');
SELECT pg_catalog.pg_extension_config_dump('simhash_idf_term', '');

GRANT SELECT ON simhash_config, simhash_dictionary_word, simhash_idf, simhash_idf_term TO PUBLIC;
GRANT SELECT, INSERT ON simhash_config, simhash_dictionary_word, simhash_idf, simhash_idf_term TO @extowner@ WITH GRANT OPTION;

CREATE FUNCTION simhash_keep_versions() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE EXCEPTION 'rows of table "%" never change', TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Stored fingerprints depend on them: make a new version instead.';
END $$;
CREATE TRIGGER keep_versions BEFORE UPDATE OR DELETE OR TRUNCATE ON simhash_config
	FOR EACH STATEMENT EXECUTE FUNCTION simhash_keep_versions();
CREATE TRIGGER keep_versions BEFORE UPDATE OR DELETE OR TRUNCATE ON simhash_dictionary_word
	FOR EACH STATEMENT EXECUTE FUNCTION simhash_keep_versions();
CREATE TRIGGER keep_versions BEFORE UPDATE OR DELETE OR TRUNCATE ON simhash_idf
	FOR EACH STATEMENT EXECUTE FUNCTION simhash_keep_versions();
CREATE TRIGGER keep_versions BEFORE UPDATE OR DELETE OR TRUNCATE ON simhash_idf_term
	FOR EACH STATEMENT EXECUTE FUNCTION simhash_keep_versions();

-- STABLE: they read tables.
CREATE FUNCTION simhash64_named(record, name text) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_row_named';
COMMENT ON FUNCTION simhash64_named(record, text) IS '64-bit SimHash of a row under a stored configuration, name or name@version';

CREATE FUNCTION simhash64_named_text(text, name text) RETURNS bigint
LANGUAGE c STABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'simhash_text_named';
COMMENT ON FUNCTION simhash64_named_text(text, text) IS '64-bit SimHash of a text under a stored configuration, name or name@version';

CREATE FUNCTION simhash_terms(text, options jsonb DEFAULT NULL, preset text DEFAULT NULL) RETURNS SETOF text
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000 ROWS 100 AS 'MODULE_PATHNAME', 'simhash_terms';
COMMENT ON FUNCTION simhash_terms(text, jsonb, text) IS 'the distinct words of a text, in normal form';

CREATE FUNCTION simhash_check_options(options jsonb, preset text) RETURNS void
LANGUAGE c IMMUTABLE AS 'MODULE_PATHNAME', 'simhash_check_options';
COMMENT ON FUNCTION simhash_check_options(jsonb, text) IS 'an error unless these are weights of a row or options of a text, and a preset';

-- Bodies of this form are bound when they are created: no search_path and no move to another schema
-- changes them. Those in plpgsql look up where the extension is.
CREATE FUNCTION simhash_dictionary_words(dictionary text, version int) RETURNS TABLE (kind text, word text, tag text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT l.kind, l.word, l.tag FROM (
		SELECT DISTINCT ON (w.kind, w.word) w.kind, w.word, w.tag, w.removed
		FROM simhash_dictionary_word AS w
		WHERE w.dictionary = $1 AND w.version <= $2
		ORDER BY w.kind, w.word, w.version DESC) AS l
	WHERE NOT l.removed;
END;
COMMENT ON FUNCTION simhash_dictionary_words(text, int) IS 'the words and stop words of a version of a dictionary';

-- What is called below stands with its schema where another function, with arguments that match better,
-- could stand beside the extension.
CREATE FUNCTION simhash_lock_versions(versions regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	-- An older snapshot would not show the newest version: the next one would be added to it.
	IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
		RAISE EXCEPTION 'versions cannot be made in a transaction with isolation level %', current_setting('transaction_isolation')
			USING ERRCODE = 'invalid_transaction_state', HINT = 'Use SET TRANSACTION ISOLATION LEVEL READ COMMITTED.';
	END IF;
	-- One writer at a time, so that versions have no gaps and no twins.
	PERFORM pg_advisory_xact_lock($1::oid::bigint);
END $$;
COMMENT ON FUNCTION simhash_lock_versions(regclass) IS 'lets one transaction at a time make versions; behind simhash_create_config and its like';

CREATE FUNCTION simhash_create_config(
	name text, options jsonb DEFAULT '{}', preset text DEFAULT NULL, dictionary text DEFAULT NULL, idf text DEFAULT NULL
) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	of_dictionary int;
	idf_name text := split_part($5, '@', 1);
	of_idf int;
	made int;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %I, pg_temp', n.nspname), true)
	FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'simhash_dedup';
	PERFORM simhash_check_options($2, $3);
	PERFORM simhash_lock_versions('simhash_config'::regclass);
	IF $4 IS NOT NULL THEN
		SELECT max(w.version) INTO of_dictionary FROM simhash_dictionary_word AS w WHERE w.dictionary = $4;
		IF of_dictionary IS NULL THEN
			RAISE EXCEPTION 'dictionary "%" does not exist', $4 USING ERRCODE = 'undefined_object',
				HINT = 'simhash_add_word makes it.';
		END IF;
	END IF;
	IF $5 IS NOT NULL THEN
		SELECT max(i.version) INTO of_idf FROM simhash_idf AS i
		WHERE i.name = idf_name AND (strpos($5, '@') = 0 OR i.version::text = split_part($5, '@', 2));
		IF of_idf IS NULL THEN
			RAISE EXCEPTION 'idf table "%" does not exist', $5 USING ERRCODE = 'undefined_object',
				HINT = 'simhash_build_idf makes it.';
		END IF;
	END IF;
	SELECT coalesce(max(c.version), 0) + 1 INTO made FROM simhash_config AS c WHERE c.name = $1;
	INSERT INTO simhash_config (name, version, options, preset, dictionary, dictionary_version, idf, idf_version)
	VALUES ($1, made, coalesce($2, '{}'), $3, $4, of_dictionary, idf_name, of_idf);
	RETURN made;
END $$;
COMMENT ON FUNCTION simhash_create_config(text, jsonb, text, text, text) IS 'adds a version of a stored configuration, and says which';

CREATE FUNCTION simhash_change_dictionary(dictionary text, kind text, words text[], tag text, remove boolean) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	newest int;
	missing text;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %I, pg_temp', n.nspname), true)
	FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'simhash_dedup';
	PERFORM simhash_lock_versions('simhash_config'::regclass);
	SELECT coalesce(max(w.version), 0) INTO newest FROM simhash_dictionary_word AS w WHERE w.dictionary = $1;
	IF $5 THEN
		SELECT g INTO missing FROM pg_catalog.unnest($3) AS g
		WHERE NOT EXISTS (SELECT FROM simhash_dictionary_words($1, newest) AS d WHERE d.kind = $2 AND d.word = g);
		IF FOUND THEN
			RAISE EXCEPTION 'dictionary "%" has no % "%"', $1, CASE $2 WHEN 'stop' THEN 'stop word' ELSE 'word' END, missing
				USING ERRCODE = 'undefined_object';
		END IF;
	END IF;
	INSERT INTO simhash_dictionary_word (dictionary, version, kind, word, tag, removed)
	SELECT DISTINCT $1, newest + 1, $2, g, CASE WHEN $5 THEN NULL ELSE $4 END, $5 FROM pg_catalog.unnest($3) AS g
	WHERE $5 OR NOT EXISTS (
		SELECT FROM simhash_dictionary_words($1, newest) AS d
		WHERE d.kind = $2 AND d.word = g AND d.tag IS NOT DISTINCT FROM $4);
	IF NOT FOUND THEN
		RETURN newest;
	END IF;
	-- What uses the dictionary follows it: as a version of its own, or a version would change its meaning.
	INSERT INTO simhash_config (name, version, options, preset, dictionary, dictionary_version, idf, idf_version)
	SELECT c.name, c.version + 1, c.options, c.preset, c.dictionary, newest + 1, c.idf, c.idf_version
	FROM (SELECT DISTINCT ON (a.name) a.* FROM simhash_config AS a ORDER BY a.name, a.version DESC) AS c
	WHERE c.dictionary = $1;
	RETURN newest + 1;
END $$;
COMMENT ON FUNCTION simhash_change_dictionary(text, text, text[], text, boolean) IS
	'adds a version of a dictionary, and one of every configuration that uses it; behind simhash_add_word and its like';

CREATE FUNCTION simhash_add_words(dictionary text, words text[], tag text DEFAULT NULL) RETURNS int
LANGUAGE sql BEGIN ATOMIC SELECT simhash_change_dictionary($1, 'word', $2, $3, false); END;
CREATE FUNCTION simhash_add_word(dictionary text, word text, tag text DEFAULT NULL) RETURNS int
LANGUAGE sql BEGIN ATOMIC SELECT simhash_change_dictionary($1, 'word', ARRAY[$2], $3, false); END;
CREATE FUNCTION simhash_remove_word(dictionary text, word text) RETURNS int
LANGUAGE sql BEGIN ATOMIC SELECT simhash_change_dictionary($1, 'word', ARRAY[$2], NULL, true); END;
CREATE FUNCTION simhash_add_stop_words(dictionary text, words text[]) RETURNS int
LANGUAGE sql BEGIN ATOMIC SELECT simhash_change_dictionary($1, 'stop', $2, NULL, false); END;
CREATE FUNCTION simhash_add_stop_word(dictionary text, word text) RETURNS int
LANGUAGE sql BEGIN ATOMIC SELECT simhash_change_dictionary($1, 'stop', ARRAY[$2], NULL, false); END;
CREATE FUNCTION simhash_remove_stop_word(dictionary text, word text) RETURNS int
LANGUAGE sql BEGIN ATOMIC SELECT simhash_change_dictionary($1, 'stop', ARRAY[$2], NULL, true); END;
COMMENT ON FUNCTION simhash_add_words(text, text[], text) IS 'adds words that stay whole, with a part of speech (n, v, ...); gives the dictionary''s version';
COMMENT ON FUNCTION simhash_add_word(text, text, text) IS 'adds a word that stays whole, with a part of speech (n, v, ...); gives the dictionary''s version';
COMMENT ON FUNCTION simhash_remove_word(text, text) IS 'removes a word; gives the dictionary''s version';
COMMENT ON FUNCTION simhash_add_stop_words(text, text[]) IS 'adds words that do not count; gives the dictionary''s version';
COMMENT ON FUNCTION simhash_add_stop_word(text, text) IS 'adds a word that does not count; gives the dictionary''s version';
COMMENT ON FUNCTION simhash_remove_stop_word(text, text) IS 'removes a stop word; gives the dictionary''s version';

CREATE FUNCTION simhash_build_idf(
	name text, source regclass, column_name name, dictionary text DEFAULT NULL, min_documents int DEFAULT 1
) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	options jsonb;
	part record;
	step CONSTANT bigint := 2000;
	first bigint;
	last bigint;
	batch bigint;
	total bigint := 0;
	made int;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %I, pg_temp', n.nspname), true)
	FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'simhash_dedup';
	-- Now rather than after hours of counting.
	IF $1 IS NULL OR $2 IS NULL OR $3 IS NULL OR $5 IS NULL THEN
		RAISE EXCEPTION 'name, source, column_name and min_documents must not be NULL' USING ERRCODE = 'null_value_not_allowed';
	ELSIF $1 = '' OR strpos($1, '@') > 0 THEN
		RAISE EXCEPTION 'invalid name of an idf table: "%"', $1 USING ERRCODE = 'invalid_name', HINT = 'A name is not empty and has no "@".';
	ELSIF $4 IS NOT NULL AND NOT EXISTS (SELECT FROM simhash_dictionary_word AS w WHERE w.dictionary = $4) THEN
		RAISE EXCEPTION 'dictionary "%" does not exist', $4 USING ERRCODE = 'undefined_object', HINT = 'simhash_add_word makes it.';
	END IF;
	SELECT pg_catalog.jsonb_build_object('dictionary', coalesce(pg_catalog.jsonb_agg(d.word), '[]')) INTO options
	FROM simhash_dictionary_words($4, 2147483647) AS d WHERE d.kind = 'word';
	CREATE TEMP TABLE simhash_idf_part (term text, documents bigint) ON COMMIT DROP;
	-- Leaf partitions and plain tables are worked off in ranges of pages, anything else at once: views,
	-- foreign tables, tables with children.
	FOR part IN
		SELECT c.oid::regclass AS relation, c.relkind IN ('r', 'm', 't') AND NOT c.relhassubclass AS has_pages
		FROM pg_class AS c
		WHERE c.oid = $2 AND c.relkind <> 'p'
			OR c.oid IN (SELECT p.relid FROM pg_partition_tree($2) AS p WHERE p.isleaf)
	LOOP
		first := 0;
		LOOP
			last := CASE WHEN part.has_pages THEN pg_relation_size(part.relation) / current_setting('block_size')::bigint ELSE 0 END;
			EXECUTE pg_catalog.format(
				'WITH body AS MATERIALIZED (SELECT x.%1$I::text AS body FROM %2$s AS x WHERE x.%1$I IS NOT NULL %3$s),
				part AS (INSERT INTO pg_temp.simhash_idf_part SELECT t, count(*) FROM body AS b,
					simhash_terms(b.body, $1, NULL::text) AS t WHERE length(t) <= 200 GROUP BY t)
				SELECT count(*) FROM body',
				$3, part.relation,
				CASE WHEN part.has_pages THEN 'AND x.ctid >= $2 AND ($3 IS NULL OR x.ctid < $3)' ELSE 'AND ($2, $3) IS NOT DISTINCT FROM ($2, $3)' END)
			INTO batch USING options, pg_catalog.format('(%s,0)', first)::tid,
				CASE WHEN first + step <= last THEN pg_catalog.format('(%s,0)', first + step)::tid END;
			total := total + batch;
			first := first + step;
			RAISE NOTICE 'idf table "%": % of % pages of %, % documents', $1, least(first, last), last, part.relation, total;
			EXIT WHEN first > last;
		END LOOP;
	END LOOP;
	PERFORM pg_advisory_xact_lock('simhash_config'::regclass::oid::bigint);
	SELECT coalesce(max(i.version), 0) + 1 INTO made FROM simhash_idf AS i WHERE i.name = $1;
	INSERT INTO simhash_idf (name, version, documents, source)
	SELECT $1, made, total, pg_catalog.format('%I.%I (%I)', n.nspname, c.relname, $3)
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $2;
	INSERT INTO simhash_idf_term (name, version, term, documents)
	SELECT $1, made, p.term, sum(p.documents) FROM pg_temp.simhash_idf_part AS p
	GROUP BY p.term HAVING sum(p.documents) >= $5;
	DROP TABLE pg_temp.simhash_idf_part;
	RETURN made;
END $$;
COMMENT ON FUNCTION simhash_build_idf(text, regclass, name, text, int) IS
	'counts in how many rows each word of a column occurs, and freezes that as a version of an idf table';

-- ---------------------------------------------------------------- flagging

CREATE FUNCTION simhash_flag_duplicate() RETURNS trigger
LANGUAGE c VOLATILE AS 'MODULE_PATHNAME', 'simhash_flag_duplicate';
COMMENT ON FUNCTION simhash_flag_duplicate() IS
	'BEFORE INSERT OR UPDATE row trigger that marks, rejects or skips near-duplicates; arguments are ''name=value'' strings, see docs/flagging.md';
