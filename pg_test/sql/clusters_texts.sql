-- simhash_clusters with a column of texts, for many rows of few fingerprints: which texts are compared, how many of them, in how much
-- memory. What is found is compared with the similarities of all pairs.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA clusters_texts;
SET search_path = clusters_texts, public;

-- Equal rows are one row with a count: thousands of them fit where a few hundred pairs do.
CREATE TABLE equals (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO equals SELECT i, CASE WHEN i <= 5000 THEN 42 ELSE hashint8extended(i / 2, 1) END,
	CASE i % 50 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'a hole in the road' ELSE 'the street lamp is dark' || left('!!', i % 3) END
FROM generate_series(1, 6000) i;
SET work_mem = '64kB';
SELECT method, text, count(*), count(DISTINCT cluster_id) AS clusters, max(size),
	count(*) FILTER (WHERE distance > 0) AS far, min(jaccard) AS jaccard
FROM (VALUES ('components', NULL), ('star', NULL), ('leader', NULL), ('components', 'body'), ('star', 'body'),
	('leader', 'body')) m (method, text),
	simhash_clusters('equals', 'id', 'fp', 3, method, text) GROUP BY 1, 2 ORDER BY 2 NULLS FIRST, 1;
RESET work_mem;
-- Texts of one fingerprint that all differ are compared with each other.
INSERT INTO equals SELECT 10000 + i, 43, md5(i::text) FROM generate_series(1, 100) i;
SET work_mem = '64kB';
SELECT count(*) FROM simhash_clusters('equals', 'id', 'fp', 0, 'star', 'body') WHERE key > 10000;
RESET work_mem;
SELECT count(*) FROM simhash_clusters('equals', 'id', 'fp', 0, 'star', 'body') WHERE key > 10000;
-- Stars of few different rows against the pairs of single rows.
CREATE TABLE few AS SELECT i AS id, (hashint8extended(i, 1) & 7) | (hashint8extended(i, 2) & 1) << 40 AS fp,
	(ARRAY['the street lamp is dark', 'The street lamp is dark!', 'the street lamp is dark now', 'a hole in the road', '',
		NULL])[1 + (hashint8extended(i, 3) & 7) % 6] AS body
FROM generate_series(1, 200) i;
CREATE FUNCTION faults_of_stars(lowest float8) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	centre record;
BEGIN
	CREATE TEMP TABLE near_rows AS SELECT a.id AS a, b.id AS b FROM few a, few b
		WHERE a.id <> b.id AND bit_count((a.fp # b.fp)::bit(64)) <= 1 AND simhash_jaccard(a.body, b.body) >= lowest;
	CREATE TEMP TABLE star AS SELECT DISTINCT a AS key, NULL::int AS representative FROM near_rows;
	FOR centre IN SELECT a AS id FROM near_rows GROUP BY a ORDER BY count(*) DESC, a LOOP
		CONTINUE WHEN (SELECT representative FROM star WHERE key = centre.id) IS NOT NULL;
		UPDATE star SET representative = centre.id
		WHERE representative IS NULL AND (key = centre.id OR key IN (SELECT b FROM near_rows WHERE a = centre.id));
	END LOOP;
	RETURN (SELECT count(*) FROM (SELECT key, representative FROM star WHERE representative IN (SELECT representative FROM star
		GROUP BY 1 HAVING count(*) > 1)) s
		FULL JOIN (SELECT key, representative, jaccard FROM simhash_clusters('few', 'id', 'fp', 1, 'star', 'body', lowest)) c
			USING (key, representative)
		WHERE s.key IS NULL OR c.key IS NULL
			OR jaccard IS DISTINCT FROM simhash_jaccard((SELECT body FROM few WHERE id = key), (SELECT body FROM few WHERE id = representative)));
END $$;
SELECT faults_of_stars(0.0) AS faults;
DROP TABLE near_rows, star;
SELECT faults_of_stars(0.5) AS faults;
DROP TABLE near_rows, star;
SELECT faults_of_stars(1.0) AS faults;
DROP TABLE near_rows, star;
-- Many different texts of one fingerprint and of those that are near it, as English and as Chinese, some of which have the same
-- n-grams: against the similarities of all pairs.
CREATE TABLE crowd AS SELECT n AS id,
	CASE WHEN n <= 220 THEN 42 WHEN n <= 320 THEN 43 WHEN n <= 350 THEN 46 WHEN n <= 420 THEN 4096 ELSE 4097 END::bigint AS fp, CASE
		WHEN n % 17 = 0 THEN (ARRAY[NULL, '', 'a', repeat('ab', 5 + n % 4), repeat('ab', 9 + n % 4)])[1 + n % 5]
		WHEN n % 2 = 0 THEN (SELECT string_agg(left(md5((n % 30 * 100 + j + CASE WHEN turn % 100 < n / 18 THEN turn % 9000 * 1000
			ELSE 0 END)::text), 2 + j % 7), ' ' ORDER BY j)
			FROM generate_series(1, 30) j, abs(hashint4(n * 64 + j)) turn)
		ELSE (SELECT string_agg(chr(19968 + (n % 30 * 641 + j * 77 + CASE WHEN turn % 400 < n / 18 THEN turn % 9000 ELSE 0 END) % 9000), ''
			ORDER BY j)
			FROM generate_series(1, 60) j, abs(hashint4(n * 64 + j)) turn)
	END AS body
FROM generate_series(1, 422) n;
CREATE TABLE crowd_pairs AS SELECT a.id AS a, b.id AS b, simhash_jaccard(a.body, b.body) AS jaccard
FROM crowd a JOIN crowd b ON a.id <> b.id AND bit_count((a.fp # b.fp)::bit(64)) <= 1;
CREATE INDEX ON crowd_pairs (a, jaccard);
SELECT lowest, count(*) FILTER (WHERE jaccard >= lowest) > 200 AS some,
	lowest = 0 OR count(*) FILTER (WHERE jaccard BETWEEN lowest - 0.3 AND lowest) > 200 AS others
FROM crowd_pairs, unnest('{0.0, 0.3, 0.8, 1.0}'::float8[]) lowest GROUP BY 1 ORDER BY 1;
CREATE FUNCTION crowd_faults(lowest float8, method text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	centre int;
BEGIN
	DROP TABLE IF EXISTS wanted;
	CREATE TEMP TABLE wanted AS SELECT a AS key, CASE method WHEN 'components' THEN a END AS representative FROM crowd_pairs
	WHERE jaccard >= lowest GROUP BY a;
	IF method = 'star' THEN
		FOR centre IN SELECT a FROM crowd_pairs WHERE jaccard >= lowest GROUP BY a ORDER BY count(*) DESC, a LOOP
			CONTINUE WHEN (SELECT representative FROM wanted WHERE key = centre) IS NOT NULL;
			UPDATE wanted SET representative = centre
			WHERE representative IS NULL AND (key = centre OR key IN (SELECT b FROM crowd_pairs WHERE a = centre AND jaccard >= lowest));
		END LOOP;
	ELSE
		LOOP
			UPDATE wanted SET representative = smallest
			FROM (SELECT a, min(representative) AS smallest FROM crowd_pairs JOIN wanted ON key = b WHERE jaccard >= lowest GROUP BY a) x
			WHERE key = a AND smallest < representative;
			EXIT WHEN NOT FOUND;
		END LOOP;
	END IF;
	RETURN (SELECT count(*) FROM (SELECT key, representative FROM wanted WHERE representative IN (SELECT representative FROM wanted
		GROUP BY 1 HAVING count(*) > 1)) w
		FULL JOIN simhash_clusters('crowd', 'id', 'fp', 1, method, 'body', lowest) c USING (key, representative)
		WHERE w.key IS NULL OR c.key IS NULL
			OR jaccard IS DISTINCT FROM simhash_jaccard((SELECT body FROM crowd WHERE id = key),
				(SELECT body FROM crowd WHERE id = representative)));
END $$;
SELECT method, lowest, crowd_faults(lowest, method) AS faults
FROM unnest('{star, components}'::text[]) method, unnest('{0.0, 0.3, 0.8, 1.0}'::float8[]) lowest ORDER BY 1, 2;
SET work_mem = '64kB';
SELECT method, lowest, crowd_faults(lowest, method) AS faults
FROM unnest('{star, components}'::text[]) method, unnest('{0.3, 0.8, 1.0}'::float8[]) lowest ORDER BY 1, 2;
RESET work_mem;
-- Not all pairs of very many are compared: 20,000 different texts, and 5,000 of which each is like the next, take far less than this.
CREATE TABLE throng (id int PRIMARY KEY, fp bigint, body text);
INSERT INTO throng SELECT i, 42, md5(i::text) || md5((i + 1)::text) FROM generate_series(1, 20000) i;
SET statement_timeout = '60s';
SELECT count(*) FROM simhash_clusters('throng', 'id', 'fp', 0, 'star', 'body', 0.5);
UPDATE throng SET body = repeat(md5('') || md5('a'), 10) || md5(id::text) WHERE id <= 5000;
SELECT count(*), min(representative), max(size) FROM simhash_clusters('throng', 'id', 'fp', 0, 'components', 'body', 0.5);
RESET statement_timeout;
-- One long text does not make a query for each row of the others: queries are counted by a sequence.
CREATE SEQUENCE queries;
CREATE TABLE mixed_lengths AS SELECT i AS id, hashint8extended(i / 4, 1) AS fp, md5((i / 4)::text) AS body FROM generate_series(1, 20000) i;
CREATE INDEX ON mixed_lengths (id);
INSERT INTO mixed_lengths SELECT -i, 77, (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 10000) g)
FROM generate_series(1, 2) i;
CREATE VIEW counted AS WITH q AS MATERIALIZED (SELECT nextval('queries') AS n) SELECT id, fp, body FROM mixed_lengths, q WHERE n > 0;
SELECT count(*), count(*) FILTER (WHERE jaccard = 1) AS equal FROM simhash_clusters('counted', 'id', 'fp', 0, text => 'body');
SELECT last_value < 10000 AS few_queries FROM queries;

SET client_min_messages = warning;
DROP SCHEMA clusters_texts CASCADE;
