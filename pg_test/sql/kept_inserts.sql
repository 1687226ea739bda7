-- simhash_catalog.maintain_clusters() as rows come: clusters that grow, that a row joins to one and that a row leaves, compared with those of
-- simhash_clusters; which other rows it locks and changes.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA kept_inserts;
SET search_path = kept_inserts, public;

CREATE FUNCTION turned(fp bigint, seed bigint, n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(bit_xor(1::bigint << (abs(hashint8extended(i, seed)) % 64)::int), 0) # fp FROM generate_series(1, n) i
$$;
CREATE TABLE many AS SELECT i AS id, turned(hashint8extended(i / 7, 1), i, i % 6) AS fp FROM generate_series(1, 2000) i;

-- Clusters kept current on insert, against clusters computed anew.
CREATE TABLE live (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON live USING simhash (fp);
CREATE TABLE live_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON live_cluster (cluster_id);
CREATE TRIGGER assign AFTER INSERT OR UPDATE OF fp OR DELETE ON live
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_inserts.live_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
CREATE FUNCTION drift() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM kept_inserts.live_cluster l
	FULL JOIN simhash_clusters('kept_inserts.live', 'id', 'fp', 3) c ON (l.key, l.cluster_id) = (c.key, c.cluster_id)
	WHERE l.key IS NULL OR c.key IS NULL
$$;
INSERT INTO live SELECT id, fp FROM many WHERE id % 7 IN (1, 5);
SELECT count(*) AS rows, drift() FROM live_cluster;
INSERT INTO live SELECT id, fp FROM many WHERE id % 7 IN (0, 2) ORDER BY hashint4(id);
INSERT INTO live SELECT 9000 + id, CASE WHEN id % 2 = 0 THEN fp END FROM many WHERE id % 100 = 0;
SELECT count(*) AS rows, drift() FROM live_cluster;
-- The bridge between two clusters.
INSERT INTO live VALUES (20001, x'7000000000000000'::bigint), (20002, x'7000000000000001'::bigint),
	(20004, x'700000000000003F'::bigint), (20003, x'700000000000001F'::bigint);
SELECT key, cluster_id FROM live_cluster WHERE key > 20000 ORDER BY key;
INSERT INTO live VALUES (20000, x'7000000000000007'::bigint);
SELECT key, cluster_id FROM live_cluster WHERE key >= 20000 ORDER BY key;
SELECT drift();
-- An UPDATE leaves and joins: row 1 has left another one behind, which is alone now. Its entry stays, and
-- simhash_clusters leaves such rows out.
UPDATE live SET fp = x'7000000000000000'::bigint WHERE id = 1;
SELECT key, cluster_id FROM live_cluster WHERE cluster_id = 1 AND key >= 20000 ORDER BY key;
SELECT drift();
ALTER TABLE live DISABLE TRIGGER assign;
DELETE FROM live WHERE id % 3 = 0;
TRUNCATE live_cluster;
INSERT INTO live_cluster SELECT key, cluster_id FROM simhash_clusters('live', 'id', 'fp', 3);
SELECT drift();

-- A row that joins a cluster locks and changes no other of it.
CREATE TABLE large (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON large USING simhash (fp);
CREATE TABLE large_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON large_cluster (cluster_id);
CREATE TRIGGER assign AFTER INSERT OR UPDATE ON large
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=kept_inserts.large_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO large SELECT i, 7 FROM generate_series(10, 200) i;
CREATE TABLE before AS SELECT ctid AS place, xmin::text AS made, xmax::text AS locked, * FROM large_cluster;
INSERT INTO large VALUES (300, 3);
SELECT count(*) AS touched FROM (TABLE before EXCEPT SELECT ctid, xmin::text, xmax::text, * FROM large_cluster) x;
SELECT * FROM large_cluster WHERE key NOT IN (SELECT key FROM before);
-- Its smallest key changes: every row does.
INSERT INTO large VALUES (1, 5);
SELECT count(*), min(cluster_id), max(cluster_id) FROM large_cluster;

SET client_min_messages = warning;
DROP SCHEMA kept_inserts CASCADE;
