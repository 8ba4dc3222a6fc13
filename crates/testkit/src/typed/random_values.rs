//! Random values of a type, with a liking for the ends of the ranges.

#![expect(clippy::indexing_slicing, reason = "indices are those of the set")]

use super::model::{Family, Prim, Type, TypeSet, Value};
use crate::prng::Prng;

/// Makes a value of the message type of `set`.
pub fn random_value(set: &TypeSet, rng: &mut Prng) -> Value {
    Maker { set, rng, left: 400 }.value(&Type::Struct(0))
}

/// Of one, two, three and four bytes, and of two letters that look like one.
const TEXTS: &[&str] = &[
    "",
    "a",
    "map",
    "base_link",
    "caf\u{e9}",
    "\u{65e5}\u{672c}\u{8a9e}\u{1f642}",
    "e\u{301}",
    "line\nbreak\ttab",
    "quote \" and ' and \\",
    "# not a comment",
    "0123456789012345678901234567890123456789",
];

struct Maker<'a> {
    set: &'a TypeSet,
    rng: &'a mut Prng,
    /// Elements that sequences may still take, so that deep types stay small.
    left: u64,
}

impl Maker<'_> {
    fn value(&mut self, ty: &Type) -> Value {
        let set = self.set;
        match ty {
            Type::Prim(prim) => self.prim(*prim),
            Type::Text { bound } => Value::Text(self.text(*bound)),
            Type::Enum(index) => Value::I64(self.rng.pick(&set.enums[*index].enumerators).1.into()),
            Type::Typedef(index) => self.value(&set.typedefs[*index].ty),
            Type::Struct(index) => self.structure(*index),
            Type::Array { elem, dims } => self.array(elem, dims),
            Type::Sequence { elem, bound } => {
                let most = match (bound, &**elem) {
                    (Some(bound), _) => *bound as u64,
                    (None, Type::Prim(_)) => 12,
                    (None, _) => 4,
                };
                let count = self.rng.below(most.min(self.left) + 1);
                self.left -= count;
                Value::List((0..count).map(|_| self.value(elem)).collect())
            }
        }
    }

    fn structure(&mut self, index: usize) -> Value {
        let def = &self.set.structs[index];
        let is_time = def.package == "builtin_interfaces";
        let fields = def.fields.iter().map(|field| {
            if field.optional && self.rng.chance(40) {
                return Value::Absent;
            }
            match &field.ty {
                Type::Prim(prim) if is_time && field.name == "nanosec" => {
                    let nanosec = self.rng.below(1_000_000_000);
                    if *prim == Prim::U32 {
                        Value::U64(nanosec)
                    } else {
                        Value::I64(nanosec.cast_signed())
                    }
                }
                ty => self.value(ty),
            }
        });
        Value::Struct(fields.collect())
    }

    fn array(&mut self, elem: &Type, dims: &[usize]) -> Value {
        match dims {
            [] => self.value(elem),
            [count, inner @ ..] => {
                Value::List((0..*count).map(|_| self.array(elem, inner)).collect())
            }
        }
    }

    fn prim(&mut self, prim: Prim) -> Value {
        let is_ros1 = self.set.family == Family::Ros1;
        match prim {
            Prim::Bool => Value::Bool(self.rng.chance(50)),
            Prim::Byte if is_ros1 => self.signed(8),
            Prim::Char if self.set.family == Family::Idl => Value::U64(self.rng.between(32, 126)),
            Prim::Byte | Prim::Char | Prim::U8 => self.unsigned(8),
            Prim::I8 => self.signed(8),
            Prim::I16 => self.signed(16),
            Prim::U16 => self.unsigned(16),
            Prim::I32 => self.signed(32),
            Prim::U32 => self.unsigned(32),
            Prim::I64 => self.signed(64),
            Prim::U64 => self.unsigned(64),
            Prim::F32 => Value::F32(self.single()),
            Prim::F64 => Value::F64(self.double()),
        }
    }

    fn signed(&mut self, bits: u32) -> Value {
        let unused = 64 - bits;
        let value = match self.rng.below(8) {
            0 => i64::MIN >> unused,
            1 => i64::MAX >> unused,
            2 => -1,
            3 => 0,
            _ => self.rng.next_u64().cast_signed() >> unused,
        };
        Value::I64(value)
    }

    fn unsigned(&mut self, bits: u32) -> Value {
        let unused = 64 - bits;
        let value = match self.rng.below(8) {
            0 => u64::MAX >> unused,
            1 => 0,
            2 => (u64::MAX >> unused) / 2 + 1,
            _ => self.rng.next_u64() >> unused,
        };
        Value::U64(value)
    }

    fn single(&mut self) -> f32 {
        let odd =
            [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MIN_POSITIVE / 4.0, 0.1];
        if self.rng.chance(40) {
            return *self.rng.pick(&odd);
        }
        let bits = u32::try_from(self.rng.next_u64() >> 32).unwrap_or(0);
        // Other payloads of NaN do not survive every language.
        Some(f32::from_bits(bits)).filter(|value| !value.is_nan()).unwrap_or(1.5)
    }

    fn double(&mut self) -> f64 {
        let odd =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, f64::MIN_POSITIVE / 4.0, 0.1];
        if self.rng.chance(40) {
            return *self.rng.pick(&odd);
        }
        let value = f64::from_bits(self.rng.next_u64());
        if value.is_nan() { 1.5 } else { value }
    }

    fn text(&mut self, bound: Option<usize>) -> String {
        let mut text = (*self.rng.pick(TEXTS)).to_owned();
        if let Some(bound) = bound {
            let end = (0..=bound.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
        }
        text
    }
}
