//! Types whose values take no bytes at all.
//!
//! A type may hold two of the next one, sixty deep. No payload bounds how many empty values that
//! is, so that a walk over them would not end: whoever moves behind a value asks here first.

use ros2_memory_cdr::{Encoding, Extensibility, Family};

use crate::{Field, FieldType, StructType};

/// The encodings in which every value of a struct takes no bytes, one bit for each family of
/// layouts and each extensibility that the encapsulation header can name.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct NoBytesIn(u16);

const FAMILIES: [Family; 3] = [Family::Ros1, Family::Xcdr1, Family::Xcdr2];
const EXTENSIBILITIES: [Extensibility; 3] =
    [Extensibility::Final, Extensibility::Appendable, Extensibility::Mutable];

impl NoBytesIn {
    /// For a struct with these fields, whose own structs are known already.
    pub(crate) fn of(
        structs: &[StructType],
        extensibility: Option<Extensibility>,
        filler_bytes: usize,
        fields: &[Field],
    ) -> Self {
        let filler_bytes = if fields.is_empty() { filler_bytes } else { 0 };
        let mut found = Self::default();
        for family in FAMILIES {
            for default in EXTENSIBILITIES {
                let encoding = Encoding { family, extensibility: default, ..Encoding::XCDR1_LE };
                let is_empty = filler_bytes == 0
                    && encoding.layout(extensibility) == Extensibility::Final
                    && fields.iter().all(|field| {
                        let has_flag = field.is_optional && family != Family::Ros1;
                        !has_flag && takes_none(structs, &field.ty, encoding)
                    });
                if is_empty {
                    found.0 |= bit(encoding);
                }
            }
        }
        found
    }

    #[inline]
    pub(crate) fn contains(self, encoding: Encoding) -> bool {
        self.0 & bit(encoding) != 0
    }
}

#[inline]
fn bit(encoding: Encoding) -> u16 {
    1 << (encoding.family as u16 * 3 + encoding.extensibility as u16)
}

fn takes_none(structs: &[StructType], ty: &FieldType, encoding: Encoding) -> bool {
    match ty {
        FieldType::Struct(id) => {
            structs.get(*id).is_some_and(|ty| ty.no_bytes_in.contains(encoding))
        }
        // In XCDR2 a length stands in front of it.
        FieldType::Array(element, _) => {
            encoding.family != Family::Xcdr2 && takes_none(structs, element, encoding)
        }
        _ => false,
    }
}
