-- The oracle of the tests: what an index over tab.fp answers against what reading every row gives.
-- The tables (or views) under test have the columns (id bigint, fp bigint). The oracle uses bit_count() and #
-- of the server, so neither the extension's distance nor its index takes part in it.

CREATE FUNCTION random_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT (floor(random() * 4294967296)::bigint << 32) | floor(random() * 4294967296)::bigint
$$;

-- n distinct random bits of fp turned over.
CREATE FUNCTION flip(fp bigint, n int) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	mask bigint := 0;
BEGIN
	WHILE bit_count(mask::bit(64)) < n LOOP
		mask := mask | (1::bigint << floor(random() * 64)::int);
	END LOOP;
	RETURN fp # mask;
END $$;

-- A key of 0 .. 65535 with Zipf's distribution, scattered over the key space.
CREATE FUNCTION zipf_key(exponent float8) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT ((CASE WHEN exponent = 1 THEN floor(exp(random() * ln(65536)))
		ELSE floor((random() * (65536 ^ (1 - exponent) - 1) + 1) ^ (1 / (1 - exponent))) END)::bigint
		* 40503) & 65535
$$;

CREATE FUNCTION biased_key(p float8) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT sum((random() < p)::int::bigint << i)::bigint FROM generate_series(0, 15) i WHERE p IS NOT NULL
$$;

-- Skewed as real fingerprints are: a value of block 0 that a fifth of the rows share, Zipf keys,
-- biased bits.
CREATE FUNCTION skewed_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT ((CASE WHEN random() < 0.2 THEN 4711 ELSE zipf_key(0.8) END) << 48)
		| (zipf_key(1) << 32) | (biased_key(0.2) << 16) | biased_key(0.35)
$$;

CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN plan;
END $$;

