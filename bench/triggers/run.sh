#!/usr/bin/env bash
# make bench-triggers: what the triggers cost, on a throw-away cluster of its own: one more copy of a text, the deletion of
# one, clusters that split, loads, many sessions that write. Leaves triggers.txt and triggers.csv in OUT, and of the last part
# writers.txt and writers.csv. PARTS are some of copies, splits, loads and writers, with spaces between them, instead of all.
# COPIES, MEMBERS and ROWS are numbers with commas between them; ROUNDS rounds of loads and of writers. Of writers: STORED rows
# of TENANTS tenants are there before, SECONDS_EACH seconds for a load, SYNC the values of synchronous_commit, FSYNC that
# of fsync, LOADS the numbers of loads to measure; a COPY has COPYROWS rows, may take COPYSECONDS and is measured in COPYROUNDS rounds.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

PARTS=${PARTS:-copies splits loads writers}
OUT=${OUT:-$ROOT/target/triggers}
COPIES=${COPIES:-1,100,10000,100000,1000000}
MEMBERS=${MEMBERS:-10,100,1000,10000}
ROWS=${ROWS:-0,1000000}
ROUNDS=${ROUNDS:-3}
FLAGS=('flag=' 'duplicate_of=' 'both' 'among=originals' 'mode=reject' 'mode=skip')

# shellcheck source=bench/triggers/writers.sh
. "$ROOT/bench/triggers/writers.sh"

sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# Fewer texts where each has more copies: about a hundred measurements a way.
copies() {
	local n=$1 groups=100 each=1 way
	if [ "$n" -ge 100000 ]; then groups=1 each=100; elif [ "$n" -ge 100 ]; then groups=10 each=10; fi
	say "$n copies"
	sql -c "CALL store_copies($groups, $n)" -c 'VACUUM ANALYZE'
	for way in none "${FLAGS[@]}" clusters; do
		sql -c "CALL insert_copies('$way', $groups, $n, $each)"
	done
	# The clusters of rows that were stored while another trigger was there.
	sql -c "CALL store_copies($groups, $n)" -c 'VACUUM ANALYZE'
	for way in none clusters; do
		sql -c "CALL delete_copies('$way', $groups, $n, $each)"
	done
}

splits() {
	local n=$1 alike
	say "clusters of $n rows"
	for alike in false true; do
		sql -c "CALL store_halves($n, $alike)" -c 'VACUUM ANALYZE'
		sql -c "CALL split('clusters', $n, $alike, 5)"
	done
}

# A plain VACUUM leaves the postings of what was undone where they are few beside the stored rows, and the next loads' triggers
# would read them.
loads() {
	local n=$1 share way
	say "loads into $n rows"
	sql -c "CALL store_rows($n)" -c 'VACUUM ANALYZE'
	for share in 0 30; do
		for _ in $(seq "$ROUNDS"); do
			for way in none clusters "${FLAGS[@]}"; do
				# It would refuse the load.
				[ "$share$way" != 30mode=reject ] || continue
				sql -c "CALL copy_load('$way', $share, $n, '$work/load_$share')" -c 'VACUUM (INDEX_CLEANUP ON) t, t_cluster'
			done
		done
		for way in none clusters; do
			sql -c "CALL insert_load('$way', $share, $n)" -c 'VACUUM (INDEX_CLEANUP ON) t, t_cluster'
		done
	done
}

wanted() { [[ " $PARTS " = *" $1 "* ]]; }

for part in $PARTS; do
	[[ ' copies splits loads writers ' = *" $part "* ]] || fail "PARTS are copies, splits, loads and writers, not $part"
done
begin_benchmark 'shared_buffers = 1GB' 'autovacuum = off' 'fsync = off' 'jit = off' 'synchronous_commit = off' \
	'max_wal_size = 8GB' 'checkpoint_timeout = 1h' 'max_parallel_workers_per_gather = 0' 'work_mem = 64MB'
export PGOPTIONS='-c client_min_messages=warning'
if wanted copies || wanted splits || wanted loads; then
	sql -f "$ROOT/bench/triggers/measure.sql"
	for share in 0 30; do
		sql -c "CALL make_load($share)" -c "COPY (SELECT id, fp FROM load WHERE share = $share) TO '$work/load_$share'"
	done
	sql -c 'CREATE INDEX ON load (id)'
	! wanted copies || for n in ${COPIES//,/ }; do copies "$n"; done
	! wanted splits || for n in ${MEMBERS//,/ }; do splits "$n"; done
	! wanted loads || for n in ${ROWS//,/ }; do loads "$n"; done
	sql --csv -P tuples_only=off -c 'TABLE measured' >"$OUT/triggers.csv"
	sql -P format=aligned -P tuples_only=off -f "$ROOT/bench/triggers/report.sql" | tee "$OUT/triggers.txt"
fi
! wanted writers || writers
