use ros2_memory_time::LogTime;

use crate::chain::{Chain, End, MAX_DEPTH};
use crate::frames::{FrameId, Frames, without_slash};
use crate::track::{Miss, Track};
use crate::{Limits, LookupError, Rejected, Run, Transform};

/// The longest translation along one axis that a buffer takes, in metres.
///
/// Far beyond any place, and small enough that no chain of [`MAX_DEPTH`] transforms overflows:
/// what comes out of a look-up is finite.
pub const MAX_TRANSLATION_M: f64 = 1e100;

/// Keeps transforms between frames and answers where a frame was in another.
///
/// What stays true:
///
/// - Frame names lose one leading slash, in samples as in questions: `/map` is `map`.
/// - Samples may come in any order. Of two with the same parent, child and stamp the later
///   insert stays, whatever their runs.
/// - A static transform wins over samples of the same edge, whichever came first. A child has
///   one static transform; a later one takes its place, as in tf2.
/// - At a moment, a child has the parent that its samples just at or before and just after give,
///   whatever its parents at other times. Two samples at most [`Limits::max_gap_ns`] apart and
///   of one run are interpolated. Otherwise the nearest is held, at most
///   [`Limits::max_extrapolation_ns`] away. A sample at the very moment needs no neighbour.
/// - A child is [reparented](LookupError::Reparented) when the samples before and after are both
///   near enough to be held and name different parents; also when a sample that near names
///   another parent than the child's static transform.
/// - Only the edges between the two frames and their nearest common ancestor can fail a look-up.
///
/// The rules follow tf2's `BufferCore`, which knows neither gaps nor runs nor extrapolation.
#[derive(Debug, Clone)]
pub struct Buffer {
    limits: Limits,
    frames: Frames,
    /// By frame, as a child; in step with `frames`.
    tracks: Vec<Track>,
    rejected: u64,
}

/// What a buffer knows of one parent and child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge<'a> {
    /// The parent frame.
    pub parent: &'a str,
    /// The child frame.
    pub child: &'a str,
    /// Whether a static transform is known, which then answers at all times.
    pub is_static: bool,
    /// The first sample; `None` when the edge has only a static transform.
    pub first: Option<LogTime>,
    /// The last sample; `None` when the edge has only a static transform.
    pub last: Option<LogTime>,
}

impl Buffer {
    /// An empty buffer.
    pub fn new(limits: Limits) -> Self {
        Self { limits, frames: Frames::default(), tracks: Vec::new(), rejected: 0 }
    }

    /// Takes a transform that holds at all times: the pose of `child` in `parent`.
    ///
    /// # Errors
    ///
    /// As [`Buffer::insert`].
    pub fn insert_static(
        &mut self,
        parent: &str,
        child: &str,
        parent_from_child: Transform,
    ) -> Result<(), Rejected> {
        let (parent, track, transform) = self.accept(parent, child, parent_from_child)?;
        track.insert_static(parent, transform);
        Ok(())
    }

    /// Takes a sample: the pose of `child` in `parent` at `stamp`, recorded in `run`.
    ///
    /// A rotation that is not of unit length is normalised.
    ///
    /// # Errors
    ///
    /// A rotation that is zero or not finite, a translation that is not finite or beyond
    /// [`MAX_TRANSLATION_M`], an empty frame name, and a frame in itself. Each adds one to
    /// [`Buffer::rejected`].
    pub fn insert(
        &mut self,
        parent: &str,
        child: &str,
        stamp: LogTime,
        run: Run,
        parent_from_child: Transform,
    ) -> Result<(), Rejected> {
        let (parent, track, transform) = self.accept(parent, child, parent_from_child)?;
        track.insert(parent, stamp, run, transform);
        Ok(())
    }

