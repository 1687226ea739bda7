#!/usr/bin/env bash
# make test, make test-majors, make quick, make soak, make attack: every check and test of the project, on servers of one or several
# majors, and at the end what failed and one line `N passed, N failed`. The exit status is 0 only when nothing failed.
#
#   test.sh all      checks, unit tests and most files of one major, that of PG_CONFIG, or MAJORS; with FULL=1 all files
#   test.sh majors   the other majors, or those of MAJORS, in the reduced form of test_major.sh, the last of them with the long
#                    ones and the library as it is released; with FULL=1 all of them in full, and pg_upgrade from each to each
#                    later one
#   test.sh quick    what needs no server and no headers of one: format, the pure crates' lint and unit tests, plain English
#   test.sh soak     the crash and concurrency tests of one major for a long time, SQL files under valgrind, and the unit tests
#                    with AddressSanitizer; TESTS knows the last two as valgrind and asan
#   test.sh attack   080_attack on one major

# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/servers.sh
. "$(dirname "$0")/servers.sh"
# shellcheck source=tools/count.sh
. "$(dirname "$0")/count.sh"

in_root() { (cd "$ROOT" && "$@"); }

# The scripts of versions that are released are what they were then.
released_scripts() {
	! grep -qv '^#' sql/released.txt || sha256sum --check --strict --quiet sql/released.txt
}

# Arguments that name the crates that know no server.
pure_crates() { find "$ROOT/crates" -mindepth 1 -maxdepth 1 ! -name pg -printf '-p simhash_%f\n' | sort | tr '\n' ' '; }

# What is tested is what `make demo` shows; PROFILE=release tests what users install.
given_profile=${PROFILE:-}
export PROFILE=${PROFILE:-dev}

# What needs no server.
pure_checks() {
	local crates
	read -r -a crates <<<"$(pure_crates)"
	check 'cargo fmt' in_root cargo fmt --all --check
	check 'cargo clippy, pure crates' in_root cargo clippy --locked --all-targets "${crates[@]}" -- -D warnings
	check 'released scripts' in_root released_scripts
	check 'plain English' in_root perl tools/prose.pl
	check 'one version and description' in_root perl tools/one_version.pl
	check 'llms.txt' in_root perl tools/llms.pl
	if command -v shellcheck >/dev/null; then
		check 'shellcheck' in_root shellcheck -x .ci/run tools/*.sh bench/*/*.sh fuzz/*.sh packaging/*.sh
	fi
	! command -v actionlint >/dev/null || check 'actionlint' in_root actionlint
}

checks() {
	local features benches=(-p quality)
	read -r -a features <<<"$(cargo_features)"
	pure_checks
	check 'cargo clippy' in_root cargo clippy --locked --lib "${features[@]}" -p simhash_dedup -p simhash_pg -- -D warnings
	# The speed benchmark links libpq, which nothing else needs.
	! pkg-config --exists libpq 2>/dev/null || benches+=(-p speed)
	check 'cargo clippy, benchmarks' in_root cargo clippy --locked --all-targets "${benches[@]}" -- -D warnings
	check 'make install, elsewhere' in_root tools/test_install.sh
}

# unit_tests NAME ARGUMENT...: those of the crates that know no server, by `cargo ARGUMENT...`.
unit_tests() {
	local name=$1 log bad=0 sums crates
	shift
	log=$(log_file "${name//[^a-z0-9]/_}")
	started=$SECONDS
	read -r -a crates <<<"$(pure_crates)"
	in_root cargo "$@" --locked "${crates[@]}" --no-fail-fast >"$log" 2>&1 || bad=1
	read -r -a sums < <(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed;.*/\1 \2/p' "$log" |
		awk '{ p += $1; f += $2 } END { print p + 0, f + 0 }')
	# A run that fails without a failed test did not compile.
	if [ "$bad" = 1 ] && [ "${sums[1]}" = 0 ]; then sums[1]=1; fi
	count "$name" "${sums[0]}" "${sums[1]}" "$log"
}

# The unit tests with AddressSanitizer in our code and in that of others which it uses: reads and writes beyond what was
# allocated or after it was freed, and leaks. It needs a nightly. With --target the flags do not reach build scripts.
address_sanitizer() {
	local host
	host=$(rustc -vV | sed -n 's/^host: //p')
	if cargo +nightly --version >/dev/null 2>&1; then
		RUSTFLAGS=-Zsanitizer=address RUSTDOCFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=$ROOT/target/asan \
			unit_tests 'cargo test, address sanitizer' +nightly test --target "$host"
	else
		say 'a nightly Rust is not installed: no unit tests with AddressSanitizer'
	fi
}

# ---------------------------------------------------------------- majors

results=''

# Ends the test runs that are under way; each stops its own servers.
finish() {
	local group
	for group in $(jobs -rp); do kill -TERM -- "-$group" 2>/dev/null || true; done
	wait
	list_failures
	rm -rf "$FAILURES" "$results" "$LIBRARIES"
}

