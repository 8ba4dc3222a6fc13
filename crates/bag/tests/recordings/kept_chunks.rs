//! A chunk that was inflated for one question serves the next, as long as the file cannot have
//! become another without showing it.

use std::{fs, time::SystemTime};

use ros2_memory_bag::{Bag, Direction, ReadOptions, Timeline, TimelinePart};
use ros2_memory_testkit::bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes};
use ros2_memory_time::TimeRange;

fn bytes_of(letter: u8) -> Vec<u8> {
    let channel = TestChannel {
        id: 1,
        topic: "/a".into(),
        type_name: "std_msgs/msg/String".into(),
        definition: "string data\n".into(),
        latched: false,
    };
    let messages: Vec<TestMessage> = (0..50)
        .map(|sequence| TestMessage {
            channel: 1,
            log_time_ns: 1_000 + u64::from(sequence),
            publish_time_ns: 0,
            sequence,
            payload: vec![letter; 40],
        })
        .collect();
    let layout =
        Layout { compression: Compression::Zstd, chunk_bytes: 1 << 20, ..Layout::default() };
    bag_bytes(&[channel], &messages, &layout).unwrap()
}

fn payloads(part: &TimelinePart) -> Vec<Vec<u8>> {
    let (options, range) = (ReadOptions::default(), TimeRange::ALL);
    let mut timeline = Timeline::new(
        vec![part.clone()],
        range,
        Direction::Forward,
        options,
        |_| Some(0),
        || false,
    );
    let mut payloads = Vec::new();
    while let Some(message) = timeline.next() {
        payloads.push(message.payload.to_vec());
    }
    payloads
}

#[test]
fn a_file_that_is_written_anew_within_one_step_of_the_clock_is_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a_0.mcap");
    // The same length and, as far as the file system tells, the same time.
    let (first, second) = (bytes_of(b'x'), bytes_of(b'y'));
    assert_eq!(first.len(), second.len());
    let now = SystemTime::now();
    let write = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(now).unwrap();
    };
    write(&first);
    let bag = Bag::open_unindexed(&path, &ReadOptions::default()).unwrap();
    let part = TimelinePart {
        path: path.as_path().into(),
        identity: bag.source().identity(),
        contents: bag.contents().clone(),
    };
    assert_eq!(payloads(&part), vec![vec![b'x'; 40]; 50]);
    write(&second);
    assert_eq!(payloads(&part), vec![vec![b'y'; 40]; 50]);
}

#[test]
fn questions_about_a_settled_file_get_the_same_answers_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let parts: Vec<TimelinePart> = (b'a'..=b'z')
        .map(|letter| {
            let path = folder.path().join(format!("{}_0.mcap", char::from(letter)));
            fs::write(&path, bytes_of(letter)).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
            let bag = Bag::open_unindexed(&path, &ReadOptions::default()).unwrap();
            let (identity, contents) = (bag.source().identity(), bag.contents().clone());
            TimelinePart { path: path.as_path().into(), identity, contents }
        })
        .collect();
    // More files than chunks are kept, in an order that comes back to some at once.
    for round in 0..200usize {
        let place = round * round % 26;
        let letter = b'a' + place as u8;
        assert_eq!(payloads(&parts[place]), vec![vec![letter; 40]; 50], "{round}");
    }
}
