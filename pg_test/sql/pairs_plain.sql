-- Plain tables are read without a query: the pairs are those of a view of the table, for
-- which a query is run.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA pairs_plain;
SET search_path = pairs_plain, public;

-- Pairs of a relation, and how many of them differ from those of a view of it: within, and across itself.
CREATE FUNCTION against_view(relation regclass, key name DEFAULT 'id', k int DEFAULT 3)
RETURNS TABLE (pairs bigint, differing bigint, across bigint) LANGUAGE plpgsql AS $$
DECLARE
	counts text := 'SELECT count(*) FROM ((TABLE %1$s EXCEPT ALL TABLE %2$s) UNION ALL (TABLE %2$s EXCEPT ALL TABLE %1$s)) x';
BEGIN
	EXECUTE format('CREATE TEMP VIEW through AS SELECT %I AS id, fp FROM %s', key, relation);
	CREATE TEMP TABLE wanted AS SELECT * FROM simhash_pairs('through', 'id', 'fp', k);
	CREATE TEMP TABLE found AS SELECT * FROM simhash_pairs(relation, key, 'fp', k);
	CREATE TEMP TABLE wanted_across AS SELECT * FROM simhash_pairs_between('through', 'id', 'fp', 'through', 'id', 'fp', k);
	CREATE TEMP TABLE found_across AS SELECT * FROM simhash_pairs_between(relation, key, 'fp', relation, key, 'fp', k);
	SELECT count(*) FROM wanted INTO pairs;
	EXECUTE format(counts, 'wanted', 'found') INTO differing;
	EXECUTE format(counts, 'wanted_across', 'found_across') INTO across;
	DROP VIEW through;
	DROP TABLE wanted, found, wanted_across, found_across;
	RETURN NEXT;
END
$$;

-- A dropped column, rows that are dead, changed, without a fingerprint, and older than the column of the key.
CREATE TABLE t (gone text, id int, body text, fp bigint);
INSERT INTO t SELECT 'gone', i, repeat('x', i % 50), CASE
		WHEN i % 10 = 0 THEN NULL
		WHEN i > 3900 THEN 42
		ELSE hashint8extended(i / 3, 1) # (1::bigint << (i % 64)) END
FROM generate_series(1, 4000) i;
ALTER TABLE t DROP COLUMN gone;
ALTER TABLE t ADD COLUMN late smallint DEFAULT -7;
UPDATE t SET late = -id WHERE id % 2 = 0;
DELETE FROM t WHERE id % 7 = 0;
SELECT * FROM against_view('t');
SELECT * FROM against_view('t', k => 0);
SELECT * FROM against_view('t', k => 6);
SELECT * FROM against_view('t', 'late');
VACUUM ANALYZE t;
SELECT * FROM against_view('t');
CREATE INDEX t_both ON t (fp, id);
SELECT * FROM against_view('t');
DROP INDEX t_both;

-- What the transaction has written itself, and not what it has taken back; in a function with a cursor.
BEGIN;
INSERT INTO t SELECT i, '', hashint8extended(i / 3, 1) FROM generate_series(4001, 4500) i;
UPDATE t SET fp = fp # 1 WHERE id < 500;
SAVEPOINT s;
DELETE FROM t WHERE id % 3 = 0;
SELECT * FROM against_view('t');
ROLLBACK TO s;
SAVEPOINT s;
INSERT INTO t SELECT i, '', 43 FROM generate_series(5001, 5050) i;
SELECT * FROM against_view('t');
ROLLBACK TO s;
SELECT * FROM against_view('t');
ROLLBACK;
SELECT * FROM against_view('t');
DO $$
DECLARE
	pair record;
	count int := 0;
BEGIN
	FOR pair IN SELECT * FROM simhash_pairs('pairs_plain.t', 'id', 'fp', 1) LOOP
		UPDATE pairs_plain.t SET fp = NULL WHERE id = pair.a;
		count := count + 1;
	END LOOP;
	ASSERT count > 1000;
	ASSERT (SELECT count(*) = 0 FROM simhash_pairs('pairs_plain.t', 'id', 'fp', 1));
	RAISE EXCEPTION 'take it back' USING ERRCODE = 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN NULL;
END
$$;

