#!/usr/bin/env bash
# make quality: precision and recall of the configurations in configurations.txt on the labelled sets of
# the folder DATA. Leaves every number in target/quality/quality.csv and the table in docs/quality.md.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
data=${DATA:?give the folder of the labelled sets: make quality DATA=/folder}
out=$root/target/quality
export CARGO_TARGET_DIR=$out
cargo build --release --locked --quiet --manifest-path "$root/bench/quality/Cargo.toml"
"$out/release/quality" "$data" "$root/bench/quality/configurations.txt" >"$out/quality.csv"

# The document up to the marker, then the table.
doc=$root/docs/quality.md
{
	sed '/<!-- table -->/q' "$doc"
	awk -F, '
		function show(value) { return sprintf("%.2f", value) }
		NR == 1 { next }
		$1 != set { set = $1; printf "\n### %s\n\n", set
			print "| configuration | k = 3 | recall interval | k = 6 | k = 8 | k = 8, checked | k = 10, checked | fullest key |"
			print "|---|---|---|---|---|---|---|---|" }
		{ cell[$3, $4] = show($9) " / " show($10) }
		$3 == 3 && $4 == "none" { interval = show($11) " - " show($12) }
		$3 == 10 && $4 == "jaccard" { printf "| `%s` | %s | %s | %s | %s | %s | %s | %.2f %% |\n", $2, cell[3, "none"],
			interval, cell[6, "none"], cell[8, "none"], cell[8, "jaccard"], cell[10, "jaccard"], 100 * $14 }
	' "$out/quality.csv"
} >"$out/quality.md"
mv "$out/quality.md" "$doc"
