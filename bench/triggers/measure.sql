-- What the triggers cost: tables, and procedures that fill measured(part, what, way, n, ms). See ../README.md.
-- Each change that is timed is a statement with its triggers and a transaction of its own; the commit is not timed.
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE TABLE measured (part text, what text, way text, n bigint, ms float8);

-- ---- the triggers -------------------------------------------------------------------------------------------------

-- A row of t is (id, fp, dup, flag); t_cluster holds its clusters. Ways to keep or to flag, by name.
CREATE PROCEDURE use_trigger(way text) LANGUAGE plpgsql AS $$
DECLARE
	keeps text := 'EXECUTE FUNCTION simhash_catalog.maintain_clusters(''clusters=t_cluster'', ''key=id'', ''fingerprint=fp'', ''radius=3'')';
	flags text := 'CREATE TRIGGER flags BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=fp'', ''key=id'', %s)';
	arguments text := CASE way
		WHEN 'flag=' THEN '''flag=flag'''
		WHEN 'duplicate_of=' THEN '''duplicate_of=dup'''
		WHEN 'both' THEN '''flag=flag'', ''duplicate_of=dup'''
		WHEN 'among=originals' THEN '''duplicate_of=dup'', ''among=originals'''
		WHEN 'mode=reject' THEN '''mode=reject'''
		WHEN 'mode=skip' THEN '''mode=skip''' END;
	name text;
BEGIN
	FOR name IN SELECT tgname FROM pg_trigger WHERE tgrelid = 't'::regclass AND NOT tgisinternal LOOP
		EXECUTE format('DROP TRIGGER %I ON t', name);
	END LOOP;
	DROP INDEX IF EXISTS originals;
	IF way = 'among=originals' THEN
		CREATE INDEX originals ON t USING simhash (fp) WHERE dup IS NULL;
	END IF;
	IF arguments IS NOT NULL THEN
		EXECUTE format(flags, arguments);
	ELSIF way = 'clusters' THEN
		EXECUTE 'CREATE TRIGGER keeps AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW ' || keeps;
	END IF;
	COMMIT;
END $$;

-- ---- time ---------------------------------------------------------------------------------------------------------

