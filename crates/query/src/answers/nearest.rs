//! The message at a moment: at it or just before, within the tolerance.

use std::sync::Arc;

use ros2_memory_bag::{Declarations, Direction, Message};
use ros2_memory_catalog::{BagView, Run, Snapshot, TopicSummary};
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Value as Json, json};

use super::topics::nothing_recorded;
use crate::{
    Moment, Now,
    names::{joined, resolve_topics},
    query::{Query, STALE_NS},
    refusal::{Answer, Refusal},
};

/// A moment, and how the caller spoke of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct When {
    pub(crate) moment: Moment,
    /// Set when the caller gave a span before now.
    pub(crate) seconds_ago: Option<f64>,
}

impl When {
    pub(crate) fn at(moment: Moment) -> Self {
        Self { moment, seconds_ago: None }
    }

    pub(crate) fn seconds_ago(query: &Query<'_>, seconds: f64, ns: u64) -> Self {
        let at = query.now.saturating_sub_ns(ns);
        Self { moment: Moment::exact(at), seconds_ago: Some(seconds) }
    }
}

/// The newest message of a topic at a moment or just before.
pub(crate) fn topic_at(
    query: &mut Query<'_>,
    topic: &str,
    when: When,
    tolerance: Option<u64>,
) -> Answer {
    let snapshot = query.snapshot.clone();
    let topics = resolve_topics(&snapshot, topic)?;
    newest_at_or_before(query, &topics, when, tolerance, Query::sample)
}

/// Hands the newest message of `topics` at a moment or just before to `answer`, or says which
/// kind of nothing there is.
pub(crate) fn newest_at_or_before<'m>(
    query: &mut Query<'m>,
    topics: &[&TopicSummary],
    when: When,
    tolerance: Option<u64>,
    answer: impl FnMut(&mut Query<'m>, &Message<'_>) -> Answer,
) -> Answer {
    match find_newest(query, topics, when.moment, tolerance, answer)? {
        Some(found) => found,
        None => Err(nothing_at(query, topics, when, widest(query, topics, tolerance))),
    }
}

/// Hands the newest message of `topics` at a moment or just before to `answer`; `None` when there
/// is none within the tolerance.
///
/// A latched message holds until the next one, however long that is: for topics that have any,
/// the version in force answers when nothing lies within the tolerance.
pub(crate) fn find_newest<'m>(
    query: &mut Query<'m>,
    topics: &[&TopicSummary],
    moment: Moment,
    tolerance: Option<u64>,
    mut answer: impl FnMut(&mut Query<'m>, &Message<'_>) -> Answer,
) -> Result<Option<Answer>, Refusal> {
    let latest = moment.at_or_before();
    // Each topic has its own tolerance: within it the newest of all answers.
    let reach = widest(query, topics, tolerance);
    let earliest = moment.earliest_meant();
    let range = TimeRange::closed(earliest.saturating_sub_ns(reach), latest);
    query.note_losses(topics, range);
    let mut timeline = query.timeline(topics, range, Direction::Reverse);
    let mut found = None;
    while let Some(message) = timeline.next() {
        let own = query.tolerance_ns(&message.channel.topic, tolerance);
        if message.log_time.saturating_add_ns(own) >= earliest {
            found = Some(answer(query, &message));
            break;
        }
    }
    query.account(timeline.report(), None)?;
    Ok(found.or_else(|| in_force(query, topics, latest)))
}

/// The longest tolerance of some topics.
fn widest(query: &Query<'_>, topics: &[&TopicSummary], tolerance: Option<u64>) -> u64 {
    topics.iter().map(|t| query.tolerance_ns(&t.topic, tolerance)).max().unwrap_or_default()
}

/// The latched message that holds at a moment: the last before it in its run, else the run's
/// first.
fn in_force(query: &mut Query<'_>, topics: &[&TopicSummary], at: LogTime) -> Option<Answer> {
    let snapshot = query.snapshot.clone();
    let runs = snapshot.runs_at(at);
    let (declared, message) = runs
        .iter()
        .flat_map(|run| topics.iter().filter_map(|topic| held(run, &topic.topic, at)))
        .max_by_key(|(_, message)| message.log_time)?;
    let sample = query.sample_of(declared, message.channel, message.log_time, &message.payload);
    Some(sample.map(|mut sample| {
        if let Json::Object(map) = &mut sample {
            map.insert("latched".into(), json!(true));
        }
        sample
    }))
}

fn held<'r>(
    run: &'r Run,
    topic: &'r str,
    at: LogTime,
) -> Option<(&'r Arc<Declarations>, &'r ros2_memory_catalog::LatchedMessage)> {
    let mut first = None;
    let mut last = None;
    for pair in run.latched(topic) {
        let (_, message) = pair;
        if message.log_time <= at {
            last = Some(pair);
        }
        first.get_or_insert(pair);
    }
    last.or(first)
}

