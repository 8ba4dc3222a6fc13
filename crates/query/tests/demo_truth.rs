//! An hour of a synthetic robot: every answer is what really happened.

#![cfg(test)]
#![expect(clippy::cast_precision_loss, reason = "a planner has only floats")]

mod common;
#[path = "common/demo.rs"]
mod demo;

use std::{
    collections::BTreeMap, fs, ops::ControlFlow, path::Path, sync::LazyLock, time::Duration,
};

use ros2_memory_demo::{Seen, Truth};
use ros2_memory_query::{CallContext, Memory};
use serde_json::{Map, Value, json};

use self::{
    common::{call, memory_over},
    demo::{START_NS, write_demo},
};

const SEED: u64 = 20_250_615;
const DURATION_S: u64 = 3_600;

struct Hour {
    memory: Memory,
    truth: Truth,
}

static HOUR: LazyLock<Hour> = LazyLock::new(|| {
    // What is static is never dropped: a folder of a fixed name does not pile up.
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo_truth");
    if dir.exists() {
        fs::remove_dir_all(&dir).unwrap();
    }
    let (history, written) = write_demo(&dir, SEED, DURATION_S);
    println!("seed {SEED}: {} bags, {} messages", written.n_bags, written.n_messages);
    Hour { memory: memory_over(&dir), truth: history.truth() }
});

/// An answer that must be one.
fn ask(tool: &str, arguments: &Value) -> Value {
    let reply = call(&HOUR.memory, tool, arguments);
    assert_eq!(reply.error, None, "{tool} {arguments}: {}", reply.value);
    reply.value
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {value}"))
}

fn ns(value: &Value, key: &str) -> Option<u64> {
    value[key].as_str().map(|digits| digits.parse().unwrap())
}

/// The seconds of a moment as a planner gives them.
fn seconds(ns: u64) -> Value {
    json!(ns as f64 / 1e9)
}

/// Whether seconds stand for a moment, as well as a float can.
fn is_moment(seconds: &Value, ns: Option<u64>) -> bool {
    match (seconds.as_f64(), ns) {
        (Some(seconds), Some(ns)) => {
            let since_s = seconds - (ns / 1_000_000_000) as f64;
            (since_s * 1e9 - (ns % 1_000_000_000) as f64).abs() <= 500.0
        }
        (None, None) => seconds.is_null(),
        _ => false,
    }
}

/// The three ways in which a planner may name a moment.
fn spellings(ns: u64) -> [Value; 3] {
    [seconds(ns), json!(ns), json!(ns.to_string())]
}

/// Between two angles in degrees, the short way.
fn turn_deg(a: f64, b: f64) -> f64 {
    ((a - b + 540.0).rem_euclid(360.0) - 180.0).abs()
}

#[test]
fn every_pose_is_the_one_the_robot_had() {
    let (mut off_m, mut off_deg) = (0.0_f64, 0.0_f64);
    for pose in &HOUR.truth.poses {
        for timestamp in spellings(pose.asked_ns) {
            let arguments = json!({"timestamp": timestamp, "tolerance_s": 1});
            let answer = ask("get_position_at", &arguments);
            assert_eq!(ns(&answer, "timestamp_ns"), Some(pose.log_time_ns), "{answer}");
            assert_eq!(answer["frame"], "odom");
            let (x, y) = (number(&answer, "/x") - pose.x_m, number(&answer, "/y") - pose.y_m);
            off_m = off_m.max(x.hypot(y)).max(number(&answer, "/z").abs());
            off_deg = off_deg.max(turn_deg(number(&answer, "/yaw_deg"), pose.yaw_deg));
        }
        let ago = (HOUR.truth.topics.iter().filter_map(|it| it.last_ns).max().unwrap())
            .saturating_sub(pose.asked_ns);
        let arguments = json!({"seconds_ago": seconds(ago), "tolerance_s": 1});
        let answer = ask("get_position_seconds_ago", &arguments);
        assert_eq!(ns(&answer, "timestamp_ns"), Some(pose.log_time_ns), "{answer}");
    }
    let n = HOUR.truth.poses.len();
    println!("{n} poses: at most {off_m:e} m and {off_deg:e} degrees off");
    assert!(n == 50 && off_m <= 1e-9 && off_deg <= 1e-9);
}

