-- Kept clusters whose pairs are judged: by their texts, by a function of the user's, by a person. Row security, keys of a
-- collation, generated columns. What is kept is compared with a search of all pairs by plain SQL.
\set SHOW_CONTEXT never
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA judged_test;
SET search_path = judged_test, public;
SELECT setseed(0.5);

-- ---- random changes, at once and noted
CREATE TABLE ticket (id int PRIMARY KEY, tenant int, body text, fp bigint);
CREATE INDEX ON ticket USING simhash (fp);
CREATE TABLE decision (a int, b int, same boolean NOT NULL, PRIMARY KEY (a, b));
CREATE INDEX ON decision (b);
-- Rows judge whole rows: tickets of one parity.
CREATE FUNCTION of_one_parity(a ticket, b ticket) RETURNS boolean IMMUTABLE RETURN (a.id + b.id) % 2 = 0;
CREATE FUNCTION of_one_word(a text, b text) RETURNS boolean IMMUTABLE RETURN split_part(a, ' ', 1) = split_part(b, ' ', 1);
CREATE TABLE kept (clusters text, condition text);
INSERT INTO kept VALUES
	('plain', 'true'), ('plain_noted', 'true'),
	('tenants', 'x.tenant = y.tenant'),
	('texts', 'simhash_jaccard(x.body, y.body) >= 0.5'), ('texts_noted', 'simhash_jaccard(x.body, y.body) >= 0.5'),
	('words', 'split_part(x.body, '' '', 1) = split_part(y.body, '' '', 1)'),
	('parity', '(x.id + y.id) % 2 = 0'), ('parity_noted', '(x.id + y.id) % 2 = 0'),
	('decided', 'decided'), ('decided_noted', 'decided'),
	('all', 'x.tenant = y.tenant AND simhash_jaccard(x.body, y.body) >= 0.5 AND decided');
SELECT count(simhash_keep_clusters('ticket', 'id', 'fp', 3,
	within => CASE WHEN k.clusters IN ('tenants', 'all') THEN '{tenant}' ELSE '{}' END,
	clusters => quote_ident(k.clusters),
	refresh => CASE WHEN k.clusters LIKE '%noted' THEN 'manual' ELSE 'at once' END,
	text => CASE WHEN k.clusters ~ '^(texts|all|words)' THEN 'body' END,
	min_jaccard => CASE WHEN k.clusters ~ '^(texts|all)' THEN 0.5 END,
	checked_by => (CASE WHEN k.clusters ~ '^parity' THEN 'of_one_parity' WHEN k.clusters = 'words' THEN 'of_one_word' END)::regproc,
	decisions => (CASE WHEN k.clusters ~ '^(decided|all)' THEN 'decision' END)::regclass)) FROM kept k;
-- The clusters of one table by plain SQL: components of the graph of pairs. There are fewer than 2,000 pairs: the LIMIT tells
-- the planner, since PostgreSQL 19 allocates the hash table of a recursion at once, for as many rows as it estimates.
CREATE FUNCTION afresh(condition text) RETURNS TABLE (key int, cluster_id int) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH RECURSIVE edge AS (
			SELECT x.id AS a, y.id AS b FROM ticket x JOIN ticket y ON x.id <> y.id
			WHERE %2$s AND (x.fp <~> y.fp <= 3 AND %1$s
				AND NOT (%3$s AND EXISTS (SELECT FROM decision d WHERE NOT d.same AND (d.a, d.b) IN ((x.id, y.id), (y.id, x.id))))
				OR %3$s AND x.fp IS NOT NULL AND y.fp IS NOT NULL
				AND EXISTS (SELECT FROM decision d WHERE d.same AND (d.a, d.b) IN ((x.id, y.id), (y.id, x.id))))
			LIMIT 2000
		), reached (a, b) AS (SELECT a, a FROM edge UNION SELECT r.a, e.b FROM reached r JOIN edge e ON e.a = r.b)
		SELECT r.a, min(r.b) FROM reached r GROUP BY 1$q$,
		replace(replace(condition, 'x.tenant = y.tenant AND ', ''), 'decided', 'true'),
		CASE WHEN condition LIKE '%tenant%' THEN 'x.tenant = y.tenant' ELSE 'true' END,
		CASE WHEN condition LIKE '%decided%' THEN 'true' ELSE 'false' END);
END $$;
CREATE FUNCTION faults() RETURNS TABLE (clusters text, fault text) LANGUAGE plpgsql AS $$
DECLARE
	k kept;
