//! Questions made up about one state of a history.

use ros2_memory_testkit::prng::Prng;
use serde_json::{Value as Json, json};

use crate::{
    configured::Types,
    history::{BEACON, TOPICS},
    said::{Part, Type},
    truth::{Condition, Known, Verdict},
    words::needle,
};

/// A condition on some topics.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// A name or a glob.
    pub(crate) topic: &'static str,
    pub(crate) condition: Condition,
    pub(crate) field: Option<&'static str>,
}

/// One question.
#[derive(Debug)]
pub(crate) enum Question {
    /// The newest match.
    Last(Asked),
    /// How many matches there are, up to a hundred: a value that no match has is asked for.
    Count(Asked),
    /// What another topic said at the newest match that has a value within a tolerance, in seconds
    /// and in nanoseconds.
    When { asked: Asked, value: &'static str, tolerance: (f64, u64) },
    /// The way driven.
    Drive { start: u64, end: u64 },
}

const TOLERANCES: [(f64, u64); 4] =
    [(0.0, 0), (0.1, 100_000_000), (2.0, 2_000_000_000), (60.0, 60_000_000_000)];

impl Asked {
    pub(crate) fn is_of(&self, topic: &str) -> bool {
        match self.topic.strip_suffix('*') {
            Some(prefix) => topic.starts_with(prefix),
            None => topic == self.topic,
        }
    }

    pub(crate) fn arguments(&self, topic_key: &str) -> Json {
        let mut arguments = self.condition.arguments();
        arguments[topic_key] = json!(self.topic);
        if let Some(field) = self.field {
            arguments["field"] = json!(field);
        }
        arguments
    }

    /// The messages that match, in the order of time; `None` when that depends on rounding.
    pub(crate) fn matches<'h>(&self, known: &[Known<'h>], types: Types) -> Option<Vec<Known<'h>>> {
        let of_topic = known.iter().filter(|known| self.is_of(known.topic));
        let mut matches = Vec::new();
        for message in of_topic {
            match self.condition.holds(message, types, self.field) {
                Verdict::Yes => matches.push(*message),
                Verdict::No => {}
                Verdict::Unsure => return None,
            }
        }
        Some(matches)
    }
}

impl Question {
    pub(crate) fn call(&self) -> (&'static str, Json) {
        match self {
            Self::Last(asked) => ("find_last_match", asked.arguments("topic")),
            Self::Count(asked) => {
                let mut arguments = asked.arguments("condition_topic");
                arguments["value_topic"] = json!(BEACON);
                arguments["tolerance_s"] = json!(0);
                ("get_value_when", arguments)
            }
            Self::When { asked, value, tolerance: (tolerance_s, _) } => {
                let mut arguments = asked.arguments("condition_topic");
                arguments["value_topic"] = json!(value);
                arguments["tolerance_s"] = json!(tolerance_s);
                ("get_value_when", arguments)
            }
            Self::Drive { start, end } => {
                let arguments = json!({"start": start.to_string(), "end": end.to_string()});
                ("trajectory_summary", arguments)
            }
        }
    }
}

/// Makes up questions about what is there.
#[derive(Debug)]
pub(crate) struct Asker<'h> {
    prng: Prng,
    known: &'h [Known<'h>],
    types: Types,
    /// Topics with a message, the beacon left out.
    topics: Vec<&'static str>,
}

