-- Marks stay true: from a marked row one step leads to one that is not marked. docs/flagging.md.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA marks;
SET search_path = marks, public;
RESET client_min_messages;

CREATE TABLE photo (id int PRIMARY KEY, phash bigint, duplicate_of int REFERENCES photo ON DELETE SET NULL);
CREATE INDEX ON photo USING simhash (phash);
CREATE INDEX ON photo (duplicate_of);
CREATE TRIGGER photo_duplicates BEFORE INSERT OR UPDATE ON photo
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=phash', 'duplicate_of=duplicate_of');

-- A row that is near a duplicate has the original of that one, however far it is.
INSERT INTO photo VALUES (1, 0), (2, 7), (3, 63);
TABLE photo ORDER BY id;

-- An edited original stays one. A bulk edit of two families leaves each its original.
UPDATE photo SET phash = 6 WHERE id = 1;
TABLE photo ORDER BY id;
INSERT INTO photo VALUES (4, 1048575 << 20), (5, 1048575 << 20);
UPDATE photo SET phash = phash # 1;
SELECT id, duplicate_of FROM photo ORDER BY id;
-- One without duplicates is marked.
INSERT INTO photo VALUES (6, -1);
UPDATE photo SET phash = 7 WHERE id = 6;
SELECT id, duplicate_of FROM photo WHERE id = 6;

-- Where an original is deleted, one of its duplicates takes its place.
DELETE FROM photo WHERE id = 1;
SELECT id, phash, duplicate_of FROM photo ORDER BY id;
-- Several rows of a family at once, the original among them.
DELETE FROM photo WHERE id IN (SELECT id FROM photo WHERE duplicate_of IS NULL) OR id = 5;
SELECT id, phash, duplicate_of FROM photo ORDER BY id;
-- Of many equal copies one takes the place, with a foreign key and by hand.
INSERT INTO photo SELECT i, -1::bigint << 32 FROM generate_series(20, 29) i;
DELETE FROM photo WHERE id = 20;
SELECT count(*) FILTER (WHERE duplicate_of IS NULL) AS originals, count(DISTINCT duplicate_of) AS named FROM photo
WHERE id BETWEEN 20 AND 29;
ALTER TABLE photo ALTER CONSTRAINT photo_duplicate_of_fkey DEFERRABLE INITIALLY DEFERRED;
BEGIN;
UPDATE photo SET duplicate_of = 99 WHERE duplicate_of IS NOT NULL AND id > 20;   -- a row that is gone
UPDATE photo SET duplicate_of = NULL WHERE duplicate_of = 99;
SELECT count(*) FILTER (WHERE duplicate_of IS NULL) AS originals, count(DISTINCT duplicate_of) AS named FROM photo
WHERE id BETWEEN 20 AND 29;
COMMIT;
ALTER TABLE photo ALTER CONSTRAINT photo_duplicate_of_fkey NOT DEFERRABLE;
DELETE FROM photo WHERE id >= 20;
-- A key and the content of an original change at once, and the marks follow.
ALTER TABLE photo DROP CONSTRAINT photo_duplicate_of_fkey,
	ADD CONSTRAINT photo_duplicate_of_fkey FOREIGN KEY (duplicate_of) REFERENCES photo ON DELETE SET NULL ON UPDATE CASCADE;
INSERT INTO photo VALUES (30, -1), (31, -1);
UPDATE photo SET id = 32, phash = -2 WHERE id = 30;
SELECT id, duplicate_of FROM photo WHERE id >= 30 ORDER BY id;
DELETE FROM photo WHERE id >= 30;
-- A decision stays while the original is there and the row does not change.
INSERT INTO photo VALUES (10, 1 << 10), (11, 1 << 10);
UPDATE photo SET duplicate_of = NULL WHERE id = 11;
SELECT id, duplicate_of FROM photo WHERE id >= 10 ORDER BY id;

