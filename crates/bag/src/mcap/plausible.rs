//! Whether the bytes at a place look like a record: without reading it whole, and without
//! believing it.

use super::{
    index_record::own_len,
    record::{
        self, ChannelRecord, ChunkHeader, DATA_END_LEN, FOOTER_LEN, HEADER_LEN, MAGIC,
        MessageRecord, SchemaRecord, compression_named, opcode,
    },
    scan::Pass,
};
use crate::BagError;

/// How much of a record is looked at: its header and the fixed fields of the largest kind.
pub(super) const HEAD_LEN: usize = HEADER_LEN + ChunkHeader::MAX_LEN;

/// How far the fields of a record are read whose length is wrong.
const OWN_FIELDS_LEN: usize = 1 << 18;

/// So many private records in a row are no chance.
const MAX_PRIVATE: usize = 4;

impl Pass<'_> {
    /// Up to [`HEAD_LEN`] bytes from `at`.
    pub(super) fn head(&mut self, at: u64) -> Result<&[u8], BagError> {
        let left = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
        if left == 0 {
            // The file may have shrunk since it was gone over.
            return Ok(&[]);
        }
        self.window.peek(at, left.min(HEAD_LEN), &mut self.scratch)
    }

    /// Whether a record that ends at `at` leads to another, or to the end of the file.
    pub(super) fn leads_on(&mut self, at: u64) -> Result<bool, BagError> {
        self.leads_on_with(at, &[])
    }

    /// As [`Self::leads_on`], where records in front declare these channels.
    ///
    /// Half of all bytes start a private record, so such a one counts when it leads on itself.
    fn leads_on_with(&mut self, at: u64, declared: &[u16]) -> Result<bool, BagError> {
        let mut at = at;
        for _ in 0..MAX_PRIVATE {
            if at >= self.len {
                return Ok(at == self.len && self.footer.is_none());
            }
            let (left, is_open) = (self.len - at, self.footer.is_none());
            let head = self.window.peek(
                at,
                usize::try_from(left).unwrap_or(usize::MAX).min(HEAD_LEN),
                &mut self.scratch,
            )?;
            let registry = &self.registry;
            let is_known = |id: u16| declared.contains(&id) || registry.channel(id).is_some();
            if !is_plausible(head, left, is_open, is_known) {
                return Ok(false);
            }
            match record::header(head) {
                Some((op, body_len)) if op >= 0x80 && !head.starts_with(MAGIC) => {
                    at = (at + HEADER_LEN as u64).saturating_add(body_len);
                }
                _ => return Ok(true),
            }
        }
        Ok(true)
    }

    /// As [`Self::leads_on`], for the record from `at` to `end`, which may declare the channel of a
    /// message behind it.
    pub(super) fn leads_on_behind(&mut self, at: u64, op: u8, end: u64) -> Result<bool, BagError> {
        let id = self.declared_by(at, op)?;
        self.leads_on_with(end, id.as_slice())
    }

    /// The number of the channel that the record at `at` declares, if it is one that does.
    fn declared_by(&mut self, at: u64, op: u8) -> Result<Option<u16>, BagError> {
        let id = self.head(at)?.get(HEADER_LEN..).and_then(|body| body.first_chunk());
        Ok(id.map(|id| u16::from_le_bytes(*id)).filter(|_| op == opcode::CHANNEL))
    }

    /// The length of the body of the record at `at` by its own fields, when its record says
    /// `body_len` and leads nowhere, or into another record, and its fields lead to one.
    pub(super) fn corrected_len(
        &mut self,
        at: u64,
        op: u8,
        body_len: u64,
    ) -> Result<Option<u64>, BagError> {
        let has_own = matches!(
            op,
            opcode::HEADER
                | opcode::SCHEMA
                | opcode::CHANNEL
                | opcode::METADATA
                | opcode::MESSAGE_INDEX
                | opcode::ATTACHMENT
        );
        let body_at = at + HEADER_LEN as u64;
        let end = body_at.saturating_add(body_len);
        if !has_own {
            return Ok(None);
        }
        let leads_on = end <= self.len && self.leads_on_behind(at, op, end)?;
        let mut own = own_len(op, self.head(at)?.get(HEADER_LEN..).unwrap_or_default());
        if own.is_none() && !leads_on && self.may_spend(OWN_FIELDS_LEN as u64) {
            let left = usize::try_from(self.len - body_at).unwrap_or(usize::MAX);
            let body = self.window.peek(body_at, left.min(OWN_FIELDS_LEN), &mut self.scratch)?;
            own = own_len(op, body);
        }
        let Some(own) = own.filter(|own| *own != body_len) else { return Ok(None) };
        let own_end = body_at.checked_add(own).filter(|end| *end < self.len);
        match own_end {
            Some(own_end) if self.leads_on_behind(at, op, own_end)? => {
                let is_wrong = !leads_on || (own_end < end && self.leads_over(own_end, end)?);
                Ok(is_wrong.then_some(own))
            }
            _ => Ok(None),
        }
    }

    /// Whether the records from `at` on lead over `end` and not to it: then nothing ends there, and
    /// what stands there looks like a record by chance. Or whether one of them is a chunk that
    /// proves itself: it is no padding.
    fn leads_over(&mut self, at: u64, end: u64) -> Result<bool, BagError> {
        let mut position = at;
        let mut declared = Vec::new();
        while position < end {
            let Some((op, body_len)) = record::header(self.head(position)?) else {
                return Ok(false);
            };
            let next = (position + HEADER_LEN as u64).saturating_add(body_len);
            let is_checked = exact_chunk(self.head(position)?).is_some_and(|chunk| chunk.crc != 0);
            if op == opcode::CHUNK && is_checked && self.is_whole_chunk(position)? {
                return Ok(true);
            }
            declared.extend(self.declared_by(position, op)?);
            if !self.may_spend(HEAD_LEN as u64) || !self.leads_on_with(next, &declared)? {
                return Ok(false);
            }
            position = next;
        }
        Ok(position > end)
    }

    /// Whether the fields of a record fill it to the last byte: then its length is right, and it
    /// is not searched for other records.
    pub(super) fn is_confirmed(&mut self, at: u64, op: u8, end: u64) -> Result<bool, BagError> {
        let body_len = end - at - HEADER_LEN as u64;
        if op == opcode::ATTACHMENT {
            let body = self.head(at)?.get(HEADER_LEN..).unwrap_or_default();
            return Ok(own_len(op, body) == Some(body_len));
        }
        let is_declaration = matches!(op, opcode::SCHEMA | opcode::CHANNEL);
        match usize::try_from(body_len) {
            Ok(len) if is_declaration && body_len <= self.options.max_chunk_bytes => {
                let body = self.window.peek(at + HEADER_LEN as u64, len, &mut self.scratch)?;
                Ok(if op == opcode::SCHEMA {
                    SchemaRecord::is_exact(body)
                } else {
                    ChannelRecord::is_exact(body)
                })
            }
            _ => Ok(false),
        }
    }
}

