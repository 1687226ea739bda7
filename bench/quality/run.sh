#!/usr/bin/env bash
# make quality: precision and recall of the configurations in configurations.txt, and of other methods, on the
# labelled sets of the folder DATA, or on the free rows of this project without it. Leaves quality.csv,
# quality.md (tables) and plots in OUT (target/quality). With DATA the tables go into docs/quality.md too.

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/../../pg_test/tools/common.sh"

data=${DATA:-$ROOT/pg_test/data}
out=${OUT:-$ROOT/target/quality}
mkdir -p "$out"
# All pairs are found by counting bits: with the processor's own instruction.
program=$(RUSTFLAGS='-C target-cpu=native' cargo_artifact quality --release --quiet --bin quality --package quality \
	--target-dir "$ROOT/target/bench_build")
"$program" "$data" "$ROOT/bench/quality/configurations.txt" "$out"
echo "tables and plots are in $out"

[ -n "${DATA:-}" ] || exit 0
# The document up to the marker, then the tables.
doc=$ROOT/docs/quality.md
{
	sed '/<!-- table -->/q' "$doc"
	cat "$out/quality.md"
} >"$out/document.md"
mv "$out/document.md" "$doc"
