#!/usr/bin/env bash
# make bench-ingest ROWS=0,1000000 OUT=folder: loads through the flagging trigger and without it, on a throw-away cluster of
# its own. Leaves ingest.md and ingest.csv in OUT.

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/../../pg_test/tools/common.sh"

OUT=${OUT:-$ROOT/target/ingest}

begin_benchmark 'shared_buffers = 4GB' 'maintenance_work_mem = 1GB' 'max_wal_size = 20GB' 'autovacuum = off' \
	'fsync = off' 'jit = off' 'checkpoint_timeout = 1h'
psql -X -q -c 'CREATE EXTENSION simhash_dedup'
say "measuring; the result goes to $OUT"
PATH="$PG_BIN:$PATH" python3 "$ROOT/bench/ingest/ingest.py" --rows "${ROWS:-0,1000000}" --out "$OUT"
