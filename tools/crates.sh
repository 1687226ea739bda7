#!/usr/bin/env bash
# Crates that others wrote: their licences and sources, known faults, and a build from copies without a network.
#
#   crates.sh deny    licences, sources and, where the database is, advisories, by cargo-deny; nothing is fetched
#   crates.sh vendor  copies all crates with `cargo vendor`, and builds from the copies with no registry at hand

# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

# The database of advisories is the one that `cargo deny fetch` keeps.
deny() {
	local checks=(licenses bans sources)
	if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*" >/dev/null; then
		checks+=(advisories)
	else
		echo 'advisories are left out: there is no database (cargo deny fetch)'
	fi
	cargo deny --workspace --offline --locked --config "$ROOT/tools/deny.toml" check "${checks[@]}"
}

# In an unpacked copy, as a packager has it, and with a home of cargo that knows nothing.
vendor() {
	local work
	work=$(mktemp -d "${TMPDIR:-/tmp}/simhash_vendor.XXXXXX")
	# shellcheck disable=SC2064  # the value of now
	trap "rm -rf '$work'" EXIT
	mkdir "$work/source" "$work/home"
	git -C "$ROOT" archive HEAD | tar -x -C "$work/source"
	cd "$work/source"
	mkdir .cargo
	cargo vendor --locked vendor >.cargo/config.toml 2>"$work/log" || fail "cargo vendor: $(tail -n 1 "$work/log")"
	require_postgres build
	# shellcheck disable=SC2046  # a list of words
	CARGO_HOME=$work/home CARGO_TARGET_DIR=$work/target cargo build --offline --locked --lib $(cargo_features)
	say "built from $(find vendor -mindepth 1 -maxdepth 1 | wc -l) copied crates, without a registry"
}

require_rust
cd "$ROOT"
case ${1:-} in
deny) deny ;;
vendor) vendor ;;
*) fail "crates.sh deny or crates.sh vendor, not ${1:-nothing}" ;;
esac
