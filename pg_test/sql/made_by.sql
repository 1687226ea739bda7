-- What made a column's fingerprints: simhash_made_by, simhash_fingerprint_verify, and the warning of a flagging trigger.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA made;
SET search_path = made, public;
RESET client_min_messages;

-- A generated column.
CREATE TABLE generated (id int PRIMARY KEY, title text, body text,
	fp bigint GENERATED ALWAYS AS (simhash64(ROW(title, body), '{"$columns": ["title", "body"], "title": 1, "body": 3}',
		preset => 'plain')) STORED,
	other bigint);
INSERT INTO generated VALUES (1, 'Street lamp', 'dark for two weeks'), (2, NULL, NULL);
SELECT simhash_made_by('generated', 'fp');
SELECT * FROM simhash_fingerprint_verify('generated', 'fp');
-- Nothing is known of a plain column; what is no column is an error.
SELECT simhash_made_by('generated', 'other') IS NULL AS unknown, v.* FROM simhash_fingerprint_verify('generated', 'other') AS v;
SELECT simhash_made_by('generated', 'nothing');
SELECT simhash_made_by('generated', 'ctid');
SELECT simhash_made_by(NULL, 'fp');

-- A column that a trigger fills. Its weights change: the same text does not meet itself, and an INSERT says so.
CREATE TABLE filled (id int PRIMARY KEY, title text, body text, fp bigint, is_dup boolean);
CREATE INDEX ON filled USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON filled FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'flag=is_dup', 'weights={"title": 1, "body": 9}');
INSERT INTO filled VALUES (1, 'Street lamp out of order again', 'Please repair it'),
	(2, 'Street lamp out of order again', 'Please repair it'), (3, NULL, NULL);
SELECT simhash_made_by('filled', 'fp');
SELECT * FROM simhash_fingerprint_verify('filled', 'fp');
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON filled FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'flag=is_dup', 'weights={"title": 1, "body": 1}', 'preset=plain');
SELECT simhash_made_by('filled', 'fp');
SELECT * FROM simhash_fingerprint_verify('filled', 'fp');
-- An UPDATE, which may be the one that makes them anew, does not warn; the first INSERT does, and no other of this session.
UPDATE filled SET title = title WHERE id = 3;
INSERT INTO filled VALUES (4, 'Street lamp out of order again', 'Please repair it');
INSERT INTO filled VALUES (5, 'Street lamp out of order again', 'Please repair it');
SELECT id, is_dup FROM filled ORDER BY id;
SELECT * FROM simhash_fingerprint_verify('made.filled', 'fp', NULL);
\connect -
SET search_path = made, public;
COPY filled (id, title) FROM STDIN;
6	Bus
7	Bridge
\.
UPDATE filled SET title = title;
SELECT * FROM simhash_fingerprint_verify('filled', 'fp');
\connect -
SET search_path = made, public;
INSERT INTO filled VALUES (8);
-- A fingerprint that should be there differs too. A trigger that is disabled makes nothing.
ALTER TABLE filled DISABLE TRIGGER flag;
SELECT simhash_made_by('filled', 'fp') IS NULL AS unknown;
INSERT INTO filled VALUES (9, 'School');
ALTER TABLE filled ENABLE TRIGGER flag;
SELECT checked, differing, (SELECT id FROM filled WHERE ctid = example) AS id FROM simhash_fingerprint_verify('filled', 'fp');
-- A question is made as the column is: a generated one, one that a trigger fills, one that a constraint describes.
SELECT simhash_query('generated', 'fp', '{"title": "Street lamp", "body": "dark for two weeks"}') = fp AS same FROM generated WHERE id = 1;
INSERT INTO filled VALUES (10, 'The school is closed', 'until Monday');
SELECT simhash_query('filled', 'fp', '{"title": "The school is closed", "body": "until Monday", "id": 11}') = fp AS same
FROM filled WHERE id = 10;
CREATE TABLE stated (id int, body text, fp bigint, CHECK (fp IS NOT DISTINCT FROM simhash64(body, preset => 'minwise')));
SELECT simhash_query('stated', 'fp', '{"body": "The school is closed"}') = simhash64('The school is closed', preset => 'minwise') AS same,
	simhash_query('stated', 'fp', '{}') IS NULL AS nothing_counts, simhash_query('stated', 'fp', NULL) IS NULL AS no_question;
