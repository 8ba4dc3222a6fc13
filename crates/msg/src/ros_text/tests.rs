use super::*;
use crate::FieldSpec;

fn fields(text: &str) -> Vec<FieldSpec> {
    Definition::parse_all("p/msg/T", text).unwrap().remove(0).fields
}

fn names(text: &str) -> Vec<String> {
    fields(text).into_iter().map(|f| f.name).collect()
}

#[test]
fn constants_of_every_form_take_no_bytes() {
    let text = "uint8 A=1\nuint8 B = 2\nstring C=\nstring D=hello world\nstring E=\"#x\"\n\
                float64 F=.5\nbool G=True # yes\nint32 x";
    assert_eq!(names(text), ["x"]);
}

#[test]
fn defaults_and_odd_literals_are_read_over() {
    let text =
        "float64 w 1\nfloat32 b 1e-3\nfloat32 c 1.\nstring[] n [\"a\",'b']\nstring s \"x y\"";
    assert_eq!(names(text), ["w", "b", "c", "n", "s"]);
}

#[test]
fn bounds_and_sizes_are_told_apart() {
    let read = fields("string<=10 a\nstring<=10[<=5] b\nint32[4] c\nint32[<=4] d\nint32[] e");
    let types: Vec<_> = read.into_iter().map(|f| f.ty).collect();
    let ints = || Box::new(TypeSpec::Primitive(Primitive::I32));
    assert_eq!(
        types,
        [
            TypeSpec::String,
            TypeSpec::Sequence(Box::new(TypeSpec::String)),
            TypeSpec::Array(ints(), 4),
            TypeSpec::Sequence(ints()),
            TypeSpec::Sequence(ints()),
        ]
    );
}

#[test]
fn an_array_of_no_elements_is_refused() {
    assert!(Definition::parse_all("p/msg/T", "int32[0] x").is_err());
    assert!(Definition::parse_all("p/msg/T", "int32[<=0] x").is_ok());
}

#[test]
fn br_060_byte_and_char_are_unsigned() {
    for field in fields("byte a\nchar b\nuint8 c") {
        assert_eq!(field.ty, TypeSpec::Primitive(Primitive::U8));
    }
}

#[test]
fn ros1_has_a_signed_byte_and_one_header_for_all() {
    let text = "byte a\nchar b\nHeader h\ntime t";
    let all = parse_all("foo_msgs/T", text, Dialect::Ros1).unwrap();
    let types: Vec<_> = all[0].fields.iter().map(|f| f.ty.clone()).collect();
    assert_eq!(
        types,
        [
            TypeSpec::Primitive(Primitive::I8),
            TypeSpec::Primitive(Primitive::U8),
            TypeSpec::Named("std_msgs/Header".to_owned()),
            TypeSpec::Named("time".to_owned()),
        ]
    );
    assert_eq!(all[0].filler_bytes, 0);
}

#[test]
fn a_header_line_in_front_of_the_root_is_read_over() {
    let text = "====\nMSG: p/srv/X_Event\nint32 a\n====\nMSG: p/msg/B\nint32 b";
    let all = Definition::parse_all("p/srv/X_Event", text).unwrap();
    let names: Vec<_> = all.iter().map(|d| (d.name.as_str(), d.fields.len())).collect();
    assert_eq!(names, [("p/srv/X_Event", 1), ("p/msg/B", 1)]);
}

#[test]
fn br_062_field_names_that_start_with_a_type_name_are_names() {
    assert_eq!(
        names("string string_value\nint32 int32_count\nbuiltin_interfaces/Time timestamp"),
        ["string_value", "int32_count", "timestamp"]
    );
}

#[test]
fn br_056_a_comment_that_looks_like_an_annotation_is_a_comment() {
    assert_eq!(names("float64 longitude #[x]"), ["longitude"]);
}

#[test]
fn several_definitions_and_windows_line_ends_are_read() {
    let text = "a/B b\r\n\r\n================================================================================\r\nMSG: a/B\r\nint32 x";
    let all = Definition::parse_all("p/T", text).unwrap();
    assert_eq!(all[0].name, "p/msg/T");
    assert_eq!((all[1].name.as_str(), all[1].fields[0].name.as_str()), ("a/msg/B", "x"));
}

#[test]
fn a_bad_line_is_named() {
    for bad in ["int32", "int32 7x", "int32 a-b", "in!t a", "int32[x] a", "int32] a"] {
        let text = format!("int32 ok\n{bad}\n");
        let error = Definition::parse_all("p/msg/T", &text).unwrap_err();
        assert!(matches!(error, DefinitionError::Syntax { line: 2, .. }), "{bad}: {error}");
    }
}

#[test]
fn a_hundred_thousand_fields_are_refused() {
    let text = "int8 a\n".repeat(100_000);
    let error = Definition::parse_all("p/msg/T", &text).unwrap_err();
    assert!(matches!(error, DefinitionError::TooLarge { limit: MAX_FIELDS, .. }));
}
