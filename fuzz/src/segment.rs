//! A catalog's files from loose entries, with the checksums that a random change would break.

use std::{fs, io, path::Path};

use ros2_memory_catalog::FORMAT_VERSION;

/// The file has a header and checksums as they should be; else it is the bytes as they are.
const FRAMED: u8 = 1;
/// The file is a sealed segment, the last entry of which is its index; else it is a log.
const SEALED: u8 = 2;

/// Writes a catalog of one segment. The first byte of `data` chooses between [`FRAMED`], and then
/// the rest is entries of kind (1 byte), length (2 bytes) and payload, and the bytes of the file;
/// and between [`SEALED`] and a log.
pub fn write_catalog(dir: &Path, data: &[u8]) -> io::Result<()> {
    let (choice, rest) = data.split_first().unwrap_or((&0, &[]));
    let segment = match choice & FRAMED {
        0 => rest.to_vec(),
        _ => framed(rest, choice & SEALED != 0),
    };
    fs::write(dir.join("segment-00000001"), segment)?;
    let kind = if choice & SEALED == 0 { "log" } else { "segment" };
    let body = format!("ros2-memory catalog {FORMAT_VERSION}\n{kind} 1\n");
    let crc = crc32fast::hash(body.as_bytes());
    fs::write(dir.join("MANIFEST"), format!("{body}crc {crc:08x}\n"))
}

fn framed(mut rest: &[u8], is_sealed: bool) -> Vec<u8> {
    let mut segment = b"R2MEMSEG".to_vec();
    segment.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    let crc = crc32fast::hash(&segment);
    segment.extend_from_slice(&crc.to_le_bytes());
    let mut last = segment.len();
    while let [kind, low, high, behind @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let (payload, next) = behind.split_at(len);
        let len = u32::try_from(len).unwrap_or_default().to_le_bytes();
        let crc = crc32fast::hash(&[&len[..], &[*kind], payload].concat());
        last = segment.len();
        segment.extend_from_slice(&[&len[..], &crc.to_le_bytes(), &[*kind], payload].concat());
        rest = next;
    }
    if is_sealed {
        let start = (last as u64).to_le_bytes();
        segment.extend_from_slice(&start);
        segment.extend_from_slice(&crc32fast::hash(&start).to_le_bytes());
        segment.extend_from_slice(b"IDX1");
    }
    segment
}

/// The counterpart: a segment in the form that [`write_catalog`] takes.
pub fn unframed(segment: &[u8], is_sealed: bool) -> Vec<u8> {
    let mut data = vec![FRAMED | if is_sealed { SEALED } else { 0 }];
    let end = segment.len() - if is_sealed { 16 } else { 0 };
    let mut rest = segment.get(16..end).unwrap_or_default();
    while let [a, b, c, d, _, _, _, _, kind, behind @ ..] = rest {
        let len = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        let short = u16::try_from(len).expect("seeds are small").to_le_bytes();
        data.extend_from_slice(&[&[*kind], &short[..], &behind[..len]].concat());
        rest = &behind[len..];
    }
    data
}
