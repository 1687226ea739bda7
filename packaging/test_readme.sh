#!/usr/bin/env bash
# make test-readme: unpacks the source archive of `make dist` in a bare Debian SUITE (bookworm), types the commands of the README's
# section Install there one after the other, and runs the README's first search after each way to install. WITH_TESTS=1 runs
# `make test` in the end.
#
# Needs root, debootstrap and a mirror of Debian (MIRROR), or a system that debootstrap has made before (BARE). Rust is that of this
# machine. The lines for Docker are left out: `make test-docker` has their steps.

# shellcheck source=packaging/try.sh
. "$(dirname "$0")/try.sh"

: "${SUITE:=bookworm}"
require_rust
source=/root/$NAME-$VERSION

# The commands, with the major of the bare Debian for NN and its pg_config for a path that the reader knows.
commands() {
	awk '/^## / { install = /^## Install/ } install && /^```/ { inside = !inside; next } install && inside' "$ROOT/README.md" |
		sed -n '/^# With Docker/q; /^#/!p' |
		sed "s/NN/$PG_MAJOR/g; s#/path/to/pg_config#/usr/lib/postgresql/$PG_MAJOR/bin/pg_config#"
}

typed() { inside env PATH=/usr/local/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash -ec "cd $source; $1"; }

# As it is where packages may start a server.
start_server() {
	[ ! -x "$work/root/usr/bin/pg_lsclusters" ] || inside pg_lsclusters -h | grep -q online || inside pg_ctlcluster "$PG_MAJOR" main start
}

bare_with_source() {
	(cd "$ROOT" && OUT=$work packaging/packages.sh dist) &&
		bare_debian "$SUITE" &&
		inside apt-get -q update >"$(log_file chroot_apt)" 2>&1 &&
		PG_MAJOR=$(inside apt-cache depends postgresql | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p') &&
		echo 'APT::Get::Assume-Yes "true";' >"$work/root/etc/apt/apt.conf.d/typed" &&
		inside apt-get -q install unzip >>"$(log_file chroot_apt)" 2>&1 &&
		mv "$work/$NAME-$VERSION.zip" "$work/root/tmp" && inside unzip -q -d /root "/tmp/$NAME-$VERSION.zip" &&
		copy_rust "$work/root/usr/local/rust" && cargo_certificate "$work/root" /root/.cargo &&
		inside useradd me &&
		readme_search >"$work/root/tmp/readme.sql"
}

type_it() {
	time typed "$1" >"$(log_file readme)" 2>&1 || { tail -n 20 "$(log_file readme)" && return 1; }
	start_server
}

# The README's first search, by the user who owns the database. The extension goes with it: the next way installs it again.
search() {
	inside su me -c 'psql -X -q -v ON_ERROR_STOP=1 -f /tmp/readme.sql app' | same_answer &&
		inside su me -c 'psql -X -q -c "DROP EXTENSION simhash_dedup CASCADE; DROP TABLE ticket CASCADE" app' &&
		typed "make uninstall PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config"
}

check "the archive in a bare Debian $SUITE" bare_with_source
mapfile -t lines < <(commands)
for line in "${lines[@]}"; do
	check "$line" type_it "$line"
	case $line in
	*createdb* | *.deb | *install.sh) check "the README's first search" search ;;
	esac
done
[ "${#lines[@]}" -gt 6 ] || check 'the README has commands' false
[ -z "${WITH_TESTS:-}" ] || check 'make test' type_it 'make test'
inside pg_ctlcluster "$PG_MAJOR" main stop
[ "$failed" = 0 ]
