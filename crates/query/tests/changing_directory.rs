//! A bag directory that comes, goes and changes under the questions.

#![cfg(test)]

mod common;
#[path = "common/demo.rs"]
mod demo;
#[path = "common/questions.rs"]
mod questions;

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use ros2_memory_query::{ErrorCode, Memory};
use ros2_memory_testkit::{
    bags::{Layout, TestChannel, TestMessage, bag_bytes},
    content::{Content, Kind},
    odd_files::ODD_TOPICS,
    payload::ByteOrder,
};
use serde_json::{Value, json};

use self::{
    common::{call, memory_over},
    demo::write_demo,
    questions::{answers, questions},
};

fn refresh(memory: &Memory) {
    memory.catalog().refresh(Duration::from_secs(30)).expect("the folder is looked through");
}

/// A bag of one topic with a text at each of these times.
fn bag_at(topic: &str, times_ns: &[u64]) -> Vec<u8> {
    let channel = TestChannel {
        id: 1,
        topic: topic.to_owned(),
        type_name: Kind::Text.type_name().to_owned(),
        definition: Kind::Text.definition().to_owned(),
        latched: false,
    };
    let messages: Vec<TestMessage> = (0..)
        .zip(times_ns)
        .map(|(sequence, log_time_ns)| TestMessage {
            channel: 1,
            log_time_ns: *log_time_ns,
            publish_time_ns: 0,
            sequence,
            payload: Content::Text(format!("text {sequence}")).payload(ByteOrder::Little, 0),
        })
        .collect();
    bag_bytes(&[channel], &messages, &Layout::default()).unwrap()
}

#[test]
fn a_directory_that_comes_and_goes_is_followed() {
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("not/there/yet");
    let memory = memory_over(&dir);
    let reply = call(&memory, "data_time_range", &json!({}));
    assert_eq!(reply.error, Some(ErrorCode::NoData), "{}", reply.value);
    assert!(!dir.exists(), "looking at it does not make it");

    let (_, written) = write_demo(&dir, 51, 30);
    refresh(&memory);
    let range = call(&memory, "data_time_range", &json!({})).value;
    assert_eq!(range["n_bags"], written.n_bags, "{range}");

    // A disk that is away has lost no bags, but nothing in them can be read.
    let questions = questions(30, &[50]);
    let before = answers(&memory, &questions);
    let away = outer.path().join("away");
    fs::rename(&dir, &away).unwrap();
    refresh(&memory);
    for (tool, arguments) in &questions {
        let reply = call(&memory, tool, arguments);
        assert_ne!(reply.error, Some(ErrorCode::Internal), "{tool}: {}", reply.value);
        let text = reply.value.to_string();
        assert!(!text.contains(outer.path().to_str().unwrap()), "{text}");
        let of_catalog = [
            "list_recorded_topics",
            "data_time_range",
            "list_frames",
            "memory_card",
            "find_sightings",
            "list_labels",
            "explain_gap",
        ];
        let is_in_catalog = of_catalog.contains(tool)
            || text.contains("never_seen")
            || *tool == "expand"
            // That there is no such label is in the index.
            || (*tool == "find_last_match" && text == "null")
            || ["/tf_static", "/estop"].contains(&arguments["topic"].as_str().unwrap_or_default())
            || arguments["timestamp"] == 1000
            || text.contains("unknown_");
        if !is_in_catalog {
            assert!(text.contains("could not be read"), "{tool} {arguments}: {text}");
        }
    }
    fs::rename(&away, &dir).unwrap();
    refresh(&memory);
    assert_eq!(answers(&memory, &questions), before);
}

#[test]
fn a_bag_that_is_moved_or_copied_and_removed_is_no_second_one() {
    let dir = tempfile::tempdir().unwrap();
    let (_, written) = write_demo(dir.path(), 54, 60);
    let mut bags: Vec<_> =
        fs::read_dir(&written.run).unwrap().map(|entry| entry.unwrap().path()).collect();
    bags.sort();
    // None of these names a bag.
    let asked = [
        ("list_labels", json!({})),
        ("list_recorded_topics", json!({})),
        ("data_time_range", json!({})),
    ];
    let ask = |memory: &Memory| {
        asked.each_ref().map(|(tool, arguments)| call(memory, tool, arguments).value)
    };
    let memory = memory_over(dir.path());
    let before = ask(&memory);
    assert!(before[0]["n_labels"].as_u64() > Some(1), "{}", before[0]);

    let elsewhere = dir.path().join("kept/by/hand");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::rename(&bags[1], elsewhere.join("moved_0.mcap")).unwrap();
    refresh(&memory);
    assert_eq!(ask(&memory), before, "moved");
    fs::copy(&bags[2], elsewhere.join("copied_0.mcap")).unwrap();
    refresh(&memory);
    assert_ne!(ask(&memory), before, "a copy is a second one as long as both are there");
    fs::remove_file(&bags[2]).unwrap();
    refresh(&memory);
    assert_eq!(ask(&memory), before, "copied, then removed");
    drop(memory);
    let memory = memory_over(dir.path());
    assert_eq!(ask(&memory), before, "opened again");

    // First away for a while, then back under another name.
    let (there, away) = (elsewhere.join("moved_0.mcap"), dir.path().join("out_of_sight.part"));
    fs::rename(&there, &away).unwrap();
    refresh(&memory);
    assert_ne!(ask(&memory)[2], before[2], "it is missing meanwhile");
    fs::rename(&away, dir.path().join("back_0.mcap")).unwrap();
    refresh(&memory);
    assert_eq!(ask(&memory), before, "back");
    drop(memory);
    assert_eq!(ask(&memory_over(dir.path())), before, "back, and opened again");
}

