-- Stored records: questions have the similarity of simhash_record_pairs, and groups follow new, changed and deleted rows, and
-- what a person has decided.
SET client_min_messages = warning;
SET extra_float_digits = 0;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA stored_test;
SET search_path = stored_test, public;

CREATE TABLE person (id int PRIMARY KEY, name text, born date, street text, year int DEFAULT 1);
INSERT INTO person SELECT i, (ARRAY['Anna', 'Paul', 'Maria', 'Annamaria', 'Ingrid'])[1 + i % 5] || ' ' || substr(md5((i / 3) || 's'), 1, 7),
	CASE WHEN i % 7 > 0 THEN date '1950-01-01' + (i / 3) * 61 END, CASE WHEN i % 11 > 0 THEN substr(md5((i % 90) || 'r'),
		1, 6) || ' ' || i % 30 END
FROM generate_series(1, 600) i;
-- Copies, and rows without a value.
INSERT INTO person SELECT id + 1000, name, born, street FROM person WHERE id % 100 < 3;
INSERT INTO person VALUES (2001, NULL, NULL, NULL), (2002, NULL, NULL, NULL);
CREATE TABLE decision (a int, b int, same boolean NOT NULL, PRIMARY KEY (a, b));
SELECT simhash_keep_records('person', 'id', 0.5, '{name, born, street}', decisions => 'decision', weights => '{"born": 2}');
-- The groups are those of the pairs.
CREATE FUNCTION expected() RETURNS TABLE (key int, cluster_id int) LANGUAGE sql AS $$
	SELECT c.key::int, c.cluster_id::int FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM (
			SELECT a, b FROM simhash_record_pairs('person', 'id', 0.5, '{name, born, street}', weights => '{"born": 2}') AS p
			WHERE NOT EXISTS (SELECT FROM decision AS d WHERE NOT d.same AND (d.a, d.b) IN ((p.a, p.b), (p.b, p.a)))
			UNION ALL SELECT d.a, d.b FROM decision AS d WHERE d.same AND d.a IN (SELECT id FROM person) AND d.b IN (SELECT id FROM person)
		) AS p) AS p, simhash_components(p.a, p.b) AS c
$$;
SELECT count(*) AS differ FROM person_records AS r FULL JOIN expected() AS e USING (key) WHERE r.cluster_id IS DISTINCT FROM e.cluster_id;
SELECT count(*) > 200 AS many, count(DISTINCT cluster_id) > 100 AS groups FROM person_records;

-- A question has the similarities that it would have as a row more: all rows that share something rare with it.
CREATE TABLE asked (id int PRIMARY KEY, name text, born date, street text, year int);
INSERT INTO asked VALUES (5001, 'Maria ' || substr(md5('20s'), 1, 6), date '1950-01-01' + 20 * 61, '77 nowhere'),
	(5002, 'Ingrid', NULL, NULL),
	(5003, 'Annamaria quite new', '1999-12-31', 'Unheard Road 99'), (5004, NULL, NULL, NULL);
INSERT INTO asked SELECT id + 5000, name, born, street FROM person WHERE id IN (77, 100, 413);
CREATE FUNCTION as_row(question asked) RETURNS TABLE (key text, similarity float8) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO person VALUES (question.id, question.name, question.born, question.street);
	RETURN QUERY SELECT (CASE WHEN p.a = question.id THEN p.b ELSE p.a END)::text, p.similarity
		FROM simhash_record_pairs('person', 'id', 0, '{name, born, street}', weights => '{"born": 2}') AS p WHERE question.id IN (p.a, p.b);
	DELETE FROM person WHERE id = question.id;
END $$;
CREATE TABLE answer AS SELECT a.id, s.* FROM asked AS a, simhash_record_search('person_records', to_jsonb(a), 10000) AS s;
CREATE TABLE right_answer AS SELECT a.id, s.* FROM asked AS a, as_row(a) AS s;
SELECT id, count(*) > 3 AS several, count(*) FILTER (WHERE abs(s.similarity - e.similarity) < 1e-9 IS NOT TRUE) AS differ,
	max(s.similarity) = 1 AS equal
