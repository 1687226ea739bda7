-- Many sessions that write: the table they write into, and written, which has a line for each measurement. See ../README.md.
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;

-- One load under one way in one round. What is in milliseconds is the time of one transaction; rows_s are committed rows.
CREATE TABLE written (sync text, round int, load_no int, load text, way text, rows_s float8, done bigint, deadlocks bigint,
	other_errors bigint, median_ms float8, p95_ms float8, max_ms float8, copy_s float8, shared_kb_before bigint, shared_kb_peak bigint, locks_peak bigint);

-- Text k: 200 letters and blanks, which look like words of seven letters and come from digests of k. Two of them have no more
-- in common than chance gives.
CREATE FUNCTION text_of(k bigint) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
	SELECT substr(translate(encode(sha512(int8send(k)) || sha512(int8send(k) || '\x01'), 'hex'), '0123456789abcdef', 'etaoinshr  dlcum'), 1, 200)
$$;

-- The table, filled with $n texts of $tenants tenants in turn, and its trigger or constraint. The index is the same under all ways
-- and is built after the rows are there.
CREATE PROCEDURE store_texts(way text, tenants int, n int) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS w;
	CREATE TABLE w (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant_id int NOT NULL, body text NOT NULL,
		fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED, is_duplicate boolean,
		key text GENERATED ALWAYS AS (left(body, 100)) STORED, seen int NOT NULL DEFAULT 1);
	INSERT INTO w (tenant_id, body) SELECT 1 + i % tenants, text_of(-i) FROM generate_series(1, n) i;
	IF way = 'constraint' THEN
		ALTER TABLE w ADD EXCLUDE USING simhash (tenant_id WITH =, fp WITH ~=);
	ELSE
		CREATE INDEX ON w USING simhash (tenant_id, fp);
	END IF;
	IF way = 'upsert by key' THEN
		ALTER TABLE w ADD UNIQUE (tenant_id, key);
	ELSIF way = 'upsert by id' THEN
		CREATE TRIGGER once BEFORE INSERT ON w FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(
			'fingerprint=fp', 'mode=conflict', 'within=tenant_id', 'text=body', 'radius=8');
	ELSIF way LIKE 'radius %' THEN
		EXECUTE format('CREATE TRIGGER flags BEFORE INSERT OR UPDATE ON w FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('
			'''fingerprint=fp'', ''flag=is_duplicate'', ''within=tenant_id'', ''text=body'', %L)', replace(way, ' ', '='));
	END IF;
END $$;

-- Waits until the sessions that have written are gone, and says how many rows they left.
CREATE FUNCTION rows_left() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		PERFORM pg_stat_clear_snapshot();
		EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'pgbench');
		PERFORM pg_sleep(0.1);
	END LOOP;
	RETURN (SELECT count(*) FROM w);
END $$;

-- The middle one, or the mean of the two in the middle; NULL counts for nothing.
CREATE FUNCTION middle(v float8[]) RETURNS numeric LANGUAGE sql AS $$
	SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x)::numeric FROM unnest(v) x
$$;
CREATE AGGREGATE median(float8) (SFUNC = array_append, STYPE = float8[], FINALFUNC = middle, INITCOND = '{}');