#[test]
fn a_directory_may_be_named_in_any_way() {
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("bags");
    write_demo(&dir, 52, 30);
    let questions = questions(30, &[50]);
    let plain = answers(&memory_over(&dir), &questions);
    let link = outer.path().join("link");
    symlink(&dir, &link).unwrap();
    let around = outer.path().join("bags/../link/.");
    let slash = format!("{}/", dir.display());
    for name in [link.as_path(), &around, Path::new(&slash)] {
        let other = answers(&memory_over(name), &questions);
        assert_eq!(other, plain, "{}", name.display());
    }
}

#[test]
fn messages_from_the_ends_of_time_move_no_now() {
    let dir = tempfile::tempdir().unwrap();
    write_demo(dir.path(), 53, 30);
    let of_now: Vec<_> = questions(30, &[50])
        .into_iter()
        .filter(|(tool, _)| tool.ends_with("seconds_ago") || tool.starts_with("find"))
        .collect();
    let ask = |memory: &Memory| -> Vec<Value> {
        of_now.iter().map(|(tool, arguments)| call(memory, tool, arguments).value).collect()
    };
    let before = ask(&memory_over(dir.path()));
    let topic = format!("{ODD_TOPICS}ages");
    let times = [0, 1, 9_000_000_000_000_000_000, u64::MAX - 1, u64::MAX];
    let is_plausible = |at: &u64| *at < 1 << 63;
    fs::write(dir.path().join("ages_0.mcap"), bag_at(&topic, &times)).unwrap();
    let memory = memory_over(dir.path());
    assert_eq!(ask(&memory), before);
    for (tool, arguments) in questions(30, &[50]) {
        let reply = call(&memory, tool, &arguments);
        assert_ne!(reply.error, Some(ErrorCode::Internal), "{tool}: {}", reply.value);
    }
    let arguments = json!({"topic": topic, "start": 0, "end": u64::MAX.to_string()});
    let list = call(&memory, "get_topic_in_range", &arguments).value;
    let samples = list.as_array().unwrap().iter().filter_map(|it| it["timestamp_ns"].as_str());
    let served: Vec<u64> = samples.map(|text| text.parse().unwrap()).collect();
    // What no clock shows is told and left out.
    let expected: Vec<u64> = times.into_iter().filter(is_plausible).collect();
    assert_eq!(served, expected, "{list}");
    assert!(list.to_string().contains("damaged"), "{list}");
}

#[test]
fn questions_during_changes_are_answered_or_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let (_, written) = write_demo(dir.path(), 54, 60);
    let memory = memory_over(dir.path());
    let questions = questions(60, &[10, 50, 90]);
    let (is_over, n_asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let ask = &|offset: usize| {
        let mut problems = Vec::new();
        for (tool, arguments) in questions.iter().cycle().skip(offset) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let reply = call(&memory, tool, arguments);
            n_asked.fetch_add(1, Ordering::Relaxed);
            let text = reply.value.to_string();
            let shows_path = text.contains(dir.path().to_str().unwrap());
            if reply.error == Some(ErrorCode::Internal) || shows_path {
                problems.push(format!("{tool} {arguments}: {text}"));
            }
        }
        problems
    };
    let mut bags: Vec<_> =
        fs::read_dir(&written.run).unwrap().map(|entry| entry.unwrap().path()).collect();
    bags.retain(|path| path.extension().is_some_and(|it| it == "mcap"));
    bags.sort();
    let contents: Vec<Vec<u8>> = bags.iter().map(|path| fs::read(path).unwrap()).collect();
    let change = || {
        let started = Instant::now();
        let mut n_changes = 0;
        while started.elapsed() < Duration::from_secs(3) {
            let (path, bytes) = (&bags[n_changes % bags.len()], &contents[n_changes % bags.len()]);
            match n_changes % 4 {
                0 => fs::remove_file(path).unwrap(),
                1 => fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
                2 => fs::write(path, vec![0; bytes.len()]).unwrap(),
                _ => fs::write(path, &contents[(n_changes + 1) % bags.len()]).unwrap(),
            }
            thread::sleep(Duration::from_millis(20));
            fs::write(path, bytes).unwrap();
            thread::sleep(Duration::from_millis(20));
            n_changes += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        n_changes
    };
    let (n_changes, problems) = thread::scope(|scope| {
        let askers: Vec<_> = (0..3)
            .map(|n| {
                let name = format!("asker-{n}");
                thread::Builder::new().name(name).spawn_scoped(scope, move || ask(n * 7)).unwrap()
            })
            .collect();
        let n_changes = change();
        let problems: Vec<String> =
            askers.into_iter().flat_map(|asker| asker.join().unwrap()).collect();
        (n_changes, problems)
    });
    println!("{} questions during {n_changes} changes", n_asked.load(Ordering::Relaxed));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    refresh(&memory);
    assert_eq!(answers(&memory, &questions), answers(&memory_over(dir.path()), &questions));
}