FROM answer AS s FULL JOIN right_answer AS e USING (id, key) GROUP BY id ORDER BY id;
SELECT count(*), bool_and(similarity >= 0.5)
FROM simhash_record_search('person_records', (SELECT to_jsonb(a) FROM asked AS a WHERE id = 5100), threshold => 0.5);
SELECT count(*), min(similarity) = 1 FROM simhash_record_search('person_records', (SELECT to_jsonb(a) FROM asked AS a WHERE id = 5100), 2);
SELECT * FROM simhash_record_search('person_records', '{"given": "Anna"}');
SELECT * FROM simhash_record_search('person_records', '{"born": "yesterday or so"}');
SELECT * FROM simhash_record_search('person_records', '[1]');
SELECT * FROM simhash_record_search('person_records', NULL);
SELECT * FROM simhash_record_search('person_records', '{}');
SELECT * FROM simhash_record_search('person_records', '{}', 0);
SELECT * FROM simhash_record_search('person', '{}');

-- New rows, changed and deleted ones. Pairs of rows that stay as they are have the similarity that they had.
SELECT simhash_refresh_records('person_records') AS nothing;
INSERT INTO person SELECT id, name, born, street FROM asked;
UPDATE person SET name = name || ' Jr', street = NULL WHERE id % 97 = 0;
UPDATE person SET id = id + 7000 WHERE id = 11;
DELETE FROM person WHERE id % 83 = 0 OR id IN (101, 2001);
SELECT simhash_refresh_records('person_records') BETWEEN 10 AND 80 AS some;
SELECT simhash_refresh_records('person_records') AS nothing;
-- The table of features is what it is when all is computed again, and pairs of new rows are.
CREATE TABLE term AS SELECT feature, df, CASE WHEN df <= 30 THEN ARRAY(SELECT unnest(records) ORDER BY 1) END AS records
FROM person_records_term;
CREATE TABLE pair AS TABLE person_records_pair;
SELECT simhash_refresh_records('person_records', true) >= 0 AS anew;
SELECT count(*) > 1000 AS many, count(*) FILTER (WHERE (o.df, o.records) IS DISTINCT FROM (n.df, n.records)) AS differ
FROM term AS o FULL JOIN (SELECT feature, df, CASE WHEN df <= 30 THEN ARRAY(SELECT unnest(records) ORDER BY 1) END AS records
	FROM person_records_term) AS n USING (feature);
SELECT count(*) > 2 AS some, count(*) FILTER (WHERE abs(n.similarity - o.similarity) < 1e-9 IS NOT TRUE) AS differ
FROM pair AS o FULL JOIN person_records_pair AS n USING (a, b)
WHERE EXISTS (SELECT FROM person_records_row AS r WHERE r.key > 5000 AND r.key < 5300 AND r.record IN (a, b)
	AND NOT EXISTS (SELECT FROM person_records_row AS s WHERE s.record = r.record AND s.key < 5000));
SELECT count(*) AS differ FROM person_records AS r FULL JOIN expected() AS e USING (key) WHERE r.cluster_id IS DISTINCT FROM e.cluster_id;

-- What a person has decided holds, of copies too.
INSERT INTO decision SELECT min(key), max(key), false FROM person_records WHERE cluster_id <> 1 GROUP BY cluster_id
HAVING count(*) = 2 ORDER BY 1 LIMIT 5;
INSERT INTO decision SELECT min(key), max(key), false FROM person_records_row WHERE record IS NOT NULL GROUP BY record HAVING count(*) > 1
ORDER BY 1 LIMIT 5 ON CONFLICT DO NOTHING;
INSERT INTO decision VALUES (1, 500, true), (500, 400, true), (3, 99999, true);
SELECT simhash_refresh_records('person_records') > 5 AS some;
SELECT count(*) AS differ FROM person_records AS r FULL JOIN expected() AS e USING (key) WHERE r.cluster_id IS DISTINCT FROM e.cluster_id;
DELETE FROM decision;
SELECT simhash_refresh_records('person_records') > 5 AS some;
SELECT count(*) AS differ FROM person_records AS r FULL JOIN expected() AS e USING (key) WHERE r.cluster_id IS DISTINCT FROM e.cluster_id;

