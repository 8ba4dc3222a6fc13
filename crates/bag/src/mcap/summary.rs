//! What the end of a file is believed in: that the writer closed it, and where chunks should be.

use super::record::{self, FOOTER_LEN, HEADER_LEN, MAGIC, opcode};
use crate::{BagError, ReadOptions, Source, source::Window};

/// The footer of a file whose writer closed it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Footer {
    /// Where the summary starts; 0 when there is none.
    pub(super) summary_start: u64,
    /// Where the footer record starts.
    pub(super) at: u64,
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
    let body = bytes.get(HEADER_LEN..).unwrap_or_default();
    Ok(record::footer_summary_start(body).ok().map(|summary_start| Footer { summary_start, at }))
}

/// Where the summary's index has chunks, ascending; inside the data section only.
pub(super) fn chunk_index(window: &mut Window<'_>, footer: Footer) -> Result<Vec<u64>, BagError> {
    let mut found = Vec::new();
    each_record(window, footer, |window, op, body_at, len| {
        if op == opcode::CHUNK_INDEX {
            let start_len = usize::try_from(len).unwrap_or(usize::MAX).min(64);
            let body = window.bytes(body_at, start_len)?;
            if let Ok(start) = record::chunk_index_offset(body)
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
    })
}

/// Walks the records of the summary: opcode, where the body starts, and its length.
fn each_record(
    window: &mut Window<'_>,
    footer: Footer,
    mut visit: impl FnMut(&mut Window<'_>, u8, u64, u64) -> Result<(), BagError>,
) -> Result<(), BagError> {
    let mut at = footer.summary_start;
    while let Some(body_at) = at.checked_add(HEADER_LEN as u64).filter(|b| *b <= footer.at) {
        let Some((op, len)) = record::header(window.bytes(at, HEADER_LEN)?) else { break };
        if len > footer.at - body_at {
            break;
        }
        visit(window, op, body_at, len)?;
        at = body_at + len;
    }
    Ok(())
}
