-- The trigger simhash_flag_duplicate() in random statements of many rows: each row is judged a second time, by reading the
-- table, and the two must agree.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA judged_test;
SET search_path = judged_test, public;
RESET client_min_messages;

CREATE FUNCTION distance(a bigint, b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT bit_count((a # b)::bit(64))';
CREATE TABLE t (id int PRIMARY KEY, fp bigint, is_dup boolean, dup int, tenant int DEFAULT 1);
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE FUNCTION fire(arguments text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER flag BEFORE INSERT OR UPDATE ON t FOR EACH ROW
		EXECUTE FUNCTION simhash_flag_duplicate(''fingerprint=fp'', %s)', arguments);
END $$;

CREATE UNLOGGED TABLE judged (event text, is_dup boolean);
-- The keys that may be told: those of the originals of the nearest rows; where such a one is gone or of another tenant, of the
-- nearest rows without a mark. NULL: it is an original.
CREATE FUNCTION may_tell(new t) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE
	n t;
	o t;
	next int;
BEGIN
	FOR n IN SELECT * FROM t WHERE id <> new.id AND tenant = new.tenant AND distance(fp, new.fp) <= 3
		AND distance(fp, new.fp) = (SELECT min(distance(fp, new.fp)) FROM t WHERE id <> new.id AND tenant = new.tenant)
	LOOP
		o := n;
		next := n.dup;
		WHILE next <> new.id LOOP
			SELECT * INTO o FROM t WHERE id = next;
			next := o.dup;
		END LOOP;
		IF next = new.id THEN
			RETURN NEXT NULL;
		ELSIF o.id IS NOT NULL AND (n.dup IS NULL OR o.tenant = new.tenant) THEN
			RETURN NEXT o.id;
		ELSE
			RETURN QUERY SELECT id FROM (SELECT id, rank() OVER (ORDER BY distance(fp, new.fp)) FROM t WHERE id <> new.id
				AND tenant = new.tenant AND dup IS NULL AND distance(fp, new.fp) <= 3) r WHERE rank = 1;
			IF NOT FOUND THEN
				RETURN NEXT NULL;
			END IF;
		END IF;
	END LOOP;
	IF NOT FOUND THEN
		RETURN NEXT NULL;
	END IF;
END $$;
CREATE FUNCTION judge() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	-- The original of others stays one.
	stays CONSTANT boolean := TG_OP = 'UPDATE' AND EXISTS (SELECT FROM t WHERE dup = NEW.id AND id <> NEW.id);
	told CONSTANT int[] := CASE WHEN stays THEN ARRAY[NULL::int] ELSE ARRAY(SELECT may_tell(NEW)) END;
BEGIN
	IF TG_OP = 'INSERT' OR (NEW.fp, NEW.tenant) IS DISTINCT FROM (OLD.fp, OLD.tenant) THEN
		IF NEW.is_dup <> (NEW.dup IS NOT NULL) OR NOT coalesce(NEW.dup = ANY (told), array_position(told, NULL) IS NOT NULL) THEN
			RAISE EXCEPTION 'row % of %: is_dup %, dup %, not one of %', NEW, TG_OP, NEW.is_dup, NEW.dup, told;
		END IF;
		INSERT INTO judged VALUES (TG_OP, NEW.is_dup);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER judge BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION judge();
-- 20 families, and a copy of a row now and then.
CREATE FUNCTION random_fp() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT hashint8extended(floor(random() * 20)::int, 5) # CASE WHEN random() < 0.3 THEN 0 ELSE
		(1::bigint << floor(random() * 63)::int) # (1::bigint << floor(random() * 63)::int) # floor(random() * 4)::bigint END
$$;
CREATE PROCEDURE random_history(wanted int) LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	affected int;
BEGIN
	WHILE n < wanted LOOP
		BEGIN
			CASE floor(random() * 6)
			WHEN 0 THEN
				UPDATE t SET fp = random_fp() WHERE random() < 0.3;
			WHEN 1 THEN
				UPDATE t SET tenant = 1 + floor(random() * 2) WHERE random() < 0.2;
			WHEN 2 THEN
				INSERT INTO t SELECT floor(random() * 200), random_fp() FROM generate_series(1, 20)
				ON CONFLICT (id) DO NOTHING;
			WHEN 3 THEN
				DELETE FROM t WHERE random() < 0.5;
			ELSE
				-- Ends in an error now and then: a key that is there.
				INSERT INTO t SELECT floor(random() * 10000), random_fp(), NULL, NULL, 1 + floor(random() * 2)
				FROM generate_series(1, 60);
			END CASE;
			GET DIAGNOSTICS affected = ROW_COUNT;
			n := n + affected;
		EXCEPTION WHEN unique_violation THEN
			NULL;
		END;
		COMMIT;
		IF pg_relation_size('t') > 40000 THEN
			TRUNCATE t;
		END IF;
	END LOOP;
END $$;
SELECT setseed(0.17);
SELECT fire($$'flag=is_dup', 'duplicate_of=dup', 'within=tenant'$$);
CALL random_history(10000);
CREATE INDEX t_scoped ON t USING simhash (tenant, fp);
CALL random_history(10000);
SELECT event, is_dup, count(*) > 500 AS many FROM judged GROUP BY event, is_dup ORDER BY event, is_dup;
SET client_min_messages = warning;
DROP SCHEMA judged_test CASCADE;