-- Within: rows of a scope, and questions in it.
UPDATE person SET year = CASE WHEN id % 10 > 0 THEN 1 + id % 3 END;
SELECT simhash_keep_records('person', 'id', 0.5, '{name, street}', records => 'by_year', within => '{year}', rare => 10);
SELECT (SELECT count(*) FROM by_year_row) = (SELECT count(*) FROM person WHERE year IS NOT NULL) AS all_rows,
	(SELECT count(*) FROM simhash_record_pairs('person', 'id', 0.5, '{name, street}', within => '{year}', rare => 10)) =
	(SELECT sum(x.n * y.n) FROM by_year_pair AS p, LATERAL (SELECT count(*) AS n FROM by_year_row WHERE record = p.a) AS x,
		LATERAL (SELECT count(*) AS n FROM by_year_row WHERE record = p.b) AS y)
	+ (SELECT coalesce(sum(n * (n - 1) / 2), 0) FROM (SELECT count(*) AS n FROM by_year_row WHERE record IS NOT NULL
		GROUP BY record) AS c) AS all_pairs;
SELECT count(*) > 0 AS some, bool_and(p.year = 2)
FROM simhash_record_search('by_year', (SELECT to_jsonb(p) FROM person AS p WHERE id = 4), 1000) AS s JOIN person AS p ON p.id = s.key::int;
SELECT count(*) FROM simhash_record_search('by_year', '{"name": "Anna"}');
-- Without weights the rows say how much columns count, as in pairs of the table: when all pairs are found.
SELECT simhash_keep_records('person', 'id', 0.4, '{name, born, street}', records => 'learnt');
CREATE FUNCTION unlike_pairs() RETURNS TABLE (differ bigint, are_many boolean) LANGUAGE sql AS $$
	WITH pairs AS (SELECT a, b, round(similarity::numeric, 6) FROM simhash_record_pairs('person', 'id', 0.4, '{name, born, street}')
		JOIN learnt_row AS x ON x.key = a JOIN learnt_row AS y ON y.key = b WHERE x.record <> y.record),
		stored AS (SELECT least(x.key, y.key), greatest(x.key, y.key), round(p.similarity::numeric, 6)
			FROM learnt_pair AS p JOIN learnt_row AS x ON x.record = p.a JOIN learnt_row AS y ON y.record = p.b)
	SELECT (SELECT count(*) FROM (TABLE pairs EXCEPT TABLE stored) AS d) + (SELECT count(*) FROM (TABLE stored EXCEPT TABLE pairs) AS d),
		(SELECT count(*) > 100 FROM stored)
$$;
SELECT * FROM unlike_pairs();
CREATE TABLE first_weights AS SELECT weights, weights <> '{1,1,1}' AS some_count_more FROM learnt_about;
SELECT some_count_more FROM first_weights;
INSERT INTO person SELECT id + 3000, name || ' x', born, street FROM person WHERE id < 50;
SELECT simhash_refresh_records('learnt') > 0 AS some;
SELECT weights = (SELECT weights FROM first_weights) AS as_before FROM learnt_about;
SELECT simhash_refresh_records('learnt', true) IS NOT NULL AS all_pairs;
SELECT weights = (SELECT weights FROM first_weights) AS as_before FROM learnt_about;
SELECT * FROM unlike_pairs();
DELETE FROM person WHERE id > 3000;
SELECT simhash_drop_records('learnt');
-- A list that was dropped as too long does not begin anew with a part of its records: what is refreshed step by step is
-- what is computed at once.
CREATE TABLE namesake (id int PRIMARY KEY, name text);
INSERT INTO namesake SELECT i, 'zornkopf brumal ' || substr(md5(i::text), 1, 6) FROM generate_series(1, 61) i;
INSERT INTO namesake SELECT 1000 + i, md5((i + 9)::text) FROM generate_series(1, 500) i;
SELECT simhash_keep_records('namesake', 'id', 0.3);
DELETE FROM namesake WHERE id <= 5;
SELECT simhash_refresh_records('namesake_records') IS NOT NULL AS done;
INSERT INTO namesake VALUES (62, 'zornkopf brumal hal');
SELECT simhash_refresh_records('namesake_records') IS NOT NULL AS done;
DELETE FROM namesake WHERE id BETWEEN 6 AND 50;
SELECT simhash_refresh_records('namesake_records') IS NOT NULL AS done;
INSERT INTO namesake VALUES (63, 'zornkopf brumal ida');
SELECT simhash_refresh_records('namesake_records') IS NOT NULL AS done;
CREATE VIEW namesakes AS SELECT (SELECT string_agg(concat(key, ' ', cluster_id), ',' ORDER BY key) FROM namesake_records WHERE key < 100) AS groups,
	(SELECT count(*) FROM simhash_record_search('namesake_records', '{"name": "zornkopf brumal jon"}', 100, 0.2)) AS found;
