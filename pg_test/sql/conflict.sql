-- mode=conflict: a row that is near a stored one gets its key, and ON CONFLICT decides. docs/flagging.md.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA conflict;
SET search_path = conflict, public;
RESET client_min_messages;

CREATE TABLE memory (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, fp bigint, body text, seen int NOT NULL DEFAULT 1);
CREATE INDEX ON memory USING simhash (fp);
CREATE TRIGGER memory_once BEFORE INSERT OR UPDATE ON memory
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=8', 'mode=conflict');
INSERT INTO memory (fp, body) VALUES (0, 'first'), (1048575, 'second') ON CONFLICT DO NOTHING RETURNING id, body;
INSERT INTO memory (fp, body) VALUES (3, 'first again')
	ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1 RETURNING id, body, seen;
INSERT INTO memory (fp, body) VALUES (1, 'first once more'), (-1, 'fourth') ON CONFLICT (id) DO NOTHING RETURNING body;
-- The nearest of two that are near.
INSERT INTO memory (fp, body) VALUES (x'7ff'::bigint, 'eleven bits from the first, nine from the second')
ON CONFLICT (id) DO NOTHING RETURNING body;
INSERT INTO memory (fp, body) VALUES (x'7f'::bigint, 'near the first and the last')
ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1 RETURNING id, body;
-- Without ON CONFLICT.
INSERT INTO memory (fp, body) VALUES (1, 'refused');
-- Two near rows of one statement.
INSERT INTO memory (fp, body) VALUES (-1::bigint << 32, 'new'), (-1::bigint << 32, 'new, too')
ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1;
INSERT INTO memory (fp, body) VALUES (-1::bigint << 32, 'new'), (-1::bigint << 32, 'new, too') ON CONFLICT (id) DO NOTHING RETURNING body;
-- An edit that makes two rows near is refused, as by a unique constraint; another edit is not.
UPDATE memory SET fp = 1048574 WHERE body = 'first';
UPDATE memory SET fp = 2 WHERE body = 'first';
INSERT INTO memory (fp, body) VALUES (3, 'corrected')
ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp, body = EXCLUDED.body RETURNING id, body, fp;
SELECT fp, body, seen FROM memory ORDER BY id;
-- What programs read of it.
DO $$
DECLARE t text; c text; d text;
BEGIN
	INSERT INTO conflict.memory (fp) VALUES (3);
EXCEPTION WHEN unique_violation THEN
	GET STACKED DIAGNOSTICS t = TABLE_NAME, c = CONSTRAINT_NAME, d = PG_EXCEPTION_DETAIL;
	RAISE NOTICE '%, %: %', t, c, d;
END $$;

-- Keys of uuid and text, and of several columns; within a tenant; texts checked.
CREATE TABLE document (tenant int, slug text, id uuid UNIQUE DEFAULT gen_random_uuid(), body text, fp bigint, PRIMARY KEY (tenant, slug));
CREATE INDEX ON document USING simhash (tenant, fp);
CREATE TRIGGER document_once BEFORE INSERT OR UPDATE ON document FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'within=tenant', 'text=body', 'min_jaccard=0.5');
INSERT INTO document VALUES (1, 'a', DEFAULT, 'the quick brown fox jumps over the lazy dog', 0);
INSERT INTO document VALUES
	(1, 'b', DEFAULT, 'the quick brown fox jumps over the lazy dogs', 1),
	(2, 'c', DEFAULT, 'the quick brown fox jumps over the lazy dogs', 1),
	(1, 'd', DEFAULT, 'a sentence about the weather of tomorrow', 1)
	ON CONFLICT (tenant, slug) DO UPDATE SET body = document.body || '!' RETURNING tenant, slug, body;
CREATE OR REPLACE TRIGGER document_once BEFORE INSERT OR UPDATE ON document FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'within=tenant', 'key=id');
INSERT INTO document VALUES (1, 'e', DEFAULT, 'near', 1) ON CONFLICT (id) DO UPDATE SET body = 'found by its uuid'
	RETURNING tenant, slug, body;
