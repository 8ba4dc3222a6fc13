#!/bin/sh
# Fuzzes one target for some seconds on stable Rust, without cargo-fuzz and without a sanitizer:
#   fuzz/run.sh TARGET SECONDS [libFuzzer options]
# The flags are those of `cargo fuzz build -s none`. What is found lies in fuzz/artifacts/.
set -eu
target=$1 seconds=$2
shift 2
cd "$(dirname "$0")"
host=$(rustc -vV | sed -n 's/^host: //p')
# With --target, so that build scripts and macros are built without them.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 -Cdebug-assertions \
-Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --release --target "$host" --bin "$target"
corpus=target/corpus/$target
mkdir -p "$corpus" "artifacts/$target"
if [ "$target" = mcap_scan ]; then set -- -dict=mcap.dict "$@"; fi
exec "${CARGO_TARGET_DIR:-target}/$host/release/$target" "$corpus" "seeds/$target" \
    -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=8192 \
    -artifact_prefix="artifacts/$target/" "$@"
