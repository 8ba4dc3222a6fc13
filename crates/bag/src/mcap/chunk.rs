//! What the pass does with a chunk.

use std::sync::Arc;

use ros2_memory_time::LogTime;

use super::{
    record::{
        ChunkHeader, HEADER_LEN, MessageRecord, Records, compression_named,
        header as record_header, opcode,
    },
    scan::{Pass, Step},
    tally::Tally,
};
use crate::{BagError, Chunk, Compression, DamageKind, Verdict, inflate::Inflater, source::Window};

/// The bytes of a chunk that was opened.
pub(super) fn opened<'b>(
    window: &'b mut Window<'_>,
    inflated: &'b [u8],
    chunk: &Chunk,
) -> Result<&'b [u8], BagError> {
    match chunk.compression {
        Compression::None => {
            window.bytes(chunk.offset, usize::try_from(chunk.len).unwrap_or(usize::MAX))
        }
        Compression::Lz4 | Compression::Zstd => Ok(inflated),
    }
}

/// How far a chunk goes by its own fields and by its record.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// Where its record starts.
    position: u64,
    opcode: u8,
    body_len: u64,
    /// Where its record ends, when it says the truth.
    record_end: u64,
    /// Where its stored bytes end, when its fields say the truth.
    fields_end: u64,
}