-- Rows that a statement deletes and inserts keep their marks.
WITH moved AS (DELETE FROM photo WHERE id < 10 RETURNING *) INSERT INTO photo SELECT * FROM moved ORDER BY id DESC;
SELECT id, duplicate_of FROM photo ORDER BY id;
WITH moved AS (DELETE FROM photo RETURNING *) INSERT INTO photo SELECT * FROM moved;
SELECT id, duplicate_of FROM photo ORDER BY id;

-- Without a foreign key the same by a statement of one's own, once the original is gone.
ALTER TABLE photo DROP CONSTRAINT photo_duplicate_of_fkey;
TRUNCATE photo;
INSERT INTO photo VALUES (1, 0), (2, 0), (3, 1), (4, 0), (5, 2);
UPDATE photo SET duplicate_of = NULL WHERE id = 5;
SELECT id, duplicate_of FROM photo ORDER BY id;
DELETE FROM photo WHERE id = 1;
UPDATE photo SET duplicate_of = NULL WHERE duplicate_of = 1;
SELECT id, duplicate_of FROM photo ORDER BY id;
-- Where the changes of another server are applied, it has decided which row takes the place.
ALTER TABLE photo ENABLE ALWAYS TRIGGER photo_duplicates;
TRUNCATE photo;
INSERT INTO photo VALUES (1, 0), (2, 0), (3, 0), (4, 0);
UPDATE photo SET duplicate_of = NULL WHERE id = 4;
SET session_replication_role = replica;
DELETE FROM photo WHERE id = 1;
UPDATE photo SET duplicate_of = NULL WHERE id = 2;
UPDATE photo SET duplicate_of = 2 WHERE id = 3;
RESET session_replication_role;
SELECT id, duplicate_of FROM photo ORDER BY id;
-- An original that is deleted and inserted stays one, near whatever it is.
TRUNCATE photo;
INSERT INTO photo VALUES (1, 0), (2, 3), (5, 0);
UPDATE photo SET duplicate_of = NULL WHERE id = 5;
WITH moved AS (DELETE FROM photo WHERE id = 1 RETURNING *) INSERT INTO photo SELECT * FROM moved;
INSERT INTO photo VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET phash = EXCLUDED.phash, duplicate_of = EXCLUDED.duplicate_of;
SELECT id, duplicate_of FROM photo ORDER BY id;

-- A flag alone: an edited original stays one beside its duplicates, but not beside another original.
CREATE TABLE flagged (id int PRIMARY KEY, fp bigint, is_dup boolean);
CREATE INDEX ON flagged USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON flagged
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup');
INSERT INTO flagged VALUES (1, 0), (2, 0), (3, 1048575), (4, 1048575);
UPDATE flagged SET fp = fp # 1;
TABLE flagged ORDER BY id;
UPDATE flagged SET fp = 0 WHERE id = 3;
TABLE flagged ORDER BY id;

-- An edit is never lost: skip concerns new rows.
CREATE TABLE note (id int PRIMARY KEY, fp bigint, body text);
CREATE INDEX ON note USING simhash (fp);
CREATE TRIGGER note_once BEFORE INSERT OR UPDATE ON note
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip');
INSERT INTO note VALUES (1, 0, 'first'), (2, 31, 'second');
UPDATE note SET fp = 3, body = 'second, corrected' WHERE id = 2;
INSERT INTO note VALUES (2, 1, 'second, by an upsert') ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp, body = EXCLUDED.body;
INSERT INTO note VALUES (2, 1, 'a key that is there');
INSERT INTO note VALUES (3, 1, 'left out');
TABLE note ORDER BY id;
WITH moved AS (DELETE FROM note RETURNING *) INSERT INTO note SELECT * FROM moved;
TABLE note ORDER BY id;

-- A table that inherits from one with the same trigger is searched with it.
CREATE TABLE event (id int, fp bigint, is_dup boolean);
CREATE TABLE event_2025 () INHERITS (event);
CREATE TABLE event_2026 () INHERITS (event);
CREATE INDEX ON event USING simhash (fp);
CREATE INDEX ON event_2025 USING simhash (fp);
CREATE INDEX ON event_2026 USING simhash (fp);
DO $$
DECLARE t text;
BEGIN
	FOREACH t IN ARRAY ARRAY['event', 'event_2025', 'event_2026'] LOOP
		EXECUTE format('CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON %I FOR EACH ROW
			EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=fp'', ''flag=is_dup'', ''key=id'')', t);
	END LOOP;
