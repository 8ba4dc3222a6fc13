//! Whether a condition holds, worked out from what was written and from what the conditions
//! promise.

use ros2_memory_testkit::bags::TestMessage;
use serde_json::{Value as Json, json};

use crate::{
    configured::Types,
    said::{Part, Said, Type},
};

/// One message in the order of time: log time, topic, start and path of the bag, place in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'h> {
    pub(crate) time: u64,
    pub(crate) topic: &'h str,
    pub(crate) bag_start: u64,
    pub(crate) bag_path: &'h str,
    pub(crate) position: usize,
    /// The session of its bag.
    pub(crate) run: &'h str,
    pub(crate) of: Type,
    pub(crate) said: &'h Said,
}

impl<'h> Known<'h> {
    pub(crate) fn key(&self) -> (u64, &'h str, u64, &'h str, usize) {
        (self.time, self.topic, self.bag_start, self.bag_path, self.position)
    }
}

/// What is looked for.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    Contains(String),
    Equals(Json),
    Above(f64),
    Below(f64),
    Near { x: f64, y: f64, z: Option<f64>, radius_m: f64 },
}

/// Whether a condition holds; what depends on rounding is not asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    No,
    Unsure,
    Yes,
}

/// Half of the last place of a single, as a part of the number, and a little more.
const SINGLE: f64 = 1e-7;

impl Condition {
    /// The arguments that say it, without the topic.
    pub(crate) fn arguments(&self) -> Json {
        match self {
            Self::Contains(text) => json!({"condition_type": "contains", "value": text}),
            Self::Equals(value) => json!({"condition_type": "equals", "value": value}),
            Self::Above(limit) => json!({"condition_type": "above", "value": limit}),
            Self::Below(limit) => json!({"condition_type": "below", "value": limit}),
            Self::Near { x, y, z, radius_m } => {
                let mut place = json!({"x": x, "y": y});
                if let Some(z) = z {
                    place["z"] = json!(z);
                }
                json!({"condition_type": "near_position", "value": place, "tolerance_m": radius_m})
            }
        }
    }

    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Contains(_) => "contains",
            Self::Equals(_) => "equals",
            Self::Above(_) => "above",
            Self::Below(_) => "below",
            Self::Near { .. } => "near_position",
        }
    }

    /// The paths that it looks at in a type.
    pub(crate) fn paths<'p>(&self, of: Type, types: Types, field: Option<&'p str>) -> Vec<&'p str> {
        if let Some(field) = field {
            return vec![field];
        }
        match self {
            Self::Contains(_) => types.text_paths(of).to_vec(),
            Self::Equals(_) | Self::Above(_) | Self::Below(_) => {
                types.value_path(of).into_iter().collect()
            }
            Self::Near { .. } => types.place_path(of).into_iter().collect(),
        }
    }

    /// Whether a message matches.
    pub(crate) fn holds(&self, known: &Known<'_>, types: Types, field: Option<&str>) -> Verdict {
        let paths = self.paths(known.of, types, field);
        let parts = paths.iter().flat_map(|path| known.said.at(path));
        parts.map(|part| self.holds_for(part)).max().unwrap_or(Verdict::No)
    }

    fn holds_for(&self, part: Part<'_>) -> Verdict {
        let is = match (self, part) {
            (Self::Contains(wanted), Part::Text(text)) => contains(text, &wanted.to_lowercase()),
            (Self::Contains(wanted), Part::Whole(number)) => number.to_string() == *wanted,
            (Self::Equals(wanted), _) => return equals(wanted, part),
            (Self::Above(limit), Part::Float64(number)) => number > *limit,
            (Self::Below(limit), Part::Float64(number)) => number < *limit,
            (Self::Above(limit), Part::Float32(number)) => f64::from(number) > *limit,
            (Self::Below(limit), Part::Float32(number)) => f64::from(number) < *limit,
            (Self::Above(limit), Part::Whole(number)) => whole(number) > *limit,
            (Self::Below(limit), Part::Whole(number)) => whole(number) < *limit,
            (Self::Near { x, y, z, radius_m }, Part::Place(at_m)) => {
                return near([*x, *y], *z, *radius_m, at_m);
            }
            _ => false,
        };
        if is { Verdict::Yes } else { Verdict::No }
    }
}

/// Whole numbers here are small.
fn whole(number: i64) -> f64 {
    i32::try_from(number).map_or(f64::NAN, f64::from)
}

/// A text that holds a JSON list is taken for that list, item by item.
fn contains(text: &str, folded: &str) -> bool {
    match serde_json::from_str(text.trim_start()) {
        Ok(Json::Array(items)) => items.iter().any(|item| item_contains(item, folded)),
        _ => text.to_lowercase().contains(folded),
    }
}

fn item_contains(item: &Json, folded: &str) -> bool {
    match item {
        Json::String(text) => text.to_lowercase().contains(folded),
        Json::Array(items) => items.iter().any(|item| item_contains(item, folded)),
        Json::Object(fields) => fields.values().any(|item| item_contains(item, folded)),
        Json::Bool(_) | Json::Number(_) => {
            let written = item.to_string();
            written == folded
        }
        Json::Null => false,
    }
}

/// Exactly for truth values and text, to 1e-9 of the larger for numbers; a single also equals the
/// decimal number that it was written as. A text is also taken for the JSON that it holds.
fn equals(wanted: &Json, part: Part<'_>) -> Verdict {
    let held = wanted.as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
    let both = [Some(wanted), held.as_ref()];
    both.into_iter().flatten().map(|wanted| equals_one(wanted, part)).max().unwrap_or(Verdict::No)
}

