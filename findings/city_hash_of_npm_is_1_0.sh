#!/usr/bin/env bash
# npm @anglinb/city-hash 1.1.0, "CityHash64": it has the values of CityHash 1.0.2, which ClickHouse uses.
# PyPI cityhash 0.4.10, by the same name, has those of CityHash 1.1, whose values Google changed.
# Expected: one key, one CityHash64. Seen: of keys of 0 to 200 letters only the empty one has the same value in both.
# All 201 agree with PyPI clickhouse-cityhash 1.0.2.6. cityHash64NumMax() is the lower 53 bits of that.
# Affected: programs that compute SimHash features in JavaScript and in Python: the distances between the two mean nothing.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" @anglinb/city-hash@1.1.0 >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" cityhash==0.4.10 clickhouse-cityhash==1.0.2.6
cat >"$dir/run.js" <<'EOF'
const { cityHash64, cityHash64NumMax } = require('@anglinb/city-hash');
for (let n = 0; n <= 200; n++) {
  const key = 'abcdefghijklmnopqrstuvwxyz'.repeat(8).slice(0, n);
  console.log(`${cityHash64(key)} ${cityHash64NumMax(key)}`);
}
EOF
cat >"$dir/run.py" <<'EOF'
import sys
import cityhash
from clickhouse_cityhash import cityhash as clickhouse

rows = [tuple(map(int, line.split())) for line in open(sys.argv[1])]
keys = [("abcdefghijklmnopqrstuvwxyz" * 8)[:n].encode() for n in range(201)]
print("rows:", len(rows))
print("as cityhash:", [len(key) for key, row in zip(keys, rows) if row[0] == cityhash.CityHash64(key)])
print("as clickhouse-cityhash:", sum(row[0] == clickhouse.CityHash64(key) for key, row in zip(keys, rows)))
print("NumMax is the lower 53 bits:", sum(row[1] == row[0] % 2**53 for row in rows))
EOF
node "$dir/run.js" >"$dir/values"
PYTHONPATH="$dir/lib" python3 "$dir/run.py" "$dir/values" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
rows: 201
as cityhash: [0]
as clickhouse-cityhash: 201
NumMax is the lower 53 bits: 201
EOF
echo 'as when it was found'
