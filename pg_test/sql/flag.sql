-- The trigger simhash_flag_duplicate(): what it marks, rejects, skips and refuses. docs/flagging.md.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA flag;
SET search_path = flag, public;
RESET client_min_messages;

-- The oracle: rows in the order of their ids, each against all before it, by counting bits. Of equal rows the first one
-- counts, of others any of the nearest; its original is told.
CREATE FUNCTION should_be(rel regclass, k int) RETURNS TABLE (id int, distance int, dups int[]) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format(
		'SELECT n.id, o.distance, CASE o.distance WHEN 0 THEN o.ids[:1] ELSE o.ids END FROM %1$s n LEFT JOIN LATERAL (
			SELECT bit_count((o.fp # n.fp)::bit(64))::int AS distance, array_agg(o.id ORDER BY o.id) AS ids FROM %1$s o
			WHERE o.id < n.id AND bit_count((o.fp # n.fp)::bit(64)) <= %2$s GROUP BY 1 ORDER BY 1 LIMIT 1) o ON true', rel, k);
END $$;
CREATE FUNCTION wrong(rel regclass, k int, OUT duplicates bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(dup), (SELECT count(*) FROM %1$s t JOIN should_be(%1$L, %2$s) s USING (id)
		WHERE t.is_dup IS DISTINCT FROM (s.dups IS NOT NULL) OR (t.dup IS NULL) <> (s.dups IS NULL)
			OR t.dup IS NOT NULL AND t.dup NOT IN (SELECT coalesce(o.dup, o.id) FROM %1$s o WHERE o.id = ANY (s.dups)))
		FROM %1$s', rel, k)
	INTO duplicates, wrong;
END $$;
-- 600 fingerprints of which most have neighbours at distances 0 to 10, and some NULL.
CREATE TABLE source AS
	SELECT i AS id, CASE WHEN i % 40 = 7 THEN NULL ELSE
		(SELECT bit_xor(1::bigint << (hashint8extended(i, n) & 63)::int) FROM generate_series(1, i % 6) n)
		# hashint8extended(i % 90, 5) END AS fp
	FROM generate_series(1, 600) i;
UPDATE source SET fp = hashint8extended(id % 90, 5) WHERE fp IS NULL AND id % 40 <> 7;

CREATE TABLE t (id int PRIMARY KEY, fp bigint, is_dup boolean, dup int REFERENCES t, note text);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON t
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=3', 'flag=is_dup', 'duplicate_of=dup');

-- One statement with many rows: each sees those before it.
INSERT INTO t (id, fp) SELECT id, fp FROM source ORDER BY id;
SELECT * FROM wrong('t', 3);
SELECT count(*) AS nulls, bool_or(is_dup) AS any_flagged FROM t WHERE fp IS NULL;

-- One row in each statement, a cached plan, and flags in the data, which the trigger overwrites.
TRUNCATE t;
DO $$
DECLARE r record;
BEGIN
	FOR r IN SELECT * FROM source ORDER BY id LOOP
		INSERT INTO t VALUES (r.id, r.fp, r.id % 2 = 0, NULL);
	END LOOP;
END $$;
SELECT * FROM wrong('t', 3);

-- Radii 0, 8 and 64 (one lock for all rows). The session forgets what it knows of a trigger that is replaced.
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=8', 'flag=is_dup', 'duplicate_of=dup');
INSERT INTO t (id, fp) SELECT id, fp FROM source ORDER BY id;
SELECT * FROM wrong('t', 8);
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=0', 'flag=is_dup', 'duplicate_of=dup', 'lock=off');
INSERT INTO t (id, fp) SELECT id, fp FROM source ORDER BY id;
SELECT * FROM wrong('t', 0);
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=64', 'flag=is_dup', 'duplicate_of=dup');
INSERT INTO t (id, fp) SELECT id, fp FROM source ORDER BY id LIMIT 50;
SELECT * FROM wrong('t', 64);

-- A duplicate points at an original when only those are looked at, and is within the radius of it.
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'among=originals');
INSERT INTO t (id, fp) SELECT id, fp FROM source ORDER BY id;
SELECT count(*) FILTER (WHERE o.dup IS NOT NULL) AS not_an_original, max(t.fp <~> o.fp) AS farthest
FROM t JOIN t o ON t.dup = o.id;
SELECT count(*) AS originals_within_3 FROM t a JOIN t b ON a.fp <~> b.fp <= 3 AND a.id < b.id WHERE a.dup IS NULL AND b.dup IS NULL;

-- COPY, with the flags in the data and without.
CREATE TABLE small (id int PRIMARY KEY, fp bigint, is_dup boolean, dup int);
CREATE INDEX ON small USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON small
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'duplicate_of=dup', 'key=id');
COPY small (id, fp) FROM STDIN;
1	0
2	1
3	255
4	\N
5	254
6	254
\.
SELECT * FROM small ORDER BY id;

-- UPDATE: of the fingerprint, to a duplicate and back; of something else, which leaves a decision alone.
UPDATE small SET fp = 1::bigint << 40 WHERE id = 1;
UPDATE small SET fp = 3::bigint << 40 WHERE id = 2;
UPDATE small SET fp = NULL WHERE id = 5;
UPDATE small SET is_dup = false, dup = NULL WHERE id = 6;
UPDATE small SET id = 60 WHERE id = 6;
SELECT * FROM small ORDER BY id;
-- Several rows of one statement: the later one sees the new value of the earlier one.
UPDATE small SET fp = 7 + id % 2 WHERE id IN (1, 2);
SELECT id, fp, is_dup, dup FROM small WHERE id IN (1, 2) ORDER BY id;

-- ON CONFLICT: a row is no duplicate of the one with its own key.
INSERT INTO small (id, fp) VALUES (3, 255) ON CONFLICT (id) DO UPDATE SET fp = excluded.fp, is_dup = excluded.is_dup;
INSERT INTO small (id, fp) VALUES (3, 254) ON CONFLICT (id) DO UPDATE SET fp = excluded.fp;
SELECT * FROM small WHERE id = 3;
INSERT INTO small (id, fp) VALUES (3, 7) ON CONFLICT (id) DO UPDATE SET fp = excluded.fp;
SELECT id, fp, is_dup, dup FROM small WHERE id = 3;
INSERT INTO small (id, fp) VALUES (3, 0) ON CONFLICT DO NOTHING;
SELECT id, fp, is_dup, dup FROM small WHERE id = 3;

-- Modes.
CREATE TABLE strict (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fp bigint);
CREATE INDEX ON strict USING simhash (fp);
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON strict
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject');
INSERT INTO strict (fp) VALUES (0), (255), (NULL), (NULL);
\set VERBOSITY sqlstate
INSERT INTO strict (fp) VALUES (65535), (254);
\set VERBOSITY default
INSERT INTO strict (fp) VALUES (254);
UPDATE strict SET fp = 4 WHERE id = 2;
UPDATE strict SET fp = 254 WHERE id = 2;
SELECT count(*), count(fp) FROM strict;
CREATE TABLE lenient (fp bigint, note text);
CREATE INDEX ON lenient USING simhash (fp);
CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON lenient
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip', 'radius=1');
INSERT INTO lenient VALUES (0, 'first'), (1, 'skipped'), (3, 'new'), (NULL, 'none'), (2, 'near both') RETURNING note;
CREATE OR REPLACE TRIGGER skip BEFORE INSERT ON lenient
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'radius=1');
INSERT INTO lenient VALUES (2, 'a table without a key');

-- The fingerprint of a generated column, which BEFORE triggers do not see: its expression is evaluated.
CREATE TABLE petition (
	id int PRIMARY KEY,
	subject text,
	body text,
	fp bigint GENERATED ALWAYS AS (
		simhash64(ROW(subject, body), '{"$columns": ["subject", "body"], "subject": 1, "body": 3}', preset => 'plain')
	) STORED,
	duplicate_of int
);
CREATE INDEX petition_fp ON petition USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON petition
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=8', 'duplicate_of=duplicate_of');
INSERT INTO petition VALUES
	(1, 'Street lamp', 'The street lamp in front of number 12 has been dark for two weeks, please have it repaired before winter.'),
	(2, 'street lamp!', 'The street lamp in front of number 12 has been dark for two weeks. Please have it repaired before winter'),
	(3, 'Street lamp', 'The street lamp in front of number 12 has been dark for three weeks, please have it repaired before winter.'),
	(4, '路灯', '幸福路12号门前的路灯坏了两个星期，请尽快修理。'),
	(5, '路灯', '幸福路12号门前的路灯坏了两个星期, 请尽快修理'),
	(6, 'Bus', 'Bus 7 no longer stops at the market, which is hard for people who cannot walk far.');
SELECT id, duplicate_of FROM petition ORDER BY id;
UPDATE petition SET (subject, body) = (SELECT subject, body FROM petition WHERE id = 1) WHERE id = 6;
UPDATE petition SET body = NULL, subject = '' WHERE id = 2;
SELECT id, duplicate_of, fp IS NULL AS no_fingerprint FROM petition ORDER BY id;

-- The fingerprint computed by the trigger: the same as a generated column has.
CREATE TABLE computed (id int PRIMARY KEY, dropped int, subject text, body text, fp bigint, is_dup boolean);
ALTER TABLE computed DROP COLUMN dropped;
CREATE INDEX ON computed USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON computed FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'radius=8', 'flag=is_dup', 'weights={"subject": 1, "body": 3}', 'preset=plain');
INSERT INTO computed SELECT id, subject, body, 42 FROM petition ORDER BY id;
SELECT id, c.is_dup, c.fp IS NOT DISTINCT FROM p.fp AS same FROM computed c JOIN petition p USING (id) ORDER BY id;
UPDATE computed SET fp = 0 WHERE id = 1;
SELECT count(*) AS kept FROM computed c JOIN petition p USING (id) WHERE id = 1 AND c.fp = p.fp;

-- A check of the text: equal fingerprints, unlike texts.
CREATE TABLE checked (id int PRIMARY KEY, fp bigint, body varchar(100), dup int);
CREATE INDEX ON checked USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON checked FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'duplicate_of=dup', 'text=body', 'min_jaccard=0.5');
INSERT INTO checked VALUES
	(1, 0, 'the quick brown fox jumps over the lazy dog'),
	(2, 0, 'a wholly different sentence about the weather'),
	(3, 1, 'the quick brown fox jumps over a lazy dog'),
	(4, 0, NULL);
UPDATE checked SET body = 'the quick brown fox jumps over the lazy dogs' WHERE id = 2;
SELECT id, dup FROM checked ORDER BY id;

-- So with a text of fixed length, and a primary key that is checked at the commit.
CREATE DOMAIN padded AS char(60);
CREATE TABLE fixed (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, fp bigint, body padded, dup int);
CREATE INDEX ON fixed USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON fixed FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'duplicate_of=dup', 'text=body', 'min_jaccard=0.5');
INSERT INTO fixed SELECT id, fp, body FROM checked WHERE body IS NOT NULL ORDER BY id;
SELECT id, dup FROM fixed ORDER BY id;

