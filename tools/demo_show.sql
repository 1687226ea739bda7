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

-- A row to search for: one with a few near-duplicates, of other sources if there are, that are not equal to it.
SELECT p.id, p.package, p.fp
FROM package p,
	LATERAL (SELECT count(*) AS n, count(DISTINCT o.source) AS sources FROM package o
		WHERE o.fp <~> p.fp <= 8 AND o.fp <> p.fp) near
WHERE p.id % 50 = 7 AND length(p.body) > 300 AND n BETWEEN 2 AND 5
ORDER BY sources DESC, n DESC, p.id LIMIT 1
\gset

\echo
\echo == is there already a text like that of :package ? fingerprints that differ in at most 8 of 64 bits
\set ECHO queries
SELECT fp <~> :fp AS distance, package, left(body, 80) AS text
FROM package WHERE fp <~> :fp <= 8 ORDER BY distance, package;

EXPLAIN (ANALYZE, COSTS OFF)
SELECT package FROM package WHERE fp <~> :fp <= 8;
\set ECHO none

\echo == the same in Chinese: pairs of descriptions that are alike but not equal
\set ECHO queries
SELECT a.fp <~> b.fp AS distance, a.package AS a, b.package AS b, right(a.body, 24) AS end_of_a, right(b.body, 24) AS end_of_b
FROM package_zh a JOIN package_zh b ON a.fp <~> b.fp <= 8 AND a.id < b.id
WHERE a.fp <> b.fp ORDER BY distance, a.id, b.id LIMIT 4;
\set ECHO none

\echo == groups of near-duplicates, checked by their texts: the five largest
\set ECHO queries
\timing on
CREATE TEMP TABLE member AS
SELECT * FROM simhash_clusters('package', 'id', 'fp', 8, text => 'body');
\timing off
SELECT max(size) AS rows, min(left(p.body, 90)) AS text
FROM member JOIN package p ON p.id = key GROUP BY cluster_id ORDER BY rows DESC, cluster_id LIMIT 5;
\set ECHO none

-- ---- the table at the end -----------------------------------------------------------------------------------------

-- The median of a query's times in ms, through the index or without it.
CREATE FUNCTION pg_temp.median_ms(query text, indexed boolean, runs int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz;
	ms float8[];
BEGIN
	PERFORM set_config('enable_indexscan', indexed::text, true), set_config('enable_bitmapscan', indexed::text, true);
	FOR run IN 0 .. runs LOOP
		started := clock_timestamp();
		EXECUTE query;
		-- The first run is not counted.
		ms := ms || CASE WHEN run > 0 THEN 1000 * extract(epoch FROM clock_timestamp() - started)::float8 END;
	END LOOP;
	RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(ms) t);
END $$;
SET max_parallel_workers_per_gather = 0;
CREATE TEMP TABLE asked (place int, question text, answer text, query text);
INSERT INTO asked VALUES
	(1, 'which rows are within 3 bits of one?', (SELECT count(*) FROM package WHERE fp <~> :fp <= 3) || ' rows',
		format('SELECT package FROM package WHERE fp <~> %s <= 3', :fp)),
	(2, 'which rows are within 8 bits of one?', (SELECT count(*) FROM package WHERE fp <~> :fp <= 8) || ' rows',
		format('SELECT package FROM package WHERE fp <~> %s <= 8', :fp)),
	(3, 'which ten rows are nearest to one?', '10 rows',
		format('SELECT package FROM package ORDER BY fp <~> %s LIMIT 10', :fp));
\echo == what this machine did

SELECT question, answer, to_char(by_index, 'FM999990.00') || ' ms' AS "with the index",
	to_char(without, 'FM999990.00') || ' ms' AS "reading all rows", round(without / by_index) || ' times' AS "faster"
FROM (SELECT *, pg_temp.median_ms(query, true, 50) AS by_index, pg_temp.median_ms(query, false, 10) AS without
	FROM asked) timed ORDER BY place;
SELECT (SELECT count(*) FROM member) || ' of ' || count(*) || ' texts are near-duplicates of another one, in '
	|| (SELECT count(DISTINCT cluster_id) FROM member) || ' groups' AS "in all",
	pg_size_pretty(pg_relation_size('package')) AS "table", pg_size_pretty(pg_relation_size('package_fp')) AS "index"
FROM package;
