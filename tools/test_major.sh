#!/usr/bin/env bash
# Builds the extension for the server of PG_CONFIG, installs it there and runs its tests, SUITES of them at a time. test.sh
# starts one of these for each major, and adds up.
#
#   test_major.sh full      SQL files, specs and every file of pg_test/t
#   test_major.sh most      the same without the long ones, except those that TESTS names
#   test_major.sh reduced   the SQL files, specs and files of pg_test/t that look at what a major can change, without the long ones
#   test_major.sh long      as reduced, what the last major has as well, and the long ones
#   test_major.sh upgrade   009_upgrade, from the server of OLD_PG_CONFIG; from 18 on 065_outside too
#   test_major.sh soak      the crash and concurrency tests, each for SECONDS_EACH seconds, and SQL files under valgrind
#   test_major.sh attack    080_attack alone, for SECONDS_EACH seconds, from the seed SEED, all rounds or ROUND again and again
#
# TESTS restricts all but upgrades to tests whose names begin with one of these words. RESULT is the file for
# the sums, FAILURES that for the reasons, LIBRARIES the folder of what was built, PERL_MODULES the folder of PostgreSQL's
# test modules, PROFILE what cargo builds the library with.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/servers.sh
. "$(dirname "$0")/servers.sh"
# shellcheck source=tools/count.sh
. "$(dirname "$0")/count.sh"

# Crash, dump, rights, vacuum, updates: what depends on the server's pages, locks, WAL and catalogs.
REDUCED='001_crash 005_dump_trusted 009_upgrade 019_vacuum 054_replaced_columns 057_repack 058_promised 065_outside'
# The standby, crash points, parallel builds, verification, plans: as well, on the last major. What breaks between
# the first and the last one breaks there, or at night, when all files run on all majors.
LAST='010_standby 015_crash_points 020_parallel_build 027_verify_beside_writers 029_read_ahead 055_update'
# SQL files that compare the answers of our own code with brute force, by queries that every major runs alike: they run on
# the first and the last major, at night on all.
OWN_CODE='across adaptive by_script clusters clusters_texts diff explain fingerprint fingerprint128 hash_tools hashes hashes_flag
	hashes_kept lexemes made_by margin minwise normal_form own_function pairs pairs_across pairs_plain pairs_within passages
	radius_report records records_formula records_labels routes same similarity texts_read weights word_lists'
# The long ones of those that hardly depend on the major: damage, cancels, limits, estimates, and random changes of many
# sessions. `make test` leaves them to `make test-majors`, which runs them on one major.
LONG='007_corrupt 014_size 021_estimates 025_pairs_clusters 028_flipped_bytes 031_damaged_answers 033_plans_of_a_million
	040_limits 044_cluster_writers 052_kept_clusters 053_kept_alone 080_attack'
# Random schedules, which are worth hours.
SOAKED='001_crash 002_concurrency 004_cancel 006_unlogged_temp 007_corrupt 010_standby 011_transactions
	012_fdw 013_directory 014_size 015_crash_points 017_nearest 019_vacuum 020_parallel_build 023_roots
	027_verify_beside_writers 028_flipped_bytes 031_damaged_answers 032_full_disk 036_dead_postings 043_writers 044_cluster_writers 050_flag 051_within 052_kept_clusters
	053_kept_alone 080_attack'
# Fingerprints, the index and triggers, in files that end soon.
UNDER_VALGRIND='copies flag fingerprint index_basics kept_pending'

form=$1
work=''

