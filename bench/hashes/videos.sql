-- Which of many videos share half of their frames: how long it takes, and how many of the planted copies it finds. The statements
-- are those of docs/media.md.
--
--     psql -X -v videos=20000 -f bench/hashes/videos.sql     in a database with the extension; it makes a schema of its own
--
-- Videos have 60 frames in scenes of six, whose hashes differ in 1 to 3 bits. The last fifth of the videos are copies of others,
-- each frame with 0 to 4 bits flipped, as by a second encoding: a third of them whole, a third with every third frame new, a third
-- only a piece, 30 to 55 frames long and at another second, before frames of their own. Each thirteenth video is one still
-- picture. Three intros of three frames open a sixth of the videos, with 0 or 1 bits flipped; two frames of each video are black,
-- with 0 to 2 bits set.
\set ON_ERROR_STOP 1
\if :{?videos} \else \set videos 20000 \endif
\if :{?radius} \else \set radius 6 \endif
\if :{?hub} \else \set hub 50 \endif
\set QUIET 1
\pset footer off
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS bench_videos CASCADE;
CREATE SCHEMA bench_videos;
SET search_path = bench_videos, public;
SET work_mem = '256MB';
SELECT count(*) AS settings, string_agg(name || ' = ' || setting || coalesce(unit, ''), ', ') AS server FROM pg_settings
WHERE name IN ('server_version', 'shared_buffers', 'work_mem', 'max_parallel_workers_per_gather', 'jit');

