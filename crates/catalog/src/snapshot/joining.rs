//! One table out of those of the segments.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use ros2_memory_index::EdgeSpan;
use ros2_memory_time::{LogTime, TimeRange};

use super::{MIN_GAP_NS, Place, Shown, TopicSummary};
use crate::segment::{index::SegmentIndex, rows::RowFlags, summary::Summary};

/// Sets of topics, each once.
#[derive(Default)]
pub(super) struct Sets {
    pub(super) all: Vec<Vec<Arc<str>>>,
    places: HashMap<Vec<Arc<str>>, u32>,
}

impl Sets {
    pub(super) fn place(&mut self, index: &SegmentIndex, set: &[u32]) -> u32 {
        let topic = |place: &u32| index.topics.get(*place as usize).cloned();
        let mut topics: Vec<Arc<str>> = set.iter().filter_map(topic).collect();
        topics.sort();
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let place = *self.places.entry(topics.clone()).or_insert(next);
        if place == next {
            self.all.push(topics);
        }
        place
    }
}

/// By start time, then path, which is looked up only where bags start together.
pub(super) fn sort_places(places: &mut [Place], segments: &[Shown]) {
    if !places.is_sorted_by_key(|place| place.first) {
        places.sort_by_key(|place| place.first);
    }
    let path = |place: &Place| {
        let shown = segments.get(place.part as usize)?;
        shown.segment.identity(place.row).ok().map(|(path, ..)| path)
    };
    for together in places.chunk_by_mut(|a, b| a.first == b.first) {
        if together.len() > 1 {
            together.sort_by_cached_key(path);
        }
    }
}

pub(super) fn join_topics<'s>(
    summaries: impl Iterator<Item = &'s Summary>,
) -> BTreeMap<Arc<str>, TopicSummary> {
    let mut topics: BTreeMap<Arc<str>, TopicSummary> = BTreeMap::new();
    for total in summaries.flat_map(|summary| &summary.topics) {
        let known = topics.entry(total.topic.clone()).or_insert_with(|| TopicSummary {
            topic: total.topic.clone(),
            type_name: Arc::default(),
            count: 0,
            span: None,
        });
        if !total.type_name.is_empty() {
            known.type_name = total.type_name.clone();
        }
        known.count += total.count;
        known.span = match (known.span, total.span) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }
    topics
}

pub(super) fn join_edges<'s>(summaries: impl Iterator<Item = &'s Summary>) -> Vec<EdgeSpan> {
    let mut edges: BTreeMap<_, EdgeSpan> = BTreeMap::new();
    for edge in summaries.flat_map(|summary| &summary.edges) {
        let key = (edge.parent.clone(), edge.child.clone(), edge.is_static);
        edges
            .entry(key)
            .and_modify(|known| {
                known.count += edge.count;
                known.first = known.first.min(edge.first);
                known.last = known.last.max(edge.last);
            })
            .or_insert_with(|| edge.clone());
    }
    edges.into_values().collect()
}

/// When bags were recorded whose files are gone; what is closer than a gap is one stretch.
pub(super) fn find_deleted(segments: &[Shown]) -> Vec<(LogTime, LogTime)> {
    let mut spans: Vec<(LogTime, LogTime)> = Vec::new();
    for Shown { segment, dead, .. } in segments {
        let rows = (0..)
            .zip(&segment.index.rows)
            .filter(|(row, of)| of.flags.has(RowFlags::MESSAGES) && dead.is_gone(*row, of));
        spans.extend(rows.map(|(_, of)| (of.first, of.last)));
    }
    spans.sort_unstable();
    let mut joined: Vec<(LogTime, LogTime)> = Vec::new();
    for (first, last) in spans {
        match joined.last_mut() {
            Some(open) if first.since_ns(open.1) <= MIN_GAP_NS => open.1 = open.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

pub(super) fn find_gaps(places: &[Place]) -> Vec<TimeRange> {
    let mut gaps = Vec::new();
    let mut covered_to: Option<LogTime> = None;
    for bag in places {
        if let Some(end) = covered_to
            && bag.first.since_ns(end) > MIN_GAP_NS
        {
            gaps.push(TimeRange::new(end, bag.first));
        }
        covered_to = covered_to.max(Some(bag.last));
    }
    gaps
}
