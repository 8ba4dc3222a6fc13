//! Which messages name a label, answered from the posting lists alone.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use roaring::RoaringBitmap;
use ros2_memory_time::{LogTime, TimeRange};

pub use self::back::SightingsBack;
use self::list::List;
use crate::{Snapshot, segment::postings::TopicPostings, snapshot::Part};

mod back;
mod list;
#[cfg(test)]
mod tests;

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

/// See [`Snapshot::lists_by_label`].
pub(crate) type ListsByLabel = HashMap<Arc<str>, Vec<(u32, u32)>, foldhash::fast::RandomState>;

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
        let mut labels: BTreeMap<&Arc<str>, Option<LabelSummary>> = BTreeMap::new();
        for (part, postings) in self.postings_of(topics) {
            for (label, numbers) in &postings.labels {
                let list = List { part, postings, numbers: Cow::Borrowed(numbers) };
                list.add_to(labels.entry(label).or_default(), label, range);
            }
        }
        labels.into_values().flatten().collect()
    }

    /// What is known of one label in a range; `None` when no message names it.
    pub fn label(&self, label: &str, range: TimeRange) -> Option<LabelSummary> {
        let mut summary = None;
        for (part, postings) in self.postings() {
            let Some((label, numbers)) = postings.labels.get_key_value(label) else { continue };
            let list = List { part, postings, numbers: Cow::Borrowed(numbers) };
            list.add_to(&mut summary, label, range);
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
        let lists: Vec<(List<'_>, LogTime)> = self
            .lists_by_label()
            .get(label)?
            .iter()
            .filter_map(|(part, topic)| {
                let part = self.parts.get(*part as usize)?;
                let postings = part.segment.index.postings.get(*topic as usize)?;
                let numbers = Cow::Borrowed(postings.labels.get(label)?);
                let latest = part.segment.index.latest_so_far.last().copied().unwrap_or_default();
                Some((List { part, postings, numbers }, latest))
            })
            .collect();
        // Most often the segment that ends last has it, and no other needs to be looked at.
        let end = lists.iter().map(|(_, latest)| *latest).max()?;
        let newest =
            lists.iter().filter(|(_, latest)| *latest == end).map(|(list, _)| list.clone());
        let found = SightingsBack::new(newest.collect(), range).next();
        let reached = found.as_ref().map_or(LogTime::ZERO, |found| found.time);
        if found.is_some() && lists.iter().all(|(_, latest)| *latest == end || *latest < reached) {
            return found;
        }
        let rest = lists.into_iter().filter(|(_, latest)| *latest >= reached).map(|(list, _)| list);
        SightingsBack::new(rest.collect(), range).next()
    }

    /// For each label the posting lists that have it: segment, and place among its topics.
    fn lists_by_label(&self) -> &ListsByLabel {
        self.lists_by_label.get_or_init(|| {
            let mut lists = ListsByLabel::default();
            for (part, of) in (0u32..).zip(&self.parts) {
                for (topic, postings) in (0u32..).zip(&of.segment.index.postings) {
                    for label in postings.labels.keys() {
                        lists.entry(label.clone()).or_default().push((part, topic));
                    }
                }
            }
            lists
        })
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
        let lists = self
            .postings_of(topics)
            .map(|(part, postings)| List { part, postings, numbers: numbers_of(postings, wanted) })
            .filter(|list| !list.numbers.is_empty());
        SightingsBack::new(lists.collect(), range)
    }

    /// How many messages of some topics with labels there are in a range, and the first and last.
    pub fn labelled_span(
        &self,
        topics: &[Arc<str>],
        range: TimeRange,
    ) -> Option<(LogTime, LogTime)> {
        let mut span: Option<(LogTime, LogTime)> = None;
        for (part, postings) in self.postings_of(topics) {
            let list = List { part, postings, numbers: Cow::Owned(postings.all()) };
            if let Some((first, last)) = list.span(range) {
                span = Some(span.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
            }
        }
        span
    }

    fn postings(&self) -> impl Iterator<Item = (&Part, &TopicPostings)> {
        self.parts
            .iter()
            .flat_map(|part| part.segment.index.postings.iter().map(move |of| (part, of)))
    }

    /// The postings of some topics; of all when `topics` is empty.
    fn postings_of<'s>(
        &'s self,
        topics: &[Arc<str>],
    ) -> impl Iterator<Item = (&'s Part, &'s TopicPostings)> {
        self.postings().filter(|(_, of)| topics.is_empty() || topics.contains(&of.topic))
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
        Wanted::Not(not) => Cow::Owned(postings.all() - owned(not)),
    }
}
