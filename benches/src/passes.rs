//! Passes over every message of some files: this project's and its peer's.

use std::{fs::File, io::Read, path::PathBuf};

use mcap::sans_io::{
    IndexedReadEvent, IndexedReader, IndexedReaderOptions, indexed_reader::ReadOrder,
};
use ros2_memory_bag::{Direction, ReadOptions, Timeline, TimelinePart};
use ros2_memory_time::TimeRange;

use crate::Outcome;

/// What a pass saw; equal for every way to go over the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Messages.
    pub messages: u64,
    /// The bytes of their payloads.
    pub bytes: u64,
    /// The sum of each payload's last byte: a payload that is not touched costs no reading.
    pub last_bytes: u64,
}

impl Tally {
    /// Counts one message.
    #[inline]
    pub fn add(&mut self, payload: &[u8]) {
        self.messages += 1;
        self.bytes += payload.len() as u64;
        self.last_bytes += payload.last().copied().map_or(0, u64::from);
    }
}

/// This project's stream: every bag merged, oldest message first.
pub fn timeline(parts: &[TimelinePart], options: ReadOptions) -> Tally {
    let mut tally = Tally::default();
    let mut stream = Timeline::new(
        parts.to_vec(),
        TimeRange::ALL,
        Direction::Forward,
        options,
        |_| Some(0),
        || false,
    );
    while let Some(message) = stream.next() {
        tally.add(message.payload);
    }
    tally
}

/// The peer's linear reader over one file after the other.
///
/// # Errors
///
/// When a file cannot be read.
pub fn message_stream(files: &[PathBuf], checks_crc: bool) -> Outcome<Tally> {
    let mut tally = Tally::default();
    let mut bytes = Vec::new();
    for file in files {
        read_into(&mut bytes, file)?;
        for message in peer_stream(&bytes, checks_crc)? {
            tally.add(&message?.data);
        }
    }
    Ok(tally)
}

/// The peer's linear reader over one file.
pub(crate) fn peer_stream(bytes: &[u8], checks_crc: bool) -> Outcome<mcap::MessageStream<'_>> {
    Ok(if checks_crc {
        let options = mcap::read::Options::ValidateChunkCrcs.into();
        mcap::MessageStream::new_with_options(bytes, options)?
    } else {
        mcap::MessageStream::new(bytes)?
    })
}

/// The peer's reader by index, oldest message first, one file after the other. It has no check
/// of the CRC.
///
/// # Errors
///
/// When a file cannot be read.
pub fn indexed_reader(files: &[PathBuf]) -> Outcome<Tally> {
    let mut tally = Tally::default();
    let mut bytes = Vec::new();
    for file in files {
        read_into(&mut bytes, file)?;
        let summary = mcap::Summary::read(&bytes)?.ok_or("a file without a summary")?;
        let mut reader = IndexedReader::new(&summary)?;
        while let Some(event) = reader.next_event() {
            match event? {
                IndexedReadEvent::Message { data, .. } => tally.add(data),
                IndexedReadEvent::ReadChunkRequest { offset, length } => {
                    let start = usize::try_from(offset)?;
                    let chunk = bytes.get(start..start + length).ok_or("a chunk past the end")?;
                    reader.insert_chunk_record_data(offset, chunk)?;
                }
            }
        }
    }
    Ok(tally)
}

/// The peer's way to learn what some files hold: their summaries. Returns how many chunks they
/// name.
///
/// # Errors
///
/// When a file cannot be read or has no summary.
pub fn summaries(files: &[PathBuf]) -> Outcome<usize> {
    let mut chunks = 0;
    let mut bytes = Vec::new();
    for file in files {
        read_into(&mut bytes, file)?;
        let summary = mcap::Summary::read(&bytes)?.ok_or("a file without a summary")?;
        chunks += summary.chunk_indexes.len();
    }
    Ok(chunks)
}

/// The peer's way to learn when a text was last named: each file from its end, the last file
/// first, until a payload holds it. Nothing is decoded: the bytes are searched.
///
/// # Errors
///
/// When a file cannot be read or has no summary.
pub fn last_with_label(files: &[PathBuf], label: &str) -> Outcome<Option<u64>> {
    let finder = memchr::memmem::Finder::new(label);
    let mut bytes = Vec::new();
    for file in files.iter().rev() {
        read_into(&mut bytes, file)?;
        let summary = mcap::Summary::read(&bytes)?.ok_or("a file without a summary")?;
        let options = IndexedReaderOptions::new().with_order(ReadOrder::ReverseLogTime);
        let mut reader = IndexedReader::new_with_options(&summary, options)?;
        while let Some(event) = reader.next_event() {
            match event? {
                IndexedReadEvent::Message { header, data } => {
                    if finder.find(data).is_some() {
                        return Ok(Some(header.log_time));
                    }
                }
                IndexedReadEvent::ReadChunkRequest { offset, length } => {
                    let start = usize::try_from(offset)?;
                    let chunk = bytes.get(start..start + length).ok_or("a chunk past the end")?;
                    reader.insert_chunk_record_data(offset, chunk)?;
                }
            }
        }
    }
    Ok(None)
}

/// Reads a whole file into a buffer that is kept, which is faster than mapping for files this
/// small.
pub(crate) fn read_into(bytes: &mut Vec<u8>, file: &PathBuf) -> Outcome<()> {
    bytes.clear();
    File::open(file)?.read_to_end(bytes)?;
    Ok(())
}
