//! The memory as the program opens it, and one question for each tool.

use std::{path::Path, sync::Arc, time::Duration};

use ros2_memory_config::{Loaded, Loader, load_definitions};
use ros2_memory_msg::Library;
use ros2_memory_query::{CallContext, Memory, Reply};
use serde_json::{Map, Value};

use crate::Outcome;

/// A question for each tool, in the order in which clients list them.
///
/// Half of the history lies before the absolute times, so that nothing is answered from its end
/// only.
pub const TOOL_CALLS: [(&str, &str); 25] = [
    ("memory_card", "{}"),
    ("last_seen", r#"{"label": "scissors"}"#),
    ("find_sightings", r#"{"labels": "person AND NOT scissors"}"#),
    (
        "find_intervals",
        r#"{"topic": "/odom", "condition_type": "above", "value": 0.3,
            "field": "twist.twist.linear.x"}"#,
    ),
    (
        "get_statistics",
        r#"{"topic": "/odom", "field": "twist.twist.linear.x", "start": 1767225600,
            "end": 1767229200, "buckets": 10}"#,
    ),
    ("list_labels", "{}"),
    ("explain_gap", r#"{"topic": "/odom", "start": 1767227400, "end": 1767227460}"#),
    ("expand", r#"{"handle": "OF_LAST_SEEN"}"#),
    ("list_recorded_topics", "{}"),
    ("data_time_range", "{}"),
    ("get_topic_at_time", r#"{"topic": "/odom", "timestamp": 1767227400.5}"#),
    (
        "get_topic_seconds_ago",
        r#"{"topic": "/battery_state", "seconds_ago": 30, "tolerance_s": 2}"#,
    ),
    (
        "get_topic_in_range",
        r#"{"topic": "/odom", "start": 1767227400, "end": 1767227460, "max_samples": 100}"#,
    ),
    ("get_topic_in_last", r#"{"topic": "/odom", "seconds": 60, "max_samples": 100}"#),
    ("get_position_at", r#"{"timestamp": 1767227400.5}"#),
    ("get_position_seconds_ago", r#"{"seconds_ago": 10}"#),
    ("get_velocity_at", r#"{"timestamp": 1767227400.5}"#),
    ("get_velocity_seconds_ago", r#"{"seconds_ago": 10}"#),
    ("get_transform_at", r#"{"parent": "map", "child": "camera_link", "timestamp": 1767227400.5}"#),
    (
        "get_transform_seconds_ago",
        r#"{"parent": "map", "child": "camera_link", "seconds_ago": 10}"#,
    ),
    ("list_frames", "{}"),
    (
        "find_last_match",
        r#"{"topic": "/vision/*/scene_objects", "condition_type": "contains", "value": "scissors"}"#,
    ),
    (
        "get_value_when",
        r#"{"value_topic": "/odom", "condition_topic": "/vision/*/scene_objects",
            "condition_type": "contains", "value": "scissors"}"#,
    ),
    ("trajectory_summary", r#"{"start": 1767225600, "end": 1767229200}"#),
    ("recent_trajectory_summary", r#"{"seconds": 60}"#),
];

/// How long a first index may take before something is wrong.
const INDEX_LIMIT: Duration = Duration::from_secs(600);

/// The configuration and the definitions that a memory is opened with.
#[derive(Debug)]
pub struct Opened {
    loaded: Loaded,
    library: Arc<Library>,
}

impl Opened {
    /// Loads the shipped configuration for a bag directory, and the shipped definitions.
    ///
    /// # Errors
    ///
    /// When the configuration does not load.
    pub fn configuration(bag_dir: &Path, catalog_dir: &Path) -> Outcome<Self> {
        let source = Loader {
            dir: None,
            overrides: vec![
                format!("recording.bag_dir={}", bag_dir.display()),
                format!("catalog.dir={}", catalog_dir.display()),
                "recorder=none".to_owned(),
            ],
        };
        let loaded = source.load(&|_| None)?;
        Ok(Self { loaded, library: Arc::new(load_definitions(&[]).library) })
    }

    /// Opens the memory and returns at once.
    ///
    /// # Errors
    ///
    /// When the bag directory cannot be opened.
    pub fn open(&self) -> Outcome<Memory> {
        Ok(Memory::open(
            self.loaded.catalog_settings(self.library.clone()),
            self.loaded.query_settings(),
            self.loaded.schema_map(),
        )?)
    }

    /// Opens the memory and waits until every bag is known.
    ///
    /// # Errors
    ///
    /// When the bag directory cannot be opened, or is not indexed within some minutes.
    pub fn memory(&self) -> Outcome<Memory> {
        let memory = self.open()?;
        if !memory.wait_until_indexed(INDEX_LIMIT) {
            return Err("the bag directory was not indexed within ten minutes".into());
        }
        Ok(memory)
    }
}

/// The arguments of a call.
///
/// # Errors
///
/// When the text is no JSON object.
pub fn arguments(text: &str) -> Outcome<Map<String, Value>> {
    Ok(serde_json::from_str(text)?)
}

/// The arguments of a question of [`TOOL_CALLS`]: the handle of a message is that of the last
/// scissors, since it depends on the history.
///
/// # Errors
///
/// When the text is no JSON object, or nothing has a handle.
pub fn call_arguments(memory: &Memory, text: &str) -> Outcome<Map<String, Value>> {
    let mut given = arguments(text)?;
    if let Some(handle) = given.get_mut("handle") {
        let seen = ask(memory, "last_seen", &arguments(r#"{"label": "scissors"}"#)?)?;
        let found = seen.value.pointer("/evidence/handle").ok_or("an answer without a handle")?;
        handle.clone_from(found);
    }
    Ok(given)
}

/// Asks, and takes anything but an answer for a failure: a refusal would be measured as fast.
///
/// # Errors
///
/// The reply that was no answer.
pub fn ask(memory: &Memory, tool: &str, arguments: &Map<String, Value>) -> Outcome<Reply> {
    let context = CallContext::with_time_limit(memory.settings().time_limit);
    let reply = memory.call(tool, arguments, &context);
    if reply.error.is_some() || reply.value.is_null() {
        return Err(format!("{tool} did not answer: {}", reply.value).into());
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ros2_memory_query::tools::TOOLS;

    #[test]
    fn every_tool_is_asked_once() {
        let listed: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(TOOL_CALLS.map(|(name, _)| name).as_slice(), listed);
        assert!(TOOL_CALLS.iter().all(|(_, text)| arguments(text).is_ok()));
    }
}
