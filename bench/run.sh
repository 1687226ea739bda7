#!/usr/bin/env bash
# make bench ROWS=1000000 [ROUNDS=5]: build time, size and latency of the index on uniform
# fingerprints, next to the best that stock PostgreSQL does (four covering b-trees), on a throw-away
# cluster of its own, one client, everything in memory.
#
# Latencies are taken by pgbench over libpq with prepared statements, one transaction at a time, the
# queries in random turns within the same run. Every transaction first fetches its centre; the same
# transaction with an empty query is the floor, and what is printed is the median (p95) minus the
# floor's median, in microseconds: of each round, and of these the median.

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/../pg_test/tools/common.sh"

ROWS=${ROWS:-1000000}
ROUNDS=${ROUNDS:-5}
ROUND_SECONDS=${ROUND_SECONDS:-8}
HERE=$ROOT/bench
case "$ROWS$ROUNDS$ROUND_SECONDS" in
*[!0-9]*) fail "ROWS, ROUNDS and ROUND_SECONDS must be numbers, not '$ROWS', '$ROUNDS', '$ROUND_SECONDS'" ;;
esac

work=''
queries=(floor simhash_k3 btree_k3 simhash_k8 nearest_10)

sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# timed FILE: seconds that a file of SQL takes.
timed() {
	local from=$EPOCHREALTIME
	sql -f - <"$1" >/dev/null
	awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'
}

bytes_per_row() {
	sql -c "SELECT round(sum(pg_relation_size(indexrelid))::numeric / $ROWS, 1) FROM pg_index
		WHERE indrelid = 't'::regclass AND pg_get_indexdef(indexrelid) LIKE '%USING $1%' AND NOT indisprimary"
}

# One run of pgbench; its log has a line per transaction: client, number, microseconds, script.
measure() {
	local round=$1 query scripts=()
	# The slow one gets fewer turns, or it would take all the time.
	for query in "${queries[@]}"; do scripts+=(-f "$work/bench/$query.sql@$([ "$query" = nearest_10 ] && echo 1 || echo 10)"); done
	(cd "$work" && as_postgres "$PG_BIN/pgbench" -n -M prepared -c 1 -T "$ROUND_SECONDS" --random-seed="$round" \
		-l --log-prefix="$work/round_$round" "${scripts[@]}" >"$work/pgbench.out" 2>&1) ||
		fail "pgbench failed: $(tail -n 1 "$work/pgbench.out")"
}

# percentile SCRIPT_NUMBER SHARE FILE...: of the latencies of one script.
percentile() {
	local script=$1 share=$2
	shift 2
	awk -v s="$script" '$4 == s { print $3 }' "$@" | sort -n |
		awk -v p="$share" '{ v[NR] = $1 } END { print v[int((NR - 1) * p) + 1] }'
}

# over_floor SCRIPT_NUMBER SHARE: the median over the rounds of (percentile - median of the floor).
over_floor() {
	local round
	for ((round = 1; round <= ROUNDS; round++)); do
		echo $(($(percentile "$1" "$2" "$work/round_$round".*) - $(percentile 0 0.5 "$work/round_$round".*)))
	done | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

require_everything bench
build_release
install_files
trap 'remove_cluster "$work"' EXIT
work=$(work_directory)
mkdir "$work/bench"
for query in "${queries[@]}"; do
	# Every transaction fetches its centre first.
	cat "$HERE/centre.sql" "$HERE/$query.sql" >"$work/bench/$query.sql"
done
start_cluster "$work" 'shared_buffers = 4GB' 'maintenance_work_mem = 1GB' 'work_mem = 256MB' \
	'max_wal_size = 20GB' 'checkpoint_timeout = 1h' 'autovacuum = off' 'fsync = off' 'max_parallel_maintenance_workers = 2'

say "loading $ROWS rows"
sql -v rows="$ROWS" -f - <"$HERE/schema.sql"
say 'building the indexes'
simhash_build=$(timed "$HERE/build_simhash.sql")
btree_build=$(timed "$HERE/build_btree.sql")
sql -c 'VACUUM ANALYZE t' -c 'CHECKPOINT'

say 'comparing answers'
wrong=$(sql -v simhash="$(<"$HERE/simhash_k3.sql")" -v btree="$(<"$HERE/btree_k3.sql")" \
	-v within_8="$(<"$HERE/simhash_k8.sql")" -f - <"$HERE/check.sql")
[ -z "$wrong" ] || fail "wrong answers: $wrong"

say "measuring, $ROUNDS rounds of $ROUND_SECONDS s"
measure 0
for ((round = 1; round <= ROUNDS; round++)); do measure "$round"; done

say 'result'
echo
echo "PostgreSQL $("$PG_CONFIG" --version | cut -d' ' -f2), $(nproc) cores, $ROWS uniform rows, $ROUNDS rounds; the floor of an empty query is $(percentile 0 0.5 "$work"/round_[1-9]*) us"
echo
echo '| | simhash | 4 covering b-trees |'
echo '|---|---|---|'
echo "| build, serial or as the server chooses, s | $simhash_build | $btree_build |"
echo "| index, bytes a row | $(bytes_per_row simhash) | $(bytes_per_row btree) |"
echo "| within 3 bits, median us | $(over_floor 1 0.5) | $(over_floor 2 0.5) |"
echo "| within 3 bits, p95 us | $(over_floor 1 0.95) | $(over_floor 2 0.95) |"
echo "| within 8 bits, median us | $(over_floor 3 0.5) | - |"
echo "| ten nearest, median us | $(over_floor 4 0.5) | - |"
