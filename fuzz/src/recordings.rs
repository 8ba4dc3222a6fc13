//! Files of the fuzzer, and what the reader serves of them.

use std::{fs, path::PathBuf};

use ros2_memory_bag::{
    Bag, BagError, ChunkBuffer, Direction, ReadOptions, Timeline, TimelinePart, Verdict,
};
use ros2_memory_time::TimeRange;
use tempfile::TempDir;

use crate::memory;

/// How the targets read: checking always, and without room for bombs.
pub const OPTIONS: ReadOptions = ReadOptions {
    mapping: true,
    max_chunk_bytes: 1 << 20,
    verify_always: true,
    max_inflated_file_bytes: 1 << 20,
};

thread_local! {
    static FOLDER: TempDir = memory::folder();
}

/// Writes the file that all runs of a thread share.
pub fn write(bytes: &[u8]) -> PathBuf {
    let path = FOLDER.with(|folder| folder.path().join("a.mcap"));
    fs::write(&path, bytes).expect("room for one file");
    path
}

/// Writes a file that no other run has: the reader knows inflated files by inode and time, and
/// many files are written in one tick of the clock.
pub fn write_anew(bytes: &[u8]) -> tempfile::TempPath {
    let folder = FOLDER.with(|folder| folder.path().to_owned());
    let file = tempfile::Builder::new().suffix(".mcap.zstd").tempfile_in(folder);
    let path = file.expect("room for one file").into_temp_path();
    fs::write(&path, bytes).expect("room for one file");
    path
}

/// A message with everything that the format has of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Nanoseconds since the Unix epoch.
    pub log_time_ns: u64,
    /// The publisher's counter.
    pub sequence: u32,
    /// Nanoseconds since the Unix epoch.
    pub publish_time_ns: u64,
    /// The topic of its channel.
    pub topic: String,
    /// The serialized message.
    pub payload: Vec<u8>,
}

/// Writes the file and goes over it.
///
/// # Errors
///
/// As [`Bag::open_unindexed`].
pub fn scanned(bytes: &[u8]) -> Result<Bag, BagError> {
    Bag::open_unindexed(&write(bytes), &OPTIONS)
}

/// What each chunk that is not known to be damaged serves, in file order, with what checking the
/// chunk gave.
///
/// # Panics
///
/// When a chunk that was whole a moment ago is not, or holds another number of messages than was
/// counted.
pub fn in_file_order(bag: &Bag) -> Vec<(Verdict, Seen)> {
    let mut buffer = ChunkBuffer::default();
    let mut seen = Vec::new();
    for chunk in bag.contents().chunks.iter().filter(|c| c.verdict != Verdict::Damaged) {
        let bytes = bag.chunk_bytes(chunk, &mut buffer).expect("what was whole still is");
        let before = seen.len();
        for message in bag.messages(chunk, bytes) {
            let channel = bag.contents().declared.channel(message.channel);
            let topic = channel.expect("a declared channel").topic.to_string();
            let one = Seen {
                log_time_ns: message.log_time.as_ns(),
                sequence: message.sequence,
                publish_time_ns: message.publish_time.as_ns(),
                topic,
                payload: message.payload.to_vec(),
            };
            seen.push((chunk.verdict, one));
        }
        assert_eq!((seen.len() - before) as u64, chunk.n_messages(), "messages of a chunk");
    }
    seen
}

/// The messages of a bag in the order of time, and how many places were passed over.
pub fn stream(bag: &Bag, direction: Direction) -> (Vec<Seen>, usize) {
    let part = TimelinePart {
        path: bag.source().path().into(),
        identity: bag.source().identity(),
        contents: bag.contents().clone(),
    };
    let range = TimeRange::ALL;
    let mut timeline = Timeline::new(vec![part], range, direction, OPTIONS, |_| Some(0), || false);
    let mut seen = Vec::new();
    while let Some(message) = timeline.next() {
        seen.push(Seen {
            log_time_ns: message.log_time.as_ns(),
            sequence: message.sequence,
            publish_time_ns: message.publish_time.as_ns(),
            topic: message.channel.topic.to_string(),
            payload: message.payload.to_vec(),
        });
    }
    (seen, timeline.report().skipped.len())
}

/// The messages of a bag in the order of time, which are also those against it.
///
/// # Panics
///
/// When they are not, are out of order, or are fewer than were counted although nothing was passed
/// over.
pub fn timeline(bag: &Bag) -> (Vec<Seen>, usize) {
    let (forward, n_skipped) = stream(bag, Direction::Forward);
    let (reverse, n_skipped_reverse) = stream(bag, Direction::Reverse);
    assert!(forward.iter().rev().eq(&reverse), "backwards is forwards reversed");
    assert_eq!(n_skipped, n_skipped_reverse, "places that are passed over");
    assert!(forward.is_sorted_by_key(|seen| seen.log_time_ns), "the order of time");
    if n_skipped == 0 {
        assert_eq!(forward.len() as u64, bag.contents().n_messages(), "each counted message");
    }
    (forward, n_skipped)
}
