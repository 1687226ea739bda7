-- What people type who have read nothing: it works, or the error prints what does. A name that does not exist, `<->`, ON CONFLICT on a
-- text, and a text where a bigint stands get the server's own message, which no extension can change: they are left out here.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE EXTENSION IF NOT EXISTS citext;
CREATE SCHEMA guesses;
SET search_path = guesses, public;
RESET client_min_messages;

CREATE TABLE memory (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, agent_id int, title text, content text, doc jsonb, tag citext,
	code char(40), seen int DEFAULT 1, original int);
INSERT INTO memory (agent_id, title, content, code) VALUES (1, 'a', 'User prefers dark mode and wants all answers in German.', 'one'),
	(1, 'b', 'user prefers DARK mode and wants all answers in german', 'two'), (2, 'c', 'The bus stops at the market again.', 'three'),
	(2, 'd', 'The bus does not stop at the market.', 'four');

-- An index.
CREATE INDEX ON memory USING simhash (content);
CREATE INDEX ON memory USING simhash (agent_id, content);
CREATE INDEX ON memory USING simhash (content) WITH (preset = 'words');
CREATE INDEX ON memory USING simhash (content) WITH (weights = '{"title": 2}');
CREATE INDEX ON memory USING simhash (content) WITH (radius = 3);
CREATE INDEX ON memory USING simhash (content, agent_id);
CREATE INDEX ON memory USING simhash (tag, content);
CREATE INDEX ON memory USING simhash (lower(tag::text), content);

