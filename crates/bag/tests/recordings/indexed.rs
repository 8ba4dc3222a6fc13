//! A recording known from its own index answers as one that was gone over, or says that the index
//! lies.

use mcap::records::op;
use ros2_memory_bag::{
    Bag, BagError, Chunk, ChunkBuffer, Contents, DamageKind, ReadOptions, Verdict,
};
use ros2_memory_testkit::{
    bags::{Compression, Layout, bag_bytes},
    prng::Prng,
};

use super::sample::{Sample, Scratch, Seen, content, samples, seen, served};

fn indexed(scratch: &Scratch, bytes: &[u8]) -> Option<Bag> {
    scratch.write(bytes);
    Bag::open_indexed(&scratch.path, &ReadOptions::default()).unwrap()
}

/// What is served, and what is refused on the way.
fn answers(bag: &Bag) -> (Vec<Seen>, Vec<BagError>) {
    let mut buffer = ChunkBuffer::default();
    let (mut all, mut refused) = (Vec::new(), Vec::new());
    for chunk in &bag.contents().chunks {
        match bag.chunk_bytes(chunk, &mut buffer) {
            Ok(bytes) => all.extend(bag.messages(chunk, bytes).map(|m| {
                let channel = bag.contents().declared.channel(m.channel).unwrap();
                Seen {
                    log_time_ns: m.log_time.as_ns(),
                    topic: channel.topic.to_string(),
                    channel_id: channel.id,
                    sequence: m.sequence,
                    publish_time_ns: m.publish_time.as_ns(),
                    payload: m.payload.to_vec(),
                }
            })),
            Err(error) => refused.push(error),
        }
    }
    (all, refused)
}

/// Chunks as if they had been read, with the channels by their numbers.
fn comparable(contents: &Contents) -> Vec<(Chunk, Vec<u16>)> {
    let id = |place: u32| contents.declared.channel(place).unwrap().id;
    contents
        .chunks
        .iter()
        .map(|chunk| {
            let ids = chunk.channels.iter().map(|seen| id(seen.channel)).collect();
            let mut chunk = Chunk { verdict: Verdict::Intact, ..chunk.clone() };
            chunk.channels.iter_mut().for_each(|seen| seen.channel = 0);
            (chunk, ids)
        })
        .collect()
}

#[test]
fn a_whole_index_says_what_a_pass_finds() {
    let scratch = Scratch::new();
    let mut with_index = Vec::new();
    for Sample { name, bytes, messages, .. } in samples() {
        let Some(bag) = indexed(&scratch, &bytes) else { continue };
        with_index.push(name);
        let gone_over = scratch.open(&bytes).unwrap();
        let (contents, expected) = (bag.contents(), gone_over.contents());
        assert_eq!(comparable(contents), comparable(expected), "{name}");
        assert!(contents.chunks.iter().all(|chunk| chunk.verdict == Verdict::Claimed));
        assert_eq!(
            (contents.n_attachments, contents.n_metadata, contents.ending),
            (expected.n_attachments, expected.n_metadata, expected.ending)
        );
        assert_eq!(contents.declared.profile, expected.declared.profile);
        assert_eq!(contents.time_span(), expected.time_span());
        assert_eq!(served(&bag), messages, "{name}");
    }
    assert_eq!(with_index, ["none", "lz4", "zstd", "no crc", "attachments and metadata"]);
}

/// Where each part lies that is not the stored bytes of a chunk.
fn outside_chunks(bytes: &[u8]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..mcap::MAGIC.len()).collect();
    let mut at = mcap::MAGIC.len();
    while at + 9 < bytes.len() {
        let end = at + 9 + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
        match bytes[at] {
            op::CHUNK => {
                let name_len = u32::from_le_bytes(bytes[at + 37..at + 41].try_into().unwrap());
                places.extend(at..at + 49 + name_len as usize);
            }
            _ => places.extend(at..end.min(bytes.len())),
        }
        at = end;
    }
    places
}

/// Sets the checksum of the summary right, so that only what is in it can give it away.
fn fix_summary(bytes: &mut [u8]) {
    let footer = bytes.len() - mcap::MAGIC.len() - 29;
    let start = u64::from_le_bytes(bytes[footer + 9..footer + 17].try_into().unwrap()) as usize;
    if start > 0 && start < footer {
        let crc = crc32fast::hash(&bytes[start..footer + 25]);
        bytes[footer + 25..footer + 29].copy_from_slice(&crc.to_le_bytes());
    }
}

/// What holds for every file: with an index that is believed, nothing is served that a pass does
/// not find, and what is not served is refused by name.
fn assert_no_silent_lie(scratch: &Scratch, bytes: &[u8], what: &str) -> (bool, bool) {
    scratch.write(bytes);
    let Ok(Some(bag)) = Bag::open_indexed(&scratch.path, &ReadOptions::default()) else {
        return (false, false);
    };
    let (mut got, refused) = answers(&bag);
    let (_, mut expected) = scratch.serve(bytes);
    let is_refused = !refused.is_empty();
    if is_refused {
        got.retain(|message| !expected.contains(message));
        assert_eq!(got, [], "{what}: {refused:?}");
    } else {
        got.sort();
        expected.sort();
        assert_eq!(got, expected, "{what}: {:?}", bag.contents());
    }
    (true, is_refused)
}

