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
# Longer inputs say nothing new and take longer.
case $target in
    typed_roundtrip) len=160 ;;
    mcap_recovery) len=400 ;;
    field_path) len=1024 ;;
    cdr_cursor | json_message) len=2048 ;;
    msg_parse | idl_parse) len=4096 ;;
    *) len=8192 ;;
esac
case $target in
    mcap_scan | mcap_differential) set -- -dict=mcap.dict "$@" ;;
    msg_parse) set -- -dict=msg.dict "$@" ;;
    idl_parse) set -- -dict=idl.dict "$@" ;;
    json_message) set -- -dict=json.dict "$@" ;;
esac
# The files of the run, in memory where there is a place; a fuzzer does not clean up.
TMPDIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"${CARGO_TARGET_DIR:-target}/$host/release/$target" "$corpus" "seeds/$target" \
    -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len="$len" \
    -artifact_prefix="artifacts/$target/" "$@"
