use super::*;
use crate::Library;
use ros2_memory_cdr::{Encoding, Primitive, Scalar, Writer};

const SEPARATOR: &str =
    "\n================================================================================\n";

fn schema(text: &str) -> Schema {
    Schema::parse("p/msg/T", text, &Library::new()).unwrap()
}

fn writer() -> Writer {
    Writer::new(Encoding::XCDR1_LE)
}

#[test]
fn br_075_elements_of_a_struct_sequence_keep_their_own_padding() {
    let schema = schema(&format!("E[] e{SEPARATOR}MSG: p/E\nfloat64 d\nuint8 u"));
    let mut w = writer();
    w.sequence_len(3);
    for i in 0..3u8 {
        w.scalar(Scalar::F64(f64::from(i) + 0.5), Primitive::F64);
        w.scalar(Scalar::U64(i.into()), Primitive::U8);
    }
    let payload = w.into_payload();
    let value = decode(&schema, &payload, DecodeLimits::NONE).unwrap();
    let Some(Value::List(list)) = value.field("e") else { panic!() };
    let read: Vec<_> = list
        .items
        .iter()
        .map(|e| {
            (
                e.field("d").and_then(Value::as_f64).unwrap(),
                e.field("u").and_then(Value::as_f64).unwrap(),
            )
        })
        .collect();
    assert_eq!(read, [(0.5, 0.0), (1.5, 1.0), (2.5, 2.0)]);
}

#[test]
fn an_empty_struct_inside_a_message_takes_one_byte() {
    let schema = schema(&format!("E e\nuint8 x{SEPARATOR}MSG: p/E\n"));
    let value = decode(&schema, &[0, 1, 0, 0, 0, 9], DecodeLimits::NONE).unwrap();
    assert_eq!(value.field("x"), Some(&Value::Scalar(Scalar::U64(9))));
}

/// Each type holds the next one twice: 2^60 values in all, each of a byte at least.
#[test]
fn types_that_double_at_each_level_end_with_the_bytes() {
    use std::fmt::Write;
    let mut text = "T1 a\nT1 b".to_owned();
    for level in 1..60 {
        let next = level + 1;
        write!(text, "{SEPARATOR}MSG: p/T{level}\nT{next} a\nT{next} b").unwrap();
    }
    for leaf in ["bool x", ""] {
        let schema = schema(&format!("{text}{SEPARATOR}MSG: p/T60\n{leaf}"));
        let payload = [&[0, 1, 0, 0], &[0; 10_000][..]].concat();
        assert!(decode(&schema, &payload, DecodeLimits::NONE).is_err());
    }
}

#[test]
fn an_empty_message_may_have_no_bytes_at_all() {
    let schema = schema("");
    assert!(decode(&schema, &[0, 1, 0, 0], DecodeLimits::NONE).is_ok());
    assert!(decode(&schema, &[0, 1, 0, 0, 0], DecodeLimits::NONE).is_ok());
}

#[test]
fn a_message_with_bytes_and_a_definition_without_fields_is_no_empty_message() {
    let payload = [0, 1, 0, 0, 1, 2, 3, 4, 5];
    let schema = schema("");
    let error = decode(&schema, &payload, DecodeLimits::NONE).unwrap_err();
    assert_eq!(error.source, CdrError::Undefined { found: 9 });
}

#[test]
fn any_number_of_values_without_bytes_costs_no_time() {
    let text = format!(
        "E[4294967295] e\nA[4294967295] a\nuint8 end{SEPARATOR}MSG: p/A\n\
         E[4294967295] e{SEPARATOR}MSG: p/E\n"
    );
    let schema = Schema::parse_as(crate::SchemaEncoding::Ros1Msg, "p/T", &text, &Library::new());
    let schema = schema.unwrap();
    let limits = DecodeLimits { max_items: 2 };
    let value = decode(&schema, &[9], limits).unwrap();
    assert_eq!(value.field("end").and_then(Value::as_f64), Some(9.0));
    let error = decode(&schema, &[9], DecodeLimits::NONE).unwrap_err();
    assert!(matches!(error.source, CdrError::TooManyValues { .. }));
    let plan = crate::Plan::compile(schema.into(), &["end".parse().unwrap()]).unwrap();
    let mut seen = None;
    plan.run(&[9], |_, value| seen = value.as_f64()).unwrap();
    assert_eq!(seen, Some(9.0));
}

