//! What a tool takes: one table for the schema that clients see and for reading what they send.

use ros2_memory_condition::Condition;
use ros2_memory_msg::FieldPath;
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value, json};

use crate::{
    Moment,
    answers::{
        matching::Search,
        nearest::When,
        range::Window,
        thin::{Method, Thinning},
    },
    names::repeated,
    query::Query,
    refusal::Refusal,
    time_argument::seconds_to_ns,
};

/// One argument of a tool.
#[derive(Debug)]
pub struct Argument {
    /// Its key.
    pub name: &'static str,
    /// What it may be.
    pub kind: ArgumentKind,
    /// Whether a call without it is refused.
    pub is_required: bool,
    /// For the planner; empty when the name says it.
    pub description: &'static str,
}

/// What an argument may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A moment, as [`Moment`] reads it.
    Time,
    /// A number that is not negative.
    Number,
    /// A whole number from 1.
    Count,
    /// A text.
    Text,
    /// One of the kinds of conditions.
    ConditionType,
    /// One of the ways to thin out a list.
    Method,
    /// A JSON object.
    Object,
    /// Any value.
    Any,
}

pub(super) fn input_schema(arguments: &[Argument]) -> Map<String, Value> {
    let mut properties = Map::new();
    for argument in arguments {
        let mut schema = match argument.kind {
            ArgumentKind::Time => json!({"anyOf": [{"type": "number"}, {"type": "string"}]}),
            ArgumentKind::Number => json!({"type": "number"}),
            ArgumentKind::Count => json!({"type": "integer"}),
            ArgumentKind::Text => json!({"type": "string"}),
            ArgumentKind::ConditionType => json!({"type": "string", "enum": Condition::KINDS}),
            ArgumentKind::Method => json!({"type": "string", "enum": Method::NAMES}),
            ArgumentKind::Object => json!({"type": "object"}),
            ArgumentKind::Any => json!({"anyOf": [
                {"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"},
            ]}),
        };
        if let Value::Object(map) = &mut schema
            && !argument.description.is_empty()
        {
            map.insert("description".into(), argument.description.into());
        }
        properties.insert(argument.name.into(), schema);
    }
    let required: Vec<&str> = arguments.iter().filter(|a| a.is_required).map(|a| a.name).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema
}

/// The arguments of one call, known to be those of its tool.
#[derive(Debug)]
pub(crate) struct Arguments<'a> {
    given: &'a Map<String, Value>,
    now: LogTime,
}

/// How long a frame, field or topic may be.
const MAX_TEXT_BYTES: usize = 1000;
/// How many samples may be asked for.
const MAX_SAMPLES: u64 = 10_000;

