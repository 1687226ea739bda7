#!/usr/bin/env bash
# What the presets adaptive and shingles find of short texts, in Markdown: of pairs that a person calls the same, and of rows that
# have nothing to do with a question. TEXTS is a file with a row on each line (default: descriptions that apt knows), VERDICTS files
# as that of crates/fingerprint/tests/data.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

verdicts=${VERDICTS:-$ROOT/crates/fingerprint/tests/data/verdicts.csv}
texts=${TEXTS:-}
if [ -z "$texts" ]; then
	texts=$(mktemp)
	trap 'rm -f "$texts"' EXIT
	apt-cache dumpavail | sed -n 's/^Description\(-[a-z]*\)\?: //p; s/^ \([^.].*\)/\1/p' | sort -u >"$texts"
fi
program=$(RUSTFLAGS=$(bit_counting) cargo_artifact short --release --quiet --bin short --package quality --target-dir "$ROOT/target/bench_build")
# shellcheck disable=SC2086  # a list of files
"$program" "$texts" $verdicts