#[test]
fn long_lists_are_thinned_and_say_how_long_they_were() {
    let schema = schema("string[] names\nint8 end");
    let mut w = writer();
    w.sequence_len(1000);
    for i in 0..1000 {
        w.string(&i.to_string());
    }
    w.scalar(Scalar::I64(-1), Primitive::I8);
    let payload = w.into_payload();
    let value = decode(&schema, &payload, DecodeLimits { max_items: 4 }).unwrap();
    let Some(Value::List(list)) = value.field("names") else { panic!() };
    let kept: Vec<_> = list.items.iter().filter_map(Value::as_str).collect();
    assert_eq!((kept.as_slice(), list.total), (["0", "333", "666", "999"].as_slice(), 1000));
    assert_eq!(value.field("end"), Some(&Value::Scalar(Scalar::I64(-1))));
}

#[test]
fn values_are_bounded_however_little_bytes_each_takes() {
    use std::fmt::Write;
    let mut text = "T1[] list".to_owned();
    for level in 1..60 {
        write!(text, "{SEPARATOR}MSG: p/T{level}\nT{} inner", level + 1).unwrap();
    }
    write!(text, "{SEPARATOR}MSG: p/T60\nuint8 x").unwrap();
    let schema = schema(&text);
    let mut w = writer();
    w.sequence_len(1 << 20);
    let mut payload = w.into_payload();
    payload.resize(payload.len() + (1 << 20), 0);
    let error = decode(&schema, &payload, DecodeLimits::NONE).unwrap_err();
    assert!(matches!(error.source, CdrError::TooManyValues { limit: MAX_VALUES, .. }));
    assert!(decode(&schema, &payload, DecodeLimits { max_items: 50 }).is_ok());
}

#[test]
fn the_field_whose_bytes_are_missing_is_named() {
    let schema = schema("int32 a\nfloat64 b");
    let error = decode(&schema, &[0, 1, 0, 0, 1, 0, 0, 0], DecodeLimits::NONE).unwrap_err();
    assert_eq!(error.field, "b");
    assert_eq!(error.to_string(), "p/msg/T, field b: at byte 12: 8 bytes needed, 0 left");
}

#[test]
fn a_huge_fixed_array_is_refused_before_it_is_built() {
    let schema = schema("string[2147483648] a");
    let error = decode(&schema, &[0; 64], DecodeLimits::NONE).unwrap_err();
    assert!(matches!(error.source, CdrError::Truncated { available: 60, .. }));
}

#[test]
fn every_truncation_of_a_message_is_an_error() {
    let schema =
        schema(&format!("string s\nE[] e\nint16[3] f{SEPARATOR}MSG: p/E\nfloat64 d\nstring[] n"));
    let mut w = writer();
    w.string("hello");
    w.sequence_len(2);
    for _ in 0..2 {
        w.scalar(Scalar::F64(1.0), Primitive::F64);
        w.sequence_len(1);
        w.string("x");
    }
    (0..3).for_each(|i| w.scalar(Scalar::I64(i), Primitive::I16));
    let payload = w.into_payload();
    assert!(decode(&schema, &payload, DecodeLimits::NONE).is_ok());
    for len in 0..payload.len() {
        assert!(decode(&schema, &payload[..len], DecodeLimits::NONE).is_err(), "{len}");
    }
}

#[test]
fn values_without_bytes_beside_optional_ones_cost_no_time_either() {
    let text = "struct N {}; struct T { @optional long o; N a[4000000000][4000000000][2]; };";
    let schema = Schema::parse_as(crate::SchemaEncoding::OmgIdl, "T", text, &Library::new());
    let schema = schema.unwrap();
    // In XCDR1 the optional member has a header of its own, with length 0 when it is not there.
    let payload = [0, 1, 0, 0, 0, 0, 0, 0];
    let value = decode(&schema, &payload, DecodeLimits { max_items: 2 }).unwrap();
    assert_eq!(value.field("o"), Some(&Value::Absent));
    let Some(Value::List(list)) = value.field("a") else { panic!() };
    assert_eq!((list.items.len(), list.total), (2, 4_000_000_000));
}
