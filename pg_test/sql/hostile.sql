-- Names as long as they may be (63 bytes) that differ in their last byte and have characters which mean something elsewhere;
-- event triggers that interfere; collations under which different strings are equal, as scopes.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA hostile_test;
SET search_path = hostile_test, public;

-- ---------------------------------------------------------------- names
-- A name of 63 bytes, as a format string, a comment, a quoted string and two bytes a letter would have it.
CREATE FUNCTION long(kind text, last text) RETURNS text LANGUAGE sql IMMUTABLE AS $long$
	SELECT n || repeat('x', 63 - octet_length(n || last)) || last FROM (SELECT E'ü"\'$$%s{}*/--\\ . ' || kind || ' ' || repeat('ö', 12)) t (n)
$long$;
SELECT DISTINCT octet_length(long(kind, last)) AS bytes FROM unnest('{s,t,c,id,fp,tenant,body,dup,trigger,index,apart}'::text[]) kind,
	unnest('{A,B}'::text[]) last;
-- In a command <t A> is such a name. Within a string [t A] is the name as SQL writes it, and {t A} as it is.
CREATE PROCEDURE run(command text) LANGUAGE plpgsql AS $$
DECLARE
	kind text;
	last text;
BEGIN
	FOR kind, last IN SELECT k, l FROM unnest('{s,t,c,id,fp,tenant,body,dup,trigger,index,apart}'::text[]) k, unnest('{A,B}'::text[]) l LOOP
		command := replace(command, format('<%s %s>', kind, last), quote_ident(long(kind, last)));
		command := replace(command, format('[%s %s]', kind, last), replace(quote_ident(long(kind, last)), '''', ''''''));
		command := replace(command, format('{%s %s}', kind, last), replace(long(kind, last), '''', ''''''));
	END LOOP;
	EXECUTE command;
END $$;
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	got text;
BEGIN
	CREATE TEMP TABLE got (x text) ON COMMIT DROP;
	CALL run('INSERT INTO got SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM (' || query || ') x');
	SELECT x INTO got FROM got;
	DROP TABLE got;
	RETURN got;
END $$;
-- A table with such names, twice, and the same rows under plain names: of each pair of columns, B has other values than A.
CREATE TABLE plain (id int PRIMARY KEY, fp bigint, tenant text, body text, dup int);
INSERT INTO plain SELECT i, hashint8extended(i / 3, 1) # (i % 3), 'tenant ' || i % 2, 'lamp number ' || i / 3 || ' is dark'
FROM generate_series(1, 90) i;
CALL run('CREATE SCHEMA <s A>');
CALL run('CREATE SCHEMA <s B>');
CALL run('CREATE TABLE <s A>.<t A> (<id A> int PRIMARY KEY, <id B> int DEFAULT -1, <fp A> bigint, <fp B> bigint DEFAULT 7, <tenant A> text,
	<tenant B> text DEFAULT ''nobody'', <body A> text, <body B> text, <dup A> int, <dup B> int)');
CALL run('CREATE TABLE <s A>.<t B> (LIKE <s A>.<t A>); CREATE TABLE <s B>.<t A> (LIKE <s A>.<t A>)');
CALL run('INSERT INTO <s A>.<t A> (<id A>, <fp A>, <tenant A>, <body A>) SELECT id, fp, tenant, body FROM plain');
CALL run('CREATE INDEX <index A> ON <s A>.<t A> USING simhash (<fp A>);
	CREATE INDEX <index B> ON <s A>.<t A> USING simhash (<tenant A>, <fp A>)');
CREATE INDEX plain_fp ON plain USING simhash (fp);
-- Each of two queries gives rows, and the same ones.
CREATE FUNCTION differ(asked text, meant text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT asked || ': ' || coalesce(a, 'nothing') || ' instead of ' || coalesce(b, 'nothing')
	FROM (SELECT answer(asked), answer(meant)) x (a, b) WHERE a IS DISTINCT FROM b OR b IS NULL
$$;
SELECT differ(asked, meant) FROM (VALUES
	('SELECT * FROM simhash_pairs(''[s A].[t A]'', ''{id A}'', ''{fp A}'', 3, ''{tenant A}'')',
		'SELECT * FROM simhash_pairs(''plain'', ''id'', ''fp'', 3, ''{tenant}'')'),
	('SELECT * FROM simhash_pairs_between(''[s A].[t A]'', ''{id A}'', ''{fp A}'', ''plain'', ''id'', ''fp'', 3)',
		'SELECT * FROM simhash_pairs_between(''plain'', ''id'', ''fp'', ''plain'', ''id'', ''fp'', 3)'),
	('SELECT * FROM simhash_clusters(''[s A].[t A]'', ''{id A}'', ''{fp A}'', 3, text => ''{body A}'')',
		'SELECT * FROM simhash_clusters(''plain'', ''id'', ''fp'', 3, text => ''body'')'),
	('SELECT * FROM simhash_radius_report(''[s A].[t A]'', ''{id A}'', ''{fp A}'', ''{body A}'')',
		'SELECT * FROM simhash_radius_report(''plain'', ''id'', ''fp'', ''body'')'),
	('SELECT 1, count(*) FROM simhash_index_verify(''[s A].[index A]'', true)', 'SELECT 1, 0'),
	('SELECT rows FROM simhash_index_stats(''[s A].[index B]'')', 'SELECT 90'),
	('SELECT part IS NOT NULL, made_by FROM simhash_fingerprint_verify(''[s A].[t A]'', ''{fp A}'')', 'SELECT true, NULL::text'),
	('SELECT t.<id A> FROM <s A>.<t A> t WHERE <tenant A> = ''tenant 1'' AND <fp A> <~> hashint8extended(7, 1) <= 3',
		'SELECT id FROM plain WHERE tenant = ''tenant 1'' AND id / 3 = 7')) v (asked, meant);
-- The trigger that flags, with text and tenants; its twins would find a column of the other.
CALL run('CREATE TRIGGER <trigger A> BEFORE INSERT OR UPDATE ON <s A>.<t A> FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate(''fingerprint={fp A}'', ''duplicate_of={dup A}'', ''within={tenant A}'', ''text={body A}'', ''key={id A}'',
		''min_jaccard=0.5'')');
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=tenant', 'text=body', 'key=id', 'min_jaccard=0.5');
INSERT INTO plain SELECT id + 100, fp # 1, tenant, body FROM plain;
CALL run('INSERT INTO <s A>.<t A> (<id A>, <fp A>, <tenant A>, <body A>) SELECT <id A> + 100, <fp A> # 1, <tenant A>, <body A>
	FROM <s A>.<t A>');
SELECT differ('SELECT <id A>, <dup A>, <dup B> FROM <s A>.<t A> WHERE <dup A> IS NOT NULL',
	'SELECT id, dup, NULL::int FROM plain WHERE dup IS NOT NULL');
-- The trigger that keeps clusters.
CALL run('CREATE TABLE <s B>.<c A> (key int PRIMARY KEY, cluster_id int NOT NULL); CREATE INDEX ON <s B>.<c A> (cluster_id)');
CALL run('CREATE INDEX ON <s B>.<t A> USING simhash (<fp A>)');
CALL run('CREATE TRIGGER <trigger B> AFTER INSERT OR UPDATE OR DELETE ON <s B>.<t A> FOR EACH ROW EXECUTE FUNCTION
	simhash_catalog.maintain_clusters(''clusters=[s B].[c A]'', ''key={id A}'', ''fingerprint={fp A}'', ''within={tenant A}'')');
CREATE TABLE plain_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TABLE plain_kept (LIKE plain);
CREATE INDEX ON plain_kept USING simhash (fp);
CREATE INDEX ON plain_cluster (cluster_id);
CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON plain_kept FOR EACH ROW EXECUTE FUNCTION
	simhash_catalog.maintain_clusters('clusters=plain_cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
INSERT INTO plain_kept SELECT * FROM plain;
DELETE FROM plain_kept WHERE id % 7 = 3;
CALL run('INSERT INTO <s B>.<t A> (<id A>, <fp A>, <tenant A>) SELECT id, fp, tenant FROM plain;
	DELETE FROM <s B>.<t A> WHERE <id A> % 7 = 3');
SELECT differ('SELECT * FROM <s B>.<c A>', 'SELECT * FROM plain_cluster');
-- A constraint, and errors that show such names whole.
CALL run('ALTER TABLE <s A>.<t B> ADD CONSTRAINT <apart A> EXCLUDE USING simhash (<tenant A> WITH =, <fp A> WITH ~=);
	INSERT INTO <s A>.<t B> (<id A>, <tenant A>, <fp A>) VALUES (1, ''a'', 0), (2, ''b'', 1)');
CALL run('INSERT INTO <s A>.<t B> (<id A>, <tenant A>, <fp A>) VALUES (3, ''a'', 7) ON CONFLICT ON CONSTRAINT <apart A> DO NOTHING');
SELECT differ('SELECT <id A> FROM <s A>.<t B>', 'VALUES (1), (2)');
CREATE FUNCTION error_of(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CALL run(command);
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || (SELECT coalesce(string_agg(' ' || kind || ' ' || last, '' ORDER BY kind, last), ' no name')
		FROM unnest('{s,t,c,id,fp,tenant,body,dup,trigger,index,apart}'::text[]) kind, unnest('{A,B}'::text[]) last
		WHERE strpos(SQLERRM, long(kind, last)) > 0);
END $$;
SELECT error_of('INSERT INTO <s A>.<t B> (<id A>, <tenant A>, <fp A>) VALUES (3, ''a'', 7)');
SELECT error_of('SELECT * FROM simhash_pairs(''[s A].[t A]'', ''{id A}'', ''{c B}'')');
SELECT error_of('SELECT * FROM simhash_index_verify(''[s A].[t B]'')');
SELECT error_of('CREATE INDEX <index A> ON <s B>.<t A> USING simhash (<fp A>, <tenant A>)');
SELECT error_of('CREATE TRIGGER <trigger A> BEFORE INSERT ON <s A>.<t B>
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint={tenant B}'', ''duplicate_of={dup A}'');
	INSERT INTO <s A>.<t B> (<id A>) VALUES (9)');

-- ---------------------------------------------------------------- event triggers
CREATE TABLE ev (id int, fp bigint);
INSERT INTO ev SELECT i, hashint8extended(i, 1) FROM generate_series(1, 1000) i;
CREATE TABLE seen (no serial, tag text, said text);
-- Looks, before a command has ended, at what it made: a search by each index, against the table; and stores a row.
CREATE FUNCTION looks() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	by_index bigint;
	by_table bigint;
	faults bigint := 0;
	index regclass;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true);
	INSERT INTO ev VALUES (-1, NULL);
	SELECT count(*) FROM ev WHERE fp <~> 1 <= 28 INTO by_index;
	FOR index IN SELECT indexrelid FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
	WHERE indrelid = 'ev'::regclass AND amname = 'simhash' LOOP
		faults := faults + (SELECT count(*) FROM simhash_index_verify(index, true));
	END LOOP;
	PERFORM set_config('enable_seqscan', 'on', true);
	SELECT count(*) FROM ev WHERE bit_count((fp # 1)::bit(64)) <= 28 INTO by_table;
	INSERT INTO seen (tag, said) VALUES (tg_tag, concat_ws(', ', tg_event, CASE WHEN by_index = by_table THEN 'right'
		ELSE 'wrong' END, faults || ' faults'));
EXCEPTION WHEN OTHERS THEN
	INSERT INTO seen (tag, said) VALUES (tg_tag, concat_ws(', ', tg_event, SQLSTATE));
END $$;
CREATE EVENT TRIGGER at_end ON ddl_command_end WHEN TAG IN ('CREATE INDEX', 'ALTER TABLE', 'CREATE TABLE', 'ALTER INDEX', 'DROP INDEX')
	EXECUTE FUNCTION looks();
CREATE EVENT TRIGGER at_drop ON sql_drop WHEN TAG IN ('DROP INDEX', 'ALTER TABLE') EXECUTE FUNCTION looks();
CREATE EVENT TRIGGER at_rewrite ON table_rewrite EXECUTE FUNCTION looks();
CREATE INDEX ev_fp ON ev USING simhash (fp);
CREATE INDEX CONCURRENTLY ev_second ON ev USING simhash (id, fp);
ALTER TABLE ev ADD pad int, ALTER fp TYPE bigint;
ALTER TABLE ev ALTER pad TYPE bigint;
-- Here the server has put an empty file in the place of the index, to be filled later: b-trees too refuse to be used then.
ALTER TABLE ev ALTER id TYPE bigint;
ALTER TABLE ev ADD CONSTRAINT ev_apart EXCLUDE USING simhash ((fp # 3) WITH ~=);
ALTER INDEX ev_fp SET (fillfactor = 50);
REINDEX TABLE ev;
REINDEX INDEX CONCURRENTLY ev_fp;
ALTER TABLE ev DROP CONSTRAINT ev_apart;
DROP INDEX ev_second;
DROP INDEX CONCURRENTLY ev_fp;
SELECT tag, said FROM seen ORDER BY no;
DROP EVENT TRIGGER at_end, at_drop, at_rewrite;
-- One that refuses what is finished, one that drops it, and one that makes it again.
CREATE FUNCTION interferes() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('hostile.does') = 'refuses' THEN
		RAISE 'no % here', tg_tag;
	ELSIF current_setting('hostile.does') = 'drops' THEN
		DROP INDEX IF EXISTS ev_fp;
	ELSIF tg_event = 'sql_drop' THEN
		CREATE INDEX ev_fp ON ev USING simhash (fp) WITH (fillfactor = 60);
	END IF;
END $$;
CREATE EVENT TRIGGER at_end ON ddl_command_end WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION interferes();
CREATE EVENT TRIGGER at_drop ON sql_drop WHEN TAG IN ('DROP INDEX') EXECUTE FUNCTION interferes();
SET hostile.does = 'refuses';
CREATE INDEX ev_fp ON ev USING simhash (fp);
SELECT to_regclass('ev_fp') IS NULL AS none;
SET hostile.does = 'drops';
CREATE INDEX ev_fp ON ev USING simhash (fp);
SELECT to_regclass('ev_fp') IS NULL AS none;
SET hostile.does = '';
CREATE INDEX ev_fp ON ev USING simhash (fp);
SET hostile.does = 'makes it again';
DROP INDEX ev_fp;
SELECT reloptions, (SELECT count(*) FROM simhash_index_verify('ev_fp', true)) AS faults FROM pg_class WHERE relname = 'ev_fp';
DROP EVENT TRIGGER at_end, at_drop;
-- The extension itself: refused in the middle of its script, made and dropped while a trigger notes all.
CREATE DATABASE hostile_test TEMPLATE template0;
\set tests :DBNAME
\c hostile_test
SET client_min_messages = warning;
CREATE TABLE noted (object text, dropped boolean);
CREATE FUNCTION notes() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_event = 'sql_drop' THEN
		INSERT INTO noted SELECT object_identity, true FROM pg_event_trigger_dropped_objects();
	ELSE
		INSERT INTO noted SELECT object_identity, false FROM pg_event_trigger_ddl_commands();
		IF tg_tag = 'CREATE OPERATOR CLASS' AND current_setting('hostile.does', true) = 'refuses' THEN
			RAISE 'no % here', tg_tag;
		END IF;
	END IF;
END $$;
CREATE EVENT TRIGGER at_end ON ddl_command_end EXECUTE FUNCTION notes();
CREATE EVENT TRIGGER at_drop ON sql_drop EXECUTE FUNCTION notes();
SET hostile.does = 'refuses';
\set VERBOSITY terse
CREATE EXTENSION simhash_dedup;
\set VERBOSITY default
SELECT count(*) AS extensions, to_regnamespace('simhash_catalog') IS NULL AS no_schema, (SELECT count(*) FROM noted) AS noted
FROM pg_extension WHERE extname = 'simhash_dedup';
RESET hostile.does;
CREATE EXTENSION simhash_dedup;
CREATE TABLE t (fp bigint, EXCLUDE USING simhash (fp WITH ~=));
INSERT INTO t VALUES (0), (255);
INSERT INTO t VALUES (7);
SELECT count(*) FILTER (WHERE object ~ 'simhash') > 100 AS noted, count(*) FILTER (WHERE dropped) AS dropped FROM noted;
DROP EXTENSION simhash_dedup CASCADE;
SELECT count(*) FILTER (WHERE dropped AND object ~ 'simhash') > 100 AS dropped FROM noted;
CREATE EXTENSION simhash_dedup;
SELECT count(*) AS rows FROM t WHERE fp <~> 0 <= 8;
\c :tests
DROP DATABASE hostile_test;
SET client_min_messages = warning;
SET search_path = hostile_test, public;

-- ---------------------------------------------------------------- nondeterministic collations
-- Strings that differ only in case, or in how an accent is written, are one tenant. Where the server has no ICU nothing is asked.
SELECT count(*) > 0 AS icu FROM pg_collation WHERE collname = 'und-x-icu' \gset
\set wrong ''
\if :icu
CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE tenant_doc (id int PRIMARY KEY, tenant text COLLATE caseless, fp bigint, dup int,
	CONSTRAINT tenant_apart EXCLUDE USING simhash (tenant WITH =, fp WITH ~=));
CREATE TABLE tenant_part (id int, tenant text COLLATE caseless, fp bigint) PARTITION BY LIST (tenant);
CREATE TABLE tenant_part_1 PARTITION OF tenant_part FOR VALUES IN (E'\u00e4rger');
CREATE TABLE tenant_part_2 PARTITION OF tenant_part DEFAULT;
CREATE INDEX ON tenant_part USING simhash (tenant, fp);
CREATE TABLE tenant_flag (id int PRIMARY KEY, tenant text COLLATE caseless, fp bigint, dup int);
CREATE INDEX ON tenant_flag USING simhash (tenant, fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON tenant_flag
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=tenant');
CREATE TABLE tenant_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON tenant_cluster (cluster_id);
CREATE TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON tenant_flag
FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=tenant_cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
CREATE TRIGGER keep_truncated AFTER TRUNCATE ON tenant_flag
FOR EACH STATEMENT EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=tenant_cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
-- The same tenant in four forms, of which two have the accent as a sign of its own; and one without the accent.
INSERT INTO tenant_doc VALUES (1, E'\u00e4rger', 0), (2, E'\u00c4RGER', 255), (3, E'A\u0308rger', 65535),
	(4, E'a\u0308RGER', 16777215), (5, 'arger', 0);
INSERT INTO tenant_doc SELECT i, 'tenant ' || i, hashint8extended(i, 1) FROM generate_series(6, 2000) i;
INSERT INTO tenant_doc VALUES (7001, E'\u00c4rger', 7), (7002, 'ARGER', 7),
	(7003, 'TENANT 7', hashint8extended(7, 1)) ON CONFLICT DO NOTHING;
INSERT INTO tenant_part SELECT id, tenant, fp FROM tenant_doc;
INSERT INTO tenant_flag SELECT id, tenant, fp # 1 FROM tenant_doc;
INSERT INTO tenant_flag SELECT id + 10000, upper(tenant), fp # 2 FROM tenant_doc;
UPDATE tenant_flag SET tenant = initcap(tenant) WHERE id % 3 = 0;
UPDATE tenant_flag SET tenant = lower(tenant) WHERE id BETWEEN 10001 AND 10005;
CREATE FUNCTION in_two_ways(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	by_index text;
	by_table text;
	plan text := '';
	line text;
BEGIN
	query := 'SELECT count(*) || '' rows '' || string_agg(id::text, '' '' ORDER BY id) FROM ' || query;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true),
		set_config('enable_bitmapscan', 'off', true);
	EXECUTE query INTO by_table;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line;
	END LOOP;
	EXECUTE query INTO by_index;
	IF by_index IS DISTINCT FROM by_table OR by_index IS NULL OR (plan !~ 'Index Scan' AND query !~ '"C"') THEN
		RETURN NEXT format('%s: %s, oracle %s', query, by_index, by_table);
	END IF;
END $$;
SELECT coalesce(string_agg(w, '; '), '') AS wrong FROM unnest(ARRAY[
	E'tenant_doc WHERE tenant = E\'A\\u0308RGER\'', E'tenant_doc WHERE tenant = E\'\\u00e4rger\' AND fp <~> 0 <= 9',
	E'tenant_doc WHERE tenant IN (E\'\\u00e4rger\', E\'\\u00c4RGER\', E\'A\\u0308rger\', \'Tenant 9\') AND fp <~> 0 <= 40',
	E'(SELECT id FROM tenant_doc WHERE tenant IN (E\'\\u00e4rger\', E\'A\\u0308rger\', \'arger\') ORDER BY fp <~> 0 LIMIT 4) x',
	E'tenant_doc WHERE tenant = E\'\\u00e4rger\' COLLATE "C"', E'tenant_part WHERE tenant = E\'A\\u0308RGER\' AND fp <~> 0 <= 30',
	'(SELECT b.id FROM tenant_doc a JOIN tenant_flag b ON a.tenant = b.tenant AND b.fp <~> a.fp <= 3 WHERE a.id <= 9) x',
	'(SELECT b.id FROM tenant_doc a JOIN tenant_flag b ON a.tenant COLLATE "C" = b.tenant AND b.fp <~> a.fp <= 3 WHERE a.id <= 9) x']) q,
in_two_ways(q) w \gset
-- Rows that a constraint kept out; copies that a trigger marked; clusters against those of pairs by upper(), which knows no collation.
SELECT :'wrong' || concat((SELECT '; stored ' || id FROM tenant_doc WHERE id > 7000),
	(SELECT '; marked ' || count(dup) FROM tenant_flag HAVING count(dup) FILTER (WHERE id > 10000) <> 2000
		OR count(*) FILTER (WHERE abs(dup - id) <> 10000) > 0),
	(SELECT '; clusters ' || count(*) FROM tenant_cluster HAVING count(DISTINCT cluster_id) <> 2000 OR count(*) <> 4000),
	(SELECT '; pairs ' || count(*) FROM simhash_pairs('tenant_flag', 'id', 'fp', 3, '{tenant}') HAVING count(*) <> 2000
		OR count(*) FILTER (WHERE b <> a + 10000) > 0),
	(SELECT string_agg('; ' || fault, '') FROM pg_class c JOIN pg_am a ON a.oid = relam, simhash_index_verify(c.oid, true)
		WHERE relname ~ '^tenant' AND amname = 'simhash' AND relkind = 'i')) AS wrong \gset
\endif
SELECT :'wrong' AS wrong;

SET client_min_messages = error;
CALL run('DROP SCHEMA <s A>, <s B> CASCADE');
DROP SCHEMA hostile_test CASCADE;