/// Whether `head`, the start of the `left` bytes up to the end of the file, is that of a record.
/// In a file that is not closed it may be one that is cut off.
fn is_plausible(
    head: &[u8],
    left: u64,
    is_open: bool,
    is_known_channel: impl Fn(u16) -> bool,
) -> bool {
    let Some((op, body_len)) = record::header(head) else {
        return is_open && head.first().is_some_and(|op| record::is_known(*op));
    };
    if head.starts_with(MAGIC) {
        return true;
    }
    let fits = body_len <= left - HEADER_LEN as u64;
    let body = head.get(HEADER_LEN..).unwrap_or_default();
    let body = match usize::try_from(body_len) {
        Ok(len) => body.get(..len).unwrap_or(body),
        Err(_too_long) => body,
    };
    match op {
        // A number of channels and a clock are seldom right by chance.
        opcode::MESSAGE => {
            (fits || is_open)
                && MessageRecord::parse(body).is_ok_and(|m| is_known_channel(m.channel_id))
        }
        opcode::CHUNK => {
            let header = ChunkHeader::parse(body).ok();
            let header = header.filter(|header| compression_named(&header.compression).is_some());
            (fits || is_open) && header.is_some_and(|header| header.body_len() <= body_len)
        }
        _ if !fits => false,
        opcode::HEADER | opcode::METADATA => body_len >= 8,
        opcode::FOOTER => body_len == FOOTER_LEN,
        opcode::DATA_END => body_len >= DATA_END_LEN && body_len < HEAD_LEN as u64,
        opcode::SCHEMA => body_len >= 2 + 4 + 4 + 4,
        opcode::CHANNEL | opcode::ATTACHMENT_INDEX | opcode::METADATA_INDEX => {
            body_len >= 2 + 2 + 4 + 4 + 4
        }
        opcode::MESSAGE_INDEX => body
            .get(2..)
            .and_then(|entries| entries.first_chunk::<4>())
            .is_some_and(|len| u64::from(u32::from_le_bytes(*len)) + 6 <= body_len),
        opcode::CHUNK_INDEX => body_len >= 8 * 4 + 4 + 8 + 4 + 8 + 8,
        opcode::ATTACHMENT => body_len >= 8 + 8 + 4 + 4 + 8 + 4,
        opcode::STATISTICS => body_len >= 8 + 2 + 4 * 4 + 8 + 8 + 4,
        opcode::SUMMARY_OFFSET => body_len >= 1 + 8 + 8,
        op => op >= 0x80,
    }
}

/// Where a chunk's fields have the length of its compression's name.
const NAME_LEN_AT: usize = 8 + 8 + 8 + 4;

/// The fields of a chunk that stands in `head`, whatever the opcode there, when they fill the
/// record exactly.
pub(super) fn exact_chunk(head: &[u8]) -> Option<ChunkHeader> {
    let (_, body_len) = record::header(head)?;
    let body = head.get(HEADER_LEN..)?;
    // Seen at once of most records: the name of a compression is short.
    let name_len = u32::from_le_bytes(*body.get(NAME_LEN_AT..)?.first_chunk()?);
    if name_len > 4 {
        return None;
    }
    let header = ChunkHeader::parse(body).ok()?;
    compression_named(&header.compression)?;
    (header.body_len() == body_len).then_some(header)
}