    /// The pose of `source` in `target` at a moment: `target_from_source`.
    ///
    /// A known frame in itself is the identity. The walk to the root takes a search in the
    /// samples of each frame on the way, and allocates two short vectors.
    ///
    /// # Errors
    ///
    /// - [`LookupError::UnknownFrame`]: a name that no accepted transform holds.
    /// - [`LookupError::Loop`]: the way leads along a loop, or the only way up ends in one.
    /// - [`LookupError::NotConnected`]: no common ancestor, now or (where a sample is missing on
    ///   the way) at any time.
    /// - [`LookupError::Extrapolation`]: samples of an edge exist, but not near enough.
    /// - [`LookupError::Reparented`]: the samples around disagree about a parent.
    /// - [`LookupError::TooDeep`]: more than [`MAX_DEPTH`] ancestors.
    pub fn lookup(
        &self,
        target: &str,
        source: &str,
        at: LogTime,
    ) -> Result<Transform, LookupError> {
        let target = self.known(target)?;
        let source = self.known(source)?;
        if target == source {
            return Ok(Transform::IDENTITY);
        }
        let upwards = Chain::walk(&self.tracks, source, at, self.limits, None);
        let downwards = Chain::walk(&self.tracks, target, at, self.limits, Some(&upwards));
        let End::Met { steps_of_other } = downwards.end else {
            return Err(self.explain(target, &downwards, source, &upwards, at));
        };
        if upwards.has_loop_within(steps_of_other) {
            return Err(LookupError::Loop { frame: self.name(upwards.top()) });
        }
        let common_from_source = upwards.ancestor_from_start(steps_of_other);
        let common_from_target = downwards.top_from_start();
        let target_from_source = common_from_target.inverse().then(common_from_source);
        // Rounding adds up along the chain; a product of unit quaternions is never zero.
        let rotation =
            target_from_source.rotation.normalized().unwrap_or(target_from_source.rotation);
        Ok(Transform { rotation, ..target_from_source })
    }

    /// All frame names, sorted.
    pub fn frames(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.frames.names().collect();
        names.sort_unstable();
        names
    }

    /// All edges, sorted by parent, then child.
    pub fn edges(&self) -> Vec<Edge<'_>> {
        let mut edges = Vec::new();
        for (child, track) in self.frames.names().zip(&self.tracks) {
            let fixed = track.static_parent();
            edges.extend(track.spans().iter().map(|span| Edge {
                parent: self.frames.name(span.parent),
                child,
                is_static: fixed == Some(span.parent),
                first: Some(span.first),
                last: Some(span.last),
            }));
            let only_static =
                fixed.filter(|fixed| track.spans().iter().all(|span| span.parent != *fixed));
            edges.extend(only_static.map(|parent| Edge {
                parent: self.frames.name(parent),
                child,
                is_static: true,
                first: None,
                last: None,
            }));
        }
        edges.sort_unstable();
        edges
    }

    /// How many transforms were refused so far.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The limits that the buffer answers within.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    fn accept(
        &mut self,
        parent: &str,
        child: &str,
        parent_from_child: Transform,
    ) -> Result<(FrameId, &mut Track, Transform), Rejected> {
        let (parent, child) = (without_slash(parent), without_slash(child));
        let accepted = checked(parent, child, parent_from_child).and_then(|transform| {
            let full = Rejected::TooManyFrames { known: self.frames.len() };
            let ids = self.frames.intern(parent).zip(self.frames.intern(child));
            ids.map(|ids| (ids, transform)).ok_or(full)
        });
        let ((parent, child), transform) = match accepted {
            Ok(accepted) => accepted,
            Err(rejected) => {
                self.rejected += 1;
                return Err(rejected);
            }
        };
        self.tracks.resize_with(self.frames.len(), Track::default);
        match self.tracks.get_mut(child.index()) {
            Some(track) => Ok((parent, track, transform)),
            None => unreachable!("there is a track for every frame"),
        }
    }

    fn known(&self, name: &str) -> Result<FrameId, LookupError> {
        let name = without_slash(name);
        self.frames.get(name).ok_or_else(|| LookupError::UnknownFrame { frame: name.to_owned() })
    }

    /// Says why two walks did not meet.
    fn explain(
        &self,
        target: FrameId,
        downwards: &Chain<'_>,
        source: FrameId,
        upwards: &Chain<'_>,
        at: LogTime,
    ) -> LookupError {
        let ends = [(source, upwards), (target, downwards)];
        for (_, chain) in ends {
            if matches!(chain.end, End::Loop { .. }) {
                return LookupError::Loop { frame: self.name(chain.top()) };
            }
        }
        // A missing sample is worth naming only when another moment could connect the two.
        let stopped = ends.into_iter().find_map(|(start, chain)| match chain.end {
            End::Missed(miss) => Some(self.missed(chain.top(), miss, at)),
            End::TooDeep => {
                Some(LookupError::TooDeep { frame: self.name(start), limit: MAX_DEPTH })
            }
            End::Root | End::Met { .. } | End::Loop { .. } => None,
        });
        match stopped {
            Some(stopped) if self.is_ever_connected(target, source) => stopped,
            _ => LookupError::NotConnected {
                target: self.name(target),
                source: self.name(source),
                target_root: self.name(downwards.top()),
                source_root: self.name(upwards.top()),
            },
        }
    }

    fn missed(&self, child: FrameId, miss: Miss, at: LogTime) -> LookupError {
        let child = self.name(child);
        match miss {
            Miss::TooFar { span, before, after } => LookupError::Extrapolation {
                parent: self.name(span.parent),
                child,
                at,
                first: span.first,
                last: span.last,
                before,
                after,
                max_extrapolation_ns: self.limits.max_extrapolation_ns,
            },
            Miss::Reparented { before_parent, after_parent } => LookupError::Reparented {
                child,
                before_parent: self.name(before_parent),
                after_parent: self.name(after_parent),
                at,
            },
        }
    }

    /// Whether edges of any time join two frames. Cost: one pass over all edges.
    fn is_ever_connected(&self, one: FrameId, other: FrameId) -> bool {
        // Union-find with path halving: `above[i]` leads towards the root of i's set.
        let mut above: Vec<usize> = (0..self.tracks.len()).collect();
        for (child, track) in self.tracks.iter().enumerate() {
            for parent in track.spans().iter().map(|span| span.parent).chain(track.static_parent())
            {
                let (parent, child) = (root(&mut above, parent.index()), root(&mut above, child));
                if let Some(slot) = above.get_mut(child) {
                    *slot = parent;
                }
            }
        }
        root(&mut above, one.index()) == root(&mut above, other.index())
    }

    fn name(&self, frame: FrameId) -> String {
        self.frames.name(frame).to_owned()
    }
}

