# shellcheck shell=bash
# What the scripts of this folder share: what the packages are called, and builds that are the same in every folder.
# Sourced, never run.

# shellcheck source=tools/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tools/common.sh"

# field NAME: a value of [package] in Cargo.toml, the one place for all of them; of a list the first.
field() { sed -n "/^\[package\]/,/^\[[a-oq-z]/ s/^$1 = \[*\"\([^\"]*\)\".*/\1/p" "$ROOT/Cargo.toml"; }

NAME=$(field name)
VERSION=$(field version)
OUT=${OUT:-$ROOT/target/packages}

# The date of all files in packages: that of the commit, unless the caller has set one.
set_date() {
	: "${SOURCE_DATE_EPOCH:=$(git -C "$ROOT" log -1 --format=%ct 2>/dev/null || stat -c %Y "$ROOT/CHANGELOG.md")}"
	export SOURCE_DATE_EPOCH
}

# Makes cargo leave the paths of this machine out of what it builds. Its flags differ from those of `make install`, so it has
# a target directory of its own.
reproducible() {
	local map home
	home=$(cd "${CARGO_HOME:-$HOME/.cargo}" && pwd)
	map=("$ROOT=/usr/src/$NAME-$VERSION" "$home=/usr/src/cargo" "$(cd "$ROOT" && rustc --print sysroot)=/usr/src/rust")
	export CARGO_TARGET_DIR=$ROOT/target/reproducible CARGO_INCREMENTAL=0
	RUSTFLAGS=$(printf -- '--remap-path-prefix=%s ' "${map[@]}")
	CFLAGS=$(printf -- '-ffile-prefix-map=%s ' "${map[@]}")
	export RUSTFLAGS CFLAGS
	set_date
}

# tarball_installer LIBRARY MAJOR: prints the script that copies this library into a server of that major, and refuses a system
# that could not load it.
tarball_installer() {
	local glibc
	glibc=$(objdump -T "$1" | grep -o 'GLIBC_2[0-9.]*' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
	sed "s/@MAJOR@/$2/g; s/@NAME@/$NAME/g; s/@MACHINE@/$(uname -m)/g; s/@GLIBC@/$glibc/g" "$ROOT/packaging/tarball_install.sh"
}

# Files of a staged package get the one date, and nothing that this user's umask says.
normalise() {
	find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
	chmod -R u=rwX,go=rX "$1"
}
