#!/usr/bin/env bash
# make bench-cold ROWS=1000000 ROUNDS=9 OUT=folder: searches that find nothing in memory, by effective_io_concurrency, on a
# throw-away cluster of its own. Leaves cold.csv and cold.md in OUT. It fails when the settings give different answers.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../../tools/common.sh"

ROWS=${ROWS:-1000000}
ROUNDS=${ROUNDS:-9}
OUT=${OUT:-$ROOT/target/bench}

sql() { as_postgres "$PG_BIN/psql" -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# one_search QUERY CENTRE SETTING: milliseconds, pages read and rows found, with a comma between them. A new start of the
# server empties its buffers; dd lets the system forget the files. Before that the session has planned and searched once. A
# plan for a known centre would read that centre's pages.
one_search() {
	as_postgres "$PG_BIN/pg_ctl" -D "$work/data" -l "$work/server.log" -w -s -m fast restart
	sql <<-SQL | awk '/^ *Buffers: .*read=/ && !pages { pages = $0; sub(/.*read=/, "", pages); pages += 0 }
		/rows=/ && !rows { rows = $0; sub(/.*actual.*rows=/, "", rows); rows += 0 }
		/^Execution Time/ { printf "%s,%d,%d\n", $3, pages, rows }'
		SET enable_seqscan = off; SET effective_io_concurrency = $3; SET plan_cache_mode = force_generic_plan;
		PREPARE search (bigint) AS $1;
		EXECUTE search (0);
		\! for file in $files; do dd if="\$file" iflag=nocache count=0 status=none; done
		EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE search ($2);
	SQL
}

begin_benchmark 'shared_buffers = 256MB' 'maintenance_work_mem = 1GB' 'max_wal_size = 20GB' 'autovacuum = off' 'jit = off' \
	'fsync = off' 'max_parallel_workers_per_gather = 0'
say "loading $ROWS rows"
sql -c 'CREATE EXTENSION simhash_dedup' -c 'CREATE TABLE t (id bigint, fp bigint)' \
	-c "INSERT INTO t SELECT i, hashint8extended(i, 1) FROM generate_series(1, $ROWS) i" \
	-c 'CREATE INDEX t_fp ON t USING simhash (fp)' -c 'VACUUM ANALYZE t' -c CHECKPOINT
# Pages that are not written yet would stay in the system's cache.
sync
files=$(sql -c "SELECT format('%1\$s/%2\$s %1\$s/%2\$s.*[0-9]', current_setting('data_directory'), pg_relation_filepath(r))
	FROM unnest('{t,t_fp}'::regclass[]) r" | while read -r pattern; do compgen -G "${pattern% *}" && compgen -G "${pattern#* }"; done |
	tr '\n' ' ' || true)
say "measuring $ROUNDS rounds; the result goes to $OUT"
echo 'search,round,setting,ms,pages,rows' >"$OUT/cold.csv"
for round in $(seq "$ROUNDS"); do
	centre=$(sql -c "SELECT fp # 5 FROM t WHERE id = 1 + $round * 7919 % $ROWS")
	for setting in 0 1 16 100; do
		for search in 'within 3' 'within 8' 'ten nearest'; do
			case $search in
			within*) query="SELECT id FROM t WHERE fp <~> \$1 <= ${search#within }" ;;
			*) query="SELECT id FROM t ORDER BY fp <~> \$1 LIMIT 10" ;;
			esac
			echo "$search,$round,$setting,$(one_search "$query" "$centre" "$setting")" >>"$OUT/cold.csv"
		done
	done
done
sql -c 'CREATE TABLE cold (search text, round int, setting int, ms float8, pages int, rows int)'
sql -c 'COPY cold FROM STDIN CSV HEADER' <"$OUT/cold.csv"
{
	echo '| search | pages read | 0 | 1 | 16 | 100 |'
	echo '|---|---|---|---|---|---|'
	sql -c "SELECT format('| %s | %s | %s |', search, median_pages, string_agg(to_char(median, 'FM9990.00'), ' | ' ORDER BY setting))
		FROM (SELECT search, setting, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS median FROM cold GROUP BY 1, 2) AS t
			JOIN (SELECT search, percentile_disc(0.5) WITHIN GROUP (ORDER BY pages) AS median_pages FROM cold WHERE setting = 0 GROUP BY 1) AS p USING (search)
		GROUP BY search, median_pages ORDER BY median_pages"
} | tee "$OUT/cold.md"
different=$(sql -c 'SELECT count(*) FROM (SELECT FROM cold GROUP BY search, round HAVING count(DISTINCT rows) > 1) AS d')
[ "$different" = 0 ] || fail "$different searches found other rows by another setting"
