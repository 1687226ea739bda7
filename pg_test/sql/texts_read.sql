-- Texts of pairs and clusters are read by key or in the order of the table, whichever costs less: the answers are those
-- of comparing every pair, and a table without an index on the key is read a few times, not for every few hundred rows.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA texts_read;
SET search_path = texts_read, public;
SET max_parallel_workers_per_gather = 0;
-- Families of three rows whose fingerprints are near: two texts are alike, and every fourth family has one that is not. Rows
-- without a text, or without letters, have a fingerprint too.
CREATE TABLE doc AS SELECT (i * 7919) % 4001 AS id, format('The %s of street %s is %s', CASE i % 3 WHEN 1 THEN 'lamp' ELSE 'lamps' END,
	(SELECT string_agg(md5((i / CASE WHEN i % 12 = 0 THEN 1 ELSE 3 END + j * 10000)::text), ' ') FROM generate_series(1, 3) j),
	CASE WHEN i % 15 = 0 THEN 'broken' ELSE 'dark' END) AS body, hashint8extended(i / 3, 1) # (i % 3 = 0)::int AS fp
FROM generate_series(1, 4000) i ORDER BY hashint4(i);
UPDATE doc SET body = NULL WHERE id % 97 = 0;
UPDATE doc SET body = '　', fp = 5 WHERE id % 401 = 0;
UPDATE doc SET body = repeat(body, 40) WHERE id % 53 = 0;
CREATE TABLE keyed AS TABLE doc;
ALTER TABLE keyed ADD PRIMARY KEY (id);
CREATE TABLE few AS SELECT * FROM doc WHERE id % 11 = 0 OR body LIKE '%lamp of%';
ALTER TABLE few ADD PRIMARY KEY (id);
CREATE VIEW words AS SELECT id::text AS id, body, fp FROM doc;
CREATE FUNCTION alike(a text, b text) RETURNS boolean IMMUTABLE RETURN simhash_jaccard(a, b) > 0.7;
CREATE FUNCTION keys_near(a keyed, b keyed) RETURNS boolean IMMUTABLE RETURN abs(a.id - b.id) < 2000;
VACUUM ANALYZE doc, keyed, few;

-- The oracle: every pair.
CREATE TEMP TABLE pair AS SELECT a.id AS a, b.id AS b, simhash_jaccard(a.body, b.body) AS jaccard
FROM doc a JOIN doc b ON a.id < b.id AND a.fp <~> b.fp <= 6;
SELECT count(*) > 2000 AS many, count(*) FILTER (WHERE jaccard >= 0.8) > 1000 AS similar,
	count(*) FILTER (WHERE jaccard < 0.8) > 100 AS not_similar,
	count(*) FILTER (WHERE jaccard IS NULL) > 3 AS unknown FROM pair;

-- How the planner is made to read: what it thinks best, by key, in order.
CREATE FUNCTION read_by(how text) RETURNS text LANGUAGE sql AS $$
	SELECT set_config('random_page_cost', CASE how WHEN 'key' THEN '0' WHEN 'order' THEN '1e6' ELSE '4' END, false);
	SELECT how FROM set_config('seq_page_cost', CASE how WHEN 'key' THEN '1e9' ELSE '1' END, false)
$$;
CREATE FUNCTION answers(tab regclass) RETURNS TABLE (what text, digest text) LANGUAGE plpgsql AS $$
DECLARE query text;
BEGIN
	FOREACH query IN ARRAY ARRAY[
		'simhash_pairs(%L, ''id'', ''fp'', 6, text => ''body'')', 'simhash_pairs(%L, ''id'', ''fp'', 6, text => ''body'', min_jaccard => 0)',
		'simhash_clusters(%L, ''id'', ''fp'', 6, text => ''body'')', 'simhash_clusters(%L, ''id'', ''fp'', 6, ''components'', ''body'')',
		'simhash_clusters(%L, ''id'', ''fp'', 6, ''leader'', ''body'', 0.5)',
			'simhash_clusters(%L, ''id'', ''fp'', 6, text => ''body'', min_jaccard => 0)',
		'simhash_clusters(%L, ''id'', ''fp'', 6, text => ''body'', checked_by => ''alike'')',
		'simhash_pairs_between(%L, ''id'', ''fp'', ''few'', ''id'', ''fp'', 6, text_a => ''body'', text_b => ''body'')'] LOOP
		what := format(query, 'doc');
		EXECUTE 'SELECT md5(string_agg(r::text, '','' ORDER BY r::text)) FROM ' || format(query, tab) || ' AS r' INTO digest;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE TEMP TABLE answer (how text, tab text, what text, digest text);
