-- The trigger simhash_flag_duplicate() in statements of many rows, where its searches run in an executor that stays open from
-- one row to the next: the same answers, rights and errors as with a query for each row, and nothing is left open.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA held;
SET search_path = held, public;
RESET client_min_messages;

CREATE FUNCTION distance(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT bit_count((a # b)::bit(64))';
CREATE FUNCTION open_executors() RETURNS bigint LANGUAGE sql VOLATILE AS
	'SELECT count(*) FROM pg_backend_memory_contexts WHERE name = ''simhash open query''';
CREATE TABLE t (id int PRIMARY KEY, fp bigint, is_dup boolean, dup int, tenant int DEFAULT 1);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE FUNCTION fire(arguments text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=fp'', %s)', arguments);
END $$;

-- Each row is judged a second time, by reading the table, and the two must agree: 20,000 rows of random statements.
CREATE UNLOGGED TABLE judged (event text, is_dup boolean);
-- The keys that may be told: those of the originals of the nearest rows; where such a one is gone or of another tenant, of the
-- nearest rows without a mark. NULL: it is an original.
CREATE FUNCTION may_tell(new t) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
	n t;
	o t;
	next int;
BEGIN
	FOR n IN SELECT * FROM t WHERE id <> new.id AND tenant = new.tenant AND distance(fp, new.fp) <= 3
		AND distance(fp, new.fp) = (SELECT min(distance(fp, new.fp)) FROM t WHERE id <> new.id AND tenant = new.tenant)
	LOOP
		o := n;
		next := n.dup;
		WHILE next <> new.id LOOP
			SELECT * INTO o FROM t WHERE id = next;
			next := o.dup;
		END LOOP;
		IF next = new.id THEN
			RETURN NEXT NULL;
		ELSIF o.id IS NOT NULL AND (n.dup IS NULL OR o.tenant = new.tenant) THEN
			RETURN NEXT o.id;
		ELSE
			RETURN QUERY SELECT id FROM (SELECT id, rank() OVER (ORDER BY distance(fp, new.fp)) FROM t WHERE id <> new.id
				AND tenant = new.tenant AND dup IS NULL AND distance(fp, new.fp) <= 3) r WHERE rank = 1;
			IF NOT FOUND THEN
				RETURN NEXT NULL;
			END IF;
		END IF;
	END LOOP;
	IF NOT FOUND THEN
		RETURN NEXT NULL;
	END IF;
END $$;
CREATE FUNCTION judge() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	-- The original of others stays one.
	stays CONSTANT boolean := TG_OP = 'UPDATE' AND EXISTS (SELECT FROM t WHERE dup = NEW.id AND id <> NEW.id);
	told CONSTANT int[] := CASE WHEN stays THEN ARRAY[NULL::int] ELSE ARRAY(SELECT may_tell(NEW)) END;
BEGIN
	IF TG_OP = 'INSERT' OR (NEW.fp, NEW.tenant) IS DISTINCT FROM (OLD.fp, OLD.tenant) THEN
		IF NEW.is_dup <> (NEW.dup IS NOT NULL) OR NOT coalesce(NEW.dup = ANY (told), array_position(told, NULL) IS NOT NULL) THEN
			RAISE EXCEPTION 'row % of %: is_dup %, dup %, not one of %', NEW, TG_OP, NEW.is_dup, NEW.dup, told;
		END IF;
		INSERT INTO judged VALUES (TG_OP, NEW.is_dup);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER judge BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION judge();
-- 20 families, and a copy of a row now and then.
CREATE FUNCTION random_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT hashint8extended(floor(random() * 20)::int, 5) # CASE WHEN random() < 0.3 THEN 0 ELSE
		(1::bigint << floor(random() * 63)::int) # (1::bigint << floor(random() * 63)::int) # floor(random() * 4)::bigint END
$$;
CREATE PROCEDURE random_history(wanted int) LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	affected int;
BEGIN
	WHILE n < wanted LOOP
		BEGIN
			CASE floor(random() * 6)
			WHEN 0 THEN
				UPDATE t SET fp = random_fp() WHERE random() < 0.3;
			WHEN 1 THEN
				UPDATE t SET tenant = 1 + floor(random() * 2) WHERE random() < 0.2;
			WHEN 2 THEN
				INSERT INTO t SELECT floor(random() * 200), random_fp() FROM generate_series(1, 20)
				ON CONFLICT (id) DO NOTHING;
			WHEN 3 THEN
				DELETE FROM t WHERE random() < 0.5;
			ELSE
				-- Ends in an error now and then: a key that is there.
				INSERT INTO t SELECT floor(random() * 10000), random_fp(), NULL, NULL, 1 + floor(random() * 2)
				FROM generate_series(1, 60);
			END CASE;
			GET DIAGNOSTICS affected = ROW_COUNT;
			n := n + affected;
		EXCEPTION WHEN unique_violation THEN
			NULL;
		END;
		COMMIT;
		IF pg_relation_size('t') > 40000 THEN
			TRUNCATE t;
		END IF;
	END LOOP;
END $$;
SELECT setseed(0.17);
SELECT fire($$'flag=is_dup', 'duplicate_of=dup', 'within=tenant'$$);
CALL random_history(10000);
CREATE INDEX t_scoped ON t USING simhash (tenant, fp);
CALL random_history(10000);
SELECT event, is_dup, count(*) > 500 AS many FROM judged GROUP BY event, is_dup ORDER BY event, is_dup;
DROP INDEX t_scoped;
DROP TRIGGER judge ON t;
DROP FUNCTION may_tell;
SELECT fire($$'flag=is_dup', 'duplicate_of=dup'$$);
TRUNCATE t;

-- The executor is open from the third row of a statement on (the first one's search is an ordinary query), and closed behind.
BEGIN;
CREATE TABLE seen AS SELECT 0 AS id, 0::bigint AS open WITH NO DATA;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen VALUES (NEW.id, open_executors());
	RETURN NEW;
END $$;
CREATE TRIGGER after_it BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO t SELECT i, hashint8extended(i, 7) FROM generate_series(1, 4) i;
SELECT * FROM seen ORDER BY id;
SELECT open_executors();
COPY t (id, fp) FROM stdin;
5	50
6	600000000
7	50
8	51
\.
SELECT open_executors();
SELECT * FROM seen WHERE id > 4 ORDER BY id;
SELECT id, dup FROM t WHERE id > 4 ORDER BY id;
-- The table may be altered and dropped at once: nothing refers to it any more.
ALTER TABLE t ADD COLUMN later int;
DROP TABLE t;
ROLLBACK;

-- A statement that fails in the middle, in a subtransaction that is rolled back, and goes on; then one whose memory lives on
-- after that: an SQL function that an expression calls.
CREATE FUNCTION insert_some(first int, last int) RETURNS int LANGUAGE sql AS $$
	INSERT INTO t SELECT i, hashint8extended(i % 10, 7) FROM generate_series(first, last) i;
	SELECT last - first;
$$;
INSERT INTO t VALUES (20, 4711);
DO $$
DECLARE
	n int;
	failed int := 0;
BEGIN
	FOR i IN 1..5 LOOP
		BEGIN
			INSERT INTO t SELECT j, hashint8extended(j % 10, 7) FROM generate_series(11, 30) j;
		EXCEPTION WHEN unique_violation THEN
			failed := failed + 1;
		END;
		BEGIN
			n := insert_some(11, 30);
		EXCEPTION WHEN unique_violation THEN
			failed := failed + 1;
		END;
		n := insert_some(i * 100, i * 100 + 5);
	END LOOP;
	RAISE NOTICE '% failed, % open', failed, open_executors();
END $$;
SELECT count(*), count(dup), count(DISTINCT dup) FROM t;
BEGIN;
SAVEPOINT a;
INSERT INTO t SELECT j, 12345 FROM generate_series(1001, 1005) j;
SAVEPOINT b;
INSERT INTO t SELECT j, 12345 FROM generate_series(1010, 1001, -1) j;
ROLLBACK TO b;
INSERT INTO t SELECT j, 12345 FROM generate_series(1006, 1008) j;
ROLLBACK TO a;
INSERT INTO t SELECT j, 12345 FROM generate_series(1002, 1004) j;
SELECT id, dup FROM t WHERE id BETWEEN 1001 AND 1999 ORDER BY id;
COMMIT;
-- A trigger before this one whose subtransactions come and go.
CREATE FUNCTION aborts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		INSERT INTO t SELECT NEW.id * 1000 + i, NEW.fp FROM generate_series(1, 3) i WHERE NEW.id < 1000 AND NEW.id > 600;
		IF NEW.id % 2 = 0 THEN
			RAISE EXCEPTION 'back';
		END IF;
	EXCEPTION WHEN raise_exception THEN
		NULL;
	END;
	RETURN NEW;
END $$;
CREATE TRIGGER a_first BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION aborts();
INSERT INTO t SELECT 600 + i, hashint8extended(i, 99) FROM generate_series(1, 6) i;
SELECT id, dup FROM t WHERE id > 600 AND id <> ALL (ARRAY[1002, 1003, 1004]) ORDER BY id;
DROP TRIGGER a_first ON t;

-- A search that fires the same trigger: a policy whose function stores a row.
CREATE TABLE t2 (LIKE t INCLUDING ALL);
CREATE FUNCTION nested(inside int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF inside < 10 AND NOT EXISTS (SELECT FROM seen_rows WHERE id = inside) THEN
		INSERT INTO seen_rows VALUES (inside);
		INSERT INTO t2 (id, fp) SELECT inside * 100 + i, inside * 1000000007::bigint FROM generate_series(1, 3) i;
	END IF;
	RETURN true;
END $$;
CREATE TABLE seen_rows (id int);
ALTER TABLE t2 ENABLE ROW LEVEL SECURITY;
CREATE POLICY reads ON t2 FOR SELECT USING (nested(id));
CREATE POLICY writes ON t2 FOR INSERT WITH CHECK (true);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON t2
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'duplicate_of=dup');
CREATE ROLE regress_held_writer;
GRANT USAGE ON SCHEMA held TO regress_held_writer;
GRANT INSERT, SELECT ON t2, seen_rows TO regress_held_writer;
SET ROLE regress_held_writer;
INSERT INTO t2 (id, fp) SELECT i, i / 2 FROM generate_series(1, 8) i;
RESET ROLE;
SELECT id, fp, dup FROM t2 ORDER BY id;

-- A search that fails in the middle of a statement, and is caught: the policy divides by zero at row 6.
CREATE TABLE e (id int PRIMARY KEY, fp bigint, dup int);
CREATE INDEX ON e USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON e
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
ALTER TABLE e ENABLE ROW LEVEL SECURITY;
CREATE POLICY reads ON e FOR SELECT USING (1 / (id - 6) > -100);
CREATE POLICY writes ON e FOR INSERT WITH CHECK (true);
GRANT INSERT, SELECT ON e TO regress_held_writer;
SET ROLE regress_held_writer;
DO $$
DECLARE
	failed int := 0;
BEGIN
	FOR i IN 1..20 LOOP
		BEGIN
			INSERT INTO e SELECT j, hashint8extended(least(j, 6), 3) FROM generate_series(1, 8) j;
		EXCEPTION WHEN division_by_zero THEN
			failed := failed + 1;
		END;
		INSERT INTO e SELECT 100 * i + j, hashint8extended(100 * i + j / 3, 3) FROM generate_series(1, 8) j;
	END LOOP;
	RAISE NOTICE '% failed, % rows, % duplicates', failed, (SELECT count(*) FROM e), (SELECT count(dup) FROM e);
END $$;
RESET ROLE;
SELECT open_executors();

-- Rights are those of the moment: the role changes in the middle of a statement, row security is switched off, a right is
-- taken away, the table is analysed.
CREATE FUNCTION at_row(number int, act int, command text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF number = act THEN
		EXECUTE command;
	END IF;
	RETURN 77;
END $$;
GRANT INSERT, SELECT ON t TO regress_held_writer;
CREATE ROLE regress_held_blind;
GRANT USAGE ON SCHEMA held TO regress_held_blind;
GRANT INSERT ON t TO regress_held_blind;
BEGIN;
INSERT INTO t SELECT 2000 + i, at_row(i, 5, 'SET LOCAL ROLE regress_held_blind') FROM generate_series(1, 8) i;
ROLLBACK;
BEGIN;
INSERT INTO t SELECT 2000 + i, at_row(i, 5, 'SET LOCAL ROLE regress_held_writer') FROM generate_series(1, 8) i;
SELECT current_user, count(*), count(dup) FROM t WHERE id BETWEEN 2001 AND 2999;
ROLLBACK;
CREATE FUNCTION as_owner(command text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN EXECUTE command; END';
BEGIN;
SET ROLE regress_held_writer;
INSERT INTO t SELECT 2000 + i, at_row(i, 5, 'SELECT as_owner(''REVOKE SELECT ON held.t FROM regress_held_writer'')')
FROM generate_series(1, 8) i;
ROLLBACK;
BEGIN;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON t USING (id % 2 = 1) WITH CHECK (true);
SET ROLE regress_held_writer;
INSERT INTO t SELECT 2000 + i, i FROM generate_series(2, 5) i;
-- Only a row that may be seen is a near-duplicate; then none may be missing.
INSERT INTO t SELECT 2010 + i, at_row(i, 4, 'SET LOCAL row_security = off') FROM generate_series(1, 8) i;
ROLLBACK;
BEGIN;
INSERT INTO t SELECT 2000 + i, at_row(i, 2 * (i / 2), 'ANALYZE t') FROM generate_series(1, 8) i;
SELECT id, dup FROM t WHERE id BETWEEN 2001 AND 2999 ORDER BY id;
ROLLBACK;

-- Every isolation level; a snapshot that the transaction keeps.
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO t SELECT 2000 + i, 77 + i FROM generate_series(1, 8) i;
SELECT count(*), count(dup) FROM t WHERE id BETWEEN 2001 AND 2999;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO t SELECT 2000 + i, 77 + i FROM generate_series(1, 8) i;
SELECT count(*), count(dup), open_executors() FROM t WHERE id BETWEEN 2001 AND 2999;
ROLLBACK;

-- Partitions, children, a temporary table.
CREATE TABLE p (id int, part int, fp bigint, dup int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
CREATE INDEX ON p USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON p
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id');
INSERT INTO p SELECT i, 1 + i % 2, i / 4 * 1000003 FROM generate_series(1, 12) i;
UPDATE p SET part = 3 - part;
SELECT id, part, dup FROM p ORDER BY id;
CREATE TEMP TABLE s (id int PRIMARY KEY, fp bigint, dup int) ON COMMIT DELETE ROWS;
CREATE INDEX ON s USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON s
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
BEGIN;
INSERT INTO s SELECT i, i / 4 * 1000003 FROM generate_series(1, 8) i;
TRUNCATE s;
INSERT INTO s SELECT i, i / 4 * 1000003 FROM generate_series(1, 8) i;
SELECT count(*), count(dup) FROM s;
COMMIT;

SET client_min_messages = warning;
DROP SCHEMA held CASCADE;
DROP ROLE regress_held_writer, regress_held_blind;
