-- Ids of kept clusters that stay, the log of what became of them, what people judge about whole clusters. Random changes are
-- compared with the rule for ids, told in loops, and with a replay of the log. Stored records have the same, in the last part.
\set SHOW_CONTEXT never
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA lasting_test;
SET search_path = lasting_test, public;

-- ---- step by step
CREATE TABLE doc (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON doc USING simhash (fp);
CREATE TABLE decision (a int, b int, same boolean NOT NULL, PRIMARY KEY (a, b), CHECK (a < b));
CREATE INDEX ON decision (b);
INSERT INTO doc VALUES (1, 0), (2, 1), (3, 1), (4, -1), (5, -1), (6, 4080);
SELECT simhash_keep_clusters('doc', 'id', 'fp', decisions => 'decision', log => 'doc_history');
\d doc_cluster
\d doc_history
CREATE VIEW clusters AS SELECT lasting_id, array_agg(key ORDER BY key) AS keys FROM doc_cluster GROUP BY 1 ORDER BY 1;
TABLE clusters;
-- A row more, a row less, another smallest key.
INSERT INTO doc VALUES (0, 0);
DELETE FROM doc WHERE id IN (0, 1);
TABLE clusters;
-- A person puts clusters together, and takes them apart: with the rows that came later.
INSERT INTO decision VALUES (3, 5, true);
INSERT INTO doc VALUES (7, -2);
TABLE clusters;
SELECT simhash_undo_merge('doc_cluster', nr) FROM doc_history WHERE event = 'merged';
TABLE clusters;
TABLE decision ORDER BY 1, 2;
-- Verdicts about all of a cluster, whichever row of a decision stands first.
SELECT simhash_judge_cluster('doc_cluster', lasting_id, true) FROM clusters WHERE 2 = ANY (keys);
SELECT simhash_judge_cluster('doc_cluster', lasting_id, false) FROM clusters WHERE 2 = ANY (keys);
TABLE clusters;
SELECT simhash_judge_cluster('doc_cluster', lasting_id, same => true, size => 3) FROM clusters;
UPDATE doc SET fp = hashint8extended(id, 0);
TABLE clusters;
DELETE FROM decision;
TABLE clusters;
SELECT nr, event, keys, from_id, to_id, decision FROM doc_history ORDER BY nr;

-- ---- what is left to judge
TRUNCATE doc;
INSERT INTO doc VALUES (1, 0), (2, 0), (3, 0), (4, -1), (5, -1), (6, 4080), (7, 4080);
CREATE VIEW unjudged AS SELECT u.size, keys FROM simhash_unjudged_clusters('doc_cluster') WITH ORDINALITY AS u (lasting_id, size, n)
	JOIN clusters USING (lasting_id) ORDER BY n;
TABLE unjudged;
-- Pairs that are judged the same, and a cluster that somebody has looked at.
INSERT INTO decision VALUES (4, 5, true), (1, 2, true);
SELECT simhash_judge_cluster('doc_cluster', lasting_id, size => 2) FROM clusters WHERE 6 = ANY (keys);
TABLE unjudged;
INSERT INTO decision VALUES (2, 3, true);
TABLE unjudged;
-- It comes back when it gains a row, not when it loses one or is split. What is called alike twice is not one.
DELETE FROM doc WHERE id = 6;
INSERT INTO doc VALUES (8, 4080), (9, 4080);
TABLE unjudged;
SELECT simhash_judge_cluster('doc_cluster', lasting_id, size => 2) FROM clusters WHERE 7 = ANY (keys);
SELECT simhash_judge_cluster('doc_cluster', lasting_id) FROM clusters WHERE 7 = ANY (keys);
DELETE FROM doc WHERE id = 7;
INSERT INTO doc VALUES (10, 0);
TABLE unjudged;
SELECT simhash_judge_cluster('doc_cluster', lasting_id) FROM clusters WHERE 10 = ANY (keys);
INSERT INTO decision VALUES (5, 10, true);
TABLE unjudged;
-- Errors.
SELECT simhash_judge_cluster('doc_cluster', 1000);
SELECT simhash_judge_cluster('doc_cluster', NULL);
SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'plain');
SELECT simhash_judge_cluster('plain', lasting_id, true) FROM plain LIMIT 1;
SELECT simhash_undo_merge('plain', 1);
SELECT simhash_unjudged_clusters('decision');
SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'q', log => 'a.b.c');
SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'q', log => 'decision');
DROP TABLE doc_history;
INSERT INTO doc VALUES (11, 0);
-- Ids and history stay where only the triggers are made anew: where another table has taken the name, with other arguments.
ALTER TABLE doc RENAME TO old_doc;
SELECT simhash_unjudged_clusters('plain');
CREATE TABLE doc (LIKE old_doc INCLUDING ALL);
INSERT INTO doc SELECT * FROM old_doc WHERE id <> 4;
SELECT simhash_unjudged_clusters('plain');
SELECT simhash_keep_clusters('doc', 'id', 'fp', clusters => 'plain');
SELECT simhash_drop_clusters('doc_cluster', triggers_only => true);
SELECT * FROM clusters;
SELECT simhash_keep_clusters('doc', 'id', 'fp', 2, log => 'doc_history');
SELECT * FROM clusters;
SELECT nr, event, keys, from_id, to_id, decision FROM doc_history ORDER BY nr;
DROP TABLE doc, old_doc, decision, doc_cluster, plain, doc_history CASCADE;

