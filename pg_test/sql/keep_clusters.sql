-- simhash_keep_clusters, simhash_refresh_clusters, simhash_drop_clusters: one call sets up a table of clusters, kept at once or by
-- notes that a refresh answers. What is kept is compared with simhash_clusters.
\set SHOW_CONTEXT never
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA keep_test;
SET search_path = keep_test, public;
SET client_min_messages = notice;
-- What is not true of a table of clusters: entries of clusters of two and more are those of simhash_clusters.
CREATE FUNCTION faults(clusters regclass, afresh text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('WITH stored AS (SELECT key::text, cluster_id::text FROM (
			SELECT *, count(*) OVER (PARTITION BY cluster_id) AS size FROM %s) s WHERE size > 1),
		afresh AS (SELECT key::text, cluster_id::text FROM %s)
		SELECT ''too much: '' || key || '' in '' || cluster_id FROM (TABLE stored EXCEPT TABLE afresh) x
		UNION ALL SELECT ''missing: '' || key || '' in '' || cluster_id FROM (TABLE afresh EXCEPT TABLE stored) x ORDER BY 1', $1, $2);
END $$;
-- Notes are answered row by row only where there are few of them: the server is told that the table is large.
CREATE FUNCTION seems_large(relation regclass) RETURNS void LANGUAGE sql AS
	'UPDATE pg_class SET reltuples = 1000000 WHERE oid = $1 OR oid IN (SELECT relid FROM pg_partition_tree($1))';

-- ---- at once
CREATE TABLE doc (id int PRIMARY KEY, body text, fp bigint);
CREATE INDEX ON doc USING simhash (fp);
INSERT INTO doc SELECT i, 'text ' || i, i % 4 * 255 FROM generate_series(1, 10) i;
SELECT simhash_keep_clusters('doc', 'id', 'fp', 3);
\d doc_cluster
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'doc'::regclass ORDER BY 1;
TABLE doc_cluster ORDER BY key;
INSERT INTO doc VALUES (11, 'more', 7), (12, 'alone', -1), (13, 'with it', -2);
UPDATE doc SET fp = 255 WHERE id = 4;
DELETE FROM doc WHERE id = 1;
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
-- A second call makes nothing.
SELECT simhash_keep_clusters('doc', 'id', 'fp');
-- It mends what is missing: a trigger that is gone or disabled, the index, rows.
DROP TRIGGER doc_cluster_keep ON doc;
ALTER TABLE doc DISABLE TRIGGER doc_cluster_truncate;
DROP INDEX doc_cluster_cluster_id_idx;
INSERT INTO doc VALUES (14, 'unseen', -1);
DELETE FROM doc WHERE id = 2;
DELETE FROM doc_cluster WHERE key = 3;
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
SELECT simhash_keep_clusters('doc', 'id', 'fp');
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
-- So does a refresh, for the rows alone.
DELETE FROM doc_cluster WHERE key = 3;
SELECT simhash_refresh_clusters('doc_cluster'), simhash_refresh_clusters('doc_cluster');
-- The same table with other arguments.
SELECT simhash_keep_clusters('doc', 'id', 'fp', 4);
SELECT simhash_keep_clusters('doc', 'id', 'fp', refresh => 'manual');
SELECT simhash_keep_clusters('doc', 'id', 'fp', 4, clusters => '"Of 4"');
INSERT INTO doc VALUES (15, 'four bits', 15), (16, 'beside', 240);
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
SELECT * FROM faults('"Of 4"', $$simhash_clusters('doc', 'id', 'fp', 4)$$);
TRUNCATE doc;
SELECT (SELECT count(*) FROM doc_cluster), (SELECT count(*) FROM "Of 4");
SELECT simhash_drop_clusters('"Of 4"');
SELECT simhash_drop_clusters('doc_cluster');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'doc'::regclass;