CREATE FUNCTION milliseconds_of(statement text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz := clock_timestamp();
BEGIN
	EXECUTE statement;
	RETURN 1000 * extract(epoch FROM clock_timestamp() - begun);
END $$;

-- The same for a statement that may be refused.
CREATE FUNCTION milliseconds_until_refused(statement text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz := clock_timestamp();
BEGIN
	BEGIN
		EXECUTE statement;
	EXCEPTION WHEN exclusion_violation THEN
		NULL;
	END;
	RETURN 1000 * extract(epoch FROM clock_timestamp() - begun);
END $$;

CREATE SEQUENCE next_id;

-- A fingerprint that no other row is near.
CREATE FUNCTION stranger(id bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT hashint8extended(id, 77) $$;

-- ---- copies -------------------------------------------------------------------------------------------------------

-- Texts 0 .. $groups of which $copies copies are stored, the first one the original, beside 100,000 other rows.
CREATE PROCEDURE store_copies(groups int, copies int) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS t, t_cluster;
	CREATE TABLE t (id bigint PRIMARY KEY, fp bigint, dup bigint, flag boolean);
	CREATE TABLE t_cluster (key bigint PRIMARY KEY, cluster_id bigint NOT NULL);
	INSERT INTO t SELECT g * copies::bigint + c, stranger(-g), CASE WHEN c > 1 THEN g * copies::bigint + 1 END, c > 1
	FROM generate_series(0, groups) g, generate_series(1, copies) c;
	INSERT INTO t SELECT 5000000 + i, stranger(i), NULL, false FROM generate_series(1, 100000) i;
	CREATE INDEX ON t USING simhash (fp);
	INSERT INTO t_cluster SELECT key, cluster_id FROM simhash_clusters('t', 'id', 'fp', 3, 'components');
	CREATE INDEX ON t_cluster (cluster_id);
	ANALYZE t, t_cluster;
	PERFORM setval('next_id', 10000000);
END $$;

-- $each more copies of each text, and as many rows like no other in turns with them. Those of text 0 come first, prepare
-- plans, and do not count.
CREATE PROCEDURE insert_copies(way text, groups int, copies int, each int) LANGUAGE plpgsql AS $$
DECLARE
	clock text := CASE way WHEN 'mode=reject' THEN 'milliseconds_until_refused' ELSE 'milliseconds_of' END;
	text_number int;
	kind text;
	id bigint;
	ms float8;
BEGIN
	CALL use_trigger(way);
	FOR i IN -19 .. groups * each LOOP
		text_number := CASE WHEN i > 0 THEN 1 + i % groups ELSE 0 END;
		FOREACH kind IN ARRAY ARRAY['copy', 'stranger'] LOOP
			id := nextval('next_id');
			EXECUTE format('SELECT %s(%L)', clock,
				format('INSERT INTO t VALUES (%s, %s)', id, stranger(CASE kind WHEN 'copy' THEN -text_number ELSE id END))) INTO ms;
			COMMIT;
			IF i > 0 THEN
				INSERT INTO measured VALUES ('copies', 'insert ' || kind, way, copies, ms);
			END IF;
		END LOOP;
	END LOOP;
END $$;

-- One of the copies goes, the one with the smallest key, a row like no other.
CREATE PROCEDURE delete_copies(way text, groups int, copies int, each int) LANGUAGE plpgsql AS $$
DECLARE
	first bigint;
	ms float8;
BEGIN
	CALL use_trigger(way);
	FOR g IN 0 .. groups LOOP
		FOR i IN 1 .. each LOOP
			SELECT milliseconds_of(format('DELETE FROM t WHERE id = %s', 5000000 + nextval('next_id') % 100000)) INTO ms;
			COMMIT;
			IF g > 0 THEN
				INSERT INTO measured VALUES ('copies', 'delete stranger', way, copies, ms);
			END IF;
			-- Each way finds all copies but those that it has inserted.
			EXIT WHEN copies < 2 * each;
			SELECT milliseconds_of(format('DELETE FROM t WHERE id = %s', g * copies::bigint + copies - nextval('next_id') % (copies / 2))) INTO ms;
			COMMIT;
			IF g > 0 THEN
				INSERT INTO measured VALUES ('copies', 'delete copy', way, copies, ms);
			END IF;
		END LOOP;
		CONTINUE WHEN copies = 1;
		first := (SELECT min(id) FROM t WHERE fp = stranger(-g));
		SELECT milliseconds_of(format('DELETE FROM t WHERE id = %s', first)) INTO ms;
		COMMIT;
		IF g > 0 OR copies > 10000 THEN
			INSERT INTO measured VALUES ('copies', 'delete smallest', way, copies, ms);
		END IF;
		INSERT INTO t VALUES (first, stranger(-g));
		COMMIT;
	END LOOP;
END $$;

-- ---- clusters that split ------------------------------------------------------------------------------------------

-- Two halves of a cluster of $n rows, 6 bits apart, and a row between them. The rows of a half are equal, or differ from its
-- centre in up to 3 of the other bits. Beside them 100,000 other rows.
CREATE PROCEDURE store_halves(n int, alike boolean) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS t, t_cluster;
	CREATE TABLE t (id bigint PRIMARY KEY, fp bigint, dup bigint, flag boolean);
	CREATE TABLE t_cluster (key bigint PRIMARY KEY, cluster_id bigint NOT NULL);
	INSERT INTO t WITH bit AS (SELECT 1::bigint << b AS mask, b FROM generate_series(6, 62) b),
		mask (mask) AS (SELECT 0 UNION ALL SELECT mask FROM bit UNION ALL SELECT a.mask | b.mask FROM bit a JOIN bit b ON a.b < b.b
			UNION ALL SELECT a.mask | b.mask | c.mask FROM bit a JOIN bit b ON a.b < b.b JOIN bit c ON b.b < c.b)
	SELECT row_number() OVER (), mask | half FROM (SELECT CASE WHEN alike THEN mask ELSE 0 END AS mask FROM mask LIMIT (n - 1) / 2) m, (VALUES (0), (63)) h (half);
	INSERT INTO t VALUES (1000000, 7);
	INSERT INTO t SELECT 5000000 + i, stranger(i) FROM generate_series(1, 100000) i;
	CREATE INDEX ON t USING simhash (fp);
	INSERT INTO t_cluster SELECT key, cluster_id FROM simhash_clusters('t', 'id', 'fp', 3, 'components');
	CREATE INDEX ON t_cluster (cluster_id);
	ANALYZE t, t_cluster;
END $$;

CREATE PROCEDURE split(way text, n int, alike boolean, rounds int) LANGUAGE plpgsql AS $$
DECLARE
	part text := CASE WHEN alike THEN 'splits, different rows' ELSE 'splits, equal rows' END;
	change text[];
	ms float8;
BEGIN
	CALL use_trigger(way);
	FOR i IN 0 .. rounds LOOP
		FOREACH change SLICE 1 IN ARRAY ARRAY[['delete splits', 'DELETE FROM t WHERE id = 1000000'], ['insert unites', 'INSERT INTO t VALUES (1000000, 7)'],
			['update splits', 'UPDATE t SET fp = -7 WHERE id = 1000000'], ['update unites', 'UPDATE t SET fp = 7 WHERE id = 1000000']] LOOP
			ms := milliseconds_of(change[2]);
			COMMIT;
			IF i > 0 THEN
				INSERT INTO measured VALUES (part, change[1], way, n, ms);
			END IF;
		END LOOP;
		IF (SELECT count(DISTINCT cluster_id) FROM t_cluster WHERE key < 5000000) <> 1 THEN
			RAISE EXCEPTION 'the clusters of % rows are wrong', n;
		END IF;
	END LOOP;
END $$;

-- ---- loads --------------------------------------------------------------------------------------------------------

-- 100,000 rows to load, of which so many percent are within 3 bits of another one of them, or of a stored row.
CREATE TABLE load (id bigint, fp bigint, share int);
CREATE PROCEDURE make_load(share int) LANGUAGE sql AS $$
	INSERT INTO load SELECT 8000000 + i, CASE WHEN i % 100 < share
		THEN stranger(CASE i % 2 WHEN 0 THEN 8000000 + i - share ELSE (i * 7919) % 1000000 END) # (1::bigint << i % 64)
		ELSE stranger(8000000 + i) END, share
	FROM generate_series(1, 100000) i
$$;

CREATE PROCEDURE store_rows(n int) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS t, t_cluster;
	CREATE TABLE t (id bigint PRIMARY KEY, fp bigint, dup bigint, flag boolean);
	CREATE TABLE t_cluster (key bigint PRIMARY KEY, cluster_id bigint NOT NULL);
	INSERT INTO t SELECT i, stranger(i) FROM generate_series(0, n - 1) i;
	CREATE INDEX ON t USING simhash (fp);
	INSERT INTO t_cluster SELECT key, cluster_id FROM simhash_clusters('t', 'id', 'fp', 3, 'components');
	CREATE INDEX ON t_cluster (cluster_id);
	ANALYZE t, t_cluster;
END $$;

-- A COPY, which is undone, into $n rows. VACUUM is the caller's.
CREATE PROCEDURE copy_load(way text, share int, n int, file text) LANGUAGE plpgsql AS $$
DECLARE
	ms float8;
BEGIN
	CALL use_trigger(way);
	ms := milliseconds_of(format('COPY t (id, fp) FROM %L', file));
	ROLLBACK;
	INSERT INTO measured VALUES ('loads, ' || share || ' % duplicates', 'COPY', way, n, ms);
END $$;

-- 10,000 of these rows, each by a statement and a transaction of its own, which are deleted again.
CREATE PROCEDURE insert_load(way text, share_ int, n int) LANGUAGE plpgsql AS $$
DECLARE
	ms float8 := 0;
BEGIN
	CALL use_trigger(way);
	FOR i IN 1 .. 10000 LOOP
		ms := ms + milliseconds_of(format('INSERT INTO t (id, fp) VALUES (%s, %s)', 8000000 + i,
			(SELECT fp FROM load WHERE id = 8000000 + i AND share = share_)));
		COMMIT;
	END LOOP;
	INSERT INTO measured VALUES ('loads, ' || share_ || ' % duplicates', 'INSERT, ten times 10,000', way, n, 10 * ms);
	CALL use_trigger('none');
	DELETE FROM t_cluster WHERE key > 8000000 OR cluster_id > 8000000;
	DELETE FROM t WHERE id > 8000000;
END $$;
