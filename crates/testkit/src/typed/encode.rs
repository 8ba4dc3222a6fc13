//! Values into bytes.
//!
//! ```text
//! offset  width  name             meaning
//! 0       2      representation   see `Encoding`; absent in ROS 1, like the options
//! 2       2      options          low two bits of the last byte: how many bytes fill up the end
//! 4       ...    body             alignment is counted from here
//! ```
//!
//! Source: OMG DDS-XTypes 1.3, 7.4.

#![expect(clippy::indexing_slicing, reason = "indices are those of the set")]

use super::{
    layout::{Encoding, Layout},
    model::{Extensibility, Family, Field, Prim, StructDef, Type, TypeSet, Value},
    writer::Writer,
};
use crate::{payload::ByteOrder, prng::Prng};

/// Lays `value` out in bytes, with the encapsulation header where the layout has one.
///
/// # Panics
///
/// When `value` is not of the message type of `set`, or the layout does not fit that type.
pub fn encode(set: &TypeSet, value: &Value, layout: Layout) -> Vec<u8> {
    let root = extensibility(set, layout.encoding, &set.structs[0]);
    let fits = match layout.encoding {
        Encoding::Ros1 => layout.order == ByteOrder::Little,
        Encoding::Xcdr1 => root != Extensibility::Mutable,
        Encoding::Xcdr2 => root == Extensibility::Final,
        Encoding::Xcdr2Delimited => root == Extensibility::Appendable,
        Encoding::Xcdr1List | Encoding::Xcdr2List => root == Extensibility::Mutable,
    };
    assert!(fits, "{:?} does not fit a {root:?} type", layout.encoding);

    let max_align = match layout.encoding {
        Encoding::Ros1 => 1,
        encoding if encoding.is_version_2() => 4,
        _ => 8,
    };
    let writer = Writer::new(layout.order, max_align, layout.quirks.padding_byte);
    let rng = Prng::new(layout.quirks.seed);
    let mut encoder = Encoder { set, layout, rng, writer };
    encoder.value(&Type::Struct(0), value);

    let mut body = encoder.writer.bytes;
    let Some(representation) = layout.encoding.representation() else { return body };
    let missing = body.len().next_multiple_of(4) - body.len();
    let padding = if layout.quirks.end_padding { missing } else { 0 };
    body.resize(body.len() + padding, layout.quirks.padding_byte);
    let order_bit = u8::from(layout.order == ByteOrder::Little);
    let mut bytes = vec![0, representation | order_bit, 0, u8::try_from(padding).unwrap_or(0)];
    bytes.extend(body);
    bytes
}

/// What counts as the extensibility of `def`. The definitions of ROS do not say; there the header
/// alone tells whether structures are delimited.
fn extensibility(set: &TypeSet, encoding: Encoding, def: &StructDef) -> Extensibility {
    match (set.family, encoding) {
        (_, Encoding::Ros1) => Extensibility::Final,
        (Family::Idl, _) => def.extensibility,
        (_, Encoding::Xcdr2Delimited) => Extensibility::Appendable,
        _ => Extensibility::Final,
    }
}

pub(super) struct Encoder<'a> {
    pub(super) set: &'a TypeSet,
    pub(super) layout: Layout,
    pub(super) rng: Prng,
    pub(super) writer: Writer,
}