impl<'h> Asker<'h> {
    pub(crate) fn new(seed: u64, known: &'h [Known<'h>], types: Types) -> Self {
        let is_there = |topic: &&str| known.iter().any(|known| known.topic == *topic);
        let topics = TOPICS.iter().map(|(topic, _)| *topic).filter(is_there).collect();
        Self { prng: Prng::new(seed), known, types, topics }
    }

    pub(crate) fn questions(mut self) -> Vec<Question> {
        let mut questions = Vec::new();
        for topic in self.topics.clone() {
            let Some(asked) = self.asked(topic) else { continue };
            questions.push(Question::Last(asked.clone()));
            match self.prng.below(4) {
                0 | 1 => questions.push(Question::Count(asked)),
                2 => {
                    let value = *self.prng.pick(&self.topics);
                    let tolerance = *self.prng.pick(&TOLERANCES);
                    questions.push(Question::When { asked, value, tolerance });
                }
                _ => {}
            }
        }
        if self.topics.contains(&"/odom") {
            for _ in 0..2 {
                let (start, end) = self.window();
                questions.push(Question::Drive { start, end });
            }
        }
        questions
    }

    fn window(&mut self) -> (u64, u64) {
        // The beacon lies an hour before all others.
        let (first, last) = (self.known.get(1), self.known.last());
        let (first, last) = first.zip(last).map_or((1, 1), |(a, b)| (a.time, b.time));
        let moment = |prng: &mut Prng| match prng.below(4) {
            0 => prng.between(first, last),
            1 => prng.pick(self.known).time.max(first),
            2 => (prng.pick(self.known).time + 1).max(first),
            _ => *prng.pick(&[first, last, first - 1, last + 1]),
        };
        let (a, b) = (moment(&mut self.prng), moment(&mut self.prng));
        match self.prng.below(2) {
            0 => (first, last),
            _ => (a.min(b), a.max(b)),
        }
    }

    /// A condition that fits a topic, mostly made after one of its messages.
    fn asked(&mut self, name: &'static str) -> Option<Asked> {
        let of_topic: Vec<&Known<'h>> =
            self.known.iter().filter(|known| known.topic == name).collect();
        let like = **self.prng.pick(&of_topic);
        let types = self.types;
        let is_whole_group = self.prng.chance(15);
        let mut topic = name;
        let mut field = None;
        let condition = match like.of {
            Type::Text | Type::Stamped | Type::Log => match (self.prng.below(10), like.of) {
                (0, Type::Text | Type::Stamped) => self.equals(&like, "data"),
                (1, Type::Log) => {
                    field = Some("level");
                    self.number(&like, "level")
                }
                (2, Type::Log) => {
                    field = Some(*self.prng.pick(&["name", "msg"]));
                    self.contains(&like, &[field?])
                }
                (2, _) => {
                    field = Some("data");
                    self.contains(&like, &["data"])
                }
                _ => {
                    if is_whole_group {
                        topic = "/text/*";
                    }
                    self.contains(&like, types.text_paths(like.of))
                }
            },
            Type::Seen => match self.prng.below(10) {
                0 => {
                    field = Some("detections[].score");
                    self.bound(&like, "detections[].score")
                }
                1 => {
                    field = Some("skill");
                    self.contains(&like, &["skill"])
                }
                2 => {
                    field = Some("detections[].label");
                    self.contains(&like, &["detections[].label"])
                }
                3 => {
                    field = Some("detections[].point");
                    self.near(&like, "detections[].point")
                }
                4 | 5 if types.place_path(like.of).is_some() => {
                    self.near(&like, "detections[].point")
                }
                _ => self.contains(&like, types.text_paths(like.of)),
            },
            Type::Float64 | Type::Float32 | Type::Int32 | Type::Bool => {
                if is_whole_group {
                    topic = "/number/*";
                }
                if self.prng.chance(20) && topic == name {
                    field = Some("data");
                }
                self.number(&like, "data")
            }
            Type::Battery => {
                let paths = ["voltage", "current", "percentage"];
                field = Some(*self.prng.pick(&paths)).filter(|_| self.prng.chance(60));
                let path = field.or_else(|| types.value_path(like.of))?;
                self.number(&like, path)
            }
            Type::Twist => {
                field = Some(*self.prng.pick(&["linear.x", "angular.z"]));
                self.number(&like, field?)
            }
            Type::Odometry => match self.prng.below(4) {
                0 => {
                    let paths =
                        ["twist.twist.linear.x", "twist.twist.angular.z", "pose.pose.position.x"];
                    field = Some(*self.prng.pick(&paths));
                    self.number(&like, field?)
                }
                1 => {
                    field = Some("pose.pose.position");
                    self.near(&like, "pose.pose.position")
                }
                _ => {
                    if is_whole_group {
                        topic = "/odom*";
                    }
                    self.near(&like, "pose.pose.position")
                }
            },
            Type::Pose => self.near(&like, "pose.position"),
            Type::Point => self.near(&like, "point"),
        };
        Some(Asked { topic, condition, field })
    }

    fn contains(&mut self, like: &Known<'_>, paths: &[&str]) -> Condition {
        let texts: Vec<&str> = paths
            .iter()
            .flat_map(|path| like.said.at(path))
            .filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None })
            .collect();
        let text = if texts.is_empty() { "a mug" } else { *self.prng.pick(&texts) };
        Condition::Contains(needle(&mut self.prng, text))
    }

    fn number(&mut self, like: &Known<'_>, path: &str) -> Condition {
        if self.prng.chance(50) { self.bound(like, path) } else { self.equals(like, path) }
    }

    /// One of the numbers at a path; zero where there is none, or it is no finite one.
    fn part_of(&mut self, like: &Known<'_>, path: &str) -> f64 {
        let parts = like.said.at(path);
        let number = if parts.is_empty() { None } else { Some(*self.prng.pick(&parts)) };
        let number = match number {
            Some(Part::Float64(number)) => number,
            Some(Part::Float32(number)) => number.into(),
            Some(Part::Whole(number)) => i32::try_from(number).map_or(0.0, f64::from),
            Some(Part::Flag(flag)) => f64::from(u8::from(flag)),
            _ => 0.0,
        };
        if number.is_finite() { number } else { 0.0 }
    }

    fn bound(&mut self, like: &Known<'_>, path: &str) -> Condition {
        let number = self.part_of(like, path);
        let limit = self.beside(number);
        if self.prng.chance(50) { Condition::Above(limit) } else { Condition::Below(limit) }
    }

    /// A number itself, or one a little or much beside it.
    fn beside(&mut self, number: f64) -> f64 {
        let beside = match self.prng.below(10) {
            0..4 => number,
            4 => number.next_up(),
            5 => number.next_down(),
            6 => number * (1.0 + *self.prng.pick(&[6e-8, -6e-8, 2e-7, -2e-7])),
            7 => number * (1.0 + *self.prng.pick(&[5e-10, -5e-10, 2e-9, -2e-9])),
            8 => number + *self.prng.pick(&[0.01, -0.01, 1.0, -1.0, 1e4, -1e4]),
            _ => *self.prng.pick(&[0.0, 1e-45, 1.0, -1.0, 1e39, -1e39, 1e300, -1e300]),
        };
        if beside.is_finite() { beside } else { number }
    }

    fn equals(&mut self, like: &Known<'_>, path: &str) -> Condition {
        let parts = like.said.at(path);
        let value = match parts.first() {
            Some(Part::Text(text)) => match self.prng.below(4) {
                0 => json!(text.to_uppercase()),
                1 => json!(3),
                _ => json!(text),
            },
            Some(Part::Flag(flag)) => match self.prng.below(4) {
                0 => json!(flag.to_string()),
                1 => json!(!flag),
                2 => json!(u8::from(*flag)),
                _ => json!(flag),
            },
            Some(Part::Whole(number)) => match self.prng.below(5) {
                0 => json!(number.to_string()),
                1 => json!(number + 1),
                _ => json!(number),
            },
            Some(Part::Float32(number)) if number.is_finite() && self.prng.chance(50) => {
                // As it is written.
                json!(number.to_string().parse::<f64>().unwrap_or_default())
            }
            _ => {
                let number = self.part_of(like, path);
                let number = self.beside(number);
                if self.prng.chance(15) { json!(number.to_string()) } else { json!(number) }
            }
        };
        Condition::Equals(value)
    }

    fn near(&mut self, like: &Known<'_>, path: &str) -> Condition {
        let places = like.said.at(path);
        let place = if places.is_empty() { None } else { Some(*self.prng.pick(&places)) };
        let at_m = if let Some(Part::Place(at_m)) = place { at_m } else { [0.0; 3] };
        let at_m = at_m.map(|part| if part.is_finite() { part } else { 0.0 });
        let radii = [0.0, 0.0, 0.25, 0.5, 1.0, 1.25, 3.0, 5.0, 0.1, 40.0, 1e3, 1e10, 1e150, 1e200];
        let radius_m = *self.prng.pick(&radii);
        let far = match self.prng.below(if radius_m < 1e9 { 6 } else { 2 }) {
            0 | 1 => [0.0, 0.0],
            // At the border, within and outside of it by a quarter.
            2 => [radius_m, 0.0],
            3 => [-radius_m * 0.6, radius_m * 0.8],
            4 => [0.0, radius_m + 0.25],
            _ => [radius_m * 0.5, -radius_m * 0.5],
        };
        let (x, y) = (at_m[0] + far[0], at_m[1] + far[1]);
        let z = if self.prng.chance(25) { Some(at_m[2]) } else { None };
        Condition::Near { x, y, z, radius_m }
    }
}
