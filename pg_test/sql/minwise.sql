-- The presets adaptive, minwise, shingles and record: bits that are drawn from the features.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA minwise_test;
SET search_path = minwise_test, public, simhash_methods;

-- Fixed: these values are stored in tables.
SELECT preset, simhash64('The street lamp in front of number 12 is dark', preset => preset) AS latin,
	simhash64('门牌12号前的路灯坏了', preset => preset) AS han,
	simhash32('The street lamp in front of number 12 is dark', preset => preset) AS narrow,
	simhash128('The street lamp in front of number 12 is dark', preset => preset) AS wide
FROM unnest(ARRAY['adaptive', 'minwise', 'shingles', 'record']) AS preset;
SELECT preset, simhash64(ROW('Street lamp', 'dark since Monday', 12, date '2024-02-29'),
	'{"$columns": ["subject", "body", "number", "day"], "subject": 1, "body": 3, "number": 1, "day": 0.5}', preset)
FROM unnest(ARRAY['adaptive', 'minwise', 'shingles', 'record']) AS preset;
-- With weights that differ, other draws; a call without a preset has adaptive.
SELECT simhash64('dark dark street lamp', '{"tf": "log"}', 'minwise') AS weighted,
	simhash64('dark dark street lamp', '{"tf": "set"}', 'minwise')
		= simhash64('dark street lamp', preset => 'minwise') AS set,
	simhash64('dark dark street lamp') = simhash64('dark dark street lamp', preset => 'adaptive') AS adaptive;

-- So it has in every function that takes a preset, and in a trigger.
CREATE TABLE bare (subject text, body text, fp bigint, is_duplicate boolean);
CREATE TRIGGER bare BEFORE INSERT ON bare FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'flag=is_duplicate', 'lock=off', 'weights={"subject": 1, "body": 3}');
INSERT INTO bare VALUES ('Lamp', 'The street lamp is dark'), ('路灯', '路灯坏了两个星期');
SELECT bool_and(simhash64(body) = simhash64(body, preset => 'adaptive')) AS text,
	bool_and(simhash64(b, '{"subject": 1, "body": 3}') = simhash64(b, '{"subject": 1, "body": 3}', 'adaptive')) AS "row",
	bool_and(fp = simhash64(b, '{"subject": 1, "body": 3}', 'adaptive')) AS trigger,
	bool_and(simhash32(body) = simhash32(body, preset => 'adaptive')) AS narrow,
	bool_and(simhash128(b) = simhash128(b, preset => 'adaptive')) AS wide,
	bool_and(simhash_cosine(subject, body) = simhash_cosine(subject, body, preset => 'adaptive')) AS cosine,
	bool_and(ARRAY(SELECT f FROM simhash_features(body) AS f) = ARRAY(SELECT f
		FROM simhash_features(body, preset => 'adaptive') AS f)) AS features,
	bool_and(ARRAY(SELECT f FROM simhash_features(b) AS f) = ARRAY(SELECT f FROM simhash_features(b, preset => 'adaptive') AS f)) AS of_row,
	bool_and(simhash64(body) <> simhash64(body, preset => 'words') AND fp <> simhash64(b, '{"subject": 1, "body": 3}', 'words')) AS not_words
FROM bare AS b;

-- Features: what they weigh is the share of the bits.
SELECT column_name, feature, tf, round(weight::numeric, 4) AS weight
FROM simhash_features(ROW('路灯坏了', 'Lamp 12'), '{"f1": 3, "f2": 1}', 'shingles')
ORDER BY 1, 2;
SELECT column_name, feature, round(weight::numeric, 4) AS weight
FROM simhash_features(ROW(date '2024-02-29', 1205.50, 'Ann'), preset => 'record')
ORDER BY 1, 2;

-- A tsvector has lexemes, in these presets too.
SELECT feature, tf FROM simhash_features(ROW('lamp:1A street:2'::tsvector), preset => 'record');
-- A column without features takes no part, whatever its weight; nothing has no fingerprint. Points alone are symbols, which count.
CREATE TABLE petition (id int PRIMARY KEY, subject text, body text);
INSERT INTO petition VALUES
	(1, 'Street lamp', 'The street lamp in front of number 12 has been dark for two weeks, please have it repaired'),
	(2, NULL, 'The street lamp in front of number 12 has been dark for two weeks, please have it repaired'),
	(3, NULL, NULL), (4, '', '...'),
	(5, 'street lamp!', 'The street lamp in front of number 12 has been dark for three weeks. Please have it repaired'),
	(6, 'Bus', 'Bus 7 no longer stops at the market, which is hard for people who cannot walk far');
SELECT preset, id, simhash64(p, '{"subject": 1, "body": 1}', preset) IS NULL AS nothing,
	simhash64(p, '{"subject": 1, "body": 1}', preset)
		= simhash64(ROW(p.body), '{"$columns": ["body"]}', preset) AS body_alone
FROM petition AS p, unnest(ARRAY['adaptive', 'minwise', 'shingles', 'record']) AS preset
ORDER BY 1, 2;

-- Generated columns, the index, and triggers take them as any other preset.
ALTER TABLE petition ADD fp bigint GENERATED ALWAYS AS (
	simhash64(ROW(subject, body), '{"$columns": ["subject", "body"], "subject": 1, "body": 3}', 'shingles')) STORED;
CREATE INDEX ON petition USING simhash (fp);
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT id FROM petition WHERE fp <~> 0 <= 3;
SELECT a.id, b.id, a.fp <~> b.fp AS distance
FROM petition AS a JOIN petition AS b ON a.fp <~> b.fp <= 15 AND a.id < b.id ORDER BY 1, 2;
CREATE TABLE flagged (id int PRIMARY KEY, body text, fp bigint, duplicate_of int);
CREATE INDEX ON flagged USING simhash (fp);
CREATE TRIGGER duplicates BEFORE INSERT OR UPDATE ON flagged FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'radius=12', 'duplicate_of=duplicate_of', 'weights={"body": 1}', 'preset=minwise');
INSERT INTO flagged (id, body) SELECT id, body FROM petition WHERE id <> 2;
SELECT id, duplicate_of FROM flagged ORDER BY id;

-- The mean distance is that of the similarity: draws are texts whose words all have another number in front.
CREATE FUNCTION words(draw int, first int, last int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(draw || 'x' || n, ' ') FROM generate_series(first, last) AS n
$$;
-- 40 of 60 words are common: 32 (1 - 2/3) = 10.67; its standard error is 0.06.
SELECT abs(avg(simhash64(words(draw, 1, 50), preset => 'minwise') <~> simhash64(words(draw, 11, 60), preset => 'minwise'))
	- 32.0 / 3) < 0.3 AS unbiased
FROM generate_series(1, 2000) AS draw;

-- Refused.
SELECT simhash64('a', preset => 'minwize');
SELECT simhash64('a', preset => 'default');
SELECT simhash64_margin('a'::text);
SELECT simhash64('a', '{"stop_words": true}');
SELECT simhash64(ROW('a', 'b'), '{"f1": 1, "f2": {"idf": {"documents": 1, "terms": {}}}}', 'record');
SELECT simhash64_margin('a'::text, preset => 'shingles');
SELECT simhash64_margin(ROW('a'), preset => 'record');

SET client_min_messages = warning;
DROP SCHEMA minwise_test CASCADE;
