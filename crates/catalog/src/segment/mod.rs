//! Bags that are known together: the entries of each, and tables over all of them.
//!
//! A segment in memory holds the bags that came last; sealed ones are files of which the tables
//! are kept in memory, and an entry is read when it is asked for.

pub(crate) mod building;
mod columns;
pub(crate) mod entries;
pub(crate) mod index;
pub(crate) mod naming;
pub(crate) mod open_all;
pub(crate) mod postings;
pub(crate) mod rows;
pub(crate) mod rows_with;
pub(crate) mod sealed;
pub(crate) mod summary;
pub(crate) mod tables;
pub(crate) mod whole;

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use roaring::RoaringBitmap;
use ros2_memory_bag::{ContentMark, FileIdentity};
use ros2_memory_index::{BagEntry, DriveRules, EntryForm, Shared, decode, decode_identity};

use self::{
    building::Building,
    entries::{Kind, entry},
    index::SegmentIndex,
    rows::{Row, RowFlags},
    summary::{Summary, Summing},
    tables::Table,
};

/// Where the file of a bag lies, which version of it is known, and its mark.
pub(crate) type Known = (PathBuf, FileIdentity, ContentMark);

/// Some bags, by start time, then path.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Its number on disk; 0 for one in memory.
    pub(crate) number: u64,
    pub(crate) index: SegmentIndex,
    entries: Source,
}

#[derive(Debug)]
enum Source {
    Memory(Vec<Arc<BagEntry>>),
    File { file: File, shared: Shared },
}

/// The rows of a segment that no longer stand for a bag.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Dead {
    /// Their files are gone.
    pub(crate) gone: RoaringBitmap,
    /// A newer entry stands for them.
    pub(crate) replaced: RoaringBitmap,
}

impl Dead {
    /// Whether the file of a row's bag is gone: since then, or when the segment was made.
    pub(crate) fn is_gone(&self, number: u32, row: &Row) -> bool {
        row.flags.has(RowFlags::GONE) || self.gone.contains(number)
    }

    /// Whether a row stands for a bag that is there.
    pub(crate) fn leaves(&self, number: u32, row: &Row) -> bool {
        !self.is_gone(number, row) && !self.replaced.contains(number)
    }

    pub(crate) fn len(&self) -> u64 {
        self.gone.len() + self.replaced.len()
    }
}

impl Segment {
    /// A segment in memory of bags, with whether their files are gone.
    pub(crate) fn in_memory(mut entries: Vec<(Arc<BagEntry>, bool)>, rules: DriveRules) -> Self {
        entries.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
        let mut building = Building::new(rules);
        for (entry, is_gone) in &entries {
            building.add(entry, 0, 0, *is_gone);
        }
        let entries = entries.into_iter().map(|(entry, _)| entry).collect();
        Self { number: 0, index: building.finish(), entries: Source::Memory(entries) }
    }

    /// A sealed segment. Its damaged bags are read.
    fn of_file(
        number: u64,
        index: SegmentIndex,
        file: File,
        shared: Shared,
    ) -> Result<Self, String> {
        let mut segment = Self { number, index, entries: Source::File { file, shared } };
        let is_damaged =
            |row: &Row| row.flags.has(RowFlags::DAMAGED) && !row.flags.has(RowFlags::GONE);
        let rows = (0..).zip(&segment.index.rows).filter(|(_, row)| is_damaged(row));
        let damaged = rows.map(|(row, _)| segment.entry(row)).collect::<Result<Vec<_>, _>>()?;
        if !damaged.is_empty() {
            let summary = Summary { damaged, ..Summary::clone(&segment.index.summary) };
            segment.index.summary = Arc::new(summary);
        }
        Ok(segment)
    }

    pub(crate) fn n_rows(&self) -> u32 {
        u32::try_from(self.index.rows.len()).unwrap_or(u32::MAX)
    }

