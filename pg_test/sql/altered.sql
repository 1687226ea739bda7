-- What a session remembers of a trigger (queries, types, plans), when tables, columns, types and collations
-- are renamed: by other commands, and in the middle of the statement that fires the trigger.
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA altered;
SET search_path = altered, public;

-- In the middle of the statement another column takes the name of the key.
CREATE TABLE swapped (id numeric, other bigint, fp bigint, dup numeric);
CREATE TRIGGER flag BEFORE INSERT ON swapped FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'key=id', 'duplicate_of=dup', 'radius=3');
INSERT INTO swapped (id, other, fp) VALUES (1, 12345, 7);
CREATE FUNCTION swap_columns(i int) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
	IF i = 2 THEN
		ALTER TABLE swapped RENAME id TO x;
		ALTER TABLE swapped RENAME other TO id;
	END IF;
	RETURN 100 + i;
END $$;
INSERT INTO swapped (id, fp) SELECT swap_columns(i), 7 FROM generate_series(1, 2) i;
\echo :LAST_ERROR_SQLSTATE
TABLE swapped;
-- With a text for the key, which is told.
CREATE TABLE told (id text, other bigint, fp bigint);
CREATE TRIGGER flag BEFORE INSERT ON told FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'key=id', 'mode=reject', 'radius=3');
INSERT INTO told VALUES ('one', 12345, 7);
CREATE FUNCTION swap_told(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF i = 2 THEN
		ALTER TABLE told RENAME id TO x;
		ALTER TABLE told RENAME other TO id;
	END IF;
	RETURN 'key ' || i;
END $$;
INSERT INTO told (id, fp) SELECT swap_told(i), CASE i WHEN 1 THEN -1 ELSE 7 END FROM generate_series(1, 2) i;

-- In the middle of the statement another table takes the name of the table: the rows are compared with those
-- beside which they are stored.
CREATE TABLE replaced (id int, fp bigint, dup int);
CREATE TRIGGER flag BEFORE INSERT ON replaced FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'key=id', 'duplicate_of=dup', 'radius=3');
INSERT INTO replaced VALUES (1, 7);
CREATE FUNCTION replace_table(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i = 2 THEN
		ALTER TABLE replaced RENAME TO replaced_old;
		CREATE TABLE replaced (id text, fp bigint, dup text);
		INSERT INTO replaced VALUES ('another', 7);
	END IF;
	RETURN 100 + i;
END $$;
INSERT INTO replaced (id, fp) SELECT replace_table(i), 7 FROM generate_series(1, 3) i;
SELECT id, dup FROM replaced_old ORDER BY id;

-- The parent of a partition takes the name of another table while rows go to the partition.
CREATE TABLE parent (id int, fp bigint, dup int) PARTITION BY LIST (id);
CREATE TABLE child PARTITION OF parent DEFAULT;
CREATE TRIGGER flag BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'key=id', 'duplicate_of=dup', 'radius=3');
INSERT INTO parent VALUES (1, 7);
CREATE FUNCTION replace_parent(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i = 2 THEN
		ALTER TABLE parent RENAME TO parent_old;
		CREATE TABLE parent (id text, fp bigint, dup text);
		INSERT INTO parent VALUES ('another', 7);
	END IF;
	RETURN 100 + i;
END $$;
INSERT INTO child (id, fp) SELECT replace_parent(i), 7 FROM generate_series(1, 3) i;
SELECT id, dup FROM child ORDER BY id;

-- The same while clusters are kept.
CREATE TABLE grouped (id int PRIMARY KEY, other text UNIQUE, fp bigint);
CREATE TABLE grouped_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER assign AFTER INSERT ON grouped FOR EACH ROW EXECUTE FUNCTION
	simhash_catalog.maintain_clusters('clusters=grouped_cluster', 'key=id', 'fingerprint=fp');
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO grouped VALUES (1, 'a', 7), (2, 'b', 7);
CREATE FUNCTION swap_grouped() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id = 4 THEN
		ALTER TABLE grouped RENAME id TO x;
		ALTER TABLE grouped RENAME other TO id;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER aaa AFTER INSERT ON grouped FOR EACH ROW EXECUTE FUNCTION swap_grouped();
INSERT INTO grouped VALUES (3, 'c', 7), (4, 'd', 7);
ROLLBACK;

-- What cannot be prepared leaves no plans behind.
CREATE FUNCTION failures(command text, count int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text;
BEGIN
	FOR i IN 1..count LOOP
		BEGIN
			EXECUTE command;
		EXCEPTION WHEN OTHERS THEN message := SQLERRM;
		END;
	END LOOP;
	RETURN message;
END $$;
CREATE FUNCTION plans() RETURNS bigint LANGUAGE sql AS
	$$SELECT count(*) FROM pg_backend_memory_contexts WHERE name IN ('SPI Plan', 'CachedPlanSource')$$;
CREATE TABLE ruled (id int PRIMARY KEY, fp bigint);
CREATE TABLE ruled_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE RULE nothing AS ON UPDATE TO ruled_cluster DO INSTEAD NOTHING;
CREATE TRIGGER assign AFTER INSERT ON ruled FOR EACH ROW EXECUTE FUNCTION
	simhash_catalog.maintain_clusters('clusters=ruled_cluster', 'key=id', 'fingerprint=fp');
SELECT failures('INSERT INTO ruled VALUES (1, 1), (2, 1)', 1);
SELECT plans() AS before \gset
SELECT failures('INSERT INTO ruled VALUES (1, 1), (2, 1)', 20);
SELECT plans() - :before AS more;
DROP RULE nothing ON ruled_cluster;
INSERT INTO ruled VALUES (1, 1), (2, 1);
TABLE ruled_cluster;

-- Columns of the table of clusters that the server fills itself.
CREATE TABLE filled (id int PRIMARY KEY, fp bigint);
CREATE TABLE filled_cluster (key int PRIMARY KEY, cluster_id int GENERATED ALWAYS AS (0) STORED);
CREATE TRIGGER assign AFTER INSERT ON filled FOR EACH ROW EXECUTE FUNCTION
	simhash_catalog.maintain_clusters('clusters=filled_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO filled VALUES (1, 1);
DROP TABLE filled_cluster;
CREATE TABLE filled_cluster (key int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, cluster_id int NOT NULL);
INSERT INTO filled VALUES (1, 1);
ALTER TABLE filled_cluster ALTER key SET GENERATED BY DEFAULT;
INSERT INTO filled VALUES (1, 1), (2, 1);
TABLE filled_cluster;

-- A collation, a type and an operator that the queries name get other names. DISCARD PLANS has the server
-- read the text of the queries again.
CREATE COLLATION mine FROM "C";
CREATE DOMAIN word AS text COLLATE mine;
CREATE TABLE worded (id word PRIMARY KEY, fp bigint);
CREATE TABLE worded_cluster (key word PRIMARY KEY, cluster_id word NOT NULL);
CREATE TRIGGER assign AFTER INSERT ON worded FOR EACH ROW EXECUTE FUNCTION
	simhash_catalog.maintain_clusters('clusters=worded_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO worded VALUES ('a', 1), ('b', 1);
ALTER COLLATION mine RENAME TO yours;
DISCARD PLANS;
INSERT INTO worded VALUES ('c', 1);
ALTER DOMAIN word RENAME TO token;
DISCARD PLANS;
INSERT INTO worded VALUES ('d', 1);
SELECT * FROM worded_cluster ORDER BY key;

CREATE TYPE code;
CREATE FUNCTION code_in(cstring) RETURNS code LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION code_out(code) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE code (INPUT = code_in, OUTPUT = code_out, LIKE = int4);
CREATE FUNCTION equals(code, code) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE FUNCTION less(code, code) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4lt';
CREATE FUNCTION compared(code, code) RETURNS int LANGUAGE internal IMMUTABLE STRICT AS 'btint4cmp';
CREATE OPERATOR = (LEFTARG = code, RIGHTARG = code, FUNCTION = equals, COMMUTATOR = =);
CREATE OPERATOR < (LEFTARG = code, RIGHTARG = code, FUNCTION = less);
CREATE OPERATOR CLASS code_ops DEFAULT FOR TYPE code USING btree AS OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 compared(code, code);
CREATE TABLE coded (id code PRIMARY KEY, fp bigint, dup code);
CREATE TABLE coded_cluster (key code PRIMARY KEY, cluster_id code NOT NULL);
CREATE TRIGGER assign AFTER INSERT ON coded FOR EACH ROW EXECUTE FUNCTION
	simhash_catalog.maintain_clusters('clusters=coded_cluster', 'key=id', 'fingerprint=fp');
CREATE TRIGGER flag BEFORE INSERT ON coded FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'key=id', 'duplicate_of=dup', 'radius=3');
INSERT INTO coded VALUES ('1', 1), ('2', 1);
ALTER TYPE code RENAME TO cipher;
DISCARD PLANS;
INSERT INTO coded VALUES ('3', 1);
SELECT coded.id, dup, cluster_id FROM coded JOIN coded_cluster ON id = key ORDER BY id;

-- Types that no query names do not concern the triggers: nothing is prepared again.
SELECT plans() AS before \gset
CREATE TEMP TABLE unconcerned (id int);
DROP TABLE unconcerned;
INSERT INTO coded VALUES ('4', 1);
SELECT plans() - :before AS more;

-- GRANT has the server read the row type again, at every row. The columns, which stay the same, are kept once.
DO $$BEGIN
	EXECUTE (SELECT 'CREATE TABLE wide (' || string_agg('c' || i || ' text', ', ') || ')' FROM generate_series(1, 100) i);
END$$;
INSERT INTO wide (c1) SELECT i FROM generate_series(1, 200) i;
CREATE FUNCTION granted() RETURNS void LANGUAGE plpgsql AS $$BEGIN GRANT SELECT ON wide TO PUBLIC; END$$;
CREATE FUNCTION used() RETURNS bigint LANGUAGE sql AS
	$$SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = 'ExecutorState'$$;
SELECT count(f), max(bytes) - min(bytes) < 1000000 AS bounded
FROM (SELECT granted(), simhash64(wide, '{"c1": 1}') AS f, used() AS bytes FROM wide OFFSET 0) x;


-- Functions of the extension with settings of their own are still known as its functions.
SET search_path = altered, public;
CREATE TABLE set_functions (id int, body text, fp bigint, dup int);
CREATE TRIGGER flag BEFORE INSERT ON set_functions FOR EACH ROW EXECUTE FUNCTION
	simhash_flag_duplicate('fingerprint=fp', 'key=id', 'duplicate_of=dup', 'weights={"body": 1}');
CREATE INDEX ON set_functions USING simhash (fp);
ALTER FUNCTION simhash64(record, jsonb, text) SET work_mem = '4MB';
ALTER FUNCTION hamming_ball(bigint, int) SET work_mem = '4MB';
INSERT INTO set_functions VALUES (1, 'the same words'), (2, 'the same words');
SELECT id, dup FROM set_functions ORDER BY id;
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT id FROM set_functions WHERE fp <~> 7 <= 3;
RESET enable_seqscan;
ALTER FUNCTION simhash64(record, jsonb, text) RESET ALL;
ALTER FUNCTION hamming_ball(bigint, int) RESET ALL;

DROP SCHEMA altered CASCADE;
