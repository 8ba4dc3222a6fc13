//! What is known of one child frame: its static transform, and its samples under any parent.

use std::collections::BTreeMap;

use ros2_memory_time::LogTime;

use crate::frames::FrameId;
use crate::{Limits, Run, Transform};

/// The history of one child frame.
///
/// Samples are ordered by (stamp, parent). A B-tree rather than a sorted vector: bags are read
/// newest first as often as oldest first, and a file with stamps in random order must not cost
/// the square of its length.
#[derive(Debug, Clone, Default)]
pub(crate) struct Track {
    fixed: Option<(FrameId, Transform)>,
    samples: BTreeMap<(LogTime, FrameId), Sample>,
    spans: Vec<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    run: Run,
    parent_from_child: Transform,
}

/// From when to when one parent is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) parent: FrameId,
    pub(crate) first: LogTime,
    pub(crate) last: LogTime,
}

/// The frame's parent at some moment, and how to get the transform.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link<'a> {
    pub(crate) parent: FrameId,
    pose: Pose<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Pose<'a> {
    Held(&'a Transform),
    Between(&'a Transform, &'a Transform, f64),
}

/// Why a frame that has samples has no parent at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Miss {
    TooFar { span: Span, before: Option<LogTime>, after: Option<LogTime> },
    Reparented { before_parent: FrameId, after_parent: FrameId },
}

/// A sample with its place in the order, seen from the moment asked.
#[derive(Clone, Copy)]
struct Near<'a> {
    stamp: LogTime,
    distance_ns: u64,
    parent: FrameId,
    /// Another parent that is given at the very same stamp.
    rival: Option<FrameId>,
    sample: &'a Sample,
}

impl Link<'_> {
    pub(crate) fn parent_from_child(&self) -> Transform {
        match self.pose {
            Pose::Held(transform) => *transform,
            Pose::Between(before, after, fraction) => {
                Transform::interpolate(*before, *after, fraction)
            }
        }
    }
}

impl Track {
    /// A frame has one static transform: the last one given, whatever the parent.
    pub(crate) fn insert_static(&mut self, parent: FrameId, parent_from_child: Transform) {
        self.fixed = Some((parent, parent_from_child));
    }

    /// Of two samples with one stamp and parent the later insert stays.
    pub(crate) fn insert(
        &mut self,
        parent: FrameId,
        stamp: LogTime,
        run: Run,
        parent_from_child: Transform,
    ) {
        self.samples.insert((stamp, parent), Sample { run, parent_from_child });
        match self.spans.iter_mut().find(|span| span.parent == parent) {
            Some(span) => {
                span.first = span.first.min(stamp);
                span.last = span.last.max(stamp);
            }
            None => self.spans.push(Span { parent, first: stamp, last: stamp }),
        }
    }

    pub(crate) fn static_parent(&self) -> Option<FrameId> {
        self.fixed.map(|(parent, _)| parent)
    }

