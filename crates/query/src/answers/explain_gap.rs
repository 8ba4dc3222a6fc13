//! Why there is no answer for a time.

use ros2_memory_catalog::{Snapshot, TopicSummary};
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use super::topics::nothing_recorded;
use crate::{
    names::{repeated, resolve_topics},
    query::Query,
    refusal::{Answer, Refusal},
};

/// What is shorter is no gap: topics come some seconds apart.
const MIN_SILENCE_NS: u64 = 2_000_000_000;
/// So many stretches are listed.
const MAX_LISTED: usize = 20;

/// First and last log time.
type Span = (LogTime, LogTime);

/// What was recorded in a window, and why the rest is missing.
pub(crate) fn explain_gap(query: &mut Query<'_>, topic: Option<&str>, range: TimeRange) -> Answer {
    let snapshot = query.snapshot.clone();
    let Some((first, last)) = snapshot.time_span() else { return Err(nothing_recorded(query)) };
    let topics = match topic {
        Some(topic) => match resolve_topics(&snapshot, topic) {
            Ok(topics) => topics,
            Err(refusal) => return not_recorded(query, topic, refusal),
        },
        None => Vec::new(),
    };
    let mut causes: Vec<(LogTime, LogTime, &str, String)> = Vec::new();
    let mut note = |start: LogTime, end: LogTime, cause, words: String| {
        if end.since_ns(start) > MIN_SILENCE_NS {
            causes.push((start, end, cause, words));
        }
    };
    note(
        range.start,
        first.min(range.end),
        "before_the_first",
        format!("the memory begins at {first}"),
    );
    let deleted = snapshot.deleted(range);
    for (start, end) in &deleted {
        note(*start, *end, "deleted", "the bags of that time are deleted".to_owned());
    }
    for gap in snapshot.gaps().iter().filter(|gap| range.touches(gap.start, gap.end)) {
        let gap = (gap.start.max(range.start), gap.end.min(range.end));
        for (start, end) in without(gap, &deleted) {
            note(start, end, "recorder_off", "no bag has any message then".to_owned());
        }
    }
    note(
        last.max(range.start),
        range.end,
        "after_the_last",
        format!("the newest message is of {last}"),
    );
    for topic in &topics {
        for (start, end) in silences(query, &snapshot, topic, range, &deleted)? {
            let n_damaged = snapshot.losses(&[topic], TimeRange::closed(start, end));
            let name = &topic.topic;
            if n_damaged == 0 {
                note(start, end, "topic_silent", format!("{name} has no message then"));
            } else {
                let words = format!(
                    "{n_damaged} bags of that time lost some messages; none is left of {name}"
                );
                note(start, end, "damaged", words);
            }
        }
    }
    causes.sort_by_key(|(start, end, ..)| std::cmp::Reverse((*end, *start)));
    let n_all = causes.len();
    let listed = causes.iter().take(MAX_LISTED).map(|(start, end, cause, words)| {
        json!({
            "start": start.to_unix_s(),
            "end": end.to_unix_s(),
            "cause": cause,
            "detail": words,
        })
    });
    let mut map = Map::new();
    map.insert("gaps".into(), listed.collect());
    if causes.is_empty() {
        map.insert("detail".into(), json!("nothing is missing: there are messages all through"));
    }
    if n_all > MAX_LISTED {
        map.insert("total".into(), json!(n_all));
        map.insert("note".into(), json!("the newest of them; ask for a shorter range"));
    }
    if !snapshot.refused().is_empty() {
        map.insert("unreadable_files".into(), json!(snapshot.refused().len()));
    }
    Ok(Json::Object(map))
}

/// A topic that no bag declares.
fn not_recorded(query: &Query<'_>, topic: &str, refusal: Refusal) -> Answer {
    if refusal.code != crate::ErrorCode::UnknownTopic {
        return Err(refusal);
    }
    let mut map = Map::new();
    map.insert("gaps".into(), json!([]));
    map.insert("cause".into(), json!("not_configured"));
    let shown = repeated(topic);
    map.insert(
        "detail".into(),
        json!(format!(
            "no bag declares a topic {shown:?}: it was never recorded; topics.yaml says what is"
        )),
    );
    if let Json::Object(given) = refusal.into_reply().value
        && let Some(hint) = given.get("hint")
    {
        map.insert("hint".into(), hint.clone());
    }
    map.insert("n_topics".into(), json!(query.snapshot.topics().count()));
    Ok(Json::Object(map))
}

/// The stretches of a range, inside bags, in which a topic has no message: from the times that
/// the catalog has of each chunk.
fn silences(
    query: &Query<'_>,
    snapshot: &Snapshot,
    topic: &TopicSummary,
    range: TimeRange,
    deleted: &[Span],
) -> Result<Vec<Span>, Refusal> {
    let mut spans: Vec<Span> = Vec::new();
    for place in snapshot.bags_touching(&[topic], range) {
        query.check_time("ask for a shorter range")?;
        let Some(bag) = snapshot.bag(place) else {
            // Nothing is known of it: that it is silent cannot be said. The reply says that a bag
            // could not be read.
            spans.extend(snapshot.span(place));
            continue;
        };
        let declared = &bag.entry.contents.declared;
        for seen in bag.entry.contents.chunks.iter().flat_map(|chunk| &chunk.channels) {
            if declared.channel(seen.channel).is_some_and(|channel| channel.topic == topic.topic) {
                spans.push((seen.first, seen.last));
            }
        }
    }
    let Some((first, last)) = snapshot.time_span() else { return Ok(Vec::new()) };
    let (start, end) = (range.start.max(first), range.end.min(last));
    // What a gap of the whole recording explains, or what is deleted, is no silence of the topic.
    spans.extend_from_slice(deleted);
    spans.extend(snapshot.gaps().iter().map(|gap| (gap.start, gap.end)));
    spans.sort_unstable();
    let silences = without((start, end), &spans);
    Ok(silences.into_iter().filter(|(a, b)| b.since_ns(*a) > MIN_SILENCE_NS).collect())
}

/// What is left of a stretch of time between others, which are in order of their start.
fn without((start, end): Span, others: &[Span]) -> Vec<Span> {
    let mut left = Vec::new();
    let mut covered_to = start;
    for (from, to) in others.iter().chain([&(end, end)]) {
        if *from > covered_to {
            left.push((covered_to, (*from).min(end)));
        }
        covered_to = covered_to.max(*to);
        if covered_to >= end {
            break;
        }
    }
    left
}
