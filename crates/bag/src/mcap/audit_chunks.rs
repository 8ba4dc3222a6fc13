//! Chunks and the indexes behind them, compared with the index of chunks and with what the chunks
//! hold.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    audit::{FindingKind, Findings, Severity},
    index_record::{ChunkIndexRecord, MessageIndexRecord},
    plausible::HEAD_LEN,
    record::{self, ChunkHeader, HEADER_LEN, MAGIC, MessageRecord, Records, opcode},
    summary::Footer,
};
use crate::{
    BagError, Chunk, Compression, Contents, ReadOptions, Source, Verdict, inflate::Inflater,
    source::Window,
};

/// What a walk over the data section found, by the start of each chunk's record.
#[derive(Default)]
pub(super) struct ChunkAudit {
    chunks: BTreeMap<u64, FoundChunk>,
}

/// One chunk where it lies.
struct FoundChunk {
    header: ChunkHeader,
    record_len: u64,
    /// What the pass found in it, when it can be served.
    truth: Option<Chunk>,
    /// By channel: how many messages it has here.
    counts: BTreeMap<u16, u64>,
    indexes: Vec<FoundIndex>,
    /// The bytes of all index records behind it.
    index_len: u64,
}

/// One record of a message index.
struct FoundIndex {
    at: u64,
    channel: u16,
    count: u64,
    /// Entries that point at no message of that channel and time.
    wrong: u64,
}

impl ChunkAudit {
    /// How many chunks there are.
    pub(super) fn n_chunks(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// Walks the data section from record to record; over a place that is broken, to the next
    /// chunk that the pass found.
    pub(super) fn walk(
        source: &Source,
        contents: &Contents,
        options: &ReadOptions,
        footer: Option<Footer>,
    ) -> Result<Self, BagError> {
        let truths: BTreeMap<u64, &Chunk> =
            contents.chunks.iter().map(|chunk| (chunk.offset, chunk)).collect();
        let end = match footer {
            Some(footer) => footer.summary().unwrap_or(footer.at),
            None => contents.read_to(source.len()),
        };
        let mut walk = Walk {
            window: Window::new(source, Vec::new()),
            options,
            inflater: Inflater::default(),
            inflated: Vec::new(),
            places: BTreeMap::new(),
            found: Self::default(),
            last: None,
        };
        let mut position = MAGIC.len() as u64;
        // A length may be anything.
        while position.saturating_add(HEADER_LEN as u64) <= end {
            let next = walk.record(position, end, &truths)?;
            position = match next {
                Some(next) => next,
                None => match truths.range(position + HEADER_LEN as u64..).next() {
                    Some((offset, chunk)) => walk.record_start(*offset, chunk, position)?,
                    None => break,
                },
            };
        }
        Ok(walk.found)
    }

    /// Compares with the summary's index of chunks.
    pub(super) fn compare(
        &self,
        index: &[(u64, ChunkIndexRecord)],
        has_summary: bool,
        findings: &mut Findings,
    ) {
        let mut listed = BTreeSet::new();
        for (at, said) in index {
            if !listed.insert(said.start) {
                let text = format!("the chunk at {} is listed twice", said.start);
                findings.add(*at, FindingKind::ChunkIndex, Severity::MisleadsReaders, text);
                continue;
            }
            if let Some(found) = self.chunks.get(&said.start) {
                found.compare(*at, said, findings);
            } else {
                let text = format!(
                    "a chunk of {} bytes at {} that is not there",
                    said.record_len, said.start
                );
                findings.add(*at, FindingKind::ChunkIndex, Severity::MisleadsReaders, text);
            }
        }
        let has_indexes = self.chunks.values().any(|chunk| !chunk.indexes.is_empty());
        for (start, found) in &self.chunks {
            if has_summary && !listed.contains(start) {
                let n = found.counts.values().sum::<u64>();
                let text = format!(
                    "a chunk of {} bytes with {n} messages is not listed",
                    found.record_len
                );
                findings.add(*start, FindingKind::ChunkIndex, Severity::MisleadsReaders, text);
            }
            if has_indexes {
                found.compare_messages(*start, findings);
            }
        }
        if !has_indexes && self.chunks.values().any(|chunk| !chunk.counts.is_empty()) {
            let text = format!("no message indexes behind {} chunks", self.chunks.len());
            findings.add(0, FindingKind::MessageIndex, Severity::Information, text);
        }
    }
}

impl FoundChunk {
    fn compare(&self, at: u64, said: &ChunkIndexRecord, findings: &mut Findings) {
        let kind = FindingKind::ChunkIndex;
        let start = said.start;
        for (what, said, found) in [
            ("length", said.record_len, self.record_len),
            ("stored size", said.stored_len, self.header.stored_len),
            ("size", said.len, self.header.len),
            ("length of the message indexes", said.message_index_len, self.index_len),
        ] {
            findings.differs(at, kind, &format!("the {what} of the chunk at {start}"), said, found);
        }
        if said.compression != self.header.compression {
            let text = format!(
                "the compression of the chunk at {start} is {:?}, found {:?}",
                said.compression, self.header.compression
            );
            findings.add(at, kind, Severity::MisleadsReaders, text);
        }
        let (first, last) = self.span();
        findings.differs(
            at,
            kind,
            &format!("the first time of the chunk at {start}"),
            said.span.0,
            first,
        );
        findings.differs(
            at,
            kind,
            &format!("the last time of the chunk at {start}"),
            said.span.1,
            last,
        );
        let places: BTreeMap<u16, u64> =
            self.indexes.iter().map(|index| (index.channel, index.at)).collect();
        for (channel, said) in &said.message_indexes {
            if let Some(found) = places.get(channel) {
                let what = format!("the place of the index of channel {channel}");
                findings.differs(at, kind, &what, *said, *found);
            } else {
                let text = format!("an index of channel {channel} at {said} that is not there");
                findings.add(at, kind, Severity::MisleadsReaders, text);
            }
        }
        for index in self.indexes.iter().filter(|index| index.count > 0) {
            if !said.message_indexes.iter().any(|(channel, _)| *channel == index.channel) {
                let text = format!(
                    "the index of channel {} with {} messages at {} is not listed",
                    index.channel, index.count, index.at
                );
                findings.add(at, kind, Severity::MisleadsReaders, text);
            }
        }
    }