-- ---- noted
INSERT INTO doc SELECT i, 'text ' || i, i % 4 * 255 FROM generate_series(1, 10) i;
SELECT simhash_keep_clusters('doc', 'id', 'fp', 3, refresh => 'manual');
\d+ doc_cluster_note
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'doc'::regclass ORDER BY 1;
SELECT count(*) FROM doc_cluster;
SELECT simhash_refresh_clusters('doc_cluster'), simhash_refresh_clusters('doc_cluster');
TABLE doc_cluster ORDER BY key;
SELECT seems_large('doc');
-- What is noted: rows with a fingerprint that came, changed or went.
INSERT INTO doc VALUES (11, 'more', 7), (12, 'alone', -1), (13, 'none', NULL);
UPDATE doc SET body = 'other', fp = fp WHERE id < 3;
UPDATE doc SET fp = 255 WHERE id IN (4, 13);
UPDATE doc SET id = 20 WHERE id = 5;
UPDATE doc SET fp = NULL WHERE id = 6;
DELETE FROM doc WHERE id = 7;
BEGIN;
DELETE FROM doc WHERE id = 8;
ROLLBACK;
TABLE doc_cluster_note ORDER BY key;
SELECT simhash_refresh_clusters('doc_cluster');
TABLE doc_cluster ORDER BY key;
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
SELECT count(*) FROM doc_cluster_note;
-- A bridge comes and goes; rows alone have no entries.
INSERT INTO doc VALUES (30, 'one end', 4095), (31, 'bridge', 4095 - 7), (32, 'other end', 4095 - 63);
SELECT simhash_refresh_clusters('doc_cluster');
SELECT * FROM doc_cluster WHERE key >= 30 ORDER BY key;
DELETE FROM doc WHERE id = 31;
SELECT simhash_refresh_clusters('doc_cluster');
SELECT * FROM doc_cluster WHERE key >= 30;
-- The cluster of a smallest key that goes is named anew, and one of a smaller key that comes.
DELETE FROM doc WHERE id IN (SELECT min(id) FROM doc WHERE fp = 0);
INSERT INTO doc VALUES (0, 'smallest', 255);
SELECT simhash_refresh_clusters('doc_cluster');
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
-- In one transaction with the changes, which is rolled back.
BEGIN;
INSERT INTO doc VALUES (40, 'here', 0);
SELECT simhash_refresh_clusters('doc_cluster');
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
ROLLBACK;
SELECT simhash_refresh_clusters('doc_cluster');
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
-- Keys that change places.
ALTER TABLE doc DROP CONSTRAINT doc_pkey, ADD PRIMARY KEY (id) DEFERRABLE;
UPDATE doc SET id = 11 - id WHERE id IN (3, 8);
SELECT simhash_refresh_clusters('doc_cluster') > 0;
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
-- TRUNCATE notes all.
TRUNCATE doc;
INSERT INTO doc VALUES (1, 'new', 1), (2, 'new', 2);
SELECT * FROM doc_cluster_note ORDER BY key;
SELECT simhash_refresh_clusters('doc_cluster') > 0;
TABLE doc_cluster ORDER BY key;
-- A second call has all rows looked at.
ALTER TABLE doc DISABLE TRIGGER USER;
INSERT INTO doc VALUES (3, 'unseen', 3);
ALTER TABLE doc ENABLE TRIGGER USER;
SELECT simhash_refresh_clusters('doc_cluster');
SELECT simhash_keep_clusters('doc', 'id', 'fp', refresh => 'manual');
SELECT simhash_refresh_clusters('doc_cluster');
-- Without an index all rows are searched, as with many notes.
DROP INDEX doc_fp_idx;
SELECT simhash_keep_clusters('doc', 'id', 'fp', refresh => 'manual');
INSERT INTO doc SELECT i, 'many', i % 16 * 4095 FROM generate_series(100, 300) i;
SELECT simhash_refresh_clusters('doc_cluster');
DELETE FROM doc WHERE id BETWEEN 100 AND 115;
SELECT simhash_refresh_clusters('doc_cluster');
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3)$$);
SELECT simhash_drop_clusters('doc_cluster');
SELECT to_regclass('doc_cluster'), to_regclass('doc_cluster_note');

-- ---- with texts: only pairs whose texts are alike, also where the fingerprint stays and the text changes
TRUNCATE doc;
CREATE INDEX doc_fp_idx ON doc USING simhash (fp);
INSERT INTO doc VALUES (1, 'the same words in this text', 0), (2, 'the same words in that text', 1),
	(3, 'quite another one here', 1), (4, NULL, 0);
