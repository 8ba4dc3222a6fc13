//! Whether values of the right type make sense, once every layer is in place.

use crate::{
    Config, ConfigError, Origin, Problem, Role, apply::Tree, origin::Place, topics::check_topic,
};

/// Shorter periods would be a busy loop, and below a nanosecond nothing at all.
const MIN_PERIOD_S: f64 = 0.001;
/// About thirty years: more is a slip. Like the hours and days below, it still fits 63 bits of
/// nanoseconds.
const MAX_S: f64 = 1e9;
const MAX_H: f64 = 1e6;
const MAX_DAYS: f64 = 1e5;

/// One number and its bounds. The lower one is part of the range unless `above`.
struct Bound {
    key: &'static str,
    value: f64,
    above: bool,
    min: f64,
    max: f64,
}

/// # Errors
///
/// The first value that is out of range or cannot be used, with the place it came from.
pub(crate) fn check(tree: &Tree) -> Result<(), ConfigError> {
    let Config { data, server, .. } = &tree.config;
    for bound in bounds(&tree.config) {
        check_bound(tree, bound.key, &bound)?;
    }
    for (topic, value) in &data.time_tolerance_per_topic_s {
        let key = format!("data.time_tolerance_per_topic_s.{topic}");
        check_bound(tree, &key, &at_least("", *value, 0.0, MAX_S))?;
    }
    for (key, role) in [
        ("data.roles.pose", &data.roles.pose),
        ("data.roles.velocity", &data.roles.velocity),
        ("data.roles.transforms", &data.roles.transforms),
    ] {
        check_role(role).map_err(|message| bad_value(tree, key, message))?;
    }
    if server.allowed_hosts.iter().any(|host| host.trim().is_empty()) {
        return Err(bad_value(tree, "server.allowed_hosts", "a host is empty".to_owned()));
    }
    Ok(())
}

fn bounds(config: &Config) -> Vec<Bound> {
    let Config { recording, data, reader, server, retention, .. } = config;
    vec![
        at_least("recording.split_duration_s", recording.split_duration_s, MIN_PERIOD_S, MAX_S),
        at_least("data.max_array_length", count(data.max_array_length), 1.0, 1e9),
        at_least("data.position_tolerance_m", data.position_tolerance_m, 0.0, 1e9),
        at_least("data.time_tolerance_s", data.time_tolerance_s, 0.0, MAX_S),
        at_least("data.jitter_m", data.jitter_m, 0.0, 1e9),
        above("data.max_speed_mps", data.max_speed_mps, 0.0, 1e9),
        above("data.max_transform_gap_s", data.max_transform_gap_s, 0.0, MAX_S),
        at_least("data.max_extrapolation_s", data.max_extrapolation_s, 0.0, MAX_S),
        at_least("reader.index_refresh_s", reader.index_refresh_s, MIN_PERIOD_S, MAX_S),
        at_least("reader.max_chunk_mb", f64::from(reader.max_chunk_mb), 1.0, 1e6),
        at_least("reader.max_inflated_file_mb", f64::from(reader.max_inflated_file_mb), 1.0, 1e9),
        at_least("server.time_limit_s", server.time_limit_s, MIN_PERIOD_S, MAX_S),
        at_least("server.reply_bytes", count(server.reply_bytes), 1_000.0, 1e9),
        at_least("server.max_sessions", count(server.max_sessions), 1.0, 1e6),
        at_least("server.port", f64::from(server.port), 1.0, f64::from(u16::MAX)),
        above("retention.max_total_gb", retention.max_total_gb, 0.0, 1e9),
        above("retention.max_age_h", retention.max_age_h, 0.0, MAX_H),
        at_least("retention.min_free_gb", retention.min_free_gb, 0.0, 1e9),
        at_least("retention.keep_index_days", f64::from(retention.keep_index_days), 0.0, MAX_DAYS),
    ]
}

fn above(key: &'static str, value: f64, min: f64, max: f64) -> Bound {
    Bound { key, value, above: true, min, max }
}

fn at_least(key: &'static str, value: f64, min: f64, max: f64) -> Bound {
    Bound { key, value, above: false, min, max }
}

#[expect(clippy::cast_precision_loss, reason = "exact far beyond every bound")]
fn count(value: usize) -> f64 {
    value as f64
}

fn check_bound(tree: &Tree, key: &str, bound: &Bound) -> Result<(), ConfigError> {
    let Bound { value, above, min, max, .. } = *bound;
    let is_low = if above { value <= min } else { value < min };
    if !is_low && value <= max {
        return Ok(());
    }
    let bounds = if above {
        format!("above {min} and at most {max}")
    } else {
        format!("from {min} to {max}")
    };
    let problem = Problem::OutOfRange { key: key.to_owned(), value: value.to_string(), bounds };
    Err(problem.at(origin(tree, key)))
}

fn check_role(role: &Role) -> Result<(), String> {
    match role {
        Role::Auto => Ok(()),
        Role::Topics(topics) if topics.is_empty() => {
            Err("the list is empty; write auto, or name a topic".to_owned())
        }
        Role::Topics(topics) => topics.iter().try_for_each(|topic| check_topic(topic)),
    }
}

fn bad_value(tree: &Tree, key: &str, message: String) -> ConfigError {
    Problem::BadValue { key: key.to_owned(), message }.at(origin(tree, key))
}

fn origin(tree: &Tree, key: &str) -> Origin {
    tree.origins.get(key).cloned().unwrap_or_else(|| Place::named("the default").whole())
}
