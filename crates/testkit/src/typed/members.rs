//! Members that say who they are: those of mutable structures, and optional ones of version 1.
//!
//! ```text
//! version 1, at a multiple of 4; the value counts alignment from its own start
//!   short     u16 flags and id, u16 size
//!   extended  u16 flags and 0x3f01, u16 8, u32 flags and id, u32 size
//!   end       u16 flags and 0x3f02, u16 0
//!
//! version 2, at a multiple of 4
//!   u32       bit 31 must understand, bits 28 to 30 length code, the rest the id
//!   0 to 3    the value has 1, 2, 4, 8 bytes
//!   4         u32 size follows
//!   5 to 7    the first u32 of the value is that number, and counts 1, 4, 8 bytes of the rest
//! ```
//!
//! Source: OMG DDS-XTypes 1.3, 7.4.1.2 and 7.4.3.4.

use super::{
    encode::Encoder,
    model::{Extensibility, StructDef, Type, TypeSet, Value},
};
use crate::payload::ByteOrder;

const PID_EXTENDED: u16 = 0x3F01;
const PID_LIST_END: u16 = 0x3F02;
/// A parameter that every reader skips.
const PID_IGNORE: u16 = 0x3F03;
/// The largest id that fits the short form.
const LAST_SHORT_ID: u32 = 0x3F00;
/// Bit of a parameter id: a reader that does not know it must drop the sample.
const MUST_UNDERSTAND: u16 = 0x4000;

/// A member that is ready to be written.
struct Member {
    id: u32,
    bytes: Vec<u8>,
    /// Whether the value starts with a number that tells its length.
    starts_with_length: bool,
    is_known: bool,
}

