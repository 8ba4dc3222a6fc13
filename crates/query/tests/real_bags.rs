//! Bags that foreign tools recorded are answered as independent readers read them.
//!
//! The bags and the list of what is in them lie beside the project, not in it; without them the
//! tests say so and pass.

#![cfg(test)]

mod common;

use std::{fs, ops::ControlFlow, path::PathBuf, time::Duration};

use ros2_memory_query::{CallContext, ErrorCode, Memory, tools::TOOLS};
use serde_json::{Map, Value, json};

use self::common::{call, memory_over};

/// A memory over one real bag alone, and what others found in it.
struct Real {
    name: String,
    memory: Memory,
    row: Value,
    /// The bag, as long as the memory is open.
    _dir: tempfile::TempDir,
}

fn rows() -> Vec<(PathBuf, Value)> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let Ok(text) = fs::read(data.join("index.json")) else {
        println!("skipped: no real bags beside the project");
        return Vec::new();
    };
    let rows: Vec<Value> = serde_json::from_slice(&text).unwrap();
    rows.into_iter()
        .filter(|row| row["format"] == "mcap")
        .map(|row| (data.join(row["file"].as_str().unwrap()), row))
        .filter(|(path, _)| {
            path.starts_with(data.join("bagel/mcap"))
                || path.starts_with(data.join("recorded-ros2"))
        })
        .collect()
}

fn real_bags() -> Vec<Real> {
    let of_row = |(path, row): (PathBuf, Value)| {
        let dir = tempfile::tempdir().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        fs::copy(&path, dir.path().join(&name)).unwrap();
        Real { memory: memory_over(dir.path()), name, row, _dir: dir }
    };
    rows().into_iter().map(of_row).collect()
}

impl Real {
    /// An answer that must be one.
    fn ask(&self, tool: &str, arguments: &Value) -> Value {
        let reply = call(&self.memory, tool, arguments);
        assert_eq!(reply.error, None, "{}: {tool} {arguments}: {}", self.name, reply.value);
        reply.value
    }

    /// The topics that have messages, with what others found of them.
    fn topics(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.row["messages_by_topic"].as_object().unwrap().iter()
    }

    fn has(&self, topic: &str) -> bool {
        self.topics().any(|(name, _)| name == topic)
    }

    /// Every message of a topic as the tools show it.
    fn samples(&self, topic: &str) -> Vec<Value> {
        let arguments: Map<String, Value> = Map::from_iter([
            ("topic".to_owned(), json!(topic)),
            ("start".to_owned(), json!(0)),
            ("end".to_owned(), json!("now")),
            ("max_samples".to_owned(), json!(10_000)),
        ]);
        let context = CallContext::with_time_limit(Duration::from_secs(25));
        let mut samples = Vec::new();
        let reply = self.memory.stream_samples(&arguments, &context, &mut |sample| {
            samples.push(sample);
            ControlFlow::Continue(())
        });
        assert_eq!(reply.error, None, "{}", reply.value);
        samples.retain(|sample| sample.get("timestamp_ns").is_some());
        samples
    }
}

fn ns(value: &Value, key: &str) -> u64 {
    value[key].as_str().unwrap_or_else(|| panic!("no {key} in {value}")).parse().unwrap()
}

fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} of {value}"))
}

/// Whether seconds stand for a moment, as well as a float can.
fn is_moment(seconds: &Value, at: &Value) -> bool {
    let (seconds, ns) = (seconds.as_f64().unwrap(), at.as_u64().unwrap());
    #[expect(clippy::cast_precision_loss, reason = "both parts are small enough")]
    let (whole, rest) = ((ns / 1_000_000_000) as f64, (ns % 1_000_000_000) as f64);
    ((seconds - whole) * 1e9 - rest).abs() <= 500.0
}

