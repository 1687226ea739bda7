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
INSERT INTO memory (fp, body) VALUES (x'7ff'::bigint, 'eleven bits from the first, nine from the second') ON CONFLICT (id) DO NOTHING RETURNING body;
INSERT INTO memory (fp, body) VALUES (x'7f'::bigint, 'near the first and the last') ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1 RETURNING id, body;
-- Without ON CONFLICT.
INSERT INTO memory (fp, body) VALUES (1, 'refused');
-- Two near rows of one statement.
INSERT INTO memory (fp, body) VALUES (-1::bigint << 32, 'new'), (-1::bigint << 32, 'new, too') ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1;
INSERT INTO memory (fp, body) VALUES (-1::bigint << 32, 'new'), (-1::bigint << 32, 'new, too') ON CONFLICT (id) DO NOTHING RETURNING body;
-- An edit that makes two rows near is refused, as by a unique constraint; another edit is not.
UPDATE memory SET fp = 1048574 WHERE body = 'first';
UPDATE memory SET fp = 2 WHERE body = 'first';
INSERT INTO memory (fp, body) VALUES (3, 'corrected') ON CONFLICT (id) DO UPDATE SET fp = EXCLUDED.fp, body = EXCLUDED.body RETURNING id, body, fp;
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

-- Partitions: a key that holds the partition key cannot become that of another partition.
CREATE TABLE parted (region text, id int, fp bigint, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE parted_n PARTITION OF parted FOR VALUES IN ('n');
CREATE TABLE parted_s PARTITION OF parted FOR VALUES IN ('s');
CREATE INDEX ON parted USING simhash (fp);
CREATE TRIGGER parted_once BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict');
INSERT INTO parted VALUES ('n', 1, 0);
INSERT INTO parted VALUES ('n', 2, 1) ON CONFLICT (region, id) DO UPDATE SET fp = 2 RETURNING *;
INSERT INTO parted VALUES ('s', 3, 1) ON CONFLICT (region, id) DO NOTHING;

-- What is refused.
CREATE TABLE keyless (fp bigint);
CREATE TRIGGER once BEFORE INSERT ON keyless FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict');
INSERT INTO keyless VALUES (0);
CREATE OR REPLACE TRIGGER once BEFORE INSERT ON keyless FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'key=a,b,c,d,e');
INSERT INTO keyless VALUES (0);
CREATE OR REPLACE TRIGGER once BEFORE INSERT ON keyless FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=conflict', 'key=fp');
INSERT INTO keyless VALUES (0);

SET client_min_messages = warning;
DROP SCHEMA conflict CASCADE;
