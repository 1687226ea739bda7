-- simhash_clusters: methods, checks by text, a materialized view that is refreshed, clusters kept current by a trigger.
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
SELECT cluster_id, key, size, representative, distance FROM simhash_clusters('t', 'id', 'fp', 1, 'star');
-- With a text column: star, and only pairs whose texts agree.
SELECT cluster_id, key, size, representative, distance, round(jaccard::numeric, 3) AS jaccard
FROM simhash_clusters('t', 'id', 'fp', 4, text => 'body');
SELECT cluster_id, key, size, representative, distance, round(jaccard::numeric, 3) AS jaccard
FROM simhash_clusters('t', 'id', 'fp', 4, 'components', 'body', 0.0);
-- Keys by reference.
CREATE VIEW named AS SELECT 'row ' || id AS name, fp, body FROM t;
SELECT cluster_id, key, size, representative, distance FROM simhash_clusters_keyed(NULL::text, 'named', 'name', 'fp', 2);
SELECT cluster_id, key, representative, round(jaccard::numeric, 3) AS jaccard FROM simhash_clusters_keyed(NULL::text, 'named', 'name', 'fp', 4, text => 'body');
-- A row without a text between two that are alike, wherever its key stands.
CREATE TABLE gaps (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO gaps VALUES (18, 229, 'road bus'), (19, 177, 'road bus'), (36, 132, NULL);
SELECT key, cluster_id FROM simhash_clusters('gaps', 'id', 'fp', 3, text => 'body', min_jaccard => 0.4);
UPDATE gaps SET id = 1 WHERE id = 36;
SELECT key, cluster_id FROM simhash_clusters('gaps', 'id', 'fp', 3, text => 'body', min_jaccard => 0.4);

-- Many rows: components against the recursive query, star and leader against what they promise.
CREATE FUNCTION turned(fp bigint, seed bigint, n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(bit_xor(1::bigint << (abs(hashint8extended(i, seed)) % 64)::int), 0) # fp FROM generate_series(1, n) i
$$;
CREATE TABLE many (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO many SELECT i, turned(hashint8extended(i / 7, 1), i, i % 6), (SELECT string_agg(w, ' ') FROM (
	SELECT md5((i / 7 * 100 + CASE WHEN abs(hashint8extended(i * 31 + j, 5)) % 40 < i % 7 THEN i * 1000 ELSE 0 END + j)::text) AS w FROM generate_series(1, 12) j) x)
FROM generate_series(1, 2000) i;
-- Without statistics PostgreSQL 19 plans a hash table of 64 GB for the recursive query.
ANALYZE many;
CREATE TEMP VIEW walk AS
WITH RECURSIVE pair AS MATERIALIZED (
	SELECT a.id AS a, b.id AS b FROM many a, many b WHERE bit_count((a.fp # b.fp)::bit(64)) <= 3
), walk (id, seen) AS (SELECT id, id FROM many UNION SELECT walk.id, pair.b FROM walk JOIN pair ON pair.a = walk.seen)
SELECT id, min(seen) AS cluster_id, count(*) AS size FROM walk GROUP BY id;
CREATE TABLE components AS SELECT * FROM simhash_clusters('many', 'id', 'fp', 3, 'components');
SELECT count(*) AS rows, count(DISTINCT cluster_id) AS clusters FROM components;
SELECT count(*) AS faults FROM (SELECT id, cluster_id, size FROM walk WHERE size > 1) w
FULL JOIN components c ON c.key = w.id AND c.cluster_id = w.cluster_id AND c.size = w.size WHERE c.key IS NULL OR w.id IS NULL;
SET work_mem = '64kB';
SELECT count(*) AS faults FROM (SELECT * FROM simhash_clusters('many', 'id', 'fp', 3, 'components') EXCEPT SELECT * FROM components) x;
RESET work_mem;
-- More pairs than memory holds.
CREATE TEMP VIEW grouped AS SELECT method, text, c.* FROM (VALUES ('components', NULL), ('star', NULL), ('leader', NULL),
	('components', 'body'), ('star', 'body'), ('leader', 'body')) m (method, text),
	simhash_clusters('many', 'id', 'fp', 21, method, text, 0.3) c;
CREATE TEMP TABLE in_memory AS SELECT * FROM grouped;
SET work_mem = '64kB';
CREATE TEMP TABLE in_files AS SELECT * FROM grouped;
RESET work_mem;
SELECT method, text, count(*) AS rows, count(DISTINCT cluster_id) > 1 AS clusters, (SELECT count(*) FROM (
	(SELECT * FROM in_memory EXCEPT SELECT * FROM in_files) UNION ALL (SELECT * FROM in_files EXCEPT SELECT * FROM in_memory)) x
	WHERE x.method = m.method AND x.text IS NOT DISTINCT FROM m.text) AS faults
FROM in_memory m GROUP BY 1, 2 ORDER BY 2 NULLS FIRST, 1;
-- Equal rows are one row with a count: thousands of them fit where a few hundred pairs do.
CREATE TABLE equals (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO equals SELECT i, CASE WHEN i <= 5000 THEN 42 ELSE hashint8extended(i / 2, 1) END,
	CASE i % 50 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'a hole in the road' ELSE 'the street lamp is dark' || left('!!', i % 3) END
FROM generate_series(1, 6000) i;
SET work_mem = '64kB';
SELECT method, text, count(*), count(DISTINCT cluster_id) AS clusters, max(size), count(*) FILTER (WHERE distance > 0) AS far, min(jaccard) AS jaccard
FROM (VALUES ('components', NULL), ('star', NULL), ('leader', NULL), ('components', 'body'), ('star', 'body'), ('leader', 'body')) m (method, text),
	simhash_clusters('equals', 'id', 'fp', 3, method, text) GROUP BY 1, 2 ORDER BY 2 NULLS FIRST, 1;
RESET work_mem;
-- Texts of one fingerprint that all differ are compared with each other.
INSERT INTO equals SELECT 10000 + i, 43, md5(i::text) FROM generate_series(1, 100) i;
SET work_mem = '64kB';
SELECT count(*) FROM simhash_clusters('equals', 'id', 'fp', 0, 'star', 'body') WHERE key > 10000;
RESET work_mem;
SELECT count(*) FROM simhash_clusters('equals', 'id', 'fp', 0, 'star', 'body') WHERE key > 10000;
-- Stars of few different rows against the pairs of single rows.
CREATE TABLE few AS SELECT i AS id, (hashint8extended(i, 1) & 7) | (hashint8extended(i, 2) & 1) << 40 AS fp,
	(ARRAY['the street lamp is dark', 'The street lamp is dark!', 'the street lamp is dark now', 'a hole in the road', '', NULL])[1 + (hashint8extended(i, 3) & 7) % 6] AS body
FROM generate_series(1, 200) i;
CREATE FUNCTION faults_of_stars(lowest float8) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	centre record;
BEGIN
	CREATE TEMP TABLE near_rows AS SELECT a.id AS a, b.id AS b FROM few a, few b
		WHERE a.id <> b.id AND bit_count((a.fp # b.fp)::bit(64)) <= 1 AND simhash_jaccard(a.body, b.body) >= lowest;
	CREATE TEMP TABLE star AS SELECT DISTINCT a AS key, NULL::int AS representative FROM near_rows;
	FOR centre IN SELECT a AS id FROM near_rows GROUP BY a ORDER BY count(*) DESC, a LOOP
		CONTINUE WHEN (SELECT representative FROM star WHERE key = centre.id) IS NOT NULL;
		UPDATE star SET representative = centre.id
		WHERE representative IS NULL AND (key = centre.id OR key IN (SELECT b FROM near_rows WHERE a = centre.id));
	END LOOP;
	RETURN (SELECT count(*) FROM (SELECT key, representative FROM star WHERE representative IN (SELECT representative FROM star GROUP BY 1 HAVING count(*) > 1)) s
		FULL JOIN (SELECT key, representative, jaccard FROM simhash_clusters('few', 'id', 'fp', 1, 'star', 'body', lowest)) c USING (key, representative)
		WHERE s.key IS NULL OR c.key IS NULL
			OR jaccard IS DISTINCT FROM simhash_jaccard((SELECT body FROM few WHERE id = key), (SELECT body FROM few WHERE id = representative)));
END $$;
SELECT faults_of_stars(0.0) AS faults;
DROP TABLE near_rows, star;
SELECT faults_of_stars(0.5) AS faults;
DROP TABLE near_rows, star;
SELECT faults_of_stars(1.0) AS faults;
DROP TABLE near_rows, star;
-- Many different texts of one fingerprint and of those that are near it, as English and as Chinese, some of which have the same
-- n-grams: against the similarities of all pairs.
CREATE TABLE crowd AS SELECT n AS id,
	CASE WHEN n <= 220 THEN 42 WHEN n <= 320 THEN 43 WHEN n <= 350 THEN 46 WHEN n <= 420 THEN 4096 ELSE 4097 END::bigint AS fp, CASE
		WHEN n % 17 = 0 THEN (ARRAY[NULL, '', 'a', repeat('ab', 5 + n % 4), repeat('ab', 9 + n % 4)])[1 + n % 5]
		WHEN n % 2 = 0 THEN (SELECT string_agg(left(md5((n % 30 * 100 + j + CASE WHEN turn % 100 < n / 18 THEN turn % 9000 * 1000 ELSE 0 END)::text), 2 + j % 7), ' ' ORDER BY j)
			FROM generate_series(1, 30) j, abs(hashint4(n * 64 + j)) turn)
		ELSE (SELECT string_agg(chr(19968 + (n % 30 * 641 + j * 77 + CASE WHEN turn % 400 < n / 18 THEN turn % 9000 ELSE 0 END) % 9000), '' ORDER BY j)
			FROM generate_series(1, 60) j, abs(hashint4(n * 64 + j)) turn)
	END AS body
FROM generate_series(1, 422) n;
CREATE TABLE crowd_pairs AS SELECT a.id AS a, b.id AS b, simhash_jaccard(a.body, b.body) AS jaccard
FROM crowd a JOIN crowd b ON a.id <> b.id AND bit_count((a.fp # b.fp)::bit(64)) <= 1;
CREATE INDEX ON crowd_pairs (a, jaccard);
SELECT lowest, count(*) FILTER (WHERE jaccard >= lowest) > 200 AS some, lowest = 0 OR count(*) FILTER (WHERE jaccard BETWEEN lowest - 0.3 AND lowest) > 200 AS others
FROM crowd_pairs, unnest('{0.0, 0.3, 0.8, 1.0}'::float8[]) lowest GROUP BY 1 ORDER BY 1;
CREATE FUNCTION crowd_faults(lowest float8, method text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	centre int;
BEGIN
	DROP TABLE IF EXISTS wanted;
	CREATE TEMP TABLE wanted AS SELECT a AS key, CASE method WHEN 'components' THEN a END AS representative FROM crowd_pairs WHERE jaccard >= lowest GROUP BY a;
	IF method = 'star' THEN
		FOR centre IN SELECT a FROM crowd_pairs WHERE jaccard >= lowest GROUP BY a ORDER BY count(*) DESC, a LOOP
			CONTINUE WHEN (SELECT representative FROM wanted WHERE key = centre) IS NOT NULL;
			UPDATE wanted SET representative = centre
			WHERE representative IS NULL AND (key = centre OR key IN (SELECT b FROM crowd_pairs WHERE a = centre AND jaccard >= lowest));
		END LOOP;
	ELSE
		LOOP
			UPDATE wanted SET representative = smallest FROM (SELECT a, min(representative) AS smallest FROM crowd_pairs JOIN wanted ON key = b WHERE jaccard >= lowest GROUP BY a) x
			WHERE key = a AND smallest < representative;
			EXIT WHEN NOT FOUND;
		END LOOP;
	END IF;
	RETURN (SELECT count(*) FROM (SELECT key, representative FROM wanted WHERE representative IN (SELECT representative FROM wanted GROUP BY 1 HAVING count(*) > 1)) w
		FULL JOIN simhash_clusters('crowd', 'id', 'fp', 1, method, 'body', lowest) c USING (key, representative)
		WHERE w.key IS NULL OR c.key IS NULL
			OR jaccard IS DISTINCT FROM simhash_jaccard((SELECT body FROM crowd WHERE id = key), (SELECT body FROM crowd WHERE id = representative)));
END $$;
SELECT method, lowest, crowd_faults(lowest, method) AS faults FROM unnest('{star, components}'::text[]) method, unnest('{0.0, 0.3, 0.8, 1.0}'::float8[]) lowest ORDER BY 1, 2;
SET work_mem = '64kB';
SELECT method, lowest, crowd_faults(lowest, method) AS faults FROM unnest('{star, components}'::text[]) method, unnest('{0.3, 0.8, 1.0}'::float8[]) lowest ORDER BY 1, 2;
RESET work_mem;
-- Not all pairs of very many are compared: 20,000 different texts, and 5,000 of which each is like the next, take far less than this.
CREATE TABLE throng (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO throng SELECT i, 42, md5(i::text) || md5((i + 1)::text) FROM generate_series(1, 20000) i;
SET statement_timeout = '60s';
SELECT count(*) FROM simhash_clusters('throng', 'id', 'fp', 0, 'star', 'body', 0.5);
UPDATE throng SET body = repeat(md5('') || md5('a'), 10) || md5(id::text) WHERE id <= 5000;
SELECT count(*), min(representative), max(size) FROM simhash_clusters('throng', 'id', 'fp', 0, 'components', 'body', 0.5);
RESET statement_timeout;
-- One long text does not make a query for each row of the others: queries are counted by a sequence.
CREATE SEQUENCE queries;
CREATE TABLE mixed_lengths AS SELECT i AS id, hashint8extended(i / 4, 1) AS fp, md5((i / 4)::text) AS body FROM generate_series(1, 20000) i;
CREATE INDEX ON mixed_lengths (id);
INSERT INTO mixed_lengths SELECT -i, 77, (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 10000) g) FROM generate_series(1, 2) i;
CREATE VIEW counted AS WITH q AS MATERIALIZED (SELECT nextval('queries') AS n) SELECT id, fp, body FROM mixed_lengths, q WHERE n > 0;
SELECT count(*), count(*) FILTER (WHERE jaccard = 1) AS equal FROM simhash_clusters('counted', 'id', 'fp', 0, text => 'body');
SELECT last_value < 10000 AS few_queries FROM queries;
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
FROM simhash_clusters('many', 'id', 'fp', 8, text => 'body', min_jaccard => 0.6) c
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

-- In little memory texts are read in smaller chunks: nothing else changes.
CREATE TEMP TABLE verified AS SELECT * FROM simhash_clusters('many', 'id', 'fp', 3, text => 'body', min_jaccard => 0.6);
SET work_mem = '128kB';
SELECT count(*) > 500 AS many, (SELECT count(*) FROM (TABLE verified EXCEPT
	SELECT * FROM simhash_clusters('many', 'id', 'fp', 3, text => 'body', min_jaccard => 0.6)) x) AS wrong FROM verified;
RESET work_mem;
-- Keys of all sorts, by value and by reference: the same clusters as of rows that are numbered in the order of
-- these keys, by a method for which the order matters.
CREATE TYPE pair AS (half int, name text);
CREATE DOMAIN number AS int CHECK (value > 0);
CREATE TABLE keys AS SELECT id, fp, body, ROW(id % 3, id)::pair AS pair, id::number AS number, md5(id::text)::uuid AS uuid, id * 1.5 AS fraction,
	('x' || id) COLLATE "C" AS name, date '2020-01-01' + id AS day, ARRAY[id % 5, id] AS list, int4range(id % 9, id + 9) AS range FROM many WHERE id <= 700;
CREATE FUNCTION unlike(key text, type text, texts text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	faults bigint;
BEGIN
	EXECUTE format('CREATE TABLE clusters_test.ordered AS SELECT *, row_number() OVER (ORDER BY %I) AS place FROM clusters_test.keys', key);
	EXECUTE format('WITH found AS (SELECT k.id, r.id AS representative, size, distance, jaccard
			FROM simhash_clusters_keyed(NULL::%2$s, ''clusters_test.keys'', %1$L, ''fp'', 4, ''leader'', %3$s) c
			JOIN clusters_test.keys k ON k.%1$I = c.key JOIN clusters_test.keys r ON r.%1$I = c.representative),
		wanted AS (SELECT k.id, r.id, size, distance, jaccard
			FROM simhash_clusters(''clusters_test.ordered'', ''place'', ''fp'', 4, ''leader'', %3$s) c
			JOIN clusters_test.ordered k ON k.place = c.key JOIN clusters_test.ordered r ON r.place = c.representative)
		SELECT count(*) FROM ((TABLE found EXCEPT ALL TABLE wanted) UNION ALL (TABLE wanted EXCEPT ALL TABLE found)) x', key, type, texts) INTO faults;
	DROP TABLE clusters_test.ordered;
	RETURN faults;
END $$;
SELECT key, unlike(key, type, 'NULL') AS unlike, CASE WHEN key <> 'list' THEN unlike(key, type, $$'body', 0.5$$) END AS with_texts
FROM (VALUES ('pair', 'clusters_test.pair'), ('number', 'clusters_test.number'), ('uuid', 'uuid'), ('fraction', 'numeric'), ('name', 'text'),
	('day', 'date'), ('list', 'int[]'), ('range', 'int4range')) k (key, type);
-- Keys that are not unique are refused, where rows have near-duplicates.
CREATE TABLE twice (id int, fp bigint, body text);
INSERT INTO twice VALUES (1, 0, 'a hole in the road'), (2, 1, 'a hole in the road'), (1, NULL, 'old'),
	(3, x'7000000000000000'::bigint, 'far away'), (3, NULL, 'old');
SELECT * FROM simhash_clusters('twice', 'id', 'fp', 1, text => 'body');
INSERT INTO twice VALUES (2, x'7F00FF0000000000'::bigint, 'another hole');
SELECT * FROM simhash_clusters('twice', 'id', 'fp', 1);
CREATE VIEW twice_named AS SELECT id::text AS name, fp, body FROM twice;
SELECT cluster_id, key, size FROM simhash_clusters_keyed(NULL::text, 'twice_named', 'name', 'fp', 1);
SELECT cluster_id, key, size FROM simhash_clusters_keyed(NULL::text, 'twice_named', 'name', 'fp', 1, text => 'body');
INSERT INTO twice VALUES (2, x'7F00FF0000000000'::bigint, 'another hole');
SELECT cluster_id, key, size FROM simhash_clusters_keyed(NULL::text, 'twice_named', 'name', 'fp', 1);
SELECT key, size FROM simhash_clusters_keyed(NULL::int[], 'keys', 'list', 'fp', 1, text => 'body');

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
CREATE TABLE live_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON live_cluster (cluster_id);
CREATE TRIGGER assign AFTER INSERT OR UPDATE OF fp OR DELETE ON live
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.live_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
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
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.large_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO large SELECT i, 7 FROM generate_series(10, 200) i;
CREATE TABLE before AS SELECT ctid AS place, xmin::text AS made, xmax::text AS locked, * FROM large_cluster;
INSERT INTO large VALUES (300, 3);
SELECT count(*) AS touched FROM (TABLE before EXCEPT SELECT ctid, xmin::text, xmax::text, * FROM large_cluster) x;
SELECT * FROM large_cluster WHERE key NOT IN (SELECT key FROM before);
-- Its smallest key changes: every row does.
INSERT INTO large VALUES (1, 5);
SELECT count(*), min(cluster_id), max(cluster_id) FROM large_cluster;

-- A deferred trigger sees the last state of the row in the transaction. So does a trigger that fires after one
-- that deletes the row.
CREATE TABLE late (id int PRIMARY KEY, fp bigint);
CREATE TABLE late_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE CONSTRAINT TRIGGER assign AFTER INSERT OR UPDATE ON late DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.late_cluster', 'key=id', 'fingerprint=fp');
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
	DELETE FROM clusters_test.late WHERE id = NEW.id;
	RETURN NULL;
END $$;
DROP TRIGGER assign ON late;
CREATE TRIGGER assign AFTER INSERT OR UPDATE ON late
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.late_cluster', 'key=id', 'fingerprint=fp');
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
	UPDATE clusters_test.late SET note = 'seen' WHERE id = NEW.id;
	RETURN NULL;
END $$;
CREATE TRIGGER a_note AFTER INSERT ON late FOR EACH ROW EXECUTE FUNCTION note_it();
CREATE TRIGGER assign AFTER INSERT OR UPDATE OF fp ON late
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.late_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO late VALUES (1, 1), (2, 1);
DROP TRIGGER assign ON late;
CREATE CONSTRAINT TRIGGER assign AFTER INSERT OR UPDATE OF fp ON late DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.late_cluster', 'key=id', 'fingerprint=fp');
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
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=kept_cluster', 'key=id', 'fingerprint=fp');
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
		INSERT INTO clusters_test.kept VALUES (13, 100000);
		SET CONSTRAINTS ALL IMMEDIATE;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		INSERT INTO clusters_test.kept VALUES (14, 100000);
	END;
	SET CONSTRAINTS ALL IMMEDIATE;
	SET CONSTRAINTS ALL DEFERRED;
	INSERT INTO clusters_test.kept VALUES (15, 100000);
END $$;
COMMIT;
SELECT * FROM kept_cluster WHERE cluster_id = 3 ORDER BY key;
-- Triggers of the table of clusters fire, those with transition tables too.
CREATE TABLE seen (what text, key int);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_LEVEL = 'ROW' THEN
		INSERT INTO clusters_test.seen VALUES ('row', NEW.key);
	ELSE
		INSERT INTO clusters_test.seen SELECT 'statement', key FROM new;
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
	INSERT INTO clusters_test.seen SELECT name || ' = ' || setting FROM pg_settings WHERE name IN ('enable_seqscan', 'jit');
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
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=kept_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO kept VALUES (22, x'7000000000000000'::bigint), (23, x'7000000000000000'::bigint);
SELECT * FROM seen ORDER BY what, key;
SELECT * FROM kept_cluster WHERE key >= 20 ORDER BY key;
DELETE FROM kept WHERE id < 20;
SELECT count(*) FROM kept_cluster;

-- The name of the table of clusters is not looked up in a search_path: without a schema it means the schema of the
-- trigger's table.
CREATE SCHEMA clusters_trap;
CREATE TABLE clusters_trap.kept_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
SET search_path = clusters_trap, clusters_test, public;
INSERT INTO kept VALUES (24, x'7000000000000000'::bigint);
DISCARD PLANS;
SET search_path = clusters_trap;
INSERT INTO clusters_test.kept VALUES (25, x'7000000000000000'::bigint);
SET search_path = clusters_test, public;
SELECT count(*), (SELECT count(*) FROM clusters_trap.kept_cluster) AS trapped FROM kept_cluster;
CREATE TEMP TABLE kept_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TEMP TABLE kept (id int PRIMARY KEY, fp bigint);
CREATE TRIGGER assign AFTER INSERT ON pg_temp.kept
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=kept_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO clusters_test.kept VALUES (26, x'7000000000000000'::bigint);
SET client_min_messages = error;
INSERT INTO pg_temp.kept VALUES (1, 1), (2, 1);
SET client_min_messages = warning;
SELECT * FROM pg_temp.kept_cluster ORDER BY key;
DROP TABLE pg_temp.kept, pg_temp.kept_cluster;
-- When the trigger's table moves to another schema, the table of clusters is looked up there.
ALTER TABLE kept SET SCHEMA clusters_trap;
INSERT INTO clusters_trap.kept VALUES (27, x'7000000000000000'::bigint);
SELECT count(*), (SELECT count(*) FROM clusters_trap.kept_cluster) AS beside FROM kept_cluster;
ALTER SCHEMA clusters_trap RENAME TO "clusters trap";
DROP TABLE "clusters trap".kept_cluster;
INSERT INTO "clusters trap".kept VALUES (28, x'7000000000000000'::bigint);
CREATE TABLE "clusters trap".kept_cluster (key bigint, cluster_id numeric);
CREATE UNIQUE INDEX ON "clusters trap".kept_cluster (key) INCLUDE (cluster_id);
INSERT INTO "clusters trap".kept VALUES (28, x'7000000000000000'::bigint);
SELECT count(*) FROM "clusters trap".kept_cluster;
DROP SCHEMA "clusters trap" CASCADE;

-- Columns in collations of their own; a partition with its columns in another order; other names meanwhile.
CREATE TABLE worded (id text COLLATE "POSIX" PRIMARY KEY, fp bigint);
CREATE TABLE worded_cluster (key text COLLATE "C" PRIMARY KEY, cluster_id text NOT NULL);
CREATE TRIGGER assign AFTER INSERT ON worded
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.worded_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO worded VALUES ('b', 1), ('B', 1), ('c', -1), ('a', 1), ('C', -1);
SELECT count(*) AS rows, (SELECT count(*) FROM (SELECT key, cluster_id FROM simhash_clusters_keyed(NULL::text, 'worded', 'id', 'fp')
	EXCEPT TABLE worded_cluster) x) AS drift FROM worded_cluster;
CREATE TABLE parted (id int, fp bigint, part int) PARTITION BY LIST (part);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (part int, gone int, fp bigint, id int);
ALTER TABLE parted_2 DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
CREATE TABLE parted_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER assign AFTER INSERT OR UPDATE ON parted
FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.parted_cluster', 'key=id', 'fingerprint=fp');
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

-- A role that inserts needs no rights on the schema of the extension.
CREATE TABLE guarded (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON guarded USING simhash (fp);
CREATE TABLE guarded_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER cluster AFTER INSERT OR UPDATE ON guarded
	FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.guarded_cluster', 'key=id', 'fingerprint=fp');
CREATE ROLE regress_cluster_writer;
GRANT USAGE ON SCHEMA clusters_test TO regress_cluster_writer;
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

-- Errors.
SELECT * FROM simhash_clusters('t', 'id', 'fp', 3, 'kmeans');
-- Where a method stands, a column of texts was meant.
SELECT * FROM simhash_clusters('t', 'id', 'fp', 3, 'body');
CREATE VIEW renamed AS SELECT id, fp, body AS "Fred's text" FROM t;
SELECT * FROM simhash_clusters_keyed(NULL::int, 'renamed', 'id', 'fp', 3, 'Fred''s text');
SELECT count(*) AS rows FROM simhash_clusters('renamed', 'id', 'fp', 3, text => 'Fred''s text') HAVING count(*) = 0;
SELECT * FROM simhash_clusters('t', 'id', 'fp', 3, 'fp');
-- The radius stands before the method, which may be named instead.
SELECT * FROM simhash_clusters('t', 'id', 'fp', 'star');
SELECT count(*) AS rows FROM simhash_clusters('t', 'id', 'fp', method => 'star');
PREPARE untyped AS SELECT count(*) AS rows FROM simhash_clusters('t', 'id', 'fp', $1, $2);
EXECUTE untyped(2, 'star');
SELECT count(*) AS rows FROM simhash_clusters('t', 'id', 'fp', 2::smallint);
SELECT * FROM simhash_clusters('t', 'id', 'fp', 99);
SELECT * FROM simhash_clusters('t', 'id', 'fp', text => 'nope');
SELECT * FROM simhash_clusters('t', 'id', 'fp', text => 'fp');
SELECT * FROM simhash_clusters('t', 'id', 'fp', text => 'body', min_jaccard => 1.5);
SELECT * FROM simhash_clusters('t', 'id', 'fp', text => 'body', min_jaccard => NULL);
SELECT * FROM simhash_clusters('t', 'id', 'body');
CREATE TRIGGER wrong BEFORE INSERT ON many FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('clusters=clusters_test.live_cluster', 'key=id', 'fingerprint=fp', 'radius=3');
INSERT INTO many VALUES (-1, 1);
DROP TRIGGER wrong ON many;
-- Of the trigger that keeps clusters: its arguments, its table, the table of clusters.
CREATE TABLE wrong (id int PRIMARY KEY, fp bigint, name text, list int[], j json, gone int);
ALTER TABLE wrong DROP COLUMN gone;
CREATE INDEX ON wrong USING simhash (fp);
CREATE TABLE "Good ""one""" (key int PRIMARY KEY, cluster_id int NOT NULL, CONSTRAINT more UNIQUE (cluster_id, key));
CREATE FUNCTION try(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; detail text; hint text; state text;
BEGIN
	EXECUTE 'CREATE OR REPLACE TRIGGER wrong AFTER INSERT ON clusters_test.wrong FOR EACH ROW EXECUTE FUNCTION public.simhash_maintain_clusters('
		|| (SELECT string_agg(quote_literal(a), ', ') FROM unnest(arguments) a) || ')';
	INSERT INTO clusters_test.wrong VALUES (1, 0, 'x', '{1}', '1');
	DELETE FROM clusters_test.wrong;
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
GRANT USAGE ON SCHEMA clusters_test TO regress_clusters_writer;
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

-- A table of clusters whose keys are unique in another collation.
CREATE TABLE page (url text PRIMARY KEY, fp bigint);
CREATE TABLE page_cluster (key text NOT NULL, cluster_id text NOT NULL);
CREATE UNIQUE INDEX ON page_cluster (key COLLATE "POSIX");
CREATE INDEX ON page USING simhash (fp);
CREATE TRIGGER page_clusters AFTER INSERT OR UPDATE ON page
	FOR EACH ROW EXECUTE FUNCTION simhash_maintain_clusters('fingerprint=fp', 'clusters=page_cluster', 'key=url');
INSERT INTO page VALUES ('a', 0), ('b', 1), ('c', 255);
SELECT * FROM page_cluster ORDER BY key;

SET client_min_messages = warning;
DROP SCHEMA clusters_test CASCADE;
DROP ROLE regress_clusters_writer;
