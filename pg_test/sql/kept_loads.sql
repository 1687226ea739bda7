-- simhash_maintain_clusters() in statement triggers: a large batch is answered by one search of the whole table. Each load
-- is stored twice, by one statement in table big and by many in table small, whose rows are looked up one by one: the
-- tables of clusters must be the same, and those of a full computation.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA kept_loads;
SET search_path = kept_loads, public;

-- Rows to load: fingerprints of 22 bits, of which every other one has a near one; some are equal, some NULL.
CREATE TABLE source AS SELECT i AS id, CASE WHEN i % 23 > 0 THEN i % 3 END AS tenant,
	CASE WHEN i % 19 = 0 THEN NULL WHEN i % 7 = 0 THEN hashint8extended(i % 5, 1) ELSE (hashint4(i) & 4194303)::bigint END AS fp
FROM generate_series(1, 8000) AS i;

-- Tables big and small, empty, and triggers on them that fire on an event by statement.
CREATE PROCEDURE make(key_type text DEFAULT 'int', arguments text DEFAULT '', primary_key text DEFAULT 'PRIMARY KEY', partitions text DEFAULT '')
LANGUAGE plpgsql AS $$
DECLARE
	name text; event record;
BEGIN
	FOREACH name IN ARRAY ARRAY['big', 'small'] LOOP
		EXECUTE format('DROP TABLE IF EXISTS %1$s, %1$s_cluster CASCADE', name);
		EXECUTE format('CREATE TABLE %s (id %s %s, tenant int, fp bigint) %s', name, key_type, primary_key, partitions);
		IF partitions <> '' THEN
			EXECUTE format('CREATE TABLE %1$s_0 PARTITION OF %1$s FOR VALUES WITH (MODULUS 2, REMAINDER 0)', name);
			EXECUTE format('CREATE TABLE %1$s_1 PARTITION OF %1$s FOR VALUES WITH (MODULUS 2, REMAINDER 1)', name);
		END IF;
		EXECUTE format('CREATE INDEX ON %s USING simhash (fp)', name);
		EXECUTE format('CREATE TABLE %1$s_cluster (key %2$s PRIMARY KEY, cluster_id %2$s NOT NULL)', name, regexp_replace(key_type, ' COLLATE.*', ''));
		EXECUTE format('CREATE INDEX ON %s_cluster (cluster_id)', name);
		FOR event IN SELECT * FROM (VALUES ('INSERT', 'NEW TABLE AS n'), ('UPDATE', 'OLD TABLE AS o NEW TABLE AS n'), ('DELETE', 'OLD TABLE AS o')) AS e (name, tables) LOOP
			EXECUTE format('CREATE TRIGGER keep_%s AFTER %1$s ON %2$s REFERENCING %3$s FOR EACH STATEMENT
				EXECUTE FUNCTION simhash_maintain_clusters(''clusters=%2$s_cluster'', ''key=id'', ''fingerprint=fp''%4$s)', event.name, name, event.tables, arguments);
		END LOOP;
	END LOOP;
END $$;
-- Runs an INSERT INTO %s of rows of the source, %s, or another statement. `stored` are rows of the source, in table small 700 at a time.
CREATE PROCEDURE load(first int, last int, insert text DEFAULT 'INSERT INTO %s SELECT * FROM (%s) AS s') LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format(insert, 'big', format('SELECT * FROM kept_loads.source WHERE id BETWEEN %s AND %s', first, last));
	FOR i IN 0 .. (last - first) / 700 LOOP
		EXECUTE format(insert, 'small', format('SELECT * FROM kept_loads.source WHERE id BETWEEN %s AND %s', first + 700 * i, least(last, first + 700 * i + 699)));
	END LOOP;
END $$;
CREATE PROCEDURE twice(statement text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE replace(statement, '%s', 'big');
	EXECUTE replace(statement, '%s', 'small');
END $$;
-- The entries and clusters that are stored; how many entries are not as in the other table, and not as computed.
CREATE FUNCTION compared(within name[] DEFAULT '{}', of_type anyelement DEFAULT NULL::int)
RETURNS TABLE (entries bigint, clusters bigint, otherwise bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'SELECT (SELECT count(*) FROM big_cluster), (SELECT count(DISTINCT cluster_id) FROM big_cluster),
		(SELECT count(*) FROM big_cluster AS b FULL JOIN small_cluster AS s ON b.key = s.key AND b.cluster_id = s.cluster_id WHERE b.key IS NULL OR s.key IS NULL),
		(SELECT count(*) FROM (SELECT key, cluster_id FROM (SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM big_cluster) AS c WHERE size > 1) AS b
			FULL JOIN simhash_clusters_keyed($2, ''big'', ''id'', ''fp'', 3, within => $1) AS f ON f.key = b.key AND f.cluster_id = b.cluster_id
			WHERE b.key IS NULL OR f.key IS NULL)' USING within, of_type;
END $$;
-- Have rows of the table been looked up by its index on the fingerprint, often, since this transaction began with CALL begun()?
CREATE FUNCTION scans(name text) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(pg_stat_get_xact_numscans(indexrelid)) FROM pg_index JOIN pg_class AS i ON i.oid = indexrelid JOIN pg_am AS m ON m.oid = relam
	WHERE indrelid IN (SELECT relid FROM pg_partition_tree(to_regclass(name)) UNION SELECT to_regclass(name)) AND amname = 'simhash'
$$;
CREATE PROCEDURE begun() LANGUAGE sql AS $$
	SELECT set_config('kept_loads.' || name, coalesce(scans(name), 0)::text, false) FROM unnest(ARRAY['big', 'small', 'root']) AS name
$$;
CREATE FUNCTION looked_up(name text DEFAULT 'big') RETURNS boolean LANGUAGE sql AS $$
	SELECT scans(name) - current_setting('kept_loads.' || name)::bigint > 100
$$;

-- Into an empty table; beside rows that are stored, and beside clusters that unite; beside many more rows: they are looked up.
CALL make();
BEGIN;
CALL begun();
CALL load(1, 1500);
SELECT looked_up() AS big, looked_up('small') AS small;
COMMIT;
SELECT * FROM compared();
BEGIN;
CALL begun();
CALL load(1501, 3000);
SELECT looked_up();
COMMIT;
SELECT * FROM compared();
BEGIN;
CALL begun();
CALL load(3001, 3999);
SELECT looked_up() AS less_than_a_thousand;
COMMIT;
INSERT INTO big SELECT -i, 1, NULL FROM generate_series(1, 6001) AS i;
BEGIN;
CALL begun();
CALL load(4000, 5000);
SELECT looked_up() AS eleven_times_as_many;
COMMIT;
BEGIN;
CALL begun();
INSERT INTO big VALUES (0, 1, NULL), (-6002, 1, NULL);
CALL load(5001, 6000);
SELECT looked_up() AS more;
COMMIT;
SELECT * FROM compared();
TRUNCATE big, small, big_cluster, small_cluster;
-- Rows without a fingerprint, which get one later.
BEGIN;
CALL load(1, 1200, 'INSERT INTO %s SELECT id, tenant, NULL FROM (%s) AS s');
SELECT * FROM compared();
UPDATE big SET fp = 0 WHERE id < 3;
UPDATE small SET fp = 0 WHERE id < 3;
SELECT * FROM compared();
ROLLBACK;

-- Several statements in a transaction, some undone; rows that were changed or deleted in it.
BEGIN;
CALL load(1, 1100);
CALL twice('DELETE FROM %s WHERE id % 3 = 0');
SAVEPOINT s;
CALL load(1101, 2300);
CALL twice('UPDATE %s SET fp = fp # 7 WHERE id % 4 = 0');
ROLLBACK TO s;
SELECT * FROM compared();
CALL load(1500, 3000);
COMMIT;
SELECT * FROM compared();
-- Rows that are there already.
CALL load(2000, 3900, 'INSERT INTO %s SELECT * FROM (%s) AS s ON CONFLICT DO NOTHING');
SELECT * FROM compared();
CALL load(2600, 4700, 'INSERT INTO %s SELECT id, tenant, fp # 6 FROM (%s) AS s ON CONFLICT (id) DO UPDATE SET fp = excluded.fp');
SELECT wrong FROM compared();
-- Rows that leave and come in one statement, and a statement within a function.
CALL twice('WITH gone AS (DELETE FROM %s RETURNING id, tenant, fp) INSERT INTO %s SELECT id + 10000, tenant, fp FROM gone');
SELECT * FROM compared();

-- Entries that are not of stored rows, or were taken out by hand: those of rows that are not connected with new ones stay
-- as they are, others are united with them.
CALL make();
CALL load(1, 1200);
CALL twice('INSERT INTO %s_cluster VALUES (-5, -5), (-4, -5), (9001, 9001), (9002, 9001)');
CALL twice('DELETE FROM %s_cluster WHERE cluster_id IN (SELECT cluster_id FROM %s_cluster JOIN %s ON id = key WHERE fp NOT BETWEEN 0 AND 4194303)');
CALL twice('UPDATE %s_cluster SET cluster_id = -7 WHERE cluster_id = (SELECT min(cluster_id) FROM %s_cluster WHERE cluster_id > 0)');
CALL load(1201, 2500, 'INSERT INTO %s SELECT id, tenant, fp FROM (%s) AS s WHERE fp BETWEEN 0 AND 4194303');
SELECT * FROM compared();
SELECT count(*) FROM big WHERE fp NOT BETWEEN 0 AND 4194303 AND id NOT IN (SELECT key FROM big_cluster);
SELECT * FROM big_cluster WHERE key < 0 OR key > 9000 ORDER BY key;

-- Tenants. A row without one has no cluster.
CALL make(arguments => ', ''within=tenant''');
BEGIN;
CALL begun();
CALL load(1, 1500);
CALL load(1501, 3000);
SELECT looked_up();
COMMIT;
SELECT * FROM compared('{tenant}');
CALL twice('UPDATE %s SET tenant = 1 WHERE id % 10 = 0');
CALL load(3001, 5000);
SELECT * FROM compared('{tenant}');

-- Keys of other types, whose columns may have a collation of their own.
CALL make('text COLLATE "C"');
CALL load(1, 2500, 'INSERT INTO %s SELECT CASE mod(id, 2) WHEN 0 THEN ''b'' ELSE ''A'' END || id, tenant, fp FROM (%s) AS s');
SELECT * FROM compared('{}', NULL::text);
CALL make('numeric(8, 2)');
CALL load(1, 2500, 'INSERT INTO %s SELECT id / 4.0, tenant, fp FROM (%s) AS s');
SELECT * FROM compared('{}', NULL::numeric);
CREATE DOMAIN name_of AS text COLLATE "C" CHECK (VALUE <> '');
CALL make('name_of', ', ''within=tenant''');
CALL load(1, 2500, 'INSERT INTO %s SELECT ''k'' || id, tenant, fp FROM (%s) AS s');
SELECT * FROM compared('{tenant}', NULL::text);

-- Partitions: the trigger of the whole table reads all of them.
CALL make(partitions => 'PARTITION BY HASH (id)');
BEGIN;
CALL begun();
CALL load(1, 2500);
SELECT looked_up();
COMMIT;
SELECT * FROM compared();
-- That of one partition looks rows up: others need not have been answered.
CREATE TABLE root (id int PRIMARY KEY, tenant int, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF root FOR VALUES FROM (0) TO (10000);
CREATE INDEX ON root USING simhash (fp);
CREATE TABLE root_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER keep AFTER INSERT ON part REFERENCING NEW TABLE AS n FOR EACH STATEMENT
	EXECUTE FUNCTION simhash_maintain_clusters('clusters=root_cluster', 'key=id', 'fingerprint=fp');
BEGIN;
CALL begun();
INSERT INTO part SELECT * FROM source WHERE id <= 2500;
SELECT looked_up('root'), (SELECT count(*) FROM root_cluster) AS entries;
COMMIT;
-- Keys that nothing tells apart: they are looked up.
CALL make(primary_key => '');
BEGIN;
CALL begun();
CALL load(1, 1500);
SELECT looked_up();
COMMIT;
CALL load(1, 10);
CALL load(1501, 3000);
SELECT count(*) AS otherwise FROM big_cluster AS b FULL JOIN small_cluster AS s ON b.key = s.key AND b.cluster_id = s.cluster_id
WHERE b.key IS NULL OR s.key IS NULL;
-- A table that others inherit from.
CALL make();
CREATE TABLE child () INHERITS (big);
BEGIN;
CALL begun();
CALL load(1, 1500);
SELECT looked_up();
COMMIT;
SELECT * FROM compared();

-- Another trigger deletes or changes new rows first.
CALL make();
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %s WHERE id %% 5 = 0', tg_relid::regclass);
	EXECUTE format('UPDATE %s SET fp = fp + 1 WHERE id %% 5 = 1', tg_relid::regclass);
	RETURN NULL;
END $$;
CREATE TRIGGER a AFTER INSERT ON big FOR EACH STATEMENT EXECUTE FUNCTION change();
CALL load(1, 1200);
SELECT wrong FROM compared();
DROP TRIGGER a ON big;
-- Rows whose own trigger is still to come.
CALL make();
DROP TRIGGER keep_update ON big;
DROP TRIGGER keep_delete ON big;
CREATE CONSTRAINT TRIGGER keep AFTER UPDATE OR DELETE ON big DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=big_cluster', 'key=id', 'fingerprint=fp');
CALL load(1, 500);
BEGIN;
CALL twice('UPDATE %s SET fp = fp # 5 WHERE id % 3 = 0');
CALL twice('DELETE FROM %s WHERE id % 3 = 1');
CALL load(501, 2000);
CALL twice('DELETE FROM %s WHERE id % 50 = 0');
COMMIT;
SELECT wrong FROM compared();

-- A foreign key, whose look-ups go by the transaction's snapshot.
CALL make();
ALTER TABLE big_cluster ADD FOREIGN KEY (key) REFERENCES big ON DELETE CASCADE;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CALL begun();
CALL load(1, 1500);
SELECT looked_up();
COMMIT;
SELECT * FROM compared();
-- A serializable transaction would lock all that it reads.
BEGIN ISOLATION LEVEL SERIALIZABLE;
CALL begun();
CALL load(1501, 3000);
SELECT looked_up();
COMMIT;
SELECT * FROM compared();

-- A file that is long for its rows is not read as a whole: here each dead row fills a page.
CALL make();
CALL twice('ALTER TABLE %s ADD pad text DEFAULT repeat(''x'', 5000)');
CALL twice('ALTER TABLE %s ALTER pad SET STORAGE PLAIN');
CALL load(4001, 7000);
CALL twice('DELETE FROM %s');
BEGIN;
CALL begun();
CALL load(1, 1200);
SELECT looked_up();
COMMIT;
SELECT * FROM compared();

-- A role needs no more rights than for few rows. One that does not see all rows joins those that it sees.
CALL make();
CREATE ROLE regress_kept_loads;
GRANT USAGE ON SCHEMA kept_loads TO regress_kept_loads;
GRANT SELECT ON source TO regress_kept_loads;
GRANT INSERT, SELECT (id, fp) ON big, small TO regress_kept_loads;
GRANT SELECT (key, cluster_id), INSERT (key, cluster_id), UPDATE (cluster_id) ON big_cluster, small_cluster TO regress_kept_loads;
BEGIN;
CALL begun();
SET ROLE regress_kept_loads;
CALL load(1, 1500);
RESET ROLE;
SELECT looked_up();
COMMIT;
SELECT * FROM compared();
ALTER TABLE big ENABLE ROW LEVEL SECURITY;
ALTER TABLE small ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON big USING (id % 3 > 0) WITH CHECK (true);
CREATE POLICY seen ON small USING (id % 3 > 0) WITH CHECK (true);
GRANT SELECT (tenant) ON big, small TO regress_kept_loads;
BEGIN;
CALL begun();
SET ROLE regress_kept_loads;
CALL load(1501, 3000);
RESET ROLE;
SELECT looked_up();
COMMIT;
SELECT otherwise, wrong > 0 AS hidden FROM compared();
REVOKE INSERT (key, cluster_id) ON big_cluster FROM regress_kept_loads;
SET ROLE regress_kept_loads;
INSERT INTO big SELECT id, tenant, fp FROM source WHERE id > 6000;
RESET ROLE;
DROP OWNED BY regress_kept_loads;
DROP ROLE regress_kept_loads;

DROP SCHEMA kept_loads CASCADE;
