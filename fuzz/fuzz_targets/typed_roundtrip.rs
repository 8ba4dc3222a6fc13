#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::targets::typed_roundtrip;

fuzz_target!(|data: &[u8]| typed_roundtrip::run(data));
