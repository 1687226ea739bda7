#!/usr/bin/env bash
# make test-deb: builds the packages for the server of PG_CONFIG in two folders, compares their bytes, and installs package and
# tarball by turns in a bare Debian SUITE (bookworm), where a user without privileges runs the README's first search. After
# each nothing of it must be left.
#
# Needs root, debootstrap and a mirror of Debian (MIRROR). A system that debootstrap has made before, BARE, is copied; packages
# that were built before, in folder PACKAGES, are only installed.

# shellcheck source=packaging/try.sh
. "$(dirname "$0")/try.sh"

: "${SUITE:=bookworm}"
archive=$NAME-$VERSION-pg$PG_MAJOR-linux-$(uname -m)
package=postgresql-$PG_MAJOR-${NAME//_/-}
bin=/usr/lib/postgresql/$PG_MAJOR/bin

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

# Faults by Debian's own reading of packages, but for that of a maintainer without an address.
lintian_is_content() {
	lintian --allow-root --fail-on error --suppress-tags malformed-contact,bogus-mail-host-in-debian-changelog "$work"/one/packages/*.deb
}

debian_with_server() {
	bare_debian "$SUITE" && install_server &&
		inside pg_ctlcluster "$PG_MAJOR" main start &&
		inside useradd app && inside su postgres -c 'createuser app' &&
		cp "$work/one/packages/"*".deb" "$work/one/packages/$archive.tar.gz" "$work/root/tmp/" &&
		readme_search >"$work/root/tmp/readme.sql"
}

install_package() {
	time inside apt-get -q -y --no-install-recommends install "$(inside sh -c "ls /tmp/${package}_*.deb")" >>"$(log_file chroot_apt)" 2>&1 &&
		inside dpkg -L "$package"
}

install_tarball() {
	inside tar -C /tmp -xzf "/tmp/$archive.tar.gz" &&
		inside env "PG_CONFIG=$bin/pg_config" "/tmp/$archive/install.sh"
}

# An archive of one major is not copied into a server of another.
tarball_refuses() {
	printf '#!/bin/sh\necho PostgreSQL 99.1\n' >"$work/root/tmp/pg_config"
	chmod +x "$work/root/tmp/pg_config"
	! inside env PG_CONFIG=/tmp/pg_config "/tmp/$archive/install.sh" 2>"$work/refusal" && cat "$work/refusal" && grep -q 'PostgreSQL 99.1' "$work/refusal"
}

search() {
	local status=0
	inside su postgres -c 'createdb -O app app' &&
		inside su app -c 'psql -X -q -v ON_ERROR_STOP=1 -f /tmp/readme.sql app' | same_answer || status=1
	inside su postgres -c 'dropdb --if-exists app' || status=1
	return "$status"
}

# Nothing is left of it but what the test itself brought.
no_trace() {
	local left
	left=$(find "$work/root" -xdev \( -path "$work/root/proc" -o -path "$work/root/tmp" \) -prune -o -iname '*simhash*' -print) || return
	echo "$left"
	[ -z "$left" ]
}
purge_package() { inside apt-get -q -y purge "$package" >>"$(log_file chroot_apt)" 2>&1 && no_trace; }
remove_tarball() { inside env "PG_CONFIG=$bin/pg_config" "/tmp/$archive/install.sh" uninstall && no_trace; }

mkdir -p "$work/one" "$work/another"
if [ -n "${PACKAGES:-}" ]; then
	cp -r "$PACKAGES" "$work/one/packages"
else
	build_in "$work/one"
	build_in "$work/another/folder"
	check 'two folders give the same bytes' same_packages
fi
if command -v lintian >/dev/null; then check 'lintian finds no error' lintian_is_content; else say 'lintian is missing: not checked'; fi
check "a bare Debian $SUITE with PostgreSQL $PG_MAJOR" debian_with_server
check 'apt installs the package' install_package
check "a user without privileges runs the README's first search" search
check 'it is purged without a trace' purge_package
check 'the archive installs' install_tarball
check 'it refuses a server of another major' tarball_refuses
check 'the same search' search
check 'it is removed without a trace' remove_tarball
inside pg_ctlcluster "$PG_MAJOR" main stop
[ "$failed" = 0 ]