impl Pass<'_> {
    /// Handles a whole record that is a chunk, whatever its opcode.
    pub(super) fn chunk(
        &mut self,
        position: u64,
        opcode: u8,
        body_len: u64,
    ) -> Result<Step, BagError> {
        self.close_run();
        self.seen_chunks.push(position);
        let body_at = position + HEADER_LEN as u64;
        let record_end = body_at + body_len;
        let start_len = usize::try_from(body_len).unwrap_or(usize::MAX).min(ChunkHeader::MAX_LEN);
        let header = match ChunkHeader::parse(self.window.bytes(body_at, start_len)?) {
            Ok(header) => header,
            Err(kind) => {
                self.note(body_at, kind);
                return self.behind_bad_chunk(position, record_end);
            }
        };
        let fields_end = body_at.saturating_add(header.body_len());
        let extent = Extent { position, opcode, body_len, record_end, fields_end };
        let mut chunk = chunk_of(&header, body_at);
        let outcome = match compression_named(&header.compression) {
            None => Err(DamageKind::UnknownCompression { name: header.compression }),
            Some(compression) => {
                self.has_chunks = true;
                chunk.compression = compression;
                if fields_end > record_end && self.fits_its_record(&chunk, extent)? {
                    chunk.stored_len = record_end - chunk.offset;
                    self.open_chunk(&chunk, true)?
                } else if fields_end > record_end && !self.is_whole_behind(&chunk, extent)? {
                    let available = record_end.saturating_sub(chunk.offset);
                    Err(DamageKind::Truncated {
                        what: "chunk",
                        needed: chunk.stored_len,
                        available,
                    })
                } else {
                    self.open_chunk(&chunk, true)?
                }
            }
        };
        let kind = match outcome {
            Ok(verdict) => {
                chunk.verdict = verdict;
                return self.take_chunk(chunk, extent);
            }
            Err(kind) => kind,
        };
        self.note(chunk.offset, kind);
        self.contents.chunks.push(chunk);
        self.declare_from_summary()?;
        self.behind_bad_chunk(position, record_end)
    }

    /// Where to go on behind a chunk that cannot be served: it may have swallowed others.
    fn behind_bad_chunk(&mut self, position: u64, record_end: u64) -> Result<Step, BagError> {
        // Where it leads may be a record inside the next chunk, which it covers the start of.
        if self.leads_on(record_end)? && !self.indexed_chunks()?.is_empty() {
            let inside = self.indexed_inside(position, record_end)?;
            return Ok(Step::Next(inside.unwrap_or(record_end)));
        }
        let hit = self.find(position + 1, record_end)?;
        Ok(Step::Next(hit.map_or(record_end, |hit| hit.min(record_end))))
    }

    /// Whether a chunk whose fields reach past its record is whole inside it, with another record
    /// behind.
    fn fits_its_record(&mut self, chunk: &Chunk, extent: Extent) -> Result<bool, BagError> {
        let Some(stored_len) = extent.record_end.checked_sub(chunk.offset) else {
            return Ok(false);
        };
        Ok(chunk.crc != 0
            && self.leads_on(extent.record_end)?
            && self.open_chunk(&Chunk { stored_len, ..chunk.clone() }, false)?.is_ok())
    }

    /// Whether a chunk that reaches past its record is whole there.
    fn is_whole_behind(&mut self, chunk: &Chunk, extent: Extent) -> Result<bool, BagError> {
        let end = self.footer.map_or(self.len, |footer| footer.at);
        Ok(extent.fields_end <= end
            && self.open_chunk(chunk, false)?.is_ok()
            && (chunk.crc != 0 || self.leads_on(extent.fields_end)?))
    }

    /// Takes in a chunk that was opened, and says where the next record is.
    fn take_chunk(&mut self, mut chunk: Chunk, extent: Extent) -> Result<Step, BagError> {
        let stored_end = chunk.offset + chunk.stored_len;
        let is_unproven = chunk.crc == 0 && chunk.compression == Compression::None;
        let (tally, is_broken) = self.walk_chunk(&chunk)?;
        if !is_broken && extent.fields_end == extent.record_end {
            chunk.index_len = self.proven_index(&chunk)?;
        }
        self.finish_chunk(tally, chunk);
        let Extent { position, opcode, body_len, record_end, fields_end } = extent;
        if is_unproven && is_broken && fields_end == record_end {
            // Nothing says that its bytes are its own: its length may be wrong, and others inside.
            return self.behind_bad_chunk(position, record_end);
        }
        // Bytes behind the fields are allowed, but also what a longer length makes of the next
        // records.
        let is_padded = fields_end < record_end && self.leads_on(record_end)?;
        let is_odd = opcode != opcode::CHUNK || (fields_end != record_end && !is_padded);
        if is_odd {
            let expected = fields_end - position - HEADER_LEN as u64;
            self.note(position, DamageKind::ChunkRecord { opcode, length: body_len, expected });
        }
        // Where its stored bytes end, unless there is padding behind them.
        let next = if is_padded { record_end } else { stored_end };
        // A decompressor stops at the end of a frame, and does not see that its length has grown.
        Ok(Step::Next(self.indexed_inside(position, next)?.unwrap_or(next)))
    }

    /// Handles a chunk whose record reaches past the end of the file. What is whole in an
    /// uncompressed one is served; nothing is wrong as long as nothing lies behind it, since that
    /// is how a file looks that is being written.
    pub(super) fn cut_chunk(&mut self, position: u64, body_len: u64) -> Result<Step, BagError> {
        self.close_run();
        let body_at = position + HEADER_LEN as u64;
        let head_len = usize::try_from(self.len - body_at).unwrap_or(usize::MAX);
        let truncated = DamageKind::Truncated {
            what: "record",
            needed: body_len,
            available: self.len - body_at,
        };
        let start = self.window.bytes(body_at, head_len.min(ChunkHeader::MAX_LEN))?;
        let Ok(header) = ChunkHeader::parse(start) else { return Ok(Step::Broken(truncated)) };
        let Some(compression) = compression_named(&header.compression) else {
            return Ok(Step::Broken(truncated));
        };
        self.has_chunks = true;
        let fields_end = body_at.saturating_add(header.body_len());
        let record_end = body_at.saturating_add(body_len);
        let mut chunk = Chunk { compression, ..chunk_of(&header, body_at) };
        if fields_end != record_end {
            // Its length is wrong, or what its fields say.
            let extent =
                Extent { position, opcode: opcode::CHUNK, body_len, record_end, fields_end };
            if !self.is_whole_behind(&chunk, extent)? {
                return Ok(Step::Broken(truncated));
            }
            self.seen_chunks.push(position);
            return match self.open_chunk(&chunk, true)? {
                Ok(verdict) => {
                    chunk.verdict = verdict;
                    self.take_chunk(chunk, extent)
                }
                Err(_changed_meanwhile) => Ok(Step::Broken(truncated)),
            };
        }
        let end = self.footer.map_or(self.len, |footer| footer.at).max(chunk.offset);
        let available = end - chunk.offset;
        let kind = DamageKind::Truncated { what: "chunk", needed: header.stored_len, available };
        let part = if available <= self.options.max_chunk_bytes {
            self.take_part(&chunk, available)?
        } else {
            Part { whole: None, search_from: chunk.offset, is_open: false }
        };
        self.seen_chunks.push(position);
        let hit = if part.is_open && self.footer.is_none() {
            None
        } else {
            self.find(part.search_from, u64::MAX)?
        };
        if hit.is_none() && self.footer.is_none() {
            self.contents.chunks.extend(part.whole);
            return Ok(Step::Cut);
        }
        let next = hit.unwrap_or(end);
        // Its last message may reach over what was found.
        let whole = part.whole.filter(|whole| whole.offset + whole.len <= next);
        let served_to = whole.as_ref().map_or(chunk.offset, |whole| whole.offset + whole.len);
        let bytes = next.saturating_sub(served_to);
        self.note(chunk.offset, DamageKind::Skipped { bytes, reason: Box::new(kind) });
        chunk.stored_len = next.saturating_sub(chunk.offset);
        self.contents.chunks.push(whole.unwrap_or(chunk));
        Ok(hit.map_or(Step::End, Step::Next))
    }

    /// The part of an incomplete chunk that is there: of an uncompressed one the whole messages,
    /// up to the first whose channel is not known.
    fn take_part(&mut self, chunk: &Chunk, available: u64) -> Result<Part, BagError> {
        let len = usize::try_from(available).unwrap_or_default();
        let bytes = self.window.bytes(chunk.offset, len)?;
        if chunk.compression != Compression::None || chunk.len != chunk.stored_len {
            let limit = self.options.max_chunk_bytes;
            let is_open = Inflater::is_first_part(chunk.compression, bytes, chunk.len, limit);
            return Ok(Part { whole: None, search_from: chunk.offset, is_open });
        }
        let walk = PartWalk::over(bytes);
        let search_from = chunk.offset + walk.last;
        let is_open = walk.is_open;
        // Where other bytes stand behind the last record, they may be a part of it.
        let trusted = if is_open { walk.end } else { walk.last };
        let part = |len: u64| Chunk {
            stored_len: len,
            len,
            crc: 0,
            verdict: Verdict::Unchecked,
            ..chunk.clone()
        };
        self.declare_in(&part(trusted))?;
        let bytes =
            self.window.bytes(chunk.offset, usize::try_from(trusted).unwrap_or_default())?;
        let mut whole = 0;
        for record in Records::new(bytes).flatten() {
            let is_strange = record.opcode == opcode::MESSAGE
                && MessageRecord::parse(record.body)
                    .is_ok_and(|message| self.registry.channel(message.channel_id).is_none());
            if is_strange {
                break;
            }
            whole += (HEADER_LEN + record.body.len()) as u64;
        }
        let tally = self.tally_chunk(&part(whole), &mut Vec::new())?;
        let whole = (!tally.channels.is_empty()).then(|| tally.of(part(whole)));
        Ok(Part { whole, search_from, is_open })
    }

    /// Inflates a chunk and checks it: into the reused buffer, or where it lies when it is not
    /// compressed. `is_met` when the pass goes over it, not when it is only tried.
    pub(super) fn open_chunk(
        &mut self,
        chunk: &Chunk,
        is_met: bool,
    ) -> Result<Result<Verdict, DamageKind>, BagError> {
        let limit = self.options.max_chunk_bytes;
        let stored_len = match usize::try_from(chunk.stored_len) {
            Ok(len) if chunk.stored_len <= limit => len,
            _ => {
                let declared = chunk.stored_len;
                return Ok(Err(DamageKind::ChunkTooLarge { declared, limit }));
            }
        };
        let mut data_hash = self.data_hash.as_mut().filter(|_| is_met);
        if let Some(hash) = &mut data_hash {
            hash.advance(&mut self.window, chunk.offset)?;
        }
        let stored = self.window.bytes(chunk.offset, stored_len)?;
        let is_plain = chunk.compression == Compression::None;
        let bytes: &[u8] = if is_plain {
            if chunk.len != chunk.stored_len {
                return Ok(Err(DamageKind::ChunkSize {
                    declared: chunk.len,
                    found: chunk.stored_len,
                }));
            }
            stored
        } else {
            if let Some(hash) = &mut data_hash {
                hash.take(chunk.offset, stored);
            }
            let inflated = self.inflater.inflate(
                chunk.compression,
                stored,
                chunk.len,
                chunk.crc != 0,
                limit,
                self.inflated,
            );
            if let Err(kind) = inflated {
                return Ok(Err(kind));
            }
            self.inflated
        };
        if chunk.crc == 0 {
            return Ok(Ok(Verdict::Unchecked));
        }
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(bytes);
        if let Some(hash) = data_hash.filter(|_| is_plain) {
            hash.take_hashed(chunk.offset, bytes.len() as u64, &hasher);
        }
        let found = hasher.finalize();
        if found != chunk.crc {
            return Ok(Err(DamageKind::Crc { expected: chunk.crc, found }));
        }
        Ok(Ok(Verdict::Intact))
    }

    /// Walks the records of a chunk that was opened. What it declares holds for the whole of it,
    /// so that it can be read by itself. Also tells whether its records break off.
    fn walk_chunk(&mut self, chunk: &Chunk) -> Result<(Tally, bool), BagError> {
        let mut faults = self.declare_in(chunk)?;
        let tally = self.tally_chunk(chunk, &mut faults)?;
        let is_broken = faults.iter().any(|kind| matches!(kind, DamageKind::Truncated { .. }));
        for kind in faults {
            self.note(chunk.offset, kind);
        }
        Ok((tally, is_broken))
    }

    fn declare_in(&mut self, chunk: &Chunk) -> Result<Vec<DamageKind>, BagError> {
        let bytes = opened(&mut self.window, self.inflated, chunk)?;
        let mut faults = Vec::new();
        let mut has_messages = false;
        let mut strange: Vec<u16> = Vec::new();
        for record in Records::new(bytes) {
            let outcome = record.and_then(|record| match record.opcode {
                opcode::SCHEMA | opcode::CHANNEL => self.registry.declare(
                    Arc::make_mut(&mut self.contents.declared),
                    record.opcode,
                    record.body,
                ),
                opcode::MESSAGE => {
                    has_messages = true;
                    let id = record.body.first_chunk().map(|id| u16::from_le_bytes(*id));
                    let id = id.filter(|id| self.registry.channel(*id).is_none());
                    strange.extend(id.filter(|id| strange.last() != Some(id)));
                    Ok(None)
                }
                _ => Ok(None),
            });
            match outcome {
                Ok(Some(channel)) if has_messages => {
                    faults.push(DamageKind::ChannelConflict { channel });
                }
                Ok(_) => {}
                Err(kind) => faults.push(kind),
            }
        }
        if strange.iter().any(|id| self.registry.channel(*id).is_none()) {
            // Its declaration may be in what was lost.
            self.declare_from_summary()?;
        }
        Ok(faults)
    }

    /// Counts the messages of a chunk and shows them, except those that were shown when the chunk
    /// was incomplete.
    fn tally_chunk(
        &mut self,
        chunk: &Chunk,
        faults: &mut Vec<DamageKind>,
    ) -> Result<Tally, BagError> {
        let shown_to = match self.shown {
            Some((offset, len)) if offset == chunk.offset => len,
            _ => 0,
        };
        let bytes = opened(&mut self.window, self.inflated, chunk)?;
        let mut tally = Tally::default();
        let mut end = 0;
        for record in Records::new(bytes).flatten() {
            end += (HEADER_LEN + record.body.len()) as u64;
            if record.opcode != opcode::MESSAGE {
                continue;
            }
            match MessageRecord::parse(record.body) {
                Ok(message) => {
                    if let Some(message) = tally.add(&self.registry, &message)
                        && end > shown_to
                    {
                        self.visitor.message(&self.contents, &message);
                    }
                }
                Err(kind) => faults.push(kind),
            }
        }
        Ok(tally)
    }

    pub(super) fn finish_chunk(&mut self, tally: Tally, chunk: Chunk) {
        for (channel, messages) in &tally.unknown {
            let kind = DamageKind::UnknownChannel { channel: *channel, messages: *messages };
            self.note(chunk.offset, kind);
        }
        if tally.implausible > 0 {
            self.note(chunk.offset, DamageKind::ImplausibleTime { messages: tally.implausible });
        }
        let chunk = tally.of(chunk);
        if !chunk.channels.is_empty() {
            self.see_time(chunk.first.as_ns());
            self.see_time(chunk.last.as_ns());
        }
        self.contents.chunks.push(chunk);
    }
}

