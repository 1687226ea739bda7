-- across: simhash_pairs of one relation and of two, and simhash_clusters, among rows that differ in some columns.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA across;
SET search_path = across, public;

-- Frames of videos: copies of a few, some black, some of no video.
CREATE TABLE t (id int PRIMARY KEY, name text, video int, "the Lang" varchar(10), fp bigint, hash bigint[], body text);
INSERT INTO t (id, name, video, "the Lang", fp, body) SELECT i, 'row ' || i, nullif(i / 30, 5),
	nullif((ARRAY['da', 'de', 'none'])[i % 3 + 1], 'none'),
	CASE WHEN i % 10 = 0 THEN NULL WHEN i > 700 THEN 42 # (i % 4) ELSE hashint8extended(i * 7919 % 800 / 9, 1) # (1::bigint << i % 64) END,
	repeat('text ' || i % 7, 20)
FROM generate_series(1, 800) i;
UPDATE t SET hash = ARRAY[fp, id % 3, -1] WHERE fp IS NOT NULL;
CREATE TABLE other (id text, video bigint, "the Lang" text, print bigint, hash bigint[]);
INSERT INTO other SELECT 'row ' || i, nullif(i / 20, 3), (ARRAY['da', 'de', NULL])[i % 3 + 1], print, ARRAY[print, i % 3, -1]
FROM (SELECT i, CASE WHEN i > 280 THEN 43 ELSE hashint8extended(i / 5, 1) # (1::bigint << i % 60) END AS print
	FROM generate_series(1, 300) i) AS r;

