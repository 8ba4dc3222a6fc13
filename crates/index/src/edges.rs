//! Which frames a bag connects, from when to when.

use std::{collections::HashMap, sync::Arc};

use ros2_memory_time::LogTime;

use crate::{EdgeSpan, texts::Texts};

/// The spans of edges, found again by their frames.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    pub(crate) spans: Vec<EdgeSpan>,
    places: HashMap<(Arc<str>, Arc<str>, bool), usize>,
    /// How far a stamp lay from the time of recording, at most.
    pub(crate) skew_ns: u64,
}

impl Edges {
    pub(crate) fn of(spans: &[EdgeSpan], skew_ns: u64) -> Self {
        let places = spans
            .iter()
            .enumerate()
            .map(|(place, span)| ((span.parent.clone(), span.child.clone(), span.is_static), place))
            .collect();
        Self { spans: spans.to_vec(), places, skew_ns }
    }

    /// The place of an edge, a new one when it is new.
    pub(crate) fn place(
        &mut self,
        texts: &mut Texts,
        parent: &str,
        child: &str,
        is_static: bool,
    ) -> usize {
        // Old transform libraries write a leading slash; it is no part of the name.
        let parent = parent.strip_prefix('/').unwrap_or(parent);
        let child = child.strip_prefix('/').unwrap_or(child);
        let key = (texts.shared(parent), texts.shared(child), is_static);
        let next = self.spans.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            self.spans.push(EdgeSpan {
                parent: key.0,
                child: key.1,
                is_static,
                count: 0,
                first: LogTime::MAX,
                last: LogTime::ZERO,
            });
        }
        place
    }

    /// Adds a sample of the edge at a place.
    pub(crate) fn add(&mut self, place: usize, time: LogTime, log_time: LogTime) {
        self.skew_ns = self.skew_ns.max(time.abs_diff_ns(log_time));
        if let Some(span) = self.spans.get_mut(place) {
            span.count += 1;
            span.first = span.first.min(time);
            span.last = span.last.max(time);
        }
    }
}