-- How the queries that follow in this transaction read: 'table', 'index' or 'bitmap'.
CREATE FUNCTION read_by(way text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', CASE way WHEN 'table' THEN 'on' ELSE 'off' END, true),
		set_config('enable_indexscan', CASE way WHEN 'index' THEN 'on' ELSE 'off' END, true),
		set_config('enable_bitmapscan', CASE way WHEN 'bitmap' THEN 'on' ELSE 'off' END, true),
		set_config('enable_indexonlyscan', 'off', true);
END $$;

-- Searches around q, for k = -1 .. 12 and 64: each answer's rows, by number and by a hash of ids.
CREATE FUNCTION search_faults(tab regclass, q bigint, way text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	radii int[] := '{-1,0,1,2,3,4,5,6,7,8,9,10,11,12,64}';
	want text[];
	got text;
BEGIN
	PERFORM read_by('table');
	EXECUTE format('WITH by_distance AS (
			SELECT bit_count((fp # $1)::bit(64)) AS d, count(*) AS n, sum(hashint8extended(id, 0)) AS h
			FROM %s WHERE fp IS NOT NULL GROUP BY 1)
		SELECT array_agg(answer ORDER BY i) FROM (
			SELECT i, coalesce(sum(n), 0) || '' rows '' || coalesce(sum(h), 0) AS answer
			FROM unnest($2) WITH ORDINALITY r (k, i) LEFT JOIN by_distance ON d <= k GROUP BY i) x', tab)
		INTO want USING q, radii;
	PERFORM read_by(way);
	FOR i IN 1 .. cardinality(radii) LOOP
		EXECUTE format('SELECT count(*) || '' rows '' || coalesce(sum(hashint8extended(id, 0)), 0)
			FROM %s WHERE fp <~> $1 <= $2', tab) INTO got USING q, radii[i];
		IF got IS DISTINCT FROM want[i] THEN
			RETURN NEXT format('%s: q %s k %s by %s: %s, oracle %s', tab, q, radii[i], way, got, want[i]);
		END IF;
	END LOOP;
END $$;

-- The nearest n of q, all in all or within a radius: the distances in order, and that each row
-- comes once and has the distance that it was sorted by.
CREATE FUNCTION nearest_faults(tab regclass, q bigint, n int, radius int DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	filter text := CASE WHEN radius IS NULL THEN '' ELSE format('WHERE fp <~> $1 <= %s', radius) END;
	got record;
	want int[];
BEGIN
	PERFORM read_by('index');
	-- Distinct ids are counted outside: next to array_agg that would sort its input (from PostgreSQL 16 on).
	EXECUTE format('SELECT d, real, cardinality(list) AS rows, (SELECT count(DISTINCT i) FROM unnest(list) AS i) AS ids
		FROM (SELECT array_agg(d) AS d, array_agg(bit_count((fp # $1)::bit(64))::int) AS real, array_agg(id) AS list
			FROM (SELECT id, fp, fp <~> $1 AS d FROM %s %s ORDER BY fp <~> $1 LIMIT $2) x) y', tab, filter)
		INTO got USING q, n;
	PERFORM read_by('table');
	EXECUTE format('SELECT array_agg(d) FROM (SELECT bit_count((fp # $1)::bit(64))::int AS d FROM %s
		WHERE $3 IS NULL OR bit_count((fp # $1)::bit(64)) <= $3 ORDER BY d LIMIT $2) x', tab)
		INTO want USING q, n, radius;
	IF got.d IS DISTINCT FROM want OR got.real IS DISTINCT FROM got.d OR got.rows <> got.ids THEN
		RETURN NEXT format('%s: nearest %s of %s within %s: index %s (real %s, %s rows, %s ids), oracle %s',
			tab, n, q, radius, got.d, got.real, got.rows, got.ids, want);
	END IF;
END $$;

-- Rows without a fingerprint: counted through the index, and last in order of distance.
CREATE FUNCTION null_faults(tab regclass, q bigint) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	nulls bigint;
	total bigint;
	got text;
	want text;
BEGIN
	PERFORM read_by('table');
	EXECUTE format('SELECT count(*), sum((coalesce(fp::text, '''') = '''')::int) FROM %s', tab) INTO total, nulls;
	PERFORM read_by('index');
	EXECUTE format('SELECT (SELECT count(*) FROM %1$s WHERE fp IS NULL) || '' '' ||
		(SELECT count(*) FROM %1$s WHERE fp IS NOT NULL)', tab) INTO got;
	want := coalesce(nulls, 0) || ' ' || total - coalesce(nulls, 0);
	IF got IS DISTINCT FROM want THEN
		RETURN NEXT format('%s: null and not null rows: index %s, oracle %s', tab, got, want);
	END IF;
	EXECUTE format('SELECT count(*) || '' '' || count(DISTINCT id) || '' '' ||
			coalesce(min(n) FILTER (WHERE fp IS NULL) > max(n) FILTER (WHERE fp IS NOT NULL), true)
		FROM (SELECT id, fp, row_number() OVER () AS n
			FROM (SELECT id, fp FROM %s ORDER BY fp <~> $1 LIMIT $2) x) y', tab)
		INTO got USING q, total + 10;
	want := total || ' ' || total || ' true';
	IF got IS DISTINCT FROM want THEN
		RETURN NEXT format('%s: whole order of %s (rows, ids, nulls last): index %s, oracle %s', tab, q, got, want);
	END IF;
END $$;

-- Everything of the above around n centres: rows of the table, near misses of rows, random values
-- and the ends of the range. Plain index scans and bitmap scans take turns.
CREATE FUNCTION faults(tab regclass, n int DEFAULT 8) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	centres bigint[];
	i int := 0;
	q bigint;
BEGIN
	PERFORM read_by('table');
	EXECUTE format('SELECT array_agg(fp) FROM (SELECT fp FROM %s WHERE fp IS NOT NULL ORDER BY random() LIMIT $1) x', tab)
		INTO centres USING n;
	centres := coalesce(centres, '{}') || ARRAY[random_fp(), 0, -1]
		|| (SELECT array_agg(flip(c, 1 + floor(random() * 8)::int)) FROM unnest(centres[: n / 2]) c);
	PERFORM read_by('index');
	IF plan_of(format('SELECT id FROM %s WHERE fp <~> 1 <= 3', tab)) !~ 'Index Cond: \(.+ <@' THEN
		RETURN NEXT format('%s: the search does not use the index', tab);
	END IF;
	PERFORM read_by('bitmap');
	IF plan_of(format('SELECT id FROM %s WHERE fp <~> 1 <= 3', tab)) !~ 'Bitmap Index Scan on .*Index Cond: \(.+ <@' THEN
		RETURN NEXT format('%s: the bitmap does not come from the index', tab);
	END IF;
	PERFORM read_by('index');
	IF plan_of(format('SELECT id FROM %s ORDER BY fp <~> 1 LIMIT 3', tab)) !~ 'Order By: \(.+ <~>' THEN
		RETURN NEXT format('%s: the nearest rows do not use the index', tab);
	END IF;
	FOREACH q IN ARRAY centres LOOP
		i := i + 1;
		RETURN QUERY SELECT * FROM search_faults(tab, q, CASE i % 2 WHEN 0 THEN 'index' ELSE 'bitmap' END);
		RETURN QUERY SELECT * FROM nearest_faults(tab, q, 1 + i * 3);
		RETURN QUERY SELECT * FROM nearest_faults(tab, q, 20, i % 11);
	END LOOP;
	RETURN QUERY SELECT * FROM null_faults(tab, q);
END $$;

-- What the index itself says of its pages.
CREATE FUNCTION broken_invariants(index regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s: block %s offset %s: %s', index, block, "offset", fault)
	FROM simhash_index_verify(index, true)
$$;