-- Rows without a key are compared like others.
CREATE TABLE nameless (n int, url text, fp bigint, is_dup boolean);
CREATE INDEX ON nameless USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON nameless
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'key=url');
INSERT INTO nameless VALUES (1, NULL, 0), (2, 'a', 1), (3, NULL, 1), (4, 'b', 255), (5, NULL, 254);
SELECT n, url, is_dup FROM nameless ORDER BY n;

-- Partitions: the trigger of the parent searches all of them, also for a row that moves.
CREATE TABLE parted (id int, region text, fp bigint, dup int) PARTITION BY LIST (region);
CREATE TABLE parted_north PARTITION OF parted FOR VALUES IN ('north');
CREATE TABLE parted_south (extra int, dup int, fp bigint, region text, id int);
ALTER TABLE parted_south DROP COLUMN extra;
ALTER TABLE parted ATTACH PARTITION parted_south FOR VALUES IN ('south');
CREATE INDEX ON parted USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON parted
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id');
INSERT INTO parted VALUES (1, 'north', 0), (2, 'south', 1), (3, 'north', 255), (4, 'south', 3);
INSERT INTO parted_south (id, region, fp) VALUES (5, 'south', 254);
SELECT tableoid::regclass, id, fp, dup FROM parted ORDER BY id;
UPDATE parted SET region = 'south' WHERE id = 1;
UPDATE parted SET region = 'north', fp = 1::bigint << 50 WHERE id = 5;
SELECT tableoid::regclass, id, fp, dup FROM parted ORDER BY id;

