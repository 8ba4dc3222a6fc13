//! Which messages of a long list are kept, so that what matters of it is still seen.

use std::{collections::HashMap, sync::Arc};

use ros2_memory_bag::{Direction, Message};
use ros2_memory_catalog::TopicSummary;
use ros2_memory_msg::{FieldPath, PlanReader, Scalar, spread};
use ros2_memory_time::TimeRange;

use super::matcher::{compile, named_field, no_value};
use crate::{ErrorCode, TypeView, query::Query, refusal::Refusal};

/// How samples are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Evenly by their number.
    Stride,
    /// Of each stretch the lowest and the highest: no peak is lost.
    MinMax,
    /// Largest triangle three buckets (Steinarsson, 2013): the shape of the curve is kept.
    Lttb,
}

impl Method {
    /// As the tools name them.
    pub(crate) const NAMES: [&'static str; 3] = ["stride", "minmax", "lttb"];

    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::Stride, Self::MinMax, Self::Lttb];
        Self::NAMES.iter().zip(all).find_map(|(known, method)| (*known == name).then_some(method))
    }
}

/// How many samples there may be, and how they are chosen.
#[derive(Debug, Clone)]
pub(crate) struct Thinning {
    pub(crate) max_samples: usize,
    pub(crate) method: Method,
    /// The number that is looked at; the configured `value` without one.
    pub(crate) field: Option<FieldPath>,
}

/// So many messages of a stretch are held at most: 24 bytes each.
const MAX_IN_BUCKET: usize = 2_000_000;

/// The numbers of the messages to keep out of `total`, ascending.
pub(crate) fn kept(
    query: &mut Query<'_>,
    topics: &[&TopicSummary],
    range: TimeRange,
    total: usize,
    thinning: &Thinning,
) -> Result<Vec<usize>, Refusal> {
    let Thinning { max_samples, method, field } = thinning;
    if total <= *max_samples || *method == Method::Stride {
        return Ok(spread(total, *max_samples).collect());
    }
    let mut points = Points { query, topics, range, number: Number::new(field.clone()) };
    match method {
        Method::MinMax => min_max(&mut points, total, *max_samples),
        Method::Lttb | Method::Stride => lttb(&mut points, total, *max_samples),
    }
}

/// Reads one number out of messages, by the path that is asked for or the configured `value`.
#[derive(Debug)]
pub(crate) struct Number {
    field: Option<FieldPath>,
    readers: HashMap<*const TypeView, Result<PlanReader, Refusal>>,
}

impl Number {
    pub(crate) fn new(field: Option<FieldPath>) -> Self {
        Self { field, readers: HashMap::new() }
    }

    /// Where a type is looked at. A configured name that is no path itself is not followed.
    pub(crate) fn path_in(&self, query: &Query<'_>, type_name: &str) -> Option<FieldPath> {
        let configured = || query.types.map().get(type_name)?.field("value").cloned();
        self.field.clone().or_else(configured)
    }

    /// The first number at the path in a message; `None` where a list is empty, or the value is
    /// no number.
    ///
    /// # Errors
    ///
    /// `bad_argument` when the type has no such field, `decode_failed` for bad bytes.
    pub(crate) fn of(
        &mut self,
        query: &mut Query<'_>,
        message: &Message<'_>,
    ) -> Result<Option<f64>, Refusal> {
        let view = query.view(&message.contents.declared, message.channel_index);
        let key = Arc::as_ptr(&view);
        if !self.readers.contains_key(&key) {
            let reader = self.reader(query, &view);
            self.readers.insert(key, reader);
        }
        let reader = match self.readers.get_mut(&key) {
            Some(Ok(reader)) => reader,
            Some(Err(refusal)) => return Err(refusal.clone()),
            None => unreachable!("it was put there above"),
        };
        let mut number = None;
        let outcome = reader.read(message.payload, |_, value| {
            number = number.or_else(|| first_number(&value));
        });
        outcome.map_err(|error| {
            Refusal::new(ErrorCode::DecodeFailed, format!("{}: {error}", message.channel.topic))
        })?;
        Ok(number)
    }

    fn reader(&self, query: &Query<'_>, view: &TypeView) -> Result<PlanReader, Refusal> {
        let schema = view.schema.as_ref().map_err(|reason| {
            Refusal::new(ErrorCode::DecodeFailed, format!("{}: {reason}", view.type_name))
        })?;
        let paths = query.types.map().get(&view.type_name);
        let plan = match (&self.field, paths.and_then(|paths| paths.field("value"))) {
            (Some(field), _) => named_field(schema, paths, field)?.1,
            (None, Some(value)) => compile(schema, std::slice::from_ref(value))?,
            (None, None) => return Err(no_value(&view.type_name, schema)),
        };
        Ok(PlanReader::new(plan))
    }
}

fn first_number(value: &ros2_memory_msg::Value<'_>) -> Option<f64> {
    use ros2_memory_msg::Value;
    match value {
        Value::Scalar(number) => Some(number.as_f64()),
        Value::Primitives(numbers) => numbers.iter().next().map(Scalar::as_f64),
        Value::List(list) => list.items.iter().find_map(first_number),
        _ => None,
    }
}

/// The numbers of a range in order.
struct Points<'p, 'm> {
    query: &'p mut Query<'m>,
    topics: &'p [&'p TopicSummary],
    range: TimeRange,
    number: Number,
}