#[test]
fn topics_counts_and_times_are_those_that_others_found() {
    let (mut n_topics, bags) = (0, real_bags());
    for bag in &bags {
        let listed = bag.ask("list_recorded_topics", &json!({}));
        let listed = listed.as_array().unwrap();
        for (topic, found) in bag.topics() {
            let row = listed.iter().find(|row| row["topic"] == **topic).unwrap();
            assert_eq!((&row["count"], &row["type"]), (&found["count"], &found["type"]), "{row}");
            assert!(is_moment(&row["first_ts"], &found["first"]["time_ns"]), "{row} {found}");
            assert!(is_moment(&row["last_ts"], &found["last"]["time_ns"]), "{row} {found}");
            n_topics += 1;
        }
        for row in listed.iter().filter(|row| !bag.has(row["topic"].as_str().unwrap())) {
            assert_eq!((&row["count"], &row["first_ts"]), (&json!(0), &Value::Null), "{row}");
        }
        let range = bag.ask("data_time_range", &json!({}));
        let times = |which: &'static str| bag.topics().map(move |(_, it)| &it[which]["time_ns"]);
        let first = times("first").min_by_key(|it| it.as_u64()).unwrap();
        let last = times("last").max_by_key(|it| it.as_u64()).unwrap();
        assert!(is_moment(&range["earliest"], first) && is_moment(&range["latest"], last));
    }
    println!("{} bags, {n_topics} topics", bags.len());
    assert!(bags.is_empty() || (bags.len() == 7 && n_topics > 60));
}

/// The numbers and texts of a value.
fn leaves<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(fields) => fields
            .iter()
            // What is worked out, and what is said about the value, others do not have.
            .filter(|(name, _)| {
                !name.ends_with("_deg")
                    && !["note", "total", "returned", "next"].contains(&name.as_str())
            })
            .for_each(|(_, field)| leaves(field, out)),
        Value::Null => {}
        leaf => out.push(leaf),
    }
}

fn is_same(ours: &Value, theirs: &Value) -> bool {
    match (ours.as_f64(), theirs.as_f64()) {
        #[expect(clippy::cast_possible_truncation, reason = "a single has two spellings")]
        (Some(a), Some(b)) => (a as f32).to_bits() == (b as f32).to_bits(),
        _ => ours == theirs,
    }
}

#[test]
fn the_first_and_last_message_of_each_topic_hold_what_others_decoded() {
    let mut n_leaves = 0;
    for bag in real_bags() {
        for (topic, found) in bag.topics() {
            for which in ["first", "last"] {
                let (at, theirs) = (&found[which]["time_ns"], &found[which]["value"]);
                let arguments = json!({"topic": topic, "timestamp": at.to_string()});
                let answer = bag.ask("get_topic_at_time", &arguments);
                assert_eq!(answer["timestamp_ns"], at.to_string(), "{answer}");
                let arguments = json!({"topic": topic, "timestamp": answer["timestamp"]});
                let again = bag.ask("get_topic_at_time", &arguments);
                assert_eq!(again["timestamp_ns"], at.to_string(), "fed back: {again}");
                assert_eq!((&answer["type"], &answer["topic"]), (&found["type"], &json!(topic)));
                let (mut shown, mut known) = (Vec::new(), Vec::new());
                leaves(&answer["value"], &mut shown);
                leaves(theirs, &mut known);
                // Of a long array, others kept the ends alone.
                if theirs.to_string().contains("array_len") {
                    continue;
                }
                assert!(!shown.is_empty(), "{answer}");
                for leaf in &shown {
                    let is_known = known.iter().any(|it| is_same(leaf, it));
                    assert!(
                        is_known,
                        "{} {topic}: {leaf} of {answer} is not in {theirs}",
                        bag.name
                    );
                }
                n_leaves += shown.len();
            }
            let arguments = json!({"topic": topic, "start": 0, "end": "now", "max_samples": 3});
            let list = bag.ask("get_topic_in_range", &arguments);
            let list = list.as_array().unwrap();
            let end = list.last().unwrap();
            assert_eq!(end["total"], found["count"], "{end}");
            assert_eq!(list[0]["timestamp_ns"], found["first"]["time_ns"].to_string());
        }
    }
    println!("{n_leaves} numbers and texts compared");
}

