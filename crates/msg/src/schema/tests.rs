use super::*;

const SEPARATOR: &str =
    "\n================================================================================\n";

fn parse(text: &str) -> Result<Schema, DefinitionError> {
    Schema::parse("p/msg/T", text, &Library::new())
}

#[test]
fn names_without_a_package_mean_the_package_they_stand_in() {
    let text = format!(
        "a/Marker m{SEPARATOR}MSG: a/Marker\nKind k{SEPARATOR}MSG: a/Kind\nint8 x{SEPARATOR}\
         MSG: p/Kind\nfloat64 y"
    );
    let schema = parse(&text).unwrap();
    let FieldType::Struct(marker) = schema.root().fields[0].ty else { panic!() };
    let FieldType::Struct(kind) = schema.struct_type(marker).fields[0].ty else { panic!() };
    assert_eq!(schema.struct_type(kind).name, "a/msg/Kind");
}

#[test]
fn br_051_the_same_short_name_in_two_packages_stays_two_types() {
    let text = format!(
        "aruco_msgs/Marker a\nvisualization_msgs/Marker v{SEPARATOR}MSG: aruco_msgs/Marker\n\
         int32 id{SEPARATOR}MSG: visualization_msgs/Marker\nstring ns"
    );
    let schema = parse(&text).unwrap();
    let names: Vec<_> = schema
        .root()
        .fields
        .iter()
        .map(|field| match field.ty {
            FieldType::Struct(id) => schema.struct_type(id).fields[0].name.clone(),
            _ => panic!(),
        })
        .collect();
    assert_eq!(names, ["id", "ns"]);
}

#[test]
fn a_type_that_contains_itself_is_refused() {
    let text = format!("B b{SEPARATOR}MSG: p/B\nC[] c{SEPARATOR}MSG: p/C\nB b");
    assert_eq!(parse(&text), Err(DefinitionError::Recursive { name: "p/msg/B".to_owned() }));
}

#[test]
fn deep_nesting_is_refused() {
    use std::fmt::Write;
    let mut text = String::from("L0 x");
    for level in 0..1_000 {
        write!(text, "{SEPARATOR}MSG: p/L{level}\nL{} x", level + 1).unwrap();
    }
    assert!(matches!(parse(&text), Err(DefinitionError::TooLarge { limit: MAX_DEPTH, .. })));
}

#[test]
fn deep_nesting_is_refused_also_when_the_depths_are_met_first() {
    use std::fmt::Write;
    let mut text = String::new();
    for level in (0..1_000).rev() {
        writeln!(text, "L{level} x{level}").unwrap();
    }
    for level in 0..1_000 {
        write!(text, "{SEPARATOR}MSG: p/L{level}\nL{} x", level + 1).unwrap();
    }
    write!(text, "{SEPARATOR}MSG: p/L1000\nint8 x").unwrap();
    assert!(matches!(parse(&text), Err(DefinitionError::TooLarge { limit: MAX_DEPTH, .. })));
}

#[test]
fn a_missing_type_is_named() {
    assert_eq!(
        parse("int32 a\nfoo_msgs/Bar b"),
        Err(DefinitionError::UnknownType {
            in_type: "p/msg/T".to_owned(),
            missing: "foo_msgs/Bar".to_owned()
        })
    );
}

#[test]
fn the_library_fills_in_what_the_file_lacks_and_never_replaces_it() {
    let mut library = Library::new();
    library.add("a/msg/B", "int8 from_library").unwrap();
    let field_of_b = |text: &str| {
        let schema = Schema::parse("p/msg/T", text, &library).unwrap();
        schema.struct_type(1).fields[0].name.clone()
    };
    assert_eq!(field_of_b("a/B b"), "from_library");
    assert_eq!(field_of_b(&format!("a/B b{SEPARATOR}MSG: a/B\nint8 own")), "own");
    assert!(Schema::from_library("a/B", &library).is_ok());
}

#[test]
fn sizes_that_overflow_are_clamped() {
    let text = format!(
        "A[4294967295] a{SEPARATOR}MSG: p/A\nB[4294967295] b{SEPARATOR}MSG: p/B\n\
         float64[4294967295] x"
    );
    let schema = parse(&text).unwrap();
    assert_eq!(schema.root().min_size, usize::MAX);
}

