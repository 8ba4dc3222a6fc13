//! Recordings that were compressed as a whole.

use std::{
    fs::{self, File, FileTimes},
    path::Path,
};

use ros2_memory_bag::{
    Bag, BagError, DamageKind, Direction, ReadOptions, Source, Timeline, discover, run_key,
};
use ros2_memory_time::TimeRange;

use super::{
    damage::record_ends,
    hand::{Hand, message},
    sample::{Sample, Scratch, part, samples, served},
};

fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).unwrap()
}

fn open(path: &Path) -> Result<Bag, BagError> {
    Bag::open_unindexed(path, &ReadOptions::default())
}

#[test]
fn a_compressed_recording_serves_what_the_plain_one_does() {
    let folder = tempfile::tempdir().unwrap();
    for (number, Sample { name, bytes, messages, .. }) in samples().into_iter().enumerate() {
        let stored = compress(&bytes);
        let middle = bytes.len() / 2;
        // As `zstd` writes it, in two frames, and behind a frame that is to be skipped.
        let skipped = [&[0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let frames = [compress(&bytes[..middle]), compress(&bytes[middle..])].concat();
        for (what, stored) in [
            ("one", stored.clone()),
            ("two", frames),
            ("skipped", [&skipped[..], &stored[..]].concat()),
            ("skipped last", [&stored[..], &skipped[..]].concat()),
        ] {
            let path = folder.path().join(format!("{number} {what}.mcap.zstd"));
            fs::write(&path, &stored).unwrap();
            let bag = open(&path).unwrap();
            assert_eq!(served(&bag), messages, "{name}, {what}");
            assert!(bag.contents().is_closed() && bag.contents().damage.is_empty());
            let identity = bag.source().identity();
            assert_eq!(identity.size_bytes, stored.len() as u64);
            assert_eq!(bag.source().len(), bytes.len() as u64);
            let plain = Source::open(&path).unwrap();
            assert_eq!(
                plain.content_mark(plain.len()).unwrap(),
                bag.source().content_mark(1).unwrap()
            );
            let again = Bag::open(&path, identity, bag.contents().clone(), &ReadOptions::default());
            assert_eq!(served(&again.unwrap()), messages, "{name}, {what}");
        }
    }
}

#[test]
fn compressed_recordings_are_found_and_belong_to_their_run() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a_0.mcap.zstd", "a_1.mcap.zst", "a_2.mcap", "a.db3.zstd", "a.zstd"] {
        fs::write(folder.path().join(name), b"").unwrap();
    }
    let found = discover(folder.path()).files;
    let names: Vec<String> = found
        .iter()
        .map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, ["a_0.mcap.zstd", "a_1.mcap.zst", "a_2.mcap"]);
    assert!(found.iter().all(|file| run_key(&file.path) == folder.path().join("a")));
}

#[test]
fn a_compressed_recording_cut_anywhere_serves_what_inflates() {
    let scratch = Scratch::new();
    let Sample { bytes, messages, .. } =
        samples().into_iter().find(|sample| sample.name == "none").unwrap();
    // Blocks as small as those of a file that was flushed often.
    let frames: Vec<u8> = bytes.chunks(400).flat_map(compress).collect();
    let ends = record_ends(&bytes);
    for cut in 4..frames.len() {
        let stored = &frames[..cut];
        let mut whole = Vec::new();
        let mut decoder = zstd::stream::read::Decoder::new(stored).unwrap();
        let is_whole = std::io::Read::read_to_end(&mut decoder, &mut whole).is_ok();
        if whole.len() < mcap::MAGIC.len() {
            let error = scratch.open(stored).unwrap_err();
            assert!(matches!(error, BagError::Damaged { .. }), "{cut}: {error}");
            continue;
        }
        let (bag, got) = scratch.serve(stored);
        let n: usize =
            ends.iter().filter(|(end, _)| *end <= whole.len()).map(|(_, count)| count).sum();
        assert_eq!(got, messages[..n], "{cut}");
        assert!(!bag.contents().is_closed(), "{cut}");
        let is_said = |d: &ros2_memory_bag::Damage| {
            matches!(d.kind, DamageKind::FileInflate { inflated, .. }
                if inflated == whole.len() as u64)
        };
        assert_eq!(bag.contents().damage.iter().any(is_said), !is_whole, "{cut}");
    }
    let mut changed = frames.clone();
    let at: usize = bytes.chunks(400).take(4).map(|chunk| compress(chunk).len()).sum();
    changed[at..at + 30].fill(0xEE);
    let (bag, got) = scratch.serve(&changed);
    assert!(messages.starts_with(&got) && !got.is_empty());
    assert!(matches!(bag.contents().damage.last().unwrap().kind, DamageKind::FileInflate { .. }));
}

