//! What a file holds as its own index has it: found without reading what the chunks hold, and
//! only when everything in the file agrees.
//!
//! The data section is walked from record to record, over the stored bytes of chunks. The message
//! indexes behind a chunk say how many messages of each channel it has and when; the summary must
//! say the same. Where anything is missing or contradicts, nothing is claimed and the file has to
//! be gone over.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use ros2_memory_time::LogTime;

use super::{
    index_record::{ChunkIndexRecord, MessageIndexRecord, StatisticsRecord},
    plausible::HEAD_LEN,
    record::{
        self, ChannelRecord, ChunkHeader, HEADER_LEN, MAGIC, MessageRecord, compression_named,
        opcode,
    },
    registry::Registry,
    scan::check_start,
    summary::{self, Footer, each_record, read_footer},
};
use crate::{
    BagError, Chunk, ChunkChannel, Contents, DamageKind, Declarations, Ending, ReadOptions, Source,
    Verdict, bag::MAX_PLAUSIBLE_NS, source::Window,
};

/// What the file's own index says that it holds; `None` when there is no such index, or when it
/// contradicts itself or the records that can be seen without opening a chunk.
///
/// A claimed chunk is read only with a check of what was claimed, see [`Verdict::Claimed`].
pub(crate) fn claimed_contents(
    source: &mut Source,
    options: &ReadOptions,
) -> Result<Option<Claimed>, BagError> {
    check_start(source)?;
    if source.inflate_fault().is_some() {
        return Ok(None);
    }
    let Some(footer) = read_footer(source)?.filter(|footer| footer.summary().is_some()) else {
        return Ok(None);
    };
    source.map_if_large(options);
    let Some((data_end, data_crc)) = summary::read_data_end(source, footer)? else {
        return Ok(None);
    };
    let mut window = Window::new(source, Vec::new());
    let Some(summary) = Summary::read(&mut window, footer, options)? else { return Ok(None) };
    let mut claims = Claims {
        window: Window::of_size(source, window.into_buffer(), READ_AHEAD),
        data_end,
        options,
        registry: Registry::default(),
        declared: Arc::new(Declarations::default()),
        chunks: Vec::new(),
        regions: summary.chunks.iter().map(|index| (index.start, index)).collect(),
        n_attachments: 0,
        n_metadata: 0,
        declared_outside: HashSet::new(),
    };
    if claims.walk(&summary)?.is_none() {
        return Ok(None);
    }
    // What only the checksum of the data section proves is proven by a pass.
    if data_crc != 0 && claims.chunks.iter().any(|chunk| chunk.crc == 0 && chunk.len > 0) {
        return Ok(None);
    }
    let contents = Contents {
        declared: claims.declared,
        chunks: claims.chunks,
        ending: Ending::Closed,
        damage: Vec::new(),
        n_attachments: claims.n_attachments,
        n_metadata: claims.n_metadata,
    };
    let declared_outside = claims.declared_outside;
    Ok(summary.agrees_with(&contents).then_some(Claimed { contents, declared_outside }))
}

/// What a file's own index says.
pub(crate) struct Claimed {
    pub(crate) contents: Contents,
    /// The numbers of the channels that are declared outside chunks.
    pub(crate) declared_outside: HashSet<u16>,
}

/// The numbers of the channels that a chunk declares.
pub(crate) fn channels_in(bytes: &[u8]) -> impl Iterator<Item = u16> {
    record::Records::new(bytes)
        .flatten()
        .filter(|record| record.opcode == opcode::CHANNEL)
        .filter_map(|record| ChannelRecord::parse(record.body).ok())
        .map(|channel| channel.id)
}

/// The parts of a summary that are compared.
struct Summary {
    chunks: Vec<ChunkIndexRecord>,
    statistics: StatisticsRecord,
    /// Schemas and channels, by opcode and body.
    declarations: Vec<(u8, Vec<u8>)>,
}

impl Summary {
    /// `None` when its checksum is wrong, when it is not whole, or when a part is missing.
    fn read(
        window: &mut Window<'_>,
        footer: Footer,
        options: &ReadOptions,
    ) -> Result<Option<Self>, BagError> {
        if summary::summary_crc(window, footer)?.is_some_and(|found| found != footer.summary_crc) {
            return Ok(None);
        }
        let (mut chunks, mut statistics, mut declarations) = (Vec::new(), None, Vec::new());
        let mut is_whole = true;
        let end = each_record(window, footer, |window, op, body_at, len| {
            let is_wanted = matches!(
                op,
                opcode::CHUNK_INDEX | opcode::STATISTICS | opcode::SCHEMA | opcode::CHANNEL
            );
            if !is_wanted || !is_whole || len > options.max_chunk_bytes {
                is_whole &= !is_wanted;
                return Ok(());
            }
            let body = window.bytes(body_at, usize::try_from(len).unwrap_or(usize::MAX))?;
            match op {
                opcode::CHUNK_INDEX => match ChunkIndexRecord::parse(body) {
                    Ok(index) => chunks.push(index),
                    Err(_) => is_whole = false,
                },
                opcode::STATISTICS => {
                    let parsed = StatisticsRecord::parse(body);
                    is_whole &= parsed.is_ok() && statistics.is_none();
                    statistics = parsed.ok();
                }
                _ => declarations.push((op, body.to_vec())),
            }
            Ok(())
        })?;
        let Some(statistics) = statistics.filter(|_| is_whole && end == footer.at) else {
            return Ok(None);
        };
        chunks.sort_by_key(|index| index.start);
        Ok(Some(Self { chunks, statistics, declarations }))
    }

