//! The one pass over a file that finds out what it holds, believing no index.

use std::sync::Arc;

use ros2_memory_time::LogTime;

use super::{
    checksums::{DataHash, SummaryCrc},
    loose::Run,
    plausible::exact_chunk,
    record::{self, DATA_END_LEN, FOOTER_LEN, HEADER_LEN, MAGIC, opcode},
    registry::Registry,
    resync::Search,
    summary::{Footer, read_footer},
};
use crate::{
    BagError, Contents, Damage, DamageKind, Declarations, Ending, Losses, ReadOptions, Source,
    inflate::Inflater, source::Window,
};

/// Sees every message of a pass, in file order, once the bytes around it were checked.
pub trait Visitor {
    /// Called for each message that can be served.
    fn message(&mut self, contents: &Contents, message: &ScannedMessage<'_>);
}

impl Visitor for () {
    fn message(&mut self, _contents: &Contents, _message: &ScannedMessage<'_>) {}
}

/// One message as a pass sees it.
#[derive(Debug, Clone, Copy)]
pub struct ScannedMessage<'a> {
    /// The channel, by place in [`crate::Declarations::channels`].
    pub channel: u32,
    /// When it was recorded.
    pub log_time: LogTime,
    /// The serialized message.
    pub payload: &'a [u8],
}

/// How many bytes are looked at in one step.
const SEARCH_BYTES: usize = 1 << 16;
/// Faults past this many are not listed.
const MAX_DAMAGE: usize = 1000;

/// Goes over a whole file and returns what it holds; `visitor` sees every message on the way.
///
/// Each chunk is inflated once, its CRC checked where it has one, and its records walked. A bad
/// chunk is noted and hides no other, and behind bytes that are no record the next whole one is
/// searched for, with or without an index. A file without its ending is read up to its last
/// whole record, and of an uncompressed chunk that is cut off there the whole messages are served.
/// The checksums of the data section and of the summary are verified where the file has them.
///
/// # Errors
///
/// [`BagError::UnknownFormat`] when the file is no MCAP file, [`BagError::Io`] when it cannot be
/// read. Everything else that is wrong is in [`Contents::damage`].
pub fn scan(
    source: &mut Source,
    options: &ReadOptions,
    buffers: &mut ScanBuffers,
    visitor: &mut dyn Visitor,
) -> Result<Contents, BagError> {
    check_start(source)?;
    let start = MAGIC.len() as u64;
    let nothing = Contents { ending: Ending::Open { served_to: start }, ..Contents::default() };
    scan_on(source, options, buffers, visitor, nothing)
}

/// Whether the file starts as a recording does.
///
/// # Errors
///
/// [`BagError::UnknownFormat`] when it does not.
pub(super) fn check_start(source: &Source) -> Result<(), BagError> {
    let mut scratch = Vec::new();
    let head_len = usize::try_from(source.len()).unwrap_or(usize::MAX).min(MAGIC.len());
    let head = source.read(0, head_len, &mut scratch)?;
    if head == MAGIC {
        return Ok(());
    }
    Err(BagError::UnknownFormat { found: head.to_vec(), path: source.path().to_owned() })
}

/// Goes on with a file that was not closed when `known` was found out, where that pass ended;
/// `visitor` sees the messages behind it. The contents of a closed file come back as they are.
///
/// What was lost in front of that place stays lost, although the summary of a file that has been
/// closed since may help: contents with damage are better found out anew. The checksum of the
/// whole data section is verified only by a pass over all of it.
///
/// # Errors
///
/// [`BagError::Io`] when the file cannot be read.
pub fn scan_on(
    source: &mut Source,
    options: &ReadOptions,
    buffers: &mut ScanBuffers,
    visitor: &mut dyn Visitor,
    mut known: Contents,
) -> Result<Contents, BagError> {
    let Ending::Open { served_to } = known.ending else { return Ok(known) };
    let footer = read_footer(source)?;
    if footer.is_some() {
        source.map_if_large(options);
    }
    let data_hash =
        if served_to == MAGIC.len() as u64 { DataHash::new(source, footer)? } else { None };
    // A chunk behind the end is one that was incomplete: it is read again.
    let incomplete = known.chunks.pop_if(|chunk| chunk.offset > served_to);
    let mut pass = Pass {
        window: Window::new(source, std::mem::take(&mut buffers.window)),
        len: source.len(),
        options,
        inflater: &mut buffers.inflater,
        inflated: &mut buffers.inflated,
        visitor,
        registry: Registry::at_end_of(&known.declared).like(buffers.declared.clone()),
        has_chunks: known.chunks.iter().any(|chunk| !chunk.is_loose),
        has_loose: known.chunks.iter().any(|chunk| chunk.is_loose),
        span: known.time_span().map(|(first, last)| (first.as_ns(), last.as_ns())),
        contents: known,
        run: None,
        footer,
        seen_chunks: Vec::new(),
        indexed: None,
        is_summary_declared: false,
        is_behind_data: false,
        shown: incomplete.map(|chunk| (chunk.offset, chunk.len)),
        data_hash,
        summary_crc: SummaryCrc::Unread,
        search: Search::default(),
        scratch: std::mem::take(&mut buffers.scratch),
    };
    let result = pass.walk(served_to);
    if let Some(kind) = source.inflate_fault()
        && !pass.contents.damage.iter().any(|damage| damage.kind == *kind)
    {
        pass.note(source.len(), kind.clone());
    }
    buffers.scratch = std::mem::take(&mut pass.scratch);
    buffers.window = pass.window.into_buffer();
    result?;
    let declared = &mut pass.contents.declared;
    if **declared == *buffers.declared {
        declared.clone_from(&buffers.declared);
    } else {
        buffers.declared.clone_from(declared);
    }
    Ok(pass.contents)
}

/// The buffers of a pass, kept from one file to the next, and what the last file declares: one
/// that declares the same shares it.
#[derive(Debug, Default)]
pub struct ScanBuffers {
    declared: Arc<Declarations>,
    window: Vec<u8>,
    inflated: Vec<u8>,
    scratch: Vec<u8>,
    inflater: Inflater,
}

impl ScanBuffers {
    /// Reads a small file as a whole, into a buffer that is kept, before [`scan`] goes over it.
    ///
    /// # Errors
    ///
    /// [`BagError::Io`] when reading fails.
    pub fn hold(&mut self, source: &mut Source) -> Result<(), BagError> {
        source.hold(std::mem::take(&mut self.window))
    }