    /// One span for each parent that samples give.
    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The frame's parent at a moment; `None` for a frame that never has one.
    pub(crate) fn link_at(&self, at: LogTime, limits: Limits) -> Result<Option<Link<'_>>, Miss> {
        let Some((parent, transform)) = &self.fixed else {
            return self.sampled_at(at, limits);
        };
        // A static transform holds at all times, so a sample within reach that gives another
        // parent disagrees with it; samples of the same edge and far ones do not count.
        match self.sampled_at(at, limits) {
            Ok(Some(link)) if link.parent != *parent => {
                Err(Miss::Reparented { before_parent: *parent, after_parent: link.parent })
            }
            Err(miss @ Miss::Reparented { .. }) => Err(miss),
            Ok(_) | Err(Miss::TooFar { .. }) => {
                Ok(Some(Link { parent: *parent, pose: Pose::Held(transform) }))
            }
        }
    }

    fn sampled_at(&self, at: LogTime, limits: Limits) -> Result<Option<Link<'_>>, Miss> {
        let before = self.at_or_before(at);
        let after = match before {
            Some(exact) if exact.stamp == at => None,
            _ => self.after(at),
        };
        if let (Some(before), Some(after)) = (before, after)
            && let Some(link) = between(before, after, limits)
        {
            return Ok(Some(link));
        }
        let reached = |near: &Near<'_>| near.distance_ns <= limits.max_extrapolation_ns;
        match (before.filter(reached), after.filter(reached)) {
            (Some(before), Some(after)) => {
                if let Some(miss) = disagreement(before, after) {
                    return Err(miss);
                }
                let nearest = if before.distance_ns <= after.distance_ns { before } else { after };
                Ok(Some(nearest.held()))
            }
            (Some(only), None) | (None, Some(only)) => match disagreement(only, only) {
                Some(miss) => Err(miss),
                None => Ok(Some(only.held())),
            },
            (None, None) => match self.too_far(before, after) {
                Some(miss) => Err(miss),
                None => Ok(None),
            },
        }
    }

    fn at_or_before(&self, at: LogTime) -> Option<Near<'_>> {
        let mut backwards = self.samples.range(..=(at, FrameId::MAX)).rev();
        let (&(stamp, parent), sample) = backwards.next()?;
        let rival =
            backwards.next().and_then(|(&(other, rival), _)| (other == stamp).then_some(rival));
        Some(Near { stamp, distance_ns: at.since_ns(stamp), parent, rival, sample })
    }

    fn after(&self, at: LogTime) -> Option<Near<'_>> {
        let mut forwards = self.samples.range((at, FrameId::MAX)..);
        let (&(stamp, parent), sample) = forwards.next()?;
        let rival =
            forwards.next().and_then(|(&(other, rival), _)| (other == stamp).then_some(rival));
        Some(Near { stamp, distance_ns: stamp.since_ns(at), parent, rival, sample })
    }

    /// `None` when there is no sample at all.
    fn too_far(&self, before: Option<Near<'_>>, after: Option<Near<'_>>) -> Option<Miss> {
        let nearest = [before, after].into_iter().flatten().min_by_key(|near| near.distance_ns)?;
        let span = *self.spans.iter().find(|span| span.parent == nearest.parent)?;
        let of_edge = |near: Option<Near<'_>>| {
            near.filter(|near| near.parent == span.parent).map(|near| near.stamp)
        };
        Some(Miss::TooFar { span, before: of_edge(before), after: of_edge(after) })
    }
}

impl<'a> Near<'a> {
    fn held(self) -> Link<'a> {
        Link { parent: self.parent, pose: Pose::Held(&self.sample.parent_from_child) }
    }
}

/// The way between two neighbours, when they belong together and are near enough.
fn between<'a>(before: Near<'a>, after: Near<'a>, limits: Limits) -> Option<Link<'a>> {
    let gap_ns = after.stamp.since_ns(before.stamp);
    let together = disagreement(before, after).is_none() && before.sample.run == after.sample.run;
    if !together || gap_ns > limits.max_gap_ns {
        return None;
    }
    // A double holds differences up to 104 days to the nanosecond, epoch times to 256 ns only.
    #[expect(clippy::cast_precision_loss, reason = "offsets within one gap")]
    let fraction = before.distance_ns as f64 / gap_ns as f64;
    let pose =
        Pose::Between(&before.sample.parent_from_child, &after.sample.parent_from_child, fraction);
    Some(Link { parent: before.parent, pose })
}

