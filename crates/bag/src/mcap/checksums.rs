//! The checksums over more than a chunk: that of the data section, hashed as the pass goes by,
//! and that of the summary.

use super::{
    record::opcode,
    scan::Pass,
    summary::{self, BLOCK_BYTES, Footer},
};
use crate::{BagError, DamageKind, Source, Verdict, source::Window};

/// The checksum over the data section, as far as the pass has come.
#[derive(Debug)]
pub(super) struct DataHash {
    hasher: crc32fast::Hasher,
    /// Everything before is hashed.
    at: u64,
    /// Where the data section ends.
    end: u64,
    expected: u32,
}

impl DataHash {
    /// For a closed file whose data section names its checksum; one without is not hashed.
    pub(super) fn new(source: &Source, footer: Option<Footer>) -> Result<Option<Self>, BagError> {
        let Some(footer) = footer else { return Ok(None) };
        let data_end = summary::read_data_end(source, footer)?;
        Ok(data_end.filter(|(_, expected)| *expected != 0).map(|(end, expected)| Self {
            hasher: crc32fast::Hasher::new(),
            at: 0,
            end,
            expected,
        }))
    }

    /// Hashes up to `to`; the bytes are most often those that the window holds anyway.
    pub(super) fn advance(&mut self, window: &mut Window<'_>, to: u64) -> Result<(), BagError> {
        let to = to.min(self.end);
        while self.at < to {
            let len = usize::try_from(to - self.at).unwrap_or(usize::MAX).min(BLOCK_BYTES);
            self.hasher.update(window.bytes(self.at, len)?);
            self.at += len as u64;
        }
        Ok(())
    }

    /// Hashes the bytes that start at `offset`, unless that is not where the hash has come to.
    pub(super) fn take(&mut self, offset: u64, bytes: &[u8]) {
        if offset == self.at && self.at.saturating_add(bytes.len() as u64) <= self.end {
            self.hasher.update(bytes);
            self.at += bytes.len() as u64;
        }
    }

    /// Takes bytes in that start at `offset` and were hashed by themselves.
    pub(super) fn take_hashed(&mut self, offset: u64, len: u64, hasher: &crc32fast::Hasher) {
        if offset == self.at && self.at.saturating_add(len) <= self.end {
            self.hasher.combine(hasher);
            self.at += len;
        }
    }
}

/// What is known of the checksum over the summary.
#[derive(Debug, Clone, Copy)]
pub(super) enum SummaryCrc {
    Unread,
    /// The file has none.
    None,
    /// What the bytes give.
    Found(u32),
}

/// What is wrong with the data section of a closed file, as far as the checksum over it says.
pub(crate) fn data_fault(source: &Source) -> Result<Option<DamageKind>, BagError> {
    let footer = summary::read_footer(source)?;
    let Some(mut hash) = DataHash::new(source, footer)? else { return Ok(None) };
    hash.advance(&mut Window::new(source, Vec::new()), hash.end)?;
    let (expected, found) = (hash.expected, hash.hasher.finalize());
    Ok((expected != found).then_some(DamageKind::DataCrc { expected, found }))
}

impl Pass<'_> {
    /// Notes messages that are counted and not there, in a file where nothing else is wrong: a
    /// changed byte may have made something else of them.
    pub(super) fn check_statistics(&mut self) -> Result<(), BagError> {
        if !self.contents.damage.is_empty() {
            return Ok(());
        }
        let Some(footer) = self.good_summary()? else { return Ok(()) };
        let mut counted = None;
        summary::each_record(&mut self.window, footer, |window, op, body_at, len| {
            if op == opcode::STATISTICS {
                let len = usize::try_from(len).unwrap_or(usize::MAX).min(8);
                let count = window.bytes(body_at, len)?.first_chunk();
                counted = count.map(|count| (body_at, u64::from_le_bytes(*count)));
            }
            Ok(())
        })?;
        let found = self.contents.n_messages();
        if let Some((at, counted)) = counted.filter(|(_, counted)| *counted > found) {
            self.note(at, DamageKind::FewerMessages { counted, found });
        }
        Ok(())
    }

    /// Compares the checksum of the data section. When it is wrong, what has no checksum of its
    /// own is doubtful. What else was found explains a wrong one where chunks prove themselves.
    pub(super) fn check_data(&mut self) -> Result<(), BagError> {
        let Some(mut hash) = self.data_hash.take() else { return Ok(()) };
        hash.advance(&mut self.window, hash.end)?;
        let (expected, found) = (hash.expected, hash.hasher.finalize());
        if expected == found {
            return Ok(());
        }
        let mut is_any_doubtful = false;
        for chunk in &mut self.contents.chunks {
            if chunk.verdict == Verdict::Unchecked {
                chunk.verdict = Verdict::Doubtful;
                is_any_doubtful |= !chunk.channels.is_empty();
            }
        }
        if is_any_doubtful || self.contents.damage.is_empty() {
            self.note(hash.end, DamageKind::DataCrc { expected, found });
        }
        Ok(())
    }

    /// The summary of the file, unless it has none or its checksum is wrong.
    pub(super) fn good_summary(&mut self) -> Result<Option<Footer>, BagError> {
        let Some(footer) = self.footer.filter(|footer| footer.summary().is_some()) else {
            return Ok(None);
        };
        Ok(self.summary_fault(footer)?.is_none().then_some(footer))
    }

    /// Notes a summary whose checksum is wrong.
    pub(super) fn check_summary(&mut self) -> Result<(), BagError> {
        if let Some(footer) = self.footer
            && let Some(kind) = self.summary_fault(footer)?
        {
            self.note(footer.summary_start, kind);
        }
        Ok(())
    }

    fn summary_fault(&mut self, footer: Footer) -> Result<Option<DamageKind>, BagError> {
        if let SummaryCrc::Unread = self.summary_crc {
            let found = summary::summary_crc(&mut self.window, footer)?;
            self.summary_crc = found.map_or(SummaryCrc::None, SummaryCrc::Found);
        }
        let found = match self.summary_crc {
            SummaryCrc::Found(found) if found != footer.summary_crc => Some(found),
            _ => None,
        };
        Ok(found.map(|found| DamageKind::SummaryCrc { expected: footer.summary_crc, found }))
    }
}
