//! A number of a topic over a stretch of time, summed up.

use std::collections::{BTreeSet, HashMap};

use ros2_memory_bag::Direction;
use ros2_memory_catalog::{Snapshot, TopicSummary};
use ros2_memory_msg::spread;
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use super::{range::Window, thin::Number, topics::nothing_recorded};
use crate::{
    ErrorCode, IndexUse,
    handle::handle,
    names::{joined, resolve_topics},
    query::Query,
    refusal::{Answer, Refusal},
};

/// Of so many bags every message is read.
const READ_BAGS: usize = 512;
/// So many numbers are held for the percentiles; of more, every second, fourth and so on.
const MAX_HELD: usize = 1 << 20;
/// Into how many parts a range may be cut.
pub(crate) const MAX_BUCKETS: u64 = 200;
const PERCENTILES: [(&str, f64); 5] =
    [("p5", 0.05), ("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p95", 0.95)];

/// Count, extremes, mean and percentiles of a number in a window, in all and for each of
/// `n_buckets` equal parts of it.
pub(crate) fn statistics(
    query: &mut Query<'_>,
    topic: &str,
    mut number: Number,
    window: Window,
    n_buckets: usize,
) -> Answer {
    let snapshot = query.snapshot.clone();
    let topics = resolve_topics(&snapshot, topic)?;
    let [topic] = topics.as_slice() else {
        return Err(Refusal::bad_argument(format!("topic means several: {}", joined(&topics)))
            .hint("numbers of different topics are not summed up together"));
    };
    if topic.span.is_none() {
        return Err(nothing_recorded(query));
    }
    let range = window.range;
    let buckets = Buckets::new(range, n_buckets);
    let places = snapshot.bags_touching(&[topic], range);
    let sample = sample(query, &snapshot, topic, &places, &number, &buckets);
    let mut all = Sum::default();
    let mut parts = vec![Sum::default(); n_buckets];
    let mut values = Values::default();
    for (place, (min, max)) in &sample.left_out {
        // Only what lies in one part is left out.
        let Some((first, _)) = snapshot.span(*place) else { continue };
        if let Some(part) = parts.get_mut(buckets.of(first)) {
            part.reaches(*min, *max);
        }
    }
    let (mut n_messages, mut n_without, mut last) = (0u64, 0u64, None);
    let mut refusal = None;
    let mut timeline = query.timeline_over(&sample.read, &[topic], range, Direction::Forward);
    while let Some(message) = timeline.next() {
        last = Some(message.log_time);
        n_messages += 1;
        match number.of(query, &message) {
            Ok(Some(value)) if value.is_finite() => {
                all.add(value, message.log_time);
                if let Some(part) = parts.get_mut(buckets.of(message.log_time)) {
                    part.add(value, message.log_time);
                }
                values.add(value);
            }
            Ok(_) => n_without += 1,
            Err(why) => {
                n_without += 1;
                refusal = refusal.or(Some(why));
            }
        }
    }
    let covered = last.map(|last| TimeRange::closed(range.start, last));
    query.account(timeline.report(), covered)?;
    if all.n == 0 {
        return Err(refusal.unwrap_or_else(|| {
            let end = range.end.saturating_sub_ns(1);
            let name = &topic.topic;
            if n_messages == 0 {
                Refusal::no_data(format!("{name} has no message from {} to {end}", range.start))
                    .hint(query.recorded())
            } else {
                Refusal::new(ErrorCode::NoData, format!("{name} has no number there"))
            }
        }));
    }
    query.note_losses(&[topic], range);
    query.notes.extend(window.clamp_note());
    if n_without > 0 {
        query.note(format!("{n_without} messages have no finite number there"));
    }
    let mut map = Map::new();
    map.insert("topic".into(), json!(&*topic.topic));
    map.insert("start".into(), json!(range.start.to_unix_s()));
    map.insert("end".into(), json!(range.end.saturating_sub_ns(1).to_unix_s()));
    if sample.left_out.is_empty() {
        map.insert("count".into(), json!(all.n));
    } else {
        query.stats.index = IndexUse::Numbers;
        query.stats.bags_passed_over += sample.left_out.len() as u64;
        query.note(format!(
            "min and max are of all, by an index; mean and percentiles of {} of {} bags, evenly \
             spaced: ask for a shorter range to have every message counted",
            sample.read.len(),
            places.len()
        ));
        map.insert("sampled".into(), json!(all.n));
    }
    map.insert("min".into(), extreme(topic, all.min));
    map.insert("max".into(), extreme(topic, all.max));
    map.insert("mean".into(), json!(all.mean()));
    map.insert("std_dev".into(), json!(all.deviation()));
    map.insert("percentiles".into(), values.percentiles());
    if n_buckets > 0 {
        let listed = parts.iter().enumerate().map(|(number, part)| {
            let span = buckets.span(number);
            let value = |of: Option<(f64, LogTime)>| of.map(|(value, _)| value);
            let mut map = Map::new();
            map.insert("start".into(), json!(span.start.to_unix_s()));
            map.insert("n".into(), json!(part.n));
            map.insert("min".into(), json!(lower(value(part.min), part.reach.map(|of| of.0))));
            map.insert("max".into(), json!(upper(value(part.max), part.reach.map(|of| of.1))));
            map.insert("mean".into(), json!(part.mean()));
            Json::Object(map)
        });
        map.insert("buckets".into(), listed.collect());
    }
    Ok(Json::Object(map))
}

fn lower(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).min_by(f64::total_cmp)
}

fn upper(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).max_by(f64::total_cmp)
}

