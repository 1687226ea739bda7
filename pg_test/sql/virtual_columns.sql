-- From PostgreSQL 18 on a generated column without STORED is virtual: it has no value in the table, and the server computes it
-- wherever a query names it. What takes a column reads it, or refuses it by its name.
SELECT current_setting('server_version_num')::int < 180000 AS none_before_18 \gset
\if :none_before_18
\echo virtual columns are in PostgreSQL 18 and later
\quit
\endif
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
RESET client_min_messages;
CREATE SCHEMA virtual;
SET search_path = virtual, public;
\set VERBOSITY terse

-- The server calls no user's function in a virtual column, and makes no index on one.
CREATE TABLE doc (id int PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash64(body)));
CREATE TABLE photo (id int PRIMARY KEY, half0 int, half1 int, body text,
	fp bigint GENERATED ALWAYS AS ((half0::bigint << 32) | half1::bigint),
	kept bigint GENERATED ALWAYS AS ((half0::bigint << 32) | half1::bigint) STORED,
	title text GENERATED ALWAYS AS (upper(body)),
	tenant int GENERATED ALWAYS AS (half0 % 2),
	number bigint GENERATED ALWAYS AS (half1::bigint * 10), duplicate_of int);
CREATE INDEX ON photo USING simhash (fp);
CREATE INDEX photo_kept ON photo USING simhash (kept);
ALTER TABLE photo ADD EXCLUDE USING simhash (fp WITH ~=);
INSERT INTO photo (id, half0, half1, body) VALUES
	(1, 1, 1, 'The street lamp in front of number 12 is dark since two weeks'),
	(2, 1, 3, 'The street lamp in front of number 12 is dark since two weeks.'),
	(3, 2, 4095, 'Bus 7 no longer stops at the market, which is hard for many people');

-- Functions of a table read it.
SELECT * FROM simhash_pairs('photo', 'id', 'fp', 3);
SELECT * FROM simhash_pairs('photo', 'id', 'fp', 3, '{tenant}');
SELECT * FROM simhash_pairs('photo', 'number', 'fp', 3);
SELECT * FROM simhash_pairs('photo', key_type => NULL::bigint, columns => 'fp', key => 'number', radius => 3);
SELECT * FROM simhash_pairs('photo', 'id', 'fp', 3, min_jaccard => 0.5, text => 'title');
SELECT * FROM simhash_pairs_between('photo', 'id', 'fp', 'photo', 'id', 'kept', 0);
SELECT * FROM simhash_clusters('photo', 'id', 'fp', 3);
SELECT * FROM simhash_clusters('photo', 'number', 'fp', 3, text => 'title');
CREATE FUNCTION same_number(a photo, b photo) RETURNS boolean
	LANGUAGE plpgsql AS $$ BEGIN RETURN a.number <> b.number AND a.title = upper(a.body); END $$;
SELECT * FROM simhash_pairs('photo', 'id', 'fp', 3, checked_by => 'same_number');
SELECT distance, pairs, compared FROM simhash_radius_report('photo', 'id', 'fp', 'title', max_radius => 2);
SELECT a, b, similarity > 0.5 AS alike FROM simhash_record_pairs('photo', 'id', 0.1, '{title}');
SELECT a, b, similarity > 0.5 AS alike FROM simhash_record_pairs('photo', 'number', 0.1, '{title}');
SELECT count(*) > 0 AS found FROM simhash_record_report('photo', 'id');
SELECT simhash_made_by('photo', 'fp') = simhash_made_by('photo', 'kept') AS same;
SELECT checked, differing FROM simhash_fingerprint_verify('photo', 'fp');
SELECT simhash_query('photo', 'fp', '{"half0": 1, "half1": 3}');
SELECT simhash64(ROW(body)) = simhash64(ROW(lower(title))) AS same FROM photo;
SELECT string_agg(DISTINCT feature, ' ') FROM photo p, simhash_features(p, '{"title": 1}', preset => 's0') WHERE id = 3;

-- Triggers do not see it. A function of rows that checks pairs gets NULL there, as in all generated columns.
CREATE FUNCTION tries(VARIADIC arguments text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON photo FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(%s)',
		(SELECT string_agg(quote_literal(a), ', ') FROM unnest(arguments) a));
	INSERT INTO photo (id, half0, half1, body) VALUES (4, 1, 1, 'The street lamp in front of number 12 is dark');
	RAISE NOTICE 'taken: %', (SELECT to_jsonb(p) FROM photo p WHERE id = 4);
	RAISE EXCEPTION 'undone';
EXCEPTION WHEN OTHERS THEN
	RAISE NOTICE '%: %', arguments, SQLERRM;
END $$;
-- Of the fingerprint they evaluate the expression; the warning says what to do, since there can be no index.
\set VERBOSITY default
SELECT tries('fingerprint=fp', 'duplicate_of=duplicate_of');
\set VERBOSITY terse
SELECT tries('fingerprint=kept', 'duplicate_of=duplicate_of');
SELECT tries('fingerprint=kept', 'duplicate_of=duplicate_of', 'text=title');
SELECT tries('fingerprint=kept', 'duplicate_of=duplicate_of', 'within=tenant');
SELECT tries('fingerprint=kept', 'duplicate_of=number');
SELECT tries('fingerprint=kept', 'mode=skip', 'key=number');
SELECT tries('fingerprint=kept', 'duplicate_of=duplicate_of', 'checked_by=same_number');
ALTER TABLE photo ADD filled bigint;
SELECT tries('fingerprint=filled', 'duplicate_of=duplicate_of', 'weights={"title": 1}');
SELECT tries('fingerprint=fp', 'duplicate_of=duplicate_of', 'weights={"body": 1}');
SELECT simhash_keep_clusters('photo', 'id', 'fp', 3);
SELECT simhash_keep_clusters('photo', 'number', 'kept', 3);
SELECT simhash_keep_clusters('photo', 'id', 'kept', 3, within => '{tenant}');
SELECT simhash_keep_clusters('photo', 'id', 'kept', 3, text => 'title');
SET client_min_messages = warning;
DROP SCHEMA virtual CASCADE;
