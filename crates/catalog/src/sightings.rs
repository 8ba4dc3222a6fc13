//! Which messages name a label, answered from the posting lists alone.

use std::{
    borrow::Cow,
    cmp::Ordering,
    collections::{BTreeMap, BinaryHeap, HashMap},
    sync::Arc,
};

use roaring::RoaringBitmap;
use ros2_memory_bag::Declarations;
use ros2_memory_index::IndexedMark;
use ros2_memory_time::{LogTime, TimeRange};

#[cfg(test)]
mod tests;

use crate::{Snapshot, TopicSummary, segment::postings::TopicPostings, snapshot::Part};

/// What messages are to name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// This label, letter by letter.
    Label(Arc<str>),
    /// All of these.
    All(Vec<Wanted>),
    /// Any of these.
    Any(Vec<Wanted>),
    /// Not this.
    Not(Box<Wanted>),
}

/// A message that names what was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The topic.
    pub topic: Arc<str>,
    /// The bag, by place; `None` when its file is gone.
    pub place: Option<u32>,
    /// The message's number among those of the topic in the bag, in timeline order.
    pub ordinal: u32,
    /// When it was recorded.
    pub time: LogTime,
}

/// What is known of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelSummary {
    /// The label.
    pub label: Arc<str>,
    /// How many messages name it.
    pub count: u64,
    /// The first and the last time that one did.
    pub span: (LogTime, LogTime),
    /// The topics of these messages.
    pub topics: Vec<Arc<str>>,
}

/// The messages of one topic in one segment that name what is wanted.
struct List<'s> {
    part: &'s Part,
    postings: &'s TopicPostings,
    numbers: Cow<'s, RoaringBitmap>,
}

impl Snapshot {
    /// The topics whose labels are indexed, by name.
    pub fn topics_with_labels(&self) -> Vec<Arc<str>> {
        let mut topics: Vec<Arc<str>> =
            self.postings().map(|(_, postings)| postings.topic.clone()).collect();
        topics.sort_unstable();
        topics.dedup();
        topics
    }

    /// How many bags there are in which something of a topic with labels could not be read, or
    /// was no label: what is not found there may be there all the same.
    pub fn n_incomplete(&self) -> u64 {
        self.postings().map(|(_, postings)| postings.incomplete.len()).sum()
    }

    /// The labels that messages of some topics name, in byte order, with how often and when;
    /// all topics when `topics` is empty. Costs a look at each posting list.
    pub fn labels(&self, topics: &[Arc<str>], range: TimeRange) -> Vec<LabelSummary> {
        let mut labels: BTreeMap<&Arc<str>, LabelSummary> = BTreeMap::new();
        for (part, postings) in self.postings() {
            if !topics.is_empty() && !topics.contains(&postings.topic) {
                continue;
            }
            for (label, numbers) in &postings.labels {
                let list = List { part, postings, numbers: Cow::Borrowed(numbers) };
                let count = list.count(range);
                let Some(span) = list.span(range).filter(|_| count > 0) else { continue };
                let known = labels.entry(label).or_insert_with(|| LabelSummary {
                    label: label.clone(),
                    count: 0,
                    span,
                    topics: Vec::new(),
                });
                known.count += count;
                known.span = (known.span.0.min(span.0), known.span.1.max(span.1));
                if !known.topics.contains(&postings.topic) {
                    known.topics.push(postings.topic.clone());
                }
            }
        }
        labels.into_values().collect()
    }

    /// What is known of one label in a range; `None` when no message names it.
    pub fn label(&self, label: &str, range: TimeRange) -> Option<LabelSummary> {
        let mut summary: Option<LabelSummary> = None;
        for (part, postings) in self.postings() {
            let Some((label, numbers)) = postings.labels.get_key_value(label) else { continue };
            let list = List { part, postings, numbers: Cow::Borrowed(numbers) };
            let count = list.count(range);
            let Some(span) = list.span(range).filter(|_| count > 0) else { continue };
            let known = summary.get_or_insert_with(|| LabelSummary {
                label: label.clone(),
                count: 0,
                span,
                topics: Vec::new(),
            });
            known.count += count;
            known.span = (known.span.0.min(span.0), known.span.1.max(span.1));
            if !known.topics.contains(&postings.topic) {
                known.topics.push(postings.topic.clone());
            }
        }
        summary
    }

    /// The names of all labels, in byte order.
    pub fn label_names(&self) -> &[Arc<str>] {
        self.labels.get_or_init(|| {
            let mut names: Vec<Arc<str>> =
                self.postings().flat_map(|(_, postings)| postings.labels.keys().cloned()).collect();
            names.sort_unstable();
            names.dedup();
            names
        })
    }

