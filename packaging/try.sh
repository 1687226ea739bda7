# shellcheck shell=bash
# What the scripts share that try packages: a bare Debian with a server in it, and the README's first search. Sourced, never
# run. A caller ends with `[ "$failed" = 0 ]`.

# shellcheck source=packaging/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

: "${MIRROR:=http://deb.debian.org/debian}"
failed=0

[ "$(id -u)" = 0 ] || fail 'a chroot needs root'
command -v debootstrap >/dev/null || [ -n "${BARE:-}" ] || fail 'debootstrap is missing; install it with: apt-get install debootstrap'
require_postgres build

work=$(mktemp -d "${TMPDIR:-/tmp}/simhash_packages.XXXXXX")
chmod 755 "$work"

# What is still mounted must not be removed from here: the innermost first, and if one is busy nothing.
finish() {
	local place
	for place in $(findmnt -rno TARGET | grep "^$work/" | sort -r); do
		umount "$place" || return
	done
	rm -rf --one-file-system "$work"
}
trap finish EXIT

# check WHAT COMMAND...: runs it, and says how it went. Within a function that is checked the shell does not stop at a command
# that fails (set -e is off in a condition): such functions join their commands by &&.
check() {
	local what=$1
	shift
	if "$@"; then echo "ok: $what"; else
		echo "FAILED: $what"
		failed=$((failed + 1))
	fi
}

inside() { chroot "$work/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

# bare_debian SUITE: makes $work/root.
bare_debian() {
	if [ -n "${BARE:-}" ]; then
		cp -a "$BARE" "$work/root" || return
	else
		debootstrap --variant=minbase "$1" "$work/root" "$MIRROR" >"$(log_file debootstrap)" || return
	fi
	# No server is started by the packages: the test starts its own.
	mount -t proc proc "$work/root/proc" &&
		printf '#!/bin/sh\nexit 101\n' >"$work/root/usr/sbin/policy-rc.d" &&
		chmod +x "$work/root/usr/sbin/policy-rc.d"
}

install_server() {
	inside apt-get -q -y update >"$(log_file chroot_apt)" 2>&1 &&
		inside apt-get -q -y --no-install-recommends install "postgresql-$PG_MAJOR" >>"$(log_file chroot_apt)" 2>&1
}

# copy_rust FOLDER: this machine's Rust, without its pages.
copy_rust() {
	local sysroot
	sysroot=$(cd "$ROOT" && rustc --print sysroot) &&
		mkdir -p "$1" &&
		tar -C "$sysroot" --exclude=./share/doc -cf - . | tar -C "$1" -xf -
}

# cargo_certificate ROOT HOME: where the network shows a certificate of its own, the cargo whose folder is HOME below ROOT has
# to know it.
cargo_certificate() {
	[ -n "${SSL_CERT_FILE:-}" ] || return 0
	mkdir -p "$1$2" &&
		cp "$SSL_CERT_FILE" "$1$2/certificates.pem" &&
		printf '[http]\ncainfo = "%s/certificates.pem"\n' "$2" >"$1$2/config.toml"
}

# The SQL of the README up to its first search, and what it prints there.
readme_search() {
	awk '/^```sql$/ { inside = 1; next } /^```text$/ { exit } /^```$/ { inside = 0; next } inside' "$ROOT/README.md"
}
# What psql writes to its standard output: notices are not there.
readme_answer() { awk '/^```text$/ { inside = 1; next } /^```$/ { if (inside) exit } inside && !/^NOTICE:/' "$ROOT/README.md"; }

# Compares what psql printed, on the standard input, with the README, and shows it.
same_answer() {
	grep -v '^(.* rows*)$' >"$work/found"
	cat "$work/found"
	[ -s "$work/found" ] && diff -bB <(readme_answer) "$work/found"
}
