//! As many channels as the format has numbers for.

use std::{
    fs,
    time::{Duration, Instant},
};

use ros2_memory_bag::{Bag, Direction, ReadOptions};
use ros2_memory_testkit::mcap_bytes::{
    Codec, FileSpec, Part,
    records::{RawMessage, channel, message, schema},
};
use ros2_memory_time::TimeRange;

use super::rig::stream;

/// How long a file with so many channels may take, from opening to its last message.
const LIMIT: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_secs(2) };

/// A file with `channels` channels and `messages` messages, dealt out to them in turn.
fn file(channels: u16, messages: u32, per_chunk: usize, codec: Codec) -> Vec<u8> {
    let mut parts =
        vec![Part::Record(schema(1, "std_msgs/msg/String", "ros2msg", b"string data\n"))];
    for id in 0..channels {
        parts.push(Part::Record(channel(id, 1, &format!("/topic_{id}"), "cdr", &[])));
    }
    let records: Vec<Vec<u8>> = (0..messages)
        .map(|sequence| {
            message(&RawMessage {
                channel: u16::try_from(sequence % u32::from(channels)).unwrap(),
                sequence,
                log_time_ns: 1_000 + u64::from(sequence),
                publish_time_ns: 1_000,
                payload: vec![0, 1, 0, 0, 1, 0, 0, 0, 0],
            })
        })
        .collect();
    parts.extend(records.chunks(per_chunk).map(|records| Part::Chunk(records.to_vec())));
    FileSpec { parts, codec, ..FileSpec::default() }.bytes()
}

fn check(what: &str, channels: u16, messages: u32, bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.mcap");
    fs::write(&path, bytes).unwrap();
    let start = Instant::now();
    let bag = Bag::open_unindexed(&path, &ReadOptions::default()).unwrap();
    let opened = start.elapsed();
    let contents = bag.contents();
    assert_eq!(contents.damage, []);
    assert_eq!(contents.declared.channels.len(), usize::from(channels));
    assert_eq!(contents.n_messages(), u64::from(messages));
    let options = ReadOptions::default();
    let all = stream(&bag, options, Direction::Forward, TimeRange::ALL, &|_| true);
    let took = start.elapsed();
    assert_eq!(all.messages.len(), messages as usize);
    for m in &all.messages {
        let of = m.sequence % u32::from(channels);
        assert_eq!((u32::from(m.channel_id), &m.topic), (of, &format!("/topic_{of}")));
    }
    let one =
        stream(&bag, options, Direction::Reverse, TimeRange::ALL, &|topic| topic == "/topic_7");
    assert_eq!(one.messages.len(), (messages / u32::from(channels)) as usize);
    println!("{what}: opened in {opened:?}, {} messages in {took:?}", all.messages.len());
    assert!(took < LIMIT, "{what}: {took:?}");
}

#[test]
fn ten_thousand_channels_are_all_served() {
    let bytes = file(10_000, 50_000, 2_000, Codec::Zstd);
    check("10,000 channels", 10_000, 50_000, &bytes);
}

#[test]
fn ten_thousand_channels_in_one_chunk_are_all_served() {
    let bytes = file(10_000, 20_000, 20_000, Codec::None);
    check("10,000 channels, one chunk", 10_000, 20_000, &bytes);
}

#[test]
fn every_number_that_a_channel_can_have_is_served() {
    let bytes = file(u16::MAX, u32::from(u16::MAX) * 2, 4_000, Codec::None);
    check("65,535 channels", u16::MAX, u32::from(u16::MAX) * 2, &bytes);
}
