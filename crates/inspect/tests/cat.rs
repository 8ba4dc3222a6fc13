//! `cat` writes every message once, in timeline order, as its definition says.

#![cfg(test)]

mod common;
#[path = "common/lines.rs"]
mod lines;

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    sync::mpsc,
    thread,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use ros2_memory_bag::ReadOptions;
use ros2_memory_inspect::{CatOptions, InspectError, cat};
use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    content::{Content, Kind, Place},
    odd_files::{OddPlace, write_odd_files},
    payload::ByteOrder,
    prng::Prng,
};
use serde_json::{Value, json};

use self::{
    common::{opened, types},
    lines::lines,
};

const START_NS: u64 = 1_750_000_000_000_000_000;
const TOPICS: [(&str, Kind); 4] = [
    ("/vision/a/words", Kind::Text),
    ("/vision/b/words", Kind::Text),
    ("/number", Kind::Number),
    ("/point", Kind::Point),
];

/// What was written, in the order in which it has to come back.
#[derive(Debug, PartialEq)]
struct Written {
    log_time_ns: u64,
    topic: &'static str,
    bag: usize,
    position: usize,
    message: TestMessage,
    data: Value,
}

/// Three bags that overlap, with many equal times, each stored in another way.
struct Folder {
    dir: tempfile::TempDir,
    written: Vec<Written>,
}

impl Folder {
    fn paths(&self) -> [PathBuf; 1] {
        [self.dir.path().to_owned()]
    }
}

fn folder(seed: u64) -> Folder {
    let dir = tempfile::tempdir().unwrap();
    let mut prng = Prng::new(seed);
    let mut written = Vec::new();
    let layouts = [
        Layout { compression: Compression::Zstd, chunk_bytes: 300, ..Layout::default() },
        Layout { chunked: false, ..Layout::default() },
        Layout { compression: Compression::Lz4, with_message_index: false, ..Layout::default() },
    ];
    for (bag, layout) in layouts.iter().enumerate() {
        let channels: Vec<TestChannel> = (1..)
            .zip(TOPICS)
            .map(|(id, (topic, kind))| TestChannel {
                id,
                topic: topic.to_owned(),
                type_name: kind.type_name().to_owned(),
                definition: kind.definition().to_owned(),
                latched: false,
            })
            .collect();
        let mut messages = Vec::new();
        for position in 0..60 {
            let channel = prng.index(TOPICS.len());
            let serial = (bag * 1_000 + position) as u64;
            let (content, data) = content(TOPICS[channel].1, serial);
            // The first of each bag is its earliest, so that the bags keep their order.
            let steps = if position == 0 { bag as u64 } else { 4 + prng.below(40) };
            let message = TestMessage {
                channel: u16::try_from(channel + 1).unwrap(),
                log_time_ns: START_NS + steps * 100_000_000,
                publish_time_ns: START_NS + serial,
                sequence: u32::try_from(serial).unwrap(),
                payload: content.payload(
                    if prng.below(2) == 0 { ByteOrder::Little } else { ByteOrder::Big },
                    START_NS,
                ),
            };
            messages.push(message.clone());
            let topic = TOPICS[channel].0;
            let log_time_ns = message.log_time_ns;
            written.push(Written { log_time_ns, topic, bag, position, message, data });
        }
        let bytes = bag_bytes(&channels, &messages, layout).unwrap();
        fs::write(dir.path().join(format!("bag_{bag}.mcap")), bytes).unwrap();
    }
    written.sort_by_key(|it| (it.log_time_ns, it.topic, it.bag, it.position));
    Folder { dir, written }
}

fn content(kind: Kind, serial: u64) -> (Content, Value) {
    let stamp = json!({"sec": START_NS / 1_000_000_000, "nanosec": START_NS % 1_000_000_000});
    match kind {
        Kind::Text => {
            let text = format!("a \"quoted\" word\nand #{serial} \u{65e5}\u{672c}");
            (Content::Text(text.clone()), json!({"data": text}))
        }
        Kind::Number if serial.is_multiple_of(5) => {
            (Content::Number(f64::INFINITY), json!({"data": null}))
        }
        Kind::Number => {
            let number = f64::from(u32::try_from(serial).unwrap()) / 7.0;
            (Content::Number(number), json!({"data": number}))
        }
        _ => {
            let place = Place { x: 0.5, y: f64::NAN, z: -1e-300 };
            let header = json!({"stamp": stamp, "frame_id": format!("s{serial}")});
            let point = json!({"x": 0.5, "y": null, "z": -1e-300});
            (Content::Point { serial, place }, json!({"header": header, "point": point}))
        }
    }
}

