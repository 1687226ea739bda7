-- within=: simhash_flag_duplicate() and simhash_catalog.maintain_clusters() compare a row only with those that are equal in some
-- columns. docs/flagging.md, docs/duplicates.md.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA within_test;
SET search_path = within_test, public;
RESET client_min_messages;

-- The oracle: rows in the order of their ids, each against all before it that are equal in the columns, by counting bits.
CREATE FUNCTION wrong(rel regclass, k int, same text, OUT duplicates bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(dup), count(*) FILTER (WHERE dup IS DISTINCT FROM should_be) FROM
		(SELECT n.dup, (SELECT coalesce(o.dup, o.id) FROM %1$s o WHERE o.id < n.id AND bit_count((o.fp # n.fp)::bit(64)) <= %2$s AND %3$s
			ORDER BY bit_count((o.fp # n.fp)::bit(64)), o.id LIMIT 1) AS should_be FROM %1$s n) s', rel, k, same)
	INTO duplicates, wrong;
END $$;
-- 600 fingerprints of which most have neighbours at distances 0 to 10, of a few tenants and sources, some NULL.
CREATE TABLE source AS
	SELECT i AS id, nullif(i % 7, 6) AS tenant, nullif(chr(97 + i % 4), 'd') AS source,
		(SELECT coalesce(bit_xor(1::bigint << (hashint8extended(i, n) & 63)::int), 0) FROM generate_series(1, i % 6) n)
		# hashint8extended(i % 20, 5) AS fp
	FROM generate_series(1, 600) i;
CREATE TABLE t (id int PRIMARY KEY, tenant int, source text, fp bigint, dup int, note text);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=3', 'duplicate_of=dup', 'within=tenant');
INSERT INTO t SELECT * FROM source ORDER BY id;
SELECT * FROM wrong('t', 3, 'o.tenant = n.tenant');
SELECT count(*) AS without_scope, count(dup) AS flagged FROM t WHERE tenant IS NULL;
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=8', 'duplicate_of=dup', 'within= source , tenant');
INSERT INTO t SELECT * FROM source ORDER BY id;
SELECT * FROM wrong('t', 8, 'o.tenant = n.tenant AND o.source = n.source');
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'radius=20', 'duplicate_of=dup', 'within=tenant', 'lock=off');
INSERT INTO t SELECT * FROM source ORDER BY id;
SELECT * FROM wrong('t', 20, 'o.tenant = n.tenant');
-- With the other arguments: among originals of the tenant, and a check of the text.
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'among=originals', 'within=tenant');
INSERT INTO t SELECT * FROM source ORDER BY id;
SELECT count(*) AS duplicates, count(*) FILTER (WHERE o.dup IS NOT NULL OR o.tenant <> t.tenant OR t.fp <~> o.fp > 3) AS wrong
FROM t JOIN t o ON o.id = t.dup;
SELECT count(*) AS originals_within_3 FROM t a JOIN t b ON a.fp <~> b.fp <= 3 AND a.tenant = b.tenant AND a.id < b.id
WHERE a.dup IS NULL AND b.dup IS NULL;
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'text=note', 'within=tenant,note');
INSERT INTO t (id, tenant, fp, note) VALUES (1, 1, 0, 'one of two notes'), (2, 1, 0, 'the other note'), (3, 2, 0, 'one of two notes'),
	(4, 1, 1, 'one of two notes'), (5, 1, 0, NULL);
SELECT id, dup FROM t ORDER BY id;

-- An UPDATE of the scope judges the row again; another one leaves a decision alone.
TRUNCATE t;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=tenant,source');
INSERT INTO t (id, tenant, source, fp) VALUES (1, 1, 'a', 0), (2, 1, 'a', 0), (3, 2, 'a', 0), (4, 1, 'b', 0);
UPDATE t SET dup = NULL WHERE id = 2;
UPDATE t SET note = 'decided', tenant = tenant WHERE id = 2;
SELECT id, tenant, source, dup FROM t ORDER BY id;
UPDATE t SET tenant = 2 WHERE id = 2;
UPDATE t SET source = 'a' WHERE id = 4;
SELECT id, tenant, source, dup FROM t ORDER BY id;
UPDATE t SET tenant = NULL WHERE id = 2;
UPDATE t SET source = NULL WHERE id = 4;
SELECT id, tenant, source, dup FROM t ORDER BY id;
UPDATE t SET tenant = 1 WHERE id = 2;
SELECT id, tenant, source, dup FROM t ORDER BY id;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'within=tenant');
INSERT INTO t (id, tenant, fp) VALUES (5, NULL, 0), (6, NULL, 0), (7, 9, 0);
INSERT INTO t (id, tenant, fp) VALUES (8, 9, 1);
UPDATE t SET tenant = 9 WHERE id = 5;

-- Equality is that of the type and the column's collation. (051_within.pl has two sessions with these types.)
-- a and b are equal, c is not.
CREATE FUNCTION of_type(type text, a text, b text, c text, more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE format('CREATE TABLE typed (id int PRIMARY KEY, scope %s %s, fp bigint, dup int)', type, more);
	CREATE INDEX ON typed USING simhash (fp);
	CREATE TRIGGER flag BEFORE INSERT ON typed FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=scope');
	EXECUTE format('INSERT INTO typed VALUES (1, %L, 0), (2, %L, 0), (3, %L, 0)', a, c, b);
	SELECT string_agg(id || coalesce(' of ' || dup, ''), ', ' ORDER BY id) FROM typed INTO found;
	RAISE EXCEPTION USING MESSAGE = found;
EXCEPTION WHEN raise_exception THEN
	RETURN SQLERRM;
END $$;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE pair AS (x int, y text);
CREATE DOMAIN code AS varchar(10) CHECK (VALUE <> '');
SELECT type, of_type(type, a, b, c) FROM (VALUES
	('smallint', '1', '1', '2'), ('bigint', '1', '1', '-1'), ('oid', '1', '1', '2'), ('boolean', 'on', 'true', 'false'),
	('uuid', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc999c0b4ef8bb6d6bb9bd380a11', 'a0eebc999c0b4ef8bb6d6bb9bd380a12'),
	('text', 'a', 'a', 'A'), ('varchar(5)', 'a', 'a', 'a '), ('char(5)', 'a', 'a  ', 'b'), ('code', 'x', 'x', 'y'),
	('mood', 'sad', 'sad', 'happy'), ('date', '2026-01-02', '20260102', '2026-01-03'), ('numeric', '1', '1.00', '1.01'),
	('float8', '0', '-0', '1'), ('timestamptz', '2026-01-01 00:00+00', '2026-01-01 01:00+01', '2026-01-01 00:00:01+00'),
	('interval', '1 day', '24 hours', '1 hour'), ('bytea', 'a', '\x61', 'b'), ('int[]', '{1,2}', '{1,2}', '{2,1}'),
	('pair', '(1,a)', '(1,a)', '(1,b)'),
	('xid', '7', '7', '8'), ('jsonb', '{"a": 1, "b": 1}', '{"b": 1.0, "a": 1}', '{"a": 2}'),
	('int4range', '[1,3)', '[1,2]', '[1,4)')) v (type, a, b, c);
-- Values that are stored elsewhere.
SELECT of_type('text', repeat('long ', 100000), repeat('long ', 100000), repeat('long ', 100000) || '.');
-- A nondeterministic collation, where the server has ICU.
CREATE FUNCTION of_collation() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CREATE COLLATION within_test.caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	RETURN of_type('text', 'tenant', 'TENANT', 'tenants', 'COLLATE within_test.caseless');
EXCEPTION WHEN feature_not_supported THEN
	RETURN '1, 2, 3 of 1';
END $$;
SELECT of_collation();
-- An UPDATE to a value that = finds equal leaves the row where it is: it is not judged again.
CREATE FUNCTION of_update() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE within_test.equal (id int PRIMARY KEY, tenant text COLLATE within_test.caseless, fp bigint, dup int);
	CREATE INDEX ON within_test.equal USING simhash (fp);
	CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON within_test.equal FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=tenant');
	INSERT INTO within_test.equal VALUES (1, 'a', 0), (2, 'a', 0), (3, 'b', 0);
	UPDATE within_test.equal SET tenant = 'A' WHERE id = 1;
	RETURN (SELECT string_agg(id || ' of ' || coalesce(dup::text, 'none'), ', ' ORDER BY id) FROM within_test.equal);
EXCEPTION WHEN undefined_object THEN
	RETURN '1 of none, 2 of 1, 3 of none';
END $$;
SELECT of_update();

-- Names: with commas, quotes and capitals. The trigger's query means the types' own operators, whatever the search_path.
CREATE TABLE names (id int PRIMARY KEY, "A, B" text, "Two words" varchar, "say ""hi""" int, fp bigint, dup int);
CREATE INDEX ON names USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON names FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within="A, B",Two words,"say ""hi"""');
INSERT INTO names VALUES (1, 'a', 'b', 1, 0), (2, 'a', 'b', 2, 0), (3, 'a', 'c', 1, 0), (4, 'b', 'b', 1, 0), (5, 'a', 'b', 1, 0);
CREATE SCHEMA within_trap;
CREATE FUNCTION within_trap.never(varchar, varchar) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR within_trap.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = within_trap.never);
SET search_path = within_trap, pg_catalog;
INSERT INTO within_test.names VALUES (6, 'a', 'c', 1, 0);
SET search_path = within_test, public;
DROP OPERATOR within_trap.= (varchar, varchar);
DROP FUNCTION within_trap.never;
DROP SCHEMA within_trap;
SELECT id, dup FROM names ORDER BY id;
-- A column is looked up again after it was renamed.
ALTER TABLE names RENAME "Two words" TO three;
INSERT INTO names VALUES (7, 'a', 'c', 1, 0);
ALTER TABLE names RENAME three TO "Two words";
INSERT INTO names VALUES (7, 'a', 'c', 1, 0);
SELECT id, dup FROM names WHERE id = 7;

-- Partitions, by tenant and by something else, with columns at other positions.
CREATE TABLE parted (id int, tenant int, region text, fp bigint, dup int) PARTITION BY LIST (tenant);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_rest (dup int, gone int, fp bigint, region text, tenant int, id int) PARTITION BY LIST (region);
ALTER TABLE parted_rest DROP COLUMN gone;
ALTER TABLE parted ATTACH PARTITION parted_rest DEFAULT;
CREATE TABLE parted_north PARTITION OF parted_rest FOR VALUES IN ('north');
CREATE TABLE parted_south PARTITION OF parted_rest FOR VALUES IN ('south');
CREATE INDEX ON parted USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON parted FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id', 'within=tenant');
INSERT INTO parted VALUES (1, 1, 'north', 0), (2, 2, 'north', 0), (3, 2, 'south', 0), (4, 1, 'south', 1), (5, 3, 'north', 0);
SELECT tableoid::regclass, id, tenant, dup FROM parted ORDER BY id;
-- A move without another scope leaves a decision alone, one with another scope is judged.
UPDATE parted SET dup = NULL WHERE id = 3;
UPDATE parted SET region = 'north' WHERE id = 3;
UPDATE parted SET tenant = 2, region = 'south' WHERE id = 5;
UPDATE parted SET tenant = 1 WHERE id = 2;
SELECT tableoid::regclass, id, tenant, dup FROM parted ORDER BY id;
-- A trigger gives the row another scope on arrival: it is judged again, and a row of mode=skip is not lost.
CREATE FUNCTION reassign() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.tenant := 2; RETURN NEW; END $$;
CREATE TRIGGER a_reassign BEFORE INSERT ON parted_south FOR EACH ROW EXECUTE FUNCTION reassign();
INSERT INTO parted VALUES (6, 4, 'north', 0);
UPDATE parted SET region = 'south' WHERE id = 6;
SELECT tableoid::regclass, id, tenant, dup FROM parted WHERE id = 6;
DROP TRIGGER a_reassign ON parted_south;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON parted FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip', 'key=id', 'within=tenant');
INSERT INTO parted VALUES (7, 4, 'north', 0), (8, 4, 'south', 1), (9, NULL, 'south', 1);
UPDATE parted SET region = 'south' WHERE id = 7;
UPDATE parted SET tenant = 1 WHERE id = 7;
SELECT tableoid::regclass, id, tenant FROM parted WHERE id > 6 ORDER BY id;

-- No advisory locks, however many rows and scopes.
TRUNCATE t;
BEGIN;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON t FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'within=tenant', 'radius=8');
INSERT INTO t (id, tenant, fp) SELECT i, i % 7, hashint8extended(i, 1) FROM generate_series(1, 1000) i;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
ROLLBACK;

-- A column by which the trigger above compares, but which the partition generates: no trigger there knows the row's scope. (From
-- PostgreSQL 16 on there are no such partitions.)
CREATE TABLE made (id int, tenant int, fp bigint) PARTITION BY LIST (id);
CREATE INDEX ON made USING simhash (fp);
CREATE TABLE made_1 (id int, tenant int GENERATED ALWAYS AS (id % 3) STORED, fp bigint);
CREATE TRIGGER of_tree BEFORE INSERT ON made FOR EACH ROW WHEN (NEW.id > 1)
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject', 'within=tenant');
CREATE TRIGGER of_part BEFORE INSERT ON made_1 FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=reject');
CREATE FUNCTION unknown_scope() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		ALTER TABLE made ATTACH PARTITION made_1 FOR VALUES IN (1, 2);
	EXCEPTION WHEN datatype_mismatch THEN
		RETURN 'column "tenant" is a generated column: triggers do not see its value';
	END;
	INSERT INTO made_1 (id, fp) VALUES (1, 0);
	RETURN 'accepted';
EXCEPTION WHEN invalid_column_reference THEN
	RETURN SQLERRM;
END $$;
SELECT unknown_scope();

-- Without an index that serves the trigger it names the one that serves it best.
CREATE TABLE bare (id int PRIMARY KEY, "Tenant" bigint, place point, fp bigint, dup int);
CREATE TRIGGER flag BEFORE INSERT ON bare FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=Tenant');
INSERT INTO bare VALUES (1, 1, NULL, 0), (2, 2, NULL, 0), (3, 1, NULL, 0);
SELECT id, dup FROM bare ORDER BY id;
-- An index with scope columns serves the triggers that pin all of them, and is what they search.
CREATE TABLE scoped (id int PRIMARY KEY, tenant int, source text, fp bigint, dup int);
CREATE INDEX scoped_fp ON scoped USING simhash (source, tenant, fp);
INSERT INTO scoped SELECT i, i % 5, 's' || i % 3, hashint8extended(i, 1) FROM generate_series(1, 3000) i;
ANALYZE scoped;
CREATE TRIGGER flag BEFORE INSERT ON scoped FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=tenant, source');
BEGIN;
INSERT INTO scoped SELECT 3000 + i, i % 5, 's' || i % 4, hashint8extended(i, 1) # 1 FROM generate_series(1, 60) i;
SELECT pg_stat_get_xact_numscans('scoped_fp'::regclass) >= 60 AS searched;
COMMIT;
SELECT count(*) AS wrong FROM scoped n WHERE id > 3000 AND dup IS DISTINCT FROM (SELECT min(o.id) FROM scoped o
	WHERE o.id < n.id AND o.tenant = n.tenant AND o.source = n.source AND bit_count((o.fp # n.fp)::bit(64)) <= 3);
SELECT count(dup) AS marked FROM scoped;
CREATE OR REPLACE TRIGGER flag BEFORE INSERT ON scoped FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=tenant');
INSERT INTO scoped VALUES (9000, 1, 's1', 0);

-- Errors name what is wrong.
CREATE TABLE e (id int PRIMARY KEY, tenant int, fp bigint, b boolean, dup int, j json, p point, m money, other text,
	gen int GENERATED ALWAYS AS (tenant + 1) STORED);
CREATE INDEX ON e USING simhash (fp);
CREATE FUNCTION try(VARIADIC arguments text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; hint text; state text;
BEGIN
	EXECUTE 'CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON e FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('
		|| (SELECT string_agg(quote_literal(a), ', ') FROM unnest(arguments) a) || ')';
	INSERT INTO e (id, fp, tenant) VALUES (1, 0, 1);
	DELETE FROM e;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT, state = RETURNED_SQLSTATE;
	RETURN concat_ws(' | ', state, message, nullif(hint, ''));
END $$;
\t on
\pset format unaligned
SELECT try('fingerprint=fp', 'flag=b', 'within=tenant');
SELECT try('fingerprint=fp', 'flag=b', 'within=');
SELECT try('fingerprint=fp', 'flag=b', 'within=tenant,');
SELECT try('fingerprint=fp', 'flag=b', 'within="tenant');
SELECT try('fingerprint=fp', 'flag=b', 'within=tenant,other,tenant');
SELECT try('fingerprint=fp', 'flag=b', 'within=Tenant');
SELECT try('fingerprint=fp', 'flag=b', 'within=ctid');
SELECT try('fingerprint=fp', 'flag=b', 'within=gen');
SELECT try('fingerprint=fp', 'flag=b', 'within=j');
SELECT try('fingerprint=fp', 'flag=b', 'within=p');
SELECT try('fingerprint=fp', 'flag=b', 'within=m');
SELECT try('fingerprint=fp', 'flag=b', 'within=tenant,fp');
SELECT try('fingerprint=fp', 'flag=b', 'within=b');
SELECT try('fingerprint=fp', 'duplicate_of=dup', 'within=dup');
SELECT try('fingerprint=fp', 'flag=b', 'key=tenant', 'within=tenant');
SELECT try('fingerprint=fp', 'flag=b', 'within=id');
SELECT try('fingerprint=fp', 'flag=b', 'key=other', 'within=id');
SELECT try('fingerprint=fp', 'flag=b', 'weights={"tenant": 1}', 'within=tenant');
\t off
\pset format aligned

-- The role that inserts must be able to read the columns.
CREATE TABLE guarded (id int PRIMARY KEY, tenant int, fp bigint, dup int);
CREATE INDEX ON guarded USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT ON guarded FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'within=tenant');
CREATE ROLE regress_within_writer;
GRANT USAGE ON SCHEMA within_test TO regress_within_writer;
GRANT INSERT, SELECT (id, fp) ON guarded TO regress_within_writer;
SET ROLE regress_within_writer;
INSERT INTO guarded VALUES (1, 1, 0);
RESET ROLE;
GRANT SELECT (tenant) ON guarded TO regress_within_writer;
SET ROLE regress_within_writer;
INSERT INTO guarded VALUES (1, 1, 0), (2, 1, 0), (3, 2, 0);
RESET ROLE;
SELECT * FROM guarded ORDER BY id;

-- Clusters of rows of one tenant. The oracle is simhash_clusters.
CREATE TABLE c (id int PRIMARY KEY, tenant int, source text, fp bigint);
CREATE INDEX ON c USING simhash (fp);
CREATE TABLE c_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE INDEX ON c_cluster (cluster_id);
CREATE TRIGGER assign AFTER INSERT OR UPDATE ON c FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=c_cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
CREATE VIEW should_be AS SELECT key, cluster_id FROM simhash_clusters('c', 'id', 'fp', 3, within => '{tenant}');
INSERT INTO c SELECT id, tenant, source, fp FROM source ORDER BY id;
SELECT (SELECT count(*) FROM c_cluster) AS members, (SELECT count(*) FROM (TABLE c_cluster EXCEPT TABLE should_be) x) AS wrong,
	(SELECT count(*) FROM (TABLE should_be EXCEPT TABLE c_cluster) x) AS missing;
-- A row that goes to another tenant leaves its cluster, also one that has given it its name, and joins others.
CREATE FUNCTION clusters() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(tenants || ': ' || keys, ', ' ORDER BY keys) FROM (
		SELECT string_agg(DISTINCT coalesce(tenant, 0)::text, '+') AS tenants, cluster_id || ' ' || array_agg(key ORDER BY key)::text AS keys
		FROM c_cluster JOIN c ON key = id GROUP BY cluster_id) s
$$;
TRUNCATE c, c_cluster;
INSERT INTO c (id, tenant, fp) VALUES (1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 2, 0), (5, 2, 0), (6, 3, 0), (7, NULL, 0);
SELECT clusters();
UPDATE c SET tenant = 2 WHERE id = 3;
SELECT clusters();
UPDATE c SET tenant = 2 WHERE id = 1;
SELECT clusters();
UPDATE c SET tenant = 3 WHERE id = 1;
SELECT clusters();
UPDATE c SET tenant = NULL WHERE id = 1;
SELECT clusters();
UPDATE c SET tenant = 3, fp = NULL WHERE id = 3;
SELECT clusters();
UPDATE c SET tenant = 2 WHERE id = 7;
SELECT clusters();
-- A key that is used again, while a cluster still has it for its name.
DELETE FROM c_cluster WHERE key = 4;
DELETE FROM c WHERE id = 4;
INSERT INTO c VALUES (10, 5, NULL, 0), (4, 5, NULL, 0);
SELECT clusters();
-- Several rows of a statement: some of a cluster, some of which give it its name, and rows of two tenants that change places.
TRUNCATE c, c_cluster;
INSERT INTO c (id, tenant, fp) SELECT i, 1 + i / 5, 0 FROM generate_series(1, 14) i;
SELECT clusters();
UPDATE c SET tenant = 2 WHERE id IN (1, 2);
SELECT clusters();
UPDATE c SET tenant = CASE tenant WHEN 1 THEN 3 ELSE 1 END WHERE id IN (3, 4, 1, 10, 14);
SELECT clusters();
UPDATE c SET tenant = 4 - tenant;
SELECT clusters();
UPDATE c SET tenant = 2, id = id + 100 WHERE id > 7;
SELECT clusters();
-- Rows of three tenants that go to a fourth, and leave rows behind.
TRUNCATE c, c_cluster;
INSERT INTO c (id, tenant, fp) SELECT i, (i + 1) / 2, 0 FROM generate_series(1, 6) i;
UPDATE c SET tenant = 4 WHERE id IN (1, 3, 5);
SELECT clusters();
-- Random changes, several rows at a time: no cluster ever spans tenants, and near rows of a tenant are in one cluster.
DO $$
BEGIN
	FOR i IN 1 .. 200 LOOP
		CASE i % 4
		WHEN 0 THEN DELETE FROM c WHERE hashint4(id + i) % 7 = 0;
			IF i % 8 = 0 THEN DELETE FROM c_cluster WHERE NOT EXISTS (SELECT FROM c WHERE id = key); END IF;
		WHEN 1 THEN INSERT INTO c (id, tenant, fp) SELECT n, 1 + abs(hashint4(n + i) % 5), 15 * (n % 3)
		FROM generate_series(1, 20) n ON CONFLICT DO NOTHING;
		WHEN 2 THEN UPDATE c SET tenant = nullif(abs(hashint4(id * i) % 6), 0) WHERE hashint4(id * i + 1) % 3 = 0;
		ELSE UPDATE c SET fp = 15 * abs(hashint4(id + i) % 3), tenant = 1 + abs(hashint4(id * i) % 5) WHERE hashint4(id * i + 2) % 5 = 0;
		END CASE;
		ASSERT NOT EXISTS (SELECT FROM c_cluster JOIN c ON key = id GROUP BY cluster_id HAVING count(DISTINCT coalesce(tenant, 0)) > 1),
			'spans ' || i;
		ASSERT NOT EXISTS (SELECT FROM c a JOIN c b ON a.id < b.id AND a.tenant = b.tenant AND a.fp = b.fp
			WHERE (SELECT cluster_id FROM c_cluster WHERE key = a.id) IS DISTINCT FROM (SELECT cluster_id FROM c_cluster WHERE key = b.id)
				OR (SELECT cluster_id FROM c_cluster WHERE key = a.id) IS NULL), 'apart ' || i;
	END LOOP;
END $$;
TRUNCATE c, c_cluster;
INSERT INTO c (id, tenant, fp) VALUES (4, 5, 0), (5, 5, 0), (6, 2, 0), (7, 2, 0), (8, 3, 0);
-- Deferred: changed twice before the commit.
DROP TRIGGER assign ON c;
CREATE CONSTRAINT TRIGGER assign AFTER INSERT OR UPDATE OF fp, tenant ON c DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=c_cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
BEGIN;
UPDATE c SET tenant = 2 WHERE id = 4;
UPDATE c SET fp = 1 WHERE id = 4;
UPDATE c SET source = 'later' WHERE id = 4;
UPDATE c SET tenant = 3 WHERE id IN (6, 5);
UPDATE c SET tenant = 5 WHERE id = 6;
COMMIT;
SELECT clusters();
DROP TRIGGER assign ON c;
-- Partitions by tenant: the server deletes and inserts a row that moves.
ALTER TABLE c RENAME TO c_plain;
CREATE TABLE c (id int, tenant int, source text, fp bigint) PARTITION BY LIST (tenant);
CREATE TABLE c_1 PARTITION OF c FOR VALUES IN (1);
CREATE TABLE c_rest (fp bigint, source text, tenant int, id int);
ALTER TABLE c ATTACH PARTITION c_rest DEFAULT;
CREATE INDEX ON c USING simhash (fp);
CREATE TRIGGER assign AFTER INSERT OR UPDATE ON c FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=c_cluster', 'key=id', 'fingerprint=fp', 'within=tenant,source');
CREATE OR REPLACE FUNCTION clusters() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(tenants || ': ' || keys, ', ' ORDER BY keys) FROM (
		SELECT string_agg(DISTINCT coalesce(tenant || source, 'none'), '+') AS tenants,
			cluster_id || ' ' || array_agg(key ORDER BY key)::text AS keys
		FROM c_cluster JOIN c ON key = id GROUP BY cluster_id) s
$$;
TRUNCATE c_cluster;
INSERT INTO c VALUES (1, 1, 'a', 0), (2, 1, 'a', 0), (3, 2, 'a', 0), (4, 2, 'a', 0), (5, 1, 'b', 0), (6, 2, 'b', 0), (7, 2, 'b', 0);
SELECT clusters();
UPDATE c SET tenant = 2 WHERE id = 1;
SELECT clusters();
UPDATE c SET tenant = 1, source = 'b' WHERE id = 6;
SELECT clusters();
-- Locks: the table of clusters is shared, with and without within=. What rows wait for is elsewhere (044_cluster_writers).
CREATE FUNCTION cluster_locks(trigger_within text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER assign AFTER INSERT OR UPDATE ON c FOR EACH ROW
		EXECUTE FUNCTION simhash_catalog.maintain_clusters(''clusters=c_cluster'', ''key=id'', ''fingerprint=fp''%s)', trigger_within);
	INSERT INTO c VALUES (20, 1, 'a', 0);
	RAISE EXCEPTION USING MESSAGE = (SELECT string_agg(mode, ', ' ORDER BY objid)
		FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 21320 AND pid = pg_backend_pid());
EXCEPTION WHEN raise_exception THEN
	RETURN SQLERRM;
END $$;
SELECT cluster_locks(', ' || quote_literal('within=tenant,source')), cluster_locks('') AS without;
-- Triggers that write to one table of clusters mean the same scopes, on a partition too; in whatever order they name them.
CREATE TABLE other_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER more AFTER INSERT ON c_1 FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=within_test.c_cluster', 'key=id', 'fingerprint=fp', 'within=source,tenant');
INSERT INTO c VALUES (21, 1, 'c', 0), (22, 1, 'c', 0);
CREATE OR REPLACE TRIGGER more AFTER INSERT ON c_1 FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=other_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO c VALUES (23, 1, 'd', 0);
SELECT clusters(), (SELECT string_agg(key || ' in ' || cluster_id, ', ' ORDER BY key) FROM other_cluster) AS without;
CREATE OR REPLACE TRIGGER more AFTER INSERT ON c_1 FOR EACH ROW WHEN (false)
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=c_cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
INSERT INTO c VALUES (24, 1, 'd', 0);
INSERT INTO c VALUES (24, 2, 'd', 0);
CREATE OR REPLACE TRIGGER assign AFTER INSERT ON c FOR EACH ROW WHEN (false)
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=c_cluster', 'key=id', 'fingerprint=fp', 'within=tenant');
CREATE OR REPLACE TRIGGER more AFTER INSERT ON c_1 FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=c_cluster', 'key=id', 'fingerprint=fp');
INSERT INTO c VALUES (25, 1, 'd', 0);
DROP TRIGGER more ON c_1;
-- A stored generated column has its value after the row was stored.
CREATE TABLE g (id int PRIMARY KEY, host text GENERATED ALWAYS AS (split_part(url, '/', 3)) STORED, url text, fp bigint, j json, m money);
CREATE TABLE g_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
CREATE TRIGGER assign AFTER INSERT ON g FOR EACH ROW
	EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=g_cluster', 'key=id', 'fingerprint=fp', 'within=host');
INSERT INTO g (id, url, fp) VALUES (1, 'https://one/a', 0), (2, 'https://two/a', 0), (3, 'https://one/b', 0);
TABLE g_cluster;
CREATE FUNCTION try_clusters(within text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text; hint text; state text;
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER assign AFTER INSERT ON g FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters(
		''clusters=g_cluster'', ''key=id'', ''fingerprint=fp'', %L)', 'within=' || within);
	INSERT INTO g (id, fp) VALUES (9, 1000);
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT, state = RETURNED_SQLSTATE;
	RETURN concat_ws(' | ', state, message, nullif(hint, ''));
END $$;
\t on
\pset format unaligned
SELECT try_clusters(within) FROM unnest('{nothing,j,m,fp,id,"\"host\",host",ctid}'::text[]) within;
\t off
\pset format aligned

-- Rows are answered as the user as whom the server fires their triggers, also those that a foreign key's action changes:
-- with within= as without.
SET client_min_messages = error;
CREATE ROLE regress_within_owner;
GRANT USAGE, CREATE ON SCHEMA within_test TO regress_within_owner;
CREATE TABLE parent (id int PRIMARY KEY, tenant int, fp bigint);
CREATE TABLE parent_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
GRANT ALL ON parent, parent_cluster TO regress_within_writer, regress_within_owner;
CREATE TABLE child (id int PRIMARY KEY, of int REFERENCES parent ON DELETE CASCADE, tenant int, fp bigint);
CREATE TABLE child_cluster (key int PRIMARY KEY, cluster_id int NOT NULL);
ALTER TABLE child OWNER TO regress_within_owner;
ALTER TABLE child_cluster OWNER TO regress_within_owner;
CREATE FUNCTION of_cascade(within text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	name text;
BEGIN
	FOREACH name IN ARRAY '{parent,child}'::text[] LOOP
		EXECUTE format('CREATE OR REPLACE TRIGGER keep AFTER INSERT OR DELETE ON %I FOR EACH ROW
			EXECUTE FUNCTION simhash_catalog.maintain_clusters(''key=id'', ''fingerprint=fp'', %L%s)', name,
			format('clusters=%s_cluster', name), within);
	END LOOP;
	DELETE FROM parent;
	INSERT INTO parent SELECT i, i % 2, 5 FROM generate_series(1, 6) i;
	INSERT INTO child SELECT i, i, i % 2, 5 FROM generate_series(1, 6) i;
	SET LOCAL ROLE regress_within_writer;
	BEGIN
		DELETE FROM parent WHERE id < 4;
		result := 'deleted, left: ';
	EXCEPTION WHEN insufficient_privilege THEN
		result := SQLERRM || ', left: ';
	END;
	RESET ROLE;
	RETURN result || (SELECT count(*) FROM child_cluster);
END $$;
SELECT alone = within AS alike, CASE WHEN alone <> within THEN within END AS within
FROM of_cascade('') alone, of_cascade(', ''within=tenant''') within;
DELETE FROM parent;
RESET client_min_messages;

-- A statement whose rows are not answered cannot be committed; a subtransaction that is rolled back takes them along.
BEGIN;
ALTER TABLE simhash_catalog.statement_end DISABLE TRIGGER answer_rows;
INSERT INTO parent VALUES (100, 1, 5);
COMMIT;
BEGIN;
SAVEPOINT s;
ALTER TABLE simhash_catalog.statement_end DISABLE TRIGGER answer_rows;
INSERT INTO parent VALUES (100, 1, 5);
ROLLBACK TO s;
INSERT INTO parent VALUES (101, 1, 5), (102, 1, 5);
COMMIT;
BEGIN;
SAVEPOINT s;
ALTER TABLE simhash_catalog.statement_end DISABLE TRIGGER answer_rows;
INSERT INTO parent VALUES (103, 1, 5);
ROLLBACK TO s;
COMMIT;
SELECT * FROM parent_cluster WHERE key >= 100;

SET client_min_messages = warning;
DROP SCHEMA within_test CASCADE;
DROP ROLE regress_within_writer;
DROP ROLE regress_within_owner;