#[test]
fn every_velocity_is_the_one_the_robot_had() {
    let mut off = 0.0_f64;
    for velocity in &HOUR.truth.velocities {
        for timestamp in spellings(velocity.asked_ns) {
            let arguments = json!({"timestamp": timestamp, "tolerance_s": 1});
            let answer = ask("get_velocity_at", &arguments);
            assert_eq!(ns(&answer, "timestamp_ns"), Some(velocity.log_time_ns), "{answer}");
            let linear = number(&answer, "/linear/x") - velocity.linear_x_mps;
            let angular = number(&answer, "/angular/z") - velocity.angular_z_radps;
            off = off.max(linear.abs()).max(angular.abs());
            for still in ["/linear/y", "/linear/z", "/angular/x", "/angular/y"] {
                off = off.max(number(&answer, still).abs());
            }
        }
    }
    let n = HOUR.truth.velocities.len();
    println!("{n} velocities: at most {off:e} off");
    assert!(n == 50 && off <= 1e-9);
}

#[test]
fn every_transform_is_the_chain_of_its_edges() {
    let (mut exact, mut between) = ((0, 0.0_f64), (0, 0.0_f64));
    for transform in &HOUR.truth.transforms {
        for timestamp in spellings(transform.asked_ns).into_iter().skip(1) {
            let arguments =
                json!({"parent": "map", "child": "camera_link", "timestamp": timestamp});
            let answer = ask("get_transform_at", &arguments);
            let part = |group: &str, name: &str| number(&answer, &format!("/{group}/{name}"));
            let moved = ["x", "y", "z"]
                .into_iter()
                .zip(transform.translation_m)
                .map(|(name, truth)| (part("translation", name) - truth).abs());
            // A rotation and its negative are the same.
            let turned = ["x", "y", "z", "w"].map(|name| part("rotation", name));
            let along: f64 = turned.iter().zip(transform.rotation).map(|(a, b)| a * b).sum();
            let apart = turned
                .iter()
                .zip(transform.rotation)
                .map(|(a, b)| (a - b * along.signum()).abs())
                .fold(0.0, f64::max);
            let yaw = turn_deg(number(&answer, "/yaw_deg"), transform.yaw_deg);
            let off = moved.fold(apart, f64::max).max(yaw.to_radians());
            let group = if transform.exact { &mut exact } else { &mut between };
            *group = (group.0 + 1, group.1.max(off));
        }
    }
    println!("{} exact transforms: at most {:e} off", exact.0, exact.1);
    println!("{} interpolated transforms: at most {:e} off", between.0, between.1);
    assert!(exact.0 == 40 && between.0 == 20);
    assert!(exact.1 <= 1e-9 && between.1 <= 1e-9);
}

#[test]
fn the_length_of_the_way_is_what_was_driven() {
    let (mut off_m, mut off_twist) = (0.0_f64, 0.0_f64);
    for window in &HOUR.truth.windows {
        let arguments =
            json!({"start": window.start_ns.to_string(), "end": window.end_ns.to_string()});
        let answer = ask("trajectory_summary", &arguments);
        off_m = off_m.max((number(&answer, "/distance_m") - window.distance_m).abs());
        off_twist = off_twist.max((number(&answer, "/max_speed") - window.max_step_mps).abs());
        assert_eq!(answer["n_poses"], window.messages, "{answer}");
        assert!((1..=20).contains(&answer["waypoints"].as_array().unwrap().len()));
        let driven = number(&answer, "/avg_speed") * number(&answer, "/duration_s");
        assert!((driven - window.distance_m).abs() < 1e-6, "{answer}");
    }
    let n = HOUR.truth.windows.len();
    println!("{n} windows: at most {off_m:e} m and {off_twist:e} m/s off");
    assert!(n == 20 && off_m <= 1e-6 && off_twist <= 1e-6);
    let whole = ask("recent_trajectory_summary", &json!({"seconds": DURATION_S + 10}));
    let truth = HOUR.truth.windows[0].distance_m;
    assert!((number(&whole, "/distance_m") - truth).abs() <= 1e-6);
}

