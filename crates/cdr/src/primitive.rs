use crate::ByteOrder;

/// A type of fixed size without structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// One byte; anything but 0 is true.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits; also ROS 2's `byte` and `char`.
    U8,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754 single.
    F32,
    /// IEEE 754 double.
    F64,
}

impl Primitive {
    /// Bytes of one value, which is also its alignment up to the encoding's maximum.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Reads the value whose bytes start at `offset`; `None` when they would end after `bytes`.
    #[inline]
    pub fn read_at(self, bytes: &[u8], offset: usize, order: ByteOrder) -> Option<Scalar> {
        let rest = bytes.get(offset..)?;
        // Doubles as ROS 2 writes them are most of what is asked for.
        if self == Self::F64 && order == ByteOrder::Little {
            return rest.first_chunk().map(|bytes| Scalar::F64(f64::from_le_bytes(*bytes)));
        }
        self.read(rest.get(..self.size())?, order)
    }

    /// Reads one value from its bytes; `None` unless there are exactly [`Self::size`] of them.
    #[inline]
    pub(crate) fn read(self, bytes: &[u8], order: ByteOrder) -> Option<Scalar> {
        macro_rules! number {
            ($kind:ty) => {{
                let bytes = bytes.try_into().ok()?;
                match order {
                    ByteOrder::Little => <$kind>::from_le_bytes(bytes),
                    ByteOrder::Big => <$kind>::from_be_bytes(bytes),
                }
            }};
        }
        Some(match self {
            Self::Bool => Scalar::Bool(number!(u8) != 0),
            Self::I8 => Scalar::I64(number!(i8).into()),
            Self::U8 => Scalar::U64(number!(u8).into()),
            Self::I16 => Scalar::I64(number!(i16).into()),
            Self::U16 => Scalar::U64(number!(u16).into()),
            Self::I32 => Scalar::I64(number!(i32).into()),
            Self::U32 => Scalar::U64(number!(u32).into()),
            Self::I64 => Scalar::I64(number!(i64)),
            Self::U64 => Scalar::U64(number!(u64)),
            Self::F32 => Scalar::F32(number!(f32)),
            Self::F64 => Scalar::F64(number!(f64)),
        })
    }
}

/// One primitive value, widened to the largest type of its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    I64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A single; kept apart so that 0.1 stays 0.1 in text.
    F32(f32),
    /// A double.
    F64(f64),
}

impl Scalar {
    /// The value as a double: booleans as 0 and 1, integers past 2^53 rounded.
    #[expect(clippy::cast_precision_loss, reason = "said above")]
    #[inline]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Bool(b) => f64::from(u8::from(b)),
            Self::I64(n) => n as f64,
            Self::U64(n) => n as f64,
            Self::F32(x) => x.into(),
            Self::F64(x) => x,
        }
    }
}