fn root(above: &mut [usize], mut at: usize) -> usize {
    loop {
        let up = above.get(at).copied().unwrap_or(at);
        if up == at {
            return at;
        }
        let two_up = above.get(up).copied().unwrap_or(up);
        if let Some(slot) = above.get_mut(at) {
            *slot = two_up;
        }
        at = two_up;
    }
}

/// The transform with its rotation at unit length, when names and numbers make sense.
fn checked(parent: &str, child: &str, transform: Transform) -> Result<Transform, Rejected> {
    let names = || (parent.to_owned(), child.to_owned());
    if parent.is_empty() || child.is_empty() {
        let (parent, child) = names();
        return Err(Rejected::EmptyFrame { parent, child });
    }
    if parent == child {
        return Err(Rejected::SelfParent { frame: child.to_owned() });
    }
    // NaN compares false and is refused with the rest.
    if !transform.translation_m.into_iter().all(|v| v.abs() <= MAX_TRANSLATION_M) {
        let ((parent, child), [x, y, z]) = (names(), transform.translation_m);
        return Err(Rejected::Translation { parent, child, x, y, z });
    }
    let Some(rotation) = transform.rotation.normalized() else {
        let ((parent, child), q) = (names(), transform.rotation);
        return Err(Rejected::Rotation { parent, child, x: q.x, y: q.y, z: q.z, w: q.w });
    };
    Ok(Transform { rotation, ..transform })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quaternion;

    fn assert_send_sync<T: Send + Sync>() {}

    #[test]
    fn a_buffer_may_be_shared_between_threads() {
        assert_send_sync::<Buffer>();
    }

    #[test]
    fn frames_and_edges_are_sorted() {
        let mut buffer = Buffer::new(Limits::default());
        let at = LogTime::from_ns;
        buffer.insert("odom", "base", at(9), Run(0), Transform::IDENTITY).unwrap();
        buffer.insert("odom", "base", at(4), Run(0), Transform::IDENTITY).unwrap();
        buffer.insert_static("base", "laser", Transform::IDENTITY).unwrap();
        buffer.insert_static("base", "camera", Transform::IDENTITY).unwrap();
        assert_eq!(buffer.frames(), ["base", "camera", "laser", "odom"]);
        let fixed =
            |child| Edge { parent: "base", child, is_static: true, first: None, last: None };
        let moving = Edge {
            parent: "odom",
            child: "base",
            is_static: false,
            first: Some(at(4)),
            last: Some(at(9)),
        };
        assert_eq!(buffer.edges(), [fixed("camera"), fixed("laser"), moving]);
    }

    #[test]
    fn what_is_refused_leaves_no_frame_behind() {
        let mut buffer = Buffer::new(Limits::default());
        let zero = Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 0.0 };
        let bad = Transform { rotation: zero, ..Transform::IDENTITY };
        assert!(buffer.insert_static("a", "b", bad).is_err());
        assert!(buffer.insert_static("a", "a", Transform::IDENTITY).is_err());
        assert_eq!((buffer.frames(), buffer.rejected()), (vec![], 2));
    }

    #[test]
    fn the_root_of_a_set_is_found_and_shared() {
        let mut above = vec![0, 0, 1, 2, 4];
        assert_eq!(root(&mut above, 3), 0);
        assert_eq!(root(&mut above, 4), 4);
    }
}
