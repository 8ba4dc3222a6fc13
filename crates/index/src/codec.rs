//! Numbers and texts as bytes: unsigned LEB128, and runs of bytes behind their length.

use crate::CodecError;

/// Appends values.
#[derive(Debug, Default)]
pub struct Encoder(pub Vec<u8>);

impl Encoder {
    /// A number.
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push((value & 0x7f) as u8);
    }

    /// A run of bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A number that may be smaller than `base`: times inside a bag, mostly shortly behind it.
    pub fn near(&mut self, base: u64, value: u64) {
        let difference = value.wrapping_sub(base).cast_signed();
        // Zigzag: small differences of either sign are short.
        self.number(((difference << 1) ^ (difference >> 63)).cast_unsigned());
    }
}

/// Reads them back. Any bytes give a value or an error.
#[derive(Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Decoder<'a> {
    /// A decoder of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when the bytes are none.
    pub fn number(&mut self) -> Result<u64, CodecError> {
        let start = self.position;
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let byte = *self.bytes.get(self.position).ok_or(CodecError::Truncated {
                offset: self.position,
                needed: 1,
                available: 0,
            })?;
            self.position += 1;
            let part = u64::from(byte & 0x7f);
            if shift > 63 || (shift == 63 && part > 1) {
                return Err(CodecError::Value { offset: start, what: "number", found: part });
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Ok(value)
    }

    /// A number that must fit into the type.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when the bytes are none.
    pub fn small<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, CodecError> {
        let offset = self.position;
        let found = self.number()?;
        T::try_from(found).map_err(|_too_large| CodecError::Value { offset, what, found })
    }

    /// A number near `base`.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when the bytes are none.
    pub fn near(&mut self, base: u64) -> Result<u64, CodecError> {
        let zigzag = self.number()?;
        let difference = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        Ok(base.wrapping_add(difference))
    }

    /// A run of bytes.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when the bytes are none.
    pub fn bytes(&mut self) -> Result<&'a [u8], CodecError> {
        let needed = self.number()?;
        let available = self.remaining();
        let end = usize::try_from(needed)
            .ok()
            .and_then(|len| self.position.checked_add(len))
            .filter(|end| *end <= self.bytes.len());
        let bytes = end.and_then(|end| self.bytes.get(self.position..end));
        let bytes =
            bytes.ok_or(CodecError::Truncated { offset: self.position, needed, available })?;
        self.position += bytes.len();
        Ok(bytes)
    }

    /// As many bytes as are wanted.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when there are fewer.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let available = self.remaining();
        let bytes = self.bytes.get(self.position..).and_then(|rest| rest.first_chunk::<N>());
        let offset = self.position;
        let bytes = bytes.ok_or(CodecError::Truncated { offset, needed: N as u64, available })?;
        self.position += N;
        Ok(*bytes)
    }

    /// A text.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when the bytes are none.
    pub fn text(&mut self) -> Result<&'a str, CodecError> {
        let offset = self.position;
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|error| CodecError::Value {
            offset,
            what: "text",
            found: error.valid_up_to() as u64,
        })
    }

    /// How many items follow, each of at least one byte.
    ///
    /// # Errors
    ///
    /// [`CodecError`] when there is no room for so many.
    pub fn count(&mut self) -> Result<usize, CodecError> {
        let offset = self.position;
        let needed = self.number()?;
        match usize::try_from(needed) {
            Ok(count) if count <= self.remaining() => Ok(count),
            _ => Err(CodecError::Truncated { offset, needed, available: self.remaining() }),
        }
    }
}
