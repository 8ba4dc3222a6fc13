//! What stands behind the data: the summary, its offsets and the footer.

use super::{
    crc32,
    records::{FOOTER_BYTES, MAGIC, data_end, footer, op, record, text},
};

/// Everything behind the data section, as it is to be written.
///
/// Made true by [`super::FileSpec::lay`]; a test may then make any of it a lie.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    /// The checksum that the end of the data says; 0 for none.
    pub data_crc: u32,
    /// The summary's records; `None` for a file without one.
    pub summary: Option<Summary>,
    /// Where the footer says that the summary starts; `None` for the truth.
    pub summary_start: Option<u64>,
    /// Where the footer says that the summary's offsets start; `None` for the truth.
    pub summary_offset_start: Option<u64>,
}

/// The records of a summary.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Schema records.
    pub schemas: Vec<Vec<u8>>,
    /// Channel records.
    pub channels: Vec<Vec<u8>>,
    /// Counts.
    pub statistics: Option<Statistics>,
    /// Where the chunks lie.
    pub chunks: Vec<ChunkIndex>,
    /// Whole records of any other kind, behind the chunk indexes.
    pub others: Vec<Vec<u8>>,
    /// Offset records; `None` for true ones, an empty list for none.
    pub offsets: Option<Vec<SummaryOffset>>,
    /// Whether the footer has the checksum of the summary, which is always a right one.
    pub with_crc: bool,
}

/// Where a chunk lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkIndex {
    /// The earliest log time, in nanoseconds.
    pub start_ns: u64,
    /// The latest log time, in nanoseconds.
    pub end_ns: u64,
    /// Where its record starts.
    pub offset: u64,
    /// How long its record is, with opcode and length.
    pub length: u64,
    /// Where the message index of each channel lies.
    pub message_indexes: Vec<(u16, u64)>,
    /// How long the message indexes are together.
    pub message_index_length: u64,
    /// Its compression.
    pub compression: String,
    /// How many bytes are stored.
    pub stored_size: u64,
    /// How many they inflate to.
    pub uncompressed_size: u64,
}

/// Counts over a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Messages.
    pub messages: u64,
    /// Schemas.
    pub schemas: u16,
    /// Channels.
    pub channels: u32,
    /// Attachments.
    pub attachments: u32,
    /// Metadata records.
    pub metadata: u32,
    /// Chunks.
    pub chunks: u32,
    /// The earliest log time, in nanoseconds.
    pub start_ns: u64,
    /// The latest log time, in nanoseconds.
    pub end_ns: u64,
    /// Messages of each channel.
    pub per_channel: Vec<(u16, u64)>,
}

/// Where the records of one kind lie in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryOffset {
    /// Their opcode.
    pub opcode: u8,
    /// Where the first starts.
    pub start: u64,
    /// How long they are together.
    pub length: u64,
}

impl Tail {
    /// Writes it behind `file`, which ends where the data does, and the closing magic.
    pub fn write(&self, file: &mut Vec<u8>) {
        file.extend(data_end(self.data_crc));
        let start = file.len();
        let mut true_offsets_start = 0;
        if let Some(summary) = &self.summary {
            let groups = summary.groups();
            let mut true_offsets = Vec::new();
            for (opcode, records) in groups.iter().filter(|(_, records)| !records.is_empty()) {
                let (start, length) = (file.len() as u64, records.len() as u64);
                true_offsets.push(SummaryOffset { opcode: *opcode, start, length });
                file.extend_from_slice(records);
            }
            let offsets = summary.offsets.as_ref().unwrap_or(&true_offsets);
            if !offsets.is_empty() {
                true_offsets_start = file.len() as u64;
            }
            file.extend(offsets.iter().flat_map(SummaryOffset::record));
        }
        let has_records = file.len() > start;
        let true_start = if has_records { start as u64 } else { 0 };
        let with_crc = self.summary.as_ref().is_some_and(|summary| summary.with_crc);
        let summary_start = self.summary_start.unwrap_or(true_start);
        let offsets_start = self.summary_offset_start.unwrap_or(true_offsets_start);
        let mut footer_bytes = footer(summary_start, offsets_start, 0);
        if with_crc {
            // Over the summary and the footer up to the checksum itself.
            let covered = FOOTER_BYTES - 4;
            let from = usize::try_from(summary_start).ok().filter(|from| *from <= file.len());
            let before = file.get(from.unwrap_or(start)..).unwrap_or_default();
            let own = footer_bytes.get(..covered).unwrap_or_default();
            let crc = crc32(&[before, own].concat());
            footer_bytes.truncate(covered);
            footer_bytes.extend_from_slice(&crc.to_le_bytes());
        }
        file.extend(footer_bytes);
        file.extend_from_slice(&MAGIC);
    }
}

impl Summary {
    /// Its records by kind, in the order in which they are written.
    fn groups(&self) -> [(u8, Vec<u8>); 5] {
        let statistics = self.statistics.as_ref().map(Statistics::record).unwrap_or_default();
        let other = self.others.first().and_then(|first| first.first()).copied();
        [
            (op::SCHEMA, self.schemas.concat()),
            (op::CHANNEL, self.channels.concat()),
            (op::STATISTICS, statistics),
            (op::CHUNK_INDEX, self.chunks.iter().flat_map(ChunkIndex::record).collect()),
            (other.unwrap_or(op::PRIVATE), self.others.concat()),
        ]
    }
}

impl ChunkIndex {
    /// Its record.
    pub fn record(&self) -> Vec<u8> {
        let places: Vec<u8> = self
            .message_indexes
            .iter()
            .flat_map(|(channel, at)| [&channel.to_le_bytes()[..], &at.to_le_bytes()].concat())
            .collect();
        let parts = [
            &self.start_ns.to_le_bytes()[..],
            &self.end_ns.to_le_bytes(),
            &self.offset.to_le_bytes(),
            &self.length.to_le_bytes(),
            &super::records::blob(&places),
            &self.message_index_length.to_le_bytes(),
            &text(&self.compression),
            &self.stored_size.to_le_bytes(),
            &self.uncompressed_size.to_le_bytes(),
        ];
        record(op::CHUNK_INDEX, &parts.concat())
    }
}

impl Statistics {
    /// Its record.
    pub fn record(&self) -> Vec<u8> {
        let counts: Vec<u8> = self
            .per_channel
            .iter()
            .flat_map(|(channel, n)| [&channel.to_le_bytes()[..], &n.to_le_bytes()].concat())
            .collect();
        let parts = [
            &self.messages.to_le_bytes()[..],
            &self.schemas.to_le_bytes(),
            &self.channels.to_le_bytes(),
            &self.attachments.to_le_bytes(),
            &self.metadata.to_le_bytes(),
            &self.chunks.to_le_bytes(),
            &self.start_ns.to_le_bytes(),
            &self.end_ns.to_le_bytes(),
            &super::records::blob(&counts),
        ];
        record(op::STATISTICS, &parts.concat())
    }
}

impl SummaryOffset {
    /// Its record.
    pub fn record(&self) -> Vec<u8> {
        let parts = [&[self.opcode][..], &self.start.to_le_bytes(), &self.length.to_le_bytes()];
        record(op::SUMMARY_OFFSET, &parts.concat())
    }
}
