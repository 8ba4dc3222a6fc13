//! The text of a definition of ROS 2 or ROS 1: parsing returns, and what parses can be decoded.

use ros2_memory_msg::{
    DecodeLimits, Library, Schema, SchemaEncoding, TypeSource, canonical_type_name, decode,
};

/// `data` is the text of the type `p/msg/T`.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut library = Library::new();
    let is_text = library.add("p/msg/T", &text).is_ok();
    let schema = Schema::parse("p/msg/T", &text, &Library::new());
    assert!(is_text || schema.is_err(), "a schema needs its text to parse");
    if let Ok(schema) = &schema {
        walk(schema, &[&[0, 1, 0, 0], data].concat());
    }
    check("ros2msg", "cdr", "p/msg/T", data);
    check("ros1msg", "ros1", "p/T", data);
}

/// Parses a definition in both ways that there are, and reads payloads by it.
pub(super) fn check(schema_encoding: &str, message_encoding: &str, type_name: &str, data: &[u8]) {
    let source = TypeSource { type_name, schema_encoding, message_encoding, text: data };
    let schema = Schema::for_channel(&source, &Library::new());
    let name = canonical_type_name(type_name);
    if !name.is_empty() {
        let encoding = SchemaEncoding::from_name(schema_encoding).expect("a known name");
        let text = String::from_utf8_lossy(data);
        assert_eq!(schema, Schema::parse_as(encoding, &name, &text, &Library::new()));
    }
    let Ok(schema) = schema else { return };
    if message_encoding == "ros1" {
        walk(&schema, data);
        return;
    }
    for representation in [1, 0, 3, 7, 9, 11] {
        walk(&schema, &[&[0, representation, 0, 0], data].concat());
    }
}

/// As much of a message as there is text, so that every layout is walked.
fn walk(schema: &Schema, payload: &[u8]) {
    drop(decode(schema, payload, DecodeLimits { max_items: 8 }));
    let mut zeros = payload.to_vec();
    zeros.get_mut(4..).unwrap_or_default().fill(0);
    drop(decode(schema, &zeros, DecodeLimits::NONE));
}