-- A statement trigger of the parent that has the same name is unrelated.
CREATE TABLE tall (id int, fp bigint, dup int) PARTITION BY RANGE (id);
CREATE TABLE tall_low PARTITION OF tall FOR VALUES FROM (0) TO (10);
CREATE TABLE tall_high PARTITION OF tall FOR VALUES FROM (10) TO (20);
CREATE INDEX ON tall USING simhash (fp);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER flag BEFORE INSERT ON tall EXECUTE FUNCTION nothing();
CREATE TRIGGER flag BEFORE INSERT ON tall_low
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id');
INSERT INTO tall VALUES (11, 0), (1, 0), (2, 0);
SELECT * FROM tall ORDER BY id;

-- A row that moves is judged once, as an UPDATE: decided marks stay, and no mode loses it.
UPDATE parted SET dup = NULL WHERE id = 4;
UPDATE parted SET region = 'north' WHERE id = 4;
UPDATE parted SET region = 'south', fp = 252 WHERE id = 4;
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id = 4;
-- A row that the same statement copies is judged. (merge.sql has this for MERGE.)
WITH moved AS (UPDATE parted SET region = 'north' WHERE id = 4 RETURNING fp),
	updated AS (UPDATE parted SET id = 30 WHERE id = 3 RETURNING fp)
