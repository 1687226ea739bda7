#!/usr/bin/env bash
# make bench ROWS=1000000[,...] SETS=A,B,T TEXTS=file OUT=folder PEERS=none: speed, size and upkeep of the index next to what PostgreSQL
# offers without it, on a throw-away cluster of its own, everything in memory. This script starts the server; the Rust
# program measures.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

ROWS=${ROWS:-1000000}
SETS=${SETS:-A,B}
OUT=${OUT:-$ROOT/target/bench}
case "$ROWS" in
'' | *[!0-9,]*) fail "ROWS must be numbers with commas between them, not '$ROWS'" ;;
esac
case "$SETS" in
'' | *[!ABT,]*) fail "SETS must be some of A,B,T, not '$SETS'" ;;
esac
case "$SETS" in
*T*) [ -n "${TEXTS:-}" ] || command -v apt-cache >/dev/null || fail "set T needs TEXTS=file, a short text on each line" ;;
esac

work=''
sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 "$@"; }

require_everything bench
build_library
install_files
trap 'remove_cluster "$work"' EXIT
mkdir -p "$OUT"
work=$(work_directory)
say 'building the benchmark'
# The truth about answers is found by counting bits: with the processor's own instruction.
program=$(RUSTFLAGS=$(bit_counting) cargo_artifact speed --release --quiet --package speed \
	--target-dir "$ROOT/target/bench_build")
# Room for the table, its primary key and the index, 130 bytes a row, and for what is compared at smaller sizes.
most_rows=$(tr , '\n' <<<"$ROWS" | sort -n | tail -n 1)
megabytes=$((most_rows / 7500))
start_cluster "$work" 'maintenance_work_mem = 1GB' 'work_mem = 256MB' 'max_wal_size = 40GB' 'checkpoint_timeout = 1d' \
	'autovacuum = off' 'fsync = off' 'jit = off' 'synchronize_seqscans = off' "shared_buffers = $((megabytes > 4096 ? megabytes : 4096))MB"
sql -c 'CREATE EXTENSION simhash_dedup'
sql -c 'CREATE EXTENSION pg_prewarm' 2>/dev/null || echo '   pg_prewarm is not installed in this server: left out'
texts=${TEXTS:-$work/texts}
if [[ $SETS = *T* && -z ${TEXTS:-} ]]; then
	say 'set T: the descriptions of the packages that apt knows'
	apt-cache dumpavail | sed -n 's/^Description\(-en\)\?: //p' | LC_ALL=C sort -u >"$texts"
	[ "$(wc -l <"$texts")" -ge 10000 ] || fail "apt knows too few packages for set T: name TEXTS=file, a short text on each line"
fi
say "measuring; the result goes to $OUT"
"$program" "$OUT" "$ROWS" "$SETS" "${PEERS:-}" "$texts"
