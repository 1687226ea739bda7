#!/usr/bin/env bash
# make bench-text: rows a second of simhash64 by presets, by itself and through SQL, next to cutting words alone and to
# the packages simhash and jieba of Python (of the interpreter PYTHON; left out when it does not have them). Rows of
# DATA, or the free ones of this project. ROUNDS rounds in turns, medians of processor time; of Rust that of a round's
# fastest pass. Leaves text.md and CSV in OUT, and same.md: what simhash_same takes beside simhash_jaccard. PARTS=same measures
# that alone, without a server.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

DATA=${DATA:-$ROOT/pg_test/data}
OUT=${OUT:-$ROOT/target/text}
ROUNDS=${ROUNDS:-5}
PYTHON=${PYTHON:-python3}

work=''
sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# The server's processor time for counting what an expression gives over table $1, $passes times; one round.
through_sql() {
	local table=$1 file=$OUT/$1.rows passes=20 what expression
	local clock="split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)"
	for what in length words minwise shingles adaptive; do
		expression="simhash64(t, preset => '$what')"
		[ "$what" != length ] || expression='length(t)'
		# The first call of a session loads the dictionary.
		sql -c "SELECT simhash64('词', preset => 'words'), count($expression) FROM $table" -c "SELECT 'from', $clock" \
			-c "SELECT count($expression) FROM generate_series(1, $passes), $table" -c "SELECT 'to', $clock" |
			awk -F'|' -v rows="$((passes * $(wc -l <"$file")))" -v bytes="$((passes * $(wc -c <"$file")))" \
				-v name="$table,SQL $what" '$1 == "from" { from = $2 } $1 == "to" {
					ns = $2 - from
					printf "%s,%.3f,%.3f\n", name, ns / 1e3 / rows, 1e3 * bytes / ns
				}'
	done
}

same=$(cargo_artifact same --release --quiet --bin same --package quality --target-dir "$ROOT/target/text_build")
mkdir -p "$OUT"
say 'simhash_same beside simhash_jaccard'
"$same" "$ROOT/crates/fingerprint/tests/data/verdicts.csv" | tee "$OUT/same.md"
[ "${PARTS:-}" != same ] || exit 0

require_everything bench
build_library
install_files
# Compiled as the extension is, unlike `make quality`, which is for this processor alone.
program=$(cargo_artifact text --release --quiet --bin text --package quality --target-dir "$ROOT/target/text_build")

trap 'remove_cluster "$work"' EXIT
work=$(work_directory)
mkdir -p "$OUT"
rm -f "$OUT"/*.rows
"$program" rows "$DATA" "$OUT"
start_cluster "$work" 'jit = off' 'max_parallel_workers_per_gather = 0' 'autovacuum = off' 'fsync = off'
sql -c 'CREATE EXTENSION simhash_dedup'
tables=()
for table in zh_short zh_long en_short en_long; do
	[ -e "$OUT/$table.rows" ] || continue
	tables+=("$table")
	sql -c "CREATE TABLE $table (t text)" -c "COPY $table FROM STDIN" <"$OUT/$table.rows"
done
with_python=''
if "$PYTHON" -c 'import jieba, simhash' 2>/dev/null; then with_python=yes; else
	echo "   $PYTHON has no packages simhash and jieba: left out"
fi
say "measuring $ROUNDS rounds"
: >"$OUT/text.csv"
for _ in $(seq "$ROUNDS"); do
	"$program" measure "$OUT" >>"$OUT/text.csv"
	for table in "${tables[@]}"; do through_sql "$table" >>"$OUT/text.csv"; done
	[ -z "$with_python" ] || "$PYTHON" "$ROOT/bench/text/peers.py" "$OUT" >>"$OUT/text.csv"
done
"$program" hashes "$OUT" >"$OUT/hashes.csv"
"$program" table "$OUT" | tee "$OUT/text.md"
