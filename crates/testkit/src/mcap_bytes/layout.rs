//! A whole file from a list of its parts, with indexes that say the truth until a test lies.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use super::{
    ChunkIndex, Statistics, Summary, Tail, crc32,
    records::{MAGIC, RawChunk, chunk, header, op, record},
};

/// How the bytes of a chunk are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Codec {
    /// As they are.
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// A piece of the data section.
#[derive(Debug, Clone)]
pub enum Part {
    /// A record of the top level: declaration, message, attachment, anything.
    Record(Vec<u8>),
    /// A chunk of these records.
    Chunk(Vec<Vec<u8>>),
}

/// Which parts of a summary there are.
#[expect(clippy::struct_excessive_bools, reason = "each is one optional part of the format")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummarySpec {
    /// Schemas and channels again.
    pub declarations: bool,
    /// Statistics.
    pub statistics: bool,
    /// Chunk indexes.
    pub chunk_indexes: bool,
    /// Offset records.
    pub offsets: bool,
    /// The checksum in the footer.
    pub crc: bool,
}

impl SummarySpec {
    /// Everything.
    pub const ALL: Self = Self {
        declarations: true,
        statistics: true,
        chunk_indexes: true,
        offsets: true,
        crc: true,
    };
}

/// What a file is made of.
#[derive(Debug, Clone)]
pub struct FileSpec {
    /// The data section in order.
    pub parts: Vec<Part>,
    /// How chunks are stored.
    pub codec: Codec,
    /// Checksums in the chunks.
    pub chunk_crc: bool,
    /// The checksum of the data section.
    pub data_crc: bool,
    /// Message indexes behind each chunk.
    pub message_index: bool,
    /// The summary; `None` for none at all.
    pub summary: Option<SummarySpec>,
    /// Bytes that a later version of the format may add at the end of a header record.
    pub header_padding: Vec<u8>,
}

impl Default for FileSpec {
    /// Plain chunks with every index and checksum, and no parts.
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            codec: Codec::None,
            chunk_crc: true,
            data_crc: true,
            message_index: true,
            summary: Some(SummarySpec::ALL),
            header_padding: Vec::new(),
        }
    }
}

/// The message index of one channel in one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageIndex {
    /// The channel.
    pub channel: u16,
    /// Log time and place in the inflated chunk, of each message.
    pub entries: Vec<(u64, u64)>,
    /// How many bytes of entries its record says there are; `None` for the truth.
    pub says_bytes: Option<u32>,
}

/// A file of which the data is written, and what is to stand behind it.
#[derive(Debug, Clone)]
pub struct Laid {
    /// Magic, header and data section.
    pub data: Vec<u8>,
    /// The rest.
    pub tail: Tail,
}

impl Laid {
    /// The whole file.
    pub fn finish(mut self) -> Vec<u8> {
        self.tail.write(&mut self.data);
        self.data
    }
}

impl FileSpec {
    /// The whole file, all of it true.
    pub fn bytes(&self) -> Vec<u8> {
        self.lay(&mut |_, _| {}).finish()
    }

    /// Writes the data section. `lie` may change the message indexes of each chunk, by its
    /// number, before they are written.
    pub fn lay(&self, lie: &mut dyn FnMut(usize, &mut Vec<MessageIndex>)) -> Laid {
        let mut data = MAGIC.to_vec();
        let own_header = header("ros2", "by hand");
        let content = own_header.get(super::records::PREFIX_BYTES..).unwrap_or_default();
        data.extend(record(op::HEADER, &[content, &self.header_padding].concat()));
        let mut counts = Counts::default();
        let mut chunks = Vec::new();
        for part in &self.parts {
            match part {
                Part::Record(record) => {
                    counts.add(record);
                    data.extend_from_slice(record);
                }
                Part::Chunk(records) => {
                    for record in records {
                        counts.add(record);
                    }
                    let index = self.put_chunk(&mut data, records, chunks.len(), lie);
                    chunks.push(index);
                }
            }
        }
        let data_crc = if self.data_crc { crc32(&data) } else { 0 };
        let summary = self.summary.map(|spec| counts.summary(spec, &chunks));
        Laid { data, tail: Tail { data_crc, summary, ..Tail::default() } }
    }

    fn put_chunk(
        &self,
        data: &mut Vec<u8>,
        records: &[Vec<u8>],
        number: usize,
        lie: &mut dyn FnMut(usize, &mut Vec<MessageIndex>),
    ) -> ChunkIndex {
        let mut indexes: BTreeMap<u16, Vec<(u64, u64)>> = BTreeMap::new();
        let mut at = 0;
        for record in records {
            if let Some((channel, log_time_ns)) = message_of(record) {
                indexes.entry(channel).or_default().push((log_time_ns, at));
            }
            at += record.len() as u64;
        }
        let times: Vec<u64> = indexes.values().flatten().map(|(time, _)| *time).collect();
        let inflated = records.concat();
        let (compression, stored) = compressed(self.codec, &inflated);
        let raw = RawChunk {
            start_ns: times.iter().min().copied().unwrap_or_default(),
            end_ns: times.iter().max().copied().unwrap_or_default(),
            uncompressed_size: inflated.len() as u64,
            crc: if self.chunk_crc { crc32(&inflated) } else { 0 },
            compression: compression.to_owned(),
            stored_size: stored.len() as u64,
            stored,
        };
        let offset = data.len() as u64;
        let bytes = chunk(&raw);
        data.extend_from_slice(&bytes);
        let mut message_indexes: Vec<MessageIndex> = indexes
            .into_iter()
            .map(|(channel, entries)| MessageIndex { channel, entries, says_bytes: None })
            .collect();
        if !self.message_index {
            message_indexes.clear();
        }
        lie(number, &mut message_indexes);
        let indexes_start = data.len() as u64;
        let mut places = Vec::new();
        for index in &message_indexes {
            places.push((index.channel, data.len() as u64));
            data.extend(index.record());
        }
        ChunkIndex {
            start_ns: raw.start_ns,
            end_ns: raw.end_ns,
            offset,
            length: bytes.len() as u64,
            message_indexes: places,
            message_index_length: data.len() as u64 - indexes_start,
            compression: raw.compression,
            stored_size: raw.stored_size,
            uncompressed_size: raw.uncompressed_size,
        }
    }
}