impl Encoder<'_> {
    /// Calls `write` with a writer that counts alignment from zero, and returns what it appended.
    pub(super) fn aside(&mut self, write: impl FnOnce(&mut Self)) -> Vec<u8> {
        let anew = self.writer.anew();
        let outer = std::mem::replace(&mut self.writer, anew);
        write(self);
        std::mem::replace(&mut self.writer, outer).bytes
    }

    pub(super) fn value(&mut self, ty: &Type, value: &Value) {
        let set = self.set;
        match (ty, value) {
            (Type::Prim(prim), _) => self.prim(*prim, value),
            (Type::Text { .. }, Value::Text(text)) => self.text(text),
            // Sign extended, of which the low half is the 32-bit value.
            (Type::Enum(_), Value::I64(number)) => self.writer.number(number.cast_unsigned(), 4),
            (Type::Typedef(index), _) => self.value(&set.typedefs[*index].ty, value),
            (Type::Struct(index), Value::Struct(fields)) => self.structure(*index, fields),
            (Type::Array { elem, dims }, Value::List(_)) => {
                self.maybe_delimited(elem, |encoder| encoder.array(elem, dims, value));
            }
            (Type::Sequence { elem, .. }, Value::List(items)) => {
                self.maybe_delimited(elem, |encoder| {
                    encoder.writer.size(items.len());
                    for item in items {
                        encoder.value(elem, item);
                    }
                });
            }
            _ => panic!("{value:?} is not of the type {ty:?}"),
        }
    }

    fn prim(&mut self, prim: Prim, value: &Value) {
        let bits = match (prim, value) {
            (Prim::Bool, Value::Bool(value)) => u64::from(*value),
            (Prim::F32, Value::F32(value)) => u64::from(value.to_bits()),
            (Prim::F64, Value::F64(value)) => value.to_bits(),
            (Prim::Byte | Prim::I8 | Prim::I16 | Prim::I32 | Prim::I64, Value::I64(value)) => {
                value.cast_unsigned()
            }
            (
                Prim::Byte | Prim::Char | Prim::U8 | Prim::U16 | Prim::U32 | Prim::U64,
                Value::U64(value),
            ) => *value,
            _ => panic!("{value:?} is no {prim:?}"),
        };
        self.writer.number(bits, prim.width());
    }

    /// The count includes the NUL, except in ROS 1, which has none.
    fn text(&mut self, text: &str) {
        let encoding = self.layout.encoding;
        let may_lack_nul = self.layout.quirks.strings_without_nul && !encoding.is_version_2();
        let has_nul = encoding != Encoding::Ros1 && !(may_lack_nul && self.rng.chance(50));
        self.writer.size(text.len() + usize::from(has_nul));
        self.writer.bytes.extend(text.as_bytes());
        if has_nul {
            self.writer.bytes.push(0);
        }
    }

    fn array(&mut self, elem: &Type, dims: &[usize], value: &Value) {
        match (dims, value) {
            ([], _) => self.value(elem, value),
            ([count, inner @ ..], Value::List(items)) => {
                assert_eq!(items.len(), *count, "elements of an array");
                for item in items {
                    self.array(elem, inner, item);
                }
            }
            _ => panic!("{value:?} is no array"),
        }
    }

    /// In version 2, lists say their size in bytes, unless their elements are primitive. All
    /// dimensions of an array are one list.
    fn maybe_delimited(&mut self, elem: &Type, write: impl FnOnce(&mut Self)) {
        let is_primitive = matches!(self.set.resolved(elem), Type::Prim(_) | Type::Enum(_));
        if self.layout.encoding.is_version_2() && !is_primitive {
            self.delimited(write);
        } else {
            write(self);
        }
    }

    /// Writes a size in bytes (DHEADER), and then what it is the size of.
    fn delimited(&mut self, write: impl FnOnce(&mut Self)) {
        self.writer.size(0);
        let place = self.writer.bytes.len() - 4;
        write(self);
        self.writer.set_size_at(place);
    }

    fn structure(&mut self, index: usize, values: &[Value]) {
        let def = &self.set.structs[index];
        assert_eq!(values.len(), def.fields.len(), "fields of {}", def.name);
        let is_version_2 = self.layout.encoding.is_version_2();
        match extensibility(self.set, self.layout.encoding, def) {
            Extensibility::Appendable if is_version_2 => self.delimited(|encoder| {
                encoder.in_order(def, values);
                encoder.append_bytes();
            }),
            Extensibility::Final | Extensibility::Appendable => self.in_order(def, values),
            Extensibility::Mutable if is_version_2 => {
                self.delimited(|encoder| encoder.member_list(def, values));
            }
            Extensibility::Mutable => self.parameter_list(def, values),
        }
    }

    fn in_order(&mut self, def: &StructDef, values: &[Value]) {
        if def.fields.is_empty() && self.is_filled() {
            self.writer.number(0, 1);
        }
        for ((field, id), value) in def.fields.iter().zip(def.member_ids()).zip(values) {
            if field.optional {
                self.optional(field, id, value);
            } else {
                self.value(&field.ty, value);
            }
        }
    }

    /// ROS 2 gives a structure without fields one that is not in the definition: a `uint8` of 0.
    fn is_filled(&self) -> bool {
        self.set.family != Family::Idl && self.layout.encoding != Encoding::Ros1
    }

    fn optional(&mut self, field: &Field, id: u32, value: &Value) {
        let is_present = *value != Value::Absent;
        if self.layout.encoding.is_version_2() {
            self.writer.number(u64::from(is_present), 1);
            if is_present {
                self.value(&field.ty, value);
            }
        } else {
            let bytes = self.aside(|encoder| {
                if is_present {
                    encoder.value(&field.ty, value);
                }
            });
            self.parameter(id, &bytes, true);
        }
    }

    /// What a newer writer, whose type has more members, leaves at the end.
    fn append_bytes(&mut self) {
        if self.layout.quirks.appended_bytes && self.rng.chance(40) {
            for _ in 0..self.rng.between(1, 9) {
                self.writer.bytes.push(self.layout.quirks.padding_byte);
            }
        }
    }
}
