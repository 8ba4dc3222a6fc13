//! The one pass over a file that finds out what it holds, believing no index.

use std::sync::Arc;

use ros2_memory_time::LogTime;

use super::{
    record::{self, ChunkHeader, DATA_END_LEN, HEADER_LEN, MAGIC, MessageRecord, Records, opcode},
    registry::Registry,
    summary::{Footer, chunk_index, each_declaration, read_footer},
    tally::Tally,
};
use crate::{
    BagError, Chunk, Compression, Contents, Damage, DamageKind, Ending, ReadOptions, Source,
    Verdict, inflate::Inflater, source::Window,
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

/// Messages outside chunks are gathered into runs of about this many bytes, so that one of them
/// can be reached without walking the whole file.
const RUN_BYTES: u64 = 1 << 20;
/// How many bytes are looked at in one step.
const SEARCH_BYTES: usize = 1 << 16;
/// Faults past this many are not listed.
const MAX_DAMAGE: usize = 1000;

/// Goes over a whole file and returns what it holds; `visitor` sees every message on the way.
///
/// Each chunk is inflated once, its CRC checked where it has one, and its records walked. A bad
/// chunk is noted and hides no other. A file without its ending is read up to its last whole
/// record.
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
    let mut scratch = Vec::new();
    let head_len = usize::try_from(source.len()).unwrap_or(usize::MAX).min(MAGIC.len());
    let head = source.read(0, head_len, &mut scratch)?;
    if head != MAGIC {
        return Err(BagError::UnknownFormat {
            found: head.to_vec(),
            path: source.path().to_owned(),
        });
    }
    let start = MAGIC.len() as u64;
    let nothing = Contents { ending: Ending::Open { served_to: start }, ..Contents::default() };
    scan_on(source, options, buffers, visitor, nothing)
}

/// Goes on with a file that was not closed when `known` was found out, where that pass ended;
/// `visitor` sees the messages behind it. The contents of a closed file come back as they are.
///
/// What was lost in front of that place stays lost, although the summary of a file that has been
/// closed since may help: contents with damage are better found out anew.
///
/// # Errors
///
/// [`BagError::Io`] when the file cannot be read.
pub fn scan_on(
    source: &mut Source,
    options: &ReadOptions,
    buffers: &mut ScanBuffers,
    visitor: &mut dyn Visitor,
    known: Contents,
) -> Result<Contents, BagError> {
    let Ending::Open { served_to } = known.ending else { return Ok(known) };
    let footer = read_footer(source)?;
    if footer.is_some() {
        source.map_if_large(options);
    }
    let mut pass = Pass {
        window: Window::new(source, std::mem::take(&mut buffers.window)),
        len: source.len(),
        options,
        inflater: &mut buffers.inflater,
        inflated: &mut buffers.inflated,
        visitor,
        registry: Registry::at_end_of(&known.declared),
        contents: known,
        run: None,
        footer,
        seen_chunks: Vec::new(),
        indexed: None,
        is_summary_declared: false,
    };
    let result = pass.walk(served_to);
    buffers.window = pass.window.into_buffer();
    result.map(|()| pass.contents)
}

/// The buffers of a pass, kept from one file to the next.
#[derive(Debug, Default)]
pub struct ScanBuffers {
    window: Vec<u8>,
    inflated: Vec<u8>,
    inflater: Inflater,
}

struct Pass<'p> {
    window: Window<'p>,
    len: u64,
    options: &'p ReadOptions,
    inflater: &'p mut Inflater,
    inflated: &'p mut Vec<u8>,
    visitor: &'p mut dyn Visitor,
    contents: Contents,
    registry: Registry,
    /// The run of messages outside chunks that is being gathered.
    run: Option<Run>,
    footer: Option<Footer>,
    /// Where a chunk was met, good or bad, ascending.
    seen_chunks: Vec<u64>,
    /// Where the summary's index has chunks, ascending; read when it is first needed.
    indexed: Option<Vec<u64>>,
    /// Whether the summary's declarations were taken in.
    is_summary_declared: bool,
}

/// Messages outside chunks that follow each other.
struct Run {
    start: u64,
    end: u64,
    tally: Tally,
}

