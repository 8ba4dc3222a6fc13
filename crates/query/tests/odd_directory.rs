//! A bag directory as it is found in the field: broken entries beside good ones, files that
//! grow, go and are replaced while the memory is open.

#![cfg(test)]

mod common;
#[path = "common/demo.rs"]
mod demo;
#[path = "common/questions.rs"]
mod questions;

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use ros2_memory_bag::{Bag, ReadOptions};
use ros2_memory_catalog::RefreshReport;
use ros2_memory_query::{ErrorCode, Memory};
use ros2_memory_testkit::{
    bags::{Layout, TestChannel, TestMessage, bag_bytes},
    content::{Content, Kind},
    odd_files::{OddFile, OddPlace, write_odd_files},
    payload::ByteOrder,
};
use serde_json::{Value, json};

use self::{
    common::{call, memory_over},
    demo::{START_NS, write_demo},
    questions::{answers, questions},
};

const LIMIT: Duration = Duration::from_secs(30);

/// Looks through the folder at once, which must not last until the next look that is due anyway.
fn refresh(memory: &Memory) -> RefreshReport {
    let started = Instant::now();
    let report = memory.catalog().refresh(LIMIT).expect("the folder is looked through in time");
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    report
}

/// Odd entries in `dir`, at times within the first minute of a history.
fn add_odd_files(dir: &Path, outside: &Path) -> Vec<OddFile> {
    let (first_ns, last_ns) = (START_NS + 1_000_000_000, START_NS + 50_000_000_000);
    write_odd_files(&OddPlace { dir, outside, first_ns, last_ns }).unwrap()
}

#[test]
fn odd_entries_change_not_one_byte_of_an_answer() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_demo(dir.path(), 31, 180);
    let questions = questions(180, &[3, 37, 50, 88]);
    let before = answers(&memory_over(dir.path()), &questions);
    let odd = add_odd_files(dir.path(), outside.path());
    let memory = memory_over(dir.path());
    for (before, after) in before.iter().zip(answers(&memory, &questions)) {
        assert_eq!(*before, after);
    }
    let report = memory.catalog().last_report();
    println!("{} questions beside {} odd entries: {report:?}", questions.len(), odd.len());
    assert!(report.refused > 10 && report.known > 18, "{report:?}");
}

#[test]
fn a_refresh_without_a_change_opens_nothing() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_, written) = write_demo(dir.path(), 32, 60);
    let memory = memory_over(dir.path());
    assert_eq!(memory.catalog().last_report().indexed, written.n_bags);
    for _ in 0..2 {
        let report = refresh(&memory);
        assert_eq!((report.indexed, report.vanished, report.known), (0, 0, written.n_bags));
    }
    drop(memory);
    let memory = memory_over(dir.path());
    let report = memory.catalog().last_report();
    assert_eq!((report.indexed, report.known), (0, written.n_bags), "remembered on disk");

    add_odd_files(dir.path(), outside.path());
    let first = refresh(&memory);
    assert!(first.refused > 10 && first.known > written.n_bags, "{first:?}");
    for _ in 0..2 {
        // What was refused is not tried again either.
        let report = refresh(&memory);
        assert_eq!((report.indexed, report.refused), (0, first.refused), "{report:?}");
    }
}

#[test]
fn no_odd_file_takes_long() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let odd = add_odd_files(dir.path(), outside.path());
    let mut slowest = (Duration::ZERO, PathBuf::new());
    let mut refused = 0;
    for file in &odd {
        let path = dir.path().join(&file.path);
        // The best of three: other programs take their share of the machine.
        let mut best = Duration::MAX;
        for _ in 0..3 {
            let (path, (said, heard)) = (path.clone(), mpsc::sync_channel(1));
            let reader = thread::Builder::new().name("reader".to_owned()).spawn(move || {
                let started = Instant::now();
                let outcome = Bag::open_unindexed(&path, &ReadOptions::default()).map(drop);
                said.send((started.elapsed(), outcome.is_err())).unwrap();
            });
            let (took, is_refused) =
                heard.recv_timeout(Duration::from_secs(5)).unwrap_or_else(|_| {
                    panic!("{}, {}, is never done", file.path.display(), file.what)
                });
            reader.unwrap().join().unwrap();
            best = best.min(took);
            refused += usize::from(is_refused);
        }
        slowest = slowest.max((best, file.path.clone()));
    }
    println!("{} odd entries, {} refused, slowest {slowest:?}", odd.len(), refused / 3);
    assert!(slowest.0 < Duration::from_millis(50), "{slowest:?}");
    assert!(refused / 3 > 20);
}

/// A bag of texts a tenth of a second apart, in small chunks.
fn bag_of_texts(topic: &str, texts: &[String]) -> Vec<u8> {
    let channel = TestChannel {
        id: 1,
        topic: topic.to_owned(),
        type_name: Kind::Text.type_name().to_owned(),
        definition: Kind::Text.definition().to_owned(),
        latched: false,
    };
    let messages: Vec<TestMessage> = (0..)
        .zip(texts)
        .map(|(n, text)| TestMessage {
            channel: 1,
            log_time_ns: START_NS + u64::from(n) * 100_000_000,
            publish_time_ns: START_NS,
            sequence: n,
            payload: Content::Text(text.clone()).payload(ByteOrder::Little, 0),
        })
        .collect();
    let layout = Layout { chunk_bytes: 300, ..Layout::default() };
    bag_bytes(&[channel], &messages, &layout).unwrap()
}

