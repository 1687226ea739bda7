#!/usr/bin/env bash
# npm simhash-js 1.0.0: a hash shall combine the 128 least shingles of a text, and combines all others.
# The comment on the option maxFeatures says that the least 128 shingles are combined. `splice(128)` keeps what comes
# after them. So a text of exactly 129 shingles (513 to 516 letters) has the hash of one single shingle, its greatest.
# Expected: two texts that share 1 of 129 shingles have hashes about as far apart as two that share 1 of 128.
# Seen: of 200 such pairs none has equal hashes with 128 shingles, and all 200 have with 129.
# Affected: searches within a few bits for hashes of texts with about 513 letters or more.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
npm install --silent --no-audit --no-fund --prefix "$dir" simhash-js@1.0.0 >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
cat >"$dir/run.js" <<'EOF'
const { SimHash, Jenkins } = require('simhash-js');
const simhash = new SimHash(), jenkins = new Jenkins();

// 30,000 shingles of four letters in the order by which the package sorts them, so that the last is the greatest.
const order = word => jenkins.hash32(word);
const words = Array.from({ length: 30000 }, (_, i) => 'abcdefghijklmnopqrstuvwxyzABCDEF'.charAt(i >> 10) + (i & 1023).toString(36).padStart(3, '0'));
words.sort((a, b) => (order(a) < order(b) ? -1 : 1));

for (const count of [127, 128, 129]) {
  let equal = 0;
  for (let pair = 0; pair < 200; pair++) {
    const shared = words[29000 + pair];
    const a = [], b = [];
    for (let i = 0; i < count - 1; i++) {
      a.push(words[(pair * 17 + i * 2) % 28000]);
      b.push(words[(pair * 17 + i * 2 + 1) % 28000]);
    }
    equal += simhash.hash(a.join('') + shared) === simhash.hash(b.join('') + shared);
  }
  console.log(`${count} shingles, one of them shared: ${equal} of 200 pairs have equal hashes`);
}
EOF
node "$dir/run.js" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
127 shingles, one of them shared: 0 of 200 pairs have equal hashes
128 shingles, one of them shared: 0 of 200 pairs have equal hashes
129 shingles, one of them shared: 200 of 200 pairs have equal hashes
EOF
echo 'as when it was found'