-- ---- rows of different sellers
CREATE TABLE offer (id int PRIMARY KEY, seller text, fp bigint);
CREATE INDEX ON offer USING simhash (fp);
SELECT simhash_keep_clusters('offer', 'id', 'fp', across => '{seller}');
SELECT simhash_keep_clusters('offer', 'id', 'fp', across => '{seller}', clusters => 'offer_noted', refresh => 'manual');
CREATE FUNCTION offers() RETURNS TABLE (kept text, of text) LANGUAGE plpgsql AS $$
DECLARE
	wanted CONSTANT text := (SELECT string_agg(format('%s:%s', cluster_id, key), ' ' ORDER BY key)
		FROM simhash_clusters('offer', 'id', 'fp', across => '{seller}'));
BEGIN
	PERFORM simhash_refresh_clusters('offer_noted');
	RETURN QUERY SELECT string_agg(format('%s:%s', cluster_id, key), ' ' ORDER BY key), 'at once' FROM offer_cluster
		HAVING string_agg(format('%s:%s', cluster_id, key), ' ' ORDER BY key) IS DISTINCT FROM wanted
	UNION ALL SELECT string_agg(format('%s:%s', cluster_id, key), ' ' ORDER BY key), 'noted' FROM offer_noted
		HAVING string_agg(format('%s:%s', cluster_id, key), ' ' ORDER BY key) IS DISTINCT FROM wanted;
END $$;
INSERT INTO offer VALUES (1, 'a', 0), (2, 'a', 0), (3, 'a', 1);
TABLE offer_cluster;
INSERT INTO offer VALUES (4, 'b', 0);
SELECT key, cluster_id, lasting_id FROM offer_cluster ORDER BY key;
SELECT * FROM offers();
INSERT INTO offer VALUES (5, 'b', 0);
UPDATE offer SET seller = 'a' WHERE id = 4;
SELECT * FROM offers();
UPDATE offer SET seller = 'a' WHERE id = 5;
SELECT * FROM offers();
TABLE offer_cluster;
SELECT setseed(0.5);
DO $$ BEGIN
	FOR step IN 1 .. 60 LOOP
		INSERT INTO offer SELECT 100 + i, chr(97 + (random() * 2)::int), (random() * 4)::int * 21 FROM generate_series(1, 12) i WHERE random() < 0.3
			ON CONFLICT (id) DO UPDATE SET seller = excluded.seller, fp = excluded.fp;
		IF EXISTS (SELECT FROM offers()) THEN
			RAISE EXCEPTION 'step %: %', step, (SELECT string_agg(o::text, ' ') FROM offers() o);
		END IF;
		DELETE FROM offer WHERE random() < 0.1;
		IF EXISTS (SELECT FROM offers()) THEN
			RAISE EXCEPTION 'step %: %', step, (SELECT string_agg(o::text, ' ') FROM offers() o);
		END IF;
	END LOOP;
END $$;
SELECT simhash_keep_clusters('offer', 'id', 'fp', across => '{nobody}', clusters => 'x');
-- A trigger of a table whose name another one has by now warns.
ALTER TABLE offer RENAME TO old_offer;
CREATE TABLE offer (LIKE old_offer);
INSERT INTO old_offer VALUES (1001, 'b', 0);