impl Encoder<'_> {
    /// Writes the members of a mutable structure in version 1, and the end of the list.
    pub(super) fn parameter_list(&mut self, def: &StructDef, values: &[Value]) {
        // Not every reader tells it from a member of that id.
        let may_ignore = !def.member_ids().contains(&u32::from(PID_IGNORE));
        for member in self.members(def, values) {
            let mut bytes = member.bytes;
            // Some writers count the alignment of the next header as part of the value.
            if self.layout.quirks.any_form && self.rng.chance(30) {
                bytes.resize(bytes.len().next_multiple_of(4), self.layout.quirks.padding_byte);
            }
            if member.is_known || !may_ignore || self.rng.chance(70) {
                self.parameter(member.id, &bytes, member.is_known);
            } else {
                self.short_header(PID_IGNORE, bytes.len());
                self.writer.bytes.extend(bytes);
            }
        }
        let flags = self.maybe_must_understand();
        self.short_header(PID_LIST_END | flags, 0);
    }

    /// Writes one parameter of version 1. One that is unknown must not have to be understood; the
    /// flag of `PID_EXTENDED` itself says nothing of the member.
    pub(super) fn parameter(&mut self, id: u32, value: &[u8], is_known: bool) {
        let is_short = id <= LAST_SHORT_ID && u16::try_from(value.len()).is_ok();
        let is_chosen = !(self.layout.quirks.any_form && self.rng.chance(25));
        let flags = if is_known { self.maybe_must_understand() } else { 0 };
        match u16::try_from(id) {
            Ok(id) if is_short && is_chosen => self.short_header(id | flags, value.len()),
            _ => {
                let own_flags = self.maybe_must_understand();
                self.short_header(PID_EXTENDED | own_flags, 8);
                self.writer.number((u32::from(flags) << 16 | id).into(), 4);
                self.writer.size(value.len());
            }
        }
        self.writer.bytes.extend(value);
    }

    fn short_header(&mut self, id_and_flags: u16, size: usize) {
        self.writer.align(4);
        self.writer.number(id_and_flags.into(), 2);
        self.writer.number(size as u64, 2);
    }

    fn maybe_must_understand(&mut self) -> u16 {
        if self.layout.quirks.any_form && self.rng.chance(30) { MUST_UNDERSTAND } else { 0 }
    }

    /// Writes the members of a mutable structure in version 2.
    pub(super) fn member_list(&mut self, def: &StructDef, values: &[Value]) {
        for member in self.members(def, values) {
            let codes = length_codes(&member, self.layout.order);
            let code = if self.layout.quirks.any_form {
                *self.rng.pick(&codes)
            } else {
                codes.first().copied().unwrap_or(4)
            };
            let must_understand =
                member.is_known && self.layout.quirks.any_form && self.rng.chance(30);
            let header = u32::from(must_understand) << 31 | code << 28 | member.id;
            self.writer.number(header.into(), 4);
            if code == 4 {
                self.writer.size(member.bytes.len());
            }
            // The header ends at a multiple of 4, the greatest alignment: no more is needed.
            self.writer.bytes.extend(member.bytes);
        }
    }

    /// The members that are there, with unknown ones among them where the layout wants some.
    fn members(&mut self, def: &StructDef, values: &[Value]) -> Vec<Member> {
        let ids = def.member_ids();
        let mut members = Vec::new();
        for ((field, id), value) in def.fields.iter().zip(&ids).zip(values) {
            if *value != Value::Absent {
                let bytes = self.aside(|encoder| encoder.value(&field.ty, value));
                let starts_with_length = starts_with_length(self.set, &field.ty);
                members.push(Member { id: *id, bytes, starts_with_length, is_known: true });
            }
        }
        if self.layout.quirks.any_form {
            self.rng.shuffle(&mut members);
        }
        if self.layout.quirks.unknown_members {
            for _ in 0..self.rng.below(3) {
                if let Some(member) = self.unknown_member(&ids) {
                    let place = self.rng.index(members.len() + 1);
                    members.insert(place, member);
                }
            }
        }
        members
    }

    fn unknown_member(&mut self, known: &[u32]) -> Option<Member> {
        let limit = if self.rng.chance(50) { 100 } else { 0x0FFF_FF00 };
        let id = u32::try_from(self.rng.below(limit)).ok()?;
        if known.contains(&id) || (LAST_SHORT_ID..=0x3FFF).contains(&id) {
            return None;
        }
        let starts_with_length = self.rng.chance(50);
        let count = self.rng.index(6);
        let width = *self.rng.pick(&[1, 4, 8]);
        let size = 1 + self.rng.index(20);
        let bytes = self.aside(|encoder| {
            if starts_with_length {
                encoder.writer.size(count);
                encoder.writer.bytes.extend(vec![0x5A; count * width]);
            } else {
                encoder.writer.bytes.extend(vec![0x5A; size]);
            }
        });
        Some(Member { id, bytes, starts_with_length, is_known: false })
    }
}

/// Whether every value of `ty` starts with a count or a size.
fn starts_with_length(set: &TypeSet, ty: &Type) -> bool {
    match set.resolved(ty) {
        Type::Text { .. } | Type::Sequence { .. } => true,
        Type::Struct(index) => {
            set.structs.get(*index).is_some_and(|def| def.extensibility != Extensibility::Final)
        }
        Type::Array { elem, .. } => !matches!(set.resolved(elem), Type::Prim(_) | Type::Enum(_)),
        Type::Prim(_) | Type::Enum(_) | Type::Typedef(_) => false,
    }
}

/// The length codes that tell the size of `member`, the plainest first.
fn length_codes(member: &Member, order: ByteOrder) -> Vec<u32> {
    let size = member.bytes.len();
    let mut codes = match size {
        1 => vec![0],
        2 => vec![1],
        4 => vec![2],
        8 => vec![3],
        _ => Vec::new(),
    };
    codes.push(4);
    if let (true, Some((first, rest))) =
        (member.starts_with_length, member.bytes.split_first_chunk())
    {
        let length = match order {
            ByteOrder::Little => u32::from_le_bytes(*first),
            ByteOrder::Big => u32::from_be_bytes(*first),
        };
        for (code, width) in [(5, 1), (6, 4), (7, 8)] {
            if rest.len() as u64 == u64::from(length) * width {
                codes.push(code);
            }
        }
    }
    codes
}
