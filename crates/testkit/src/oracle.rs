//! The answers a memory has to give, by brute force over plain vectors in integer nanoseconds.
//!
//! Every question looks at every message. The order of the timeline is: log time, then topic, then
//! bag (its first log time, then its path), then position in the file.

use std::path::Path;

use serde_json::Value;

use crate::{
    content::{Content, Kind, Place, frame_of},
    random_sets::RandomSet,
};

/// One message and its place in the timeline.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Nanoseconds since the Unix epoch.
    pub log_time_ns: u64,
    /// Name of its topic.
    pub topic: &'a str,
    /// Type of its topic.
    pub kind: Kind,
    /// First log time of its bag.
    pub bag_start_ns: u64,
    /// Path of its bag below the directory.
    pub bag_path: &'a Path,
    /// Count of messages before it in its file.
    pub position: usize,
    /// What it says.
    pub content: &'a Content,
}

/// What is known of one topic that holds a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicFacts<'a> {
    /// Name of the topic.
    pub topic: &'a str,
    /// Full name of its type.
    pub type_name: &'static str,
    /// Log time of the earliest message.
    pub first_ns: u64,
    /// Log time of the latest message.
    pub last_ns: u64,
    /// How many messages.
    pub count: usize,
}

/// What a message has to satisfy.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Case-folded substring: of a text or any item of the JSON list it holds, or of any label.
    Contains(String),
    /// The text itself.
    EqualsText(String),
    /// The number within 1e-9 of the larger one.
    EqualsNumber(f64),
    /// The truth value.
    EqualsFlag(bool),
    /// The field that carries the serial: `s<serial>`.
    SerialIs(u64),
    /// A place no farther than `tolerance_m`, by x and y, and by z when it is given.
    Near {
        /// Metres.
        x: f64,
        /// Metres.
        y: f64,
        /// Metres; not looked at when absent.
        z: Option<f64>,
        /// Metres, inclusive.
        tolerance_m: f64,
    },
}

/// The answer to "what was the value when the condition last held".
#[derive(Debug, Clone, Copy)]
pub enum ValueWhen<'a> {
    /// The newest match that has a value within the tolerance before it.
    Found {
        /// The value.
        value: Known<'a>,
        /// The message that satisfied the condition.
        matched: Known<'a>,
        /// How many newer matches had no value.
        newer_matches: usize,
    },
    /// The condition never held.
    NoMatch,
    /// It held, this often, and never with a value.
    NoValue(usize),
}

/// All messages of a set, in no order.
#[derive(Debug)]
pub struct Oracle<'a> {
    messages: Vec<Known<'a>>,
}

impl<'a> Known<'a> {
    fn key(&self) -> (u64, &'a str, u64, &'a Path, usize) {
        (self.log_time_ns, self.topic, self.bag_start_ns, self.bag_path, self.position)
    }
}

impl<'a> Oracle<'a> {
    /// Knows every message of `set`.
    pub fn new(set: &'a RandomSet) -> Self {
        let mut messages = Vec::new();
        for bag in &set.bags {
            let start = bag.messages.iter().map(|message| message.log_time_ns).min();
            for (position, message) in bag.messages.iter().enumerate() {
                let Some(topic) = set.topics.get(message.topic) else { continue };
                messages.push(Known {
                    log_time_ns: message.log_time_ns,
                    topic: &topic.name,
                    kind: topic.kind,
                    bag_start_ns: start.unwrap_or_default(),
                    bag_path: &bag.path,
                    position,
                    content: &message.content,
                });
            }
        }
        Self { messages }
    }

    /// Earliest and latest log time of all.
    pub fn range(&self) -> Option<(u64, u64)> {
        let times = || self.messages.iter().map(|message| message.log_time_ns);
        Some((times().min()?, times().max()?))
    }

