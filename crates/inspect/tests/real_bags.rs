//! Bags that others wrote hold what independent readers found in them, down to the values.
//!
//! The bags and the list of what is in them lie beside the project, not in it; without them the
//! test says so and passes.

#![cfg(test)]

mod common;
#[path = "common/lines.rs"]
mod lines;

use std::{collections::BTreeMap, path::PathBuf};

use ros2_memory_inspect::{CatOptions, info, info_json};
use serde_json::{Value, json};

use self::{common::opened, lines::lines};

/// The rows of the list that are MCAP files which are there, with their paths.
fn rows() -> Vec<(PathBuf, Value)> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let Ok(text) = std::fs::read(data.join("index.json")) else {
        println!("skipped: no real bags beside the project");
        return Vec::new();
    };
    let rows: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let of_mcap = rows.into_iter().filter(|row| row["format"] == "mcap");
    of_mcap
        .map(|row| (data.join(row["file"].as_str().unwrap()), row))
        .filter(|(path, _)| path.extension().is_some_and(|it| it == "mcap") && path.is_file())
        .collect()
}

/// Files that have to be read to the last value; of the others, what can be read has to be right.
fn is_core(row: &Value) -> bool {
    let file = row["file"].as_str().unwrap();
    file.starts_with("bagel/") || file.starts_with("recorded-ros2/")
}

#[test]
fn info_says_what_others_found() {
    let (rows, mut n_compared) = (rows(), 0);
    for (path, row) in &rows {
        let name = row["file"].as_str().unwrap();
        let opened = opened(std::slice::from_ref(path));
        let Some(shown) = info(&opened.parts).first().map(info_json) else {
            assert!(!row["error"].is_null() && !is_core(row), "{name}: {:?}", opened.problems);
            continue;
        };
        assert!(is_core(row) || row["error"].is_null() || !opened.parts.is_empty());
        if !row["error"].is_null() && !is_core(row) {
            continue;
        }
        assert_eq!(shown["message_count"], row["messages"], "{name}");
        assert_eq!(shown["size_bytes"], row["size"], "{name}");
        assert_eq!(shown["attachments"], row["attachments"], "{name}");
        assert_eq!(shown["metadata"], row["metadata"], "{name}");
        assert_eq!(shown["library"], row["library"], "{name}");
        let is_cut = !row["error"].is_null();
        assert_eq!(shown["unclosed"].as_array().unwrap().len(), usize::from(is_cut), "{name}");
        assert_eq!(topics_shown(&shown), topics_found(row), "{name}");
        let chunks = shown["chunks"].as_object().unwrap();
        if row["chunks"] != json!(0) {
            let n: u64 = chunks.values().filter_map(Value::as_u64).sum();
            assert_eq!(json!(n), row["chunks"], "{name}: {chunks:?}");
        }
        if is_core(row) {
            let (first, last) = span(row);
            assert_eq!(shown["start_ns"], first.to_string(), "{name}");
            assert_eq!(shown["end_ns"], last.to_string(), "{name}");
            assert_eq!(shown["duration_ns"], (last - first).to_string(), "{name}");
        }
        n_compared += 1;
    }
    println!("info of {n_compared} of {} files compared", rows.len());
    assert!(rows.is_empty() || n_compared > 300);
}

/// Type, serialization and count of each topic with messages, as `info` shows them.
fn topics_shown(shown: &Value) -> BTreeMap<String, (String, u64)> {
    let topics = shown["topics"].as_array().unwrap().iter();
    topics
        .map(|topic| {
            let text = |key: &str| topic[key].as_str().unwrap();
            // ROS 1 names have no `msg` between.
            let types =
                [&text("type").replace("/msg/", "/"), text("serialization_format")].join("/");
            (text("name").to_owned(), (types, topic["message_count"].as_u64().unwrap()))
        })
        .filter(|(_, (_, count))| *count > 0)
        .collect()
}

fn topics_found(row: &Value) -> BTreeMap<String, (String, u64)> {
    let topics = row["topics"].as_object().unwrap().iter();
    topics
        .map(|(name, found)| {
            // A channel without a type has a dash there.
            let types = found[0].as_str().unwrap().trim_start_matches('-');
            let types = types.replace("/msg/", "/").replace("::msg::dds_::", "/");
            (ros_topic(name), (types.replace("_/", "/"), found[1].as_u64().unwrap()))
        })
        .filter(|(_, (_, count))| *count > 0)
        .collect()
}

/// The name of ROS for a topic that DDS knows as `rt/name`.
fn ros_topic(topic: &str) -> String {
    topic.strip_prefix("rt").filter(|rest| rest.starts_with('/')).unwrap_or(topic).to_owned()
}

fn span(row: &Value) -> (u64, u64) {
    let of = |which: &'static str| {
        let topics = row["messages_by_topic"].as_object().unwrap().values();
        topics.map(move |topic| topic[which]["time_ns"].as_u64().unwrap())
    };
    (of("first").min().unwrap(), of("last").max().unwrap())
}

