#!/usr/bin/env bash
# PyPI jieba_fast_dat 0.59: cut() as in its README works without its dictionary, and says nothing.
# jieba loads the dictionary at the first cut. Here only initialize() loads it, so every word is guessed by the HMM.
# Expected: the words of jieba 0.42.1. Seen: other words until initialize() is called, with HMM=False single characters.
# Affected: programs that use it as a faster jieba: fingerprints of the same text differ, and change when a program calls
# initialize() in the same process.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TMPDIR="$dir" # jieba keeps its cache there
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" jieba-fast-dat==0.59 jieba==0.42.1 setuptools==80.9.0
cat >"$dir/run.py" <<'EOF'
import logging, warnings
warnings.simplefilter("ignore")
import jieba, jieba_fast_dat

jieba.setLogLevel(logging.ERROR)
jieba_fast_dat.setLogLevel(logging.ERROR)
text = "请问幸福路12号门前的路灯坏了"
show = lambda words: "/".join(words)
print("jieba:", show(jieba.cut(text)))
print("jieba_fast_dat:", show(jieba_fast_dat.cut(text)))
print("without HMM:", show(jieba_fast_dat.cut(text, HMM=False)))
jieba_fast_dat.initialize()
print("after initialize():", show(jieba_fast_dat.cut(text)))
EOF
PYTHONPATH="$dir/lib" python3 "$dir/run.py" >"$dir/seen" 2>"$dir/log" || { cat "$dir/log"; exit 1; }
diff -u - "$dir/seen" <<'EOF'
jieba: 请问/幸福/路/12/号/门前/的/路灯/坏/了
jieba_fast_dat: 请/问/幸福路/12/号门/前/的/路/灯坏/了
without HMM: 请/问/幸/福/路/12/号/门/前/的/路/灯/坏/了
after initialize(): 请问/幸福/路/12/号/门前/的/路灯/坏/了
EOF
echo 'as when it was found'
