//! When several things were in sight together.

use std::collections::BTreeMap;

use ros2_memory_catalog::{Snapshot, Wanted};
use ros2_memory_condition::{Condition, NearPosition};
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Value as Json, json};

use super::{
    intervals::{Held, MAX_GAP_NS, held, page, shown},
    labels::{
        last_times, near_labels, no_labels, note_incomplete, parse_wanted, resolve, wants_something,
    },
    last_seen::MERGE_GAP_NS,
    matching::Search,
};
use crate::{
    query::Query,
    refusal::{Answer, Refusal},
    roles::pose_topic,
};

/// What the robot did or where it was meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Where {
    /// The centre and the radius of where its pose was, in metres, in the frame of the pose.
    pub(crate) area: Option<(f64, f64, f64)>,
    /// What held.
    pub(crate) state: Option<Search>,
}

/// How many intervals one reply has.
pub(crate) const MAX_INTERVALS: usize = 20;
/// How often what has to hold meanwhile may begin to hold.
const MAX_STRETCHES: usize = 200_000;
/// How often the clock is looked at.
const CHECK_EVERY: usize = 1024;

/// The stretches in a range in which messages name what is wanted, the newest first, at most
/// `limit`. Messages no further apart than two seconds make one stretch.
pub(crate) fn find_sightings(
    query: &mut Query<'_>,
    text: &str,
    given_where: &Where,
    range: TimeRange,
    limit: usize,
) -> Answer {
    let snapshot = query.snapshot.clone();
    if snapshot.topics_with_labels().is_empty() {
        return Err(no_labels(query));
    }
    note_incomplete(query);
    let parsed = parse_wanted(text).map_err(|reason| {
        Refusal::bad_argument(format!("labels: {reason}"))
            .hint("such as: person AND (door OR window) NOT cat")
    })?;
    if !wants_something(&parsed) {
        return Err(Refusal::bad_argument("labels: nothing is wanted, only unwanted")
            .hint("such as: person NOT cat"));
    }
    let mut unknown = Vec::new();
    let wanted = resolve(&snapshot, parsed, &mut unknown);
    let stretches = stretches(query, &snapshot, given_where, range)?;
    let found = intervals(query, &snapshot, &wanted, &stretches, range, limit)?;
    let listed = found.intervals.iter().map(|of| shown(&of.topic, of.first, of.last, of.n));
    let mut map = page(query, listed, found.next);
    if !unknown.is_empty() {
        let near: BTreeMap<&str, Vec<Json>> = unknown
            .iter()
            .map(|word| {
                let near = near_labels(&snapshot, word);
                (word.as_str(), last_times(&snapshot, &near, TimeRange::ALL))
            })
            .collect();
        map.insert("never_seen".into(), json!(near));
    }
    if found.intervals.is_empty() && snapshot.labelled_span(&[], range).is_none() {
        return Err(Refusal::no_data("nothing that has labels was recorded in that time")
            .hint(query.recorded()));
    }
    Ok(Json::Object(map))
}

/// One stretch.
struct Interval {
    topic: std::sync::Arc<str>,
    first: LogTime,
    last: LogTime,
    n: u64,
}

struct Found {
    intervals: Vec<Interval>,
    /// Where the next one ends, when there are more.
    next: Option<LogTime>,
}

fn intervals(
    query: &Query<'_>,
    snapshot: &Snapshot,
    wanted: &Wanted,
    stretches: &[Vec<TimeRange>],
    range: TimeRange,
    limit: usize,
) -> Result<Found, Refusal> {
    let mut intervals: Vec<Interval> = Vec::new();
    for (n, sighting) in snapshot.sightings_back(wanted, &[], range).enumerate() {
        if n % CHECK_EVERY == CHECK_EVERY - 1 {
            query.check_time("ask for a shorter range")?;
        }
        if !stretches.iter().all(|of| is_within(of, sighting.time)) {
            continue;
        }
        let is_full = intervals.len() >= limit;
        match intervals.last_mut() {
            Some(open) if open.first.since_ns(sighting.time) <= MERGE_GAP_NS => {
                open.first = sighting.time;
                open.n += 1;
            }
            _ if is_full => return Ok(Found { intervals, next: Some(sighting.time) }),
            _ => intervals.push(Interval {
                topic: sighting.topic,
                first: sighting.time,
                last: sighting.time,
                n: 1,
            }),
        }
    }
    Ok(Found { intervals, next: None })
}

/// For each thing that has to hold meanwhile, when it held, ascending.
fn stretches(
    query: &mut Query<'_>,
    snapshot: &Snapshot,
    given: &Where,
    range: TimeRange,
) -> Result<Vec<Vec<TimeRange>>, Refusal> {
    let mut searches = Vec::new();
    if let Some((x_m, y_m, tolerance_m)) = given.area {
        let topic = pose_topic(snapshot, query.types.map(), &query.settings.roles.pose)?;
        searches.push(Search {
            topic: topic.topic.to_string(),
            condition: Condition::NearPosition(NearPosition { x_m, y_m, z_m: None, tolerance_m }),
            field: None,
        });
    }
    searches.extend(given.state.clone());
    let mut all = Vec::new();
    for search in searches {
        let found = held(query, &search, range, MAX_GAP_NS, MAX_STRETCHES)?;
        if found.more.is_some() {
            return Err(Refusal::bad_argument(format!(
                "what has to hold of {} changed more than {MAX_STRETCHES} times",
                search.topic
            ))
            .hint("give a start and an end"));
        }
        let until = |of: &Held| match of.next {
            Some(next) if next.since_ns(of.last) <= MAX_GAP_NS => next,
            _ => of.last.saturating_add_ns(MAX_GAP_NS),
        };
        let ranges = found.intervals.iter().map(|of| TimeRange::new(of.first, until(of)));
        let mut ranges: Vec<TimeRange> = ranges.collect();
        ranges.sort_unstable_by_key(|range| range.start);
        // Those of several topics may overlap.
        ranges.dedup_by(|later, earlier| {
            let do_touch = later.start <= earlier.end;
            if do_touch {
                earlier.end = earlier.end.max(later.end);
            }
            do_touch
        });
        all.push(ranges);
    }
    Ok(all)
}

fn is_within(ranges: &[TimeRange], at: LogTime) -> bool {
    let behind = ranges.partition_point(|range| range.start <= at);
    behind.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|range| range.contains(at))
}
