-- The same question to each way: which stored texts have a Jaccard similarity of at least 0.8 with this one? Fills
-- measured(way, what, value) for the ways that live in the database; see ../README.md. Run after doc(id, body) is loaded.
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE TABLE measured (way text, what text, value float8);

-- ---- the questions and their true answers -------------------------------------------------------------------------

-- Every question is the text of a row, drawn by the hash of its id, so that runs are alike.
CREATE TABLE question AS
SELECT id, body FROM doc WHERE length(body) >= 200 ORDER BY hashint4(id), id LIMIT :questions;

-- Texts of such a similarity have lengths whose ratio is nearly as high: a set of 5-grams is hardly smaller than its text is
-- long, repetitions aside, for which there is room.
CREATE TABLE answer AS
SELECT q.id AS question, d.id FROM question q JOIN doc d
	ON length(d.body) BETWEEN length(q.body) * 0.5 AND length(q.body) * 2 AND d.id <> q.id
	AND simhash_jaccard(q.body, d.body) >= 0.8;

-- ---- one way ------------------------------------------------------------------------------------------------------

CREATE PROCEDURE build(way text, statements text[]) LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
	statement text;
BEGIN
	FOREACH statement IN ARRAY statements LOOP
		EXECUTE statement;
	END LOOP;
	INSERT INTO measured VALUES (way, 'build, s', extract(epoch FROM clock_timestamp() - started));
END $$;

-- Asks every question once to warm up and once with the clock. `query` gets the question's id and text as $1 and $2.
CREATE PROCEDURE ask(way text, query text) LANGUAGE plpgsql AS $$
DECLARE
	q record;
	found int[];
	started timestamptz;
	right_ones int := 0;
BEGIN
	FOR round IN 1 .. 2 LOOP
		FOR q IN SELECT * FROM question LOOP
			started := clock_timestamp();
			EXECUTE query INTO found USING q.id, q.body;
			IF round = 2 THEN
				INSERT INTO measured VALUES (way, 'question, ms', 1000 * extract(epoch FROM clock_timestamp() - started));
				right_ones := right_ones + (SELECT count(*) FROM answer a WHERE a.question = q.id AND a.id = ANY (found));
			END IF;
		END LOOP;
	END LOOP;
	INSERT INTO measured SELECT way, 'recall', right_ones::float8 / count(*) FROM answer;
END $$;

CREATE PROCEDURE size(way text, relation regclass) LANGUAGE sql AS $$
	INSERT INTO measured VALUES (way, 'index, MB', pg_relation_size(relation) / 1e6);
$$;
