//! How a value is laid out in bytes.

use super::model::{Extensibility, Family, TypeSet};
use crate::{payload::ByteOrder, prng::Prng};

/// The rules of a layout, and what its header says.
///
/// The second byte of the header is odd when numbers are little-endian.
///
/// Source: OMG DDS-XTypes 1.3, 7.6.3.1.2, and the ROS 1 serialization of the ROS wiki.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// No header, no alignment, always little-endian.
    Ros1,
    /// 00 00, 00 01: version 1, for final and appendable types.
    Xcdr1,
    /// 00 02, 00 03: version 1, for mutable types: a list of parameters.
    Xcdr1List,
    /// 00 06, 00 07: version 2, for final types.
    Xcdr2,
    /// 00 08, 00 09: version 2, for appendable types; in ROS sets every structure is one.
    Xcdr2Delimited,
    /// 00 0a, 00 0b: version 2, for mutable types: a list of members.
    Xcdr2List,
}

impl Encoding {
    /// The second byte of the header for big-endian numbers; nothing where there is no header.
    pub const fn representation(self) -> Option<u8> {
        match self {
            Self::Ros1 => None,
            Self::Xcdr1 => Some(0x00),
            Self::Xcdr1List => Some(0x02),
            Self::Xcdr2 => Some(0x06),
            Self::Xcdr2Delimited => Some(0x08),
            Self::Xcdr2List => Some(0x0a),
        }
    }

    /// Whether the rules of version 2 hold.
    pub const fn is_version_2(self) -> bool {
        matches!(self, Self::Xcdr2 | Self::Xcdr2Delimited | Self::Xcdr2List)
    }
}

/// Freedoms that a writer has. None of them changes the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a freedom of its own")]
pub struct Quirks {
    /// What the choices follow from.
    pub seed: u64,
    /// Writes some strings without their NUL and some empty ones as length 0. Only version 1.
    pub strings_without_nul: bool,
    /// Takes any legal form of a member's header, and any order of the members of mutable types.
    pub any_form: bool,
    /// Adds members to mutable types that the definition does not know.
    pub unknown_members: bool,
    /// Adds bytes to the end of appendable types, as a newer writer does. Only version 2.
    pub appended_bytes: bool,
    /// Fills up the payload to a multiple of 4 bytes, and says so in the header's options.
    pub end_padding: bool,
    /// What bytes left free by alignment hold.
    pub padding_byte: u8,
}

impl Quirks {
    /// Everything in its plainest form.
    pub const NONE: Self = Self {
        seed: 0,
        strings_without_nul: false,
        any_form: false,
        unknown_members: false,
        appended_bytes: false,
        end_padding: false,
        padding_byte: 0,
    };

    /// Some of the freedoms.
    pub fn random(rng: &mut Prng) -> Self {
        Self {
            seed: rng.next_u64(),
            strings_without_nul: rng.chance(15),
            any_form: rng.chance(70),
            unknown_members: rng.chance(40),
            appended_bytes: rng.chance(30),
            end_padding: rng.chance(40),
            padding_byte: *rng.pick(&[0, 0, 0xA5, 0xFF]),
        }
    }
}

/// A layout in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The rules.
    pub encoding: Encoding,
    /// Of every number; always little-endian in ROS 1.
    pub order: ByteOrder,
    /// What the writer makes of its freedoms.
    pub quirks: Quirks,
}

impl Layout {
    /// The plainest form of `encoding`.
    pub const fn plain(encoding: Encoding, order: ByteOrder) -> Self {
        Self { encoding, order, quirks: Quirks::NONE }
    }

    /// The same layout, with other freedoms taken.
    #[must_use]
    pub const fn with_quirks(self, quirks: Quirks) -> Self {
        Self { quirks, ..self }
    }

    /// Each layout that a value of `set` may be stored in, in its plainest form.
    pub fn fitting(set: &TypeSet) -> Vec<Self> {
        use Encoding::{Ros1, Xcdr1, Xcdr1List, Xcdr2, Xcdr2Delimited, Xcdr2List};

        let root = set.structs.first().map_or(Extensibility::Final, |root| root.extensibility);
        let encodings: &[Encoding] = match (set.family, root) {
            (Family::Ros1, _) => return vec![Self::plain(Ros1, ByteOrder::Little)],
            (Family::Ros2, _) => &[Xcdr1, Xcdr2, Xcdr2Delimited],
            (Family::Idl, Extensibility::Final) => &[Xcdr1, Xcdr2],
            (Family::Idl, Extensibility::Appendable) => &[Xcdr1, Xcdr2Delimited],
            (Family::Idl, Extensibility::Mutable) => &[Xcdr1List, Xcdr2List],
        };
        encodings
            .iter()
            .flat_map(|encoding| {
                [ByteOrder::Little, ByteOrder::Big].map(|order| Self::plain(*encoding, order))
            })
            .collect()
    }
}
