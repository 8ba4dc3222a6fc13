//! Message types at random, in any language: the fuzzer picks the fields, so that payloads meet
//! every layout.

use std::fmt::Write;

use arbitrary::Arbitrary;
use ros2_memory_msg::{DefinitionError, Library, Schema, TypeSource};

/// A few types that use each other, paths into the first, and payloads for it.
#[derive(Debug, Arbitrary)]
pub struct TypedPayload {
    language: Language,
    types: Vec<StructPick>,
    paths: Vec<Vec<(u8, Vec<IndexPick>)>>,
    /// The second byte of the encapsulation header, and the last.
    representation: u8,
    options: u8,
    /// What the second payload has in other places.
    changes: Vec<(u16, u8)>,
    body: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Arbitrary)]
enum Language {
    Ros2Msg,
    Ros1Msg,
    OmgIdl,
    Ros2Idl,
}

#[derive(Debug, Arbitrary)]
struct StructPick {
    extensibility: u8,
    fields: Vec<FieldPick>,
}

#[derive(Debug, Arbitrary)]
struct FieldPick {
    base: u8,
    shape: ShapePick,
    /// Only IDL can say the next two.
    is_optional: bool,
    id: Option<u8>,
}

#[derive(Debug, Arbitrary)]
enum ShapePick {
    Single,
    /// Seldom long: a message of all its elements takes long to read.
    Array(u8),
    Long(u16),
    /// Two dimensions, where the language has them.
    Grid(u8, u8),
    Sequence,
    Bounded,
    /// A sequence of sequences, where the language has them.
    Nested,
}

#[derive(Debug, Arbitrary)]
enum IndexPick {
    Each,
    At(u8),
}

const ROS2_BASES: &[&str] = &[
    "bool",
    "byte",
    "int8",
    "uint16",
    "int32",
    "uint64",
    "float32",
    "float64",
    "string",
    "string",
    "string<=8",
    "wstring",
    "char",
];
const ROS1_BASES: &[&str] = &[
    "bool", "byte", "int8", "uint16", "int32", "uint64", "float32", "float64", "string", "string",
    "time", "duration", "char",
];
const IDL_BASES: &[&str] = &[
    "boolean",
    "octet",
    "int8",
    "unsigned short",
    "long",
    "unsigned long long",
    "float",
    "double",
    "string",
    "string",
    "string<8>",
    "wstring",
    "char",
];
/// In front of a structure; the last says nothing.
const EXTENSIBILITIES: &[&str] =
    &["@final\n", "@appendable\n", "@mutable\n", "@extensibility(MUTABLE)\n", ""];
/// So many types are used: more than may contain each other.
const MAX_TYPES: usize = 70;
/// A structure uses one of so many behind it.
const BEHIND: usize = 7;
/// Of a message by its type.
const MAX_VALUES: usize = 50_000;

impl TypedPayload {
    /// The first type with the others; a type uses only later ones, or itself.
    ///
    /// # Errors
    ///
    /// As [`Schema::for_channel`], when the pick makes no sense.
    pub fn schema(&self) -> Result<Schema, DefinitionError> {
        let (schema_encoding, message_encoding, type_name) = match self.language {
            Language::Ros2Msg => ("ros2msg", "cdr", "p/msg/T0"),
            Language::Ros1Msg => ("ros1msg", "ros1", "p/T0"),
            Language::OmgIdl => ("omgidl", "cdr", "p::msg::T0"),
            Language::Ros2Idl => ("ros2idl", "cdr", "p/msg/T0"),
        };
        let text = self.definition();
        let text = text.as_bytes();
        let source = TypeSource { type_name, schema_encoding, message_encoding, text };
        Schema::for_channel(&source, &Library::new())
    }

    /// Whether a message has so many values by its type alone that reading it takes long: up to
    /// four million are read, of types without bytes also out of nothing.
    pub fn is_large(&self) -> bool {
        let mut sizes = vec![1usize; MAX_TYPES + BEHIND];
        for (number, pick) in self.types.iter().take(MAX_TYPES).enumerate().rev() {
            let fields = pick.fields.iter().map(|field| {
                let inner = match usize::from(field.base).checked_sub(ROS2_BASES.len()) {
                    Some(_) => sizes[number + usize::from(field.base) % BEHIND],
                    None => 1,
                };
                let n = match field.shape {
                    ShapePick::Array(len) => len.into(),
                    ShapePick::Long(len) => len.into(),
                    ShapePick::Grid(outer, inner) => usize::from(outer) * usize::from(inner),
                    _ => 2,
                };
                inner.saturating_mul(n)
            });
            sizes[number] = fields.fold(1, usize::saturating_add);
        }
        sizes[0] > MAX_VALUES
    }

