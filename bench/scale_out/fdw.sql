-- What rows on three foreign servers cost: procedures that ask the same of a table and of trees of foreign partitions, in
-- turns, and fill measured(what, way, ms). See ../README.md; fdw.sh makes the tables.
SET client_min_messages = error;
CREATE TABLE measured (what text, way text, ms float8);

-- A way to answer: its SQL, of $1, a fingerprint. prepared: by a generic plan that is made once. most: so many times at most.
CREATE TABLE way (place int GENERATED ALWAYS AS IDENTITY, what text, way text, sql text, prepared boolean DEFAULT false, most int DEFAULT 1000000);

-- The branch of each server, % its number.
CREATE FUNCTION three_of(branch text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg('(' || replace(branch, '%', i::text) || ')', ' UNION ALL ') FROM generate_series(0, 2) i
$$;
CREATE FUNCTION nearest_of(tree text, question text) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT id, fp <~> %2$s AS d FROM %1$s ORDER BY fp <~> %2$s LIMIT 10', tree, question)
$$;
CREATE FUNCTION pairs_of(tree text) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT * FROM simhash_pairs(%L, ''id'', ''fp'')', tree)
$$;

INSERT INTO way (what, way, sql) SELECT 'within ' || k, tree, format('SELECT id FROM %s WHERE fp <~> $1 <= %s', tree, k)
FROM unnest('{3,8,12}'::int[]) k, unnest('{whole,fetch_100,fetch_10,fetch_1000,async,remote_estimate}'::text[]) tree;
INSERT INTO way (what, way, sql, most) VALUES ('within 3', 'no_extensions', 'SELECT id FROM no_extensions WHERE fp <~> $1 <= 3', 5);
INSERT INTO way (what, way, sql, prepared) SELECT what || ', prepared', way, sql, true FROM way
WHERE what IN ('within 3', 'within 8') AND way IN ('whole', 'fetch_100', 'async');

INSERT INTO way (what, way, sql, most) SELECT 'ten nearest', tree, nearest_of(tree, '$1'), CASE tree WHEN 'remote_estimate' THEN 5 ELSE 1000000 END
FROM unnest('{whole,fetch_100,fetch_10,fetch_1000,async,remote_estimate}'::text[]) tree;
INSERT INTO way (what, way, sql) VALUES
	('ten nearest', 'a LIMIT a server', format('SELECT * FROM (%s) x ORDER BY d LIMIT 10', three_of(nearest_of('fetch_100_%', '$1')))),
	('ten nearest', 'a LIMIT a server, async', format('SELECT * FROM (%s OFFSET 0) x ORDER BY d LIMIT 10', three_of(nearest_of('async_%', '$1')))),
	('ten nearest', 'within 16, async', 'SELECT * FROM (SELECT id, fp <~> $1 AS d FROM async WHERE fp <~> $1 <= 16 OFFSET 0) x ORDER BY d LIMIT 10');
INSERT INTO way (what, way, sql, prepared) SELECT what || ', prepared', way, sql, true FROM way
WHERE what = 'ten nearest' AND way IN ('whole', 'a LIMIT a server', 'a LIMIT a server, async', 'within 16, async');

-- Questions in a table of this server, and copies of them on each server.
INSERT INTO way (what, way, most, sql) SELECT '20 questions, within 3', way, most,
	format('SELECT a.n, x.id FROM (SELECT * FROM asked ORDER BY n LIMIT 20) a, LATERAL (SELECT id FROM %s t WHERE t.fp <~> a.fp <= 3 %s) x', tree, fence)
FROM (VALUES ('whole', 'whole', '', 20), ('as on one server', 'fetch_100', '', 3), ('remote_estimate', 'remote_estimate', '', 20),
	('OFFSET 0', 'fetch_100', 'OFFSET 0', 20), ('OFFSET 0, async', 'async', 'OFFSET 0', 20)) v (way, tree, fence, most);
INSERT INTO way (what, way, most, sql) SELECT '20 questions, ten nearest', way, 20,
	format('SELECT a.n, x.d FROM (SELECT * FROM asked ORDER BY n LIMIT 20) a, LATERAL (%s) x', sql)
FROM (VALUES ('whole', nearest_of('whole', 'a.fp')),
	('a LIMIT a server', format('SELECT * FROM (%s) y ORDER BY d LIMIT 10', three_of(nearest_of('fetch_100_%', 'a.fp')))),
	('a LIMIT a server, async', format('SELECT * FROM (%s OFFSET 0) y ORDER BY d LIMIT 10', three_of(nearest_of('async_%', 'a.fp'))))) v (way, sql);
INSERT INTO way (what, way, most, sql) VALUES
	('10,000 new rows against all', 'whole', 5, 'SELECT q.n AS a, t.id AS b FROM batch q JOIN whole t ON t.fp <~> q.fp <= 3'),
	('10,000 new rows against all', 'whole, simhash_pairs', 5, 'SELECT a, b FROM simhash_pairs_between(''batch'', ''n'', ''fp'', ''whole'', ''id'', ''fp'')'),
	('10,000 new rows against all', 'simhash_pairs, fetch_10000', 5, 'SELECT a, b FROM simhash_pairs_between(''batch'', ''n'', ''fp'', ''fetch_10000'', ''id'', ''fp'')'),
	('10,000 new rows against all', 'a search a row, async', 1, 'SELECT q.n AS a, x.id AS b FROM batch q, LATERAL (SELECT id FROM async t WHERE t.fp <~> q.fp <= 3 OFFSET 0) x'),
	('10,000 new rows against all', 'copies on the servers, joined there', 5, 'SELECT q.n AS a, t.id AS b FROM question q JOIN fetch_10000 t ON q.part = t.part AND t.fp <~> q.fp <= 3'),
	('10,000 new rows, copied to three servers', 'batch_size 1000', 5, 'INSERT INTO copied SELECT part, n, fp FROM batch, generate_series(0, 2) part');

INSERT INTO way (what, way, most, sql) SELECT 'all pairs', tree, 5, pairs_of(tree)
FROM unnest('{whole,fetch_100,fetch_1000,fetch_10000,async,async_10000}'::text[]) tree;
INSERT INTO way (what, way, most, sql) SELECT 'all clusters, 2,000 checked by their texts', tree, 5,
	format('SELECT key, cluster_id FROM simhash_clusters(%L, ''id'', ''fp'', 3, ''components'', text => ''body'', min_jaccard => 0.5)', tree)
FROM unnest('{texts,texts_far}'::text[]) tree;

-- The answer of a way as text: its rows, or the distances of the nearest, since others may be as near.
CREATE FUNCTION answer(w way, question bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE format('SELECT string_agg(%s, chr(44) ORDER BY %1$s) FROM (%s) x', CASE WHEN w.what LIKE 'ten nearest%' THEN 'd::text' ELSE 'x::text' END, w.sql)
		USING question INTO found;
	RETURN found;
END $$;

-- Each question goes to every way before the next one is asked, and none of the first 5 counts. Before them the answers of
-- all ways to one question are compared.
CREATE PROCEDURE measure(about text, questions int) LANGUAGE plpgsql AS $$
DECLARE
	question record;
	w way;
	begun timestamptz;
BEGIN
	IF about NOT LIKE '%copied%' AND (SELECT count(DISTINCT answer(t, asked.fp)) > 1 FROM way t, asked WHERE what = about AND n = 1) THEN
		RAISE EXCEPTION 'the answers to "%" differ', about;
	END IF;
	FOR w IN SELECT * FROM way WHERE what = about AND prepared LOOP
		EXECUTE format('PREPARE way_%s (bigint) AS %s', w.place, w.sql);
	END LOOP;
	FOR question IN SELECT n - 5 AS n, fp FROM asked WHERE n <= questions + 5 ORDER BY asked.n LOOP
		FOR w IN SELECT * FROM way WHERE what = about AND question.n BETWEEN CASE WHEN most > 5 THEN -4 ELSE 1 END AND most
			ORDER BY hashint8extended(place, question.n) LOOP
			begun := clock_timestamp();
			IF w.prepared THEN
				EXECUTE format('EXECUTE way_%s (%s)', w.place, question.fp);
			ELSE
				EXECUTE w.sql USING question.fp;
			END IF;
			COMMIT;
			IF question.n > 0 THEN
				INSERT INTO measured VALUES (about, w.way, 1000 * extract(epoch FROM clock_timestamp() - begun));
			END IF;
		END LOOP;
	END LOOP;
END $$;
