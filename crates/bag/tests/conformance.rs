//! Every file of the public conformance set gives what the JSON beside it says, whole and cut.
//!
//! The set lies beside the project, not in it; without it the tests say so and pass.

#![cfg(test)]

#[path = "conformance/expected.rs"]
mod expected;
#[path = "conformance/records.rs"]
mod records;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ros2_memory_bag::{
    Bag, BagError, Direction, Ending, ReadOptions, Timeline, TimelinePart, Verdict,
};
use ros2_memory_time::TimeRange;
use serde_json::json;

use self::{
    expected::{Expected, Seen, conformance_set},
    records::{Found, records},
};

/// A way to learn what a file holds; `None` where that way does not lead there.
type Open = fn(&Path) -> Result<Option<Bag>, BagError>;

fn by_scan(path: &Path) -> Result<Option<Bag>, BagError> {
    Bag::open_unindexed(path, &ReadOptions::default()).map(Some)
}

fn by_index(path: &Path) -> Result<Option<Bag>, BagError> {
    Bag::open_indexed(path, &ReadOptions::default())
}

fn opened(open: Open, path: &Path) -> Option<Bag> {
    open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All messages of a bag, as a timeline gives them.
fn messages(bag: &Bag, direction: Direction) -> Vec<Seen> {
    let part = TimelinePart {
        path: Arc::from(bag.source().path()),
        identity: bag.source().identity(),
        contents: bag.contents().clone(),
    };
    let options = ReadOptions::default();
    let mut timeline =
        Timeline::new(vec![part], TimeRange::ALL, direction, options, |_| Some(0), || false);
    let mut seen = Vec::new();
    while let Some(message) = timeline.next() {
        let declared = &message.contents.declared;
        let schema = declared.schema(message.channel).map(|schema| {
            (schema.name.to_string(), schema.encoding.to_string(), schema.text.to_vec())
        });
        seen.push(Seen {
            channel_id: message.channel.id,
            topic: message.channel.topic.to_string(),
            message_encoding: message.channel.message_encoding.to_string(),
            schema,
            sequence: message.sequence,
            log_time_ns: message.log_time.as_ns(),
            publish_time_ns: message.publish_time.as_ns(),
            payload: message.payload.to_vec(),
        });
    }
    let skipped = &timeline.report().skipped;
    assert!(skipped.is_empty(), "{}: {skipped:?}", bag.source().path().display());
    seen
}

/// Compares the messages both ways; gives how many there are.
fn assert_messages(bag: &Bag, expected: &Expected) -> usize {
    let name = &expected.name;
    assert_eq!(messages(bag, Direction::Forward), expected.messages, "{name}");
    let mut reverse = messages(bag, Direction::Reverse);
    reverse.reverse();
    assert_eq!(reverse, expected.messages, "{name}, backwards");
    let n_messages = expected.messages.len();
    assert_eq!(bag.contents().n_messages(), n_messages as u64, "{name}");
    let span = expected.messages.first().zip(expected.messages.last());
    assert_eq!(
        bag.contents().time_span().map(|(first, last)| (first.as_ns(), last.as_ns())),
        span.map(|(first, last)| (first.log_time_ns, last.log_time_ns)),
        "{name}"
    );
    n_messages
}

/// Compares what is known of the file besides its messages; gives how many Statistics fields
/// were among it.
fn assert_contents(bag: &Bag, expected: &Expected) -> usize {
    let (contents, name) = (bag.contents(), &expected.name);
    assert_eq!(contents.damage, [], "{name}");
    assert_eq!(contents.declared.profile, expected.profile, "{name}");
    assert_eq!(contents.declared.library, expected.library, "{name}");
    assert_eq!(contents.n_attachments, expected.n_attachments, "{name}");
    assert_eq!(contents.n_metadata, expected.n_metadata, "{name}");
    let Some(statistics) = &expected.statistics else { return 0 };
    let (first, last) =
        contents.time_span().map_or((0, 0), |(first, last)| (first.as_ns(), last.as_ns()));
    let mut by_channel = serde_json::Map::new();
    for seen in contents.chunks.iter().flat_map(|chunk| &chunk.channels) {
        let id = contents.declared.channel(seen.channel).unwrap().id;
        let known = by_channel.get(&id.to_string()).and_then(|it| it.as_str()?.parse().ok());
        let count = known.unwrap_or(0u64) + u64::from(seen.count);
        by_channel.insert(id.to_string(), json!(count.to_string()));
    }
    // Messages outside of chunks are a place of their own to us.
    let n_chunks = if expected.has("ch") { contents.chunks.len() } else { 0 };
    let ours = [
        ("attachment_count", json!(contents.n_attachments.to_string())),
        ("metadata_count", json!(contents.n_metadata.to_string())),
        ("schema_count", json!(contents.declared.schemas.len().to_string())),
        ("channel_count", json!(contents.declared.channels.len().to_string())),
        ("message_count", json!(contents.n_messages().to_string())),
        ("message_start_time", json!(first.to_string())),
        ("message_end_time", json!(last.to_string())),
        ("channel_message_counts", by_channel.into()),
        ("chunk_count", json!(n_chunks.to_string())),
    ];
    for (field, found) in &ours {
        assert_eq!(*found, statistics[*field], "{name}: {field}");
    }
    assert_eq!(statistics.len(), ours.len(), "{name}: a field that is not compared");
    ours.len()
}

/// Compares every file that `open` opens, whole; gives the names of those.
fn every_file_gives_what_its_json_says(open: Open) -> Vec<String> {
    let set = conformance_set();
    let (mut names, mut n_messages, mut n_fields) = (Vec::new(), 0, 0);
    for expected in &set {
        let Some(bag) = opened(open, &expected.path) else { continue };
        assert_eq!(bag.contents().ending, Ending::Closed, "{}", expected.name);
        n_messages += assert_messages(&bag, expected);
        n_fields += assert_contents(&bag, expected);
        names.push(expected.name.clone());
    }
    println!(
        "{} of {} files, {n_messages} messages both ways, {n_fields} fields of statistics",
        names.len(),
        set.len()
    );
    assert!(set.is_empty() || (n_messages > 0 && n_fields > 0));
    names
}

#[test]
fn a_scan_gives_what_the_json_says() {
    let names = every_file_gives_what_its_json_says(by_scan);
    let set = conformance_set();
    assert_eq!(names.len(), set.len());
    assert!(set.is_empty() || set.len() >= 280, "{}", set.len());
}

#[test]
fn an_index_gives_what_the_json_says() {
    let names = every_file_gives_what_its_json_says(by_index);
    let needed = ["ch", "chx", "mx", "rch", "rsh", "st"];
    for expected in conformance_set() {
        let is_indexed = needed.iter().all(|feature| expected.has(feature));
        assert!(!is_indexed || names.contains(&expected.name), "{}", expected.name);
    }
}

#[test]
fn a_file_without_its_last_bytes_has_no_index() {
    let (set, cut) = (conformance_set(), Cut::new());
    for expected in &set {
        let bytes = fs::read(&expected.path).unwrap();
        let path = cut.write(&bytes[..bytes.len() - 20]);
        assert!(opened(by_index, &path).is_none(), "{}", expected.name);
    }
    println!("{} files", set.len());
}

/// A file that is cut, in a folder of its own.
struct Cut {
    folder: tempfile::TempDir,
}

impl Cut {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn write(&self, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("cut.mcap");
        fs::write(&path, bytes).unwrap();
        path
    }
}

#[test]
fn a_file_without_its_last_bytes_gives_all_its_messages() {
    let (set, cut) = (conformance_set(), Cut::new());
    let mut n_messages = 0;
    for expected in &set {
        let bytes = fs::read(&expected.path).unwrap();
        // The footer record and the closing magic are longer: all in front of them is whole.
        let path = cut.write(&bytes[..bytes.len() - 20]);
        let bag = opened(by_scan, &path).unwrap();
        assert!(matches!(bag.contents().ending, Ending::Open { .. }), "{}", expected.name);
        n_messages += assert_messages(&bag, expected);
    }
    println!("{} files, {n_messages} messages both ways", set.len());
    assert!(set.is_empty() || n_messages > 1_000);
}

/// How many messages stand whole in front of a cut, and how many of them in a chunk that is cut.
fn whole_in_front(found: &[Found], cut: usize) -> (usize, usize) {
    let whole = || found.iter().filter(|it| it.is_message && it.place.end <= cut);
    let in_cut = whole().filter(|it| it.chunk.as_ref().is_some_and(|chunk| chunk.end > cut));
    (whole().count(), in_cut.count())
}

#[test]
fn a_cut_anywhere_costs_no_whole_record_in_front_of_it() {
    let (set, cut) = (conformance_set(), Cut::new());
    let (mut n_cuts, mut n_messages, mut n_of_cut_chunks) = (0, 0, 0);
    for expected in set.iter().filter(|it| !it.messages.is_empty()) {
        let bytes = fs::read(&expected.path).unwrap();
        let found = records(&bytes);
        assert_eq!(found.iter().filter(|it| it.is_message).count(), expected.messages.len());
        let mut in_file_order = expected.messages.clone();
        in_file_order.sort_by_key(|message| message.sequence);
        // At the end of each record, and a byte in front of it.
        let mut cuts: Vec<usize> =
            found.iter().flat_map(|it| [it.place.end - 1, it.place.end]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        for at in cuts {
            let path = cut.write(&bytes[..at]);
            let name = format!("{} of {at} bytes", expected.name);
            let (n_whole, n_in_cut) = whole_in_front(&found, at);
            let bag = opened(by_scan, &path).unwrap();
            let mut served = messages(&bag, Direction::Forward);
            served.sort_by_key(|message| message.sequence);
            assert_eq!(served.len(), n_whole, "{name}, {n_in_cut} of them in a cut chunk");
            assert_eq!(served, in_file_order[..served.len()], "{name}");
            let chunks = bag.contents().chunks.iter();
            let n_lost = chunks.filter(|chunk| chunk.verdict == Verdict::Damaged).count();
            assert!(n_lost == 0 || served.len() < in_file_order.len(), "{name}");
            n_cuts += 1;
            n_messages += served.len();
            n_of_cut_chunks += n_in_cut;
        }
    }
    println!("{n_cuts} cuts, {n_messages} messages, {n_of_cut_chunks} of them in cut chunks");
    assert!(set.is_empty() || (n_cuts > 2_000 && n_messages > 10_000));
}
