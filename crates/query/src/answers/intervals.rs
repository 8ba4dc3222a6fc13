//! When a condition held, and for how long.

use std::{collections::HashMap, sync::Arc};

use ros2_memory_bag::{Direction, Message};
use ros2_memory_catalog::{Snapshot, TopicSummary};
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use super::{
    candidates::candidates, last_seen::seconds, matcher::Matchers, matching::Search,
    nearest::spans, topics::nothing_recorded,
};
use crate::{
    handle::handle,
    names::resolve_topics,
    query::Query,
    refusal::{Answer, Refusal},
};

/// A topic that says nothing for longer than this is not taken to say the same.
pub(crate) const MAX_GAP_NS: u64 = 60_000_000_000;

/// Messages of one topic in a row that all match.
#[derive(Debug)]
pub(crate) struct Held {
    topic: Arc<str>,
    /// The first that matches.
    pub(crate) first: LogTime,
    /// The last that matches.
    pub(crate) last: LogTime,
    /// The next of the topic, which does not match or comes after a silence.
    pub(crate) next: Option<LogTime>,
    n: u64,
}

/// Intervals, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) intervals: Vec<Held>,
    /// Where the next one ends, when there are more than were asked for.
    pub(crate) more: Option<LogTime>,
    /// From when on everything was looked at, when the time ran out.
    pub(crate) covered_from: Option<LogTime>,
}

/// The stretches of a range in which every message of a topic matched.
pub(crate) fn find_intervals(
    query: &mut Query<'_>,
    search: &Search,
    range: TimeRange,
    max_gap_ns: u64,
    limit: usize,
) -> Answer {
    let found = held(query, search, range, max_gap_ns, limit)?;
    let listed = found.intervals.iter().map(|of| {
        let mut map = shown(&of.topic, of.first, of.last, of.n);
        map.insert("until".into(), json!(of.next.map(LogTime::to_unix_s)));
        map
    });
    let mut map = page(query, listed, found.more);
    if let Some(from) = found.covered_from {
        map.insert("covered_from".into(), json!(from.to_unix_s()));
    }
    Ok(Json::Object(map))
}

