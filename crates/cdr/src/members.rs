//! The headers that XCDR puts around values: lengths, member numbers and presence.

use crate::{ByteOrder, CdrError, Cursor, Extensibility, Family};

/// What a cursor returns to when it has read a value whose length stood in front of it.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    outer: &'a [u8],
    end: usize,
}

/// One member of a mutable struct.
#[derive(Debug, Clone)]
pub struct Member<'a> {
    /// Its number in the type.
    pub id: u32,
    /// Whether a reader that does not know the number must give the value up.
    pub must_understand: bool,
    /// A cursor at its value, which ends with it.
    pub value: Cursor<'a>,
}

/// Whether an optional member is there, and where.
#[derive(Debug, Clone)]
pub enum OptionalMember<'a> {
    /// It is not.
    Absent,
    /// At the position.
    Next,
    /// In bytes of its own, which the position is behind already.
    Apart(Cursor<'a>),
}

/// Parameter identifiers (DDS-XTypes 1.3, table 34; the sentinel is that of DDS-RTPS).
const PID_EXTENDED: u16 = 0x3f01;
const PID_LIST_END: u16 = 0x3f02;
const PID_IGNORE: u16 = 0x3f03;
const PID_SENTINEL: u16 = 0x0001;
/// Of a parameter identifier without its two flags.
const PID_MASK: u16 = 0x3fff;
const PID_MUST_UNDERSTAND: u16 = 0x4000;
/// Of a member number in an extended header, and in XCDR2.
const MEMBER_ID_MASK: u32 = 0x0fff_ffff;
const MEMBER_MUST_UNDERSTAND: u32 = 0x4000_0000;
const EM_MUST_UNDERSTAND: u32 = 0x8000_0000;

impl<'a> Cursor<'a> {
    /// As [`crate::Encoding::layout`], of the payload's encoding.
    #[inline]
    pub fn layout(&self, declared: Option<Extensibility>) -> Extensibility {
        self.encoding.layout(declared)
    }

