#!/usr/bin/env bash
# make demo: the extension on real rows, on a throw-away cluster of its own: this machine's package
# descriptions in English, and a sample in Chinese. KEEP=1 leaves the server running.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/packages.sh
. "$(dirname "$0")/packages.sh"

work=''
keep=${KEEP:-}
started=$SECONDS

finish() {
	local status=$?
	if [ "$status" = 0 ] && [ -n "$keep" ] && [ "$keep" != 0 ]; then
		how_to_connect
	else
		remove_cluster "$work"
	fi
}

how_to_connect() {
	local as=''
	[ "$(id -u)" != 0 ] || as='runuser -u postgres -- '
	say 'the server is still running'
	echo "connect:  $as$PG_BIN/psql -h $work -U postgres postgres"
	echo "stop:     $as$PG_BIN/pg_ctl -D $work/data -m fast stop && rm -r $work"
}

sql() { as_postgres "$PG_BIN/psql" -X -q -v ON_ERROR_STOP=1 "$@"; }

# Draws `NOTICE: progress done total seconds` lines as a bar that moves on a terminal, else as a line
# per tenth; passes on other lines.
progress_bar() {
	local line count total seconds tenth last=-1 bar
	while read -r line; do
		case $line in
		*'progress '*) read -r count total seconds <<<"${line##*progress }" ;;
		*)
			echo "$line" >&2
			continue
			;;
		esac
		tenth=$((count * 10 / total))
		bar=$(printf '%*s' $((tenth * 4)) '' | tr ' ' '#')
		if [ -t 1 ]; then
			printf '\r   [%-40s] %d of %d rows, %s s ' "$bar" "$count" "$total" "$seconds"
		elif [ "$tenth" != "$last" ]; then
			printf '   [%-40s] %d of %d rows, %s s\n' "$bar" "$count" "$total" "$seconds"
		fi
		last=$tenth
	done
	[ ! -t 1 ] || echo
}

command -v apt-cache >/dev/null || fail "make demo shows Debian's package descriptions: apt-cache is missing, run it on Debian or Ubuntu"
require_everything demo
PROFILE=${PROFILE:-dev}
say "building for PostgreSQL $PG_MAJOR, profile $PROFILE (a minute or two the first time; PROFILE=release is what \`make install\` builds)"
build_library
install_files

trap finish EXIT
work=$(work_directory)
say "starting a throw-away server in $work"
start_cluster "$work" 'shared_buffers = 256MB' 'maintenance_work_mem = 256MB' 'fsync = off' 'max_wal_size = 4GB'

say 'loading package descriptions'
package_lists
sql -f - <"$ROOT/tools/demo_schema.sql"
package_rows | sql -c "COPY package (package, section, source, maintainer, subject, body) FROM STDIN"
gzip -dc "$ROOT/pg_test/data/debian_desc_zh.csv.gz" | sql -c 'COPY package_zh (id, lang, package, subject, body) FROM STDIN CSV HEADER'
sql -At -c "SELECT '   ' || count(*) || ' in English, ' || pg_size_pretty(sum(length(body))) || ' of text' FROM package
	UNION ALL SELECT '   ' || count(*) || ' in Chinese' FROM package_zh"

say 'fingerprinting them, 64 bits a row'
sql -At -f - <"$ROOT/tools/demo_fingerprint.sql" 2>&1 | progress_bar
sql -At -c "SELECT 'a row is left without a fingerprint' FROM package WHERE fp IS NULL AND coalesce(body, subject) ~ '\w' LIMIT 1"

sql -f - <"$ROOT/tools/demo_show.sql"

page=$ROOT/target/demo_review.html
sql -f "$("$PG_CONFIG" --sharedir)/extension/simhash_review.sql" -v relation=package -v key=id -v fp=fp -v text=body -v radius=8 >"$page"
say "a page to look at before anything is deleted (docs/duplicates.md#the-review-page): $page"
say "done in $((SECONDS - started)) s"
