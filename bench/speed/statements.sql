-- What single statements take, where a page of docs/ quotes it: search.md, duplicates.md, search.md#within-a-tenant, media.md, passages.md,
-- performance.md, operations.md. Milliseconds by the clock, medians; ratios and pages read are what to trust on a busy machine.
--
--     psql -X -v rows=1000000 -f bench/speed/statements.sql     as a superuser, in a database with the extension; it makes a schema of its own
--
-- Rows: uniform fingerprints, each twentieth one bit from its neighbour. Half of them are of one tenant, three tenths of tenants of
-- a hundredth each, the rest of tenants of 50 rows.
\set ON_ERROR_STOP 1
\if :{?rows} \else \set rows 1000000 \endif
\set QUIET 1
\pset footer off
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS bench_statements CASCADE;
CREATE SCHEMA bench_statements;
SET search_path = bench_statements, public;
SET work_mem = '256MB';
SET maintenance_work_mem = '256MB';
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SELECT current_setting('server_version') AS server, current_setting('shared_buffers') AS shared_buffers, :rows AS rows;

-- The median time of a statement, in milliseconds, and the pages that one execution reads.
CREATE FUNCTION took(statement text, times int DEFAULT 5) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE began timestamptz; ms float8[];
BEGIN
	FOR i IN 1 .. times LOOP
		began := clock_timestamp();
		EXECUTE statement;
		ms := ms || extract(epoch FROM clock_timestamp() - began)::float8 * 1000;
	END LOOP;
	RETURN (SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY m)::numeric, 2) FROM unnest(ms) AS m);
