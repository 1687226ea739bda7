#!/usr/bin/env bash
# make quality: precision and recall of the configurations in configurations.txt on the labelled sets of the folder DATA, or
# on the free rows of this project without it. Leaves quality.csv and quality.md (tables) in OUT (target/quality); with DATA
# the tables go into tables.md beside this script too, and the two for readers into docs/quality.md. bench/records follows:
# records.md, records_short.md, titles.md and cost.md, of which records_short.md and titles.md go into docs/records.md in the
# same way.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

data=${DATA:-$ROOT/pg_test/data}
out=${OUT:-$ROOT/target/quality}
mkdir -p "$out"
# All pairs are found by counting bits: with the processor's own instruction.
compiled() {
	RUSTFLAGS=$(bit_counting) cargo_artifact "$1" --release --quiet --bin "$1" --package quality \
		--target-dir "$ROOT/target/bench_build"
}

# with_tables DOCUMENT TABLES: the document up to its marker, then the tables.
with_tables() {
	{
		sed '/<!-- table -->/q' "$1"
		cat "$2"
	} >"$out/document.md"
	mv "$out/document.md" "$1"
}

# with_block DOCUMENT NAME TABLE: the table between the document's lines <!-- NAME --> and <!-- end of NAME -->.
with_block() {
	{
		sed "/<!-- $2 -->/q" "$1"
		echo
		cat "$3"
		echo
		sed -n "/<!-- end of $2 -->/,\$p" "$1"
	} >"$out/document.md"
	mv "$out/document.md" "$1"
}

program=$(compiled quality)
"$program" "$data" "$ROOT/bench/quality/configurations.txt" "$out"
rm -f "$out"/{records,records_short,titles,cost}.md
OUT=$out "$ROOT/bench/records/run.sh"
echo "tables are in $out"

[ -n "${DATA:-}" ] || exit 0
for block in advice; do
	with_block "$ROOT/docs/quality.md" "$block" "$out/$block.md"
done
[ ! -e "$out/records_short.md" ] || with_block "$ROOT/docs/records.md" table "$out/records_short.md"
[ ! -e "$out/titles.md" ] || with_block "$ROOT/docs/records.md" titles "$out/titles.md"
with_tables "$ROOT/bench/quality/tables.md" "$out/quality.md"