CREATE TABLE step_by_step AS SELECT * FROM namesakes;
SELECT simhash_refresh_records('namesake_records', true) IS NOT NULL AS done;
SELECT s.groups = n.groups AND s.found = n.found AS are_equal, n.found > 5 AS some FROM step_by_step AS s, namesakes AS n;
DROP VIEW namesakes;
SELECT simhash_drop_records('namesake_records');
-- Common names and dates: rows are compared that share the values of two columns which few have together. A question and
-- groups find what pairs find.
CREATE TABLE census (id int PRIMARY KEY, given text, surname text, born int, town text);
INSERT INTO census SELECT i, 'given' || i * 7919 % 12, 'name' || i * 104729 / 20 % 15, 1930 + i * 31 % 40, 'town' || i * 11 % 8 FROM generate_series(1, 3000) i;
INSERT INTO census SELECT 3000 + id, given, surname, born, 'elsewhere ' || id % 3 FROM census WHERE id <= 200;
SELECT count(*) FILTER (WHERE b = a + 3000) AS found FROM simhash_record_pairs('census', 'id', 0.3);
SELECT simhash_keep_records('census', 'id', 0.6, weights => '{"surname": -1}');
SELECT simhash_keep_records('census', 'id', 0.6, weights => '{"surname": "NaN"}');
SELECT simhash_keep_records('census', 'id', 0.6, weights => '{}');
CREATE FUNCTION unlike_census() RETURNS bigint LANGUAGE sql AS $$
	WITH pairs AS (SELECT a, b, round(similarity::numeric, 6) FROM simhash_record_pairs('census', 'id', 0.6, weights => '{}') WHERE similarity < 1),
		stored AS (SELECT least(x.key, y.key), greatest(x.key, y.key), round(p.similarity::numeric, 6)
			FROM census_records_pair AS p JOIN census_records_row AS x ON x.record = p.a JOIN census_records_row AS y ON y.record = p.b)
	SELECT (SELECT count(*) FROM (TABLE pairs EXCEPT TABLE stored) AS d) + (SELECT count(*) FROM (TABLE stored EXCEPT TABLE pairs) AS d)
$$;
SELECT unlike_census();
CREATE TABLE census_answer AS SELECT * FROM simhash_record_search('census_records', '{"given": "given3", "surname": "name7", "born": 1940, "town": "Rome"}', 5000);
SELECT count(*) > 10 AS several FROM census_answer;
INSERT INTO census VALUES (9000, 'given3', 'name7', 1940, 'Rome');
SELECT count(*) FILTER (WHERE abs(s.similarity - p.similarity) < 1e-9 IS NOT TRUE) AS differ
FROM census_answer AS s FULL JOIN (SELECT a::text AS key, similarity FROM simhash_record_pairs('census', 'id', 0, weights => '{}') WHERE b = 9000) AS p USING (key);
SELECT simhash_refresh_records('census_records') IS NOT NULL AS done;
SELECT count(*) FILTER (WHERE x.key = 9000 OR y.key = 9000) = (SELECT count(*) FROM simhash_record_pairs('census', 'id', 0.6, weights => '{}') WHERE b = 9000) AS as_pairs
FROM census_records_pair AS p JOIN census_records_row AS x ON x.record = p.a JOIN census_records_row AS y ON y.record = p.b;
SELECT simhash_drop_records('census_records');
-- A threshold that nobody gives, what differs in a code, and rows with one value of several: groups are those of the pairs.
CREATE TABLE article (id int PRIMARY KEY, title text, doi text, town text);
CREATE FUNCTION title(i int, last text) RETURNS text LANGUAGE sql AS
	$$ SELECT string_agg(translate(md5(i || word), '0123456789', 'ghijklmnop'), ' ') FROM unnest(ARRAY['a', 'b', last]) AS word $$;