fn texts(what: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{what} {n:04} and some words to fill the chunk")).collect()
}

/// What the memory says was written on a topic, in order.
fn answered(memory: &Memory, topic: &str) -> Vec<String> {
    let arguments = json!({"topic": topic, "start": 0, "end": "now", "max_samples": 1000, "max_bytes": 200_000});
    let reply = call(memory, "get_topic_in_range", &arguments);
    if reply.error == Some(ErrorCode::UnknownTopic) {
        return Vec::new();
    }
    assert_eq!(reply.error, None, "{}", reply.value);
    let samples = reply.value.as_array().unwrap().iter();
    samples
        .filter(|sample| sample.get("value").is_some())
        .map(|sample| {
            let text = sample["value"].as_object().unwrap().values().find_map(Value::as_str);
            text.unwrap().to_owned()
        })
        .collect()
}

const CHUNK: u8 = 6;
const MESSAGE: u8 = 5;

/// Opcode, start of the content and end of each record of some bytes, as far as they are whole.
fn records(bytes: &[u8], mut at: usize) -> Vec<(u8, usize, usize)> {
    let mut records = Vec::new();
    while let Some(head) = bytes.get(at..at + 9) {
        let len = u64::from_le_bytes(head[1..].try_into().unwrap());
        let Some(end) = usize::try_from(len).ok().and_then(|len| (at + 9).checked_add(len)) else {
            break;
        };
        if end > bytes.len() {
            break;
        }
        records.push((head[0], at + 9, end));
        at = end;
    }
    records
}

/// How many whole messages a growing file holds: those of whole chunks, and the first ones of a
/// chunk that is being written; they are not compressed.
fn whole_messages(bytes: &[u8]) -> usize {
    // Times, size, checksum, the empty name of the compression, stored length.
    let fixed = 8 + 8 + 8 + 4 + 4 + 8;
    let messages = |body: usize, end: usize| match bytes.get(..end) {
        Some(part) if body + fixed < end => {
            records(part, body + fixed).iter().filter(|(opcode, ..)| *opcode == MESSAGE).count()
        }
        _ => 0,
    };
    let whole = records(bytes, 8);
    let chunks = whole.iter().filter(|(opcode, ..)| *opcode == CHUNK);
    let in_chunks: usize = chunks.map(|(_, start, end)| messages(*start, *end)).sum();
    let end = whole.last().map_or(8, |(_, _, end)| *end);
    let is_chunk = bytes.get(end) == Some(&CHUNK);
    in_chunks + if is_chunk { messages(end + 9, bytes.len()) } else { 0 }
}

#[test]
fn a_growing_bag_is_answered_up_to_its_last_whole_message() {
    let dir = tempfile::tempdir().unwrap();
    let written = texts("grown", 80);
    let bytes = bag_of_texts("/grown", &written);
    let run = dir.path().join("run_a");
    fs::create_dir(&run).unwrap();
    let path = run.join("run_a_0.mcap.active");
    fs::write(&path, &bytes[..bytes.len() / 5]).unwrap();
    let memory = memory_over(dir.path());
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    let mut counts = Vec::new();
    let mut len = bytes.len() / 5;
    for step in [0, 1, 700, 13, 1_500, 333, 900, 40] {
        let next = (len + step).min(bytes.len());
        file.write_all(&bytes[len..next]).unwrap();
        len = next;
        refresh(&memory);
        let expected = whole_messages(&bytes[..len]);
        assert_eq!(answered(&memory, "/grown"), written[..expected], "at {len} bytes");
        counts.push(expected);
    }
    println!("grown to {len} of {} bytes, messages: {counts:?}", bytes.len());
    assert!(counts[0] > 0 && counts[0] < counts[7] && counts[7] < written.len(), "{counts:?}");

    file.write_all(&bytes[len..]).unwrap();
    refresh(&memory);
    assert_eq!(answered(&memory, "/grown"), written, "finished under its old name");
    fs::rename(&path, run.join("run_a_0.mcap")).unwrap();
    refresh(&memory);
    assert_eq!(answered(&memory, "/grown"), written, "finished and renamed");
    drop(memory);
    assert_eq!(answered(&memory_over(dir.path()), "/grown"), written, "opened again");
}

#[test]
fn a_bag_that_never_got_its_ending_is_answered_as_far_as_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let written = texts("lost power", 60);
    let bytes = bag_of_texts("/lost", &written);
    let cut = bytes.len() / 2;
    fs::write(dir.path().join("lost_0.mcap"), &bytes[..cut]).unwrap();
    let expected = whole_messages(&bytes[..cut]);
    assert!(expected > 10);
    assert_eq!(answered(&memory_over(dir.path()), "/lost"), written[..expected]);
}