#[test]
fn cat_shows_the_values_that_others_decoded() {
    let (mut values, mut undecoded, mut files) = (0, BTreeMap::new(), 0);
    for (path, row) in rows() {
        let Some(topics) = row["messages_by_topic"].as_object() else { continue };
        let name = row["file"].as_str().unwrap();
        let Ok((lines, report)) = lines(std::slice::from_ref(&path), &CatOptions::default()) else {
            panic!("{name} cannot be shown");
        };
        assert!(!is_core(&row) || report.undecodable == 0, "{name}: {report:?}");
        assert!(lines.is_sorted_by_key(|line| digits(line, "log_time_ns")), "{name}");
        files += 1;
        for (topic, found) in topics {
            let topic = ros_topic(topic);
            let shown: Vec<&Value> = lines.iter().filter(|line| line["topic"] == topic).collect();
            assert_eq!(json!(shown.len()), found["count"], "{name} {topic}");
            for (line, found) in shown
                .first()
                .zip(found.get("first"))
                .into_iter()
                .chain(shown.last().zip(found.get("last")))
            {
                assert_eq!(json!(digits(line, "log_time_ns")), found["time_ns"], "{name} {topic}");
                let Some(value) = found.get("value").filter(|it| it.get("undecoded").is_none())
                else {
                    continue;
                };
                if line["data"].is_null() {
                    assert!(!is_core(&row), "{name} {topic}: {line}");
                    let reason = line["error"].as_str().unwrap().to_owned();
                    *undecoded.entry(reason).or_insert(0) += 1;
                    continue;
                }
                let difference = difference(&line["data"], value, "data");
                assert_eq!(difference, None, "{name} {topic}\n{}\n{value}", line["data"]);
                values += 1;
            }
        }
    }
    println!("{files} files: {values} values agree, others not decoded: {undecoded:#?}");
    assert!(files == 0 || values > 300);
}

fn digits(line: &Value, key: &str) -> u64 {
    line[key].as_str().unwrap().parse().unwrap()
}

/// The first place where two dumps of a message differ. In `theirs`, long arrays are shortened,
/// constants stand among the fields, and numbers that are not finite are text.
fn difference(ours: &Value, theirs: &Value, path: &str) -> Option<String> {
    let differ = || Some(format!("{path}: {ours} is {theirs} to others"));
    match (ours, theirs) {
        (Value::Array(items), Value::Object(short)) if short.contains_key("array_len") => {
            let list = |key: &str| short.get(key).and_then(Value::as_array).cloned();
            let (head, tail) = (list("head").unwrap_or_default(), list("tail").unwrap_or_default());
            if json!(items.len()) != short["array_len"] || items.len() < head.len() + tail.len() {
                return differ();
            }
            let ends = items.iter().take(head.len()).chain(&items[items.len() - tail.len()..]);
            ends.zip(head.iter().chain(&tail))
                .find_map(|(ours, theirs)| difference(ours, theirs, &format!("{path}[]")))
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => ours
            .iter()
            .zip(theirs)
            .find_map(|(ours, theirs)| difference(ours, theirs, &format!("{path}[]"))),
        (Value::Object(ours), Value::Object(theirs)) => {
            // An empty message has a field to some, since C has no empty struct.
            let is_constant = |name: &str| {
                name == "structure_needs_at_least_one_member"
                    || !name.bytes().any(|byte| byte.is_ascii_lowercase())
            };
            let fields = |map: &serde_json::Map<String, Value>| {
                let names =
                    map.keys().filter(|name| !is_constant(name) || ours.contains_key(*name));
                names.cloned().collect::<std::collections::BTreeSet<_>>()
            };
            if fields(ours) != fields(theirs) {
                return differ();
            }
            fields(ours)
                .iter()
                .find_map(|name| difference(&ours[name], &theirs[name], &format!("{path}.{name}")))
        }
        (Value::Null, Value::String(number)) if ["inf", "-inf", "nan"].contains(&&**number) => None,
        (Value::Number(ours), Value::Number(theirs)) => {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            #[expect(clippy::cast_possible_truncation, reason = "a single has two spellings")]
            let is_single = (ours as f32).to_bits() == (theirs as f32).to_bits();
            if ours.to_bits() == theirs.to_bits() || is_single { None } else { differ() }
        }
        _ if ours == theirs => None,
        _ => differ(),
    }
}

#[test]
fn a_difference_is_found_where_there_is_one() {
    let ours = json!({"a": [1, 2.5, null], "b": {"c": "x"}});
    let same = json!({"a": [1, 2.5, "inf"], "b": {"c": "x", "OK": 0}});
    assert_eq!(difference(&ours, &same, ""), None);
    for other in [
        json!({"a": [1, 2.5, 3], "b": {"c": "x"}}),
        json!({"a": [1, 2.5, "inf"], "b": {"c": "y"}}),
        json!({"a": [1, 2.5, "inf"]}),
        json!({"a": {"array_len": 4, "head": [1], "tail": []}, "b": {"c": "x"}}),
    ] {
        assert!(difference(&ours, &other, "").is_some(), "{other}");
    }
}