    /// The first and last time of the messages, or what the header says of one that is lost.
    fn span(&self) -> (u64, u64) {
        match &self.truth {
            Some(chunk) if chunk.channels.is_empty() => (0, 0),
            Some(chunk) => (chunk.first.as_ns(), chunk.last.as_ns()),
            None => self.header.span,
        }
    }

    fn compare_messages(&self, start: u64, findings: &mut Findings) {
        let kind = FindingKind::MessageIndex;
        if self.truth.is_none() {
            return;
        }
        let mut left = self.counts.clone();
        for index in &self.indexes {
            let found = left.remove(&index.channel).unwrap_or_default();
            let what = format!("the number of messages of channel {} in a chunk", index.channel);
            findings.differs(index.at, kind, &what, index.count, found);
            if index.wrong > 0 {
                let text = format!(
                    "{} of {} entries of channel {} point at no such message",
                    index.wrong, index.count, index.channel
                );
                findings.add(index.at, kind, Severity::MisleadsReaders, text);
            }
        }
        for (channel, count) in left {
            let text = format!("no index for {count} messages of channel {channel} in a chunk");
            findings.add(start, kind, Severity::MisleadsReaders, text);
        }
    }
}

struct Walk<'w> {
    window: Window<'w>,
    options: &'w ReadOptions,
    inflater: Inflater,
    inflated: Vec<u8>,
    /// The messages of the chunk that was met last: channel and time by offset.
    places: BTreeMap<u64, (u16, u64)>,
    found: ChunkAudit,
    /// The start of the chunk that was met last, while its indexes follow.
    last: Option<u64>,
}

