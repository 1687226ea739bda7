-- No setting changes a fingerprint: the functions are immutable in truth.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA settings_test;
SET search_path = settings_test, public, simhash_methods;

CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TYPE stay AS (since timestamptz, price money, share float8);
CREATE DOMAIN moment AS timestamptz;
CREATE TABLE samples (
	d date, ts timestamp, tz timestamptz, t time, ttz timetz, i interval, f4 float4, f8 float8, m money, by bytea, n numeric,
	dom moment, e colour, rc regclass, rt regtype, rp regprocedure, p point, bx box, c circle, po polygon, x xml, j jsonb,
	da date[], tza timestamptz[], ia interval[], fa float8[], ma money[], ba bytea[], ea colour[], ra regclass[], pa point[],
	dr daterange, tr tstzrange, tm tstzmultirange, s stay, sa stay[], a aclitem, txt text
);
INSERT INTO samples VALUES (
	'2024-03-02', '2024-03-02 01:02:03.456', '2024-03-02 01:02:03.456+05', '01:02:03', '01:02:03+05', '1 year 2 mons 3 days 04:05:06.7',
	0.1::float4 / 3, 0.1::float8 / 3, 1234.56, '\xdeadbeef00', 1234.5600, '2024-07-02 01:02:03+00', 'green', 'pg_class', 'timestamptz',
	'lower(text)', point(1 / 3.0, 2 / 3.0), box(point(1 / 3.0, 0), point(0, 1)), circle(point(1 / 3.0, 0), 1 / 7.0),
	'((0,0),(0.333333333333333314,0))', '<a>b</a>', '{"b": 1.50, "a": [true, null]}',
	'{2024-03-02,infinity}', '{2024-03-02 01:02:03+05}', '{1 mon,-1 day}', ARRAY[0.1::float8 / 3], '{5.5}',
	ARRAY['\xff00'::bytea], '{red,green}',
	'{pg_class,pg_type}', ARRAY[point(1 / 3.0, 0)], '[2024-01-01,2024-02-01)', '[2024-01-01 00:00+00,2024-02-01 00:00+00)',
	'{[2024-01-01 00:00+00,2024-02-01 00:00+00)}', ROW('2024-03-02 01:02:03+05', 9.99, 0.1::float8 / 3),
	ARRAY[ROW('2024-03-02 01:02:03+05', 9.99, 0.1::float8 / 3)::stay], 'postgres=r/postgres', 'plain words'
);
CREATE TEMP TABLE before AS
SELECT simhash64(r, '{"*": 1}') AS w64, simhash32(r, '{"*": 1}') AS w32, r::text AS shown, ARRAY(SELECT f::text FROM simhash_features(r, '{"*": 1}') AS f) AS features
FROM samples AS r;
-- Every column counts.
SELECT count(DISTINCT column_name) AS columns FROM samples AS r, simhash_features(r, '{"*": 1}');
CREATE FUNCTION same() RETURNS TABLE (fingerprint bool, narrow bool, text_changes bool) LANGUAGE sql AS $$
	SELECT simhash64(r, '{"*": 1}') = w64, simhash32(r, '{"*": 1}') = w32, r::text <> shown FROM settings_test.samples AS r, pg_temp.before
$$;

SELECT * FROM same();
SET DateStyle = 'SQL, DMY';
SELECT * FROM same();
SET DateStyle = 'German';
SELECT * FROM same();
RESET DateStyle;
SET TimeZone = 'Asia/Shanghai';
SELECT * FROM same();
SET TimeZone = 'America/St_Johns';
SELECT * FROM same();
RESET TimeZone;
SET IntervalStyle = 'iso_8601';
SELECT * FROM same();
SET IntervalStyle = 'sql_standard';
SELECT * FROM same();
RESET IntervalStyle;
SET extra_float_digits = -5;
SELECT * FROM same();
RESET extra_float_digits;
SET bytea_output = 'escape';
SELECT * FROM same();
RESET bytea_output;
SET lc_monetary = 'C';
SELECT fingerprint, narrow FROM same();
-- reg* types show a name with or without its schema.
CREATE SCHEMA settings_shadow CREATE TABLE pg_class () CREATE TABLE other ();
SET search_path = settings_shadow, pg_catalog, settings_test, public, simhash_methods;
SELECT * FROM same();
SET search_path = settings_test, public, simhash_methods;
DROP SCHEMA settings_shadow CASCADE;
SET client_encoding = 'LATIN1';
SELECT * FROM same();
RESET client_encoding;
SET xmloption = 'document';
SET quote_all_identifiers = on;
SELECT fingerprint, narrow FROM same();
RESET xmloption;
RESET quote_all_identifiers;

-- The catalog: labels and names change, the values do not.
ALTER TYPE colour RENAME VALUE 'green' TO 'verde';
SELECT * FROM same();

-- Types of extensions are written by their output functions, under fixed settings; string types are
-- text.
CREATE EXTENSION cube SCHEMA settings_test;
CREATE EXTENSION citext SCHEMA settings_test;
CREATE TABLE extended AS SELECT cube(ARRAY[0.1::float8 / 3]) AS c, ARRAY[cube(0.1::float8 / 3)] AS ca, 'Two Words'::citext AS w;
SELECT column_name, feature FROM extended AS r, simhash_features(r, '{"*": 1, "$features": ["words"]}');
SET extra_float_digits = -5;
SELECT column_name, feature FROM extended AS r, simhash_features(r, '{"*": 1, "$features": ["words"]}');
SHOW extra_float_digits;
RESET extra_float_digits;

DROP SCHEMA settings_test CASCADE;