    /// Whether each channel's schema is among those that the summary repeats.
    fn has_all_schemas(&self, declared: &Declarations) -> bool {
        let channels = || self.declarations.iter().filter(|(op, _)| *op == opcode::CHANNEL);
        let is_each_once = channels().count() == declared.channels.len();
        is_each_once
            && channels().zip(&declared.channels).all(|((_, body), channel)| {
                ChannelRecord::parse(body)
                    .is_ok_and(|parsed| (parsed.schema_id != 0) == channel.schema.is_some())
            })
    }

    /// Whether the statistics are those of these contents.
    fn agrees_with(&self, contents: &Contents) -> bool {
        let statistics = &self.statistics;
        let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
        for seen in contents.chunks.iter().flat_map(|chunk| &chunk.channels) {
            let Some(channel) = contents.declared.channel(seen.channel) else { return false };
            *counts.entry(channel.id).or_default() += u64::from(seen.count);
        }
        let span =
            contents.time_span().map_or((0, 0), |(first, last)| (first.as_ns(), last.as_ns()));
        let said: BTreeMap<u16, u64> = statistics.channel_counts.iter().copied().collect();
        let nonzero = |counts: &BTreeMap<u16, u64>| -> Vec<(u16, u64)> {
            counts.iter().filter(|(_, n)| **n > 0).map(|(id, n)| (*id, *n)).collect()
        };
        statistics.messages == contents.n_messages()
            && statistics.chunks == contents.chunks.len() as u64
            && statistics.attachments == contents.n_attachments
            && statistics.metadata == contents.n_metadata
            && statistics.span == span
            && said.len() == statistics.channel_counts.len()
            && nonzero(&said) == nonzero(&counts)
    }
}

/// What is gathered on the walk.
struct Claims<'c> {
    window: Window<'c>,
    data_end: u64,
    options: &'c ReadOptions,
    registry: Registry,
    declared: Arc<Declarations>,
    chunks: Vec<Chunk>,
    /// The entries of the chunk index that no chunk was met for yet.
    regions: BTreeMap<u64, &'c ChunkIndexRecord>,
    n_attachments: u64,
    n_metadata: u64,
    declared_outside: HashSet<u16>,
}

/// How much is read ahead: with the message indexes of a chunk the header of the next one, so that
/// a chunk costs one read.
const READ_AHEAD: usize = 4 << 10;

