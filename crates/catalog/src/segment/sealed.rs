//! Segments as files that are not written again.
//!
//! ```text
//! header         as of every segment
//! entries        of bags
//! tables         as the index says where
//! index          one entry: [ declarations bytes ], [ text ], [ payload bytes ], the tables
//! +0      8      where the index starts, little-endian
//! +8      4      CRC-32 of the 8 bytes before
//! +12     4      "IDX1"
//! ```

use std::{
    collections::HashSet,
    fs::File,
    io::{BufWriter, Write},
    os::unix::fs::FileExt,
    sync::{Arc, Mutex, PoisonError},
};

use ros2_memory_bag::Declarations;
use ros2_memory_index::{
    BagEntry, CodecError, DriveRules, EntryForm, Shared, SharedItem,
    codec::{Decoder, Encoder},
    decode_declarations,
};

use super::{
    Segment,
    building::Building,
    entries::{HEADER_LEN, Kind, entry, has_header, header, push},
    index::SegmentIndex,
    naming::{Named, Naming},
    rows::Row,
};
use crate::disk::Unread;

const TAIL_LEN: usize = 16;
const TAIL_MARK: &[u8; 4] = b"IDX1";

/// Writes a segment, bag after bag, by start time, then path.
pub(crate) struct SegmentWriter {
    file: BufWriter<File>,
    len: u64,
    naming: Naming,
    /// What the entries name, in the order of their numbers.
    named: Vec<Named>,
    building: Building,
    bytes: Vec<u8>,
}

impl SegmentWriter {
    /// Steps from bag to bag are counted by `rules`.
    pub(crate) fn new(file: File, rules: DriveRules) -> std::io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 18, file);
        file.write_all(&header())?;
        Ok(Self {
            file,
            len: HEADER_LEN as u64,
            naming: Naming::default(),
            named: Vec::new(),
            building: Building::new(rules),
            bytes: Vec::new(),
        })
    }

    pub(crate) fn add(&mut self, bag: &Arc<BagEntry>, is_gone: bool) -> std::io::Result<()> {
        self.bytes.clear();
        let payload = self.naming.encode(bag, EntryForm::BesideTables, &mut self.named);
        push(&mut self.bytes, Kind::Bag, &payload);
        let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.building.add(bag, self.len, len, is_gone);
        self.file.write_all(&self.bytes)?;
        self.len += self.bytes.len() as u64;
        Ok(())
    }

    /// Writes the index and makes all of it last.
    pub(crate) fn finish(mut self) -> std::io::Result<()> {
        self.bytes.clear();
        let mut out = Encoder::default();
        for kind in [Kind::Declarations, Kind::Text, Kind::Payload] {
            let of_kind = || self.named.iter().filter(|named| named.kind() == kind);
            out.number(of_kind().count() as u64);
            of_kind().for_each(|named| out.bytes(&named.bytes()));
        }
        let mut index = self.building.finish();
        for table in &mut index.tables {
            self.file.write_all(table.bytes())?;
            let len = table.bytes().len() as u64;
            table.move_to_file(self.len);
            self.len += len;
        }
        index.encode(&mut out);
        push(&mut self.bytes, Kind::Index, &out.0);
        let start = self.len.to_le_bytes();
        self.bytes.extend_from_slice(&start);
        self.bytes.extend_from_slice(&crc32fast::hash(&start).to_le_bytes());
        self.bytes.extend_from_slice(TAIL_MARK);
        self.file.write_all(&self.bytes)?;
        self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    }
}

/// Opens a sealed segment: its index, and what its entries share.
///
/// # Errors
///
/// In words, why it is none that can be read.
pub(crate) fn open(
    file: File,
    number: u64,
    share: &Mutex<HashSet<Arc<Declarations>>>,
) -> Result<Segment, Unread> {
    let not_now = |error: std::io::Error| Unread::NotNow(error.to_string());
    let damaged = |words: &str| Unread::Damaged(words.to_owned());
    let len = file.metadata().map_err(not_now)?.len();
    let read = |at: u64, len: usize| {
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, at).map(|()| bytes).map_err(not_now)
    };
    if len < (HEADER_LEN + TAIL_LEN) as u64 {
        let words = format!("it has {len} bytes, and {} are the least", HEADER_LEN + TAIL_LEN);
        return Err(Unread::Damaged(words));
    }
    if !has_header(&read(0, HEADER_LEN)?) {
        let words = format!("it is not of format {}", crate::store::FORMAT_VERSION);
        return Err(Unread::Damaged(words));
    }
    let tail_at = len - TAIL_LEN as u64;
    let tail = read(tail_at, TAIL_LEN)?;
    let (start, rest) = tail.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
    let is_whole = rest.get(..4) == Some(&crc32fast::hash(start).to_le_bytes())
        && rest.get(4..) == Some(TAIL_MARK);
    let index_at = u64::from_le_bytes(*start);
    let index_len = tail_at.checked_sub(index_at).and_then(|len| usize::try_from(len).ok());
    let Some(index_len) = index_len.filter(|_| is_whole && index_at >= HEADER_LEN as u64) else {
        return Err(damaged("its ending is damaged"));
    };
    let bytes = read(index_at, index_len)?;
    let Some((Kind::Index, payload)) = entry(&bytes) else {
        return Err(damaged("its index is damaged"));
    };
    let tables = |from: &mut Decoder<'_>| {
        let declared = (0..from.count()?)
            .map(|_| {
                let declared = decode_declarations(from.bytes()?)?;
                let mut share = share.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(one_of(&mut share, declared))
            })
            .collect::<Result<_, CodecError>>()?;
        let mut shared = Shared::default();
        for _ in 0..from.count()? {
            shared.push(SharedItem::Text(from.text()?.into()));
        }
        for _ in 0..from.count()? {
            shared.push(SharedItem::Payload(from.bytes()?.into()));
        }
        Ok((SegmentIndex::decode(from, declared)?, shared))
    };
    let mut from = Decoder::new(payload);
    let (index, shared) =
        tables(&mut from).map_err(|error: CodecError| Unread::Damaged(error.to_string()))?;
    let is_inside = |row: &Row| {
        row.offset >= HEADER_LEN as u64
            && row.offset.checked_add(row.len.into()).is_some_and(|end| end <= index_at)
    };
    if !index.rows.iter().all(is_inside) {
        return Err(damaged("it has bags outside of it"));
    }
    Segment::of_file(number, index, file, shared).map_err(Unread::Damaged)
}

/// The one copy of some declarations that the splits of a session share.
pub(crate) fn one_of(
    share: &mut HashSet<Arc<Declarations>>,
    declared: Declarations,
) -> Arc<Declarations> {
    if let Some(known) = share.get(&declared) {
        return known.clone();
    }
    let declared = Arc::new(declared);
    share.insert(declared.clone());
    declared
}
