-- simhash_catalog.maintain_clusters() keeps clusters true after any change: rows that leave and divide a cluster, keys that
-- change, TRUNCATE; its errors and warnings. What comes at random is in ../t/052 and ../t/053.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA kept_test;
SET search_path = kept_test, public;

-- Clusters of two or more rows, and what is not as simhash_clusters has it.
CREATE FUNCTION clusters(doc text DEFAULT 'doc', cluster text DEFAULT 'cluster') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	shown text; faults text;
BEGIN
	EXECUTE format('SELECT string_agg(cluster_id || '': '' || keys, '' | '' ORDER BY cluster_id) FROM
		(SELECT cluster_id, string_agg(key::text, '' '' ORDER BY key) AS keys FROM %s GROUP BY 1 HAVING count(*) > 1) c', cluster) INTO shown;
	EXECUTE format('WITH stored AS (SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM %2$s) s
		WHERE size > 1),
		afresh AS MATERIALIZED (SELECT key, cluster_id FROM simhash_clusters(%1$L, ''id'', ''fp'', 3, ''components''))
		SELECT string_agg(fault, '', '' ORDER BY fault) FROM (
			SELECT ''too much: '' || key AS fault FROM (TABLE stored EXCEPT TABLE afresh) x
			UNION ALL SELECT ''missing: '' || key FROM (TABLE afresh EXCEPT TABLE stored) x
			UNION ALL SELECT ''no row: '' || key FROM %2$s WHERE NOT EXISTS (SELECT FROM %1$s WHERE id = key)) f', doc, cluster) INTO faults;
	RETURN concat_ws('; ', coalesce(shown, 'none'), faults);
END $$;

-- A path 1 - 2 - 3 - 4 - 5 of steps of 3 bits, and two equal rows far away.
CREATE TABLE doc (id int PRIMARY KEY, fp bigint, note text);
CREATE INDEX ON doc USING simhash (fp);
CREATE TABLE cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON cluster (cluster_id);
CREATE TRIGGER keep AFTER INSERT OR UPDATE OF id, fp OR DELETE ON doc
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'radius=3');
CREATE TRIGGER keep_truncated AFTER TRUNCATE ON doc
	FOR EACH STATEMENT EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'radius=3');
CREATE VIEW path (id, fp) AS VALUES (1, 0::bigint), (2, 7), (3, 63), (4, 511), (5, 4095),
	(8, -256), (9, -256);
INSERT INTO doc TABLE path;
SELECT clusters();
-- The bridge goes: two clusters. The smallest key goes: another name. An end goes. The last but one goes.
DELETE FROM doc WHERE id = 3;
SELECT clusters();
DELETE FROM doc WHERE id = 1;
INSERT INTO doc VALUES (3, 63);
SELECT clusters();
DELETE FROM doc WHERE id = 2;
SELECT clusters();
DELETE FROM doc WHERE id IN (3, 5);
SELECT clusters();
-- One of several equal rows is no bridge while another one is there.
INSERT INTO doc VALUES (1, 0), (2, 7), (3, 63), (5, 4095), (6, 63);
SELECT clusters();
DELETE FROM doc WHERE id = 3;
SELECT clusters();
DELETE FROM doc WHERE id = 6;
SELECT clusters();
INSERT INTO doc VALUES (3, 63), (6, 63), (7, 63);
DELETE FROM doc WHERE id IN (3, 6, 7);
SELECT clusters();
-- Away and back, in one transaction, in one statement, without a fingerprint for a while.
INSERT INTO doc VALUES (3, 63);
UPDATE doc SET fp = -255 WHERE id = 3;
SELECT clusters();
UPDATE doc SET fp = 63 WHERE id = 3;
SELECT clusters();
BEGIN;
UPDATE doc SET fp = -1 WHERE id = 3;
UPDATE doc SET fp = 63 WHERE id = 3;
COMMIT;
SELECT clusters();
UPDATE doc SET fp = NULL WHERE id = 3;
SELECT clusters();
UPDATE doc SET fp = 63 WHERE id = 3;
SELECT clusters();
BEGIN;
DELETE FROM doc WHERE id IN (1, 3);
SELECT clusters();
ROLLBACK;
SELECT clusters();
BEGIN;
SAVEPOINT s;
UPDATE doc SET fp = -1 WHERE id IN (2, 4);
SELECT clusters();
ROLLBACK TO s;
DELETE FROM doc WHERE id = 9;
COMMIT;
SELECT clusters();
-- Two rows exchange fingerprints.
UPDATE doc SET fp = CASE id WHEN 3 THEN -256 ELSE 63 END WHERE id IN (3, 8);
SELECT clusters();
UPDATE doc SET fp = CASE id WHEN 8 THEN -256 ELSE 63 END WHERE id IN (3, 8);
-- A key that changes.
UPDATE doc SET id = 10 WHERE id = 1;
SELECT clusters();
UPDATE doc SET id = 1, fp = -1 WHERE id = 2;
SELECT clusters();
UPDATE doc SET id = 2, fp = 7 WHERE id = 1;
SELECT clusters();
-- Rows that leave and come in one statement.
WITH gone AS (DELETE FROM doc WHERE id IN (3, 10) RETURNING id) INSERT INTO doc SELECT id + 10, CASE id WHEN 3 THEN 0
	ELSE -255 END FROM gone;
