//! Sightings one after the other, the newest first.

use std::{cmp::Ordering, collections::BinaryHeap};

use ros2_memory_time::{LogTime, TimeRange};

use super::{Sighting, list::List};

/// The messages that name what is wanted, the newest first.
pub struct SightingsBack<'s> {
    lists: Vec<List<'s>>,
    heap: BinaryHeap<Next>,
    range: TimeRange,
    /// Of rows that were reached: the list, the row, and the messages still to come, the newest
    /// last.
    frames: Vec<Frames>,
}

/// A list, one of its rows, and messages with their times and ordinals.
type Frames = (usize, u32, Vec<(LogTime, u32)>);

impl std::fmt::Debug for SightingsBack<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SightingsBack").field("range", &self.range).finish_non_exhaustive()
    }
}

/// What may hold the next message: nothing in it is later than `latest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Next {
    latest: LogTime,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A message: the last of these frames.
    Frame(usize),
    /// A row of a list.
    Row(usize, u32),
    /// The rows of a list up to this one.
    List(usize, u32),
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        // Rows are opened before a message of the same time is given out.
        (self.latest, self.what).cmp(&(other.latest, other.what))
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'s> SightingsBack<'s> {
    pub(super) fn new(lists: Vec<List<'s>>, range: TimeRange) -> Self {
        let ends: Vec<u32> = lists.iter().map(|list| list.rows(range).end).collect();
        let mut back = Self { lists, heap: BinaryHeap::new(), range, frames: Vec::new() };
        for (number, end) in ends.into_iter().enumerate() {
            back.push_list(number, end);
        }
        back
    }

    /// Puts the newest row in front of `before` in line.
    fn push_list(&mut self, number: usize, before: u32) {
        let Some(list) = self.lists.get(number) else { return };
        let Some(row) = list.postings.row_before(&list.numbers, before) else { return };
        let latest = list.part.segment.index.latest_so_far.get(row as usize);
        if let Some(latest) = latest.filter(|latest| **latest >= self.range.start) {
            self.heap.push(Next { latest: *latest, what: What::List(number, row) });
        }
    }

    fn open_row(&mut self, number: usize, row: u32) {
        let Some(list) = self.lists.get(number).filter(|list| list.counts(row)) else { return };
        let range = self.range;
        let mut frames = list.frames(row);
        frames.retain(|(time, _)| range.contains(*time));
        if let Some((latest, _)) = frames.last() {
            self.heap.push(Next { latest: *latest, what: What::Frame(self.frames.len()) });
            self.frames.push((number, row, frames));
        }
    }
}

impl Iterator for SightingsBack<'_> {
    type Item = Sighting;

    fn next(&mut self) -> Option<Sighting> {
        loop {
            let Next { what, .. } = self.heap.pop()?;
            match what {
                What::List(number, row) => {
                    let list = self.lists.get(number)?;
                    if let Some(of) = list.part.segment.row(row) {
                        self.heap.push(Next { latest: of.last, what: What::Row(number, row) });
                    }
                    self.push_list(number, row);
                }
                What::Row(number, row) => self.open_row(number, row),
                What::Frame(place) => {
                    let (number, row, frames) = self.frames.get_mut(place)?;
                    let (number, row) = (*number, *row);
                    let (time, ordinal) = frames.pop()?;
                    if let Some((latest, _)) = frames.last() {
                        self.heap.push(Next { latest: *latest, what });
                    }
                    let list = self.lists.get(number)?;
                    let place = list.part.places.get(row as usize).copied();
                    return Some(Sighting {
                        topic: list.postings.topic.clone(),
                        place: place.filter(|place| *place != u32::MAX),
                        ordinal,
                        time,
                    });
                }
            }
        }
    }
}
