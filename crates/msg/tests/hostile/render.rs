//! Definitions of some types in each language.

use std::fmt::Write;

use ros2_memory_msg::SchemaEncoding;

pub(super) const LANGUAGES: [SchemaEncoding; 4] = [
    SchemaEncoding::Ros2Msg,
    SchemaEncoding::Ros2Idl,
    SchemaEncoding::OmgIdl,
    SchemaEncoding::Ros1Msg,
];

pub(super) const ROOT: &str = "p/msg/T";

/// How many elements a field has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    One,
    Array(u64),
    Sequence,
}

/// The fields of a type: type name, shape. Their own names are numbers.
pub(super) type Fields = Vec<(String, Shape)>;

/// A definition of these types in a language; the first is the root, `T`.
pub(super) fn render(language: SchemaEncoding, types: &[(String, Fields)]) -> String {
    let mut text = String::new();
    let is_idl = matches!(language, SchemaEncoding::Ros2Idl | SchemaEncoding::OmgIdl);
    if language == SchemaEncoding::OmgIdl {
        text.push_str("module p { module msg {\n");
    }
    // IDL declares in front of use, and rosbag2 writes the root first.
    let in_order: Vec<&(String, Fields)> = if language == SchemaEncoding::OmgIdl {
        types.iter().rev().collect()
    } else {
        types.iter().collect()
    };
    for (number, (name, fields)) in in_order.into_iter().enumerate() {
        let separator = "=".repeat(80);
        match language {
            SchemaEncoding::Ros2Idl => {
                write!(text, "{separator}\nIDL: p/msg/{name}\nmodule p {{ module msg {{\n")
                    .unwrap();
            }
            SchemaEncoding::OmgIdl => {}
            _ if number > 0 => writeln!(text, "{separator}\nMSG: p/{name}").unwrap(),
            _ => {}
        }
        if is_idl {
            writeln!(text, "struct {name} {{").unwrap();
        }
        for (place, (ty, shape)) in fields.iter().enumerate() {
            match (is_idl, shape) {
                (false, Shape::One) => writeln!(text, "{ty} f{place}"),
                (false, Shape::Array(n)) => writeln!(text, "{ty}[{n}] f{place}"),
                (false, Shape::Sequence) => writeln!(text, "{ty}[] f{place}"),
                (true, Shape::One) => writeln!(text, "{ty} f{place};"),
                (true, Shape::Array(n)) => writeln!(text, "{ty} f{place}[{n}];"),
                (true, Shape::Sequence) => writeln!(text, "sequence<{ty}> f{place};"),
            }
            .unwrap();
        }
        if is_idl {
            text.push_str("};\n");
        }
        if language == SchemaEncoding::Ros2Idl {
            text.push_str("}; };\n");
        }
    }
    if language == SchemaEncoding::OmgIdl {
        text.push_str("}; };\n");
    }
    text
}

pub(super) fn one(ty: &str) -> (String, Shape) {
    (ty.to_owned(), Shape::One)
}

pub(super) fn ty(name: &str, fields: Fields) -> (String, Fields) {
    (name.to_owned(), fields)
}

/// Each type holds the next one, `width` times, in this shape.
pub(super) fn chain(
    depth: usize,
    width: usize,
    shape: Shape,
    leaf: Fields,
) -> Vec<(String, Fields)> {
    let mut types = vec![ty("T", vec![("L0".to_owned(), shape); width])];
    for level in 0..depth {
        let next = format!("L{}", level + 1);
        types.push((format!("L{level}"), vec![(next, shape); width]));
    }
    types.push((format!("L{depth}"), leaf));
    types
}