-- A key that is given and stored is an edit of that row.
INSERT INTO document SELECT tenant, 'f', id, 'edited', 3 FROM document WHERE slug = 'd' ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body;
SELECT tenant, slug, body, fp FROM document ORDER BY tenant, slug;

-- A key that is unique within a tenant alone.
CREATE TABLE letter (tenant int, id int, fp bigint, PRIMARY KEY (tenant, id));
CREATE INDEX ON letter USING simhash (tenant, fp);
CREATE TRIGGER letter_once BEFORE INSERT OR UPDATE ON letter
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'within=tenant', 'key=id');
INSERT INTO letter VALUES (1, 5, 0), (2, 6, 0);
INSERT INTO letter VALUES (2, 5, 1), (1, 6, 1), (2, 7, -1) ON CONFLICT (tenant, id) DO UPDATE SET fp = EXCLUDED.fp RETURNING *;
INSERT INTO letter VALUES (1, 5, 3) ON CONFLICT (tenant, id) DO UPDATE SET fp = EXCLUDED.fp RETURNING *;
CREATE OR REPLACE TRIGGER letter_once BEFORE INSERT OR UPDATE ON letter
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip', 'within=tenant', 'key=id');
INSERT INTO letter VALUES (1, 7, 3), (2, 5, 3) ON CONFLICT (tenant, id) DO NOTHING RETURNING *;

-- Partitions: a key that holds the partition key cannot become that of another partition.
CREATE TABLE parted (region text, id int, fp bigint, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE parted_n PARTITION OF parted FOR VALUES IN ('n');
CREATE TABLE parted_s PARTITION OF parted FOR VALUES IN ('s');
CREATE INDEX ON parted USING simhash (fp);
CREATE TRIGGER parted_once BEFORE INSERT OR UPDATE ON parted
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict');
INSERT INTO parted VALUES ('n', 1, 0);
INSERT INTO parted VALUES ('n', 2, 1) ON CONFLICT (region, id) DO UPDATE SET fp = 2 RETURNING *;
INSERT INTO parted VALUES ('s', 3, 1) ON CONFLICT (region, id) DO NOTHING;
-- One that has its columns in another order, and is partitioned itself.
CREATE TABLE parted_w (fp bigint, dropped int, id int NOT NULL, region text NOT NULL) PARTITION BY RANGE (id);
ALTER TABLE parted_w DROP COLUMN dropped;
CREATE TABLE parted_w1 PARTITION OF parted_w FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_w2 PARTITION OF parted_w DEFAULT;
ALTER TABLE parted ATTACH PARTITION parted_w FOR VALUES IN ('w', 'x');
INSERT INTO parted VALUES ('w', 4, -1), ('w', 5, -2) ON CONFLICT (region, id) DO NOTHING RETURNING *;
INSERT INTO parted_w (region, id, fp) VALUES ('x', 6, -1) ON CONFLICT (region, id) DO UPDATE SET fp = -4 RETURNING *;
INSERT INTO parted VALUES ('w', 200, -3) ON CONFLICT (region, id) DO NOTHING;
-- An UPDATE that moves a row is judged as one.
UPDATE parted SET region = 's' WHERE id = 1;
UPDATE parted SET region = 'w', fp = -3 WHERE id = 1;
SELECT tableoid::regclass, * FROM parted ORDER BY id;

-- What is refused.
CREATE TABLE keyless (fp bigint);
CREATE TRIGGER once BEFORE INSERT ON keyless FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict');
INSERT INTO keyless VALUES (0);
CREATE OR REPLACE TRIGGER once BEFORE INSERT ON keyless
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'key=a,b,c,d,e');
INSERT INTO keyless VALUES (0);
CREATE OR REPLACE TRIGGER once BEFORE INSERT ON keyless
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'key=fp');
INSERT INTO keyless VALUES (0);

