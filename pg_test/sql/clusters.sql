-- simhash_clusters: its methods and checks by text against plain SQL, keys of all types, a materialized view that is refreshed, errors.
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
SELECT cluster_id, key, size, representative, distance FROM simhash_clusters('named', key_type => NULL::text, columns => 'fp', key => 'name', radius => 2);
SELECT cluster_id, key, representative, round(jaccard::numeric, 3) AS jaccard
FROM simhash_clusters('named', key_type => NULL::text, columns => 'fp', key => 'name', radius => 4, text => 'body');
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
	SELECT md5((i / 7 * 100 + CASE WHEN abs(hashint8extended(i * 31 + j, 5)) % 40 < i % 7 THEN i * 1000 ELSE 0 END + j)::text) AS w
	FROM generate_series(1, 12) j) x)
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
CREATE TABLE keys AS SELECT id, fp, body, ROW(id % 3, id)::pair AS pair, id::number AS number,
	md5(id::text)::uuid AS uuid, id * 1.5 AS fraction,
	('x' || id) COLLATE "C" AS name, date '2020-01-01' + id AS day, ARRAY[id % 5, id] AS list, int4range(id % 9, id + 9) AS range
	FROM many WHERE id <= 700;
CREATE FUNCTION unlike(key text, type text, texts text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	faults bigint;
BEGIN
	EXECUTE format('CREATE TABLE clusters_test.ordered AS SELECT *, row_number() OVER (ORDER BY %I) AS place FROM clusters_test.keys', key);
	EXECUTE format('WITH found AS (SELECT k.id, r.id AS representative, size, distance, jaccard
			FROM simhash_clusters(''clusters_test.keys'', key_type => NULL::%2$s, columns => ''fp'', key => %1$L, radius => 4, method => ''leader'', %4$s) c
			JOIN clusters_test.keys k ON k.%1$I = c.key JOIN clusters_test.keys r ON r.%1$I = c.representative),
		wanted AS (SELECT k.id, r.id, size, distance, jaccard
			FROM simhash_clusters(''clusters_test.ordered'', ''place'', ''fp'', 4, ''leader'', %3$s) c
			JOIN clusters_test.ordered k ON k.place = c.key JOIN clusters_test.ordered r ON r.place = c.representative)
		SELECT count(*) FROM ((TABLE found EXCEPT ALL TABLE wanted) UNION ALL (TABLE wanted EXCEPT ALL TABLE found)) x', key,
			type, texts, 'text => ' || replace(texts, ', ', ', min_jaccard => ')) INTO faults;
	DROP TABLE clusters_test.ordered;
	RETURN faults;
END $$;
SELECT key, unlike(key, type, 'NULL') AS unlike, CASE WHEN key <> 'list' THEN unlike(key, type, $$'body', 0.5$$) END AS with_texts
FROM (VALUES ('pair', 'clusters_test.pair'), ('number', 'clusters_test.number'), ('uuid', 'uuid'),
	('fraction', 'numeric'), ('name', 'text'),
	('day', 'date'), ('list', 'int[]'), ('range', 'int4range')) k (key, type);
-- Keys that are not unique are refused, where rows have near-duplicates.
CREATE TABLE twice (id int, fp bigint, body text);
INSERT INTO twice VALUES (1, 0, 'a hole in the road'), (2, 1, 'a hole in the road'), (1, NULL, 'old'),
	(3, x'7000000000000000'::bigint, 'far away'), (3, NULL, 'old');
SELECT * FROM simhash_clusters('twice', 'id', 'fp', 1, text => 'body');
INSERT INTO twice VALUES (2, x'7F00FF0000000000'::bigint, 'another hole');
SELECT * FROM simhash_clusters('twice', 'id', 'fp', 1);
CREATE VIEW twice_named AS SELECT id::text AS name, fp, body FROM twice;
SELECT cluster_id, key, size FROM simhash_clusters('twice_named', key_type => NULL::text, columns => 'fp', key => 'name', radius => 1);
SELECT cluster_id, key, size FROM simhash_clusters('twice_named', key_type => NULL::text, columns => 'fp', key => 'name', radius => 1, text => 'body');
INSERT INTO twice VALUES (2, x'7F00FF0000000000'::bigint, 'another hole');
SELECT cluster_id, key, size FROM simhash_clusters('twice_named', key_type => NULL::text, columns => 'fp', key => 'name', radius => 1);
SELECT key, size FROM simhash_clusters('keys', key_type => NULL::int[], columns => 'fp', key => 'list', radius => 1, text => 'body');

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

-- Errors.
SELECT * FROM simhash_clusters('t', 'id', 'fp', 3, 'kmeans');
-- Where a method stands, a column of texts was meant.
SELECT * FROM simhash_clusters('t', 'id', 'fp', 3, 'body');
CREATE VIEW renamed AS SELECT id, fp, body AS "Fred's text" FROM t;
SELECT * FROM simhash_clusters('renamed', key_type => NULL::int, columns => 'fp', key => 'id', radius => 3, method => 'Fred''s text');
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
SELECT count(*) > 0 AS found FROM simhash_clusters('t', 'id', 'body');

SET client_min_messages = warning;
DROP SCHEMA clusters_test CASCADE;
