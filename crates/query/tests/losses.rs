//! What is lost is told: damage near an answer, in place of a null, and where it hides a match.

#![cfg(test)]

mod common;

use std::{fs, os::unix::fs::symlink, path::Path};

use ros2_memory_bag::{Bag, Chunk, Contents, ReadOptions};
use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    payload::{ByteOrder, CdrWriter},
};
use serde_json::{Value, json};

use self::common::{call, memory_over};

const S: u64 = 1_000_000_000;
const T0: u64 = 1_796_000_000 * S;
const TEXT: &str = "string data\n";

fn channel(id: u16, topic: &str) -> TestChannel {
    TestChannel {
        id,
        topic: topic.to_owned(),
        type_name: "std_msgs/msg/String".to_owned(),
        definition: TEXT.to_owned(),
        latched: false,
    }
}

fn text(data: &str) -> Vec<u8> {
    let mut writer = CdrWriter::new(ByteOrder::Little);
    writer.string(data);
    writer.finish()
}

fn message(channel: u16, at_s: u64, payload: Vec<u8>) -> TestMessage {
    let log_time_ns = T0 + at_s * S;
    TestMessage { channel, log_time_ns, publish_time_ns: log_time_ns, sequence: 0, payload }
}

/// A bag with each message in a chunk of its own, of which some are then damaged.
fn write_with_bad_chunks(path: &Path, messages: &[TestMessage], bad: &[usize]) {
    write_and_damage(path, messages, |contents| {
        let with_messages = contents.chunks.iter().filter(|chunk| !chunk.channels.is_empty());
        let chunks: Vec<&Chunk> = with_messages.collect();
        assert_eq!(chunks.len(), messages.len(), "a chunk a message");
        bad.iter().map(|index| chunks[*index].clone()).collect()
    });
}

fn write_and_damage(
    path: &Path,
    messages: &[TestMessage],
    choose: impl Fn(&Contents) -> Vec<Chunk>,
) {
    let layout = Layout { chunk_bytes: 1, compression: Compression::None, ..Layout::default() };
    let mut bytes = bag_bytes(&[channel(1, "/text")], messages, &layout).unwrap();
    fs::write(path, &bytes).unwrap();
    let bag = Bag::open_unindexed(path, &ReadOptions::default()).unwrap();
    for chunk in choose(bag.contents()) {
        let last = usize::try_from(chunk.offset + chunk.stored_len).unwrap() - 1;
        bytes[last] ^= 0xff;
    }
    fs::write(path, &bytes).unwrap();
}

fn search(memory: &ros2_memory_query::Memory, wanted: &str) -> Value {
    let arguments = json!({"topic": "/text", "condition_type": "contains", "value": wanted});
    call(memory, "find_last_match", &arguments).value
}

fn note(reply: &Value) -> &str {
    reply["note"].as_str().unwrap_or_default()
}

#[test]
fn a_match_says_that_a_newer_one_may_be_lost() {
    let dir = tempfile::tempdir().unwrap();
    let messages: Vec<_> =
        (0..6).map(|i| message(1, i, text(&format!("scissors {i}  ")))).collect();
    write_with_bad_chunks(&dir.path().join("a.mcap"), &messages, &[4, 5]);
    let reply = search(&memory_over(dir.path()), "scissors");
    assert_eq!(reply["timestamp_ns"], (T0 + 3 * S).to_string());
    assert!(note(&reply).contains("damaged"), "{reply}");
}

#[test]
fn null_is_not_said_where_a_chunk_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let messages: Vec<_> = (0..6).map(|i| message(1, i, text("nothing here   "))).collect();
    let path = dir.path().join("a.mcap");
    write_with_bad_chunks(&path, &messages, &[]);
    assert_eq!(search(&memory_over(dir.path()), "scissors"), Value::Null);
    write_with_bad_chunks(&path, &messages, &[2]);
    let reply = search(&memory_over(dir.path()), "scissors");
    assert_eq!(reply["error"], "no_data");
    assert!(note(&reply).contains("damaged"), "{reply}");
}