/// One message: which it is, when, and its number.
#[derive(Debug, Clone, Copy)]
struct Point {
    index: usize,
    x: f64,
    y: f64,
}

impl Points<'_, '_> {
    /// Hands on every message that has a finite number.
    fn each(&mut self, mut take: impl FnMut(Point) -> Result<(), Refusal>) -> Result<(), Refusal> {
        let mut timeline = self.query.timeline(self.topics, self.range, Direction::Forward);
        let mut index = 0;
        let (mut last, mut refusal, mut n_read) = (None, None, 0u64);
        while let Some(message) = timeline.next() {
            last = Some(message.log_time);
            #[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
            let x = message.log_time.since_ns(self.range.start) as f64;
            match self.number.of(self.query, &message) {
                Ok(number) => {
                    n_read += 1;
                    if let Some(y) = number.filter(|y| y.is_finite()) {
                        take(Point { index, x, y })?;
                    }
                }
                Err(why) => refusal = refusal.or(Some(why)),
            }
            index += 1;
        }
        let covered = last.map(|last| TimeRange::closed(self.range.start, last));
        self.query.account(timeline.report(), covered)?;
        match refusal {
            Some(refusal) if n_read == 0 => Err(refusal),
            _ => Ok(()),
        }
    }
}

fn min_max(
    points: &mut Points<'_, '_>,
    total: usize,
    max_samples: usize,
) -> Result<Vec<usize>, Refusal> {
    // The first and the last message stay, as with the other methods.
    let n_buckets = (max_samples.saturating_sub(2) / 2).max(1);
    let mut buckets: Vec<Option<(Point, Point)>> = vec![None; n_buckets];
    points.each(|point| {
        let place = (point.index as u128 * n_buckets as u128 / total as u128) as usize;
        if let Some(bucket) = buckets.get_mut(place.min(n_buckets - 1)) {
            let (low, high) = bucket.get_or_insert((point, point));
            if point.y < low.y {
                *low = point;
            }
            if point.y > high.y {
                *high = point;
            }
        }
        Ok(())
    })?;
    let extremes = buckets.iter().flatten().flat_map(|(low, high)| [low.index, high.index]);
    let mut kept: Vec<usize> = extremes.collect();
    if max_samples > 3 {
        kept.extend([0, total - 1]);
    }
    kept.sort_unstable();
    kept.dedup();
    kept.truncate(max_samples);
    Ok(kept)
}

fn lttb(
    points: &mut Points<'_, '_>,
    total: usize,
    max_samples: usize,
) -> Result<Vec<usize>, Refusal> {
    let n_buckets = max_samples.saturating_sub(2);
    if n_buckets == 0 {
        return Ok(spread(total, max_samples).collect());
    }
    if total / n_buckets > MAX_IN_BUCKET {
        return Err(Refusal::bad_argument(format!(
            "{total} messages are too many for lttb with {max_samples} samples"
        ))
        .hint("use minmax, or a shorter range"));
    }
    let mut choice = Choice::default();
    points.each(|point| {
        let is_end = point.index == 0 || point.index == total - 1;
        // All but the first and the last message are in buckets of one size.
        let inner = total.saturating_sub(2).max(1);
        let place = match is_end {
            true if point.index == 0 => 0,
            true => n_buckets + 1,
            false => 1 + ((point.index - 1) as u128 * n_buckets as u128 / inner as u128) as usize,
        };
        choice.add(place, point);
        Ok(())
    })?;
    Ok(choice.finish())
}

/// Largest triangle three buckets with two buckets in memory.
#[derive(Debug, Default)]
struct Choice {
    kept: Vec<Point>,
    /// The bucket to choose from next.
    waiting: Vec<Point>,
    /// The one behind, which is being filled.
    filling: Vec<Point>,
    place: usize,
}

impl Choice {
    fn add(&mut self, place: usize, point: Point) {
        if place != self.place && !self.filling.is_empty() {
            self.choose();
            self.waiting = std::mem::take(&mut self.filling);
        }
        self.place = place;
        self.filling.push(point);
    }

    /// Keeps the point of the waiting bucket that makes the largest triangle with the one that
    /// was kept before and the middle of the bucket behind.
    fn choose(&mut self) {
        let Some(before) = self.kept.last().copied() else {
            self.kept.extend(self.waiting.first());
            return;
        };
        #[expect(clippy::cast_precision_loss, reason = "a count below 2^53")]
        let n = self.filling.len().max(1) as f64;
        let sum = self.filling.iter().fold((0.0, 0.0), |sum, of| (sum.0 + of.x, sum.1 + of.y));
        let after = (sum.0 / n, sum.1 / n);
        let area = |of: &Point| {
            ((before.x - after.0) * (of.y - before.y) - (before.x - of.x) * (after.1 - before.y))
                .abs()
        };
        let largest = self.waiting.iter().max_by(|a, b| area(a).total_cmp(&area(b)));
        self.kept.extend(largest);
    }

    fn finish(mut self) -> Vec<usize> {
        self.choose();
        self.waiting = std::mem::take(&mut self.filling);
        self.kept.extend(self.waiting.last());
        let mut kept: Vec<usize> = self.kept.iter().map(|point| point.index).collect();
        kept.dedup();
        kept
    }
}
