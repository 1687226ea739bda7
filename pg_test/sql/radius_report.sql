-- simhash_radius_report: exact when every row is in the sample; estimates, intervals, examples, errors.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA radius_test;
SET search_path = radius_test, public;

-- Families of 1 to 7 rows, whose texts change with their fingerprints; 40 equal rows; some rows without a
-- fingerprint, or without a text.
CREATE FUNCTION turned(fp bigint, seed bigint, n int) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(bit_xor(1::bigint << (abs(hashint8extended(i, seed)) % 64)::int), 0) # fp FROM generate_series(1, n) i
$$;
CREATE TABLE t (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO t SELECT i, CASE WHEN i % 50 <> 0 THEN turned(hashint8extended(i / 7, 1), i, i % 6) END, (SELECT string_agg(w, ' ') FROM (
	SELECT md5((i / 7 * 100 + CASE WHEN abs(hashint8extended(i * 31 + j, 5)) % 40 < i % 7 THEN i * 1000 ELSE 0 END + j)::text) AS w
	FROM generate_series(1, 12) j) x)
FROM generate_series(1, 1000) i;
INSERT INTO t SELECT i, 42, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN '.'
	ELSE 'the lamp of number ' || i % 4 || ' is dark, please repair it' END
FROM generate_series(1001, 1040) i;
CREATE TABLE pair AS SELECT a.id AS a, b.id AS b, bit_count((a.fp # b.fp)::bit(64))::int AS distance,
	CASE WHEN bit_count((a.fp # b.fp)::bit(64)) <= 12 THEN simhash_jaccard(a.body, b.body) END AS jaccard
FROM t a JOIN t b ON a.id < b.id AND a.fp IS NOT NULL AND b.fp IS NOT NULL;

-- A sample of all rows: the true numbers, without an interval.
SELECT count(*) AS distances, sum(r.pairs) AS pairs,
	count(*) FILTER (WHERE (r.pairs, pairs_low, pairs_high) IS DISTINCT FROM (coalesce(p.pairs, 0), coalesce(p.pairs, 0),
		coalesce(p.pairs, 0))) AS wrong
FROM simhash_radius_report('t', 'id', 'fp', max_radius => 64) r
LEFT JOIN (SELECT distance, count(*) AS pairs FROM pair GROUP BY 1) p USING (distance);
-- Those of rows that are equal in some columns, and different in others.
CREATE VIEW owned AS SELECT *, nullif(id % 4, 3) AS tenant, nullif(id / 5 % 3, 2) AS source FROM t;
CREATE VIEW owned_pair AS SELECT p.distance, a.tenant = b.tenant AS same_tenant, a.source = b.source AS same_source
FROM pair p JOIN owned a ON a.id = p.a JOIN owned b ON b.id = p.b;
SELECT within, across, sum(pairs) AS pairs, count(*) FILTER (WHERE (pairs, pairs_low, pairs_high) IS DISTINCT FROM (wanted,
	wanted, wanted)) AS wrong
FROM (VALUES ('{tenant}'::text[], '{}'::text[]), ('{}', '{tenant}'), ('{tenant}', '{source}'), ('{tenant,source}', '{}'),
	('{}', '{tenant,source}')) c (within, across),
	LATERAL simhash_radius_report('owned', 'id', 'fp', max_radius => 20, within => within::text, across => across::text) r,
	LATERAL (SELECT count(*) AS wanted FROM owned_pair p WHERE p.distance = r.distance
		AND (same_tenant OR NOT 'tenant' = ANY (within)) AND (same_source OR NOT 'source' = ANY (within))
		AND (across = '{}' OR ((same_tenant OR NOT 'tenant' = ANY (across)) AND (same_source OR NOT 'source' = ANY (across))) IS NOT TRUE)) w
GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM simhash_radius_report('owned', 'id', 'fp', within => '{tenant}', across => '{tenant}');
-- With texts: where at most 200 pairs are, all of them are compared.
DELETE FROM pair WHERE distance > 12;
CREATE TEMP TABLE report AS SELECT * FROM simhash_radius_report('t', 'id', 'fp', 'body', 12, 5000);
SELECT distance, r.pairs, r.compared, p.compared AS wanted,
	round(jaccard_mean::numeric, 9) = round(p.mean::numeric, 9) AS mean, jaccard_p5 = p.p5 AS p5, jaccard_median = p.median AS median,
	(SELECT jaccard FROM pair WHERE ARRAY[a::text, b::text] @> low_example AND pair.distance = r.distance) = jaccard_p5 AS low_example,
	(SELECT jaccard FROM pair WHERE ARRAY[a::text, b::text] @> median_example
		AND pair.distance = r.distance) >= jaccard_median AS median_example
FROM report r LEFT JOIN LATERAL (
	SELECT count(*) AS pairs, count(jaccard) AS compared, avg(jaccard) AS mean, percentile_disc(0.05) WITHIN GROUP (ORDER BY jaccard) AS p5,
		percentile_disc(0.5) WITHIN GROUP (ORDER BY jaccard) AS median
	FROM pair WHERE pair.distance = r.distance) p ON true
WHERE r.pairs <= 200 ORDER BY distance;
-- More than 200: 200 of them, some of whose texts are NULL or without letters.
SELECT distance, r.pairs, CASE WHEN distance > 0 THEN compared = 200 ELSE compared BETWEEN 80 AND 180 END AS compared,
	0 <= jaccard_p5 AND jaccard_p5 <= jaccard_median AND jaccard_median <= 1 AS percentiles
FROM report r WHERE r.pairs > 200 ORDER BY distance;
-- Without texts.
SELECT distance, pairs, compared, jaccard_mean, jaccard_p5, jaccard_median,
	(SELECT count(DISTINCT (a, b)) FROM pair WHERE pair.distance = r.distance
		AND (ARRAY[a::text, b::text] @> low_example OR ARRAY[a::text, b::text] @> median_example)) AS examples
FROM simhash_radius_report('t', 'id', 'fp', max_radius => 3) r;

-- A part of the rows: estimates near the truth, and what comes again after setseed.
SELECT setseed(0.5);
CREATE TEMP TABLE estimate AS SELECT * FROM simhash_radius_report('t', 'id', 'fp', 'body', sample => 400);
SELECT count(*) AS distances, count(*) FILTER (WHERE e.pairs <> r.pairs) > 0 AS estimates,
	count(*) FILTER (WHERE r.pairs BETWEEN e.pairs_low AND e.pairs_high) >= 9 AS within,
	count(*) FILTER (WHERE NOT e.pairs BETWEEN e.pairs_low AND e.pairs_high) AS outside
FROM estimate e JOIN report r USING (distance);
SELECT setseed(0.5);
SELECT count(*) AS same
FROM (SELECT * FROM estimate INTERSECT SELECT * FROM simhash_radius_report('t', 'id', 'fp', 'body', sample => 400)) x;
SELECT count(*) < 13 AS another
FROM (SELECT * FROM estimate INTERSECT SELECT * FROM simhash_radius_report('t', 'id', 'fp', 'body', sample => 400)) x;

-- Keys of any type, views, partitions, domains; a relation without rows, with one row, without fingerprints.
CREATE DOMAIN fingerprint AS bigint;
CREATE VIEW named AS SELECT 'Row "' || id || '"' AS "the Key", ARRAY[id] AS list, json_build_object('id', id) AS j,
	fp::fingerprint AS "the fp", body::varchar AS body FROM t WHERE id > 1033;
SELECT distance, pairs, compared, round(jaccard_mean::numeric, 3) AS mean, cardinality(low_example) AS keys,
	low_example[1] LIKE 'Row "10__"' AS text
FROM simhash_radius_report('named', 'the Key', 'the fp', 'body', 1);
SELECT pairs, low_example[1] LIKE '{10__}' AS text FROM simhash_radius_report('named', 'list', 'the fp', 'body', 0);
SELECT pairs, low_example[1] LIKE '{"id" : 10__}' AS text FROM simhash_radius_report('named', 'j', 'the fp', 'body', 0);
CREATE TABLE parted (LIKE t) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT * FROM t;
SELECT count(*) AS same
FROM (SELECT distance, pairs FROM report INTERSECT SELECT distance, pairs FROM simhash_radius_report('parted', 'id', 'fp')) x;
CREATE TABLE nothing (LIKE t);
SELECT * FROM simhash_radius_report('nothing', 'id', 'fp', 'body', 1);
INSERT INTO nothing VALUES (1, NULL, 'a'), (2, NULL, 'b');
SELECT * FROM simhash_radius_report('nothing', 'id', 'fp', max_radius => 0);
INSERT INTO nothing VALUES (3, 7, NULL);
SELECT * FROM simhash_radius_report('nothing', 'id', 'fp', 'body', 0);
INSERT INTO nothing VALUES (4, 7, NULL);
SELECT * FROM simhash_radius_report('nothing', 'id', 'fp', 'body', 0);

-- Row security and privileges are the caller's.
CREATE ROLE radius_reader;
GRANT USAGE ON SCHEMA radius_test TO radius_reader;
SET ROLE radius_reader;
SELECT * FROM simhash_radius_report('t', 'id', 'fp');
RESET ROLE;
GRANT SELECT (id, fp) ON t TO radius_reader;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON t FOR SELECT TO radius_reader USING (id > 1030);
SET ROLE radius_reader;
SELECT pairs, compared FROM simhash_radius_report('t', 'id', 'fp', max_radius => 0);
SELECT pairs, compared FROM simhash_radius_report('t', 'id', 'fp', 'body', max_radius => 0);
RESET ROLE;
DROP POLICY few ON t;
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON t FROM radius_reader;
REVOKE ALL ON SCHEMA radius_test FROM radius_reader;
DROP ROLE radius_reader;

-- Errors.
SELECT * FROM simhash_radius_report('t', 'id', 'fp', sample => 0);
SELECT * FROM simhash_radius_report('t', 'id', 'fp', sample => -7);
SELECT * FROM simhash_radius_report('t', 'id', 'fp', sample => NULL);
SELECT * FROM simhash_radius_report('t', 'id', 'fp', max_radius => 65);
SELECT * FROM simhash_radius_report('t', 'id', 'fp', max_radius => -1);
SELECT * FROM simhash_radius_report('t', 'id', 'fp', max_radius => NULL);
SELECT * FROM simhash_radius_report(NULL, 'id', 'fp');
SELECT count(*) FROM simhash_radius_report('t', NULL, 'fp');
SELECT count(passing) > 0 AS checked FROM simhash_radius_report('t', 'id', NULL);
SELECT * FROM simhash_radius_report(4294967290::oid, 'id', 'fp');
SELECT * FROM simhash_radius_report('t', 'nope', 'fp');
SELECT * FROM simhash_radius_report('t', 'id', 'nope');
SELECT count(passing) > 0 AS checked FROM simhash_radius_report('t', 'id', 'body');
SELECT * FROM simhash_radius_report('t', 'id', 'fp', 'nope');
SELECT * FROM simhash_radius_report('t', 'id', 'fp', 'id');
CREATE VIEW keyless AS SELECT nullif(id, 5) AS id, fp, body FROM t;
SELECT * FROM simhash_radius_report('keyless', 'id', 'fp');
CREATE VIEW twice AS SELECT id, fp, body FROM t UNION ALL SELECT id, fp, body FROM t WHERE id = 5;
SELECT * FROM simhash_radius_report('twice', 'id', 'fp');
SET work_mem = '64kB';
SELECT * FROM simhash_radius_report('t', 'id', 'fp');
-- The number that was asked for, and how many rows were too many.
DO $$
DECLARE
	detail text;
	most int;
BEGIN
	PERFORM simhash_radius_report('t', 'id', 'fp', sample => 1000000);
EXCEPTION WHEN configuration_limit_exceeded THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	most := substring(detail FROM '(\d+) rows');
	RAISE WARNING '%; %; %', SQLERRM, regexp_replace(detail, '\d+ rows', '... rows'), most BETWEEN 100 AND 1000;
END $$;
SELECT count(*) FROM simhash_radius_report('t', 'id', 'fp', 'body', 0, 300);
RESET work_mem;
DROP SCHEMA radius_test CASCADE;