impl Walk<'_> {
    /// Handles the record at `position`; `None` when there is none.
    fn record(
        &mut self,
        position: u64,
        end: u64,
        truths: &BTreeMap<u64, &Chunk>,
    ) -> Result<Option<u64>, BagError> {
        let left = usize::try_from(end - position).unwrap_or(usize::MAX);
        let head = self.window.bytes(position, left.min(HEAD_LEN))?;
        let Some((op, body_len)) = record::header(head).filter(|(op, _)| *op != 0) else {
            return Ok(None);
        };
        let body_at = position + HEADER_LEN as u64;
        let Some(next) = body_at.checked_add(body_len).filter(|next| *next <= end) else {
            return Ok(None);
        };
        match op {
            opcode::CHUNK => {
                let header = ChunkHeader::parse(head.get(HEADER_LEN..).unwrap_or_default());
                let Ok(header) = header else { return Ok(None) };
                let offset = body_at + header.header_len as u64;
                let truth = truths
                    .get(&offset)
                    .filter(|chunk| chunk.verdict != Verdict::Damaged)
                    .map(|chunk| (*chunk).clone());
                let counts = match &truth {
                    Some(chunk) => self.messages(chunk)?,
                    None => BTreeMap::new(),
                };
                let record_len = next - position;
                let indexes = Vec::new();
                self.found.chunks.insert(
                    position,
                    FoundChunk { header, record_len, truth, counts, indexes, index_len: 0 },
                );
                self.last = Some(position);
            }
            opcode::MESSAGE_INDEX if body_len <= self.options.max_chunk_bytes => {
                let body =
                    self.window.bytes(body_at, usize::try_from(body_len).unwrap_or(usize::MAX))?;
                let chunk = self.last.and_then(|last| self.found.chunks.get_mut(&last));
                if let (Some(chunk), Ok(parsed)) = (chunk, MessageIndexRecord::parse(body)) {
                    let wrong = parsed.entries().filter(|(time, offset)| {
                        self.places.get(offset) != Some(&(parsed.channel, *time))
                    });
                    chunk.indexes.push(FoundIndex {
                        at: position,
                        channel: parsed.channel,
                        count: parsed.count(),
                        wrong: wrong.count() as u64,
                    });
                    chunk.index_len += next - position;
                }
            }
            _ => self.last = None,
        }
        Ok(Some(next))
    }

    /// Lists the messages of a chunk by their offsets, and counts them by channel.
    fn messages(&mut self, chunk: &Chunk) -> Result<BTreeMap<u16, u64>, BagError> {
        self.places.clear();
        let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
        let limit = self.options.max_chunk_bytes;
        let stored_len = match usize::try_from(chunk.stored_len) {
            Ok(len) if chunk.stored_len <= limit => len,
            _ => return Ok(counts),
        };
        let stored = self.window.bytes(chunk.offset, stored_len)?;
        let bytes = if chunk.compression == Compression::None {
            stored
        } else {
            let outcome = self.inflater.inflate(
                chunk.compression,
                stored,
                chunk.len,
                chunk.crc != 0,
                limit,
                &mut self.inflated,
            );
            if outcome.is_err() {
                return Ok(counts);
            }
            &self.inflated
        };
        let mut offset = 0;
        for record in Records::new(bytes).flatten() {
            if record.opcode == opcode::MESSAGE
                && let Ok(message) = MessageRecord::parse(record.body)
            {
                self.places.insert(offset, (message.channel_id, message.log_time));
                *counts.entry(message.channel_id).or_default() += 1;
            }
            offset += (HEADER_LEN + record.body.len()) as u64;
        }
        Ok(counts)
    }

    /// Where the record of a chunk starts whose stored bytes start at `offset`; behind the chunk
    /// when what is in front of it is no such record, or for messages outside chunks.
    fn record_start(&mut self, offset: u64, chunk: &Chunk, behind: u64) -> Result<u64, BagError> {
        let fixed = HEADER_LEN as u64 + 8 + 8 + 8 + 4 + 4 + 8;
        for name_len in [0, 3, 4] {
            let Some(start) = offset.checked_sub(fixed + name_len).filter(|s| *s > behind) else {
                continue;
            };
            let len = usize::try_from(offset - start).unwrap_or_default();
            let head = self.window.bytes(start, len)?;
            let header = ChunkHeader::parse(head.get(HEADER_LEN..).unwrap_or_default());
            if head.first() == Some(&opcode::CHUNK)
                && header.is_ok_and(|header| header.stored_len == chunk.stored_len)
            {
                return Ok(start);
            }
        }
        Ok(offset.saturating_add(chunk.stored_len))
    }
}
