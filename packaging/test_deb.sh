#!/usr/bin/env bash
# make test-deb: builds the packages for the server of PG_CONFIG in two folders, compares their bytes, and installs one in a
# bare Debian SUITE (bookworm), where a user without privileges runs the README's first search. Then it is purged.
#
# Needs root, debootstrap and a mirror of Debian (MIRROR). A system that debootstrap has made before, BARE, is copied; packages
# that were built before, in folder PACKAGES, are only installed.

# shellcheck source=packaging/common.sh
. "$(dirname "$0")/common.sh"

: "${SUITE:=bookworm}" "${MIRROR:=http://deb.debian.org/debian}"
failed=0
work=''

finish() {
	[ -z "$work" ] || { umount "$work/root/proc" 2>/dev/null || true; rm -rf "$work"; }
}
trap finish EXIT

# check WHAT COMMAND...: runs it, and says how it went.
check() {
	local what=$1
	shift
	if "$@"; then echo "ok: $what"; else
		echo "FAILED: $what"
		failed=$((failed + 1))
	fi
}

# The packages of this commit, built in a folder of its own.
build_in() {
	git clone -q "$ROOT" "$1"
	(cd "$1" && OUT=$1/packages packaging/packages.sh)
}

same_packages() {
	local sums
	sums=$(cd "$work" && sha256sum one/packages/* another/folder/packages/* | sed 's# .*/# #' | sort | uniq -c)
	echo "$sums"
	! grep -qv '^ *2 ' <<<"$sums"
}

inside() { chroot "$work/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

bare_debian() {
	if [ -n "${BARE:-}" ]; then cp -a "$BARE" "$work/root"; else debootstrap --variant=minbase "$SUITE" "$work/root" "$MIRROR" >"$(log_file debootstrap)"; fi
	mount -t proc proc "$work/root/proc"
	# No server is started by the packages: the test starts its own.
	printf '#!/bin/sh\nexit 101\n' >"$work/root/usr/sbin/policy-rc.d"
	chmod +x "$work/root/usr/sbin/policy-rc.d"
	cp "$work/one/packages/"*.deb "$work/root/tmp/"
}

install_package() {
	inside apt-get -q -y update >"$(log_file chroot_apt)" 2>&1 &&
		inside sh -c "apt-get -q -y --no-install-recommends install postgresql-$PG_MAJOR" >>"$(log_file chroot_apt)" 2>&1 &&
		time inside sh -c "apt-get -q -y --no-install-recommends install /tmp/postgresql-$PG_MAJOR-simhash-dedup_*.deb" >>"$(log_file chroot_apt)" 2>&1
}

# The SQL of the README up to its first search, and what it prints.
readme_search() {
	awk '/^```sql$/ { inside = 1; next } /^```text$/ { exit } /^```$/ { inside = 0; next } inside' "$ROOT/README.md"
}
readme_answer() { awk '/^```text$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$ROOT/README.md"; }

search() {
	inside pg_ctlcluster "$PG_MAJOR" main start
	inside su postgres -c 'createuser app && createdb -O app app'
	readme_search >"$work/root/tmp/readme.sql"
	inside useradd app
	inside su app -c 'psql -X -q -v ON_ERROR_STOP=1 -f /tmp/readme.sql app' | grep -v '^(.* rows*)$' >"$work/found"
	cat "$work/found"
	diff -bB <(readme_answer) "$work/found"
}

# Nothing is left but what apt itself keeps of any package.
purge() {
	inside su postgres -c 'dropdb app'
	inside sh -c "apt-get -q -y purge postgresql-$PG_MAJOR-simhash-dedup" >>"$(log_file chroot_apt)" 2>&1
	rm -f "$work/root/tmp/"*
	local left
	left=$(find "$work/root" -xdev -path "$work/root/proc" -prune -o \( -iname '*simhash*' -print \))
	echo "$left"
	[ -z "$left" ]
}

[ "$(id -u)" = 0 ] || fail 'a chroot needs root'
command -v debootstrap >/dev/null || [ -n "${BARE:-}" ] || fail 'debootstrap is missing; install it with: apt-get install debootstrap'
require_postgres build
work=$(mktemp -d "${TMPDIR:-/tmp}/simhash_packages.XXXXXX")
chmod 755 "$work"
mkdir -p "$work/one" "$work/another"
if [ -n "${PACKAGES:-}" ]; then
	cp -r "$PACKAGES" "$work/one/packages"
else
	build_in "$work/one"
	build_in "$work/another/folder"
	check 'two folders give the same bytes' same_packages
fi
bare_debian
check "apt installs it in a bare Debian $SUITE" install_package
check "a user without privileges runs the README's first search" search
check 'it is purged without a trace' purge
inside pg_ctlcluster "$PG_MAJOR" main stop
[ "$failed" = 0 ]