INSERT INTO parted SELECT 40, 'south', fp FROM moved UNION ALL SELECT 41, 'south', fp FROM updated;
SELECT tableoid::regclass, id, fp, dup FROM parted ORDER BY id;
-- A copy that another trigger stores between the two halves of the move is judged.
CREATE FUNCTION copy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id < 1000 THEN
		INSERT INTO flag.parted VALUES (NEW.id + 1000, 'north', NEW.fp);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER a_copy BEFORE INSERT ON parted_south FOR EACH ROW EXECUTE FUNCTION copy();
UPDATE parted SET region = 'south' WHERE id = 30;
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id IN (30, 1030) ORDER BY id;
DROP TRIGGER a_copy ON parted_south;
DROP TRIGGER flag ON parted;
INSERT INTO parted VALUES (60, 'north', 7000), (61, 'north', 7000), (62, 'south', 7000);
CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip');
CREATE TRIGGER tell BEFORE INSERT OR UPDATE ON parted
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id');
UPDATE parted SET region = CASE region WHEN 'north' THEN 'south' ELSE 'north' END WHERE fp = 7000;
UPDATE parted SET region = 'south', fp = 7001 WHERE id = 62;
INSERT INTO parted VALUES (63, 'north', 7000);
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id BETWEEN 60 AND 69 ORDER BY id;
-- A row that gets its fingerprint only on arrival is a duplicate then, and not lost.
CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.fp := coalesce(NEW.fp, 7000); RETURN NEW; END $$;
INSERT INTO parted VALUES (64, 'north', NULL);
CREATE TRIGGER a_fill BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION fill();
UPDATE parted SET region = 'south' WHERE id = 64;
INSERT INTO parted VALUES (65, 'north', NULL);
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id IN (64, 65) ORDER BY id;
DROP TRIGGER a_fill ON parted;

-- Another trigger leaves out a row on arrival: the row that the same statement stores next is judged.
CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN NEW.id < 1000 THEN NULL ELSE NEW END; END $$;
CREATE TRIGGER a_leave_out BEFORE INSERT ON parted_south FOR EACH ROW EXECUTE FUNCTION leave_out();
INSERT INTO parted VALUES (67, 'north', -1);
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id = 67;
WITH moved AS (UPDATE parted SET region = 'south' WHERE id = 67 RETURNING id)
INSERT INTO parted SELECT 1067 + count(*), 'south', 7000 FROM moved;
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id IN (67, 1067, 1068) ORDER BY id;
DROP TRIGGER a_leave_out ON parted_south;