SELECT simhash_keep_clusters('doc', 'id', 'fp', text => 'body', min_jaccard => 0.5, refresh => 'manual');
SELECT seems_large('doc');
SELECT simhash_refresh_clusters('doc_cluster');
TABLE doc_cluster ORDER BY key;
UPDATE doc SET body = 'the same words in his text' WHERE id = 3;
INSERT INTO doc VALUES (5, 'the same words in this text', 0);
SELECT simhash_refresh_clusters('doc_cluster');
TABLE doc_cluster ORDER BY key;
UPDATE doc SET body = 'nothing like it' WHERE id IN (1, 2);
SELECT simhash_refresh_clusters('doc_cluster');
SELECT * FROM faults('doc_cluster', $$simhash_clusters('doc', 'id', 'fp', 3, 'components', 'body', 0.5)$$);
TABLE doc_cluster ORDER BY key;
SELECT simhash_drop_clusters('doc_cluster');
TRUNCATE doc;
ALTER TABLE doc ADD lang int, DROP CONSTRAINT doc_pkey, ADD PRIMARY KEY (id);
-- At random: what comes, changes and goes, with equal texts, chains of texts and none.
SELECT simhash_keep_clusters('doc', 'id', 'fp', 3, '{lang}', refresh => 'manual', text => 'body', min_jaccard => 0.4);
SELECT seems_large('doc');
DO $$
DECLARE
	words CONSTANT text[] := '{lamp,road,bus,tree,dark,hole,late,weeks}';
	n int;
	fault text;
	seen bigint := 0;
BEGIN
	FOR i IN 1 .. 400 LOOP
		n := 1 + random() * 40;
		CASE (random() * 5)::int
			WHEN 0 THEN DELETE FROM doc WHERE id BETWEEN n AND n + random() * 3;
			WHEN 1 THEN UPDATE doc SET body = NULLIF(words[1 + (random() * 7)::int] || ' ' || words[1 + (random() * 7)::int], 'bus bus')
			WHERE id = n;
			WHEN 2 THEN UPDATE doc SET lang = NULLIF((random() * 3)::int, 3) WHERE id = n;
			ELSE INSERT INTO doc SELECT n + j, words[1 + (random() * 2)::int] || ' ' || words[1 + (random() * 7)::int],
				(random() * 255)::int::bigint, (random() * 2)::int
				FROM generate_series(0, (random() * 3)::int) j ON CONFLICT (id) DO UPDATE SET fp = excluded.fp, body = excluded.body;
		END CASE;
		CONTINUE WHEN random() < 0.5;
		PERFORM simhash_refresh_clusters('doc_cluster');
		fault := string_agg(f, ', ')
		FROM faults('doc_cluster', $f$simhash_clusters('doc', 'id', 'fp', 3, 'components', 'body', 0.4, '{lang}')$f$) f;
		ASSERT fault IS NULL, format('change %s: %s', i, fault);
		seen := seen + (SELECT count(*) FROM doc_cluster);
	END LOOP;
	ASSERT seen > 0, 'there were clusters';
END $$;
SELECT simhash_drop_clusters('doc_cluster');
DROP TABLE doc;

-- ---- names, keys, scopes
CREATE SCHEMA "My schema";
CREATE TABLE "My schema"."A, ""table""" ("Key" uuid PRIMARY KEY, "of, tenant" text, "Lang" int, "Fp" bigint);
CREATE INDEX ON "My schema"."A, ""table""" USING simhash ("Lang", "Fp");
SELECT simhash_keep_clusters('"My schema"."A, ""table"""', 'Key', 'Fp', 5, '{"of, tenant",Lang}', refresh => 'manual');
SELECT simhash_keep_clusters('"My schema"."A, ""table"""', 'Key', 'Fp', 5, '{"of, tenant",Lang}', '"My schema"."at, once"');
INSERT INTO "My schema"."A, ""table""" SELECT (lpad(to_hex(i), 8, '0') || '-0000-0000-0000-000000000000')::uuid,
	(ARRAY['a', 'b', NULL])[1 + i % 3], i % 2, i % 5 * 1023 FROM generate_series(1, 60) i;
SELECT simhash_refresh_clusters('"My schema"."A, ""table""_cluster"');
SELECT seems_large('"My schema"."A, ""table"""');
UPDATE "My schema"."A, ""table""" SET "of, tenant" = 'b' WHERE "Key" < '00000010-0000-0000-0000-000000000000';
UPDATE "My schema"."A, ""table""" SET "Lang" = NULL WHERE "Key" > '00000030-0000-0000-0000-000000000000';
SELECT simhash_refresh_clusters('"My schema"."A, ""table""_cluster"') > 0;
SELECT c.clusters, f.* FROM (VALUES ('"My schema"."A, ""table""_cluster"'), ('"My schema"."at, once"')) c (clusters),
	faults(clusters::regclass,
		$$simhash_clusters('"My schema"."A, ""table"""', key_type => NULL::uuid, columns => 'Fp', key => 'Key', radius => 5, within => '{"of, tenant",Lang}')$$) f;