/// Compares lines with what was written, all keys of them.
fn assert_lines<'w>(lines: &[Value], written: impl Iterator<Item = &'w Written>, is_raw: bool) {
    let written: Vec<&Written> = written.collect();
    assert_eq!(lines.len(), written.len());
    for (line, written) in lines.iter().zip(written) {
        let type_name =
            TOPICS.iter().find(|(topic, _)| *topic == written.topic).unwrap().1.type_name();
        let mut expected = json!({
            "topic": written.topic, "type": type_name,
            "log_time_ns": written.log_time_ns.to_string(),
            "publish_time_ns": written.message.publish_time_ns.to_string(),
            "sequence": written.message.sequence, "encoding": "cdr",
        });
        if is_raw {
            expected["data_base64"] = json!(BASE64_STANDARD.encode(&written.message.payload));
        } else {
            expected["data"] = written.data.clone();
        }
        assert_eq!(*line, expected);
    }
}

#[test]
fn every_message_comes_once_in_timeline_order() {
    for seed in 0..10 {
        let folder = folder(seed);
        let (shown, report) = lines(&folder.paths(), &CatOptions::default()).unwrap();
        assert_lines(&shown, folder.written.iter(), false);
        assert_eq!((report.written, report.undecodable), (180, 0));
        assert!(report.skipped.is_empty());
    }
}

#[test]
fn raw_is_the_stored_payload() {
    let folder = folder(20);
    let options = CatOptions { is_raw: true, ..CatOptions::default() };
    let (shown, _) = lines(&folder.paths(), &options).unwrap();
    assert_lines(&shown, folder.written.iter(), true);
}

#[test]
fn topics_are_names_or_globs() {
    let folder = folder(21);
    for (patterns, topics) in [
        (vec!["/number"], vec!["/number"]),
        (vec!["number"], vec!["/number"]),
        (vec!["/vision/*/words"], vec!["/vision/a/words", "/vision/b/words"]),
        (vec!["/vision/**", "/point"], vec!["/vision/a/words", "/vision/b/words", "/point"]),
        (vec!["/*"], vec!["/number", "/point"]),
        (vec!["/number", "/number"], vec!["/number"]),
    ] {
        let options = CatOptions {
            topics: patterns.iter().map(|it| (*it).to_owned()).collect(),
            ..CatOptions::default()
        };
        let (shown, _) = lines(&folder.paths(), &options).unwrap();
        let wanted = folder.written.iter().filter(|it| topics.contains(&it.topic));
        assert_lines(&shown, wanted, false);
    }
    for pattern in ["/nothing", "/vision/*", "/odd/**", ""] {
        let options = CatOptions { topics: vec![pattern.to_owned()], ..CatOptions::default() };
        let error = lines(&folder.paths(), &options).unwrap_err();
        assert!(matches!(&error, InspectError::UnknownTopic { pattern: it, .. } if it == pattern));
    }
}

#[test]
fn a_range_has_its_start_and_not_its_end() {
    let folder = folder(22);
    let last_ns = folder.written.last().unwrap().log_time_ns;
    let middle_ns = folder.written[90].log_time_ns;
    let inside = |from: u64, to: u64| {
        folder.written.iter().filter(move |it| (from..to).contains(&it.log_time_ns))
    };
    let iso = "2025-06-15T15:06:42Z";
    for (start, end, from, to) in [
        (Some(middle_ns.to_string()), None, middle_ns, u64::MAX),
        (None, Some(middle_ns.to_string()), 0, middle_ns),
        (Some(middle_ns.to_string()), Some(last_ns.to_string()), middle_ns, last_ns),
        (Some(middle_ns.to_string()), Some(middle_ns.to_string()), 1, 1),
        (Some("-1s".to_owned()), None, last_ns - 1_000_000_000, u64::MAX),
        (Some(iso.to_owned()), Some("now".to_owned()), START_NS + 2_000_000_000, last_ns),
        (Some("1750000001".to_owned()), None, START_NS + 1_000_000_000, u64::MAX),
        (Some(last_ns.to_string()), Some(middle_ns.to_string()), 1, 1),
    ] {
        let options = CatOptions { start, end, ..CatOptions::default() };
        let (shown, _) = lines(&folder.paths(), &options).unwrap();
        assert_lines(&shown, inside(from, to), false);
    }
    for text in ["yesterday", "", "NaN", "-1 parsec"] {
        let options = CatOptions { start: Some(text.to_owned()), ..CatOptions::default() };
        let error = lines(&folder.paths(), &options).unwrap_err();
        assert!(matches!(error, InspectError::Moment { argument: "--start", .. }), "{error}");
    }
}