/// Which messages of a topic hold each label, by what a stream of the whole topic shows.
fn shown_labels(topic: &str, labels_of: impl Fn(&Value) -> Vec<String>) -> BTreeMap<String, Seen> {
    let arguments: Map<String, Value> = Map::from_iter([
        ("topic".to_owned(), json!(topic)),
        ("start".to_owned(), json!(START_NS.to_string())),
        ("end".to_owned(), json!("now")),
        ("max_samples".to_owned(), json!(10_000)),
    ]);
    let context = CallContext::with_time_limit(Duration::from_secs(25));
    let mut shown: BTreeMap<String, Seen> = BTreeMap::new();
    let reply = HOUR.memory.stream_samples(&arguments, &context, &mut |sample| {
        let Some(log_ns) = ns(&sample, "timestamp_ns") else {
            return ControlFlow::Continue(());
        };
        for label in labels_of(&sample["value"]) {
            let seen = shown.entry(label).or_default();
            if seen.last_ns != Some(log_ns) {
                seen.messages += 1;
                seen.first_ns.get_or_insert(log_ns);
                seen.last_ns = Some(log_ns);
            }
        }
        ControlFlow::Continue(())
    });
    assert_eq!(reply.error, None, "{}", reply.value);
    shown
}

#[test]
fn every_label_is_seen_first_and_last_when_it_was() {
    let scene = shown_labels("/vision/scene/scene_objects", |value| {
        let text = value
            .as_object()
            .unwrap()
            .values()
            .find_map(|field| serde_json::from_str::<Vec<String>>(field.as_str()?).ok());
        text.unwrap_or_else(|| panic!("no list of labels in {value}"))
    });
    let meta = shown_labels("/vision/find_object/detections_meta", |value| {
        let mut labels = Vec::new();
        gather_labels(value, &mut labels);
        labels
    });
    let mut n_seen = 0;
    for label in &HOUR.truth.labels {
        let name = &label.label;
        for (topic, shown, truth) in [
            ("/vision/scene/scene_objects", &scene, label.scene_objects),
            ("/vision/find_object/detections_meta", &meta, label.detections_meta),
        ] {
            assert_eq!(shown.get(name).copied().unwrap_or_default(), truth, "{name} on {topic}");
            n_seen += usize::from(truth.messages > 0);
            // A label may be part of a longer one.
            let holding = HOUR.truth.labels.iter().filter(|other| other.label.contains(name));
            let last_ns = holding
                .filter_map(|other| {
                    let is_scene = topic.ends_with("scene_objects");
                    let seen = if is_scene { other.scene_objects } else { other.detections_meta };
                    seen.last_ns
                })
                .max();
            for spelling in [name.clone(), name.to_uppercase()] {
                let arguments =
                    json!({"topic": topic, "condition_type": "contains", "value": spelling});
                let found = ask("find_last_match", &arguments);
                assert_eq!(ns(&found, "timestamp_ns"), last_ns, "{arguments}: {found}");
            }
        }
        let arguments = json!({
            "value_topic": "/odom", "condition_topic": "/vision/scene/scene_objects",
            "condition_type": "contains", "value": name, "tolerance_s": 1,
        });
        let found = ask("get_value_when", &arguments);
        match &label.pose_when_last_seen {
            None => assert_eq!(found, Value::Null),
            Some(pose) if label.scene_objects.last_ns == ns(&found, "condition_timestamp_ns") => {
                assert_eq!(ns(&found, "timestamp_ns"), Some(pose.log_time_ns), "{found}");
                assert!((number(&found, "/value/position/x") - pose.x_m).abs() <= 1e-9);
                assert!((number(&found, "/value/position/y") - pose.y_m).abs() <= 1e-9);
            }
            Some(_) => {
                let longer = HOUR.truth.labels.iter().filter(|other| other.label.contains(name));
                assert!(longer.count() > 1, "{name}: {found}");
            }
        }
    }
    println!("{} labels, seen on {n_seen} topics", HOUR.truth.labels.len());
    assert!(n_seen > 20);
}