/// An interval as replies have it.
pub(crate) fn shown(topic: &str, first: LogTime, last: LogTime, n: u64) -> Map<String, Json> {
    let fields = [
        ("start", json!(first.to_unix_s())),
        ("end", json!(last.to_unix_s())),
        ("duration_s", json!(seconds(last.since_ns(first)))),
        ("messages", json!(n)),
        ("topic", json!(topic)),
        ("handle", json!(handle(topic, last))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Some of the intervals, and where the next one ends when there are more.
pub(crate) fn page(
    query: &mut Query<'_>,
    intervals: impl ExactSizeIterator<Item = Map<String, Json>>,
    more: Option<LogTime>,
) -> Map<String, Json> {
    let (mut map, returned) = (Map::new(), intervals.len());
    map.insert("intervals".into(), intervals.map(Json::Object).collect());
    map.insert("returned".into(), json!(returned));
    if let Some(more) = more {
        map.insert("next".into(), json!({"end": more.to_unix_s()}));
        query.note("more before that: ask again with this `end`".to_owned());
    }
    map
}

/// As [`find_intervals`], for other answers. At most `limit` are gathered.
pub(crate) fn held(
    query: &mut Query<'_>,
    search: &Search,
    range: TimeRange,
    max_gap_ns: u64,
    limit: usize,
) -> Result<Found, Refusal> {
    let snapshot = query.snapshot.clone();
    let topics = resolve_topics(&snapshot, &search.topic)?;
    if snapshot.time_span().is_none() {
        return Err(nothing_recorded(query));
    }
    let touching = snapshot.bags_touching(&topics, range);
    let may_match = candidates(query, &snapshot, &topics, touching.clone(), search);
    let (read, passed_over) = with_neighbours(&snapshot, &touching, &may_match);
    let mut gathering = Gathering {
        snapshot: &snapshot,
        topics: &topics,
        passed_over,
        max_gap_ns,
        limit,
        later: HashMap::new(),
        n_open: 0,
        found: Found::default(),
    };
    let mut matchers = Matchers::new(search);
    let mut reached = range.end;
    let mut timeline = query.timeline_over(&read, &topics, range, Direction::Reverse);
    while let Some(message) = timeline.next() {
        reached = message.log_time;
        let Some(is_match) = matchers.matches(query, &message) else { continue };
        if gathering.take(&message, is_match) {
            break;
        }
    }
    let covered = TimeRange::new(reached, range.end);
    let accounted = query.account(timeline.report(), Some(covered));
    let mut found = gathering.found;
    query.note_losses(&topics, range);
    matchers.tell(query);
    match accounted {
        Err(timeout) if found.intervals.is_empty() => return Err(timeout),
        Err(timeout) => {
            query.note(timeout.detail().to_owned());
            found.covered_from = Some(reached);
        }
        Ok(()) => {}
    }
    matchers.has_compared()?;
    if touching.is_empty() {
        let words = format!("{} has no message in that time", search.topic);
        return Err(Refusal::no_data(words).hint(query.recorded()));
    }
    Ok(found)
}

/// The bags to read: those that may match, and those that share time with one of them, since
/// their messages lie between its; and the others, of which all messages end an interval.
fn with_neighbours(
    snapshot: &Snapshot,
    touching: &[u32],
    may_match: &[u32],
) -> (Vec<u32>, Vec<u32>) {
    let spans = may_match.iter().filter_map(|place| snapshot.span(*place));
    let mut ends: Vec<(LogTime, LogTime)> = Vec::new();
    // Places are in the order of their first times.
    for (first, last) in spans {
        match ends.last_mut() {
            Some(open) if first <= open.1 => open.1 = open.1.max(last),
            _ => ends.push((first, last)),
        }
    }
    let is_read = |place: &u32| {
        may_match.binary_search(place).is_ok()
            || snapshot.span(*place).is_none_or(|(first, last)| {
                let next = ends.partition_point(|of| of.1 < first);
                ends.get(next).is_some_and(|of| of.0 <= last)
            })
    };
    touching.iter().partition(|place| is_read(place))
}

struct Gathering<'s> {
    snapshot: &'s Snapshot,
    topics: &'s [&'s TopicSummary],
    passed_over: Vec<u32>,
    max_gap_ns: u64,
    limit: usize,
    /// Of each topic the message that was met last, which lies behind the next.
    later: HashMap<Arc<str>, Later>,
    n_open: usize,
    found: Found,
}

/// A message that was met, and the interval that it begins by then.
#[derive(Debug, Clone, Copy)]
struct Later {
    time: LogTime,
    part: usize,
    open: Option<usize>,
}

impl Gathering<'_> {
    /// Takes the next message back in time; says whether it is enough.
    fn take(&mut self, message: &Message<'_>, is_match: bool) -> bool {
        let (topic, time) = (&message.channel.topic, message.log_time);
        let later = self.later.get(topic).copied();
        let mut next = later.map(|later| later.time);
        let mut goes_on = next.is_some_and(|next| next.since_ns(time) <= self.max_gap_ns);
        // Only between two bags are there others.
        if later.is_none_or(|later| later.part != message.part)
            && let Some(between) = self.first_passed_over(topic, time, next)
        {
            next = Some(between);
            goes_on = false;
        }
        let open = later.and_then(|later| later.open);
        let mut now = None;
        match open.and_then(|open| Some((open, self.found.intervals.get_mut(open)?))) {
            Some((number, interval)) if is_match && goes_on => {
                interval.first = time;
                interval.n += 1;
                now = Some(number);
            }
            _ => {
                self.n_open -= usize::from(open.is_some());
                if is_match && self.found.intervals.len() >= self.limit {
                    self.found.more.get_or_insert(time);
                } else if is_match {
                    let topic = topic.clone();
                    now = Some(self.found.intervals.len());
                    self.n_open += 1;
                    let held = Held { topic, first: time, last: time, next, n: 1 };
                    self.found.intervals.push(held);
                }
            }
        }
        let met = Later { time, part: message.part, open: now };
        match self.later.get_mut(topic) {
            Some(later) => *later = met,
            None => drop(self.later.insert(topic.clone(), met)),
        }
        self.found.more.is_some() && self.n_open == 0
    }

    /// The first message of a topic between two times in bags that are not read.
    fn first_passed_over(
        &self,
        topic: &Arc<str>,
        from: LogTime,
        to: Option<LogTime>,
    ) -> Option<LogTime> {
        let start = self.passed_over.partition_point(|place| {
            self.snapshot.span(*place).is_some_and(|(first, _)| first <= from)
        });
        let topics: Vec<&TopicSummary> =
            self.topics.iter().copied().filter(|of| of.topic == *topic).collect();
        let of_topic = |place: &u32| {
            let mut one = self.snapshot.having(&topics, *place..place.saturating_add(1));
            one.next().is_some()
        };
        let place = self.passed_over.get(start..)?.iter().copied().find(of_topic)?;
        let first = spans(self.snapshot, &topics, place).map(|(first, _)| first).min()?;
        to.is_none_or(|to| first < to).then_some(first)
    }
}
