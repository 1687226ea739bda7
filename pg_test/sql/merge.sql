-- MERGE: its join searches the index, and the trigger simhash_flag_duplicate() judges each row that it stores,
-- and a row that it moves to another partition once.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
RESET client_min_messages;
CREATE SCHEMA merge;
SET search_path = merge, public;

-- Three rows within distance 2 of each of 10 fingerprints, and 2,970 others.
CREATE TABLE t AS SELECT i AS id, hashint8extended(i % 1000, 1) # (i / 1000) AS fp FROM generate_series(0, 2999) i;
CREATE INDEX t_fp ON t USING simhash (fp);
CREATE TABLE bare AS SELECT id, fp FROM t WHERE id < 10;
ANALYZE t, bare;
CREATE TABLE near AS SELECT t.id FROM t JOIN bare b ON bit_count((t.fp # b.fp)::bit(64)) <= 3;
SET enable_bitmapscan = off;
SET enable_material = off;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) MERGE INTO t USING bare b ON t.fp <~> b.fp <= 3 WHEN MATCHED THEN DELETE;
MERGE INTO t USING bare b ON t.fp <~> b.fp <= 3 WHEN MATCHED THEN DELETE;
RESET enable_bitmapscan;
RESET enable_material;
RESET enable_memoize;
SELECT count(*) AS near, count(t.id) AS still_there, (SELECT count(*) FROM t) AS others FROM near LEFT JOIN t USING (id);

-- Rows of two partitions, of which the second has its columns in another order. A user has decided that 2 and 4 are
-- no duplicates.
CREATE TABLE parted (id int, region text, fp bigint, dup int) PARTITION BY LIST (region);
CREATE TABLE parted_north PARTITION OF parted FOR VALUES IN ('north');
CREATE TABLE parted_south (extra int, dup int, fp bigint, region text, id int);
ALTER TABLE parted_south DROP COLUMN extra;
ALTER TABLE parted ATTACH PARTITION parted_south FOR VALUES IN ('south');
CREATE INDEX ON parted USING simhash (fp);
CREATE TRIGGER flag BEFORE INSERT OR UPDATE ON parted
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'duplicate_of=dup', 'key=id');
INSERT INTO parted VALUES (1, 'north', 0), (2, 'south', 1), (3, 'north', 255), (4, 'north', 254);
SELECT id, dup FROM parted ORDER BY id;
UPDATE parted SET dup = NULL WHERE id IN (2, 4);

-- 2 only moves and stays as decided. 4 gets another fingerprint as well: it is judged again. 5 is stored with the
-- fingerprint of 2, which has moved just before, and judged all the same.
MERGE INTO parted AS p USING (VALUES (2, 'north', 1), (4, 'south', 253), (5, 'south', 1)) AS new (id, region, fp)
	ON p.id = new.id
	WHEN MATCHED THEN UPDATE SET region = new.region, fp = new.fp
	WHEN NOT MATCHED THEN INSERT (id, region, fp) VALUES (new.id, new.region, new.fp);
SELECT tableoid::regclass, id, fp, dup FROM parted ORDER BY id;

-- A copy that a trigger stores while the row arrives is judged, and the row is not.
CREATE FUNCTION copy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.id < 1000 THEN
		INSERT INTO merge.parted VALUES (NEW.id + 1000, 'north', NEW.fp);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER a_copy BEFORE INSERT ON parted_south FOR EACH ROW EXECUTE FUNCTION copy();
MERGE INTO parted AS p USING (VALUES (3)) AS new (id) ON p.id = new.id WHEN MATCHED THEN UPDATE SET region = 'south';
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id IN (3, 1003) ORDER BY id;
DROP TRIGGER a_copy ON parted_south;
DROP TRIGGER flag ON parted;

-- mode=skip keeps 61, a duplicate that moves, and leaves out 62, one that is new.
INSERT INTO parted VALUES (60, 'north', 7000), (61, 'north', 7000);
CREATE TRIGGER skip BEFORE INSERT OR UPDATE ON parted
	FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate('fingerprint=fp', 'mode=skip');
MERGE INTO parted AS p USING (VALUES (61), (62)) AS new (id) ON p.id = new.id
	WHEN MATCHED THEN UPDATE SET region = 'south'
	WHEN NOT MATCHED THEN INSERT (id, region, fp) VALUES (new.id, 'south', 7000);
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id BETWEEN 60 AND 69 ORDER BY id;

-- Another trigger leaves out 66 on arrival, so that no arrival follows its move: 1066 is judged as the new row that
-- it is, and left out. 1067 is no duplicate.
CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE WHEN NEW.id < 1000 THEN NULL ELSE NEW END;
END $$;
CREATE TRIGGER a_leave_out BEFORE INSERT ON parted_south FOR EACH ROW EXECUTE FUNCTION leave_out();
INSERT INTO parted VALUES (66, 'north', -1);
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id = 66;
MERGE INTO parted AS p USING (VALUES (66), (1066)) AS new (id) ON p.id = new.id
	WHEN MATCHED THEN UPDATE SET region = 'south'
	WHEN NOT MATCHED THEN INSERT (id, region, fp) VALUES (new.id, 'south', 7000);
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id IN (66, 1066) ORDER BY id;
MERGE INTO parted AS p USING (VALUES (1067)) AS new (id) ON p.id = new.id
	WHEN NOT MATCHED THEN INSERT (id, region, fp) VALUES (new.id, 'south', -256);
SELECT tableoid::regclass, id, fp, dup FROM parted WHERE id IN (66, 1066, 1067) ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA merge CASCADE;
