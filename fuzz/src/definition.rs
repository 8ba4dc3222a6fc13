//! Message types at random: the fuzzer picks the fields, so that payloads meet every layout.

use std::fmt::Write;

use arbitrary::Arbitrary;

/// A few types that use each other, paths into the first, and a payload for it.
#[derive(Debug, Arbitrary)]
pub struct TypedPayload {
    types: Vec<Vec<FieldPick>>,
    paths: Vec<Vec<(u8, IndexPick)>>,
    is_big_endian: bool,
    body: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
struct FieldPick {
    base: u8,
    shape: ShapePick,
}

#[derive(Debug, Arbitrary)]
enum ShapePick {
    Single,
    Array(u16),
    Sequence,
    Bounded,
}

#[derive(Debug, Arbitrary)]
enum IndexPick {
    Whole,
    Each,
    At(u8),
}

const BASES: [&str; 13] = [
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

impl TypedPayload {
    /// The first type with the others behind it; a type uses only later ones, or itself.
    pub fn definition(&self) -> String {
        let mut text = String::new();
        for (number, fields) in self.types.iter().enumerate().take(40) {
            if number > 0 {
                text.push_str("===\nMSG: p/T");
                writeln!(text, "{number}").expect("a string grows");
            }
            for (place, field) in fields.iter().enumerate() {
                let base = match BASES.get(usize::from(field.base)) {
                    Some(base) => (*base).to_owned(),
                    None => format!("T{}", number + usize::from(field.base) % 7),
                };
                let shape = match field.shape {
                    ShapePick::Single => String::new(),
                    ShapePick::Array(len) => format!("[{len}]"),
                    ShapePick::Sequence => "[]".to_owned(),
                    ShapePick::Bounded => "[<=4]".to_owned(),
                };
                writeln!(text, "{base}{shape} f{place}").expect("a string grows");
            }
        }
        text
    }

    /// Field paths as they are written.
    pub fn paths(&self) -> Vec<String> {
        let step = |(field, index): &(u8, IndexPick)| match index {
            IndexPick::Whole => format!("f{field}"),
            IndexPick::Each => format!("f{field}[]"),
            IndexPick::At(n) => format!("f{field}[{n}]"),
        };
        self.paths.iter().map(|path| path.iter().map(step).collect::<Vec<_>>().join(".")).collect()
    }

    /// The payload with its encapsulation header.
    pub fn payload(&self) -> Vec<u8> {
        [&[0, u8::from(!self.is_big_endian), 0, 0], &self.body[..]].concat()
    }
}
