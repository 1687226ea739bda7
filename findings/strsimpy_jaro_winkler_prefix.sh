#!/usr/bin/env bash
# PyPI strsimpy 0.2.1, JaroWinkler: it counts the whole common prefix, where Winkler's measure counts four letters.
# Expected: the values of rapidfuzz 3.14.6 and jellyfish 1.3.0, which agree with each other on all pairs.
# Seen: the same for pairs that share up to four letters in front, more from the fifth on: 0.9625 for 0.91.
# Affected: programs that use the threshold of one package, such as 0.92, with another: more pairs are above it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" strsimpy==0.2.1 rapidfuzz==3.14.6 jellyfish==1.3.0
cat >"$dir/run.py" <<'EOF'
import jellyfish
from rapidfuzz.distance import JaroWinkler as RapidFuzz
from strsimpy.jaro_winkler import JaroWinkler

for a, b in (("martha", "marhta"), ("dwayne", "duane"), ("cityhash", "citylight"), ("frederick", "frederica"),
             ("Johannes Schmidt", "Johannes Schulz"), ("international business", "international machines")):
    values = [f(x, y) for x, y in ((a, b), (b, a)) for f in (jellyfish.jaro_winkler_similarity, RapidFuzz.similarity)]
    assert max(values) - min(values) < 1e-9
    print(f"{a}, {b}: {values[0]:.4f}, strsimpy {JaroWinkler().similarity(a, b):.4f}")
EOF
PYTHONPATH="$dir/lib" python3 "$dir/run.py" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
martha, marhta: 0.9611, strsimpy 0.9611
dwayne, duane: 0.8400, strsimpy 0.8400
cityhash, citylight: 0.8361, strsimpy 0.8361
frederick, frederica: 0.9556, strsimpy 0.9852
Johannes Schmidt, Johannes Schulz: 0.9100, strsimpy 0.9625
international business, international machines: 0.9051, strsimpy 0.9425
EOF
echo 'as when it was found'