-- Other kinds of tables: those that a query reads in another way, too.
CREATE TEMP TABLE of_session AS SELECT id, fp FROM t;
SELECT * FROM against_view('of_session');
CREATE UNLOGGED TABLE unlogged AS SELECT id, fp FROM t;
SELECT * FROM against_view('unlogged');
CREATE MATERIALIZED VIEW filled AS SELECT id, fp FROM t;
SELECT * FROM against_view('filled');
CREATE MATERIALIZED VIEW unfilled AS SELECT id, fp FROM t WITH NO DATA;
SELECT * FROM simhash_pairs('unfilled', 'id', 'fp');
CREATE TABLE parted (id bigint, fp bigint) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT id, fp FROM t;
SELECT * FROM against_view('parted');
SELECT * FROM against_view('parted_0');
CREATE TABLE single (id bigint, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE single_1 PARTITION OF single DEFAULT;
INSERT INTO single SELECT id, fp FROM t;
SELECT * FROM against_view('single');
CREATE TABLE parent (id int, fp bigint);
INSERT INTO parent SELECT id, fp FROM t WHERE id < 2000;
CREATE TABLE child () INHERITS (parent);
INSERT INTO child SELECT id, fp FROM t WHERE id >= 2000;
SELECT * FROM against_view('parent');
CREATE TABLE nothing (id int, fp bigint);
SELECT * FROM against_view('nothing');

-- Types: domains, keys that are passed by value and are no integers, and others.
CREATE DOMAIN print AS bigint CHECK (VALUE IS NOT NULL);
CREATE DOMAIN number AS int;
CREATE TABLE typed AS SELECT id::number AS id, fp::print AS fp, id::smallint AS small, '2000-01-01'::date + id AS day,
	id::float8 AS float, id::text AS name FROM t WHERE fp IS NOT NULL;
SELECT * FROM against_view('typed');
SELECT * FROM against_view('typed', 'small');
SELECT count(*), count(*) FILTER (WHERE a < b), min(a), max(b) FROM simhash_pairs('typed', key_type => NULL::date, columns => 'fp', key => 'day');
SELECT count(*), count(*) FILTER (WHERE a < b), min(a), max(b) FROM simhash_pairs('typed', key_type => NULL::float8, columns => 'fp', key => 'float');
SELECT count(*), count(*) FILTER (WHERE a < b), min(a), max(b) FROM simhash_pairs('typed', key_type => NULL::float8, columns => 'fp', key => 'id');
SELECT count(*), count(*) FILTER (WHERE a < b), min(a), max(b) FROM simhash_pairs('typed', key_type => NULL::text, columns => 'fp', key => 'name');
SELECT count(*), count(DISTINCT cluster_id) FROM simhash_clusters('typed', 'id', 'fp');

-- A key that is NULL.
INSERT INTO t VALUES (NULL, '', NULL);
SELECT * FROM against_view('t');
INSERT INTO t VALUES (NULL, '', 1);
SELECT * FROM simhash_pairs('t', 'id', 'fp');
SELECT * FROM simhash_pairs_between('typed', 'id', 'fp', 't', 'id', 'fp');
DELETE FROM t WHERE id IS NULL;

-- More rows than the statistics say, and than memory holds.
CREATE TABLE grown (id int, fp bigint);
INSERT INTO grown SELECT i, CASE WHEN i % 50 = 0 THEN i END FROM generate_series(1, 20000) i;
ANALYZE grown;
UPDATE grown SET fp = hashint8extended(id / 2, 1) # (1::bigint << id % 64);
SET work_mem = '64kB';
SELECT * FROM against_view('grown');
RESET work_mem;
SELECT * FROM against_view('grown');

-- Rights and row security are those of a query.
CREATE ROLE pairs_plain_reader;
GRANT USAGE ON SCHEMA pairs_plain TO pairs_plain_reader;
GRANT SELECT (id) ON typed TO pairs_plain_reader;
CREATE TABLE secured AS SELECT id, fp FROM t;
GRANT SELECT ON secured TO pairs_plain_reader;
SET ROLE pairs_plain_reader;
SELECT count(*) FROM simhash_pairs('typed', 'id', 'fp');
RESET ROLE;
GRANT SELECT (fp) ON typed TO pairs_plain_reader;
SET ROLE pairs_plain_reader;
SELECT count(*) FROM simhash_pairs('typed', 'id', 'fp');
SELECT count(*) FROM simhash_pairs('typed', 'small', 'fp');
SELECT count(*), max(b) FROM simhash_pairs('secured', 'id', 'fp');
RESET ROLE;
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY low ON secured USING (id < 1000);
SET ROLE pairs_plain_reader;
SELECT count(*), max(b) FROM simhash_pairs('secured', 'id', 'fp');
SET row_security = off;
SELECT count(*), max(b) FROM simhash_pairs('secured', 'id', 'fp');
RESET row_security;
RESET ROLE;

-- The read is known to SERIALIZABLE, and counted.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM against_view('filled');
SELECT count(*) > 0 FROM simhash_pairs('unlogged', 'id', 'fp');
SELECT mode, relation::regclass FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'unlogged'::regclass ORDER BY 1;
COMMIT;

DROP OWNED BY pairs_plain_reader;
DROP ROLE pairs_plain_reader;
SET client_min_messages = error;
DROP SCHEMA pairs_plain CASCADE;
