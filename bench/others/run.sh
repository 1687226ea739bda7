#!/usr/bin/env bash
# make bench-others: near-duplicates of a text by this extension, pg_trgm, bktree, pgvector, and MinHash LSH in Python, on the
# same package descriptions, each with the same check of the text; and which texts of a corpus, those descriptions or the CSV file
# CORPUS (id, body), have an earlier one so alike, text by text. Leaves others.txt and others.csv in OUT. QUESTIONS texts are asked
# for. Then fingerprints of ROWS rows: one question, and 64 at once, to this extension, bktree and FAISS (batches.txt, batches.csv), in
# BATCHES of 64 questions and ROUNDS. PARTS is one of texts and batches, or both. What a machine lacks is left out with a line:
# bktree, and pgvector from 0.7 on, in the server of PG_CONFIG, and the packages datasketch, rensa, and faiss with numpy, of the
# interpreter PYTHON.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"
# shellcheck source=tools/packages.sh
. "$(dirname "$0")/../../tools/packages.sh"

OUT=${OUT:-$ROOT/target/others}
QUESTIONS=${QUESTIONS:-300}
ROWS=${ROWS:-1000000}
ROUNDS=${ROUNDS:-5}
BATCHES=${BATCHES:-10}
PARTS=${PARTS:-texts batches}
PYTHON=${PYTHON:-python3}

sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 -v questions="$QUESTIONS" "$@"; }

texts() {
	package_lists
	sql -c 'CREATE TABLE doc (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, package text, section text, source text,
		maintainer text, subject text, body text)'
	package_rows | sql -c "COPY doc (package, section, source, maintainer, subject, body) FROM STDIN"
	sql -c "SELECT '   ' || count(*) || ' texts, ' || pg_size_pretty(sum(length(body))) FROM doc"
	say "the true answers of $QUESTIONS texts, by comparing with all others"
	sql -f "$ROOT/bench/others/measure.sql"
	sql -c "SELECT '   ' || count(*) || ' answers to ' || count(DISTINCT question) || ' texts' FROM answer"
	say 'in the database'
	sql -f "$ROOT/bench/others/ways.sql"
	mapfile -t packages < <("$PYTHON" "$ROOT/bench/others/minhash.py")
	if [ "${#packages[@]}" -gt 0 ]; then
		say 'in Python'
		sql --csv -c "SELECT id, coalesce(body, '') FROM doc" >"$OUT/doc.csv"
		sql -c 'SELECT id FROM question' >"$OUT/question.csv"
		sql --csv -c 'TABLE answer' >"$OUT/answer.csv"
	else
		echo "   $PYTHON has none of the packages datasketch and rensa: left out"
	fi
	for way in "${packages[@]}"; do
		"$PYTHON" "$ROOT/bench/others/minhash.py" "$OUT/doc.csv" "$OUT/question.csv" "$OUT/answer.csv" "$way" | sql -c 'COPY measured FROM STDIN CSV'
	done
	corpus
}

# The end of texts(), with the ways of `packages`.
corpus() {
	say 'a corpus, text by text'
	if [ -z "${CORPUS:-}" ]; then
		CORPUS=$OUT/corpus.csv
		sql --csv -c 'SELECT id, body FROM doc WHERE length(body) >= 100 ORDER BY hashint4(id), id' >"$CORPUS"
	fi
	"$PYTHON" "$ROOT/bench/others/corpus.py" "$CORPUS" truth >"$OUT/truth.csv"
	way='simhash_dedup, within 10'
	sql -f "$ROOT/bench/others/corpus.sql" <"$CORPUS" 2>"$OUT/corpus.log"
	seconds=$(sed -n 's/.*![[:space:]]*\([0-9.]*\) s user, \([0-9.]*\) s system.*/\1 \2/p' "$OUT/corpus.log" | tail -n 1 | awk '{ print $1 + $2 }')
	sql -c "INSERT INTO measured VALUES ('$way', 'corpus, s', $seconds)"
	sql -v way="$way" -f "$ROOT/bench/others/corpus_report.sql" <"$OUT/truth.csv"
	for way in "${packages[@]}"; do
		"$PYTHON" "$ROOT/bench/others/corpus.py" "$CORPUS" "$way" "$OUT/truth.csv" | sql -c 'COPY measured FROM STDIN CSV'
	done
	sql --csv -P tuples_only=off -c 'TABLE measured' >"$OUT/others.csv"
	sql -P format=aligned -P tuples_only=off -P footer=off -f "$ROOT/bench/others/report.sql" | tee "$OUT/others.txt"
}

# The processor time of what batches.sql has measured: rows as in batch_measured, in seconds for each time it was asked.
processor_times() {
	awk -F'[:|] *' '/INFO: .*measured: / { way = $(NF - 2); what = $(NF - 1); times = $NF }
		times && /![ \t]+[0-9.]+ s user/ { split($0, of, /[^0-9.]+/); printf "%s,%s,%.9f\n", way, what, (of[2] + of[3]) / times; times = 0 }' "$1"
}

batches() {
	local way ways dir=$OUT/batches
	# The tables of the texts have the same names.
	local -x PGOPTIONS='-c search_path=batches,public'
	mkdir -p "$dir"
	say "one question and 64 at once, $ROWS fingerprints"
	sql -v rows="$ROWS" -v batches="$BATCHES" -v rounds="$ROUNDS" -f "$ROOT/bench/others/batches.sql" 2>"$OUT/batches.log" ||
		fail "$(grep -m 1 ERROR "$OUT/batches.log")"
	processor_times "$OUT/batches.log" | sql -c 'COPY batch_measured FROM STDIN CSV'
	mapfile -t ways < <("$PYTHON" "$ROOT/bench/others/batches.py")
	[ "${#ways[@]}" -gt 0 ] || echo "   $PYTHON has no package faiss: left out"
	sql -c 'COPY (SELECT fp FROM t ORDER BY id) TO STDOUT' >"$dir/rows.csv"
	sql -c 'SELECT fp FROM question ORDER BY n' >"$dir/question.csv"
	sql --csv -c 'TABLE answer' >"$dir/answer.csv"
	for way in "${ways[@]}"; do
		"$PYTHON" "$ROOT/bench/others/batches.py" "$dir/rows.csv" "$dir/question.csv" "$dir/answer.csv" "$ROUNDS" "$way" |
			sql -c 'COPY batch_measured FROM STDIN CSV'
	done
	rm -r "$dir"
	sql --csv -P tuples_only=off -c 'TABLE batch_measured' >"$OUT/batches.csv"
	sql -P format=aligned -P tuples_only=off -P footer=off -f "$ROOT/bench/others/batches_report.sql" | tee "$OUT/batches.txt"
}

[[ " $PARTS" =~ ^(\ (texts|batches))+$ ]] || fail "PARTS=$PARTS is not of texts and batches"
begin_benchmark "shared_buffers = $((ROWS > 2500000 ? ROWS / 2500 : 1024))MB" 'maintenance_work_mem = 1GB' 'autovacuum = off' \
	'fsync = off' 'jit = off' 'max_wal_size = 8GB' 'max_parallel_workers_per_gather = 0' 'max_parallel_maintenance_workers = 0'
for part in $PARTS; do "$part"; done