#[test]
fn asking_inside_a_lost_chunk_at_the_end_of_a_bag_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let messages: Vec<_> = (0..6).map(|i| message(1, i, text("some text here "))).collect();
    write_with_bad_chunks(&dir.path().join("a.mcap"), &messages, &[5]);
    let memory = memory_over(dir.path());
    let at = |s: u64| json!({"topic": "/text", "timestamp": (T0 + s * S).to_string()});
    let reply = call(&memory, "get_topic_at_time", &at(5)).value;
    assert_eq!(reply["error"], "no_data");
    assert!(note(&reply).contains("damaged"), "{reply}");
    assert_eq!(note(&call(&memory, "get_topic_at_time", &at(1)).value), "");
}

#[test]
fn br_033_a_first_chunk_with_all_declarations_may_be_lost() {
    let dir = tempfile::tempdir().unwrap();
    let messages: Vec<_> = (0..6).map(|i| message(1, i, text("scissors       "))).collect();
    let path = dir.path().join("a.mcap");
    write_and_damage(&path, &messages, |contents| vec![contents.chunks[0].clone()]);
    let lost = Bag::open_unindexed(&path, &ReadOptions::default()).unwrap();
    assert_eq!(lost.contents().n_damaged_chunks(), 1);
    let memory = memory_over(dir.path());
    let topics = call(&memory, "list_recorded_topics", &json!({})).value;
    assert_eq!(topics[0]["topic"], "/text");
    assert!(topics[0]["count"].as_u64().unwrap() >= 5, "{topics}");
    let reply = search(&memory, "scissors");
    assert_eq!(reply["timestamp_ns"], (T0 + 5 * S).to_string());
}

#[test]
fn messages_that_cannot_be_read_are_no_searched_messages() {
    let dir = tempfile::tempdir().unwrap();
    let mut messages = vec![message(1, 0, text("nothing"))];
    messages.push(message(1, 1, vec![0, 1, 0, 0, 200, 0, 0, 0, b'x']));
    write_with_bad_chunks(&dir.path().join("a.mcap"), &messages, &[]);
    let reply = search(&memory_over(dir.path()), "scissors");
    assert_eq!(reply["error"], "no_data");
    assert!(note(&reply).contains("could not be read"), "{reply}");
}

#[test]
fn one_message_of_a_broken_clock_does_not_move_now() {
    let dir = tempfile::tempdir().unwrap();
    let year_2100 = (4_102_444_800 * S - T0) / S;
    let messages = [
        message(1, 0, text("first")),
        message(1, 10, text("second")),
        message(1, year_2100, text("from the future")),
    ];
    write_with_bad_chunks(&dir.path().join("a.mcap"), &messages, &[]);
    let arguments = json!({"topic": "/text", "seconds_ago": 0});
    let reply = call(&memory_over(dir.path()), "get_topic_seconds_ago", &arguments).value;
    assert_eq!(reply["value"]["value"], "second", "{reply}");
}

#[test]
fn an_edge_that_was_sent_once_outlives_others_that_are_sent_again_and_again() {
    let definition = "TransformStamped[] transforms\n\
        ================================================================================\n\
        MSG: tf2_msgs/TransformStamped\nint32 sec\nuint32 nanosec\nstring frame_id\n\
        string child_frame_id\n";
    // The standard definition, with its header and transform in full.
    let definition = definition.replace(
        "int32 sec\nuint32 nanosec\nstring frame_id\nstring child_frame_id\n",
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n\
        ================================================================================\n\
        MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n\
        ================================================================================\n\
        MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n\
        ================================================================================\n\
        MSG: geometry_msgs/Transform\nVector3 translation\nQuaternion rotation\n\
        ================================================================================\n\
        MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n\
        ================================================================================\n\
        MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n",
    );
    let tf_static = TestChannel {
        id: 1,
        topic: "/tf_static".to_owned(),
        type_name: "tf2_msgs/msg/TFMessage".to_owned(),
        definition,
        latched: true,
    };
    let transform = |at_s: u64, child: &str, x: f64| {
        let mut w = CdrWriter::new(ByteOrder::Little);
        w.length(1).header(T0 + at_s * S, "base").string(child);
        w.f64(x).f64(0.0).f64(0.0).f64(0.0).f64(0.0).f64(0.0).f64(1.0);
        message(1, at_s, w.finish())
    };
    let mut messages = vec![transform(0, "laser", 1.5)];
    messages.extend((1..200u32).map(|i| transform(i.into(), "camera", f64::from(i))));
    let dir = tempfile::tempdir().unwrap();
    let bytes = bag_bytes(&[tf_static], &messages, &Layout::default()).unwrap();
    fs::write(dir.path().join("a.mcap"), bytes).unwrap();
    let memory = memory_over(dir.path());
    let x = |child: &str| {
        let arguments =
            json!({"parent": "base", "child": child, "timestamp": (T0 + 199 * S).to_string()});
        call(&memory, "get_transform_at", &arguments).value["translation"]["x"].as_f64()
    };
    assert_eq!((x("laser"), x("camera")), (Some(1.5), Some(199.0)));
}

