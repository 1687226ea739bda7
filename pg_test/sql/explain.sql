-- simhash_explain: what each column of two rows has to do with the distance of their fingerprints.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA explain_test;
SET search_path = explain_test, public;
SET extra_float_digits = 0;

CREATE TABLE petition (id int PRIMARY KEY, subject text, body text, sent date);
INSERT INTO petition VALUES
	(1, 'Street lamp', 'The street lamp in front of number 12 has been dark for two weeks, please have it repaired.', '2026-01-05'),
	(2, 'Street lamp', 'The street lamp in front of number 12 has been dark for three weeks, please have it repaired.', '2026-01-09'),
	(3, NULL, 'Bus 7 no longer stops at the market.', '2026-01-05'),
	(4, '路灯', '磨坊巷的路灯已经两个星期不亮了，没有人来修理它们。', NULL),
	(5, NULL, '', NULL);

-- Two rows, whose parts are their distance; and two texts.
SELECT e.*, sum(bits) OVER () AS all_bits, simhash64(a, w, 'words') <~> simhash64(b, w, 'words') AS distance
FROM petition a, petition b, (SELECT '{"subject": 1, "body": 3, "sent": 1}'::jsonb AS w) AS v, simhash_explain(a, b, w, 'words') AS e
WHERE (a.id, b.id) = (1, 2);
SELECT e.*, simhash64(a.body) <~> simhash64(b.body) AS distance FROM petition a, petition b, simhash_explain(a.body, b.body) AS e
WHERE (a.id, b.id) = (1, 2);
SELECT e.* FROM petition a, petition b, simhash_explain(a, b, '{"subject": 1, "body": 1, "sent": 1}', 'minwise') AS e
WHERE (a.id, b.id) = (1, 3);
SELECT e.* FROM petition a, petition b, simhash_explain(ROW(a.subject, a.body), ROW(b.subject, b.body),
	'{"$columns": ["subject", "body"]}') AS e WHERE (a.id, b.id) = (1, 4);
-- Columns without a feature, rows without a fingerprint, no row, no column.
SELECT e.* FROM petition a, petition b, simhash_explain(a, b, '{"$exclude": ["id"]}') AS e WHERE (a.id, b.id) = (1, 5);
SELECT e.* FROM simhash_explain('', 'a'::text) AS e;
SELECT e.* FROM simhash_explain(NULL, 'a'::text) AS e;
SELECT e.* FROM petition a, simhash_explain(a, NULL::petition) AS e;
SELECT e.* FROM petition a, simhash_explain(a, a, '{"subject": 0, "body": 2}') AS e WHERE id = 1;
SELECT e.* FROM simhash_explain(ROW(), ROW()) AS e;

-- The features are those of simhash_features.
SELECT count(*) AS differ FROM petition a, petition b, unnest('{adaptive,shingles,minwise,record,words,plain,s0,s2,s3}'::text[]) AS preset,
	simhash_explain(a.body, b.body, preset => preset) AS e,
	LATERAL (SELECT count(x.hash) AS a, count(y.hash) AS b, count(x.hash) FILTER (WHERE y.hash IS NOT NULL) AS shared,
		coalesce((array_agg(x.feature ORDER BY x.weight DESC, x.feature COLLATE "C") FILTER (WHERE y.hash IS NULL))[:3], '{}') AS only_a
		FROM simhash_features(a.body, preset => preset) AS x FULL JOIN simhash_features(b.body, preset => preset) AS y USING (hash)) AS f
WHERE (features_a, features_b, e.shared, e.only_a) IS DISTINCT FROM (f.a, f.b, f.shared, f.only_a);

-- The parts add up to the distance, for every preset, columns of all kinds, NULL and weight 0.
CREATE TABLE item (id int PRIMARY KEY, title text, body text, price numeric, sold timestamptz, size float8, image bytea, tags text[],
	words tsvector, note json, code uuid);