CREATE VIEW pairs_of_t AS SELECT x.id::bigint AS a, y.id::bigint AS b, bit_count((x.fp # y.fp)::bit(64))::int AS distance,
	bit_count((x.fp # y.fp)::bit(64))::int + bit_count((x.id % 3 # y.id % 3)::bit(32))::int AS of_hashes,
	x.video = y.video AS same_video, x."the Lang" = y."the Lang" AS same_lang FROM t x, t y WHERE x.id < y.id;
CREATE VIEW pairs_between AS SELECT x.name AS a, y.id AS b, bit_count((x.fp # y.print)::bit(64))::int AS distance,
	x.video = y.video AS same_video, x."the Lang" = y."the Lang" AS same_lang FROM t x, other y;
-- Pairs that one side has and the other has not, and pairs that come twice.
CREATE FUNCTION faults(relation regclass, call text, k int, within text[], across text[], column_of_distance name = 'distance',
	OUT pairs bigint, OUT missing bigint, OUT wrong bigint, OUT twice bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('WITH found AS MATERIALIZED (SELECT * FROM %s), wanted AS MATERIALIZED (SELECT a, b, %I FROM %s
			WHERE %2$I <= $1 AND (same_video OR NOT ''video'' = ANY ($2)) AND (same_lang OR NOT ''the Lang'' = ANY ($2))
				AND ($3 = ''{}'' OR ((same_video OR NOT ''video'' = ANY ($3)) AND (same_lang OR NOT ''the Lang'' = ANY ($3))) IS NOT TRUE))
		SELECT (SELECT count(*) FROM wanted), (SELECT count(*) FROM (TABLE wanted EXCEPT TABLE found) x),
			(SELECT count(*) FROM (TABLE found EXCEPT TABLE wanted) x), (SELECT count(*) - count(DISTINCT (a, b)) FROM found)',
		call, column_of_distance, relation)
	INTO pairs, missing, wrong, twice USING k, within, across;
END $$;
CREATE TABLE asked AS SELECT * FROM (VALUES ('{}'::text[], '{video}'::text[]), ('{}', '{the Lang}'), ('{}', '{video,the Lang}'),
	('{video}', '{the Lang}'), ('{the Lang}', '{video}')) w (within, across), unnest('{0,3,64}'::int[]) k;
SELECT within, across, k, f.*
FROM asked, faults('pairs_of_t', 'simhash_pairs(''t'', ''id'', ''fp'', $1, $2::text, across => $3::text)', k, within, across) f ORDER BY 1, 2, 3;
SELECT within, across, k, f.* FROM asked, faults('pairs_between',
	'simhash_pairs_between(''t'', key_type_a => NULL::text, columns_a => ''fp'', relation_b => ''other'', key_type_b => NULL::text, columns_b => ''print'', key_a => ''name'', key_b => ''id'', radius => $1, within => $2::text, across => $3::text)', k,
	within, across) f ORDER BY 1, 2, 3;
-- Hashes of three parts, of which a pair may be near in several.
SELECT within, across, k, f.*
FROM asked, faults('pairs_of_t', 'simhash_pairs(''t'', ''id'', ''hash'', $1, $2::text, across => $3::text)', k, within, across, 'of_hashes') f
WHERE k < 64 ORDER BY 1, 2, 3;
SELECT count(*), count(*) FILTER (WHERE p.a IS NULL OR w.a IS NULL) AS faults
FROM simhash_pairs_between('t', key_type_a => NULL::text, columns_a => 'hash', relation_b => 'other', key_type_b => NULL::text, columns_b => 'hash', key_a => 'name', key_b => 'id', radius => 0, across => '{video}') p
FULL JOIN (SELECT x.name AS a, y.id AS b FROM t x JOIN other y ON x.hash = y.hash AND (x.video = y.video) IS NOT TRUE
	WHERE x.fp IS NOT NULL) w USING (a, b);
-- The rows in files; with a worker.
SET work_mem = '64kB';
SELECT across, f.* FROM asked, faults('pairs_between',
	'simhash_pairs_between(''t'', key_type_a => NULL::text, columns_a => ''fp'', relation_b => ''other'', key_type_b => NULL::text, columns_b => ''print'', key_a => ''name'', key_b => ''id'', radius => $1, within => $2::text, across => $3::text)', k,
	within, across) f
WHERE k = 3 AND within = '{}' ORDER BY 1;
CREATE TABLE many AS SELECT i AS id, i / 60 AS video, hashint8extended(i * 7919::bigint % 24000 / 8, 1) # (i % 2) AS fp
FROM generate_series(1, 24000) i;
CREATE VIEW wanted AS SELECT x.id::bigint AS a, y.id::bigint AS b, bit_count((x.fp # y.fp)::bit(64))::int AS distance
FROM many x JOIN many y ON (x.fp | 1) = (y.fp | 1) AND x.id < y.id AND x.video <> y.video AND bit_count((x.fp # y.fp)::bit(64)) <= 1;
SELECT count(*), count(*) FILTER (WHERE p.a IS NULL OR w.a IS NULL) AS faults
FROM simhash_pairs('many', 'id', 'fp', 1, across => '{video}') p FULL JOIN wanted w USING (a, b, distance);
RESET work_mem;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SELECT count(*), count(*) FILTER (WHERE p.a IS NULL OR w.a IS NULL) AS faults
FROM simhash_pairs('many', 'id', 'fp', 1, across => '{video}') p FULL JOIN wanted w USING (a, b, distance);
SELECT across, f.* FROM asked, faults('pairs_of_t', 'simhash_pairs(''t'', ''id'', ''fp'', $1, $2::text, across => $3::text)', k, within, across) f
WHERE k = 3 AND within = '{}' ORDER BY 1;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
-- A still video: the pairs of its own frames, 2e10, are not compared.
CREATE TABLE still AS SELECT i AS id, (i > 199998)::int AS video, 7::bigint AS fp FROM generate_series(1, 200000) i;
SET statement_timeout = '60s';
SELECT count(*) FROM simhash_pairs('still', 'id', 'fp', 3, across => '{video}');
CREATE VIEW still_hash AS SELECT id, video, ARRAY[fp, 1] AS fp FROM still;
SELECT count(*) FROM simhash_pairs('still_hash', 'id', 'fp', 3, across => '{video}');
-- Black frames, two a video: their pairs, 2e8, are not made where only groups are asked for.
CREATE TABLE black AS SELECT i AS id, i / 2 AS video, 7::bigint AS fp, ARRAY[7::bigint, 1] AS hash FROM generate_series(1, 20000) i;
SELECT count(*), count(DISTINCT cluster_id) AS groups FROM simhash_clusters('black', 'id', 'fp', 3, across => '{video}');
SELECT count(*), count(DISTINCT cluster_id) AS groups FROM simhash_clusters('black', 'id', 'hash', 3, across => '{video}');
RESET statement_timeout;

-- The pairs within columns and those across them are all pairs, each once.
SELECT k, columns, count(*) AS pairs, count(*) FILTER (WHERE times <> 2) AS faults
FROM unnest('{0,3,5}'::int[]) k, (VALUES ('{video}'::text[]), ('{video,the Lang}')) c (columns), LATERAL (
	SELECT a, b, distance, count(*) AS times FROM (SELECT * FROM simhash_pairs('t', 'id', 'fp', k, within => columns::text)
		UNION ALL SELECT * FROM simhash_pairs('t', 'id', 'fp', k, across => columns::text) UNION ALL SELECT * FROM simhash_pairs('t', 'id', 'fp', k)) p
	GROUP BY a, b, distance) x GROUP BY 1, 2 ORDER BY 1, 2;
-- Equal is what the type's default order says, as with within. A row of itself is no pair of two relations.
CREATE TYPE place AS (x int, y int);
CREATE DOMAIN tag AS numeric;
CREATE TABLE odd (id int, n tag, p place, fp bigint);
INSERT INTO odd VALUES (1, 1.0, (1, NULL), 7), (2, 1.00, (1, NULL), 7), (3, 1, (NULL, NULL), 7), (4, 2, (NULL, NULL), 7),
	(5, NULL, NULL, 7), (6, NULL, NULL, 7);
SELECT string_agg(a || '-' || b, ' ' ORDER BY a, b) FROM simhash_pairs('odd', 'id', 'fp', 0, across => '{n}');
SELECT string_agg(a || '-' || b, ' ' ORDER BY a, b) FROM simhash_pairs('odd', 'id', 'fp', 0, across => '{p}');
SELECT string_agg(a || '-' || b, ' ' ORDER BY a, b) FROM simhash_pairs('odd', 'id', 'fp', 0, across => '{n,p}');
SELECT string_agg(a || '-' || b, ' ' ORDER BY a, b) FROM simhash_pairs('odd', 'id', 'fp', 0, '{n}', across => '{p}');
SELECT count(*) FROM simhash_pairs_between('odd', 'id', 'fp', 'odd', 'id', 'fp', 0, across => '{id}') WHERE a <> b;
SELECT count(*) FROM simhash_pairs_between('odd', 'id', 'fp', 'odd', 'id', 'fp', 0, across => '{id}');
SELECT count(*) FROM simhash_pairs('odd', 'id', 'fp', 0, across => '{fp}');

-- With a check: those of all pairs that pass, and are across.
SELECT count(*), count(*) FILTER (WHERE p.a IS NULL OR w.a IS NULL) AS faults
FROM simhash_pairs('t', 'id', 'fp', 4, text => 'body', across => '{video}') p
FULL JOIN (SELECT w.a, w.b, w.distance FROM simhash_pairs('t', 'id', 'fp', 4, text => 'body') w JOIN pairs_of_t USING (a, b)
	WHERE same_video IS NOT TRUE) w USING (a, b, distance);

-- Clusters: those that these pairs connect.
CREATE FUNCTION groups_of(call text) RETURNS TABLE (method text, groups bigint, rows bigint, faults bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE TEMP TABLE found_pair AS SELECT a, b, distance FROM simhash_pairs(' || call || ')';
	CREATE TEMP TABLE joined AS SELECT c.* FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM found_pair) l,
		simhash_components(l.a, l.b) c;
	RETURN QUERY
		EXECUTE format('SELECT ''components'', count(DISTINCT c.cluster_id), count(*), count(*) FILTER (WHERE c.key IS NULL OR j.key IS NULL)
		FROM simhash_clusters(%s, method => ''components'') c FULL JOIN joined j USING (key, cluster_id)', call);
	-- Each row pairs with the representative of its cluster.
	RETURN QUERY
		EXECUTE format('SELECT m, count(DISTINCT c.cluster_id), count(*), count(*) FILTER (WHERE key <> representative AND NOT EXISTS (
			SELECT FROM found_pair p WHERE p.a = least(key, representative) AND p.b = greatest(key, representative)
				AND (p.distance = c.distance OR c.distance IS NULL)))
		FROM unnest(''{leader,star}''::text[]) m, LATERAL simhash_clusters(%s, method => m) c GROUP BY m ORDER BY m', call);
	DROP TABLE found_pair, joined;
END $$;
SELECT * FROM groups_of($$'t', 'id', 'fp', 3, across => '{video}'$$);
SELECT * FROM groups_of($$'t', 'id', 'fp', 3, across => '{video}', within => '{the Lang}'$$);
SELECT * FROM groups_of($$'t', 'id', 'hash', 3, across => '{video,the Lang}'$$);
SELECT * FROM groups_of($$'t', 'id', 'fp', 3, across => '{video}', text => 'body'$$);
-- Equal frames of one video are no group; beside one of another they are.
CREATE TABLE frame (id uuid, video text, fp bigint);
INSERT INTO frame SELECT ('00000000-0000-0000-0000-00000000000' || i)::uuid, v, f
FROM (VALUES (1, 'a', 0), (2, 'a', 0), (3, 'a', 0), (4, 'b', 255), (5, 'b', 255), (6, 'c', 254), (7, NULL, -1), (8, NULL, -1)) r (i, v, f);
SELECT right(cluster_id::text, 1) AS cluster_id, string_agg(right(key::text, 1), ',' ORDER BY key) AS keys
FROM simhash_clusters('frame', key_type => NULL::uuid, columns => 'fp', key => 'id', radius => 3, across => '{video}') GROUP BY 1 ORDER BY 1;
SELECT right(a::text, 1) AS a, right(b::text, 1) AS b
FROM simhash_pairs('frame', key_type => NULL::uuid, columns => 'fp', key => 'id', radius => 3, across => '{video}') ORDER BY 1, 2;
-- Keys that do not tell rows apart.
CREATE TABLE same_keys (id int, video int, fp bigint);
INSERT INTO same_keys VALUES (1, 1, 7), (2, 1, 7), (1, 2, 7);
SELECT * FROM simhash_clusters('same_keys', 'id', 'fp', 0, across => '{video}');

-- Errors.
CREATE TABLE wrong (id int, j json, fp bigint, video text);
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', across => '{nope}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', across => '{ctid}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', across => '{j}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', across => '{video,video}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', within => '{video}', across => '{id,video}');
SELECT * FROM simhash_pairs_between('same_keys', 'id', 'fp', 'wrong', 'id', 'fp', across => '{j}');

SET client_min_messages = warning;
DROP SCHEMA across CASCADE;
