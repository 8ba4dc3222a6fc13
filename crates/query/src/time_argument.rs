//! Moments as planners and people write them.

use ros2_memory_time::LogTime;
use serde_json::Value as Json;

/// A moment of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The moment.
    pub at: LogTime,
    /// How far behind it the message meant may lie: 500 ns when it came as a number of seconds,
    /// whose steps are about 240 ns today as a float, else 0.
    later_ns: u64,
    /// How far before it: the same, but 0 for a whole number of seconds, which is more often
    /// meant than rounded.
    earlier_ns: u64,
}

/// Why an argument is no moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MomentError {
    /// What is wrong, in words.
    pub reason: String,
}

/// How far a float may be from the nanosecond that it was made of.
const FLOAT_SLACK_NS: u64 = 500;
/// Integers from here on are nanoseconds: as seconds they would lie 3 thousand million years
/// ahead.
const NS_FROM: u64 = 100_000_000_000_000_000;
const FORMS: &str = "give unix seconds, nanoseconds as digits, ISO 8601 with a zone, \"-10s\" or \
                     \"now\"";

impl Moment {
    /// Reads unix seconds (a number or digits), nanoseconds (from 10^17 on), ISO 8601 with a
    /// zone, `"now"`, or a span before now such as `"-10s"`, `"-5m"`, `"-2h"`, `"-1d"`.
    ///
    /// # Errors
    ///
    /// [`MomentError`] for anything else, and for moments before 1970.
    pub fn parse(value: &Json, now: LogTime) -> Result<Self, MomentError> {
        match value {
            Json::Number(number) => match number.as_u64() {
                Some(whole) => Self::from_whole(whole),
                None => number.as_f64().ok_or_else(|| wrong("not a moment")).and_then(from_float),
            },
            Json::String(text) => Self::from_text(text.trim(), now),
            _ => Err(wrong("neither a number nor a text")),
        }
    }

    /// The latest moment that a message "at or before" may have.
    pub fn at_or_before(self) -> LogTime {
        self.at.saturating_add_ns(self.later_ns)
    }

    /// The earliest moment that the message it was made of may have.
    pub fn earliest_meant(self) -> LogTime {
        self.at.saturating_sub_ns(self.later_ns)
    }

    /// The earliest moment that a message "at or after" may have.
    pub fn at_or_after(self) -> LogTime {
        self.at.saturating_sub_ns(self.earlier_ns)
    }

    /// A moment that is meant to the nanosecond.
    pub const fn exact(at: LogTime) -> Self {
        Self { at, later_ns: 0, earlier_ns: 0 }
    }

    fn from_whole(whole: u64) -> Result<Self, MomentError> {
        if whole >= NS_FROM {
            return Ok(Self::exact(LogTime::from_ns(whole)));
        }
        whole
            .checked_mul(1_000_000_000)
            // It may have been a float: some writers leave ".0" out.
            .map(|ns| Self { at: LogTime::from_ns(ns), later_ns: FLOAT_SLACK_NS, earlier_ns: 0 })
            .ok_or_else(|| wrong("after the year 2554"))
    }

    fn from_text(text: &str, now: LogTime) -> Result<Self, MomentError> {
        if text.eq_ignore_ascii_case("now") {
            return Ok(Self::exact(now));
        }
        let span = text.strip_prefix("now").unwrap_or(text);
        if let Some(span) = span.strip_prefix('-') {
            let ns = span_ns(span).ok_or_else(|| wrong("not a span such as \"-10s\""))?;
            return Ok(Self::exact(now.saturating_sub_ns(ns)));
        }
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return match text.parse() {
                Ok(whole) => Self::from_whole(whole),
                Err(_) => Err(wrong("after the year 2554")),
            };
        }
        if let Ok(seconds) = text.parse::<f64>() {
            return from_float(seconds);
        }
        LogTime::from_iso_8601(text)
            .map(Self::exact)
            .map_err(|_the_list_of_forms_says_more| wrong("not a moment"))
    }
}

