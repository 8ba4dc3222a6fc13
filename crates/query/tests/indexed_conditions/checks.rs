//! Whether a reply is what brute force answers.

use std::collections::{BTreeMap, BTreeSet};

use ros2_memory_query::{ErrorCode, Reply};
use serde_json::{Value as Json, json};

use crate::{
    asker::{Asked, Question},
    configured::Configured,
    truth::{Driven, Known, drive, seconds},
};

/// Matches that `get_value_when` tries.
const MATCHES_TRIED: usize = 100;

/// What is there, and how it is asked.
#[derive(Debug)]
pub(crate) struct State<'h> {
    pub(crate) configured: Configured,
    /// In the order of time.
    pub(crate) known: &'h [Known<'h>],
    pub(crate) run_ends: &'h BTreeMap<&'h str, u64>,
    pub(crate) n_bags: usize,
    /// Whether the folder is looked through for the first time just now.
    pub(crate) may_be_indexing: bool,
}

/// What brute force says about a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    Hit,
    Miss,
    /// It depends on how numbers are rounded.
    Unsure,
}

impl State<'_> {
    /// That nothing matches is only said when all was looked through.
    fn is_nothing(&self, reply: &Reply) -> bool {
        let note = reply.value.get("note").and_then(Json::as_str).unwrap_or_default();
        let is_indexing = self.may_be_indexing && note.starts_with("still indexing");
        let is_refusal = reply.error == Some(ErrorCode::NoData) && n_of_matches(reply).is_none();
        reply.value.is_null() || (is_indexing && is_refusal)
    }

    /// `Err` says what was expected.
    pub(crate) fn check(&self, question: &Question, reply: &Reply) -> Result<Checked, String> {
        match question {
            Question::Last(asked) => {
                let Some(matches) = self.matches(asked, reply)? else { return Ok(Checked::Unsure) };
                match matches.last() {
                    Some(newest) => is_it(&reply.value, newest)?,
                    None => expect(self.is_nothing(reply), "null")?,
                }
                Ok(told(!matches.is_empty()))
            }
            Question::Count(asked) => {
                let Some(matches) = self.matches(asked, reply)? else { return Ok(Checked::Unsure) };
                if matches.is_empty() {
                    expect(self.is_nothing(reply), "null")?;
                } else {
                    let n_tried = matches.len().min(MATCHES_TRIED);
                    expect(n_of_matches(reply) == Some(n_tried), format!("{n_tried} matches"))?;
                }
                Ok(told(!matches.is_empty()))
            }
            Question::When { asked, value, tolerance: (_, tolerance_ns) } => {
                let Some(matches) = self.matches(asked, reply)? else { return Ok(Checked::Unsure) };
                self.check_when(&matches, value, *tolerance_ns, reply)
            }
            Question::Drive { start, end } => self.check_drive(*start, *end, reply),
        }
    }

    /// The matches in the order of time. No bag that has one may have been passed over.
    fn matches(&self, asked: &Asked, reply: &Reply) -> Result<Option<Vec<Known<'_>>>, String> {
        let Some(matches) = asked.matches(self.known, self.configured.types) else {
            return Ok(None);
        };
        let bags: BTreeSet<&str> = matches.iter().map(|known| known.bag_path).collect();
        let most = self.n_bags - bags.len();
        let passed_over = usize::try_from(reply.stats.bags_passed_over).unwrap_or(usize::MAX);
        let is_right = passed_over <= most;
        expect(is_right, format!("at most {most} bags passed over, not {passed_over}"))?;
        Ok(Some(matches))
    }

    fn check_when(
        &self,
        matches: &[Known<'_>],
        value: &str,
        tolerance_ns: u64,
        reply: &Reply,
    ) -> Result<Checked, String> {
        let value_at = |at: u64| {
            let before = |known: &&Known<'_>| known.topic == value && known.time <= at;
            let newest = self.known.iter().rfind(before);
            newest.filter(|known| at - known.time <= tolerance_ns)
        };
        for (n_tried, matched) in matches.iter().rev().enumerate() {
            if n_tried >= MATCHES_TRIED {
                break;
            }
            if let Some(value) = value_at(matched.time) {
                is_it(&reply.value, value)?;
                let at = reply.value.get("condition_timestamp_ns");
                expect(at == Some(&json!(matched.time.to_string())), matched)?;
                return Ok(Checked::Hit);
            }
        }
        match matches.len().min(MATCHES_TRIED) {
            0 => expect(self.is_nothing(reply), "null")?,
            n => expect(n_of_matches(reply) == Some(n), format!("{n} matches, no value"))?,
        }
        Ok(Checked::Miss)
    }

    fn check_drive(&self, start: u64, end: u64, reply: &Reply) -> Result<Checked, String> {
        let is_asked =
            |known: &&Known<'_>| known.topic == "/odom" && start <= known.time && known.time <= end;
        let poses: Vec<Known<'_>> = self.known.iter().filter(is_asked).copied().collect();
        let Configured { jitter_m, max_speed_mps, .. } = self.configured;
        let run_end = |run: &str| self.run_ends.get(run).copied().unwrap_or_default();
        let Some(driven) = drive(&poses, &run_end, (jitter_m, max_speed_mps)) else {
            expect(reply.error == Some(ErrorCode::NoData), "no_data")?;
            return Ok(Checked::Miss);
        };
        expect(is_drive(&reply.value, &driven), &driven)?;
        Ok(Checked::Hit)
    }
}

const fn told(is_hit: bool) -> Checked {
    if is_hit { Checked::Hit } else { Checked::Miss }
}

fn is_drive(reply: &Json, driven: &Driven) -> bool {
    let is = |key: &str, wanted: f64, reach: f64| {
        let answered = reply.get(key).and_then(Json::as_f64);
        answered.is_some_and(|answered| (answered - wanted).abs() <= reach)
    };
    let Driven { distance_m, fastest_mps, n_poses, first, last } = driven;
    // Sums are taken in another order.
    is("distance_m", *distance_m, 1e-6 + 1e-9 * distance_m)
        && is("max_speed", *fastest_mps, 1e-9 * fastest_mps)
        && reply.get("n_poses") == Some(&json!(n_poses))
        && is("start", seconds(*first), 0.000_000_5)
        && is("end", seconds(*last), 0.000_000_5)
}

/// Whether a reply shows a message.
fn is_it(reply: &Json, known: &Known<'_>) -> Result<(), String> {
    let is_right = reply.get("timestamp_ns") == Some(&json!(known.time.to_string()))
        && reply.get("topic") == Some(&json!(known.topic))
        && reply.get("value").is_some_and(|value| known.said.may_be(value));
    expect(is_right, known)
}

/// How many matches were tried, in a reply that none of them had a value.
fn n_of_matches(reply: &Reply) -> Option<usize> {
    let detail = reply.value.get("detail")?.as_str()?;
    let (number, _) = detail.split_once(" matches were tried")?;
    number.parse().ok().filter(|_| reply.error == Some(ErrorCode::NoData))
}

fn expect(is_right: bool, expected: impl std::fmt::Debug) -> Result<(), String> {
    if is_right { Ok(()) } else { Err(format!("{expected:?}")) }
}