/// Says which kind of nothing it is.
fn nothing_at(
    query: &Query<'_>,
    topics: &[&TopicSummary],
    when: When,
    tolerance_ns: u64,
) -> Refusal {
    let at = when.moment.at;
    if query.snapshot.time_span().is_none() {
        return nothing_recorded(query);
    }
    let name = joined(topics);
    let spans = || topics.iter().filter_map(|topic| topic.span);
    let Some(newest) = spans().map(|(_, last)| last).max() else {
        return Refusal::no_data(format!("{name} was declared, but no message was recorded"));
    };
    let earlier = nearest_earlier(query, topics, when.moment.at_or_before());
    let later = nearest_later(query, topics, at);
    let reason = if query.snapshot.gaps().iter().any(|gap| gap.contains(at)) {
        "nothing at all was recorded then"
    } else {
        match (earlier, later) {
            (None, _) => "that is before its first message",
            (_, None) => "that is after its last message",
            _ => "it was silent then",
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "a tolerance in a sentence")]
    let reach_s = tolerance_ns as f64 / 1e9;
    let detail = format!("{name} has no message within {reach_s} s at or before {at}: {reason}");
    let stale = when.seconds_ago.filter(|_| query.settings.now == Now::Wall).and_then(|seconds| {
        (query.now.since_ns(newest) > STALE_NS).then(|| {
            let (age_s, would_work) = (query.age_s(newest), query.age_s(newest) + seconds);
            format!(
                "the newest message is {age_s} s old: use seconds_ago={would_work:.3} to count \
                 from it, or timestamp={}",
                newest.to_unix_s()
            )
        })
    });
    let hint = stale.unwrap_or_else(|| match earlier {
        Some(earlier) => format!(
            "give timestamp={} or a larger tolerance_s for the nearest earlier one",
            earlier.to_unix_s()
        ),
        None => query.recorded(),
    });
    Refusal::no_data(detail)
        .hint(hint)
        .with("nearest_earlier", earlier.map(LogTime::to_unix_s))
        .with("nearest_later", later.map(LogTime::to_unix_s))
}

/// The time of the last message of `topics` at or before `at`.
pub(crate) fn nearest_earlier(
    query: &Query<'_>,
    topics: &[&TopicSummary],
    at: LogTime,
) -> Option<LogTime> {
    let snapshot = query.snapshot.clone();
    let end = snapshot.reach(TimeRange::closed(at, at)).1;
    let (mut settled, mut open): (Option<LogTime>, Vec<u32>) = (None, Vec::new());
    for place in snapshot.having(topics, 0..end).rev() {
        if settled >= snapshot.latest_up_to(place) {
            // No bag up to here has a later one.
            break;
        }
        for (first, last) in spans(&snapshot, topics, place) {
            if last <= at {
                settled = settled.max(Some(last));
            } else if first <= at {
                open.push(place);
            }
        }
    }
    open.sort_unstable();
    open.dedup();
    let range = TimeRange::closed(settled.unwrap_or(LogTime::ZERO), at);
    let mut timeline = query.timeline_over(&open, topics, range, Direction::Reverse);
    timeline.next().map(|message| message.log_time).max(settled)
}

/// The time of the first message of `topics` after `at`.
pub(crate) fn nearest_later(
    query: &Query<'_>,
    topics: &[&TopicSummary],
    at: LogTime,
) -> Option<LogTime> {
    let snapshot = query.snapshot.clone();
    let start = snapshot.reach(TimeRange::closed(at, at)).0;
    let (mut settled, mut open): (Option<LogTime>, Vec<u32>) = (None, Vec::new());
    for place in snapshot.having(topics, start..snapshot.n_places()) {
        if settled.zip(snapshot.span(place)).is_some_and(|(found, (first, _))| found <= first) {
            // No bag from here on has an earlier one.
            break;
        }
        for (first, last) in spans(&snapshot, topics, place) {
            if first > at {
                settled = Some(settled.map_or(first, |found| found.min(first)));
            } else if last > at {
                open.push(place);
            }
        }
    }
    open.dedup();
    let range = TimeRange::new(at.saturating_add_ns(1), settled.unwrap_or(LogTime::MAX));
    let mut timeline = query.timeline_over(&open, topics, range, Direction::Forward);
    let read = timeline.next().map(|message| message.log_time);
    read.or(settled)
}

/// The first and last times of some topics' channels in a bag.
pub(crate) fn spans(
    snapshot: &Snapshot,
    topics: &[&TopicSummary],
    place: u32,
) -> impl Iterator<Item = (LogTime, LogTime)> {
    let bag = snapshot.bag(place);
    let channels = bag.iter().flat_map(BagView::channels).filter(|seen| {
        let declared = bag.as_ref().map(|bag| &bag.entry.contents.declared);
        let channel = declared.and_then(|declared| declared.channel(seen.channel));
        channel.is_some_and(|channel| topics.iter().any(|topic| topic.topic == channel.topic))
    });
    channels.map(|seen| (seen.first, seen.last)).collect::<Vec<_>>().into_iter()
}