-- A trigger that could lose a row that moves is refused.
CREATE OR REPLACE TRIGGER skip BEFORE INSERT OR UPDATE OF fp ON parted
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip');
UPDATE parted SET region = 'north' WHERE id = 61;
CREATE OR REPLACE TRIGGER skip BEFORE INSERT ON parted FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip');
UPDATE parted SET region = 'north' WHERE id = 61;
CREATE OR REPLACE TRIGGER skip BEFORE INSERT OR UPDATE ON parted FOR EACH ROW WHEN (NEW.fp IS NOT NULL)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip');
UPDATE parted SET region = 'north' WHERE id = 61;
DROP TRIGGER skip ON parted;
CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON parted_north
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip');
UPDATE parted SET region = 'north' WHERE id = 61;
SELECT tableoid::regclass, id FROM parted WHERE id = 61;

-- Keys of other types, domains among them, and names that need quotes.
CREATE DOMAIN fingerprint AS bigint;
CREATE DOMAIN slug AS varchar(20);
CREATE TABLE "Odd ""one""" ("The Key" slug PRIMARY KEY, "f p" fingerprint, "of" slug, "is it?" boolean);
CREATE INDEX ON "Odd ""one""" USING simhash ("f p");
CREATE TRIGGER "a b" BEFORE INSERT OR UPDATE ON "Odd ""one"""
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=f p', 'duplicate_of=of', 'flag=is it?');
INSERT INTO "Odd ""one""" VALUES ('b', 0), ('a', 0), ('c', 1);
SELECT * FROM "Odd ""one""" ORDER BY 1;

-- A key goes into a column that can hold every key, and meets the constraints of a domain.
CREATE DOMAIN low AS int CHECK (VALUE < 10);
CREATE DOMAIN filled AS bigint NOT NULL;
CREATE TABLE held (id int PRIMARY KEY, body text, fp filled DEFAULT 0, dup low, short varchar(3), code varchar(20));
CREATE INDEX ON held USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON held
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO held VALUES (9), (1);
INSERT INTO held VALUES (10, NULL, 255), (11, NULL, 255);
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON held
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip', 'weights={"body": 1}');
INSERT INTO held VALUES (3, '');
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON held
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=code', 'duplicate_of=short');
INSERT INTO held VALUES (3);
SELECT id, fp, dup FROM held ORDER BY id;

-- The trigger uses the extension's operators, whatever the search_path and the schemas in it.
CREATE SCHEMA trap;
CREATE FUNCTION trap.never(bigint, int) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR trap.<= (LEFTARG = bigint, RIGHTARG = int, FUNCTION = trap.never);
CREATE FUNCTION trap.same(varchar, varchar) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR trap.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = trap.same);
SET search_path = trap, pg_catalog;
INSERT INTO flag."Odd ""one""" VALUES ('d', 1);
SELECT "of" FROM flag."Odd ""one""" WHERE "The Key" = 'd'::text;
SET search_path = flag, public;

-- Functions and operators beside the extension's that fit better are not used either.
CREATE FUNCTION public.simhash_jaccard(text, text) RETURNS float8 LANGUAGE sql AS 'SELECT 0.0';
CREATE FUNCTION trap.far(fingerprint, bigint) RETURNS int LANGUAGE sql AS 'SELECT 64';
CREATE OPERATOR public.<~> (LEFTARG = fingerprint, RIGHTARG = bigint, FUNCTION = trap.far);
INSERT INTO checked VALUES (5, 0, 'the quick brown fox jumps over the lazy dog');
SELECT dup FROM checked WHERE id = 5;
INSERT INTO "Odd ""one""" VALUES ('e', 1);
SELECT "of" FROM "Odd ""one""" WHERE "The Key" = 'e';
DROP FUNCTION public.simhash_jaccard(text, text);
DROP OPERATOR public.<~> (fingerprint, bigint);

-- DDL between two statements of a session: names and types are looked up again.
ALTER TABLE small RENAME COLUMN is_dup TO flagged;
INSERT INTO small (id, fp) VALUES (100, 0);
ALTER TABLE small RENAME COLUMN flagged TO is_dup;
ALTER TABLE small ADD COLUMN more int, ALTER COLUMN dup TYPE bigint;
INSERT INTO small (id, fp) VALUES (100, 0);
ALTER TABLE small ALTER COLUMN id TYPE bigint;
INSERT INTO small (id, fp) VALUES (100, 0), (101, 0);
SELECT * FROM small WHERE id >= 100 ORDER BY id;