impl Pass<'_> {
    fn walk(&mut self, start: u64) -> Result<(), BagError> {
        let mut position = start;
        loop {
            match self.step(position)? {
                Step::Next(next) => position = next,
                Step::End => break,
                Step::Broken(kind) if self.footer.is_none() => {
                    self.note_bytes_behind(position, kind)?;
                    break;
                }
                Step::Broken(kind) => {
                    self.note(position, kind);
                    self.seen_chunks.push(position);
                    self.declare_from_summary()?;
                    match self.chunk_behind(position)? {
                        Some(next) => position = next,
                        None => break,
                    }
                }
            }
        }
        self.close_run();
        // A closed file whose middle is broken has its ending all the same.
        self.contents.ending = if self.footer.is_some() {
            self.note_missing_chunks(start)?;
            Ending::Closed
        } else {
            Ending::Open { served_to: position }
        };
        Ok(())
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
                self.note(position, kind);
                break;
            }
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Handles the record at `position`.
    fn step(&mut self, position: u64) -> Result<Step, BagError> {
        let left = self.len.saturating_sub(position);
        if left == 0 {
            return Ok(Step::Broken(DamageKind::Truncated {
                what: "data section",
                needed: 1,
                available: 0,
            }));
        }
        if left < HEADER_LEN as u64 {
            return Ok(Step::Broken(DamageKind::Truncated {
                what: "record header",
                needed: HEADER_LEN as u64,
                available: left,
            }));
        }
        let (op, body_len) = match record::header(self.window.bytes(position, HEADER_LEN)?) {
            None | Some((0, _)) => return Ok(Step::Broken(DamageKind::Zeros)),
            Some(header) => header,
        };
        let body_at = position + HEADER_LEN as u64;
        let available = self.len - body_at;
        let is_foreign = !record::is_known(op);
        if body_len > available {
            return Ok(Step::Broken(DamageKind::Truncated {
                what: if is_foreign { "unknown record" } else { "record" },
                needed: body_len,
                available,
            }));
        }
        let next = body_at + body_len;
        match op {
            opcode::DATA_END if self.ends_data(body_len, next) => return Ok(Step::End),
            opcode::FOOTER if self.footer.is_none_or(|footer| footer.at == position) => {
                return Ok(Step::End);
            }
            opcode::CHUNK => {
                self.close_run();
                self.chunk(position, body_at, body_len)?;
            }
            opcode::MESSAGE => self.loose_message(position, body_at, body_len)?,
            opcode::HEADER | opcode::SCHEMA | opcode::CHANNEL => {
                self.declaration(op, body_at, body_len)?;
            }
            opcode::ATTACHMENT => self.contents.n_attachments += 1,
            opcode::METADATA => self.contents.n_metadata += 1,
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

    fn declaration(&mut self, op: u8, body_at: u64, body_len: u64) -> Result<(), BagError> {
        // A declaration longer than a chunk may be is damage, not a schema.
        let len = match usize::try_from(body_len) {
            Ok(len) if body_len <= self.options.max_chunk_bytes => len,
            _ => {
                let limit = self.options.max_chunk_bytes;
                self.note(body_at, DamageKind::ChunkTooLarge { declared: body_len, limit });
                return Ok(());
            }
        };
        let body = self.window.bytes(body_at, len)?;
        let known = self.contents.declared.channels.len();
        let declared = self.registry.declare(Arc::make_mut(&mut self.contents.declared), op, body);
        if let Err(kind) = declared {
            self.note(body_at, kind);
        }
        if self.contents.declared.channels.len() > known {
            // A run has one meaning for each number, so that it can be read by itself.
            self.close_run();
        }
        Ok(())
    }

    fn loose_message(
        &mut self,
        position: u64,
        body_at: u64,
        body_len: u64,
    ) -> Result<(), BagError> {
        let end = body_at + body_len;
        let len = match usize::try_from(body_len) {
            Ok(len) if end - position <= self.options.max_chunk_bytes => len,
            _ => {
                let (declared, limit) = (end - position, self.options.max_chunk_bytes);
                self.note(body_at, DamageKind::ChunkTooLarge { declared, limit });
                return Ok(());
            }
        };
        if self.run.as_ref().is_some_and(|run| end - run.start > RUN_BYTES) {
            self.close_run();
        }
        let message = MessageRecord::parse(self.window.bytes(body_at, len)?);
        let run = self.run.get_or_insert_with(|| Run {
            start: position,
            end: position,
            tally: Tally::default(),
        });
        match message {
            Ok(message) => {
                let seen = run.tally.add(&self.registry, &message);
                if let Some(message) = seen {
                    self.visitor.message(&self.contents, &message);
                }
                run.end = end;
            }
            Err(kind) => self.note(body_at, kind),
        }
        Ok(())
    }

    fn close_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let stored_len = run.end - run.start;
        self.finish_chunk(
            run.tally,
            Chunk {
                offset: run.start,
                stored_len,
                len: stored_len,
                compression: Compression::None,
                crc: 0,
                verdict: Verdict::Unchecked,
                is_sorted: true,
                first: LogTime::ZERO,
                last: LogTime::ZERO,
                channels: Vec::new(),
            },
        );
    }

    fn chunk(&mut self, position: u64, body_at: u64, body_len: u64) -> Result<(), BagError> {
        self.seen_chunks.push(position);
        let start_len = usize::try_from(body_len).unwrap_or(usize::MAX).min(ChunkHeader::MAX_LEN);
        let header = match ChunkHeader::parse(self.window.bytes(body_at, start_len)?) {
            Ok(header) => header,
            Err(kind) => {
                self.note(body_at, kind);
                return Ok(());
            }
        };
        let offset = body_at + header.header_len as u64;
        let available = body_len - header.header_len as u64;
        let mut chunk = Chunk {
            offset,
            stored_len: header.stored_len,
            len: header.len,
            compression: Compression::None,
            crc: header.crc,
            verdict: Verdict::Damaged,
            is_sorted: true,
            first: LogTime::from_ns(header.span.0),
            last: LogTime::from_ns(header.span.1),
            channels: Vec::new(),
        };
        let outcome = match compression_named(&header.compression) {
            None => Err(DamageKind::UnknownCompression { name: header.compression }),
            Some(_) if header.stored_len > available => {
                Err(DamageKind::Truncated { what: "chunk", needed: header.stored_len, available })
            }
            Some(compression) => {
                chunk.compression = compression;
                self.open_chunk(&mut chunk)?
            }
        };
        match outcome {
            Ok(tally) => self.finish_chunk(tally, chunk),
            Err(kind) => {
                self.note(offset, kind);
                self.contents.chunks.push(chunk);
                self.declare_from_summary()?;
            }
        }
        Ok(())
    }

    /// Takes in what the summary declares and nothing before did: a writer declares a channel in
    /// the chunk with its first message, and when that chunk is lost the others need it.
    fn declare_from_summary(&mut self) -> Result<(), BagError> {
        let footer = self.footer.filter(|footer| footer.summary_start != 0);
        if let Some(footer) = footer.filter(|_| !self.is_summary_declared) {
            self.is_summary_declared = true;
            let declared = Arc::make_mut(&mut self.contents.declared);
            let registry = &mut self.registry;
            each_declaration(&mut self.window, footer, self.options, |op, body| {
                // A summary that is damaged too declares what is whole in it.
                let _left_out = registry.declare_missing(declared, op, body);
            })?;
        }
        Ok(())
    }

    /// Inflates and checks a chunk, then walks its records.
    fn open_chunk(&mut self, chunk: &mut Chunk) -> Result<Result<Tally, DamageKind>, BagError> {
        let limit = self.options.max_chunk_bytes;
        let stored_len = match usize::try_from(chunk.stored_len) {
            Ok(len) if chunk.stored_len <= limit => len,
            _ => {
                let declared = chunk.stored_len;
                return Ok(Err(DamageKind::ChunkTooLarge { declared, limit }));
            }
        };
        let stored = self.window.bytes(chunk.offset, stored_len)?;
        let bytes: &[u8] = if chunk.compression == Compression::None {
            if chunk.len != chunk.stored_len {
                return Ok(Err(DamageKind::ChunkSize {
                    declared: chunk.len,
                    found: chunk.stored_len,
                }));
            }
            stored
        } else {
            let inflated =
                self.inflater.inflate(chunk.compression, stored, chunk.len, limit, self.inflated);
            if let Err(kind) = inflated {
                return Ok(Err(kind));
            }
            self.inflated
        };
        chunk.verdict = Verdict::Unchecked;
        if chunk.crc != 0 {
            let found = crc32fast::hash(bytes);
            if found != chunk.crc {
                chunk.verdict = Verdict::Damaged;
                return Ok(Err(DamageKind::Crc { expected: chunk.crc, found }));
            }
            chunk.verdict = Verdict::Intact;
        }
        // What a chunk declares holds for the whole of it, so that it can be read by itself.
        let mut faults = Vec::new();
        let mut has_messages = false;
        for record in Records::new(bytes) {
            let outcome = record.and_then(|record| match record.opcode {
                opcode::SCHEMA | opcode::CHANNEL => self.registry.declare(
                    Arc::make_mut(&mut self.contents.declared),
                    record.opcode,
                    record.body,
                ),
                op => {
                    has_messages |= op == opcode::MESSAGE;
                    Ok(None)
                }
            });
            match outcome {
                Ok(Some(channel)) if has_messages => {
                    faults.push(DamageKind::ChannelConflict { channel });
                }
                Ok(_) => {}
                Err(kind) => faults.push(kind),
            }
        }
        let mut tally = Tally::default();
        let messages = Records::new(bytes).flatten().filter(|r| r.opcode == opcode::MESSAGE);
        for record in messages {
            match MessageRecord::parse(record.body) {
                Ok(message) => {
                    if let Some(message) = tally.add(&self.registry, &message) {
                        self.visitor.message(&self.contents, &message);
                    }
                }
                Err(kind) => faults.push(kind),
            }
        }
        for kind in faults {
            self.note(chunk.offset, kind);
        }
        Ok(Ok(tally))
    }

    fn finish_chunk(&mut self, tally: Tally, mut chunk: Chunk) {
        for (channel, messages) in &tally.unknown {
            let kind = DamageKind::UnknownChannel { channel: *channel, messages: *messages };
            self.note(chunk.offset, kind);
        }
        if tally.implausible > 0 {
            self.note(chunk.offset, DamageKind::ImplausibleTime { messages: tally.implausible });
        }
        chunk.is_sorted = !tally.is_unsorted;
        chunk.first = tally.channels.iter().map(|c| c.first).min().unwrap_or_default();
        chunk.last = tally.channels.iter().map(|c| c.last).max().unwrap_or_default();
        chunk.channels = tally.channels;
        self.contents.chunks.push(chunk);
    }

    /// The next chunk behind a place that cannot be read, as the summary's index has it.
    fn chunk_behind(&mut self, position: u64) -> Result<Option<u64>, BagError> {
        let indexed = self.indexed_chunks()?;
        let next = indexed.partition_point(|start| *start <= position);
        Ok(indexed.get(next).copied())
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

    /// Where the summary's index has chunks, ascending; inside the data section only.
    fn indexed_chunks(&mut self) -> Result<&[u64], BagError> {
        if self.indexed.is_none() {
            let footer = self.footer.filter(|footer| footer.summary_start != 0);
            self.indexed = Some(match footer {
                Some(footer) => chunk_index(&mut self.window, footer)?,
                None => Vec::new(),
            });
        }
        Ok(self.indexed.as_deref().unwrap_or_default())
    }

    fn note(&mut self, offset: u64, kind: DamageKind) {
        if self.contents.damage.len() < MAX_DAMAGE {
            self.contents.damage.push(Damage { offset, kind });
        }
    }
}

enum Step {
    Next(u64),
    End,
    Broken(DamageKind),
}

fn compression_named(name: &str) -> Option<Compression> {
    match name {
        "" | "none" => Some(Compression::None),
        "lz4" => Some(Compression::Lz4),
        "zstd" => Some(Compression::Zstd),
        _ => None,
    }
}
