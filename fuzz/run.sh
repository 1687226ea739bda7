#!/usr/bin/env bash
# make fuzz: runs the fuzz target for SECONDS_EACH seconds (60), from the seeds and what earlier runs
# found. libFuzzer, with the coverage that stable Rust can give; no sanitizer, as the pure modules have no
# unsafe code. A finding ends it with status 1 and leaves its input in target/fuzz.

# shellcheck source=tools/common.sh
. "$(dirname "$0")/../tools/common.sh"

require_rust
out=$ROOT/target/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=$out
# With --target the flags reach the targets, not build scripts.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
cargo build --release --locked --quiet --target "$host" --manifest-path "$ROOT/fuzz/Cargo.toml"
target=fingerprint
mkdir -p "$out/corpus/$target"
"$out/$host/release/$target" -max_total_time="${SECONDS_EACH:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
	-artifact_prefix="$out/$target-" -print_final_stats=1 "$out/corpus/$target" "$ROOT/fuzz/seeds"
