//! Questions made up about one set, mostly such that something is found.

use ros2_memory_query::ErrorCode;
use ros2_memory_testkit::{
    content::{Content, Kind, Place, frame_of},
    oracle::{Condition, Known, Oracle},
    prng::Prng,
    random_sets::{LABELS, RandomSet},
};
use serde_json::{Value, json};

use crate::{
    checks::seconds,
    question::{Asked, DEFAULT_TOLERANCE_M, FLOAT_TIME_NS, Question, TOLERANCES, Tolerance, put},
};

/// Makes up questions about one set.
pub(crate) struct Asker<'a> {
    prng: Prng,
    oracle: &'a Oracle<'a>,
    /// Topics that hold a message and are not latched: a latched one outlives its time.
    topics: Vec<(&'a str, Kind, Vec<Known<'a>>)>,
    range: Option<(u64, u64)>,
}

impl<'a> Asker<'a> {
    pub(crate) fn new(set: &'a RandomSet, oracle: &'a Oracle<'a>) -> Self {
        let topics = set
            .topics
            .iter()
            .filter(|topic| !topic.latched)
            .map(|topic| (&*topic.name, topic.kind, oracle.between(&topic.name, 0, u64::MAX)))
            .filter(|(_, _, messages)| !messages.is_empty())
            .collect();
        let prng = Prng::new(set.seed ^ 0x0A5C_1E00_0000_0000);
        Self { prng, oracle, topics, range: oracle.range() }
    }

    pub(crate) fn questions(mut self) -> Vec<Question> {
        let mut questions = vec![Question::Topics, Question::TimeRange];
        for _ in 0..6 {
            questions.extend(self.at());
            questions.extend(self.between());
            questions.extend(self.last_match());
        }
        for _ in 0..4 {
            questions.extend(self.value_when());
        }
        questions.extend(self.fed_back());
        questions.extend(self.refused());
        questions
    }

    fn at(&mut self) -> Option<Question> {
        let topic = self.topic()?.0.to_owned();
        let t_ns = self.time()?;
        let time = self.time_argument(t_ns);
        Some(Question::At { topic, time, t_ns, tolerance: self.tolerance() })
    }

    /// The float of a reply, asked about again, where no other message is within its grain.
    fn fed_back(&mut self) -> Option<Question> {
        let (topic, _, messages) = self.topic()?;
        let known = *self.prng.pick(&messages);
        let around = (known.log_time_ns - 1_200, known.log_time_ns + 1_200);
        if self.oracle.between(topic, around.0, around.1).len() > 1 {
            return None;
        }
        let t_ns = known.log_time_ns + FLOAT_TIME_NS;
        let time = json!(seconds(known.log_time_ns));
        Some(Question::At { topic: topic.to_owned(), time, t_ns, tolerance: None })
    }

    fn between(&mut self) -> Option<Question> {
        let topic = self.topic()?.0.to_owned();
        let (a, b) = (self.time()?, self.time()?);
        let (mut start_ns, mut end_ns) = (a.min(b), a.max(b));
        if self.prng.chance(25) {
            (start_ns, end_ns) = self.range?;
        }
        let max_samples = *self.prng.pick(&[None, Some(2), Some(3), Some(10), Some(37), Some(500)]);
        Some(Question::Between { topic, start_ns, end_ns, max_samples })
    }

    fn last_match(&mut self) -> Option<Question> {
        let (topic, kind, messages) = self.topic()?;
        Some(Question::LastMatch {
            topic: topic.to_owned(),
            asked: self.condition(kind, &messages),
        })
    }

    fn value_when(&mut self) -> Option<Question> {
        let (value, ..) = self.topic()?;
        let (condition, kind, messages) = self.topic()?;
        if value == condition {
            return None;
        }
        Some(Question::ValueWhen {
            value: value.to_owned(),
            condition: condition.to_owned(),
            asked: self.condition(kind, &messages),
            tolerance: self.tolerance(),
        })
    }

    fn refused(&mut self) -> Option<Question> {
        let (topic, kind, messages) = self.topic()?;
        let time = messages.first()?.log_time_ns.to_string();
        let (code, tool) = (ErrorCode::UnknownTopic, "get_topic_at_time");
        let arguments = json!({"topic": "/never/recorded", "timestamp": time});
        let no_such_topic = Question::Refused { tool, arguments, code };
        if !matches!(kind, Kind::Text | Kind::Number | Kind::Flag) {
            return Some(no_such_topic);
        }
        let (code, tool) = (ErrorCode::BadArgument, "find_last_match");
        let place = json!({"x": 0.0, "y": 0.0});
        let arguments = json!({"topic": topic, "condition_type": "near_position", "value": place});
        let no_place = Question::Refused { tool, arguments, code };
        Some(if self.prng.chance(50) { no_place } else { no_such_topic })
    }

    fn topic(&mut self) -> Option<(&'a str, Kind, Vec<Known<'a>>)> {
        if self.topics.is_empty() { None } else { Some(self.prng.pick(&self.topics).clone()) }
    }

