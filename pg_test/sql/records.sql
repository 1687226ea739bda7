-- simhash_record_pairs and simhash_record_report: what they find, in one relation and in two, and their errors.
SET client_min_messages = warning;
SET extra_float_digits = 0;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA records_test;
SET search_path = records_test, public;

-- Made-up people: 300, of whom every third has a second record with an error in each column but one.
CREATE TABLE person (id int PRIMARY KEY, given_name text, surname text, born date, phone bigint, street text, town text);
INSERT INTO person SELECT i, md5(i || 'g'), md5(i || 's'), date '1950-01-01' + i * 61, 5550000 + i * 7919, md5(i || 'r'), md5(i || 't')
FROM generate_series(1, 300) i;
INSERT INTO person SELECT id + 1000,
		CASE id % 9 WHEN 0 THEN given_name ELSE overlay(given_name PLACING 'xyz' FROM 9) END,
		CASE id % 9 WHEN 0 THEN surname ELSE md5(id || 'another') END,
		CASE id % 9 WHEN 3 THEN born ELSE NULL END,
		CASE id % 9 WHEN 3 THEN phone ELSE phone / 2 END,
		CASE id % 9 WHEN 6 THEN street ELSE overlay(street PLACING '--' FROM 5 FOR 6) END,
		town
FROM person WHERE id % 3 = 0;
-- Each pair once, the smaller key first.
SELECT count(*), count(DISTINCT (a, b)), bool_and(a < b), bool_and(b = a + 1000), bool_and(similarity BETWEEN 0.3 AND 1)
FROM simhash_record_pairs('person', 'id', 0.3);
SELECT count(*), bool_and(b = a + 1000) FROM simhash_record_pairs('person', 'id', 0.3, '{surname, street}');
-- The same columns by name, in any order, and with little memory.
CREATE TABLE found AS SELECT * FROM simhash_record_pairs('person', 'id', 0);
SELECT count(*) > 10000 AS all, count(*) FILTER (WHERE similarity >= 0.3) AS similar FROM found;
SELECT count(*) AS differ FROM found
FULL JOIN simhash_record_pairs('person', 'id', 0, '{given_name, surname, born, phone, street, town}') AS again
	USING (a, b) WHERE found.similarity IS DISTINCT FROM again.similarity;
SET work_mem = '64kB';
SELECT count(*) AS differ FROM found FULL JOIN simhash_record_pairs('person', 'id', 0) AS again
	USING (a, b) WHERE found.similarity IS DISTINCT FROM again.similarity;
RESET work_mem;
SELECT count(*) AS differ FROM found
FULL JOIN simhash_record_pairs('person', 'id', 0, '{town, street, phone, born, surname, given_name}') AS again
	USING (a, b) WHERE abs(found.similarity - again.similarity) < 1e-6 IS NOT TRUE;
-- The report counts what the other function returns, and shows its pairs.
SELECT r.threshold, r.pairs = (SELECT count(*) FROM found WHERE similarity >= r.threshold) AS pairs,
	r.one_to_one = (SELECT count(*) FROM simhash_record_pairs('person', 'id', r.threshold, one_to_one => true)) AS one_to_one,
	(SELECT count(DISTINCT key) FROM found, LATERAL (VALUES (a), (b)) AS k (key) WHERE similarity >= r.threshold) + r.alone = 400 AS alone,
	(SELECT count(*) <= 5 AND coalesce(bool_and(f.similarity >= r.threshold AND (f.similarity < r.threshold + 0.05 OR r.threshold = 0.95)), r.examples IS NULL)
		FROM generate_subscripts(r.examples, 1) AS i JOIN found AS f ON least(r.examples[i][1]::int, r.examples[i][2]::int) = f.a
			AND greatest(r.examples[i][1]::int, r.examples[i][2]::int) = f.b) AS examples
FROM simhash_record_report('person', 'id') AS r WHERE r.threshold IN (0, 0.3, 0.7, 0.95);

