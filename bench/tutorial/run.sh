#!/usr/bin/env bash
# make bench-tutorial ROWS=1000000 OUT=folder: how long writers wait while a table goes through docs/start.md, on a
# throw-away cluster of its own. Leaves waits.md in OUT.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

OUT=${OUT:-$ROOT/target/tutorial}

begin_benchmark 'shared_buffers = 1GB' 'max_wal_size = 10GB' 'fsync = off'
say "measuring; the result goes to $OUT"
PATH="$PG_BIN:$PATH" python3 "$ROOT/bench/tutorial/waits.py" --rows "${ROWS:-1000000}" --out "$OUT"
