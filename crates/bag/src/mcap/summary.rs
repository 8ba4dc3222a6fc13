//! What the end of a file is believed in: that the writer closed it, and where chunks should be.

use super::{
    index_record::{chunk_index_start, footer_fields},
    record::{self, DATA_END_LEN, FOOTER_LEN, HEADER_LEN, MAGIC, opcode},
};
use crate::{BagError, ReadOptions, Source, source::Window};

/// The footer of a file whose writer closed it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Footer {
    /// Where the summary starts; 0 when there is none.
    pub(super) summary_start: u64,
    /// Where the offsets inside the summary start; 0 when there are none.
    pub(super) offsets_start: u64,
    /// The CRC-32 of the summary and of the footer up to it; 0 when the writer left it out.
    pub(super) summary_crc: u32,
    /// Where the footer record starts.
    pub(super) at: u64,
}

/// Bytes of a whole record that ends the data section.
pub(super) const DATA_END_RECORD: u64 = HEADER_LEN as u64 + DATA_END_LEN;

impl Footer {
    /// Where the summary starts, when there is one in front of the footer.
    pub(super) fn summary(&self) -> Option<u64> {
        (self.summary_start >= MAGIC.len() as u64 && self.summary_start <= self.at)
            .then_some(self.summary_start)
    }
}

/// The footer at the end of a file; `None` when the file does not end as a closed one does.
pub(super) fn read_footer(source: &Source) -> Result<Option<Footer>, BagError> {
    let footer_record = HEADER_LEN as u64 + FOOTER_LEN;
    let tail = footer_record + MAGIC.len() as u64;
    let Some(at) = source.len().checked_sub(tail).filter(|at| *at >= MAGIC.len() as u64) else {
        return Ok(None);
    };
    let mut scratch = Vec::new();
    let tail_len = usize::try_from(tail).unwrap_or_default();
    let bytes = source.read(at, tail_len, &mut scratch)?;
    let is_footer = record::header(bytes) == Some((opcode::FOOTER, FOOTER_LEN));
    if !is_footer || !bytes.ends_with(MAGIC) {
        return Ok(None);
    }
    let fields = footer_fields(bytes.get(HEADER_LEN..).unwrap_or_default());
    Ok(fields.ok().map(|(summary_start, offsets_start, summary_crc)| Footer {
        summary_start,
        offsets_start,
        summary_crc,
        at,
    }))
}

/// The record that ends the data section, where the footer says it must be: its place and the
/// CRC in it.
pub(super) fn read_data_end(
    source: &Source,
    footer: Footer,
) -> Result<Option<(u64, u32)>, BagError> {
    let behind = if footer.summary_start == 0 { Some(footer.at) } else { footer.summary() };
    let Some(at) =
        behind.and_then(|b| b.checked_sub(DATA_END_RECORD)).filter(|at| *at >= MAGIC.len() as u64)
    else {
        return Ok(None);
    };
    let mut scratch = Vec::new();
    let len = usize::try_from(DATA_END_RECORD).unwrap_or_default();
    let bytes = source.read(at, len, &mut scratch)?;
    let is_data_end = record::header(bytes) == Some((opcode::DATA_END, DATA_END_LEN));
    let crc = bytes.last_chunk::<4>().map(|crc| u32::from_le_bytes(*crc));
    Ok(crc.filter(|_| is_data_end).map(|crc| (at, crc)))
}

/// The CRC-32 of the summary as the file has it now; `None` when the footer names none.
pub(super) fn summary_crc(
    window: &mut Window<'_>,
    footer: Footer,
) -> Result<Option<u32>, BagError> {
    let Some(start) = footer.summary().filter(|_| footer.summary_crc != 0) else {
        return Ok(None);
    };
    // Up to the CRC itself, which the footer's body ends in.
    let end = footer.at + HEADER_LEN as u64 + FOOTER_LEN - 4;
    let mut hasher = crc32fast::Hasher::new();
    let mut at = start;
    while at < end {
        let len = usize::try_from(end - at).unwrap_or(usize::MAX).min(BLOCK_BYTES);
        hasher.update(window.bytes(at, len)?);
        at += len as u64;
    }
    Ok(Some(hasher.finalize()))
}

/// How many bytes are hashed at once.
pub(super) const BLOCK_BYTES: usize = 1 << 16;

/// Where the summary's index has chunks, ascending; inside the data section only.
pub(super) fn chunk_index(window: &mut Window<'_>, footer: Footer) -> Result<Vec<u64>, BagError> {
    let mut found = Vec::new();
    each_record(window, footer, |window, op, body_at, len| {
        if op == opcode::CHUNK_INDEX {
            let start_len = usize::try_from(len).unwrap_or(usize::MAX).min(64);
            if let Ok(start) = chunk_index_start(window.bytes(body_at, start_len)?)
                && start < footer.summary_start
            {
                found.push(start);
            }
        }
        Ok(())
    })?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Hands the schemas and channels that the summary repeats to `visit`, by opcode and body.
pub(super) fn each_declaration(
    window: &mut Window<'_>,
    footer: Footer,
    options: &ReadOptions,
    mut visit: impl FnMut(u8, &[u8]),
) -> Result<(), BagError> {
    each_record(window, footer, |window, op, body_at, len| {
        let is_declaration = matches!(op, opcode::SCHEMA | opcode::CHANNEL);
        if is_declaration && len <= options.max_chunk_bytes {
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            visit(op, window.bytes(body_at, len)?);
        }
        Ok(())
    })?;
    Ok(())
}

/// Walks the records of the summary: opcode, where the body starts, and its length. Returns where
/// the walk ended: at the footer when the summary is whole.
pub(super) fn each_record(
    window: &mut Window<'_>,
    footer: Footer,
    mut visit: impl FnMut(&mut Window<'_>, u8, u64, u64) -> Result<(), BagError>,
) -> Result<u64, BagError> {
    let mut at = footer.summary_start;
    while let Some(body_at) = at.checked_add(HEADER_LEN as u64).filter(|b| *b <= footer.at) {
        let Some((op, len)) = record::header(window.bytes(at, HEADER_LEN)?) else { break };
        if len > footer.at - body_at {
            break;
        }
        visit(window, op, body_at, len)?;
        at = body_at + len;
    }
    Ok(at)
}