CREATE FUNCTION ask(how text, tab text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM read_by(how);
	INSERT INTO answer SELECT how, tab, * FROM answers(tab);
END $$;
SELECT count(ask(how, tab)) FROM unnest('{best,key,order}'::text[]) how, unnest('{doc,keyed}'::text[]) tab;
SET work_mem = '64kB';
SELECT count(ask(how, 'keyed')) FROM unnest('{key,order}'::text[]) how;
RESET work_mem;
SELECT what, count(DISTINCT digest) AS answers, count(*) AS ways FROM answer GROUP BY what ORDER BY what COLLATE "C";
SELECT read_by('best');
(SELECT a, b FROM simhash_pairs('doc', 'id', 'fp', 6, text => 'body', min_jaccard => 0.8) EXCEPT SELECT a, b FROM pair WHERE jaccard >= 0.8)
UNION ALL (SELECT a, b FROM pair WHERE jaccard >= 0.8 EXCEPT SELECT a, b FROM simhash_pairs('doc', 'id', 'fp', 6, text => 'body', min_jaccard => 0.8));
-- The similarity of each row with its representative, by every method.
SELECT method, least, count(*) > 100 AS many, count(*) FILTER (WHERE c.jaccard IS DISTINCT FROM simhash_jaccard(k.body, r.body)) AS wrong
FROM unnest('{star,components,leader}'::text[]) method, unnest('{0,0.5,1}'::float8[]) least,
	LATERAL simhash_clusters('doc', 'id', 'fp', 6, method, 'body', least) c JOIN doc k ON k.id = c.key JOIN doc r ON r.id = c.representative
GROUP BY method, least ORDER BY method, least;
-- Values that are rows; keys that are texts.
SELECT read_by('order');
SELECT count(*) AS wrong FROM (SELECT a, b FROM simhash_pairs('keyed', 'id', 'fp', 6, checked_by => 'keys_near')
	EXCEPT SELECT a, b FROM pair WHERE b - a < 2000) x;
SELECT count(*) = (SELECT count(*) FROM pair WHERE jaccard >= 0.8) AS all_of_them
FROM simhash_pairs('words', key_type => NULL::text, columns => 'fp', key => 'id', radius => 6, text => 'body', min_jaccard => 0.8);
SELECT read_by('best');

-- How often the table is read. Without an index on the key: three times at most, of all pairs and of few.
CREATE FUNCTION reads(query text, tab regclass) RETURNS TABLE (in_order bigint, by_key bigint) LANGUAGE plpgsql AS $$
DECLARE before record;
BEGIN
	SELECT seq_scan, idx_scan INTO before FROM pg_stat_xact_user_tables WHERE relid = tab;
	EXECUTE query;
	RETURN QUERY SELECT s.seq_scan - before.seq_scan, s.idx_scan - before.idx_scan FROM pg_stat_xact_user_tables s WHERE relid = tab;
END $$;
SELECT in_order BETWEEN 1 AND 3 AS few FROM reads($$SELECT count(*) FROM simhash_clusters('doc', 'id', 'fp', 6, text => 'body')$$, 'doc');
SELECT in_order BETWEEN 1 AND 3 AS few FROM reads($$SELECT count(*)
	FROM simhash_clusters('doc', 'id', 'fp', 6, 'components', 'body', checked_by => 'alike')$$, 'doc');
SELECT in_order BETWEEN 1 AND 3 AS few FROM reads($$SELECT count(*) FROM simhash_pairs('doc', 'id', 'fp', 6, text => 'body')$$, 'doc');
-- With one: most rows in order, a few by key.
SELECT in_order BETWEEN 1 AND 3 AS few, by_key AS none FROM reads($$SELECT count(*)
	FROM simhash_clusters('keyed', 'id', 'fp', 6, text => 'body')$$, 'keyed');
CREATE TABLE lone (id int PRIMARY KEY, body text, fp bigint);
INSERT INTO lone SELECT i, 'Text ' || i, hashint8extended(i, 1) FROM generate_series(1, 20000) i;
INSERT INTO lone SELECT 20000 + i, 'Text ' || i || '.', hashint8extended(i, 1) FROM generate_series(1, 4) i;
VACUUM ANALYZE lone;
SELECT in_order <= 1 AS few, by_key > 0 AS some FROM reads($$SELECT count(*)
	FROM simhash_clusters('lone', 'id', 'fp', 3, text => 'body')$$, 'lone');
SELECT cluster_id, key, jaccard FROM simhash_clusters('lone', 'id', 'fp', 3, text => 'body') ORDER BY 1, 2;

-- A key that a row with a pair shares with one without is an error, in order too.
INSERT INTO doc SELECT id, 'another text', hashint8extended(id, 9) FROM pair JOIN doc ON id = a LIMIT 1;
DO $$
BEGIN
	PERFORM FROM simhash_pairs('doc', 'id', 'fp', 6, text => 'body');
EXCEPTION WHEN cardinality_violation THEN
	RAISE WARNING '%', regexp_replace(sqlerrm, '\d+', 'n');
END $$;
DROP SCHEMA texts_read CASCADE;