    /// The text of the types.
    pub fn definition(&self) -> String {
        let types = || self.types.iter().take(MAX_TYPES).enumerate();
        let separator = "=".repeat(80);
        let mut text = String::new();
        match self.language {
            Language::Ros2Msg | Language::Ros1Msg => {
                for (number, pick) in types() {
                    if number > 0 {
                        put(&mut text, format_args!("{separator}\nMSG: p/T{number}\n"));
                    }
                    for (place, field) in pick.fields.iter().enumerate() {
                        let field = self.ros_type(field, number);
                        put(&mut text, format_args!("{field} f{place}\n"));
                    }
                }
            }
            Language::OmgIdl => {
                text.push_str("module p { module msg {\n");
                // Each before its first use.
                types().rev().for_each(|(number, pick)| put_struct(&mut text, number, pick));
                text.push_str("}; };\n");
            }
            Language::Ros2Idl => {
                for (number, pick) in types() {
                    put(&mut text, format_args!("{separator}\nIDL: p/msg/T{number}\n"));
                    text.push_str("module p { module msg {\n");
                    put_struct(&mut text, number, pick);
                    text.push_str("}; };\n");
                }
            }
        }
        text
    }

    fn ros_type(&self, field: &FieldPick, number: usize) -> String {
        let is_ros1 = self.language == Language::Ros1Msg;
        let base = base_of(field, if is_ros1 { ROS1_BASES } else { ROS2_BASES }, number);
        match field.shape {
            ShapePick::Single => base,
            ShapePick::Array(len) => format!("{base}[{len}]"),
            ShapePick::Long(len) => format!("{base}[{len}]"),
            ShapePick::Grid(len, _) => format!("{base}[{len}]"),
            ShapePick::Bounded if !is_ros1 => format!("{base}[<=4]"),
            ShapePick::Sequence | ShapePick::Nested | ShapePick::Bounded => format!("{base}[]"),
        }
    }

    /// Field paths as they are written.
    pub fn paths(&self) -> Vec<String> {
        let step = |(field, indices): &(u8, Vec<IndexPick>)| {
            let mut text = format!("f{field}");
            for index in indices.iter().take(3) {
                match index {
                    IndexPick::Each => text.push_str("[]"),
                    IndexPick::At(n) => put(&mut text, format_args!("[{n}]")),
                }
            }
            text
        };
        self.paths.iter().map(|path| path.iter().map(step).collect::<Vec<_>>().join(".")).collect()
    }

    /// Two payloads with their encapsulation headers, where they have any; the second differs from
    /// the first in a few places.
    pub fn payloads(&self) -> [Vec<u8>; 2] {
        let header: &[u8] = match self.language {
            Language::Ros1Msg => &[],
            _ => &[0, self.representation % 12, 0, self.options],
        };
        let first = [header, &self.body].concat();
        let mut second = first.clone();
        for (at, change) in &self.changes {
            if let Some(byte) = second.get_mut(usize::from(*at)) {
                *byte ^= change;
            }
        }
        [first, second]
    }

    /// Whether values of some payload may carry their lengths.
    pub fn may_have_lengths(&self) -> bool {
        let is_idl = matches!(self.language, Language::OmgIdl | Language::Ros2Idl);
        let is_plain = self.language == Language::Ros1Msg || self.representation % 12 < 2;
        is_idl || !is_plain || self.changes.iter().any(|(at, _)| *at < 4)
    }
}

/// A field's own type: one of the language, or a later structure.
fn base_of(field: &FieldPick, bases: &[&str], number: usize) -> String {
    match bases.get(usize::from(field.base)) {
        Some(base) => (*base).to_owned(),
        None => format!("T{}", number + usize::from(field.base) % BEHIND),
    }
}

fn put_struct(text: &mut String, number: usize, pick: &StructPick) {
    let extensibility = EXTENSIBILITIES[usize::from(pick.extensibility) % EXTENSIBILITIES.len()];
    put(text, format_args!("{extensibility}struct T{number} {{\n"));
    for (place, field) in pick.fields.iter().enumerate() {
        if field.is_optional {
            text.push_str("@optional ");
        }
        if let Some(id) = field.id {
            put(text, format_args!("@id({id}) "));
        }
        let base = base_of(field, IDL_BASES, number);
        match field.shape {
            ShapePick::Single => put(text, format_args!("{base} f{place};\n")),
            ShapePick::Array(len) => put(text, format_args!("{base} f{place}[{len}];\n")),
            ShapePick::Long(len) => put(text, format_args!("{base} f{place}[{len}];\n")),
            ShapePick::Grid(outer, inner) => {
                put(text, format_args!("{base} f{place}[{outer}][{inner}];\n"));
            }
            ShapePick::Sequence => put(text, format_args!("sequence<{base}> f{place};\n")),
            ShapePick::Bounded => put(text, format_args!("sequence<{base}, 4> f{place};\n")),
            ShapePick::Nested => {
                put(text, format_args!("sequence<sequence<{base}> > f{place}[2];\n"));
            }
        }
    }
    text.push_str("};\n");
}

fn put(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.write_fmt(part).expect("a string grows");
}
