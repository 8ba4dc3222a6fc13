//! The last time a condition held, and what another topic said then.

use ros2_memory_bag::{Direction, Message};
use ros2_memory_catalog::{Snapshot, TopicSummary};
use ros2_memory_condition::Condition;
use ros2_memory_msg::FieldPath;
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Value as Json, json};

use super::{
    candidates::candidates, matcher::Matchers, nearest::find_newest, sieve::Sieve,
    topics::nothing_recorded,
};
use crate::{
    Moment,
    names::resolve_topics,
    query::Query,
    refusal::{Answer, Refusal},
};

/// How many matches `get_value_when` tries.
const MAX_TRIES: usize = 100;

/// What is looked for, and where.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    pub(crate) topic: String,
    pub(crate) condition: Condition,
    /// The field to look at, when the caller named one.
    pub(crate) field: Option<FieldPath>,
}

/// The newest message that matches, or null when the whole topic holds none.
pub(crate) fn find_last_match(query: &mut Query<'_>, search: &Search) -> Answer {
    let mut found = Json::Null;
    each_match(query, search, &mut |query, message| {
        found = query.sample(message)?;
        Ok(true)
    })?;
    Ok(found)
}

/// The value of `value_topic` at the newest match that has one within the tolerance.
pub(crate) fn value_when(
    query: &mut Query<'_>,
    value_topic: &str,
    search: &Search,
    tolerance: Option<u64>,
) -> Answer {
    let snapshot = query.snapshot.clone();
    let value_topics = resolve_topics(&snapshot, value_topic)?;
    let mut found = None;
    let mut newest_match = None;
    let mut tries = 0;
    each_match(query, search, &mut |query, message| {
        tries += 1;
        newest_match.get_or_insert(message.log_time);
        let moment = Moment::exact(message.log_time);
        let value = find_newest(query, &value_topics, moment, tolerance, Query::sample)?;
        if let Some(value) = value {
            let mut value = value?;
            if let Json::Object(map) = &mut value {
                map.insert("condition_timestamp".into(), json!(message.log_time.to_unix_s()));
                map.insert(
                    "condition_timestamp_ns".into(),
                    json!(message.log_time.as_ns().to_string()),
                );
                map.insert("condition_topic".into(), json!(&*message.channel.topic));
                if tries > 1 {
                    map.insert(
                        "note".into(),
                        json!(format!(
                            "the {} newer matches have no value within the tolerance",
                            tries - 1
                        )),
                    );
                }
            }
            found = Some(value);
            return Ok(true);
        }
        Ok(tries >= MAX_TRIES)
    })?;
    match (found, newest_match) {
        (Some(value), _) => Ok(value),
        (None, None) => Ok(Json::Null),
        (None, Some(newest)) => {
            let refusal = Refusal::no_data(format!(
                "{tries} matches were tried, and {value_topic} has no value at or before any of \
                 them within the tolerance"
            ))
            .hint("give a larger tolerance_s")
            .with("newest_match", newest.to_unix_s());
            Err(if query.notes.is_empty() {
                refusal
            } else {
                refusal.with("note", query.notes.join("; "))
            })
        }
    }
}