#[test]
fn a_message_that_does_not_decode_says_so_and_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let channel = |id, topic: &str, definition: &str| TestChannel {
        id,
        topic: topic.to_owned(),
        type_name: if id == 1 { "std_msgs/msg/String" } else { "nowhere_msgs/msg/Thing" }
            .to_owned(),
        definition: definition.to_owned(),
        latched: false,
    };
    let whole = Content::Text("whole".to_owned()).payload(ByteOrder::Little, 0);
    let payloads = [
        (1, whole.clone()),
        (1, whole[..whole.len() - 2].to_vec()),
        (1, vec![0, 1, 0, 0, 255, 255, 255, 255]),
        (1, vec![0, 1]),
        (1, Vec::new()),
        (1, vec![0xEE; 40]),
        (2, vec![0, 1, 0, 0, 1]),
        (1, whole.clone()),
    ];
    let messages: Vec<TestMessage> = (0..)
        .zip(&payloads)
        .map(|(n, (channel, payload))| TestMessage {
            channel: *channel,
            log_time_ns: START_NS + u64::from(n),
            publish_time_ns: START_NS,
            sequence: n,
            payload: payload.clone(),
        })
        .collect();
    let channels = [
        channel(1, "/text", Kind::Text.definition()),
        channel(2, "/thing", "string name\nnowhere_msgs/Missing missing\n"),
    ];
    let bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
    fs::write(dir.path().join("bag_0.mcap"), bytes).unwrap();

    let (shown, report) = lines(&[dir.path().to_owned()], &CatOptions::default()).unwrap();
    assert_eq!((report.written, report.undecodable), (8, 6));
    for (n, line) in shown.iter().enumerate() {
        let is_whole = n == 0 || n == 7;
        if is_whole {
            assert_eq!((&line["data"], line.get("error")), (&json!({"data": "whole"}), None));
        } else {
            assert!(line.get("data").is_some_and(Value::is_null), "{line}");
            assert!(line["error"].as_str().is_some_and(|it| !it.is_empty()), "{line}");
        }
        assert_eq!(line["log_time_ns"], (START_NS + n as u64).to_string());
    }
    let options = CatOptions { is_raw: true, ..CatOptions::default() };
    let (shown, report) = lines(&[dir.path().to_owned()], &options).unwrap();
    assert_eq!(report.undecodable, 0, "raw bytes need no definition");
    for (line, (_, payload)) in shown.iter().zip(&payloads) {
        assert_eq!(line["data_base64"], BASE64_STANDARD.encode(payload));
    }
}

/// A pipe whose reader goes after some bytes.
struct Leaves(usize);

impl Write for Leaves {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.0 == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let folder = folder(23);
    let report = cat(
        opened(&folder.paths()).parts,
        &CatOptions::default(),
        &ReadOptions::default(),
        &types(),
        &mut Leaves(3_000),
    )
    .unwrap();
    assert!((5..180).contains(&report.written), "{report:?}");
}

#[test]
fn odd_entries_are_named_and_never_waited_for() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = OddPlace {
        dir: dir.path(),
        outside: outside.path(),
        first_ns: START_NS,
        last_ns: START_NS + 60_000_000_000,
    };
    let odd = write_odd_files(&place).unwrap();
    for entry in &odd {
        let path = dir.path().join(&entry.path);
        let (said, heard) = mpsc::sync_channel(1);
        let worker = thread::Builder::new().name("reader".to_owned()).spawn(move || {
            let (lines, _) = lines(std::slice::from_ref(&path), &CatOptions::default()).unwrap();
            said.send((lines, opened(&[path]).problems)).unwrap();
        });
        let (shown, problems) = heard
            .recv_timeout(Duration::from_secs(10))
            .unwrap_or_else(|_| panic!("{}: {} is never done", entry.path.display(), entry.what));
        worker.unwrap().join().unwrap();
        let own: Vec<&Value> = shown.iter().filter(|line| line["topic"] == *entry.topic).collect();
        let is_all_recorded = own.iter().all(|line| {
            entry.recorded.iter().any(|it| {
                line["log_time_ns"].as_str() == Some(&*it.log_time_ns.to_string())
                    && line["data"]["data"] == it.text
            })
        });
        let what = format!("{}: {}", entry.path.display(), entry.what);
        assert!(is_all_recorded || entry.path.to_str() == Some("link_out.mcap"), "{what}: {own:?}");
        assert!(own.len() >= entry.must_serve, "{what}: {} shown, {problems:?}", own.len());
    }
    println!("{} odd entries", odd.len());
}
