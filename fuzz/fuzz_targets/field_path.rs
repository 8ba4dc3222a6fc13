#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::targets::field_path;

fuzz_target!(|data: &[u8]| field_path::run(data));