SELECT clusters();
INSERT INTO doc VALUES (1, 63), (4, -1), (11, 63) ON CONFLICT (id) DO UPDATE SET fp = excluded.fp;
SELECT clusters();
-- Known to go wrong elsewhere: rows of one statement that vouch for each other, and one that has been alone.
DELETE FROM doc;
SELECT clusters();
INSERT INTO doc VALUES (1, 63);
INSERT INTO doc VALUES (2, 0), (3, 7), (4, 7);
SELECT clusters();
-- All rows at once.
DELETE FROM doc;
SELECT clusters(), (SELECT count(*) FROM cluster) AS entries;
-- TRUNCATE empties the table of clusters.
INSERT INTO doc TABLE path;
BEGIN;
TRUNCATE doc;
SELECT clusters(), (SELECT count(*) FROM cluster) AS entries;
INSERT INTO doc SELECT * FROM path WHERE id < 3;
SELECT clusters();
ROLLBACK;
SELECT clusters();
TRUNCATE doc;
SELECT clusters(), (SELECT count(*) FROM cluster) AS entries;
-- One statement that stores a bridge, and deletes a row of the cluster that it makes. Keys of several rows change at once.
INSERT INTO doc VALUES (1, 0), (2, 1), (7, 63), (8, 127), (9, 62);
WITH new AS (INSERT INTO doc VALUES (4, 7) RETURNING 1) DELETE FROM doc WHERE id = 8 AND (SELECT count(*) FROM new) > 0;
SELECT clusters();
UPDATE doc SET id = id + 100;
SELECT clusters();
UPDATE doc SET fp = fp # 7, note = 'turned';
SELECT clusters();
COPY doc (id, fp) FROM STDIN;
1	63
2	0
3	7
4	7
\.
SELECT clusters();
DELETE FROM doc;
SELECT count(*) AS entries FROM cluster;
-- The first of many deleted rows takes the entries of all along: what the others write does not grow with their number.
CREATE TABLE reads (entries bigint);
CREATE FUNCTION count_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO reads SELECT count(*) FROM gone;
	RETURN NULL;
END $$;
CREATE TRIGGER watch AFTER DELETE ON cluster REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_entries();
INSERT INTO doc SELECT i, 42 FROM generate_series(1, 50) i;
DELETE FROM doc;
SELECT entries, count(*) FROM reads GROUP BY entries ORDER BY entries DESC;
DROP TRIGGER watch ON cluster;

-- A row that a nested statement changes once more held the cluster together by its first fingerprint, not by the second.
CREATE FUNCTION change_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE doc SET fp = -1 WHERE id = NEW.id;
	RETURN NULL;
END $$;
INSERT INTO doc VALUES (1, 7), (2, 7), (3, 63), (4, 511);
SELECT clusters();
CREATE TRIGGER zz AFTER UPDATE ON doc FOR EACH ROW WHEN (NEW.fp = 7) EXECUTE FUNCTION change_again();
UPDATE doc SET fp = 7 WHERE id = 3;
SELECT clusters();
DROP TRIGGER zz ON doc;
-- One more copy whose key is smaller names the cluster, and one that leaves last of two equal rows takes the others apart.
INSERT INTO doc VALUES (5, 63), (0, 7);
SELECT clusters();
DELETE FROM doc WHERE id = 0;
UPDATE doc SET fp = -1 WHERE id = 5;
SELECT clusters();
DELETE FROM doc;