#[test]
fn what_inflates_past_the_limit_is_refused_with_both_numbers() {
    let scratch = Scratch::new();
    let Sample { bytes, .. } = samples().swap_remove(0);
    let limit = bytes.len() as u64 - 1;
    let options = ReadOptions { max_inflated_file_bytes: limit, ..ReadOptions::default() };
    let mut without_size = Vec::new();
    zstd::stream::copy_encode(&bytes[..], &mut without_size, 3).unwrap();
    for stored in [compress(&bytes), without_size] {
        scratch.write(&stored);
        let error = Bag::open_unindexed(&scratch.path, &options).unwrap_err();
        assert!(
            matches!(error, BagError::TooLarge { found, limit: l, .. } if found > l && l == limit),
            "{error}"
        );
        assert!(error.to_string().contains(&limit.to_string()), "{error}");
        assert!(open(&scratch.path).is_ok());
        // Also when it was inflated by somebody who may.
        assert!(Bag::open_unindexed(&scratch.path, &options).is_err());
    }
}

#[test]
fn a_compressed_file_of_something_else_is_refused_at_once() {
    let scratch = Scratch::new();
    for bytes in [vec![0; 64 << 20], b"SQLite format 3".repeat(1_000), Vec::new(), vec![0x89]] {
        let error = scratch.open(&compress(&bytes)).map(drop);
        let is_refused = matches!(&error, Err(BagError::UnknownFormat { found, .. })
            if found.len() <= 8);
        assert!(is_refused, "{error:?}");
    }
}

#[test]
fn a_file_is_inflated_once_for_many_questions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap.zstd");
    let Sample { bytes, messages, .. } = samples().swap_remove(0);
    fs::write(&path, compress(&bytes)).unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    assert_eq!(served(&open(&path).unwrap()), messages);
    // Changed behind the back of the file system, which shows whether it is read again.
    let stored = fs::read(&path).unwrap();
    let mut garbage = vec![0xEE; stored.len()];
    garbage[..4].copy_from_slice(&stored[..4]);
    let file = File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &garbage, 0).unwrap();
    file.set_times(FileTimes::new().set_modified(modified)).unwrap();
    assert_eq!(served(&open(&path).unwrap()), messages);
    // A change that the file system shows is seen.
    file.set_times(FileTimes::new().set_modified(modified + std::time::Duration::from_secs(1)))
        .unwrap();
    assert!(open(&path).is_err());
}

#[test]
fn a_large_one_goes_through_a_temporary_file() {
    let mut hand = Hand::new();
    hand.declare();
    for time in 0..70 {
        hand.put(&message(1, time, &vec![7; 1 << 20]));
    }
    let bytes = hand.close(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap.zstd");
    fs::write(&path, compress(&bytes)).unwrap();
    for mapping in [false, true] {
        let options = ReadOptions { mapping, ..ReadOptions::default() };
        let bag = Bag::open_unindexed(&path, &options).unwrap();
        assert_eq!(bag.source().mapped().is_some(), mapping);
        let all = TimeRange::ALL;
        let mut timeline = Timeline::new(
            vec![part(&bag)],
            all,
            Direction::Reverse,
            options,
            |_| Some(0),
            || false,
        );
        let mut n = 0;
        while let Some(message) = timeline.next() {
            n += 1;
            assert_eq!(message.log_time.as_ns(), 70 - n);
            assert!(message.payload.len() == 1 << 20 && message.payload.ends_with(&[7, 7]));
        }
        assert_eq!(n, 70);
    }
}
