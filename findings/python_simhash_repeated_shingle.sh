#!/usr/bin/env bash
# PyPI simhash 2.1.2 with NumPy 2: a text in which four letters occur more than 255 times has no hash.
# Weights above 50 are multiplied with an array of uint8. NumPy 1 widened the array, NumPy 2 refuses such a number.
# Expected: a hash, as before. Seen: 255 times gives one, 256 times raises an OverflowError.
# Affected: jobs that fill a column after NumPy was upgraded: a long page with a repeated phrase stops them.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" simhash==2.1.2 numpy==2.2.6
cat >"$dir/run.py" <<'EOF'
import numpy
from simhash import Simhash

print("numpy", numpy.__version__)
for times in (50, 51, 255, 256, 1000):
    # The shingle "spam" occurs so many times, each time after another number.
    text = " ".join(f"{i:05d} spam" for i in range(times))
    try:
        print(times, "times:", Simhash(text).value.bit_length() > 0)
    except Exception as error:
        print(times, "times:", type(error).__name__, error)
EOF
PYTHONPATH="$dir/lib" python3 "$dir/run.py" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
numpy 2.2.6
50 times: True
51 times: True
255 times: True
256 times: OverflowError Python integer 256 out of bounds for uint8
1000 times: OverflowError Python integer 999 out of bounds for uint8
EOF
echo 'as when it was found'
