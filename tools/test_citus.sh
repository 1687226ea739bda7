#!/usr/bin/env bash
# make test-citus: the tests of pg_test/t that need Citus (07x), on a copy of the server of PG_CONFIG with Citus. The copy and the
# build of Citus stay in target/servers for the next run, and nothing of the installed server is changed.
#
# CITUS names a git repository of Citus, of which CITUS_TAG is built, or its unpacked sources; it is needed for the first run,
# and for another version of Citus or of the server. Sources that have changed in the same folder are not built again.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tools/servers.sh
. "$(dirname "$0")/servers.sh"
# shellcheck source=tools/count.sh
. "$(dirname "$0")/count.sh"

work=''
trap '[ -z "$work" ] || rm -rf "$work"' EXIT

# Sets `wanted` to a line that names the server, and the sources when they are given.
describe() {
	wanted=$("$PG_CONFIG" --version)
	[ -n "${CITUS:-}" ] || return 0
	[ -d "$CITUS" ] || fail "CITUS=$CITUS is no folder: name a git repository of Citus or its unpacked sources"
	if is_repository; then
		wanted="$wanted with Citus $(of_repository rev-parse --verify --quiet "$CITUS_TAG^{commit}")" ||
			fail "$CITUS has no tag $CITUS_TAG: name one in CITUS_TAG"
	elif [ -x "$CITUS/configure" ]; then
		wanted="$wanted with Citus of $(cd "$CITUS" && pwd)"
	else
		fail "CITUS=$CITUS is neither a git repository nor the sources of Citus"
	fi
}

# A repository may belong to another user. Sources may lie inside of a repository that has nothing to do with them.
of_repository() { git -c safe.directory='*' -C "$CITUS" "$@"; }
is_repository() { [ -e "$CITUS/.git" ] || [ "$(of_repository rev-parse --is-bare-repository 2>/dev/null)" = true ]; }

# Is what stands in `server` what is wanted? Without sources any Citus will do, for the server as it is now.
is_built() {
	local built
	[ -e "$server/built" ] || return 1
	built=$(<"$server/built")
	[ "$built" = "$wanted" ] || [[ -z ${CITUS:-} && $built = "$wanted with "* ]]
}

# A server finds its folders relative to its programs: each keeps its path, below $server. The headers are not copied.
copy_server() {
	local kind path
	for kind in bindir pkglibdir sharedir; do
		path=$("$PG_CONFIG" "--$kind")
		mkdir -p "$server$path"
		cp -rL "$path/." "$server$path"
	done
	path=$("$PG_CONFIG" --includedir)
	mkdir -p "$(dirname "$server$path")"
	ln -s "$path" "$server$path"
}

unpack_sources() {
	mkdir "$work/citus"
	cd "$work/citus" || return
	if is_repository; then of_repository archive "$CITUS_TAG" | tar -x; else cp -r "$CITUS/." .; fi
	# Late minors of PostgreSQL 15 declare a function of which Citus has a static one for all of 15.
	[ "$PG_MAJOR" != 15 ] ||
		sed -i 's/\bhave_createdb_privilege\b/citus_&/g' src/include/pg_version_compat.h src/backend/distributed/commands/*.c
}

# Each step stops the rest: errors do not end a function whose status is looked at.
build_citus() {
	rm -rf "$server"
	(unpack_sources &&
		./configure PG_CONFIG="$PG_CONFIG" --without-libcurl &&
		make -j"$(nproc)" with_llvm=no extension &&
		copy_server &&
		make with_llvm=no install-extension DESTDIR="$server" &&
		echo "$wanted" >"$server/built") >"$log" 2>&1
}

CITUS_TAG=${CITUS_TAG:-v13.2.2}
SECONDS=0
require_everything test
server=$SERVERS/citus$PG_MAJOR
work=$(mktemp -d "${TMPDIR:-/tmp}/simhash_citus.XXXXXX")
describe
if ! is_built; then
	[ -n "${CITUS:-}" ] || fail "there is no Citus for $wanted in target/servers: name a git repository or the sources of Citus in CITUS"
	install_missing_packages citus
	say "building ${wanted#* with }"
	log=$(log_file citus)
	build_citus || fail "Citus could not be built; the end of target/log/citus.log: $(tail -n 1 "$log")"
fi
say "$(<"$server/built"), in target/servers"

find_perl_modules
# For the server as it is installed, whose build is there already: the headers are the same.
export LIBRARIES=$work RESULT=$work/result FAILURES=$work/failures PROFILE=${PROFILE:-dev}
build_library
cp "$LIBRARY" "$LIBRARIES/$PG_MAJOR.so"
PG_CONFIG=$server$PG_BIN/pg_config TESTS=${TESTS:-07} "$ROOT/tools/test_major.sh" full || [ -e "$RESULT" ]
read -r passed failed _ <"$RESULT"
list_failures
say "finished in $SECONDS s; logs are in target/log"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
