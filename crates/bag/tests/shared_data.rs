//! Bags that others wrote hold what independent readers found in them.
//!
//! The bags and the list of what is in them lie beside the project, not in it; without them the
//! test says so and passes.

#![cfg(test)]

#[path = "shared_data/sha256.rs"]
mod sha256;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use ros2_memory_bag::{
    Bag, Direction, Ending, FoundFile, ReadOptions, Timeline, TimelinePart, discover,
};
use ros2_memory_time::TimeRange;
use serde_json::{Value, json};

use self::sha256::sha256_prefix;

/// Where what is read here is not what the list says, and why that is right. The first text is
/// the file, the second how the difference is told.
const EXPLAINED: &[(&str, &str, &str)] = &[];

/// Topics that the list has under the names of DDS, topic and type, and we under those of ROS.
const RENAMED: &[(&str, [&str; 2], [&str; 2])] = &[
    (
        "eprosima-ddsrecorder/ros2_talker_5919d5.mcap",
        ["rt/chatter", "std_msgs::msg::dds_::String_"],
        ["/chatter", "std_msgs/msg/String"],
    ),
    (
        "eprosima-ddsrecorder/ros2_talker_5919d5.mcap",
        ["rt/rosout", "rcl_interfaces::msg::dds_::Log_"],
        ["/rosout", "rcl_interfaces/msg/Log"],
    ),
    (
        "eprosima-ddsrecorder/ros2_talker_5919d5.mcap",
        ["ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"],
        ["ros_discovery_info", "rmw_dds_common/msg/ParticipantEntitiesInfo"],
    ),
];

/// What another reader found in the files that the list leaves out.
fn rows_of_the_unlisted() -> Vec<Value> {
    vec![json!({
        "file": "bagel/mcap_zstd/part_0.mcap.zstd", "error": null,
        "profile": "ros2", "library": "libmcap 1.4.0", "messages": 6, "channels": 2, "chunks": 1,
        "attachments": 0, "metadata": 2, "compression": ["none"], "schema_enc": ["ros2msg"],
        "topics": {"/rosout": ["rcl_interfaces/msg/Log/cdr", 6]},
        "messages_by_topic": {"/rosout": {
            "count": 6,
            "first": {"time_ns": 1_758_921_828_523_021_747_u64, "size": 144,
                "sha256": "93f8216d57506733"},
            "last": {"time_ns": 1_758_921_828_523_622_627_u64, "size": 120,
                "sha256": "456769eb25cadc82"},
        }},
    })]
}

fn data() -> Option<PathBuf> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if data.join("index.json").is_file() {
        return Some(data);
    }
    println!("skipped: no real bags beside the project");
    None
}

/// Every file under a folder that bears the name of a recording, with its path from there.
fn recordings(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if [&b".mcap"[..], b".mcap.zstd"].iter().any(|it| name.as_bytes().ends_with(it))
            {
                found.insert(name, path);
            }
        }
    }
    found
}

/// One topic with messages, in the words of the list.
#[derive(Debug, Default, PartialEq, Eq)]
struct Topic {
    /// Type and message encoding.
    type_name: String,
    count: u64,
    /// Time, size and digest; unknown for the files of the conformance set.
    ends: Option<[(u64, usize, String); 2]>,
}

fn topics_found(bag: &Bag) -> BTreeMap<String, Topic> {
    let part = TimelinePart {
        path: Arc::from(bag.source().path()),
        identity: bag.source().identity(),
        contents: bag.contents().clone(),
    };
    let all = (TimeRange::ALL, Direction::Forward, ReadOptions::default());
    let mut timeline = Timeline::new(vec![part], all.0, all.1, all.2, |_| Some(0), || false);
    let mut topics = BTreeMap::new();
    while let Some(message) = timeline.next() {
        let topic: &mut Topic = topics.entry(message.channel.topic.to_string()).or_default();
        let encoding = &message.channel.message_encoding;
        let type_name = message.contents.declared.type_name(message.channel);
        topic.type_name = format!("{type_name}/{encoding}");
        topic.count += 1;
        let end = (message.log_time.as_ns(), message.payload.len(), sha256_prefix(message.payload));
        match &mut topic.ends {
            Some([_, last]) => *last = end,
            none => *none = Some([end.clone(), end]),
        }
    }
    assert!(timeline.report().skipped.is_empty(), "{:?}", timeline.report());
    topics
}

