# shellcheck shell=bash
# Tests passed and failed, a line for each suite. Sourced after common.sh by the scripts that run tests.

passed=0
failed=0

# count NAME PASSED FAILED LOG [LINES]: adds to the sums and prints one line, after a failure also why. The major that is
# tested precedes the name. All is one write, since several majors print at a time. `started` is when the suite began.
count() {
	local line reason=''
	passed=$((passed + $2))
	failed=$((failed + $3))
	printf -v line '   %2s  %-42s %5d passed %3d failed  (%d s)' "${TESTED_MAJOR:-}" "$1" "$2" "$3" $((SECONDS - started))
	[ "$3" = 0 ] || [ ! -s "$4" ] || reason=$(sed 's/^/   | /' "$4" | tail -n "${5:-60}")
	printf '%s\n' "$line${reason:+$'\n'$reason}"
}

# check NAME COMMAND...: one test, which passes when the command does.
check() {
	local name=$1 log
	shift
	log=$(log_file "${name//[^a-z0-9]/_}")
	started=$SECONDS
	if "$@" >"$log" 2>&1; then count "$name" 1 0 "$log"; else count "$name" 0 1 "$log"; fi
}
