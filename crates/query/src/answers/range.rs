//! The messages of a stretch of time, thinned so that they still span it.

use std::ops::ControlFlow;

use ros2_memory_bag::{Bag, ChunkBuffer, Direction, TimelineReport};
use ros2_memory_catalog::TopicSummary;
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use super::{
    nearest::{nearest_earlier, nearest_later},
    thin::{Method, Thinning, kept},
    topics::nothing_recorded,
};
use crate::{
    ErrorCode, Moment,
    names::{joined, resolve_topics},
    query::Query,
    refusal::{Answer, Refusal},
};

/// A stretch of time as it was asked for, both ends inclusive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) range: TimeRange,
    /// Whether it was cut to what is recorded.
    pub(crate) was_clamped: bool,
}

impl Window {
    /// From one moment to another.
    ///
    /// # Errors
    ///
    /// `bad_argument` when the end lies before the start, `no_data` when nothing is recorded
    /// between them.
    pub(crate) fn between(query: &Query<'_>, start: Moment, end: Moment) -> Result<Self, Refusal> {
        if end.at < start.at {
            return Err(Refusal::bad_argument(format!(
                "end {} lies before start {}",
                end.at, start.at
            )));
        }
        let Some((first, last)) = query.snapshot.time_span() else {
            return Err(nothing_recorded(query));
        };
        let asked = TimeRange::closed(start.at_or_after(), end.at_or_before());
        let range = asked.intersect(TimeRange::closed(first, last));
        if range.is_empty() {
            return Err(Refusal::no_data(format!(
                "nothing is recorded between {} and {}",
                start.at, end.at
            ))
            .hint(query.recorded()));
        }
        // Half a microsecond that rounding added is not worth a word.
        let was_clamped = range.start > start.at || range.end < end.at;
        Ok(Self { range, was_clamped })
    }

    /// The last `ns` nanoseconds before now.
    pub(crate) fn last(query: &Query<'_>, ns: u64) -> Result<Self, Refusal> {
        let start = query.now.saturating_sub_ns(ns);
        Self::between(query, Moment::exact(start), Moment::exact(query.now)).map_err(|refusal| {
            match (refusal.code, query.snapshot.time_span()) {
                (ErrorCode::NoData, Some((_, last))) => Refusal::no_data(format!(
                    "nothing is recorded since {start}: the newest data is {} s old",
                    query.age_s(last)
                ))
                .hint(format!("ask for a range that ends at {}", last.to_unix_s())),
                _ => refusal,
            }
        })
    }

    pub(crate) fn clamp_note(&self) -> Option<String> {
        self.was_clamped.then(|| {
            let last = self.range.end.saturating_sub_ns(1);
            format!("the range was cut to what is recorded, {} to {last}", self.range.start)
        })
    }
}

/// The samples of a topic in a window, as one list.
pub(crate) fn topic_in(
    query: &mut Query<'_>,
    topic: &str,
    window: Window,
    thinning: &Thinning,
) -> Answer {
    let mut list = Vec::new();
    let total = each_sample(query, topic, window, thinning, &mut |sample| {
        list.push(sample);
        ControlFlow::Continue(())
    })?;
    let returned = list.len();
    if let Some(end) = end_note(query, window, thinning, total, returned) {
        list.push(end);
    }
    Ok(Json::Array(list))
}

/// The last element of a list: what was left out, and what must be said about the whole.
pub(crate) fn end_note(
    query: &Query<'_>,
    window: Window,
    thinning: &Thinning,
    total: usize,
    returned: usize,
) -> Option<Json> {
    let mut words = query.notes.clone();
    words.extend(window.clamp_note());
    if returned < total {
        let how = match thinning.method {
            Method::Stride => "evenly spaced samples of a longer list",
            Method::MinMax => "of a longer list the lowest and highest of each stretch",
            Method::Lttb => "of a longer list what shows its shape (lttb)",
        };
        words.push(how.to_owned());
    }
    (!words.is_empty()).then(|| {
        json!({
            "note": words.join("; "), "total": total, "returned": returned, "next": null,
        })
    })
}