fn topics_listed(row: &Value) -> BTreeMap<String, Topic> {
    let topics = row["topics"].as_object().unwrap().iter().map(|(name, listed)| {
        let ends = row["messages_by_topic"].get(name).map(|topic| {
            ["first", "last"].map(|end| {
                let number = |field: &str| topic[end][field].as_u64().unwrap();
                let digest = topic[end]["sha256"].as_str().unwrap().to_owned();
                (number("time_ns"), usize::try_from(number("size")).unwrap(), digest)
            })
        });
        // A channel without a type has a dash there.
        let type_name = listed[0].as_str().unwrap().trim_start_matches('-').to_owned();
        (name.clone(), Topic { type_name, count: listed[1].as_u64().unwrap(), ends })
    });
    let mut listed: BTreeMap<String, Topic> = topics.filter(|(_, it)| it.count > 0).collect();
    for (_, dds, ros) in RENAMED.iter().filter(|(file, ..)| row["file"] == *file) {
        let mut topic = listed.remove(dds[0]).unwrap();
        let encoding = topic.type_name.strip_prefix(dds[1]).unwrap();
        topic.type_name = format!("{}{encoding}", ros[1]);
        listed.insert(ros[0].to_owned(), topic);
    }
    listed
}

/// Tells where a file is not to us what it is to the list, each difference in one short text.
fn differences(opened: &Result<Bag, String>, row: &Value) -> Vec<String> {
    let stopped = row["error"].as_str();
    let bag = match opened {
        Ok(bag) => bag,
        Err(_) if stopped.is_some() && row["messages"] == 0 => return Vec::new(),
        Err(error) => return vec![format!("cannot be opened: {error}")],
    };
    let contents = bag.contents();
    let mut told = Vec::new();
    let mut tell = |what: &str, ours: Value, listed: &Value| {
        if ours != *listed {
            told.push(format!("{what}: {ours}, listed {listed}"));
        }
    };
    tell("messages", json!(contents.n_messages()), &row["messages"]);
    // Of a file that they gave up, the others do not tell the rest.
    if stopped.is_none() {
        tell("profile", json!(contents.declared.profile), &row["profile"]);
        tell("library", json!(contents.declared.library), &row["library"]);
        tell("channels", json!(contents.declared.channels.len()), &row["channels"]);
        tell("attachments", json!(contents.n_attachments), &row["attachments"]);
        tell("metadata", json!(contents.n_metadata), &row["metadata"]);
        tell("damage", json!(format!("{:?}", contents.damage)), &json!("[]"));
        tell("is closed", json!(contents.is_closed()), &json!(true));
        let encodings: BTreeSet<&str> =
            contents.declared.schemas.iter().map(|schema| &*schema.encoding).collect();
        tell("schema encodings", json!(encodings), &row["schema_enc"]);
        if row["chunks"] != json!(0) {
            let compressions: BTreeSet<&str> =
                contents.chunks.iter().map(|chunk| chunk.compression.as_str()).collect();
            tell("compressions", json!(compressions), &row["compression"]);
            tell("chunks", json!(contents.chunks.len()), &row["chunks"]);
        }
    }
    let (mut found, listed) = (topics_found(bag), topics_listed(row));
    for (name, listed) in listed {
        let Some(mut topic) = found.remove(&name) else {
            told.push(format!("topic {name}: not there"));
            continue;
        };
        if listed.ends.is_none() {
            topic.ends = None;
        }
        if topic != listed {
            told.push(format!("topic {name}: {topic:?}, listed {listed:?}"));
        }
    }
    told.extend(found.keys().map(|name| format!("topic {name}: not listed")));
    told
}