-- Equal rows have similarity 1, and what nobody else has counts most.
CREATE TABLE product (id int PRIMARY KEY, name text, description text);
INSERT INTO product VALUES (1, 'Panasonic Cordless Phone KX-TG1034S', 'black, with answering machine'),
	(2, 'panasonic KXTG1034S phone', NULL),
	(3, 'Panasonic Cordless Phone KX-TG5432M', 'black, with answering machine'), (4, 'Sony Cordless Phone', 'white'),
	(5, 'Sony Cordless Phone', 'white'), (6, NULL, NULL), (7, NULL, NULL), (8, '', '-'), (9, '电话机', '黑色'), (10, '無線电话机', '黑色');
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('product', 'id', 0.2, '{name}') ORDER BY a, b;
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM simhash_record_pairs('product', 'id', 0.2) ORDER BY a, b;
-- All features count the same.
SELECT a, b, round(similarity::numeric, 2) AS similarity
FROM simhash_record_pairs('product', 'id', 0.2, '{name}', rarity => 0, ngram => 2) ORDER BY a, b;
-- Only features of at most two rows make candidates; equal rows are pairs whatever is rare.
SELECT a, b FROM simhash_record_pairs('product', 'id', 0, '{name}', rare => 2) ORDER BY a, b;
SELECT count(*) FROM simhash_record_pairs('product', 'id', 0, rare => 0);
-- A row's best partner, if each is the other's best.
SELECT a, b FROM simhash_record_pairs('product', 'id', 0.1, '{name}', one_to_one => true) ORDER BY a, b;

-- Two relations: pairs within one are none. A view, other names of columns, keys of other types.
CREATE VIEW offer AS SELECT 'o' || id AS code, upper(name) AS title, id % 2 AS shop FROM product WHERE id < 6;
SELECT a, b, round(similarity::numeric, 2) AS similarity
FROM simhash_record_pairs_keyed(NULL::text, 'product', 'id', 0.5, '{name}', 'offer', 'code', '{title}') ORDER BY a, b;
SELECT a, b, pg_typeof(a), pg_typeof(b)
FROM simhash_record_pairs_keyed(NULL::text, 'product', 'id', 0.5, '{name}', 'offer', 'code', '{title}', one_to_one => true)
ORDER BY a, b;
SELECT a, b FROM simhash_record_pairs('product', 'id', 0.9, '{name}', 'product', 'id', '{name}') ORDER BY a, b;
-- Without a list they are the columns of both, whatever their order.
CREATE TABLE item (code int PRIMARY KEY, stock int, colour text, name text);
INSERT INTO item SELECT id, id * 7, 'none', name FROM product WHERE id < 4;
SELECT count(*), count(*) FILTER (WHERE a = b AND similarity > 0.999) FROM simhash_record_pairs('product', 'id', 0, relation_b => 'item', key_b => 'code');
SELECT count(*) AS rows, count(*) FILTER (WHERE x IS NULL OR y IS NULL) AS other
FROM simhash_record_pairs('product', 'id', 'item', 'code', 0, '{}', '{}', true, 20, 1.5, 2) x
FULL JOIN simhash_record_pairs('product', 'id', 0, relation_b => 'item', key_b => 'code', one_to_one => true, rare => 20, rarity => 1.5, ngram => 2) y
	USING (a, b, similarity);
CREATE TABLE song (id int, title text);
SELECT a, b FROM simhash_record_pairs('song', 'id', 0, relation_b => 'item', key_b => 'code');
SELECT threshold, pairs, one_to_one, alone, examples
FROM simhash_record_report('product', 'id', '{name}', 'offer', 'code', '{title}') WHERE examples IS NOT NULL AND threshold > 0.5;

