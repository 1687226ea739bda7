#!/usr/bin/env bash
# make build, make install: compile for the server of PG_CONFIG and copy the library, the control file and the SQL files into
# it, or below `prefix`. make uninstall removes them.
# Nothing is installed by apt here: this is for a machine that has its server already.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

if [ "${1:-build}" = uninstall ]; then
	require_postgres build
	remove_files
	say "removed from PostgreSQL $PG_MAJOR"
	exit 0
fi
require_glibc
require_rust
require_build_tools
require_postgres build
build_library
[ "${1:-build}" = install ] || exit 0
install_files
if [ -n "${prefix:-}" ]; then
	say "installed for PostgreSQL $PG_MAJOR below $prefix; what the server needs to find it there: docs/upgrades.md"
	exit 0
fi
say "installed for PostgreSQL $PG_MAJOR; in a database: CREATE EXTENSION simhash_dedup;"
