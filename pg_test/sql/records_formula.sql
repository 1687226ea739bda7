-- The similarity of records: small tables, copies, ties, columns left empty, accents, weights and within; what
-- simhash_record_explain says; and the formula of docs/records.md in plain SQL beside what simhash_record_pairs returns.
SET client_min_messages = warning;
SET extra_float_digits = 0;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA formula_test;
SET search_path = formula_test, public;

-- Two rows alone, among ten and among a thousand have about the same similarity.
CREATE TABLE person (id int PRIMARY KEY, name text, born date, street text);
INSERT INTO person VALUES (1, 'Margaret Thornbury', '1961-03-14', '12 Mill Lane'), (2, 'Margret Thornbury', '1961-03-14', '12 Mill Ln');
CREATE TABLE similarity AS SELECT 2 AS rows, similarity FROM simhash_record_pairs('person', 'id', 0);
INSERT INTO person VALUES (10, 'Daniel Okafor', '1984-11-02', '3 Orchard Close'), (11, 'Ingrid Halvorsen', '1975-08-30', '44 Castle Hill'),
	(12, 'Tomasz Wysocki', '1979-01-17', '81 Park Street'), (13, 'Beatrice Adeyemi', '1992-12-05', '19 Green Way'),
	(14, 'Chen Wei', '1990-06-21', '7 Station Road'), (15, 'Olga Petrova', '1994-04-23', '2 Harbour View'),
	(16, 'Luca Bianchi', '1966-10-05', '40 Garden Street'), (17, 'Aino Virtanen', '1977-09-09', '33 Lake Row');
INSERT INTO similarity SELECT 10, similarity FROM simhash_record_pairs('person', 'id', 0) WHERE (a, b) = (1, 2);
INSERT INTO person SELECT 100 + i, (ARRAY['Margaret', 'Daniel', 'Ingrid', 'Tomasz', 'Olga', 'Luca', 'Aino'])[1 + i % 7] || ' '
	|| initcap(translate(md5(i::text), '0123456789', '')),
	date '1940-01-01' + (i * 7919) % 20000, i % 97 || ' ' || (ARRAY['Mill', 'Park', 'Lake', 'Orchard', 'Harbour'])[1 + i % 5] || ' '
	|| (ARRAY['Lane', 'Street', 'Road'])[1 + i % 3]
FROM generate_series(1, 990) i;
INSERT INTO similarity SELECT 1000, similarity FROM simhash_record_pairs('person', 'id', 0) WHERE (a, b) = (1, 2);
SELECT rows, round(similarity::numeric, 2) AS similarity FROM similarity ORDER BY rows;
SELECT max(similarity) - min(similarity) < 0.15 AS about_the_same FROM similarity;

-- Copies: all their pairs, whatever is rare, and those with what is like them.
CREATE TABLE place (id int PRIMARY KEY, name text, street text);
INSERT INTO place SELECT i, 'Lotus Garden', '8 Canal Street' FROM generate_series(1, 35) i;
INSERT INTO place VALUES (101, 'Old Mill Inn', '3 Mill Lane'), (102, 'Green Lantern', '8 Rose Alley'), (103, 'Blue Door', '77 Castle Hill'),
	(104, 'Lotus Gardens', '8 Canal St');
SELECT count(*) AS pairs, count(*) FILTER (WHERE similarity = 1) AS equal, count(*) FILTER (WHERE b = 104) AS alike,
	count(DISTINCT (a, b)), bool_and(a < b)
FROM simhash_record_pairs('place', 'id', 0.5);
SELECT pairs, one_to_one, alone, examples FROM simhash_record_report('place', 'id') WHERE threshold = 0.95;
SELECT count(*) FROM simhash_record_pairs('place', 'id', 0.5, rare => 0);
CREATE VIEW left_half AS SELECT * FROM place WHERE id <= 16;
CREATE VIEW right_half AS SELECT * FROM place WHERE id BETWEEN 17 AND 32;
SELECT count(*), bool_and(a <= 16 AND b >= 17) FROM simhash_record_pairs('left_half', 'id', 0.5, relation_b => 'right_half', key_b => 'id');
SELECT count(*), count(DISTINCT a), count(DISTINCT b)
FROM simhash_record_pairs('left_half', 'id', 0.5, relation_b => 'right_half', key_b => 'id', one_to_one => true);
-- Rows without a value are no copies.
CREATE TABLE empty (id int, name text);
INSERT INTO empty SELECT i, NULL FROM generate_series(1, 50) i;
SELECT count(*) FROM simhash_record_pairs('empty', 'id', 0);

