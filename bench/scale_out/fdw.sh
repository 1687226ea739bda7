#!/usr/bin/env bash
# make bench-fdw: searches and pairs over three servers with postgres_fdw, next to one server that has all rows; four
# throw-away servers on this machine. Leaves fdw.txt and fdw.csv in OUT. ROWS rows in all, QUESTIONS questions.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

OUT=${OUT:-$ROOT/target/fdw}
ROWS=${ROWS:-1000000}
QUESTIONS=${QUESTIONS:-60}
SETTINGS=('shared_buffers = 512MB' 'autovacuum = off' 'fsync = off' 'jit = off' 'max_wal_size = 8GB' 'checkpoint_timeout = 1h'
	'maintenance_work_mem = 256MB' 'work_mem = 256MB' 'max_parallel_workers_per_gather = 0')

sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# Fingerprints like no other, but that every twentieth row differs from an earlier one in two bits.
functions() {
	sql -c 'CREATE EXTENSION simhash_dedup' -c "CREATE FUNCTION fp_of(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
		'SELECT CASE WHEN i % 20 = 0 THEN hashint8extended(i / 20, 1) # (1::bigint << (i % 61)::int) # (1::bigint << 63 - (i % 3)::int)
			ELSE hashint8extended(i, 1) END'"
}

# share CONDITION: the rows of a server. Of those that have a near-duplicate, 2,000 also have a text.
share() {
	echo "CREATE TABLE share (id bigint PRIMARY KEY, part int, fp bigint);
		INSERT INTO share SELECT i, i % 3, fp_of(i) FROM generate_series(1, $ROWS) i WHERE $1;
		CREATE INDEX share_fp ON share USING simhash (fp);
		CREATE TABLE texts (id bigint PRIMARY KEY, part int, fp bigint, body text);
		INSERT INTO texts SELECT i, i % 3, fp_of(i), 'the text of a row ' || repeat(md5((fp_of(i) >> 3)::text), 60)
			FROM generate_series(1, 20000) i WHERE $1 AND i <= least($ROWS, 20000);
		CREATE TABLE question (part int, n int, fp bigint);
		CREATE TABLE copied (LIKE question);
		VACUUM ANALYZE"
}

# tree NAME TABLE COLUMNS SERVER OPTIONS: foreign partitions of one table over the three servers.
tree() {
	local i
	echo "CREATE TABLE $1 ($3) PARTITION BY LIST (part);"
	for i in 0 1 2; do
		echo "CREATE FOREIGN TABLE $1_$i PARTITION OF $1 FOR VALUES IN ($i) SERVER $4$i OPTIONS (table_name '$2'$5);"
	done
	echo "ANALYZE $1;"
}

trees() {
	local i columns='id bigint, part int, fp bigint'
	for i in 0 1 2; do
		echo "CREATE SERVER s$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work/s$i', dbname 'postgres', extensions 'simhash_dedup');
			CREATE SERVER bare$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work/s$i', dbname 'postgres');
			CREATE USER MAPPING FOR CURRENT_USER SERVER s$i;
			CREATE USER MAPPING FOR CURRENT_USER SERVER bare$i;"
	done
	tree fetch_100 share "$columns" s ''
	for i in 10 1000 10000; do
		tree "fetch_$i" share "$columns" s ", fetch_size '$i'"
	done
	tree async share "$columns" s ", async_capable 'true'"
	tree async_10000 share "$columns" s ", async_capable 'true', fetch_size '10000'"
	tree remote_estimate share "$columns" s ", use_remote_estimate 'true'"
	tree no_extensions share "$columns" bare ''
	tree texts_far texts "$columns, body text" s ", fetch_size '10000'"
	tree question question 'part int, n int, fp bigint' s ", batch_size '1000'"
	tree copied copied 'part int, n int, fp bigint' s ", batch_size '1000'"
	echo "INSERT INTO question SELECT part, n, fp FROM batch, generate_series(0, 2) part;
		ANALYZE question"
}

begin_benchmark "${SETTINGS[@]}"
trap 'for i in 0 1 2; do remove_cluster "$work/s$i"; done; remove_cluster "$work"' EXIT
for i in 0 1 2; do
	as_postgres mkdir "$work/s$i"
	start_cluster "$work/s$i" "${SETTINGS[@]}"
	functions
	share "i % 3 = $i" | sql
done
export PGHOST=$work PGOPTIONS='-c client_min_messages=warning'
functions
share true | sql
sql <<-SQL
	ALTER TABLE share RENAME TO whole;
	DROP TABLE question, copied;
	CREATE TABLE asked AS SELECT row_number() OVER (ORDER BY hashint8(id))::int AS n, fp # (1::bigint << (id % 60)::int) AS fp FROM whole ORDER BY 1 LIMIT 1000;
	CREATE TABLE batch AS SELECT row_number() OVER ()::int AS n, fp # 1 AS fp FROM whole WHERE id % ($ROWS / 10000) = 0;
	ANALYZE asked, batch;
	CREATE EXTENSION postgres_fdw;
SQL
trees | sql
sql -f "$ROOT/bench/scale_out/fdw.sql"
# A join of two trees goes to the servers only by this setting.
export PGOPTIONS='-c enable_partitionwise_join=on -c plan_cache_mode=force_generic_plan'
sql -c 'SELECT what FROM way GROUP BY what ORDER BY min(place)' | while read -r what; do
	say "$what"
	sql -c "CALL measure('$what', $QUESTIONS)"
done
sql --csv -P tuples_only=off -c 'TABLE measured' >"$OUT/fdw.csv"
sql -P format=aligned -P tuples_only=off -P footer=off <<-SQL | tee "$OUT/fdw.txt"
	SELECT what, way, n, round(ms::numeric, 2) AS ms, round((ms / first_value(ms) OVER (PARTITION BY what ORDER BY place))::numeric, 1) AS ratio
	FROM (SELECT m.what, m.way, min(place) AS place, count(*) AS n, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms
		FROM measured m JOIN way USING (what, way) GROUP BY 1, 2) x ORDER BY place
SQL
