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

/// What may be added to a type later, which decides the headers that its values carry.
///
/// Source: DDS-XTypes 1.3, section 7.2.2.4.5 and table 37.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extensibility {
    /// Nothing: the members stand one behind the other.
    Final,
    /// Members at the end: in XCDR2 the length of the value stands in front of it.
    Appendable,
    /// Any members: each carries its number and its length.
    Mutable,
}

/// The family of layouts that a payload is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// ROS 1 serialization: no header, no padding, no terminator behind text.
    Ros1,
    /// The first version of extended CDR: values aligned to at most 8 bytes.
    Xcdr1,
    /// The second version: values aligned to at most 4 bytes, lengths in front of what an older
    /// reader must be able to skip.
    Xcdr2,
}

/// How a payload lays out its values, as its encapsulation header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// The order of the bytes of a number.
    pub order: ByteOrder,
    /// The largest alignment of a value, in bytes: 8 in XCDR1, 4 in XCDR2, 1 in ROS 1.
    pub max_alignment: usize,
    /// Which rules hold.
    pub family: Family,
    /// The layout of the message's own type, and of types that do not say theirs.
    pub extensibility: Extensibility,
}

impl Encoding {
    /// XCDR1, little-endian: what ROS 2 writes.
    pub const XCDR1_LE: Self = Self::xcdr1(ByteOrder::Little, Extensibility::Final);
    /// XCDR1, big-endian.
    pub const XCDR1_BE: Self = Self::xcdr1(ByteOrder::Big, Extensibility::Final);
    /// ROS 1 serialization.
    pub const ROS1: Self = Self {
        order: ByteOrder::Little,
        max_alignment: 1,
        family: Family::Ros1,
        extensibility: Extensibility::Final,
    };

    /// Bytes of the encapsulation header: a two-byte identifier and two bytes of options.
    pub const HEADER_LEN: usize = 4;

    const fn xcdr1(order: ByteOrder, extensibility: Extensibility) -> Self {
        Self { order, max_alignment: 8, family: Family::Xcdr1, extensibility }
    }

    const fn xcdr2(order: ByteOrder, extensibility: Extensibility) -> Self {
        Self { order, max_alignment: 4, family: Family::Xcdr2, extensibility }
    }

    /// The layout of a struct with this extensibility, `None` when its definition does not say:
    /// what the encapsulation header says of the message. XCDR1 has nothing to append.
    #[inline]
    pub fn layout(self, declared: Option<Extensibility>) -> Extensibility {
        match (declared.unwrap_or(self.extensibility), self.family) {
            (_, Family::Ros1) | (Extensibility::Appendable, Family::Xcdr1) => Extensibility::Final,
            (extensibility, _) => extensibility,
        }
    }

    /// Reads the encapsulation header at the start of `payload`.
    ///
    /// # Errors
    ///
    /// [`CdrError::Truncated`] when there are fewer than four bytes,
    /// [`CdrError::Encapsulation`] for a representation that is no CDR.
    pub fn from_header(payload: &[u8]) -> Result<Self, CdrError> {
        let Some([high, low, _, _]) = payload.first_chunk() else {
            return Err(CdrError::Truncated {
                offset: 0,
                needed: Self::HEADER_LEN,
                available: payload.len(),
            });
        };
        let order = if low & 1 == 0 { ByteOrder::Big } else { ByteOrder::Little };
        match u16::from_be_bytes([*high, *low]) {
            0x0000 | 0x0001 => Ok(Self::xcdr1(order, Extensibility::Final)),
            0x0002 | 0x0003 => Ok(Self::xcdr1(order, Extensibility::Mutable)),
            0x0006 | 0x0007 => Ok(Self::xcdr2(order, Extensibility::Final)),
            0x0008 | 0x0009 => Ok(Self::xcdr2(order, Extensibility::Appendable)),
            0x000a | 0x000b => Ok(Self::xcdr2(order, Extensibility::Mutable)),
            id => Err(CdrError::Encapsulation {
                id,
                name: if id == 0x0004 { "XML" } else { "unknown" },
            }),
        }
    }
}
