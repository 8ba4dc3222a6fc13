//! A file of entries that can be cut anywhere and stays readable up to there.
//!
//! ```text
//! offset  width  meaning
//! 0       8      "R2MEMSEG"
//! 8       4      format version, little-endian
//! 12      4      CRC-32 of the 12 bytes before
//! then entries:
//! +0      4      length of the payload, little-endian
//! +4      4      CRC-32 of length, kind and payload
//! +8      1      kind: 1 declarations, 2 bag, 3 gone (a path), 4 shared text, 5 shared payload,
//!                6 index (the last entry of a sealed segment), 7 dead
//! +9      ...    payload
//! ```
//!
//! Declarations are numbered in a segment from 0; a bag's payload starts with the number of its
//! declarations (32 bits, little-endian). Dead is a bag of a sealed segment: the segment's number
//! (64 bits), the bag's row (32 bits), and 0 when its file is gone, 1 when a newer entry stands for
//! it. Reading stops at the first entry that is not whole: what lies behind it is indexed anew.

use crate::store::FORMAT_VERSION;

const MAGIC: &[u8; 8] = b"R2MEMSEG";
pub(crate) const HEADER_LEN: usize = 16;
pub(crate) const ENTRY_HEADER_LEN: usize = 9;
/// An entry longer than this is damage: the largest real ones hold latched maps.
const MAX_ENTRY_LEN: usize = 256 << 20;

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Declarations,
    Bag,
    Gone,
    Text,
    Payload,
    Index,
    Dead,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Declarations => 1,
            Self::Bag => 2,
            Self::Gone => 3,
            Self::Text => 4,
            Self::Payload => 5,
            Self::Index => 6,
            Self::Dead => 7,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Declarations),
            2 => Some(Self::Bag),
            3 => Some(Self::Gone),
            4 => Some(Self::Text),
            5 => Some(Self::Payload),
            6 => Some(Self::Index),
            7 => Some(Self::Dead),
            _ => None,
        }
    }
}

/// The header of a new segment.
pub(crate) fn header() -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// Whether a segment starts with this format's header.
pub(crate) fn has_header(bytes: &[u8]) -> bool {
    bytes.get(..HEADER_LEN) == Some(header().as_slice())
}

/// Appends an entry.
pub(crate) fn push(out: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
    // `MAX_ENTRY_LEN` keeps every real entry far below 32 bits.
    let len = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes();
    let kind = kind.byte();
    out.extend_from_slice(&len);
    out.extend_from_slice(&checksum(len, kind, payload).to_le_bytes());
    out.push(kind);
    out.extend_from_slice(payload);
}

fn checksum(len: [u8; 4], kind: u8, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&len);
    hasher.update(&[kind]);
    hasher.update(payload);
    hasher.finalize()
}

/// The whole entries of a segment, in order.
#[derive(Debug)]
pub(crate) struct Entries<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Entries<'a> {
    /// Behind the header of a segment that has one.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: HEADER_LEN }
    }

    /// Where the next entry starts, or, at the end, the first one that is not whole.
    pub(crate) fn position(&self) -> usize {
        self.position
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Kind, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (kind, payload) = entry(self.bytes.get(self.position..)?)?;
        self.position += ENTRY_HEADER_LEN + payload.len();
        Some((kind, payload))
    }
}

/// The entry that `bytes` start with, when it is whole.
pub(crate) fn entry(bytes: &[u8]) -> Option<(Kind, &[u8])> {
    let (len_bytes, rest) = bytes.split_first_chunk::<4>()?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first()?;
    let len = usize::try_from(u32::from_le_bytes(*len_bytes)).ok()?;
    // An index is as long as its segment makes it.
    let is_index = Kind::of(*kind) == Some(Kind::Index);
    let payload = rest.get(..len).filter(|_| len <= MAX_ENTRY_LEN || is_index)?;
    if checksum(*len_bytes, *kind, payload) != u32::from_le_bytes(*crc) {
        return None;
    }
    Some((Kind::of(*kind)?, payload))
}