impl Claims<'_> {
    /// Walks the data section; `None` when something is not as the summary says, or not as a
    /// writer leaves it.
    fn walk(&mut self, summary: &Summary) -> Result<Option<()>, BagError> {
        let declared = Arc::make_mut(&mut self.declared);
        for op in [opcode::SCHEMA, opcode::CHANNEL] {
            for (_, body) in summary.declarations.iter().filter(|(each, _)| *each == op) {
                // A number that means two things cannot be told apart without its chunk.
                match self.registry.declare(declared, op, body) {
                    Ok(None) => {}
                    _ => return Ok(None),
                }
            }
        }
        if !summary.has_all_schemas(declared) || !is_unambiguous(declared) {
            return Ok(None);
        }
        let known = (declared.schemas.len(), declared.channels.len());
        let mut position = MAGIC.len() as u64;
        while position < self.data_end {
            let next = match self.regions.remove(&position) {
                Some(index) => self.chunk(index)?,
                None => self.record(position)?,
            };
            let Some(next) = next else { return Ok(None) };
            position = next;
        }
        let declared = &self.declared;
        let is_same = (declared.schemas.len(), declared.channels.len()) == known;
        Ok((position == self.data_end && self.regions.is_empty() && is_same).then_some(()))
    }

    /// A record that is no chunk of the index: where the next one starts.
    fn record(&mut self, position: u64) -> Result<Option<u64>, BagError> {
        let left = usize::try_from(self.data_end - position).unwrap_or(usize::MAX);
        let head = self.window.bytes(position, left.min(HEADER_LEN))?;
        let Some((op, body_len)) = record::header(head) else { return Ok(None) };
        let body_at = position + HEADER_LEN as u64;
        let Some(next) = body_at.checked_add(body_len).filter(|next| *next <= self.data_end) else {
            return Ok(None);
        };
        match op {
            // A chunk that the index lacks, messages that it cannot have, and records that stand
            // where no writer puts them.
            0
            | opcode::CHUNK
            | opcode::MESSAGE
            | opcode::MESSAGE_INDEX
            | opcode::FOOTER
            | opcode::DATA_END => return Ok(None),
            opcode::HEADER | opcode::SCHEMA | opcode::CHANNEL => {
                let len = match usize::try_from(body_len) {
                    Ok(len) if body_len <= self.options.max_chunk_bytes => len,
                    _ => return Ok(None),
                };
                let body = self.window.bytes(body_at, len)?;
                let declared = Arc::make_mut(&mut self.declared);
                if !matches!(self.registry.declare(declared, op, body), Ok(None)) {
                    return Ok(None);
                }
                if op == opcode::CHANNEL {
                    self.declared_outside.extend(ChannelRecord::parse(body).map(|c| c.id));
                }
            }
            opcode::ATTACHMENT => self.n_attachments += 1,
            opcode::METADATA => self.n_metadata += 1,
            _ => {}
        }
        Ok(Some(next))
    }

    /// A chunk that the index has at its place, with the message indexes behind it: where the next
    /// record starts.
    fn chunk(&mut self, index: &ChunkIndexRecord) -> Result<Option<u64>, BagError> {
        let record_end = index.start.checked_add(index.record_len);
        let end = record_end.and_then(|end| end.checked_add(index.message_index_len));
        let (Some(record_end), Some(end)) = (record_end, end) else { return Ok(None) };
        let limit = self.options.max_chunk_bytes;
        let has_room = end <= self.data_end
            && index.record_len >= HEADER_LEN as u64
            && index.len <= limit
            && index.stored_len <= limit
            && index.message_index_len <= limit;
        if !has_room {
            return Ok(None);
        }
        let record_len = usize::try_from(index.record_len).unwrap_or(usize::MAX);
        let head = self.window.bytes(index.start, record_len.min(HEAD_LEN))?;
        let body_len = index.record_len - HEADER_LEN as u64;
        let is_chunk = record::header(head) == Some((opcode::CHUNK, body_len));
        let header = ChunkHeader::parse(head.get(HEADER_LEN..).unwrap_or_default()).ok();
        let Some(header) = header.filter(|_| is_chunk) else { return Ok(None) };
        let Some(compression) = compression_named(&header.compression) else { return Ok(None) };
        let is_same = header.body_len() == body_len
            && header.stored_len == index.stored_len
            && header.len == index.len
            && compression_named(&index.compression) == Some(compression)
            && header.span == index.span;
        if !is_same {
            return Ok(None);
        }
        let index_len = usize::try_from(index.message_index_len).unwrap_or(usize::MAX);
        let left = usize::try_from(self.data_end - record_end).unwrap_or(usize::MAX);
        let bytes = self.window.bytes(record_end, left.min(index_len.saturating_add(HEAD_LEN)))?;
        let bytes = bytes.get(..index_len).unwrap_or_default();
        let Some(claim) = claim(bytes, record_end, index, &self.registry) else {
            return Ok(None);
        };
        self.chunks.push(Chunk {
            offset: index.start + (HEADER_LEN + header.header_len) as u64,
            stored_len: header.stored_len,
            len: header.len,
            compression,
            crc: header.crc,
            verdict: Verdict::Claimed,
            is_loose: false,
            index_len: 0,
            is_sorted: claim.is_sorted,
            first: LogTime::from_ns(index.span.0),
            last: LogTime::from_ns(index.span.1),
            channels: claim.channels,
        });
        Ok(Some(end))
    }
}

/// What the message indexes behind a chunk say of it.
struct Claim {
    channels: Vec<ChunkChannel>,
    is_sorted: bool,
}

