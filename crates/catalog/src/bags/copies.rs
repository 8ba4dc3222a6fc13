//! Which bags are one and the same, wherever they lie.

use std::collections::HashMap;

use ros2_memory_bag::{ContentMark, FileIdentity};
use ros2_memory_index::BagEntry;
use ros2_memory_time::LogTime;

use super::Place;
use crate::segment::rows::{Row, RowFlags};

/// What a bag is known by where it is moved, copied or back from a disk that was away.
///
/// Size and mark alone are not enough: two recordings that were cut off by a loss of power may
/// have the same head, a tail of zeros and the size that was set aside for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Content {
    size_bytes: u64,
    mark: ContentMark,
    pub(super) first: Option<LogTime>,
}

impl Content {
    pub(super) fn of(entry: &BagEntry) -> Self {
        let first = entry.contents.time_span().map(|(first, _)| first);
        Self { size_bytes: entry.identity.size_bytes, mark: entry.mark, first }
    }

    pub(super) fn of_row(row: &Row, identity: FileIdentity, mark: ContentMark) -> Self {
        let first = row.flags.has(RowFlags::MESSAGES).then_some(row.first);
        Self { size_bytes: identity.size_bytes, mark, first }
    }
}

/// How many files there are of each content, and where one is known of which none is there.
#[derive(Debug, Default)]
pub(super) struct Copies {
    known: HashMap<Content, Known, foldhash::fast::RandomState>,
}

#[derive(Debug, Default)]
struct Known {
    n_there: u32,
    gone: Option<Place>,
}

impl Copies {
    /// Counts a file that is there; returns the bag that was thought to be gone and is this one.
    pub(super) fn add(&mut self, content: Content) -> Option<Place> {
        let known = self.known.entry(content).or_default();
        known.n_there = known.n_there.saturating_add(1);
        known.gone.take()
    }

    /// Counts a file that is no longer there; returns whether it was the last of its content.
    pub(super) fn subtract(&mut self, content: Content) -> bool {
        let known = self.known.entry(content).or_default();
        known.n_there = known.n_there.saturating_sub(1);
        known.n_there == 0
    }

    /// Takes note of where a bag is whose file is gone.
    pub(super) fn set_gone(&mut self, content: Content, at: Place) {
        let known = self.known.entry(content).or_default();
        if known.n_there == 0 {
            known.gone = Some(at);
        }
    }
}
