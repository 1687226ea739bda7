#!/usr/bin/env bash
# make bench-planner SEED=1 QUERIES=1000 ROWS=300000 OUT=folder: random queries on a throw-away cluster of its own,
# the chosen plan against the best of those that switching off kinds of plan gives. Leaves planner.md and planner.csv
# in OUT.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

OUT=${OUT:-$ROOT/target/planner}

begin_benchmark 'shared_buffers = 1GB' 'autovacuum = off' 'fsync = off' 'jit = off' 'synchronize_seqscans = off' \
	'max_parallel_workers_per_gather = 0'
say "measuring; the result goes to $OUT"
PATH="$PG_BIN:$PATH" python3 "$ROOT/bench/planner/fuzz.py" \
	--seed "${SEED:-1}" --queries "${QUERIES:-1000}" --rows "${ROWS:-300000}" --seconds "${SECONDS_EACH:-3600}" \
	--out "$OUT"
