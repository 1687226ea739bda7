-- What simhash_catalog.maintain_clusters() refuses: a trigger of another kind, arguments, tables and columns that do not fit, roles without
-- the rights that its queries need.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA kept_arguments;
SET search_path = kept_arguments, public;

CREATE TABLE many (id int PRIMARY KEY, fp bigint);
CREATE TABLE live_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);

-- A trigger of another kind.
CREATE TRIGGER wrong BEFORE INSERT ON many
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_arguments.live_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
INSERT INTO many VALUES (-1, 1);
DROP TRIGGER wrong ON many;

-- Its arguments, its table, the table of clusters.
CREATE TABLE wrong (id int PRIMARY KEY, fp bigint, name text, list int[], j json, gone int);
ALTER TABLE wrong DROP COLUMN gone;
CREATE INDEX ON wrong USING simhash (fp);
CREATE TABLE "Good ""one""" (key int PRIMARY KEY, cluster_id int NOT NULL, CONSTRAINT more UNIQUE (cluster_id, key));
CREATE FUNCTION try(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; detail text; hint text; state text;
BEGIN
	EXECUTE 'CREATE OR REPLACE TRIGGER wrong AFTER INSERT ON kept_arguments.wrong
		FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('
		|| (SELECT string_agg(quote_literal(a), ', ') FROM unnest(arguments) a) || ')';
	INSERT INTO kept_arguments.wrong VALUES (1, 0, 'x', '{1}', '1');
	DELETE FROM kept_arguments.wrong;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, state = RETURNED_SQLSTATE;
	IF detail <> 'The trigger is "wrong" on table "wrong".' THEN
		message := message || ' with detail ' || detail;
	END IF;
	RETURN concat_ws(' | ', state, message, nullif(hint, ''));
END $$;
\t on
\pset format unaligned
SELECT try('clusters="Good ""one"""', ' key = id', 'fingerprint= fp ', 'radius=64');
SELECT try('key=id', 'fingerprint=fp');
SELECT try('clusters=c', 'fingerprint=fp');
SELECT try('clusters=c', 'key=id');
SELECT try('clusters=c', 'key=id', 'fingerprint');
SELECT try('clusters=c', 'key=', 'fingerprint=fp');
SELECT try('clusters=c', 'key=id', 'fingerprint=fp', 'key=name');
SELECT try('clusters=c', 'key=id', 'fingerprint=fp', 'radios=3');
SELECT try('clusters=c', 'key=id', 'fingerprint=fp', 'radius=99');
SELECT try('clusters=c', 'key=id', 'fingerprint=fp', 'radius=x');
SELECT try('clusters=c', 'key=fp', 'fingerprint=fp');
SELECT try('clusters=c', 'key=id', 'fingerprint=nope');
SELECT try('clusters=c', 'key=........pg.dropped.6........', 'fingerprint=fp');
SELECT try('clusters=c', 'key=id', 'fingerprint=name');
SELECT try('clusters="c', 'key=id', 'fingerprint=fp');
SELECT try('clusters=a.b.c', 'key=id', 'fingerprint=fp');
SELECT try('clusters="C"', 'key=id', 'fingerprint=fp');
SELECT try('clusters=public.c', 'key=name', 'fingerprint=fp');
SELECT try('clusters="No where".c', 'key=id', 'fingerprint=fp');
SELECT try('clusters=C', 'key=id', 'fingerprint=fp');
SELECT try('clusters=1', 'key=id', 'fingerprint=fp');
CREATE VIEW of_clusters AS SELECT * FROM live_cluster;
SELECT try('clusters=of_clusters', 'key=id', 'fingerprint=fp');
SELECT try('clusters=live_cluster_pkey', 'key=id', 'fingerprint=fp');
CREATE TABLE c (key int, cluster int);
SELECT try('clusters=c', 'key=id', 'fingerprint=fp');
ALTER TABLE c RENAME cluster TO cluster_id;
SELECT try('clusters=c', 'key=id', 'fingerprint=fp');
-- Indexes that do not make the key unique.
CREATE INDEX ON c (key);
CREATE UNIQUE INDEX ON c (key) WHERE cluster_id > 0;
CREATE UNIQUE INDEX ON c (key, cluster_id);
CREATE UNIQUE INDEX ON c ((key + 0));
SELECT try('clusters=c', 'key=id', 'fingerprint=fp');
ALTER TABLE c ADD UNIQUE (key) DEFERRABLE;
SELECT try('clusters=c', 'key=id', 'fingerprint=fp');
ALTER TABLE c DROP CONSTRAINT c_key_key;
ALTER TABLE c ADD UNIQUE (key);
SELECT try('clusters=c', 'key=id', 'fingerprint=fp');
SELECT try('clusters=c', 'key=name', 'fingerprint=fp');
CREATE TABLE d (key int PRIMARY KEY, cluster_id text);
SELECT try('clusters=d', 'key=id', 'fingerprint=fp');
CREATE TABLE of_lists (key int[] PRIMARY KEY, cluster_id int[]);
SELECT try('clusters=of_lists', 'key=list', 'fingerprint=fp');
CREATE TABLE of_json (key text PRIMARY KEY, cluster_id text);
SELECT try('clusters=of_json', 'key=j', 'fingerprint=fp');
-- A session that has used the table notices when it changes.
SELECT try('clusters="Good ""one"""', 'key=id', 'fingerprint=fp');
\t off
\pset format aligned
INSERT INTO wrong VALUES (1, 0);
ALTER TABLE "Good ""one""" DROP CONSTRAINT "Good ""one""_pkey";
INSERT INTO wrong VALUES (2, 0);
ALTER TABLE "Good ""one""" ADD UNIQUE (key);
INSERT INTO wrong VALUES (2, 0);
ALTER TABLE "Good ""one""" RENAME TO other;
INSERT INTO wrong VALUES (3, 0);
CREATE TABLE "Good ""one""" (key int, cluster_id int, PRIMARY KEY (key)) PARTITION BY HASH (key);
CREATE TABLE good_part PARTITION OF "Good ""one""" FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO wrong VALUES (3, 0);
SELECT * FROM "Good ""one""" ORDER BY key;
INSERT INTO wrong SELECT NULL, 0;
ALTER TABLE wrong DROP CONSTRAINT wrong_pkey, ALTER id DROP NOT NULL;
INSERT INTO wrong VALUES (NULL, 0);

-- A role that inserts needs rights on the table of clusters, from the first row on.
CREATE ROLE regress_clusters_writer;
GRANT USAGE ON SCHEMA kept_arguments TO regress_clusters_writer;
GRANT SELECT, INSERT ON wrong TO regress_clusters_writer;
GRANT SELECT, INSERT ON "Good ""one""" TO regress_clusters_writer;
SET ROLE regress_clusters_writer;
INSERT INTO wrong VALUES (100, x'555500000000000'::bigint);
RESET ROLE;
REVOKE ALL ON "Good ""one""" FROM regress_clusters_writer;
GRANT SELECT (key, cluster_id), INSERT (key, cluster_id), UPDATE (cluster_id) ON "Good ""one""" TO regress_clusters_writer;
SET ROLE regress_clusters_writer;
INSERT INTO wrong VALUES (100, x'555500000000000'::bigint), (101, x'555500000000000'::bigint), (102, NULL);
RESET ROLE;
SELECT * FROM "Good ""one""" WHERE key >= 100 ORDER BY key;
REVOKE SELECT ON wrong FROM regress_clusters_writer;
SET ROLE regress_clusters_writer;
INSERT INTO wrong VALUES (103, 0);
RESET ROLE;

-- A role that inserts needs no rights on the schema of the extension.
CREATE TABLE guarded (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON guarded USING simhash (fp);
CREATE TABLE guarded_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER cluster AFTER INSERT OR UPDATE ON guarded
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_arguments.guarded_cluster', 'key=id', 'fingerprint=fp');
CREATE ROLE regress_cluster_writer;
GRANT USAGE ON SCHEMA kept_arguments TO regress_cluster_writer;
GRANT SELECT, INSERT, UPDATE ON guarded, guarded_cluster TO regress_cluster_writer;
GRANT DELETE ON guarded_cluster TO regress_cluster_writer;
REVOKE USAGE ON SCHEMA public FROM PUBLIC;
SET ROLE regress_cluster_writer;
INSERT INTO guarded VALUES (1, 0), (2, 1), (3, -1);
SELECT * FROM guarded_cluster ORDER BY key;
RESET ROLE;
GRANT USAGE ON SCHEMA public TO PUBLIC;
DROP OWNED BY regress_cluster_writer;
DROP ROLE regress_cluster_writer;

SET client_min_messages = warning;
DROP SCHEMA kept_arguments CASCADE;
DROP ROLE regress_clusters_writer;
