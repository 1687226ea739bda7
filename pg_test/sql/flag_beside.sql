-- Others' triggers that store rows in a table with simhash_flag_duplicate(): a near row is found, or refused.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA flag_beside;
SET search_path = flag_beside, public;
CREATE FUNCTION copied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		INSERT INTO note (id, body, tenant) VALUES (new.id + 100, new.body || '!', new.tenant + TG_ARGV[0]::int);
	END IF;
	RETURN new;
END $$;
-- What is stored of row 1 and its copy, by the name and the time of the other trigger.
CREATE FUNCTION stored(argument text, other text, tenant int DEFAULT 0) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	DROP TABLE IF EXISTS note;
	CREATE TABLE note (id int PRIMARY KEY, body text, tenant int, fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED, f boolean, d int);
	CREATE INDEX ON note USING simhash (fp);
	EXECUTE format('CREATE TRIGGER m BEFORE INSERT OR UPDATE ON note FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate(%L, %L, %L)', 'fingerprint=fp', 'within=tenant', argument);
	EXECUTE format('CREATE TRIGGER %s INSERT ON note FOR EACH ROW EXECUTE FUNCTION copied(%s)', other, tenant);
	INSERT INTO note VALUES (1, 'The library opens at nine on Saturdays', 1);
	RETURN (SELECT string_agg(format('%s%s%s', id, '*' || nullif(f, false), '=' || d), ', ' ORDER BY id) FROM note);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN format('%s: %s. %s', SQLSTATE, SQLERRM, hint);
END $$;
SELECT argument, other, stored(argument, other)
FROM unnest('{flag=f,duplicate_of=d,mode=reject,mode=skip,mode=conflict}'::text[]) argument, unnest('{z BEFORE,a BEFORE,z AFTER}'::text[]) other;
-- A row of another scope is not near, nor is one with the same key, which is the row itself.
SELECT stored('mode=reject', 'z BEFORE', 1);
CREATE OR REPLACE FUNCTION copied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() > 1 THEN
		RETURN new;
	END IF;
	INSERT INTO note (id, body, tenant) VALUES (new.id, new.body, new.tenant);
	RETURN NULL;
END $$;
SELECT stored('mode=reject', 'z BEFORE');
-- A check of rows sees what is stored, with generated columns.
CREATE TABLE offer (id int PRIMARY KEY, fp bigint, shop text, shop_key text GENERATED ALWAYS AS (lower(shop)) STORED);
CREATE INDEX ON offer USING simhash (fp);
CREATE FUNCTION one_shop(a offer, b offer) RETURNS boolean LANGUAGE sql AS 'SELECT a.shop_key = b.shop_key';
CREATE FUNCTION offered() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		INSERT INTO offer VALUES (new.id + 100, new.fp, TG_ARGV[0]);
	END IF;
	RETURN new;
END $$;
CREATE TRIGGER m BEFORE INSERT ON offer FOR EACH ROW
	EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip', 'checked_by=one_shop');
CREATE TRIGGER z BEFORE INSERT ON offer FOR EACH ROW EXECUTE FUNCTION offered('A');
INSERT INTO offer VALUES (1, 0, 'b');
INSERT INTO offer VALUES (2, 1, 'a');
INSERT INTO offer VALUES (3, -1, 'a');
TABLE offer;
DROP SCHEMA flag_beside CASCADE;
