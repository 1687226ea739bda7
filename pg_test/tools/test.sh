#!/usr/bin/env bash
# make test, make quick, make soak: every check and test of the project, or the crash and concurrency
# tests for a long time, each suite on a cluster of its own, and at the end one line `N passed, N
# failed`. The exit status is 0 only when nothing failed.

# shellcheck source=pg_test/tools/common.sh
. "$(dirname "$0")/common.sh"

passed=0
failed=0
work=''

# count NAME PASSED FAILED LOG: adds to the sums and prints one line, after a failure also why.
count() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	printf '   %-42s %5d passed %3d failed  (%d s)\n' "$1" "$2" "$3" $((SECONDS - started))
	[ "$3" = 0 ] || { [ ! -s "$4" ] || sed 's/^/   | /' "$4" | tail -n "${5:-60}"; }
}

# check NAME COMMAND...: one test, which passes when the command does.
check() {
	local name=$1 log
	shift
	log=$(log_file "${name//[^a-z0-9]/_}")
	started=$SECONDS
	if "$@" >"$log" 2>&1; then count "$name" 1 0 "$log"; else count "$name" 0 1 "$log"; fi
}

in_root() { (cd "$ROOT" && "$@"); }

checks() {
	local features package
	read -r -a features <<<"$(cargo_features)"
	say 'format and lint'
	check 'cargo fmt' in_root cargo fmt --check
	check 'cargo clippy' in_root cargo clippy --locked --all-targets "${features[@]}" -- -D warnings
	check 'cargo clippy, pure rooms' in_root cargo clippy --locked --all-targets --no-default-features -- -D warnings
	for package in quality speed; do
		check "cargo fmt, bench/$package" in_root cargo fmt --check --manifest-path "bench/$package/Cargo.toml"
		# The benchmark links libpq, which nothing else needs.
		if [ "$package" = quality ] || pkg-config --exists libpq 2>/dev/null; then
			check "cargo clippy, bench/$package" in_root env CARGO_TARGET_DIR=target/checks cargo clippy --locked --all-targets \
				--manifest-path "bench/$package/Cargo.toml" -- -D warnings
		fi
	done
	if command -v shellcheck >/dev/null; then
		check 'shellcheck' in_root shellcheck -x pg_test/tools/*.sh bench/*/*.sh fuzz/*.sh
	fi
	check 'make install, elsewhere' in_root pg_test/tools/test_install.sh
}

unit_tests() {
	local log bad=0 sums
	say 'unit and property tests'
	log=$(log_file cargo_test)
	started=$SECONDS
	in_root cargo test --locked --no-default-features --no-fail-fast >"$log" 2>&1 || bad=1
	read -r -a sums < <(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed;.*/\1 \2/p' "$log" |
		awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }')
	# A run that fails without a failed test did not compile.
	if [ "$bad" = 1 ] && [ "${sums[1]}" = 0 ]; then sums[1]=1; fi
	count 'cargo test' "${sums[0]}" "${sums[1]}" "$log"
}

# The postgres user may not be able to read the repository: it gets a copy of the tests.
copy_tests() {
	cp -r "$ROOT/pg_test/"{sql,expected,specs,t,perl,data} "$ROOT/docs" "$ROOT/README.md" "$work/"
	mkdir "$work/out"
	[ "$(id -u)" != 0 ] || chown -R postgres "$work"
}

