-- simhash_index_stats: counts against the table's own, who may call it, what it refuses.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA index_stats;
SET search_path = index_stats, public;
RESET client_min_messages;

-- A tenth of the rows share the key 0xABCD in block 1 (bits 32 to 47); 25 rows have no fingerprint.
CREATE TABLE t (id int, fp bigint);
INSERT INTO t SELECT i, CASE WHEN i % 10 = 0
	THEN hashint8extended(i, 1) & ~(65535::bigint << 32) | (43981::bigint << 32)
	ELSE hashint8extended(i, 1) END FROM generate_series(1, 20000) i;
INSERT INTO t SELECT 0, NULL FROM generate_series(1, 25);
CREATE INDEX t_fp ON t USING simhash (fp);

-- The leaves are between full, with 575 postings (capacity in crates/hamming/src/page/format.rs), and 70 % full.
SELECT rows, null_rows, height, format_version, hottest_quarter, hottest_key,
	round(hottest_share::numeric, 2) AS share, pages = pg_relation_size('t_fp') / 8192 AS pages,
	leaves BETWEEN 4 * 20000 / 575 AND 4 * 20000 / 400 AS leaves,
	round(bytes_per_row::numeric, 3) = round(pg_relation_size('t_fp') / 20025.0, 3) AS bytes,
	leaf_fill BETWEEN 0.7 AND 1 AS fill, array_length(candidates, 1) AS radii
FROM simhash_index_stats('t_fp');

-- Wider radii mean more candidates, up to those of one whole key space.
SELECT bool_and(c[i] <= c[i + 1] AND c[i + 1] <= 20000) AS growing, c[1] >= 1 AS itself, c[4] < 400 AS few
FROM (SELECT candidates FROM simhash_index_stats('t_fp')) s (c), generate_series(1, 10) i GROUP BY c;

-- An average of what the keys say: k = 0 reads the rarest key of the four.
SELECT abs(candidates[1] - 1.5) < 1 AS one_key FROM simhash_index_stats('t_fp');

-- Splits and deletes are counted.
INSERT INTO t SELECT i, hashint8extended(i, 2) FROM generate_series(20001, 30000) i;
SELECT rows, null_rows FROM simhash_index_stats('t_fp');
DELETE FROM t WHERE id = 0 OR id > 15000;
VACUUM (INDEX_CLEANUP on) t;
SELECT rows, null_rows, leaf_fill < 0.5 AS emptier FROM simhash_index_stats('t_fp');

-- Nothing to count.
CREATE TABLE empty (fp bigint);
CREATE INDEX empty_fp ON empty USING simhash (fp);
SELECT * FROM simhash_index_stats('empty_fp');
INSERT INTO empty VALUES (NULL);
SELECT rows, null_rows, hottest_quarter, bytes_per_row FROM simhash_index_stats('empty_fp');

-- One dead posting is removed as many are.
DELETE FROM empty;
VACUUM (INDEX_CLEANUP on) empty;
SELECT rows, null_rows FROM simhash_index_stats('empty_fp');

-- Every role that may read the table may call it.
CREATE ROLE index_stats_reader;
CREATE ROLE index_stats_nobody;
GRANT USAGE ON SCHEMA index_stats TO index_stats_reader, index_stats_nobody;
GRANT SELECT ON t TO index_stats_reader;
SET ROLE index_stats_reader;
SELECT rows FROM simhash_index_stats('t_fp');
SELECT count(*) FROM simhash_index_verify('t_fp');
SET ROLE index_stats_nobody;
SELECT rows FROM simhash_index_stats('t_fp');
RESET ROLE;

-- Rights on some of the columns do not do.
GRANT SELECT (fp) ON t TO index_stats_nobody;
SET ROLE index_stats_nobody;
SELECT rows FROM simhash_index_stats('t_fp');
RESET ROLE;