fn equals_one(wanted: &Json, part: Part<'_>) -> Verdict {
    let is = match (part, wanted) {
        (Part::Flag(flag), Json::Bool(wanted)) => flag == *wanted,
        (Part::Text(text), Json::String(wanted)) => text == wanted,
        (Part::Text(text), Json::Number(wanted)) => text == wanted.to_string(),
        (Part::Whole(number), Json::Number(wanted)) if wanted.is_i64() => {
            wanted.as_i64() == Some(number)
        }
        (Part::Whole(number), Json::Number(_)) => return same(whole(number), wanted, 1e-9),
        (Part::Float64(number), Json::Number(_)) => return same(number, wanted, 1e-9),
        (Part::Float32(number), Json::Number(_)) => {
            let written = number.to_string().parse::<f64>();
            let is_written = number.is_finite() && written.ok() == wanted.as_f64();
            let near = same(number.into(), wanted, 1e-9);
            // Which single lies nearest to a number is not worked out here.
            let least = f64::from(f32::MIN_POSITIVE);
            let are_tiny = f64::from(number).abs() < least
                && wanted.as_f64().is_some_and(|wanted| wanted.abs() < least);
            return match (is_written, near, same(number.into(), wanted, SINGLE)) {
                (true, ..) => Verdict::Yes,
                (_, Verdict::No, Verdict::Yes | Verdict::Unsure) => Verdict::Unsure,
                (_, Verdict::No, Verdict::No) if are_tiny => Verdict::Unsure,
                _ => near,
            };
        }
        _ => false,
    };
    if is { Verdict::Yes } else { Verdict::No }
}

/// Whether two finite numbers differ by no more than a part of the larger.
fn same(number: f64, wanted: &Json, part: f64) -> Verdict {
    let Some(wanted) = wanted.as_f64().filter(|_| number.is_finite()) else { return Verdict::No };
    let (apart, reach) = ((number - wanted).abs(), part * number.abs().max(wanted.abs()));
    if number.to_bits() == wanted.to_bits() || apart < reach * (1.0 - 1e-6) {
        Verdict::Yes
    } else if apart > reach * (1.0 + 1e-6) {
        Verdict::No
    } else if reach == 0.0 {
        // Both are zero, of either sign.
        Verdict::Yes
    } else {
        Verdict::Unsure
    }
}

/// Whether a place lies within a radius, the border included.
fn near([x, y]: [f64; 2], z: Option<f64>, radius_m: f64, at_m: [f64; 3]) -> Verdict {
    let (dx, dy) = (at_m[0] - x, at_m[1] - y);
    let dz = z.map_or(0.0, |z| at_m[2] - z);
    if !(dx.is_finite() && dy.is_finite() && dz.is_finite()) {
        return Verdict::No;
    }
    let distance_m = dx.hypot(dy).hypot(dz);
    // Of quarters that are not too large, differences are exact, and so are squares and their sums.
    let are_quarters = |parts: &[f64], most: f64| {
        parts.iter().all(|part| part.abs() < most && (part * 4.0).fract() == 0.0)
    };
    let is_exact =
        are_quarters(&[dx, dy, dz, radius_m], 1e6) && are_quarters(&[at_m[0], at_m[1], x, y], 1e15);
    let is_within = if is_exact {
        dx * dx + dy * dy + dz * dz <= radius_m * radius_m
    } else if distance_m < 1e-140 {
        // So little has no square.
        true
    } else if (distance_m - radius_m).abs() <= 1e-9 * distance_m.max(radius_m) {
        return Verdict::Unsure;
    } else {
        distance_m < radius_m
    };
    if is_within { Verdict::Yes } else { Verdict::No }
}

/// What a path costs to follow: how poses become a distance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Driven {
    pub(crate) distance_m: f64,
    pub(crate) fastest_mps: f64,
    pub(crate) n_poses: usize,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Follows poses in the order of time.
///
/// A pose that is not finite is left out. Of two sessions that recorded the same time, the one that
/// is followed is followed to its end. From one session to another there is no distance; a step
/// faster than the robot can be is none, and a step shorter than the jitter is none.
pub(crate) fn drive(
    poses: &[Known<'_>],
    run_end: &dyn Fn(&str) -> u64,
    (jitter_m, max_speed_mps): (f64, f64),
) -> Option<Driven> {
    let mut before: Option<(&Known<'_>, [f64; 3])> = None;
    let mut driven: Option<Driven> = None;
    for pose in poses {
        let Said::Odometry { at_m, .. } = pose.said else { continue };
        if at_m.iter().any(|part| !part.is_finite()) {
            continue;
        }
        let other_session = before.filter(|(last, _)| last.run != pose.run);
        if other_session.is_some_and(|(last, _)| pose.time <= run_end(last.run)) {
            continue;
        }
        let first = driven.get_or_insert(Driven {
            distance_m: 0.0,
            fastest_mps: 0.0,
            n_poses: 0,
            first: pose.time,
            last: pose.time,
        });
        first.n_poses += 1;
        first.last = pose.time;
        if let Some((last, from_m)) = before.filter(|(last, _)| last.run == pose.run) {
            let squares: f64 = from_m.iter().zip(at_m).map(|(a, b)| (b - a) * (b - a)).sum();
            let step_m = squares.sqrt();
            let step_s = seconds(pose.time - last.time);
            if step_m <= max_speed_mps * step_s && step_m >= jitter_m {
                first.distance_m += step_m;
                if step_s > 0.0 {
                    first.fastest_mps = first.fastest_mps.max(step_m / step_s);
                }
            }
        }
        before = Some((pose, *at_m));
    }
    driven
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000).parse().unwrap_or(f64::NAN)
}

/// The record of a message.
pub(crate) fn record(channel: u16, sequence: u32, time: u64, payload: Vec<u8>) -> TestMessage {
    TestMessage { channel, log_time_ns: time, publish_time_ns: time, sequence, payload }
}
