-- The operators of texts, indexes on texts, and triggers that take what they compare from an index. What an index answers is
-- compared with reading all rows. Nothing here depends on the default preset: fingerprints are not shown.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE EXTENSION IF NOT EXISTS citext;
CREATE SCHEMA texts;
SET search_path = texts, public;
RESET client_min_messages;

-- The functions of the operators, and what the planner puts in their place.
SELECT 'The bill is wrong' ~= 'the BILL, is wrong!' AS same, 'The bill is wrong' ~= 'The bill is not wrong' AS negated,
	'' ~= 'x y' AS blank, ('' ~= '') IS NULL AS blanks, (NULL::text ~= 'x') IS NULL AS null_text,
	'one two' <~> 'one two' AS distance, ('' <~> 'x') IS NULL AS no_distance;
CREATE TABLE pair (a text, b text);
INSERT INTO pair VALUES ('The bill is wrong', 'the bill is wrong'), ('The bill is wrong', 'Bus 7 is late'), ('', ''), ('', 'x y'),
	(NULL, 'x'), ('Order 12 is late', 'Order 13 is late');
SELECT count(*) AS pairs, count(*) FILTER (WHERE (a ~= b) IS DISTINCT FROM called
	OR called IS DISTINCT FROM (hamming(simhash64(a), simhash64(b)) <= 12 AND simhash_same(a, b))
	OR (a <~> b) IS DISTINCT FROM hamming(simhash64(a), simhash64(b))) AS wrong
FROM (SELECT a, b, (SELECT x ~= y FROM (SELECT a AS x, b AS y OFFSET 0) q) AS called FROM pair) p;
-- Not replaced where a text would be computed twice.
CREATE FUNCTION noted(text) RETURNS text VOLATILE LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'noted'; RETURN $1; END $$;
SELECT noted('one two') ~= 'one two' AS once;

-- A table with copies, near texts, other tenants, and rows without a word.
CREATE TABLE note (id int PRIMARY KEY, tenant int, body text);
INSERT INTO note SELECT i, i % 7, (SELECT string_agg(chr(97 + (i * 31 + j * 17 + i * j) % 26) || (i * 37 + j * j * 11) % 500, ' ')
	FROM generate_series(1, 12) j) FROM generate_series(1, 2000) i;
INSERT INTO note SELECT id + 2000, tenant, CASE id % 3 WHEN 0 THEN upper(body) WHEN 1 THEN body || '!' ELSE replace(body, ' ', ', ') END
	FROM note WHERE id <= 300;
