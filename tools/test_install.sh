#!/usr/bin/env bash
# Tests that `make install` finds the library, wherever cargo is told to build, and the right server among those
# that are installed, and that it and the script of an archive refuse systems that could not load the library. A crate without a line of SQL stands in for the extension, scripts for the programs of servers.
# DESTDIR puts all files below a directory of the test: an install that finds the wrong server cannot harm it.

# shellcheck source=packaging/common.sh
. "$(dirname "$0")/../packaging/common.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/simhash_install.XXXXXX")
trap 'rm -rf "$work"' EXIT
export DESTDIR=$work/installed
unset PG_CONFIG PROFILE prefix CARGO_TARGET_DIR CARGO_BUILD_TARGET CARGO_BUILD_TARGET_DIR
failed=0
# The servers below are of the majors 15 to 18, and of one that the code does not know.
majors=$(supported_majors | sort -n | tr '\n' ' ')
unknown=$(($(supported_majors | head -n 1) + 1))

# A repository with all that the scripts look at, whose library contains the word "fresh".
repository() {
	local major
	repo=$work/repo
	rm -rf "$repo"
	mkdir -p "$repo/tools" "$repo/src" "$repo/sql" "$repo/target/release"
	cp "$ROOT"/tools/{common,install}.sh "$repo/tools"
	{
		printf '%s\n' '[package]' 'name = "simhash_dedup"' 'version = "0.1.0"' 'edition = "2024"' 'rust-version = "1.85"' \
			'[lib]' 'crate-type = ["cdylib"]' '[features]'
		for major in $majors; do echo "pg$major = []"; done
	} >"$repo/Cargo.toml"
	printf '%s\n' '#[unsafe(no_mangle)]' 'pub static CONTENT: [u8; 5] = *b"fresh";' >"$repo/src/lib.rs"
	touch "$repo/simhash_dedup.control" "$repo/sql/"{simhash_dedup--0.1.0,simhash_review}.sql
	(cd "$repo" && cargo generate-lockfile --offline --quiet)
	# Left by an earlier build, where cargo builds unless told otherwise.
	echo old >"$repo/target/release/libsimhash_dedup.so"
}

# server MAJOR [PART...]: the programs of a server under $work/usr; a missing part is named.
server() {
	local major=$1 root=$work/usr/$1
	shift
	mkdir -p "$root"/{bin,lib,share/extension,include/server}
	cat >"$root/bin/pg_config" <<-END
		#!/bin/sh
		case \$1 in
		--version) echo 'PostgreSQL $major.3' ;;
		--bindir) echo '$root/bin' ;;
		--pkglibdir) echo '$root/lib' ;;
		--sharedir) echo '$root/share' ;;
		--includedir-server) echo '$root/include/server' ;;
		esac
	END
	printf '%s\n' '#!/bin/sh' "echo 'postgres (PostgreSQL) $major.3'" >"$root/bin/postgres"
	chmod +x "$root"/bin/*
	touch "$root/include/server/postgres.h"
	for part; do rm "$root/$part"; done
}

# on_path TARGET: this pg_config comes first on PATH.
on_path() {
	mkdir -p "$work/path"
	ln -sf "$1" "$work/path/pg_config"
}

# says PROGRAM LINE: this program prints a line; without a LINE it knows no answer.
says() {
	# shellcheck disable=SC2016  # the quotes are for the program
	printf '#!/bin/sh\n%s\nexit 1\n' "${2:+echo '$2'; exit}" >"$work/path/$1"
	chmod +x "$work/path/$1"
}

# script ACTION [VARIABLE=VALUE...]: install.sh of the repository, or of an archive, whose output is in $work/out.
script() {
	local action=$1
	shift
	env PATH="$work/path:$PATH" PG_PLACES="$work/usr/*/bin" "$@" "${archive:-$repo/tools}/install.sh" "$action" >"$work/out" 2>&1
}

install_with() { script install "$@"; }

result() { # ok or not, what
	if [ "$1" = 0 ]; then echo "ok - $2"; else
		failed=1
		echo "not ok - $2"
		sed 's/^/# /' "$work/out"
	fi
}

# installs MAJOR WHAT [VARIABLE=VALUE...]: the fresh library goes into this server, which the output names.
installs() {
	local major=$1 what=$2 good=0
	shift 2
	rm -rf "$DESTDIR"
	install_with "$@" && grep -qs fresh "$DESTDIR$work/usr/$major/lib/simhash_dedup.so" && grep -q "PostgreSQL $major.3.*$work/usr/$major/bin" "$work/out" || good=1
	result "$good" "$what"
}

# uninstalls WHAT [VARIABLE=VALUE...]: no file is left of what was installed.
uninstalls() {
	local what=$1 good=0
	shift
	script uninstall "$@" && [ -z "$(find "$DESTDIR" -type f)" ] || good=1
	result "$good" "$what"
}