impl MessageIndex {
    /// Its record.
    pub fn record(&self) -> Vec<u8> {
        let entries: Vec<u8> = self
            .entries
            .iter()
            .flat_map(|(time, at)| [time.to_le_bytes(), at.to_le_bytes()].concat())
            .collect();
        let true_bytes = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let says = self.says_bytes.unwrap_or(true_bytes);
        let parts = [&self.channel.to_le_bytes()[..], &says.to_le_bytes(), &entries];
        record(op::MESSAGE_INDEX, &parts.concat())
    }
}

/// The name of a compression in a chunk, and `bytes` in it.
///
/// # Panics
///
/// When compressing into memory fails.
pub fn compressed(codec: Codec, bytes: &[u8]) -> (&'static str, Vec<u8>) {
    match codec {
        Codec::None => ("", bytes.to_vec()),
        Codec::Lz4 => match lz4(bytes) {
            Ok(stored) => ("lz4", stored),
            Err(error) => unreachable!("lz4 into memory: {error}"),
        },
        Codec::Zstd => match zstd::bulk::compress(bytes, 3) {
            Ok(stored) => ("zstd", stored),
            Err(error) => unreachable!("zstd into memory: {error}"),
        },
    }
}

fn lz4(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = lz4::EncoderBuilder::new().build(Vec::new())?;
    encoder.write_all(bytes)?;
    let (stored, result) = encoder.finish();
    result.map(|()| stored)
}

/// The channel and log time of a message record.
fn message_of(record: &[u8]) -> Option<(u16, u64)> {
    let (&opcode, rest) = record.split_first()?;
    let channel = rest.get(8..10)?.try_into().ok().map(u16::from_le_bytes)?;
    let log_time_ns = rest.get(14..22)?.try_into().ok().map(u64::from_le_bytes)?;
    (opcode == op::MESSAGE).then_some((channel, log_time_ns))
}

/// What a summary says of the records in front of it.
#[derive(Default)]
struct Counts {
    /// By their ids: declarations that stand in the file.
    schemas: BTreeMap<u16, Vec<u8>>,
    channels: BTreeMap<u16, Vec<u8>>,
    per_channel: BTreeMap<u16, u64>,
    span: Option<(u64, u64)>,
    attachments: u32,
    metadata: u32,
}

impl Counts {
    fn add(&mut self, record: &[u8]) {
        if let Some((channel, time)) = message_of(record) {
            *self.per_channel.entry(channel).or_default() += 1;
            let (first, last) = self.span.unwrap_or((time, time));
            self.span = Some((first.min(time), last.max(time)));
            return;
        }
        let id = record.get(9..11).and_then(|id| id.try_into().ok()).map(u16::from_le_bytes);
        match (record.first().copied(), id) {
            (Some(op::SCHEMA), Some(id)) => {
                self.schemas.insert(id, record.to_vec());
            }
            (Some(op::CHANNEL), Some(id)) => {
                self.channels.insert(id, record.to_vec());
            }
            (Some(op::ATTACHMENT), _) => self.attachments += 1,
            (Some(op::METADATA), _) => self.metadata += 1,
            _ => {}
        }
    }

    fn summary(&self, spec: SummarySpec, chunks: &[ChunkIndex]) -> Summary {
        let (start_ns, end_ns) = self.span.unwrap_or_default();
        let statistics = Statistics {
            messages: self.per_channel.values().sum(),
            schemas: u16::try_from(self.schemas.len()).unwrap_or(u16::MAX),
            channels: u32::try_from(self.channels.len()).unwrap_or(u32::MAX),
            attachments: self.attachments,
            metadata: self.metadata,
            chunks: u32::try_from(chunks.len()).unwrap_or(u32::MAX),
            start_ns,
            end_ns,
            per_channel: self.per_channel.iter().map(|(channel, n)| (*channel, *n)).collect(),
        };
        let declared = |of: &BTreeMap<u16, Vec<u8>>| -> Vec<Vec<u8>> {
            if spec.declarations { of.values().cloned().collect() } else { Vec::new() }
        };
        Summary {
            schemas: declared(&self.schemas),
            channels: declared(&self.channels),
            statistics: spec.statistics.then_some(statistics),
            chunks: if spec.chunk_indexes { chunks.to_vec() } else { Vec::new() },
            others: Vec::new(),
            offsets: if spec.offsets { None } else { Some(Vec::new()) },
            with_crc: spec.crc,
        }
    }
}
