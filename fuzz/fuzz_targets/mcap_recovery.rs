#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::targets::mcap_recovery;

fuzz_target!(|data: &[u8]| mcap_recovery::run(data));