#[test]
fn links_and_pipes_in_the_catalogs_folder_lead_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious");
    fs::write(&precious, "years of work").unwrap();
    let messages = [message(1, 0, text("here"))];
    write_with_bad_chunks(&dir.path().join("a.mcap"), &messages, &[]);
    let folder = dir.path().join(".ros2-memory");
    fs::create_dir(&folder).unwrap();
    for name in ["LOCK", "MANIFEST", "MANIFEST.new", "segment-00000001"] {
        symlink(&precious, folder.join(name)).unwrap();
    }
    assert_eq!(search(&memory_over(dir.path()), "here")["value"]["value"], "here");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "years of work");
    // The folder itself as a link: nothing is made where it leads.
    fs::remove_dir_all(&folder).unwrap();
    let elsewhere = outside.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    assert_eq!(search(&memory_over(dir.path()), "here")["value"]["value"], "here");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

/// The causes of an `explain_gap` in order of time, as `from to cause` in seconds.
fn causes(memory: &ros2_memory_query::Memory, mut arguments: Value) -> Vec<String> {
    arguments["start"] = json!(T0.to_string());
    arguments["end"] = json!((T0 + 300 * S).to_string());
    let reply = call(memory, "explain_gap", &arguments).value;
    let gaps = reply["gaps"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let second = |time: &Value| time.as_f64().unwrap() - 1_796_000_000.0;
    let words = gaps.iter().rev().map(|gap| {
        let (start, end) = (second(&gap["start"]), second(&gap["end"]));
        format!("{start:.0} {end:.0} {}", gap["cause"].as_str().unwrap())
    });
    words.collect()
}

#[test]
fn a_silence_in_a_damaged_bag_is_not_laid_to_the_topic() {
    let dir = tempfile::tempdir().unwrap();
    let messages: Vec<_> = [0, 1, 2, 3, 4, 5, 6, 16, 17]
        .map(|at_s| message(1, at_s, text("some text here ")))
        .into_iter()
        .collect();
    write_with_bad_chunks(&dir.path().join("a.mcap"), &messages, &[3, 4, 5]);
    let told = causes(&memory_over(dir.path()), json!({"topic": "/text"}));
    assert_eq!(told, ["2 6 damaged", "6 16 topic_silent", "17 300 after_the_last"]);
}

#[test]
fn a_deleted_bag_explains_its_own_time_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let bag = |name: &str, from_s: u64| {
        let messages: Vec<_> =
            (from_s..=from_s + 10).map(|at_s| message(1, at_s, text("some text"))).collect();
        let bytes = bag_bytes(&[channel(1, "/text")], &messages, &Layout::default()).unwrap();
        fs::write(dir.path().join(name), bytes).unwrap();
    };
    bag("a_0.mcap", 0);
    bag("b_0.mcap", 100);
    bag("c_0.mcap", 200);
    let memory = memory_over(dir.path());
    fs::remove_file(dir.path().join("b_0.mcap")).unwrap();
    memory.catalog().refresh(std::time::Duration::from_secs(30)).unwrap();
    for arguments in [json!({}), json!({"topic": "/text"})] {
        let told = causes(&memory, arguments);
        let of_gaps = ["10 100 recorder_off", "100 110 deleted", "110 200 recorder_off"];
        assert_eq!(told[..3], of_gaps);
        assert_eq!(told[3..], ["210 300 after_the_last"]);
    }
}