END $$;
CREATE FUNCTION pages(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
	FOR i IN 1 .. 2 LOOP    -- the first one reads catalogs too
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || statement INTO plan;
	END LOOP;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
END $$;

CREATE TABLE t AS
SELECT i AS id, hashint8extended(i - (i % 20 = 0)::int, 1) # CASE WHEN i % 20 = 0 THEN 1::bigint << (i % 64)::int ELSE 0 END AS fp,
	CASE WHEN 10 * i <= 5 * :rows THEN 0 WHEN 10 * i <= 8 * :rows THEN 1 + 100 * i / :rows ELSE 1000 + i / 50 END AS tenant
FROM generate_series(1, :rows::bigint) AS i;
ALTER TABLE t ADD PRIMARY KEY (id);
CREATE INDEX t_fp ON t USING simhash (fp);
VACUUM ANALYZE t;

\echo A batch of new rows: a join through the index, and simhash_pairs_between
SELECT format('CREATE TABLE batch_%s AS SELECT id + %s AS id, fp # 2 AS fp FROM t WHERE id %% %1$s = 0; ANALYZE batch_%1$s', share, :rows)
FROM unnest(ARRAY[10000, 1000, 100, 10]) AS share \gexec
SELECT :rows / share AS "rows", by_join, between, round(by_join / between, 3) AS ratio
FROM unnest(ARRAY[10000, 1000, 100, 10]) AS share,
	took(format('SELECT count(*) FROM batch_%s AS b JOIN t ON t.fp <~> b.fp <= 3', share), 3) AS by_join,
	took(format($q$SELECT count(*) FROM simhash_pairs_between('batch_%s', 'id', 'fp', 't', 'id', 'fp', 3)$q$, share), 3) AS between;

\echo Pairs and clusters
CREATE VIEW seen AS SELECT * FROM t;
CREATE VIEW odd AS SELECT * FROM t WHERE id % 2 = 1;
CREATE VIEW even AS SELECT * FROM t WHERE id % 2 = 0;
SELECT call, took('SELECT count(*) FROM ' || call, 3) AS ms FROM unnest(ARRAY[$q$simhash_pairs('t', 'id', 'fp', 3)$q$, $q$simhash_pairs('seen', 'id', 'fp', 3)$q$,
	$q$simhash_pairs_between('odd', 'id', 'fp', 'even', 'id', 'fp', 3)$q$, $q$simhash_clusters('t', 'id', 'fp', 3)$q$, $q$simhash_pairs('t', 'id', 'fp', 8)$q$]) AS call;

\echo Wide radii, as a multiple of reading the table
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT radius, round(took(format('SELECT count(*) FROM t WHERE fp <~> 42 <= %s', radius)) / took('SELECT count(*) FROM t WHERE hamming(fp + 0, 42) <= 3'), 2) AS ratio
FROM unnest('{20,28,32,64}'::int[]) AS radius;
RESET enable_seqscan;
RESET enable_bitmapscan;

\echo Within 12 bits: a search, ten nearest, and 1,000 unlike rows stored without a trigger, flagged, and by get-or-create
SELECT took($q$SELECT count(*) FROM generate_series(1, 100) AS i, LATERAL (SELECT id FROM t WHERE fp <~> hashint8extended(i, 7) <= 12) AS near$q$) / 100 AS within_12,
	took($q$SELECT count(*) FROM generate_series(1, 100) AS i, LATERAL (SELECT id FROM t ORDER BY fp <~> hashint8extended(i, 7) LIMIT 10) AS near$q$) / 100 AS ten_nearest;
ALTER TABLE t ADD is_duplicate boolean;
CREATE SEQUENCE new_rows START 1000000000;
CREATE FUNCTION stored(arguments text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE ms numeric;
BEGIN
	IF arguments <> '' THEN
		EXECUTE 'CREATE TRIGGER measured BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(' || arguments || ')';
	END IF;
	ms := took('INSERT INTO t (id, fp, tenant) SELECT id, hashint8extended(id, 3), 0 FROM (SELECT nextval(''new_rows'') AS id FROM generate_series(1, 1000)) AS n
		ON CONFLICT (id) DO NOTHING', 9);
	DROP TRIGGER IF EXISTS measured ON t;
	RETURN ms;
END $$;
SELECT way, ms, round(ms / first_value(ms) OVER (ORDER BY place), 1) AS ratio FROM (SELECT place, way, stored(arguments) AS ms
	FROM (VALUES (1, 'plain', ''), (2, 'flag', $q$'fingerprint=fp', 'radius=12', 'flag=is_duplicate'$q$),
		(3, 'get or create', $q$'fingerprint=fp', 'radius=12', 'mode=conflict', 'key=id'$q$)) AS v (place, way, arguments) ORDER BY place OFFSET 0) AS m;

\echo Clusters kept by notes: a refresh of all rows, after one change, after 10,000
SELECT simhash_keep_clusters('t', 'id', 'fp', 3, refresh => 'manual');
SELECT took($q$SELECT simhash_refresh_clusters('t_cluster')$q$, 1) AS all_rows;
VACUUM ANALYZE t_cluster;
UPDATE t SET fp = fp # 4 WHERE id = 20;
SELECT took($q$SELECT simhash_refresh_clusters('t_cluster')$q$, 1) AS after_one;
UPDATE t SET fp = fp # 4 WHERE id % (:rows / 10000) = 0;
SELECT took($q$SELECT simhash_refresh_clusters('t_cluster')$q$, 1) AS after_10000;
SELECT simhash_drop_clusters('t_cluster');
VACUUM FULL t;

\echo Tenants: pages that a search reads by an index on (tenant, fp), and by one of its rows alone
CREATE INDEX t_tenant ON t USING simhash (tenant, fp);
CREATE TABLE one AS SELECT * FROM t WHERE tenant = 61;
CREATE TABLE half AS SELECT * FROM t WHERE tenant = 0;
CREATE INDEX ON one USING simhash (fp);
CREATE INDEX ON half USING simhash (fp);
DROP INDEX t_fp;
VACUUM ANALYZE t; VACUUM ANALYZE one; VACUUM ANALYZE half;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT rows_of, search, pages(format('SELECT id FROM t WHERE tenant = %s AND ', tenant) || condition) AS in_scope, pages(format('SELECT id FROM %s WHERE ', alone) || condition) AS alone
FROM (VALUES ('a hundredth', 61, 'one'), ('half', 0, 'half')) AS o (rows_of, tenant, alone),
	(VALUES ('within 3', 'fp <~> 42 <= 3'), ('within 8', 'fp <~> 42 <= 8'), ('ten nearest', 'true ORDER BY fp <~> 42 LIMIT 10')) AS s (search, condition);
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT i.relname AS index, round(pg_relation_size(i.oid)::numeric / c.reltuples::numeric, 1) AS bytes_a_row
FROM pg_class AS i JOIN pg_index ON indexrelid = i.oid JOIN pg_class AS c ON c.oid = indrelid WHERE i.relname IN ('t_tenant', 'half_fp_idx');

\echo Lists of tenants
SELECT n, rows_each, took(format(within, ids, 3)) AS within_3, took(format(within || ' ORDER BY fp <~> 42 LIMIT 10', ids, 12)) AS nearest_within_12,
	took(format('SELECT n.id FROM unnest(%L::bigint[]) AS l (tenant), LATERAL (SELECT id, fp <~> 42 AS d FROM t WHERE t.tenant = l.tenant ORDER BY fp <~> 42 LIMIT 10) AS n ORDER BY n.d LIMIT 10', ids)) AS by_lateral,
	took(format('SELECT id FROM t WHERE tenant = ANY (%L) ORDER BY fp <~> 42 LIMIT 10', ids)) AS all_sorted
FROM (VALUES (3, 'a hundredth', 61), (30, 'a hundredth', 51), (3, '50', 1000 + :rows / 50 - 3), (30, '50', 1000 + :rows / 50 - 30), (300, '50', 1000 + :rows / 50 - 300)) AS l (n, rows_each, first),
	LATERAL (SELECT array_agg(i)::text FROM generate_series(first, first + n - 1) AS i) AS a (ids), (SELECT 'SELECT id FROM t WHERE tenant = ANY (%L) AND fp <~> 42 <= %s') AS w (within);

\echo An index that grows: percent more rows than it was built from, twice :rows, and its bytes a row
CREATE TABLE grown AS SELECT hashint8extended(i, 5) AS fp FROM generate_series(1, 2 * :rows::bigint) AS i;
CREATE INDEX grown_fp ON grown USING simhash (fp);
CREATE TABLE size (percent int, bytes numeric);
INSERT INTO size SELECT 0, pg_relation_size('grown_fp') / (2.0 * :rows);
SELECT format('INSERT INTO grown SELECT hashint8extended(i, 5) FROM generate_series(%s::bigint, %s) AS i;
	INSERT INTO size SELECT %s, pg_relation_size(''grown_fp'') / %2$s.0', 2 * :rows * (100 + before) / 100 + 1, 2 * :rows * (100 + percent) / 100, percent)
FROM (SELECT percent::bigint, lag(percent, 1, 0) OVER (ORDER BY percent)::bigint AS before FROM unnest('{5,10,15,20,25,30,50,100}'::int[]) AS percent) AS p \gexec
SELECT string_agg(percent::text, ' | ' ORDER BY percent) AS percent, string_agg(round(bytes)::text, ' | ' ORDER BY percent) AS bytes FROM size;
DROP TABLE grown;

\echo Hashes of 256 bits
CREATE TABLE h AS SELECT id, ARRAY[hashint8extended(id, 1), hashint8extended(id, 2), hashint8extended(id, 3), hashint8extended(id, 4)] AS fp FROM t;
CREATE UNIQUE INDEX ON h (id);
CREATE INDEX ON h USING simhash ((fp[1]));
CREATE INDEX ON h USING simhash ((fp[2]));
CREATE INDEX ON h USING simhash ((fp[3]));
CREATE INDEX ON h USING simhash ((fp[4]));
VACUUM ANALYZE h;
CREATE FUNCTION ask(n bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE of bigint[] := (SELECT ARRAY[fp[1] # 7, fp[2] # 7, fp[3] # 7, fp[4] # 7] FROM bench_statements.h WHERE id = n);
BEGIN RETURN (SELECT count(*) FROM bench_statements.h WHERE hamming_parts_within(fp, of, 31)); END $$;
SELECT round(took('SELECT sum(ask(i)) FROM generate_series(1, 200) AS i') / 200, 2) AS a_search, took('SELECT count(*) FROM h WHERE hamming_parts(fp, ''{1,2,3,4}'') <= 31', 3) AS reading_all,
	took($q$SELECT count(*) FROM simhash_pairs('h', 'id', 'fp', 31)$q$, 1) AS all_pairs, round(pg_relation_size('h') / 1e6) AS table_mb, round(pg_relation_size('h_fp_idx') / 1e6) AS index_mb;
DROP TABLE h;

\echo Passages: a fiftieth of :rows texts of 2 kB, of which a tenth end with the same 60 words, and each fiftieth quotes a quarter of another one
CREATE TABLE letter AS
SELECT i AS id, string_agg(CASE WHEN i % 10 = 0 AND w > 270 THEN 'notice' || w WHEN i % 50 = 7 AND w BETWEEN 50 AND 130 THEN substr(md5((i - 1) || ' ' || w), 1, 2 + w % 7)
	ELSE substr(md5(i || ' ' || w), 1, 2 + w % 7) END, ' ' ORDER BY w) AS body
FROM generate_series(1, :rows / 50) AS i, generate_series(1, 330) AS w GROUP BY i;
SELECT took('CREATE TABLE p AS SELECT id, unnest(simhash_passages(body)) AS hash FROM letter', 1) AS hashes, took('CREATE INDEX p_hash ON p (hash, id)', 1) AS index,
	took('CREATE INDEX l_gin ON letter USING gin (simhash_passages(body))', 1) AS gin;
VACUUM ANALYZE p; VACUUM ANALYZE letter;
SELECT took('WITH common AS (SELECT hash FROM p GROUP BY hash HAVING count(*) BETWEEN 2 AND 100),
	candidate AS (SELECT DISTINCT p.id AS a, q.id AS b FROM common JOIN p USING (hash) JOIN p AS q USING (hash) WHERE p.id < q.id ORDER BY a, b)
	SELECT count(*) FROM candidate JOIN letter AS x ON x.id = a JOIN letter AS y ON y.id = b WHERE simhash_containment(x.body, y.body) >= 0.2', 1) AS all_pairs,
	(SELECT count(*) FROM p) AS hashes, round(pg_relation_size('letter') / 1e6) AS letter_mb, round(pg_relation_size('p') / 1e6) AS hashes_mb,
	round(pg_relation_size('p_hash') / 1e6) AS index_mb, round(pg_relation_size('l_gin') / 1e6) AS gin_mb;

\echo A load of 20,000 texts of 590 bytes through simhash_flag_duplicate, 30 % of them copies with another end, beside a fifth of :rows: how many times as long as without it
CREATE FUNCTION text_of(n bigint, ending text) RETURNS text RETURN (SELECT string_agg(md5(n || ' ' || i), ' ') || ' ' || ending FROM generate_series(1, 17) AS i);
CREATE TABLE stored AS SELECT i AS id, text_of(i, 'a') AS body FROM generate_series(1, :rows / 5) AS i;
ALTER TABLE stored ADD PRIMARY KEY (id), ADD fp bigint GENERATED ALWAYS AS (simhash64(body)) STORED, ADD flag boolean;
CREATE INDEX ON stored USING simhash (fp);
CREATE TABLE load AS SELECT i + :rows AS id, text_of(CASE WHEN i % 10 < 3 THEN i ELSE i + :rows END, 'b') AS body FROM generate_series(1, 20000) AS i;
CREATE FUNCTION load_takes(radius int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE began timestamptz; seconds float8;
BEGIN
	IF radius IS NOT NULL THEN
		EXECUTE format('CREATE TRIGGER f BEFORE INSERT ON stored FOR EACH ROW EXECUTE FUNCTION simhash_flag_duplicate(%L, %L, ''flag=flag'', ''text=body'')',
			'fingerprint=fp', 'radius=' || radius);
	END IF;
	began := clock_timestamp();
	INSERT INTO stored (id, body) TABLE load;
	seconds := extract(epoch FROM clock_timestamp() - began);
	RAISE SQLSTATE 'UNDO0';
EXCEPTION WHEN SQLSTATE 'UNDO0' THEN RETURN seconds;
END $$;
CREATE TABLE load_took (radius int, seconds float8);
SELECT 'VACUUM ANALYZE stored', format('INSERT INTO load_took SELECT %1$s, load_takes(%1$s)', coalesce(radius::text, 'NULL'))
FROM generate_series(1, 3), unnest('{NULL,3,8,10}'::int[]) AS radius \gexec
SELECT radius, round((percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) / (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FROM load_took WHERE radius IS NULL))::numeric, 1) AS times,
	round((50 * percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds))::numeric, 1) AS us_a_row
FROM load_took GROUP BY radius ORDER BY radius NULLS FIRST;

\echo The first statements of a session: a search, 50 more, 2,000 others, 50 more; Chinese words, and what the process grows by
CREATE INDEX t_fp ON t USING simhash (fp);
\connect
SET client_min_messages = warning;
SET enable_seqscan = off;
SELECT bench_statements.took('SELECT id FROM bench_statements.t WHERE fp <~> 1 <= 3', 1) AS first,
	bench_statements.took('SELECT count(*) FROM generate_series(1, 50) AS i JOIN bench_statements.t ON fp <~> hashint8extended(i, 7) <= 3', 1) AS next_50,
	bench_statements.took('SELECT count(*) FROM generate_series(1, 2000) AS i JOIN bench_statements.t ON fp <~> hashint8extended(i, 8) <= 3', 1) AS next_2000,
	bench_statements.took('SELECT count(*) FROM generate_series(1, 50) AS i JOIN bench_statements.t ON fp <~> hashint8extended(i, 9) <= 3', 1) AS later;
CREATE FUNCTION pg_temp.kilobytes() RETURNS int RETURN substring(pg_read_file('/proc/self/status') FROM 'RssAnon:\s+(\d+)')::int;
SELECT pg_temp.kilobytes() AS before, bench_statements.took($q$SELECT simhash64('路灯', preset => 'words')$q$, 1) AS first, bench_statements.took($q$SELECT simhash64('路灯', preset => 'words')$q$) AS later,
	pg_temp.kilobytes() AS after;
DROP SCHEMA bench_statements CASCADE;