finish() {
	local status=$?
	rm -rf "${work:?}"
	# A run that ends early has failed.
	[ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1
	echo "$passed $failed $SECONDS" >"$RESULT"
}

# A server of our own stays as it was made: the extension goes into a copy, which the postgres user can read.
install_for_tests() {
	local place
	if is_fetched "$PG_CONFIG"; then
		place=${PG_CONFIG#"$SERVERS"/}
		mkdir -p "$work/servers"
		cp -r "$SERVERS/${place%%/*}" "$work/servers/"
		settle_server "$work/servers/${place%%/*}"
		PG_CONFIG=$work/servers/$place
		PG_BIN=$("$PG_CONFIG" --bindir)
		# Its contrib modules look for libpq where it was built.
		export LD_LIBRARY_PATH=${PG_BIN%/*}/lib
	fi
	install_files
	PGXS_DIR=$(dirname "$(dirname "$(dirname "$("$PG_CONFIG" --pgxs)")")")
}

# Sets LIBRARY, which is built once in a run of test.sh. One target directory serves all majors, and each build puts its library
# in the same place: so one at a time.
build_for_tests() {
	local log
	LIBRARY=$LIBRARIES/$PG_MAJOR.so
	[ ! -e "$LIBRARY" ] || return 0
	log=$(log_file "build_$PG_MAJOR")
	started=$SECONDS
	if ! (flock 9 && build_library && cp "$LIBRARY" "$LIBRARIES/$PG_MAJOR.so") 9>"$LIBRARIES/lock" >"$log" 2>&1; then
		count "build" 0 1 "$log"
		exit 1
	fi
	if grep -q '^warning' "$log"; then count 'build without warnings' 0 1 "$log"; else count 'build without warnings' 1 0 "$log"; fi
}

# The postgres user may not be able to read the repository: it gets a copy of the tests.
copy_tests() {
	cp -r "$ROOT/pg_test/"{sql,expected,specs,t,perl,data} "$ROOT/docs" "$ROOT/README.md" "$work/"
	mkdir -p "$work/out" "$work/bin" "$work/templates" "$work/source"
	# 061_reference looks errors up in them.
	cp -r "$ROOT/src" "$ROOT/crates" "$ROOT/sql" "$work/source/"
	cp "$ROOT/tools/initdb_once.sh" "$work/bin/initdb"
	[ "$(id -u)" != 0 ] || chown -R postgres "$work"
}

# The words of a list, a line each.
lines() { tr -s ' \t' '\n' <<<"$1"; }

# Tests of a kind, one name per line: file names without the suffix.
names() {
	local file name
	for file in "$work/$1"/*."$2"; do
		[ -e "$file" ] || continue
		name=$(basename "$file" ".$2")
		! wanted "$name" || echo "$name"
	done
}

# Leaves out of names what this form does, unless TESTS has asked for some of them.
without_long() {
	local left_out=''
	case $form in
	most) left_out=$LONG ;;
	reduced) left_out="$LONG $OWN_CODE" ;;
	esac
	if [ -n "$left_out" ] && [ -z "${TESTS:-}" ]; then grep -vxF "$(lines "$left_out")"; else cat; fi
}

# keep_server_log OUT LOG: after a failure, copies the log of the server that pg_regress has run in OUT to a file beside
# LOG, since OUT will be removed. Appends to LOG the name of that file, its lines of crashes, and its end.
keep_server_log() {
	local log=$2 kept=${2%.log}_server.log
	cat "$1"/log/*.log >"$kept" 2>/dev/null || return 0
	{
		echo
		echo "The server's log is $kept. Its lines of crashes, and the last ones before the server stops:"
		grep -E 'PANIC: |TRAP: |terminated by signal' "$kept" || echo '(no crash)'
		sed '/received fast shutdown request/,$d' "$kept" | tail -n 15
	} >>"$log"
}

# regress NAME PROGRAM FOLDER SUFFIX: a suite of pg_regress or pg_isolation_regress.
regress() {
	local name=$1 program=$2 out=$work/out/$3 log tests good bad=0 status=0
	mapfile -t tests < <(names "$3" "$4" | without_long)
	started=$SECONDS
	log=$(log_file "$3_$PG_MAJOR")
	[ -x "$program" ] || fail "$program is missing: install postgresql-client-$PG_MAJOR, or a PostgreSQL with its test programs"
	rm -f "${log%.log}_server.log"
	as_postgres mkdir "$out"
	# An ANALYZE of the server's own has a snapshot, for which VACUUM leaves dead rows. What compares all rows costs enough to be
	# compiled, which takes longer than running it.
	printf '%s\n' 'autovacuum = off' 'jit = off' >"$work/regress.conf"
	(cd "$out" && as_postgres "$program" --bindir="$PG_BIN" --inputdir="$work" --outputdir="$out" \
		--temp-instance="$out/instance" --temp-config="$work/regress.conf" --port=65433 --encoding=UTF8 --no-locale "${tests[@]}") >"$log" 2>&1 || status=1
	# "test name ... ok" up to PostgreSQL 15, "ok 1 - name" from 16 on.
	good=$(grep -Ec '^(test .*\.\.\. ok|ok [0-9])' "$log" || true)
	bad=$((${#tests[@]} - good))
	if [ "$status" = 1 ] && [ "$bad" = 0 ]; then bad=1; fi
	[ ! -e "$out/regression.diffs" ] || cat "$out/regression.diffs" >>"$log"
	[ "$bad" = 0 ] || keep_server_log "$out" "$log"
	end_suite "$3"
	count "$name" "$good" "$bad" "$log"
}

# tap_file NAME LABEL [VARIABLE=VALUE...]: one file of pg_test/t, a Perl program that prints TAP and
# starts clusters of its own.
tap_file() {
	local name=$1 label=$2 log good bad status=0
	shift 2
	log=$(log_file "tap_${name}_$PG_MAJOR")
	started=$SECONDS
	as_postgres mkdir "$work/out/$name"
	(cd "$work/out/$name" && as_postgres env PATH="$work/bin:$PG_BIN:$PATH" PERL5LIB="$PERL_MODULES" \
		INITDB="$PG_BIN/initdb" TEMPLATES="$work/templates" \
		PG_REGRESS="$PGXS_DIR/src/test/regress/pg_regress" PG_TEST_DATA="$work/data" \
		TESTDIR="$work/out/$name" TESTDATADIR="$work/out/$name" TESTLOGDIR="$work/out/$name/log" "$@" \
		prove --verbose -I "$work/perl" "$work/t/$name.pl") >"$log" 2>&1 || status=1
	good=$(grep -c '^ok ' "$log" || true)
	bad=$(grep -c '^not ok ' "$log" || true)
	if [ "$status" = 1 ] && [ "$bad" = 0 ]; then bad=1; fi
	[ "$bad" = 0 ] || as_postgres sh -c "tail -n 15 $work/out/$name/tmp_check/log/*" >>"$log" 2>&1 || true
	end_suite "$name"
	count "$label" "$good" "$bad" "$log"
	# What a file says that it did, and why one was skipped.
	sed -n -e 's/^# done: /      /p' -e 's/^.* \(skipped: \)/      \1/p' "$log"
	# A failed soak keeps the servers' files: it may take hours until it fails again.
	if [[ $form = soak || $form = attack ]] && [ "$bad" != 0 ]; then
		cp -r "$work/out/$name" "$(mktemp -d "$ROOT/target/log/failed_$name.XXXXXX")"
		cp "$log" "${log%.log}_failed_$SECONDS.log"
	fi
	rm -rf "${work:?}/out/$name"
}

# SQL files on a server whose processes valgrind watches. An error counts when its stack has a frame of the library: valgrind
# shows one as `(in .../simhash_dedup.so)`, or by its source where debug information is. The server's own errors do not count,
# so nothing is suppressed. A server of packages hides its memory contexts from valgrind: of memory that palloc gives out, it
# sees neither the ends nor what was freed, but it does see values that nobody has set.
under_valgrind() {
	local programs=$work/valgrind log TESTS=$UNDER_VALGRIND bad=0
	if ! valgrind --quiet true 2>/dev/null; then
		say 'valgrind is not installed, or lacks libc6-dbg: no SQL file is run under it'
		return
	fi
	as_postgres mkdir -p "$programs/errors"
	as_postgres ln -s "$PG_BIN"/* "$programs"
	as_postgres tee "$programs/under" <<-END >/dev/null
		#!/bin/sh
		exec valgrind --trace-children=yes --error-limit=no --num-callers=20 --log-file=$programs/errors/%p $PG_BIN/postgres "\$@"
	END
	as_postgres chmod 755 "$programs/under"
	as_postgres mv "$programs/under" "$programs/postgres"
	PG_BIN=$programs PGCTLTIMEOUT=600 \
		regress 'SQL under valgrind' "$PGXS_DIR/src/test/regress/pg_regress" sql sql
	log=$(log_file "valgrind_$PG_MAJOR")
	sed 's/^==[0-9]*== $//' "$programs"/errors/* 2>"$log" |
		awk -v RS= -v ORS='\n\n' '/simhash_dedup\.so\)|\.rs:[0-9]/' >>"$log" || true
	[ ! -s "$log" ] || bad=1
	count 'no errors of the library' $((1 - bad)) "$bad" "$log"
}

# The long form: each of these files for SECONDS_EACH seconds. A file that knows SIMHASH_SOAK makes
# its own rounds; others are run again and again, with other random rows each time.
soak() {
	! wanted valgrind || under_valgrind
	local name each=${SECONDS_EACH:-600} end round
	for name in $SOAKED; do
		wanted "$name" || continue
		if grep -Eq 'until_over|soak_seconds' "$work/t/$name.pl"; then
			tap_file "$name" "$name" SIMHASH_SOAK="$each"
			continue
		fi
		end=$((SECONDS + each))
		for ((round = 1; SECONDS < end; round++)); do
			tap_file "$name" "$name, round $round"
		done
	done
}

# The attack, which shows how it goes on: seed and rounds as they come into its log.
attack() {
	local log
	log=$(log_file "tap_080_attack_$PG_MAJOR")
	: >"$log"
	sed -un 's/^# \(seed\|round\) /   \1 /p' < <(tail --pid=$$ -n +1 -f "$log" 2>/dev/null) &
	tap_file 080_attack 080_attack SIMHASH_SOAK="${SECONDS_EACH:-60}" SIMHASH_TEST_SEED="${SEED:-}" SIMHASH_ROUND="${ROUND:-}"
}

# ---------------------------------------------------------------- suites side by side

# A suite is `sql`, `specs` or a file of pg_test/t.
suite() {
	case $1 in
	sql) regress 'SQL regression tests' "$PGXS_DIR/src/test/regress/pg_regress" sql sql ;;
	specs) regress 'two sessions, every interleaving' "$PGXS_DIR/src/test/isolation/pg_isolation_regress" specs spec ;;
	*) tap_file "$1" "$1" ;;
	esac
}

# Lines `NAME SECONDS` for the wanted ones of these suites, the longest first: a long one at the end would leave a processor
# idle. seconds.txt says how long each took once; a suite that is not in it counts as a middling one.
plan_suites() {
	local name
	for name; do
		case $name in
		sql) [ -n "$(names sql sql)" ] || continue ;;
		specs) [ -n "$(names specs spec)" ] || continue ;;
		*) wanted "$name" || continue ;;
		esac
		awk -v name="$name" '$1 == name { s = $2 } END { print name, s == "" ? 10 : s }' "$ROOT/tools/seconds.txt"
	done | sort -k 2,2nr -k 1,1
}

# end_suite NAME: notes how long a suite took, and sets REMAINING, which says what is left of the plan.
end_suite() {
	[ -e "$work/plan" ] || return 0
	echo "$1 $((SECONDS - started))" >>"$work/ended"
	REMAINING=$(awk -v side_by_side="$SUITES" 'FILENAME ~ /ended$/ { ended[$1] = 1; next }
		!($1 in ended) { n++; s += $2; if ($2 > most) most = $2 }
		END { s = s / side_by_side; printf "%d left", n; if (n) printf ", about %d s", (s > most ? s : most) }' "$work/ended" "$work/plan")
}

# counted_suite NAME: a suite in a process of its own, which leaves its sums in a file.
counted_suite() {
	passed=0
	failed=0
	suite "$1"
	echo "$passed $failed" >"$work/sums/$1"
}

# run_suites NAME...: SUITES of them at a time, each in a process of its own. One that fails stops no other.
run_suites() {
	local name good bad
	plan_suites "$@" >"$work/plan"
	: >"$work/ended"
	mkdir "$work/sums"
	while read -r name _; do
		while [ "$(jobs -rp | wc -l)" -ge "$SUITES" ]; do wait -n || true; done
		# Counts as failed when it ends before it has counted.
		echo '0 1' >"$work/sums/$name"
		counted_suite "$name" </dev/null &
	done <"$work/plan"
	wait
	while read -r name _; do
		read -r good bad <"$work/sums/$name"
		passed=$((passed + good))
		failed=$((failed + bad))
	done <"$work/plan"
	sort "$work/ended" >"$(log_file "seconds_$PG_MAJOR")"
	[ -s "$work/plan" ] || fail "no test of the $form form has a name that begins with: $TESTS"
}

# The files of pg_test/t that this form has, a line each.
files() {
	case $form in
	full | most) names t pl | without_long ;;
	reduced) names t pl | grep -xF "$(lines "$REDUCED")" ;;
	long) names t pl | grep -xF "$(lines "$REDUCED $LAST $LONG")" ;;
	esac
}

# Everything up to the tests, for the server of PG_CONFIG.
prepare() {
	require_postgres test >/dev/null
	TESTED_MAJOR=$PG_MAJOR
	build_for_tests
	install_for_tests
}

# From the server of OLD_PG_CONFIG to that of PG_CONFIG; both get the extension.
upgrade() {
	local new=$PG_CONFIG old_bin old_major
	PG_CONFIG=$OLD_PG_CONFIG
	prepare
	old_bin=$PG_BIN old_major=$PG_MAJOR
	PG_CONFIG=$new
	prepare
	tap_file 009_upgrade "009_upgrade from $old_major" OLD_SERVER="$(dirname "$old_bin")"
	# Where both majors look outside of the server.
	[ "$old_major" -lt 18 ] || tap_file 065_outside "065_outside from $old_major" OLD_SERVER="$(dirname "$old_bin")"
}

SECONDS=0
SUITES=${SUITES:-2}
require_rust
trap finish EXIT
work=$(work_directory)
copy_tests
case $form in
full | most | reduced | long)
	prepare
	mapfile -t files < <(files)
	run_suites sql specs "${files[@]}"
	;;
upgrade) upgrade ;;
soak)
	prepare
	soak
	;;
attack)
	prepare
	attack
	;;
*) fail "the form of a test run is full, most, reduced, long, upgrade, soak or attack, not $form" ;;
esac
