-- pg_squeeze (shared_preload_libraries = 'pg_squeeze', wal_level = logical; servers that know output_plugin_libraries want
-- pg_squeeze there). `fails` is true when a table with an index is squeezed wrongly, and when one with EXCLUDE is squeezed at all:
-- then docs/operations.md is out of date.
CREATE EXTENSION simhash_dedup;
CREATE EXTENSION pg_squeeze;
CREATE TABLE doc (id int PRIMARY KEY, fp bigint);
INSERT INTO doc SELECT i, hashint8extended(i % 40000, 1) FROM generate_series(1, 50000) i;
CREATE INDEX doc_fp ON doc USING simhash (fp);
CREATE TABLE apart (id int PRIMARY KEY, fp bigint, EXCLUDE USING simhash (fp WITH ~=));
INSERT INTO apart SELECT i, hashint8extended(i, 1) FROM generate_series(1, 1000) i;
-- A constraint of the server's own fails in the same way.
CREATE TABLE other (id int PRIMARY KEY, span int4range, EXCLUDE USING gist (span WITH &&));
INSERT INTO other SELECT i, int4range(i, i + 1) FROM generate_series(1, 1000) i;
DELETE FROM doc WHERE id % 3 = 1;
CREATE TABLE was AS SELECT pg_relation_filenode('doc_fp') AS file;
SELECT squeeze.squeeze_table('public', 'doc');
SELECT squeeze.squeeze_table('public', 'apart');
SELECT squeeze.squeeze_table('public', 'other');
SELECT tabname, err_msg FROM squeeze.errors ORDER BY id;
SET enable_seqscan = off;
SELECT EXISTS (SELECT FROM simhash_index_verify('doc_fp', true)) OR pg_relation_filenode('doc_fp') = (SELECT file FROM was)
    OR (SELECT count(*) FROM (SELECT id, fp FROM doc WHERE id <= 300) a JOIN doc b ON b.fp <~> a.fp <= 3)
        <> (SELECT count(*) FROM (SELECT id, fp FROM doc WHERE id <= 300) a JOIN doc b ON bit_count((b.fp # a.fp)::bit(64)) <= 3)
    OR (SELECT count(*) FROM squeeze.errors WHERE err_msg LIKE 'exclusion constraint record missing%' AND tabname IN ('apart', 'other')) <> 2
    AS fails;
