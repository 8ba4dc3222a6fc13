#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::targets::json_message;

fuzz_target!(|data: &[u8]| json_message::run(data));