-- Two rows with one key would be silent: only a key that an index keeps apart is taken.
CREATE TABLE loose (id int, tenant int, url text, fp bigint);
CREATE INDEX ON loose USING simhash (fp);
CREATE FUNCTION try_key(key text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE h text;
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER once BEFORE INSERT OR UPDATE ON loose FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=fp'', ''mode=conflict'', ''key=%s'')', key);
	INSERT INTO loose VALUES (1, 1, 'a', 0), (2, 1, 'b', 1) ON CONFLICT DO NOTHING;
	RETURN (SELECT string_agg(id || url, ' ' ORDER BY id) FROM loose);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS h = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', sqlstate, sqlerrm, h);
END $$;
SELECT try_key('id');
ALTER TABLE loose ADD UNIQUE (id) DEFERRABLE;
CREATE UNIQUE INDEX ON loose (id) WHERE tenant > 0;
CREATE UNIQUE INDEX ON loose (abs(id));
CREATE UNIQUE INDEX ON loose (id, tenant);
ALTER TABLE loose ADD EXCLUDE USING btree (id WITH =);
SELECT try_key('id');
ALTER TABLE loose DROP CONSTRAINT loose_id_key;
-- It may have a part of the key, in any order, and other columns beside.
SELECT try_key('url,tenant,id');
TRUNCATE loose;
CREATE UNIQUE INDEX CONCURRENTLY loose_id ON loose (id) INCLUDE (url);
SELECT try_key('id');
-- When it is gone, or another table inherits, this is noticed.
DROP INDEX loose_id;
SELECT try_key('id');
CREATE UNIQUE INDEX loose_id ON loose (id);
SELECT try_key('id');
CREATE TABLE looser () INHERITS (loose);
SELECT try_key('id');
CREATE TRIGGER once BEFORE INSERT OR UPDATE ON looser
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'key=id');
INSERT INTO looser VALUES (3, 1, 'c', 1);
-- Partitions whose own keys are unique, while that of the whole is not.
CREATE TABLE apart (region text, id int, fp bigint) PARTITION BY LIST (region);
CREATE TABLE apart_n PARTITION OF apart (PRIMARY KEY (id)) FOR VALUES IN ('n');
CREATE TABLE apart_s PARTITION OF apart (PRIMARY KEY (id)) FOR VALUES IN ('s');
CREATE INDEX ON apart USING simhash (fp);
CREATE TRIGGER once BEFORE INSERT ON apart
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'key=id');
INSERT INTO apart VALUES ('n', 1, 0);
-- A generated key has no value yet when the trigger fires.
CREATE TABLE by_hash (body text, hash text GENERATED ALWAYS AS (md5(body)) STORED PRIMARY KEY, fp bigint);
CREATE TRIGGER once BEFORE INSERT ON by_hash FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict');
INSERT INTO by_hash VALUES ('a', DEFAULT, 0);

-- Other ways to store rows. One that is near takes the key, whatever the statement is.
TRUNCATE memory RESTART IDENTITY;
INSERT INTO memory (fp, body) VALUES (0, 'first');
COPY memory (fp, body) FROM stdin;
-1	last
1	copied
\.
MERGE INTO memory m USING (VALUES (-1::bigint), (1)) v (fp) ON m.fp = v.fp
	WHEN MATCHED THEN UPDATE SET seen = seen + 1 WHEN NOT MATCHED THEN INSERT (fp, body) VALUES (v.fp, 'merged');
INSERT INTO memory (fp, body) SELECT i, 'of many' FROM generate_series(1, 2) i ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1;
INSERT INTO memory (fp, body) SELECT i, 'of many' FROM generate_series(1, 3) i ON CONFLICT (id) DO NOTHING;
INSERT INTO memory (fp, body) VALUES (1, 'by the name of the constraint')
	ON CONFLICT ON CONSTRAINT memory_pkey DO UPDATE SET seen = memory.seen + 1, body = EXCLUDED.body WHERE memory.seen < 2
	RETURNING id, body, seen;