-- The schema of the extension is renamed, the table moves to it and back.
CREATE FUNCTION own_schema() RETURNS name LANGUAGE sql AS $$
	SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'simhash_dedup'
$$;
SELECT own_schema() AS home \gset
INSERT INTO small (id, fp) VALUES (102, 0);
ALTER SCHEMA :home RENAME TO "else where";
INSERT INTO small (id, fp) VALUES (103, 0);
UPDATE small SET fp = 2 WHERE id = 103;
UPDATE petition SET body = body || '.' WHERE id = 3;
UPDATE computed SET body = body || '.' WHERE id = 3;
ALTER TABLE small SET SCHEMA "else where";
INSERT INTO "else where".small (id, fp) VALUES (104, 0);
ALTER TABLE "else where".small SET SCHEMA flag;
ALTER SCHEMA "else where" RENAME TO :home;
SELECT id, dup FROM small WHERE id > 101 ORDER BY id;
SELECT duplicate_of, is_dup FROM petition JOIN computed USING (id) WHERE id = 3;

-- No index: it works, and says so once.
CREATE TABLE bare (id int PRIMARY KEY, fp bigint, dup int);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON bare
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO bare VALUES (1, 0), (2, 1);
INSERT INTO bare VALUES (3, 1);
SELECT * FROM bare ORDER BY id;
-- One that is not valid: the hint says what makes it so. The warning does not come again.
CREATE TABLE "Half built" (id int PRIMARY KEY, fp bigint, dup int);
INSERT INTO "Half built" VALUES (1, 0), (2, 0);
CREATE INDEX "Half built fp" ON "Half built" USING simhash (fp);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"Half built fp"'::regclass;
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON "Half built"
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO "Half built" VALUES (3, 1);
INSERT INTO "Half built" VALUES (4, 1);
REINDEX INDEX CONCURRENTLY flag."Half built fp";
SELECT indisvalid FROM pg_index WHERE indexrelid = '"Half built fp"'::regclass;
BEGIN;
INSERT INTO "Half built" VALUES (5, 1);
SELECT pg_stat_get_xact_numscans('"Half built fp"'::regclass) > 0 AS uses_index;
COMMIT;
SELECT id, dup FROM "Half built" ORDER BY id;
-- Another one is valid.
CREATE TABLE half_built (id int PRIMARY KEY, fp bigint, dup int);
CREATE INDEX half_built_a ON half_built USING simhash (fp);
CREATE INDEX half_built_b ON half_built USING simhash (fp);
CREATE INDEX half_built_c ON half_built USING simhash (fp);
UPDATE pg_index SET indisvalid = false WHERE indexrelid IN ('half_built_a'::regclass, 'half_built_c'::regclass);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON half_built
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO half_built VALUES (1, 0), (2, 1);
-- Of a partitioned table, whose partitions have none yet.
CREATE TABLE half_parted (id int PRIMARY KEY, fp bigint, dup int) PARTITION BY RANGE (id);
CREATE TABLE half_parted_1 PARTITION OF half_parted FOR VALUES FROM (0) TO (9);
CREATE INDEX half_parted_fp ON ONLY half_parted USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON half_parted
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO half_parted VALUES (1, 0), (2, 1);
CREATE INDEX half_parted_1_fp ON half_parted_1 USING simhash (fp);
ALTER INDEX flag.half_parted_fp ATTACH PARTITION half_parted_1_fp;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'half_parted_fp'::regclass;

-- session_replication_role: as for other triggers.
SET session_replication_role = replica;
INSERT INTO bare VALUES (4, 1);
ALTER TABLE bare ENABLE ALWAYS TRIGGER flag;
INSERT INTO bare VALUES (5, 1);
RESET session_replication_role;
SELECT id, dup FROM bare WHERE id > 3 ORDER BY id;

-- The trigger uses the index, and takes no advisory locks.
BEGIN;
SELECT pg_stat_get_xact_numscans('t_fp'::regclass) AS scans \gset
INSERT INTO t (id, fp) VALUES (1000, 12345);
SELECT pg_stat_get_xact_numscans('t_fp'::regclass) > :scans AS uses_index;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
ROLLBACK;