-- Questions.
SELECT id FROM memory WHERE content <~> 'User prefers dark mode, and wants all answers in German' <= 8 ORDER BY id;
SELECT id FROM memory WHERE content ~= 'User prefers dark mode, and wants all answers in German' ORDER BY id;
SELECT id FROM memory ORDER BY content <~> 'The bus stops at the market', id LIMIT 1;
SELECT id FROM memory WHERE simhash64(ROW(title, content)) <~> simhash64(ROW('c', 'The bus stops at the market again')) <= 12;
CREATE TABLE older AS SELECT id + 100 AS id, content FROM memory;
CREATE INDEX ON older USING simhash (content);
CREATE VIEW everything AS SELECT id, content FROM memory UNION ALL SELECT id, content FROM older;
CREATE FUNCTION index_scans(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found + (line ~ 'Index Scan')::int;
	END LOOP;
	RETURN found;
END $$;
SET enable_seqscan = off;
SELECT index_scans('SELECT id FROM everything WHERE content ~= ''The bus stops at the market again''');
SELECT id FROM everything WHERE content ~= 'The bus stops at the market again' ORDER BY id;
RESET enable_seqscan;

-- All duplicates.
SELECT * FROM simhash_duplicates('memory');
SELECT a, b FROM simhash_pairs('memory', 'content');
SELECT a, b FROM simhash_pairs('memory', 'id', 'content');
SELECT a, b FROM simhash_pairs('memory', text => 'content');
SELECT key FROM simhash_clusters('memory', 'id', 'content') ORDER BY key;
SELECT key FROM simhash_clusters('memory', key => 'id', text => 'content') ORDER BY key;

-- A trigger.
CREATE TRIGGER once BEFORE INSERT ON memory FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate();
INSERT INTO memory (agent_id, content) VALUES (1, 'x');
CREATE OR REPLACE TRIGGER once BEFORE INSERT ON memory FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('content');
INSERT INTO memory (agent_id, content) VALUES (1, 'x');
CREATE OR REPLACE TRIGGER once BEFORE INSERT ON memory FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('text=content');
INSERT INTO memory (agent_id, content) VALUES (1, 'x');
CREATE OR REPLACE TRIGGER once BEFORE INSERT ON memory FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=simhash64(content)', 'mode=skip');
INSERT INTO memory (agent_id, content) VALUES (1, 'x');
DROP TRIGGER once ON memory;

-- A constraint.
ALTER TABLE memory ADD EXCLUDE USING simhash (agent_id WITH =, content WITH ~=);
DELETE FROM memory WHERE id = 2;
ALTER TABLE memory ADD EXCLUDE USING simhash (agent_id WITH =, content WITH ~=);
ALTER TABLE memory ADD EXCLUDE USING simhash ((code::text) WITH ~=);
INSERT INTO memory (agent_id, content) VALUES (1, 'user prefers DARK mode and wants all answers in german');
-- ROW(title, body) ~= ROW($1, $2) is a comparison of rows, which the server refuses: two columns are one text.
CREATE TABLE listing (shop int, title text, body text, EXCLUDE USING simhash (shop WITH =, (title || ' ' || body) WITH ~=));
INSERT INTO listing VALUES (1, 'Red bicycle', 'with seven gears'), (2, 'red BICYCLE', 'with seven gears');
INSERT INTO listing VALUES (1, 'red BICYCLE', 'with seven gears!') ON CONFLICT DO NOTHING RETURNING title;
SET enable_seqscan = off;
SELECT index_scans('SELECT FROM listing WHERE shop = 1 AND title || '' '' || body ~= ''red bicycle with seven gears''');
SELECT shop FROM listing WHERE shop = 1 AND title || ' ' || body ~= 'red bicycle with seven gears';
RESET enable_seqscan;

-- What keeps near-duplicates out, printed for a migration.
DROP TABLE older CASCADE;
CREATE TABLE ticket (id int PRIMARY KEY, tenant int, title text, body text, doc jsonb, original int, "at, all" text);
INSERT INTO ticket (id, tenant, title, body) SELECT i, i % 3, 'Number ' || i, 'The body of ticket ' || i FROM generate_series(1, 9) i;
SELECT simhash_guard('ticket');
SELECT simhash_guard('ticket', 'body', within => 'tenant');
SELECT simhash_guard('ticket', '{title,"at, all"}', arguments => '{mode=reject}');
SELECT simhash_guard('ticket', 'doc');
CREATE TABLE "A name of a table that is as long as a name may be, and has a %" (id int PRIMARY KEY, "the %s text" text);
SELECT regexp_replace(simhash_guard('"A name of a table that is as long as a name may be, and has a %"', fingerprint => 'fp'), 'simhash_\d+', 'simhash_N', 'g');
SELECT simhash_guard('ticket', 'title, body', 'tenant', '{duplicate_of=original}', 'fp');
-- Arguments are checked by what reads them when the trigger fires.
SELECT simhash_guard('ticket', 'nope');
SELECT simhash_guard('ticket', 'body', 'nope');
SELECT simhash_guard('ticket', 'tenant');
SELECT simhash_guard('ticket', 'body', arguments => '{mode=refuse}');
SELECT simhash_guard('ticket', 'body', arguments => '{duplicate_of=title}');
SELECT simhash_guard('ticket', 'body', arguments => '{checked_by=nope,mode=reject}');
SELECT simhash_guard('ticket', 'body', arguments => '{index=nope}');
SELECT simhash_guard('ticket', 'key=id');
SELECT simhash_guard('ticket', 'body', 'mode=reject', '{lock=off}');
SELECT simhash_guard('ticket', 'body', across => 'tenant', arguments => '{duplicate_of=original}');
SELECT simhash_guard('ticket', 'body', within => 'tenant', across => 'tenant');
SELECT simhash_guard('ticket', 'body', across => 'id');
SELECT simhash_guard('everything');
SELECT count(*) FROM simhash_pairs('ticket', text => 'title,body');
SELECT count(*) FROM simhash_pairs('ticket', 'body', within => 'tenant');
SELECT count(*) FROM simhash_clusters('ticket', columns => '{title,body}', within => '{tenant}', across => 'original');
SELECT count(*) FROM simhash_duplicates('ticket', 'id', 'body');
SELECT simhash_guard(NULL);
SELECT simhash_guard('ticket', 'body', 'tenant') \gexec
SELECT simhash_guard('ticket', 'body', 'tenant');
SELECT simhash_guard('ticket', 'body', arguments => '{mode=reject}');
INSERT INTO ticket (id, tenant, body) VALUES (20, 1, 'The lamp in Mill Lane is dark'), (21, 2, 'the lamp in mill lane is DARK!');
INSERT INTO ticket (id, tenant, body) VALUES (22, 1, 'the lamp in mill lane is DARK!') ON CONFLICT (id) DO UPDATE SET title = 'again' RETURNING id;
DROP TRIGGER ticket_once ON ticket;
SELECT simhash_guard('ticket', 'title, body', 'tenant', '{duplicate_of=original}', 'fp') \gexec
INSERT INTO ticket (id, tenant, title, body) VALUES (23, 1, 'Again', 'The LAMP in Mill Lane is dark') RETURNING id, original;
SELECT count(*) FILTER (WHERE fp IS DISTINCT FROM simhash64(ROW(title, body))) AS wrong FROM ticket;
CREATE TABLE parted (id int, tenant int, body text, PRIMARY KEY (id, tenant)) PARTITION BY LIST (tenant);
CREATE TABLE parted_1 PARTITION OF parted DEFAULT;
INSERT INTO parted VALUES (1, 1, 'The lamp in Mill Lane is dark');
SELECT simhash_guard('parted', 'body', 'tenant', fingerprint => 'fp') \gexec
INSERT INTO parted VALUES (2, 1, 'the lamp in mill lane is DARK!');

-- Traps. A document is checked as its text, citext as it is.
CREATE TABLE page (id int PRIMARY KEY, doc jsonb, title citext, original int);
SELECT simhash_guard('page', 'doc', arguments => '{duplicate_of=original}') \gexec
INSERT INTO page (id, doc) VALUES (1, '{"a": "The lamp in Mill Lane is dark"}'), (2, '{"a":   "The lamp in Mill Lane is dark"}'),
	(3, '{"a": "The lamp in Mill Lane is not dark"}') RETURNING id, original;
DROP TRIGGER page_once ON page;
SELECT simhash_guard('page', 'title', arguments => '{duplicate_of=original}') \gexec
INSERT INTO page (id, title) VALUES (4, 'The lamp in Mill Lane is dark'), (5, 'The lamp in Mill Lane is DARK!') RETURNING id, original;
-- An index on a column of fingerprints, made for kept clusters, does not stop the trigger of an index on the text; and
-- clusters of texts are checked by simhash_same.
CREATE TABLE street (id int PRIMARY KEY, body text, original int);
SELECT simhash_guard('street', 'body', arguments => '{duplicate_of=original}') \gexec
INSERT INTO street VALUES (1, 'A hole of 40 cm in front of 12 Mill Lane'), (2, 'A hole of 40 cm in front of 21 Mill Lane');
ALTER TABLE street ADD fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED;
CREATE INDEX ON street USING simhash (fp);
SELECT simhash_keep_clusters('street', 'id', 'fp', text => 'body');
INSERT INTO street VALUES (3, 'a hole of 40 cm, in front of 12 Mill Lane') RETURNING id, original;
SELECT key, cluster_id FROM street_cluster ORDER BY key;
SELECT simhash_guard('street', 'body', arguments => '{duplicate_of=original}');
-- Of other sellers alone: an index within a seller does not serve that.
CREATE TABLE product (id int PRIMARY KEY, seller int, body text, copy_of int);
CREATE INDEX product_of_seller ON product USING simhash (seller, body);
CREATE TRIGGER once BEFORE INSERT OR UPDATE ON product FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('duplicate_of=copy_of', 'across=seller');
INSERT INTO product VALUES (1, 1, 'Hand made wooden bowl');
CREATE OR REPLACE TRIGGER once BEFORE INSERT OR UPDATE ON product FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('duplicate_of=copy_of', 'across=seller', 'index=product_of_seller');
INSERT INTO product VALUES (1, 1, 'Hand made wooden bowl');
DROP TRIGGER once ON product;
SELECT simhash_guard('product', 'body', across => 'seller', arguments => '{duplicate_of=copy_of}') \gexec
INSERT INTO product VALUES (1, 1, 'Hand made wooden bowl'), (2, 1, 'hand made wooden bowl!'), (3, 2, 'Hand-made wooden bowl')
	RETURNING id, copy_of;
SELECT key, stays FROM simhash_duplicates('product', 'body', across => 'seller');
-- More indexes, for other searches, do not stop it. Of those of its text it takes the shortest expression, also after a rebuild.
CREATE INDEX ON product USING simhash (body) WHERE copy_of IS NULL;
CREATE INDEX ON product USING simhash ((md5(body)));
INSERT INTO product VALUES (4, 3, 'HAND MADE WOODEN BOWL') RETURNING copy_of;
SELECT indexrelid::regclass AS rebuilt FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
WHERE indrelid = 'product'::regclass AND amname = 'simhash' AND indkey[0] <> 0 AND indnkeyatts = 1 AND indpred IS NULL \gset
REINDEX INDEX CONCURRENTLY :rebuilt;
INSERT INTO product VALUES (5, 3, 'Hand made: wooden bowl.') RETURNING copy_of;
-- Answers from a template are not what a call means, though they are longer.
CREATE TABLE answered (id int PRIMARY KEY, body text, answer text);
INSERT INTO answered SELECT i, 'The lamp number ' || i || ' is dark', repeat('Thank you for your letter. ', 3) FROM generate_series(1, 9) i;
SELECT count(*) FROM simhash_duplicates('answered');
-- A table without a key.
CREATE TABLE keyless (body text);
SELECT simhash_guard('keyless', 'body');
-- A column that a trigger fills is filled in each row.
CREATE TABLE filled (id int PRIMARY KEY, body text, fp bigint, draft boolean);
CREATE TRIGGER once BEFORE INSERT OR UPDATE ON filled FOR EACH ROW WHEN (NOT new.draft)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'weights={"body": 1}', 'mode=reject');
INSERT INTO filled VALUES (1, 'The lamp in Mill Lane is dark', NULL, false);
-- A check of two rows refuses what an UPDATE makes near, not what was near before. A body in quotes lets the table be altered.
CREATE TABLE advert (id int PRIMARY KEY, body text, day int, seen int DEFAULT 0);
CREATE INDEX ON advert USING simhash (body);
CREATE FUNCTION same_days(stored advert, new advert) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT abs(stored.day - new.day) <= 3 $$;
INSERT INTO advert VALUES (1, 'A red bicycle with seven gears', 1), (2, 'A red bicycle with seven gears', 2), (3, 'A red bicycle with seven gears', 9);
CREATE TRIGGER once BEFORE INSERT OR UPDATE ON advert FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('text=body', 'checked_by=same_days', 'mode=reject');
INSERT INTO advert VALUES (4, 'A red bicycle with seven gears', 1);
DROP TRIGGER once ON advert;
ALTER TABLE advert ADD fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED;
CREATE INDEX ON advert USING simhash (fp);
CREATE TRIGGER once BEFORE INSERT OR UPDATE ON advert FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=12', 'checked_by=same_days', 'mode=reject');
UPDATE advert SET seen = 1;
UPDATE advert SET day = 3 WHERE id = 2;
UPDATE advert SET day = 4 WHERE id = 3;
UPDATE advert SET body = 'A red bicycle, with seven gears' WHERE id = 2;
ALTER TABLE advert ADD insists boolean NOT NULL DEFAULT false;
INSERT INTO advert VALUES (5, 'A red bicycle with seven gears', 12);
SET client_min_messages = warning;
DROP SCHEMA guesses CASCADE;
DROP EXTENSION citext;