/// Hands the samples of a topic in a window to `sink`, in timeline order and as they are read.
/// Returns how many messages the window holds.
pub(crate) fn each_sample(
    query: &mut Query<'_>,
    topic: &str,
    window: Window,
    thinning: &Thinning,
    sink: &mut dyn FnMut(Json) -> ControlFlow<()>,
) -> Result<usize, Refusal> {
    let snapshot = query.snapshot.clone();
    let topics = resolve_topics(&snapshot, topic)?;
    let range = window.range;
    query.note_losses(&topics, range);
    let total = count(query, &topics, range)?;
    if total == 0 {
        return Err(nothing_in(query, &topics, range));
    }
    let mut kept = kept(query, &topics, range, total, thinning)?.into_iter().peekable();
    let mut timeline = query.timeline(&topics, range, Direction::Forward);
    let mut index = 0;
    let mut last = None;
    while let Some(message) = timeline.next() {
        if kept.peek().is_none() {
            break;
        }
        last = Some(message.log_time);
        if kept.next_if_eq(&index).is_some() {
            // A message that cannot be read is an element that says so, not the end of the list.
            let sample = query.sample(&message).unwrap_or_else(|refusal| {
                let mut value = refusal.into_reply().value;
                if let Json::Object(map) = &mut value {
                    map.insert("topic".into(), json!(&*message.channel.topic));
                }
                value
            });
            if sink(sample).is_break() {
                break;
            }
        }
        index += 1;
    }
    query.account(timeline.report(), last.map(|last| TimeRange::closed(range.start, last)))?;
    Ok(total)
}

/// How many messages of some topics lie in a range: from the counts of the chunks that lie
/// inside, and by reading those at its ends.
fn count(
    query: &mut Query<'_>,
    topics: &[&TopicSummary],
    range: TimeRange,
) -> Result<usize, Refusal> {
    let snapshot = query.snapshot.clone();
    let places = snapshot.bags_touching(topics, range);
    let mut total = 0usize;
    let mut buffer = ChunkBuffer::default();
    let mut unread = TimelineReport::default();
    for place in places {
        let Some(bag) = snapshot.bag(place) else { continue };
        let part = snapshot.timeline_part(&bag.entry);
        let contents = &bag.entry.contents;
        let is_wanted = |channel: u32| {
            let channel = contents.declared.channel(channel);
            channel.is_some_and(|channel| topics.iter().any(|t| t.topic == channel.topic))
        };
        let mut open: Option<Bag> = None;
        for chunk in &contents.chunks {
            let wanted = || chunk.channels.iter().filter(|seen| is_wanted(seen.channel));
            let at_an_end = |seen: &&ros2_memory_bag::ChunkChannel| {
                range.touches(seen.first, seen.last)
                    && !(range.contains(seen.first) && range.contains(seen.last))
            };
            if wanted().find(at_an_end).is_none() {
                let inside = wanted().filter(|seen| range.contains(seen.first));
                total += inside.map(|seen| seen.count as usize).sum::<usize>();
                continue;
            }
            query.check_time("ask for a shorter range")?;
            let bag = match &mut open {
                Some(bag) => bag,
                none => {
                    let known = (part.identity, part.contents.clone());
                    match Bag::open(&part.path, known.0, known.1, &query.read) {
                        Ok(bag) => {
                            query.stats.bags_opened += 1;
                            none.insert(bag)
                        }
                        Err(error) => {
                            unread.skipped.push((part.path.to_path_buf(), error));
                            break;
                        }
                    }
                }
            };
            match bag.chunk_bytes(chunk, &mut buffer) {
                Ok(bytes) => {
                    query.stats.chunks_read += 1;
                    query.stats.chunk_bytes += chunk.len;
                    total += bag
                        .messages(chunk, bytes)
                        .filter(|message| {
                            is_wanted(message.channel) && range.contains(message.log_time)
                        })
                        .count();
                }
                Err(error) => unread.skipped.push((part.path.to_path_buf(), error)),
            }
        }
    }
    if total == 0 {
        // Else the messages are read below, and what cannot be read is told then.
        query.account(&unread, None)?;
    }
    Ok(total)
}

fn nothing_in(query: &Query<'_>, topics: &[&TopicSummary], range: TimeRange) -> Refusal {
    let last = range.end.saturating_sub_ns(1);
    let name = joined(topics);
    if topics.iter().all(|topic| topic.span.is_none()) {
        return Refusal::no_data(format!("{name} was declared, but no message was recorded"));
    }
    let mut extra = Map::new();
    let earlier = nearest_earlier(query, topics, range.start);
    let later = nearest_later(query, topics, last);
    extra.insert("nearest_earlier".into(), json!(earlier.map(LogTime::to_unix_s)));
    extra.insert("nearest_later".into(), json!(later.map(LogTime::to_unix_s)));
    let detail = format!("{name} has no message from {} to {last}", range.start);
    let refusal = Refusal::no_data(detail).hint("the nearest times are beside this");
    extra.into_iter().fold(refusal, |refusal, (key, value)| refusal.with(&key, value))
}
