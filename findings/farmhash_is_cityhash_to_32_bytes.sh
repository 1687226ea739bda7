#!/usr/bin/env bash
# PyPI pyfarmhash 0.5.1 and cityhash 0.4.10: FarmHash's Fingerprint64 is CityHash64 for all keys of up to 32 bytes.
# From 33 bytes on, every key has another value. So a test with words says that the two are one function.
# Expected: two functions, which differ for nearly every key. Seen: equal for 0 to 32 bytes, for 33 to 300 never equal.
# Affected: programs that compute some SimHash features with one and some with the other (BigQuery's FARM_FINGERPRINT is
# Fingerprint64): fingerprints agree until a word of 33 bytes comes, which is eleven Chinese characters, or a URL.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" pyfarmhash==0.5.1 cityhash==0.4.10
cat >"$dir/run.py" <<'EOF'
import random
import cityhash, farmhash

random.seed(1)
def equal(length):
    keys = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=length)) for _ in range(100)]
    return sum(farmhash.Fingerprint64(key) == cityhash.CityHash64(key) for key in keys)

print("0 to 32 bytes:", sum(map(equal, range(33))), "of 3300 keys have equal values")
print("33 to 300 bytes:", sum(map(equal, range(33, 301))), "of 26800")
for key in ("请问幸福路十二号门前", "请问幸福路十二号门前的"):
    print(len(key.encode()), "bytes of UTF-8:", farmhash.Fingerprint64(key) == cityhash.CityHash64(key))
EOF
PYTHONPATH="$dir/lib" python3 "$dir/run.py" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
0 to 32 bytes: 3300 of 3300 keys have equal values
33 to 300 bytes: 0 of 26800
30 bytes of UTF-8: True
33 bytes of UTF-8: False
EOF
echo 'as when it was found'
