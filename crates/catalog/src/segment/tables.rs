//! Columns of a segment that are read when they are asked for: a record of one width a row.
//!
//! ```text
//! block    records of some rows in a row, so many that they take 2048 bytes at most,
//!          then the CRC-32 of these bytes; the last block may have fewer
//!
//! zone     min, max as 4 bytes each; what is not a number where nothing is known
//! drive    the drive of the bag, zeros where there is none; then, over this row and all in
//!          front of it: distance, poses as 8 bytes each, jumps, poses that are not finite,
//!          borders of sessions, breaks as 4 bytes each
//! ```
//!
//! A break is a row whose poses are not summed up, or that overlap those in front of them: what
//! lies over it is not the difference of two sums.

use std::{fs::File, ops::Range, os::unix::fs::FileExt, sync::Arc};

use ros2_memory_index::{
    CodecError, Drive, DriveRules, Step,
    codec::{Decoder, Encoder},
};

const BLOCK_BYTES: usize = 2048;
const CRC_LEN: usize = 4;

/// One column.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) topic: Arc<str>,
    pub(crate) column: Column,
    /// How the steps between its drives were counted.
    pub(crate) rules: DriveRules,
    n_rows: u32,
    place: TablePlace,
    /// The fastest step of each block, for a drive.
    fastest_mps: Vec<f64>,
}

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Column {
    /// Where the numbers at a path lie.
    Zone(Arc<str>),
    Drive,
}

#[derive(Debug, Clone)]
enum TablePlace {
    Memory(Arc<[u8]>),
    /// Where it starts in the file.
    File(u64),
}

/// The drives of a segment's rows up to one of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct DriveTotals {
    pub(crate) distance_m: f64,
    pub(crate) n_poses: u64,
    pub(crate) n_jumps: u32,
    pub(crate) n_invalid: u32,
    pub(crate) n_borders: u32,
    pub(crate) n_breaks: u32,
}

/// A row of a column of drives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DriveRecord {
    pub(crate) drive: Option<Drive>,
    pub(crate) totals: DriveTotals,
}

impl Column {
    fn record_len(&self) -> usize {
        match self {
            Self::Zone(_) => 8,
            Self::Drive => DriveRecord::LEN,
        }
    }

    fn rows_per_block(&self) -> usize {
        BLOCK_BYTES / self.record_len()
    }
}

impl Table {
    /// A column in memory of one record after the other; for drives, with the fastest step within
    /// each row and from the one before.
    pub(crate) fn of(
        topic: Arc<str>,
        column: Column,
        rules: DriveRules,
        records: &[u8],
        fastest_mps: &[f64],
    ) -> Self {
        let n_rows = records.len() / column.record_len();
        let mut bytes = Vec::with_capacity(records.len() + records.len() / 256);
        for block in records.chunks(column.rows_per_block() * column.record_len()) {
            bytes.extend_from_slice(block);
            bytes.extend_from_slice(&crc32fast::hash(block).to_le_bytes());
        }
        let blocks = fastest_mps.chunks(column.rows_per_block());
        let fastest_mps = blocks.map(|of| of.iter().copied().fold(0.0, f64::max)).collect();
        let n_rows = u32::try_from(n_rows).unwrap_or(u32::MAX);
        let place = TablePlace::Memory(bytes.into());
        Self { topic, column, rules, n_rows, place, fastest_mps }
    }

