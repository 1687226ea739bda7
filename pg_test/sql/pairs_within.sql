-- within: simhash_pairs of one relation and of two, and simhash_clusters, among rows that are equal in some columns.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA pairs_within;
SET search_path = pairs_within, public;

CREATE TABLE t (id int PRIMARY KEY, name text, tenant int, "the Lang" varchar(10), fp bigint, body text);
INSERT INTO t SELECT i, 'row ' || i, nullif(i * 7919 % 13 % 5, 4), nullif((ARRAY['da', 'de', 'none'])[i % 3 + 1], 'none'),
	CASE WHEN i % 10 = 0 THEN NULL WHEN i > 700 THEN 42 # (i % 4) ELSE hashint8extended(i / 9, 1) # (1::bigint << i % 64) END,
	repeat('text ' || i / 40, 20)
FROM generate_series(1, 800) i;
CREATE TABLE other (id text, tenant bigint, "the Lang" text, print bigint);
INSERT INTO other SELECT 'row ' || i, i % 4, (ARRAY['da', 'de', NULL])[i % 3 + 1],
	CASE WHEN i > 280 THEN 43 ELSE hashint8extended(i / 5, 1) # (1::bigint << i % 60) END
FROM generate_series(1, 300) i;

CREATE VIEW pairs_of_t AS SELECT x.id::bigint AS a, y.id::bigint AS b, bit_count((x.fp # y.fp)::bit(64))::int AS distance,
	x.tenant = y.tenant AS same_tenant, x."the Lang" = y."the Lang" AS same_lang FROM t x, t y WHERE x.id < y.id;
CREATE VIEW pairs_across AS SELECT x.name AS a, y.id AS b, bit_count((x.fp # y.print)::bit(64))::int AS distance,
	x.tenant = y.tenant AS same_tenant, x."the Lang" = y."the Lang" AS same_lang FROM t x, other y;
-- Pairs that one side has and the other has not, and pairs that come twice.
CREATE FUNCTION faults(relation regclass, call text, k int, within text[], OUT pairs bigint, OUT missing bigint,
	OUT wrong bigint, OUT twice bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('WITH found AS MATERIALIZED (SELECT * FROM %s), wanted AS MATERIALIZED (SELECT a, b, distance FROM %s
			WHERE distance <= $1 AND (same_tenant OR NOT ''tenant'' = ANY ($2)) AND (same_lang OR NOT ''the Lang'' = ANY ($2)))
		SELECT (SELECT count(*) FROM wanted), (SELECT count(*) FROM (TABLE wanted EXCEPT TABLE found) x),
			(SELECT count(*) FROM (TABLE found EXCEPT TABLE wanted) x), (SELECT count(*) - count(DISTINCT (a, b)) FROM found)', call, relation)
	INTO pairs, missing, wrong, twice USING k, within;
END $$;
CREATE TABLE asked AS SELECT * FROM (VALUES ('{tenant}'::text[]), ('{tenant,the Lang}'), ('{the Lang,tenant}'), ('{}')) w (within),
	unnest('{0,3,64}'::int[]) k;
SELECT within, k, f.* FROM asked, faults('pairs_of_t', 'simhash_pairs(''t'', ''id'', ''fp'', $1, $2::text)', k, within) f ORDER BY 1, 2;
SELECT within, k, f.* FROM asked, faults('pairs_across',
	'simhash_pairs_between(''t'', key_type_a => NULL::text, columns_a => ''fp'', relation_b => ''other'', key_type_b => NULL::text, columns_b => ''print'', key_a => ''name'', key_b => ''id'', radius => $1, within => $2::text)', k, within) f
ORDER BY 1, 2;
SET work_mem = '64kB';
SELECT within, k, f.* FROM asked, faults('pairs_across',
	'simhash_pairs_between(''t'', key_type_a => NULL::text, columns_a => ''fp'', relation_b => ''other'', key_type_b => NULL::text, columns_b => ''print'', key_a => ''name'', key_b => ''id'', radius => $1, within => $2::text)', k, within) f
WHERE k = 3 ORDER BY 1;
RESET work_mem;
-- With a worker for each group, in the middle of the query that reads them.
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 1e9;
SELECT within, k, f.* FROM asked, faults('pairs_of_t', 'simhash_pairs(''t'', ''id'', ''fp'', $1, $2::text)', k, within) f WHERE k = 3 ORDER BY 1;
SELECT within, k, f.* FROM asked, faults('pairs_across',
	'simhash_pairs_between(''t'', key_type_a => NULL::text, columns_a => ''fp'', relation_b => ''other'', key_type_b => NULL::text, columns_b => ''print'', key_a => ''name'', key_b => ''id'', radius => $1, within => $2::text)', k, within) f
WHERE k = 3 ORDER BY 1;
-- And where the query that reads them is parallel itself.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT count(*) FROM simhash_pairs('t', 'id', 'fp', 3, '{tenant}');
SELECT count(*) FROM simhash_pairs('t', 'id', 'fp', 3);
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
-- Named, as an array, with the default radius; the rows of one group in files, those of others in memory.
SELECT count(*) AS pairs, count(*) = (SELECT count(*) FROM pairs_of_t WHERE distance <= 3 AND same_tenant) AS right
FROM simhash_pairs('t', 'id', 'fp', within => 'tenant');
CREATE TABLE sizes AS SELECT i AS id, CASE WHEN i <= 20000 THEN i % 2 ELSE i / 3 END AS tenant, hashint8extended(i / 4, 1) AS fp
FROM generate_series(1, 24000) i;
CREATE TABLE in_memory AS SELECT * FROM simhash_pairs('sizes', 'id', 'fp', 0, '{tenant}');
SET work_mem = '64kB';
SELECT count(*), (SELECT count(*) FROM in_memory) AS in_memory,
	(SELECT count(*) FROM sizes x JOIN sizes y ON x.fp = y.fp AND x.tenant = y.tenant AND x.id < y.id) AS wanted,
	count(*) FILTER (WHERE m.a IS NULL) AS differing
FROM simhash_pairs('sizes', key_type => NULL::bigint, columns => 'fp', key => 'id', radius => 0, within => '{tenant}') p FULL JOIN in_memory m USING (a, b, distance);
RESET work_mem;

-- Equal is what the type's default order says: numbers of another scale, values of another spelling, rows with a
-- field that is NULL.
CREATE TYPE place AS (x int, y int);
CREATE DOMAIN tag AS numeric;
CREATE TABLE odd (id int, n tag, p place, fp bigint);
INSERT INTO odd VALUES (1, 1.0, (1, NULL), 7), (2, 1.00, (1, NULL), 7), (3, 1, (NULL, NULL), 7), (4, 2, (NULL, NULL), 7),
	(5, NULL, NULL, 7), (6, NULL, NULL, 7);
SELECT a, b FROM simhash_pairs('odd', 'id', 'fp', 0, '{n}') ORDER BY 1, 2;
SELECT a, b FROM simhash_pairs('odd', 'id', 'fp', 0, '{p}') ORDER BY 1, 2;
SELECT a, b FROM simhash_pairs('odd', 'id', 'fp', 0, '{n,p}') ORDER BY 1, 2;
-- Rows of two relations that have the same key.
SELECT a, b FROM simhash_pairs_between('odd', 'id', 'fp', 'odd', 'id', 'fp', 0, '{id}') ORDER BY 1, 2;

-- Clusters: those of each tenant alone.
CREATE VIEW of_tenant AS SELECT * FROM t WHERE tenant = current_setting('pairs_within.tenant')::int;
CREATE FUNCTION cluster_faults(method text, "text" name, within text[], k int) RETURNS TABLE (clusters bigint, rows bigint,
	faults bigint) LANGUAGE sql AS $$
	WITH found AS MATERIALIZED (SELECT * FROM simhash_clusters('pairs_within.t', 'id', 'fp', k, method, "text", within => within::text)),
	tenants AS (SELECT DISTINCT tenant FROM pairs_within.t WHERE tenant IS NOT NULL),
	wanted AS MATERIALIZED (SELECT c.* FROM tenants,
		LATERAL (SELECT set_config('pairs_within.tenant', tenant::text, true)) s (tenant),
		LATERAL simhash_clusters('pairs_within.of_tenant', 'id', 'fp', k + 0 * length(s.tenant), method, "text") c)
	SELECT count(DISTINCT cluster_id), count(*),
		(SELECT count(*) FROM (TABLE found EXCEPT TABLE wanted) x) + (SELECT count(*) FROM (TABLE wanted EXCEPT TABLE found) x) FROM found
$$;
SELECT method, "text", f.* FROM unnest('{components,star,leader}'::text[]) method, unnest('{NULL,body}'::name[]) "text",
	cluster_faults(method, "text", '{tenant}', 4) f ORDER BY 1, 2 NULLS FIRST;
SELECT count(*) AS rows, count(*) FILTER (WHERE c IS DISTINCT FROM k) AS differing
FROM simhash_clusters('t', 'id', 'fp', 3, within => '{tenant,the Lang}') c
JOIN simhash_clusters('t', key_type => NULL::bigint, columns => 'fp', key => 'id', radius => 3, within => '{tenant,the Lang}') k USING (key);
-- Keys that are equal in different groups, with pairs there, do not tell rows apart.
CREATE TABLE same_keys (id int, tenant int, fp bigint);
INSERT INTO same_keys VALUES (1, 1, 7), (2, 1, 7), (1, 2, 7), (3, 2, 99);
SELECT cluster_id, key, size FROM simhash_clusters('same_keys', 'id', 'fp', 0, within => '{tenant}');
UPDATE same_keys SET fp = 7;
SELECT cluster_id, key, size FROM simhash_clusters('same_keys', 'id', 'fp', 0, within => '{tenant}');

-- Errors.
CREATE TABLE wrong (id int, j json, fp bigint, tenant text);
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', 3, '{nope}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', 3, '{ctid}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', 3, '{j}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', 3, '{tenant,j,tenant}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', 3, '{tenant,tenant}');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', 3, 'tenant,');
SELECT * FROM simhash_pairs('wrong', 'id', 'fp', 3, '{fp}');
SELECT * FROM simhash_clusters('wrong', 'id', 'fp', within => '{id}');
SELECT * FROM simhash_clusters('wrong', key_type => NULL::int, columns => 'fp', key => 'id', within => '{nope}');
SELECT * FROM simhash_pairs_between('wrong', 'id', 'fp', 'same_keys', 'id', 'fp', 3, '{j}');
SELECT * FROM simhash_pairs_between('same_keys', 'id', 'fp', 'wrong', 'id', 'fp', 3, '{fp}');
SELECT * FROM simhash_pairs_between('t', 'id', 'fp', 'wrong', 'id', 'fp', 3, '{the Lang}');
\set VERBOSITY sqlstate
SELECT * FROM simhash_pairs_between('same_keys', 'id', 'fp', 'wrong', 'id', 'fp', 3, '{tenant}');
\set VERBOSITY default

SET client_min_messages = warning;
DROP SCHEMA pairs_within CASCADE;
