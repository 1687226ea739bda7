-- simhash_record_pattern: the statements that it writes, what they find, and its errors.
SET client_min_messages = warning;
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
\pset format unaligned
\pset tuples_only on
SELECT simhash_record_pattern('person', 'id', '{"name": ["given_name", "surname"], "number": ["born", "phone"], "address": ["street", "town"]}');
\pset tuples_only off
\pset format aligned
SELECT simhash_record_pattern('person', 'id', '{"name": ["given_name", "surname"], "number": ["born", "phone"], "address": ["street", "town"]}') \gexec
-- Each pair once, those of the same person and no other, and each within the radius somewhere.
SELECT count(*), count(DISTINCT (a, b)), bool_and(a < b), bool_and(b = a + 1000) FROM person_pairs;
SELECT count(*) AS wrong FROM person_pairs p JOIN person x ON x.id = p.a JOIN person y ON y.id = p.b
WHERE least(x.fp_name <~> y.fp_name, x.fp_number <~> y.fp_number, x.fp_address <~> y.fp_address) > 3
	OR jaccard < 0.25 OR jaccard <> simhash_jaccard(
		concat_ws(' ', x.given_name, x.surname, x.born, x.phone, x.street, x.town),
		concat_ws(' ', y.given_name, y.surname, y.born, y.phone, y.street, y.town), 3);
-- Each fingerprint finds pairs that no other finds.
SELECT count(*) FILTER (WHERE name AND NOT number AND NOT address) > 0 AS name,
	count(*) FILTER (WHERE number AND NOT name AND NOT address) > 0 AS number,
	count(*) FILTER (WHERE address AND NOT name AND NOT number) > 0 AS address
FROM (SELECT x.fp_name <~> y.fp_name <= 3 AS name, x.fp_number <~> y.fp_number <= 3 AS number, x.fp_address <~> y.fp_address <= 3 AS address
	FROM person_pairs p JOIN person x ON x.id = p.a JOIN person y ON y.id = p.b) found;
-- A generated fingerprint is that of the named columns, dates and numbers in canonical form whatever the settings say.
SET datestyle = 'German';
UPDATE person SET born = born;
SELECT count(*) AS wrong FROM person WHERE fp_number IS DISTINCT FROM simhash64(person, '{"born": 1, "phone": 1}', 'record');
RESET datestyle;
-- A record of which a group is empty has no fingerprint of it, and is found by the others.
INSERT INTO person SELECT 2000, NULL, '', NULL, phone, street, town FROM person WHERE id = 1;
SELECT fp_name IS NULL AS name, fp_number IS NULL AS number FROM person WHERE id = 2000;
SELECT a, b FROM person_pairs WHERE b = 2000;
-- A search uses the index.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM person WHERE fp_number <~> 1 <= 3;
RESET enable_seqscan;

-- Names that need quotes, keys that are no integers, the rights of whoever runs the statements, another schema.
CREATE SCHEMA "other schema";
CREATE TABLE "other schema"."it's 100%" ("the key" uuid PRIMARY KEY, "a ""b"" 'c'" text, "100%s" varchar(20), "$d" numeric);
INSERT INTO "other schema"."it's 100%" VALUES
	('00000000-0000-0000-0000-000000000002', 'one and the same', 'twice', 1.50),
	('00000000-0000-0000-0000-000000000001', 'one and the same', 'twice', 1.5),
	('00000000-0000-0000-0000-000000000003', 'nothing in common', 'once', 7);
SELECT simhash_record_pattern('"other schema"."it''s 100%"', 'the key', '{"it''s \"1\" %I": ["a \"b\" ''c''", "100%s"], "n": ["$d"]}', 2, 0.5, 4) \gexec
\d "other schema"."it's 100%"
SELECT * FROM "other schema"."it's 100%_pairs";
-- Partitioned tables.
CREATE TABLE parted (id bigint, region int, label text) PARTITION BY LIST (region);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
INSERT INTO parted VALUES (1, 1, 'the same label'), (2, 2, 'the same label');
SELECT simhash_record_pattern('parted', 'id', '{"label": ["label"]}') \gexec
SELECT a, b, pg_typeof(a), jaccard FROM parted_pairs;
-- It only writes: a role without any right gets the text.
CREATE ROLE records_nobody;
GRANT USAGE ON SCHEMA records_test TO records_nobody;
SET ROLE records_nobody;
SELECT count(*) FROM simhash_record_pattern('parted', 'id', '{"label": ["label"]}');
SELECT a FROM parted_pairs;
RESET ROLE;

-- Errors.
SELECT simhash_record_pattern('person', 'nope', '{"name": ["surname"]}');
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname", "nope"]}');
SELECT simhash_record_pattern('person', 'id', '{"name": []}');
SELECT simhash_record_pattern('person', 'id', '{"name": "surname"}');
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname", 1]}');
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname", null]}');
SELECT simhash_record_pattern('person', 'id', '{"": ["surname"]}');
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname", "surname"]}');
SELECT simhash_record_pattern('person', 'id', '{}');
SELECT simhash_record_pattern('person', 'id', '["surname"]');
SELECT simhash_record_pattern('person', 'id', 'null');
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname"]}', -1);
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname"]}', 65);
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname"]}', min_jaccard => 1.5);
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname"]}', min_jaccard => 'NaN');
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname"]}', ngram => 0);
SELECT simhash_record_pattern('person_pairs', 'a', '{"name": ["b"]}');
SELECT simhash_record_pattern(4294967290, 'id', '{"name": ["surname"]}');
SELECT simhash_record_pattern(NULL, 'id', '{"name": ["surname"]}');
SELECT simhash_record_pattern('person', NULL, '{"name": ["surname"]}');
SELECT simhash_record_pattern('person', 'id', NULL);
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname"]}', NULL);
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname"]}', min_jaccard => NULL);
SELECT simhash_record_pattern('person', 'id', '{"name": ["surname"]}', ngram => NULL);
SET client_min_messages = error;
-- A key with a collation of its own.
CREATE TABLE collated (id text COLLATE "POSIX" PRIMARY KEY, name text);
INSERT INTO collated VALUES ('a', 'one and the same'), ('b', 'one and the same'), ('c', 'another');
SELECT simhash_record_pattern('collated', 'id', '{"n": ["name"]}') \gexec
SELECT a, b FROM collated_pairs;
SELECT simhash_record_pattern('collated', 'ctid', '{"m": ["name"]}');
SELECT simhash_record_pattern('collated', 'id', jsonb_build_object(repeat('x', 61), '["name"]'::jsonb));
DROP SCHEMA records_test, "other schema" CASCADE;
DROP ROLE records_nobody;