    /// Its bytes, for a column in memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.place {
            TablePlace::Memory(bytes) => bytes,
            TablePlace::File(_) => &[],
        }
    }

    /// Says where its bytes were written.
    pub(crate) fn move_to_file(&mut self, offset: u64) {
        self.place = TablePlace::File(offset);
    }

    /// The records of some rows, one after the other.
    ///
    /// # Errors
    ///
    /// In words, why they cannot be read.
    pub(crate) fn records(&self, file: Option<&File>, rows: Range<u32>) -> Result<Vec<u8>, String> {
        let (record_len, per_block) = (self.column.record_len(), self.column.rows_per_block());
        let rows = rows.start as usize..rows.end.min(self.n_rows) as usize;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let stored_block = per_block * record_len + CRC_LEN;
        let blocks = rows.start / per_block..rows.end.div_ceil(per_block);
        let bytes = blocks.start * stored_block..(blocks.end * stored_block).min(self.stored_len());
        let from_file;
        let stored = match (&self.place, file) {
            (TablePlace::Memory(all), _) => all.get(bytes).ok_or("a table is too short")?,
            (TablePlace::File(offset), Some(file)) => {
                let mut read = vec![0; bytes.len()];
                file.read_exact_at(&mut read, offset + bytes.start as u64)
                    .map_err(|error| error.to_string())?;
                from_file = read;
                &from_file
            }
            (TablePlace::File(_), None) => return Err("a table has no file".to_owned()),
        };
        let mut records = Vec::with_capacity(stored.len());
        for block in stored.chunks(stored_block) {
            let (block, crc) = block.split_last_chunk::<CRC_LEN>().ok_or("a table is too short")?;
            if crc32fast::hash(block) != u32::from_le_bytes(*crc) {
                return Err(format!("a table of {} is damaged", self.topic));
            }
            records.extend_from_slice(block);
        }
        let start = (rows.start - blocks.start * per_block) * record_len;
        records.drain(..start);
        records.truncate(rows.len() * record_len);
        Ok(records)
    }

    /// The rows of which the records cannot be read, or are not as they were written.
    pub(crate) fn damaged_rows(&self, file: &File) -> Vec<Range<u32>> {
        if self.records(Some(file), 0..self.n_rows).is_ok() {
            return Vec::new();
        }
        let per_block = u32::try_from(self.column.rows_per_block()).unwrap_or(u32::MAX);
        let starts = (0..self.n_rows).step_by(per_block as usize);
        let blocks = starts.map(|start| start..start.saturating_add(per_block).min(self.n_rows));
        blocks.filter(|rows| self.records(Some(file), rows.clone()).is_err()).collect()
    }

    /// The fastest step to the rows of the blocks that lie within some rows behind the first of
    /// them, and the rows in front of and behind these blocks.
    pub(crate) fn fastest(&self, rows: Range<u32>) -> (f64, [Range<u32>; 2]) {
        let per_block = u32::try_from(self.column.rows_per_block()).unwrap_or(u32::MAX);
        let blocks = rows.start / per_block + 1..rows.end / per_block;
        if blocks.is_empty() {
            return (0.0, [rows, 0..0]);
        }
        let of = self.fastest_mps.get(blocks.start as usize..blocks.end as usize);
        let fastest = of.unwrap_or_default().iter().copied().fold(0.0, f64::max);
        let (start, end) = (blocks.start * per_block, blocks.end * per_block);
        (fastest, [rows.start..start, end..rows.end])
    }

    fn stored_len(&self) -> usize {
        let n_rows = self.n_rows as usize;
        let n_blocks = n_rows.div_ceil(self.column.rows_per_block());
        n_rows * self.column.record_len() + n_blocks * CRC_LEN
    }

    /// What the index of a segment says of it.
    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.bytes(self.topic.as_bytes());
        match &self.column {
            Column::Drive => out.number(0),
            Column::Zone(path) => {
                out.number(1);
                out.bytes(path.as_bytes());
            }
        }
        out.number(match self.place {
            TablePlace::File(offset) => offset,
            TablePlace::Memory(_) => 0,
        });
        let DriveRules { jitter_m, max_speed_mps } = self.rules;
        out.0.extend_from_slice(&jitter_m.to_le_bytes());
        out.0.extend_from_slice(&max_speed_mps.to_le_bytes());
        out.number(self.fastest_mps.len() as u64);
        self.fastest_mps.iter().for_each(|fastest| out.0.extend_from_slice(&fastest.to_le_bytes()));
    }

    pub(crate) fn decode(from: &mut Decoder<'_>, n_rows: usize) -> Result<Self, CodecError> {
        let topic = from.text()?.into();
        let column = match from.number()? {
            0 => Column::Drive,
            _ => Column::Zone(from.text()?.into()),
        };
        let place = TablePlace::File(from.number()?);
        let (jitter_m, max_speed_mps) = (from.fixed()?, from.fixed()?);
        let rules = DriveRules {
            jitter_m: f64::from_le_bytes(jitter_m),
            max_speed_mps: f64::from_le_bytes(max_speed_mps),
        };
        let fastest_mps = (0..from.count()?)
            .map(|_| from.fixed().map(f64::from_le_bytes))
            .collect::<Result<_, CodecError>>()?;
        let n_rows = u32::try_from(n_rows).unwrap_or(u32::MAX);
        Ok(Self { topic, column, rules, n_rows, place, fastest_mps })
    }
}