# Tests of a kind, one name per line: file names without the suffix.
names() {
	local file
	for file in "$work/$1"/*."$2"; do
		[ ! -e "$file" ] || basename "$file" ".$2"
	done
}

# regress NAME PROGRAM FOLDER SUFFIX: a suite of pg_regress or pg_isolation_regress.
regress() {
	local name=$1 program=$2 out=$work/out/$3 log tests good bad=0 status=0
	mapfile -t tests < <(names "$3" "$4")
	[ "${#tests[@]}" -gt 0 ] || return 0
	say "$name"
	started=$SECONDS
	log=$(log_file "$3")
	[ -x "$program" ] || fail "$program is missing: install postgresql-client-$PG_MAJOR, or a PostgreSQL with its test programs"
	as_postgres mkdir "$out"
	(cd "$out" && as_postgres "$program" --bindir="$PG_BIN" --inputdir="$work" --outputdir="$out" \
		--temp-instance="$out/instance" --port=65433 --encoding=UTF8 --no-locale "${tests[@]}") >"$log" 2>&1 || status=1
	# "test name ... ok" up to PostgreSQL 15, "ok 1 - name" from 16 on.
	good=$(grep -Ec '^(test .*\.\.\. ok|ok [0-9])' "$log" || true)
	bad=$((${#tests[@]} - good))
	if [ "$status" = 1 ] && [ "$bad" = 0 ]; then bad=1; fi
	[ ! -e "$out/regression.diffs" ] || cat "$out/regression.diffs" >>"$log"
	count "$name" "$good" "$bad" "$log" 200
}

# tap_file NAME LABEL [VARIABLE=VALUE...]: one file of pg_test/t, a Perl program that prints TAP and
# starts clusters of its own.
tap_file() {
	local name=$1 label=$2 log good bad status=0
	shift 2
	log=$(log_file "tap_$name")
	started=$SECONDS
	as_postgres mkdir "$work/out/$name"
	(cd "$work/out/$name" && as_postgres env PATH="$PG_BIN:$PATH" PERL5LIB="$PGXS_DIR/src/test/perl" \
		PG_REGRESS="$PGXS_DIR/src/test/regress/pg_regress" PG_TEST_DATA="$work/data" \
		TESTDIR="$work/out/$name" TESTDATADIR="$work/out/$name" TESTLOGDIR="$work/out/$name/log" "$@" \
		prove --verbose -I "$work/perl" "$work/t/$name.pl") >"$log" 2>&1 || status=1
	good=$(grep -c '^ok ' "$log" || true)
	bad=$(grep -c '^not ok ' "$log" || true)
	if [ "$status" = 1 ] && [ "$bad" = 0 ]; then bad=1; fi
	[ "$bad" = 0 ] || as_postgres sh -c "tail -n 15 $work/out/$name/tmp_check/log/*" >>"$log" 2>&1 || true
	count "$label" "$good" "$bad" "$log" 100
	# What a failed soak leaves is kept: it may take hours to see it again.
	if [ "$what" = soak ] && [ "$bad" != 0 ]; then
		cp -r "$work/out/$name" "$(mktemp -d "$ROOT/target/log/failed_$name.XXXXXX")"
		cp "$log" "${log%.log}_failed_$SECONDS.log"
	fi
	rm -rf "${work:?}/out/$name"
}

tap_tests() {
	local name
	say 'crash, restart and concurrency tests'
	for name in $(names t pl); do
		tap_file "$name" "$name"
	done
}

# The long form: each of these files for SECONDS_EACH seconds. A file that knows SIMHASH_SOAK makes
# its own rounds; others are run again and again, with other random rows each time.
soak() {
	local name each=${SECONDS_EACH:-600} end round
	say "each of the long tests for $each s"
	for name in 001_crash 002_concurrency 003_oracle 004_cancel 006_unlogged_temp 007_corrupt 010_standby 011_transactions \
		012_fdw 013_directory 014_size 015_crash_points 017_nearest 019_vacuum 020_parallel_build 023_roots; do
		[ -e "$work/t/$name.pl" ] || continue
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

finish() {
	remove_cluster "$work"
}

what=${1:-all}
SECONDS=0
if [ "$what" = quick ]; then
	require_everything build
	checks
	unit_tests
else
	require_everything test
	PGXS_DIR=$(dirname "$(dirname "$(dirname "$("$PG_CONFIG" --pgxs)")")")
	[ -e "$PGXS_DIR/src/test/perl/PostgreSQL/Test/Cluster.pm" ] ||
		fail "the test modules of PostgreSQL $PG_MAJOR are missing: install postgresql-client-$PG_MAJOR, or a PostgreSQL built with --enable-tap-tests"
	trap finish EXIT
	work=$(work_directory)
	[ "$what" != all ] || { checks; unit_tests; }
	say "build and install for PostgreSQL $PG_MAJOR"
	build_release >"$(log_file build)" 2>&1 || { tail -n 40 "$(log_file build)"; fail "the build failed"; }
	install_files
	copy_tests
	if [ "$what" = soak ]; then
		soak
	else
		regress 'SQL regression tests' "$PGXS_DIR/src/test/regress/pg_regress" sql sql
		regress 'two sessions, every interleaving' "$PGXS_DIR/src/test/isolation/pg_isolation_regress" specs spec
		tap_tests
	fi
fi
say "finished in $SECONDS s; logs are in target/log"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
