//! The files under `fixtures/` are those that this program makes.
//!
//! After a change here, `WRITE_FIXTURES=1 cargo test -p ros2-memory-testkit --test fixtures`
//! writes them anew.

#![cfg(test)]

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    content::{Content, Kind, Place},
    payload::ByteOrder,
};

/// 2026-01-01 00:00:00 UTC.
const START_NS: u64 = 1_767_225_600_000_000_000;
const STEP_NS: u64 = 100_000_000;

fn channels() -> Vec<TestChannel> {
    let channel = |id, topic: &str, kind: Kind, latched| TestChannel {
        id,
        topic: topic.to_owned(),
        type_name: kind.type_name().to_owned(),
        definition: kind.definition().to_owned(),
        latched,
    };
    vec![
        channel(1, "/goal", Kind::Point, false),
        channel(2, "/battery", Kind::Number, false),
        channel(3, "/robot_name", Kind::Text, true),
    ]
}

/// Ten messages a second: a point, every fifth a number instead, and the name in front of all.
fn messages(numbers: std::ops::Range<u32>) -> Vec<TestMessage> {
    numbers
        .map(|n| {
            let log_time_ns = START_NS + u64::from(n) * STEP_NS;
            let (channel, content) = match n {
                0 => (3, Content::Text("r2".to_owned())),
                n if n % 5 == 0 => (2, Content::Number(12.6 - f64::from(n) / 100.0)),
                n => {
                    let place = Place { x: f64::from(n) / 10.0, y: -0.5, z: 0.0 };
                    (1, Content::Point { serial: n.into(), place })
                }
            };
            TestMessage {
                channel,
                log_time_ns,
                publish_time_ns: log_time_ns - 1_000,
                sequence: n,
                payload: content.payload(ByteOrder::Little, log_time_ns),
            }
        })
        .collect()
}

fn bag(numbers: std::ops::Range<u32>, layout: &Layout) -> Vec<u8> {
    bag_bytes(&channels(), &messages(numbers), layout).unwrap()
}

/// A folder as rosbag2 leaves it: three splits of a second each, named by their metadata.
fn rosbag2_folder(files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let layout = Layout { compression: Compression::Zstd, ..Layout::default() };
    let mut yaml = format!(
        "rosbag2_bagfile_information:
  version: 5
  storage_identifier: mcap
  duration:
    nanoseconds: {}
  starting_time:
    nanoseconds_since_epoch: {START_NS}
  message_count: 30
  topics_with_message_count:
",
        29 * STEP_NS
    );
    for channel in channels() {
        let all = messages(0..30);
        let count = all.iter().filter(|message| message.channel == channel.id).count();
        write!(
            yaml,
            "    - topic_metadata:
        name: {}
        type: {}
        serialization_format: cdr
        offered_qos_profiles: \"\"
      message_count: {count}
",
            channel.topic, channel.type_name
        )
        .unwrap();
    }
    yaml += "  compression_format: \"\"\n  compression_mode: \"\"\n  relative_file_paths:\n";
    for split in 0..3 {
        let name = format!("drive_{split}.mcap");
        writeln!(yaml, "    - {name}").unwrap();
        let numbers = split * 10..(split + 1) * 10;
        files.insert(Path::new("drive").join(name), bag(numbers, &layout));
    }
    yaml += "  files:\n";
    for split in 0..3u64 {
        write!(
            yaml,
            "    - path: drive_{split}.mcap
      starting_time:
        nanoseconds_since_epoch: {}
      duration:
        nanoseconds: {}
      message_count: 10
",
            START_NS + split * 10 * STEP_NS,
            9 * STEP_NS
        )
        .unwrap();
    }
    files.insert("drive/metadata.yaml".into(), yaml.into_bytes());
}

/// Every fixture by its path.
fn fixtures() -> BTreeMap<PathBuf, Vec<u8>> {
    let plain = Layout::default();
    let mut files = BTreeMap::new();
    for (name, layout) in [
        ("none.mcap", plain),
        ("lz4.mcap", Layout { compression: Compression::Lz4, ..plain }),
        ("zstd.mcap", Layout { compression: Compression::Zstd, ..plain }),
        ("unchunked.mcap", Layout { chunked: false, ..plain }),
        ("no_summary.mcap", Layout { with_summary: false, ..plain }),
    ] {
        files.insert(name.into(), bag(0..30, &layout));
    }
    let whole = bag(0..30, &plain);
    files.insert("torn.mcap".into(), whole[..whole.len() / 2].to_vec());
    rosbag2_folder(&mut files);
    files
}

#[test]
fn the_committed_fixtures_are_those_of_this_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let fixtures = fixtures();
    if std::env::var_os("WRITE_FIXTURES").is_some() {
        for (path, bytes) in &fixtures {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
    let mut committed = BTreeMap::new();
    collect(&folder, Path::new(""), &mut committed);
    assert!(committed.remove(Path::new("README.md")).is_some());
    let names = |files: &BTreeMap<PathBuf, _>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&fixtures));
    for (path, bytes) in &fixtures {
        assert!(committed[path] == *bytes, "{} differs", path.display());
    }
}

#[test]
fn each_fixture_is_small_and_named_in_the_list() {
    let list = include_str!("../../../fixtures/README.md");
    for (path, bytes) in fixtures() {
        assert!(bytes.len() < 16 << 10, "{}: {} bytes", path.display(), bytes.len());
        assert!(list.contains(&format!("`{}`", path.display())), "{}", path.display());
    }
}

#[test]
fn the_fixtures_hold_what_the_list_says() {
    for (path, bytes) in fixtures() {
        if path.extension().is_none_or(|extension| extension != "mcap") {
            continue;
        }
        let options = mcap::read::Options::IgnoreEndMagic;
        let count = mcap::MessageStream::new_with_options(&bytes, options.into())
            .unwrap()
            .map_while(Result::ok)
            .count();
        let expected = if path.starts_with("drive") { 10 } else { 30 };
        if path == Path::new("torn.mcap") {
            assert!(0 < count && count < expected, "{count}");
        } else {
            assert_eq!(count, expected, "{}", path.display());
        }
    }
}

fn collect(root: &Path, below: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}
