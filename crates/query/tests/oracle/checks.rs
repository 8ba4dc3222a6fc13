//! Whether a reply is what brute force answers.

use ros2_memory_query::{ErrorCode, Reply};
use ros2_memory_testkit::{
    odd_files::ODD_TOPICS,
    oracle::{Known, Oracle, ValueWhen},
};
use serde_json::{Value, json};

use crate::question::{DEFAULT_MAX_SAMPLES, DEFAULT_TOLERANCE_NS, MATCHES_TRIED, Question};

impl Question {
    /// `Err` says what brute force answers.
    pub(crate) fn check(&self, oracle: &Oracle<'_>, reply: &Reply) -> Result<(), String> {
        match self {
            Self::Topics => check_topics(oracle, reply),
            Self::TimeRange => check_time_range(oracle, reply),
            Self::At { topic, t_ns, tolerance, .. } => {
                let tolerance_ns = tolerance.map_or(DEFAULT_TOLERANCE_NS, |it| it.ns);
                match oracle.at(topic, *t_ns, tolerance_ns) {
                    Some(known) => is_sample(&reply.value, &known),
                    None => expect(reply.error == Some(ErrorCode::NoData), "no_data"),
                }
            }
            Self::Between { topic, start_ns, end_ns, max_samples } => {
                let known = oracle.between(topic, *start_ns, *end_ns);
                check_between(&known, max_samples.unwrap_or(DEFAULT_MAX_SAMPLES), reply)
            }
            Self::LastMatch { topic, asked } => match oracle.last_match(topic, &asked.condition) {
                Some(known) => {
                    let found = is_at(&reply.value, "timestamp", known.log_time_ns)
                        && shows(&reply.value, &known);
                    expect(found, known)
                }
                None => expect(reply.value.is_null(), "null"),
            },
            Self::ValueWhen { value, condition, asked, tolerance } => {
                let tolerance_ns = tolerance.map_or(DEFAULT_TOLERANCE_NS, |it| it.ns);
                let answer = oracle.value_when(value, condition, &asked.condition, tolerance_ns);
                check_value_when(&answer, reply)
            }
            Self::Refused { code, .. } => expect(reply.error == Some(*code), code.as_str()),
        }
    }
}

fn check_topics(oracle: &Oracle<'_>, reply: &Reply) -> Result<(), String> {
    let expected = oracle.topics();
    let listed: Vec<&Value> = reply
        .value
        .as_array()
        .into_iter()
        .flatten()
        .filter(|row| row.get("count") != Some(&json!(0)))
        .filter(|row| {
            let topic = row.get("topic").and_then(Value::as_str);
            topic.is_some_and(|topic| !topic.starts_with(ODD_TOPICS))
        })
        .collect();
    let all_right = expected.iter().all(|facts| {
        listed.iter().any(|row| {
            row.get("topic") == Some(&json!(facts.topic))
                && row.get("type") == Some(&json!(facts.type_name))
                && row.get("count") == Some(&json!(facts.count))
                && is_at(row, "first_ts", facts.first_ns)
                && is_at(row, "last_ts", facts.last_ns)
        })
    });
    let an_answer = reply.error.is_none() || expected.is_empty();
    expect(an_answer && all_right && listed.len() == expected.len(), expected)
}

fn check_time_range(oracle: &Oracle<'_>, reply: &Reply) -> Result<(), String> {
    match oracle.range() {
        Some((first_ns, last_ns)) => {
            let right =
                is_at(&reply.value, "earliest", first_ns) && is_at(&reply.value, "latest", last_ns);
            expect(right, (first_ns, last_ns))
        }
        None => expect(reply.error == Some(ErrorCode::NoData), "no_data"),
    }
}

