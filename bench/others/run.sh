#!/usr/bin/env bash
# make bench-others: near-duplicates of a text by this extension, pg_trgm, bktree, pgvector, and MinHash LSH in Python, on the
# same package descriptions, each with the same check of the text. Leaves others.txt and others.csv in OUT. QUESTIONS texts are
# asked for. What a machine lacks is left out with a line: bktree, and pgvector from 0.7 on, in the server of PG_CONFIG, and the
# package datasketch of the interpreter PYTHON.

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/../../pg_test/tools/common.sh"
# shellcheck source=pg_test/tools/packages.sh
. "$(dirname "$0")/../../pg_test/tools/packages.sh"

OUT=${OUT:-$ROOT/target/others}
QUESTIONS=${QUESTIONS:-300}
PYTHON=${PYTHON:-python3}

sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 -v questions="$QUESTIONS" "$@"; }

begin_benchmark 'shared_buffers = 1GB' 'maintenance_work_mem = 1GB' 'autovacuum = off' 'fsync = off' 'jit = off' \
	'max_wal_size = 8GB' 'max_parallel_workers_per_gather = 0' 'max_parallel_maintenance_workers = 0'

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
if "$PYTHON" -c 'import datasketch' 2>/dev/null; then
	say 'in Python'
	sql --csv -c "SELECT id, coalesce(body, '') FROM doc" >"$OUT/doc.csv"
	sql -c 'SELECT id FROM question' >"$OUT/question.csv"
	sql --csv -c 'TABLE answer' >"$OUT/answer.csv"
	"$PYTHON" "$ROOT/bench/others/minhash.py" "$OUT/doc.csv" "$OUT/question.csv" "$OUT/answer.csv" | sql -c 'COPY measured FROM STDIN CSV'
else
	echo "   $PYTHON has no package datasketch: left out"
fi
sql --csv -P tuples_only=off -c 'TABLE measured' >"$OUT/others.csv"
sql -P format=aligned -P tuples_only=off -P footer=off -f "$ROOT/bench/others/report.sql" | tee "$OUT/others.txt"
