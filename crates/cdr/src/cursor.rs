use std::borrow::Cow;

use crate::text::{lossy, without_nul};
use crate::{ByteOrder, CdrError, Encoding, Family, Primitive, Primitives, Scalar};

/// A position inside one payload, which moves forward as values are read or skipped.
///
/// Alignment counts from the first byte after the encapsulation header. Once a call has failed
/// the position is unspecified, and the payload should be given up.
///
/// # Examples
///
/// ```
/// use ros2_memory_cdr::{Cursor, Primitive, Scalar};
///
/// // std_msgs/msg/String "hi", then a uint32 that needs one byte of padding.
/// let payload = [0, 1, 0, 0, 3, 0, 0, 0, b'h', b'i', 0, 0, 7, 0, 0, 0];
/// let mut cursor = Cursor::new(&payload).unwrap();
/// assert_eq!(cursor.string().unwrap(), "hi");
/// assert_eq!(cursor.scalar(Primitive::U32).unwrap(), Scalar::U64(7));
/// ```
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    /// The bytes that may be read, from the one that alignment counts from.
    pub(crate) body: &'a [u8],
    pub(crate) position: usize,
    pub(crate) encoding: Encoding,
    /// Where the body starts in the payload.
    pub(crate) base: usize,
}

/// A sequence of elements that take no bytes may have this many: nothing else bounds them.
const MAX_EMPTY_ELEMENTS: usize = 1 << 16;

impl<'a> Cursor<'a> {
    /// A cursor at the first value of `payload`, whose encapsulation header says how to read on.
    ///
    /// # Errors
    ///
    /// As [`Encoding::from_header`].
    pub fn new(payload: &'a [u8]) -> Result<Self, CdrError> {
        let encoding = Encoding::from_header(payload)?;
        let body = payload.get(Encoding::HEADER_LEN..).unwrap_or_default();
        Ok(Self { body, position: 0, encoding, base: Encoding::HEADER_LEN })
    }

    /// A cursor at the first value of a ROS 1 message, which has no header.
    pub fn ros1(payload: &'a [u8]) -> Self {
        Self { body: payload, position: 0, encoding: Encoding::ROS1, base: 0 }
    }

    /// The layout that the encapsulation header announced.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Where the next value is looked for, from the first byte of the payload.
    pub fn offset(&self) -> usize {
        self.position.saturating_add(self.base)
    }

    /// Where a value of `size` bytes would be read, from the first byte of the payload.
    pub fn next_offset(&self, size: usize) -> usize {
        let mut ahead = self.clone();
        ahead.align(size);
        ahead.offset()
    }

    /// How many bytes lie behind the position.
    pub fn remaining(&self) -> usize {
        self.body.len().saturating_sub(self.position)
    }

    /// Reads one primitive.
    ///
    /// # Errors
    ///
    /// [`CdrError::Truncated`] when it would end after the payload.
    #[inline]
    pub fn scalar(&mut self, kind: Primitive) -> Result<Scalar, CdrError> {
        self.align(kind.size());
        match kind.read_at(self.body, self.position, self.encoding.order) {
            Some(value) => {
                self.position += kind.size();
                Ok(value)
            }
            None => Err(self.truncated(kind.size())),
        }
    }

