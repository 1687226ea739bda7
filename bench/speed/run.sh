#!/usr/bin/env bash
# make bench ROWS=1000000[,...] SETS=A,B,C OUT=folder PEERS=all|none DATA=folder: speed, size and upkeep of
# the index next to what PostgreSQL offers without it, on a throw-away cluster of its own, everything in
# memory. This script starts the server and loads the real rows; the Rust program measures.
# With the argument s0 (make bench-s0): next to Single-Pass, quadrant columns and a document store. With the
# argument cold (make bench-cold): searches from disk alone, which are a part of the others too.

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/../../pg_test/tools/common.sh"
# shellcheck source=pg_test/tools/packages.sh
. "$ROOT/pg_test/tools/packages.sh"

mode=${1:-}
[ "$mode" != s0 ] || ROWS=${ROWS:-10000,100000,1000000}
ROWS=${ROWS:-1000000}
SETS=${SETS:-A,B,C}
OUT=${OUT:-$ROOT/target/bench}
case "$ROWS" in
'' | *[!0-9,]*) fail "ROWS must be numbers with commas between them, not '$ROWS'" ;;
esac
case "$SETS" in
'' | *[!ABC,]*) fail "SETS must be some of A,B,C, not '$SETS'" ;;
esac

work='' cold=''
sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# Set C: perceptual hashes of images (columns id and phash of a CSV), and fingerprints of package descriptions.
load_images() {
	local columns
	if [ -e "${DATA:-}/image_hashes_debian.csv.gz" ]; then
		gzip -dc "$DATA/image_hashes_debian.csv.gz"
	else
		cat "$ROOT/pg_test/data/image_hashes.csv"
	fi >"$work/images.csv"
	columns=$(head -n 1 "$work/images.csv" | sed 's/,/ text, /g')
	sql -c "CREATE TABLE images ($columns text)" -c "COPY images FROM '$work/images.csv' CSV HEADER" \
		-c 'CREATE TABLE real_images AS SELECT id::bigint, phash::bigint AS fp FROM images'
}

load_descriptions() {
	local columns
	if [ -e "${DATA:-}/debian_desc_dev.csv.gz" ]; then
		gzip -dc "$DATA/debian_desc_dev.csv.gz" >"$work/descriptions.csv"
		columns=$(head -n 1 "$work/descriptions.csv" | sed 's/,/ text, /g')
		sql -c "CREATE TABLE descriptions ($columns text)" -c "COPY descriptions FROM '$work/descriptions.csv' CSV HEADER"
		sql -c "CREATE TABLE real_descriptions AS SELECT id::bigint, simhash64(ROW(subject, text), preset => 'words') AS fp FROM descriptions"
	elif command -v apt-cache >/dev/null; then
		package_lists
		sql -c 'CREATE TABLE descriptions (id bigint GENERATED ALWAYS AS IDENTITY, package text, section text, source text,
			maintainer text, subject text, body text)'
		package_rows | sql -c 'COPY descriptions (package, section, source, maintainer, subject, body) FROM STDIN'
		sql -c "CREATE TABLE real_descriptions AS SELECT id, simhash64(ROW(subject, body), preset => 'words') AS fp FROM descriptions"
	fi
}

require_everything bench
build_release
install_files
say 'building the benchmark'
# The truth about answers is found by counting bits: with the processor's own instruction.
program=$(RUSTFLAGS='-C target-cpu=native' cargo_artifact speed --release --quiet --package speed \
	--target-dir "$ROOT/target/bench_build")

trap 'remove_cluster "$work"; remove_cluster "$cold"' EXIT
mkdir -p "$OUT"
common=('maintenance_work_mem = 1GB' 'work_mem = 256MB' 'max_wal_size = 40GB' 'checkpoint_timeout = 1d' 'autovacuum = off'
	'fsync = off' 'jit = off' 'synchronize_seqscans = off')
if [ "$mode" != s0 ]; then
	# For searches from disk: so few shared buffers that they can be emptied before each.
	cold=$(work_directory)
	start_cluster "$cold" "${common[@]}" 'shared_buffers = 16MB'
	sql -c 'CREATE EXTENSION simhash_dedup'
	export COLD_HOST=$cold
fi
if [ "$mode" = cold ]; then
	say "measuring; the result goes to $OUT"
	"$program" cold "$OUT" "$ROWS"
	exit
fi
work=$(work_directory)
# Room for the table, its primary key and the index, 130 bytes a row, and for what is compared at smaller sizes.
most_rows=$(tr , '\n' <<<"$ROWS" | sort -n | tail -n 1)
megabytes=$((most_rows / 7500))
start_cluster "$work" "${common[@]}" "shared_buffers = $((megabytes > 4096 ? megabytes : 4096))MB"
sql -c 'CREATE EXTENSION simhash_dedup'
for extension in pg_prewarm bktree; do
	sql -c "CREATE EXTENSION $extension" 2>/dev/null || echo "   $extension is not installed in this server: left out"
done
echo '   pgvector is left out: its indexes on bits are approximate, so their answers cannot be compared'
case "$mode$SETS" in
s0*) ;;
*C*)
	load_images
	load_descriptions
	;;
esac
say "measuring; the result goes to $OUT"
if [ "$mode" = s0 ]; then
	"$program" s0 "$OUT" "$ROWS"
else
	"$program" "$OUT" "$ROWS" "$SETS" "${PEERS:-}"
fi
