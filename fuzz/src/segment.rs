//! A catalog's files from loose entries, with the checksums that a random change would break.

use std::{fs, io, path::Path};

/// Writes a catalog of one segment. The first byte of `data` chooses: even, and the rest is the
/// segment as it is; odd, and it is entries of kind (1 byte), length (2 bytes) and payload, which
/// get a header and checksums.
pub fn write_catalog(dir: &Path, data: &[u8]) -> io::Result<()> {
    let segment = match data.split_first() {
        Some((choice, rest)) if choice % 2 == 1 => framed(rest),
        Some((_, rest)) => rest.to_vec(),
        None => Vec::new(),
    };
    fs::write(dir.join("segment-00000001"), segment)?;
    let body = "ros2-memory catalog 1\nsegment 1\n";
    let crc = crc32fast::hash(body.as_bytes());
    fs::write(dir.join("MANIFEST"), format!("{body}crc {crc:08x}\n"))
}

fn framed(mut rest: &[u8]) -> Vec<u8> {
    let mut segment = b"R2MEMSEG\x01\0\0\0".to_vec();
    let crc = crc32fast::hash(&segment);
    segment.extend_from_slice(&crc.to_le_bytes());
    while let [kind, low, high, behind @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let (payload, next) = behind.split_at(len);
        let len = u32::try_from(len).unwrap_or_default().to_le_bytes();
        let crc = crc32fast::hash(&[&len[..], &[*kind], payload].concat());
        segment.extend_from_slice(&[&len[..], &crc.to_le_bytes(), &[*kind], payload].concat());
        rest = next;
    }
    segment
}

/// The counterpart: a segment in the form that [`write_catalog`] takes.
pub fn unframed(segment: &[u8]) -> Vec<u8> {
    let mut data = vec![1];
    let mut rest = segment.get(16..).unwrap_or_default();
    while let [a, b, c, d, _, _, _, _, kind, behind @ ..] = rest {
        let len = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        let short = u16::try_from(len).expect("seeds are small").to_le_bytes();
        data.extend_from_slice(&[&[*kind], &short[..], &behind[..len]].concat());
        rest = &behind[len..];
    }
    data
}