    /// Takes back the buffer that a file was read into.
    pub fn take_back(&mut self, source: Source) {
        let buffer = source.into_buffer();
        if buffer.capacity() > self.window.capacity() {
            self.window = buffer;
        }
    }
}

/// What a pass knows on its way through a file.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that was seen on the way")]
pub(super) struct Pass<'p> {
    pub(super) window: Window<'p>,
    pub(super) len: u64,
    pub(super) options: &'p ReadOptions,
    pub(super) inflater: &'p mut Inflater,
    pub(super) inflated: &'p mut Vec<u8>,
    pub(super) visitor: &'p mut dyn Visitor,
    pub(super) contents: Contents,
    pub(super) registry: Registry,
    /// The run of messages outside chunks that is being gathered.
    pub(super) run: Option<Run>,
    pub(super) footer: Option<Footer>,
    /// Where a chunk was met, good or bad, ascending.
    pub(super) seen_chunks: Vec<u64>,
    /// Where the summary's index has chunks, ascending; read when it is first needed.
    pub(super) indexed: Option<Vec<u64>>,
    /// Whether the summary's declarations were taken in.
    pub(super) is_summary_declared: bool,
    /// Whether what follows is a summary, of a file that does not end there.
    pub(super) is_behind_data: bool,
    pub(super) has_chunks: bool,
    /// Whether the file has messages outside chunks.
    pub(super) has_loose: bool,
    /// The first and last log time so far.
    pub(super) span: Option<(u64, u64)>,
    /// The incomplete chunk whose first bytes were shown by the pass before: where they start and
    /// how many they are.
    pub(super) shown: Option<(u64, u64)>,
    pub(super) data_hash: Option<DataHash>,
    pub(super) summary_crc: SummaryCrc,
    pub(super) search: Search,
    /// For bytes outside the window.
    pub(super) scratch: Vec<u8>,
}

