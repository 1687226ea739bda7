-- An attack on the names in the extension's SQL. Before CREATE EXTENSION, another role has put operators and functions with the
-- names that this SQL uses into the schema of the extension and into public, for arguments that match as well as the server's
-- own or better. The caller, a superuser, has pg_catalog last in the search_path, and runs every function of the extension:
-- none of the planted ones is called.
\set SHOW_CONTEXT never
\set home :DBNAME
CREATE DATABASE planted;
\c planted
SET client_min_messages = warning;
CREATE EXTENSION simhash_dedup;
-- The names that its functions use, and those of its internal functions.
CREATE TABLE names AS
	SELECT DISTINCT p.proname AS name FROM pg_proc AS p, (
		SELECT string_agg(pg_get_functiondef(d.objid), ' ') AS text FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
		WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND e.extname = 'simhash_dedup') AS source
	WHERE p.pronamespace = 'pg_catalog'::regnamespace AND text ~ ('\m' || p.proname || '\(')
		OR p.pronamespace = 'simhash_catalog'::regnamespace;
SELECT count(*) > 40 AS many, bool_or(name = 'format') AND bool_or(name = 'string_agg') AND bool_or(name = 'pg_partition_tree')
	AND bool_or(name = 'jaccard_at_least') AS found FROM names;
DROP EXTENSION simhash_dedup;

CREATE TABLE public.doc (id int8, body text, fp int8, dup int8, flag bool);
INSERT INTO public.doc SELECT i, 'word' || i % 5 || ' common text', i % 3, NULL, NULL FROM generate_series(1, 30) AS i;
CREATE TABLE public.parts (id int8, body text) PARTITION BY HASH (id);
CREATE TABLE public.part PARTITION OF public.parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO public.parts SELECT id, body FROM public.doc;
CREATE TABLE public.cluster (key int8 PRIMARY KEY, cluster_id int8 NOT NULL);
CREATE TABLE public.marked (id int8 PRIMARY KEY, body text, fp int8, dup int8);

CREATE SCHEMA planted;
DO $$
DECLARE
	types text[] := '{text,name,"\"char\"",varchar,oid,regclass,int2,int4,int8,numeric,float8,bool,tid,uuid,jsonb,text[]}';
	fewer text[] := '{text,name,oid,regclass,int4,int8,numeric,jsonb,text[]}';
	operators text[] := '{=,<>,<,<=,>,>=,+,-,*,/,||,->,->>,@>,<@,~,~~,<~>,~=}';
	here text;
	l text;
	r text;
	o text;
	n text;
BEGIN
	FOREACH here IN ARRAY '{planted,public}'::text[] LOOP
		FOREACH l IN ARRAY types LOOP
			FOREACH r IN ARRAY types LOOP
				EXECUTE format($f$CREATE FUNCTION %s.planted(%s, %s) RETURNS boolean LANGUAGE plpgsql AS
					'BEGIN RAISE EXCEPTION ''planted operator of %s and %s was called''; END'$f$, here, l, r, l, r);
				FOREACH o IN ARRAY operators LOOP
					CONTINUE WHEN l IN ('int8', 'text') AND r = l AND o IN ('<~>', '~=');
					EXECUTE format('CREATE OPERATOR %s.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s.planted)', here, o, l, r, here);
				END LOOP;
			END LOOP;
		END LOOP;
		FOR n IN SELECT name FROM names LOOP
			FOREACH l IN ARRAY types LOOP
				EXECUTE format($f$CREATE FUNCTION %s.%I(%s) RETURNS text LANGUAGE plpgsql AS
					'BEGIN RAISE EXCEPTION ''planted function %s was called''; END'$f$, here, n, l, n);
			END LOOP;
			FOREACH l IN ARRAY fewer LOOP
				FOREACH r IN ARRAY fewer LOOP
					EXECUTE format($f$CREATE FUNCTION %s.%I(%s, %s) RETURNS text LANGUAGE plpgsql AS
						'BEGIN RAISE EXCEPTION ''planted function %s was called''; END'$f$, here, n, l, r, n);
					CONTINUE WHEN here = 'public';
					EXECUTE format($f$CREATE FUNCTION %s.%I(text, %s, %s) RETURNS text LANGUAGE plpgsql AS
						'BEGIN RAISE EXCEPTION ''planted function %s was called''; END'$f$, here, n, l, r, n);
				END LOOP;
			END LOOP;
			EXECUTE format($f$CREATE FUNCTION %s.%I(text, text, text[], text, boolean) RETURNS int LANGUAGE plpgsql AS
				'BEGIN RAISE EXCEPTION ''planted function %s was called''; END'$f$, here, n, n);
		END LOOP;
	END LOOP;
	CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''planted function now was called''; END';
	CREATE FUNCTION public.gen_random_uuid() RETURNS uuid
		LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''planted function gen_random_uuid was called''; END';
END $$;
SET search_path = planted, public, pg_catalog;
-- The planted ones are found first: here they are called.
SELECT 1::int4 = 1::int4;
SELECT length('a'::text);

CREATE EXTENSION simhash_dedup SCHEMA planted;
CREATE INDEX ON public.doc USING simhash (fp);
CREATE TRIGGER assign AFTER INSERT ON public.doc
	FOR EACH ROW EXECUTE FUNCTION simhash_catalog.maintain_clusters('clusters=public.cluster', 'key=id', 'fingerprint=fp');
CREATE INDEX ON public.marked USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON public.marked
	FOR EACH ROW EXECUTE FUNCTION planted.simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id',
		'text=body', 'among=originals');
INSERT INTO public.doc (id, body, fp) VALUES (31, 'x', 0);
INSERT INTO public.marked VALUES (1, 'one text', 5, NULL), (2, 'one text', 5, NULL);
UPDATE public.marked SET fp = 4;
SELECT count(*) FROM public.cluster;
SELECT id, dup FROM public.marked;
SELECT count(*) FROM planted.simhash_pairs('public.doc', 'id', 'fp', 3);
SELECT count(*) FROM planted.simhash_clusters('public.doc', 'id', 'fp', text => 'body');
SELECT count(*) FROM planted.simhash_index_verify('public.doc_fp_idx', true);

\c :home
DROP DATABASE planted;