-- Ties make as many pairs as there are.
CREATE TABLE ours (id int PRIMARY KEY, title text);
CREATE TABLE theirs (id int PRIMARY KEY, title text);
INSERT INTO ours VALUES (1, 'Blue desk lamp 40W'), (2, 'Blue desk lamp 40W'), (3, 'Red kettle 2 litres'),
	(4, 'Oak chair'), (5, 'Pine table');
INSERT INTO theirs VALUES (11, 'Blue desk lamp 40W'), (12, 'Blue desk lamp 40W'), (13, 'Red kettle, 2 litres'),
	(14, 'Steel shelf'), (15, 'Glass bowl');
SELECT a, b FROM simhash_record_pairs('ours', 'id', 0.3, relation_b => 'theirs', key_b => 'id', one_to_one => true) ORDER BY 1;

-- A column that is empty in one row counts less against the pair than one that differs.
CREATE TABLE left_empty (id int, name text, phone text, town text);
INSERT INTO left_empty VALUES (1, 'Ingrid Halvorsen', '555 0163', 'Dover'), (2, 'Ingrid Halvorsen', NULL, 'Dover'),
	(3, 'Ingrid Halvorsen', '732 8894', 'Dover');
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('left_empty', 'id', 0) ORDER BY a, b;
-- A rare first name does not outweigh six columns that differ.
CREATE TABLE outweighed AS SELECT i AS id, CASE WHEN i IN (7, 8) THEN 'Quintessa'
	ELSE (ARRAY['Anna', 'Paul', 'Mary', 'John'])[1 + i % 4] END AS given,
	(ARRAY['Smith', 'Jones', 'Brown', 'Green', 'White', 'Black', 'Hall'])[1 + i % 7] AS surname,
	(ARRAY['Dover', 'Ashford', 'Deal', 'Hythe'])[1 + i % 4] AS town,
	(ARRAY['Mill Lane', 'Park Road', 'High Street'])[1 + i % 3] AS street, 1950 + i % 50 AS year,
	(ARRAY['doctor', 'teacher', 'baker', 'clerk', 'nurse'])[1 + i % 5] AS job,
	(ARRAY['red', 'blue', 'green', 'black', 'white', 'pink', 'grey', 'brown', 'gold', 'lime', 'navy'])[1 + i % 11] AS colour
	FROM generate_series(1, 2000) i;
SELECT round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('outweighed', 'id', 0) WHERE (a, b) = (7, 8);

-- Accents and case do not count.
CREATE TABLE member (id int PRIMARY KEY, name text);
INSERT INTO member VALUES (1, 'José García Muñoz'), (2, 'JOSE GARCIA MUNOZ'), (3, 'Łukasz Śliwiński'), (4, 'Lukasz Sliwinski'),
	(5, 'Søren Ødegård'), (6, 'Soren Odegard'), (7, 'Nguyễn Thị Hồng'), (8, 'Nguyen Thi Hong'), (9, 'Jürgen Müller'), (10, 'Juergen Mueller'),
	(11, 'Anna Lind'), (12, 'Piotr Zajac'), (13, 'Chen Wei'), (14, 'Fatima Haddad');
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('member', 'id', 0.2) ORDER BY a, b;

-- Weights of columns, and within.
CREATE TABLE family (id int PRIMARY KEY, name text, born date, street text, year int);
INSERT INTO family VALUES (1, 'Beatrice Adeyemi', '1992-12-05', '19 Green Way', 1), (2, 'Samuel Adeyemi', '1994-04-23', '19 Green Way', 1),
	(3, 'Beatrice Adeyemi', '1992-12-05', '2 Harbour View', 2), (4, 'Tomasz Wysocki', '1979-01-17', '44 Castle Hill', NULL),
	(5, 'Tomasz Wysocki', '1979-01-17', '44 Castle Hill', NULL);
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('family', 'id', 0, '{name, born, street}') ORDER BY a, b;
SELECT a, b, round(similarity::numeric, 2) AS similarity
FROM simhash_record_pairs('family', 'id', 0, '{name, born, street}', weights => '{"born": 3}') ORDER BY a, b;
SELECT a, b, round(similarity::numeric, 2) AS similarity
FROM simhash_record_pairs('family', 'id', 0, '{name, born, street}', weights => '{"street": 0}') ORDER BY a, b;
SELECT a, b, round(similarity::numeric, 2) AS similarity
FROM simhash_record_pairs('family', 'id', 0, '{name, born, street}', within => '{year}') ORDER BY a, b;
SELECT a, b
FROM simhash_record_pairs('family', 'id', 0, '{name}', 'family', 'id', '{name}', one_to_one => true, within => '{year}') ORDER BY a, b;
SELECT max(pairs) FROM simhash_record_report('family', 'id', '{name, born, street}', within => '{year}');
SELECT * FROM simhash_record_pairs('family', 'id', 0, '{name}', weights => '{"born": 3}');
SELECT * FROM simhash_record_pairs('family', 'id', 0, weights => '{"born": -1}');
SELECT * FROM simhash_record_pairs('family', 'id', 0, weights => '{"born": 101}');
SELECT * FROM simhash_record_pairs('family', 'id', 0, weights => '{"born": null}');
SELECT * FROM simhash_record_pairs('family', 'id', 0, weights => '{"born": "much"}');
SELECT * FROM simhash_record_pairs('family', 'id', 0, weights => '[1]');
SELECT * FROM simhash_record_pairs('family', 'id', 0, within => '{nope}');
SELECT count(*) FROM simhash_record_pairs('family', 'id', 0, within => NULL, differ => '');

