-- simhash_flag_duplicate() on hashes of more than 64 bits: what it finds against brute force, in each mode, within tenants, with
-- checks, with indexes on all parts, on some and on none; what it reads; what it refuses.
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA hashes_flag_test;
SET search_path = hashes_flag_test, public;

-- 1,200 hashes of 256 bits, of which many are 0 to 40 bits from an earlier one, spread over the parts or in one of them.
CREATE FUNCTION flipped(base bigint[], seed int, bits int, part int) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(base[p] # coalesce((SELECT bit_xor(1::bigint << bit::int) FROM (
		SELECT DISTINCT place % 64 AS bit FROM (
			SELECT abs(hashint4extended(i, seed)) % 256 AS place FROM generate_series(1, bits) AS i
		) AS s WHERE coalesce(part, place / 64 + 1) = p
	) AS d), 0) ORDER BY p) FROM generate_series(1, cardinality(base)) AS p
$$;
CREATE TABLE source AS
SELECT i AS id, i % 3 AS tenant, 'text ' || i % 2 AS body, flipped(ARRAY(
	SELECT hashint8extended(original, 100 + p) FROM generate_series(1, 4) AS p
), i, i * 7 % 41, CASE WHEN i % 3 = 0 THEN 1 + i % 4 END) AS pdq
FROM generate_series(1, 1200) AS i, LATERAL (SELECT abs(hashint4(i)) % 400 AS original) AS o;
CREATE TABLE distance AS
SELECT a.id AS a, b.id AS b, bit_count(a.bits # b.bits)::int AS bits, a.tenant = b.tenant AS of_tenant, a.body = b.body AS same_body
FROM (SELECT *, ('x' || fingerprint_parts_to_hex(pdq))::varbit AS bits FROM source) AS a
JOIN (SELECT *, ('x' || fingerprint_parts_to_hex(pdq))::varbit AS bits FROM source) AS b ON a.id < b.id
WHERE bit_count(a.bits # b.bits) <= 60;
SELECT count(*) > 900 AS near, count(*) FILTER (WHERE bits > 31) > 100 AS just_not FROM distance WHERE bits <= 40;
CREATE INDEX ON distance (b);

CREATE TABLE picture ();
CREATE FUNCTION made(columns text, arguments text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	marked bigint;
BEGIN
	DROP TABLE picture;
	CREATE TABLE picture (id int PRIMARY KEY, tenant int, body text, pdq bigint[], is_dup boolean, dup int);
	EXECUTE (SELECT string_agg(format('CREATE INDEX ON picture USING simhash (%s)', c), ';') FROM unnest(string_to_array(columns, ';')) AS c);
	EXECUTE format('CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON picture
		FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=pdq'', %s)', arguments);
	INSERT INTO picture SELECT * FROM source ORDER BY id;
	EXECUTE 'SELECT count(*) FROM picture WHERE is_dup' INTO marked;
	RETURN marked;
END $$;
-- Rows that are marked and should not be, the other way round, and marks that name no nearest row or its original.
CREATE FUNCTION wrong(radius int, scoped boolean DEFAULT false, checked boolean DEFAULT false) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE 'WITH near AS (SELECT d.*, rank() OVER (PARTITION BY d.b ORDER BY d.bits) = 1 AS nearest FROM distance AS d
		WHERE bits <= $1 AND (of_tenant OR NOT $2) AND (same_body OR NOT $3))
	SELECT count(*) FROM picture AS p
	WHERE is_dup IS DISTINCT FROM EXISTS (SELECT FROM near WHERE b = p.id) OR is_dup IS DISTINCT FROM (dup IS NOT NULL)
	OR is_dup AND NOT EXISTS (SELECT FROM near AS n JOIN picture AS o ON o.id = n.a
		WHERE n.b = p.id AND n.nearest AND p.dup = coalesce(o.dup, o.id))'
	INTO n USING radius, scoped, checked;
	RETURN n;
END $$;
SELECT radius, made('(pdq[1]);(pdq[2]);(pdq[3]);(pdq[4])', format('''radius=%s'', ''flag=is_dup'', ''duplicate_of=dup''',
	radius)) AS marked, wrong(radius)
FROM unnest('{0,3,5,20,31,40}'::int[]) AS radius;
-- Indexes on some parts, on one, on none; of tenants; with a check.
SELECT columns, made(columns, $$'radius=31', 'flag=is_dup', 'duplicate_of=dup'$$) AS marked, wrong(31)
FROM unnest(ARRAY['(pdq[2]);(pdq[4])', '(pdq[1]);(pdq[3]);(pdq[2])', '(pdq[3])']) AS columns;
DROP INDEX picture_pdq_idx;
TRUNCATE picture;
INSERT INTO picture SELECT * FROM source ORDER BY id;
SELECT wrong(31) AS without_index;
SELECT made('(pdq[1])', $$'radius=31', 'flag=is_dup', 'duplicate_of=dup', 'lock=off'$$) AS marked, wrong(31) AS without_lock;
SELECT made('tenant, (pdq[1]);tenant, (pdq[2]);(pdq[3])', $$'radius=31', 'flag=is_dup', 'duplicate_of=dup', 'within=tenant'$$) AS marked,
	wrong(31, scoped => true);
-- The check decides whether a near row counts.
CREATE FUNCTION agree(a text, b text) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN a = b;
SELECT made('(pdq[1]);(pdq[2])',
	$$'radius=31', 'flag=is_dup', 'duplicate_of=dup', 'text=body', 'checked_by=hashes_flag_test.agree'$$) AS marked,
wrong(31, checked => true);
SELECT made('(pdq[1]);(pdq[2])', $$'radius=31', 'flag=is_dup', 'duplicate_of=dup', 'text=body', 'min_jaccard=1'$$) AS marked,
	wrong(31, checked => true);

-- mode=skip: no two are near, and each that was left out is near one that was there.
SELECT made('(pdq[1]);(pdq[2]);(pdq[3]);(pdq[4])', $$'radius=31', 'mode=skip'$$) AS marked;
SELECT count(*) AS stored FROM picture;
SELECT count(*) FILTER (WHERE a.id IS NOT NULL AND b.id IS NOT NULL) AS near FROM distance AS d LEFT JOIN picture AS a ON a.id = d.a
LEFT JOIN picture AS b ON b.id = d.b WHERE bits <= 31;
SELECT count(*) AS for_no_reason FROM source AS s WHERE NOT EXISTS (SELECT FROM picture WHERE id = s.id)
AND NOT EXISTS (SELECT FROM distance AS d JOIN picture AS p ON p.id = d.a WHERE d.b = s.id AND d.bits <= 31);
-- No search reads the table as a whole, nor more than the first of equal rows. (A session's first row looks how long the hashes are.)
INSERT INTO picture SELECT 10001, tenant, body, pdq FROM source WHERE id = 1;
BEGIN;
SELECT seq_scan AS before FROM pg_stat_xact_user_tables WHERE relname = 'picture' \gset
INSERT INTO picture SELECT 10000 + id, tenant, body, pdq FROM source WHERE id BETWEEN 2 AND 100;
SELECT seq_scan - :before AS table_scans FROM pg_stat_xact_user_tables WHERE relname = 'picture';
COMMIT;
TRUNCATE picture;
DROP TRIGGER flag ON picture;
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON picture
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=pdq', 'radius=31', 'flag=is_dup', 'duplicate_of=dup');
INSERT INTO picture VALUES (0, 0, '', '{1,2,3,4}');
BEGIN;
SELECT seq_scan AS before, idx_tup_fetch AS fetched FROM pg_stat_xact_user_tables WHERE relname = 'picture' \gset
INSERT INTO picture SELECT i, 0, '', '{1,2,3,4}' FROM generate_series(1, 5000) AS i;
SELECT seq_scan - :before AS table_scans, idx_tup_fetch - :fetched < 15000 AS few_rows FROM pg_stat_xact_user_tables
WHERE relname = 'picture';
COMMIT;
SELECT count(*), count(*) FILTER (WHERE dup = 0) AS marked FROM picture;
DELETE FROM picture WHERE id > 10;
-- An UPDATE compares the row as it is then, and keeps a mark where nothing changes.
INSERT INTO picture VALUES (100, 0, '', '{-1,-2,-3,-4}');
UPDATE picture SET pdq = '{-1,-2,-3,4}' WHERE id = 5;
UPDATE picture SET body = 'same' WHERE id = 6;
UPDATE picture SET pdq = '{-1,-2,-3,-8}' WHERE id = 7;
UPDATE picture SET pdq = NULL WHERE id = 8;
SELECT id, is_dup, dup FROM picture WHERE id BETWEEN 5 AND 8 ORDER BY id;

-- mode=reject and mode=conflict say which row is near.
CREATE FUNCTION fault(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; detail text; hint text;
BEGIN
	EXECUTE statement;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE, message, nullif(detail, ''), nullif(hint, ''));
END $$;
CREATE TABLE once (id int PRIMARY KEY, hex text, seen int DEFAULT 1,
	pdq bigint[] GENERATED ALWAYS AS (fingerprint_parts_from_hex(hex)) STORED);
CREATE INDEX ON once USING simhash ((pdq[1]));
CREATE INDEX ON once USING simhash ((pdq[4]));
CREATE TRIGGER once BEFORE INSERT ON once
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=pdq', 'radius=31', 'mode=reject');
INSERT INTO once VALUES (1, repeat('0', 64)), (2, repeat('f', 64));
SELECT fault(format('INSERT INTO once VALUES (3, %L)', h))
FROM unnest(ARRAY['7' || repeat('0', 62) || '3', repeat('0', 32) || repeat('1', 31) || '0', repeat('0', 32) || repeat('1', 32)]) AS h;
DROP TRIGGER once ON once;
CREATE TRIGGER once BEFORE INSERT ON once
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=pdq', 'radius=31', 'mode=conflict');
INSERT INTO once VALUES (4, '7' || repeat('0', 63)), (5, repeat('5', 64)) ON CONFLICT (id) DO UPDATE SET seen = once.seen + 1;
SELECT id, seen FROM once ORDER BY id;

-- A domain, with parts that are checked.
CREATE DOMAIN pdq AS bigint[] CHECK (cardinality(VALUE) = 4 AND array_position(VALUE, NULL) IS NULL);
CREATE TABLE of_domain (id int PRIMARY KEY, pdq pdq, is_dup boolean);
CREATE INDEX ON of_domain USING simhash ((pdq[1]));
CREATE INDEX ON of_domain USING simhash ((pdq[2]));
CREATE TRIGGER flag BEFORE INSERT ON of_domain
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=pdq', 'radius=31', 'flag=is_dup');
INSERT INTO of_domain SELECT id, pdq FROM source WHERE id = 1;
BEGIN;
SELECT seq_scan AS before FROM pg_stat_xact_user_tables WHERE relname = 'of_domain' \gset
INSERT INTO of_domain SELECT id, pdq FROM source WHERE id > 1 ORDER BY id;
SELECT seq_scan - :before AS table_scans FROM pg_stat_xact_user_tables WHERE relname = 'of_domain';
COMMIT;
SELECT count(*) FILTER (WHERE is_dup) AS marked,
	count(*) FILTER (WHERE is_dup IS DISTINCT FROM EXISTS (SELECT FROM distance WHERE b = id AND bits <= 31)) AS wrong FROM of_domain;

-- Partitions, searched through the table above.
CREATE TABLE part (id int, tenant int, pdq bigint[], is_dup boolean) PARTITION BY LIST (tenant);
CREATE TABLE part_0 PARTITION OF part FOR VALUES IN (0);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1, 2);
CREATE INDEX ON part USING simhash ((pdq[1]));
CREATE INDEX ON part USING simhash ((pdq[2]));
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON part
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=pdq', 'radius=31', 'flag=is_dup', 'key=id');
INSERT INTO part SELECT id, tenant, pdq FROM source ORDER BY id;
SELECT count(*) FILTER (WHERE is_dup) AS marked,
	count(*) FILTER (WHERE is_dup IS DISTINCT FROM EXISTS (SELECT FROM distance WHERE b = id AND bits <= 31)) AS wrong FROM part;
UPDATE part SET tenant = 1 - tenant WHERE tenant < 2 AND id < 50;
SELECT count(*) FILTER (WHERE is_dup IS DISTINCT FROM EXISTS (SELECT FROM distance WHERE b = id AND bits <= 31)) AS wrong FROM part;

-- Hashes of another length, with a NULL part, without parts, of two dimensions; a radius that no hash has, a type that is none.
CREATE TABLE wide (id int PRIMARY KEY, hash bigint[], fp bigint, name text, is_dup boolean);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON wide
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=hash', 'radius=9', 'flag=is_dup');
INSERT INTO wide VALUES (1, '{1,2,3}');
SELECT fault(format('INSERT INTO wide VALUES (2, %L)', h))
FROM unnest(ARRAY['{1,2}', '{1,NULL,3}', '{}', '{{1,2,3}}', '[0:2]={1,2,3}', '{9,9,9}']) AS h;
SELECT id, is_dup FROM wide ORDER BY id;
-- Once the others are gone, so is their length.
TRUNCATE wide;
INSERT INTO wide VALUES (1, '{1,2}'), (2, '{1,3}'), (3, NULL), (4, NULL);
DELETE FROM wide WHERE id < 3;
INSERT INTO wide VALUES (5, '{1,2,3,4,5}');
SELECT id, is_dup FROM wide ORDER BY id;
SELECT fault(format('CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON wide FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(%s)', a)),
	fault('INSERT INTO wide VALUES (9, ''{1}'', 1)')
FROM unnest(ARRAY[$$'fingerprint=hash', 'radius=4097', 'mode=skip'$$, $$'fingerprint=fp', 'radius=65', 'mode=skip'$$,
	$$'fingerprint=name', 'mode=skip'$$, $$'fingerprint=hash', 'mode=skip', 'weights={"name": 1}'$$]) AS a;
-- Whose index is missing is said once, with what to do.
SET client_min_messages = warning;
CREATE TABLE bare (tenant int, hash bigint[]);
CREATE TRIGGER flag BEFORE INSERT ON bare
FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=hash', 'mode=skip', 'within=tenant');
INSERT INTO bare VALUES (1, '{1,2}'), (1, '{1,2}'), (2, '{1,2}');
SELECT * FROM bare ORDER BY tenant;
SET client_min_messages = error;
DROP SCHEMA hashes_flag_test CASCADE;
