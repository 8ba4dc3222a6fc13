//! A latched message holds until the next one: the version in force answers, else the first.

#![cfg(test)]

mod common;

use std::fs;

use ros2_memory_query::Memory;
use ros2_memory_testkit::{
    bags::{Layout, TestChannel, TestMessage, bag_bytes},
    payload::{ByteOrder, CdrWriter},
};
use serde_json::{Value, json};

use self::common::{call, memory_over};

const S: u64 = 1_000_000_000;
const T0: u64 = 1_796_000_000 * S;

/// `/mode` is latched: "map" at 10 s, "drive" at 40 s. `/text` says "a cup" each second to 60 s.
fn memory() -> (tempfile::TempDir, Memory) {
    let channel = |id, topic: &str, latched| TestChannel {
        id,
        topic: topic.to_owned(),
        type_name: "std_msgs/msg/String".to_owned(),
        definition: "string data\n".to_owned(),
        latched,
    };
    let message = |channel, at_s: u64, text: &str| {
        let mut writer = CdrWriter::new(ByteOrder::Little);
        writer.string(text);
        let log_time_ns = T0 + at_s * S;
        TestMessage {
            channel,
            log_time_ns,
            publish_time_ns: log_time_ns,
            sequence: 0,
            payload: writer.finish(),
        }
    };
    let mut messages: Vec<TestMessage> = (0..60).map(|i| message(2, i, "a cup")).collect();
    messages.push(message(1, 10, "map"));
    messages.push(message(1, 40, "drive"));
    messages.sort_by_key(|message| message.log_time_ns);
    let channels = [channel(1, "/mode", true), channel(2, "/text", false)];
    let dir = tempfile::tempdir().unwrap();
    let bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
    fs::write(dir.path().join("a.mcap"), bytes).unwrap();
    let memory = memory_over(dir.path());
    (dir, memory)
}

fn mode_at(memory: &Memory, at_s: u64) -> Value {
    let arguments = json!({"topic": "/mode", "timestamp": (T0 + at_s * S).to_string()});
    call(memory, "get_topic_at_time", &arguments).value
}

#[test]
fn the_version_in_force_answers_however_old_it_is() {
    let (_dir, memory) = memory();
    let said = |at_s| mode_at(&memory, at_s)["value"]["value"].as_str().unwrap().to_owned();
    assert_eq!((said(39), said(40), said(59)), ("map".into(), "drive".into(), "drive".into()));
    assert_eq!(mode_at(&memory, 59)["latched"], true);
    assert_eq!(mode_at(&memory, 59)["timestamp_ns"], (T0 + 40 * S).to_string());
}

#[test]
fn before_the_first_version_the_first_answers() {
    let (_dir, memory) = memory();
    assert_eq!(mode_at(&memory, 3)["value"]["value"], "map");
}

#[test]
fn a_join_takes_the_version_in_force_too() {
    let (_dir, memory) = memory();
    let arguments = json!({
        "value_topic": "/mode", "condition_topic": "/text",
        "condition_type": "contains", "value": "CUP",
    });
    let reply = call(&memory, "get_value_when", &arguments).value;
    assert_eq!(reply["value"]["value"], "drive", "{reply}");
    assert_eq!(reply["condition_timestamp_ns"], (T0 + 59 * S).to_string());
}
