#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::targets::idl_parse;

fuzz_target!(|data: &[u8]| idl_parse::run(data));
