#!/usr/bin/env bash
# make mutants: changes the code of the crates that know no server in COUNT places (200), one at a time, and runs the unit tests
# of the crate. A change that no test notices is printed as MISSED. SEED (1) draws the places, the same ones as long as the
# sources are the same; deletions of a field of a struct are all among them, since cargo-mutants does not choose among those.
# Results are in target/mutants.out.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/common.sh"

cd "$ROOT"
cargo mutants --version >/dev/null 2>&1 || fail 'cargo-mutants is missing: cargo install cargo-mutants --locked'
require_rust
options=()
[ "$IGNORE_RUST_VERSION" = no ] || options=(--cargo-arg=--ignore-rust-version)
packages=()
for crate in base fingerprint hamming records trigger; do packages+=(--package "simhash_$crate"); done
mapfile -t all < <(cargo mutants --list "${packages[@]}")
fields=$(printf '%s\n' "${all[@]}" | grep -c ': delete field')
[ "${COUNT:-200}" -gt "$fields" ] || fail "COUNT must be more than $fields, the deletions of fields, not ${COUNT:-200}"
# The others whose names have the least hashes, as anchored patterns.
mapfile -t drawn < <(printf '%s\n' "${all[@]}" | grep -v ': delete field' |
	SEED=${SEED:-1} perl -MDigest::SHA=sha256_hex -ne 'print sha256_hex("$ENV{SEED} $_"), "\t$_"' |
	sort | sed -n "1,$((${COUNT:-200} - fields))p" | cut -f 2- | sed 's/[][\\.^$*+?(){}|]/\\&/g; s/.*/--re=^&$/')
mkdir -p target
CARGO_PROFILE_DEV_DEBUG=0 cargo mutants "${packages[@]}" "${drawn[@]}" "${options[@]}" --output target --timeout 120 "$@" -- --lib
