-- A function of the user's own that makes the fingerprint: in an index, in searches, in a generated column, in a trigger.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA own;
SET search_path = own, public;
\set SHOW_CONTEXT never

CREATE FUNCTION petition_fp(body text) RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN simhash64(body);
CREATE TABLE petition (id int PRIMARY KEY, body text);
INSERT INTO petition SELECT i, string_agg(substr(md5(i / 4 || ' ' || w), 1, 2 + w % 7), ' ')
		|| CASE i % 4 WHEN 0 THEN '' WHEN 1 THEN '!' ELSE ' ' || left(md5(i::text), 3 * (i % 4)) END
	FROM generate_series(1, 4000) AS i, generate_series(1, 40) AS w GROUP BY i;
INSERT INTO petition VALUES (4001, NULL), (4002, ' - ');
CREATE INDEX CONCURRENTLY petition_fp ON petition USING simhash (petition_fp(body));
ANALYZE petition;

-- The function is the bare call.
SELECT count(*) FILTER (WHERE petition_fp(body) IS DISTINCT FROM simhash64(body, preset => 'adaptive')) AS differing FROM petition;

-- Searches use the index: with a literal, with a parameter in custom and in generic plans, nearest rows.
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE petition_fp(body) <~> petition_fp('street lamp') <= 8;
PREPARE within (text) AS SELECT id FROM petition WHERE petition_fp(body) <~> petition_fp($1) <= 8 ORDER BY id;
PREPARE nearest (text) AS SELECT id FROM petition ORDER BY petition_fp(body) <~> petition_fp($1), id LIMIT 5;
PREPARE nearest_distances (text) AS SELECT petition_fp(body) <~> petition_fp($1) AS distance FROM petition
	ORDER BY petition_fp(body) <~> petition_fp($1) LIMIT 5;
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS OFF) EXECUTE within('street lamp');
EXPLAIN (COSTS OFF) EXECUTE nearest_distances('street lamp');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE within('street lamp');
EXPLAIN (COSTS OFF) EXECUTE nearest_distances('street lamp');

-- What they find is what the whole table says.
CREATE FUNCTION agree(plans text) RETURNS TABLE (asked int, within int, distances int, rows_found bigint) LANGUAGE plpgsql AS $$
DECLARE
	one record;
	rows int[];