#[test]
fn where_the_robot_was_and_how_it_moved() {
    for bag in real_bags().into_iter().filter(|bag| bag.has("/odom")) {
        let odom = &bag.row["messages_by_topic"]["/odom"];
        let samples = bag.samples("/odom");
        assert_eq!(json!(samples.len()), odom["count"]);
        for which in ["first", "last"] {
            let (at, value) = (odom[which]["time_ns"].to_string(), &odom[which]["value"]);
            let position = bag.ask("get_position_at", &json!({"timestamp": at}));
            let velocity = bag.ask("get_velocity_at", &json!({"timestamp": at}));
            for part in ["x", "y", "z"] {
                let theirs = number(value, &format!("/pose/pose/position/{part}"));
                assert!((number(&position, &format!("/{part}")) - theirs).abs() < 1e-12);
                for motion in ["linear", "angular"] {
                    let theirs = number(value, &format!("/twist/twist/{motion}/{part}"));
                    assert!(
                        (number(&velocity, &format!("/{motion}/{part}")) - theirs).abs() < 1e-12
                    );
                }
            }
            let turn = |part: &str| number(value, &format!("/pose/pose/orientation/{part}"));
            let yaw_deg = (2.0 * turn("z").atan2(turn("w"))).to_degrees();
            assert!((number(&position, "/yaw_deg") - yaw_deg).abs() < 1e-9, "{position}");
            assert_eq!(position["frame"], "odom");
        }
        let at = |sample: &Value| {
            let part = |name: &str| number(sample, &format!("/value/position/{name}"));
            (part("x"), part("y"))
        };
        let way: f64 = samples
            .windows(2)
            .map(|pair| {
                let ((x0, y0), (x1, y1)) = (at(&pair[0]), at(&pair[1]));
                (x1 - x0).hypot(y1 - y0)
            })
            .sum();
        let summary = bag.ask("trajectory_summary", &json!({"start": 0, "end": "now"}));
        assert!((number(&summary, "/distance_m") - way).abs() < 1e-9 && way > 1.0, "{summary}");
        let recent = bag.ask("recent_trajectory_summary", &json!({"seconds": 5}));
        let recent_m = number(&recent, "/distance_m");
        assert!(recent_m > 0.1 && recent_m < way, "{recent}");
        println!("{}: {way:.3} m", bag.name);
        for (tool, ago) in [("get_position_seconds_ago", 1), ("get_velocity_seconds_ago", 1)] {
            let answer = bag.ask(tool, &json!({"seconds_ago": ago}));
            let age_s = number(&answer, "/age_s");
            assert!((1.0..1.2).contains(&age_s), "{answer}");
        }
        let list = bag.ask("get_topic_in_last", &json!({"topic": "/odom", "seconds": 1}));
        assert!((15..=25).contains(&list.as_array().unwrap().len()), "{list}");
    }
}

