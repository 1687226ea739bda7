#!/usr/bin/env bash
# make mutants-server: makes the changes of server_mutants.txt in a copy of the sources, one at a time, builds each and runs
# the tests that must notice it, on one major (MAJORS). A change under which all of them pass is printed as MISSED.
# ENTRIES="3 17" restricts it to entries by number. The server is the one in target/servers, of which each run uses a copy:
# no server of yours gets a library that is wrong on purpose.

# A change is built from what cargo has kept of the build before it.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-1}
# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/servers.sh
. "$(dirname "$0")/servers.sh"

# How long the tests of one change may take, in seconds.
LIMIT=${LIMIT:-300}

# copy_sources: into ROOT. The files are new, so that cargo looks at them; what it has compiled of other crates serves here too.
copy_sources() {
	rm -rf "$ROOT"
	mkdir -p "$ROOT"
	find "$SOURCES" -mindepth 1 -maxdepth 1 ! -name target ! -name .git -exec cp -r {} "$ROOT" \;
	ln -s .. "$ROOT/target"
}

# run_tests NAMES: builds the copy and runs these tests with it. 0: all passed, 1: some failed, 124: they took too long.
run_tests() {
	local status=0 failed
	rm -f "$LIBRARIES"/* "$RESULT"
	: >"$FAILURES"
	(build_library && cp "$LIBRARY" "$LIBRARIES/$PG_MAJOR.so") >"$(log_file server_mutant_build)" 2>&1 ||
		fail "$entry does not compile: target/log/server_mutant_build.log"
	# A server that a change keeps from stopping notices within a minute that its folder is gone, and ends then.
	TESTS=$1 timeout --kill-after=30 "$LIMIT" "$ROOT/tools/test_major.sh" full >"$(log_file server_mutant)" 2>&1 || status=$?
	[ "$status" -lt 124 ] || return 124
	read -r _ failed _ <"$RESULT"
	[ "$failed" = 0 ] || [ -s "$FAILURES" ] || fail "$entry: its tests did not run: target/log/server_mutant.log"
	[ "$failed" = 0 ]
}

# The names of the tests that failed: of SQL files and specs as the log has them up to PostgreSQL 15, from 16 on, and of TAP files.
failed_tests() {
	local log
	sed -n 's/.* failed; the log is //p' "$FAILURES" | while read -r log; do
		case $log in
		*/tap_*) basename "$log" "_$PG_MAJOR.log" | sed 's/^tap_//' ;;
		*) sed -En -e 's/^test ([a-z0-9_]+) .*FAILED.*/\1/p' -e 's/^not ok [0-9]+ +- ([a-z0-9_]+) .*/\1/p' "$ROOT/$log" ;;
		esac
	done | paste -sd ' '
}

# lines_of FILE FUNCTION: the first and the last line of each function of that name, which rustfmt has indented alike; all lines for -.
lines_of() {
	[ "$2" != - ] || echo '1,$'
	awk -v name="$2" '
		!first && $0 ~ "(^|[ )])fn " name "[<(,]" { first = NR; match($0, /^ */); last = substr($0, 1, RLENGTH) "}" }
		first && $0 == last { print first "," NR; first = 0 }' "$1"
}

# change FILE FUNCTION EXPRESSION: makes it in the copy.
change() {
	local lines script=()
	while read -r lines; do script+=(-e "$lines{" -e "$3" -e '}'); done < <(lines_of "$SOURCES/$1" "$2")
	[ "${#script[@]}" -gt 0 ] || fail "$entry: $1 has no function $2"
	sed "${script[@]}" "$SOURCES/$1" >"$ROOT/$1"
	lines=$(diff "$SOURCES/$1" "$ROOT/$1" | grep -c '^[<>]') || true
	[ "$lines" = 2 ] || fail "$entry does not change one line of $2 in $1: $3"
}

export PROFILE=${PROFILE:-dev}
require_everything majors
PG_CONFIG=$(fetch_server "${MAJORS:-$PG_MAJOR}")
find_perl_modules
require_postgres test
SOURCES=$ROOT ROOT=$ROOT/target/server_mutants
PG_CONFIG=$ROOT${PG_CONFIG#"$SOURCES"}
copy_sources
work=$(mktemp -d "${TMPDIR:-/tmp}/simhash_mutants.XXXXXX")
trap 'rm -rf "$work"' EXIT
export FAILURES=$work/failures RESULT=$work/result LIBRARIES=$work/libraries
mkdir "$LIBRARIES"
# The entries, each with its number in front.
grep -v '^#' "$SOURCES/tools/server_mutants.txt" >"$work/all"
awk -v wanted=" ${ENTRIES:-} " 'wanted ~ /^ *$/ || index(wanted, " " NR " ") { print NR "\t" $0 }' "$work/all" >"$work/list"
[ -s "$work/list" ] || fail "the list has no entry ${ENTRIES:-}"

entry='the code without a change'
LIMIT=3600 run_tests "$(cut -f 5 "$work/list" | tr ' ' '\n' | sort -u | paste -sd ' ')" ||
	fail "tests that the list names fail without a change: $(failed_tests)"
say "without a change all tests pass ($SECONDS s)"
export STOP_AT_FAILURE=1

caught=0 missed=0
while IFS=$'\t' read -r number file function expression tests what <&3; do
	entry="entry $number" status=0 SECONDS=0
	change "$file" "$function" "$expression"
	run_tests "$tests" || status=$?
	case $status in
	0) missed=$((missed + 1)) result="MISSED by $tests" ;;
	124) caught=$((caught + 1)) result="caught by the time limit of $LIMIT s" ;;
	*) caught=$((caught + 1)) result="caught by $(failed_tests)" ;;
	esac
	cp "$SOURCES/$file" "$ROOT/$file"
	printf '%2d of %d  %s: %s\n          %s (%d s)\n' "$number" "$(wc -l <"$work/all")" "$file" "$what" "$result" "$SECONDS"
done 3<"$work/list"
say "$caught caught, $missed missed"
[ "$missed" = 0 ]
