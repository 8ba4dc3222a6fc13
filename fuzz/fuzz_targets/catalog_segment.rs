#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::targets::catalog_segment;

fuzz_target!(|data: &[u8]| catalog_segment::run(data));
