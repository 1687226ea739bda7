-- simhash_catalog.maintain_clusters(): rows whose trigger is still to come while another row is answered, keys that another row
-- has by then, and names and rights that its queries must not trip over.
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA kept_pending;
SET search_path = kept_pending, public;

-- Each row says what was done, which rows are stored, and how many are in a wrong cluster: none.
CREATE TABLE a (id int PRIMARY KEY DEFERRABLE, g int, fp bigint, note text);
CREATE INDEX ON a USING simhash (fp);
CREATE TABLE a_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON a_cluster (cluster_id);
CREATE FUNCTION wrong(what text) RETURNS TABLE (done text, rows text, wrong bigint) LANGUAGE sql AS $$
	SELECT what, (SELECT string_agg(id || ': ' || fp, ', ' ORDER BY id) FROM a), count(*)
	FROM (SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM a_cluster) AS c WHERE size > 1) AS stored
	FULL JOIN simhash_clusters('a', 'id', 'fp', 3) AS fresh ON fresh.key = stored.key AND fresh.cluster_id = stored.cluster_id
	WHERE stored.key IS NULL OR fresh.key IS NULL
$$;
-- Makes triggers, at once or deferred, and stores three rows of one text and three of another.
CREATE PROCEDURE form(on_insert text, on_update text, on_delete text) LANGUAGE plpgsql AS $$
DECLARE
	f record;
BEGIN
	DROP TRIGGER IF EXISTS z_insert ON a;
	DROP TRIGGER IF EXISTS z_update ON a;
	DROP TRIGGER IF EXISTS z_delete ON a;
	DELETE FROM a;
	DELETE FROM a_cluster;
	FOR f IN SELECT * FROM (VALUES ('insert', on_insert), ('update', on_update), ('delete', on_delete)) AS f (event, form)
	LOOP
		EXECUTE CASE f.form
			WHEN 'row' THEN format('CREATE TRIGGER z_%s AFTER %1$s ON a FOR EACH ROW', f.event)
			ELSE format('CREATE CONSTRAINT TRIGGER z_%s AFTER %1$s ON a DEFERRABLE INITIALLY DEFERRED FOR EACH ROW', f.event)
		END || ' EXECUTE FUNCTION simhash_catalog.maintain_clusters(''clusters=a_cluster'', ''key=id'', ''fingerprint=fp'')';
	END LOOP;
	INSERT INTO a VALUES (1, 1, 0), (2, 1, 0), (3, 1, 0), (8, 1, 4095), (9, 1, 4095), (10, 1, 4095);
END $$;
CALL form('row', 'row', 'row');
UPDATE a SET id = CASE id WHEN 2 THEN 9 ELSE 2 END WHERE id IN (2, 9);
SELECT * FROM wrong('two rows exchange their keys');
CALL form('deferred', 'deferred', 'deferred');
UPDATE a SET id = CASE id WHEN 2 THEN 9 ELSE 2 END WHERE id IN (2, 9);
SELECT * FROM wrong('the same, deferred');
CALL form('row', 'deferred', 'deferred');
BEGIN;
DELETE FROM a WHERE id = 2;
INSERT INTO a VALUES (2, 1, 0);
COMMIT;
SELECT * FROM wrong('a key that comes back before its departure is answered');
CALL form('row', 'row', 'row');
CREATE FUNCTION back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		INSERT INTO a VALUES (OLD.id, OLD.g, coalesce(OLD.fp, 0));
	ELSIF NEW.fp = 4095 THEN
		UPDATE a SET fp = OLD.fp WHERE id = NEW.id;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER a_back AFTER DELETE OR UPDATE ON a FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION back();
DELETE FROM a WHERE id = 2;
SELECT * FROM wrong('another trigger brings the row back');
UPDATE a SET fp = 4095 WHERE id = 2;
SELECT * FROM wrong('another trigger brings the fingerprint back');
DROP TRIGGER a_back ON a;
CALL form('row', 'row', 'row');
INSERT INTO a VALUES (4, 1, NULL);
CREATE TRIGGER a_back AFTER DELETE ON a FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION back();
DELETE FROM a WHERE id = 4;
SELECT * FROM wrong('another trigger brings the row back, with a fingerprint');
DROP TRIGGER a_back ON a;
CALL form('row', 'row', 'row');
WITH u AS (UPDATE a SET fp = 4095 WHERE id = 2) INSERT INTO a VALUES (7, 1, 4095);
SELECT * FROM wrong('an update within an insert');
WITH d AS (DELETE FROM a WHERE id = 3 RETURNING id) INSERT INTO a SELECT id, 1, 4095 FROM d;
SELECT * FROM wrong('a delete within an insert');
CALL form('row', 'row', 'row');
ALTER TABLE a DROP CONSTRAINT a_pkey, ADD PRIMARY KEY (id);
WITH u AS (UPDATE a SET id = 12 WHERE id = 2 RETURNING 2) INSERT INTO a SELECT 2, 1, 0 FROM u;
SELECT * FROM wrong('a key that is free again within the statement');
CALL form('row', 'deferred', 'deferred');
BEGIN;
UPDATE a SET fp = 4095 WHERE id = 2;
INSERT INTO a VALUES (7, 1, 4095);
COMMIT;
SELECT * FROM wrong('a deferred update behind an insert');
-- A statement that changes nothing that counts takes no lock, and needs no rights.
CALL form('row', 'row', 'row');
BEGIN;
UPDATE a SET note = 'seen';
SELECT count(*) AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;
-- A writer who does not own the tables.
CREATE ROLE kept_pending_user;
GRANT USAGE ON SCHEMA kept_pending TO kept_pending_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON a TO kept_pending_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON a_cluster TO kept_pending_user;
SET ROLE kept_pending_user;
INSERT INTO a VALUES (11, 1, 0);
UPDATE a SET fp = 4095 WHERE id = 11;
DELETE FROM a WHERE id = 11;
RESET ROLE;
SELECT * FROM wrong('by another role');
DROP OWNED BY kept_pending_user;
DROP ROLE kept_pending_user;
-- Columns of the scope with the names that the queries use.
CREATE TABLE named (id int PRIMARY KEY, fp bigint, key int, stored int, copies int);
CREATE TABLE named_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER z AFTER INSERT OR UPDATE OR DELETE ON named FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=named_cluster', 'key=id', 'fingerprint=fp', 'within=key,stored,copies');
SET client_min_messages = error;
INSERT INTO named VALUES (1, 0, 1, 1, 1), (2, 0, 1, 1, 1), (3, 0, 1, 1, 1), (4, 0, 2, 1, 1);
UPDATE named SET key = 2 WHERE id = 1;
DELETE FROM named WHERE id = 2;
SELECT * FROM named_cluster ORDER BY key;

DROP SCHEMA kept_pending CASCADE;
