//! An entry as bytes.
//!
//! Numbers are unsigned LEB128 unless the table says *near*: then the zigzagged difference to a
//! base. Texts and runs of bytes stand behind their length, lists behind their count.
//!
//! ```text
//! declarations  profile text, library text,
//!               schemas   [ id, name text, encoding text, text bytes ],
//!               channels  [ id, topic text, schema + 1 or 0, message encoding text, qos text ]
//!
//! shared        text or bytes; entries have its number among the texts, or among the payloads
//!
//! bag           folder and start of the name as a shared text, rest of the path as bytes, device, inode, size, mtime (as u64), mark,
//!               base      the first log time of the bag, 0 without messages,
//!               ending    0 closed, else 1 + served_to
//!               attachments, metadata records,
//!               chunks    [ offset near the end of the chunk before it, stored length,
//!                           length, flags, crc, length of its proven indexes,
//!                           channels [ channel, count, first near base, last near first ],
//!                           without channels: first near base, last near first ]
//!               damage    [ offset, text, lost: chunks, chunk bytes, breaks, skipped bytes,
//!                           messages ]
//!               latched   [ channel, time near base, payload ]
//!               edges     [ parent, child, is_static, count, first near base,
//!                           last near first ]
//!               skew of transforms, indexed mark,
//!               sightings [ channel, is_complete | has_other_values << 1,
//!                           times  [ near the time before it plus the step before it; the
//!                                    first near base ],
//!                           labels [ label, ordinals [ behind the one before it ] ] ]
//!               words     [ channel, words [ word ] ]
//!               numbers   [ channel, zones [ path, min as 4 bytes, max as 4 bytes ],
//!                           0, or 1, path, cells [ x near the one before it, y likewise ],
//!                           0, or 1 and the drive ]
//!
//! in a sealed segment, what its tables hold is left out: all of sightings behind is_complete and
//! has_other_values, words, zones, cells behind their path, and drives
//!
//! flags         bits 0-1 compression (none, lz4, zstd), bits 2-3 and 5 verdict (intact,
//!               unchecked, damaged, claimed, doubtful), bit 4 is_sorted,
//!               bit 6 is_loose
//! ```

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use ros2_memory_bag::{
    Channel, Chunk, ChunkChannel, Compression, ContentMark, Contents, Damage, DamageKind,
    Declarations, Ending, FileIdentity, Losses, Schema, Verdict,
};
use ros2_memory_time::LogTime;

use crate::{
    BagEntry, Cells, CodecError, Drive, EdgeSpan, IndexedMark, LatchedMessage, Shared, Sharing,
    Sightings, TopicNumbers, TopicWords, Zone,
    codec::{Decoder, Encoder},
};

/// How much of an entry its bytes hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryForm {
    /// All of it.
    Whole,
    /// Without times, labels, words, zones, cells and drives: tables beside it hold these. Which
    /// topics have any is in it.
    BesideTables,
}

/// Declarations as bytes.
pub fn encode_declarations(declared: &Declarations) -> Vec<u8> {
    let mut out = Encoder::default();
    out.bytes(declared.profile.as_bytes());
    out.bytes(declared.library.as_bytes());
    out.number(declared.schemas.len() as u64);
    for schema in &declared.schemas {
        out.number(schema.id.into());
        out.bytes(schema.name.as_bytes());
        out.bytes(schema.encoding.as_bytes());
        out.bytes(&schema.text);
    }
    out.number(declared.channels.len() as u64);
    for channel in &declared.channels {
        out.number(channel.id.into());
        out.bytes(channel.topic.as_bytes());
        out.number(channel.schema.map_or(0, |schema| u64::from(schema) + 1));
        out.bytes(channel.message_encoding.as_bytes());
        out.bytes(channel.offered_qos_profiles.as_bytes());
    }
    out.0
}