/// Where to go on behind a record.
pub(super) enum Step {
    Next(u64),
    /// The data section is over.
    End,
    /// A chunk that is cut off by the end of the file.
    Cut,
    Broken(DamageKind),
}

impl Pass<'_> {
    fn walk(&mut self, start: u64) -> Result<(), BagError> {
        let mut position = start;
        loop {
            let next = match self.step(position)? {
                Step::Next(next) => Some(next),
                Step::End => self.behind_end(position)?,
                Step::Cut => None,
                Step::Broken(kind) => self.behind_break(position, kind)?,
            };
            let Some(next) = next else { break };
            if let Some(hash) = &mut self.data_hash {
                hash.advance(&mut self.window, next)?;
            }
            position = next;
        }
        self.close_run();
        // A closed file whose middle is broken has its ending all the same.
        self.contents.ending = if self.footer.is_some() {
            // Some writers put channels without messages there and nowhere else.
            self.declare_from_summary()?;
            self.note_missing_chunks(start)?;
            self.check_data()?;
            self.check_summary()?;
            self.check_statistics()?;
            Ending::Closed
        } else {
            Ending::Open { served_to: position }
        };
        Ok(())
    }

    /// Handles the record at `position`.
    fn step(&mut self, position: u64) -> Result<Step, BagError> {
        let left = self.len.saturating_sub(position);
        if left < HEADER_LEN as u64 {
            let (what, needed) =
                if left == 0 { ("data section", 1) } else { ("record header", HEADER_LEN as u64) };
            return Ok(Step::Broken(DamageKind::Truncated { what, needed, available: left }));
        }
        if self.head(position)?.starts_with(MAGIC) {
            return self.second_file(position);
        }
        let Some((op, body_len)) = record::header(self.window.bytes(position, HEADER_LEN)?) else {
            return Ok(Step::Broken(DamageKind::Zeros));
        };
        let body_at = position + HEADER_LEN as u64;
        let available = self.len - body_at;
        let body_len = match self.corrected_len(position, op, body_len)? {
            Some(expected) => {
                // A run can be walked from end to end.
                self.close_run();
                self.note(position, DamageKind::RecordLength { length: body_len, expected });
                expected
            }
            None => body_len,
        };
        if body_len > available {
            if op == opcode::CHUNK {
                return self.cut_chunk(position, body_len);
            }
            let what = match op {
                0 => return Ok(Step::Broken(DamageKind::Zeros)),
                op if record::is_known(op) => "record",
                _ => "unknown record",
            };
            return Ok(Step::Broken(DamageKind::Truncated { what, needed: body_len, available }));
        }
        if op == opcode::CHUNK {
            self.is_behind_data = false;
            return self.chunk(position, op, body_len);
        }
        let next = body_at + body_len;
        match op {
            opcode::DATA_END if self.ends_data(body_len, next) => return Ok(Step::End),
            opcode::FOOTER if self.ends_file(body_len, position) => return Ok(Step::End),
            _ => {}
        }
        if self.is_chunk_inside(position)? {
            return self.chunk(position, op, body_len);
        }
        if op == opcode::MESSAGE && !self.has_loose {
            self.see_loose(position)?;
        }
        if op == 0 {
            for lost in [opcode::CHANNEL, opcode::SCHEMA] {
                if self.is_confirmed(position, lost, next)?
                    && self.leads_on_behind(position, lost, next)?
                {
                    // The messages behind it may be of no other channel.
                    self.close_run();
                    self.note(position, DamageKind::Zeros);
                    self.declaration(lost, body_at, body_len)?;
                    return Ok(Step::Next(next));
                }
            }
            if body_len == 0 || !self.leads_on(next)? {
                return Ok(Step::Broken(DamageKind::Zeros));
            }
            if let Some(inside) = self.find(position + 1, u64::MAX)?.filter(|hit| *hit < next) {
                self.break_at(position, inside, DamageKind::Zeros);
                return Ok(Step::Next(inside));
            }
            // Its opcode was changed, and nothing else of it.
            self.close_run();
            self.note(position, DamageKind::Zeros);
            return Ok(Step::Next(next));
        }
        if let Some(inside) = self.swallowed(position, op, next)? {
            let kind =
                DamageKind::Overlap { length: body_len, room: inside.saturating_sub(body_at) };
            self.break_at(position, inside, kind);
            return Ok(Step::Next(inside));
        }
        match op {
            opcode::MESSAGE => {
                self.is_behind_data = false;
                self.loose_message(position, body_at, body_len)?;
            }
            opcode::HEADER | opcode::SCHEMA | opcode::CHANNEL => {
                self.declaration(op, body_at, body_len)?;
            }
            opcode::ATTACHMENT => self.contents.n_attachments += 1,
            opcode::METADATA => self.contents.n_metadata += 1,
            opcode::DATA_END if body_len == DATA_END_LEN => self.is_behind_data = true,
            // Something else became a footer, perhaps a declaration that is now missing.
            opcode::FOOTER if body_len != FOOTER_LEN => {
                let kind = DamageKind::RecordLength { length: body_len, expected: FOOTER_LEN };
                self.note(position, kind);
            }
            // Indexes say nothing that the walk does not see; unknown records are skipped, as
            // the specification asks.
            _ => {}
        }
        Ok(Step::Next(next))
    }

    /// Whether a record of data end is one: messages may lie behind a byte that was changed into
    /// its opcode. A summary that is walked by mistake repeats what is known.
    fn ends_data(&self, body_len: u64, next: u64) -> bool {
        body_len == DATA_END_LEN
            && self.footer.is_none_or(|footer| match footer.summary_start {
                0 => next == footer.at,
                summary_start => next == summary_start,
            })
    }

    fn ends_file(&self, body_len: u64, position: u64) -> bool {
        body_len == FOOTER_LEN && self.footer.is_none_or(|footer| footer.at == position)
    }

    /// Whether the record at `position`, whatever it says it is, holds the fields of a chunk and
    /// nothing else: a changed byte made something else of it.
    fn is_chunk_inside(&mut self, position: u64) -> Result<bool, BagError> {
        let head = self.head(position)?;
        Ok(exact_chunk(head).is_some_and(|header| header.stored_len > 0))
    }

    /// A whole record inside the one from `position` to `next`, when that one leads nowhere: its
    /// length was changed.
    fn swallowed(&mut self, position: u64, op: u8, next: u64) -> Result<Option<u64>, BagError> {
        let leads_on = self.leads_on(next)? || self.is_confirmed(position, op, next)?;
        // Where it leads may look like a record by chance, and a chunk of the index by none.
        if leads_on && self.indexed_inside(position, next)?.is_none() {
            return Ok(None);
        }
        let hit = self.find(position + 1, position + 1)?;
        Ok(hit.filter(|hit| *hit < next))
    }

    /// The end of a file in the middle of another, or the start of the next one.
    fn second_file(&mut self, position: u64) -> Result<Step, BagError> {
        let next = position + MAGIC.len() as u64;
        if self.is_second_file(position)? {
            self.close_run();
            self.note(position, DamageKind::SecondFile);
            self.registry.forget();
            // The summary is that of the last file, if these are two at all.
            self.is_summary_declared = false;
            self.is_behind_data = false;
            return Ok(Step::Next(next));
        }
        if self.head(next)?.starts_with(MAGIC) {
            return Ok(Step::Next(next));
        }
        Ok(Step::Broken(DamageKind::SecondFile))
    }

    /// Where to go on behind bytes that are no record; `None` when nothing is to be found there.
    fn behind_break(&mut self, position: u64, kind: DamageKind) -> Result<Option<u64>, BagError> {
        self.see_loose(position)?;
        let hit = self.find(position + 1, position + 1)?;
        if let Some(hit) = hit {
            self.break_at(position, hit, kind);
        } else if self.footer.is_some() {
            let end = self.data_limit()?.max(position);
            self.break_at(position, end, kind);
        } else {
            self.note_bytes_behind(position, kind)?;
            return Ok(None);
        }
        self.seen_chunks.push(position);
        Ok(hit)
    }

    /// Where to go on behind the end of the data section: nowhere, unless the file goes on as if
    /// it had none.
    fn behind_end(&mut self, position: u64) -> Result<Option<u64>, BagError> {
        if self.footer.is_some() {
            return Ok(None);
        }
        let hit = self.find(position + 1, u64::MAX)?;
        if let Some(hit) = hit {
            self.break_at(position, hit, DamageKind::BehindEnd);
        }
        Ok(hit)
    }

    /// Notes that nothing from `position` to `next` is a record.
    fn break_at(&mut self, position: u64, next: u64, kind: DamageKind) {
        self.close_run();
        let bytes = next - position;
        self.note(position, DamageKind::Skipped { bytes, reason: Box::new(kind) });
    }

    /// Notes what stands behind zeros in a file without its ending. A record that is cut off by the
    /// end of the file is how a file looks that is being written, and zeros up to the end how one
    /// looks after a loss of power; but data behind them is lost.
    fn note_bytes_behind(&mut self, position: u64, kind: DamageKind) -> Result<(), BagError> {
        if kind != DamageKind::Zeros {
            return Ok(());
        }
        let mut at = position;
        while at < self.len {
            let left = usize::try_from(self.len - at).unwrap_or(usize::MAX);
            let bytes = self.window.bytes(at, left.min(SEARCH_BYTES))?;
            if bytes.iter().any(|byte| *byte != 0) {
                self.break_at(position, self.len, kind);
                break;
            }
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Notes the chunks that the summary's index has and the walk did not meet: a changed byte
    /// made something else of them.
    fn note_missing_chunks(&mut self, from: u64) -> Result<(), BagError> {
        let seen = std::mem::take(&mut self.seen_chunks);
        let missing: Vec<u64> = self
            .indexed_chunks()?
            .iter()
            .copied()
            .filter(|start| *start >= from && seen.binary_search(start).is_err())
            .collect();
        for start in missing {
            self.note(start, DamageKind::NoChunk);
        }
        Ok(())
    }

    pub(super) fn see_time(&mut self, ns: u64) {
        let (first, last) = self.span.unwrap_or((ns, ns));
        self.span = Some((first.min(ns), last.max(ns)));
    }

    pub(super) fn note(&mut self, offset: u64, kind: DamageKind) {
        let damage = &mut self.contents.damage;
        if damage.len() < MAX_DAMAGE {
            damage.push(Damage { offset, kind });
            return;
        }
        if damage.len() == MAX_DAMAGE {
            let text = format!("more than {MAX_DAMAGE} faults; from here on they are only counted");
            let kind = DamageKind::Remembered { text, losses: Losses::default() };
            damage.push(Damage { offset, kind });
        }
        if let Some(Damage { kind: DamageKind::Remembered { losses, .. }, .. }) = damage.last_mut()
        {
            *losses += kind.losses();
        }
    }
}