    /// A time at, just beside or a tolerance away from a message of any topic, or anywhere.
    fn time(&mut self) -> Option<u64> {
        let (first_ns, last_ns) = self.range?;
        let (_, _, messages) = self.topic()?;
        let near_ns = self.prng.pick(&messages).log_time_ns;
        let tolerance_ns = self.prng.pick(&TOLERANCES).ns;
        Some(match self.prng.below(9) {
            0..3 => near_ns,
            3 => near_ns + 1,
            4 => near_ns - 1,
            5 => near_ns + tolerance_ns,
            6 => near_ns + tolerance_ns + 1,
            7 => self.prng.between(first_ns, last_ns),
            _ => *self.prng.pick(&[first_ns, last_ns, first_ns - 1, last_ns + 1]),
        })
    }

    fn time_argument(&mut self, t_ns: u64) -> Value {
        if self.prng.chance(50) { json!(t_ns) } else { json!(t_ns.to_string()) }
    }

    fn tolerance(&mut self) -> Option<Tolerance> {
        if self.prng.chance(25) { None } else { Some(*self.prng.pick(&TOLERANCES)) }
    }

    /// A condition that fits `kind`, mostly one that some message satisfies.
    fn condition(&mut self, kind: Kind, messages: &[Known<'_>]) -> Asked {
        let example = self.prng.pick(messages).content;
        let by_serial = self.prng.chance(20);
        match (kind, example) {
            (Kind::Text, Content::Text(text)) if by_serial && !text.starts_with('[') => {
                let same_case = self.prng.chance(60);
                let wanted = if same_case { text.clone() } else { text.to_uppercase() };
                equals(Condition::EqualsText(wanted.clone()), &json!(wanted))
            }
            (Kind::Number, Content::Number(number)) => {
                let off = *self.prng.pick(&[0.0, 0.0, 5e-10, -5e-10, 3e-9, 0.5]);
                let wanted = number * (1.0 + off);
                let as_text = off == 0.0 && self.prng.chance(30);
                let value = if as_text { json!(wanted.to_string()) } else { json!(wanted) };
                equals(Condition::EqualsNumber(wanted), &value)
            }
            (Kind::Flag, _) => {
                let wanted = self.prng.chance(50);
                let as_text = self.prng.chance(30);
                let value = if as_text { json!(wanted.to_string()) } else { json!(wanted) };
                equals(Condition::EqualsFlag(wanted), &value)
            }
            (Kind::Point, Content::Point { serial, .. }) if by_serial => {
                by_field("header.frame_id", *serial)
            }
            (Kind::Detections, Content::Detections { serial, .. }) if by_serial => {
                by_field("skill", *serial)
            }
            (Kind::Inventory, Content::Inventory { serial, .. }) if by_serial => {
                by_field("serial", *serial)
            }
            (Kind::Point, Content::Point { place, .. }) => self.near(*place),
            (Kind::Detections, Content::Detections { seen, .. })
                if !seen.is_empty() && self.prng.chance(50) =>
            {
                let place = self.prng.pick(seen).place;
                self.near(place)
            }
            _ => self.contains(kind, example),
        }
    }

    fn contains(&mut self, kind: Kind, example: &Content) -> Asked {
        let label = *self.prng.pick(&LABELS);
        let needle = match (self.prng.below(9), example) {
            (0, _) => label.to_uppercase(),
            (1, _) => label.to_lowercase(),
            (2, _) => label.chars().take(3).collect(),
            (3, _) => label.chars().skip(1).collect(),
            (4, _) => "zebra".to_owned(),
            (5 | 6, Content::Text(text)) if kind == Kind::Text => {
                let mark = text.find('#').and_then(|at| text.get(at..)).unwrap_or_default();
                mark.chars().take_while(|c| *c == '#' || c.is_ascii_digit()).collect()
            }
            (7, _) => "cup\",\"".to_owned(),
            _ => label.to_owned(),
        };
        let arguments = json!({"condition_type": "contains", "value": needle});
        Asked { condition: Condition::Contains(needle), arguments }
    }

    fn near(&mut self, place: Place) -> Asked {
        let finite = |number: f64| if number.is_finite() { number } else { 0.0 };
        let step = f64::from(u8::try_from(self.prng.below(6)).unwrap_or(0)) * 0.25;
        let (x, y) = (finite(place.x) + step, finite(place.y));
        let z = self.prng.chance(40).then_some(place.z);
        let given_m = *self.prng.pick(&[None, Some(0.5), Some(0.25), Some(0.0), Some(1.25)]);
        let tolerance_m = given_m.unwrap_or(DEFAULT_TOLERANCE_M);
        let mut value = json!({"x": x, "y": y});
        put(&mut value, "z", z);
        let mut arguments = json!({"condition_type": "near_position", "value": value});
        put(&mut arguments, "tolerance_m", given_m);
        Asked { condition: Condition::Near { x, y, z, tolerance_m }, arguments }
    }
}

fn equals(condition: Condition, value: &Value) -> Asked {
    let arguments = json!({"condition_type": "equals", "value": value});
    Asked { condition, arguments }
}

fn by_field(field: &str, serial: u64) -> Asked {
    let arguments = json!({"condition_type": "equals", "value": frame_of(serial), "field": field});
    Asked { condition: Condition::SerialIs(serial), arguments }
}