#[test]
fn a_bag_replaced_under_its_name_gives_the_new_content() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bag_0.mcap");
    let (old, new, newest) = (texts("old", 30), texts("new", 30), texts("mew", 30));
    let replace = |texts: &[String]| bag_of_texts("/text", texts);
    assert_eq!(replace(&old).len(), replace(&new).len(), "the size tells nothing");
    fs::write(&path, replace(&old)).unwrap();
    let memory = memory_over(dir.path());
    assert_eq!(answered(&memory, "/text"), old);

    let other = dir.path().join("copy.part");
    fs::write(&other, replace(&new)).unwrap();
    fs::rename(&other, &path).unwrap();
    let report = refresh(&memory);
    assert_eq!(answered(&memory, "/text"), new, "renamed over: {report:?}");

    fs::write(&path, replace(&newest)).unwrap();
    let report = refresh(&memory);
    assert_eq!(answered(&memory, "/text"), newest, "written over: {report:?}");
    drop(memory);
    assert_eq!(answered(&memory_over(dir.path()), "/text"), newest, "opened again");
}

/// The splits of a written history by their numbers.
fn split(run: &Path, number: usize) -> PathBuf {
    let name = run.file_name().unwrap().to_str().unwrap();
    run.join(format!("{name}_{number}.mcap"))
}

#[test]
fn a_bag_deleted_meanwhile_is_gone_from_the_answers() {
    let dir = tempfile::tempdir().unwrap();
    let (history, written) = write_demo(dir.path(), 33, 60);
    let memory = memory_over(dir.path());
    let count = |topic: &str| {
        let list = call(&memory, "list_recorded_topics", &json!({})).value;
        let row =
            list.as_array().unwrap().iter().find(|row| row["topic"] == topic).unwrap().clone();
        row["count"].as_u64().unwrap()
    };
    let of_odom = |split: usize| {
        let records = history.split(split).into_iter();
        records.filter(|it| history.channels()[it.channel].topic == "/odom").count() as u64
    };
    let whole: u64 = (0..6).map(of_odom).sum();
    assert_eq!(count("/odom"), whole);
    let seen = memory.catalog().n_refreshes();
    fs::remove_file(split(&written.run, 3)).unwrap();
    let at = json!(START_NS / 1_000_000_000 + 35);
    let reply = call(&memory, "get_topic_at_time", &json!({"topic": "/odom", "timestamp": at}));
    let is_known = memory.catalog().n_refreshes() > seen;
    let words = reply.value.to_string();
    assert!(is_known || words.contains("could not be read"), "it is not said: {words}");

    // Before it is noticed: no answer, or one that says what is missing, and no path of ours.
    for (tool, arguments) in questions(60, &[3, 37, 55, 88]) {
        let reply = call(&memory, tool, &arguments);
        let text = reply.value.to_string();
        assert_ne!(reply.error, Some(ErrorCode::Internal), "{tool} {arguments}: {text}");
        let shown = dir.path().to_str().unwrap();
        assert!(!text.contains(shown), "{tool} {arguments} shows where bags lie: {text}");
    }

    refresh(&memory);
    assert_eq!(count("/odom"), whole - of_odom(3));
    let reply = call(&memory, "get_topic_at_time", &json!({"topic": "/odom", "timestamp": at}));
    assert_eq!(reply.error, Some(ErrorCode::NoData), "{}", reply.value);
    let range = call(&memory, "data_time_range", &json!({})).value;
    assert_eq!((&range["n_bags"], &range["n_gaps"]), (&json!(5), &json!(1)), "{range}");
}

#[test]
fn latched_transforms_outlive_the_split_that_held_them() {
    let dir = tempfile::tempdir().unwrap();
    let (_, written) = write_demo(dir.path(), 34, 60);
    let at = START_NS / 1_000_000_000 + 45;
    let questions = [
        (
            "get_transform_at",
            json!({"parent": "base_link", "child": "camera_link", "timestamp": at}),
        ),
        ("get_transform_at", json!({"parent": "map", "child": "laser", "timestamp": at})),
        ("get_topic_at_time", json!({"topic": "/tf_static", "timestamp": at})),
        (
            "get_transform_seconds_ago",
            json!({"parent": "odom", "child": "laser", "seconds_ago": 1}),
        ),
    ];
    let ask = |memory: &Memory| {
        questions.each_ref().map(|(tool, arguments)| call(memory, tool, arguments).value)
    };
    let memory = memory_over(dir.path());
    let before = ask(&memory);
    assert!(before.iter().all(|answer| answer.get("error").is_none()), "{before:?}");
    fs::remove_file(split(&written.run, 0)).unwrap();
    refresh(&memory);
    assert_eq!(ask(&memory), before, "while it is open");
    drop(memory);
    for round in 1..=2 {
        assert_eq!(ask(&memory_over(dir.path())), before, "opened again, {round}");
    }
    // Nothing but the catalog remembers them.
    fs::remove_dir_all(dir.path().join(ros2_memory_catalog::CATALOG_FOLDER)).unwrap();
    let forgotten = ask(&memory_over(dir.path()));
    assert!(forgotten.iter().all(|answer| answer.get("error").is_some()), "{forgotten:?}");
}
