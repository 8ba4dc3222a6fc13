//! Wide text, which vendors write in three ways.

use crate::{ByteOrder, CdrError, Cursor, Family};

impl Cursor<'_> {
    /// Reads a `wstring`.
    ///
    /// XCDR2 counts bytes of UTF-16. In XCDR1 the length counts characters, of four bytes for
    /// some vendors and releases and of two for others; nothing in the payload says which, but
    /// text of one width is no text in the other: four-byte characters have NULs when read by
    /// two, and pairs of two-byte characters lie beyond Unicode when read by four. (One
    /// character alone, followed by padding or zero, is the same text both ways.)
    ///
    /// # Errors
    ///
    /// [`CdrError::Length`] when the text would end after the payload, [`CdrError::Layout`] when
    /// it is text in neither width.
    pub fn wstring(&mut self) -> Result<String, CdrError> {
        let offset = self.offset();
        let neither = CdrError::Layout { offset, kind: "wstring" };
        match self.encoding.family {
            Family::Ros1 => Err(neither),
            Family::Xcdr2 => {
                let len = self.sequence_len(1)?;
                self.utf16(len / 2).filter(|_| len.is_multiple_of(2)).ok_or(neither)
            }
            Family::Xcdr1 => {
                let len = self.sequence_len(2)?;
                let start = self.position;
                if let Some(text) = self.utf32(len) {
                    return Ok(text);
                }
                self.position = start;
                self.utf16(len).ok_or(neither)
            }
        }
    }

    fn utf32(&mut self, len: usize) -> Option<String> {
        let bytes = self.take(len.checked_mul(4)?).ok()?;
        let order = self.encoding.order;
        bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|unit| match order {
                ByteOrder::Little => u32::from_le_bytes(*unit),
                ByteOrder::Big => u32::from_be_bytes(*unit),
            })
            // The planes from 4 to 13 hold no characters.
            .map(|unit| {
                char::from_u32(unit).filter(|c| *c != '\0' && !(4..=13).contains(&(unit >> 16)))
            })
            .collect()
    }

    fn utf16(&mut self, len: usize) -> Option<String> {
        let bytes = self.take(len.checked_mul(2)?).ok()?;
        let order = self.encoding.order;
        let units = bytes.as_chunks::<2>().0.iter().map(|unit| match order {
            ByteOrder::Little => u16::from_le_bytes(*unit),
            ByteOrder::Big => u16::from_be_bytes(*unit),
        });
        char::decode_utf16(units).map(|c| c.ok().filter(|c| *c != '\0')).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Primitive, Scalar};

    /// The text in one width, a number behind it, and what is read.
    fn read(text: &str, width: usize) -> (Result<String, CdrError>, Option<Scalar>) {
        let mut payload = vec![0, 1, 0, 0];
        let units: Vec<u32> = match width {
            2 => text.encode_utf16().map(u32::from).collect(),
            _ => text.chars().map(u32::from).collect(),
        };
        payload.extend_from_slice(&u32::try_from(units.len()).unwrap().to_le_bytes());
        for unit in units {
            payload.extend_from_slice(&unit.to_le_bytes()[..width]);
        }
        payload.resize(payload.len().next_multiple_of(4), 0);
        payload.extend_from_slice(&3i32.to_le_bytes());
        let mut cursor = Cursor::new(&payload).unwrap();
        let text = cursor.wstring();
        (text, cursor.scalar(Primitive::I32).ok())
    }

    #[test]
    fn br_059_wide_text_of_either_width_is_read_and_so_is_what_follows() {
        for text in ["", "h", "h\u{e9}", "\u{e9}t\u{e9}", "\u{65e5}\u{672c}\u{8a9e}\u{1f642}"] {
            for width in [2, 4] {
                let (read, behind) = read(text, width);
                assert_eq!(read.as_deref(), Ok(text), "{width}");
                assert_eq!(behind, Some(Scalar::I64(3)), "{text} {width}");
            }
        }
    }

    #[test]
    fn what_is_text_in_neither_width_is_refused_by_name() {
        let payload = [0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0xd8, 1, 0];
        let mut cursor = Cursor::new(&payload).unwrap();
        assert_eq!(cursor.wstring(), Err(CdrError::Layout { offset: 4, kind: "wstring" }));
    }

    #[test]
    fn xcdr2_counts_the_bytes_of_wide_text() {
        let payload = [0, 7, 0, 0, 4, 0, 0, 0, b'h', 0, 0xe9, 0, 3, 0, 0, 0];
        let mut cursor = Cursor::new(&payload).unwrap();
        assert_eq!(cursor.wstring().unwrap(), "h\u{e9}");
        assert_eq!(cursor.scalar(Primitive::I32), Ok(Scalar::I64(3)));
    }
}
