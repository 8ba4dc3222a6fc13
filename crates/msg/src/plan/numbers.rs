//! Numbers out of plain CDR, without values and without a cursor: for scans, where each message
//! costs little else.

use ros2_memory_cdr::{ByteOrder, Primitive};

use super::{Plan, Step};
use crate::{DecodeError, FieldType, MessageEncoding, Schema};

/// One step over a payload. Alignments are powers of two, at most 8.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hop {
    /// Over bytes whose number is known.
    Over { alignment: usize, len: usize },
    /// Over a text, or a sequence of bytes.
    Text,
    /// Over a sequence of primitives of this size.
    Sequence { size: usize },
    /// Takes a number for the path with this number.
    Take { path: usize, kind: Primitive },
}

/// The steps as hops; `None` when one of them is more than that, or values have headers.
pub(super) fn hops(schema: &Schema, steps: &[Step]) -> Option<Box<[Hop]>> {
    let has_no_headers = schema.is_plain_in(ros2_memory_cdr::Encoding::XCDR1_LE);
    if schema.message_encoding() != MessageEncoding::Cdr || !has_no_headers {
        return None;
    }
    steps
        .iter()
        .map(|step| match step {
            Step::SkipPrimitives { count: 0, .. } => Some(Hop::Over { alignment: 1, len: 0 }),
            Step::SkipPrimitives { size, count } => {
                Some(Hop::Over { alignment: *size, len: size.checked_mul(*count)? })
            }
            Step::SkipString => Some(Hop::Text),
            Step::Skip(FieldType::Sequence(element)) => match **element {
                FieldType::Primitive(kind) => Some(Hop::Sequence { size: kind.size() }),
                _ => None,
            },
            Step::Take { path, ty: FieldType::Primitive(kind), stays: false } => {
                Some(Hop::Take { path: *path, kind: *kind })
            }
            Step::Skip(_) | Step::Take { .. } | Step::Elements { .. } => None,
        })
        .collect()
}

impl Plan {
    /// Reads the numbers at the paths into `out`, by the paths' numbers: what [`Self::run`] gives
    /// where every path leads to one number, without making values of them. Places whose path
    /// leads to nothing, or to something else, stay as they are; of several numbers the last
    /// stays.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    #[inline]
    pub fn numbers(&self, payload: &[u8], out: &mut [f64]) -> Result<(), DecodeError> {
        if let Some(hops) = &self.hops
            && let [0, low @ (0 | 1), _, _, body @ ..] = payload
        {
            let order = if *low == 0 { ByteOrder::Big } else { ByteOrder::Little };
            if hop(hops, body, order, out).is_some() {
                return Ok(());
            }
        }
        self.numbers_by_values(payload, out)
    }

    /// The general way, and the one that says what is wrong.
    #[cold]
    fn numbers_by_values(&self, payload: &[u8], out: &mut [f64]) -> Result<(), DecodeError> {
        self.run(payload, |path, value| {
            if let (Some(place), Some(number)) = (out.get_mut(path), value.as_f64()) {
                *place = number;
            }
        })
    }
}

/// Goes over a body; `None` when it ends too early.
fn hop(hops: &[Hop], body: &[u8], order: ByteOrder, out: &mut [f64]) -> Option<()> {
    let mut at = 0usize;
    for hop in hops {
        match hop {
            Hop::Over { alignment, len } => {
                at = aligned(at, *alignment).checked_add(*len)?;
            }
            Hop::Text => {
                let start = aligned(at, 4);
                at = (start + 4).checked_add(length(body, start, order)?)?;
            }
            Hop::Sequence { size } => {
                let start = aligned(at, 4);
                at = start + 4;
                let len = length(body, start, order)?;
                if len > 0 {
                    at = aligned(at, *size).checked_add(len.checked_mul(*size)?)?;
                }
            }
            Hop::Take { path, kind } => {
                let start = aligned(at, kind.size());
                let number = kind.read_at(body, start, order)?.as_f64();
                if let Some(place) = out.get_mut(*path) {
                    *place = number;
                }
                at = start + kind.size();
            }
        }
        // Also where nothing is read behind a hop, it must end inside.
        if at > body.len() {
            return None;
        }
    }
    Some(())
}

#[inline]
fn aligned(at: usize, alignment: usize) -> usize {
    // A position never exceeds a slice's length, so this cannot overflow.
    (at + alignment - 1) & !(alignment - 1)
}

#[inline]
fn length(body: &[u8], at: usize, order: ByteOrder) -> Option<usize> {
    let bytes = *body.get(at..)?.first_chunk()?;
    let length = match order {
        ByteOrder::Little => u32::from_le_bytes(bytes),
        ByteOrder::Big => u32::from_be_bytes(bytes),
    };
    Some(length as usize)
}