#[test]
fn what_was_seen_and_said_is_found_where_it_was_last() {
    for bag in real_bags().into_iter().filter(|bag| bag.has("/odom")) {
        let last_with = |topic: &str, is_match: &dyn Fn(&str) -> bool| {
            let samples = bag.samples(topic);
            samples
                .iter()
                .rfind(|it| is_match(&it["value"].to_string()))
                .map(|it| ns(it, "timestamp_ns"))
        };
        let find = |topic: &str, condition: &str, value: Value| {
            let found = bag.ask(
                "find_last_match",
                &json!({"topic": topic, "condition_type": condition, "value": value}),
            );
            (!found.is_null()).then(|| ns(&found, "timestamp_ns"))
        };
        let scene = "/vision/scene/scene_objects";
        for word in ["scissors", "person", "door", "unicorn"] {
            let truth = last_with(scene, &|text| text.contains(word));
            for spelling in [word.to_owned(), word.to_uppercase()] {
                assert_eq!(find(scene, "contains", json!(spelling)), truth, "{} {word}", bag.name);
            }
            let found = bag.ask(
                "get_value_when",
                &json!({"value_topic": "/odom", "condition_topic": "/vision/**",
                    "condition_type": "contains", "value": word}),
            );
            assert_eq!(found.is_null(), truth.is_none());
            if let Some(truth) = truth {
                assert_eq!(ns(&found, "condition_timestamp_ns"), truth);
                let before = truth - ns(&found, "timestamp_ns");
                assert!(before <= 100_000_000, "{found}");
            }
        }
        assert!(find(scene, "contains", json!("scissors")).is_some());
        for flag in [true, false] {
            let truth = last_with("/estop", &|text| text.contains(&flag.to_string()));
            assert_eq!(find("/estop", "equals", json!(flag)), truth);
            assert!(truth.is_some());
        }
        let truth = last_with("/diagnostics", &|text| text.contains("\"hot\""));
        assert_eq!(find("/diagnostics", "contains", json!("hot")), truth, "{}", bag.name);
        let odom = &bag.row["messages_by_topic"]["/odom"]["last"];
        let position = &odom["value"]["pose"]["pose"]["position"];
        let place = json!({"x": position["x"], "y": position["y"]});
        assert_eq!(find("/odom", "near_position", place), odom["time_ns"].as_u64());
        assert_eq!(find("/odom", "near_position", json!({"x": 1000, "y": 1000})), None);
    }
}

#[test]
fn what_a_bag_does_not_hold_is_said_and_no_fault() {
    for bag in real_bags() {
        for (tool, arguments) in [
            ("list_frames", json!({})),
            ("get_transform_at", json!({"parent": "map", "child": "odom", "timestamp": "-1s"})),
            ("get_transform_seconds_ago", json!({"parent": "a", "child": "b", "seconds_ago": 1})),
        ] {
            let reply = call(&bag.memory, tool, &arguments);
            assert_eq!(reply.error, Some(ErrorCode::NoData), "{}: {}", bag.name, reply.value);
        }
        if !bag.has("/odom") {
            for tool in ["get_position_seconds_ago", "get_velocity_seconds_ago"] {
                let reply = call(&bag.memory, tool, &json!({"seconds_ago": 0}));
                let is_ordinary = reply.error.is_some_and(|error| error != ErrorCode::Internal);
                assert!(is_ordinary, "{}: {}", bag.name, reply.value);
                println!("{} {tool}: {}", bag.name, reply.value);
            }
        }
        for tool in TOOLS {
            let reply = call(&bag.memory, tool.name, &json!({}));
            assert_ne!(reply.error, Some(ErrorCode::Internal));
        }
    }
}

#[test]
fn bags_of_one_drive_side_by_side_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows();
    let mut total = 0;
    for (number, (path, row)) in rows.iter().enumerate() {
        let folder = dir.path().join(number.to_string());
        fs::create_dir(&folder).unwrap();
        fs::copy(path, folder.join("bag.mcap")).unwrap();
        total += row["messages_by_topic"]["/odom"]["count"].as_u64().unwrap_or(0);
    }
    if rows.is_empty() {
        return;
    }
    let memory = memory_over(dir.path());
    let listed = call(&memory, "list_recorded_topics", &json!({})).value;
    let listed = listed.as_array().unwrap();
    let odom = listed.iter().find(|row| row["topic"] == "/odom").unwrap();
    assert_eq!(odom["count"], total);
    println!("{} bags, {total} messages of /odom, {} topics", rows.len(), listed.len());
    let arguments = json!({"topic": "/odom", "start": "-2s", "end": "now", "max_samples": 10_000,
        "max_bytes": 200_000});
    let list = call(&memory, "get_topic_in_range", &arguments).value;
    let times = list.as_array().unwrap().iter().filter_map(|it| it["timestamp_ns"].as_str());
    let times: Vec<u64> = times.map(|text| text.parse().unwrap()).collect();
    assert!(times.len() > 50 && times.is_sorted());
}
