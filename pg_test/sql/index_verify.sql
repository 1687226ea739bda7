-- simhash_index_verify: what is a fault and what is none.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA index_verify;
SET search_path = index_verify, public;
RESET client_min_messages;
CREATE TABLE t (id int, fp bigint);
INSERT INTO t SELECT i, CASE WHEN i % 20 = 0 THEN NULL ELSE hashint8extended(i, 1) END FROM generate_series(1, 3000) i;
CREATE INDEX t_fp ON t USING simhash (fp);
SELECT count(*) FROM simhash_index_verify('t_fp');
SELECT count(*) FROM simhash_index_verify('t_fp', true);

-- Rows that are dead, gone, or were never there.
BEGIN;
INSERT INTO t SELECT i, hashint8extended(i, 2) FROM generate_series(1, 500) i;
ROLLBACK;
DELETE FROM t WHERE id % 3 = 0;
UPDATE t SET fp = fp # 1 WHERE id % 7 = 0;
SELECT count(*) FROM simhash_index_verify('t_fp', true);

-- Rows that the index was not told of: found only when the table is read too.
UPDATE pg_index SET indisready = false WHERE indexrelid = 't_fp'::regclass;
INSERT INTO t VALUES (10001, 42), (10002, 43), (10003, NULL);
UPDATE pg_index SET indisready = true WHERE indexrelid = 't_fp'::regclass;
SELECT count(*) FROM simhash_index_verify('t_fp');
SELECT block, "offset", replace(fault, t.ctid::text, format('(where row %s is)', id)) AS fault
FROM simhash_index_verify('t_fp', true) LEFT JOIN t ON split_part(fault, ' ', 2) = t.ctid::text ORDER BY id;
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE fp <~> 42 <= 1;
SET enable_seqscan = on;

-- REINDEX mends it; a partial index need not have what its predicate leaves out.
REINDEX INDEX t_fp;
SELECT count(*) FROM simhash_index_verify('t_fp', true);
CREATE INDEX t_some ON t USING simhash ((fp # 9)) WHERE id % 2 = 1;
SELECT count(*) FROM simhash_index_verify('t_some', true);
UPDATE pg_index SET indisready = false WHERE indexrelid = 't_some'::regclass;
INSERT INTO t VALUES (20001, 42), (20002, 43);
UPDATE pg_index SET indisready = true WHERE indexrelid = 't_some'::regclass;
SELECT count(*) FROM simhash_index_verify('t_some', true);

-- Only the owner may ask.
CREATE ROLE index_verify_other;
GRANT USAGE ON SCHEMA index_verify TO index_verify_other;
GRANT SELECT ON t TO index_verify_other;
SET ROLE index_verify_other;
SELECT count(*) FROM simhash_index_verify('t_fp');
RESET ROLE;
SELECT count(*) FROM simhash_index_verify('t');
SELECT count(*) FROM simhash_index_verify(NULL, true);

SET client_min_messages = warning;
DROP SCHEMA index_verify CASCADE;
DROP ROLE index_verify_other;
