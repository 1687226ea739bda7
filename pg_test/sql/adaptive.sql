-- Preset adaptive, which calls without a preset have: texts of any length, rows as one text.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA adaptive_test;
SET search_path = adaptive_test, public;

-- Golden values: they never change within a release.
SELECT left(t, 30) AS text, to_hex(simhash64(t)) AS w64
FROM unnest(ARRAY['a', 'The street lamp is dark, please repair it', '路灯坏了，请尽快修理。谢谢', '가로등이 꺼졌어요 12번', '!?',
	repeat('The street lamp in front of number 12 is dark. ', 5), repeat('The street lamp in front of number 12 is dark. ', 12)]) AS t;
-- From 395 letters, or 158 Han characters, a text has the fingerprint of preset shingles; below 81 letters none of its bits.
SELECT n, simhash64(t) = simhash64(t, preset => 'shingles') AS latin, simhash64(h) = simhash64(h, preset => 'shingles') AS han
FROM (VALUES (80, 33), (300, 120), (395, 158), (2000, 1000)) AS v (n, m),
	LATERAL (SELECT string_agg(chr(97 + (i * i * 7 + i / 3) % 26), '' ORDER BY i) AS t FROM generate_series(1, n) i) AS latin,
	LATERAL (SELECT string_agg(chr(20000 + i * i % 5000), '' ORDER BY i) AS h FROM generate_series(1, m) i) AS han;
-- Typing errors in short texts, two scripts of one language, blanks and symbols.
SELECT a, simhash64(a) <~> simhash64(b) AS distance, simhash64(a, preset => 'shingles') <~> simhash64(b, preset => 'shingles') AS of_shingles
FROM (VALUES ('Street lamp broken in Mill Lane', 'Street lamp brokn in Mill Lane'), ('台灣的颱風來了', '台湾的台风来了'),
	('Ђак чита књигу', 'Đak čita knjigu'), ('invoice   4711', ' Invoice 4711!'), ('🔥🔥💰', '🔥 💰')) AS v (a, b);

-- A row without weights is one text: its columns of text, joined by line ends. NULL says nothing.
CREATE TABLE petition (id int, sent date, subject text, body varchar(200), code char(8), votes int, meta jsonb);
INSERT INTO petition VALUES (1, '2026-01-05', 'Street lamp', 'The lamp in Mill Lane is dark.', 'L-7', 12, '{"a": 1}'),
	(2, '2026-03-09', 'Street lamp', 'The lamp in Mill Lane is dark.', 'L-7', 90, NULL), (3, NULL, NULL, 'The lamp in Mill Lane is dark.', NULL, NULL, NULL),
	(4, NULL, NULL, NULL, NULL, 5, NULL);
SELECT id, simhash64(p) = simhash64(concat_ws(E'\n', subject, body, rtrim(code))) AS as_text, simhash64(p) IS NULL AS none,
	simhash64(ROW(subject, body)) = simhash64(concat_ws(E'\n', subject, body)) AS of_some,
	simhash64(p, '{"$exclude": ["subject", "code"]}') = simhash64(body::text) AS without FROM petition AS p ORDER BY id;
SELECT x.id, y.id, simhash64(x) <~> simhash64(y) AS distance, simhash64(x, '{"*": 1}') <~> simhash64(y, '{"*": 1}') > 0 AS by_columns
FROM petition AS x, petition AS y WHERE x.id = 1 AND y.id = 2;
SELECT column_name, count(*) > 20 AS features, round(sum(weight)::numeric, 4) AS share FROM petition AS p, simhash_features(p) WHERE id = 1 GROUP BY 1;
-- Weights say which columns count, and how.
SELECT column_name, round(sum(weight)::numeric, 4) AS share FROM petition AS p, simhash_features(p, '{"body": 3, "votes": 1}') WHERE id = 1 GROUP BY 1;
-- Refused, with what to do.
SELECT simhash64(ROW(1, date '2026-01-05'));
SELECT simhash64(ROW(1, 2), '{"$columns": ["price", "stock"]}');
SELECT simhash64(ROW(1, 2), '{"*": 1}') IS NOT NULL AS named, simhash64(ROW()) IS NULL AS empty;
DROP SCHEMA adaptive_test CASCADE;
