#!/usr/bin/env bash
# PyPI simhash 2.1.2: a SimhashIndex grows with each question, though nothing is added.
# get_near_dups() reads a defaultdict, which keeps an empty set for each key that was asked and not there.
# Expected: 10,000 questions to an index of one hash leave it as it is.
# Seen: 4 buckets become 7,565, and bucket_size() counts them as if they held hashes.
# Affected: services that check new texts against an index in memory: each question adds up to k + 1 sets.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" simhash==2.1.2 numpy==2.2.6
cat >"$dir/run.py" <<'EOF'
from simhash import Simhash, SimhashIndex

index = SimhashIndex([("1", Simhash("the only text"))], k=3)
print("buckets of one hash:", index.bucket_size())
found = 0
for i in range(10000):
    found += len(index.get_near_dups(Simhash(f"question {i}")))
print("found by 10000 questions:", found)
print("buckets after them:", index.bucket_size())
print("of these empty:", sum(not bucket for bucket in index.bucket.values()))
EOF
PYTHONPATH="$dir/lib" python3 "$dir/run.py" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
buckets of one hash: 4
found by 10000 questions: 0
buckets after them: 7565
of these empty: 7561
EOF
echo 'as when it was found'
