-- Random queries, each asked twice: once so that the planner may make an index condition of the
-- distance, once with the distance hidden from it behind '+ 0'. The answers must be equal.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA planner_fuzz;
SET search_path = planner_fuzz, public;
SET enable_seqscan = off;
SET jit = off;

-- Clusters of near-copies of 60 centres, lone rows, rows without a fingerprint.
CREATE TABLE f (id int PRIMARY KEY, g int, fp bigint);
INSERT INTO f SELECT i, i % 5,
    CASE WHEN i % 50 = 0 THEN NULL
         WHEN i % 10 = 0 THEN hashint8extended(i, 7)
         ELSE hashint8extended(i % 60, 1) # (1::bigint << (i % 61)) # (1::bigint << (i % 47)) # (i % 4) END
    FROM generate_series(1, 1500) i;
CREATE INDEX f_fp ON f USING simhash (fp);
CREATE TABLE parts (id int, g int, fp bigint) PARTITION BY LIST (g);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES IN (0, 1);
CREATE TABLE parts2 PARTITION OF parts FOR VALUES IN (2) PARTITION BY RANGE (id);
CREATE TABLE parts2a PARTITION OF parts2 FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_rest (fp bigint, id int, g int);
ALTER TABLE parts ATTACH PARTITION parts_rest DEFAULT;
INSERT INTO parts SELECT * FROM f WHERE id < 1000;
CREATE INDEX parts_fp ON parts USING simhash (fp);
CREATE TABLE base (id int, g int, fp bigint);
CREATE TABLE child () INHERITS (base);
INSERT INTO base SELECT * FROM f WHERE id <= 500;
INSERT INTO child SELECT * FROM f WHERE id > 500;
CREATE INDEX child_fp ON child USING simhash (fp);
CREATE TABLE plain AS SELECT * FROM f;
CREATE TABLE expr AS SELECT * FROM f;
CREATE INDEX expr_fp ON expr USING simhash ((fp # 5));
CREATE TABLE partial AS SELECT * FROM f;
CREATE INDEX partial_fp ON partial USING simhash (fp) WHERE g > 1 AND fp <~> 0 <= 40;
CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM f WHERE g <> 3;
CREATE VIEW both_kinds AS SELECT id, g, fp FROM f UNION ALL SELECT id, g, fp FROM plain;
VACUUM ANALYZE f, parts, base, child, plain, expr, partial;

CREATE FUNCTION pick(VARIADIC text[]) RETURNS text LANGUAGE sql VOLATILE
    AS 'SELECT $1[1 + floor(random() * array_length($1, 1))::int]';
CREATE FUNCTION pick_int(lo int, hi int) RETURNS int LANGUAGE sql VOLATILE
    AS 'SELECT lo + floor(random() * (hi - lo + 1))::int';

-- A condition between two expressions; D[x|y] is their distance.
CREATE FUNCTION condition(x text, y text, g text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text := CASE WHEN random() < 0.5 THEN format('D[%s|%s]', x, y) ELSE format('D[%s|%s]', y, x) END;
    k text := pick_int(-1, 9)::text;
    j text := pick_int(0, 4)::text;
BEGIN
    RETURN replace(replace(replace(replace(pick(
        'd <= k', 'd <= k', 'd < k', 'd = k', 'k >= d', 'k > d', 'k = d',
        'd BETWEEN j AND k', 'd BETWEEN SYMMETRIC j AND k', 'NOT (d > k)', 'NOT (d >= k OR gg = j)',
        'd <= k::bigint', 'd < k::bigint', 'd = k::bigint', 'k::bigint > d', 'd <= k::smallint',
        'k::smallint >= d', 'd < k::smallint', 'd <= 3000000000', 'd < (-9000000000)',
        'd < (-2147483648)', 'd <= NULL::int', 'd > k', 'd <> k', 'd IN (0, j, k)',
        '(d <= k OR gg = j)', '(d <= k OR d = j OR gg IS NULL)', '(d <= k AND gg <> j OR d < j)',
        '(d <= k) IS TRUE', '(d <= k) IS NOT FALSE', 'CASE WHEN d <= k THEN gg = j END',
        'd <= gg', 'd < gg + j', 'd <= gg::bigint', 'd < (gg - j)::bigint'),
        'gg', g), 'd', d), 'k', '(' || k || ')'), 'j', j);
END $$;

CREATE FUNCTION query(q text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE lo int := pick_int(1, 1400); near text := condition('fp', q, 'g');
    ab text := condition('a.fp', 'b.fp', pick('a.g', 'b.g'));
    src text := pick('f', 'f', 'parts', 'base', 'child', 'barrier', 'both_kinds', 'partial', 'plain');
    a text := format('(SELECT * FROM plain WHERE id BETWEEN %s AND %s OFFSET 0) a', lo, lo + 5);
BEGIN
    RETURN CASE pick_int(1, 14)
        WHEN 1 THEN format('SELECT sum(id) FROM %s WHERE %s', src, near)
        WHEN 2 THEN format('SELECT sum(id) FROM %s WHERE %s AND %s', src, near, condition('fp', q, 'g'))
        WHEN 3 THEN format('SELECT sum(id) FROM %s WHERE NOT (%s) OR %s', src, near, condition('fp', q, 'g'))
        WHEN 4 THEN format('SELECT sum(a.id * b.id) FROM %s JOIN %s b ON %s', a, src, ab)
        WHEN 5 THEN format('SELECT sum(a.id * coalesce(b.id, -1)) FROM %s LEFT JOIN %s b ON %s AND a.g = b.g', a, src, ab)
        WHEN 6 THEN format('SELECT sum(a.id * coalesce(b.id, -1)) FROM %s LEFT JOIN %s b ON %s WHERE b.id IS NULL OR b.g > 1', a, src, ab)
        WHEN 7 THEN format('SELECT sum(coalesce(a.id, -1) * b.id) FROM %s RIGHT JOIN %s b ON %s', a, src, ab)
        WHEN 8 THEN format('SELECT sum(a.id) FROM %s WHERE %s EXISTS (SELECT FROM %s b WHERE %s)', a, pick('', 'NOT'), src, ab)
        WHEN 9 THEN format('SELECT sum(a.id * n.c) FROM %s, LATERAL (SELECT count(*) c FROM %s b WHERE %s) n', a, src, ab)
        WHEN 10 THEN format('SELECT sum(id) FROM expr WHERE g > 1 AND %s', condition('(fp # 5)', q, 'g'))
        WHEN 11 THEN format('SELECT sum(id) FROM partial WHERE g > 1 AND %s AND D[fp|0] <= %s', near, pick_int(38, 42))
        WHEN 12 THEN format('WITH w AS (%s f WHERE %s RETURNING id) SELECT sum(id) FROM w',
                            pick('DELETE FROM', 'UPDATE'), near)
        WHEN 13 THEN format('SELECT max(id) FROM %s WHERE %s AND g IS NOT NULL', src, near)
        ELSE format('SELECT sum(id) FROM (SELECT DISTINCT id, fp, g FROM %s) s WHERE %s', src, near)
    END;
END $$;

-- The sum that a query yields; what it writes is undone.
CREATE FUNCTION outcome(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
    EXECUTE query INTO result;
    RAISE SQLSTATE 'FUZZ0';
EXCEPTION WHEN SQLSTATE 'FUZZ0' THEN RETURN coalesce(result, 0);
END $$;

CREATE FUNCTION uses_index(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'Index Cond: .*<@' THEN RETURN true; END IF;
    END LOOP;
    RETURN false;
END $$;

CREATE TABLE asked (query text, open bigint, hidden bigint, indexed boolean);
SELECT setseed(0.25) IS NULL AS seeded;
DO $$
DECLARE template text; open_query text; chosen int; centre text;
BEGIN
    FOR i IN 1..600 LOOP
        chosen := pick_int(1, 1500);
        SELECT coalesce(fp::text, 'NULL') || '::bigint' INTO centre FROM f WHERE id = chosen;
        template := query(centre);
        template := replace(template, 'UPDATE f WHERE', 'UPDATE f SET g = -g WHERE');
        open_query := regexp_replace(template, 'D\[([^|]*)\|([^]]*)\]',
            pick('(\1 <~> \2)', 'hamming(\1, \2)'), 'g');
        INSERT INTO asked VALUES (open_query, outcome(open_query),
            outcome(regexp_replace(template, 'D\[([^|]*)\|([^]]*)\]', '((\1 <~> \2) + 0)', 'g')),
            uses_index(open_query));
    END LOOP;
END $$;
SELECT count(*) AS queries, count(*) FILTER (WHERE open <> hidden) AS mismatches,
    count(*) FILTER (WHERE open <> 0) > 250 AS many_have_results,
    count(*) FILTER (WHERE indexed) > 200 AS many_use_the_index,
    count(*) FILTER (WHERE indexed AND open <> 0) > 100 AS many_do_both FROM asked;
SELECT query, open, hidden FROM asked WHERE open <> hidden ORDER BY length(query) LIMIT 5;

-- Generic plans: parameters of each width at the ends of their ranges.
SET plan_cache_mode = force_generic_plan;
CREATE TABLE prepared (name text, open bigint, hidden bigint);
DO $$
DECLARE width text; op text; k text; name text; chosen int; q bigint; answers bigint[]; answer bigint;
BEGIN
    FOREACH width IN ARRAY ARRAY['smallint', 'int', 'bigint'] LOOP
        FOREACH op IN ARRAY ARRAY['@ <= $2', '@ < $2', '@ = $2', '$2 >= @', '$2 > @', '@ BETWEEN 1 AND $2'] LOOP
            EXECUTE format('PREPARE open_query(bigint, %s) AS SELECT sum(id) FROM f WHERE %s', width, replace(op, '@', '(fp <~> $1)'));
            EXECUTE format('PREPARE hidden_query(bigint, %s) AS SELECT sum(id) FROM f WHERE %s', width,
                replace(op, '@', '((fp <~> $1) + 0)'));
            FOREACH k IN ARRAY ARRAY['-1', '0', '3', '6', '64', '65', 'NULL',
                CASE width WHEN 'smallint' THEN '-32768' WHEN 'int' THEN '-2147483648' ELSE '-9223372036854775808' END,
                CASE width WHEN 'smallint' THEN '32767' WHEN 'int' THEN '2147483647' ELSE '9223372036854775807' END] LOOP
                chosen := pick_int(1, 1500);
                SELECT fp INTO q FROM f WHERE id = chosen;
                answers := '{}';
                FOREACH name IN ARRAY ARRAY['open', 'hidden'] LOOP
                    EXECUTE format('EXECUTE %s_query(%s, %s)', name, coalesce(q::text, 'NULL'), quote_nullable(nullif(k, 'NULL')))
                        INTO answer;
                    answers := answers || coalesce(answer, 0);
                END LOOP;
                INSERT INTO prepared VALUES (format('%s %s %s', width, op, k), answers[1], answers[2]);
            END LOOP;
            DEALLOCATE open_query;
            DEALLOCATE hidden_query;
        END LOOP;
    END LOOP;
END $$;
SELECT count(*) AS queries, count(*) FILTER (WHERE open <> hidden) AS mismatches,
    count(*) FILTER (WHERE open <> 0) > 50 AS many_have_results FROM prepared;
SELECT * FROM prepared WHERE open <> hidden LIMIT 5;

DROP SCHEMA planner_fuzz CASCADE;