impl<'a> Arguments<'a> {
    /// # Errors
    ///
    /// `bad_argument` for a name that the tool does not know, or one that it needs and is not
    /// there. `null` counts as not there.
    pub(crate) fn new(
        specs: &[Argument],
        given: &'a Map<String, Value>,
        now: LogTime,
    ) -> Result<Self, Refusal> {
        if let Some(unknown) = given.keys().find(|key| specs.iter().all(|spec| spec.name != **key))
        {
            let shown = repeated(unknown);
            let known: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
            return Err(Refusal::bad_argument(format!("there is no argument {shown:?}"))
                .hint(format!("the arguments are {}", known.join(", "))));
        }
        let missing = specs
            .iter()
            .find(|spec| spec.is_required && given.get(spec.name).is_none_or(Value::is_null));
        match missing {
            Some(spec) => {
                let refusal = Refusal::bad_argument(format!("{} is missing", spec.name));
                Err(if spec.description.is_empty() {
                    refusal
                } else {
                    refusal.hint(format!("{}: {}", spec.name, spec.description))
                })
            }
            None => Ok(Self { given, now }),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.given.get(name).filter(|value| !value.is_null())
    }

    /// A moment.
    pub(crate) fn moment(&self, name: &str) -> Result<Moment, Refusal> {
        let value = self.get(name).unwrap_or(&Value::Null);
        Moment::parse(value, self.now)
            .map_err(|error| Refusal::bad_argument(format!("{name}: {}", error.reason)))
    }

    /// The moment of `timestamp`.
    pub(crate) fn when(&self) -> Result<When, Refusal> {
        self.moment("timestamp").map(When::at)
    }

    /// The moment that lies `seconds_ago` before now.
    pub(crate) fn when_ago(&self, query: &Query<'_>) -> Result<When, Refusal> {
        let (seconds, ns) = self.seconds("seconds_ago")?;
        Ok(When::seconds_ago(query, seconds, ns))
    }

    /// The window from `start` to `end`.
    pub(crate) fn window(&self, query: &Query<'_>) -> Result<Window, Refusal> {
        Window::between(query, self.moment("start")?, self.moment("end")?)
    }

    /// The window of the last `seconds`.
    pub(crate) fn window_ago(&self, query: &Query<'_>) -> Result<Window, Refusal> {
        let (_, ns) = self.seconds("seconds")?;
        Window::last(query, ns)
    }

    /// A span of time that is needed: seconds, and the same in nanoseconds.
    fn seconds(&self, name: &str) -> Result<(f64, u64), Refusal> {
        let number = self.number(name)?.unwrap_or(f64::NAN);
        let ns = seconds_to_ns(number).ok_or_else(|| {
            Refusal::bad_argument(format!("{name} must be a number of seconds, not negative"))
        })?;
        Ok((number, ns))
    }

    /// The `tolerance_s` of a call, in nanoseconds.
    pub(crate) fn tolerance_ns(&self) -> Result<Option<u64>, Refusal> {
        self.optional_span_ns("tolerance_s")
    }

    /// A span of time in seconds that may be left out, in nanoseconds.
    pub(crate) fn optional_span_ns(&self, name: &str) -> Result<Option<u64>, Refusal> {
        match self.number(name)? {
            None => Ok(None),
            Some(seconds) => seconds_to_ns(seconds).map(Some).ok_or_else(|| {
                let words = format!("{name} must be a number of seconds, not negative");
                Refusal::bad_argument(words)
            }),
        }
    }

    /// A number, also one in quotes: planners quote them.
    fn number(&self, name: &str) -> Result<Option<f64>, Refusal> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number.filter(|number| number.is_finite()) {
            Some(number) => Ok(Some(number)),
            None => Err(Refusal::bad_argument(format!("{name} must be a finite number"))),
        }
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn count(&self, name: &str, most: u64) -> Result<Option<usize>, Refusal> {
        let Some(number) = self.number(name)? else { return Ok(None) };
        #[expect(clippy::cast_precision_loss, reason = "a bound far below 2^53")]
        let is_count = number.fract() == 0.0 && (1.0..=most as f64).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number between 1 and `most`"
        )]
        let count = number as usize;
        if !is_count {
            let range = format!("{name} must be a whole number from 1 to {most}");
            return Err(Refusal::bad_argument(range));
        }
        Ok(Some(count))
    }

    /// How many samples a list may have, and which.
    pub(crate) fn thinning(&self) -> Result<Thinning, Refusal> {
        let method = match self.optional_text("method")? {
            None => Method::Stride,
            Some(name) => Method::named(name).ok_or_else(|| {
                let names = Method::NAMES.join(", ");
                Refusal::bad_argument(format!("method must be one of {names}"))
            })?,
        };
        let max_samples = self.count("max_samples", MAX_SAMPLES)?.unwrap_or(100);
        Ok(Thinning { max_samples, method, field: self.field()? })
    }

    /// The path of a field, which may be left out.
    pub(crate) fn field(&self) -> Result<Option<FieldPath>, Refusal> {
        let text = self.optional_text("field")?;
        let path = text.map(str::parse::<FieldPath>).transpose();
        path.map_err(|error| Refusal::bad_argument(error.to_string()))
    }

    /// A text that is needed.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Refusal> {
        match self.get(name) {
            Some(Value::String(text)) if text.trim().is_empty() => {
                Err(Refusal::bad_argument(format!("{name} is empty")))
            }
            Some(Value::String(text)) if text.len() > MAX_TEXT_BYTES => Err(Refusal::bad_argument(
                format!("{name} has {} bytes, at most {MAX_TEXT_BYTES} are read", text.len()),
            )),
            Some(Value::String(text)) => Ok(text),
            _ => Err(Refusal::bad_argument(format!("{name} must be a text"))),
        }
    }

    /// A text that may be left out.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Refusal> {
        self.get(name).map(|_| self.text(name)).transpose()
    }

    /// A number from 0 that may be left out.
    pub(crate) fn optional_number(&self, name: &str) -> Result<Option<f64>, Refusal> {
        match self.number(name)? {
            Some(number) if number < 0.0 => {
                Err(Refusal::bad_argument(format!("{name} must not be negative")))
            }
            number => Ok(number),
        }
    }

    /// A moment that may be left out.
    pub(crate) fn optional_moment(&self, name: &str) -> Result<Option<Moment>, Refusal> {
        self.get(name).map(|_| self.moment(name)).transpose()
    }

    /// From `start` to `end`, both inclusive, either of which may be left out.
    pub(crate) fn optional_range(&self) -> Result<TimeRange, Refusal> {
        let start = self.optional_moment("start")?;
        let end = self.optional_moment("end")?;
        if let (Some(start), Some(end)) = (start, end)
            && end.at < start.at
        {
            let words = format!("end {} lies before start {}", end.at, start.at);
            return Err(Refusal::bad_argument(words));
        }
        let from = start.map_or(LogTime::ZERO, Moment::at_or_after);
        Ok(match end {
            Some(end) => TimeRange::closed(from, end.at_or_before()),
            None => TimeRange::new(from, LogTime::MAX),
        })
    }

    /// A JSON object with parts of its own, also in quotes; it may be left out.
    pub(crate) fn object(&self, name: &str, parts: &[Argument]) -> Result<Option<Object>, Refusal> {
        let object = match self.get(name) {
            None => return Ok(None),
            Some(Value::Object(object)) => Some(object.clone()),
            Some(Value::String(text)) => serde_json::from_str(text).ok(),
            Some(_) => None,
        };
        let Some(object) = object else {
            return Err(Refusal::bad_argument(format!("{name} must be an object")));
        };
        Arguments::new(parts, &object, self.now)
            .map_err(|refusal| Refusal::bad_argument(format!("{name}: {}", refusal.detail())))?;
        Ok(Some(Object { given: object, now: self.now }))
    }

    /// A number that is needed, of either sign.
    pub(crate) fn signed(&self, name: &str) -> Result<f64, Refusal> {
        let number = self.number(name)?;
        number.ok_or_else(|| Refusal::bad_argument(format!("{name} is missing")))
    }

    /// What is looked for, in the topic that the argument `topic` names.
    pub(crate) fn search(&self, query: &Query<'_>, topic: &str) -> Result<Search, Refusal> {
        let tolerance_m = match self.number("tolerance_m")? {
            Some(metres) if metres < 0.0 => {
                return Err(Refusal::bad_argument("tolerance_m must not be negative"));
            }
            Some(metres) => metres,
            None => query.settings.position_tolerance_m,
        };
        let value = self.get("value").unwrap_or(&Value::Null);
        let condition = Condition::parse(self.text("condition_type")?, value, tolerance_m)
            .map_err(|error| Refusal::bad_argument(error.to_string()))?;
        let field = self.field()?;
        Ok(Search { topic: self.text(topic)?.to_owned(), condition, field })
    }
}

/// An argument that has arguments of its own.
#[derive(Debug)]
pub(crate) struct Object {
    given: Map<String, Value>,
    now: LogTime,
}

impl Object {
    /// What it holds.
    pub(crate) fn arguments(&self) -> Arguments<'_> {
        Arguments { given: &self.given, now: self.now }
    }
}