    /// The newest message in a range that names a label, by the posting lists alone.
    pub fn last_sighting(&self, label: &str, range: TimeRange) -> Option<Sighting> {
        self.sightings_back(&Wanted::Label(label.into()), &[], range).next()
    }

    /// The messages in a range that name what is wanted, the newest first. With `topics` only
    /// theirs.
    ///
    /// What is wanted holds for each message by itself. Bags are looked into as the iterator
    /// reaches them.
    pub fn sightings_back(
        &self,
        wanted: &Wanted,
        topics: &[Arc<str>],
        range: TimeRange,
    ) -> SightingsBack<'_> {
        let mut back =
            SightingsBack { lists: Vec::new(), heap: BinaryHeap::new(), range, frames: Vec::new() };
        for (part, postings) in self.postings() {
            if !topics.is_empty() && !topics.contains(&postings.topic) {
                continue;
            }
            let numbers = numbers_of(postings, wanted);
            if numbers.is_empty() {
                continue;
            }
            let rows = &part.segment.index.rows;
            let before = rows.partition_point(|row| row.first < range.end);
            back.lists.push(List { part, postings, numbers });
            back.push_list(back.lists.len() - 1, u32::try_from(before).unwrap_or(u32::MAX));
        }
        back
    }

    /// How many messages of some topics with labels there are in a range, and the first and last.
    pub fn labelled_span(
        &self,
        topics: &[Arc<str>],
        range: TimeRange,
    ) -> Option<(LogTime, LogTime)> {
        let mut span: Option<(LogTime, LogTime)> = None;
        for (part, postings) in self.postings() {
            if !topics.is_empty() && !topics.contains(&postings.topic) {
                continue;
            }
            let mut all = RoaringBitmap::new();
            all.insert_range(0..postings.n_messages());
            let list = List { part, postings, numbers: Cow::Owned(all) };
            if let Some((first, last)) = list.span(range) {
                span = Some(span.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
            }
        }
        span
    }

    /// Those of some bags that may have a message of `topics` with a label that `is_wanted`, or with
    /// anything else than labels: the index proves that the others have none.
    pub fn may_name(
        &self,
        topics: &[&TopicSummary],
        mut places: Vec<u32>,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Vec<u32> {
        let proofs: Vec<Vec<Proof<'_>>> = self
            .parts
            .iter()
            .map(|part| {
                let postings = part.segment.index.postings.iter();
                let of_topics =
                    postings.filter(|of| topics.iter().any(|topic| topic.topic == of.topic));
                of_topics.map(|of| Proof::new(of, is_wanted)).collect()
            })
            .collect();
        let mut marks: HashMap<*const Declarations, IndexedMark> = HashMap::new();
        places.retain(|place| {
            let Some((part, row, set)) = self.at(*place) else { return true };
            let segment = self.parts.get(part).map(|part| &part.segment);
            let of = segment.and_then(|segment| segment.row(row));
            let declared =
                segment.zip(of).and_then(|(s, of)| s.index.declared.get(of.declared as usize));
            let Some((of, declared)) = of.zip(declared) else { return true };
            // What was indexed with another configuration proves nothing for this one.
            let mark =
                *marks.entry(Arc::as_ptr(declared)).or_insert_with(|| self.indexed.mark(declared));
            let proofs = proofs.get(part).map(Vec::as_slice).unwrap_or_default();
            let is_proven = |topic: &Arc<str>| {
                proofs.iter().any(|proof| proof.postings.topic == *topic && proof.has_none(row))
            };
            let mut wanted = set.iter().filter(|topic| topics.iter().any(|t| t.topic == **topic));
            of.indexed != mark || !wanted.all(is_proven)
        });
        places
    }

    fn postings(&self) -> impl Iterator<Item = (&Part, &TopicPostings)> {
        self.parts
            .iter()
            .flat_map(|part| part.segment.index.postings.iter().map(move |of| (part, of)))
    }
}

/// What the postings of a topic prove of the bags of a segment.
struct Proof<'s> {
    postings: &'s TopicPostings,
    /// The lists of the labels that are wanted.
    wanted: Vec<&'s RoaringBitmap>,
}

impl<'s> Proof<'s> {
    fn new(postings: &'s TopicPostings, is_wanted: &dyn Fn(&str) -> bool) -> Self {
        let labels = postings.labels.iter().filter(|(label, _)| is_wanted(label));
        Self { postings, wanted: labels.map(|(_, list)| list).collect() }
    }