/// All of `known` when they fit; else a part that spans them, in order, with a note of the total.
fn check_between(known: &[Known<'_>], max_samples: usize, reply: &Reply) -> Result<(), String> {
    if known.is_empty() && reply.error == Some(ErrorCode::NoData) {
        return Ok(());
    }
    let (samples, note) = samples_of(reply).ok_or("an array")?;
    if known.len() <= max_samples {
        expect(samples.len() == known.len(), format!("{} samples: {known:?}", known.len()))?;
        return samples.iter().zip(known).try_for_each(|(sample, known)| is_sample(sample, known));
    }
    let mut rest = known.iter();
    for sample in &samples {
        let in_order = rest.any(|known| is_sample(sample, known).is_ok());
        expect(in_order, format!("no such sample here: {sample}"))?;
    }
    let (first, last) = (known.first().ok_or("a first")?, known.last().ok_or("a last")?);
    is_sample(samples.first().ok_or("a first sample")?, first)?;
    is_sample(samples.last().ok_or("a last sample")?, last)?;
    let fair = samples.len() <= max_samples && samples.len() * 2 >= max_samples;
    expect(fair, format!("near {max_samples} samples, not {}", samples.len()))?;
    let note = note.ok_or("a note at the end")?;
    let counted = note.get("total") == Some(&json!(known.len()))
        && note.get("returned") == Some(&json!(samples.len()));
    expect(counted, format!("a note of total {} and returned {}", known.len(), samples.len()))
}

fn check_value_when(answer: &ValueWhen<'_>, reply: &Reply) -> Result<(), String> {
    let nothing = reply.value.is_null() || reply.error == Some(ErrorCode::NoData);
    match answer {
        ValueWhen::Found { value, matched, newer_matches } if *newer_matches < MATCHES_TRIED => {
            let right = is_at(&reply.value, "timestamp", value.log_time_ns)
                && is_at(&reply.value, "condition_timestamp", matched.log_time_ns)
                && shows(&reply.value, value);
            expect(right, answer)
        }
        // Whether the newest match is one of the hundred is not said.
        ValueWhen::Found { newer_matches: MATCHES_TRIED, .. } => Ok(()),
        ValueWhen::NoMatch => expect(reply.value.is_null(), "null, for the condition never held"),
        ValueWhen::Found { .. } | ValueWhen::NoValue(_) => expect(nothing, "nothing in tolerance"),
    }
}

/// The samples of an array, and the element without a time that may end it.
pub(crate) fn samples_of(reply: &Reply) -> Option<(Vec<&Value>, Option<&Value>)> {
    let mut samples: Vec<&Value> = reply.value.as_array()?.iter().collect();
    let note = samples.pop_if(|last| last.get("note").is_some() && last.get("topic").is_none());
    Some((samples, note))
}

fn is_sample(sample: &Value, known: &Known<'_>) -> Result<(), String> {
    let same = sample.get("timestamp_ns") == Some(&json!(known.log_time_ns.to_string()))
        && is_at(sample, "timestamp", known.log_time_ns)
        && sample.get("topic") == Some(&json!(known.topic))
        && sample.get("type") == Some(&json!(known.kind.type_name()))
        && shows(sample, known);
    expect(same, known)
}

fn shows(object: &Value, known: &Known<'_>) -> bool {
    object.get("value").is_some_and(|value| known.content.is_shown_in(value))
}

/// Whether the float under `key` is `ns` as near as a float can be, and the digits under
/// `<key>_ns`, where there are any, exactly.
fn is_at(object: &Value, key: &str, ns: u64) -> bool {
    let digits = object.get(format!("{key}_ns"));
    let off_s = object.get(key).and_then(Value::as_f64).map(|s| (s - seconds(ns)).abs());
    digits.is_none_or(|digits| *digits == json!(ns.to_string()))
        && off_s.is_some_and(|off_s| off_s <= 0.000_000_5)
}

/// The double nearest to `ns`, by way of its decimal digits.
pub(crate) fn seconds(ns: u64) -> f64 {
    let decimal = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    decimal.parse().unwrap_or(f64::NAN)
}

fn expect(right: bool, expected: impl std::fmt::Debug) -> Result<(), String> {
    if right { Ok(()) } else { Err(format!("{expected:?}")) }
}