-- Errors: every message names what is wrong, and every detail the trigger.
CREATE TABLE e (id int PRIMARY KEY, small int, fp bigint, b boolean, other text, j json, big bigint, name text,
	gen text GENERATED ALWAYS AS (other) STORED,
	genfp bigint GENERATED ALWAYS AS (simhash64(other)) STORED);
CREATE INDEX ON e USING simhash (fp);
CREATE FUNCTION try(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; detail text; hint text; state text;
BEGIN
	EXECUTE 'CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON e FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('
		|| (SELECT string_agg(quote_literal(a), ', ') FROM unnest(arguments) a) || ')';
	INSERT INTO e (id, fp, other) VALUES (1, 0, 'x');
	DELETE FROM e;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, state = RETURNED_SQLSTATE;
	RETURN concat_ws(' | ', state, message, nullif(hint, ''),
		CASE WHEN detail NOT LIKE 'The trigger is "flag" on table "e".%' THEN 'which trigger?' END);
END $$;
\t on
\pset format unaligned
SELECT try('fingerprint=fp');
SELECT try('fp', 'flag=b');
SELECT try('column=fp', 'flag=b');
SELECT try('fingerprint=fp', 'flag=b', 'radius=65');
SELECT try('fingerprint=fp', 'flag=b', 'radius=');
SELECT try('fingerprint=fp', 'flag=b', 'mode=delete');
SELECT try('fingerprint=nothing', 'flag=b');
SELECT try('fingerprint=small', 'flag=b');
SELECT try('fingerprint=fp', 'flag=small');
SELECT try('fingerprint=fp', 'flag=b', 'flag=b');
SELECT try('fingerprint=fp', 'flag=b', 'lock=');
SELECT try('fingerprint=fp', 'flag=b', 'lock=no');
SELECT try('fingerprint=fp', 'duplicate_of=small', 'key=id ', ' radius = 3');
-- A column that the trigger fills has no second role, and the fingerprint is not the key.
SELECT try('fingerprint=fp', 'duplicate_of=fp', 'key=big');
SELECT try('fingerprint=fp', 'duplicate_of=other', 'text=other', 'key=name');
SELECT try('fingerprint=fp', 'duplicate_of=big', 'key=big');
SELECT try('fingerprint=fp', 'flag=b', 'duplicate_of=b', 'key=id');
SELECT try('fingerprint=fp', 'flag=b', 'key=b');
SELECT try('fingerprint=fp', 'flag=fp');
SELECT try('fingerprint=fp', 'flag=other', 'text=other');
SELECT try('fingerprint=fp', 'flag=b', 'key=fp');
SELECT try('fingerprint=fp', 'flag=b', 'key=fp', 'weights={"other": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'text=fp', 'weights={"other": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'key=name', 'text=name');
SELECT try('fingerprint=fp', 'duplicate_of=id');
CREATE TABLE of_fp (fp bigint PRIMARY KEY, mark boolean);
CREATE TRIGGER flag BEFORE INSERT ON of_fp FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=mark');
INSERT INTO of_fp VALUES (1);
CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON of_fp FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flags=mark');
INSERT INTO of_fp VALUES (1);
SELECT try('fingerprint=fp', 'duplicate_of=small', 'key=nokey');
SELECT try('fingerprint=fp', 'duplicate_of=small', 'key=ctid');
SELECT try('fingerprint=fp', 'flag=b', 'key=j');
-- A key of a type that has an equality, but no order.
CREATE TABLE unordered (x xid, fp bigint, b boolean, of xid);
CREATE INDEX ON unordered USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON unordered
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=x', 'duplicate_of=of');
INSERT INTO unordered VALUES ('1', 1);
CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON unordered
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=x', 'mode=reject');
INSERT INTO unordered VALUES ('1', 1);
CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON unordered
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'key=x', 'flag=b');
INSERT INTO unordered VALUES ('1', 1), ('2', 1) RETURNING *;
-- The column of the texts; weights and preset of a fingerprint that the trigger makes, and what they may not name; other modes.
SELECT try('fingerprint=fp', 'flag=b', 'text=small');
SELECT try('fingerprint=fp', 'flag=b', 'text=gen');
SELECT try('fingerprint=fp', 'flag=b', 'text=other', 'min_jaccard=1.1');
SELECT try('fingerprint=genfp', 'flag=b', 'weights={"other": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"nothing": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'weights=none');
SELECT split_part(try('fingerprint=fp', 'flag=b', 'weights={"other": 1}', 'preset=nothing'), '|', 2) AS message;
SELECT try('fingerprint=fp', 'flag=b', 'weights={"$columns": ["other"]}');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"other": 1}', 'radius=3.5');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"gen": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"gen": 1, "gen": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"other": 1, "$title": "gen"}', 'preset=s2');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"*": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"*": 1, "$exclude": ["fp"]}');
SELECT try('fingerprint=fp', 'duplicate_of=small', 'weights={"small": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"$exclude": ["fp", "b"], "*": 1}');
SELECT try('fingerprint=fp', 'flag=b', 'preset=plain');
SELECT try('fingerprint=fp', 'flag=b', 'mode=reject');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"other": 1}', 'preset=plain', 'text=other', 'duplicate_of=small',
	'among=originals', 'lock=off');
