-- The ways, each by its own words. What a way finds is checked by the text, the same for all.
SET client_min_messages = error;

CALL build('simhash_dedup, within 8', ARRAY[
	$$ALTER TABLE doc ADD fp bigint$$,
	$$UPDATE doc SET fp = simhash64(body, preset => 'shingles')$$,
	$$CREATE INDEX doc_fp ON doc USING simhash (fp)$$]);
VACUUM ANALYZE doc;
CALL size('simhash_dedup, within 8', 'doc_fp');
CALL ask('simhash_dedup, within 8', $$SELECT array_agg(id) FROM doc
	WHERE fp <~> (SELECT fp FROM doc WHERE id = $1) <= 8 AND id <> $1 AND simhash_jaccard(body, $2) >= 0.8$$);
-- The same column and index.
CALL ask('simhash_dedup, within 10', $$SELECT array_agg(id) FROM doc
	WHERE fp <~> (SELECT fp FROM doc WHERE id = $1) <= 10 AND id <> $1 AND simhash_jaccard(body, $2) >= 0.8$$);

-- The same column in the SP-GiST index of pg-spgist_hamming; the time to build is that of the index alone.
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'bktree') AS bktree \gset
\if :bktree
CREATE EXTENSION bktree;
CALL build('bktree, within 8', ARRAY[$$CREATE INDEX doc_tree ON doc USING spgist (fp bktree_ops)$$]);
CALL size('bktree, within 8', 'doc_tree');
CALL ask('bktree, within 8', $$SELECT array_agg(id) FROM doc
	WHERE fp <@ ROW((SELECT fp FROM doc WHERE id = $1), 8)::bktree_area AND id <> $1 AND simhash_jaccard(body, $2) >= 0.8$$);
DROP INDEX doc_tree;
\else
\echo '   the server has no bktree: left out'
\endif

-- The fingerprints are the same, and so is the check.
SELECT EXISTS (SELECT FROM pg_available_extension_versions WHERE name = 'vector' AND version ~ '^0\.([7-9]|[1-9]\d)') AS pgvector \gset
\if :pgvector
CREATE EXTENSION vector;
CALL build('pgvector, HNSW', ARRAY[
	$$ALTER TABLE doc ADD bits bit(64)$$,
	$$UPDATE doc SET bits = simhash64(body, preset => 'shingles')::bit(64)$$,
	$$CREATE INDEX doc_bits ON doc USING hnsw (bits bit_hamming_ops)$$]);
VACUUM ANALYZE doc;
CALL size('pgvector, HNSW', 'doc_bits');
CALL ask('pgvector, HNSW', $$SELECT array_agg(id) FROM (
	SELECT id, body FROM doc ORDER BY bits OPERATOR(public.<~>) (SELECT bits FROM doc WHERE id = $1) LIMIT 40) near
	WHERE id <> $1 AND simhash_jaccard(body, $2) >= 0.8$$);
-- As many neighbours as the index can be asked for.
SET hnsw.ef_search = 1000;
CALL ask('pgvector, HNSW, 1000', $$SELECT array_agg(id) FROM (
	SELECT id, body FROM doc ORDER BY bits OPERATOR(public.<~>) (SELECT bits FROM doc WHERE id = $1) LIMIT 1000) near
	WHERE id <> $1 AND simhash_jaccard(body, $2) >= 0.8$$);
\else
\echo '   the server has no pgvector of 0.7 or newer: left out'
\endif

-- pg_trgm compares sets of trigrams of words, so the threshold is set below 0.8. Its GiST index is not for these texts: the
-- trigrams of the longest do not fit on a page.
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm') AS pg_trgm \gset
\if :pg_trgm
CREATE EXTENSION pg_trgm;
SET pg_trgm.similarity_threshold = 0.7;
CALL build('pg_trgm, GIN', ARRAY[$$CREATE INDEX doc_trgm ON doc USING gin (body gin_trgm_ops)$$]);
VACUUM ANALYZE doc;
CALL size('pg_trgm, GIN', 'doc_trgm');
CALL ask('pg_trgm, GIN', $$SELECT array_agg(id) FROM doc WHERE body % $2 AND id <> $1 AND simhash_jaccard(body, $2) >= 0.8$$);
\else
\echo '   the server has no pg_trgm: left out'
\endif