    /// Reads the length in front of a value, and ends the cursor with it until [`Self::leave`].
    ///
    /// # Errors
    ///
    /// [`CdrError::Length`] when the value would end after the payload.
    pub fn enter(&mut self) -> Result<Frame<'a>, CdrError> {
        let len = self.sequence_len(1)?;
        let frame = Frame { outer: self.body, end: self.position + len };
        self.body = self.body.get(..frame.end).unwrap_or(self.body);
        Ok(frame)
    }

    /// Moves behind the value whose length [`Self::enter`] read; what is left of it was added by
    /// a newer writer.
    pub fn leave(&mut self, frame: Frame<'a>) {
        self.body = frame.outer;
        self.position = frame.end;
    }

    /// As [`Self::enter`], in front of a value that only XCDR2 delimits: a struct that is not
    /// final, an array or sequence whose elements are not primitive. Elsewhere `None`.
    ///
    /// # Errors
    ///
    /// As [`Self::enter`].
    pub fn enter_delimited(&mut self) -> Result<Option<Frame<'a>>, CdrError> {
        if self.encoding.family == Family::Xcdr2 { self.enter().map(Some) } else { Ok(None) }
    }

    /// Moves behind a value that only XCDR2 delimits, by the length in front of it; `false` where
    /// there is none.
    ///
    /// # Errors
    ///
    /// As [`Self::enter`].
    pub fn skip_delimited(&mut self) -> Result<bool, CdrError> {
        let frame = self.enter_delimited()?;
        if let Some(frame) = frame {
            self.leave(frame);
        }
        Ok(frame.is_some())
    }

    /// Reads the header of the next member of a mutable struct and moves behind the member;
    /// `None` at the end of the list. In XCDR2 the list ends with the frame of its struct.
    ///
    /// # Errors
    ///
    /// [`CdrError::Truncated`] and [`CdrError::Length`] when it would end after the payload,
    /// [`CdrError::Member`] for a header that the specification does not have.
    pub fn next_member(&mut self) -> Result<Option<Member<'a>>, CdrError> {
        match self.encoding.family {
            Family::Xcdr2 => self.next_member_xcdr2(),
            _ => self.next_parameter(true),
        }
    }

    /// Reads whether an optional member of a struct that is not mutable is there.
    ///
    /// # Errors
    ///
    /// As [`Self::next_member`].
    pub fn optional_member(&mut self) -> Result<OptionalMember<'a>, CdrError> {
        if self.encoding.family == Family::Xcdr2 {
            let is_there = self.take(1)?.first().is_some_and(|flag| *flag != 0);
            return Ok(if is_there { OptionalMember::Next } else { OptionalMember::Absent });
        }
        let offset = self.offset();
        match self.next_parameter(false)? {
            None => Err(CdrError::Member {
                offset,
                what: "a list ends where an optional member should stand",
                found: PID_LIST_END.into(),
            }),
            Some(member) if member.value.remaining() == 0 => Ok(OptionalMember::Absent),
            Some(member) => Ok(OptionalMember::Apart(member.value)),
        }
    }

    fn next_member_xcdr2(&mut self) -> Result<Option<Member<'a>>, CdrError> {
        self.align(4);
        if self.remaining() == 0 {
            return Ok(None);
        }
        let header = self.u32()?;
        let (length_code, start) = ((header >> 28) & 7, self.position);
        let len = match length_code {
            0..=3 => 1usize << length_code,
            4 => self.u32()? as usize,
            // The length is the value's first four bytes, which count elements of this size.
            code => {
                let size = [1usize, 4, 8].get(code as usize - 5).copied().unwrap_or(1);
                let count = self.u32()? as usize;
                self.position = start;
                count.saturating_mul(size).saturating_add(4)
            }
        };
        let value_at = self.position;
        let available = self.remaining();
        if len > available {
            return Err(CdrError::Length { offset: self.offset(), declared: len, available });
        }
        let mut value = self.clone();
        value.body = self.body.get(..value_at + len).unwrap_or_default();
        self.position = value_at + len;
        Ok(Some(Member {
            id: header & MEMBER_ID_MASK,
            must_understand: header & EM_MUST_UNDERSTAND != 0,
            value,
        }))
    }

    /// The next parameter of a list, or the only one of an optional member.
    fn next_parameter(&mut self, is_list: bool) -> Result<Option<Member<'a>>, CdrError> {
        loop {
            self.align(4);
            let offset = self.offset();
            let (pid, short_len) = (self.u16()?, self.u16()?);
            let (id, must_understand, len) = match pid & PID_MASK {
                PID_LIST_END => return Ok(None),
                PID_SENTINEL if is_list && short_len == 0 && self.ends_list() => return Ok(None),
                PID_EXTENDED => {
                    if short_len != 8 {
                        let (what, found) = ("length of an extended header", short_len.into());
                        return Err(CdrError::Member { offset, what, found });
                    }
                    let (id, len) = (self.u32()?, self.u32()? as usize);
                    (id & MEMBER_ID_MASK, id & MEMBER_MUST_UNDERSTAND != 0, len)
                }
                id => (id.into(), pid & PID_MUST_UNDERSTAND != 0, short_len.into()),
            };
            let at = self.offset();
            let available = self.remaining();
            if len > available {
                return Err(CdrError::Length { offset, declared: len, available });
            }
            let body = self.take(len)?;
            if pid & PID_MASK == PID_IGNORE {
                continue;
            }
            // Alignment counts anew inside a parameter.
            let value = Cursor { body, position: 0, encoding: self.encoding, base: at };
            return Ok(Some(Member { id, must_understand, value }));
        }
    }

    /// Whether nothing but padding is left: member 1 without bytes and the sentinel look alike.
    fn ends_list(&self) -> bool {
        self.remaining() < 4
    }

    fn u16(&mut self) -> Result<u16, CdrError> {
        let bytes = self.take(2)?.first_chunk().copied().unwrap_or_default();
        Ok(match self.encoding.order {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Primitive, Scalar};

    fn number(cursor: &mut Cursor<'_>, kind: Primitive) -> Scalar {
        cursor.scalar(kind).unwrap()
    }

    #[test]
    fn a_delimited_value_ends_where_its_length_says() {
        let payload = [0, 9, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 9, 9, 0, 0, 7, 0, 0, 0];
        let mut c = Cursor::new(&payload).unwrap();
        let frame = c.enter().unwrap();
        assert_eq!(number(&mut c, Primitive::U32), Scalar::U64(1));
        assert_eq!(c.remaining(), 2);
        c.leave(frame);
        assert_eq!(number(&mut c, Primitive::U32), Scalar::U64(7));
    }

    #[test]
    fn xcdr2_aligns_to_four_bytes_at_most() {
        let payload = [&[0, 7, 0, 0, 1, 0, 0, 0][..], &2.5f64.to_le_bytes()].concat();
        let mut c = Cursor::new(&payload).unwrap();
        assert_eq!(number(&mut c, Primitive::U8), Scalar::U64(1));
        assert_eq!(c.scalar(Primitive::F64), Ok(Scalar::F64(2.5)));
    }

    #[test]
    fn members_of_every_length_code_are_read() {
        #[rustfmt::skip]
        let list: &[u8] = &[
            // Member 1, code 0: one byte. Member 2, code 2 and to be understood: four bytes.
            1, 0, 0, 0, 0xaa, 0, 0, 0,
            2, 0, 0, 0xa0, 7, 0, 0, 0,
            // Member 3, code 4: a length. Member 4, code 5: a string whose length counts.
            3, 0, 0, 0x40, 2, 0, 0, 0, 5, 6, 0, 0,
            4, 0, 0, 0x50, 3, 0, 0, 0, b'h', b'i', 0, 0,
            // Member 5, code 6: two elements of four bytes.
            5, 0, 0, 0x60, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,
        ];
        let payload = [&[0, 11, 0, 0, 56, 0, 0, 0][..], list].concat();
        let mut c = Cursor::new(&payload).unwrap();
        let frame = c.enter().unwrap();
        let mut seen = Vec::new();
        while let Some(member) = c.next_member().unwrap() {
            seen.push((member.id, member.must_understand, member.value.remaining()));
            if member.id == 4 {
                assert_eq!(member.value.clone().string().unwrap(), "hi");
            }
        }
        c.leave(frame);
        assert_eq!(
            seen,
            [(1, false, 1), (2, true, 4), (3, false, 2), (4, false, 7), (5, false, 12)]
        );
        assert_eq!(c.remaining(), 0);
    }

    #[test]
    fn parameters_end_with_their_list_and_align_for_themselves() {
        #[rustfmt::skip]
        let list: &[u8] = &[
            1, 0, 4, 0, 7, 0, 0, 0,
            0x03, 0x3f, 4, 0, 0, 0, 0, 0,
            0x01, 0x3f, 8, 0, 2, 0, 0, 0x40, 8, 0, 0, 0,
        ];
        let end = [0x02, 0x3f, 0, 0];
        let payload = [&[0, 3, 0, 0][..], list, &2.5f64.to_le_bytes(), &end].concat();
        let mut c = Cursor::new(&payload).unwrap();
        let mut first = c.next_member().unwrap().unwrap();
        assert_eq!((first.id, number(&mut first.value, Primitive::U32)), (1, Scalar::U64(7)));
        let mut second = c.next_member().unwrap().unwrap();
        assert!(second.must_understand);
        assert_eq!((second.id, number(&mut second.value, Primitive::F64)), (2, Scalar::F64(2.5)));
        assert!(c.next_member().unwrap().is_none());
    }

    #[test]
    fn every_cut_of_a_list_is_an_error_or_its_end() {
        let payload = [0, 11, 0, 0, 1, 0, 0, 0x40, 4, 0, 0, 0, 1, 2, 3, 4];
        for len in 5..payload.len() {
            let mut c = Cursor::new(&payload[..len]).unwrap();
            assert!(c.next_member().is_err(), "{len}");
        }
    }
}
