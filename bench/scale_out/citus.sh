#!/usr/bin/env bash
# make bench-citus: pairs, clusters and searches of ROWS rows on clusters of Citus with each of WORKERS workers, next to one
# table of the same server. Leaves pairs.csv and searches.csv in OUT, and prints medians of ROUNDS rounds. Needs the Citus that
# make test-citus has built.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"
# shellcheck source=tools/servers.sh
. "$(dirname "$0")/../../tools/servers.sh"

OUT=${OUT:-$ROOT/target/citus}
ROWS=${ROWS:-200000}
WORKERS=${WORKERS:-1 2 3}
ROUNDS=${ROUNDS:-3}
SEARCHES=${SEARCHES:-300}
HERE=$ROOT/bench/scale_out
SETTINGS=("shared_preload_libraries = 'citus'" 'shared_buffers = 256MB' 'work_mem = 64MB' 'max_connections = 200'
	'max_prepared_transactions = 200' 'wal_level = logical' 'max_worker_processes = 24' 'fsync = off' 'autovacuum = off'
	'jit = off' 'max_wal_size = 8GB' "citus.node_conninfo = 'sslmode=disable'" 'citus.enable_statistics_collection = off')

work=''
nodes=()
finish() {
	local node
	for node in "${nodes[@]}"; do remove_cluster "$node"; done
	[ -z "$work" ] || rm -rf "$work"
}
trap finish EXIT

sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# start_nodes N: a coordinator and N workers, each with a socket folder of its own.
start_nodes() {
	local dir
	nodes=()
	for _ in $(seq 0 "$1"); do
		dir=$(work_directory)
		nodes+=("$dir")
		start_cluster "$dir" "${SETTINGS[@]}" "citus.local_hostname = '$dir'"
		sql -c 'CREATE EXTENSION citus'
	done
	export PGHOST=${nodes[0]}
	sql -c "SELECT citus_set_coordinator_host('${nodes[0]}', 5432)" >/dev/null
	for dir in "${nodes[@]:1}"; do sql -c "SELECT citus_add_node('$dir', 5432)" >/dev/null; done
	sql -c 'CREATE EXTENSION simhash_dedup'
}

stop_nodes() {
	local node
	for node in "${nodes[@]}"; do remove_cluster "$node"; done
	nodes=()
}

# timed SQL: milliseconds that it takes in a new session, and then what it answers.
timed() {
	local from to answer
	from=$(date +%s%N)
	answer=$(sql -c "SET statement_timeout = '30s'" -c "$1" 2>&1) || answer=failed
	to=$(date +%s%N)
	echo "$(((to - from) / 1000000)) $answer"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# measure_pairs WORKERS SET RADIUS: a line for each way, `workers,set,radius,way,ms`; only the join may take too long.
measure_pairs() {
	local workers=$1 set=$2 k=$3 round way took answer right
	local groups="(SELECT key, array_agg(id) AS ids, array_agg(fp) AS fps FROM keyed GROUP BY key HAVING count(*) > 1) AS g"
	local -A query=(
		[one]="SELECT count(*), sum(a + b) FROM simhash_pairs('whole', 'id', 'fp', $k)"
		[at_coordinator]="SELECT count(*), sum(a + b) FROM simhash_pairs('doc', 'id', 'fp', $k)"
		[fill]="TRUNCATE keyed; INSERT INTO keyed SELECT key, id, fp FROM doc, unnest(simhash_route(fp, $k)) AS key; SELECT count(*), count(*) FROM keyed"
		[groups]="SELECT count(*), sum(p.a + p.b) FROM $groups, LATERAL simhash_group_pairs(g.ids, g.fps, $k, g.key) AS p"
		[join]="SELECT count(*), sum(a.id + b.id) FROM keyed AS a JOIN keyed AS b ON a.key = b.key AND a.id < b.id AND a.fp <~> b.fp <= $k WHERE simhash_meet(a.fp, b.fp, $k) = a.key"
		[one_clusters]="SELECT count(*), sum(key + cluster_id) FROM simhash_clusters('whole', 'id', 'fp', $k)"
		[clusters]="SELECT count(*), sum(c.key + c.cluster_id) FROM (SELECT array_agg(e.key) AS a, array_agg(e.cluster_id) AS b
			FROM $groups, LATERAL simhash_group_clusters(g.ids, g.fps, $k) AS e WHERE e.key <> e.cluster_id) AS e, LATERAL simhash_components(e.a, e.b) AS c")
	sql -v set="$set" -v rows="$ROWS" -f "$HERE/rows.sql"
	for round in $(seq "$ROUNDS"); do
		for way in one at_coordinator fill groups join one_clusters clusters; do
			# A join is quadratic in a key: of skewed rows it is tried once.
			if [ "$way" = join ] && { [ "$set" = skewed ] || [ "$k" -gt 3 ]; } && [ "$round" -gt 1 ]; then continue; fi
			read -r took answer <<<"$(timed "${query[$way]}")"
			case $way in
			one | one_clusters) right=$answer ;;
			fill) ;;
			*) [ "$answer" = "$right" ] || [ "$way$answer" = joinfailed ] || fail "$way of $set rows, radius $k: $answer, not $right" ;;
			esac
			[ "$answer" != failed ] || took=
			echo "$workers,$set,$k,$way,$took"
		done
	done >>"$OUT/pairs.csv"
	sql -F, -v k="$k" -f "$HERE/moved.sql" | sed "s/^/$workers,$set,$k,/" >>"$OUT/moved.csv"
}