/// Two different parents among the samples at two stamps, which may be the same stamp.
fn disagreement(before: Near<'_>, after: Near<'_>) -> Option<Miss> {
    let pairs = [
        before.rival.zip(Some(before.parent)),
        Some((before.parent, after.parent)),
        Some(after.parent).zip(after.rival),
    ];
    let (before_parent, after_parent) =
        pairs.into_iter().flatten().find(|(one, other)| one != other)?;
    Some(Miss::Reparented { before_parent, after_parent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Frames;

    const LIMITS: Limits = Limits { max_gap_ns: 100, max_extrapolation_ns: 30 };

    fn parents() -> (FrameId, FrameId) {
        let mut frames = Frames::default();
        (frames.intern("a").unwrap(), frames.intern("b").unwrap())
    }

    fn x(x: f64) -> Transform {
        Transform { translation_m: [x, 0.0, 0.0], ..Transform::IDENTITY }
    }

    fn track(samples: &[(FrameId, u64, u32, f64)]) -> Track {
        let mut track = Track::default();
        for (parent, stamp_ns, run, value) in samples {
            track.insert(*parent, LogTime::from_ns(*stamp_ns), Run(*run), x(*value));
        }
        track
    }

    fn x_at(track: &Track, at_ns: u64) -> Result<Option<f64>, Miss> {
        let link = track.link_at(LogTime::from_ns(at_ns), LIMITS)?;
        Ok(link.map(|link| link.parent_from_child().translation_m[0]))
    }

    #[test]
    fn a_frame_without_samples_has_no_parent() {
        assert_eq!(x_at(&Track::default(), 5), Ok(None));
    }

    #[test]
    fn order_of_insertion_does_not_matter() {
        let (a, _) = parents();
        let track = track(&[(a, 1_200, 0, 2.0), (a, 1_000, 0, 0.0), (a, 1_100, 0, 1.0)]);
        assert_eq!(x_at(&track, 1_150), Ok(Some(1.5)));
        assert_eq!(x_at(&track, 1_050), Ok(Some(0.5)));
    }

    #[test]
    fn the_later_insert_of_a_stamp_stays() {
        let (a, _) = parents();
        let track = track(&[(a, 1_000, 0, 1.0), (a, 1_000, 3, 7.0)]);
        assert_eq!(x_at(&track, 1_000), Ok(Some(7.0)));
    }

    #[test]
    fn a_gap_is_bridged_up_to_the_limit_and_no_further() {
        let (a, _) = parents();
        assert_eq!(x_at(&track(&[(a, 1_000, 0, 0.0), (a, 1_100, 0, 1.0)]), 1_050), Ok(Some(0.5)));
        let wide = track(&[(a, 1_000, 0, 0.0), (a, 1_101, 0, 1.0)]);
        assert_eq!(x_at(&wide, 1_030), Ok(Some(0.0)));
        assert_eq!(x_at(&wide, 1_071), Ok(Some(1.0)));
        let missed = Miss::TooFar {
            span: Span { parent: a, first: LogTime::from_ns(1_000), last: LogTime::from_ns(1_101) },
            before: Some(LogTime::from_ns(1_000)),
            after: Some(LogTime::from_ns(1_101)),
        };
        assert_eq!(x_at(&wide, 1_031), Err(missed));
        assert_eq!(x_at(&wide, 1_070), Err(missed));
    }

    #[test]
    fn two_parents_at_one_stamp_disagree() {
        let (a, b) = parents();
        let track = track(&[(a, 1_000, 0, 0.0), (b, 1_000, 0, 1.0), (b, 1_040, 0, 2.0)]);
        for at_ns in [990, 1_000, 1_020] {
            let answer = x_at(&track, at_ns);
            assert!(matches!(answer, Err(Miss::Reparented { .. })), "{at_ns}: {answer:?}");
        }
        assert_eq!(x_at(&track, 1_035), Ok(Some(2.0)));
    }

    #[test]
    fn a_second_parent_in_the_sample_after_disagrees_too() {
        let (a, b) = parents();
        let track = track(&[(a, 1_000, 0, 0.0), (a, 1_040, 0, 1.0), (b, 1_040, 0, 2.0)]);
        assert_eq!(x_at(&track, 1_005), Ok(Some(0.0)));
        assert_eq!(
            x_at(&track, 1_020),
            Err(Miss::Reparented { before_parent: a, after_parent: b })
        );
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        let (a, _) = parents();
        let track = track(&[(a, 0, 0, 0.0), (a, u64::MAX, 0, 1.0)]);
        assert_eq!(x_at(&track, 0), Ok(Some(0.0)));
        assert_eq!(x_at(&track, u64::MAX), Ok(Some(1.0)));
        assert_eq!(x_at(&track, u64::MAX - 30), Ok(Some(1.0)));
        assert!(x_at(&track, u64::MAX / 2).is_err());
    }
}
