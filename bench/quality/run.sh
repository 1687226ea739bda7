#!/usr/bin/env bash
# make quality: precision and recall of the configurations in configurations.txt, and of other methods, on the
# labelled sets of the folder DATA, or on the free rows of this project without it. Leaves quality.csv,
# quality.md (tables) and plots in OUT (target/quality). With DATA the tables go into docs/quality.md too.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
data=${DATA:-$root/pg_test/data}
out=${OUT:-$root/target/quality}
export CARGO_TARGET_DIR=$root/target/quality
mkdir -p "$out"
# All pairs are found by counting bits: with the processor's own instruction.
RUSTFLAGS='-C target-cpu=native' cargo build --release --locked --quiet --bin quality --manifest-path "$root/bench/quality/Cargo.toml"
"$CARGO_TARGET_DIR/release/quality" "$data" "$root/bench/quality/configurations.txt" "$out"
echo "tables and plots are in $out"

[ -n "${DATA:-}" ] || exit 0
# The document up to the marker, then the tables.
doc=$root/docs/quality.md
{
	sed '/<!-- table -->/q' "$doc"
	cat "$out/quality.md"
} >"$out/document.md"
mv "$out/document.md" "$doc"
