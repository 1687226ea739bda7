#!/usr/bin/env bash
# make demo: the extension on real rows, on a throw-away cluster of its own: this machine's package
# descriptions in English, and a sample in Chinese. KEEP=1 leaves the server running.

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/common.sh"

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

# Package lists with English long descriptions. Many installations (all container images) leave the
# long ones out: then lists of our own are fetched once, into target/demo, and the machine's stay
# as they are.
package_lists() {
	local own=$ROOT/target/demo/apt
	apt_options=()
	compgen -G '/var/lib/apt/lists/*Translation-en*' >/dev/null && return 0
	apt_options=(-o "Dir::State::Lists=$own/lists/" -o "Dir::Cache=$own/cache/" -o Acquire::Languages=en
		-o APT::Sandbox::User=root -o APT::Update::Post-Invoke-Success::=true)
	compgen -G "$own/lists/*Translation-en*" >/dev/null && return 0
	echo 'fetching the package descriptions (once; some 20 MB)'
	mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
	apt-get -q "${apt_options[@]}" -o Debug::NoLocking=true update >"$(log_file apt_lists)" 2>&1 ||
		echo 'they could not be fetched: going on with what this machine has'
	compgen -G "$own/lists/*Packages*" >/dev/null || apt_options=()
}

# Rows in COPY format on stdout.
package_rows() {
	local lists=/var/lib/apt/lists dir=$ROOT/target/demo translations=()
	[ "${#apt_options[@]}" = 0 ] || lists=$dir/apt/lists
	apt-cache "${apt_options[@]}" dumpavail >"$dir/packages"
	mapfile -t translations < <(compgen -G "$lists/*Translation-en*" || true)
	: >"$dir/translations"
	[ "${#translations[@]}" = 0 ] || /usr/lib/apt/apt-helper cat-file "${translations[@]}" >"$dir/translations"
	perl "$ROOT/pg_test/tools/package_rows.pl" "$dir/packages" "$dir/translations"
}

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
say "building for PostgreSQL $PG_MAJOR (a few minutes the first time)"
build_release
install_files

trap finish EXIT
work=$(work_directory)
say "starting a throw-away server in $work"
start_cluster "$work" 'shared_buffers = 256MB' 'maintenance_work_mem = 256MB' 'fsync = off' 'max_wal_size = 4GB'

say 'loading package descriptions'
mkdir -p "$ROOT/target/demo"
package_lists
sql -f - <"$ROOT/pg_test/tools/demo_schema.sql"
package_rows | sql -c "COPY package (package, section, source, maintainer, subject, body) FROM STDIN"
gzip -dc "$ROOT/pg_test/data/debian_desc_zh.csv.gz" | sql -c 'COPY package_zh (id, lang, package, subject, body) FROM STDIN CSV HEADER'
sql -At -c "SELECT '   ' || count(*) || ' in English, ' || pg_size_pretty(sum(length(body))) || ' of text' FROM package
	UNION ALL SELECT '   ' || count(*) || ' in Chinese' FROM package_zh"

say 'fingerprinting them, 64 bits a row'
sql -At -f - <"$ROOT/pg_test/tools/demo_fingerprint.sql" 2>&1 | progress_bar
sql -At -c "SELECT 'a row is left without a fingerprint' FROM package WHERE fp IS NULL AND (subject || body) ~ '\w' LIMIT 1"

sql -f - <"$ROOT/pg_test/tools/demo_show.sql"
say "done in $((SECONDS - started)) s"
