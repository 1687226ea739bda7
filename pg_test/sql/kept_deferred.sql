-- simhash_catalog.maintain_clusters() of a deferred trigger, of rows that change again in their transaction, beside savepoints and beside other
-- triggers of the table and of the table of clusters.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA kept_deferred;
SET search_path = kept_deferred, public;

-- A deferred trigger sees the last state of the row in the transaction. So does a trigger that fires after one
-- that deletes the row.
CREATE TABLE late (id int PRIMARY KEY, fp bigint);
CREATE TABLE late_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE CONSTRAINT TRIGGER assign AFTER INSERT OR UPDATE ON late DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_deferred.late_cluster', 'key=id', 'fingerprint=fp');
BEGIN;
INSERT INTO late VALUES (1, 1), (2, -1), (3, 1), (4, 1);
UPDATE late SET fp = -1 WHERE id = 1;
UPDATE late SET fp = 1 WHERE id = 1;
DELETE FROM late WHERE id = 3;
UPDATE late SET fp = x'7777777777'::bigint WHERE id = 4;
COMMIT;
TABLE late_cluster;
BEGIN;
INSERT INTO late VALUES (5, 1);
SAVEPOINT s;
INSERT INTO late VALUES (6, 1);
ROLLBACK TO s;
COMMIT;
SELECT * FROM late_cluster ORDER BY key;
CREATE FUNCTION delete_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM kept_deferred.late WHERE id = NEW.id;
	RETURN NULL;
END $$;
DROP TRIGGER assign ON late;
CREATE TRIGGER assign AFTER INSERT OR UPDATE ON late
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_deferred.late_cluster', 'key=id', 'fingerprint=fp');
CREATE TRIGGER a_delete AFTER INSERT ON late FOR EACH ROW EXECUTE FUNCTION delete_it();
INSERT INTO late VALUES (7, 1);
SELECT * FROM late_cluster ORDER BY key;
-- An UPDATE that leaves the fingerprint alone does not fire the trigger; the row is assigned all the same.
DROP TRIGGER a_delete ON late;
DROP TRIGGER assign ON late;
TRUNCATE late, late_cluster;
ALTER TABLE late ADD note text;
CREATE FUNCTION note_it() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE kept_deferred.late SET note = 'seen' WHERE id = NEW.id;
	RETURN NULL;
END $$;
CREATE TRIGGER a_note AFTER INSERT ON late FOR EACH ROW EXECUTE FUNCTION note_it();
CREATE TRIGGER assign AFTER INSERT OR UPDATE OF fp ON late
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_deferred.late_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO late VALUES (1, 1), (2, 1);
DROP TRIGGER assign ON late;
CREATE CONSTRAINT TRIGGER assign AFTER INSERT OR UPDATE OF fp ON late DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_deferred.late_cluster', 'key=id', 'fingerprint=fp');
BEGIN;
INSERT INTO late VALUES (3, 1), (4, 1), (5, 1);
UPDATE late SET note = 'again', fp = CASE id WHEN 4 THEN -1 ELSE fp END;
DELETE FROM late WHERE id = 5;
COMMIT;
SELECT * FROM late_cluster ORDER BY key;

-- A deferred trigger writes at COMMIT.
CREATE TABLE kept (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON kept USING simhash (fp);
CREATE TABLE kept_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE CONSTRAINT TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON kept DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO kept VALUES (1, 0), (2, 1), (3, 100000), (4, 100001);
SELECT * FROM kept_cluster ORDER BY key;
-- Rows that are changed twice, and that are gone at the end.
BEGIN;
INSERT INTO kept VALUES (5, 100000), (6, 0);
UPDATE kept SET fp = -1 WHERE id = 5;
UPDATE kept SET fp = 3 WHERE id = 5;
DELETE FROM kept WHERE id IN (1, 6);
COMMIT;
SELECT * FROM kept_cluster ORDER BY key;
-- Immediate, and deferred again.
BEGIN;
INSERT INTO kept VALUES (7, 7);
SET CONSTRAINTS ALL IMMEDIATE;
SELECT * FROM kept_cluster WHERE key = 7;
INSERT INTO kept VALUES (8, 7);
SELECT * FROM kept_cluster WHERE key = 8;
SET CONSTRAINTS assign DEFERRED;
INSERT INTO kept VALUES (9, 7);
SELECT * FROM kept_cluster WHERE key = 9;
COMMIT;
SELECT * FROM kept_cluster ORDER BY key;
-- Savepoints, blocks with an exception, a trigger that is fired inside of a function.
BEGIN;
INSERT INTO kept VALUES (10, 100000);
SAVEPOINT s;
INSERT INTO kept VALUES (11, 100000);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
INSERT INTO kept VALUES (12, 100000);
RELEASE s;
DO $$
BEGIN
	BEGIN
		INSERT INTO kept_deferred.kept VALUES (13, 100000);
		SET CONSTRAINTS ALL IMMEDIATE;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		INSERT INTO kept_deferred.kept VALUES (14, 100000);
	END;
	SET CONSTRAINTS ALL IMMEDIATE;
	SET CONSTRAINTS ALL DEFERRED;
	INSERT INTO kept_deferred.kept VALUES (15, 100000);
END $$;
COMMIT;
SELECT * FROM kept_cluster WHERE cluster_id = 3 ORDER BY key;
-- Triggers of the table of clusters fire, those with transition tables too.
CREATE TABLE seen (what text, key int);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_LEVEL = 'ROW' THEN
		INSERT INTO kept_deferred.seen VALUES ('row', NEW.key);
	ELSE
		INSERT INTO kept_deferred.seen SELECT 'statement', key FROM new;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER see_row AFTER INSERT OR UPDATE ON kept_cluster FOR EACH ROW EXECUTE FUNCTION see();
CREATE TRIGGER see_statement AFTER INSERT ON kept_cluster REFERENCING NEW TABLE AS new EXECUTE FUNCTION see();
INSERT INTO kept VALUES (20, x'7000000000000000'::bigint), (21, x'7000000000000000'::bigint);
SELECT * FROM seen ORDER BY what, key;
-- Under the settings of the session: those that the trigger plans its own queries with do not last until then.
CREATE FUNCTION see_settings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO kept_deferred.seen SELECT name || ' = ' || setting FROM pg_settings WHERE name IN ('enable_seqscan', 'jit');
	RETURN NULL;
END $$;
CREATE TRIGGER see_settings BEFORE INSERT ON kept_cluster EXECUTE FUNCTION see_settings();
TRUNCATE seen;
SET jit = on;
INSERT INTO kept VALUES (24, x'7000000000000000'::bigint);
RESET jit;
SELECT what FROM seen WHERE key IS NULL ORDER BY what;
DROP TRIGGER see_settings ON kept_cluster;
DELETE FROM kept WHERE id > 20;
-- The same, not deferred.
TRUNCATE seen;
DROP TRIGGER assign ON kept;
CREATE TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON kept
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO kept VALUES (22, x'7000000000000000'::bigint), (23, x'7000000000000000'::bigint);
SELECT * FROM seen ORDER BY what, key;
SELECT * FROM kept_cluster WHERE key >= 20 ORDER BY key;
DELETE FROM kept WHERE id < 20;
SELECT count(*) FROM kept_cluster;

SET client_min_messages = warning;
DROP SCHEMA kept_deferred CASCADE;