#[test]
fn a_type_under_a_made_up_package_is_found_by_its_short_name_when_only_one_has_it() {
    let one = format!("type_9 stamp{SEPARATOR}MSG: fastdds/type_9\nint32 sec");
    assert!(parse(&one).is_ok());
    let full = format!("a/msg/B b{SEPARATOR}MSG: fastdds/a/msg/B\nint32 sec");
    assert!(parse(&full).is_ok());
    let other = format!("a/msg/B b{SEPARATOR}MSG: c/msg/B\nint32 sec");
    assert!(matches!(parse(&other), Err(DefinitionError::UnknownType { .. })));
    let two = format!("{one}{SEPARATOR}MSG: other/type_9\nint64 sec");
    assert!(matches!(parse(&two), Err(DefinitionError::UnknownType { .. })));
}

#[test]
fn br_052_a_bare_header_of_ros1_is_that_of_std_msgs() {
    let text = format!(
        "Header header\ntime t{SEPARATOR}MSG: foo_msgs/Header\nint8 own{SEPARATOR}\
         MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id"
    );
    let schema = Schema::parse_as(SchemaEncoding::Ros1Msg, "foo_msgs/T", &text, &Library::new());
    let schema = schema.unwrap();
    let FieldType::Struct(header) = schema.root().fields[0].ty else { panic!() };
    assert_eq!(schema.struct_type(header).fields[0].name, "seq");
    assert_eq!(schema.message_encoding(), MessageEncoding::Ros1);
}

#[test]
fn a_ros1_type_is_never_completed_from_the_library_of_ros2() {
    let mut library = Library::new();
    library.add("std_msgs/msg/Header", "string frame_id").unwrap();
    let schema = Schema::parse_as(SchemaEncoding::Ros1Msg, "foo_msgs/T", "Header h", &library);
    assert!(matches!(schema, Err(DefinitionError::UnknownType { .. })));
}

#[test]
fn parts_of_a_service_are_found_in_their_own_kind() {
    let text = format!(
        "service_msgs/ServiceEventInfo info\nX_Request[<=1] request{SEPARATOR}\
         MSG: p/srv/X_Request\nint64 a{SEPARATOR}MSG: service_msgs/ServiceEventInfo\nint8 e"
    );
    assert!(Schema::parse("p/srv/X_Event", &text, &Library::new()).is_ok());
}

#[test]
fn channels_are_read_by_their_encodings() {
    let of = |schema_encoding, message_encoding, text: &'static str| {
        let source = TypeSource {
            type_name: "p/msg/T",
            schema_encoding,
            message_encoding,
            text: text.as_bytes(),
        };
        Schema::for_channel(&source, &Library::new())
    };
    assert!(of("ros2msg", "cdr", "int8 a").is_ok());
    assert!(of("omgidl", "cdr", "module p { module msg { struct T { long a; }; }; };").is_ok());
    assert!(of("ros1msg", "ros1", "int8 a").is_ok());
    assert!(of("jsonschema", "json", "{}").is_ok());
    assert!(matches!(of("ros1msg", "cdr", ""), Err(DefinitionError::SchemaEncoding { .. })));
    assert!(matches!(of("ros2msg", "ros1", ""), Err(DefinitionError::SchemaEncoding { .. })));
    assert!(matches!(of("", "cdr", ""), Err(DefinitionError::NoDefinition { .. })));
    assert!(matches!(of("protobuf", "protobuf", ""), Err(DefinitionError::MessageEncoding { .. })));
}

#[test]
fn a_type_that_the_file_has_behind_a_package_of_its_own_wins_over_the_library() {
    let mut library = Library::new();
    library.add("a/msg/B", "int8 from_library").unwrap();
    let text = format!("a/msg/B b{SEPARATOR}MSG: fastdds/a/msg/B\nint32 own");
    let schema = Schema::parse("p/msg/T", &text, &library).unwrap();
    assert_eq!(schema.struct_type(1).fields[0].name, "own");
}
