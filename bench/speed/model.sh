#!/usr/bin/env bash
# make bench-model: what searches, index and WAL cost at up to a billion rows, by simulation, next to
# what was measured. Needs no server. OUT is the folder of model.md and model.svg (target/bench).

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/../../pg_test/tools/common.sh"

OUT=${OUT:-$ROOT/target/bench}
mkdir -p "$OUT"
program=$(RUSTFLAGS='-C target-cpu=native' cargo_artifact speed --release --quiet --package speed \
	--target-dir "$ROOT/target/bench_build")
"$program" model "$OUT" "$ROOT/docs/plots/bench_growth.csv" "$ROOT/docs/plots/bench_10M.csv"
