//! Which bags can be passed over, since an index proves that nothing in them matches.

use std::{collections::HashMap, sync::Arc};

use roaring::RoaringBitmap;
use ros2_memory_bag::Declarations;
use ros2_memory_index::{Span, WordQuery};

use crate::{
    Snapshot, TopicSummary,
    segment::{
        Segment,
        postings::TopicPostings,
        tables::{Column, zones},
    },
};

/// What a message must have at least to match.
pub enum Probe<'p> {
    /// A label, or text with some words.
    Text {
        /// Which labels count.
        is_wanted: &'p dyn Fn(&str) -> bool,
        /// The words of the text; `None` when text cannot be ruled out.
        words: Option<WordQuery>,
        /// Whether what is looked at in a type is indexed.
        is_indexed: &'p dyn Fn(&str) -> bool,
    },
    /// A number.
    Number {
        /// Within one of these.
        spans: Vec<Span>,
        /// Where a type is looked at.
        path_of: &'p dyn Fn(&str) -> Option<String>,
    },
    /// A position within a circle.
    Place {
        /// The centre, in metres in the frame of the messages.
        x_m: f64,
        /// The centre, in metres in the frame of the messages.
        y_m: f64,
        /// Inclusive.
        radius_m: f64,
        /// Where a type is looked at.
        path_of: &'p dyn Fn(&str) -> Option<String>,
    },
}

impl std::fmt::Debug for Probe<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Self::Text { .. } => "Text",
            Self::Number { .. } => "Number",
            Self::Place { .. } => "Place",
        };
        f.debug_struct(name).finish_non_exhaustive()
    }
}

impl Snapshot {
    /// Those of some bags that may have a message of `topics` that matches: an index proves that
    /// the others have none. Opens no bag; costs a look at the postings of each segment.
    pub fn may_match(
        &self,
        topics: &[&TopicSummary],
        mut places: Vec<u32>,
        probe: &Probe<'_>,
    ) -> Vec<u32> {
        let mut parts: Vec<Option<Proofs<'_>>> = self.parts.iter().map(|_| None).collect();
        // What was indexed with another configuration proves nothing for this one.
        let mut marks = HashMap::new();
        places.retain(|place| {
            let Some((part, row, set)) = self.at(*place) else { return true };
            let (Some(of_part), Some(proofs)) = (self.parts.get(part), parts.get_mut(part)) else {
                return true;
            };
            let segment = &*of_part.segment;
            let Some(of) = segment.row(row) else { return true };
            let Some(declared) = segment.index.declared.get(of.declared as usize) else {
                return true;
            };
            let mark =
                *marks.entry(Arc::as_ptr(declared)).or_insert_with(|| self.indexed.mark(declared));
            if mark != of.indexed {
                return true;
            }
            let proofs = proofs.get_or_insert_with(|| Proofs::new(segment, topics, probe));
            let mut wanted = (0..).zip(topics).filter(|(_, topic)| set.contains(&topic.topic));
            !wanted.all(|(number, _)| proofs.has_none(row, number, declared))
        });
        places
    }
}

impl Snapshot {
    /// Between which numbers all of a topic's messages lie at a path, for each of some bags; `None`
    /// where no index says so. `path_of` says where a type is looked at. Rounded outward to
    /// singles; what is no number is not counted. Opens no bag.
    pub fn zones_of(
        &self,
        topic: &TopicSummary,
        places: &[u32],
        path_of: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<Option<(f64, f64)>> {
        let mut columns: HashMap<(usize, String), Vec<(f32, f32)>> = HashMap::new();
        let mut known: HashMap<
            *const Declarations,
            (ros2_memory_index::IndexedMark, Option<String>),
        > = HashMap::new();
        let zone = |place: &u32| {
            let (part, row, _) = self.at(*place)?;
            let segment = &self.parts.get(part)?.segment;
            let of = segment.row(row)?;
            let declared = segment.index.declared.get(of.declared as usize)?;
            let (mark, path) = known.entry(Arc::as_ptr(declared)).or_insert_with(|| {
                (self.indexed.mark(declared), one_path(declared, &topic.topic, path_of))
            });
            if *mark != of.indexed {
                return None;
            }
            let path = path.clone()?;
            let column = columns.entry((part, path)).or_insert_with_key(|(_, path)| {
                column(segment, &topic.topic, path).unwrap_or_default()
            });
            let (min, max) = *column.get(row as usize)?;
            (!min.is_nan()).then_some((f64::from(min), f64::from(max)))
        };
        places.iter().map(zone).collect()
    }
}

/// The zones of a topic at a path in all rows of a segment; `None` when they are not kept.
fn column(segment: &Segment, topic: &Arc<str>, path: &str) -> Option<Vec<(f32, f32)>> {
    let is_it = |column: &Column| matches!(column, Column::Zone(of) if **of == *path);
    let mut tables = segment.index.tables.iter();
    let table = tables.find(|of| of.topic == *topic && is_it(&of.column))?;
    let records = segment.records(table, 0..segment.n_rows()).unwrap_or_else(|reason| {
        tracing::warn!(segment = segment.number, reason, "bags are read instead");
        Vec::new()
    });
    Some(zones(&records).collect())
}

/// What the indexes of one segment prove.
struct Proofs<'s> {
    segment: &'s Segment,
    probe: &'s Probe<'s>,
    /// By the number of the topic.
    topics: Vec<TopicProof<'s>>,
}