END $$;
INSERT INTO event_2025 VALUES (1, 0), (2, 255);
INSERT INTO event_2026 VALUES (3, 0), (4, 254), (5, 65535);
SELECT tableoid::regclass, * FROM event ORDER BY id;
-- Whichever parent it is, and after the first one is gone.
CREATE TABLE other_parent (id int);
ALTER TABLE event_2026 NO INHERIT event;
ALTER TABLE event_2026 INHERIT other_parent;
INSERT INTO event_2026 VALUES (6, 256);
ALTER TABLE event_2026 INHERIT event;
ALTER TABLE event_2026 NO INHERIT other_parent;
INSERT INTO event_2026 VALUES (7, 255);
SELECT id, is_dup FROM event WHERE id > 5 ORDER BY id;

-- What programs read of a refusal.
CREATE TABLE strict (tenant int, name text, fp bigint, PRIMARY KEY (tenant, name));
CREATE INDEX ON strict USING simhash (fp);
CREATE TRIGGER strict_once BEFORE INSERT OR UPDATE ON strict
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject');
INSERT INTO strict VALUES (1, 'a', 0);
DO $$
DECLARE s text; t text; c text; d text;
BEGIN
	INSERT INTO marks.strict VALUES (2, 'b', 1);
EXCEPTION WHEN exclusion_violation THEN
	GET STACKED DIAGNOSTICS s = SCHEMA_NAME, t = TABLE_NAME, c = CONSTRAINT_NAME, d = PG_EXCEPTION_DETAIL;
	RAISE NOTICE '%.%, %: %', s, t, c, d;
END $$;
-- An upsert by a key of two columns is an edit.
INSERT INTO strict VALUES (1, 'a', 3) ON CONFLICT (tenant, name) DO UPDATE SET fp = EXCLUDED.fp;
TABLE strict;

