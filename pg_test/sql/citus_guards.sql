-- What triggers and functions for an index do where Citus distributes tables, with a stand-in for Citus: tables and functions of its
-- names and columns, filled by hand. Whether Citus fills them so is for pg_test/t/071_citus_guards.pl, which needs it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA guards;
CREATE SCHEMA guards_other;
SET search_path = guards, public;
\set SHOW_CONTEXT never
CREATE TABLE doc (tenant int, id int PRIMARY KEY, fp bigint, dup int, by_tenant int GENERATED ALWAYS AS (tenant) STORED);
CREATE INDEX doc_fp ON doc USING simhash (fp);
INSERT INTO doc VALUES (1, 1, 1);

-- Without Citus.
SELECT * FROM simhash_catalog.index_verify_shards('doc_fp');
SELECT * FROM simhash_catalog.index_stats_shards('doc_fp');
SELECT * FROM simhash_catalog.index_stats_shards('doc_pkey');
SELECT * FROM simhash_catalog.index_stats_shards('doc');
SELECT count(*) FROM simhash_catalog.index_verify_shards(NULL);
CREATE TABLE parted (fp bigint) PARTITION BY RANGE (fp);
CREATE INDEX parted_fp ON parted USING simhash (fp);
SELECT * FROM simhash_catalog.index_verify_shards('parted_fp');

-- The stand-in. No other session ever sees it.
BEGIN;
\set ON_ERROR_ROLLBACK on
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL, partkey text,
	colocationid int NOT NULL DEFAULT 0, repmodel "char" NOT NULL DEFAULT 'c', autoconverted boolean NOT NULL DEFAULT false);
CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass NOT NULL, shardid bigint NOT NULL, shardstorage "char" NOT NULL,
	shardminvalue text, shardmaxvalue text);
-- A column as Citus writes it is one as the server writes it.
INSERT INTO pg_dist_partition
SELECT 'doc', 'h', d.adbin::text, 7, 's' FROM pg_attrdef d WHERE d.adrelid = 'doc'::regclass AND d.adnum = 5;
INSERT INTO pg_dist_shard SELECT 'doc', i, 't' FROM generate_series(102008, 102010) i;
CREATE FUNCTION make_shard(name text, VARIADIC arguments text[] DEFAULT '{}') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %s (LIKE doc INCLUDING GENERATED, PRIMARY KEY (id))', name);
	EXECUTE format('CREATE INDEX ON %s USING simhash (fp)', name);
	EXECUTE format('CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(%s)', name,
		(SELECT string_agg(quote_literal(a), ', ') FROM unnest('{fingerprint=fp,duplicate_of=dup}' || arguments) a));