/// The text of every `label` at any depth.
fn gather_labels(value: &Value, labels: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather_labels(item, labels)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(label) if name == "label" => labels.push(label.clone()),
                    Value::Array(items) if name == "labels" => {
                        labels.extend(items.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    field => gather_labels(field, labels),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn the_last_time_near_a_point_is_the_true_one() {
    let mut never = 0;
    for point in &HOUR.truth.near {
        let arguments = json!({
            "topic": "/odom", "condition_type": "near_position",
            "value": {"x": point.x_m, "y": point.y_m}, "tolerance_m": point.tolerance_m,
        });
        let found = ask("find_last_match", &arguments);
        assert_eq!(ns(&found, "timestamp_ns"), point.log_time_ns, "{arguments}: {found}");
        never += usize::from(point.log_time_ns.is_none());
    }
    println!("{} points, {never} never reached", HOUR.truth.near.len());
    assert!(never > 0 && HOUR.truth.near.len() > 10 + never);
}

#[test]
fn the_fault_and_the_stop_are_found() {
    let fault = &HOUR.truth.fault;
    for (topic, condition, value, field, truth) in [
        ("/estop", "equals", json!(true), None, HOUR.truth.last_estop_true_ns),
        ("/estop", "equals", json!(true), Some("data"), fault.estop.last_ns),
        ("/estop", "equals", json!("false"), None, fault.released_ns),
        ("/diagnostics", "contains", json!(fault.message), None, fault.diagnostics.last_ns),
        ("/diagnostics", "contains", json!(fault.code), None, fault.diagnostics.last_ns),
        ("/rosout", "contains", json!(fault.message), None, fault.log_lines.last_ns),
        (
            "/vision/scene/scene_description",
            "contains",
            json!("path is clear"),
            None,
            HOUR.truth.path_clear.last_ns,
        ),
        (
            "/vision/scene/scene_description",
            "contains",
            json!("path is blocked"),
            None,
            HOUR.truth.path_blocked.last_ns,
        ),
    ] {
        let mut arguments = json!({"topic": topic, "condition_type": condition, "value": value});
        if let Some(field) = field {
            arguments["field"] = json!(field);
        }
        let found = ask("find_last_match", &arguments);
        assert!(truth.is_some());
        assert_eq!(ns(&found, "timestamp_ns"), truth, "{arguments}: {found}");
    }
}

#[test]
fn counts_and_times_of_every_topic_are_true() {
    let listed = ask("list_recorded_topics", &json!({}));
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), HOUR.truth.topics.len(), "{listed:?}");
    for topic in &HOUR.truth.topics {
        let row = listed.iter().find(|row| row["topic"] == *topic.topic).unwrap();
        assert_eq!(row["type"], *topic.type_name);
        assert_eq!(row["count"], topic.count, "{row}");
        assert!(is_moment(&row["first_ts"], topic.first_ns), "{row} {topic:?}");
        assert!(is_moment(&row["last_ts"], topic.last_ns), "{row} {topic:?}");
    }
    let range = ask("data_time_range", &json!({}));
    let topics = || HOUR.truth.topics.iter();
    assert!(is_moment(&range["earliest"], topics().filter_map(|it| it.first_ns).min()), "{range}");
    assert!(is_moment(&range["latest"], topics().filter_map(|it| it.last_ns).max()), "{range}");
    assert_eq!(range.get("n_gaps"), None, "the splits follow one another: {range}");
}

#[test]
fn a_range_holds_as_many_messages_as_were_recorded_in_it() {
    let mut n_ranges = 0;
    for window in &HOUR.truth.windows {
        let arguments = json!({
            "topic": "/odom", "start": window.start_ns.to_string(),
            "end": window.end_ns.to_string(), "max_samples": 10,
        });
        let list = ask("get_topic_in_range", &arguments);
        let list = list.as_array().unwrap();
        let end = list.last().unwrap();
        assert_eq!(end["total"], window.messages, "{end}");
        assert_eq!((list.len(), &end["returned"]), (11, &json!(10)));
        n_ranges += 1;
    }
    for topic in &HOUR.truth.topics {
        let arguments = json!({"topic": topic.topic, "start": 0, "end": "now", "max_samples": 2});
        let list = ask("get_topic_in_range", &arguments);
        let list = list.as_array().unwrap();
        let total = list.last().unwrap()["total"].as_u64().unwrap();
        assert_eq!(total, topic.count, "{}", topic.topic);
        assert_eq!(ns(&list[0], "timestamp_ns"), topic.first_ns);
        n_ranges += 1;
    }
    println!("{n_ranges} ranges counted");
}