-- Random inserts, edits, deletions and moves: each mark names a row that is there and has none.
CREATE FUNCTION broken(rel regclass, OUT marked bigint, OUT broken bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(t.dup), count(t.dup) FILTER (WHERE o.id IS NULL OR o.dup IS NOT NULL)
		FROM %1$s t LEFT JOIN %1$s o ON o.id = t.dup', rel) INTO marked, broken;
END $$;
-- Fingerprints of three centers, up to five bits away.
CREATE FUNCTION some_fp() RETURNS bigint LANGUAGE sql AS $$
	SELECT bit_xor(1::bigint << floor(random() * 12)::int) # (floor(random() * 3)::bigint << 40) * 1023
	FROM generate_series(1, 1 + floor(random() * 5)::int)
$$;
CREATE FUNCTION some_ids() RETURNS int[] LANGUAGE sql AS $$
	SELECT array_agg(1 + floor(random() * 60)::int) FROM generate_series(1, 1 + floor(random() * 4)::int)
$$;
CREATE PROCEDURE change_at_random(rel regclass, steps int) LANGUAGE plpgsql AS $$
DECLARE
	marked bigint := 0;
	worst bigint := 0;
	found record;
	choice int;
	ids int[];
BEGIN
	FOR step IN 1..steps LOOP
		choice := floor(random() * 10);
		ids := some_ids();
		BEGIN
			CASE
				WHEN choice < 4 THEN
					EXECUTE format('INSERT INTO %s (id, part, fp) SELECT i, i %% 2, some_fp() FROM unnest($1) i ON CONFLICT DO NOTHING', rel) USING ids;
				WHEN choice < 6 THEN
					EXECUTE format('UPDATE %s SET fp = some_fp() WHERE id = ANY ($1)', rel) USING ids;
				WHEN choice < 7 THEN
					EXECUTE format('UPDATE %s SET fp = fp # 1 WHERE id %% 3 = $1[1] %% 3', rel) USING ids;
				WHEN choice < 8 THEN
					EXECUTE format('DELETE FROM %s WHERE id = ANY ($1)', rel) USING ids;
				WHEN choice < 9 THEN
					EXECUTE format('WITH moved AS (DELETE FROM %1$s WHERE id = ANY ($1) RETURNING *) INSERT INTO %1$s SELECT * FROM moved', rel) USING ids;
				ELSE
					EXECUTE format('UPDATE %s SET dup = NULL WHERE id = ANY ($1)', rel) USING ids;
			END CASE;
			IF random() < 0.1 THEN
				RAISE EXCEPTION USING errcode = 'ZZ000';
			END IF;
		EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
			NULL;
		END;
		found := broken(rel);
		marked := marked + found.marked;
		worst := worst + found.broken;
	END LOOP;
	RAISE NOTICE '% steps, marks seen %, broken %', steps, CASE WHEN marked > 10 * steps THEN 'enough' ELSE marked::text END, worst;
END $$;
-- Each row is compared with all rows; with originals alone; with those of its own scope.
SELECT setseed(0.5);
CREATE TABLE plain (id int PRIMARY KEY, part int, fp bigint, is_dup boolean, dup int REFERENCES plain ON DELETE SET NULL);
CREATE INDEX ON plain USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON plain FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'duplicate_of=dup');
CALL change_at_random('plain', 800);
CREATE TABLE originals (LIKE plain, PRIMARY KEY (id), FOREIGN KEY (dup) REFERENCES originals ON DELETE SET NULL);
CREATE INDEX ON originals USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON originals FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'among=originals');
CALL change_at_random('originals', 300);
CREATE TABLE scoped (LIKE plain, PRIMARY KEY (id), FOREIGN KEY (dup) REFERENCES scoped ON DELETE SET NULL);
CREATE INDEX ON scoped USING simhash (part, fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON scoped FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=8', 'duplicate_of=dup', 'within=part');
CALL change_at_random('scoped', 300);

-- With decisions of a person: no mark names an original that the row was judged to differ from.
CREATE TABLE decided (LIKE plain, PRIMARY KEY (id), FOREIGN KEY (dup) REFERENCES decided ON DELETE SET NULL);
CREATE INDEX ON decided USING simhash (fp);
CREATE TABLE decision (a int, b int, same boolean, PRIMARY KEY (a, b));
INSERT INTO decision SELECT a, b, false FROM generate_series(1, 60) a, generate_series(a + 1, 60) b WHERE (a + b) % 5 = 0;
CREATE FUNCTION may_be_same(stored decided, new decided) RETURNS boolean STABLE
	RETURN NOT EXISTS (SELECT FROM decision WHERE (a, b) = (least(stored.id, new.id), greatest(stored.id, new.id)) AND NOT same);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON decided FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'checked_by=may_be_same');
CALL change_at_random('decided', 300);
SELECT count(*) > 10 AS marked, count(*) FILTER (WHERE (id + dup) % 5 = 0) AS judged_different FROM decided WHERE dup IS NOT NULL;

-- Checks of one's own: texts, rows, a function that fails, one that is not there.
CREATE TABLE paper (id int PRIMARY KEY, day date, body text, other_hash bigint, fp bigint, dup int);
CREATE INDEX ON paper USING simhash (fp);
CREATE FUNCTION numbers_agree(a text, b text) RETURNS boolean IMMUTABLE
	RETURN ARRAY(SELECT n[1] FROM regexp_matches(a, '\d+', 'g') n) = ARRAY(SELECT n[1] FROM regexp_matches(b, '\d+', 'g') n);
CREATE FUNCTION day_and_hash_agree(stored paper, new paper) RETURNS boolean IMMUTABLE
	RETURN abs(stored.day - new.day) <= 30 AND hamming(stored.other_hash, new.other_hash) <= 2;