INSERT INTO item SELECT i,
	CASE WHEN i % 7 <> 0 THEN 'item ' || (i % 5) END,
	CASE WHEN i % 11 <> 0 THEN (SELECT string_agg(CASE WHEN (n * i) % 9 = 0 THEN 'other' ELSE 'word' || (n * 7 + i % 3) % 20 END, ' ')
		FROM generate_series(1, 30) n) END,
	CASE WHEN i % 3 <> 0 THEN i % 4 + 0.5 END, timestamptz '2026-01-01 UTC' + (i % 6) * interval '1 day',
	CASE WHEN i % 5 = 0 THEN 'NaN' ELSE i / 3.0 END,
	CASE WHEN i % 4 <> 1 THEN decode(md5((i % 9)::text), 'hex') END, ARRAY['a', 'b' || i % 2],
	to_tsvector('simple', 'lamp' || i % 4 || ' street dark'),
	CASE WHEN i % 2 = 0 THEN json_build_object('n', i % 3) END, md5(i::text)::uuid
FROM generate_series(1, 24) i;
CREATE FUNCTION wrong(w jsonb) RETURNS TABLE (preset text, pairs bigint, no_distance bigint, differ bigint,
	below_0 bigint) LANGUAGE sql AS $$
	SELECT preset, count(*), count(*) FILTER (WHERE distance IS NULL), count(*) FILTER (WHERE distance IS DISTINCT FROM bits),
		count(*) FILTER (WHERE least < 0)
	FROM item a, item b, unnest('{adaptive,shingles,minwise,record,words,plain,s0,s2,s3}'::text[]) AS preset,
		LATERAL (SELECT simhash64(a, w, preset) <~> simhash64(b, w, preset)) AS d (distance),
		LATERAL (SELECT sum(bits), min(bits) FROM simhash_explain(a, b, w, preset)) AS e (bits, least)
	GROUP BY preset ORDER BY preset
$$;
SELECT * FROM wrong('{"$exclude": ["id", "code"]}');
SELECT * FROM wrong('{"*": 1, "id": 0, "code": 0, "title": 0, "body": 5, "$balance": false}');
SELECT * FROM wrong('{"title": 1e-90, "image": 1e90, "price": 0.5, "body": {"weight": 2, "as": "value"}, "words": 1, "$balance": true}');
SELECT sum(bits) = max(distance) AS same, count(*) FROM (SELECT simhash64(x, NULL, 's1') <~> simhash64(y, NULL, 's1') AS distance, e.*
	FROM (SELECT 'a^2 b^1'::text AS t, 1 AS n) x, (SELECT 'a^1 c^3'::text AS t, 2 AS n) y,
	LATERAL simhash_explain(ROW(x.t, x.n), ROW(y.t, y.n), NULL, 's1') AS e) AS f;
-- Columns of one name.
SELECT e.*, simhash64(a, NULL, 'minwise') <~> simhash64(b, NULL, 'minwise') AS distance
FROM (SELECT 'lamp'::text AS c, 'street dark'::text AS c) AS a, (SELECT 'lamp'::text AS c, 'road dark'::text AS c) AS b,
	simhash_explain(a, b, NULL, 'minwise') AS e;
-- A long feature is shortened.
SELECT length(only_a[1]), right(only_a[1], 5) FROM simhash_explain(repeat('x', 1000) || 'y', 'b', preset => 'words');

-- Errors.
SELECT * FROM petition p, item i, simhash_explain(p, i) LIMIT 1;
SELECT * FROM simhash_explain(ROW(1), ROW('a'::text));
SELECT * FROM simhash_explain('a', 'b'::text, '{"subject": 1}');
SELECT * FROM simhash_explain('a', 'b'::text, preset => 'none');
SELECT * FROM petition a, simhash_explain(a, a, '{"heading": 1}');
\set VERBOSITY terse
SELECT * FROM simhash_explain(1, 2);
\set VERBOSITY default
SET client_min_messages = error;
DROP SCHEMA explain_test CASCADE;
