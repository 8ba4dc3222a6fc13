//! Some messages of a large uncompressed bag are gone to by its message indexes, which are used
//! only where they say what the walk has seen.

use std::{fs, path::Path};

use ros2_memory_bag::{Bag, Direction, ReadOptions, Timeline, TimelinePart};
use ros2_memory_testkit::bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes};
use ros2_memory_time::{LogTime, TimeRange};

const N_MESSAGES: u32 = 30_000;
const MESSAGE_INDEX: u8 = 7;

/// A bag of 12 MB: every tenth message is of the first topic, every seventh of the second, in an
/// order of time that goes back a little now and then.
fn bytes() -> Vec<u8> {
    let channel = |id, topic: &str| TestChannel {
        id,
        topic: topic.into(),
        type_name: "std_msgs/msg/String".into(),
        definition: "string data\n".into(),
        latched: false,
    };
    let channels = [channel(1, "/rare"), channel(2, "/other"), channel(3, "/most")];
    let messages: Vec<TestMessage> = (0..N_MESSAGES)
        .map(|sequence| TestMessage {
            channel: if sequence % 10 == 0 {
                1
            } else if sequence % 7 == 0 {
                2
            } else {
                3
            },
            log_time_ns: 1_000_000 + u64::from(sequence) * 1_000 - u64::from(sequence % 3) * 1_500,
            publish_time_ns: u64::from(sequence) + 5,
            sequence,
            payload: sequence.to_le_bytes().repeat(100),
        })
        .collect();
    let layout =
        Layout { compression: Compression::None, chunk_bytes: 256 << 10, ..Layout::default() };
    bag_bytes(&channels, &messages, &layout).unwrap()
}

/// Time, publish time, sequence, topic and payload of each message.
type Served = Vec<(u64, u64, u32, String, Vec<u8>)>;

fn served(
    part: &TimelinePart,
    topics: &[&str],
    range: TimeRange,
    direction: Direction,
    mapping: bool,
) -> Served {
    let options = ReadOptions { mapping, ..ReadOptions::default() };
    let rank = |topic: &str| topics.iter().position(|of| *of == topic).map(|rank| rank as u32);
    let select = |channel: &ros2_memory_bag::Channel| rank(&channel.topic);
    let mut timeline =
        Timeline::new(vec![part.clone()], range, direction, options, select, || false);
    let mut served = Served::new();
    while let Some(message) = timeline.next() {
        served.push((
            message.log_time.as_ns(),
            message.publish_time.as_ns(),
            message.sequence,
            message.channel.topic.to_string(),
            message.payload.to_vec(),
        ));
    }
    assert!(timeline.report().skipped.is_empty());
    served
}

fn part_of(path: &Path) -> TimelinePart {
    let bag = Bag::open_unindexed(path, &ReadOptions::default()).unwrap();
    let (identity, contents) = (bag.source().identity(), bag.contents().clone());
    TimelinePart { path: path.into(), identity, contents }
}

/// Compares what is gone to by the indexes with what a walk finds; returns how many chunks have
/// indexes that are used.
fn compare(path: &Path) -> usize {
    let part = part_of(path);
    let some = TimeRange::new(LogTime::from_ns(4_000_000), LogTime::from_ns(9_000_000));
    for topics in [&["/rare"][..], &["/other", "/rare"], &["/other"], &["/most", "/rare"]] {
        for range in [TimeRange::ALL, some] {
            for direction in [Direction::Forward, Direction::Reverse] {
                let by_index = served(&part, topics, range, direction, true);
                let walked = served(&part, topics, range, direction, false);
                assert!(by_index == walked, "{topics:?} {range:?} {direction:?}");
                assert!(by_index.len() > 500);
            }
        }
    }
    part.contents.chunks.iter().filter(|chunk| chunk.index_len > 0).count()
}

#[test]
fn messages_that_are_gone_to_are_those_that_a_walk_finds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.mcap");
    fs::write(&path, bytes()).unwrap();
    let n_chunks = part_of(&path).contents.chunks.len();
    assert!(n_chunks > 40, "{n_chunks}");
    assert_eq!(compare(&path), n_chunks);
}

#[test]
fn an_index_that_lies_about_any_message_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.mcap");
    let whole = bytes();
    fs::write(&path, &whole).unwrap();
    let part = part_of(&path);
    let n_chunks = part.contents.chunks.len();
    let chunk = &part.contents.chunks[n_chunks / 2];
    // The first record of the index of that chunk, its length, channel and list in front of the
    // entries, each of which is a time and an offset.
    let record = (chunk.offset + chunk.stored_len) as usize;
    assert_eq!(whole[record], MESSAGE_INDEX);
    let entries = record + 9 + 2 + 4;
    let n_entries =
        u32::from_le_bytes(whole[entries - 4..entries].try_into().unwrap()) as usize / 16;
    let mut lies: Vec<(&str, Vec<u8>)> = Vec::new();
    let mut lie = |what, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        lies.push((what, bytes));
    };
    lie("a time", &|bytes| bytes[entries + 16 * (n_entries / 2)] ^= 1);
    lie("an offset", &|bytes| bytes[entries + 8] ^= 1);
    lie("the channel", &|bytes| bytes[entries - 6] ^= 1);
    lie("one message twice and another not at all", &|bytes| {
        bytes.copy_within(entries + 16..entries + 32, entries);
    });
    lie("no index at all", &|bytes| bytes[record] = 0x80);
    for (what, bytes) in lies {
        fs::write(&path, bytes).unwrap();
        assert_eq!(compare(&path), n_chunks - 1, "{what}");
    }
}
