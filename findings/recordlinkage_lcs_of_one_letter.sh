#!/usr/bin/env bash
# PyPI recordlinkage 0.16, String(method='lcs'): two equal values of one character have the similarity 0.
# Common substrings of one character are not counted, and equal values are no exception.
# Expected: 1 for a value with itself, as the other seven methods give. Seen: 0 for 王, 李 and O.
# Affected: comparisons of columns with one letter: Chinese family names, initials, grades, flags.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" recordlinkage==0.16 pandas==2.3.3 numpy==2.2.6 scipy==1.16.3
cat >"$dir/run.py" <<'EOF'
import pandas, recordlinkage
from recordlinkage.compare import String

rows = pandas.DataFrame({"name": ["王", "李", "O", "Li", "Anna"]})
selves = pandas.MultiIndex.from_tuples([(i, i) for i in range(len(rows))])
for method in ("jaro", "jarowinkler", "levenshtein", "damerau_levenshtein", "qgram", "cosine", "smith_waterman", "lcs"):
    scores = recordlinkage.Compare([String("name", "name", method=method)]).compute(selves, rows)[0]
    print(method, [round(float(score), 6) for score in scores])
EOF
PYTHONPATH="$dir/lib" python3 "$dir/run.py" >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
jaro [1.0, 1.0, 1.0, 1.0, 1.0]
jarowinkler [1.0, 1.0, 1.0, 1.0, 1.0]
levenshtein [1.0, 1.0, 1.0, 1.0, 1.0]
damerau_levenshtein [1.0, 1.0, 1.0, 1.0, 1.0]
qgram [1.0, 1.0, 1.0, 1.0, 1.0]
cosine [1.0, 1.0, 1.0, 1.0, 1.0]
smith_waterman [1.0, 1.0, 1.0, 1.0, 1.0]
lcs [0.0, 0.0, 0.0, 1.0, 1.0]
EOF
echo 'as when it was found'