/// Declarations from bytes.
///
/// # Errors
///
/// [`CodecError`] when the bytes are not those of declarations.
pub fn decode_declarations(bytes: &[u8]) -> Result<Declarations, CodecError> {
    let mut from = Decoder::new(bytes);
    let (profile, library) = (from.text()?.to_owned(), from.text()?.to_owned());
    let schemas = (0..from.count()?)
        .map(|_| {
            Ok(Schema {
                id: from.small("schema number")?,
                name: from.text()?.into(),
                encoding: from.text()?.into(),
                text: from.bytes()?.into(),
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let channels = (0..from.count()?)
        .map(|_| {
            Ok(Channel {
                id: from.small("channel number")?,
                topic: from.text()?.into(),
                schema: from.small::<u32>("schema")?.checked_sub(1),
                message_encoding: from.text()?.into(),
                offered_qos_profiles: from.text()?.into(),
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Declarations { profile, library, schemas, channels })
}

/// An entry as bytes, without its declarations and what it shares with others.
pub fn encode(entry: &BagEntry, sharing: &mut Sharing, form: EntryForm) -> Vec<u8> {
    let mut out = Encoder::default();
    let contents = &entry.contents;
    let (start, rest) = split_path(&entry.path);
    out.number(sharing.text(&start.into()));
    out.bytes(rest);
    out.number(entry.identity.device);
    out.number(entry.identity.inode);
    out.number(entry.identity.size_bytes);
    out.number(entry.identity.mtime_ns.cast_unsigned());
    out.number(entry.mark.0.into());
    let base = contents.time_span().map_or(0, |(first, _)| first.as_ns());
    out.number(base);
    out.number(match contents.ending {
        Ending::Closed => 0,
        Ending::Open { served_to } => served_to.saturating_add(1),
    });
    out.number(contents.n_attachments);
    out.number(contents.n_metadata);
    out.number(contents.chunks.len() as u64);
    let mut end = 0;
    for chunk in &contents.chunks {
        out.near(end, chunk.offset);
        end = chunk.offset.saturating_add(chunk.stored_len);
        encode_chunk(&mut out, base, chunk);
    }
    out.number(contents.damage.len() as u64);
    for damage in &contents.damage {
        out.number(damage.offset);
        out.bytes(damage.kind.to_string().as_bytes());
        let Losses { chunks, chunk_bytes, breaks, skipped_bytes, messages } = damage.kind.losses();
        for number in [chunks, chunk_bytes, breaks, skipped_bytes, messages] {
            out.number(number);
        }
    }
    out.number(entry.latched.len() as u64);
    for message in &entry.latched {
        out.number(message.channel.into());
        out.near(base, message.log_time.as_ns());
        out.number(sharing.payload(&message.payload));
    }
    out.number(entry.edges.len() as u64);
    for edge in &entry.edges {
        out.number(sharing.text(&edge.parent));
        out.number(sharing.text(&edge.child));
        out.number(edge.is_static.into());
        out.number(edge.count);
        out.near(base, edge.first.as_ns());
        out.near(edge.first.as_ns(), edge.last.as_ns());
    }
    out.number(entry.transform_skew_ns);
    out.number(entry.indexed.0.into());
    out.number(entry.sightings.len() as u64);
    for sightings in &entry.sightings {
        encode_sightings(&mut out, base, sightings, sharing, form);
    }
    out.number(entry.words.len() as u64);
    for words in &entry.words {
        out.number(words.channel.into());
        if form == EntryForm::Whole {
            out.number(words.words.len() as u64);
            words.words.iter().for_each(|word| out.number(sharing.text(word)));
        }
    }
    out.number(entry.numbers.len() as u64);
    for numbers in &entry.numbers {
        encode_numbers(&mut out, numbers, sharing, form);
    }
    out.0
}

fn encode_numbers(
    out: &mut Encoder,
    numbers: &TopicNumbers,
    sharing: &mut Sharing,
    form: EntryForm,
) {
    out.number(numbers.channel.into());
    let is_whole = form == EntryForm::Whole;
    if is_whole {
        out.number(numbers.zones.len() as u64);
        for zone in &numbers.zones {
            out.number(sharing.text(&zone.path));
            out.0.extend_from_slice(&zone.min.to_le_bytes());
            out.0.extend_from_slice(&zone.max.to_le_bytes());
        }
    }
    out.number(numbers.cells.is_some().into());
    if let Some(cells) = &numbers.cells {
        out.number(sharing.text(&cells.path));
        let cells = if is_whole { cells.cells.as_slice() } else { &[] };
        out.number(cells.len() as u64);
        let mut last = (0, 0);
        for (x, y) in cells {
            let wide = |part: i32| i64::from(part).cast_unsigned();
            out.near(wide(last.0), wide(*x));
            out.near(wide(last.1), wide(*y));
            last = (*x, *y);
        }
    }
    if is_whole {
        out.number(numbers.drive.is_some().into());
        out.0.extend(numbers.drive.iter().flat_map(Drive::to_bytes));
    }
}

fn encode_sightings(
    out: &mut Encoder,
    base: u64,
    sightings: &Sightings,
    sharing: &mut Sharing,
    form: EntryForm,
) {
    out.number(sightings.channel.into());
    out.number(u64::from(sightings.is_complete) | u64::from(sightings.has_other_values) << 1);
    if form == EntryForm::BesideTables {
        return;
    }
    out.number(sightings.times.len() as u64);
    encode_times(out, base, &sightings.times);
    out.number(sightings.labels.len() as u64);
    for (label, ordinals) in &sightings.labels {
        out.number(sharing.text(label));
        out.number(ordinals.len() as u64);
        let mut last = 0;
        for ordinal in ordinals {
            out.near(last, u64::from(*ordinal));
            last = u64::from(*ordinal);
        }
    }
}

/// Appends times that follow each other at about the same distance, the first near `base`.
pub fn encode_times(out: &mut Encoder, base: u64, times: &[LogTime]) {
    let (mut last, mut step) = (base, 0u64);
    for time in times {
        let ns = time.as_ns();
        out.near(last.wrapping_add(step), ns);
        (last, step) = (ns, ns.wrapping_sub(last));
    }
}

/// Reads `count` such times.
///
/// # Errors
///
/// [`CodecError`] when the bytes end before.
pub fn decode_times(
    from: &mut Decoder<'_>,
    base: u64,
    count: usize,
) -> Result<Vec<LogTime>, CodecError> {
    let (mut last, mut step) = (base, 0u64);
    (0..count)
        .map(|_| {
            let ns = from.near(last.wrapping_add(step))?;
            (last, step) = (ns, ns.wrapping_sub(last));
            Ok(LogTime::from_ns(ns))
        })
        .collect()
}

fn encode_chunk(out: &mut Encoder, base: u64, chunk: &Chunk) {
    out.number(chunk.stored_len);
    out.number(chunk.len);
    let compression = match chunk.compression {
        Compression::None => 0,
        Compression::Lz4 => 1,
        Compression::Zstd => 2,
    };
    let verdict = match chunk.verdict {
        Verdict::Intact => 0,
        Verdict::Unchecked => 1,
        Verdict::Damaged => 2,
        Verdict::Claimed => 3,
        Verdict::Doubtful => 4,
    };
    let verdict = (verdict & 3) << 2 | (verdict >> 2) << 5;
    let order = u64::from(chunk.is_sorted) << 4 | u64::from(chunk.is_loose) << 6;
    out.number(compression | verdict | order);
    out.number(chunk.crc.into());
    out.number(chunk.index_len);
    out.number(chunk.channels.len() as u64);
    if chunk.channels.is_empty() {
        out.near(base, chunk.first.as_ns());
        out.near(chunk.first.as_ns(), chunk.last.as_ns());
    }
    for seen in &chunk.channels {
        out.number(seen.channel.into());
        out.number(seen.count.into());
        out.near(base, seen.first.as_ns());
        out.near(seen.first.as_ns(), seen.last.as_ns());
    }
}

/// An entry from bytes, with the declarations that belong to it. What tables beside it hold is
/// empty then.
///
/// # Errors
///
/// [`CodecError`] when the bytes are not those of an entry, or name a channel that was not
/// declared, or something that is not among what is shared.
pub fn decode(
    bytes: &[u8],
    declared: &Arc<Declarations>,
    shared: &Shared,
    form: EntryForm,
) -> Result<BagEntry, CodecError> {
    let mut from = Decoder::new(bytes);
    let (path, identity) = decode_file(&mut from, shared)?;
    let path: Arc<Path> = path.into();
    let mark = ContentMark(from.small("mark")?);
    let base = from.number()?;
    let ending = match from.number()?.checked_sub(1) {
        None => Ending::Closed,
        Some(served_to) => Ending::Open { served_to },
    };
    let (n_attachments, n_metadata) = (from.number()?, from.number()?);
    let mut end = 0u64;
    let chunks = (0..from.count()?)
        .map(|_| {
            let offset = from.near(end)?;
            let chunk = decode_chunk(&mut from, base, offset, declared)?;
            end = offset.saturating_add(chunk.stored_len);
            Ok(chunk)
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    let damage = (0..from.count()?)
        .map(|_| {
            let offset = from.number()?;
            let text = from.text()?.to_owned();
            let losses = Losses {
                chunks: from.number()?,
                chunk_bytes: from.number()?,
                breaks: from.number()?,
                skipped_bytes: from.number()?,
                messages: from.number()?,
            };
            let kind = DamageKind::Remembered { text, losses };
            Ok(Damage { offset, kind })
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    let latched = (0..from.count()?)
        .map(|_| {
            Ok(LatchedMessage {
                channel: channel(&mut from, declared)?,
                log_time: LogTime::from_ns(from.near(base)?),
                payload: shared.payload(&mut from)?,
            })
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    let edges = (0..from.count()?)
        .map(|_| {
            let (parent, child) = (shared.text(&mut from)?, shared.text(&mut from)?);
            let is_static = from.number()? != 0;
            let count = from.number()?;
            let first = from.near(base)?;
            let last = from.near(first)?;
            Ok(EdgeSpan {
                parent,
                child,
                is_static,
                count,
                first: LogTime::from_ns(first),
                last: LogTime::from_ns(last),
            })
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    let transform_skew_ns = from.number()?;
    let indexed = IndexedMark(from.small("mark")?);
    let sightings = (0..from.count()?)
        .map(|_| decode_sightings(&mut from, base, declared, shared, form))
        .collect::<Result<Vec<_>, CodecError>>()?;
    let words = (0..from.count()?)
        .map(|_| {
            let channel = channel(&mut from, declared)?;
            let n_words = if form == EntryForm::Whole { from.count()? } else { 0 };
            let words = (0..n_words).map(|_| shared.text(&mut from)).collect::<Result<_, _>>()?;
            Ok(TopicWords { channel, words })
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    let numbers = (0..from.count()?)
        .map(|_| decode_numbers(&mut from, declared, shared, form))
        .collect::<Result<Vec<_>, CodecError>>()?;
    once_each(declared, sightings.iter().map(|of| of.channel))?;
    once_each(declared, words.iter().map(|of| of.channel))?;
    once_each(declared, numbers.iter().map(|of| of.channel))?;
    let contents =
        Contents { declared: declared.clone(), chunks, ending, damage, n_attachments, n_metadata };
    let contents = Arc::new(contents);
    Ok(BagEntry {
        path,
        identity,
        mark,
        contents,
        latched,
        edges,
        transform_skew_ns,
        sightings,
        words,
        numbers,
        indexed,
    })
}

/// That no two channels are of one topic.
fn once_each(
    declared: &Declarations,
    channels: impl Iterator<Item = u32>,
) -> Result<(), CodecError> {
    let mut topics = HashSet::new();
    for number in channels {
        let topic = declared.channel(number).map(|channel| &channel.topic);
        if !topics.insert(topic) {
            let what = "topic by itself";
            return Err(CodecError::Value { offset: 0, what, found: number.into() });
        }
    }
    Ok(())
}

fn decode_numbers(
    from: &mut Decoder<'_>,
    declared: &Declarations,
    shared: &Shared,
    form: EntryForm,
) -> Result<TopicNumbers, CodecError> {
    let channel = channel(from, declared)?;
    let is_whole = form == EntryForm::Whole;
    let zones = (0..if is_whole { from.count()? } else { 0 })
        .map(|_| {
            let path = shared.text(from)?;
            let (min, max) = (from.fixed()?, from.fixed()?);
            Ok(Zone { path, min: f32::from_le_bytes(min), max: f32::from_le_bytes(max) })
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    let has_cells = from.number()? != 0;
    let cells = has_cells.then(|| decode_cells(from, shared)).transpose()?;
    let has_drive = is_whole && from.number()? != 0;
    let drive = has_drive.then(|| from.fixed()).transpose()?;
    let drive = drive.map(|bytes| Drive::from_bytes(&bytes));
    Ok(TopicNumbers { channel, zones, cells, drive })
}

fn decode_cells(from: &mut Decoder<'_>, shared: &Shared) -> Result<Cells, CodecError> {
    let path = shared.text(from)?;
    let mut last = (0u64, 0u64);
    let part = |wide: u64| {
        i32::try_from(wide.cast_signed()).map_err(|_too_far| CodecError::Value {
            offset: 0,
            what: "cell",
            found: wide,
        })
    };
    let cells = (0..from.count()?)
        .map(|_| {
            last = (from.near(last.0)?, from.near(last.1)?);
            Ok((part(last.0)?, part(last.1)?))
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    Ok(Cells { path, cells })
}

/// Which file an entry describes, which version of it, and its mark, without reading the rest.
///
/// # Errors
///
/// [`CodecError`] when the bytes do not start as an entry does.
pub fn decode_identity(
    bytes: &[u8],
    shared: &Shared,
) -> Result<(PathBuf, FileIdentity, ContentMark), CodecError> {
    let mut from = Decoder::new(bytes);
    let (path, identity) = decode_file(&mut from, shared)?;
    Ok((path, identity, ContentMark(from.small("mark")?)))
}

/// A path in two: what the splits of a session have in common, which is all up to the last
/// underscore, and the rest.
fn split_path(path: &Path) -> (&str, &[u8]) {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte == b'_').map_or(0, |at| at + 1);
    let (start, rest) = bytes.split_at(end);
    str::from_utf8(start).map_or(("", bytes), |start| (start, rest))
}

fn decode_file(
    from: &mut Decoder<'_>,
    shared: &Shared,
) -> Result<(PathBuf, FileIdentity), CodecError> {
    let mut path = OsString::from(&*shared.text(from)?);
    path.push(OsStr::from_bytes(from.bytes()?));
    let path = PathBuf::from(path);
    let identity = FileIdentity {
        device: from.number()?,
        inode: from.number()?,
        size_bytes: from.number()?,
        mtime_ns: from.number()?.cast_signed(),
    };
    Ok((path, identity))
}

fn decode_sightings(
    from: &mut Decoder<'_>,
    base: u64,
    declared: &Declarations,
    shared: &Shared,
    form: EntryForm,
) -> Result<Sightings, CodecError> {
    let channel = channel(from, declared)?;
    let flags = from.number()?;
    let (is_complete, has_other_values) = (flags & 1 != 0, flags & 2 != 0);
    if form == EntryForm::BesideTables {
        let (times, labels) = (Vec::new(), Vec::new());
        return Ok(Sightings { channel, times, labels, is_complete, has_other_values });
    }
    let n_times = from.count()?;
    let times = decode_times(from, base, n_times)?;
    let labels = (0..from.count()?)
        .map(|_| {
            let label = shared.text(from)?;
            let mut last = 0;
            let ordinals = (0..from.count()?)
                .map(|_| {
                    last = from.near(last)?;
                    match u32::try_from(last) {
                        Ok(ordinal) if (ordinal as usize) < n_times => Ok(ordinal),
                        _ => Err(CodecError::Value { offset: 0, what: "ordinal", found: last }),
                    }
                })
                .collect::<Result<Vec<_>, CodecError>>()?;
            Ok((label, ordinals))
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    Ok(Sightings { channel, times, labels, is_complete, has_other_values })
}

fn decode_chunk(
    from: &mut Decoder<'_>,
    base: u64,
    offset: u64,
    declared: &Declarations,
) -> Result<Chunk, CodecError> {
    let (stored_len, len) = (from.number()?, from.number()?);
    let flags = from.number()?;
    let wrong = |what| CodecError::Value { offset: 0, what, found: flags };
    let compression = match flags & 3 {
        0 => Compression::None,
        1 => Compression::Lz4,
        2 => Compression::Zstd,
        _ => return Err(wrong("compression")),
    };
    let verdict = match (flags >> 2 & 3) | (flags >> 5 & 1) << 2 {
        0 => Verdict::Intact,
        1 => Verdict::Unchecked,
        2 => Verdict::Damaged,
        3 => Verdict::Claimed,
        4 => Verdict::Doubtful,
        _ => return Err(wrong("verdict")),
    };
    let crc = from.small("crc")?;
    let index_len = from.number()?;
    let n_channels = from.count()?;
    let mut span = None;
    if n_channels == 0 {
        let first = from.near(base)?;
        span = Some((LogTime::from_ns(first), LogTime::from_ns(from.near(first)?)));
    }
    let channels = (0..n_channels)
        .map(|_| {
            let channel = channel(from, declared)?;
            let count = from.small("count")?;
            let first = from.near(base)?;
            let last = from.near(first)?;
            Ok(ChunkChannel {
                channel,
                count,
                first: LogTime::from_ns(first),
                last: LogTime::from_ns(last),
            })
        })
        .collect::<Result<Vec<_>, CodecError>>()?;
    let (first, last) = span.unwrap_or_else(|| {
        let first = channels.iter().map(|seen| seen.first).min();
        let last = channels.iter().map(|seen| seen.last).max();
        (first.unwrap_or_default(), last.unwrap_or_default())
    });
    Ok(Chunk {
        offset,
        stored_len,
        len,
        compression,
        crc,
        verdict,
        is_loose: flags >> 6 & 1 == 1,
        is_sorted: flags >> 4 & 1 == 1,
        index_len,
        first,
        last,
        channels,
    })
}

fn channel(from: &mut Decoder<'_>, declared: &Declarations) -> Result<u32, CodecError> {
    let channel: u32 = from.small("channel")?;
    match declared.channel(channel) {
        Some(_) => Ok(channel),
        None => Err(CodecError::Value { offset: 0, what: "channel", found: channel.into() }),
    }
}