-- Why two records are so similar: what is shared sums to the similarity, what is against to the rest.
SELECT column_name, value_a, value_b, round(shared::numeric, 2) AS shared, round(against::numeric, 2) AS against
FROM simhash_record_explain('family', 'id', '{1}', '{2}', '{name, born, street}');
SELECT count(*), bool_and(abs(e.shared - p.similarity) < 1e-6) AS sums, bool_and(abs(e.shared + e.against - 1) < 1e-6) AS to_one
FROM simhash_record_pairs('family', 'id', 0, weights => '{"born": 3, "street": 0.5}') AS p,
	LATERAL (SELECT sum(shared) AS shared, sum(against) AS against
		FROM simhash_record_explain('family', 'id', ARRAY[p.a::text], ARRAY[p.b::text], weights => '{"born": 3, "street": 0.5}')) AS e;
SELECT * FROM simhash_record_explain('family', 'id', '{1}', '{7}');
SELECT * FROM simhash_record_explain('family', 'id', '{4}', '{5}', within => '{year}');
SELECT * FROM simhash_record_explain('family', 'id', NULL, '{5}');

-- The formula in plain SQL. Values here are ASCII; a word and an n-gram of the same letters are two features.
-- Of the abbreviations two occur here. Beside a digit no typing error is looked for.
CREATE FUNCTION features_of(short text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT 'word ' || word FROM regexp_split_to_table(lower(short), '[^a-z0-9]+') AS word WHERE word <> ''
	UNION
	SELECT 'letters ' || substr(letters, i, 3) FROM (SELECT regexp_replace(lower(short), '[^a-z0-9]', '', 'g') AS letters) AS l,
		generate_series(1, greatest(length(letters) - 2, 1)) AS i WHERE letters <> ''
$$;
CREATE FUNCTION features(value text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT features_of(regexp_replace(regexp_replace(value, '\mStreet\M', 'St'), '\mLane\M', 'Ln'))
$$;
CREATE TABLE record (id int PRIMARY KEY, c1 text, c2 text, c3 text);
INSERT INTO record SELECT i, (ARRAY['Anna', 'Paul', 'Maria', 'Annamaria'])[1 + i % 4] || ' '
	|| (ARRAY['Smith', 'Smithers', 'Jones'])[1 + i % 3] || ' 7',
	CASE WHEN i % 5 > 0 THEN 'No. ' || i / 2 END,
	CASE WHEN i % 7 > 0 THEN (ARRAY['Paul Street', 'Dover', 'Smith Lane'])[1 + i % 3] || ' ' || i % 6 END
FROM generate_series(1, 60) i;
INSERT INTO record SELECT id + 100, c1, c2, c3 FROM record WHERE id % 10 = 0;
CREATE TABLE feature AS SELECT id, col, f FROM record, LATERAL (VALUES (1, c1), (2, c2), (3, c3)) AS v (col, value), features(value) AS f;
CREATE TABLE distinct_record AS SELECT min(id) AS id FROM record GROUP BY lower(c1), lower(c2), lower(c3);
CREATE TABLE df AS SELECT f, count(DISTINCT id) AS df FROM feature JOIN distinct_record USING (id) GROUP BY f;
CREATE TABLE weighted AS
WITH idf AS (SELECT f, CASE WHEN df > 1 THEN 1 ELSE 0.5 END * ln(((SELECT count(*) FROM distinct_record) + 51)::float8 / df) ^ 2 AS idf FROM df),
	part AS (SELECT id, col, sum(idf ^ 2) AS square, (sum(idf ^ 2) * count(*)) ^ 0.2 AS length FROM feature JOIN idf USING (f) GROUP BY id, col),
	scale AS (SELECT id, col, sqrt(least(length, 3 * (sum(length) OVER row - length) / nullif(count(*) OVER row - 1, 0)) / square)
		* CASE col WHEN 3 THEN 2 ELSE 1 END AS scale FROM part WINDOW row AS (PARTITION BY id))
SELECT id, col, f, idf * scale AS w FROM feature JOIN idf USING (f) JOIN scale USING (id, col);
CREATE TABLE whole AS SELECT id, f, sum(w) AS w FROM weighted GROUP BY id, f;
CREATE FUNCTION square(own int, other int) RETURNS float8 LANGUAGE sql AS $$
	SELECT sum(v.w * x.w * CASE WHEN EXISTS (SELECT FROM weighted AS o WHERE o.id = other AND (o.col = v.col OR o.f = v.f)) THEN 1
		ELSE 0.75 END)
	FROM weighted AS v JOIN whole AS x USING (id, f) WHERE v.id = own
$$;
SELECT count(*) > 500 AS many,
	bool_and(abs(p.similarity - least(product / sqrt(square(p.a::int, p.b::int) * square(p.b::int, p.a::int)), 1)) < 1e-5) AS agree
FROM simhash_record_pairs('record', 'id', 0, weights => '{"c3": 2}') AS p,
	LATERAL (SELECT sum(x.w * y.w) AS product FROM whole AS x JOIN whole AS y USING (f) WHERE x.id = p.a AND y.id = p.b) AS s;
-- Without weights the rows say what a column counts: how much better it agrees in pairs that agree in two thirds of the other
-- columns than in those that agree in a third. Pairs share something that at most 30 records have.
UPDATE weighted SET w = w / 2 WHERE col = 3;
CREATE TABLE agreement AS
WITH pair AS (SELECT DISTINCT x.id AS a, y.id AS b FROM feature AS x JOIN feature AS y ON y.f = x.f AND y.id > x.id
	JOIN df ON df.f = x.f AND df <= 30
		WHERE x.id IN (TABLE distinct_record) AND y.id IN (TABLE distinct_record)),
	length AS (SELECT id, col, sqrt(sum(w ^ 2)) AS length FROM weighted GROUP BY id, col)
SELECT a, b, x.col, coalesce((SELECT sum(v.w * w.w) FROM weighted AS v JOIN weighted AS w USING (col, f)
	WHERE v.id = a AND w.id = b AND col = x.col), 0) >= 0.5 * x.length * y.length AS agree
FROM pair JOIN length AS x ON x.id = a JOIN length AS y ON y.id = b AND y.col = x.col;
CREATE TABLE column_weight AS
WITH other AS (SELECT col, agree, (sum(agree::int) OVER pair - agree::int)::float8 / nullif(count(*) OVER pair - 1, 0) AS others
	FROM agreement WINDOW pair AS (PARTITION BY a, b)),
	counted AS (SELECT col, count(*) FILTER (WHERE alike)::float8 AS alike, count(*) FILTER (WHERE alike AND agree) AS alike_agree,
			count(*) FILTER (WHERE NOT alike)::float8 AS half, count(*) FILTER (WHERE NOT alike AND agree) AS half_agree
		FROM (SELECT col, agree, others >= 2::float8 / 3 AS alike FROM other WHERE others >= 1::float8 / 3) AS o GROUP BY col),
	known AS (SELECT col, least(alike, half) / (least(alike, half) + 500) AS trust, greatest(ln(a / h) + ln((1 - h) / (1 - a)) / 4, 0) AS tells
		FROM counted, LATERAL (SELECT (alike_agree + 0.5) / (alike + 1) AS a, (half_agree + 0.5) / (half + 1) AS h) AS share)
SELECT col, least(greatest(1 + trust * (tells / (sum(trust * tells) OVER () / sum(trust) OVER ()) - 1), 1 / 1.6), 1.6) AS weight FROM known;
-- Columns of rare values count more.
WITH idf AS (SELECT f, CASE WHEN df > 1 THEN 1 ELSE 0.5 END * ln(((SELECT count(*) FROM distinct_record) + 51)::float8 / df) ^ 2 AS idf FROM df),
	value AS (SELECT id, col, avg(idf ^ 2) AS square FROM feature JOIN idf USING (f) WHERE id IN (TABLE distinct_record) GROUP BY id, col),
	rarity AS (SELECT col, exp(0.15 * avg(ln(square))) AS rarity FROM value GROUP BY col)
UPDATE column_weight AS c SET weight = weight * rarity / (SELECT avg(rarity) FROM rarity) FROM rarity AS r WHERE r.col = c.col;
SELECT count(*) AS columns, max(weight) - min(weight) > 0.1 AS differ FROM column_weight;
UPDATE weighted SET w = w * weight FROM column_weight WHERE column_weight.col = weighted.col;
TRUNCATE whole;
INSERT INTO whole SELECT id, f, sum(w) FROM weighted GROUP BY id, f;
SELECT count(*) > 500 AS many,
	bool_and(abs(p.similarity - least(product / sqrt(square(p.a::int, p.b::int) * square(p.b::int, p.a::int)), 1)) < 1e-5) AS agree
FROM simhash_record_pairs('record', 'id', 0) AS p,
	LATERAL (SELECT sum(x.w * y.w) AS product FROM whole AS x JOIN whole AS y USING (f) WHERE x.id = p.a AND y.id = p.b) AS s;
SELECT bool_and(abs(e.shared - p.similarity) < 1e-6) AS sums, bool_and(abs(e.shared + e.against - 1) < 1e-6) AS to_one
FROM (SELECT * FROM simhash_record_pairs('record', 'id', 0.3) ORDER BY a, b LIMIT 10) AS p,
	LATERAL (SELECT sum(shared) AS shared, sum(against) AS against FROM simhash_record_explain('record', 'id', ARRAY[p.a::text], ARRAY[p.b::text])) AS e;

-- A typing error leaves most of a short value; another digit beside letters is another thing. Codes in titles count.
CREATE TABLE typed (id int PRIMARY KEY, value text);
INSERT INTO typed VALUES (1, 'Muehlberger'), (2, 'Muehlbreger'), (3, '1961-03-14'), (4, '1961-08-14'), (5, '12 Harrow Lane'), (6, '13 Harrow Lane'),
	(7, 'Sony camera DSC-W120 black'), (8, 'Sony camera DSC-W320 black'), (9, 'black Sony DSCW120');
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('typed', 'id', 0.1) ORDER BY a, b;
SELECT round(sum(shared)::numeric, 2) AS shared, round(sum(against)::numeric, 2) AS against FROM simhash_record_explain('typed', 'id', '{7}', '{8}');

-- Codes are one word however they are cut, and umlauts are written in two ways.
CREATE TABLE written (id int PRIMARY KEY, phone text, born text, code text, name text);
INSERT INTO written VALUES (1, '01494 550324', '1961-03-14', 'TN23 1AB', 'Jürgen Müller'),
	(2, '+44 1494 550-324', '1961/03/14', 'tn231ab', 'Juergen Mueller');
SELECT column_name, round(shared::numeric, 2) AS shared, round(against::numeric, 2) AS against
FROM simhash_record_explain('written', 'id', '{1}', '{2}');
-- E-mail addresses, telephone numbers with their country, postcodes and abbreviations: each pair is equal but for the domain.
CREATE TABLE kinds (id int PRIMARY KEY, value text);
INSERT INTO kinds VALUES (1, 'margaret.hazshaws@web.de'), (2, 'MargaretHazshaws+shop@gmail.com'), (3, '+49 (0)551 4711'),
	(4, '0551/4711'), (5, '0049 551-4711'),
	(6, '1017 AB'), (7, '1017ab'), (8, 'Harrow Timber Limited'), (9, 'Harrow Timber Ltd.'), (10, 'Jarrow Timber Ltd'), (11, 'Lange Straße 7'),
	(12, 'lange str. 7'), (13, '0.55147110'), (14, '55147110'), (15, 'No 7'), (16, 'no7');
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('kinds', 'id', 0.1) ORDER BY a, b;
-- A company with its legal form and without it is one; another company with the same form is less similar.
CREATE TABLE company (id int PRIMARY KEY, name text);
INSERT INTO company VALUES (1, 'Harrow Timber'), (2, 'Harrow Timber Ltd'), (3, 'Jarrow Timber Limited'), (4, 'Kestrel Optics Ltd'),
	(5, 'Wren Foods Ltd'), (6, 'Wren Foods'), (7, 'Maple Dental GmbH'), (8, 'Maple Dental'), (9, 'Tidewater Boats GmbH');
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('company', 'id', 0.2) ORDER BY a, b;
SET client_min_messages = error;
DROP SCHEMA formula_test CASCADE;
