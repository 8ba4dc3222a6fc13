//! One list of questions over all tools, about a synthetic history.

use ros2_memory_query::{Memory, tools::TOOLS};
use serde_json::{Value, json};

use crate::{common::call, demo::START_NS};

/// Questions about a history of `duration_s` seconds, some of them at so many `percent` of it;
/// the answers depend on all of it, on most of its topics and on what is latched.
pub(crate) fn questions(duration_s: u64, percents: &[u64]) -> Vec<(&'static str, Value)> {
    let at = |percent: u64| json!(START_NS / 1_000_000_000 + duration_s * percent / 100);
    let mut questions = vec![
        ("list_recorded_topics", json!({})),
        ("data_time_range", json!({})),
        ("list_frames", json!({})),
        ("get_topic_seconds_ago", json!({"topic": "/odom", "seconds_ago": 5})),
        ("get_topic_seconds_ago", json!({"topic": "/tf_static", "seconds_ago": 1})),
        ("get_topic_in_last", json!({"topic": "/battery_state", "seconds": duration_s})),
        ("get_position_seconds_ago", json!({"seconds_ago": 3})),
        ("get_velocity_seconds_ago", json!({"seconds_ago": 3})),
        (
            "get_transform_seconds_ago",
            json!({"parent": "odom", "child": "laser", "seconds_ago": 2}),
        ),
        (
            "find_last_match",
            json!({"topic": "/vision/*/scene_objects", "condition_type": "contains",
                "value": "chair"}),
        ),
        (
            "find_last_match",
            json!({"topic": "/vision/**", "condition_type": "contains", "value": "unicorn"}),
        ),
        (
            "find_last_match",
            json!({"topic": "/odom", "condition_type": "near_position",
                "value": {"x": 15.0, "y": 0.0}, "tolerance_m": 3}),
        ),
        (
            "get_value_when",
            json!({"value_topic": "/odom", "condition_topic": "/estop",
                "condition_type": "equals", "value": true}),
        ),
        ("trajectory_summary", json!({"start": at(0), "end": at(100)})),
        ("recent_trajectory_summary", json!({"seconds": duration_s / 2})),
        ("memory_card", json!({})),
        ("last_seen", json!({"label": "chair"})),
        ("last_seen", json!({"label": "plant", "min_score": 0.5, "before": at(60)})),
        ("find_sightings", json!({"labels": "chair AND NOT cup", "start": at(10), "end": at(90)})),
        (
            "find_sightings",
            json!({"labels": "chair OR cup OR plant", "area": {"x": 0, "y": 0, "radius": 8},
                "robot_state": {"topic": "/odom", "condition_type": "below",
                    "value": 0.4, "field": "twist.twist.linear.x"}}),
        ),
        (
            "find_intervals",
            json!({"topic": "/odom", "condition_type": "above", "value": 0.2,
                "field": "twist.twist.linear.x", "start": at(5), "end": at(95)}),
        ),
        (
            "get_statistics",
            json!({"topic": "/battery_state", "field": "voltage", "start": at(0),
                "end": at(100), "buckets": 5}),
        ),
        (
            "get_topic_in_range",
            json!({"topic": "/battery_state", "start": at(0), "end": at(100),
                "max_samples": 8, "method": "lttb", "field": "voltage"}),
        ),
        ("list_labels", json!({})),
        ("list_labels", json!({"start": at(30), "end": at(60), "like": "a"})),
        ("explain_gap", json!({"topic": "/odom", "start": at(0), "end": at(100)})),
        // Nothing there, and not there.
        ("expand", json!({"handle": "djyg1hnxjkc1.605fc3"})),
        ("last_seen", json!({"label": "unicorn"})),
        ("get_topic_at_time", json!({"topic": "/odom", "timestamp": 1000})),
        ("get_topic_at_time", json!({"topic": "/nothing/like/it", "timestamp": at(50)})),
        ("get_transform_at", json!({"parent": "map", "child": "elsewhere", "timestamp": at(50)})),
    ];
    for percent in percents.iter().copied() {
        for topic in ["/odom", "/scan", "/diagnostics", "/estop", "/vision/scene/scene_objects"] {
            let arguments = json!({"topic": topic, "timestamp": at(percent), "tolerance_s": 2});
            questions.push(("get_topic_at_time", arguments));
        }
        let moment = json!({"timestamp": at(percent)});
        questions.push(("get_position_at", moment.clone()));
        questions.push(("get_velocity_at", moment));
        let arguments = json!({"parent": "map", "child": "camera_link", "timestamp": at(percent)});
        questions.push(("get_transform_at", arguments));
        let arguments = json!({"topic": "/odom", "start": at(percent), "end": at(percent + 10),
            "max_samples": 7});
        questions.push(("get_topic_in_range", arguments));
    }
    questions
}

/// What a memory answers, one text a question.
pub(crate) fn answers(memory: &Memory, questions: &[(&'static str, Value)]) -> Vec<String> {
    let asked = TOOLS.iter().filter(|tool| questions.iter().any(|(name, _)| *name == tool.name));
    assert_eq!(asked.count(), TOOLS.len(), "each tool has a question");
    questions
        .iter()
        .map(|(tool, arguments)| {
            let reply = call(memory, tool, arguments);
            format!("{tool} {arguments}: {}", told(tool, reply.value))
        })
        .collect()
}

/// A reply without what has to change when other files appear: their topics and their number.
fn told(tool: &str, mut value: Value) -> Value {
    match (tool, &mut value) {
        ("list_recorded_topics", Value::Array(rows)) => {
            let of_others = ros2_memory_testkit::odd_files::ODD_TOPICS;
            let is_other = |row: &Value| {
                row["topic"].as_str().is_some_and(|topic| topic.starts_with(of_others))
            };
            rows.retain(|row| !is_other(row));
        }
        ("data_time_range", Value::Object(fields)) => {
            fields.remove("n_bags");
        }
        ("explain_gap", Value::Object(fields)) => {
            fields.shift_remove("unreadable_files");
        }
        ("memory_card", Value::Object(fields)) => {
            for key in ["topics", "n_topics", "messages", "damaged_bags"] {
                // In place, so that the order of the others stays.
                fields.shift_remove(key);
            }
        }
        _ => {}
    }
    value
}
