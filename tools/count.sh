# shellcheck shell=bash
# Which tests are wanted, and those passed and failed, a line for each suite. Sourced after common.sh by the scripts that run
# tests. FAILURES is a file that collects why suites failed, until list_failures prints it at the end of the run.

passed=0
failed=0

# first_failure LOG: the first thing in a log that went wrong: a test of TAP, a difference of pg_regress, a message of a
# compiler. Where there is none of these, the end of the log.
first_failure() {
	local start=''
	for pattern in '^==[0-9][0-9]*==' '^diff ' '^not ok ' '^\(error\|warning\|Error\|FAIL\)' "^thread '.*panicked"; do
		start=$(grep -n -m 1 -e "$pattern" "$1" | cut -d: -f1) || true
		[ -z "$start" ] || break
	done
	if [ -n "$start" ]; then sed -n "$start,$((start + 24))p" "$1"; else tail -n 15 "$1"; fi
}

# wanted NAME: TESTS is empty, or a word of it is how NAME begins.
wanted() {
	local word
	[ -n "${TESTS:-}" ] || return 0
	for word in $TESTS; do
		[[ $1 != "$word"* ]] || return 0
	done
	return 1
}

# count NAME PASSED FAILED LOG: adds to the sums and prints one line, which the major that is tested begins and REMAINING
# ends. `started` is when the suite began.
count() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	printf '   %2s  %-42s %5d passed %3d failed  (%d s)%s\n' "${TESTED_MAJOR:-}" "$1" "$2" "$3" $((SECONDS - started)) \
		"${REMAINING:+; $REMAINING}"
	[ "$3" != 0 ] || return 0
	{
		printf '%s%s: %d failed; the log is %s\n' "${TESTED_MAJOR:+$TESTED_MAJOR  }" "$1" "$3" "${4#"$ROOT/"}"
		[ ! -s "$4" ] || first_failure "$4" | sed 's/^/   | /'
	} >>"$FAILURES"
}

# check NAME COMMAND...: one test, which passes when the command does.
check() {
	local name=$1 log
	shift
	log=$(log_file "${name//[^a-z0-9]/_}")
	started=$SECONDS
	if "$@" >"$log" 2>&1; then count "$name" 1 0 "$log"; else count "$name" 0 1 "$log"; fi
}

# Prints what failed, once.
list_failures() {
	[ -s "$FAILURES" ] || return 0
	say 'failed, and how each begins'
	cat "$FAILURES"
	: >"$FAILURES"
}