INSERT INTO note SELECT 5000 + i, 3, 'The same words again and again in one note' FROM generate_series(1, 200) i;
INSERT INTO note VALUES (9001, 1, ''), (9002, 1, NULL), (9003, 1, ' '), (9004, NULL, 'a note of nobody'), (9005, NULL, NULL);
CREATE FUNCTION agree(query text, OUT plan text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	by_index text[];
	by_table text[];
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
	plan := 'table';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Index Scan' AND line ~ '_(fp|body)' THEN plan := 'index'; END IF;
	END LOOP;
	EXECUTE format('SELECT array_agg(r::text ORDER BY r::text) FROM (%s) r', query) INTO by_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE format('SELECT array_agg(r::text ORDER BY r::text) FROM (%s) r', query) INTO by_table;
	answer := CASE WHEN by_index IS NOT DISTINCT FROM by_table THEN 'same' ELSE 'DIFFERS' END;
END $$;
CREATE TABLE asked (number int, query text);
INSERT INTO asked VALUES
	(1, 'SELECT id FROM note WHERE body ~= q'), (2, 'SELECT id FROM note WHERE q ~= body'),
	(3, 'SELECT id FROM note WHERE body <~> q <= 12'), (4, 'SELECT id FROM note WHERE 20 > q <~> body'),
	(5, 'SELECT id FROM note WHERE tenant = 3 AND body ~= q'), (6, 'SELECT id FROM note WHERE tenant IS NULL AND body ~= q'),
	(7, 'SELECT body <~> q FROM note ORDER BY body <~> q LIMIT 5'),
	(8, 'SELECT body <~> q FROM note WHERE tenant = 3 ORDER BY body <~> q LIMIT 300'),
	(9, 'SELECT id FROM note WHERE body = q'), (10, 'SELECT id FROM note WHERE simhash64(body) = simhash64(q)'),
	(11, 'SELECT id FROM note WHERE body ~= (SELECT body FROM note WHERE id = 5)'),
	(12, 'SELECT a.id, b.id FROM note a JOIN note b ON a.body ~= b.body AND a.id < b.id WHERE a.id < 50'),
	(13, 'SELECT a.id FROM note a WHERE a.id < 50 AND NOT EXISTS (SELECT FROM note b WHERE b.body ~= a.body AND b.id <> a.id)'),
	(14, 'SELECT id FROM note WHERE body IS NULL'), (15, 'SELECT id FROM note WHERE tenant = 1 AND body IS NOT NULL'),
	(16, 'SELECT id FROM note WHERE simhash64(body) IS NULL'), (17, 'SELECT id FROM note WHERE body = '''''),
	(18, 'SELECT id FROM note WHERE body ~= q OR body ~= ''a note of nobody''');
CREATE TABLE question (q text);
INSERT INTO question SELECT body FROM note WHERE id IN (5, 2006, 5001, 9004) UNION ALL VALUES ('no such note at all'), ('');
CREATE VIEW found AS SELECT number, plan, answer, count(*) FROM asked, question,
	LATERAL agree(regexp_replace(query, '\mq\M', quote_literal(q), 'g')) GROUP BY 1, 2, 3;
CREATE INDEX note_body ON note USING simhash (body);
CREATE INDEX note_tenant_body ON note USING simhash (tenant, body);
ANALYZE note;
SELECT number, plan, answer FROM found ORDER BY 1, 2;
SELECT i, count(v) AS faults FROM unnest('{note_body,note_tenant_body}'::regclass[]) i, LATERAL simhash_index_verify(i) v GROUP BY 1;
-- The same with the index on the expression.
DROP INDEX note_body, note_tenant_body;
CREATE INDEX note_fp ON note USING simhash (simhash64(body));
CREATE INDEX note_tenant_fp ON note USING simhash (tenant, simhash64(body));
ANALYZE note;
SELECT number, plan, answer FROM found WHERE number NOT IN (9, 14, 15, 17) ORDER BY 1, 2;
DROP INDEX note_fp, note_tenant_fp;

-- Statistics: of an index on the text too the planner knows how many rows have a common text.
CREATE INDEX note_body ON note USING simhash (body);
CREATE FUNCTION expected(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::int BETWEEN 100 AND 400;
END $$;
SELECT expected('SELECT * FROM note WHERE body <~> ''The same words again and again in one note'' <= 12') AS many;

-- Generic plans, untyped parameters, views.
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
PREPARE near AS SELECT count(*) FROM note WHERE body ~= $1;
EXECUTE near('the same words AGAIN and again in one note');
EXECUTE near(NULL);
PREPARE nearest AS SELECT id, body <~> $1 AS bits FROM note ORDER BY body <~> $1 LIMIT 1;
EXECUTE nearest('A note of nobody');
RESET plan_cache_mode;
CREATE VIEW same_note AS SELECT id FROM note WHERE body ~= 'a NOTE of nobody';
SELECT * FROM same_note;
RESET enable_seqscan;

-- Other types, collations, expressions, partitions, inheritance.
CREATE TABLE kinds (id int, v varchar(100), c char(60), i citext, s text COLLATE "C");
INSERT INTO kinds SELECT id, left(body, 100), left(body, 60), body, body FROM note;
CREATE INDEX kinds_v_body ON kinds USING simhash (v);
CREATE INDEX kinds_c_body ON kinds USING simhash (c);
CREATE INDEX kinds_i_body ON kinds USING simhash (i);
CREATE INDEX kinds_s_body ON kinds USING simhash (s);
CREATE INDEX kinds_l_body ON kinds USING simhash (id, lower(s));
ANALYZE kinds;
SELECT expression, (agree(format('SELECT id FROM kinds WHERE %s ~= ''the same words again and again in one note''', expression))).*,
	(agree(format('SELECT %1$s <~> ''a note'' FROM kinds ORDER BY %1$s <~> ''a note'' LIMIT 3', expression))).*
FROM unnest('{v,c,i,s}'::text[]) AS expression;
SELECT * FROM agree('SELECT id FROM kinds WHERE id = 9004 AND lower(s) ~= ''a note of nobody''');
CREATE TABLE parted (id int, tenant int, body text) PARTITION BY LIST (tenant);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1, 2, 3);
CREATE TABLE parted_2 PARTITION OF parted DEFAULT;
CREATE INDEX parted_body ON parted USING simhash (tenant, body);
INSERT INTO parted SELECT * FROM note;
ANALYZE parted;
SELECT (agree(query)).* FROM unnest(ARRAY['SELECT id FROM parted WHERE tenant = 3 AND body ~= ''the same words again and again in one note''',
	'SELECT body <~> ''a note'' FROM parted WHERE tenant = 1 ORDER BY body <~> ''a note'' LIMIT 3']) AS query;

-- Exclusion constraints.
CREATE TABLE once (id int PRIMARY KEY, tenant int, body text, EXCLUDE USING simhash (tenant WITH =, body WITH ~=));
INSERT INTO once VALUES (1, 1, 'The street lamp is dark'), (2, 2, 'The street lamp is dark'), (3, 1, 'The street lamp is not dark');
INSERT INTO once VALUES (4, 1, 'the street lamp is DARK!');
INSERT INTO once VALUES (4, 1, 'the street lamp is DARK!') ON CONFLICT DO NOTHING;
INSERT INTO once VALUES (5, 1, ''), (6, 1, ''), (7, 1, NULL), (8, 1, NULL);
SELECT count(*) FROM once;

-- Builds: beside writers, in workers, of large texts; what is refused says what to write.
CREATE INDEX CONCURRENTLY note_beside ON note USING simhash (tenant, body);
REINDEX INDEX CONCURRENTLY note_beside;
INSERT INTO note VALUES (9100, 1, repeat('A very long note with many words. ', 100000) || 'End');
ALTER TABLE note SET (parallel_workers = 2);
SET min_parallel_table_scan_size = 0;
REINDEX INDEX note_body;
SELECT i, count(v) AS faults FROM unnest('{note_body,note_beside}'::regclass[]) i, LATERAL simhash_index_verify(i, true) v GROUP BY 1;
RESET min_parallel_table_scan_size;
CREATE TABLE wrong (id int, fp bigint GENERATED ALWAYS AS (simhash64('x')) STORED, tenant text, at point);
CREATE INDEX ON wrong USING simhash (fp, tenant);
-- The schema of the function is shown from PostgreSQL 17 on.
DO $$
DECLARE
	hint text;
BEGIN
	CREATE INDEX ON wrong USING simhash (simhash64(tenant), tenant);
EXCEPTION WHEN invalid_object_definition THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RAISE WARNING '%; %', SQLERRM, replace(hint, 'public.', '');
END $$;
CREATE INDEX ON wrong USING simhash (id);
ALTER TABLE wrong ADD shop bigint;
CREATE INDEX ON wrong USING simhash (fp, shop);
CREATE INDEX ON wrong USING simhash (at);
SELECT opcname FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'simhash' AND NOT amvalidate(c.oid);

-- A trigger that compares a generated column, which has no value yet when it fires.
CREATE TABLE joined (id int PRIMARY KEY, title text, body text, joint text GENERATED ALWAYS AS (title || '. ' || body) STORED, other int);
CREATE INDEX ON joined USING simhash (joint);
CREATE TRIGGER no_copies BEFORE INSERT OR UPDATE ON joined FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('mode=reject');
INSERT INTO joined VALUES (1, 'Lamp', 'The lamp in Mill Lane is dark, please repair it.');
INSERT INTO joined VALUES (2, 'Lamp', 'the lamp in mill lane is dark, please repair it');
INSERT INTO joined VALUES (3, 'Lamp', 'The lamp in Mill Lane is not dark, please do not repair it.');
UPDATE joined SET body = 'The lamp in Mill Lane is dark, please repair it' WHERE id = 3;
SELECT id FROM joined ORDER BY id;
DROP INDEX joined_joint_idx;
CREATE INDEX ON joined USING simhash (simhash64(ROW(title, joint), '{"f1": 2, "f2": 1}'));
INSERT INTO joined VALUES (4, 'Lamp', 'the lamp in mill lane is dark, please repair it');
DROP TABLE joined;

-- A trigger without a column.
CREATE TABLE memory (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, agent int, content text, seen int DEFAULT 1);
CREATE TRIGGER once BEFORE INSERT ON memory FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('mode=conflict');
INSERT INTO memory (agent, content) VALUES (1, 'one');
CREATE INDEX memory_agent_content ON memory USING simhash (agent, content);
INSERT INTO memory (id, agent, content) VALUES (1, 1, 'User prefers dark mode, in German.'), (2, 2, 'Meetings are on Monday.');
INSERT INTO memory (id, agent, content) VALUES (3, 1, 'user prefers dark mode in german') ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1
	RETURNING id, seen;
INSERT INTO memory (id, agent, content) VALUES (3, 2, 'user prefers dark mode in german'), (4, 1, 'User prefers no dark mode, in German.')
	ON CONFLICT (id) DO UPDATE SET seen = memory.seen + 1 RETURNING id, seen;
CREATE INDEX memory_content ON memory USING simhash (content);
INSERT INTO memory (agent, content) VALUES (1, 'one');
DROP TRIGGER once ON memory;
CREATE TRIGGER once BEFORE INSERT OR UPDATE ON memory FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('mode=reject', 'index=memory_content');
INSERT INTO memory (id, agent, content) VALUES (9, 7, 'meetings are on MONDAY');
UPDATE memory SET seen = 0;
UPDATE memory SET content = 'Meetings are on monday' WHERE id = 4;
DROP TRIGGER once ON memory;
CREATE TRIGGER once BEFORE INSERT ON memory FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('mode=reject', 'index=nope');
INSERT INTO memory (id, agent, content) VALUES (9, 7, 'x');
DROP TRIGGER once ON memory;
CREATE TRIGGER once BEFORE INSERT ON memory FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('content');
INSERT INTO memory (id, agent, content) VALUES (9, 7, 'x');
-- Partitions with columns at other places, an expression, a predicate.
CREATE TABLE item (id int, shop int, title text, body text, original int) PARTITION BY LIST (shop);
CREATE TABLE item_1 (body text, gone int, original int, title text, shop int, id int);
ALTER TABLE item_1 DROP gone;
ALTER TABLE item ATTACH PARTITION item_1 FOR VALUES IN (1);
CREATE TABLE item_2 PARTITION OF item DEFAULT;
CREATE INDEX item_texts ON item USING simhash (simhash64(ROW(title, body))) WHERE original IS NULL;
CREATE TRIGGER mark BEFORE INSERT OR UPDATE ON item FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('duplicate_of=original', 'key=id', 'radius=64');
INSERT INTO item VALUES (1, 1, 'Red bicycle', 'almost new, 21 gears', NULL), (2, 2, 'RED bicycle', 'Almost new; 21 gears', NULL),
	(3, 1, 'Red bicycle', 'almost new, 24 gears', NULL), (4, 1, 'red bicycle', 'almost new, 21 gears!', NULL);
UPDATE item SET shop = 2 WHERE id = 4;
SELECT id, shop, original FROM item ORDER BY id;
-- The functions in the queries of triggers give no user what the user may not read.
CREATE ROLE texts_reader;
GRANT USAGE ON SCHEMA texts TO texts_reader;
GRANT SELECT (id), INSERT ON memory TO texts_reader;
SET ROLE texts_reader;
SELECT simhash_catalog.index_fingerprint('memory_content'::regclass::oid, id) FROM memory;
SELECT simhash_catalog.index_fingerprint('memory_content'::regclass::oid, content) FROM memory;
RESET ROLE;

-- Calls on texts.
CREATE TABLE ticket (created date, subject text, body text);
INSERT INTO ticket VALUES ('2026-01-03', 'Bill', 'The bill of March was sent twice, please refund one'),
	('2026-01-02', 'Invoice', 'the bill of march was sent twice please refund one!'), ('2026-01-01', 'Bill', 'The bill of April was sent twice, please refund one'),
	('2026-01-04', 'Nothing', NULL), ('2026-01-05', 'Nothing', '');
SELECT * FROM simhash_duplicates('ticket');
SELECT * FROM simhash_duplicates('ticket', 'subject, body');
SELECT stays, count(*) FROM simhash_duplicates('ticket', 'body', first_by => 'created') GROUP BY 1 ORDER BY 1;
SELECT * FROM simhash_duplicates('ticket', 'body', within => 'subject');
SELECT * FROM simhash_duplicates('ticket', 'nope');
SELECT * FROM simhash_duplicates('memory');
-- What comes first, in any order, also where a key tells rows apart that is none of the table, or of a view.
SELECT key, stays FROM simhash_duplicates('ticket', 'body', first_by => 'created DESC');
ALTER TABLE ticket ADD "Desc" int;
UPDATE ticket SET "Desc" = 1 WHERE created = '2026-01-02';
SELECT key, stays FROM simhash_duplicates('ticket', 'body', first_by => '"Desc" desc nulls LAST,created');
SELECT key, stays FROM simhash_duplicates('ticket', 'body', first_by => '{Desc desc,"created" ASC}');
SELECT key, stays FROM simhash_duplicates('ticket', 'body', first_by => 'Desc');
SELECT key FROM simhash_duplicates('ticket', 'body', first_by => 'created first');
SELECT key, stays FROM simhash_duplicates('ticket', 'body', key => 'created', first_by => 'subject DESC');
CREATE VIEW open_ticket AS SELECT * FROM ticket WHERE created < '2026-01-03' OR subject = 'Bill';
SELECT * FROM simhash_duplicates('open_ticket');
SELECT key, stays, differs FROM simhash_duplicates('open_ticket', key => 'created');
SELECT key, stays FROM simhash_duplicates('open_ticket', key => 'created, subject', first_by => 'created DESC');
SELECT key, stays FROM simhash_duplicates('open_ticket', key => 'created', across => 'subject');
SELECT key FROM simhash_duplicates('open_ticket', key => 'created', within => 'created', across => 'created');
-- Nothing is written. Of a table whose key has several columns, the order of these says what stays.
CREATE TABLE line (invoice int, number int, item text, note text, PRIMARY KEY (invoice, number));
INSERT INTO line VALUES (2, 1, 'Blue cotton shirt, size 40', 'gift'), (1, 2, 'blue cotton shirt, size 40', 'gift'),
	(1, 1, 'Blue cotton shirt - size 40', ''), (1, 3, 'Blue cotton shirt, size 42', 'gift'), (3, 1, NULL, 'gift'), (3, 2, '', NULL);
BEGIN READ ONLY;
SELECT key, size, stays, differs FROM simhash_duplicates('line', 'item');
SELECT key, size, stays, differs FROM simhash_duplicates('line', 'item', first_by => 'number');
SELECT key, size, stays, differs FROM simhash_duplicates('line', 'item, note', within => 'note', first_by => 'note, number');
COMMIT;
-- Several columns are one text, as in a row.
CREATE TABLE numbered AS SELECT row_number() OVER (ORDER BY invoice, number) AS id, * FROM line;
ALTER TABLE numbered ADD PRIMARY KEY (id);
SELECT count(*) AS pairs, count(*) FILTER (WHERE p.distance IS DISTINCT FROM simhash64(ROW(a.item, a.note)) <~> simhash64(ROW(b.item, b.note))) AS wrong
FROM simhash_pairs('numbered', 'item,note', radius => 64, checked_by => NULL, min_jaccard => 0) p JOIN numbered a ON a.id = p.a JOIN numbered b ON b.id = p.b;
SELECT * FROM simhash_clusters('numbered', columns => 'item, note');
SELECT distance, pairs FROM simhash_radius_report('numbered', columns => 'item, note', max_radius => 2);
SELECT * FROM simhash_pairs('numbered', 'item,nope');
SELECT * FROM simhash_pairs('numbered', columns => 'item,number');
SELECT * FROM simhash_pairs('line', 'item');
SELECT * FROM simhash_pairs('ticket');
SELECT a, b FROM simhash_pairs('memory', 'content');
SELECT a, b FROM simhash_pairs('memory', 'id', 'content', within => '{agent}');
SELECT key, representative FROM simhash_clusters('memory', text => 'content');
SELECT count(*) FILTER (WHERE p.a IS NULL OR o.a IS NULL) AS wrong, count(*) > 300 AS many
FROM simhash_pairs('note', 'id', 'body', within => '{tenant}') p FULL JOIN (
	SELECT a.id AS a, b.id AS b FROM note a JOIN note b ON a.tenant = b.tenant AND a.id < b.id AND a.body ~= b.body) o
	ON (p.a, p.b) = (o.a, o.b);
SELECT count(passing) > 0 AS checked FROM simhash_radius_report('memory', max_radius => 4);
DROP OWNED BY texts_reader;
DROP ROLE texts_reader;
SET client_min_messages = warning;
DROP SCHEMA texts CASCADE;