EXPLAIN (COSTS OFF) SELECT FROM filled WHERE fp <~> simhash_query('filled', 'fp', '{"title": "School"}') <= 3;
SELECT simhash_query('generated', 'other', '{"body": "x"}');
SELECT simhash_query('stated', 'fp', '{"bodi": "x"}');
SELECT simhash_query('stated', 'fp', '["x"]');
SELECT simhash_query('stated', 'nothing', '{}');
-- A sample of pages.
INSERT INTO generated SELECT i, repeat('x', 1000) FROM generate_series(3, 300) i;
SELECT checked FROM simhash_fingerprint_verify('generated', 'fp', 0);
SELECT checked FROM simhash_fingerprint_verify('generated', 'fp', 1000);
SELECT sum(checked) BETWEEN 1 AND 299 * 20 AS some
FROM generate_series(1, 20), simhash_fingerprint_verify('generated', 'fp', 10 + 0 * generate_series);
SELECT checked FROM simhash_fingerprint_verify('generated', 'fp', -1);

-- A CHECK constraint: the server refuses what was made otherwise.
CREATE TABLE constrained (id int, title text, fp bigint, CHECK (fp IS NOT DISTINCT FROM simhash64(title, '{"features": ["words"]}')));
INSERT INTO constrained VALUES (1, 'Bus', simhash64('Bus', '{"features": ["words"]}'));
INSERT INTO constrained VALUES (2, 'Bus', 42);
INSERT INTO constrained VALUES (2, 'Bus', NULL);
SELECT simhash_made_by('constrained', 'fp');
SELECT * FROM simhash_fingerprint_verify('constrained', 'fp');
ALTER TABLE constrained DROP CONSTRAINT constrained_check;
INSERT INTO constrained VALUES (2, 'Bus', 42), (3, 'Bus', NULL);
ALTER TABLE constrained ADD CHECK (fp IS NOT DISTINCT FROM simhash64(constrained, '{"title": 1}')) NOT VALID;
SELECT simhash_made_by('constrained', 'fp');
SELECT * FROM simhash_fingerprint_verify('constrained', 'fp');
ALTER TABLE constrained DROP CONSTRAINT constrained_check, ADD CHECK (fp IS NOT DISTINCT FROM 42 OR id <> 2), ADD CHECK (fp <> 7);
SELECT simhash_made_by('constrained', 'fp') IS NULL AS unknown;

-- Names and weights that need quotes, columns with the names that our queries use, other operators on the search_path.
CREATE TABLE "Odd 'one\" (t text, new text, "it's \ 路灯" text, differs text, "f'p" bigint, is_dup boolean);
CREATE INDEX ON "Odd 'one\" USING simhash ("f'p");
CREATE TRIGGER "a b" BEFORE INSERT ON "Odd 'one\" FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=f''p', 'flag=is_dup', 'weights={"t": 1, "new": 1, "it''s \\ 路灯": 2}', 'preset=plain');
CREATE FUNCTION never(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = never);
CREATE DOMAIN jsonb AS text;
SET search_path = made, pg_catalog, public;
INSERT INTO "Odd 'one\" VALUES ('Bus', 'stop', 'market'), ('Bus', 'stop', 'market');
SELECT simhash_made_by('"Odd ''one\"', 'f''p');
SELECT checked, differing FROM simhash_fingerprint_verify('"Odd ''one\"', 'f''p');
\connect -
SET search_path = made, pg_catalog, public;
INSERT INTO "Odd 'one\" VALUES ('Bus', 'stop', 'market') RETURNING is_dup;
UPDATE "Odd 'one\" SET "f'p" = "f'p" + 1;
\connect -
SET search_path = made, pg_catalog, public;
INSERT INTO "Odd 'one\" VALUES ('Bus', 'stop', 'market');
SET search_path = made, public;
DROP OPERATOR made.= (bigint, bigint);
DROP DOMAIN made.jsonb;

-- Partitions: one warning for all; each is checked for itself.
CREATE TABLE parted (id int, title text, fp bigint, is_dup boolean) PARTITION BY RANGE (id);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_high (is_dup boolean, fp bigint, title text, id int);
ALTER TABLE parted ATTACH PARTITION parted_high FOR VALUES FROM (10) TO (20);
CREATE INDEX ON parted USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'flag=is_dup', 'weights={"title": 1}');
INSERT INTO parted VALUES (1, 'Street lamp out of order again'), (11, 'Street lamp out of order again');
DROP TRIGGER flag ON parted;
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'flag=is_dup', 'weights={"title": {"features": ["ngrams"]}}', 'preset=plain');
INSERT INTO parted VALUES (12, 'Street lamp out of order again'), (2, 'Street lamp out of order again');
SELECT * FROM simhash_fingerprint_verify('parted', 'fp');
SELECT simhash_made_by('parted', 'fp') = simhash_made_by('parted_high', 'fp') AS same;

-- Partitions whose generated columns have other expressions. Before PostgreSQL 16 only below a plain column.
CREATE TABLE north (id int, title text, fp bigint GENERATED ALWAYS AS (simhash64(title)) STORED, is_dup boolean);
CREATE TABLE south (title text, is_dup boolean, id int, fp bigint GENERATED ALWAYS AS (simhash64(title, preset => 'plain')) STORED);
CREATE TABLE east (LIKE north INCLUDING GENERATED);
DO $$ BEGIN
	EXECUTE 'CREATE TABLE whole (id int, title text, fp bigint ' || CASE WHEN current_setting('server_version_num')::int >= 160000
		THEN 'GENERATED ALWAYS AS (simhash64(''x'')) STORED' ELSE '' END || ', is_dup boolean) PARTITION BY RANGE (id)';
