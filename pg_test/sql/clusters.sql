-- simhash_clusters and simhash_cluster: methods, checks by text, a materialized view that is refreshed,
-- clusters kept current by a trigger.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA clusters_test;
SET search_path = clusters_test, public;

-- A chain 1 - 2 - 3 - 4 - 5 of steps of 2 bits; 6 equal to 7; 8 alone; 9 without a fingerprint.
CREATE TABLE t (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO t VALUES
	(1, x'0'::bigint, 'the street lamp in front of number twelve has been dark for weeks'),
	(2, x'3'::bigint, 'the street lamp in front of number twelve has been dark for weeks!'),
	(3, x'F'::bigint, 'The street lamp in front of number twelve has been dark for weeks'),
	(4, x'3F'::bigint, 'bus seven no longer stops at the market since the first of march'),
	(5, x'FF'::bigint, 'Bus seven no longer stops at the market since the first of March'),
	(6, x'7FFFFFFF0000000'::bigint, 'a hole in the road'), (7, x'7FFFFFFF0000000'::bigint, NULL),
	(8, x'555500000000000'::bigint, 'alone'), (9, NULL, 'a hole in the road');
SELECT * FROM simhash_clusters('t', 'id', 'fp', 2);
SELECT cluster_id, key, size, representative, distance FROM simhash_clusters('t', 'id', 'fp', 2, 'star');
SELECT cluster_id, key, size, representative, distance FROM simhash_clusters('t', 'id', 'fp', 2, 'leader');
SELECT cluster_id, key, size, representative, distance FROM simhash_clusters('t', 'id', 'fp', 2, method => 'single_pass');
SELECT cluster_id, key, size, representative, distance FROM simhash_clusters('t', 'id', 'fp', 1, 'star');
-- With a text column: star, and only pairs whose texts agree.
SELECT cluster_id, key, size, representative, distance, round(jaccard::numeric, 3) AS jaccard
FROM simhash_clusters('t', 'id', 'fp', 4, text_column => 'body');
SELECT cluster_id, key, size, representative, distance, round(jaccard::numeric, 3) AS jaccard
FROM simhash_clusters('t', 'id', 'fp', 4, 'components', 'body', 0.0);
-- Keys by reference.
CREATE VIEW named AS SELECT 'row ' || id AS name, fp, body FROM t;
SELECT cluster_id, key, size, representative, distance FROM simhash_clusters('named', 'name', 'fp', NULL::text, 2);
SELECT cluster_id, key, representative, round(jaccard::numeric, 3) AS jaccard FROM simhash_clusters('named', 'name', 'fp', NULL::text, 4, text_column => 'body');

-- The window function: a number a row, by order of appearance.
SELECT id, simhash_cluster(fp, 2) OVER (ORDER BY id) AS up, simhash_cluster(fp, 2) OVER (ORDER BY id DESC) AS down,
	simhash_cluster(fp) OVER (PARTITION BY id % 2 ORDER BY id) AS halves, simhash_cluster(fp, 0) OVER (ORDER BY id) AS equal
FROM t ORDER BY id;
SELECT simhash_cluster(fp, 2) OVER () FROM t WHERE false;
SELECT simhash_cluster(fp, id) OVER (ORDER BY id) FROM t;
SELECT simhash_cluster(fp, NULL) OVER () FROM t;
SELECT simhash_cluster(fp, 70) OVER () FROM t;
SELECT simhash_cluster(1::bigint, 2);

-- Many rows: components against the recursive query, star and leader against what they promise.
CREATE FUNCTION turned(fp bigint, seed bigint, n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(bit_xor(1::bigint << (abs(hashint8extended(i, seed)) % 64)::int), 0) # fp FROM generate_series(1, n) i
$$;
CREATE TABLE many (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO many SELECT i, turned(hashint8extended(i / 7, 1), i, i % 6), (SELECT string_agg(w, ' ') FROM (
	SELECT md5((i / 7 * 100 + CASE WHEN abs(hashint8extended(i * 31 + j, 5)) % 40 < i % 7 THEN i * 1000 ELSE 0 END + j)::text) AS w FROM generate_series(1, 12) j) x)
FROM generate_series(1, 2000) i;
CREATE TEMP VIEW walk AS
WITH RECURSIVE pair AS MATERIALIZED (
	SELECT a.id AS a, b.id AS b FROM many a, many b WHERE bit_count((a.fp # b.fp)::bit(64)) <= 3
), walk (id, seen) AS (SELECT id, id FROM many UNION SELECT walk.id, pair.b FROM walk JOIN pair ON pair.a = walk.seen)
SELECT id, min(seen) AS cluster_id, count(*) AS size FROM walk GROUP BY id;
CREATE TABLE components AS SELECT * FROM simhash_clusters('many', 'id', 'fp', 3, 'components');
SELECT count(*) AS rows, count(DISTINCT cluster_id) AS clusters FROM components;
SELECT count(*) AS faults FROM (SELECT id, cluster_id, size FROM walk WHERE size > 1) w
FULL JOIN components c ON c.key = w.id AND c.cluster_id = w.cluster_id AND c.size = w.size WHERE c.key IS NULL OR w.id IS NULL;
SELECT count(*) AS faults FROM (SELECT id, simhash_cluster(fp, 3) OVER (ORDER BY id) AS number FROM many) w
JOIN walk USING (id) JOIN (SELECT id, simhash_cluster(fp, 3) OVER (ORDER BY id) AS number FROM many) first ON first.id = walk.cluster_id
WHERE w.number <> first.number;
SELECT max(number) + 1 = (SELECT count(DISTINCT cluster_id) FROM walk) AS numbers
FROM (SELECT simhash_cluster(fp, 3) OVER (ORDER BY id) AS number FROM many) w;
SET work_mem = '64kB';
SELECT count(*) AS faults FROM (SELECT * FROM simhash_clusters('many', 'id', 'fp', 3, 'components') EXCEPT SELECT * FROM components) x;
SELECT * FROM simhash_clusters('many', 'id', 'fp', 30, 'star');
RESET work_mem;
-- Every member is near its representative, whose number of members is right.
SELECT method, count(*) > 0 AS some, count(*) FILTER (WHERE c.distance <> (m.fp <~> r.fp) OR c.distance > 3) AS far,
	count(*) FILTER (WHERE size < 2 OR size <> members) AS sizes, count(*) FILTER (WHERE cluster_id <> smallest) AS ids
FROM unnest('{star,leader}'::text[]) method, LATERAL (
	SELECT *, count(*) OVER w AS members, min(key) OVER w AS smallest FROM simhash_clusters('many', 'id', 'fp', 3, method)
	WINDOW w AS (PARTITION BY representative)) c
JOIN many m ON m.id = c.key JOIN many r ON r.id = c.representative GROUP BY method ORDER BY method;
-- Jaccard is what simhash_jaccard says, also over several batches of texts.
SELECT count(*) > 500 AS many, count(*) FILTER (WHERE jaccard IS DISTINCT FROM simhash_jaccard(m.body, r.body)) AS wrong,
	count(*) FILTER (WHERE jaccard < 0.6) AS unlike
FROM simhash_clusters('many', 'id', 'fp', 8, text_column => 'body', min_jaccard => 0.6) c
JOIN many m ON m.id = c.key JOIN many r ON r.id = c.representative;
-- Components of verified pairs: the same as from pairs that SQL verifies.
WITH RECURSIVE pair AS MATERIALIZED (
	SELECT a, b FROM simhash_pairs('many', 'id', 'fp', 8) p JOIN many x ON x.id = a JOIN many y ON y.id = b
	WHERE simhash_jaccard(x.body, y.body) >= 0.6
), both_ways AS (SELECT a, b FROM pair UNION ALL SELECT b, a FROM pair),
walk (id, seen) AS (SELECT id::bigint, id::bigint FROM many UNION SELECT id, b FROM walk JOIN both_ways ON a = seen)
SELECT count(*) AS faults FROM (SELECT id, min(seen) AS cluster_id, count(*) AS size FROM walk GROUP BY id HAVING count(*) > 1) w
FULL JOIN simhash_clusters('many', 'id', 'fp', 8, 'components', 'body', 0.6) c
	ON c.key = w.id AND c.cluster_id = w.cluster_id AND c.size = w.size WHERE c.key IS NULL OR w.id IS NULL;

-- A materialized view of clusters, refreshed while others read it.
CREATE MATERIALIZED VIEW dup AS SELECT * FROM simhash_clusters('t', 'id', 'fp', 2);
CREATE UNIQUE INDEX ON dup (key);
SELECT cluster_id, array_agg(key ORDER BY key) AS keys FROM dup GROUP BY 1 ORDER BY 1;
-- Clusters grow, split, come and go.
DELETE FROM t WHERE id = 3;
UPDATE t SET fp = NULL WHERE id = 7;
INSERT INTO t VALUES (10, x'555500000000001'::bigint, 'alone no more');
REFRESH MATERIALIZED VIEW CONCURRENTLY dup;
SELECT cluster_id, array_agg(key ORDER BY key) AS keys FROM dup GROUP BY 1 ORDER BY 1;
INSERT INTO t VALUES (0, x'C'::bigint, 'a bridge'), (3, x'F'::bigint, 'back');
REFRESH MATERIALIZED VIEW CONCURRENTLY dup;
SELECT cluster_id, array_agg(key ORDER BY key) AS keys FROM dup GROUP BY 1 ORDER BY 1;

-- Clusters kept current on insert, against clusters computed anew.
CREATE TABLE live (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON live USING simhash (fp);
CREATE TABLE live_cluster (key int PRIMARY KEY REFERENCES live (id) ON DELETE CASCADE, cluster_id int NOT NULL);
CREATE INDEX ON live_cluster (cluster_id);
CREATE TRIGGER assign AFTER INSERT OR UPDATE OF fp ON live
FOR EACH ROW EXECUTE FUNCTION simhash_assign_cluster('clusters=clusters_test.live_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
CREATE FUNCTION drift() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM clusters_test.live_cluster l
	FULL JOIN simhash_clusters('clusters_test.live', 'id', 'fp', 3) c ON (l.key, l.cluster_id) = (c.key, c.cluster_id)
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
-- An UPDATE joins; a DELETE leaves; neither divides, that is for the next
-- computation: row 1 has left others behind, of which one is alone now.
UPDATE live SET fp = x'7000000000000000'::bigint WHERE id = 1;
SELECT key, cluster_id FROM live_cluster WHERE cluster_id = 1 AND key >= 20000 ORDER BY key;
SELECT drift();
ALTER TABLE live DISABLE TRIGGER assign;
DELETE FROM live WHERE id % 3 = 0;
TRUNCATE live_cluster;
INSERT INTO live_cluster SELECT key, cluster_id FROM simhash_clusters('live', 'id', 'fp', 3);
SELECT drift();

-- What is wrong is said.
SELECT * FROM simhash_clusters('t', 'id', 'fp', 3, 'kmeans');
SELECT * FROM simhash_clusters('t', 'id', 'fp', 99);
SELECT * FROM simhash_clusters('t', 'id', 'fp', text_column => 'nope');
SELECT * FROM simhash_clusters('t', 'id', 'fp', text_column => 'fp');
SELECT * FROM simhash_clusters('t', 'id', 'fp', text_column => 'body', min_jaccard => 1.5);
SELECT * FROM simhash_clusters('t', 'id', 'fp', text_column => 'body', min_jaccard => NULL);
SELECT * FROM simhash_clusters('t', 'id', 'body');
CREATE TRIGGER wrong BEFORE INSERT ON many FOR EACH ROW EXECUTE FUNCTION simhash_assign_cluster('clusters=clusters_test.live_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
INSERT INTO many VALUES (-1, 1);
DROP TRIGGER wrong ON many;
CREATE TRIGGER wrong AFTER INSERT ON many FOR EACH ROW EXECUTE FUNCTION simhash_assign_cluster('clusters=clusters_test.live_cluster', 'key=id');
INSERT INTO many VALUES (-1, 1);
DROP TRIGGER wrong ON many;
CREATE TRIGGER wrong AFTER INSERT ON many FOR EACH ROW EXECUTE FUNCTION simhash_assign_cluster('clusters=nowhere', 'key=id', 'fingerprint=fp');
INSERT INTO many VALUES (-1, 1);
DROP TRIGGER wrong ON many;
CREATE TRIGGER wrong AFTER INSERT ON many FOR EACH ROW EXECUTE FUNCTION simhash_assign_cluster('clusters=clusters_test.live_cluster', 'key=id', 'fingerprint=nope', 'radius=x');
INSERT INTO many VALUES (-1, 1);
DROP TRIGGER wrong ON many;

SET client_min_messages = warning;
DROP SCHEMA clusters_test CASCADE;
