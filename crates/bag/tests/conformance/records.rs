//! Where the records of a whole file end, by a walk that trusts every length.
//!
//! Source: the MCAP format specification, "Records" and "Chunk".

use std::ops::Range;

const MAGIC_BYTES: usize = 8;
const MESSAGE: u8 = 5;
const CHUNK: u8 = 6;

/// One record, or a message inside a chunk.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) place: Range<usize>,
    pub(crate) is_message: bool,
    /// The chunk that holds it, by its place in the file.
    pub(crate) chunk: Option<Range<usize>>,
}

/// All records in front of the closing magic, in file order; those of a chunk behind it. Chunks
/// must not be compressed.
pub(crate) fn records(file: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let end = file.len() - MAGIC_BYTES;
    for (opcode, place) in walk(file, MAGIC_BYTES..end) {
        found.push(Found { place: place.clone(), is_message: opcode == MESSAGE, chunk: None });
        if opcode == CHUNK {
            // Start, end, size, CRC, the name of the compression, and the length of the records.
            let name_at = place.start + 9 + 8 + 8 + 8 + 4;
            let name_len = u32_at(file, name_at);
            assert_eq!(name_len, 0, "a compressed chunk");
            let len_at = name_at + 4 + name_len;
            let start = len_at + 8;
            for (opcode, inner) in walk(file, start..start + u64_at(file, len_at)) {
                found.push(Found {
                    place: inner,
                    is_message: opcode == MESSAGE,
                    chunk: Some(place.clone()),
                });
            }
        }
    }
    found
}

/// Opcode and place of each record in a range.
fn walk(file: &[u8], range: Range<usize>) -> Vec<(u8, Range<usize>)> {
    let mut at = range.start;
    let mut found = Vec::new();
    while at < range.end {
        let end = at + 9 + u64_at(file, at + 1);
        assert!(end <= range.end, "a record of {at}..{end} in {range:?}");
        found.push((file[at], at..end));
        at = end;
    }
    found
}

fn u32_at(file: &[u8], at: usize) -> usize {
    let bytes = file[at..at + 4].try_into().unwrap();
    usize::try_from(u32::from_le_bytes(bytes)).unwrap()
}

fn u64_at(file: &[u8], at: usize) -> usize {
    let bytes = file[at..at + 8].try_into().unwrap();
    usize::try_from(u64::from_le_bytes(bytes)).unwrap()
}
