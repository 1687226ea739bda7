#!/usr/bin/env bash
# PyPI rjieba 0.2.2 and npm @node-rs/jieba 2.0.3, both made of jieba-rs: they cut Latin text differently.
# rjieba keeps words with hyphens, underscores, addresses and versions whole, the other cuts them as Python's jieba does.
# Expected: the words of one library. Seen: `hello-world` is one word in rjieba and three in the others.
# cut_all() is the other way round: both add every single character, and Python's jieba adds none within known words.
# Affected: programs in two languages that compute fingerprints of words: texts with product names and addresses differ.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TMPDIR="$dir" # jieba keeps its cache there
npm install --silent --no-audit --no-fund --prefix "$dir" @node-rs/jieba@2.0.3 >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
python3 -m pip install --quiet --no-compile --root-user-action ignore --target "$dir/lib" rjieba==0.2.2 jieba==0.42.1 setuptools==80.9.0
cat >"$dir/run.js" <<'EOF'
const { Jieba } = require('@node-rs/jieba');
const { dict } = require('@node-rs/jieba/dict');
const jieba = Jieba.withDict(dict);
for (const text of process.argv.slice(2)) console.log('node-rs:', jieba.cut(text, true).join('|'), '; all:', jieba.cutAll(text).join('|'));
EOF
cat >"$dir/run.py" <<'EOF'
import logging, sys, warnings
warnings.simplefilter("ignore")
import jieba, rjieba

jieba.setLogLevel(logging.ERROR)
for text in sys.argv[1:]:
    print("jieba:", "|".join(jieba.cut(text)), "; all:", "|".join(jieba.cut(text, cut_all=True)))
    print("rjieba:", "|".join(rjieba.cut(text)), "; all:", "|".join(rjieba.cut_all(text)))
EOF
texts=('hello-world' 'a_b@example.com' 'Wi-Fi' '3.14.15' '修理路灯')
{
    PYTHONPATH="$dir/lib" python3 "$dir/run.py" "${texts[@]}" 2>"$dir/log" || { cat "$dir/log"; exit 1; }
    node "$dir/run.js" "${texts[@]}"
} >"$dir/seen"
diff -u - "$dir/seen" <<'EOF'
jieba: hello|-|world ; all: hello|-|world
rjieba: hello-world ; all: hello|-|world
jieba: a|_|b|@|example|.|com ; all: a|_|b|@|example|.|com
rjieba: a_b|@|example.com ; all: a|_|b|@|example|.|com
jieba: Wi|-|Fi ; all: Wi|-|Fi
rjieba: Wi-Fi ; all: Wi|-|Fi
jieba: 3.14|.|15 ; all: 3|.|14|.|15
rjieba: 3.14.15 ; all: 3|.|14|.|15
jieba: 修理|路灯 ; all: 修理|理路|路灯
rjieba: 修理|路灯 ; all: 修|修理|理|理路|路|路灯|灯
node-rs: hello|-|world ; all: hello|-|world
node-rs: a|_|b|@|example|.|com ; all: a|_|b|@|example|.|com
node-rs: Wi|-|Fi ; all: Wi|-|Fi
node-rs: 3.14|.|15 ; all: 3|.|14|.|15
node-rs: 修理|路灯 ; all: 修|修理|理|理路|路|路灯|灯
EOF
echo 'as when it was found'
