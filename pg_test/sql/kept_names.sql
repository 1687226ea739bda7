-- The names that a trigger of simhash_catalog.maintain_clusters() holds: no search_path and no temporary table leads it astray, tables and
-- columns are renamed and moved meanwhile, columns have other collations and places.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA kept_names;
SET search_path = kept_names, public;

CREATE TABLE kept (id int PRIMARY KEY, fp bigint);
CREATE TABLE kept_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER assign AFTER INSERT OR UPDATE OR DELETE ON kept
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_cluster', 'key=id', 'fingerprint=fp');
SET client_min_messages = error;
INSERT INTO kept VALUES (20, x'7000000000000000'::bigint), (22, x'7000000000000000'::bigint), (23, x'7000000000000000'::bigint);
SET client_min_messages = warning;

-- The name of the table of clusters is not looked up in a search_path: without a schema it means the schema of the
-- trigger's table.
CREATE SCHEMA kept_trap;
CREATE TABLE kept_trap.kept_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
SET search_path = kept_trap, kept_names, public;
INSERT INTO kept VALUES (24, x'7000000000000000'::bigint);
DISCARD PLANS;
SET search_path = kept_trap;
INSERT INTO kept_names.kept VALUES (25, x'7000000000000000'::bigint);
SET search_path = kept_names, public;
SELECT count(*), (SELECT count(*) FROM kept_trap.kept_cluster) AS trapped FROM kept_cluster;
CREATE TEMP TABLE kept_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TEMP TABLE kept (id int PRIMARY KEY, fp bigint);
CREATE TRIGGER assign AFTER INSERT ON pg_temp.kept
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO kept_names.kept VALUES (26, x'7000000000000000'::bigint);
SET client_min_messages = error;
INSERT INTO pg_temp.kept VALUES (1, 1), (2, 1);
SET client_min_messages = warning;
SELECT * FROM pg_temp.kept_cluster ORDER BY key;
DROP TABLE pg_temp.kept, pg_temp.kept_cluster;
-- When the trigger's table moves to another schema, the table of clusters is looked up there.
ALTER TABLE kept SET SCHEMA kept_trap;
INSERT INTO kept_trap.kept VALUES (27, x'7000000000000000'::bigint);
SELECT count(*), (SELECT count(*) FROM kept_trap.kept_cluster) AS beside FROM kept_cluster;
ALTER SCHEMA kept_trap RENAME TO "kept trap";
DROP TABLE "kept trap".kept_cluster;
INSERT INTO "kept trap".kept VALUES (28, x'7000000000000000'::bigint);
CREATE TABLE "kept trap".kept_cluster (key bigint, cluster_id numeric);
CREATE UNIQUE INDEX ON "kept trap".kept_cluster (key) INCLUDE (cluster_id);
INSERT INTO "kept trap".kept VALUES (28, x'7000000000000000'::bigint);
SELECT count(*) FROM "kept trap".kept_cluster;
DROP SCHEMA "kept trap" CASCADE;

-- Columns in collations of their own; a partition with its columns in another order; other names meanwhile.
CREATE TABLE worded (id text COLLATE "POSIX" PRIMARY KEY, fp bigint);
CREATE TABLE worded_cluster (key text COLLATE "C" PRIMARY KEY, cluster_id text NOT NULL);
CREATE TRIGGER assign AFTER INSERT ON worded
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_names.worded_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO worded VALUES ('b', 1), ('B', 1), ('c', -1), ('a', 1), ('C', -1);
SELECT count(*) AS rows, (SELECT count(*) FROM (SELECT key, cluster_id FROM simhash_clusters('worded', key_type => NULL::text, columns => 'fp', key => 'id')
	EXCEPT TABLE worded_cluster) x) AS drift FROM worded_cluster;
CREATE TABLE parted (id int, fp bigint, part int) PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (part int, gone int, fp bigint, id int);
ALTER TABLE parted_2 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
CREATE TABLE parted_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER assign AFTER INSERT OR UPDATE ON parted
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_names.parted_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO parted VALUES (1, 1, 1), (2, 1, 2), (3, -1, 1), (4, -1, 2), (5, x'777777777'::bigint, 1);
UPDATE parted SET part = 2, fp = 1 WHERE id = 5;
ALTER TABLE parted RENAME fp TO print;
INSERT INTO parted VALUES (6, 1, 1);
ALTER TABLE parted RENAME print TO fp;
ALTER TABLE parted RENAME TO "p ""; parted";
INSERT INTO "p ""; parted" VALUES (6, 1, 1);
ALTER TABLE parted_cluster RENAME cluster_id TO other;
INSERT INTO "p ""; parted" VALUES (7, 1, 1);
ALTER TABLE parted_cluster RENAME other TO cluster_id;
SELECT * FROM parted_cluster ORDER BY key;

-- What others keep in a schema that a user may not use does not matter to him.
CREATE SCHEMA kept_hidden;
CREATE TABLE kept_hidden.doc (id int PRIMARY KEY, fp bigint);
SELECT simhash_keep_clusters('kept_hidden.doc', 'id', 'fp', 3);
CREATE ROLE regress_kept_names;
GRANT USAGE, CREATE ON SCHEMA kept_names TO regress_kept_names;
SET ROLE regress_kept_names;
CREATE TABLE own (id int PRIMARY KEY, fp bigint);
INSERT INTO own VALUES (1, 5), (2, 5);
SELECT simhash_keep_clusters('own', 'id', 'fp', 3);
SELECT simhash_refresh_clusters('own_cluster');
SELECT simhash_drop_clusters('own_cluster');
RESET ROLE;
DROP OWNED BY regress_kept_names;
DROP ROLE regress_kept_names;
DROP SCHEMA kept_hidden CASCADE;

-- A table of clusters whose keys are unique in another collation.
CREATE TABLE page (url text PRIMARY KEY, fp bigint);
CREATE TABLE page_cluster (key text NOT NULL, cluster_id text NOT NULL);
CREATE UNIQUE INDEX ON page_cluster (key COLLATE "POSIX");
CREATE INDEX ON page USING simhash (fp);
CREATE TRIGGER page_clusters AFTER INSERT OR UPDATE ON page
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('fingerprint=fp', 'clusters=page_cluster', 'key=url');
INSERT INTO page VALUES ('a', 0), ('b', 1), ('c', 255);
SELECT * FROM page_cluster ORDER BY key;

SET client_min_messages = warning;
DROP SCHEMA kept_names CASCADE;
