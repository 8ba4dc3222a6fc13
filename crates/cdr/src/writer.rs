use crate::{ByteOrder, Encoding, Primitive, Scalar};

/// Appends values to a payload, the counterpart of [`crate::Cursor`].
///
/// # Examples
///
/// ```
/// use ros2_memory_cdr::{Cursor, Encoding, Primitive, Scalar, Writer};
///
/// let mut writer = Writer::new(Encoding::XCDR1_LE);
/// writer.string("odom");
/// writer.scalar(Scalar::F64(0.5), Primitive::F64);
/// let payload = writer.into_payload();
/// let mut cursor = Cursor::new(&payload).unwrap();
/// assert_eq!(cursor.string().unwrap(), "odom");
/// assert_eq!(cursor.scalar(Primitive::F64).unwrap(), Scalar::F64(0.5));
/// ```
#[derive(Debug, Clone)]
pub struct Writer {
    payload: Vec<u8>,
    encoding: Encoding,
}

impl Writer {
    /// An empty payload that holds its encapsulation header.
    pub fn new(encoding: Encoding) -> Self {
        Self::with_capacity(encoding, Encoding::HEADER_LEN)
    }

    /// As [`Self::new`], with room for a payload of `capacity` bytes.
    pub fn with_capacity(encoding: Encoding, capacity: usize) -> Self {
        let low = u8::from(encoding.order == ByteOrder::Little);
        let mut payload = Vec::with_capacity(capacity.max(Encoding::HEADER_LEN));
        payload.extend_from_slice(&[0, low, 0, 0]);
        Self { payload, encoding }
    }

    /// Appends one primitive, converted to `kind` as `as` does.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "said above: the caller names the type that the value has"
    )]
    pub fn scalar(&mut self, value: Scalar, kind: Primitive) {
        let integer = match value {
            Scalar::Bool(b) => i128::from(b),
            Scalar::I64(n) => n.into(),
            Scalar::U64(n) => n.into(),
            Scalar::F32(x) => x as i128,
            Scalar::F64(x) => x as i128,
        };
        self.align(kind.size());
        match kind {
            Primitive::F32 => self.number((value.as_f64() as f32).to_le_bytes()),
            Primitive::F64 => self.number(value.as_f64().to_le_bytes()),
            Primitive::Bool | Primitive::I8 | Primitive::U8 => self.payload.push(integer as u8),
            Primitive::I16 | Primitive::U16 => self.number((integer as u16).to_le_bytes()),
            Primitive::I32 | Primitive::U32 => self.number((integer as u32).to_le_bytes()),
            Primitive::I64 | Primitive::U64 => self.number((integer as u64).to_le_bytes()),
        }
    }

    /// Appends a string with its terminator.
    pub fn string(&mut self, text: &str) {
        self.sequence_len(text.len() + 1);
        self.payload.extend_from_slice(text.as_bytes());
        self.payload.push(0);
    }

    /// Appends the length of a sequence, at most 2^32 - 1.
    pub fn sequence_len(&mut self, len: usize) {
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        self.align(4);
        self.number(len.to_le_bytes());
    }

    /// The finished payload.
    pub fn into_payload(self) -> Vec<u8> {
        self.payload
    }

    fn number<const N: usize>(&mut self, mut little: [u8; N]) {
        if self.encoding.order == ByteOrder::Big {
            little.reverse();
        }
        self.payload.extend_from_slice(&little);
    }

    fn align(&mut self, size: usize) {
        let alignment = size.min(self.encoding.max_alignment);
        let body = self.payload.len() - Encoding::HEADER_LEN;
        let padding = body.next_multiple_of(alignment) - body;
        self.payload.resize(self.payload.len() + padding, 0);
    }
}