# refuses MESSAGE WHAT [VARIABLE=VALUE...]: one line with this text, and nothing is installed.
refuses() {
	local message=$1 what=$2 good=0
	shift 2
	rm -rf "$DESTDIR"
	if install_with "$@" || ! grep -Eq "^(simhash_dedup|install.sh): .*$message" "$work/out" || [ -e "$DESTDIR" ]; then good=1; fi
	result "$good" "$what"
}

server 15
on_path "$work/usr/15/bin/pg_config"
repository
installs 15 'nothing is set'
uninstalls 'uninstall removes all that was installed'
repository
installs 15 'CARGO_TARGET_DIR' CARGO_TARGET_DIR="$work/elsewhere"
repository
installs 15 'CARGO_TARGET_DIR, relative' CARGO_TARGET_DIR=elsewhere
repository
mkdir "$repo/.cargo"
printf '%s\n' '[build]' "target-dir = \"$work/configured\"" >"$repo/.cargo/config.toml"
installs 15 'build.target-dir in the settings of cargo'
repository
installs 15 'a named platform' CARGO_BUILD_TARGET="$(rustc -vV | sed -n 's/^host: //p')"

repository
server 16
server 17 include/server/postgres.h
installs 15 'pg_config of PATH comes first'
installs 16 'PG_CONFIG comes before it' PG_CONFIG="$work/usr/16/bin/pg_config"
# Debian's pg_config of libpq-dev: of the newest clients, without headers.
on_path "$work/usr/17/bin/pg_config"
installs 16 'where PATH has no server, the newest that is complete'
on_path /bin/false
installs 16 'pg_config of PATH does not run'
server 18 bin/postgres
installs 16 'a server comes before headers alone'
rm -r "$work"/usr/1[567]
server 15 bin/postgres
installs 18 'headers are enough to build'
outside=0
rm -rf "$DESTDIR"
install_with prefix=/opt/apart && grep -qs fresh "$DESTDIR/opt/apart/lib/simhash_dedup.so" &&
	[ -e "$DESTDIR/opt/apart/share/extension/simhash_review.sql" ] && [ ! -e "$DESTDIR$work" ] || outside=1
result "$outside" 'prefix is a folder outside of the server'
uninstalls 'uninstall with that prefix' prefix=/opt/apart
refuses 'prefix=apart is not an absolute path' 'prefix, relative' prefix=apart
refuses 'prefix is for PostgreSQL 18 and later' 'prefix, for a server that would not look there' prefix=/opt/apart PG_CONFIG="$work/usr/15/bin/pg_config"
rm -r "$work/usr/18" "$work/usr/15"
server 16 include/server/postgres.h
refuses 'postgresql-server-dev-16 ' 'a server without headers: those of its major are asked for'
others=$(grep -cE 'postgresql-1|server-dev-1[^6]' "$work/out" || true)
result "$others" 'no other package is asked for'
refuses 'headers of PostgreSQL 16' 'PG_CONFIG of a server without headers' PG_CONFIG="$work/usr/16/bin/pg_config"
refuses 'nowhere/pg_config does not run' 'PG_CONFIG that is not there' PG_CONFIG=/nowhere/pg_config
server "$unknown"
refuses "PostgreSQL $unknown.3.* is not supported, only ${majors% }" 'a major that the code does not know' \
	PG_CONFIG="$work/usr/$unknown/bin/pg_config"
says getconf
refuses 'no glibc' 'a system without glibc'

# An archive with the library of the repository, as packages.sh makes it.
server 15
on_path "$work/usr/15/bin/pg_config"
archive=$work/archive
mkdir -p "$archive"/{lib,extension}
cp "$repo/target/release/libsimhash_dedup.so" "$archive/lib/simhash_dedup.so"
touch "$archive/extension/simhash_dedup.control"
tarball_installer "$archive/lib/simhash_dedup.so" 15 >"$archive/install.sh"
chmod +x "$archive/install.sh"
# By another program than the one that the script was made with.
needed=$(readelf -V "$archive/lib/simhash_dedup.so" | grep -o 'GLIBC_2\.[0-9]*' | sort -t . -k 2 -n | tail -n 1)
needed=${needed#GLIBC_}
refuses "no glibc .*needs $needed " 'an archive, on a system without glibc'
# As text it is greater, as a version less.
says getconf 'glibc 2.9'
refuses "needs glibc $needed .*this system has 2.9:" 'an archive, where glibc is too old'
says getconf "glibc 2.$((${needed#2.} - 1))"
refuses "needs glibc $needed " 'an archive, where glibc is too old by one'
says uname 'Linux riscv64'
says getconf "glibc $needed"
refuses 'Linux riscv64' 'an archive, on another processor'
rm "$work/path/uname"
archive_installs=0
rm -rf "$DESTDIR"
install_with && cmp "$archive/lib/simhash_dedup.so" "$DESTDIR$work/usr/15/lib/simhash_dedup.so" || archive_installs=1
result "$archive_installs" 'an archive, where glibc is just new enough'
says getconf
uninstalls 'uninstall of an archive asks for no glibc'
exit "$failed"
