#!/usr/bin/env bash
# npm simhash-js 1.0.0: hash() gives a number, and the package's own Comparator reads its decimal digits as hexadecimal.
# It also counts every bit twice, since `>> 32` shifts by nothing in JavaScript. The README passes hashes as below.
# Expected: hammingDistance() is the number of bits in which two hashes differ.
# Seen: hashes that differ in one bit are 2 to 36 apart, and two hashes of 0 have the similarity NaN.
# Affected: programs that tune a threshold with this Comparator and use it in a database that counts bits.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" simhash-js@1.0.0 >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
cat >"$dir/run.js" <<'EOF'
const { SimHash, Comparator } = require('simhash-js');
const bits = (a, b) => { let n = 0; for (let x = (a ^ b) >>> 0; x; x >>>= 1) n += x & 1; return n; };

const h = new SimHash().hash('This is a test of the Emergency Blogcast System');
console.log('type of a hash:', typeof h);
const seen = new Set();
for (let bit = 0; bit < 32; bit++) {
  const other = (h ^ (1 << bit)) >>> 0;
  if (bits(h, other) !== 1) throw new Error('not one bit');
  seen.add(Comparator.hammingDistance(h, other));
}
console.log('distances of hashes that differ in one bit:', [...seen].sort((a, b) => a - b).join(' '));
console.log('similarity of two hashes of 0:', Comparator.similarity(0, 0));
EOF
node "$dir/run.js" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
type of a hash: number
distances of hashes that differ in one bit: 2 4 6 8 10 12 14 16 20 22 24 28 32 36
similarity of two hashes of 0: NaN
EOF
echo 'as when it was found'