-- ---- random changes
SELECT setseed(0.5);
CREATE TABLE ticket (id int PRIMARY KEY, fp bigint, name text GENERATED ALWAYS AS (substr(md5(fp::text), 1, 9) || ' ' || md5((fp / 256)::text)) STORED);
CREATE INDEX ON ticket USING simhash (fp);
CREATE TABLE decision (a int, b int, same boolean NOT NULL, PRIMARY KEY (a, b));
CREATE INDEX ON decision (b);
SELECT simhash_keep_clusters('ticket', 'id', 'fp', 2, clusters => 'plain', log => 'plain_log');
SELECT simhash_keep_clusters('ticket', 'id', 'fp', 2, clusters => 'noted', log => 'noted_log', refresh => 'manual');
SELECT simhash_keep_clusters('ticket', 'id', 'fp', 2, clusters => 'decided', log => 'decided_log', decisions => 'decision');
SELECT simhash_keep_records('ticket', 'id', 0.5, 'name', decisions => 'decision', records => 'recorded', log => 'recorded_log');
CREATE TABLE before (clusters text, key int, lasting_id bigint);
CREATE TABLE highest (clusters text PRIMARY KEY, id bigint);
INSERT INTO highest VALUES ('plain', 0), ('noted', 0), ('decided', 0), ('recorded', 0);
-- What is not as the rule says of the entries, beside those before.
CREATE FUNCTION faults(name text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	old bigint;
	heir int;
	most bigint;
	shared bigint;
	one record;
BEGIN
	EXECUTE format('CREATE TEMP TABLE now ON COMMIT DROP AS SELECT key, cluster_id, lasting_id, NULL::bigint AS expected FROM %I', name);
	FOR old IN SELECT DISTINCT lasting_id FROM before WHERE clusters = name LOOP
		heir := NULL;
		most := 0;
		FOR one IN SELECT cluster_id, array_agg(key) AS keys FROM now GROUP BY 1 ORDER BY 1 LOOP
			SELECT count(*) INTO shared FROM before WHERE clusters = name AND lasting_id = old AND key = ANY (one.keys);
			IF shared > most THEN
				most := shared;
				heir := one.cluster_id;
			END IF;
		END LOOP;
		UPDATE now SET expected = least(expected, old) WHERE cluster_id = heir;
	END LOOP;
	RETURN QUERY SELECT format('%s: %s in %s, not %s', name, key, n.lasting_id, expected) FROM now n JOIN highest h ON h.clusters = name
	WHERE n.lasting_id IS DISTINCT FROM expected AND (expected IS NOT NULL OR n.lasting_id <= h.id)
	UNION ALL SELECT format('%s: one id, several clusters', name) FROM now n GROUP BY n.lasting_id HAVING count(DISTINCT cluster_id) > 1
	UNION ALL SELECT format('%s: several ids, one cluster', name) FROM now n GROUP BY n.cluster_id HAVING count(DISTINCT n.lasting_id) > 1;
	RETURN QUERY EXECUTE format('WITH last AS (
			SELECT DISTINCT ON (k.key) k.key, to_id FROM %1$I l, unnest(keys) AS k (key) ORDER BY k.key, nr DESC
		), step AS (
			SELECT nr, k.key, from_id, lag(to_id) OVER (PARTITION BY k.key ORDER BY nr) AS was FROM %1$I l, unnest(keys) AS k (key)
		) SELECT format(''%2$s: %%s is not in %%s as the log says'', key, to_id) FROM last FULL JOIN now n USING (key) WHERE n.lasting_id IS DISTINCT FROM to_id
		UNION ALL SELECT format(''%2$s: line %%s begins with another id'', nr) FROM step WHERE was IS DISTINCT FROM from_id', name || '_log', name);
	DELETE FROM before WHERE clusters = name;
	INSERT INTO before SELECT name, key, lasting_id FROM now;
	UPDATE highest h SET id = greatest(h.id, (SELECT max(lasting_id) FROM now)) WHERE clusters = name;
	DROP TABLE now;
END $$;
CREATE FUNCTION change() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	fp CONSTANT text := '(1::bigint << (8 * (random() * 3)::int)) * (1 << (random() * 5)::int) - 1';
	few CONSTANT text := 'id IN (SELECT id FROM ticket ORDER BY random() LIMIT (random() * 5)::int)';
	kind CONSTANT int := random() * 12;
	statement text;
BEGIN
	statement := CASE kind
		WHEN 0 THEN format('DELETE FROM ticket WHERE %s', few)
		WHEN 1 THEN 'UPDATE ticket SET id = 33 - id WHERE id = (SELECT id FROM ticket
			WHERE NOT EXISTS (SELECT FROM ticket t WHERE t.id = 33 - ticket.id) LIMIT 1)'
		WHEN 2 THEN 'DELETE FROM ticket WHERE id = (SELECT min(id) FROM ticket)'
		WHEN 3 THEN 'INSERT INTO decision SELECT 1 + (random() * 31)::int, 1 + (random() * 31)::int, random() < 0.5
			ON CONFLICT (a, b) DO UPDATE SET same = excluded.same'
		WHEN 4 THEN 'DELETE FROM decision WHERE random() < 0.3'
		WHEN 5 THEN 'UPDATE decision SET same = NOT same WHERE random() < 0.2'
		WHEN 6 THEN format('UPDATE ticket SET fp = %s WHERE %s', fp, few)
		WHEN 7 THEN 'SELECT simhash_judge_cluster(''decided'', lasting_id, random() < 0.5) FROM decided ORDER BY random() LIMIT 1'
		WHEN 8 THEN 'SELECT simhash_undo_merge(''decided'', nr) FROM decided_log WHERE event <> ''left'' ORDER BY random() LIMIT 1'
		WHEN 9 THEN 'SELECT simhash_judge_cluster(''recorded'', lasting_id, random() < 0.5) FROM recorded ORDER BY random() LIMIT 1'
		WHEN 10 THEN 'SELECT simhash_undo_merge(''recorded'', nr) FROM recorded_log WHERE event <> ''left'' ORDER BY random() LIMIT 1'
		ELSE format('INSERT INTO ticket (id, fp) SELECT i, %s FROM generate_series(1, 32) i WHERE random() < 0.2 ON CONFLICT DO NOTHING', fp) END;
	EXECUTE statement;
	RETURN statement;