    /// Every topic that holds a message, by name.
    pub fn topics(&self) -> Vec<TopicFacts<'a>> {
        let mut names: Vec<&str> = self.messages.iter().map(|message| message.topic).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().filter_map(|name| self.facts(name)).collect()
    }

    /// The last message of `topic` in the timeline at or before `t_ns`, unless it is more than
    /// `tolerance_ns` before.
    pub fn at(&self, topic: &str, t_ns: u64, tolerance_ns: u64) -> Option<Known<'a>> {
        self.of(topic)
            .filter(|message| message.log_time_ns <= t_ns)
            .max_by_key(Known::key)
            .filter(|message| t_ns - message.log_time_ns <= tolerance_ns)
    }

    /// The messages of `topic` from `start_ns` to `end_ns`, both included, in timeline order.
    pub fn between(&self, topic: &str, start_ns: u64, end_ns: u64) -> Vec<Known<'a>> {
        let mut found: Vec<_> = self
            .of(topic)
            .filter(|message| start_ns <= message.log_time_ns && message.log_time_ns <= end_ns)
            .collect();
        found.sort_by_key(Known::key);
        found
    }

    /// The last message of `topic` in the timeline that satisfies `condition`.
    pub fn last_match(&self, topic: &str, condition: &Condition) -> Option<Known<'a>> {
        self.of(topic).filter(|message| condition.holds(message.content)).max_by_key(Known::key)
    }

    /// The value of `value_topic` at or before the newest match that has one within the tolerance.
    pub fn value_when(
        &self,
        value_topic: &str,
        condition_topic: &str,
        condition: &Condition,
        tolerance_ns: u64,
    ) -> ValueWhen<'a> {
        let mut matches: Vec<_> =
            self.of(condition_topic).filter(|message| condition.holds(message.content)).collect();
        matches.sort_by_key(Known::key);
        matches.reverse();
        for (newer_matches, matched) in matches.iter().enumerate() {
            if let Some(value) = self.at(value_topic, matched.log_time_ns, tolerance_ns) {
                return ValueWhen::Found { value, matched: *matched, newer_matches };
            }
        }
        if matches.is_empty() { ValueWhen::NoMatch } else { ValueWhen::NoValue(matches.len()) }
    }

    fn of(&self, topic: &str) -> impl Iterator<Item = Known<'a>> {
        self.messages.iter().filter(move |message| message.topic == topic).copied()
    }

    fn facts(&self, name: &'a str) -> Option<TopicFacts<'a>> {
        let times = || self.of(name).map(|message| message.log_time_ns);
        Some(TopicFacts {
            topic: name,
            type_name: self.of(name).next()?.kind.type_name(),
            first_ns: times().min()?,
            last_ns: times().max()?,
            count: times().count(),
        })
    }
}

impl Condition {
    /// Whether `content` satisfies it; one that does not fit the type never does.
    pub fn holds(&self, content: &Content) -> bool {
        match (self, content) {
            (Self::Contains(needle), Content::Text(text)) => match json_list(text) {
                Some(items) => items.iter().any(|item| folded_contains(item, needle)),
                None => folded_contains(text, needle),
            },
            (Self::Contains(needle), Content::Detections { seen, .. }) => {
                seen.iter().any(|detection| folded_contains(&detection.label, needle))
            }
            (Self::Contains(needle), Content::Inventory { items, .. }) => {
                items.iter().any(|item| folded_contains(&item.label, needle))
            }
            (Self::EqualsText(wanted), Content::Text(text)) => wanted == text,
            (Self::EqualsNumber(wanted), Content::Number(number)) => {
                (wanted - number).abs() <= 1e-9 * wanted.abs().max(number.abs())
            }
            (Self::EqualsFlag(wanted), Content::Flag(flag)) => wanted == flag,
            (
                Self::SerialIs(wanted),
                Content::Point { serial, .. }
                | Content::Detections { serial, .. }
                | Content::Inventory { serial, .. },
            ) => frame_of(*wanted) == frame_of(*serial),
            (Self::Near { .. }, Content::Point { place, .. }) => self.is_near(*place),
            (Self::Near { .. }, Content::Detections { seen, .. }) => {
                seen.iter().any(|detection| self.is_near(detection.place))
            }
            _ => false,
        }
    }

    fn is_near(&self, place: Place) -> bool {
        let Self::Near { x, y, z, tolerance_m } = self else { return false };
        let (dx, dy) = (place.x - x, place.y - y);
        let dz = z.map_or(0.0, |z| place.z - z);
        (dx * dx + dy * dy + dz * dz).sqrt() <= *tolerance_m
    }
}

/// The items of a text that holds a JSON list of strings.
fn json_list(text: &str) -> Option<Vec<String>> {
    let Ok(Value::Array(items)) = serde_json::from_str::<Value>(text) else { return None };
    Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn folded_contains(text: &str, needle: &str) -> bool {
    text.to_lowercase().contains(&needle.to_lowercase())
}

#[cfg(test)]
mod tests;
