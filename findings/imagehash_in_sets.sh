#!/usr/bin/env bash
# PyPI ImageHash 4.3.2: hash() of an ImageHash is a sum of powers of two up to 128, so it has at most 2,041 values.
# Expected: a set or dict of hashes takes about the same time for each further one.
# Seen: 8,000 different hashes have 1,036 values of hash(). Twice as many hashes take four times as many comparisons
# of whole arrays: 10,764 for 4,000 of them, 42,646 for 8,000.
# Affected: programs that remove equal hashes with a set, or count them with a Counter: str(h) avoids it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" ImageHash==4.3.2 numpy==2.2.6 pillow==12.0.0 scipy==1.16.3 PyWavelets==1.9.0
cat >"$dir/run.py" <<'EOF'
import imagehash, numpy

comparisons = 0
original = imagehash.ImageHash.__eq__
def counted(a, b):
    global comparisons
    comparisons += 1
    return original(a, b)
imagehash.ImageHash.__eq__ = counted

random = numpy.random.default_rng(1)
for n in (1000, 2000, 4000, 8000):
    hashes = [imagehash.ImageHash(random.random((8, 8)) < 0.5) for _ in range(n)]
    comparisons = 0
    print(n, "different:", len(set(hashes)), "in a set,", len({hash(h) for h in hashes}), "values of hash(),", comparisons, "comparisons")
print("greatest possible hash():", hash(imagehash.ImageHash(numpy.ones((8, 8), bool))))
EOF
PYTHONPATH="$dir/lib" python3 "$dir/run.py" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
1000 different: 1000 in a set, 568 values of hash(), 658 comparisons
2000 different: 2000 in a set, 777 values of hash(), 2559 comparisons
4000 different: 4000 in a set, 931 values of hash(), 10764 comparisons
8000 different: 8000 in a set, 1036 values of hash(), 42646 comparisons
greatest possible hash(): 2040
EOF
echo 'as when it was found'
