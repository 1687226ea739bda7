-- Each function that is marked parallel safe answers in a worker what it answers without one: the list is the catalog's,
-- arguments are found by name and type. Then searches by the index within workers.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS simhash_dedup;
CREATE SCHEMA parallel_test;
SET search_path = parallel_test, public;

CREATE TABLE doc (id bigint, subject text, body text, note text, fp bigint, other bigint, hex text,
	big_hex text) WITH (parallel_workers = 2);
INSERT INTO doc SELECT i, 'subject ' || i % 7, CASE WHEN i % 40 <> 0 THEN format('the street lamp number %s is dark since week %s', i % 97,
	i % 5) END, '丹江口库区移民问题 ' || i % 9,
	CASE WHEN i % 30 <> 0 THEN hashint8extended(i % 50, 1) # (1::bigint << (i % 61)::int) END, hashint8extended(i, 2), md5(i::text)::text,
	md5(i::text) || md5(i || 'b')
FROM generate_series(1, 400) i;
CREATE INDEX doc_sim ON doc USING simhash (fp);
CREATE INDEX doc_scoped ON doc USING simhash (subject, (fp # 0));
ANALYZE doc;

-- Arguments by name (NULL: any) and type.
CREATE TABLE argument (name text, type regtype, expression text);
INSERT INTO argument VALUES
	('text', 'text', 'body'), ('a', 'text', 'body'), ('b', 'text', 'subject || body'), ('preset', 'text', '''plain'''),
	('documents', 'bigint', 'id'), ('terms', 'text[]', 'ARRAY[body, ''a'']'), ('columns', 'text[]', 'ARRAY[subject, body]'),
	('scope', 'bigint', 'id % 3'), ('about', 'text[]', 'ARRAY[''1'', ''2'']'), ('differ', 'text[]', 'ARRAY[body]'),
	('record', 'record', 'd'), ('weights', 'jsonb', '''{"subject": 1, "body": 2}'''), ('options', 'jsonb', '''{"tf": "set"}'''),
	('value', 'jsonb', 'to_jsonb(d)'),
	('tokens', 'text[]', 'string_to_array(body, '' '')'), ('weights', 'float8[]', 'NULL'),
	('lexemes', 'tsvector', 'to_tsvector(''simple'', body)'),
	('a', 'float8[]', 'ARRAY[id, 2, 3]'), ('b', 'float8[]', 'ARRAY[1, id % 7, 5]'), ('jaccard', 'float8', '1.0 / (1 + id)'),
	('min_jaccard', 'float8', '0.01'), ('min_length', 'int', '12'), ('mu', 'float8', '0.7'),
	('a', 'bigint', 'fp'), ('b', 'bigint', 'other'), ('fingerprint', 'bigint', 'fp'), ('centre', 'bigint', 'other'),
	('mask', 'bigint', '(other & 255)'),
	('mask_a', 'bigint', '(other & 4095)'), ('mask_b', 'bigint', '3'), ('met_at', 'bigint', 'NULL'),
	('a', 'bigint[]', 'fingerprint_parts_from_hex(big_hex)'), ('b', 'bigint[]', 'fingerprint_parts_from_hex(reverse(big_hex))'),
	('a', 'anyarray', 'ARRAY[id, id + 1]'), ('b', 'anyarray', 'ARRAY[id + 2, id + 1]'),
	('parts', 'bigint[]', 'fingerprint_parts_from_hex(big_hex)'), ('keys', 'bigint[]', 'ARRAY[id, id + 1, id + 2]'),
	('fingerprints', 'bigint[]', 'ARRAY[other, other # 3, fp]'),
	('a', 'bit', 'other::bit(128)'), ('b', 'bit', 'fp::bit(128)'),
	('hash', 'bit', '(other::bit(64) || fp::bit(64) || other::bit(64) || fp::bit(64))'),
	('hash', 'bytea', 'decode(big_hex, ''hex'')'), ('pad', 'boolean', 'id % 2 = 0'), ('hash', 'numeric', 'id * 1000003'),
	('hash', 'text', 'big_hex'),
	('bits', 'int', NULL), ('ngram', 'int', '4'), ('context', 'int', '2'), ('functions', 'int', '20'), ('flips', 'int', '2'),
	('radius', 'int', '3'), ('distance', 'int', '(id % 64)::int'),
	('ball', 'hamming_ball', 'hamming_ball(other, 30)'), (NULL, 'hamming_ball', 'hamming_ball(other, (id % 60)::int)'),
	(NULL, 'cstring', 'format(''(%s,%s)'', other, id % 60)::cstring');
-- Where a name and a type do not say it: the argument's place among the function's, from 1.
CREATE TABLE special (function text, place int, expression text);
INSERT INTO special VALUES
	('fingerprint_from_hex(text,boolean)', 1, 'left(hex, 16)'), ('fingerprint_from_bits(bit,boolean)', 1, 'other::bit(64)'),
	('fingerprint_from_bytes(bytea,boolean)', 1, 'int8send(other)'),
	('simhash_explain(record,record,jsonb,text)', 1, 'ROW(subject, body)'),
	('simhash_explain(record,record,jsonb,text)', 2, 'ROW(body, subject)'),
	('simhash_explain(record,record,jsonb,text)', 3, '''{"f1": 1, "f2": 2}'''),
	('simhash_meet(bigint,bigint,integer)', 2, 'fp # 5');

-- Of all functions of the extension that are marked so. The planner calls those with arguments of type internal itself, and the
-- server runs no window function in a worker.
CREATE VIEW call AS
SELECT p.oid::regprocedure::text AS function, proretset,
	p.oid::regproc || '(' || string_agg(concat(CASE WHEN a.name <> '' THEN a.name || ' => ' END,
	'(', coalesce(s.expression, g.expression), ')', CASE WHEN a.type::text NOT IN ('record', 'bit', 'anyarray') THEN '::' || a.type::text END),
', ' ORDER BY a.place)
	FILTER (WHERE s.expression IS NOT NULL OR g.expression IS NOT NULL) || ')' AS expression,
	count(*) FILTER (WHERE s.function IS NULL AND g.type IS NULL AND a.type IS NOT NULL) AS unknown
FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
JOIN pg_proc p ON p.oid = d.objid
	LEFT JOIN LATERAL (SELECT row_number() OVER () AS place, type::regtype, coalesce(proargnames[row_number() OVER ()], '') AS name
		FROM unnest(proargtypes::oid[]) AS t (type)) a ON true
	LEFT JOIN argument g ON g.type = a.type AND coalesce(g.name, '') = a.name
	LEFT JOIN special s ON s.function = p.oid::regprocedure::text AND s.place = a.place
WHERE e.extname = 'simhash_dedup' AND proparallel = 's' AND NOT 'internal'::regtype = ANY (proargtypes) AND prokind = 'f'
GROUP BY 1, 2, p.oid;
SELECT function AS "no argument is known for" FROM call WHERE unknown > 0 ORDER BY 1;

-- For each function a query of one hash. Sets are put in order by a query within it, which a worker may run.
CREATE VIEW asked AS SELECT function, format('SELECT sum(hashtextextended((%s)::text, 0)) FROM doc d',
	CASE WHEN proretset THEN format('SELECT string_agg(x::text, '' '' ORDER BY x::text) FROM %s x WHERE d.id > 0',
		coalesce(expression, function)) ELSE expression END) AS query
FROM call;
CREATE FUNCTION run(query text, OUT plan text, OUT answer text) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	plan := '';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	EXECUTE query INTO answer;
END $$;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE alone AS SELECT function, query, answer FROM asked, run(query);
SELECT function AS "gives nothing" FROM alone WHERE answer IS NULL ORDER BY 1;

CREATE FUNCTION in_workers() RETURNS TABLE (function text, without_worker text, wrong text) LANGUAGE sql AS $$
	SELECT function, CASE WHEN plan !~ 'Gather.*Seq Scan' THEN plan END,
		CASE WHEN r.answer IS DISTINCT FROM a.answer THEN r.answer || ', alone ' || a.answer END
	FROM alone a, run(query) r ORDER BY 1
$$;
-- The whole plan in one worker, where the server does that; then each worker a share of the rows.
SET max_parallel_workers_per_gather = 2;
SELECT count(set_config(name, 'on', false)) AS settings FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT count(without_worker) < 15 AS most_in_a_worker, string_agg(function || ': ' || wrong, '; ') AS wrong FROM in_workers();
SELECT count(set_config(name, 'off', false)) AS settings FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
SELECT * FROM in_workers() WHERE without_worker IS NOT NULL OR wrong IS NOT NULL;

-- Searches within workers: each worker searches the index for its rows, reads a bitmap that one of them made, or a partition.
RESET ALL;
SET search_path = parallel_test, public;
SET client_min_messages = warning;
CREATE TABLE big WITH (parallel_workers = 2) AS SELECT i::bigint AS id, 'subject ' || i % 7 AS subject, 'lamp number ' || i % 977 AS body,
	hashint8extended(i % 5000, 1) # (1::bigint << (i % 61)::int) AS fp
FROM generate_series(1, 30000) i;
CREATE INDEX big_sim ON big USING simhash (fp);
CREATE INDEX big_scoped ON big USING simhash (subject, (fp # 0));
CREATE TABLE parted (LIKE big) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (parallel_workers = 2);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1) WITH (parallel_workers = 2);
INSERT INTO parted SELECT * FROM big;
CREATE INDEX parted_sim ON parted USING simhash (fp);
CREATE TABLE centre WITH (parallel_workers = 2) AS SELECT id, fp # 3 AS q, subject FROM big WHERE id <= 200;
VACUUM ANALYZE;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE searched (what text, query text, answer text);
INSERT INTO searched SELECT what, query, (run(query)).answer FROM (VALUES
	('within', 'SELECT sum(c.id * d.id) FROM centre c JOIN big d ON d.fp <~> c.q <= 4'),
	('within a scope', 'SELECT sum(c.id * d.id) FROM centre c JOIN big d ON d.subject = c.subject AND d.fp # 0 <~> c.q <= 4'),
	('nearest', 'SELECT sum((SELECT sum(x) FROM (SELECT fp <~> c.q AS x FROM big ORDER BY fp <~> c.q LIMIT 7) x)) FROM centre c'),
	('nearest in a scope',
		'SELECT sum((SELECT sum(x) FROM (SELECT fp # 0 <~> c.q AS x FROM big d WHERE d.subject = c.subject ORDER BY fp # 0 <~> c.q LIMIT 7) x))
			FROM centre c'),
	('a bitmap', 'SELECT sum(id) FROM big WHERE fp <~> 1 <= 29'),
	('a bitmap of a scope', 'SELECT sum(id) FROM big WHERE subject = ''subject 3'' AND fp # 0 <~> 1 <= 31'),
	('partitions', 'SELECT sum(id) FROM parted WHERE fp <~> 1 <= 29'),
	('a join of three',
		'SELECT sum(simhash_jaccard(a.body, b.body) * a.id) FROM centre c JOIN big a ON a.fp <~> c.q <= 3
			JOIN big b ON b.fp <~> a.fp <= 1')) v (what, query);
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET parallel_leader_participation = off;
CREATE FUNCTION searched_in_workers() RETURNS TABLE (what text, plan text, wrong text) LANGUAGE sql AS $$
	SELECT what, concat_ws(' ', substring(plan, 'Gather'),
		CASE WHEN plan ~ 'Gather.*(Parallel Bitmap|Parallel Seq Scan|Parallel Append)' THEN 'of shares' END,
		substring(plan, 'Gather.*((?:Bitmap )?Index Scan) (?:using|on) (?:big|parted)')),
		CASE WHEN r.answer IS DISTINCT FROM s.answer THEN r.answer || ', alone ' || s.answer END
	FROM searched s, run(query) r ORDER BY 1
$$;
SELECT * FROM searched_in_workers() WHERE what !~ 'bitmap|partitions';
SET enable_indexscan = off;
SET enable_seqscan = off;
SELECT * FROM searched_in_workers() WHERE what ~ 'bitmap|partitions';
RESET enable_indexscan;
RESET enable_seqscan;
SELECT count(set_config(name, 'on', false)) AS settings FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT count(*) > 5 AS in_a_worker, string_agg(what || ': ' || wrong, '; ') AS wrong FROM searched_in_workers()
WHERE plan ~ 'Gather' OR wrong IS NOT NULL;

RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA parallel_test CASCADE;
