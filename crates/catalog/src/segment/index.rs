use std::{os::unix::ffi::OsStrExt, path::PathBuf, sync::Arc};

use ros2_memory_bag::Declarations;
use ros2_memory_index::{
    CodecError,
    codec::{Decoder, Encoder},
};
use ros2_memory_time::LogTime;

use super::{
    postings::TopicPostings,
    rows::{Row, latest_so_far},
    rows_with::{RowsWithCells, RowsWithWords},
    summary::Summary,
    tables::Table,
};

/// What is known of the bags of a segment without reading their entries.
///
/// ```text
/// rows      bytes, 48 a row
/// topics    [ text ]
/// sets      [ [ number of a topic ] ]
/// runs      [ path text ]
/// postings  [ topic text, numbers of messages before each row as 4 bytes each,
///             places of times as 4 bytes each, times, labels [ text, posting list ],
///             incomplete rows and those with other values as posting lists ]
/// words     [ topic text, words [ text, rows as posting list ], known rows as posting list ]
/// cells     [ topic text, path text, cells [ x, y as 4 bytes each, rows as posting list ],
///             known rows as posting list ]
/// tables    [ topic text, 0 for drives or 1 and a path text for zones, place in the file,
///             jitter, largest speed as 8 bytes each, fastest steps as 8 bytes each ]
/// summary   bags, open bags, bytes,
///           topics  [ topic text, type text, count, has a span, first, last near first ],
///           runs    [ path text, first, last near first ],
///           edges   [ parent text, child text, is_static, count, first, last near first ],
///           latched [ path text of the run, declarations, channel, time, payload bytes ]
/// ```
///
/// A posting list is that of the Roaring format specification.
#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentIndex {
    /// By start time, then path.
    pub(crate) rows: Vec<Row>,
    /// For each row, the latest time in it and in all rows before it.
    pub(crate) latest_so_far: Vec<LogTime>,
    pub(crate) topics: Vec<Arc<str>>,
    /// Sets of topics, by place in `topics`.
    pub(crate) sets: Vec<Box<[u32]>>,
    pub(crate) runs: Vec<PathBuf>,
    pub(crate) declared: Vec<Arc<Declarations>>,
    pub(crate) postings: Vec<TopicPostings>,
    pub(crate) words: Vec<RowsWithWords>,
    pub(crate) cells: Vec<RowsWithCells>,
    pub(crate) tables: Vec<Table>,
    /// Over all rows whose files exist, as of when the segment was made.
    pub(crate) summary: Arc<Summary>,
}

impl SegmentIndex {
    pub(crate) fn encode(&self, out: &mut Encoder) {
        let mut rows = Vec::with_capacity(self.rows.len() * Row::LEN);
        self.rows.iter().for_each(|row| row.encode(&mut rows));
        out.bytes(&rows);
        out.number(self.topics.len() as u64);
        self.topics.iter().for_each(|topic| out.bytes(topic.as_bytes()));
        out.number(self.sets.len() as u64);
        for set in &self.sets {
            out.number(set.len() as u64);
            set.iter().for_each(|topic| out.number(u64::from(*topic)));
        }
        out.number(self.runs.len() as u64);
        self.runs.iter().for_each(|run| out.bytes(run.as_os_str().as_bytes()));
        out.number(self.postings.len() as u64);
        self.postings.iter().for_each(|postings| postings.encode(out));
        out.number(self.words.len() as u64);
        self.words.iter().for_each(|words| words.encode(out));
        out.number(self.cells.len() as u64);
        self.cells.iter().for_each(|cells| cells.encode(out));
        out.number(self.tables.len() as u64);
        self.tables.iter().for_each(|table| table.encode(out));
        self.summary.encode(out, &self.declared);
    }

    pub(crate) fn decode(
        from: &mut Decoder<'_>,
        declared: Vec<Arc<Declarations>>,
    ) -> Result<Self, CodecError> {
        let (rows, rest) = from.bytes()?.as_chunks::<{ Row::LEN }>();
        let rows: Vec<Row> = rows.iter().map(Row::decode).collect();
        let topics: Vec<Arc<str>> = (0..from.count()?)
            .map(|_| Ok(from.text()?.into()))
            .collect::<Result<_, CodecError>>()?;
        let sets: Vec<Box<[u32]>> = (0..from.count()?)
            .map(|_| (0..from.count()?).map(|_| from.small("topic")).collect())
            .collect::<Result<_, CodecError>>()?;
        let runs: Vec<PathBuf> = (0..from.count()?)
            .map(|_| Ok(PathBuf::from(std::ffi::OsStr::from_bytes(from.bytes()?))))
            .collect::<Result<_, CodecError>>()?;
        let postings = (0..from.count()?)
            .map(|_| TopicPostings::decode(from, rows.len()))
            .collect::<Result<_, CodecError>>()?;
        let words = (0..from.count()?)
            .map(|_| RowsWithWords::decode(from))
            .collect::<Result<_, CodecError>>()?;
        let cells = (0..from.count()?)
            .map(|_| RowsWithCells::decode(from))
            .collect::<Result<_, CodecError>>()?;
        let tables = (0..from.count()?)
            .map(|_| Table::decode(from, rows.len()))
            .collect::<Result<_, CodecError>>()?;
        let summary = Arc::new(Summary::decode(from, &declared)?);
        let is_sound = |row: &Row| {
            (row.declared as usize) < declared.len()
                && (row.topics as usize) < sets.len()
                && (row.run as usize) < runs.len()
        };
        let is_within = |set: &[u32]| set.iter().all(|topic| (*topic as usize) < topics.len());
        if !rest.is_empty() || !rows.iter().all(is_sound) || !sets.iter().all(|set| is_within(set))
        {
            return Err(CodecError::Value { offset: 0, what: "table of bags", found: 0 });
        }
        let latest_so_far = latest_so_far(rows.iter().map(|row| row.last));
        Ok(Self {
            rows,
            latest_so_far,
            topics,
            sets,
            runs,
            declared,
            postings,
            words,
            cells,
            tables,
            summary,
        })
    }
}