# run NAME FORM MAJOR [OLD_MAJOR]: starts a run of test_major.sh beside the others, when fewer than JOBS are under way.
run() {
	local name=$1 form=$2 config='' old=''
	# A run that cannot start counts as failed.
	echo '0 1 0' >"$results/$name"
	if [ "$form" = upgrade ]; then
		# Minors of one date: an older one may not understand what a newer one of an earlier major has stored.
		config=$(fetch_server "$3") && old=$(fetch_server "$4") || return 0
	else
		config=$(given_server "$3") || config=$(fetch_server "$3") || return 0
	fi
	while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do wait -n || true; done
	# A group of processes of its own, which finish can end.
	set -m
	PG_CONFIG=$config OLD_PG_CONFIG=$old RESULT=$results/$name "$ROOT/tools/test_major.sh" "$form" </dev/null &
	set +m
}

# One line for each run, and the sums.
sum_up() {
	local name good bad seconds
	wait
	[ -n "$(ls "$results")" ] || return 0
	say 'majors'
	for name in "$results"/*; do
		read -r good bad seconds <"$name"
		passed=$((passed + good))
		failed=$((failed + bad))
		printf '   PostgreSQL %-33s %5d passed %3d failed  (%d s)\n' "$(basename "$name")" "$good" "$bad" "$seconds"
	done
}

# The majors of `make test-majors`. Without MAJORS these are the ones that `make test` leaves out, with FULL=1 all.
majors() {
	local major
	for major in ${MAJORS:-$(supported_majors | sort -n)}; do
		if [ -n "${MAJORS:-}${FULL:-}" ] || [ "$major" != "$PG_MAJOR" ]; then echo "$major"; fi
	done
}

# The server of `make test`: that of the one major in MAJORS, if there is one.
choose_major() {
	local server
	[ -n "${MAJORS:-}" ] && [ "$MAJORS" != "$PG_MAJOR" ] || return 0
	server=$(given_server "$MAJORS") || server=$(fetch_server "$MAJORS") || exit 1
	PG_CONFIG=$server
	require_postgres test
}

# One major, and beside it what needs no server. Lint, unit tests and library share what cargo has compiled, and cargo
# does one thing at a time: the library comes first, since most tests wait for it.
one_major() {
	local form=most
	[ -z "${FULL:-}" ] || form=full
	run "$PG_MAJOR, $form" "$form" "$PG_MAJOR"
	until [ -e "$LIBRARIES/$PG_MAJOR.so" ] || [ -z "$(jobs -rp)" ]; do sleep 1; done
	checks
	unit_tests 'cargo test' test
}

# Licences and sources of the crates, where the tool is installed.
crates() {
	if cargo deny --version >/dev/null 2>&1; then
		check 'cargo deny' in_root tools/crates.sh deny
	else
		say 'cargo-deny is not installed: licences and sources of the crates are not checked'
	fi
}

chosen_majors() {
	local major old full=${FULL:-} last
	last=$(majors | tail -n 1)
	# What takes longest begins first.
	for major in $last $(majors | grep -vx "$last"); do
		if [ -n "$full" ]; then
			run "$major, full" full "$major"
		elif [ "$major" = "$last" ]; then
			PROFILE=${given_profile:-release} run "$major, reduced and long" long "$major"
		else
			run "$major, reduced" reduced "$major"
		fi
	done
	[ -n "$full" ] || return 0
	[ -n "${TESTS:-}" ] || crates
	for major in $(majors); do
		for old in $(majors); do
			[ "$old" -ge "$major" ] || run "$major, upgrade from $old" upgrade "$major" "$old"
		done
	done
}

what=${1:-all}
SECONDS=0
FAILURES=$(mktemp "${TMPDIR:-/tmp}/simhash_failures.XXXXXX")
results=$(mktemp -d "${TMPDIR:-/tmp}/simhash_results.XXXXXX")
LIBRARIES=$(mktemp -d "${TMPDIR:-/tmp}/simhash_libraries.XXXXXX")
export FAILURES LIBRARIES
trap finish EXIT
if [ "$what" = quick ]; then
	require_rust
	pure_checks
	unit_tests 'cargo test' test
else
	[[ $what != all || ${MAJORS:-} != *' '* ]] || fail "make test tests one major, not $MAJORS: make test-majors tests several"
	if [ "$what" = majors ] || [ -n "${MAJORS:-}" ]; then require_everything majors; else require_everything test; fi
	[ "$what" != all ] || choose_major
	find_perl_modules
	case $what in
	all)
		SUITES=${SUITES:-3}
		export SUITES
		one_major
		;;
	majors) chosen_majors ;;
	soak)
		run "$PG_MAJOR, soak" soak "$PG_MAJOR"
		! wanted asan || address_sanitizer
		;;
	attack) run "$PG_MAJOR, attack" attack "$PG_MAJOR" ;;
	*) fail "tests are all, majors, quick, soak or attack, not $what" ;;
	esac
	sum_up
fi
list_failures
say "finished in $SECONDS s, profile $PROFILE; logs are in target/log"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
