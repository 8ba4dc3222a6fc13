#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::targets::msg_parse;

fuzz_target!(|data: &[u8]| msg_parse::run(data));
