//! Bags that others wrote hold what independent readers found in them.
//!
//! The bags and the list of what is in them lie beside the project, not in it; without them the
//! test says so and passes.

#![cfg(test)]

use std::{collections::BTreeMap, path::PathBuf};

use ros2_memory_bag::{Bag, Direction, FoundFile, ReadOptions, Timeline, TimelinePart, discover};
use ros2_memory_time::TimeRange;
use serde_json::Value;

fn data() -> Option<PathBuf> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if data.join("index.json").is_file() {
        return Some(data);
    }
    println!("skipped: no real bags beside the project");
    None
}

/// A row's messages by topic, as the independent reader counted them.
fn expected_counts(row: &Value) -> BTreeMap<String, u64> {
    row["topics"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(topic, entry)| (topic.clone(), entry[1].as_u64().unwrap()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[test]
fn whole_mcap_files_hold_the_messages_that_others_counted() {
    let Some(data) = data() else { return };
    let rows: Vec<Value> =
        serde_json::from_slice(&std::fs::read(data.join("index.json")).unwrap()).unwrap();
    let (mut files, mut messages) = (0, 0);
    for row in rows.iter().filter(|row| row["format"] == "mcap") {
        let name = row["file"].as_str().unwrap();
        let path = data.join(name);
        if path.extension().is_none_or(|extension| extension != "mcap") || !path.is_file() {
            continue;
        }
        let bag = match Bag::open_unindexed(&path, &ReadOptions::default()) {
            Ok(bag) => bag,
            Err(error) => {
                assert!(!row["error"].is_null(), "{name}: {error}");
                continue;
            }
        };
        let contents = bag.contents();
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for seen in contents.chunks.iter().flat_map(|chunk| &chunk.channels) {
            let topic = contents.declared.channels[seen.channel as usize].topic.to_string();
            *counts.entry(topic).or_default() += u64::from(seen.count);
        }
        if row["error"].is_null() {
            assert_eq!(counts, expected_counts(row), "{name}: {:?}", contents.damage);
        }
        files += 1;
        messages += contents.n_messages();
    }
    println!("{files} files, {messages} messages");
    assert!(files > 300 && messages > 10_000, "{files} files, {messages} messages");
}

#[test]
fn a_timeline_backwards_is_the_timeline_forwards_reversed() {
    let Some(data) = data() else { return };
    let options = ReadOptions::default();
    let parts: Vec<TimelinePart> = discover(&data.join("recorded-ros2"))
        .files
        .into_iter()
        .map(|FoundFile { path, identity }| {
            let bag = Bag::open_unindexed(&path, &options).unwrap();
            TimelinePart { path, identity, contents: bag.contents().clone() }
        })
        .collect();
    assert!(parts.len() >= 6, "{}", parts.len());
    let run = |direction| {
        let mut timeline =
            Timeline::new(parts.clone(), TimeRange::ALL, direction, options, |_| Some(0), || false);
        let mut seen = Vec::new();
        while let Some(m) = timeline.next() {
            seen.push((m.log_time, m.part, m.channel.topic.clone(), m.payload.to_vec()));
        }
        assert!(timeline.report().skipped.is_empty());
        seen
    };
    let forward = run(Direction::Forward);
    let mut reverse = run(Direction::Reverse);
    reverse.reverse();
    let total: u64 = parts.iter().map(|part| part.contents.n_messages()).sum();
    assert_eq!(forward.len() as u64, total);
    assert!(forward.is_sorted_by_key(|m| m.0));
    assert!(forward == reverse);
}
