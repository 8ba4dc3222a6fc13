//! The questions, and the arguments that ask them.

use ros2_memory_query::ErrorCode;
use ros2_memory_testkit::oracle::Condition;
use serde_json::{Value, json};

/// One question; its `Debug` form goes into the report of a disagreement.
#[derive(Debug)]
pub(crate) enum Question {
    Topics,
    TimeRange,
    At { topic: String, time: Value, t_ns: u64, tolerance: Option<Tolerance> },
    Between { topic: String, start_ns: u64, end_ns: u64, max_samples: Option<usize> },
    LastMatch { topic: String, asked: Asked },
    ValueWhen { value: String, condition: String, asked: Asked, tolerance: Option<Tolerance> },
    Refused { tool: &'static str, arguments: Value, code: ErrorCode },
}

/// A condition, and the arguments that say it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) condition: Condition,
    pub(crate) arguments: Value,
}

/// Tolerances of which the nanoseconds are beyond doubt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance {
    pub(crate) s: f64,
    pub(crate) ns: u64,
}

/// What `data.time_tolerance_s` is when nobody says otherwise, and likewise the metres and samples.
pub(crate) const DEFAULT_TOLERANCE_NS: u64 = 100_000_000;
pub(crate) const DEFAULT_TOLERANCE_M: f64 = 0.5;
pub(crate) const DEFAULT_MAX_SAMPLES: usize = 100;

/// Older matches that `get_value_when` tries.
pub(crate) const MATCHES_TRIED: usize = 100;

/// Half of what a float argument may stand for, and of what a float reply may be off.
pub(crate) const FLOAT_TIME_NS: u64 = 500;

pub(crate) const TOLERANCES: [Tolerance; 7] = [
    Tolerance { s: 0.0, ns: 0 },
    Tolerance { s: 0.000_001, ns: 1_000 },
    Tolerance { s: 0.1, ns: 100_000_000 },
    Tolerance { s: 0.25, ns: 250_000_000 },
    Tolerance { s: 1.0, ns: 1_000_000_000 },
    Tolerance { s: 30.0, ns: 30_000_000_000 },
    Tolerance { s: 3_600.0, ns: 3_600_000_000_000 },
];

impl Question {
    pub(crate) fn call(&self) -> (&'static str, Value) {
        match self {
            Self::Topics => ("list_recorded_topics", json!({})),
            Self::TimeRange => ("data_time_range", json!({})),
            Self::At { topic, time, tolerance, .. } => {
                let mut arguments = json!({"topic": topic, "timestamp": time});
                put(&mut arguments, "tolerance_s", tolerance.map(|tolerance| tolerance.s));
                ("get_topic_at_time", arguments)
            }
            Self::Between { topic, start_ns, end_ns, max_samples } => {
                let mut arguments = json!({
                    "topic": topic, "start": start_ns.to_string(), "end": end_ns.to_string(),
                    "max_bytes": 200_000,
                });
                put(&mut arguments, "max_samples", *max_samples);
                ("get_topic_in_range", arguments)
            }
            Self::LastMatch { topic, asked } => {
                let mut arguments = asked.arguments.clone();
                put(&mut arguments, "topic", Some(&**topic));
                ("find_last_match", arguments)
            }
            Self::ValueWhen { value, condition, asked, tolerance } => {
                let mut arguments = asked.arguments.clone();
                put(&mut arguments, "value_topic", Some(&**value));
                put(&mut arguments, "condition_topic", Some(&**condition));
                put(&mut arguments, "tolerance_s", tolerance.map(|tolerance| tolerance.s));
                ("get_value_when", arguments)
            }
            Self::Refused { tool, arguments, .. } => (tool, arguments.clone()),
        }
    }
}

/// Adds an argument that is given.
pub(crate) fn put(object: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let (Value::Object(fields), Some(value)) = (object, value) {
        fields.insert(key.to_owned(), value.into());
    }
}