fn extreme(topic: &TopicSummary, of: Option<(f64, LogTime)>) -> Json {
    of.map_or(Json::Null, |(value, at)| {
        json!({
            "value": value, "timestamp": at.to_unix_s(), "handle": handle(&topic.topic, at),
        })
    })
}

/// Which bags are read, and of the others between which numbers they lie.
struct Sample {
    read: Vec<u32>,
    left_out: Vec<(u32, (f64, f64))>,
}

/// All bags when they are few; else some, evenly spaced, and all that an index does not tell the
/// range of, that have the extremes, or that lie at a border of parts.
fn sample(
    query: &Query<'_>,
    snapshot: &Snapshot,
    topic: &TopicSummary,
    places: &[u32],
    number: &Number,
    buckets: &Buckets,
) -> Sample {
    if places.len() <= READ_BAGS {
        return Sample { read: places.to_vec(), left_out: Vec::new() };
    }
    let path_of = |type_name: &str| number.path_in(query, type_name).map(|path| path.to_string());
    let zones: HashMap<u32, (f64, f64)> = places
        .iter()
        .zip(snapshot.zones_of(topic, places, &path_of))
        .filter_map(|(place, zone)| Some((*place, zone?)))
        .collect();
    let mut read: BTreeSet<u32> =
        spread(places.len(), READ_BAGS / 2).filter_map(|at| places.get(at).copied()).collect();
    let lowest = zones.iter().min_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let highest = zones.iter().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
    read.extend(lowest.into_iter().chain(highest).map(|(place, _)| *place));
    let is_within = |place: &u32| {
        snapshot.span(*place).is_some_and(|(first, last)| buckets.are_one(first, last))
    };
    read.extend(places.iter().filter(|place| !zones.contains_key(place) || !is_within(place)));
    let left_out = places.iter().filter(|place| !read.contains(place));
    let left_out = left_out.filter_map(|place| Some((*place, *zones.get(place)?))).collect();
    Sample { read: read.into_iter().collect(), left_out }
}

/// Equal parts of a range.
struct Buckets {
    range: TimeRange,
    n: u128,
}

impl Buckets {
    fn new(range: TimeRange, n: usize) -> Self {
        Self { range, n: n as u128 }
    }

    /// In which part a time lies.
    fn of(&self, at: LogTime) -> usize {
        let len = u128::from(self.range.end.since_ns(self.range.start)).max(1);
        let place = u128::from(at.since_ns(self.range.start)) * self.n / len;
        usize::try_from(place).unwrap_or(usize::MAX)
    }

    /// Whether both lie in the range, and in the same part of it.
    fn are_one(&self, first: LogTime, last: LogTime) -> bool {
        self.range.contains(first) && self.range.contains(last) && self.of(first) == self.of(last)
    }

    fn span(&self, number: usize) -> TimeRange {
        let len = u128::from(self.range.end.since_ns(self.range.start));
        let at = |number: u128| {
            let ns = (number * len).div_ceil(self.n.max(1));
            self.range.start.saturating_add_ns(u64::try_from(ns).unwrap_or(u64::MAX))
        };
        TimeRange::new(at(number as u128), at(number as u128 + 1))
    }
}

/// Numbers summed up.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    n: u64,
    mean: f64,
    /// The sum of squared distances from the mean (Welford, 1962).
    squares: f64,
    min: Option<(f64, LogTime)>,
    max: Option<(f64, LogTime)>,
    /// Between which numbers those lie that were not read.
    reach: Option<(f64, f64)>,
}

impl Sum {
    #[expect(clippy::cast_precision_loss, reason = "a count below 2^53")]
    fn add(&mut self, value: f64, at: LogTime) {
        self.n += 1;
        let from_mean = value - self.mean;
        self.mean += from_mean / self.n as f64;
        self.squares += from_mean * (value - self.mean);
        if self.min.is_none_or(|(min, _)| value < min) {
            self.min = Some((value, at));
        }
        if self.max.is_none_or(|(max, _)| value > max) {
            self.max = Some((value, at));
        }
    }

    fn reaches(&mut self, min: f64, max: f64) {
        let (low, high) = self.reach.unwrap_or((min, max));
        self.reach = Some((low.min(min), high.max(max)));
    }

    fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    #[expect(clippy::cast_precision_loss, reason = "a count below 2^53")]
    fn deviation(&self) -> f64 {
        (self.squares / self.n.max(1) as f64).sqrt()
    }
}

/// Numbers for percentiles: all, or of many every second, fourth, and so on.
#[derive(Debug)]
struct Values {
    held: Vec<f64>,
    step: u64,
    n: u64,
}

impl Default for Values {
    fn default() -> Self {
        Self { held: Vec::new(), step: 1, n: 0 }
    }
}

impl Values {
    fn add(&mut self, value: f64) {
        if self.n.is_multiple_of(self.step) {
            if self.held.len() == MAX_HELD {
                let mut place = 0;
                self.held.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.step *= 2;
            }
            if self.n.is_multiple_of(self.step) {
                self.held.push(value);
            }
        }
        self.n += 1;
    }

    /// By the nearest rank.
    fn percentiles(mut self) -> Json {
        self.held.sort_unstable_by(f64::total_cmp);
        let mut map = Map::new();
        for (name, part) in PERCENTILES {
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a place in a list of at most 2^20"
            )]
            let rank = (part * self.held.len() as f64).ceil() as usize;
            map.insert(name.into(), json!(self.held.get(rank.saturating_sub(1))));
        }
        Json::Object(map)
    }
}