INSERT INTO article SELECT i, title(i, 'c'), 'x' || i FROM generate_series(1, 300) i;
INSERT INTO article SELECT 1000 + i, title(i, 'd'), CASE i % 3 WHEN 1 THEN 'X-' || i WHEN 2 THEN 'x0' || i END FROM generate_series(1, 60) i;
INSERT INTO article SELECT 2000 + i, NULL, NULL, 'Ashford' FROM generate_series(1, 3) i;
SET client_min_messages = notice;
SELECT simhash_keep_records('article', 'id', columns => '{title, town}', differ => '{doi}');
SET client_min_messages = warning;
CREATE FUNCTION unlike_article() RETURNS TABLE (differ bigint, groups bigint) LANGUAGE sql AS $$
	WITH about AS (SELECT threshold FROM article_records_about), expected AS (
		SELECT c.* FROM (SELECT array_agg(p.a) AS a, array_agg(p.b) AS b FROM about,
				simhash_record_pairs('article', 'id', about.threshold, '{title, town}', differ => '{doi}') AS p) AS p,
				simhash_components(p.a, p.b) AS c)
	SELECT count(*) FILTER (WHERE r.cluster_id IS DISTINCT FROM e.cluster_id), count(DISTINCT e.cluster_id)
	FROM article_records AS r FULL JOIN expected AS e USING (key)
$$;
SELECT *, (SELECT count(*) FROM simhash_record_pairs('article', 'id', columns => '{title, town}', differ => '{doi}') WHERE a < 1000) AS pairs FROM unlike_article();
SELECT count(*) AS may_be FROM simhash_record_search('article_records', (SELECT to_jsonb(a) - 'doi' FROM article AS a WHERE id = 2), 9, 0.3);
SELECT count(*) AS may_be FROM simhash_record_search('article_records', (SELECT to_jsonb(a) || '{"doi": "X-2"}' FROM article AS a WHERE id = 2), 9, 0.3);
SELECT key, similarity FROM simhash_record_search('article_records', '{"town": "Ashford"}', threshold => 0.5) ORDER BY key;
INSERT INTO article SELECT 3000 + i, title(i, 'e'), CASE WHEN i % 2 = 0 THEN 'new' || i END FROM generate_series(70, 80) i;
UPDATE article SET doi = 'other' WHERE id = 1001;
SELECT simhash_refresh_records('article_records') > 0 AS some;
SELECT differ FROM unlike_article();
SELECT simhash_drop_records('article_records');
SELECT simhash_keep_records('article', 'id', 0.95, '{title, town}');
SELECT count(*) AS not_apart FROM article_records WHERE key BETWEEN 2001 AND 2003;
SELECT simhash_drop_records('article_records');
-- Rows of different sellers, and a function of two rows, which sees columns that are not compared; copies too.
CREATE TABLE offer (id int PRIMARY KEY, title text, seller text, price int);
INSERT INTO offer SELECT i, title(i % 60, 'c') || CASE WHEN i % 7 = 0 THEN ' blue' ELSE '' END, nullif(chr(97 + abs(hashint4(i)) % 3), 'c'), abs(hashint4(-i)) % 9 FROM generate_series(1, 200) i;
CREATE FUNCTION near_price(a offer, b offer) RETURNS boolean LANGUAGE sql AS 'SELECT abs(a.price - b.price) < 4';
SELECT simhash_keep_records('offer', 'id', 0.6, 'title', records => 'of_sellers', across => 'seller');
SELECT simhash_keep_records('offer', 'id', 0.6, 'title', decisions => 'decision', records => 'checked', across => 'seller, price', checked_by => 'near_price');
CREATE FUNCTION unlike_offer() RETURNS TABLE (of_sellers bigint, checked bigint) LANGUAGE sql AS $$
	WITH pair AS MATERIALIZED (
		SELECT p.a, p.b, x.seller = y.seller AS one_seller, x.price = y.price AS one_price, near_price(x, y) AS is_near
		FROM simhash_record_pairs('offer', 'id', 0.6, 'title') AS p JOIN offer AS x ON x.id = a JOIN offer AS y ON y.id = b
	), link AS (
		SELECT 1 AS kind, a, b FROM pair WHERE one_seller IS NOT TRUE
		UNION ALL SELECT 2, a, b FROM pair WHERE (one_seller AND one_price) IS NOT TRUE AND is_near
			AND NOT EXISTS (SELECT FROM decision AS d WHERE NOT d.same AND (d.a, d.b) IN ((pair.a, pair.b), (pair.b, pair.a)))
		UNION ALL SELECT 2, a, b FROM decision WHERE same
	), expected AS (
		SELECT kind, c.* FROM (SELECT kind, array_agg(a) AS a, array_agg(b) AS b FROM link GROUP BY kind) AS l, simhash_components(l.a, l.b) AS c
	), found AS (SELECT 1 AS kind, key::bigint, cluster_id FROM of_sellers UNION ALL SELECT 2, key, cluster_id FROM checked)
	SELECT count(*) FILTER (WHERE kind = 1 AND f.cluster_id IS DISTINCT FROM e.cluster_id),
		count(*) FILTER (WHERE kind = 2 AND f.cluster_id IS DISTINCT FROM e.cluster_id) FROM found AS f FULL JOIN expected AS e USING (kind, key)