    /// Reads `count` primitives that follow each other without a length, as a fixed array does.
    ///
    /// # Errors
    ///
    /// [`CdrError::Truncated`] when they would end after the payload.
    pub fn primitives(
        &mut self,
        kind: Primitive,
        count: usize,
    ) -> Result<Primitives<'a>, CdrError> {
        if count == 0 {
            return Ok(Primitives::new(&[], kind, self.encoding.order));
        }
        self.align(kind.size());
        let bytes = self.take(count.saturating_mul(kind.size()))?;
        Ok(Primitives::new(bytes, kind, self.encoding.order))
    }

    /// Reads the length of a sequence whose elements take at least `min_element_size` bytes. Of
    /// elements that take none at most 65,536 are believed.
    ///
    /// # Errors
    ///
    /// [`CdrError::Length`] when that many elements cannot fit in what is left.
    #[inline]
    pub fn sequence_len(&mut self, min_element_size: usize) -> Result<usize, CdrError> {
        self.align(4);
        let declared = self.u32()? as usize;
        let available = self.remaining();
        let most = match min_element_size {
            0 => MAX_EMPTY_ELEMENTS,
            1 => available,
            size => available / size,
        };
        if declared > most {
            return Err(self.too_long(declared));
        }
        Ok(declared)
    }

    /// Reads a sequence of primitives: its length, then the elements. An empty sequence is not
    /// followed by the padding of its elements.
    ///
    /// # Errors
    ///
    /// [`CdrError::Length`] or [`CdrError::Truncated`] when it would end after the payload.
    pub fn primitive_sequence(&mut self, kind: Primitive) -> Result<Primitives<'a>, CdrError> {
        let len = self.sequence_len(kind.size())?;
        self.primitives(kind, len)
    }

    /// Reads the bytes of a string, without its terminator. Some writers leave the NUL out, and
    /// some write an empty string as length 0; both are read. In ROS 1 there is no terminator,
    /// and a NUL at the end is text.
    ///
    /// # Errors
    ///
    /// [`CdrError::Length`] when the string would end after the payload.
    #[inline]
    pub fn string_bytes(&mut self) -> Result<&'a [u8], CdrError> {
        let len = self.sequence_len(1)?;
        let bytes = self.take(len)?;
        Ok(if self.encoding.family == Family::Ros1 { bytes } else { without_nul(bytes) })
    }

    /// Reads a string; bytes that are not UTF-8 become U+FFFD, and only then it allocates.
    ///
    /// # Errors
    ///
    /// As [`Self::string_bytes`].
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>, CdrError> {
        self.string_bytes().map(lossy)
    }

    /// Moves behind a string.
    ///
    /// # Errors
    ///
    /// As [`Self::string_bytes`].
    #[inline]
    pub fn skip_string(&mut self) -> Result<(), CdrError> {
        let len = self.sequence_len(1)?;
        self.position += len;
        Ok(())
    }

    /// Skips `count` primitives of `size` bytes each.
    ///
    /// # Errors
    ///
    /// [`CdrError::Truncated`] when they would end after the payload.
    #[inline]
    pub fn skip_primitives(&mut self, size: usize, count: usize) -> Result<(), CdrError> {
        if count > 0 {
            self.align(size);
            self.take(count.saturating_mul(size))?;
        }
        Ok(())
    }

    /// Skips a sequence of primitives of `size` bytes each.
    ///
    /// # Errors
    ///
    /// As [`Self::primitive_sequence`].
    pub fn skip_primitive_sequence(&mut self, size: usize) -> Result<(), CdrError> {
        let len = self.sequence_len(size)?;
        self.skip_primitives(size, len)
    }

    /// Reads an unsigned number of 32 bits where the position is, without aligning first.
    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, CdrError> {
        let Some(bytes) = self.body.get(self.position..).and_then(|rest| rest.first_chunk()) else {
            return Err(self.truncated(4));
        };
        self.position += 4;
        Ok(match self.encoding.order {
            ByteOrder::Little => u32::from_le_bytes(*bytes),
            ByteOrder::Big => u32::from_be_bytes(*bytes),
        })
    }

    /// Moves to the next multiple of `size`, or of the largest alignment when that is smaller.
    /// May move past the end; the read that follows says so.
    #[inline]
    pub(crate) fn align(&mut self, size: usize) {
        let alignment = size.min(self.encoding.max_alignment);
        // Every alignment is a power of two, and `position` never exceeds a slice's length by
        // more than 7, so this cannot overflow.
        self.position = self.position.saturating_add(alignment - 1) & !(alignment - 1);
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], CdrError> {
        let end = self.position.saturating_add(len);
        match self.body.get(self.position..end) {
            Some(bytes) => {
                self.position = end;
                Ok(bytes)
            }
            None => Err(self.truncated(len)),
        }
    }

    /// Kept out of the way of the reads that succeed.
    #[cold]
    #[inline(never)]
    fn truncated(&self, needed: usize) -> CdrError {
        CdrError::Truncated { offset: self.offset(), needed, available: self.remaining() }
    }

    /// The length that was just read is more than what follows.
    #[cold]
    #[inline(never)]
    fn too_long(&self, declared: usize) -> CdrError {
        let offset = self.offset().saturating_sub(4);
        CdrError::Length { offset, declared, available: self.remaining() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;

    fn cursor(payload: &[u8]) -> Cursor<'_> {
        Cursor::new(payload).unwrap()
    }

    #[test]
    fn alignment_counts_from_after_the_header() {
        let mut payload = vec![0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
        payload.extend_from_slice(&2.5f64.to_le_bytes());
        let mut c = cursor(&payload);
        assert_eq!(c.scalar(Primitive::U8), Ok(Scalar::U64(1)));
        assert_eq!(c.scalar(Primitive::F64), Ok(Scalar::F64(2.5)));
    }

    #[test]
    fn big_endian_is_read() {
        let payload = [0, 0, 0, 0, 0, 0, 0, 3, b'a', b'b', 0, 0, 0x40, 0x20, 0, 0];
        let mut c = cursor(&payload);
        assert_eq!(c.string().unwrap(), "ab");
        assert_eq!(c.scalar(Primitive::F32), Ok(Scalar::F32(2.5)));
    }

    #[test]
    fn br_082_what_is_no_cdr_is_refused_by_its_name() {
        for (low, name) in [(4, "XML"), (5, "unknown"), (12, "unknown"), (255, "unknown")] {
            let error = Cursor::new(&[0, low, 0, 0, 0]).unwrap_err();
            assert_eq!(error, CdrError::Encapsulation { id: u16::from(low), name });
        }
    }

    #[test]
    fn a_ros1_message_has_no_header_no_padding_and_no_terminator() {
        let mut payload = vec![2, 0, 0, 0, b'a', 0];
        payload.extend_from_slice(&2.5f64.to_le_bytes());
        let mut c = Cursor::ros1(&payload);
        assert_eq!(c.string().unwrap(), "a\0");
        assert_eq!(c.offset(), 6);
        assert_eq!(c.scalar(Primitive::F64), Ok(Scalar::F64(2.5)));
    }

    #[test]
    fn elements_without_bytes_are_bounded_all_the_same() {
        let payload = [0, 0, 1, 0, 1, 0, 1, 0];
        let mut c = Cursor::ros1(&payload);
        assert_eq!(c.sequence_len(0), Ok(65_536));
        assert!(matches!(c.sequence_len(0), Err(CdrError::Length { declared: 65_537, .. })));
    }

    #[test]
    fn a_payload_shorter_than_its_header_is_truncated() {
        for len in 0..4 {
            let payload = [0u8, 1, 0][..len.min(3)].to_vec();
            assert!(matches!(Cursor::new(&payload), Err(CdrError::Truncated { needed: 4, .. })));
        }
    }

    #[test]
    fn br_073_an_empty_sequence_has_no_padding_of_its_elements() {
        let payload = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
        let mut c = cursor(&payload);
        assert!(c.primitive_sequence(Primitive::F64).unwrap().is_empty());
        assert!(c.primitive_sequence(Primitive::F64).unwrap().is_empty());
        assert_eq!(c.scalar(Primitive::U8), Ok(Scalar::U64(7)));
    }

    #[test]
    fn br_077_a_bool_sequence_has_its_length() {
        let payload = [0, 1, 0, 0, 3, 0, 0, 0, 1, 0, 2, 0, 9, 0, 0, 0];
        let mut c = cursor(&payload);
        let flags: Vec<_> = c.primitive_sequence(Primitive::Bool).unwrap().iter().collect();
        assert_eq!(flags, [Scalar::Bool(true), Scalar::Bool(false), Scalar::Bool(true)]);
        assert_eq!(c.scalar(Primitive::U32), Ok(Scalar::U64(9)));
    }

    #[test]
    fn br_079_a_string_without_a_terminator_keeps_its_last_letter() {
        let payload = [0, 1, 0, 0, 5, 0, 0, 0, b'h', b'e', b'l', b'l', b'o', 0, 0, 0, 3, 0, 0, 0];
        let mut c = cursor(&payload);
        assert_eq!(c.string().unwrap(), "hello");
        assert_eq!(c.scalar(Primitive::I32), Ok(Scalar::I64(3)));
    }

    #[test]
    fn br_080_both_spellings_of_the_empty_string_are_empty() {
        let payload = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let mut c = cursor(&payload);
        assert_eq!(c.string().unwrap(), "");
        assert_eq!(c.string().unwrap(), "");
    }

    #[test]
    fn br_081_text_is_counted_in_bytes_and_bad_bytes_are_replaced() {
        let mut w = Writer::new(Encoding::XCDR1_LE);
        w.string("日本語🙂");
        w.scalar(Scalar::F64(1.25), Primitive::F64);
        let payload = w.into_payload();
        let mut c = cursor(&payload);
        assert_eq!(c.string().unwrap(), "日本語🙂");
        assert_eq!(c.scalar(Primitive::F64), Ok(Scalar::F64(1.25)));
        let mut c = cursor(&[0, 1, 0, 0, 3, 0, 0, 0, b'a', 0xff, 0]);
        assert_eq!(c.string().unwrap(), "a\u{fffd}");
    }

    #[test]
    fn huge_lengths_are_refused_before_anything_is_read() {
        let payload = [0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0];
        assert_eq!(
            cursor(&payload).string_bytes(),
            Err(CdrError::Length { offset: 4, declared: 0xffff_ffff, available: 2 })
        );
        assert_eq!(
            cursor(&payload).primitive_sequence(Primitive::F64),
            Err(CdrError::Length { offset: 4, declared: 0xffff_ffff, available: 2 })
        );
        assert_eq!(
            cursor(&payload).primitives(Primitive::F64, usize::MAX),
            Err(CdrError::Truncated { offset: 4, needed: usize::MAX, available: 6 })
        );
    }
}