END $$;
CREATE FUNCTION recorded_groups() RETURNS TABLE (key bigint, cluster_id bigint) LANGUAGE sql AS $$
	WITH link AS (
		SELECT a, b FROM simhash_record_pairs('ticket', 'id', 0.5, 'name', weights => '{}') AS p
		WHERE NOT EXISTS (SELECT FROM decision AS d WHERE NOT d.same AND (d.a, d.b) IN ((p.a, p.b), (p.b, p.a)))
		UNION ALL SELECT d.a, d.b FROM decision AS d JOIN ticket AS x ON x.id = d.a JOIN ticket AS y ON y.id = d.b WHERE d.same AND d.a <> d.b
	) SELECT c.* FROM (SELECT array_agg(a) AS a, array_agg(b) AS b FROM link) AS l, simhash_components(l.a, l.b) AS c
$$;
CREATE TABLE wrong (step int, statement text, fault text);
DO $$
DECLARE
	statement text;
BEGIN
	FOR step IN 1 .. 300 LOOP
		statement := change();
		INSERT INTO wrong SELECT step, statement, faults('plain');
		INSERT INTO wrong SELECT step, statement, faults('decided');
		IF random() < 0.5 THEN
			PERFORM simhash_refresh_clusters('noted');
			INSERT INTO wrong SELECT step, statement, faults('noted');
		END IF;
		IF random() < 0.4 THEN
			PERFORM simhash_refresh_records('recorded');
			INSERT INTO wrong SELECT step, statement, faults('recorded');
			INSERT INTO wrong SELECT step, statement, format('%s is in %s, not %s', key, r.cluster_id, e.cluster_id)
			FROM recorded AS r FULL JOIN recorded_groups() AS e USING (key) WHERE r.cluster_id IS DISTINCT FROM e.cluster_id;
		END IF;
		EXIT WHEN EXISTS (TABLE wrong);
	END LOOP;
