use crate::CdrError;

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of the machine that runs this program.
    pub const NATIVE: Self = if cfg!(target_endian = "little") { Self::Little } else { Self::Big };
}

/// How a payload lays out its values, as its encapsulation header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// The order of the bytes of a number.
    pub order: ByteOrder,
    /// The largest alignment of a value, in bytes: 8 in XCDR1.
    pub max_alignment: usize,
}

impl Encoding {
    /// XCDR1, little-endian: what ROS 2 writes.
    pub const XCDR1_LE: Self = Self { order: ByteOrder::Little, max_alignment: 8 };
    /// XCDR1, big-endian.
    pub const XCDR1_BE: Self = Self { order: ByteOrder::Big, max_alignment: 8 };

    /// Bytes of the encapsulation header: a two-byte identifier and two bytes of options.
    pub const HEADER_LEN: usize = 4;

    /// Reads the encapsulation header at the start of `payload`.
    ///
    /// # Errors
    ///
    /// [`CdrError::Truncated`] when there are fewer than four bytes,
    /// [`CdrError::Encapsulation`] for a representation other than plain XCDR1.
    pub fn from_header(payload: &[u8]) -> Result<Self, CdrError> {
        let [high, low, ..] = *payload else {
            return Err(CdrError::Truncated {
                offset: 0,
                needed: Self::HEADER_LEN,
                available: payload.len(),
            });
        };
        if payload.len() < Self::HEADER_LEN {
            return Err(CdrError::Truncated {
                offset: 0,
                needed: Self::HEADER_LEN,
                available: payload.len(),
            });
        }
        match u16::from_be_bytes([high, low]) {
            0x0000 => Ok(Self::XCDR1_BE),
            0x0001 => Ok(Self::XCDR1_LE),
            id => Err(CdrError::Encapsulation { id, name: representation_name(id) }),
        }
    }
}

/// The name of a representation identifier (DDS-XTypes 1.3, table 60).
fn representation_name(id: u16) -> &'static str {
    match id {
        0x0002 => "PL_CDR_BE",
        0x0003 => "PL_CDR_LE",
        0x0004 => "XML",
        0x0006 => "CDR2_BE",
        0x0007 => "CDR2_LE",
        0x0008 => "D_CDR2_BE",
        0x0009 => "D_CDR2_LE",
        0x000a => "PL_CDR2_BE",
        0x000b => "PL_CDR2_LE",
        _ => "unknown",
    }
}
