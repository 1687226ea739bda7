-- ROWS rows, of which every twentieth is a near copy of another: in a local table, and distributed. Skewed rows have one key of 16 bits
-- in common in a fifth of them. Variables: set (uniform or skewed), rows, shards (32 unless given).
\if :{?shards} \else \set shards 32 \endif
SET client_min_messages = error;
DROP TABLE IF EXISTS whole, doc, keyed;
CREATE TABLE whole (id bigint PRIMARY KEY, fp bigint);
INSERT INTO whole SELECT i, CASE WHEN :'set' = 'skewed' AND i % 5 = 1 THEN fp & ~65535::bigint | 4711 ELSE fp END FROM (
	SELECT i, CASE WHEN i % 20 = 0 THEN hashint8extended(i - 1 - i % 7, 0) # (1::bigint << (i * 7 % 64)::int) # (1::bigint << (i * 13 % 64)::int)
		ELSE hashint8extended(i, 0) END AS fp FROM generate_series(1, :rows) AS i) AS made;
CREATE INDEX whole_fp ON whole USING simhash (fp);
SELECT set_config('citus.shard_count', :'shards', false) \g /dev/null
CREATE TABLE doc (id bigint PRIMARY KEY, fp bigint);
CREATE INDEX doc_fp ON doc USING simhash (fp);
SELECT create_distributed_table('doc', 'id') \g /dev/null
INSERT INTO doc SELECT * FROM whole;
CREATE TABLE keyed (key bigint, id bigint, fp bigint);
SELECT create_distributed_table('keyed', 'key', colocate_with => 'none') \g /dev/null
ANALYZE whole;
ANALYZE doc;
