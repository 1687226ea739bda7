-- Uniform fingerprints; every twentieth is an earlier one with 1 to 3 bits turned over.
CREATE EXTENSION simhash_dedup;
CREATE TABLE t (id bigint NOT NULL, fp bigint NOT NULL);
INSERT INTO t
SELECT i, CASE WHEN i % 20 <> 0 THEN hashint8extended(i, 1)
	ELSE hashint8extended(i - 10, 1) # (1::bigint << (i / 20 % 61)::int)
		# CASE WHEN i / 20 % 3 > 0 THEN 1::bigint << (i / 20 % 61 + 1)::int ELSE 0 END
		# CASE WHEN i / 20 % 3 > 1 THEN 1::bigint << (i / 20 % 61 + 3)::int ELSE 0 END END
FROM generate_series(1, :rows) i;
CREATE TABLE centre (n int PRIMARY KEY, fp bigint NOT NULL);
INSERT INTO centre (n, fp)
SELECT n, fp FROM generate_series(1, 10000) n JOIN t ON t.id = 1 + abs(hashint8extended(n, 2) % :rows);
VACUUM ANALYZE centre;
