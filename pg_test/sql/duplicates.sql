-- simhash_duplicates and simhash_guard with keys and names of every kind: what a user deletes by is what tells rows apart, and
-- what is printed runs.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA duplicates_test;
SET search_path = duplicates_test, public;

-- A key that two rows have: a DELETE by it would delete both.
CREATE TABLE w (id int, at int, body text);
INSERT INTO w VALUES (1, 1, 'The lamp in Mill Lane is dark.'), (1, 2, 'Bus line 7 should stop at Rose Square.'),
	(2, 3, 'the lamp in mill lane is dark');
SELECT * FROM simhash_duplicates('w', 'body', key => 'id', first_by => 'at');
SELECT * FROM simhash_duplicates('w', 'body', key => 'id');
SELECT "group", key, stays, original FROM simhash_duplicates('w', 'body', key => 'id, at', first_by => 'at DESC');
CREATE TABLE heir () INHERITS (w);
SELECT * FROM simhash_duplicates('w', 'body', first_by => 'at');
SELECT * FROM simhash_duplicates('w', 'body', key => 'ctid');
DROP TABLE heir;
-- Without the heir, a ctid tells rows apart, whatever the key. Rows without a key are told by name.
SELECT key, stays, original FROM simhash_duplicates('w', 'body', key => 'ctid', first_by => 'at DESC');
INSERT INTO w VALUES (NULL, 4, 'Tram 2'), (NULL, 5, 'Tram 3');
DELETE FROM w WHERE at = 2;
\set SHOW_CONTEXT never
SELECT key, stays FROM simhash_duplicates('w', 'body', key => 'id');
\set SHOW_CONTEXT errors
DROP TABLE w CASCADE;

-- Keys that a cast to text writes in another way than the type does: the row is found by what is returned.
CREATE TABLE k (c char(8), i inet, b boolean, n numeric, "simhash_key" int, body text);
INSERT INTO k VALUES ('a', '10.0.0.1', true, 1.0, 3, 'The lamp in Mill Lane is dark.'), ('b', '10.0.0.2', false, 2.50, 1, 'the lamp in mill lane is dark');
SELECT t.key AS named, "group", d.key, stays, original
FROM (VALUES ('c'), ('i'), ('b'), ('n'), ('simhash_key'), ('c, i')) AS t (key),
	LATERAL simhash_duplicates('k', 'body', key => t.key) AS d ORDER BY t.key, stays DESC;
SELECT key, stays FROM simhash_duplicates('k', 'body', key => 'i', first_by => 'simhash_key');
SELECT count(*) FROM k WHERE i IN (SELECT key::inet FROM simhash_duplicates('k', 'body', key => 'i') WHERE NOT stays);
SELECT * FROM simhash_duplicates('k', 'body', first_by => '');
CREATE TABLE q (id int PRIMARY KEY, "q""q" int, body text);
INSERT INTO q VALUES (1, 1, 'The lamp in Mill Lane is dark.'), (2, 2, 'the lamp in mill lane is dark');
SELECT key, stays FROM simhash_duplicates('q', 'body', first_by => '"q""q" DESC, id');

-- simhash_guard leaves out of the index what no index takes, and touches no column and no function that is there.
CREATE TABLE g (id int PRIMARY KEY, votes bigint, price numeric, "a $$ b" text, body text);
SELECT simhash_guard('g', 'body', within => 'price') \gexec
INSERT INTO g VALUES (1, 0, 1.0, NULL, 'The lamp in Mill Lane is dark.'), (2, 0, 1.5, NULL, 'The lamp in Mill Lane is dark.');
INSERT INTO g VALUES (3, 0, 1.00, NULL, 'the lamp in mill lane is dark');
SELECT simhash_guard('g', 'body', fingerprint => 'votes');
SELECT simhash_guard('g', 'body', fingerprint => 'id');
DROP TABLE g;
CREATE TABLE g (id int PRIMARY KEY, "a $$ b" text);
CREATE FUNCTION g_fingerprint() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
SELECT simhash_guard('g', 'a $$ b', fingerprint => 'fp');
DROP FUNCTION g_fingerprint;
SELECT simhash_guard('g', 'a $$ b', fingerprint => 'fp') \gexec
INSERT INTO g VALUES (1, 'The lamp in Mill Lane is dark.');
INSERT INTO g VALUES (2, 'the lamp in mill lane is dark');
SELECT id, fp IS NOT NULL AS filled FROM g;
-- Again: nothing but what is missing.
SELECT * FROM simhash_guard('g', 'a $$ b', fingerprint => 'fp') AS statement WHERE statement !~ 'UPDATE';

-- Kept clusters within a column that has no hash function.
ALTER TABLE g ADD m money;
SELECT simhash_keep_clusters('g', 'id', 'fp', within => 'm');
SELECT simhash_keep_clusters('g', 'id', 'fp', across => 'id');
DROP SCHEMA duplicates_test CASCADE;
