//! The message indexes of an uncompressed chunk: compared with its messages once, used from then on
//! to go to some of them without touching the others.

use super::{
    chunk::opened,
    index_record::MessageIndexRecord,
    record::{HEADER_LEN, MessageRecord, Records, header, opcode},
    scan::Pass,
};
use crate::{BagError, Chunk, Compression};

/// One message as an index has it, and as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Indexed {
    /// Where its record starts in the chunk.
    offset: u64,
    channel: u16,
    log_time: u64,
}

impl Pass<'_> {
    /// The length of the message indexes right behind an uncompressed chunk that was walked, when
    /// they name its messages, all of them, each once and as it is; else 0.
    pub(super) fn proven_index(&mut self, chunk: &Chunk) -> Result<u64, BagError> {
        // Of a file that is not mapped a chunk is read as a whole.
        if chunk.compression != Compression::None || !self.window.is_mapped() {
            return Ok(0);
        }
        let start = chunk.offset + chunk.stored_len;
        let Some(len) = self.index_len(start)? else { return Ok(0) };
        let bytes = self.window.bytes(start, len)?;
        let mut said: Vec<Indexed> = Vec::new();
        for record in Records::new(bytes) {
            let index = record.and_then(|record| MessageIndexRecord::parse(record.body));
            let Ok(index) = index else { return Ok(0) };
            let channel = index.channel;
            let entries = index.entries();
            said.extend(entries.map(|(log_time, offset)| Indexed { offset, channel, log_time }));
        }
        said.sort_unstable();
        let mut said = said.into_iter();
        let (mut offset, mut is_true) = (0u64, true);
        for record in Records::new(opened(&mut self.window, self.inflated, chunk)?).flatten() {
            if record.opcode == opcode::MESSAGE
                && let Ok(message) = MessageRecord::parse(record.body)
            {
                let MessageRecord { channel_id: channel, log_time, .. } = message;
                is_true &= said.next() == Some(Indexed { offset, channel, log_time });
            }
            offset += (HEADER_LEN + record.body.len()) as u64;
        }
        Ok(if is_true && said.next().is_none() { len as u64 } else { 0 })
    }

    /// The length of the records of message indexes from `start` on, when there are any.
    fn index_len(&mut self, start: u64) -> Result<Option<usize>, BagError> {
        let mut end = start;
        while self.len.saturating_sub(end) >= HEADER_LEN as u64 {
            let Some((opcode::MESSAGE_INDEX, len)) = header(self.window.bytes(end, HEADER_LEN)?)
            else {
                break;
            };
            let next = (end + HEADER_LEN as u64).saturating_add(len);
            if next > self.len || next - start > self.options.max_chunk_bytes {
                return Ok(None);
            }
            end = next;
        }
        Ok(usize::try_from(end - start).ok().filter(|len| *len > 0))
    }
}

/// Where the messages of some channels start in a chunk, ascending, out of its proven indexes.
pub(crate) fn offsets_of(indexes: &[u8], is_wanted: impl Fn(u16) -> bool) -> Vec<u64> {
    let mut offsets: Vec<u64> = Vec::new();
    for record in Records::new(indexes).flatten() {
        if let Ok(index) = MessageIndexRecord::parse(record.body)
            && is_wanted(index.channel)
        {
            offsets.extend(index.entries().map(|(_, offset)| offset));
        }
    }
    if !offsets.is_sorted() {
        offsets.sort_unstable();
    }
    offsets
}