SELECT try('fingerprint=genfp', 'mode=skip');
\t off
\pset format aligned
-- Triggers at another time, of a whole statement, of another event or of a view; a call outside of a trigger.
DROP TRIGGER flag ON e;
CREATE TRIGGER late AFTER INSERT ON e FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=b');
INSERT INTO e (id) VALUES (2);
DROP TRIGGER late ON e;
CREATE TRIGGER whole BEFORE INSERT ON e EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=b');
INSERT INTO e (id) VALUES (2);
DROP TRIGGER whole ON e;
CREATE TRIGGER gone BEFORE DELETE ON e FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=b');
INSERT INTO e (id) VALUES (2);
DELETE FROM e;
DROP TRIGGER gone ON e;
CREATE VIEW v AS SELECT * FROM e;
CREATE TRIGGER instead INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=b');
INSERT INTO v (id) VALUES (2);
SELECT simhash_flag_duplicate();

-- Privileges and row security are those of the role that inserts: it must be able to read the rows that it is compared with.
CREATE TABLE guarded (id int PRIMARY KEY, owner name DEFAULT current_user, fp bigint, dup int);
CREATE INDEX ON guarded USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON guarded
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup');
INSERT INTO guarded VALUES (1, DEFAULT, 0);
CREATE ROLE regress_flag_writer;
GRANT USAGE ON SCHEMA flag TO regress_flag_writer;
GRANT INSERT ON guarded TO regress_flag_writer;
SET ROLE regress_flag_writer;
INSERT INTO guarded VALUES (2, DEFAULT, 0);
RESET ROLE;
GRANT SELECT (id, fp) ON guarded TO regress_flag_writer;
SET ROLE regress_flag_writer;
INSERT INTO guarded VALUES (2, DEFAULT, 0);
RESET ROLE;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON guarded USING (owner = current_user);
GRANT SELECT ON guarded TO regress_flag_writer;
SET ROLE regress_flag_writer;
INSERT INTO guarded VALUES (3, DEFAULT, 0);
RESET ROLE;
SELECT id, dup FROM guarded ORDER BY id;

-- The role needs no rights on the schema of the extension, whatever the trigger does.
GRANT SELECT, INSERT, UPDATE ON checked, computed TO regress_flag_writer;
SELECT own_schema() AS home \gset
REVOKE USAGE ON SCHEMA :home FROM PUBLIC;
SET ROLE regress_flag_writer;
SELECT has_schema_privilege(:'home', 'USAGE') AS may_use;
INSERT INTO checked VALUES (6, 0, 'the quick brown fox jumps over the lazy dog');
UPDATE checked SET body = 'the quick brown fox jumps over the lazy dogs' WHERE id = 4;
SELECT id, dup FROM checked WHERE id IN (4, 6) ORDER BY id;
INSERT INTO computed (id, subject, body) SELECT id + 100, subject, body FROM computed WHERE id = 1;
SELECT is_dup, fp IS NULL AS is_null FROM computed WHERE id = 101;
RESET ROLE;
GRANT USAGE ON SCHEMA :home TO PUBLIC;

SET client_min_messages = warning;
DROP SCHEMA flag CASCADE;
DROP ROLE regress_flag_writer;