/// Reads the message indexes in `bytes`, which start at `at`; `None` when they are not those that
/// the chunk's index has, or when a message could not be served.
fn claim(bytes: &[u8], at: u64, index: &ChunkIndexRecord, registry: &Registry) -> Option<Claim> {
    let mut places: BTreeMap<u16, u64> = index.message_indexes.iter().copied().collect();
    if places.len() != index.message_indexes.len() {
        return None;
    }
    let mut channels: Vec<(u64, ChunkChannel)> = Vec::new();
    let mut order: Vec<(u64, u64)> = Vec::new();
    let mut position = at;
    for record in record::Records::new(bytes) {
        let record = record.ok()?;
        let start = position;
        position += (HEADER_LEN + record.body.len()) as u64;
        if record.opcode != opcode::MESSAGE_INDEX {
            return None;
        }
        let parsed = MessageIndexRecord::parse(record.body).ok()?;
        // Some writers leave an empty one for each channel of the file, some without its place.
        let place = places.remove(&parsed.channel);
        if parsed.count() == 0 && place.is_none() {
            continue;
        }
        if place != Some(start) {
            return None;
        }
        let times = || parsed.entries().map(|(time, _)| time);
        let Some((first, last)) = times().min().zip(times().max()) else { continue };
        if last > MAX_PLAUSIBLE_NS {
            return None;
        }
        order.extend(parsed.entries().map(|(time, offset)| (offset, time)));
        let first_offset = parsed.entries().map(|(_, offset)| offset).min()?;
        let seen = ChunkChannel {
            channel: registry.channel(parsed.channel)?,
            count: u32::try_from(parsed.count()).ok()?,
            first: LogTime::from_ns(first),
            last: LogTime::from_ns(last),
        };
        channels.push((first_offset, seen));
    }
    order.sort_unstable();
    // No two messages start at one place, and none behind the chunk.
    let is_possible = order.windows(2).all(|pair| matches!(pair, [a, b] if a.0 < b.0))
        && order.last().is_none_or(|(offset, _)| *offset < index.len);
    let first = channels.iter().map(|(_, seen)| seen.first.as_ns()).min().unwrap_or_default();
    let last = channels.iter().map(|(_, seen)| seen.last.as_ns()).max().unwrap_or_default();
    // As a walk over the chunk meets them.
    channels.sort_unstable_by_key(|(offset, _)| *offset);
    (places.is_empty() && is_possible && (first, last) == index.span).then(|| Claim {
        channels: channels.into_iter().map(|(_, seen)| seen).collect(),
        is_sorted: order.is_sorted_by_key(|(_, time)| *time),
    })
}

/// Whether each number of a channel or schema means one thing.
fn is_unambiguous(declared: &Declarations) -> bool {
    let mut channels: Vec<u16> = declared.channels.iter().map(|channel| channel.id).collect();
    let mut schemas: Vec<u16> = declared.schemas.iter().map(|schema| schema.id).collect();
    channels.sort_unstable();
    schemas.sort_unstable();
    let is_distinct = |ids: &[u16]| ids.windows(2).all(|pair| matches!(pair, [a, b] if a != b));
    is_distinct(&channels) && is_distinct(&schemas)
}

/// Compares what a claimed chunk holds with what was claimed of it.
///
/// # Errors
///
/// The first difference.
pub(crate) fn check_claim(
    declared: &Declarations,
    chunk: &Chunk,
    bytes: &[u8],
) -> Result<(), DamageKind> {
    let lies = |what: &str, claimed, found| {
        Err(DamageKind::IndexLies { what: what.to_owned(), claimed, found })
    };
    let mut seen: Vec<(u16, Seen)> = Vec::with_capacity(chunk.channels.len());
    for claim in &chunk.channels {
        let Some(channel) = declared.channel(claim.channel) else {
            return lies("the number of channels", claim.channel.into(), 0);
        };
        seen.push((channel.id, Seen { count: 0, first: u64::MAX, last: 0 }));
    }
    let mut known: Option<(Registry, Declarations)> = None;
    for record in record::Records::new(bytes) {
        let record = record?;
        match record.opcode {
            opcode::SCHEMA | opcode::CHANNEL => {
                let (registry, known) =
                    known.get_or_insert_with(|| (Registry::at_end_of(declared), declared.clone()));
                registry.declare(known, record.opcode, record.body)?;
                if known != declared {
                    let n = |d: &Declarations| (d.schemas.len() + d.channels.len()) as u64;
                    return lies("the number of declarations", n(declared), n(known));
                }
            }
            opcode::MESSAGE => {
                let message = MessageRecord::parse(record.body)?;
                let Some((_, seen)) = seen.iter_mut().find(|(id, _)| *id == message.channel_id)
                else {
                    let what = format!("messages of channel {} in a chunk", message.channel_id);
                    return lies(&what, 0, 1);
                };
                seen.count += 1;
                seen.first = seen.first.min(message.log_time);
                seen.last = seen.last.max(message.log_time);
            }
            _ => {}
        }
    }
    for (claim, (id, seen)) in chunk.channels.iter().zip(&seen) {
        for (what, claimed, found) in [
            ("number of messages", u64::from(claim.count), seen.count),
            ("first time", claim.first.as_ns(), seen.first),
            ("last time", claim.last.as_ns(), seen.last),
        ] {
            if claimed != found {
                return lies(&format!("the {what} of channel {id} in a chunk"), claimed, found);
            }
        }
    }
    Ok(())
}

/// What a chunk holds of one channel.
struct Seen {
    count: u64,
    first: u64,
    last: u64,
}