END $$;
CREATE INDEX ON whole USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON whole FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup');
ALTER TABLE whole ATTACH PARTITION north FOR VALUES FROM (0) TO (10);
ALTER TABLE whole ATTACH PARTITION east FOR VALUES FROM (10) TO (20);
INSERT INTO whole (id, title) VALUES (1, 'Bus'), (11, 'Bus');
ALTER TABLE whole ATTACH PARTITION south FOR VALUES FROM (20) TO (30);
\connect -
SET search_path = made, public;
INSERT INTO whole (id, title) VALUES (12, 'Bridge'), (22, 'Bridge');
SELECT part, made_by FROM simhash_fingerprint_verify('whole', 'fp');

-- Rows far from the start of the table are not looked for.
CREATE TABLE long (id int, title text, fp bigint, is_dup boolean);
CREATE INDEX ON long USING simhash (fp);
INSERT INTO long SELECT i, repeat('x', 2000) FROM generate_series(1, 400) i;
INSERT INTO long VALUES (401, 'Bus', 42);
CREATE TRIGGER flag BEFORE INSERT ON long
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'flag=is_dup', 'weights={"title": 1}');
SELECT (ctid::text::point)[0] >= 100 AS far FROM long WHERE id = 401;
INSERT INTO long VALUES (402);
SELECT checked, differing FROM simhash_fingerprint_verify('long', 'fp', NULL);

-- A role that may not read the rows inserts as before, and is not warned; nor of rows that a policy hides.
UPDATE parted SET fp = fp;
ALTER TABLE parted DISABLE TRIGGER flag;
UPDATE parted SET fp = fp + 1;
ALTER TABLE parted ENABLE TRIGGER flag;
CREATE ROLE regress_made_writer;
GRANT USAGE ON SCHEMA made TO regress_made_writer;
GRANT INSERT, SELECT (fp) ON parted TO regress_made_writer;
\connect -
SET search_path = made, public;
SET ROLE regress_made_writer;
INSERT INTO parted (id, title) VALUES (3, 'Bus');
SELECT simhash_made_by('parted', 'fp') IS NOT NULL AS known;
SELECT * FROM simhash_fingerprint_verify('parted', 'fp');
RESET ROLE;
GRANT SELECT ON parted, parted_low, parted_high TO regress_made_writer;
ALTER TABLE parted ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON parted TO regress_made_writer USING (id = 3) WITH CHECK (true);
\connect -
SET search_path = made, public;
SET ROLE regress_made_writer;
INSERT INTO parted (id, title) VALUES (4, 'Bus');
RESET ROLE;
DROP POLICY few ON parted;
CREATE POLICY most ON parted TO regress_made_writer USING (id <> 3) WITH CHECK (true);
\connect -
SET search_path = made, public;
-- The role needs no rights on the schema of the extension for that.
SELECT nspname AS home FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'simhash_dedup' \gset
REVOKE USAGE ON SCHEMA :home FROM PUBLIC;
SET ROLE regress_made_writer;
INSERT INTO parted (id, title) VALUES (5, 'Bus');
RESET ROLE;
GRANT USAGE ON SCHEMA :home TO PUBLIC;

SET client_min_messages = warning;
-- A function of another role that fits the row better is not called.
CREATE TABLE planted (id int PRIMARY KEY, body text, fp bigint, is_duplicate boolean);
CREATE TRIGGER flag BEFORE INSERT ON planted FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
	'fingerprint=fp', 'flag=is_duplicate', 'lock=off', 'weights={"body": 1}');
INSERT INTO planted VALUES (1, 'street lamp');
CREATE FUNCTION public.simhash64(planted, jsonb) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'planted'; END $$;
SELECT checked, differing FROM simhash_fingerprint_verify('planted', 'fp');
DROP FUNCTION public.simhash64(planted, jsonb);
-- A trigger that fires on replicas alone makes nothing here.
ALTER TABLE planted ENABLE REPLICA TRIGGER flag;
SELECT simhash_made_by('planted', 'fp') IS NULL AS unknown;
-- Not of a table.
CREATE VIEW of_planted AS SELECT fp FROM planted;
SELECT * FROM simhash_fingerprint_verify('of_planted', 'fp');
SELECT * FROM simhash_fingerprint_verify('planted', NULL);
SELECT * FROM simhash_fingerprint_verify('planted', 'ctid');
DROP SCHEMA made CASCADE;
DROP ROLE regress_made_writer;