struct TopicProof<'s> {
    topic: &'s Arc<str>,
    /// The labels of the topic, and the lists of those that are wanted.
    labels: Option<(&'s TopicPostings, Vec<&'s RoaringBitmap>)>,
    /// The rows without the wanted text.
    without_text: RoaringBitmap,
    /// The rows without a wanted number or place, by the path that is looked at.
    without: HashMap<String, RoaringBitmap>,
    /// For declarations, where they say that the topic's messages are looked at.
    paths: HashMap<*const Declarations, Option<String>>,
}

impl<'s> Proofs<'s> {
    fn new(segment: &'s Segment, topics: &[&'s TopicSummary], probe: &'s Probe<'s>) -> Self {
        let index = &segment.index;
        let of_topic = |topic: &&'s TopicSummary| {
            let topic = &topic.topic;
            let (mut labels, mut without_text) = (None, RoaringBitmap::new());
            if let Probe::Text { is_wanted, words, .. } = probe {
                let postings = index.postings.iter().find(|of| of.topic == *topic);
                labels = postings.map(|of| {
                    let wanted = of.labels.iter().filter(|(label, _)| is_wanted(label));
                    (of, wanted.map(|(_, list)| list).collect())
                });
                let rows = index.words.iter().find(|of| of.topic == *topic);
                if let (Some(rows), Some(words)) = (rows, words) {
                    without_text = rows.without(words);
                }
            }
            let (without, paths) = (HashMap::new(), HashMap::new());
            TopicProof { topic, labels, without_text, without, paths }
        };
        Self { segment, probe, topics: topics.iter().map(of_topic).collect() }
    }

    /// Whether no message of a topic in a row matches.
    fn has_none(&mut self, row: u32, topic: usize, declared: &Arc<Declarations>) -> bool {
        let Self { segment, probe, topics } = self;
        let Some(proof) = topics.get_mut(topic) else { return false };
        let path_of = match probe {
            Probe::Text { is_indexed, .. } => {
                let paths = &mut proof.paths;
                let path = paths.entry(Arc::as_ptr(declared)).or_insert_with(|| {
                    let path = |type_name: &str| is_indexed(type_name).then(String::new);
                    one_path(declared, proof.topic, &path)
                });
                return path.is_some() && proof.has_no_text(row);
            }
            Probe::Number { path_of, .. } | Probe::Place { path_of, .. } => path_of,
        };
        let TopicProof { topic, without, paths, .. } = proof;
        let path = paths
            .entry(Arc::as_ptr(declared))
            .or_insert_with(|| one_path(declared, topic, *path_of));
        let Some(path) = path else { return false };
        if let Some(rows) = without.get(path) {
            return rows.contains(row);
        }
        let rows = rows_without(segment, topic, path, probe);
        without.entry(path.clone()).or_insert(rows).contains(row)
    }
}

impl TopicProof<'_> {
    fn has_no_text(&self, row: u32) -> bool {
        let Some((postings, wanted)) = &self.labels else { return self.without_text.contains(row) };
        let numbers = postings.of_row(row);
        if numbers.is_empty() {
            return self.without_text.contains(row);
        }
        let says_none =
            || !postings.with_other_values.contains(row) || self.without_text.contains(row);
        !postings.incomplete.contains(row)
            && says_none()
            && wanted.iter().all(|list| list.range_cardinality(numbers.clone()) == 0)
    }
}

/// Where the messages of a topic are looked at; `None` when its channels are not all alike.
fn one_path(
    declared: &Declarations,
    topic: &Arc<str>,
    path_of: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let channels = declared.channels.iter().filter(|channel| channel.topic == *topic);
    let mut paths = channels.map(|channel| path_of(declared.type_name(channel)));
    let first = paths.next()??;
    paths.all(|path| path.as_deref() == Some(&first)).then_some(first)
}

/// The rows of which an index proves that no message of a topic matches.
fn rows_without(
    segment: &Segment,
    topic: &Arc<str>,
    path: &str,
    probe: &Probe<'_>,
) -> RoaringBitmap {
    let index = &segment.index;
    match probe {
        Probe::Text { .. } => RoaringBitmap::new(),
        Probe::Place { x_m, y_m, radius_m, .. } => {
            let cells = index.cells.iter().find(|of| of.topic == *topic && *of.path == *path);
            cells.map(|of| of.without(*x_m, *y_m, *radius_m)).unwrap_or_default()
        }
        Probe::Number { spans, .. } => {
            let column = column(segment, topic, path).unwrap_or_default();
            let is_out = |(min, max): (f32, f32)| {
                !min.is_nan() && !spans.iter().any(|span| span.touches(min, max))
            };
            let rows = (0u32..).zip(column).filter(|(_, zone)| is_out(*zone));
            rows.map(|(row, _)| row).collect()
        }
    }
}