CREATE FUNCTION try_check(VARIADIC arguments text[]) RETURNS TABLE (id int, dup int) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE paper;
	EXECUTE format('CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON paper FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(%s)',
		(SELECT string_agg(quote_literal(a), ', ') FROM unnest('{fingerprint=fp,duplicate_of=dup}' || arguments) a));
	INSERT INTO paper VALUES
		(1, '2026-01-01', 'invoice 12 of 2025', 0, 0),
		(2, '2026-01-20', 'Invoice 12 of 2025', 1, 0),
		(3, '2026-01-20', 'invoice 13 of 2025', 0, 1),
		(4, '2026-05-01', 'invoice 12 of 2025!', 0, 1),
		(5, '2026-01-01', 'invoice 13 of 2025', 255, 1),
		(6, NULL, NULL, 0, 0);
	RETURN QUERY SELECT paper.id, paper.dup FROM paper ORDER BY 1;
END $$;
SELECT * FROM try_check('text=body', 'checked_by=numbers_agree');
SELECT * FROM try_check('text=body', 'checked_by=simhash_same');
SELECT * FROM try_check('checked_by=day_and_hash_agree');
-- An UPDATE of a column that the check reads is judged, one of the mark is not.
UPDATE paper SET day = '2026-01-02' WHERE id = 4;
UPDATE paper SET dup = NULL WHERE id = 2;
SELECT id, dup FROM paper ORDER BY id;
\set SHOW_CONTEXT never
SELECT * FROM try_check('checked_by=numbers_agree', 'text=body', 'min_jaccard=0.5');
SELECT * FROM try_check('checked_by=numbers_agree');
SELECT * FROM try_check('checked_by=nothing.agree', 'text=body');
SELECT * FROM try_check('checked_by=a.b.c', 'text=body');
CREATE FUNCTION how_near(text, text) RETURNS float8 IMMUTABLE RETURN 1;
SELECT * FROM try_check('checked_by=how_near', 'text=body');
CREATE FUNCTION fails(stored paper, new paper) RETURNS boolean RETURN 1 / (stored.id - 1) = 0;
SELECT * FROM try_check('checked_by=fails');
\set SHOW_CONTEXT errors
-- It runs with the rights of the one who inserts.
SELECT * FROM try_check('checked_by=day_and_hash_agree');
REVOKE EXECUTE ON FUNCTION day_and_hash_agree FROM public;
CREATE ROLE regress_marks_writer;
GRANT USAGE ON SCHEMA marks TO regress_marks_writer;
GRANT SELECT, INSERT ON paper TO regress_marks_writer;
SET ROLE regress_marks_writer;
INSERT INTO paper VALUES (7, '2026-01-01', '', 0, 0);
RESET ROLE;

-- A row that moves by DELETE and INSERT is not marked as a duplicate of its own duplicate, without an index on the marks too.
CREATE TABLE moved (id int PRIMARY KEY, fp bigint, dup int) PARTITION BY RANGE (id);
CREATE TABLE moved_all PARTITION OF moved FOR VALUES FROM (0) TO (100);
CREATE INDEX ON moved USING simhash (fp);
CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON moved
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO moved VALUES (1, 0), (2, 1);
WITH gone AS (DELETE FROM moved WHERE id = 1 RETURNING *) INSERT INTO moved SELECT id, fp FROM gone;
DELETE FROM moved WHERE id = 1;
INSERT INTO moved VALUES (1, 0);
SELECT id, dup FROM moved ORDER BY 1;
-- Nor of a duplicate of that one, where the key is unique with the partition key only.
CREATE TABLE spread (id int, tenant int, fp bigint, dup int, PRIMARY KEY (id, tenant)) PARTITION BY LIST (tenant);
CREATE TABLE spread_0 PARTITION OF spread FOR VALUES IN (0);
CREATE TABLE spread_1 PARTITION OF spread FOR VALUES IN (1);
CREATE INDEX ON spread USING simhash (fp);
CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON spread
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id');
INSERT INTO spread VALUES (1, 0, 0), (2, 0, 1), (3, 0, 3);
DELETE FROM spread WHERE id = 1;
INSERT INTO spread VALUES (1, 1, 6);
SELECT id, dup FROM spread ORDER BY 1;
SET client_min_messages = warning;
DROP OWNED BY regress_marks_writer;
DROP ROLE regress_marks_writer;
DROP SCHEMA marks CASCADE;