SELECT count(DISTINCT cluster_id) > 5 FROM "My schema"."at, once";
SELECT simhash_drop_clusters('"My schema"."at, once"');
DROP SCHEMA "My schema" CASCADE;
-- Types that are none of the server's, operators that are in the way, a path without the extension.
CREATE DOMAIN short AS varchar(10);
CREATE TABLE named (name short PRIMARY KEY, fp bigint);
CREATE INDEX ON named USING simhash (fp);
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION hostile.never(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR hostile.= (FUNCTION = hostile.never, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR hostile.+ (FUNCTION = hostile.never, LEFTARG = bigint, RIGHTARG = bigint);
SELECT simhash_keep_clusters('named', 'name', 'fp', refresh => 'manual');
SELECT seems_large('named');
INSERT INTO named SELECT 'row ' || i, i % 3 * 4095 FROM generate_series(1, 9) i;
SELECT simhash_refresh_clusters('named_cluster');
SET search_path = hostile, pg_catalog;
UPDATE keep_test.named SET fp = 0 WHERE name OPERATOR(pg_catalog.=) 'row 1';
DELETE FROM keep_test.named WHERE name OPERATOR(pg_catalog.=) 'row 3';
SELECT public.simhash_refresh_clusters('keep_test.named_cluster');
SET search_path = keep_test, public;
TABLE named_cluster ORDER BY key;
DROP SCHEMA hostile CASCADE;
DROP TABLE named, named_cluster, named_cluster_note;
DROP DOMAIN short;

-- ---- partitions: also those that are attached later
CREATE TABLE part (id int PRIMARY KEY, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE INDEX ON part USING simhash (fp);
SELECT simhash_keep_clusters('part', 'id', 'fp', refresh => 'manual');
SELECT simhash_keep_clusters('part', 'id', 'fp', clusters => 'part_at_once');
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (100) TO (200);
CREATE TABLE part_3 (fp bigint, id int NOT NULL);
INSERT INTO part_3 VALUES (0, 200), (1, 201);
INSERT INTO part SELECT i * 10, i % 3 FROM generate_series(0, 15) i;
SELECT simhash_refresh_clusters('part_cluster');
SELECT seems_large('part');
ALTER TABLE part ATTACH PARTITION part_3 FOR VALUES FROM (200) TO (300);
-- Rows that come with a partition fire no trigger: the second call looks at them.
SELECT simhash_refresh_clusters('part_cluster');
SELECT simhash_keep_clusters('part', 'id', 'fp', refresh => 'manual');
SELECT simhash_keep_clusters('part', 'id', 'fp', clusters => 'part_at_once');
SELECT simhash_refresh_clusters('part_cluster');
INSERT INTO part VALUES (210, 4095), (5, 4095), (105, 4094);
-- A row that moves to another partition.
UPDATE part SET id = id + 102, fp = 63 WHERE id IN (10, 20, 30);
SELECT simhash_refresh_clusters('part_cluster');
SELECT clusters, f.* FROM (VALUES ('part_cluster'), ('part_at_once')) c (clusters),
	faults(clusters::regclass, $$simhash_clusters('part', 'id', 'fp')$$) f;
SELECT count(*) > 10 FROM part_cluster;
DROP TABLE part, part_cluster, part_cluster_note, part_at_once;

-- ---- what follows the table: persistence, owner
CREATE TEMP TABLE passing (id int PRIMARY KEY, fp bigint);
SET client_min_messages = error;
SELECT simhash_keep_clusters('passing', 'id', 'fp', refresh => 'manual')::text ~ 'passing_cluster';
CREATE UNLOGGED TABLE light (id int PRIMARY KEY, fp bigint);
SELECT simhash_keep_clusters('light', 'id', 'fp');
SELECT simhash_keep_clusters('light', 'id', 'fp', clusters => 'light_later', refresh => 'manual');
SELECT relname, relpersistence FROM pg_class WHERE relname ~ '^(light|passing)_' AND relkind = 'r' ORDER BY 1;
DROP TABLE passing, passing_cluster, passing_cluster_note, light, light_cluster, light_later, light_later_note;
CREATE ROLE keep_owner;
CREATE ROLE keep_writer;
CREATE ROLE keep_other;
CREATE TABLE owned (id int PRIMARY KEY, fp bigint, who text DEFAULT current_user);
CREATE INDEX ON owned USING simhash (fp);
ALTER TABLE owned OWNER TO keep_owner;
GRANT CREATE ON SCHEMA keep_test TO keep_owner;
GRANT USAGE ON SCHEMA keep_test TO keep_owner, keep_writer, keep_other;
SELECT simhash_keep_clusters('owned', 'id', 'fp', refresh => 'manual');
SELECT relname, relowner::regrole FROM pg_class WHERE relname ~ '^owned_' AND relkind = 'r' ORDER BY 1;
SET client_min_messages = notice;

-- ---- rights: those of the caller
GRANT SELECT, INSERT ON owned TO keep_writer;
SET ROLE keep_writer;
INSERT INTO owned VALUES (1, 1);
SELECT simhash_refresh_clusters('owned_cluster');
SELECT simhash_keep_clusters('owned', 'id', 'fp', clusters => 'mine');
RESET ROLE;
-- A trigger of somebody who may not write to the clusters does not count.
GRANT CREATE ON SCHEMA keep_test TO keep_other;
SET ROLE keep_other;
CREATE TABLE theirs (id int PRIMARY KEY, fp bigint);
CREATE TRIGGER theirs AFTER INSERT ON theirs FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=keep_test.owned_cluster', 'key=id', 'fingerprint=fp', 'radius=9');
RESET ROLE;
SELECT relation, name FROM simhash_catalog.kept_by('owned_cluster');
DROP TABLE theirs;
REVOKE CREATE ON SCHEMA keep_test FROM keep_other;
GRANT INSERT ON owned_cluster_note TO keep_writer;
SET ROLE keep_writer;
INSERT INTO owned VALUES (1, 1), (2, 1);
RESET ROLE;
GRANT SELECT, INSERT, UPDATE, DELETE ON owned_cluster, owned_cluster_note TO keep_other;
SET ROLE keep_other;
SELECT simhash_refresh_clusters('owned_cluster');
RESET ROLE;
GRANT SELECT ON owned TO keep_other;
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON owned USING (who = current_user);
SET ROLE keep_other;
SELECT simhash_refresh_clusters('owned_cluster');
SET ROLE keep_owner;
SELECT simhash_refresh_clusters('owned_cluster');
SELECT simhash_drop_clusters('owned_cluster');
SELECT simhash_keep_clusters('owned', 'id', 'fp');
SELECT simhash_drop_clusters('owned_cluster');
RESET ROLE;
DROP TABLE owned;
REVOKE ALL ON SCHEMA keep_test FROM keep_owner, keep_writer, keep_other;
DROP ROLE keep_owner, keep_writer, keep_other;

-- ---- texts: of the table alone, of a column, of a column beside a key
CREATE TABLE letter (id int PRIMARY KEY, subject varchar(80), body text);
CREATE INDEX ON letter USING simhash (body);
CREATE FUNCTION a_text(n int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg('the ' || md5((n * 100 + i)::text) || ' of it', ' ') FROM generate_series(1, 12 * (1 + n % 9)) i
$$;
INSERT INTO letter SELECT i, 'about ' || md5((i % 3)::text) || ' and more of it', a_text(i % 10) || CASE WHEN i > 10 THEN '!' END
	FROM generate_series(1, 15) i;
SELECT simhash_keep_clusters('letter');
INSERT INTO letter VALUES (20, NULL, a_text(1)), (21, NULL, '?'), (22, NULL, NULL), (23, NULL, a_text(50)), (24, NULL, a_text(50) || '.');
UPDATE letter SET body = a_text(2) WHERE id = 11;
DELETE FROM letter WHERE id = 12;
UPDATE letter SET id = 100, subject = 'other' WHERE id = 24;
SELECT array_agg(key ORDER BY key) AS keys FROM letter_cluster GROUP BY cluster_id ORDER BY 1;
SELECT * FROM faults('letter_cluster', $$simhash_clusters('letter', columns => 'body')$$);
SELECT simhash_keep_clusters('letter', 'subject', clusters => 'subject_cluster');
SELECT simhash_keep_clusters('letter', 'id', 'subject', refresh => 'manual', clusters => 'later_cluster', min_jaccard => 0.9);
UPDATE letter SET subject = 'another one' WHERE id IN (1, 2);
SELECT simhash_refresh_clusters('later_cluster') > 0;
INSERT INTO letter VALUES (30, 'another one', NULL);
SELECT simhash_refresh_clusters('later_cluster');
SELECT * FROM faults('subject_cluster', $$simhash_clusters('letter', columns => 'subject')$$)
UNION ALL SELECT * FROM faults('later_cluster', $$simhash_clusters('letter', columns => 'subject', text => 'subject', min_jaccard => 0.9)$$);
ALTER TABLE letter DROP CONSTRAINT letter_pkey;
SELECT simhash_keep_clusters('letter', clusters => 'another');
-- ---- errors
CREATE TABLE doc (id int PRIMARY KEY, body text, fp bigint);
CREATE INDEX ON doc USING simhash (fp);
CREATE VIEW doc_view AS SELECT id, fp FROM doc;
CREATE TABLE a_name_that_leaves_no_room_for_those_of_the_triggers (id int PRIMARY KEY, fp bigint);
SELECT simhash_keep_clusters(NULL, 'id', 'fp');
SELECT simhash_keep_clusters('doc', 'id', 'fp', refresh => 'daily');
SELECT simhash_keep_clusters('doc_view', 'id', 'fp');
CREATE TABLE heir () INHERITS (doc);
SELECT simhash_keep_clusters('doc', 'id', 'fp');
DROP TABLE heir;
-- Once a table has had children it says so until VACUUM or ANALYZE.
ANALYZE doc;
SELECT simhash_keep_clusters('a_name_that_leaves_no_room_for_those_of_the_triggers', 'id', 'fp');
SELECT simhash_keep_clusters('doc', 'no', 'fp');
SELECT simhash_keep_clusters('doc', 'id', 'no');
SELECT simhash_keep_clusters('doc', 'id', 'fp', 65);
SELECT simhash_keep_clusters('doc', 'id', 'fp', within => '{no}');
SELECT simhash_keep_clusters('doc', 'id', 'fp', within => '{id}');
SELECT simhash_keep_clusters('doc', 'id', 'fp', refresh => 'manual', text => 'fp');
SELECT simhash_keep_clusters('doc', 'id', 'fp', refresh => 'manual', text => 'body', min_jaccard => 2);
SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'a.b.c');
SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'nowhere.clusters');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT simhash_keep_clusters('doc', 'id', 'fp');
ROLLBACK;
SELECT simhash_refresh_clusters('doc');
SELECT simhash_refresh_clusters(NULL);
SELECT simhash_drop_clusters('doc');
SELECT simhash_keep_clusters('doc', 'id', 'fp', refresh => 'manual');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT simhash_refresh_clusters('doc_cluster');
ROLLBACK;
BEGIN READ ONLY;
SELECT simhash_refresh_clusters('doc_cluster');
ROLLBACK;
-- Notes are stored past indexes, triggers and rules: a table of notes that has any is refused.
CREATE INDEX ON doc_cluster_note (key);
INSERT INTO doc VALUES (1, '', 1);
DROP INDEX doc_cluster_note_key_idx;
ALTER TABLE doc_cluster_note ALTER key TYPE bigint;
INSERT INTO doc VALUES (1, '', 1);
ALTER TABLE doc_cluster_note ALTER key TYPE int;
INSERT INTO doc VALUES (1, '', 1);
ALTER TABLE doc_cluster_note RENAME TO elsewhere;
INSERT INTO doc VALUES (2, '', 1);
SELECT simhash_refresh_clusters('doc_cluster');
ALTER TABLE elsewhere RENAME TO doc_cluster_note;
ALTER TABLE doc DROP CONSTRAINT doc_pkey, ALTER id DROP NOT NULL;
INSERT INTO doc VALUES (NULL, '', 1);
INSERT INTO doc VALUES (NULL, '', NULL);
DELETE FROM doc WHERE id IS NULL;
-- Keys that do not tell rows apart.
INSERT INTO doc VALUES (1, '', 1);
SELECT simhash_refresh_clusters('doc_cluster');
SELECT seems_large('doc');
SELECT simhash_refresh_clusters('doc_cluster');
DELETE FROM doc;
SELECT simhash_refresh_clusters('doc_cluster');
CREATE TRIGGER wrong BEFORE INSERT ON doc FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters();
INSERT INTO doc VALUES (1, '', 1);
DROP TRIGGER wrong ON doc;
CREATE TRIGGER wrong AFTER INSERT ON doc
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=doc_cluster', 'notes=none', 'key=id', 'fingerprint=fp');
INSERT INTO doc VALUES (1, '', 1);
DROP TABLE doc CASCADE;
DROP TABLE doc_cluster, doc_cluster_note, a_name_that_leaves_no_room_for_those_of_the_triggers;
SET client_min_messages = warning;
DROP SCHEMA keep_test CASCADE;
