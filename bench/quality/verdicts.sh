#!/usr/bin/env bash
# Verdicts on pairs of texts beside what people say, by method and by kind, in Markdown. FILE is a file as that of
# crates/fingerprint/tests/data; PYTHON one with the packages of requirements.txt, which may be missing.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

cargo build --quiet --package simhash_fingerprint --example verdicts
exec "${PYTHON:-python3}" "$ROOT/bench/quality/verdicts.py" "${FILE:-$ROOT/crates/fingerprint/tests/data/verdicts.csv}" \
	"${CARGO_TARGET_DIR:-$ROOT/target}/debug/examples/verdicts"
