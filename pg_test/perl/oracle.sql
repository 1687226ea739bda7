-- The oracle of the tests: what an index over tab.fp answers against what reading every row gives.
-- The tables (or views) under test have the columns (id bigint, fp bigint). The oracle uses bit_count() and #
-- of the server, so neither the extension's distance nor its index takes part in it.
-- A table may have a second index whose fingerprint stands behind scopes: scope_faults() asks it what its own columns
-- and expressions are. Where both are to be asked, the second one has (fp # 0), so a condition fits one of them.

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

-- The hash of a scope is the number itself: tenants that are near each other are filed so.
CREATE OPERATOR CLASS as_numbered FOR TYPE int USING simhash AS
	OPERATOR 4 = (int, int),
	FUNCTION 1 int4up(int);

-- Half of the rows have one tenant, a quarter share 300 that are near each other, a sixth has nearly one each, others
-- none. The last number has the hash of NULL (crates/base/src/indexed_row.rs): two scopes that only the executor tells apart.
CREATE FUNCTION any_tenant() RETURNS int LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN x < 0.5 THEN 1 WHEN x < 0.75 THEN 1000 + floor(random() * 300)::int
		WHEN x < 0.92 THEN hashint8(floor(random() * 1e9)::bigint)
		WHEN x < 0.97 THEN NULL ELSE 1370164237 END FROM (SELECT random()) r (x)
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
		set_config('enable_indexonlyscan', 'off', true),
		-- A setting that is off makes a plan look expensive: compiling it would take longer than running it.
		set_config('jit', 'off', true);
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

-- The valid indexes of a table (not partial ones) that have scopes, of integers, before the fingerprint.
CREATE FUNCTION scoped_indexes(tab regclass) RETURNS SETOF regclass LANGUAGE sql AS $$
	SELECT indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
	WHERE indrelid = tab AND amname = 'simhash' AND indnkeyatts > 1 AND indisvalid AND indpred IS NULL AND relkind = 'i'
$$;

-- Conditions on the columns before the fingerprint, made of rows of the table: all columns pinned, by `=` or IS NULL;
-- lists of values, one of them of no row and one NULL; the first column alone; and none.
CREATE FUNCTION scope_conditions(tab regclass, index regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	last int := (SELECT indnkeyatts FROM pg_index WHERE indexrelid = index);
	name text;
	seed bigint := random_fp();
	drawn bigint[];
	pins text[];
	lists text[];
BEGIN
	FOR i IN 1 .. last - 1 LOOP
		name := pg_get_indexdef(index, i, true);
		-- One row for all columns: rows drawn apart would seldom have a scope in common.
		EXECUTE format('SELECT array_agg(v) || ARRAY[NULL, -5]::int[] FROM
			(SELECT %s AS v FROM %s ORDER BY hashint8extended(id, $1) LIMIT 4) x', name, tab) INTO drawn USING seed;
		pins := pins || CASE WHEN drawn[1] IS NULL THEN name || ' IS NULL' ELSE format('%s = %L', name, drawn[1]) END;
		lists := lists || format('%s = ANY (%L)', name, drawn);
	END LOOP;
	RETURN NEXT array_to_string(pins, ' AND ');
	RETURN NEXT array_to_string(lists, ' AND ');
	RETURN NEXT pins[1];
	RETURN NEXT 'true';
END $$;

-- What an index with scopes answers beside one of these conditions, against every row: searches by radius, by lists,
-- for equal fingerprints and for NULL, and the scope alone.
CREATE FUNCTION scope_search_faults(tab regclass, index regclass, condition text, fp text, q bigint, given text)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	answer CONSTANT text := 'count(*) || '' rows '' || coalesce(sum(hashint8extended(id, 0)), 0)';
	near CONSTANT text := format('bit_count((%s # %s)::bit(64))', fp, quote_literal(q) || '::bigint');
	-- How the index is asked, and how the oracle says it.
	asked text[] := '{}';
	meant text[] := '{}';
	want text[];
	got text;
	query text;
	way text;
BEGIN
	FOREACH query IN ARRAY ARRAY['0', '3', '7', '26'] LOOP
		asked := asked || format('%s <~> %L <= %s', fp, q, query);
		meant := meant || format('%s <= %s', near, query);
	END LOOP;
	asked := asked || ARRAY[format('%s = %L', fp, q), format('%s ~= ANY (%L)', fp, ARRAY[q, NULL, q # 4097, q]),
		format('%s IS NULL', fp), format('%s IS NOT NULL', fp), 'true'];
	meant := meant || ARRAY[near || ' = 0', format('(%s <= 3 OR %s <= 3)', near, replace(near, q::text, (q # 4097)::text)),
		fp || ' IS NULL', fp || ' IS NOT NULL', 'true'];
	PERFORM read_by('table');
	SELECT format('SELECT ARRAY[%s] FROM %s WHERE %s', string_agg(format(
			'count(*) FILTER (WHERE %1$s) || '' rows '' || coalesce(sum(hashint8extended(id, 0)) FILTER (WHERE %1$s), 0)', m),
				', '),
		tab, condition) FROM unnest(meant) m INTO query;
	EXECUTE query INTO want;
	FOR i IN 1 .. cardinality(asked) LOOP
		query := format('SELECT %s FROM %s WHERE %s AND %s', answer, tab, condition, asked[i]);
		-- Of lists the executor makes several searches, in bitmap scans alone.
		way := CASE WHEN query LIKE '%= ANY (%' THEN 'bitmap' ELSE given END;
		PERFORM read_by(way);
		IF (condition <> 'true' OR asked[i] <> 'true')
			AND strpos(plan_of(query), CASE way WHEN 'index' THEN 'using ' ELSE 'Bitmap Index Scan on ' END || index) = 0 THEN
			RETURN NEXT format('not by %s: %s', index, query);
		END IF;
		EXECUTE query INTO got;
		IF got IS DISTINCT FROM want[i] THEN
			RETURN NEXT format('%s by %s: %s, oracle %s', query, way, got, want[i]);
		END IF;
	END LOOP;
END $$;

-- The nearest n of q beside such a condition, as nearest_faults(). Where it pins all scopes the index has to order.
CREATE FUNCTION scope_nearest_faults(tab regclass, condition text, fp text, q bigint, n int, radius int DEFAULT 64,
	pinned boolean DEFAULT false)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format(
		'SELECT id, bit_count((%2$s # %3$L)::bit(64))::int AS real, %2$s <~> %3$L AS d FROM %1$s
		WHERE %4$s%5$s ORDER BY %2$s <~> %3$L LIMIT %6$s',
		tab, fp, q, condition, CASE WHEN radius < 64 THEN format(' AND %s <~> %L <= %s', fp, q, radius) END, n);
	got record;
	want int[];
BEGIN
	PERFORM read_by('index');
	PERFORM set_config('enable_sort', (NOT pinned)::text, true);
	IF pinned AND plan_of(query) !~ 'Order By: ' THEN
		RETURN NEXT format('no index orders: %s', query);
	END IF;
	EXECUTE format('SELECT d, real, cardinality(list) AS rows, (SELECT count(DISTINCT i) FROM unnest(list) AS i) AS ids
		FROM (SELECT array_agg(d) AS d, array_agg(real) AS real, array_agg(id) AS list FROM (%s) x) y', query) INTO got;
	PERFORM set_config('enable_sort', 'on', true);
	PERFORM read_by('table');
	EXECUTE format('SELECT array_agg(d) FROM (SELECT bit_count((%s # $1)::bit(64))::int AS d FROM %s WHERE %s) x (d)
		WHERE d <= $2 OR $2 = 64', fp, tab, condition) INTO want USING q, radius;
	want := (SELECT array_agg(d) FROM (SELECT d FROM unnest(want) d ORDER BY d LIMIT n) x);
	IF got.d IS DISTINCT FROM want OR got.real IS DISTINCT FROM got.d OR got.rows <> got.ids THEN
		RETURN NEXT format('%s: %s (real %s, %s rows, %s ids), oracle %s', query, got.d, got.real, got.rows, got.ids, want);
	END IF;
END $$;

-- All of this for the indexes with scopes, around rows of the table and near misses of them, beside n of the conditions.
CREATE FUNCTION scope_faults(tab regclass, n int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	index regclass;
	condition text;
	fp text;
	q bigint;
	i int := floor(random() * 6)::int;
	start int := floor(random() * 4)::int;
	pinned boolean;
BEGIN
	FOR index IN SELECT * FROM scoped_indexes(tab) LOOP
		fp := pg_get_indexdef(index, indnkeyatts, true) FROM pg_index WHERE indexrelid = index;
		PERFORM read_by('table');
		FOR condition, pinned IN SELECT c, place = 1 FROM scope_conditions(tab, index) WITH ORDINALITY s (c, place)
			WHERE (place + start) % 4 < n ORDER BY place LOOP
			i := i + 1;
			EXECUTE format('SELECT %1$s FROM %2$s WHERE %3$s ORDER BY (%1$s) IS NULL, random() LIMIT 1', fp, tab,
				condition) INTO q;
			q := flip(coalesce(q, random_fp()), i % 3);
			RETURN QUERY SELECT * FROM scope_search_faults(tab, index, condition, fp, q,
				CASE i % 2 WHEN 0 THEN 'index' ELSE 'bitmap' END);
			RETURN QUERY SELECT * FROM scope_nearest_faults(tab, condition, fp, q,
				CASE i % 3 WHEN 0 THEN 1000000 ELSE 1 + i * 5 END, 64, pinned);
			RETURN QUERY SELECT * FROM scope_nearest_faults(tab, condition, fp, q, 30, 3 + i % 9, pinned);
			PERFORM read_by('table');
		END LOOP;
	END LOOP;
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
	-- An index with scopes may or may not order the rows of all of them.
	IF plan_of(format('SELECT id FROM %s ORDER BY fp <~> 1 LIMIT 3', tab)) !~ 'Order By: \(.+ <~>'
		AND (SELECT count(*) FROM scoped_indexes(tab) AS scoped WHERE pg_get_indexdef(scoped) ~ ', fp\)') = 0 THEN
		RETURN NEXT format('%s: the nearest rows do not use the index', tab);
	END IF;
	FOREACH q IN ARRAY centres LOOP
		i := i + 1;
		RETURN QUERY SELECT * FROM search_faults(tab, q, CASE i % 2 WHEN 0 THEN 'index' ELSE 'bitmap' END);
		RETURN QUERY SELECT * FROM nearest_faults(tab, q, 1 + i * 3);
		RETURN QUERY SELECT * FROM nearest_faults(tab, q, 20, i % 11);
	END LOOP;
	RETURN QUERY SELECT * FROM null_faults(tab, q);
	RETURN QUERY SELECT * FROM scope_faults(tab, n);
END $$;

-- What the index itself says of its pages.
CREATE FUNCTION broken_invariants(index regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s: block %s offset %s: %s', index, block, "offset", fault)
	FROM simhash_index_verify(index, true)
$$;
