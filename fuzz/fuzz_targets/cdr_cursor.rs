#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::targets::cdr_cursor;

fuzz_target!(|data: &[u8]| cdr_cursor::run(data));