INSERT INTO memory (fp, body) VALUES (1, 'not any more')
	ON CONFLICT ON CONSTRAINT memory_pkey DO UPDATE SET seen = memory.seen + 1 WHERE memory.seen < 2 RETURNING id, body, seen;
-- A key that was taken counts for what is computed of it.
ALTER TABLE memory ADD twice int GENERATED ALWAYS AS (id * 2) STORED, ADD CHECK (id < 100);
ALTER TABLE memory ALTER id RESTART WITH 100;
INSERT INTO memory (fp, body) VALUES (3, 'again')
ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.id || ', ' || EXCLUDED.twice RETURNING id, body;
-- The trigger of a replica, and one that is disabled.
SET session_replication_role = replica;
INSERT INTO memory (id, fp, body) OVERRIDING SYSTEM VALUE VALUES (10, 1, 'replicated');
ALTER TABLE memory ENABLE ALWAYS TRIGGER memory_once;
INSERT INTO memory (id, fp, body) OVERRIDING SYSTEM VALUE VALUES (11, 1, 'replicated');
RESET session_replication_role;
ALTER TABLE memory DISABLE TRIGGER memory_once;
INSERT INTO memory (id, fp, body) OVERRIDING SYSTEM VALUE VALUES (12, 1, 'unjudged');
ALTER TABLE memory ENABLE TRIGGER memory_once;
-- A key may change where rows are near already.
ALTER TABLE memory ALTER id RESTART WITH 20;
UPDATE memory SET id = DEFAULT WHERE body = 'unjudged';
SELECT id, fp, body, seen FROM memory ORDER BY id;

-- From PostgreSQL 18 on RETURNING tells the row that was there from the one that is; from 19 on it may stay as it was.
SELECT current_setting('server_version_num')::int >= 180000 AS old_and_new,
	current_setting('server_version_num')::int >= 190000 AS do_select \gset
TRUNCATE memory;
INSERT INTO memory (id, fp, body) OVERRIDING SYSTEM VALUE VALUES (1, 0, 'first');
\set stored '1, 1 -> 2'
\set fresh '-> 1'
\if :old_and_new
INSERT INTO memory (fp) VALUES (1) ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1
	RETURNING concat_ws(', ', new.id, old.seen || ' -> ' || new.seen) AS stored \gset
INSERT INTO memory (id, fp) OVERRIDING SYSTEM VALUE VALUES (2, -1) ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1
	RETURNING concat_ws(' ', old.seen, '->', new.seen) AS fresh \gset
\endif
\echo :stored, :fresh
\set found '3 there: false, 3: t'
\set twice '3 3'
\if :do_select
INSERT INTO memory (id, fp, body) OVERRIDING SYSTEM VALUE VALUES (3, x'ff00ff'::bigint, 'third') ON CONFLICT (id) DO SELECT
	RETURNING id || ' there: ' || (old.id IS NOT NULL) AS found \gset
INSERT INTO memory (fp, body) VALUES (x'ff00fe'::bigint, 'near the third') ON CONFLICT (id) DO SELECT FOR UPDATE WHERE memory.body = 'third'
	RETURNING :'found' || format(', %s: %s', id, old.id IS NOT NULL) AS found \gset
WITH both_rows AS (INSERT INTO memory (fp) VALUES (x'ff00fe'::bigint), (x'ff00fd'::bigint) ON CONFLICT (id) DO SELECT RETURNING id)
	SELECT string_agg(id::text, ' ') AS twice FROM both_rows \gset
\endif
\echo :found, :twice

SET client_min_messages = warning;
DROP SCHEMA conflict CASCADE;
