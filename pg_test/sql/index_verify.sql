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
-- With as little memory as the setting allows (rows are sorted in files), and as a prepared statement.
SET maintenance_work_mem = '1MB';
INSERT INTO t SELECT i, hashint8extended(i, 3) FROM generate_series(20000, 70000) i;
PREPARE verify AS SELECT count(*) FROM simhash_index_verify('t_fp', true);
EXECUTE verify;
DELETE FROM t WHERE id BETWEEN 20000 AND 70000;
EXECUTE verify;
VACUUM t;
EXECUTE verify;
RESET maintenance_work_mem;
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

-- Postings of rows that are gone, at row addresses that other rows have by now. All key spaces agree, so that only
-- the table tells.
CREATE TABLE left_behind (id int, fp bigint);
INSERT INTO left_behind VALUES (1, 10), (2, 20), (3, NULL), (4, 40);
CREATE INDEX left_behind_fp ON left_behind USING simhash (fp) WHERE id < 10;
UPDATE pg_index SET indisready = false WHERE indexrelid = 'left_behind_fp'::regclass;
DELETE FROM left_behind;
VACUUM (TRUNCATE off) left_behind;
INSERT INTO left_behind VALUES (1, 11), (2, NULL), (3, 33), (40, 40);
UPDATE pg_index SET indisready = true WHERE indexrelid = 'left_behind_fp'::regclass;
SELECT * FROM simhash_index_verify('left_behind_fp');
SELECT fault FROM simhash_index_verify('left_behind_fp', true) ORDER BY fault COLLATE "C";

-- It blocks neither readers nor writers.
BEGIN;
SELECT count(*) FROM simhash_index_verify('t_fp', true);
SELECT DISTINCT mode FROM pg_locks WHERE relation IN ('t'::regclass, 't_fp'::regclass) AND pid = pg_backend_pid();
COMMIT;
-- A snapshot older than the index does not matter, nor do rows of the transaction's own.
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO t VALUES (30001, 44);
SAVEPOINT a;
UPDATE t SET fp = 45 WHERE id = 30001;
ROLLBACK TO a;
UPDATE t SET id = 30002 WHERE id = 30001;
CREATE INDEX t_own ON t USING simhash (fp);
DELETE FROM t WHERE id = 30002;
INSERT INTO t VALUES (30003, NULL);
SELECT count(*) FROM simhash_index_verify('t_fp', true);
SELECT count(*) FROM simhash_index_verify('t_own', true);
ROLLBACK;

-- Functions of the index's expressions get the rights of the table's owner, not the caller's.
CREATE ROLE index_verify_owner;
GRANT USAGE, CREATE ON SCHEMA index_verify TO index_verify_owner;
SET ROLE index_verify_owner;
CREATE TABLE own (id int, fp bigint);
CREATE FUNCTION called_by(fp bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql SET client_min_messages = notice AS $$
BEGIN
	RAISE NOTICE 'called by %', current_user;
	RETURN fp;
END $$;
SET client_min_messages = warning;
INSERT INTO own VALUES (1, 1);
CREATE INDEX own_fp ON own USING simhash (index_verify.called_by(fp));
RESET client_min_messages;
RESET ROLE;
SELECT count(*) FROM simhash_index_verify('own_fp', true);
SELECT current_user = session_user AS the_callers_again;

-- Only the owner may call it.
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
DROP ROLE index_verify_other, index_verify_owner;