/// What there is of an incomplete chunk.
struct Part {
    /// The messages that are whole.
    whole: Option<Chunk>,
    /// Where other records may start.
    search_from: u64,
    /// Whether the bytes up to the end are those of this chunk and no others.
    is_open: bool,
}

/// The records in the first part of an uncompressed chunk.
#[derive(Debug, Default)]
struct PartWalk {
    /// Where the last whole record starts.
    last: u64,
    /// Where it ends.
    end: u64,
    /// Whether an incomplete record follows, or nothing, or zeros.
    is_open: bool,
}

impl PartWalk {
    fn over(bytes: &[u8]) -> Self {
        let may_stand =
            |op: u8| matches!(op, opcode::SCHEMA | opcode::CHANNEL | opcode::MESSAGE) || op >= 0x80;
        let mut walk = Self::default();
        for record in Records::new(bytes).map_while(Result::ok) {
            if !may_stand(record.opcode) {
                break;
            }
            walk.last = walk.end;
            walk.end += (HEADER_LEN + record.body.len()) as u64;
        }
        let rest = usize::try_from(walk.end).ok().and_then(|end| bytes.get(end..));
        let rest = rest.unwrap_or_default();
        walk.is_open = match record_header(rest) {
            // A record of 4 GiB is no record.
            Some((op, len)) => may_stand(op) && u32::try_from(len).is_ok(),
            None => rest.first().is_none_or(|op| may_stand(*op)),
        } || rest.iter().all(|byte| *byte == 0);
        walk
    }
}

/// A chunk as its header has it, before anything of it is believed.
fn chunk_of(header: &ChunkHeader, body_at: u64) -> Chunk {
    Chunk {
        offset: body_at + header.header_len as u64,
        stored_len: header.stored_len,
        len: header.len,
        compression: Compression::None,
        crc: header.crc,
        verdict: Verdict::Damaged,
        is_loose: false,
        is_sorted: true,
        first: LogTime::from_ns(header.span.0),
        last: LogTime::from_ns(header.span.1),
        channels: Vec::new(),
        index_len: 0,
    }
}
