-- make demo: what the extension answers. Reads like a session of psql.
\set QUIET on
\pset footer off
\pset null '-'

\echo
\echo == an index on the fingerprints
\set ECHO queries
\timing on
CREATE INDEX package_fp ON package USING simhash (fp);
\timing off
\set ECHO none
VACUUM ANALYZE package;
CREATE INDEX package_zh_fp ON package_zh USING simhash (fp);
VACUUM ANALYZE package_zh;
SELECT count(*) AS rows, pg_size_pretty(pg_relation_size('package')) AS "table",
	pg_size_pretty(pg_relation_size('package_fp')) AS "index",
	round(pg_relation_size('package_fp')::numeric / count(*), 1) AS "bytes a row"
FROM package;

-- A row to search for: one with a few near-duplicates that are not equal to it.
SELECT p.id, p.package, p.fp
FROM package p,
	LATERAL (SELECT count(*) AS n, count(DISTINCT o.source) AS sources FROM package o
		WHERE o.fp <~> p.fp <= 3 AND o.fp <> p.fp) near
WHERE p.id % 50 = 7 AND length(p.body) > 300 AND n BETWEEN 2 AND 8
ORDER BY sources DESC, n DESC, p.id LIMIT 1
\gset

\echo == near-duplicates of package :package : fingerprints that differ in at most 3 of 64 bits
\set ECHO queries
SELECT fp <~> :fp AS distance, package, left(subject, 60) AS subject
FROM package WHERE fp <~> :fp <= 3 ORDER BY distance, package;

EXPLAIN (ANALYZE, COSTS OFF)
SELECT package FROM package WHERE fp <~> :fp <= 3;
\set ECHO none

\echo == the same search without the index reads every row
SET enable_indexscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0;
\set ECHO queries
EXPLAIN (ANALYZE, COSTS OFF)
SELECT package FROM package WHERE fp <~> :fp <= 3;
\set ECHO none
RESET enable_indexscan; RESET enable_bitmapscan; RESET max_parallel_workers_per_gather;

\echo == the ten rows nearest to :package , at whatever distance
\set ECHO queries
SELECT fp <~> :fp AS distance, package, left(subject, 60) AS subject
FROM package ORDER BY fp <~> :fp LIMIT 10;

EXPLAIN (ANALYZE, COSTS OFF)
SELECT package FROM package ORDER BY fp <~> :fp LIMIT 10;
\set ECHO none

\echo == every pair of near-duplicates, by a join through the index
\set ECHO queries
\timing on
CREATE TEMP TABLE near AS
SELECT a.fp AS a, b.fp AS b
FROM (SELECT DISTINCT fp FROM package) a JOIN package b ON a.fp <~> b.fp <= 3 AND a.fp < b.fp
GROUP BY 1, 2;
\timing off
\set ECHO none
\echo

-- Groups: every fingerprint takes the smallest label among its neighbours until nothing changes.
CREATE TEMP TABLE label AS SELECT DISTINCT fp, fp AS label FROM package WHERE fp IS NOT NULL;
INSERT INTO near SELECT b, a FROM near;
CREATE INDEX ON near (a); CREATE INDEX ON label (fp);
ANALYZE near; ANALYZE label;
DO $$
BEGIN
	LOOP
		UPDATE label l SET label = m.label
		FROM (SELECT n.a, min(o.label) AS label FROM near n JOIN label o ON o.fp = n.b GROUP BY n.a) m
		WHERE m.a = l.fp AND m.label < l.label;
		EXIT WHEN NOT FOUND;
	END LOOP;
END $$;
CREATE TEMP TABLE member AS
SELECT label, p.* FROM package p JOIN label USING (fp);

\echo == the largest groups of near-duplicates, three members of each
SELECT rows, package, left(subject, 44) AS subject, left(body, 70) AS text
FROM (SELECT m.*, count(*) OVER w AS rows, row_number() OVER (PARTITION BY label ORDER BY package) AS n
		FROM member m WINDOW w AS (PARTITION BY label)) x
WHERE n <= 3
ORDER BY rows DESC, label, n LIMIT 18;

SELECT count(*) FILTER (WHERE rows > 1) AS "groups", coalesce(sum(rows) FILTER (WHERE rows > 1), 0) AS "rows in groups",
	sum(rows) AS "all rows"
FROM (SELECT count(*) AS rows FROM member GROUP BY label) x;

\echo == Chinese text: near-duplicates among 1,322 descriptions
\set ECHO queries
SELECT DISTINCT ON (b.id) b.fp <~> a.fp AS distance, a.package AS a, b.package AS b,
	left(a.subject, 18) AS a_subject, left(b.subject, 18) AS b_subject, left(b.body, 20) AS b_text
FROM package_zh a JOIN package_zh b ON a.fp <~> b.fp <= 3 AND a.id < b.id
WHERE left(a.package, 8) <> 'aptitude'
ORDER BY b.id LIMIT 10;
\set ECHO none

\echo == why a row has its fingerprint: the heaviest features of one text
\set ECHO queries
SELECT column_name, feature, tf, round(weight::numeric, 3) AS weight
FROM simhash_features(ROW('古代战争实时策略游戏', '基于历史的战争游戏，允许游戏者改写历史'), '{"f1": 1, "f2": 3}', 'plain')
ORDER BY weight DESC, feature LIMIT 8;
\set ECHO none
