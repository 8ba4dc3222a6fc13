#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use ros2_memory_msg::{FieldPath, Library, Plan, Schema};

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let text = "string a\nT[] b\nfloat64[3] c\n===\nMSG: p/T\nstring a\nint32[] b\nU c\n\
                ===\nMSG: p/U\nint8 a\nint8 b";
    Arc::new(Schema::parse("p/msg/Root", text, &Library::new()).expect("a fixed type"))
});

fuzz_target!(|text: &str| {
    let paths: Vec<FieldPath> = text.split('\n').filter_map(|text| text.parse().ok()).collect();
    for path in &paths {
        assert_eq!(path.to_string().parse::<FieldPath>().as_ref(), Ok(path));
    }
    if let Ok(plan) = Plan::compile(SCHEMA.clone(), &paths) {
        let payload = [&[0, 1, 0, 0], text.as_bytes()].concat();
        drop(plan.run(&payload, |number, _| assert!(number < paths.len())));
    }
});