BEGIN
	FOR k IN TABLE kept LOOP
		IF k.clusters LIKE '%noted' THEN
			PERFORM simhash_refresh_clusters(quote_ident(k.clusters)::regclass);
		END IF;
		RETURN QUERY EXECUTE format('WITH stored AS (SELECT * FROM %1$I), afresh AS MATERIALIZED (SELECT * FROM afresh(%2$L))
			SELECT %1$L, ''too much: '' || f::text FROM (SELECT key, cluster_id FROM stored EXCEPT TABLE afresh) f
			UNION ALL SELECT %1$L, ''missing: '' || f::text FROM (TABLE afresh EXCEPT SELECT key, cluster_id FROM stored) f', k.clusters, k.condition);
	END LOOP;
END $$;
-- One statement that changes rows or decisions, of one row or of several.
CREATE FUNCTION change() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n CONSTANT int := 1 + random() * 3;
	few CONSTANT text := format('id IN (SELECT 1 + (random() * 15)::int FROM generate_series(1, %s))', n);
	fp CONSTANT text := '((ARRAY[0, 1, 7, 63, 511, 4095, -1, 0, 0])[1 + (random() * 8)::int] # (random() * 2)::int)::bigint';
	body CONSTANT text := '(ARRAY[''red lamp on the table'', ''red lamp on a table'', ''blue chair'', ''red'',
		''''])[1 + (random() * 4)::int]';
	statement text;
BEGIN
	statement := CASE (random() * 10)::int
		WHEN 0
		THEN format('INSERT INTO ticket SELECT i, (random() * 1)::int, %s, %s FROM generate_series(1, 16) i WHERE random() < 0.3
			ON CONFLICT (id) DO UPDATE SET fp = excluded.fp', body, fp)
		WHEN 1 THEN format('DELETE FROM ticket WHERE %s', few)
		WHEN 2 THEN format('UPDATE ticket SET body = %s WHERE %s', body, few)
		WHEN 3 THEN format('UPDATE ticket SET tenant = 1 - tenant WHERE %s', few)
		WHEN 4
		THEN format('UPDATE ticket SET id = 17 - id WHERE id = (SELECT id FROM ticket
			WHERE NOT EXISTS (SELECT FROM ticket t WHERE t.id = 17 - ticket.id) LIMIT 1)')
		WHEN 5
		THEN 'INSERT INTO decision SELECT 1 + (random() * 15)::int, 1 + (random() * 15)::int, random() < 0.5
			ON CONFLICT (a, b) DO UPDATE SET same = excluded.same'
		WHEN 6 THEN 'DELETE FROM decision WHERE random() < 0.3'
		WHEN 7 THEN 'UPDATE decision SET same = NOT same WHERE random() < 0.2'
		WHEN 8
		THEN format('WITH gone AS (DELETE FROM ticket WHERE %s RETURNING *)
			INSERT INTO ticket SELECT id + 100, tenant, body, fp FROM gone ON CONFLICT DO NOTHING', few)
		WHEN 9 THEN 'DELETE FROM ticket WHERE id > 16'
		ELSE format('INSERT INTO ticket SELECT i, 0, %s, %s FROM generate_series(1, 16) i ON CONFLICT DO NOTHING', body, fp) END;
	EXECUTE statement;
	RETURN statement;
END $$;
CREATE TABLE wrong (step int, statement text, clusters text, fault text);
CREATE TABLE seen (entries bigint);
DO $$
DECLARE
	statement text;
BEGIN
	FOR step IN 1 .. 100 LOOP
		IF random() < 0.1 THEN
			BEGIN
				PERFORM change();
				RAISE EXCEPTION 'rolled back';
			EXCEPTION WHEN raise_exception THEN
			END;
		END IF;
		statement := change();
		INSERT INTO wrong SELECT step, statement, f.* FROM faults() f;
		INSERT INTO seen SELECT count(*) FROM "all";
		EXIT WHEN EXISTS (TABLE wrong);
	END LOOP;
END $$;
TABLE wrong;
SELECT count(*) AS steps, avg(entries) > 2 AS has_clusters FROM seen;
TRUNCATE decision;
SELECT * FROM faults();
TRUNCATE ticket;
SELECT * FROM faults();

-- ---- decisions, step by step
INSERT INTO ticket VALUES (1, 0, 'a', 0), (2, 0, 'a', 0), (3, 0, 'a', 0), (4, 0, 'far', -1);
SELECT key, cluster_id FROM decided ORDER BY key;
INSERT INTO decision VALUES (1, 4, true);
SELECT key, cluster_id FROM decided ORDER BY key;
-- Two of three equal rows are different: the third holds both, which a query shows.
INSERT INTO decision VALUES (2, 3, false);
SELECT key, cluster_id FROM decided ORDER BY key;
SELECT d.a, d.b FROM decision d JOIN decided x ON x.key = d.a
JOIN decided y ON y.key = d.b AND y.cluster_id = x.cluster_id WHERE NOT d.same;
INSERT INTO decision VALUES (1, 3, false);
SELECT key, cluster_id FROM decided ORDER BY key;
UPDATE decision SET same = false WHERE a = 1 AND b = 4;
SELECT key, cluster_id FROM decided ORDER BY key;
TRUNCATE decision;
SELECT key, cluster_id FROM decided ORDER BY key;
-- What is wrong with a table of decisions.
SELECT simhash_keep_clusters('ticket', 'id', 'fp', clusters => 'x', decisions => 'kept');
SELECT simhash_keep_clusters('ticket', 'id', 'fp', clusters => 'x', text => 'body', min_jaccard => 0.5, checked_by => 'of_one_word');
-- A second call makes what is missing; with other arguments it is refused. Drop takes the triggers of both tables.
DROP TRIGGER decided_decide ON decision;
ALTER TABLE decision DISABLE TRIGGER decided_undecide;
SET client_min_messages = notice;
SELECT simhash_keep_clusters('ticket', 'id', 'fp', clusters => 'decided', decisions => 'decision');
SELECT simhash_keep_clusters('ticket', 'id', 'fp', clusters => 'decided');
SELECT simhash_drop_clusters('decided');
SET client_min_messages = warning;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'decision'::regclass ORDER BY 1;
DROP TABLE ticket CASCADE;

-- ---- row security: right within the columns of the policy, an error otherwise
CREATE ROLE regress_judged;
CREATE TABLE r (id int PRIMARY KEY, who text, fp bigint);
CREATE INDEX ON r USING simhash (fp);
CREATE INDEX ON r USING simhash (who, fp);
SELECT simhash_keep_clusters('r', 'id', 'fp', 3);
INSERT INTO r VALUES (1, 'other', 5), (2, 'other', 5), (3, 'other', 900);
ALTER TABLE r ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON r USING (who = current_user);
GRANT USAGE ON SCHEMA judged_test TO regress_judged;
GRANT SELECT, INSERT, UPDATE, DELETE ON r, r_cluster TO regress_judged;
SET ROLE regress_judged;
INSERT INTO r VALUES (10, 'regress_judged', 5), (11, 'regress_judged', 5);
RESET ROLE;
SELECT simhash_drop_clusters('r_cluster');
SELECT simhash_keep_clusters('r', 'id', 'fp', 3, '{who}');
GRANT SELECT, INSERT, UPDATE, DELETE ON r_cluster TO regress_judged;
SET ROLE regress_judged;
INSERT INTO r VALUES (10, 'regress_judged', 5), (11, 'regress_judged', 5);
UPDATE r SET fp = 901 WHERE id = 11;
UPDATE r SET fp = 5 WHERE id = 11;
INSERT INTO r VALUES (12, 'regress_judged', 5), (13, 'regress_judged', 6);
DELETE FROM r WHERE id = 10;
RESET ROLE;
SELECT key, cluster_id FROM r_cluster ORDER BY key;
SELECT cluster_id, key FROM simhash_clusters('r', 'id', 'fp', 3, within => '{who}') ORDER BY key;
-- Also where each row is answered for itself.
CREATE TABLE d (id int PRIMARY KEY, who text, fp bigint);
CREATE INDEX ON d USING simhash (who, fp);
CREATE TABLE d_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON d_cluster (cluster_id);
CREATE CONSTRAINT TRIGGER keep AFTER INSERT OR UPDATE OR DELETE ON d DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=d_cluster', 'key=id', 'fingerprint=fp', 'within=who');
ALTER TABLE d ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON d USING (who = current_user);
GRANT SELECT, INSERT, UPDATE, DELETE ON d, d_cluster TO regress_judged;
SET client_min_messages = error;
INSERT INTO d VALUES (50, 'other', 0), (51, 'other', 0);
SET ROLE regress_judged;
INSERT INTO d SELECT i, 'regress_judged', 0 FROM generate_series(1, 5) i;
DELETE FROM d WHERE id <= 3;
RESET ROLE;
SET client_min_messages = warning;
TABLE d_cluster ORDER BY key;
-- A policy that hides rows of a scope.
CREATE POLICY less ON r AS RESTRICTIVE USING (id <> 13);
SET ROLE regress_judged;
DELETE FROM r WHERE id = 12;
RESET ROLE;
DROP POLICY less ON r;
-- Hidden entries.
ALTER TABLE r_cluster ENABLE ROW LEVEL SECURITY;
CREATE POLICY none ON r_cluster USING (false) WITH CHECK (true);
SET ROLE regress_judged;
DELETE FROM r WHERE id = 12;
RESET ROLE;
-- TRUNCATE of decisions by somebody who does not see all rows.
CREATE TABLE o (id int PRIMARY KEY, who text, fp bigint);
CREATE INDEX ON o USING simhash (who, fp);
INSERT INTO o VALUES (1, 'other', 5), (2, 'other', 5);
CREATE TABLE o_decision (a int, b int, same boolean NOT NULL, PRIMARY KEY (a, b));
SELECT simhash_keep_clusters('o', 'id', 'fp', 3, 'who', decisions => 'o_decision');
ALTER TABLE o ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON o USING (who = current_user);
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON o, o_cluster, o_decision TO regress_judged;
SET ROLE regress_judged;
TRUNCATE o_decision;
RESET ROLE;
SELECT key, cluster_id FROM o_cluster ORDER BY key;
-- Forced on the owner.
CREATE TABLE f (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON f USING simhash (fp);
ALTER TABLE f ENABLE ROW LEVEL SECURITY;
ALTER TABLE f FORCE ROW LEVEL SECURITY;
GRANT CREATE ON SCHEMA judged_test TO regress_judged;
ALTER TABLE f OWNER TO regress_judged;
SET ROLE regress_judged;
SELECT simhash_keep_clusters('f', 'id', 'fp', 3);
RESET ROLE;

-- ---- what others may name
-- A trigger on a table of somebody else who may write clusters neither counts nor has its table dropped.
CREATE TABLE payroll (key int);
CREATE SCHEMA evil AUTHORIZATION regress_judged;
SET ROLE regress_judged;
CREATE TABLE evil.x (id int PRIMARY KEY, fp bigint);
CREATE TRIGGER zz AFTER INSERT ON evil.x FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=judged_test.d_cluster', 'key=id', 'fingerprint=fp', 'notes=judged_test.payroll');
CREATE TABLE s_cluster (key int PRIMARY KEY, cluster_id int);
RESET ROLE;
SELECT simhash_drop_clusters('d_cluster');
SELECT count(*) AS payroll FROM payroll;
CREATE TABLE s (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON s USING simhash (fp);
SELECT simhash_keep_clusters('s', 'id', 'fp', 3);
-- Keys, and decisions about them, of types that cannot be looked up.
CREATE TYPE pair AS (a int, b int);
CREATE TABLE of_pairs (id pair PRIMARY KEY, fp bigint);
SELECT simhash_keep_clusters('of_pairs', 'id', 'fp', 3);
CREATE TABLE wide (a bigint, b bigint, same boolean);
SELECT simhash_keep_clusters('s', 'id', 'fp', 3, clusters => 's2', decisions => 'wide');
-- A function that is made again under its name is found by a session that has used the one before.
CREATE FUNCTION agree(x s, y s) RETURNS boolean IMMUTABLE RETURN true;
SELECT simhash_keep_clusters('s', 'id', 'fp', 3, clusters => 's2', checked_by => 'agree');
INSERT INTO s VALUES (1, 0), (2, 0);
DROP FUNCTION agree;
CREATE FUNCTION agree(x s, y s) RETURNS boolean IMMUTABLE RETURN false;
INSERT INTO s VALUES (3, 0), (4, 0);
SELECT key, cluster_id FROM s2 ORDER BY key;

-- ---- keys of a collation that finds different letters equal
CREATE FUNCTION folded() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	shown text;
	entries CONSTANT text := ' || array_agg((key, cluster_id) ORDER BY key)::text FROM e_cluster';
BEGIN
	BEGIN
		EXECUTE $q$CREATE COLLATION judged_test.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)$q$;
	EXCEPTION WHEN feature_not_supported THEN
		-- A server that is built without ICU.
		RETURN '{"(A,A)","(b,A)","(c,A)"}{"(A,A)","(c,A)"}{"(a,a)","(c,a)"}';
	END;
	EXECUTE 'CREATE TABLE e (id text COLLATE ci PRIMARY KEY, fp bigint)';
	EXECUTE 'CREATE INDEX ON e USING simhash (fp)';
	EXECUTE 'CREATE TABLE e_decision (a text COLLATE ci, b text COLLATE ci, same boolean)';
	PERFORM simhash_keep_clusters('e', 'id', 'fp', 3, decisions => 'e_decision');
	EXECUTE $q$INSERT INTO e VALUES ('A', 0), ('b', 0), ('c', -1)$q$;
	EXECUTE $q$INSERT INTO e_decision VALUES ('a', 'C', true)$q$;
	EXECUTE 'SELECT $1' || entries INTO shown USING '';
	EXECUTE $q$INSERT INTO e_decision VALUES ('a', 'B', false)$q$;
	EXECUTE 'SELECT $1' || entries INTO shown USING shown;
	EXECUTE $q$UPDATE e SET id = 'a' WHERE id = 'A'$q$;
	EXECUTE 'SELECT $1' || entries INTO shown USING shown;
	RETURN shown;
END $$;
SELECT folded();

-- ---- a table that is not one of clusters, and a configuration that no call can use
SELECT simhash_keep_clusters('r', 'id', 'fp', 3, clusters => 'kept');
DROP SCHEMA judged_test, evil CASCADE;
DROP ROLE regress_judged;
