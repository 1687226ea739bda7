#!/bin/sh
# Copies the extension into the server of PG_CONFIG, PostgreSQL @MAJOR@. `install.sh uninstall` removes it.
# DESTDIR is put before the folders, as packagers use it. A system that could not load the library is refused.
set -eu
cd "$(dirname "$0")"
: "${PG_CONFIG:=pg_config}"

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

command -v "$PG_CONFIG" >/dev/null || fail "$PG_CONFIG does not run: set PG_CONFIG to the pg_config of your server"
found=$("$PG_CONFIG" --version)
case $found in
"PostgreSQL @MAJOR@"[!0-9]*) ;;
*) fail "this is for PostgreSQL @MAJOR@, and $PG_CONFIG is of $found: set PG_CONFIG, or take the archive for that major" ;;
esac
library=${DESTDIR:-}$("$PG_CONFIG" --pkglibdir)
extension=${DESTDIR:-}$("$PG_CONFIG" --sharedir)/extension

if [ "${1:-install}" = uninstall ]; then
	rm -f "$library/@NAME@.so" "$extension/@NAME@.control" "$extension/@NAME@"--*.sql "$extension/simhash_review.sql"
	exit 0
fi
[ "$(uname -sm)" = 'Linux @MACHINE@' ] || fail "this is for Linux on @MACHINE@, and this is $(uname -sm)"
# Only glibc answers this question.
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=''
case $libc in
"glibc "*) ;;
*) fail "this system has no glibc (Alpine has none), and the library needs @GLIBC@ or later" ;;
esac
[ "$(printf '%s\n' @GLIBC@ "${libc#glibc }" | sort -V | head -n 1)" = @GLIBC@ ] ||
	fail "the library needs glibc @GLIBC@ or later, and this system has ${libc#glibc }: build it from source here (make install)"
install -d "$library" "$extension" || fail "run this as a user who may write to $library"
# A new file and a rename: a running server that has the old library mapped keeps it.
install -m 755 lib/@NAME@.so "$library/@NAME@.so.new" || fail "run this as a user who may write to $library"
mv "$library/@NAME@.so.new" "$library/@NAME@.so"
install -m 644 extension/* "$extension"
echo "installed for $found; in a database: CREATE EXTENSION @NAME@;"