-- Rows that are answered while the outer statement still changes others: what they joined is looked at again.
CREATE FUNCTION store_one(bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO doc VALUES (100, -1) ON CONFLICT DO NOTHING;
	RETURN $1;
END $$;
INSERT INTO doc VALUES (1, 0), (2, 0), (3, 0), (4, 5555555);
UPDATE doc SET fp = CASE WHEN id = 4 THEN store_one(fp) ELSE -1 END WHERE id IN (3, 4);
SELECT clusters();
DELETE FROM doc;
-- A row that a trigger in front of ours changes once more.
INSERT INTO doc VALUES (1, 0), (2, 0), (3, 7), (4, 63);
CREATE TRIGGER a_first AFTER UPDATE ON doc FOR EACH ROW WHEN (NEW.fp = 0) EXECUTE FUNCTION change_again();
UPDATE doc SET fp = 0 WHERE id = 3;
SELECT clusters();
DROP TRIGGER a_first ON doc;
DELETE FROM doc;
-- A deleted row that a trigger stores again.
CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO doc SELECT OLD.*;
	RETURN NULL;
END $$;
INSERT INTO doc VALUES (1, 0), (2, 0), (3, 0), (4, 0);
CREATE TRIGGER undo AFTER DELETE ON doc FOR EACH ROW EXECUTE FUNCTION undo();
DELETE FROM doc WHERE id = 3;
SELECT clusters();
DROP TRIGGER undo ON doc;
DELETE FROM doc;

-- Deferred: rows that came and went, and rows that changed and changed back, do not count. A row whose trigger is still to
-- come is no reason to leave another one out.
DROP TRIGGER keep ON doc;
CREATE CONSTRAINT TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON doc DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp', 'radius=3');
BEGIN;
INSERT INTO doc TABLE path;
INSERT INTO doc VALUES (10, 63);
DELETE FROM doc WHERE id IN (3, 10);
SELECT clusters();
COMMIT;
SELECT clusters();
BEGIN;
INSERT INTO doc VALUES (3, 63), (10, 63);
DELETE FROM doc WHERE id = 10;
UPDATE doc SET fp = -1 WHERE id = 2;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT clusters();
UPDATE doc SET fp = 7 WHERE id = 2;
DELETE FROM doc WHERE id = 3;
COMMIT;
SELECT clusters();
BEGIN;
DELETE FROM doc WHERE id = 9;
INSERT INTO doc VALUES (9, -256);
INSERT INTO doc VALUES (10, -256);
DELETE FROM doc WHERE id = 8;
COMMIT;
SELECT clusters();
TRUNCATE doc;

-- Partitions: a row moves, a partition is truncated by its own trigger or the whole tree by that of its
-- root.
CREATE TABLE parted (id int PRIMARY KEY, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (4);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (4) TO (100);
CREATE INDEX ON parted USING simhash (fp);
CREATE TABLE parted_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON parted_cluster (cluster_id);
CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON parted
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=parted_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
CREATE TRIGGER keep_truncated AFTER TRUNCATE ON parted
	FOR EACH STATEMENT EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=parted_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
CREATE TRIGGER keep_truncated AFTER TRUNCATE ON parted_1
	FOR EACH STATEMENT EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=parted_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
INSERT INTO parted TABLE path;
SELECT clusters('parted', 'parted_cluster');
UPDATE parted SET id = 30 WHERE id = 3;
SELECT clusters('parted', 'parted_cluster');
UPDATE parted SET id = 3, fp = -256 WHERE id = 30;
SELECT clusters('parted', 'parted_cluster');
UPDATE parted SET fp = 63 WHERE id = 3;
TRUNCATE parted_1;
SELECT clusters('parted', 'parted_cluster');
INSERT INTO parted SELECT * FROM path WHERE id < 4;
SELECT clusters('parted', 'parted_cluster');
TRUNCATE parted;
SELECT clusters('parted', 'parted_cluster'), (SELECT count(*) FROM parted_cluster) AS entries;

-- Tenants: what a row leaves is divided within its tenant.
CREATE TABLE shop (id int PRIMARY KEY, tenant text, fp bigint);
CREATE INDEX ON shop USING simhash (tenant, fp);
CREATE TABLE shop_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON shop_cluster (cluster_id);
CREATE TRIGGER keep AFTER INSERT OR UPDATE OF id, tenant, fp OR DELETE ON shop
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=shop_cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
CREATE FUNCTION shops() RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(tenants || ' ' || cluster_id || ': ' || keys, ' | ' ORDER BY cluster_id), 'none') FROM (
		SELECT cluster_id, string_agg(DISTINCT tenant, '?') AS tenants, string_agg(key::text, ' ' ORDER BY key) AS keys
		FROM kept_test.shop_cluster LEFT JOIN kept_test.shop ON id = key GROUP BY 1 HAVING count(*) > 1) c
$$;
INSERT INTO shop SELECT id, 'a', fp FROM path UNION ALL SELECT id + 20, 'b', fp FROM path;
SELECT shops();
UPDATE shop SET tenant = 'b' WHERE id = 3;
SELECT shops();
DELETE FROM shop WHERE id IN (3, 23);
SELECT shops();
UPDATE shop SET tenant = NULL WHERE id IN (1, 24);
SELECT shops();
UPDATE shop SET tenant = CASE id WHEN 1 THEN 'b' ELSE 'a' END WHERE id IN (1, 24);
SELECT shops();
-- Equal rows of several tenants.
DELETE FROM shop;
INSERT INTO shop SELECT i, chr(97 + i % 3), 0 FROM generate_series(1, 9) i;
SELECT shops();
UPDATE shop SET tenant = 'a' WHERE id = 1;
DELETE FROM shop WHERE id = 3;
SELECT shops();

-- Rows of tenants are answered when their statement has fired its triggers: also those that a foreign key deletes, those of a
-- statement inside of it, which is over before, and in a session that is a replica. What is rolled back meanwhile is forgotten.
DELETE FROM shop;
CREATE TABLE owner (id int PRIMARY KEY);
INSERT INTO owner VALUES (1), (2);
ALTER TABLE shop ADD owner int REFERENCES owner ON DELETE CASCADE;
CREATE TABLE told_inside (what text);
CREATE FUNCTION inside() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id < 100 THEN
		INSERT INTO shop VALUES (NEW.id + 100, 'a', NEW.fp), (NEW.id + 200, 'b', NEW.fp);
		INSERT INTO told_inside VALUES (NEW.id || ' > ' || shops());
		BEGIN
			INSERT INTO shop VALUES (NEW.id + 300, 'a', NEW.fp);
			RAISE EXCEPTION division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER inside AFTER INSERT ON shop FOR EACH ROW EXECUTE FUNCTION inside();
INSERT INTO shop VALUES (1, 'a', 0, 1), (2, 'b', 0, 2), (3, 'b', 0, 1);
SELECT what FROM told_inside;
SELECT shops();
DROP TRIGGER inside ON shop;
DELETE FROM owner WHERE id = 1;
SELECT shops();
CREATE FUNCTION add_shop(id int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO shop VALUES (id, 'b', 0);
	RETURN shops();
END $$;
INSERT INTO shop SELECT 10, CASE WHEN add_shop(11) LIKE '%11%' THEN 'a' ELSE 'wrong' END, 0;
SELECT shops();
ALTER TABLE shop ENABLE ALWAYS TRIGGER keep;
SET session_replication_role = replica;
INSERT INTO shop VALUES (12, 'a', 0), (13, 'b', 0);
RESET session_replication_role;
SELECT shops();

-- Row security: a role that does not see all rows does not know what a row has held together, and divides no cluster. One that does, does.
CREATE TABLE secret (id int PRIMARY KEY, owner text, fp bigint);
CREATE INDEX ON secret USING simhash (fp);
CREATE TABLE secret_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON secret_cluster (cluster_id);
CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON secret
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=secret_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
CREATE ROLE regress_kept_one;
GRANT USAGE ON SCHEMA kept_test TO regress_kept_one;
GRANT SELECT, INSERT, UPDATE, DELETE ON secret, secret_cluster TO regress_kept_one;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (owner = current_user);
INSERT INTO secret SELECT id, CASE id WHEN 3 THEN 'regress_kept_one' WHEN 4 THEN 'regress_kept_one' ELSE 'other' END, fp FROM path;
SELECT clusters('secret', 'secret_cluster');
SET ROLE regress_kept_one;
DELETE FROM secret WHERE id = 3;
RESET ROLE;
SELECT clusters('secret', 'secret_cluster');
DELETE FROM secret WHERE id = 5;
SELECT clusters('secret', 'secret_cluster');

-- Rights: DELETE on the table of clusters is needed for a row that is deleted, or whose key changes.
ALTER TABLE secret DISABLE ROW LEVEL SECURITY;
REVOKE DELETE ON secret_cluster FROM regress_kept_one;
SET ROLE regress_kept_one;
INSERT INTO secret VALUES (3, 'other', 63), (5, 'other', 4095);
UPDATE secret SET fp = -1 WHERE id = 5;
DELETE FROM secret WHERE id = 5;
UPDATE secret SET id = 50 WHERE id = 4;
RESET ROLE;
SELECT clusters('secret', 'secret_cluster');
-- A table of clusters that references the rows is refused.
DROP OWNED BY regress_kept_one;
DROP ROLE regress_kept_one;
DELETE FROM secret_cluster;
ALTER TABLE secret_cluster ADD CONSTRAINT "of" FOREIGN KEY (key) REFERENCES secret ON DELETE CASCADE;
INSERT INTO secret VALUES (6, 'other', 64);
ALTER TABLE secret_cluster DROP CONSTRAINT "of";
CREATE TABLE shelf (id int PRIMARY KEY, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE shelf_1 PARTITION OF shelf FOR VALUES FROM (0) TO (10);
CREATE TABLE shelf_cluster (key int PRIMARY KEY, cluster_id int NOT NULL REFERENCES shelf_1);
CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON shelf
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=shelf_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO shelf VALUES (1, 0);

-- Triggers that cannot do it.
CREATE FUNCTION try(definition text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; detail text; hint text; state text;
BEGIN
	EXECUTE 'CREATE TRIGGER wrong ' || definition
		|| ' EXECUTE FUNCTION simhash_catalog.maintain_clusters(''clusters=kept_test.secret_cluster'', ''key=id'', ''fingerprint=fp'')';
	EXECUTE statement;
	RAISE EXCEPTION 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, state = RETURNED_SQLSTATE;
	RETURN concat_ws(' | ', state, message, nullif(detail, ''), nullif(hint, ''));
END $$;
CREATE VIEW secrets AS SELECT * FROM secret;
SELECT try(definition, statement) FROM (VALUES
	('BEFORE INSERT ON kept_test.secret FOR EACH ROW', 'INSERT INTO kept_test.secret VALUES (77, NULL, 1)'),
	('BEFORE DELETE ON kept_test.secret FOR EACH ROW', 'DELETE FROM kept_test.secret'),
	('BEFORE TRUNCATE ON kept_test.secret FOR EACH STATEMENT', 'TRUNCATE kept_test.secret CASCADE'),
	('BEFORE INSERT ON kept_test.secret FOR EACH STATEMENT', 'INSERT INTO kept_test.secret VALUES (77, NULL, 1)'),
	('INSTEAD OF INSERT ON kept_test.secrets FOR EACH ROW', 'INSERT INTO kept_test.secrets VALUES (77, NULL, 1)'),
	('AFTER INSERT ON kept_test.secret FOR EACH STATEMENT', 'INSERT INTO kept_test.secret VALUES (77, NULL, 1)'),
	('AFTER UPDATE ON kept_test.secret FOR EACH STATEMENT', 'UPDATE kept_test.secret SET fp = 1'),
	('AFTER UPDATE ON kept_test.secret REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH STATEMENT', 'UPDATE kept_test.secret SET fp = 1'),
	('AFTER DELETE ON kept_test.secret FOR EACH STATEMENT', 'DELETE FROM kept_test.secret')) t (definition, statement);
SELECT simhash_catalog.maintain_clusters();
-- Triggers that write to one table of clusters have one radius; 3 is the default.
CREATE TABLE one (id int PRIMARY KEY, fp bigint);
CREATE TABLE one_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TABLE other_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER a AFTER INSERT ON one
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=one_cluster', 'key=id', 'fingerprint=fp');
CREATE TRIGGER b AFTER DELETE ON one FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_test.one_cluster', 'key=id', 'fingerprint=fp', 'radius=4');
CREATE TRIGGER c AFTER INSERT ON one
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=other_cluster', 'key=id', 'fingerprint=fp', 'radius=5');
INSERT INTO one VALUES (1, 0), (2, 0);
DROP TRIGGER a ON one;
INSERT INTO one VALUES (1, 0), (2, 0);
CREATE TRIGGER a AFTER INSERT ON one
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=one_cluster', 'key=id', 'fingerprint=fp');
DELETE FROM one;
CREATE OR REPLACE TRIGGER b AFTER DELETE ON one FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_test.one_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
INSERT INTO one VALUES (3, 0);
DELETE FROM one WHERE id = 1;
SELECT clusters('one', 'one_cluster'), (SELECT count(*) FROM other_cluster) AS others;
-- What a trigger cannot see is said.
CREATE TABLE told_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TABLE plain (id int PRIMARY KEY, body text);
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON plain
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=told_cluster', 'key=id', 'fingerprint=simhash64(body)');
INSERT INTO plain VALUES (1, 'a');
CREATE OR REPLACE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON plain
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=told_cluster', 'key=id', 'fingerprint=fp', 'radius=3.5');
INSERT INTO plain VALUES (1, 'a');

SET client_min_messages = error;
DROP SCHEMA kept_test CASCADE;