fn from_float(seconds: f64) -> Result<Moment, MomentError> {
    #[expect(clippy::cast_precision_loss, reason = "a border between two meanings")]
    let is_ns = seconds >= NS_FROM as f64;
    if is_ns && seconds < 1.8e19 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 10^17 and 1.8 * 10^19, checked above"
        )]
        let ns = seconds as u64;
        return Ok(Moment {
            at: LogTime::from_ns(ns),
            later_ns: FLOAT_SLACK_NS,
            earlier_ns: FLOAT_SLACK_NS,
        });
    }
    let at = LogTime::from_unix_s(seconds).map_err(|error| wrong(&error.to_string()))?;
    let earlier_ns = if seconds.fract() == 0.0 { 0 } else { FLOAT_SLACK_NS };
    Ok(Moment { at, later_ns: FLOAT_SLACK_NS, earlier_ns })
}

/// A number and a unit: `10s`, `1.5h`; seconds without a unit.
fn span_ns(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_s = match unit.trim() {
        "" | "s" | "sec" | "seconds" => 1.0,
        "ms" => 1e-3,
        "m" | "min" | "minutes" => 60.0,
        "h" | "hours" => 3600.0,
        "d" | "days" => 86_400.0,
        _ => return None,
    };
    seconds_to_ns(number.parse::<f64>().ok()? * unit_s)
}

/// A span of time that is not negative, in whole nanoseconds.
pub(crate) fn seconds_to_ns(seconds: f64) -> Option<u64> {
    if !seconds.is_finite() || seconds < 0.0 {
        return None;
    }
    // A span past the whole range of times reaches before its start, whatever it is exactly.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and saturating above 2^64"
    )]
    let ns = (seconds * 1e9).round() as u64;
    Some(ns)
}

fn wrong(reason: &str) -> MomentError {
    MomentError { reason: format!("{reason}; {FORMS}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: LogTime = LogTime::from_ns(1_796_039_530_000_000_000);

    fn at(value: &Json) -> u64 {
        Moment::parse(value, NOW).unwrap().at.as_ns()
    }

    #[test]
    fn every_spelling_of_a_moment_is_read() {
        let ns = 1_796_039_520_000_000_000;
        for value in [
            json!(1_796_039_520),
            json!(1_796_039_520.0),
            json!("1796039520"),
            json!("1796039520.0"),
            json!(ns),
            json!(ns.to_string()),
            json!("-10s"),
            json!("now-10s"),
            json!("-10"),
            json!("-10000ms"),
            json!("2026-11-30T11:52:00Z"),
            json!("2026-11-30T12:52:00+01:00"),
        ] {
            assert_eq!(at(&value), ns, "{value}");
        }
        assert_eq!(at(&json!("now")), NOW.as_ns());
        assert_eq!(at(&json!("-1h")), NOW.as_ns() - 3_600_000_000_000);
        assert_eq!(at(&json!("-9999999d")), 0);
    }

    #[test]
    fn a_float_finds_the_message_that_it_was_made_of() {
        let t = LogTime::from_ns(1_796_039_506_161_000_001);
        let moment = Moment::parse(&json!(t.to_unix_s()), NOW).unwrap();
        assert!(moment.at_or_before() >= t && moment.at_or_after() <= t);
        assert_eq!(Moment::parse(&json!(t.as_ns()), NOW).unwrap().at_or_before(), t);
        // Rounded to a whole second it still does.
        let t = LogTime::from_ns(1_796_039_520_000_000_100);
        for value in [json!(t.to_unix_s()), json!(1_796_039_520_u64), json!("1796039520")] {
            assert!(Moment::parse(&value, NOW).unwrap().at_or_before() >= t, "{value}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for value in [
            json!(-1),
            json!(-0.5),
            json!(1e300),
            json!("NaN"),
            json!("inf"),
            json!(""),
            json!("x"),
            json!("yesterday"),
            json!("-"),
            json!("-10parsecs"),
            json!("--1s"),
            json!(null),
            json!(true),
            json!([1]),
            json!({"t": 1}),
            json!("99999999999999999999999"),
            json!("2026-11-30T11:52:00"),
            json!(20_000_000_000_u64),
        ] {
            let outcome = Moment::parse(&value, NOW);
            assert!(outcome.is_err(), "{value}: {outcome:?}");
        }
    }
}
