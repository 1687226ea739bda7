-- Rows spread by keys, as over several servers: a near pair meets at one key, and groups by key give the pairs and clusters of the whole.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA routes_test;
SET search_path = routes_test, public;

-- Keys stand in users' tables: these must not change.
SELECT radius, simhash_route(-4236958079149165197, radius) AS keys FROM unnest('{0,1,2,3,6}'::int[]) AS radius;
SELECT cardinality(simhash_route(0, radius)) AS keys, (simhash_route(-1, radius))[radius + 1] AS last
FROM unnest('{15,31,63}'::int[]) AS radius;
SELECT simhash_route(NULL, 3) AS no_fingerprint, simhash_route(1, NULL) AS no_radius, simhash_meet(1, NULL, 3) AS no_pair;
SELECT simhash_route(1, -1);
SELECT simhash_route(1, 64);
SELECT simhash_meet(1, 2, 64);

-- The first of the keys that both have; those beyond the radius may share one or none.
SELECT simhash_meet(5, 5, 3) AS equal, simhash_meet(5, 4, 3) AS second, simhash_meet(0, x'0001000100010001'::bigint, 4) AS fifth,
	simhash_meet(0, x'0001000100010001'::bigint, 3) AS beyond, simhash_meet(0, 15, 3) AS beyond_but_shared;

-- Uniform rows, some NULL, every 20th a near copy; in the other table a fifth has one key, and many are equal.
CREATE TABLE uniform AS
SELECT i::bigint AS id, CASE WHEN i % 501 = 0 THEN NULL
	WHEN i % 20 = 0 THEN hashint8extended(i - 1 - i % 7, 0) # (1::bigint << (i * 7 % 64)) # (1::bigint << (i * 13 % 64)) # CASE
	WHEN i % 3 = 0 THEN 1::bigint << (i * 29 % 64) ELSE 0 END
	ELSE hashint8extended(i, 0) END AS fp
FROM generate_series(1, 3000) AS i;
CREATE TABLE skewed AS
SELECT id, CASE WHEN id % 5 = 1 THEN (fp & ~65535::bigint) | 4711 WHEN id % 7 = 1 THEN 99::bigint << (id % 3)::int
	ELSE fp END AS fp FROM uniform;

-- Rows where the two differ: none. The oracle is simhash_pairs of the whole, which other tests compare with brute force.
CREATE FUNCTION differing_pairs(rows_of regclass, radius int) RETURNS TABLE (whole bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH keyed AS MATERIALIZED (SELECT key, id, fp FROM %1$s, unnest(simhash_route(fp, %2$s)) AS key),
		whole AS MATERIALIZED (SELECT a, b, distance FROM simhash_pairs(%1$L, 'id', 'fp', %2$s)),
		grouped AS MATERIALIZED (SELECT p.* FROM (SELECT key, array_agg(id) AS ids, array_agg(fp) AS fps FROM keyed GROUP BY key) AS g,
			simhash_group_pairs(g.ids, g.fps, %2$s, g.key) AS p),
		joined AS MATERIALIZED (SELECT a.id, b.id, a.fp <~> b.fp FROM keyed AS a JOIN keyed AS b ON a.key = b.key AND a.id < b.id
			AND a.fp <~> b.fp <= %2$s
			WHERE simhash_meet(a.fp, b.fp, %2$s) = a.key),
		at_once AS MATERIALIZED (SELECT p.* FROM (SELECT array_agg(id) AS ids, array_agg(fp) AS fps FROM %1$s) AS g,
			simhash_group_pairs(g.ids, g.fps, %2$s) AS p)
		SELECT (SELECT count(*) FROM whole), (SELECT count(*) FROM (
			(SELECT * FROM whole EXCEPT ALL SELECT * FROM grouped) UNION ALL (SELECT * FROM grouped EXCEPT ALL SELECT * FROM whole) UNION ALL
			(SELECT * FROM whole EXCEPT ALL SELECT * FROM joined) UNION ALL (SELECT * FROM joined EXCEPT ALL SELECT * FROM whole) UNION ALL
			(SELECT * FROM whole EXCEPT ALL SELECT * FROM at_once) UNION ALL (SELECT * FROM at_once EXCEPT ALL SELECT * FROM whole)) AS x)
		$q$, rows_of, radius);
END $$;
SELECT r AS radius, u.whole > 0 AS uniform_has, u.wrong, s.whole > 0 AS skewed_has, s.wrong
FROM unnest('{0,1,3,6,9}'::int[]) AS r, differing_pairs('uniform', r) AS u, differing_pairs('skewed', r) AS s;