-- A number of 0 to below - 1, and a value with that many bits flipped, by what is hashed.
CREATE FUNCTION draw(what bigint, seed bigint, below bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE
RETURN (hashint8extended(what, seed) >> 1 & 9223372036854775807) % below;
CREATE FUNCTION flipped(value bigint, bits bigint, what bigint, seed bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE
RETURN value # CASE WHEN bits > 0 THEN 1::bigint << draw(what, seed, 64)::int ELSE 0 END
	# CASE WHEN bits > 1 THEN 1::bigint << draw(what, seed + 1, 64)::int ELSE 0 END
	# CASE WHEN bits > 2 THEN 1::bigint << draw(what, seed + 2, 64)::int ELSE 0 END
	# CASE WHEN bits > 3 THEN 1::bigint << draw(what, seed + 3, 64)::int ELSE 0 END;
-- The frame of a video as it was taken. A still video has one.
CREATE FUNCTION taken(video bigint, second bigint) RETURNS bigint IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN video % 13 = 0 THEN hashint8extended(video, 1)
	ELSE flipped(hashint8extended(video * 100 + second / 6, 2), 1 + draw(video * 100 + second, 3, 3), video * 100 + second, 4) END;

CREATE TABLE video (id int PRIMARY KEY, kind text NOT NULL, origin int NOT NULL, first int NOT NULL, frames int NOT NULL);
INSERT INTO video SELECT i, CASE WHEN of IS NULL THEN 'original' ELSE (ARRAY['encoded again', 'every third frame new', 'a piece'])[i % 3 + 1] END, coalesce(of, i),
	CASE WHEN of IS NOT NULL AND i % 3 = 2 THEN draw(i, 11, 5) ELSE 0 END, CASE WHEN of IS NOT NULL AND i % 3 = 2 THEN 30 + draw(i, 12, 26) ELSE 60 END
FROM generate_series(1, :videos) AS i, LATERAL (SELECT CASE WHEN i > :videos * 4 / 5 THEN 1 + draw(i, 10, :videos * 4 / 5) END) AS o (of);
CREATE TABLE frame (
	video_id int NOT NULL REFERENCES video ON DELETE CASCADE,
	second int NOT NULL,
	hash bigint NOT NULL,
	id bigint GENERATED ALWAYS AS (video_id::bigint << 20 | second) STORED,
	fp bigint GENERATED ALWAYS AS (CASE WHEN bit_count(hash::bit(64)) BETWEEN 8 AND 56 THEN hash END) STORED,
	PRIMARY KEY (video_id, second)
);
INSERT INTO frame (video_id, second, hash) SELECT v.id, s, CASE
	WHEN s >= 58 THEN flipped(0, draw(f.id, 20, 3), f.id, 21)
	WHEN s < 3 AND draw(v.id, 22, 6) = 0 THEN flipped(hashint8extended(draw(v.id, 23, 3) * 10 + s, 24), draw(f.id, 25, 2), f.id, 26)
	WHEN v.kind = 'original' THEN taken(v.id, s)
	WHEN v.kind = 'every third frame new' AND s % 3 = 0 OR s >= v.frames THEN taken(v.id, s)
	ELSE flipped(taken(v.origin, s + v.first), draw(f.id, 27, 5), f.id, 28) END
FROM video AS v, generate_series(0, 59) AS s, LATERAL (SELECT v.id::bigint * 100 + s) AS f (id);
\echo Index and statistics
\timing on
CREATE INDEX frame_fp ON frame USING simhash (fp);
\timing off
VACUUM ANALYZE frame;
ANALYZE video;
SELECT count(*) AS frames, pg_size_pretty(pg_table_size('frame')) AS "table", pg_size_pretty(pg_relation_size('frame_pkey')) AS primary_key,
	pg_size_pretty(pg_relation_size('frame_fp')) AS index, round(pg_relation_size('frame_fp') / count(fp)::numeric, 1) AS index_bytes_a_frame FROM frame;

\echo All groups: hubs, pairs of videos, groups
\timing on
CREATE VIEW hub AS SELECT min(id) AS id, fp FROM frame WHERE fp IS NOT NULL GROUP BY fp HAVING count(DISTINCT video_id) > :hub;
CREATE MATERIALIZED VIEW hub_frame AS SELECT DISTINCT a AS id FROM simhash_pairs_between('frame', 'id', 'fp', 'hub', 'id', 'fp', :radius);
CREATE UNIQUE INDEX ON hub_frame (id);
CREATE VIEW telling AS SELECT * FROM frame AS f WHERE fp IS NOT NULL AND NOT EXISTS (SELECT FROM hub_frame AS h WHERE h.id = f.id);
CREATE MATERIALIZED VIEW shared AS
WITH met AS (
	SELECT DISTINCT one, two >> 20 AS other
	FROM simhash_pairs('telling', 'id', 'fp', :radius, across => 'video_id'), LATERAL (VALUES (a, b), (b, a)) AS d (one, two)
)
SELECT m.video_id, m.other, m.frames, t.frames AS of
FROM (SELECT one >> 20 AS video_id, other, count(*) AS frames FROM met GROUP BY 1, 2) AS m
JOIN (SELECT video_id, count(*) AS frames FROM telling GROUP BY 1) AS t USING (video_id)
WHERE 2 * m.frames >= t.frames;
CREATE TABLE grouped AS
SELECT c.cluster_id, c.key AS id
FROM (SELECT array_agg(video_id) AS a, array_agg(other) AS b FROM shared) AS l, simhash_components(l.a, l.b) AS c;
SELECT count(*) AS pairs_across FROM simhash_pairs('telling', 'id', 'fp', :radius, across => 'video_id');
SELECT count(*) AS pairs_of_all FROM simhash_pairs('telling', 'id', 'fp', :radius);
\timing off

\echo Copies that are in a group with their original, and groups with videos of two origins
SELECT kind, count(*) AS copies, count(*) FILTER (WHERE g.cluster_id = o.cluster_id) AS found FROM video AS v
LEFT JOIN grouped AS g USING (id) LEFT JOIN grouped AS o ON o.id = v.origin WHERE kind <> 'original' GROUP BY 1 ORDER BY 1;
SELECT count(*) AS groups, count(*) FILTER (WHERE origins > 1) AS wrong
FROM (SELECT count(DISTINCT origin) AS origins FROM grouped JOIN video USING (id) GROUP BY cluster_id) AS g;

-- New videos, one at a time: copies with up to four bits flipped. The first search of a session reads the index.
\echo One new video against all: milliseconds of 200
CREATE TABLE arrival (second int, fp bigint);
CREATE TABLE asked (video int, ms float8, found bigint, is_right boolean);
DO $$
DECLARE
	start timestamptz;
	v int;
	found bigint[];
BEGIN
	FOR v IN SELECT id FROM video WHERE id % 13 <> 0 AND kind = 'original' ORDER BY hashint4(id) LIMIT 220 LOOP
		TRUNCATE arrival;
		INSERT INTO arrival SELECT second, flipped(hash, draw(f.id, 31, 5), f.id, 32) FROM frame AS f WHERE video_id = v AND second BETWEEN 3 AND 57;
		ANALYZE arrival;
		start := clock_timestamp();
		SELECT array_agg(video_id) INTO found FROM (
			SELECT f.video_id FROM arrival AS n JOIN telling AS f ON f.fp <~> n.fp <= 6
			GROUP BY 1 HAVING 2 * count(DISTINCT n.second) >= (SELECT count(*) FROM arrival)) AS r;
		INSERT INTO asked VALUES (v, extract(epoch FROM clock_timestamp() - start) * 1000, cardinality(found), v = ANY (found));
	END LOOP;
END $$;
SELECT count(*) AS videos, count(*) FILTER (WHERE is_right) AS found, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS median,
	round(percentile_cont(0.95) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS p95, round(max(ms)::numeric, 1) AS most FROM (SELECT * FROM asked OFFSET 20) AS a;
EXPLAIN (COSTS OFF) SELECT f.video_id FROM arrival AS n JOIN telling AS f ON f.fp <~> n.fp <= 6
GROUP BY 1 HAVING 2 * count(DISTINCT n.second) >= (SELECT count(*) FROM arrival);
\if :{?keep}
\else
DROP SCHEMA bench_videos CASCADE;
\endif
