-- One question, and 64 questions in one query, to the indexes on a column of fingerprints. What they find is compared with reading
-- all rows. A procedure asks all questions and says `measured: way|what|how often` on the standard error, and its processor time
-- comes next, by log_statement_stats: run.sh reads both. Variables: rows, batches, rounds. Leaves t, question and answer to batches.py.
SET client_min_messages = error;
CREATE SCHEMA batches;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE TABLE batch_measured (way text, what text, value float8);

-- ---- rows, questions, and their true answers ------------------------------------------------------------------------

-- A number of at least 0 that follows from i; `salt` makes others.
CREATE FUNCTION draw(i bigint, salt int) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	$$SELECT hashint8extended(i, salt) & 9223372036854775807$$;

-- A fingerprint with `bits` of its bits flipped. The steps are odd, so no bit is flipped twice.
CREATE FUNCTION flipped(fp bigint, bits int, i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT fp # bit_or(1::bigint << ((draw(i, 1) & 63) + j * (draw(i, 2) & 63 | 1) & 63)::int) FROM generate_series(1, bits) j
$$;

-- Every twentieth row is a copy of an earlier one with 1 to 3 bits flipped.
CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 20 > 0 THEN hashint8extended(i, 0)
	ELSE flipped(hashint8extended(draw(i, 3) % (i / 20) * 20 + 1 + draw(i, 4) % 19, 0), (1 + draw(i, 5) % 3)::int, i) END AS fp
FROM generate_series(1, :rows::bigint) i;
VACUUM ANALYZE t;
-- Every second question is a row, the others are rows with 1 to 8 bits flipped.
CREATE TABLE question AS
SELECT n, n / 64 AS batch, CASE WHEN n % 2 = 0 THEN fp ELSE flipped(fp, (1 + draw(n, 6) % 8)::int, n) END AS fp
FROM generate_series(0, 64 * :batches - 1) n JOIN t ON t.id = n * (:rows / (64 * :batches)) + 1 + draw(n, 7) % (:rows / (64 * :batches));
ALTER TABLE question ADD PRIMARY KEY (fp);
CREATE TABLE answer AS SELECT q.fp AS question, t.id, (q.fp <~> t.fp) AS distance FROM question q JOIN t ON q.fp <~> t.fp <= 8;

-- ---- one way ------------------------------------------------------------------------------------------------------

CREATE PROCEDURE build(way text, statement text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RAISE INFO 'measured: %|build|1', way;
	INSERT INTO batch_measured VALUES (way, 'index, MB', pg_relation_size('t_index') / 1e6);
END $$;

-- Makes the procedures ask_one and ask_64, and compares what is found. `near` is the condition on t and the fingerprint q.
CREATE PROCEDURE prepare(way text, radius int, near text) LANGUAGE plpgsql AS $$
DECLARE
	near_64 text := format('SELECT q, t.id FROM unnest(fps) q JOIN t ON %s', near);
	line text;
	wrong int;
BEGIN
	EXECUTE format('CREATE OR REPLACE PROCEDURE ask_one() LANGUAGE plpgsql AS %L', format('
		DECLARE q bigint; asked int := 0; ids bigint[];
		BEGIN
			FOR q IN SELECT fp FROM question ORDER BY n LOOP
				SELECT array_agg(t.id) INTO ids FROM t WHERE %s;
				asked := asked + 1;
			END LOOP;
			RAISE INFO ''measured: %s|one %s|%%'', asked;
		END', near, way, radius));
	EXECUTE format('CREATE OR REPLACE PROCEDURE ask_64() LANGUAGE plpgsql AS %L', format('
		DECLARE fps bigint[]; asked int := 0; qs bigint[]; ids bigint[];
		BEGIN
			FOR fps IN SELECT array_agg(fp ORDER BY n) FROM question GROUP BY batch LOOP
				SELECT array_agg(f.q), array_agg(f.id) INTO qs, ids FROM (%s) f;
				asked := asked + 1;
			END LOOP;
			RAISE INFO ''measured: %s|64 %s|%%'', asked;
		END', near_64, way, radius));
	EXECUTE 'PREPARE one (bigint) AS SELECT id FROM t WHERE ' || regexp_replace(near, '\yq\y', '$1');
	EXECUTE 'PREPARE sixty_four (bigint[]) AS ' || replace(near_64, 'fps', '$1');
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) EXECUTE one (NULL)' LOOP RAISE INFO '%, one: %', way, line; END LOOP;
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) EXECUTE sixty_four (NULL)' LOOP RAISE INFO '%, 64: %', way, line; END LOOP;
	DEALLOCATE ALL;
	CREATE TEMP TABLE found (question bigint, id bigint);
	FOR line IN SELECT array_agg(fp) FROM question GROUP BY batch LOOP
		EXECUTE format('INSERT INTO found SELECT * FROM (%s) f', replace(near_64, 'fps', quote_literal(line) || '::bigint[]'));
	END LOOP;
	SELECT count(*) INTO wrong FROM (TABLE found EXCEPT ALL SELECT question, id FROM answer WHERE distance <= radius) w;
	IF wrong > 0 THEN RAISE EXCEPTION '%: % wrong answers within %', way, wrong, radius; END IF;
	INSERT INTO batch_measured
	SELECT way, 'found ' || radius, (SELECT count(*) FROM found)::float8 / count(*) FROM answer WHERE distance <= radius;
	DROP TABLE found;
END $$;

SELECT 'SELECT unnest(ARRAY[''CALL ask_one()'', ''CALL ask_64()'']) FROM generate_series(1, ' || :rounds || ')' AS rounds_of_both \gset
SET plan_cache_mode = force_generic_plan;
SET log_statement_stats = on;
SET client_min_messages = log;

CALL build('simhash_dedup', 'CREATE INDEX t_index ON t USING simhash (fp)');
CALL prepare('simhash_dedup', 3, 't.fp <~> q <= 3');
:rounds_of_both \gexec
CALL prepare('simhash_dedup', 8, 't.fp <~> q <= 8');
:rounds_of_both \gexec
DROP INDEX t_index;

SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'bktree') AS bktree \gset
\if :bktree
CREATE EXTENSION IF NOT EXISTS bktree;
CALL build('bktree', 'CREATE INDEX t_index ON t USING spgist (fp bktree_ops)');
CALL prepare('bktree', 3, 't.fp <@ ROW(q, 3)::bktree_area');
:rounds_of_both \gexec
CALL prepare('bktree', 8, 't.fp <@ ROW(q, 8)::bktree_area');
:rounds_of_both \gexec
DROP INDEX t_index;
\else
\echo '   the server has no bktree: left out'
\endif