/// Hands the matches to `take`, newest first, until it says that it has enough.
fn each_match(
    query: &mut Query<'_>,
    search: &Search,
    take: &mut dyn FnMut(&mut Query<'_>, &Message<'_>) -> Result<bool, Refusal>,
) -> Result<(), Refusal> {
    let snapshot = query.snapshot.clone();
    let topics = resolve_topics(&snapshot, &search.topic)?;
    let (Some((first, _)), Some(last)) =
        (snapshot.time_span(), topics.iter().filter_map(|t| t.span).map(|(_, last)| last).max())
    else {
        return Err(nothing_recorded(query));
    };
    let places = snapshot.bags_touching(&topics, TimeRange::ALL);
    let places = candidates(query, &snapshot, &topics, places, search);
    // A type that cannot be searched fails the call only when no other type could be.
    let mut matchers = Matchers::new(search);
    let (mut reached, mut found_at) = (None, None);
    let mut n_matches = 0u64;
    let mut accounted = Ok(());
    query.steps.expect(query.n_chunks(&places, &topics, TimeRange::ALL));
    let mut windows = Windows::new(places);
    while let Some((bags, range)) =
        windows.next(query, &snapshot, search, &topics, &mut matchers.n_compared)
    {
        let mut timeline = query.timeline_over(&bags, &topics, range, Direction::Reverse);
        while let Some(message) = timeline.next() {
            reached = Some(message.log_time);
            let Some(is_match) = matchers.matches(query, &message) else { continue };
            n_matches += u64::from(is_match);
            if is_match && take(query, &message)? {
                // A newer match may lie in what could not be read.
                found_at = Some(message.log_time);
                break;
            }
        }
        // What was passed over counts as covered.
        let from = if timeline.report().was_stopped { reached } else { Some(range.start) };
        reached =
            from.map_or(reached, |from| Some(reached.map_or(from, |at: LogTime| at.min(from))));
        let covered = reached.map(|reached| TimeRange::closed(reached, last));
        accounted = query.account(timeline.report(), covered);
        if found_at.is_some() || accounted.is_err() {
            break;
        }
    }
    let since = found_at.unwrap_or(LogTime::ZERO);
    query.note_losses(&topics, TimeRange::new(since, LogTime::MAX));
    matchers.tell(query);
    if found_at.is_some() {
        // What was found is an answer, also when the time has run out meanwhile.
        return Ok(());
    }
    accounted?;
    matchers.has_compared()?;
    if n_matches == 0 && !query.notes.is_empty() {
        // Null would say that all of it was searched.
        return Err(Refusal::no_data(format!(
            "no match since {first}, but not all could be searched: {}",
            query.notes.join("; ")
        )));
    }
    Ok(())
}

/// So many bags are gone over at first, since the newest most often have it; then twice as many
/// each time, up to the last number.
const WINDOWS: std::ops::RangeInclusive<usize> = 8..=512;

/// Bags in groups, the newest first, each with the stretch of time in which no bag of an older
/// group has a message.
struct Windows {
    /// Those that are left, ascending.
    places: Vec<u32>,
    size: usize,
    /// Bags of newer groups that reach into older ones.
    carried: Vec<u32>,
    /// Where the group before began.
    end: LogTime,
    is_over: bool,
}

impl Windows {
    fn new(places: Vec<u32>) -> Self {
        let size = *WINDOWS.start();
        Self { places, size, carried: Vec::new(), end: TimeRange::ALL.end, is_over: false }
    }

    /// The next group, without the bags that have no match when there are many. Messages of these
    /// are added to `n_searched`.
    fn next(
        &mut self,
        query: &mut Query<'_>,
        snapshot: &Snapshot,
        search: &Search,
        topics: &[&TopicSummary],
        n_searched: &mut u64,
    ) -> Option<(Vec<u32>, TimeRange)> {
        if self.is_over {
            return None;
        }
        let start = self.places.len().saturating_sub(self.size);
        let mut bags = self.places.split_off(start);
        // The first group is small: it is read in order, and most often has the answer.
        if self.size > *WINDOWS.start() {
            let (kept, cost) = Sieve::new(query, snapshot, search, topics).keep(&bags);
            query.steps.add(cost.chunks, query.context);
            query.stats.bags_opened += cost.bags;
            query.stats.chunks_read += cost.chunks;
            query.stats.chunk_bytes += cost.chunk_bytes;
            query.stats.messages_scanned += cost.messages;
            *n_searched += cost.compared;
            bags = kept;
        }
        bags.append(&mut self.carried);
        bags.sort_unstable();
        let older = self.places.last().and_then(|place| snapshot.latest_up_to(*place));
        let begin = older.map_or(LogTime::ZERO, |older| older.saturating_add_ns(1));
        let range = TimeRange::new(begin.min(self.end), self.end);
        self.is_over = self.places.is_empty();
        self.carried.clone_from(&bags);
        self.carried.retain(|place| snapshot.span(*place).is_some_and(|(first, _)| first < begin));
        self.end = range.start;
        self.size = (self.size * 2).min(*WINDOWS.end());
        Some((bags, range))
    }
}
