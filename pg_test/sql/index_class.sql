-- The operator class, what amvalidate finds wrong with others, and the statistics counters.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
RESET client_min_messages;

SELECT opcname, opcdefault, opcintype::regtype, amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'simhash';

-- Equality is not in the class: the planner would pick the index for it.
SELECT amopstrategy, amoppurpose, amopopr::regoperator
FROM pg_amop JOIN pg_am a ON a.oid = amopmethod WHERE amname = 'simhash' ORDER BY 1;

CREATE OPERATOR CLASS wrong_type FOR TYPE text USING simhash AS
	OPERATOR 3 = (text, text);
CREATE OPERATOR CLASS wrong_number FOR TYPE bigint USING simhash AS
	OPERATOR 1 <@ (bigint, hamming_ball), OPERATOR 2 = (bigint, bigint);
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname LIKE 'wrong%' ORDER BY 1;
DROP OPERATOR FAMILY wrong_type USING simhash;
DROP OPERATOR FAMILY wrong_number USING simhash;

-- One scan counts once, and rows as they are read.
CREATE TABLE class_counters AS SELECT g AS id, g::bigint AS fp FROM generate_series(1, 2000) g;
CREATE INDEX class_counters_fp ON class_counters USING simhash (fp);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM class_counters WHERE fp <~> 5 <= 1;
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT count(*) FROM class_counters WHERE fp <~> 5 <= 1;
RESET ALL;
SELECT pg_stat_force_next_flush();
SELECT idx_scan, idx_tup_read, idx_tup_fetch
FROM pg_stat_user_indexes WHERE indexrelname = 'class_counters_fp';
DROP TABLE class_counters;