-- Names that need quotes, more columns than a function can have arguments, other types, another schema.
CREATE SCHEMA "other schema";
DO $$ BEGIN
	EXECUTE (SELECT format('CREATE TABLE "other schema"."it''s 100%%" ("the key" uuid PRIMARY KEY, %s)',
		string_agg(format('%I varchar(20)', 'c "' || i || ''' %s'), ', '))
		FROM generate_series(1, 150) i);
	EXECUTE (SELECT format('INSERT INTO "other schema"."it''s 100%%" SELECT md5((k %% 4)::text || (k / 4))::uuid, %s
		FROM generate_series(0, 7) k',
		string_agg(format('%s || ''v'' || (k %% 4)', i), ', ')) FROM generate_series(1, 150) i);
END $$;
SELECT count(*), min(similarity), bool_and(a < b)
FROM simhash_record_pairs_keyed(NULL::uuid, '"other schema"."it''s 100%"', 'the key', 0.99);
SELECT count(*) FROM simhash_record_pairs_keyed(NULL::uuid, '"other schema"."it''s 100%"', 'the key', 0.99, 'c "150'' %s');
CREATE TABLE typed (id bigint PRIMARY KEY, at timestamptz, doc jsonb, tags text[], price numeric, ok boolean);
INSERT INTO typed VALUES (-1, '2024-02-29 10:00+00', '{"a": ["x1"]}', '{red,blue}', 19.99, true),
	(-2, '2024-02-29 10:00+00', '{"a": ["x1"]}', '{red,blue}', 19.99, true),
	(-3, '2021-01-01 00:00+00', '{"b": 7}', '{green}', 3, false), (-4, NULL, NULL, '{yellow}', 5, NULL);
SELECT * FROM simhash_record_pairs('typed', 'id', 0.9);
-- Partitioned tables, and a key with a collation of its own.
CREATE TABLE parted (id text COLLATE "POSIX", region int, label text) PARTITION BY LIST (region);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
INSERT INTO parted VALUES ('b', 1, 'the same label'), ('a', 2, 'the same label'), ('c', 2, 'something else');
SELECT a, b FROM simhash_record_pairs_keyed(NULL::text, 'parted', 'id', 0.9, '{label}');
SELECT a, b FROM simhash_record_pairs_keyed(NULL::text, 'parted', 'id', 0, '{label}', rare => 1);
CREATE TABLE nothing (id int, name text);
SELECT count(*) FROM simhash_record_pairs('nothing', 'id', 0);
SELECT count(*), sum(pairs) FROM simhash_record_report('nothing', 'id');

-- A threshold that nobody gives: that of the report, which says it, with the weights; both can be passed on.
SET client_min_messages = notice;
CREATE TABLE taken AS SELECT * FROM simhash_record_pairs('person', 'id');
CREATE TABLE reported AS SELECT * FROM simhash_record_report('person', 'id');
SET client_min_messages = warning;
SELECT count(*), count(*) FILTER (WHERE b = a + 1000) AS right FROM taken;
SELECT taken >= threshold AND taken < threshold + 0.05 AS in_its_step, jsonb_typeof(weights -> 'phone') FROM reported WHERE taken IS NOT NULL;
SELECT count(*) FILTER (WHERE abs(t.similarity - p.similarity) < 1e-6 IS NOT TRUE) AS differ
FROM taken AS t FULL JOIN (SELECT p.* FROM reported AS r, simhash_record_pairs('person', 'id', r.taken, weights => r.weights) AS p) AS p USING (a, b);
SET client_min_messages = notice;
SELECT count(*) FROM simhash_record_pairs('person', 'id', relation_b => 'person', key_b => 'id', one_to_one => true);
SELECT count(*) FROM simhash_record_pairs('nothing', 'id');
-- Rows that are compared with none.
CREATE TABLE alone AS SELECT i AS id, 'common' AS name FROM generate_series(1, 7) AS i;
INSERT INTO alone VALUES (8, 'common thing'), (9, 'common thong'), (10, 'unlike'), (11, 'other');
SELECT threshold, pairs, alone FROM simhash_record_report('alone', 'id') WHERE threshold IN (0, 0.95);
SET client_min_messages = warning;

-- What differs in a code is no pair, before best partners are looked for; NULL says nothing.
CREATE TABLE article (id int PRIMARY KEY, title text, doi text);
INSERT INTO article VALUES (1, 'On the origin of near duplicates', '10.1/A'), (2, 'Correction to: On the origin of near duplicates', '10.1/b'),
	(3, 'On the origin of near duplicates', '10.1/a'), (4, 'On the origin of near-duplicates', NULL), (5, 'On the origin of near duplicates', '10.1/c');
SELECT a, b FROM simhash_record_pairs('article', 'id', 0.5, '{title}', differ => '{doi}') ORDER BY a, b;
SELECT a, b FROM simhash_record_pairs('article', 'id', 0.5, '{title}', differ => '{doi}', one_to_one => true) ORDER BY a, b;
SELECT a, b FROM simhash_record_pairs('article', 'id', 0.5, '{title}', 'article', 'id', '{title}', differ => '{doi}') WHERE a < b ORDER BY a, b;
SELECT max(pairs) FROM simhash_record_report('article', 'id', '{title}', differ => '{doi}');
SELECT count(*) FROM simhash_record_sample('article', 'id', '{title}', differ => '{doi}');
-- Rows with one value of several.
CREATE TABLE sparse (id int PRIMARY KEY, name text, town text);
INSERT INTO sparse VALUES (1, NULL, 'Ashford'), (2, NULL, 'Ashford'), (3, 'Ada', 'Dover'), (4, 'Ada', 'Dover');
SELECT * FROM simhash_record_pairs('sparse', 'id', 0.5) ORDER BY a;
SELECT * FROM simhash_record_explain('sparse', 'id', '{1, 3}', '{2, 4}');
SELECT a, b, value_b, shared FROM simhash_record_explain('product', 'id', '{1}', '{o2}', '{name}', 'offer', 'code', '{title}');
SELECT * FROM simhash_record_explain('sparse', 'id', '{1, 3}', '{2}');
SELECT * FROM simhash_record_explain('sparse', 'id', '{1}', '{77}');

-- It reads with the caller's rights, and what row security lets the caller see.
CREATE ROLE records_nobody;
GRANT USAGE ON SCHEMA records_test TO records_nobody;
SET ROLE records_nobody;
SELECT count(*) FROM simhash_record_pairs('product', 'id', 0);
RESET ROLE;
GRANT SELECT ON product TO records_nobody;
ALTER TABLE product ENABLE ROW LEVEL SECURITY;
CREATE POLICY seen ON product FOR SELECT USING (id IN (1, 2, 4));
SET ROLE records_nobody;
SELECT a, b FROM simhash_record_pairs('product', 'id', 0, '{name}') ORDER BY a, b;
RESET ROLE;

-- Errors.
SELECT * FROM simhash_record_pairs('person', 'nope', 0.5);
SELECT * FROM simhash_record_pairs('person', 'id', 0.5, '{surname, nope}');
SELECT * FROM simhash_record_pairs('person', 'id', 0.5, '{ctid}');
SELECT * FROM simhash_record_pairs('person', 'id', differ => '{nope}');
SELECT * FROM simhash_record_pairs('person', 'id', 1.5);
SELECT * FROM simhash_record_pairs('person', 'id', 'NaN');
SELECT * FROM simhash_record_pairs('person', 'id', 0.5, rare => -1);
SELECT * FROM simhash_record_pairs('person', 'id', 0.5, rare => 10001);
SELECT * FROM simhash_record_pairs('person', 'id', 0.5, rarity => 4.5);
SELECT * FROM simhash_record_pairs('person', 'id', 0.5, rarity => 'NaN');
SELECT * FROM simhash_record_pairs('person', 'id', 0.5, ngram => 0);
SELECT * FROM simhash_record_pairs('parted', 'id', 0.5);
SELECT * FROM simhash_record_pairs_keyed(NULL::uuid, 'person', 'id', 0.5);
SELECT * FROM simhash_record_pairs('product', 'id', 0.5, relation_b => 'offer', key_b => 'code');
SELECT * FROM simhash_record_pairs(4294967290, 'id', 0.5);
SELECT * FROM simhash_record_pairs(NULL, 'id', 0.5);
SELECT * FROM simhash_record_pairs('person', NULL, 0.5);
SELECT count(*) > 90 AS of_all FROM simhash_record_pairs('person', 'id', 0.5, NULL);
SELECT * FROM simhash_record_pairs('person', 'id', 0.5, one_to_one => NULL);
SELECT * FROM simhash_record_report('person', 'id', rare => NULL);
SELECT * FROM simhash_record_report('person', 'id', relation_b => 'product');
SELECT * FROM simhash_record_report('person', 'id', columns_b => '{nosuch}');
SELECT a, b FROM simhash_record_pairs('nothing', 'id', 0.5);
INSERT INTO nothing VALUES (1, 'the same'), (1, 'the same'), (2, 'else');
SELECT a, b FROM simhash_record_pairs('nothing', 'id', 0.5);
TRUNCATE nothing;
INSERT INTO nothing VALUES (NULL, 'a');
SELECT * FROM simhash_record_report('nothing', 'id');
SET client_min_messages = error;
DROP SCHEMA records_test, "other schema" CASCADE;
DROP ROLE records_nobody;