#[test]
fn an_index_changed_anywhere_is_refused_or_found_out() {
    let scratch = Scratch::new();
    let seed = 61;
    println!("seed {seed}");
    let mut prng = Prng::new(seed);
    for Sample { name, bytes, .. } in samples() {
        if indexed(&scratch, &bytes).is_none() {
            continue;
        }
        let places = outside_chunks(&bytes);
        let (mut n_believed, mut n_refused) = (0, 0);
        for _ in 0..1_000 {
            let mut bytes = bytes.clone();
            let n_changes = 1 + prng.index(2);
            for _ in 0..n_changes {
                let at = places[prng.index(places.len())];
                bytes[at] = match prng.below(4) {
                    0 => 0,
                    1 => 0xFF,
                    2 => bytes[at] ^ 1,
                    _ => (prng.next_u64() >> 56) as u8,
                };
            }
            fix_summary(&mut bytes);
            let (believed, refused) = assert_no_silent_lie(&scratch, &bytes, name);
            n_believed += usize::from(believed);
            n_refused += usize::from(refused);
        }
        println!("{name}: {n_believed} believed, {n_refused} found out later");
    }
}

#[test]
fn a_chunk_changed_behind_its_index_is_refused_when_it_is_read() {
    let scratch = Scratch::new();
    let (channels, messages) = content(40, 60, 11);
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        for with_crc in [true, false] {
            let layout = Layout { compression, with_crc, chunk_bytes: 300, ..Layout::default() };
            let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
            let bag = indexed(&scratch, &bytes).unwrap();
            let chunk = bag.contents().chunks.last().unwrap().clone();
            let (from, len) = (chunk.offset as usize, chunk.stored_len as usize);
            let mut n_refused = 0;
            for at in from..from + len {
                let mut bytes = bytes.clone();
                bytes[at] ^= 0x10;
                scratch.write(&bytes);
                let bag =
                    Bag::open_indexed(&scratch.path, &ReadOptions::default()).unwrap().unwrap();
                let (got, refused) = answers(&bag);
                let all = seen(&channels, &messages);
                // Not every bit of a compressed chunk changes what it inflates to.
                if with_crc {
                    assert!(refused.len() == 1 || got == all, "{compression:?}: {at}");
                    assert!(all.starts_with(&got), "{compression:?}: {at}");
                }
                n_refused += refused.len();
            }
            assert!(n_refused > 0, "{compression:?}");
        }
    }
}

#[test]
fn a_claim_that_is_not_true_names_the_index_and_both_numbers() {
    let scratch = Scratch::new();
    let (channels, messages) = content(40, 60, 12);
    // Without checksums, so that the messages themselves tell.
    let layout = Layout { with_crc: false, chunk_bytes: 300, ..Layout::default() };
    let mut bytes = bag_bytes(&channels, &messages, &layout).unwrap();
    let bag = indexed(&scratch, &bytes).unwrap();
    let chunk = bag.contents().chunks.last().unwrap();
    // A message of the last chunk gets another channel, and another time.
    let at = chunk.offset as usize + 9;
    let other = if bytes[at] == 3 { 0 } else { 3 };
    bytes[at] = other;
    scratch.write(&bytes);
    let bag = Bag::open_indexed(&scratch.path, &ReadOptions::default()).unwrap().unwrap();
    let refused = answers(&bag).1;
    let [BagError::Damaged { kind: DamageKind::IndexLies { what, claimed, found }, .. }] =
        refused.as_slice()
    else {
        panic!("{refused:?}")
    };
    assert!(what.contains("channel") && claimed != found, "{what} {claimed} {found}");
}

#[test]
fn files_without_a_whole_index_are_left_to_a_pass() {
    let scratch = Scratch::new();
    let (channels, messages) = content(40, 60, 13);
    let base = Layout { chunk_bytes: 300, ..Layout::default() };
    for layout in [
        Layout { with_summary: false, ..base },
        Layout { with_statistics: false, ..base },
        Layout { with_message_index: false, ..base },
        Layout { repeat_schemas: false, ..base },
        Layout { chunked: false, ..base },
    ] {
        let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
        assert!(indexed(&scratch, &bytes).is_none(), "{layout:?}");
    }
    let bytes = bag_bytes(&channels, &messages, &base).unwrap();
    for cut in mcap::MAGIC.len()..bytes.len() {
        scratch.write(&bytes[..cut]);
        let outcome = Bag::open_indexed(&scratch.path, &ReadOptions::default());
        assert!(outcome.is_ok_and(|bag| bag.is_none()), "{cut}");
    }
}

#[test]
fn bags_of_other_writers_are_known_from_their_index() {
    let data = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/recorded-ros2");
    if !data.is_dir() {
        println!("skipped: no real bags beside the project");
        return;
    }
    let (mut n_known, mut n_all) = (0, 0);
    for file in ros2_memory_bag::discover(&data).files {
        n_all += 1;
        let options = ReadOptions::default();
        let Some(bag) = Bag::open_indexed(&file.path, &options).unwrap() else { continue };
        n_known += 1;
        let gone_over = Bag::open_unindexed(&file.path, &options).unwrap();
        assert_eq!(
            comparable(bag.contents()).len(),
            comparable(gone_over.contents()).len(),
            "{}",
            file.path.display()
        );
        let (got, refused) = answers(&bag);
        assert!(refused.is_empty(), "{refused:?}");
        assert_eq!(got, served(&gone_over), "{}", file.path.display());
    }
    println!("{n_known} of {n_all} known from their index");
    assert!(n_known * 2 > n_all, "{n_known} of {n_all}");
}