$$;
SELECT *, (SELECT count(*) FROM of_sellers) > 100 AS many, (SELECT count(*) FROM checked) > 50 AS also FROM unlike_offer();
UPDATE offer SET price = price + 3 WHERE id % 5 = 0;
UPDATE offer SET seller = CASE WHEN id % 11 = 0 THEN 'd' ELSE 'a' END WHERE id % 3 > 0;
INSERT INTO decision SELECT min(key), max(key), false FROM checked GROUP BY cluster_id ORDER BY 1 LIMIT 5;
INSERT INTO decision VALUES (1, 2, true), (1, 3, true);
SELECT simhash_refresh_records('of_sellers') > 0 AS some, simhash_refresh_records('checked') > 0 AS also;
SELECT * FROM unlike_offer();
\set VERBOSITY sqlstate
SELECT simhash_keep_records('offer', 'id', 0.6, 'title', records => 'x', checked_by => 'lower(text)'::regprocedure);
\set VERBOSITY default
SELECT simhash_keep_records('offer', 'id', 0.6, 'title', records => 'x', across => 'nope');
SELECT simhash_drop_records('of_sellers');
-- Errors.
SELECT simhash_keep_records('person', 'id', 0.5, '{name, street}', records => 'by_year');
SELECT simhash_keep_records('person', 'id', 0.5, '{nope}', records => 'x');
SELECT simhash_keep_records('person', 'id', 0.5, '{name}', records => 'x', weights => '{"born": 2}');
SELECT simhash_keep_records('person', 'id', 1.5, '{name}', records => 'x');
SELECT simhash_keep_records('person', 'id', differ => '{nope}');
SELECT simhash_keep_records('person', 'id', 0.5, records => 'a.b.c');
SELECT simhash_refresh_records('person');
SELECT simhash_refresh_records(NULL);
SELECT simhash_drop_records('person');
SELECT simhash_drop_records('by_year');
SELECT to_regclass('by_year'), to_regclass('by_year_term'), to_regclass('by_year_pair'), to_regclass('by_year_about');
SET client_min_messages = error;
DROP SCHEMA stored_test CASCADE;