    /// The rows that stand for bags whose files exist, with their numbers.
    pub(crate) fn live_rows<'s>(
        &'s self,
        dead: Option<&'s Dead>,
    ) -> impl Iterator<Item = (u32, &'s Row)> {
        (0..).zip(&self.index.rows).filter(move |(number, row)| match dead {
            Some(dead) => dead.leaves(*number, row),
            None => !row.flags.has(RowFlags::GONE),
        })
    }

    pub(crate) fn row(&self, row: u32) -> Option<&Row> {
        self.index.rows.get(row as usize)
    }

    pub(crate) fn run(&self, row: &Row) -> &Path {
        self.index.runs.get(row.run as usize).map_or(Path::new(""), PathBuf::as_path)
    }

    /// The entry of a bag: from memory, or read from the file and decoded, without what the tables
    /// hold: times, labels, words, zones, cells and drives.
    ///
    /// # Errors
    ///
    /// In words, why it cannot be read.
    pub(crate) fn entry(&self, number: u32) -> Result<Arc<BagEntry>, String> {
        let row = self.row(number).ok_or("no such bag")?;
        let shared = match &self.entries {
            Source::Memory(entries) => {
                let entry = entries.get(number as usize).ok_or("no such bag")?;
                return Ok(entry.clone());
            }
            Source::File { shared, .. } => shared,
        };
        let bytes = self.entry_bytes(row)?;
        let (declared, payload) = bag_payload(&bytes)?;
        let declared = self.index.declared.get(declared as usize).ok_or("no such declarations")?;
        let entry = decode(payload, declared, shared, EntryForm::BesideTables);
        entry.map(Arc::new).map_err(|error| error.to_string())
    }

    /// The records of some rows in a table of this segment.
    ///
    /// # Errors
    ///
    /// In words, why they cannot be read.
    pub(crate) fn records(
        &self,
        table: &Table,
        rows: std::ops::Range<u32>,
    ) -> Result<Vec<u8>, String> {
        let file = match &self.entries {
            Source::Memory(_) => None,
            Source::File { file, .. } => Some(file),
        };
        table.records(file, rows)
    }

    /// The path and the identity of a bag, without decoding its entry.
    ///
    /// # Errors
    ///
    /// In words, why its entry cannot be read.
    pub(crate) fn identity(&self, number: u32) -> Result<Known, String> {
        let Source::File { shared, .. } = &self.entries else {
            let entry = self.entry(number)?;
            return Ok((entry.path.to_path_buf(), entry.identity, entry.mark));
        };
        let row = self.row(number).ok_or("no such bag")?;
        known_in(&self.entry_bytes(row)?, shared)
    }

    /// The path and the identity of each bag, by row, or why not all of it can be read: the file is
    /// read as a whole.
    pub(crate) fn identities(&self) -> Vec<Result<Known, String>> {
        let Source::File { file, shared } = &self.entries else {
            return (0..self.n_rows()).map(|row| self.identity(row)).collect();
        };
        let end = self.index.rows.iter().map(|row| row.offset + u64::from(row.len)).max();
        let mut bytes = vec![0; usize::try_from(end.unwrap_or_default()).unwrap_or_default()];
        if let Err(error) = file.read_exact_at(&mut bytes, 0) {
            return self.index.rows.iter().map(|_| Err(error.to_string())).collect();
        }
        let of_row = |row: &Row| {
            let start = usize::try_from(row.offset).map_err(|error| error.to_string())?;
            known_in(bytes.get(start..start + row.len as usize).ok_or("it is not there")?, shared)
        };
        let mut known: Vec<Result<Known, String>> = self.index.rows.iter().map(of_row).collect();
        for table in &self.index.tables {
            for rows in table.damaged_rows(file) {
                for row in
                    known.get_mut(rows.start as usize..rows.end as usize).into_iter().flatten()
                {
                    *row = Err("a table of the catalog is damaged there".to_owned());
                }
            }
        }
        known
    }

    fn entry_bytes(&self, row: &Row) -> Result<Vec<u8>, String> {
        let Source::File { file, .. } = &self.entries else {
            unreachable!("segments in memory have no bytes");
        };
        let mut bytes = vec![0; row.len as usize];
        file.read_exact_at(&mut bytes, row.offset).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// The totals over the rows that are not dead.
    ///
    /// # Errors
    ///
    /// In words, which entry cannot be read.
    pub(crate) fn summary(&self, dead: &Dead) -> Result<Arc<Summary>, String> {
        let mut summing = Summing::default();
        for (number, row) in (0..).zip(&self.index.rows) {
            if dead.replaced.contains(number) {
                continue;
            }
            let entry = self.entry(number)?;
            let run = self.run(row).to_owned();
            if dead.is_gone(number, row) {
                summing.add_gone(&entry, &run);
            } else {
                summing.add(&entry, &run);
            }
        }
        Ok(Arc::new(summing.finish()))
    }
}

/// By start time, then path; bags without messages first.
pub(crate) fn order(entry: &BagEntry) -> (ros2_memory_time::LogTime, &Path) {
    (entry.contents.time_span().unwrap_or_default().0, &entry.path)
}

/// What the entry of a bag says of its file.
fn known_in(bytes: &[u8], shared: &Shared) -> Result<Known, String> {
    let (_, payload) = bag_payload(bytes)?;
    decode_identity(payload, shared).map_err(|error| error.to_string())
}

/// The number of the declarations in the entry of a bag, and the rest of it.
fn bag_payload(bytes: &[u8]) -> Result<(u32, &[u8]), String> {
    let Some((Kind::Bag, payload)) = entry(bytes) else {
        return Err("its entry in the catalog is damaged".to_owned());
    };
    let (number, rest) = payload.split_first_chunk::<4>().ok_or("its entry is too short")?;
    Ok((u32::from_le_bytes(*number), rest))
}