    /// Whether no message of a row can name what is wanted.
    fn has_none(&self, row: u32) -> bool {
        let numbers = self.postings.of_row(row);
        !numbers.is_empty()
            && !self.postings.incomplete.contains(row)
            && !self.postings.with_other_values.contains(row)
            && self.wanted.iter().all(|list| list.range_cardinality(numbers.clone()) == 0)
    }
}

/// The messages of a topic that name what is wanted.
fn numbers_of<'s>(postings: &'s TopicPostings, wanted: &Wanted) -> Cow<'s, RoaringBitmap> {
    let owned = |wanted: &Wanted| numbers_of(postings, wanted).into_owned();
    match wanted {
        Wanted::Label(label) => match postings.labels.get(label) {
            Some(numbers) => Cow::Borrowed(numbers),
            None => Cow::Owned(RoaringBitmap::new()),
        },
        Wanted::All(all) => {
            let mut all = all.iter().map(owned);
            let first = all.next().unwrap_or_default();
            Cow::Owned(all.fold(first, |both, next| both & next))
        }
        Wanted::Any(any) => {
            Cow::Owned(any.iter().map(owned).fold(RoaringBitmap::new(), |both, next| both | next))
        }
        Wanted::Not(not) => {
            let mut all = RoaringBitmap::new();
            all.insert_range(0..postings.n_messages());
            Cow::Owned(all - owned(not))
        }
    }
}

impl List<'_> {
    /// Whether a row's messages count: not those that a newer entry stands for.
    fn counts(&self, row: u32) -> bool {
        !self.part.dead.replaced.contains(row)
    }

    /// The messages of a row, by ordinal, with their times.
    fn frames(&self, row: u32) -> Vec<(LogTime, u32)> {
        let Some(of) = self.part.segment.row(row) else { return Vec::new() };
        let numbers = self.postings.of_row(row);
        let times = self.postings.times_of(row, of.first);
        self.numbers
            .range(numbers.clone())
            .filter_map(|number| {
                let ordinal = number - numbers.start;
                Some((*times.get(ordinal as usize)?, ordinal))
            })
            .collect()
    }

    /// The rows that may touch a range.
    fn rows(&self, range: TimeRange) -> std::ops::Range<u32> {
        let index = &self.part.segment.index;
        let end = index.rows.partition_point(|row| row.first < range.end);
        let start = index.latest_so_far.partition_point(|latest| *latest < range.start);
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        number(start)..number(end)
    }

    fn count(&self, range: TimeRange) -> u64 {
        if range == TimeRange::ALL {
            let replaced = self.part.dead.replaced.iter();
            let lost: u64 = replaced.map(|row| self.in_row(row)).sum();
            return self.numbers.len() - lost;
        }
        let rows = self.rows(range);
        let whole = |row: u32| {
            let of = self.part.segment.row(row);
            of.is_some_and(|of| range.contains(of.first) && range.contains(of.last))
        };
        rows.filter(|row| self.counts(*row))
            .map(|row| match whole(row) {
                true => self.in_row(row),
                false if self.in_row(row) == 0 => 0,
                false => {
                    let frames = self.frames(row);
                    frames.iter().filter(|(time, _)| range.contains(*time)).count() as u64
                }
            })
            .sum()
    }

    fn in_row(&self, row: u32) -> u64 {
        self.numbers.range_cardinality(self.postings.of_row(row))
    }

    /// The first and last time in a range.
    fn span(&self, range: TimeRange) -> Option<(LogTime, LogTime)> {
        let index = &self.part.segment.index;
        let rows = self.rows(range);
        let in_range = |row: u32| {
            let frames = if self.counts(row) { self.frames(row) } else { Vec::new() };
            frames.into_iter().map(|(time, _)| time).filter(|time| range.contains(*time))
        };
        let mut last: Option<LogTime> = None;
        let mut before = rows.end;
        while let Some(row) = self.postings.row_before(&self.numbers, before) {
            if row < rows.start || last >= index.latest_so_far.get(row as usize).copied() {
                break;
            }
            last = last.max(in_range(row).max());
            before = row;
        }
        last?;
        let mut first: Option<LogTime> = None;
        let mut row = self.postings.row_from(&self.numbers, rows.start);
        while let Some(at) = row.filter(|row| *row < rows.end) {
            let starts = index.rows.get(at as usize).map(|row| row.first);
            if first.is_some() && first <= starts {
                break;
            }
            first = [first, in_range(at).min()].into_iter().flatten().min();
            row = self.postings.row_from(&self.numbers, at + 1);
        }
        first.zip(last)
    }
}

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

impl SightingsBack<'_> {
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