END $$;
CREATE FUNCTION store(name text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY
		EXECUTE format('INSERT INTO %s (tenant, id, fp) VALUES (1, 1, 7), (1, 2, 7), (2, 3, 7) RETURNING id || coalesce('' as '' || dup, '''')',
			name);
END $$;

-- A shard: refused, unless only rows of one shard are compared.
SELECT make_shard('doc_102008');
SELECT store('doc_102008');
DROP TRIGGER flag ON doc_102008;
CREATE TRIGGER flag BEFORE INSERT ON doc_102008
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=dup');
CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON doc_102008
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=tenant');
SELECT store('doc_102008');
-- The SQLSTATE.
SELECT make_shard('doc_102009', 'mode=flag');
DO $$ BEGIN PERFORM store('doc_102009'); EXCEPTION WHEN feature_not_supported THEN RAISE WARNING 'refused'; END $$;
-- Tables with such a name that are none.
SELECT make_shard('doc_102011'), make_shard('other_102008'), make_shard('guards_other.doc_102008'), make_shard('doc_2024');
SELECT name, store(name) FROM unnest('{doc_102011,other_102008,guards_other.doc_102008,doc_2024}'::text[]) name;
-- One that becomes a shard.
ALTER TABLE doc_2024 RENAME TO doc_102010;
SELECT store('doc_102010');
-- A partition that is a shard.
CREATE TABLE part_1 (LIKE doc);
CREATE TABLE part_102020 (LIKE doc) PARTITION BY RANGE (id);
CREATE TABLE part_1_102021 PARTITION OF part_102020 FOR VALUES FROM (0) TO (9);
CREATE TRIGGER flag BEFORE INSERT ON part_102020
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id');
INSERT INTO pg_dist_partition SELECT 'part_1', partmethod, partkey, colocationid, repmodel FROM pg_dist_partition;
INSERT INTO pg_dist_shard VALUES ('part_1', 102021, 't');
INSERT INTO part_102020 VALUES (1, 1, 7);
-- A long name, which Citus cuts.
CREATE TABLE a_table_with_a_name_of_sixty_three_characters_which_is_the_most (LIKE doc);
SELECT make_shard('a_table_with_a_name_of_sixty_three_characters_w_2e5d8b1a_102030');
INSERT INTO pg_dist_partition VALUES ('a_table_with_a_name_of_sixty_three_characters_which_is_the_most', 'h');
INSERT INTO pg_dist_shard VALUES ('a_table_with_a_name_of_sixty_three_characters_which_is_the_most', 102030, 't');
SELECT store('a_table_with_a_name_of_sixty_three_characters_w_2e5d8b1a_102030');

-- By the way the table is distributed: flags, and clusters.
CREATE TABLE cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE FUNCTION answers(method "char", replication "char", colocation int) RETURNS TABLE (flags text, clusters text) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE pg_dist_partition SET partmethod = method, repmodel = replication, colocationid = colocation WHERE logicalrelid = 'doc'::regclass;
	BEGIN
		DROP TABLE doc_102009;
		PERFORM make_shard('doc_102009');
		PERFORM store('doc_102009');
		flags := 'flagged';
	EXCEPTION WHEN feature_not_supported THEN flags := split_part(SQLERRM, ':', 1);
	END;
	BEGIN
		DROP TRIGGER flag ON doc_102009;
		TRUNCATE doc_102009, cluster;
		CREATE TRIGGER keep AFTER INSERT ON doc_102009
		FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp');
		PERFORM store('doc_102009');
		clusters := (SELECT count(*) || ' in clusters' FROM cluster);
	EXCEPTION WHEN feature_not_supported THEN clusters := split_part(SQLERRM, ':', 1);
	END;
	RETURN NEXT;
END $$;
SELECT m.*, a.* FROM (VALUES ('h'::"char", 's'::"char", 7), ('r', 'c', 0), ('a', 's', 0), ('n', 't', 3), ('n', 's', 3), ('n', 's', 0)) m,
	answers(m.column1, m.column2, m.column3) a;
-- Errors of clusters.
UPDATE pg_dist_partition SET partmethod = 'h';
SELECT make_shard('doc_102012', 'within=tenant');
INSERT INTO pg_dist_shard VALUES ('doc', 102012, 't');
CREATE TRIGGER keep AFTER INSERT ON doc_102012 FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=cluster', 'key=id', 'fingerprint=fp');
SELECT store('doc_102012');
-- The row that is there, within the distribution column; a function of two rows finds none of the shard's type.
CREATE TABLE doc_102013 (LIKE doc INCLUDING GENERATED, PRIMARY KEY (tenant, id));
CREATE INDEX ON doc_102013 USING simhash (tenant, fp);
INSERT INTO pg_dist_shard VALUES ('doc', 102013, 't');
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON doc_102013 FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'key=id', 'within=tenant');
INSERT INTO doc_102013 (tenant, id, fp) VALUES (1, 1, 7), (2, 2, 7), (1, 3, 6) ON CONFLICT (tenant, id) DO NOTHING RETURNING tenant, id;
INSERT INTO doc_102013 (tenant, id, fp) VALUES (2, 4, 6) ON CONFLICT (tenant, id) DO UPDATE SET dup = 0 RETURNING tenant, id, fp, dup;
CREATE FUNCTION same_kind(a doc, b doc) RETURNS boolean RETURN true;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON doc_102013 FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'key=id', 'within=tenant', 'checked_by=same_kind');
INSERT INTO doc_102013 (tenant, id, fp) VALUES (1, 5, 7);
DROP TABLE doc_102013;
DELETE FROM pg_dist_shard WHERE shardid = 102013;

-- The index of the distributed table is refused, that of a shard is not.
SELECT rows FROM simhash_index_stats('doc_fp');
SELECT * FROM simhash_index_verify('doc_fp');
SELECT rows FROM simhash_index_stats('doc_102008_fp_idx');

-- Shards are asked where they are. One node here cannot be reached, of one shard none is known, and one index is not there.
CREATE TABLE pg_catalog.pg_dist_placement (placementid bigint, shardid bigint, shardstate int, shardlength bigint, groupid int);
CREATE TABLE pg_catalog.pg_dist_node (nodeid int, groupid int, nodename text, nodeport int, noderole text);
-- A node that is told of none does not know its shards, when another node asks.
SELECT make_shard('unknown_7');
SET LOCAL application_name = 'citus_internal gpid=1';
SELECT store('unknown_7');
SET LOCAL application_name = 'psql';
SELECT store('unknown_7');
CREATE FUNCTION pg_catalog.shard_name(object_name regclass, shard_id bigint, skip_qualify_public boolean DEFAULT true) RETURNS text
LANGUAGE sql AS $$ SELECT format('%I.%I', relnamespace::regnamespace, relname || '_' || shard_id) FROM pg_class WHERE oid = object_name $$;
CREATE FUNCTION pg_catalog.master_run_on_worker(worker_name text[], port int[], command text[], parallel boolean,
	OUT node_name text, OUT node_port int, OUT success boolean, OUT result text) RETURNS SETOF record LANGUAGE plpgsql
SET search_path = '' AS $$
BEGIN
	FOR i IN 1 .. cardinality(command) LOOP
		node_name := worker_name[i];
		node_port := port[i];
		BEGIN
			IF node_port = 2 THEN
				RAISE EXCEPTION 'connection refused';
			END IF;
			EXECUTE command[i] INTO STRICT result;
			success := true;
		EXCEPTION WHEN OTHERS THEN
			success := false;
			result := SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
INSERT INTO pg_dist_node VALUES (1, 1, 'one', 1, 'primary'), (2, 2, 'two', 2, 'primary'), (3, 1, 'standby of one', 3, 'secondary');
INSERT INTO pg_dist_placement VALUES (1, 102008, 1, 0, 1), (2, 102009, 1, 0, 2), (3, 102010, 1, 0, 1),
	(4, 102012, 4, 0, 1), (5, 102012, 1, 0, 9);
ALTER INDEX doc_102008_fp_idx RENAME TO doc_fp_102008;
SELECT * FROM simhash_catalog.index_verify_shards('doc_fp', true) ORDER BY shard;
SELECT shard, rows FROM simhash_catalog.index_stats_shards('doc_fp');
DELETE FROM pg_dist_shard WHERE shardid <> 102008;
SELECT (s).node, (s).port, (s).shard, to_jsonb(s) - '{node,port,shard}'::text[] = to_jsonb(t) AS same
FROM simhash_catalog.index_stats_shards('doc_fp') s, simhash_index_stats('doc_fp_102008') t;
SELECT * FROM simhash_catalog.index_verify_shards('doc_fp', true);
-- Rights are looked at here, before any node is asked.
CREATE ROLE guards_reader;
GRANT USAGE ON SCHEMA guards TO guards_reader;
GRANT SELECT ON pg_dist_partition, pg_dist_shard, pg_dist_placement, pg_dist_node TO PUBLIC;
SET ROLE guards_reader;
SELECT rows FROM simhash_catalog.index_stats_shards('doc_fp');
SELECT * FROM simhash_catalog.index_verify_shards('doc_fp');
RESET ROLE;
GRANT SELECT ON doc, doc_102008 TO guards_reader;
SET ROLE guards_reader;
SELECT rows FROM simhash_catalog.index_stats_shards('doc_fp');
SELECT * FROM simhash_catalog.index_verify_shards('doc_fp');
RESET ROLE;
ALTER TABLE doc ENABLE ROW LEVEL SECURITY;
SET ROLE guards_reader;
SELECT rows FROM simhash_catalog.index_stats_shards('doc_fp');
RESET ROLE;
ALTER TABLE doc DISABLE ROW LEVEL SECURITY;
-- More faults than are returned.
DROP TRIGGER flag ON doc_102008;
UPDATE pg_index SET indisready = false WHERE indexrelid = 'doc_fp_102008'::regclass;
INSERT INTO doc_102008 (tenant, id, fp) SELECT 1, i, i FROM generate_series(11, 2000) i;
UPDATE pg_index SET indisready = true WHERE indexrelid = 'doc_fp_102008'::regclass;
SELECT count(*) FROM simhash_index_verify('doc_fp_102008', true);
SELECT shard, count(*), max(fault) FILTER (WHERE fault LIKE 'more%') FROM simhash_catalog.index_verify_shards('doc_fp', true) GROUP BY shard;

-- A Citus with other columns.
ALTER TABLE pg_dist_partition ALTER repmodel TYPE text;
INSERT INTO pg_dist_shard VALUES ('doc', 102010, 't');
SELECT store('doc_102010');
ALTER TABLE pg_dist_shard RENAME shardid TO number;
SELECT store('doc_102010');
ROLLBACK;
SELECT rows FROM simhash_index_stats('doc_fp');
SET client_min_messages = warning;
DROP SCHEMA guards, guards_other CASCADE;
