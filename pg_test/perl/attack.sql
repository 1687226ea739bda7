-- What the attack (080) draws from, and how it compares an answer with what reading every row gives. The values depend on
-- a number alone, so a seed repeats them. read_by() and plan_of() are in oracle.sql.

CREATE TABLE image_fp (no int PRIMARY KEY, fp bigint);

-- A fingerprint of a kind; one in 33 is NULL.
CREATE FUNCTION drawn_fp(kind text, n bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN c & 2147483647 < 65000000 THEN NULL ELSE CASE kind
		WHEN 'uniform' THEN a
		-- Up to four bits beside one of 50 fingerprints.
		WHEN 'near' THEN hashint8extended(n % 50, 2) # (1::bigint << (a & 63)::int)
			# (CASE WHEN a & 64 = 0 THEN 1::bigint << (b & 63)::int ELSE 0 END) # ((b >> 8) & 3)
		-- Few keys in three of the four blocks: the same leaves fill and split.
		WHEN 'hot' THEN (4711::bigint << 48) | ((a & 3) << 32) | (b & 65535)
		-- As real fingerprints are: one key that a fifth share, keys of a triangular distribution, biased bits.
		WHEN 'skewed' THEN ((CASE WHEN a & 7 < 2 THEN 4711 ELSE ((a >> 8) & 65535) * ((b >> 8) & 65535) >> 16 END) << 48)
			| ((a & b) & 281474976710655)
		WHEN 'equal' THEN CASE WHEN a & 15 < 14 THEN 42 ELSE b END
		WHEN 'real' THEN (SELECT fp # ((b & 3) << (b >> 8 & 31)::int) FROM image_fp WHERE no = (a & 2047)) END END
	FROM (SELECT hashint8extended(n, 11), hashint8extended(n, 12), hashint8extended(n, 13)) h (a, b, c)
$$;

-- A text, of which many are nearly equal.
CREATE FUNCTION drawn_text(n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN a & 31 = 0 THEN NULL ELSE format('the lamp number %s in street %s is dark since week %s', a & 63,
		(a >> 8) & 7, (a >> 16) & 3) END
	FROM (SELECT hashint8extended(n, 14)) h (a)
$$;

-- A number for a scope: half of the rows have one, a quarter share 300 that are near each other, a sixth has nearly one
-- each, others none. The last number has the hash of NULL (crates/base/src/indexed_row.rs).
CREATE FUNCTION drawn_scope(n bigint) RETURNS int LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN a % 100 < 50 THEN 1 WHEN a % 100 < 75 THEN 1000 + (a / 100 % 300)::int WHEN a % 100 < 92 THEN hashint8(n)
		WHEN a % 100 < 97 THEN NULL ELSE 1370164237 END
	FROM (SELECT hashint8extended(n, 15) & 1152921504606846975) h (a)
$$;

-- fp with n of its bits turned over (the same one may be drawn twice), or a number where it is NULL.
CREATE FUNCTION beside(fp bigint, n int, salt bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(fp, hashint8extended(salt, 16)) # coalesce((SELECT bit_or(1::bigint << (hashint8extended(salt + i, 17) & 63)::int)
		FROM generate_series(1, n) i), 0)
$$;

CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE OPERATOR CLASS as_numeric FOR TYPE numeric USING simhash AS
	OPERATOR 4 = (numeric, numeric), FUNCTION 1 hash_numeric(numeric);

-- How many questions were asked, and how many plans had an index of ours.
CREATE SEQUENCE questions;
CREATE SEQUENCE by_index;
CREATE FUNCTION counted(sequence regclass) RETURNS bigint LANGUAGE sql AS $$ SELECT coalesce(pg_sequence_last_value(sequence), 0) $$;

-- The way in which a question is read: as read_by() says, 'any' as the server likes, or 'parallel'.
CREATE FUNCTION read_as(way text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM read_by(CASE way WHEN 'parallel' THEN 'bitmap' WHEN 'any' THEN 'table' ELSE way END);
	IF way = 'any' THEN
		PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true);
	END IF;
	PERFORM set_config(name, CASE WHEN way = 'parallel' THEN 'on' ELSE 'off' END, true)
	FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
	PERFORM set_config(name, CASE WHEN way = 'parallel' THEN '0' ELSE boot_val END, true)
	FROM pg_settings
	WHERE name IN ('parallel_setup_cost', 'parallel_tuple_cost', 'min_parallel_table_scan_size', 'min_parallel_index_scan_size');
END $$;

-- One line for all rows of a query. 'rows': in any order. 'nearest': rows (id, d, real), the distances in order; it says so
-- if they are not the real ones, or a row comes twice. 'distances': the same of rows (d), from the oracle.
CREATE FUNCTION as_line(form text, query text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format(CASE form
		WHEN 'rows' THEN 'SELECT count(*) || '' rows '' || coalesce(sum(hashtextextended(x::text, 0)), 0) FROM (%s) x'
		WHEN 'nearest' THEN 'SELECT concat(d, CASE WHEN d IS DISTINCT FROM real THEN '' really '' || real::text END,
			CASE WHEN cardinality(ids) <> (SELECT count(DISTINCT i) FROM unnest(ids) i) THEN '' a row twice'' END)
			FROM (SELECT array_agg(d) AS d, array_agg(real) AS real, array_agg(id) AS ids FROM (%s) x) y'
		WHEN 'distances' THEN 'SELECT concat(array_agg(d)) FROM (%s) x' END, query)
$$;

-- The answer of a query with parameters, in a mode: 'literal', 'custom' and 'generic' plans, 'subquery' (each parameter is a
-- query, known when the plan runs), 'cursor' (rows one by one, with updates between), 'six' (the plan turns generic).
CREATE FUNCTION answered(tab text, form text, query text, args text[], types text[], mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text := as_line(form, query);
	got text;
	again text;
	c refcursor;
	r record;
	n int := 0;
	h numeric := 0;
BEGIN
	IF mode IN ('custom', 'generic', 'six') THEN
		PERFORM set_config('plan_cache_mode', CASE mode WHEN 'six' THEN 'auto' ELSE 'force_' || mode || '_plan' END, true);
		-- An error that is caught leaves it behind.
		IF EXISTS (SELECT FROM pg_prepared_statements WHERE name = 'asked') THEN
			DEALLOCATE asked;
		END IF;
		EXECUTE concat('PREPARE asked ', '(' || nullif(array_to_string(types, ', '), '') || ')', ' AS ', line);
		FOR i IN 1 .. CASE mode WHEN 'six' THEN 7 ELSE 1 END LOOP
			EXECUTE concat('EXECUTE asked ', '(' || nullif(array_to_string(args, ', '), '') || ')') INTO again;
			IF got <> again THEN
				RETURN got || ', then ' || again;
			END IF;
			got := again;
		END LOOP;
		DEALLOCATE asked;
		RETURN got;
	END IF;
	FOR i IN REVERSE cardinality(args) .. 1 LOOP
		line := replace(line, '$' || i, CASE mode WHEN 'subquery' THEN format('(SELECT %s)::%s', args[i], types[i]) ELSE args[i] END);
		query := replace(query, '$' || i, args[i]);
	END LOOP;
	IF mode = 'cursor' AND form = 'rows' THEN
		OPEN c FOR EXECUTE query;
		LOOP
			FETCH c INTO r;
			EXIT WHEN NOT FOUND;
			n := n + 1;
			h := h + hashtextextended(r::text, 0);
			-- The cursor does not see these.
			IF n = 3 AND tab IS NOT NULL THEN
				EXECUTE format('UPDATE %s SET note = ''under a cursor'' WHERE id %% 40 = 7', tab);
			END IF;
		END LOOP;
		CLOSE c;
		RETURN n || ' rows ' || h;
	END IF;
	EXECUTE line INTO got;
	RETURN got;
END $$;

-- Rows of a table that wrong answers had, or lacked.
CREATE TABLE wrong_row (tab text, tid tid);
CREATE FUNCTION note_wrong_rows(asked text, meant text, way text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	tab text := substring(asked FROM '^SELECT id FROM (\w+) ');
	got bigint[];
	want bigint[];
BEGIN
	PERFORM read_as(way);
	EXECUTE format('SELECT array_agg(id) FROM (%s) x', asked) INTO got;
	PERFORM read_as('table');
	EXECUTE format('SELECT array_agg(id) FROM (%s) x', meant) INTO want;
	EXECUTE format('INSERT INTO wrong_row SELECT %L, ctid FROM %s WHERE id IN
		((SELECT unnest($1) EXCEPT SELECT unnest($2)) UNION (SELECT unnest($2) EXCEPT SELECT unnest($1)))', tab, tab) USING got, want;
END $$;

-- Asks a question in one way and one mode, and answers it by reading every row. Returns NULL when both agree, or what was
-- asked and said. The arguments are expressions. With may_fail an error is returned, as 'error SQLSTATE message'.
-- Run it under one snapshot when others write.
CREATE FUNCTION differs(tab text, form text, asked text, meant text, args text[], types text[], way text, mode text,
	may_fail boolean DEFAULT false)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	want text;
	got text;
	value text;
BEGIN
	PERFORM read_by('table');
	FOR i IN 1 .. cardinality(args) LOOP
		EXECUTE format('SELECT (%s)::text', args[i]) INTO value;
		args[i] := format('%L::%s', value, types[i]);
		meant := replace(meant, '$' || i, args[i]);
	END LOOP;
	EXECUTE as_line(CASE form WHEN 'nearest' THEN 'distances' ELSE form END, meant) INTO want;
	PERFORM read_as(way), nextval('questions');
	BEGIN
		got := answered(tab, form, asked, args, types, mode);
		FOR i IN 1 .. cardinality(args) LOOP
			asked := replace(asked, '$' || i, args[i]);
		END LOOP;
		IF plan_of(asked) ~ ('Index Scan (using|on) (' || (SELECT string_agg(relname, '|') FROM pg_class JOIN pg_am a ON a.oid = relam
			WHERE amname = 'simhash') || ')') THEN
			PERFORM nextval('by_index');
		END IF;
		IF may_fail AND got IS DISTINCT FROM want AND asked LIKE 'SELECT id FROM %' THEN
			PERFORM note_wrong_rows(asked, meant, way);
		END IF;
	EXCEPTION WHEN OTHERS THEN
		IF may_fail THEN
			RETURN format('error %s %s', SQLSTATE, SQLERRM);
		END IF;
		RAISE;
	END;
	PERFORM read_as('table');
	-- Whatever the snapshot, a partition that another session attaches or detaches meanwhile counts from then on.
	IF got IS DISTINCT FROM want THEN
		EXECUTE as_line(CASE form WHEN 'nearest' THEN 'distances' ELSE form END, meant) INTO want;
	END IF;
	RETURN CASE WHEN got IS DISTINCT FROM want THEN format('differs: %s, by %s, %s: %s, oracle %s', asked, way, mode, got, want) END;
END $$;