# search_times NAME SETTINGS QUERY [OPTION...]: the median of many searches, in microseconds; of one session, unless an option
# of pgbench says else.
search_times() {
	local log=$work/log name=$1 settings=$2
	printf '%s\n' '\set i random(1, 100000)' "$3" >"$work/search.sql"
	shift 3
	rm -f "$log".*
	(cd "$work" && as_postgres env PGOPTIONS="$settings" "$PG_BIN/pgbench" -n -c 1 -t "$SEARCHES" "$@" -l --log-prefix="$log" -f "$work/search.sql" >/dev/null 2>&1) ||
		fail "pgbench failed: $name"
	echo "$name,$(awk '{ print $3 }' "$log".* | median)" >>"$OUT/searches.csv"
}

# table_searches TABLE SHARDS NAME SETTINGS [OPTION...]: `whole` is one table, `doc` distributed, `keyed` is asked by keys.
table_searches() {
	local table=$1 shards=$2 name=$3 settings=$4 question='hashint8extended(:i, 0) # 5'
	shift 4
	if [ "$table" = keyed ]; then
		search_times "$shards,within 3,keyed,$name" "$settings" \
			"SELECT id FROM keyed WHERE key = ANY (simhash_route($question, 3)) AND fp <~> ($question) <= 3 AND simhash_meet(fp, $question, 3) = key;" "$@"
		return
	fi
	search_times "$shards,within 3,$table,$name" "$settings" "SELECT id FROM $table WHERE fp <~> ($question) <= 3;" "$@"
	search_times "$shards,ten nearest,$table,$name" "$settings" "SELECT id FROM $table ORDER BY fp <~> ($question) LIMIT 10;" "$@"
}

measure_searches() {
	local shards table tuned='-c citus.max_cached_conns_per_worker=16 -c citus.max_adaptive_executor_pool_size=1'
	for shards in 6 32; do
		sql -v set=uniform -v rows="$ROWS" -v shards="$shards" -f "$HERE/rows.sql"
		sql -c 'CREATE INDEX ON keyed USING simhash (key, fp)' -c "INSERT INTO keyed SELECT key, id, fp FROM doc, unnest(simhash_route(fp, 3)) AS key" -c 'ANALYZE keyed'
		for _ in $(seq "$ROUNDS"); do
			for table in whole doc keyed; do
				table_searches "$table" "$shards" default ''
				table_searches "$table" "$shards" tuned "$tuned"
				table_searches "$table" "$shards" 'new session' '' -C
				table_searches "$table" "$shards" 'new session tuned' "$tuned" -C
			done
		done
	done
}

require_everything demo
build_library
server=$SERVERS/citus$PG_MAJOR
[ -e "$server/built" ] || fail "there is no Citus in target/servers: run make test-citus with its sources in CITUS"
work=$(work_directory)
say 'a copy of the server with Citus'
cp -r "$server" "$work/server"
[ "$(id -u)" != 0 ] || chown -R postgres "$work"
PG_CONFIG=$work/server$PG_BIN/pg_config
PG_BIN=$("$PG_CONFIG" --bindir)
install_files
mkdir -p "$OUT"
echo 'workers,set,radius,way,ms' >"$OUT/pairs.csv"
echo 'workers,set,radius,stored,moved,pairs' >"$OUT/moved.csv"
echo 'shards,search,table,settings,us' >"$OUT/searches.csv"
last=$(tr ' ' '\n' <<<"$WORKERS" | tail -n 1)
for count in $WORKERS; do
	say "$ROWS rows, $count workers"
	start_nodes "$count"
	for set in uniform skewed; do
		for k in 3 6; do measure_pairs "$count" "$set" "$k"; done
	done
	[ "$count" != "$last" ] || measure_searches
	stop_nodes
done
say 'medians; ms'
start_nodes 0
sql -c 'CREATE TABLE pairs (workers int, set text, radius int, way text, ms float8)' \
	-c 'CREATE TABLE moved (workers int, set text, radius int, stored bigint, moved bigint, pairs bigint)' \
	-c 'CREATE TABLE searches (shards int, search text, source text, settings text, us float8)'
for table in pairs moved searches; do sql -c "COPY $table FROM STDIN CSV HEADER" <"$OUT/$table.csv"; done
sql -f "$HERE/citus_report.sql" | tee "$OUT/citus.txt"