END $$;
TABLE wrong;
SELECT event, count(*) > 5 AS often FROM decided_log GROUP BY 1 ORDER BY 1;
SELECT event, count(*) > 5 AS often FROM recorded_log GROUP BY 1 ORDER BY 1;
SELECT count(*) > 10 AS caused FROM decided_log WHERE decision IS NOT NULL;
SELECT count(*) > 5 AS caused FROM recorded_log WHERE decision IS NOT NULL;
-- A decision of the log says what came true.
SELECT l.* FROM decided_log l WHERE decision IS NOT NULL AND NOT (decision && keys);
-- The work list is that of clusters.
SELECT count(*) = (SELECT count(DISTINCT lasting_id) FROM recorded) AS all_of_them FROM simhash_unjudged_clusters('recorded');
DELETE FROM decision;
UPDATE recorded SET judged_at = NULL;
SELECT count(*) > 0 AS some, (count(*) = (SELECT count(DISTINCT lasting_id) FROM recorded)) AS all_of_them FROM simhash_unjudged_clusters('recorded');
SELECT simhash_judge_cluster('recorded', lasting_id) FROM (SELECT DISTINCT lasting_id FROM recorded) AS r;
SELECT count(*) FROM simhash_unjudged_clusters('recorded');
-- Another table that takes the name is noticed, and ids stay.
SELECT simhash_refresh_records('recorded') IS NOT NULL AS done;
CREATE TABLE earlier AS TABLE recorded;
ALTER TABLE ticket RENAME TO old_ticket;
SELECT simhash_refresh_records('recorded') AS nothing;
CREATE TABLE ticket AS SELECT id, fp, name FROM old_ticket WHERE id > 3;
SELECT simhash_refresh_records('recorded');
UPDATE recorded_about SET relation = 'lasting_test.ticket';
SELECT simhash_refresh_records('recorded') IS NOT NULL AS done;
SELECT count(*) > 3 AS some, bool_and(o.lasting_id = n.lasting_id) AS as_before FROM recorded AS n JOIN earlier AS o USING (key);
SELECT * FROM faults('recorded');
SELECT simhash_drop_records('recorded');
SELECT count(*) > 0 AS stays FROM recorded_log;
-- Records without decisions and log.
SELECT simhash_keep_records('ticket', 'id', 0.5, 'name', records => 'bare');
SELECT simhash_judge_cluster('bare', lasting_id, true) FROM bare LIMIT 1;
SELECT simhash_undo_merge('bare', 1);
SELECT simhash_keep_records('ticket', 'id', 0.5, 'name', records => 'b', log => 'decision');
SELECT simhash_keep_records('ticket', 'id', 0.5, 'name', records => 'b', decisions => 'ticket');
-- Clusters that are kept anew with a log that has lines: ids go on, and an undo is of its own merge.
CREATE TABLE anew (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON anew USING simhash (fp);
CREATE TABLE anew_decision (a int, b int, same boolean NOT NULL, PRIMARY KEY (a, b));
INSERT INTO anew VALUES (1, 0), (2, 0), (3, 65535), (4, 65535);
SELECT simhash_keep_clusters('anew', 'id', 'fp', 2, decisions => 'anew_decision', log => 'anew_log');
SELECT simhash_keep_clusters('anew', 'id', 'fp', 2, clusters => 'another', log => 'anew_log');
SELECT simhash_drop_clusters('anew_cluster');
UPDATE anew SET fp = x'7fff0000'::bigint + id * (1 << 20) WHERE id < 3;
SELECT simhash_keep_clusters('anew', 'id', 'fp', 2, decisions => 'anew_decision', log => 'anew_log');
INSERT INTO anew VALUES (13, -1), (14, -1);
UPDATE anew SET fp = 65535 WHERE id > 4;
SELECT nr, event, keys, from_id, to_id FROM anew_log ORDER BY nr;
SELECT simhash_undo_merge('anew_cluster', max(nr)) FROM anew_log WHERE event = 'merged';
SELECT * FROM anew_decision ORDER BY a, b;
-- Who may not change clusters does not wait for those who do.
CREATE ROLE regress_lasting;
GRANT USAGE ON SCHEMA lasting_test TO regress_lasting;
GRANT SELECT ON anew_cluster TO regress_lasting;
SET ROLE regress_lasting;
SELECT simhash_judge_cluster('anew_cluster', 1);
RESET ROLE;
DROP OWNED BY regress_lasting;
DROP ROLE regress_lasting;
DROP SCHEMA lasting_test CASCADE;