-- Star edges of each key's group, closed by simhash_components.
CREATE FUNCTION differing_clusters(rows_of regclass, radius int) RETURNS TABLE (whole bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH keyed AS MATERIALIZED (SELECT key, id, fp FROM %1$s, unnest(simhash_route(fp, %2$s)) AS key),
		whole AS MATERIALIZED (SELECT key, cluster_id FROM simhash_clusters(%1$L, 'id', 'fp', %2$s)),
		edge AS (SELECT e.* FROM (SELECT array_agg(id) AS ids, array_agg(fp) AS fps FROM keyed GROUP BY key) AS g,
			simhash_group_clusters(g.ids, g.fps, %2$s) AS e
			WHERE e.key <> e.cluster_id),
		closed AS MATERIALIZED (SELECT c.* FROM (SELECT array_agg(key) AS a, array_agg(cluster_id) AS b FROM edge) AS e,
			simhash_components(e.a, e.b) AS c),
		at_once AS MATERIALIZED (SELECT c.* FROM (SELECT array_agg(id ORDER BY fp) AS ids, array_agg(fp ORDER BY fp) AS fps FROM %1$s) AS g,
			simhash_group_clusters(g.ids, g.fps, %2$s) AS c)
		SELECT (SELECT count(*) FROM whole), (SELECT count(*) FROM (
			(SELECT * FROM whole EXCEPT ALL SELECT * FROM closed) UNION ALL (SELECT * FROM closed EXCEPT ALL SELECT * FROM whole) UNION ALL
			(SELECT * FROM whole EXCEPT ALL SELECT * FROM at_once) UNION ALL (SELECT * FROM at_once EXCEPT ALL SELECT * FROM whole)) AS x)
		$q$, rows_of, radius);
END $$;
SELECT r AS radius, u.whole > 0 AS uniform_has, u.wrong, s.whole > 0 AS skewed_has, s.wrong
FROM unnest('{0,1,3,6,9}'::int[]) AS r, differing_clusters('uniform', r) AS u, differing_clusters('skewed', r) AS s;

-- A routed search: the rows that share a key with the question, each once.
CREATE TABLE keyed AS SELECT key, id, fp FROM skewed, unnest(simhash_route(fp, 3)) AS key;
SELECT count(*) AS questions, sum(cardinality(whole)) > 60 AS found, count(*) FILTER (WHERE whole IS DISTINCT FROM routed) AS wrong FROM (
	SELECT (SELECT array_agg(id ORDER BY id) FROM skewed WHERE bit_count((fp # q.fp)::bit(64)) <= 3) AS whole,
		(SELECT array_agg(id ORDER BY id) FROM keyed WHERE key = ANY (simhash_route(q.fp, 3)) AND fp <~> q.fp <= 3
			AND simhash_meet(fp, q.fp, 3) = key) AS routed
	FROM uniform AS q WHERE q.id % 50 = 0 OR q.id < 10) AS x;

-- Empty groups, groups of one, NULL arrays; a key more than once; keys of any sign.
SELECT * FROM simhash_group_pairs('{}', '{}', 3);
SELECT * FROM simhash_group_pairs('{1}', '{1}', 3);
SELECT * FROM simhash_group_pairs(NULL, '{1}', 3);
SELECT * FROM simhash_group_clusters('{1}', NULL, 3);
SELECT * FROM simhash_group_pairs('{3,-2,3,9}', '{1,1,3,NULL}', 3) ORDER BY 1, 2, 3;
SELECT * FROM simhash_group_clusters('{3,-2,7,9,5}', '{1,1,-1,NULL,-2}', 3) ORDER BY 1;
SELECT * FROM simhash_components('{}', '{}');
SELECT * FROM simhash_components(NULL, '{}');
SELECT * FROM simhash_components('{5,-9223372036854775808,3,8}', '{3,9223372036854775807,4,8}') ORDER BY 1;
SELECT c.* FROM (SELECT array_agg(i) AS a, array_agg(i + 1) AS b FROM generate_series(1::bigint, 100000) AS i) AS line,
	simhash_components(a, b) AS c WHERE c.key = 100001;
-- Arrays of plpgsql variables are expanded ones; elements in the middle that are NULL.
DO $$
DECLARE
	keys bigint[] := '{}';
	fps bigint[] := '{}';
BEGIN
	FOR i IN 1 .. 70 LOOP
		keys[i] := i;
		fps[i] := CASE WHEN i % 3 = 0 THEN NULL ELSE i % 2 END;
	END LOOP;
	RAISE WARNING '% pairs within 0, % within 1', (SELECT count(*) FROM simhash_group_pairs(keys, fps, 0)),
		(SELECT count(*) FROM simhash_group_pairs(keys, fps, 1));
END $$;

-- What is wrong is said.
SELECT * FROM simhash_group_pairs('{1,2}', '{1}', 3);
SELECT * FROM simhash_group_pairs('{1,NULL}', '{1,2}', 3);
SELECT * FROM simhash_group_pairs('{{1,2}}', '{{1,2}}', 3);
SELECT * FROM simhash_group_pairs('{1,2}', '{1,2}', 65);
SELECT * FROM simhash_group_pairs('{1,2}', '{1,2}', NULL);
SELECT * FROM simhash_group_pairs('{1,2}', '{1,2}', 3, 1);
SELECT * FROM simhash_group_pairs('{1,2}', '{1,2}', 3, 262144);
SELECT * FROM simhash_group_pairs('{1,2}', '{1,2}', 64, 1);
SELECT * FROM simhash_group_clusters('{1,2}', '{1}', 3);
SELECT * FROM simhash_group_clusters('{1,2}', '{1,2}', -1);
SELECT * FROM simhash_components('{1,2}', '{1}');
SELECT * FROM simhash_components('{1,2}', '{1,NULL}');

SET client_min_messages = error;
DROP SCHEMA routes_test CASCADE;
