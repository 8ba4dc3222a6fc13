//! Making a segment out of the entries of bags.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use ros2_memory_bag::{Declarations, run_key};
use ros2_memory_index::{BagEntry, Cells, DriveRules, TopicNumbers};

use super::{
    columns::Columns,
    index::SegmentIndex,
    postings::TopicPostings,
    rows::{Row, RowFlags, latest_so_far},
    rows_with::{RowsWithCells, RowsWithWords},
    summary::Summing,
};

/// A segment's tables as far as they are made. Bags come by start time, then path.
#[derive(Debug, Default)]
pub(crate) struct Building {
    rows: Vec<Row>,
    topics: Vec<Arc<str>>,
    topic_places: HashMap<Arc<str>, u32>,
    sets: Vec<Box<[u32]>>,
    set_places: HashMap<Box<[u32]>, u32>,
    runs: Vec<PathBuf>,
    run_places: HashMap<PathBuf, u32>,
    declared: Vec<Arc<Declarations>>,
    declared_places: HashMap<usize, u32>,
    postings: Vec<TopicPostings>,
    words: Vec<RowsWithWords>,
    cells: Vec<RowsWithCells>,
    columns: Columns,
    summing: Summing,
}

impl Building {
    /// Nothing yet; steps from bag to bag are counted by `rules`.
    pub(crate) fn new(rules: DriveRules) -> Self {
        Self { columns: Columns::new(rules), ..Self::default() }
    }

    /// Adds a bag, the entry of which stands at `offset` in the file and has `len` bytes there.
    pub(crate) fn add(&mut self, entry: &Arc<BagEntry>, offset: u64, len: u32, is_gone: bool) {
        let contents = &entry.contents;
        let (first, last) = contents.time_span().unwrap_or_default();
        let number = small(self.rows.len());
        let run = run_key(&entry.path);
        let row = Row {
            first,
            last,
            offset,
            len,
            declared: self.declared(&contents.declared),
            topics: self.topics_of(entry),
            run: place(&mut self.runs, &mut self.run_places, &run),
            flags: RowFlags::of(entry).with(RowFlags::GONE, is_gone),
            indexed: entry.indexed,
        };
        self.rows.push(row);
        for sightings in &entry.sightings {
            let Some(channel) = contents.declared.channel(sightings.channel) else { continue };
            let known = self.postings.iter().position(|known| known.topic == channel.topic);
            let at = known.unwrap_or_else(|| {
                self.postings.push(TopicPostings::new(channel.topic.clone()));
                self.postings.len() - 1
            });
            if let Some(postings) = self.postings.get_mut(at) {
                postings.add(number, first, sightings);
            }
        }
        for words in &entry.words {
            let Some(channel) = contents.declared.channel(words.channel) else { continue };
            let known = self.words.iter().position(|known| known.topic == channel.topic);
            let at = known.unwrap_or_else(|| {
                self.words.push(RowsWithWords::new(channel.topic.clone()));
                self.words.len() - 1
            });
            if let Some(rows) = self.words.get_mut(at) {
                rows.add(number, words);
            }
        }
        for numbers in &entry.numbers {
            let Some(channel) = contents.declared.channel(numbers.channel) else { continue };
            self.add_numbers(number, &channel.topic, numbers);
        }
        if is_gone {
            self.summing.add_gone(entry, &run);
        } else {
            self.summing.add(entry, &run);
        }
    }

    fn add_numbers(&mut self, row: u32, topic: &Arc<str>, numbers: &TopicNumbers) {
        for zone in &numbers.zones {
            self.columns.add_zone(row, topic, zone);
        }
        if let Some(drive) = numbers.drive {
            self.columns.add_drive(row, topic, drive);
        }
        if let Some(cells) = &numbers.cells {
            self.add_cells(row, topic, cells);
        }
    }

    fn add_cells(&mut self, row: u32, topic: &Arc<str>, cells: &Cells) {
        let is_same = |known: &RowsWithCells| known.topic == *topic && known.path == cells.path;
        let at = self.cells.iter().position(is_same).unwrap_or_else(|| {
            self.cells.push(RowsWithCells::new(topic.clone(), cells.path.clone()));
            self.cells.len() - 1
        });
        if let Some(rows) = self.cells.get_mut(at) {
            rows.add(row, cells);
        }
    }

    pub(crate) fn finish(mut self) -> SegmentIndex {
        let n_rows = small(self.rows.len());
        for postings in &mut self.postings {
            postings.finish(n_rows);
        }
        self.words.iter_mut().for_each(RowsWithWords::finish);
        self.cells.iter_mut().for_each(RowsWithCells::finish);
        let (rows, sets, topics) = (&self.rows, &self.sets, &self.topics);
        let has_topic = |row: usize, topic: &str| {
            let set = rows.get(row).and_then(|row| sets.get(row.topics as usize));
            set.is_some_and(|set| {
                let name = |number: &u32| topics.get(*number as usize).map(|name| &**name);
                set.iter().any(|number| name(number) == Some(topic))
            })
        };
        let run_of = |row: usize| rows.get(row).map_or(0, |row| row.run);
        let tables = self.columns.finish(rows.len(), &has_topic, &run_of);
        SegmentIndex {
            words: self.words,
            cells: self.cells,
            tables,
            latest_so_far: latest_so_far(self.rows.iter().map(|row| row.last)),
            rows: self.rows,
            topics: self.topics,
            sets: self.sets,
            runs: self.runs,
            declared: self.declared,
            postings: self.postings,
            summary: Arc::new(self.summing.finish()),
        }
    }

    fn declared(&mut self, declared: &Arc<Declarations>) -> u32 {
        let next = small(self.declared.len());
        // Held on to, so that their place is not used for others.
        let place = *self.declared_places.entry(Arc::as_ptr(declared).addr()).or_insert(next);
        if place == next {
            self.declared.push(declared.clone());
        }
        place
    }

    /// The number of the set of topics that a bag has messages of.
    fn topics_of(&mut self, entry: &BagEntry) -> u32 {
        let declared = &entry.contents.declared;
        let mut channels: Vec<u32> = entry
            .contents
            .chunks
            .iter()
            .flat_map(|chunk| chunk.channels.iter().map(|seen| seen.channel))
            .collect();
        channels.sort_unstable();
        channels.dedup();
        let mut set: Vec<u32> = channels
            .iter()
            .filter_map(|channel| declared.channel(*channel))
            .map(|channel| place(&mut self.topics, &mut self.topic_places, &channel.topic))
            .collect();
        set.sort_unstable();
        set.dedup();
        place(&mut self.sets, &mut self.set_places, &set.into_boxed_slice())
    }
}

/// The number of an item, which it is given when it is new.
fn place<T: Clone + std::hash::Hash + Eq>(
    all: &mut Vec<T>,
    places: &mut HashMap<T, u32>,
    item: &T,
) -> u32 {
    if let Some(known) = places.get(item) {
        return *known;
    }
    let place = small(all.len());
    all.push(item.clone());
    places.insert(item.clone(), place);
    place
}

/// A segment has far fewer of anything.
fn small(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
