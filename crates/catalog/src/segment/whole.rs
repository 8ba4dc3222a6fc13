//! Entries with all that belongs to them, to make another segment out of some.

use std::sync::Arc;

use ros2_memory_index::{BagEntry, Cell, Zone};

use super::{
    Segment, Source,
    rows_with::RowsWithCells,
    tables::{Column, DriveRecord, zones},
};

/// The entries of a segment, and what its tables hold of each row.
///
/// The tables are turned round once for all rows: going through each of their lists for one row
/// would take as long.
pub(crate) struct WholeEntries<'s> {
    segment: &'s Segment,
    /// For each topic with labels, by row.
    labels: Vec<Vec<Labels>>,
    /// For each topic with words, by row.
    words: Vec<Vec<Vec<Arc<str>>>>,
    /// For each position, by row.
    cells: Vec<Vec<Vec<Cell>>>,
}

/// The labels of a row, with the ordinals of the messages that name them.
pub(crate) type Labels = Vec<(Arc<str>, Vec<u32>)>;

impl<'s> WholeEntries<'s> {
    pub(crate) fn of(segment: &'s Segment) -> Self {
        let index = &segment.index;
        if let Source::Memory(_) = &segment.entries {
            let (labels, words, cells) = (Vec::new(), Vec::new(), Vec::new());
            return Self { segment, labels, words, cells };
        }
        let n_rows = index.rows.len();
        Self {
            segment,
            labels: index.postings.iter().map(|of| of.by_row(n_rows)).collect(),
            words: index.words.iter().map(|of| of.by_row(n_rows)).collect(),
            cells: index.cells.iter().map(|of| of.by_row(n_rows)).collect(),
        }
    }

    /// The entry of a bag.
    ///
    /// # Errors
    ///
    /// In words, why it cannot be read.
    pub(crate) fn entry(&self, number: u32) -> Result<Arc<BagEntry>, String> {
        let Self { segment, labels, words, cells } = self;
        let entry = segment.entry(number)?;
        if let Source::Memory(_) = &segment.entries {
            return Ok(entry);
        }
        let mut entry = Arc::unwrap_or_clone(entry);
        let (index, row) = (&segment.index, number as usize);
        let declared = entry.contents.declared.clone();
        let first = segment.row(number).map(|row| row.first).unwrap_or_default();
        let topic = |channel: u32| declared.channel(channel).map(|channel| &channel.topic);
        for sightings in &mut entry.sightings {
            let at =
                index.postings.iter().position(|of| topic(sightings.channel) == Some(&of.topic));
            let Some((postings, rows)) =
                at.and_then(|at| Some((index.postings.get(at)?, labels.get(at)?)))
            else {
                continue;
            };
            sightings.times = postings.times_of(number, first);
            sightings.labels = rows.get(row).cloned().unwrap_or_default();
        }
        for of in &mut entry.words {
            let at = index.words.iter().position(|known| topic(of.channel) == Some(&known.topic));
            let rows = at.and_then(|at| words.get(at));
            of.words = rows.and_then(|rows| rows.get(row)).cloned().unwrap_or_default();
        }
        for numbers in &mut entry.numbers {
            let Some(topic) = topic(numbers.channel) else { continue };
            if let Some(of) = &mut numbers.cells {
                let is_same =
                    |known: &RowsWithCells| known.topic == *topic && known.path == of.path;
                let rows = index.cells.iter().position(is_same).and_then(|at| cells.get(at));
                of.cells = rows.and_then(|rows| rows.get(row)).cloned().unwrap_or_default();
            }
            for table in index.tables.iter().filter(|table| table.topic == *topic) {
                let records = segment.records(table, number..number + 1)?;
                match &table.column {
                    Column::Zone(path) => {
                        numbers.zones.extend(
                            zones(&records)
                                .filter(|(min, _)| !min.is_nan())
                                .map(|(min, max)| Zone { path: path.clone(), min, max }),
                        );
                    }
                    Column::Drive => {
                        numbers.drive = DriveRecord::all(&records).find_map(|of| of.drive);
                    }
                }
            }
        }
        Ok(Arc::new(entry))
    }
}