-- Row security: from whom it may hide rows learns nothing of the index, as with pg_stats, and other functions show the
-- rows that it shows.
CREATE ROLE index_stats_owner;
CREATE ROLE index_stats_bypass BYPASSRLS;
GRANT USAGE ON SCHEMA index_stats TO index_stats_owner, index_stats_bypass;
CREATE TABLE hidden (id int, fp bigint);
INSERT INTO hidden SELECT i, 42 FROM generate_series(1, 100) i;
CREATE INDEX hidden_fp ON hidden USING simhash (fp);
ANALYZE hidden;
ALTER TABLE hidden OWNER TO index_stats_owner;
GRANT SELECT ON hidden TO index_stats_reader, index_stats_bypass;
-- The first value of each, or the error.
CREATE FUNCTION asked(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	detail text;
BEGIN
	EXECUTE query INTO answer;
	RETURN answer;
EXCEPTION WHEN insufficient_privilege THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN format('%s %s. %s', SQLSTATE, SQLERRM, detail);
END $$;
CREATE VIEW answers AS SELECT query, asked('SELECT ' || query) FROM unnest(ARRAY[
	$$count(*) FROM pg_stats WHERE tablename = 'hidden' AND attname = 'fp'$$,
	$$rows FROM simhash_index_stats('hidden_fp')$$,
	$$rows FROM simhash_catalog.index_stats('hidden_fp')$$,
	$$count(*) FROM simhash_index_verify('hidden_fp')$$,
	$$count(*) FROM simhash_catalog.index_verify('hidden_fp', true)$$,
	$$checked FROM simhash_fingerprint_verify('hidden', 'fp', NULL)$$,
	$$count(*) FROM simhash_pairs('hidden', 'id', 'fp', 0)$$,
	$$count(*) FROM simhash_clusters('hidden', 'id', 'fp', 0)$$,
	$$pairs FROM simhash_radius_report('hidden', 'id', 'fp', max_radius => 0)$$]) WITH ORDINALITY AS q (query, place) ORDER BY place;
ALTER VIEW answers SET (security_invoker = on);
GRANT SELECT ON answers TO PUBLIC;
ALTER TABLE hidden ADD CONSTRAINT made CHECK (NOT (fp IS DISTINCT FROM 42::bigint));
CREATE FUNCTION answers_of(role name) RETURNS SETOF answers LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	RETURN QUERY SELECT * FROM answers;
	RESET ROLE;
END $$;
SELECT * FROM answers_of('index_stats_reader');
SELECT * FROM answers_of('index_stats_owner');
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON hidden FOR SELECT USING (id <= 3);
SELECT * FROM answers_of('index_stats_reader');
SELECT * FROM answers_of('index_stats_owner');
SELECT * FROM answers_of('index_stats_bypass');
-- The owner too, where it is forced, whatever row_security says.
ALTER TABLE hidden FORCE ROW LEVEL SECURITY;
SELECT * FROM answers_of('index_stats_owner');
SET ROLE index_stats_owner;
SET row_security = off;
SELECT rows FROM simhash_index_stats('hidden_fp');
RESET row_security;
RESET ROLE;
SELECT rows FROM simhash_index_stats('hidden_fp');
-- Who names a partition gets its rows, whatever hides those of the partitioned table; so it is with the index.
CREATE TABLE parted (id int, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (9);
CREATE INDEX parted_fp ON parted USING simhash (fp);
GRANT SELECT ON parted, parted_1 TO index_stats_reader;
INSERT INTO parted VALUES (1, 1);
ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
SET ROLE index_stats_reader;
SELECT count(*), (SELECT count(*) FROM parted_1) FROM parted;
SELECT rows FROM simhash_index_stats('parted_1_fp_idx');
RESET ROLE;

-- It locks out DDL only.
BEGIN;
SELECT rows FROM simhash_index_stats('t_fp');
SELECT DISTINCT mode FROM pg_locks WHERE relation IN ('t'::regclass, 't_fp'::regclass) AND pid = pg_backend_pid();
COMMIT;

-- What it refuses.
CREATE INDEX t_id ON t (id);
SELECT rows FROM simhash_index_stats('t_id');
SELECT rows FROM simhash_index_stats('t');
SELECT rows FROM simhash_index_stats('parted_fp');
SELECT rows FROM simhash_index_stats(4294967290::oid);
SELECT count(*) FROM simhash_index_stats(NULL);

SET client_min_messages = warning;
DROP SCHEMA index_stats CASCADE;
DROP ROLE index_stats_reader, index_stats_nobody, index_stats_owner, index_stats_bypass;
