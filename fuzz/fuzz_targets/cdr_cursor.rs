#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ros2_memory_fuzz::definition::TypedPayload;
use ros2_memory_msg::{DecodeLimits, FieldPath, Library, Plan, Schema, decode};

fuzz_target!(|input: TypedPayload| {
    let Ok(schema) = Schema::parse("p/msg/T0", &input.definition(), &Library::new()) else {
        return;
    };
    let schema = Arc::new(schema);
    let payload = input.payload();
    let whole = decode(&schema, &payload, DecodeLimits::NONE);
    let limited = decode(&schema, &payload, DecodeLimits { max_items: 3 });
    assert_eq!(whole.is_ok(), limited.is_ok(), "what is skipped is looked at all the same");
    let paths: Vec<FieldPath> = input.paths().iter().filter_map(|text| text.parse().ok()).collect();
    if let Ok(plan) = Plan::compile(schema.clone(), &paths) {
        let outcome = plan.run(&payload, |_, _| ());
        assert!(whole.is_err() || outcome.is_ok(), "a plan reads no more than the whole message");
    }
});
