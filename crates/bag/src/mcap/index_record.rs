//! Records that only say where others are and how many: indexes, statistics, the footer.
//!
//! Source: the MCAP format specification, "Records".

use super::record::{Fields, opcode};
use crate::DamageKind;

/// A chunk as the summary's index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkIndexRecord {
    /// The first and last log time.
    pub(super) span: (u64, u64),
    /// Where the chunk's record starts.
    pub(super) start: u64,
    /// The length of the whole record, with opcode and length.
    pub(super) record_len: u64,
    /// By channel, where the record of the chunk's message index starts.
    pub(super) message_indexes: Vec<(u16, u64)>,
    /// The length of all of these records.
    pub(super) message_index_len: u64,
    pub(super) compression: String,
    pub(super) stored_len: u64,
    pub(super) len: u64,
}

impl ChunkIndexRecord {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DamageKind> {
        let mut fields = Fields(body);
        let span = (fields.u64()?, fields.u64()?);
        let (start, record_len) = (fields.u64()?, fields.u64()?);
        let mut entries = Fields(fields.bytes()?);
        let mut message_indexes = Vec::with_capacity(entries.0.len() / 10);
        while !entries.0.is_empty() {
            message_indexes.push((entries.u16()?, entries.u64()?));
        }
        Ok(Self {
            span,
            start,
            record_len,
            message_indexes,
            message_index_len: fields.u64()?,
            compression: fields.string()?,
            stored_len: fields.u64()?,
            len: fields.u64()?,
        })
    }
}

/// The start of a chunk as the summary's index has it, whatever else its entry says.
pub(super) fn chunk_index_start(body: &[u8]) -> Result<u64, DamageKind> {
    let mut fields = Fields(body);
    let (_first, _last) = (fields.u64()?, fields.u64()?);
    fields.u64()
}

/// What one record of a message index says, without its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageIndexRecord<'a> {
    pub(super) channel: u16,
    /// Pairs of log time and offset, 16 bytes each.
    entries: &'a [u8],
}

impl<'a> MessageIndexRecord<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DamageKind> {
        let mut fields = Fields(body);
        let channel = fields.u16()?;
        let entries = fields.bytes()?;
        if entries.len() % 16 != 0 {
            return Err(DamageKind::Truncated {
                what: "entry of a message index",
                needed: 16,
                available: (entries.len() % 16) as u64,
            });
        }
        Ok(Self { channel, entries })
    }

    pub(super) fn count(&self) -> u64 {
        (self.entries.len() / 16) as u64
    }

    /// Log time and offset in the inflated chunk of each message.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        self.entries.as_chunks::<16>().0.iter().map(|entry| {
            let entry = u128::from_le_bytes(*entry);
            (low(entry), low(entry >> 64))
        })
    }
}

fn low(wide: u128) -> u64 {
    u64::try_from(wide & u128::from(u64::MAX)).unwrap_or_default()
}

/// The counts of a whole file as its summary has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StatisticsRecord {
    pub(super) messages: u64,
    pub(super) schemas: u64,
    pub(super) channels: u64,
    pub(super) attachments: u64,
    pub(super) metadata: u64,
    pub(super) chunks: u64,
    /// The first and last log time; zeros without messages.
    pub(super) span: (u64, u64),
    pub(super) channel_counts: Vec<(u16, u64)>,
}

impl StatisticsRecord {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DamageKind> {
        let mut fields = Fields(body);
        let messages = fields.u64()?;
        let schemas = u64::from(fields.u16()?);
        let [channels, attachments, metadata, chunks] =
            [fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?].map(u64::from);
        let span = (fields.u64()?, fields.u64()?);
        let mut entries = Fields(fields.bytes()?);
        let mut channel_counts = Vec::with_capacity(entries.0.len() / 10);
        while !entries.0.is_empty() {
            channel_counts.push((entries.u16()?, entries.u64()?));
        }
        Ok(Self {
            messages,
            schemas,
            channels,
            attachments,
            metadata,
            chunks,
            span,
            channel_counts,
        })
    }
}

/// Where the summary has the records of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SummaryOffsetRecord {
    pub(super) opcode: u8,
    pub(super) start: u64,
    pub(super) len: u64,
}

impl SummaryOffsetRecord {
    pub(super) fn parse(body: &[u8]) -> Result<Self, DamageKind> {
        let (opcode, rest) = body.split_first().ok_or(DamageKind::Truncated {
            what: "summary offset",
            needed: 17,
            available: 0,
        })?;
        let mut fields = Fields(rest);
        Ok(Self { opcode: *opcode, start: fields.u64()?, len: fields.u64()? })
    }
}

/// The footer's fields: where the summary and the offsets in it start, and its CRC.
pub(super) fn footer_fields(body: &[u8]) -> Result<(u64, u64, u32), DamageKind> {
    let mut fields = Fields(body);
    Ok((fields.u64()?, fields.u64()?, fields.u32()?))
}

/// How long the body of a record is by its own fields, as far as `body_start` shows them; `None`
/// for kinds whose fields do not tell.
pub(super) fn own_len(op: u8, body_start: &[u8]) -> Option<u64> {
    let mut fields = Fields(body_start);
    match op {
        opcode::HEADER => {
            name(&mut fields)?;
            name(&mut fields)?;
        }
        opcode::SCHEMA => {
            fields.u16().ok()?;
            name(&mut fields)?;
            name(&mut fields)?;
            fields.bytes().ok()?;
        }
        opcode::CHANNEL => {
            fields.u16().ok()?;
            fields.u16().ok()?;
            name(&mut fields)?;
            name(&mut fields)?;
            fields.bytes().ok()?;
        }
        opcode::METADATA => {
            name(&mut fields)?;
            fields.bytes().ok()?;
        }
        opcode::MESSAGE_INDEX => {
            fields.u16().ok()?;
            return Some(u64::from(fields.u32().ok()?) + 6);
        }
        opcode::ATTACHMENT => {
            fields.u64().ok()?;
            fields.u64().ok()?;
            name(&mut fields)?;
            name(&mut fields)?;
            let data_len = fields.u64().ok()?;
            let fixed = (body_start.len() - fields.0.len()) as u64;
            // The data and its CRC.
            return fixed.checked_add(data_len)?.checked_add(4);
        }
        _ => return None,
    }
    Some((body_start.len() - fields.0.len()) as u64)
}

/// A name: what has control characters is something else, read with a wrong length.
fn name(fields: &mut Fields<'_>) -> Option<()> {
    let bytes = fields.bytes().ok()?;
    bytes.iter().all(|byte| *byte >= b' ').then_some(())
}