#[test]
fn every_file_holds_what_others_found_in_it() {
    let Some(data) = data() else { return };
    let mut rows: Vec<Value> =
        serde_json::from_slice(&std::fs::read(data.join("index.json")).unwrap()).unwrap();
    rows.extend(rows_of_the_unlisted());
    let rows: BTreeMap<&str, &Value> =
        rows.iter().map(|row| (row["file"].as_str().unwrap(), row)).collect();
    let (mut told, mut refused) = (BTreeSet::new(), Vec::new());
    let (mut messages, mut digests, mut n_indexed) = (0, 0, 0);
    let files = recordings(&data);
    for (name, path) in &files {
        let row = rows.get(&**name).unwrap_or_else(|| panic!("{name} is not listed"));
        let opened =
            Bag::open_unindexed(path, &ReadOptions::default()).map_err(|error| match error {
                // The path is no part of what is wrong.
                ros2_memory_bag::BagError::UnknownFormat { .. } => "not a recording".to_owned(),
                other => other.to_string(),
            });
        told.extend(differences(&opened, row).into_iter().map(|it| (name.clone(), it)));
        let indexed = Bag::open_indexed(path, &ReadOptions::default());
        if let Ok(Some(bag)) = indexed {
            // Where its own index suffices, it tells the same, and of channels without messages.
            let mut index_told = differences(&Ok(bag), row);
            index_told.retain(|it| !told.contains(&(name.clone(), it.clone())));
            assert!(index_told.is_empty(), "{name}, by its index: {index_told:#?}");
            n_indexed += 1;
        }
        match opened {
            Ok(bag) => messages += bag.contents().n_messages(),
            Err(error) => refused.push(format!("{name}: {error}")),
        }
        digests += 2 * row["messages_by_topic"].as_object().map_or(0, serde_json::Map::len);
    }
    println!("{} files, {messages} messages, {digests} digests compared", files.len());
    println!("{n_indexed} files by their index as well");
    println!("refused: {refused:#?}");
    for (file, difference, reason) in EXPLAINED {
        println!("{file}: {difference}: {reason}");
    }
    let explained: BTreeSet<(String, String)> = EXPLAINED
        .iter()
        .map(|(file, difference, _)| ((*file).to_owned(), (*difference).to_owned()))
        .collect();
    let unexplained: Vec<_> = told.difference(&explained).collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    let gone: Vec<_> = explained.difference(&told).collect();
    assert!(gone.is_empty(), "differences that no longer occur: {gone:#?}");
    assert!(files.len() > 320 && messages > 10_000 && digests > 500, "{digests}");
    assert!(n_indexed > 20, "{n_indexed}");
}

#[test]
fn a_recording_that_was_cut_is_served_to_its_last_whole_chunk() {
    let Some(data) = data() else { return };
    let whole = ["drive_a_lz4", "drive_a_zstd"];
    for name in whole {
        let path = |name: String| data.join("recorded-ros2").join(name).with_extension("mcap");
        let open = |path: PathBuf| Bag::open_unindexed(&path, &ReadOptions::default()).unwrap();
        let (whole, cut) = (open(path(name.to_owned())), open(path(format!("{name}_cut"))));
        assert!(matches!(cut.contents().ending, Ending::Open { .. }), "{name}");
        let (chunks, chunks_cut) = (&whole.contents().chunks, &cut.contents().chunks);
        let n_whole = chunks_cut.iter().zip(chunks).take_while(|(cut, whole)| cut == whole).count();
        println!("{name}: {n_whole} of {} chunks", chunks.len());
        assert!(n_whole > 0 && n_whole < chunks.len(), "{name}");
        // What ends behind the last whole chunk is at most one that is cut.
        assert!(chunks_cut.len() <= n_whole + 1, "{name}");
    }
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
