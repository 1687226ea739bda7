-- The trigger simhash_flag_duplicate() where a row has many near-duplicates: which of them it tells, and that this does
-- not read all of them. docs/flagging.md (Many copies of one text).
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA copies;
SET search_path = copies, public;
RESET client_min_messages;

CREATE TABLE t (id int PRIMARY KEY, fp bigint, dup int, tenant int DEFAULT 1, body text);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE FUNCTION fire(arguments text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=fp'', %s)', arguments);
END $$;
-- Stores rows that nobody has judged.
CREATE PROCEDURE store(command text) LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE t DISABLE TRIGGER USER;
	EXECUTE command;
	ALTER TABLE t ENABLE TRIGGER USER;
END $$;

-- The nearest row, whatever is found first: of rows at all distances up to 20, in each order, with every nearest one.
SELECT fire($$'radius=20', 'duplicate_of=dup'$$);
CREATE FUNCTION told(distances int[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE near int;
BEGIN
	TRUNCATE t;
	CALL store(format('INSERT INTO t SELECT d, (1::bigint << d) - 1 FROM unnest(%L::int[]) d', distances));
	INSERT INTO t VALUES (1000, 0) RETURNING dup INTO near;
	-- An UPDATE that makes a row of another text one of these finds the same.
	INSERT INTO t VALUES (1001, -1);
	DELETE FROM t WHERE id = 1000;
	UPDATE t SET fp = 0 WHERE id = 1001;
	RETURN CASE WHEN dup IS NOT DISTINCT FROM near THEN near END FROM t WHERE id = 1001;
END $$;
SELECT count(*) FILTER (WHERE told(ARRAY(SELECT generate_series(least, 20))) = least) AS ascending,
	count(*) FILTER (WHERE told(ARRAY(SELECT generate_series(20, least, -1))) = least) AS descending,
	count(*) FILTER (WHERE told(ARRAY[20, least]) = least) AS alone
FROM generate_series(0, 20) least WHERE least < 20;
SELECT told(ARRAY[20]) AS farthest, told(ARRAY[21]) AS too_far;
-- mode=reject names the distance of the nearest.
SELECT fire($$'radius=20', 'mode=reject'$$);
TRUNCATE t;
CALL store('INSERT INTO t SELECT d, (1::bigint << d) - 1 FROM generate_series(7, 20) d');
INSERT INTO t VALUES (1000, 0);

-- All copies point at the first one, in one statement and in several, also one that is itself a duplicate of another text.
TRUNCATE t;
SELECT fire($$'duplicate_of=dup'$$);
INSERT INTO t SELECT i, 0 FROM generate_series(1000, 1, -1) i;
SELECT dup, count(*) FROM t GROUP BY dup ORDER BY dup;
INSERT INTO t VALUES (2000, 3), (2001, 3);
INSERT INTO t VALUES (1999, 3);
SELECT id, dup FROM t WHERE fp = 3 ORDER BY id;
-- Between two texts the first row of either is told, whichever copy is found.
INSERT INTO t VALUES (3000, 1);
SELECT dup IN (1000, 2000) AS a_first_one FROM t WHERE id = 3000;

-- The row that the found one points at: there, deleted, updated away, of the new row's own key, in another scope, unlike in
-- its text.
CREATE FUNCTION next_copy(change text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE told int;
BEGIN
	TRUNCATE t;
	CALL store('INSERT INTO t VALUES (2, 0, 5, 1, ''the quick brown fox''), (5, 0, NULL, 1, ''the quick brown fox'')');
	-- The index finds the duplicate before its original, whose key is the larger one.
	CALL store(change);
	INSERT INTO t VALUES (6, 0, NULL, 1, 'the quick brown fox') RETURNING dup INTO told;
	RETURN told;
END $$;
SELECT next_copy('SELECT') AS original;
SELECT next_copy('DELETE FROM t WHERE id = 5') AS deleted,
	next_copy('UPDATE t SET fp = 1 WHERE id = 5') AS changed,
	next_copy('UPDATE t SET fp = -1 WHERE id = 5') AS far,
	next_copy('UPDATE t SET dup = 6 WHERE id = 2') AS of_the_new_key,
	next_copy('UPDATE t SET dup = 17 WHERE id = 2') AS of_no_row;
SELECT fire($$'duplicate_of=dup', 'within=tenant', 'text=body', 'min_jaccard=0.8', 'radius=3'$$);
SELECT next_copy('SELECT') AS original,
	next_copy('UPDATE t SET tenant = 2 WHERE id = 5') AS of_another_tenant,
	next_copy('UPDATE t SET tenant = NULL WHERE id = 5') AS of_none,
	next_copy('UPDATE t SET body = ''something else'' WHERE id = 5') AS of_another_text;
-- An updated row does not point at itself.
SELECT fire($$'duplicate_of=dup'$$);
TRUNCATE t;
CALL store('INSERT INTO t VALUES (2, 0, 1), (1, -1, NULL)');
UPDATE t SET fp = 0 WHERE id = 1;
SELECT id, dup FROM t ORDER BY id;
-- Nor does a row that an upsert proposes.
INSERT INTO t VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET dup = excluded.dup;
SELECT id, dup FROM t ORDER BY id;

-- No mark is followed where the key is not unique by itself, or originals are looked for (then there are no marks).
ALTER TABLE t DROP CONSTRAINT t_pkey;
SELECT fire($$'duplicate_of=dup', 'key=id'$$);
SELECT next_copy('SELECT') AS without_index;
CREATE UNIQUE INDEX t_both ON t (id, tenant);
SELECT next_copy('SELECT') AS of_two_columns;
CREATE UNIQUE INDEX t_some ON t (id) WHERE id > 0;
SELECT next_copy('SELECT') AS partial;
CREATE UNIQUE INDEX t_id ON t (id);
SELECT next_copy('SELECT') AS is_unique;
SELECT fire($$'duplicate_of=dup', 'key=id', 'among=originals'$$);
SELECT next_copy('SELECT') AS of_originals;
-- Nor where the role may not read the marks.
SELECT fire($$'duplicate_of=dup', 'key=id'$$);
TRUNCATE t;
CALL store('INSERT INTO t VALUES (2, 0, 5), (5, 0, NULL)');
CREATE ROLE regress_copies_writer;
GRANT USAGE ON SCHEMA copies TO regress_copies_writer;
GRANT INSERT, SELECT (id, fp) ON t TO regress_copies_writer;
SET ROLE regress_copies_writer;
INSERT INTO t VALUES (3, 0);
RESET ROLE;
GRANT SELECT (dup) ON t TO regress_copies_writer;
SET ROLE regress_copies_writer;
INSERT INTO t VALUES (4, 0);
RESET ROLE;
SELECT id, dup FROM t WHERE id IN (3, 4) ORDER BY id;

-- What one more copy of 20,000 reads: pages of the table and its indexes, beside those of a row that is like no other.
-- The original comes last. Each call is one transaction, in which the server counts.
CREATE FUNCTION pages() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT pg_stat_get_xact_blocks_fetched('t'::regclass)
		+ (SELECT sum(pg_stat_get_xact_blocks_fetched(indexrelid)) FROM pg_index WHERE indrelid = 't'::regclass)
$$;
CREATE FUNCTION read(key int, fingerprint bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE before bigint;
BEGIN
	before := pages();
	BEGIN
		INSERT INTO t (id, fp) VALUES (key, fingerprint);
	EXCEPTION WHEN exclusion_violation THEN
		NULL;
	END;
	RETURN pages() - before;
END $$;
CREATE FUNCTION read_no_more(arguments text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	alone bigint;
	copy bigint;
	near bigint;
BEGIN
	PERFORM fire(arguments);
	-- The first row makes the plans.
	PERFORM read(100001, 0), read(100002, 3);
	alone := read(100003, 6148914691236517205);
	copy := read(100004, 0);
	near := read(100005, 6);
	DELETE FROM t WHERE id > 100000;
	IF copy <= alone + 30 AND near <= alone + 90 THEN
		RETURN true;
	END IF;
	RAISE 'a row like no other reads % pages, a copy %, one two bits away %', alone, copy, near;
END $$;
DROP INDEX t_both, t_some;
TRUNCATE t;
CALL store('INSERT INTO t SELECT i, 0, CASE WHEN i < 20000 THEN 20000 END FROM generate_series(1, 20000) i');
VACUUM ANALYZE t;
SELECT read_no_more($$'duplicate_of=dup', 'key=id'$$) AS duplicate_of;
SELECT read_no_more($$'mode=reject', 'key=id'$$) AS reject;
SELECT read_no_more($$'mode=skip', 'key=id'$$) AS skip;
-- Originals alone are looked for in an index that has only them. It is taken where another one has all rows, and where
-- it is the only one, without a warning that there is none.
CREATE INDEX t_originals ON t USING simhash (fp) WHERE dup IS NULL;
SELECT read_no_more($$'duplicate_of=dup', 'key=id', 'among=originals'$$) AS both_indexes;
DROP INDEX t_fp;
SELECT read_no_more($$'duplicate_of=dup', 'key=id', 'among=originals'$$) AS originals;
-- Those who look for all rows are warned, and so are those whose originals are others.
CREATE TABLE marked (id int PRIMARY KEY, "Fp" bigint, "Dup" int, "Is it?" boolean, other boolean);
CREATE INDEX of_other ON marked USING simhash ("Fp") WHERE other IS NOT TRUE;
CREATE INDEX of_fewer ON marked USING simhash ("Fp") WHERE "Is it?" IS NOT TRUE AND id > 0;
CREATE TRIGGER flag BEFORE INSERT ON marked FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=Fp', 'flag=Is it?', 'among=originals');
INSERT INTO marked VALUES (1, 0);
\c -
SET search_path = copies, public;
CREATE INDEX of_originals ON marked USING simhash ("Fp") WHERE "Is it?" IS NOT TRUE;
INSERT INTO marked VALUES (2, 0), (3, 255);
SELECT id, "Is it?" FROM marked ORDER BY id;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON marked FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=Fp', 'flag=Is it?', 'duplicate_of=Dup', 'among=originals');
INSERT INTO marked VALUES (4, 0);

-- The row that a copy points at has lost its fingerprint.
CREATE TABLE lost (id int PRIMARY KEY, fp bigint, dup int);
CREATE INDEX ON lost USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON lost
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO lost VALUES (1, 0), (2, 0);
UPDATE lost SET fp = NULL WHERE id = 1;
INSERT INTO lost VALUES (3, 0);
SELECT * FROM lost ORDER BY id;
-- A row without a key is told only where no row as near has one.
CREATE TABLE named (url text UNIQUE, fp bigint, dup text, near boolean);
CREATE INDEX ON named USING simhash (fp);
INSERT INTO named VALUES (NULL, 0), ('a', 0), (NULL, 255);
CREATE TRIGGER flag BEFORE INSERT ON named FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'flag=near', 'key=url');
INSERT INTO named VALUES ('b', 0), ('c', 1), ('d', 255), ('e', 7 << 20);
SELECT url, dup, near FROM named WHERE near IS NOT NULL ORDER BY url;
-- Marks are not followed where the look-up by key could use no index: one in another collation, or of the parent alone.
CREATE TABLE foreign_order (url text NOT NULL, fp bigint, dup text);
CREATE UNIQUE INDEX ON foreign_order (url COLLATE "C");
CREATE INDEX ON foreign_order USING simhash (fp);
INSERT INTO foreign_order VALUES ('b', 0, 'a'), ('a', 0, NULL);
CREATE TRIGGER flag BEFORE INSERT ON foreign_order FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=url');
INSERT INTO foreign_order VALUES ('c', 0);
CREATE TABLE parent (id int PRIMARY KEY, fp bigint, dup int);
CREATE INDEX ON parent USING simhash (fp);
INSERT INTO parent VALUES (2, 0, 1), (1, 0, NULL);
CREATE TRIGGER flag BEFORE INSERT ON parent FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO parent VALUES (3, 0);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent VALUES (4, 0);
SELECT 'foreign_order' AS of_table, url AS key, dup FROM foreign_order WHERE url = 'c'
UNION ALL SELECT 'parent', id::text, dup::text FROM parent WHERE id > 2 ORDER BY 1, 2;

SET client_min_messages = warning;
DROP SCHEMA copies CASCADE;
DROP ROLE regress_copies_writer;
