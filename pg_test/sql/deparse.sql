-- What the server prints of clauses that the planner has put in the place of others, and of definitions, is SQL that means
-- the same, with nothing on the search path: postgres_fdw sends clauses in this way, pg_dump definitions.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA deparse;
SET search_path = '';
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET enable_material = off;
SET enable_memoize = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

-- Uniform rows, clusters, equal rows, none.
CREATE TABLE deparse.t (id int, grp int, tenant text, fp bigint, plain bigint, d16 smallint);
INSERT INTO deparse.t SELECT i, i % 7, 'tenant ' || i % 3,
    CASE WHEN i % 50 = 0 THEN NULL WHEN i % 10 = 0 THEN 42 WHEN i % 3 = 0 THEN pg_catalog.hashint8extended(i, 1)
        ELSE pg_catalog.hashint8extended(i % 40, 2) # (1::bigint << (i % 61)) # (1::bigint << (i % 47)) # (i % 4) END, i, i % 5
FROM pg_catalog.generate_series(1, 1200) i;
UPDATE deparse.t SET fp = 42 # (7::bigint << (id % 60)) WHERE id % 11 = 0;
CREATE INDEX t_fp ON deparse.t USING simhash (fp);
CREATE INDEX t_tenant ON deparse.t USING simhash (tenant, (fp # 0));
CREATE INDEX t_expression ON deparse.t USING simhash ((fp # 5));
CREATE INDEX t_partial ON deparse.t USING simhash ((fp # 6)) WHERE fp OPERATOR(public.<~>) 0 <= 40;
CREATE TABLE deparse.few AS SELECT id, grp, fp FROM deparse.t WHERE id % 60 = 11;
CREATE TABLE deparse.part (id int, grp int, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE deparse.part1 PARTITION OF deparse.part FOR VALUES FROM (0) TO (500);
CREATE TABLE deparse.part2 (fp bigint, grp int, id int);
ALTER TABLE deparse.part ATTACH PARTITION deparse.part2 FOR VALUES FROM (500) TO (2000);
INSERT INTO deparse.part SELECT id, grp, fp FROM deparse.t;
CREATE INDEX part1_fp ON deparse.part1 USING simhash (fp);
VACUUM ANALYZE deparse.t, deparse.few, deparse.part;

-- The scans and conditions of a plan. What a bitmap scan checks again holds what its index scans ask.
CREATE FUNCTION deparse.read_plan(plan jsonb, tables INOUT text[], conditions INOUT text[]) LANGUAGE plpgsql AS $$
DECLARE
    part text;
    child jsonb;
BEGIN
    IF plan ? 'Relation Name' THEN
        tables := tables || pg_catalog.format('%I.%I AS %I', plan->>'Schema', plan->>'Relation Name', plan->>'Alias');
    END IF;
    FOREACH part IN ARRAY '{Filter,Join Filter,Index Cond,Recheck Cond,One-Time Filter}'::text[] LOOP
        IF plan ? part THEN
            conditions := conditions || (plan->>part);
        END IF;
    END LOOP;
    IF plan->>'Node Type' <> 'Bitmap Heap Scan' THEN
        FOR child IN SELECT * FROM pg_catalog.jsonb_array_elements(plan->'Plans') LOOP
            SELECT * FROM deparse.read_plan(child, tables, conditions) INTO tables, conditions;
        END LOOP;
    END IF;
END $$;

-- The plan as a query of the same rows, one branch for each member of an Append.
CREATE FUNCTION deparse.as_sql(plan jsonb, columns text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    tables text[] := '{}';
    conditions text[] := '{}';
BEGIN
    IF plan->>'Node Type' = 'Append' THEN
        RETURN (SELECT pg_catalog.string_agg(deparse.as_sql(member, columns), ' UNION ALL ')
            FROM pg_catalog.jsonb_array_elements(plan->'Plans') member);
    END IF;
    SELECT * FROM deparse.read_plan(plan, tables, conditions) INTO tables, conditions;
    IF tables = '{}' THEN
        RETURN pg_catalog.format('SELECT %s FROM deparse.t, deparse.few LIMIT 0', CASE columns WHEN 'id' THEN 't.id' ELSE columns END);
    END IF;
    RETURN pg_catalog.format('SELECT %s FROM %s WHERE %s', columns, pg_catalog.array_to_string(tables, ', '),
        pg_catalog.array_to_string(conditions || '{true}'::text[], ' AND '));
END $$;

CREATE FUNCTION deparse.rows_of(query text, OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT pg_catalog.string_agg(x::text, '' '' ORDER BY x::text) FROM (' || query || ') x' INTO answer;
END $$;

-- $d stands for the distance of fp, $q for its centre, $k for a radius: constants, or parameters of a generic plan.
CREATE TABLE deparse.form (number int GENERATED ALWAYS AS IDENTITY, source text, columns text DEFAULT 'id', condition text);
INSERT INTO deparse.form (source, condition) SELECT source, condition FROM pg_catalog.unnest('{deparse.t,deparse.part}'::text[]) source,
    pg_catalog.unnest(ARRAY[
    '$d <= $k', '$d < $k', '$d = $k', '$k >= $d', '$k > $d', '$k = $d', '$d BETWEEN 1 AND $k',
    '$d BETWEEN SYMMETRIC $k AND 1', 'NOT ($d > $k)',
    'NOT ($d > $k OR grp = 1)', 'NOT ($d >= $k OR grp = 1)', 'public.hamming(fp, $q) <= $k', 'public.hamming($q, fp) < $k',
    'public.hamming_within($q, fp, $k)',
    'fp OPERATOR(public.~=) $q', 'fp OPERATOR(public.<@) public.hamming_ball($q, $k)', '$d > $k', '$d <> $k',
    '$d <= $k::smallint', '$d < $k::bigint',
    '$d < $k::smallint', '$k::bigint >= $d', '$d < (-2147483648)', '$d < (-9223372036854775808)::bigint',
    '9223372036854775807 >= $d', '$d <= NULL::int',
    '$d <= $k AND grp = 1', '$d <= $k OR fp OPERATOR(public.<~>) 43 < 2',
    '($d = $k AND grp = 1) OR 2 >= fp OPERATOR(public.<~>) 43', '$d <= $k AND $d > 0',
    '$d <= grp', '$d < grp + 1', '($d <= $k) IS TRUE', 'CASE WHEN $d <= $k THEN grp = 1 END', '$d IN (0, 1, $k)', '$d <= 3.5', 'fp = 42',
    'fp IS NOT NULL AND $d <= $k']) condition;
INSERT INTO deparse.form (source, condition) SELECT 'deparse.t', condition FROM pg_catalog.unnest(ARRAY[
    'fp OPERATOR(public.<~>) plain <= $k', '$d <= d16', 'fp OPERATOR(public.<~>) pg_catalog.hashint8extended(1, 2) <= $k',
    'tenant = ''tenant 1'' AND (fp # 0) OPERATOR(public.<~>) $q <= $k',
    'tenant IN (''tenant 1'', ''tenant 2'') AND $k > (fp # 0) OPERATOR(public.<~>) $q',
    'tenant = ANY (ARRAY[''tenant 1'', NULL]) AND (fp # 0) OPERATOR(public.~=) $q',
    'tenant IS NULL AND (fp # 0) OPERATOR(public.<~>) $q <= $k',
    '(fp # 5) OPERATOR(public.<~>) $q <= $k', '$k > $q OPERATOR(public.<~>) (fp # 5)', 'public.hamming((fp # 5), $q) = $k',
    'fp OPERATOR(public.<~>) 0 <= 40 AND (fp # 6) OPERATOR(public.<~>) $q <= $k',
    'fp OPERATOR(public.<~>) 0 <= 39 AND (fp # 6) OPERATOR(public.<~>) $q < $k']) condition;
INSERT INTO deparse.form (source, columns, condition) SELECT 'deparse.few, deparse.t', 'few.id, t.id', condition
FROM pg_catalog.unnest(ARRAY[
    't.fp OPERATOR(public.<~>) few.fp <= $k', '$k > few.fp OPERATOR(public.<~>) t.fp', 't.fp OPERATOR(public.<~>) few.fp = $k',
    't.fp OPERATOR(public.<~>) few.fp <= few.grp',
    't.fp OPERATOR(public.<~>) few.fp < few.grp AND t.grp = few.grp', 'public.hamming(t.fp, few.fp) <= $k AND t.id < few.id',
    't.fp OPERATOR(public.~=) few.fp',
    't.fp OPERATOR(public.<@) public.hamming_ball(few.fp, $k)', '(t.fp # 5) OPERATOR(public.<~>) few.fp <= $k',
    'NOT (t.fp OPERATOR(public.<~>) few.fp >= $k)',
    't.tenant = ''tenant '' || few.grp AND (t.fp # 0) OPERATOR(public.<~>) few.fp <= $k']) condition;

CREATE FUNCTION deparse.explained(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) ' || query INTO plan;
    RETURN plan::jsonb->0->'Plan';
END $$;

-- What a plan prints of each form, run as SQL, next to the form itself. One row for each difference; the last row counts.
CREATE FUNCTION deparse.round_trips(kinds text) RETURNS TABLE (form text, printed text) LANGUAGE plpgsql AS $$
DECLARE
    f deparse.form;
    query text;
    want text;
    has_rows int := 0;
    forms int := 0;
    rewritten int := 0;
    plan jsonb;
BEGIN
    FOR f IN SELECT * FROM deparse.form ORDER BY number LOOP
        query := pg_catalog.replace(pg_catalog.format('SELECT %s FROM %s WHERE %s', f.columns, f.source, f.condition), '$d',
            'fp OPERATOR(public.<~>) $q');
        form := pg_catalog.replace(pg_catalog.replace(query, '$q', '42'), '$k', '3');
        want := deparse.rows_of(form);
        IF kinds = 'generic' THEN
            EXECUTE 'PREPARE p (bigint, int) AS ' || pg_catalog.replace(pg_catalog.replace(query, '$q', '$1'), '$k', '$2');
            plan := deparse.explained('EXECUTE p (42, 3)');
            DEALLOCATE p;
        ELSE
            plan := deparse.explained(form);
        END IF;
        printed := pg_catalog.replace(pg_catalog.replace(deparse.as_sql(plan, f.columns), '$1', '(42::bigint)'), '$2', '(3::int)');
        forms := forms + 1;
        rewritten := rewritten + (printed ~ 'hamming_(ball|within)')::int;
        has_rows := has_rows + (want IS NOT NULL)::int;
        IF deparse.rows_of(printed) IS DISTINCT FROM want THEN
            RETURN NEXT;
        END IF;
    END LOOP;
    form := pg_catalog.format('%s forms, %s with rows', forms, has_rows);
    printed := CASE WHEN rewritten >= 0.5 * forms THEN 'most are printed as the planner wrote them'
        ELSE pg_catalog.format('%s were rewritten', rewritten) END;
    RETURN NEXT;
END $$;

SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT * FROM deparse.round_trips('index scans');
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT * FROM deparse.round_trips('bitmap scans');
SET enable_bitmapscan = off;
SET enable_seqscan = on;
SELECT * FROM deparse.round_trips('sequential scans');
RESET enable_bitmapscan;
RESET enable_indexscan;
SET plan_cache_mode = force_generic_plan;
SELECT * FROM deparse.round_trips('generic');
SET enable_seqscan = off;
SELECT * FROM deparse.round_trips('generic');
RESET plan_cache_mode;


-- The order of an index scan.
SELECT printed, deparse.rows_of(pg_catalog.format('SELECT d FROM (SELECT %s AS d FROM deparse.t ORDER BY 1 LIMIT 200) y', printed))
    = deparse.rows_of('SELECT d FROM (SELECT fp OPERATOR(public.<~>) 42 AS d FROM deparse.t ORDER BY 1 LIMIT 200) y') AS same
FROM (SELECT deparse.explained('SELECT id FROM deparse.t
	ORDER BY fp OPERATOR(public.<~>) 42 LIMIT 200')->'Plans'->0->>'Order By') x (printed);
RESET enable_seqscan;

-- ---- definitions -------------------------------------------------------------------------------------------------------

-- Each object is dropped and made again from what the server prints of it, which then prints the same.
CREATE TABLE deparse.note (id int PRIMARY KEY, tenant int, source text, body text,
    fp bigint GENERATED ALWAYS AS (public.simhash64(body, preset => 'shingles')) STORED,
    dup int, CONSTRAINT known CHECK (body IS NULL OR public.simhash64(body) OPERATOR(public.<~>) 0 > 1));
CREATE TABLE deparse.note_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE OPERATOR CLASS deparse.own_scope FOR TYPE int USING simhash AS OPERATOR 4 = (int, int), FUNCTION 1 pg_catalog.hashint4(int);
CREATE TABLE deparse.made (kind text, name text, statement text, undo text);
CREATE VIEW deparse.objects AS
    SELECT 'index' AS kind, c.relname AS name, pg_catalog.pg_get_indexdef(c.oid) AS statement,
        pg_catalog.format('DROP INDEX deparse.%I', c.relname) AS undo
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid JOIN pg_catalog.pg_am a ON a.oid = c.relam
    WHERE c.relnamespace = 'deparse'::regnamespace AND a.amname = 'simhash' AND i.indrelid = 'deparse.note'::regclass
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint WHERE conindid = c.oid)
    UNION ALL SELECT 'constraint', conname, pg_catalog.format('ALTER TABLE deparse.note ADD CONSTRAINT %I %s', conname,
        pg_catalog.pg_get_constraintdef(oid)),
        pg_catalog.format('ALTER TABLE deparse.note DROP CONSTRAINT %I', conname)
    FROM pg_catalog.pg_constraint WHERE conrelid = 'deparse.note'::regclass AND contype IN ('x', 'c')
    UNION ALL SELECT 'trigger', tgname, pg_catalog.pg_get_triggerdef(oid), pg_catalog.format('DROP TRIGGER %I ON deparse.note', tgname)
    FROM pg_catalog.pg_trigger WHERE tgrelid = 'deparse.note'::regclass AND NOT tgisinternal
    UNION ALL SELECT 'view', c.relname, pg_catalog.format('CREATE VIEW deparse.%I AS %s', c.relname, pg_catalog.pg_get_viewdef(c.oid)),
        pg_catalog.format('DROP VIEW deparse.%I', c.relname)
    FROM pg_catalog.pg_class c WHERE relnamespace = 'deparse'::regnamespace AND relname LIKE 'v\_%'
    UNION ALL SELECT 'statistics', stxname, pg_catalog.pg_get_statisticsobjdef(oid),
        pg_catalog.format('DROP STATISTICS deparse.%I', stxname)
    FROM pg_catalog.pg_statistic_ext WHERE stxnamespace = 'deparse'::regnamespace
    UNION ALL SELECT 'policy', polname, pg_catalog.format('CREATE POLICY %I ON deparse.note USING (%s)', polname,
        pg_catalog.pg_get_expr(polqual, polrelid)),
        pg_catalog.format('DROP POLICY %I ON deparse.note', polname)
    FROM pg_catalog.pg_policy WHERE polrelid = 'deparse.note'::regclass
    UNION ALL SELECT 'partition key', relname, pg_catalog.format('CREATE TABLE deparse.%I (id int, fp bigint) PARTITION BY %s', relname,
        pg_catalog.pg_get_partkeydef(oid)),
        pg_catalog.format('DROP TABLE deparse.%I', relname)
    FROM pg_catalog.pg_class WHERE relnamespace = 'deparse'::regnamespace AND relname = 'by_distance';

INSERT INTO deparse.note (id, tenant, source, body) VALUES (1, 1, 'mail', 'the lamp in front of number 12 is dark'),
    (2, 2, 'mail', 'the lamp in front of number 12 is dark'), (3, 3, NULL, NULL);
CREATE INDEX i_plain ON deparse.note USING simhash (fp);
CREATE INDEX i_scopes ON deparse.note USING simhash (tenant, pg_catalog.lower(source) COLLATE "C", fp) WITH (fillfactor = 70);
CREATE INDEX i_class ON deparse.note USING simhash (tenant deparse.own_scope, fp) WHERE dup IS NULL;
CREATE INDEX i_expression ON deparse.note USING simhash (public.simhash64(body, '{"hash": "xxh3"}'));
CREATE INDEX i_row ON deparse.note USING simhash (public.simhash64(ROW(source, body), '{"f1": 1, "f2": 3}'));
CREATE INDEX i_near ON deparse.note USING simhash (fp) WHERE fp OPERATOR(public.<~>) 42 <= 10 AND NOT fp OPERATOR(public.~=) 42;
CREATE INDEX i_ball ON deparse.note USING simhash (fp)
WHERE fp OPERATOR(public.<@) '(42,3)'::public.hamming_ball OR public.hamming_within(fp, 7, 3);
ALTER TABLE deparse.note ADD CONSTRAINT x_tenant EXCLUDE USING simhash (tenant WITH =, fp WITH OPERATOR(public.~=));
ALTER TABLE deparse.note ADD CONSTRAINT x_scopes EXCLUDE USING simhash (tenant deparse.own_scope WITH =, source WITH =,
    (fp # 1) WITH OPERATOR(public.~=))
    WITH (fillfactor = 80) WHERE (dup IS NULL) DEFERRABLE INITIALLY DEFERRED;
CREATE TRIGGER a_flag BEFORE INSERT OR UPDATE OF fp, tenant ON deparse.note FOR EACH ROW WHEN (public.hamming(new.id, 0) > 0)
    EXECUTE FUNCTION public.simhash_flag_duplicate('fingerprint=fp', 'key=id', 'duplicate_of=dup', 'radius=2', 'within=tenant');
CREATE TRIGGER b_new AFTER INSERT OR DELETE OR UPDATE ON deparse.note FOR EACH ROW
    EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=deparse.note_cluster', 'key=id', 'fingerprint=fp',
        'radius=3', 'within=tenant');
CREATE VIEW deparse.v_near AS SELECT a.id AS a, b.id AS b, a.fp OPERATOR(public.<~>) b.fp AS distance FROM deparse.note a
JOIN deparse.note b ON a.fp OPERATOR(public.<~>) b.fp <= 3
    WHERE public.hamming(a.fp, 42) > 1 AND b.fp OPERATOR(public.<@) public.hamming_ball(7, 64);
CREATE VIEW deparse.v_nearest AS SELECT id, public.simhash64(n, '{"body": 2, "source": 1}') AS row_print FROM deparse.note n
ORDER BY fp OPERATOR(public.<~>) 42 LIMIT 2;
CREATE VIEW deparse.v_pairs AS SELECT a, b, c.cluster_id FROM public.simhash_pairs('deparse.note', 'id', 'fp', 8, within => '{source}')
JOIN public.simhash_clusters('deparse.note', 'id', 'fp', 64, text => 'body') c ON c.key = a;
CREATE STATISTICS deparse.s_distance ON (fp OPERATOR(public.<~>) 42), tenant FROM deparse.note;
CREATE POLICY p_near ON deparse.note USING (fp OPERATOR(public.<~>) 42 <= 64);
CREATE TABLE deparse.by_distance (id int, fp bigint) PARTITION BY RANGE ((fp OPERATOR(public.<~>) 0), public.hamming(fp, 7));

CREATE FUNCTION deparse.contents() RETURNS TABLE (name text, contents text) LANGUAGE sql AS $$
    SELECT view, deparse.rows_of('TABLE deparse.' || view) FROM pg_catalog.unnest('{v_near,v_nearest,v_pairs}'::text[]) view
$$;
CREATE TABLE deparse.held AS SELECT * FROM deparse.contents();
SELECT name, contents IS NOT NULL AS has_rows FROM deparse.held;
INSERT INTO deparse.made SELECT * FROM deparse.objects;
SELECT kind, pg_catalog.count(*) FROM deparse.made GROUP BY kind ORDER BY kind;
SELECT statement FROM deparse.made WHERE kind IN ('index', 'constraint', 'trigger') ORDER BY kind, name;
DO $$
DECLARE
    m deparse.made;
BEGIN
    FOR m IN SELECT * FROM deparse.made LOOP
        EXECUTE m.undo;
        EXECUTE m.statement;
    END LOOP;
END $$;
SELECT 'printed before' AS which, * FROM (TABLE deparse.made EXCEPT TABLE deparse.objects) x UNION ALL SELECT 'printed after', *
FROM (TABLE deparse.objects EXCEPT TABLE deparse.made) x;
SELECT name, h.contents = c.contents AS same FROM deparse.held h JOIN deparse.contents() c USING (name);
SELECT * FROM public.simhash_index_verify('deparse.i_scopes', true);

RESET search_path;
DROP SCHEMA deparse CASCADE;