BEGIN
	PERFORM set_config('plan_cache_mode', plans, true);
	asked := 0; within := 0; distances := 0; rows_found := 0;
	FOR one IN SELECT p.body, petition_fp(p.body) AS fp FROM petition AS p WHERE p.id % 97 = 3 LOOP
		asked := asked + 1;
		rows := ARRAY(SELECT p.id FROM petition AS p WHERE petition_fp(p.body) <~> petition_fp(one.body) <= 8 ORDER BY 1);
		rows_found := rows_found + cardinality(rows);
		within := within + (rows = ARRAY(SELECT p.id FROM petition AS p
			WHERE bit_count((simhash64(p.body, preset => 'adaptive') # one.fp)::bit(64)) <= 8 ORDER BY 1))::int;
		distances := distances + (ARRAY(SELECT petition_fp(p.body) <~> petition_fp(one.body) FROM petition AS p
				ORDER BY petition_fp(p.body) <~> petition_fp(one.body) LIMIT 5)::bigint[]
			= ARRAY(SELECT bit_count((simhash64(p.body, preset => 'adaptive') # one.fp)::bit(64)) FROM petition AS p
				WHERE simhash64(p.body, preset => 'adaptive') IS NOT NULL ORDER BY 1 LIMIT 5))::int;
	END LOOP;
	RETURN NEXT;
END $$;
SELECT asked > 40 AND within = asked AND distances = asked AS agrees, rows_found > 3 * asked AS groups FROM agree('force_custom_plan');
SELECT asked > 40 AND within = asked AND distances = asked AS agrees, rows_found > 3 * asked AS groups FROM agree('force_generic_plan');
DEALLOCATE ALL;
RESET plan_cache_mode;

-- Its body is bound when it is made: an empty search_path, as restores have it, changes nothing.
SET search_path = '';
INSERT INTO own.petition VALUES (5001, 'The street lamp has been dark for two weeks');
SELECT id FROM own.petition
WHERE own.petition_fp(body) OPERATOR(public.<~>) own.petition_fp('the street lamp has been dark for two weeks!') OPERATOR(pg_catalog.<=) 3;
REINDEX INDEX own.petition_fp;
-- Neither does a function of the same name in front of the extension's.
CREATE SCHEMA planted;
CREATE FUNCTION planted.simhash64(text) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 7::bigint';
SET search_path = planted, own, public;
SELECT petition_fp('street lamp') = public.simhash64('street lamp'::text, NULL::jsonb, 'adaptive') AS bound;
SET client_min_messages = error;
DROP SCHEMA planted CASCADE;
SET client_min_messages = warning;
SET search_path = own, public;

-- A generated column, and one that a trigger fills and a constraint holds to it.
CREATE TABLE letter (id int PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (petition_fp(body)) STORED);
INSERT INTO letter SELECT id, body FROM petition WHERE id <= 100 OR id > 4000;
CREATE INDEX ON letter USING simhash (fp);
SELECT count(*) FILTER (WHERE fp IS DISTINCT FROM simhash64(body)) AS differing, count(fp) FROM letter;
CREATE TABLE filled (id int PRIMARY KEY, body text, fp bigint, CHECK (fp IS NOT DISTINCT FROM petition_fp(body)));
CREATE FUNCTION filled_fingerprint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.fp := own.petition_fp(NEW.body);
	RETURN NEW;
END $$;
CREATE TRIGGER filled_1_fingerprint BEFORE INSERT OR UPDATE ON filled FOR EACH ROW EXECUTE FUNCTION filled_fingerprint();
SET search_path = '';
INSERT INTO own.filled SELECT id, body FROM own.letter;
SET search_path = own, public;
SELECT count(*) AS equal FROM filled JOIN letter USING (id, fp);

-- What made them: the expression, and the body of the function; of one that calls another the bodies of both.
CREATE FUNCTION plain_text(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT replace($1,  '-', ' ')
$$;
CREATE FUNCTION cleaned_fp(title text, body text) RETURNS bigint IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
	SELECT simhash64(ROW(plain_text(title), plain_text(body)), '{"f2": 3, "f1": 1}', preset => 'minwise');
END;
CREATE FUNCTION old_style(text) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT public.simhash64($1)';
CREATE TABLE both_columns (title text, body text, fp bigint GENERATED ALWAYS AS (cleaned_fp(title, body)) STORED,
	old bigint GENERATED ALWAYS AS (old_style(body)) STORED, direct bigint GENERATED ALWAYS AS (simhash64(body)) STORED);
CREATE INDEX both_index ON both_columns USING simhash (old, old_style(title));
SELECT simhash_made_by(t, c) FROM (VALUES (1, 'letter'::regclass, 'fp'), (2, 'filled', 'fp'), (3, 'both_columns', 'fp'),
	(4, 'both_columns', 'old'), (5, 'both_columns', 'direct'), (6, 'petition_fp', 'petition_fp'),
	(7, 'both_index', 'old_style'), (8, 'both_index', 'old'), (9, 'petition', 'id')) AS v (n, t, c) ORDER BY n;

-- All is as it was made.
SELECT part, made_by, checked, differing FROM simhash_fingerprint_verify('letter', 'fp', NULL);
SELECT checked, differing FROM simhash_fingerprint_verify('filled', 'fp', NULL);
SELECT count(*) FROM simhash_index_verify('petition_fp', true);

-- CREATE OR REPLACE of it splits column and index silently; the checks say so, and what mends it.
CREATE OR REPLACE FUNCTION petition_fp(body text) RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN simhash64(body, preset => 'minwise');
-- A session that has used the index keeps the old body for it.
\c -
SET client_min_messages = warning;
SET search_path = own, public;
SELECT id FROM petition WHERE petition_fp(body) <~> petition_fp('The street lamp has been dark for two weeks') <= 3;
SELECT part, made_by, checked, differing > 90 AS differs FROM simhash_fingerprint_verify('letter', 'fp', NULL);
SELECT checked, differing > 90 AS differs FROM simhash_fingerprint_verify('filled', 'fp', NULL);
SELECT count(*) > 3900 AS faults FROM simhash_index_verify('petition_fp', true);
-- This session has used the index: a plain REINDEX would build by the body that it has kept, another index does not.
CREATE OR REPLACE FUNCTION petition_fp(body text) RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN simhash64(body, preset => 'words');
REINDEX INDEX CONCURRENTLY petition_fp;
UPDATE letter SET body = body;
SELECT id FROM petition WHERE petition_fp(body) <~> petition_fp('The street lamp has been dark for two weeks') <= 3;
SELECT checked, differing FROM simhash_fingerprint_verify('letter', 'fp', NULL);
SELECT count(*) FROM simhash_index_verify('petition_fp', true);
SET client_min_messages = error;
DROP SCHEMA own CASCADE;
