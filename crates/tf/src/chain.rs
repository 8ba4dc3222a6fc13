//! The walk from a frame up to its root.

use ros2_memory_time::LogTime;

use crate::frames::FrameId;
use crate::track::{Link, Miss, Track};
use crate::{Limits, Transform};

/// The most ancestors of one frame that are walked.
///
/// Real robots stay below 30; the bound is for files that are made to take time.
pub const MAX_DEPTH: usize = 256;

/// The frames above one frame at one moment.
pub(crate) struct Chain<'a> {
    start: FrameId,
    steps: Vec<Step<'a>>,
    pub(crate) end: End,
}

struct Step<'a> {
    frame: FrameId,
    link: Link<'a>,
}

/// What stopped a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// A frame that never has a parent.
    Root,
    /// A frame of the other chain, so many steps above that chain's start.
    Met {
        steps_of_other: usize,
    },
    /// A frame that has samples, but no parent at this moment.
    Missed(Miss),
    /// A frame of this chain, so many steps above the start.
    Loop {
        steps: usize,
    },
    TooDeep,
}

impl<'a> Chain<'a> {
    /// Walks up from `start` until there is no parent, or until a frame of `other` is met.
    pub(crate) fn walk(
        tracks: &'a [Track],
        start: FrameId,
        at: LogTime,
        limits: Limits,
        other: Option<&Chain<'_>>,
    ) -> Self {
        let mut chain = Self { start, steps: Vec::with_capacity(8), end: End::Root };
        chain.end = loop {
            let frame = chain.top();
            if let Some(steps_of_other) = other.and_then(|other| other.height_of(frame)) {
                break End::Met { steps_of_other };
            }
            if let Some(steps) = chain.steps.iter().position(|step| step.frame == frame) {
                break End::Loop { steps };
            }
            match tracks.get(frame.index()).map_or(Ok(None), |track| track.link_at(at, limits)) {
                Ok(Some(_)) if chain.steps.len() == MAX_DEPTH => break End::TooDeep,
                Ok(Some(link)) => chain.steps.push(Step { frame, link }),
                Ok(None) => break End::Root,
                Err(miss) => break End::Missed(miss),
            }
        };
        chain
    }

    /// The last frame that was reached.
    pub(crate) fn top(&self) -> FrameId {
        self.steps.last().map_or(self.start, |step| step.link.parent)
    }

    /// Whether the lowest `steps` steps touch a loop: there, every frame is above every other.
    pub(crate) fn has_loop_within(&self, steps: usize) -> bool {
        matches!(self.end, End::Loop { steps: loop_start } if steps > loop_start)
    }

    /// The start frame in the frame `steps` above it.
    pub(crate) fn ancestor_from_start(&self, steps: usize) -> Transform {
        self.steps.iter().take(steps).fold(Transform::IDENTITY, |parent_from_start, step| {
            step.link.parent_from_child().then(parent_from_start)
        })
    }

    /// The start frame in the topmost.
    pub(crate) fn top_from_start(&self) -> Transform {
        self.ancestor_from_start(self.steps.len())
    }

    fn height_of(&self, frame: FrameId) -> Option<usize> {
        let below = self.steps.iter().position(|step| step.frame == frame);
        below.or_else(|| (self.top() == frame).then_some(self.steps.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Frames;

    fn ids(count: usize) -> Vec<FrameId> {
        let mut frames = Frames::default();
        (0..count).map(|i| frames.intern(&i.to_string()).unwrap()).collect()
    }

    fn along_x(x: f64) -> Transform {
        Transform { translation_m: [x, 0.0, 0.0], ..Transform::IDENTITY }
    }

    /// A static tree where frame `i` hangs below `parents[i]`.
    fn tracks(ids: &[FrameId], parents: &[Option<usize>]) -> Vec<Track> {
        let mut tracks = vec![Track::default(); parents.len()];
        for (track, parent) in tracks.iter_mut().zip(parents) {
            if let Some(parent) = parent {
                track.insert_static(ids[*parent], along_x(1.0));
            }
        }
        tracks
    }

    fn walk<'a>(tracks: &'a [Track], start: FrameId, other: Option<&Chain<'_>>) -> Chain<'a> {
        Chain::walk(tracks, start, LogTime::ZERO, Limits::default(), other)
    }

    #[test]
    fn a_walk_ends_at_the_root() {
        let ids = ids(3);
        let tracks = tracks(&ids, &[None, Some(0), Some(1)]);
        let chain = walk(&tracks, ids[2], None);
        assert_eq!((chain.end, chain.top()), (End::Root, ids[0]));
        assert_eq!(chain.top_from_start(), along_x(2.0));
        assert_eq!(chain.ancestor_from_start(1), along_x(1.0));
    }

    #[test]
    fn a_walk_ends_where_it_meets_the_other() {
        let ids = ids(4);
        let tracks = tracks(&ids, &[None, Some(0), Some(1), Some(1)]);
        let source = walk(&tracks, ids[2], None);
        assert_eq!(walk(&tracks, ids[3], Some(&source)).end, End::Met { steps_of_other: 1 });
        assert_eq!(walk(&tracks, ids[0], Some(&source)).end, End::Met { steps_of_other: 2 });
        assert_eq!(walk(&tracks, ids[2], Some(&source)).end, End::Met { steps_of_other: 0 });
    }

    #[test]
    fn a_loop_ends_the_walk_and_is_told_from_what_hangs_below_it() {
        let ids = ids(3);
        let tracks = tracks(&ids, &[Some(1), Some(0), Some(0)]);
        let chain = walk(&tracks, ids[2], None);
        assert_eq!(chain.end, End::Loop { steps: 1 });
        assert!(!chain.has_loop_within(1));
        assert!(chain.has_loop_within(2));
    }

    #[test]
    fn a_chain_as_deep_as_the_limit_is_walked_and_a_deeper_one_is_not() {
        let ids = ids(MAX_DEPTH + 2);
        let parents: Vec<_> = (0..ids.len()).map(|i| i.checked_sub(1)).collect();
        let tracks = tracks(&ids, &parents);
        assert_eq!(walk(&tracks, ids[MAX_DEPTH], None).end, End::Root);
        assert_eq!(walk(&tracks, ids[MAX_DEPTH + 1], None).end, End::TooDeep);
    }
}
