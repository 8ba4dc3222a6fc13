#![no_main]

use libfuzzer_sys::fuzz_target;
use ros2_memory_msg::{DecodeLimits, Library, Schema, decode};

fuzz_target!(|text: &str| {
    let mut library = Library::new();
    let is_text = library.add("p/msg/T", text).is_ok();
    let schema = Schema::parse("p/msg/T", text, &Library::new());
    assert!(is_text || schema.is_err(), "a schema needs its text to parse");
    if let Ok(schema) = schema {
        // As much of a message as there is text, so that every layout is walked.
        let payload = [&[0, 1, 0, 0], text.as_bytes()].concat();
        drop(decode(&schema, &payload, DecodeLimits { max_items: 8 }));
        drop(decode(&schema, &vec![0; payload.len()], DecodeLimits::NONE));
    }
});