impl DriveTotals {
    /// Counts a step from one bag to the next.
    pub(crate) fn step(&mut self, step: Step) {
        match step {
            Step::Driven { distance_m, .. } => self.distance_m += distance_m,
            Step::Jump => self.n_jumps = self.n_jumps.saturating_add(1),
            Step::Still => {}
        }
    }
}

impl DriveRecord {
    pub(crate) const LEN: usize = Drive::LEN + 32;

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match &self.drive {
            Some(drive) => out.extend_from_slice(&drive.to_bytes()),
            None => out.extend_from_slice(&[0; Drive::LEN]),
        }
        let DriveTotals { distance_m, n_poses, n_jumps, n_invalid, n_borders, n_breaks } =
            self.totals;
        out.extend_from_slice(&distance_m.to_le_bytes());
        out.extend_from_slice(&n_poses.to_le_bytes());
        for count in [n_jumps, n_invalid, n_borders, n_breaks] {
            out.extend_from_slice(&count.to_le_bytes());
        }
    }

    pub(crate) fn of(bytes: &[u8; Self::LEN]) -> Self {
        let (drive, totals) = bytes.split_first_chunk().unwrap_or((&[0; Drive::LEN], &[]));
        // A drive has a pose at least.
        let drive = Some(Drive::from_bytes(drive)).filter(|drive| drive.n_poses > 0);
        let word = |place: usize| {
            let bytes = totals.get(8 * place..).and_then(|rest| rest.first_chunk());
            u64::from_le_bytes(bytes.copied().unwrap_or_default())
        };
        let small = |place: usize| {
            let bytes = totals.get(16 + 4 * place..).and_then(|rest| rest.first_chunk());
            u32::from_le_bytes(bytes.copied().unwrap_or_default())
        };
        let totals = DriveTotals {
            distance_m: f64::from_bits(word(0)),
            n_poses: word(1),
            n_jumps: small(0),
            n_invalid: small(1),
            n_borders: small(2),
            n_breaks: small(3),
        };
        Self { drive, totals }
    }

    /// Those of some rows, from the bytes of a column.
    pub(crate) fn all(records: &[u8]) -> impl Iterator<Item = Self> {
        let (records, _) = records.as_chunks::<{ Self::LEN }>();
        records.iter().map(Self::of)
    }
}

/// Where the numbers of some rows lie, from the bytes of a column.
pub(crate) fn zones(records: &[u8]) -> impl Iterator<Item = (f32, f32)> {
    let (records, _) = records.as_chunks::<8>();
    records.iter().map(|record| {
        let (min, max) = record.split_first_chunk::<4>().unwrap_or((&[0xff; 4], &[]));
        let max = max.first_chunk::<4>().unwrap_or(&[0xff; 4]);
        (f32::from_le_bytes(*min), f32::from_le_bytes(*max))
    })
}

/// A record of a zone.
pub(crate) fn zone_record(zone: Option<(f32, f32)>) -> [u8; 8] {
    let (min, max) = zone.unwrap_or((f32::NAN, f32::NAN));
    let mut record = [0; 8];
    let (low, high) = record.split_at_mut(4);
    low.copy_from_slice(&min.to_le_bytes());
    high.copy_from_slice(&max.to_le_bytes());
    record
}
