//! The checksums over more than a chunk.

use mcap::records::op;
use ros2_memory_bag::{Damage, DamageKind, Verdict};
use ros2_memory_testkit::bags::{Compression, Layout, bag_bytes};

use super::{
    hand::{Hand, HandChunk, channel, message, record},
    sample::{Scratch, content, seen},
};

/// Where the record of this kind starts that comes first.
fn first(bytes: &[u8], opcode: u8) -> usize {
    let mut at = mcap::MAGIC.len();
    while bytes[at] != opcode {
        at += 9 + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
    }
    at
}

#[test]
fn a_changed_message_outside_chunks_is_served_as_doubtful() {
    let (channels, messages) = content(30, 60, 3);
    let layout = Layout { chunked: false, ..Layout::default() };
    let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
    let scratch = Scratch::new();
    let (bag, got) = scratch.serve(&bytes);
    assert_eq!(got, seen(&channels, &messages));
    assert!(bag.contents().chunks.iter().all(|chunk| chunk.verdict == Verdict::Unchecked));
    let data_end = first(&bytes, op::DATA_END);
    // A byte of the first payload, of a time, of a topic, and of the checksum itself.
    let payload = first(&bytes, op::MESSAGE) + 9 + 22;
    let topic = first(&bytes, op::CHANNEL) + 9 + 2 + 2 + 4;
    for at in [payload, payload - 20, topic, data_end + 9] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let (bag, got) = scratch.serve(&changed);
        assert_eq!(got.len(), messages.len(), "{at}");
        let contents = bag.contents();
        let [Damage { offset, kind: DamageKind::DataCrc { expected, found } }] =
            contents.damage.as_slice()
        else {
            panic!("{at}: {:?}", contents.damage)
        };
        assert_eq!(*offset, data_end as u64);
        assert_ne!(expected, found);
        assert!(contents.chunks.iter().all(|chunk| chunk.verdict == Verdict::Doubtful), "{at}");
    }
}

#[test]
fn a_wrong_data_checksum_beside_good_chunks_is_said_and_costs_nothing() {
    let scratch = Scratch::new();
    let (channels, messages) = content(30, 60, 4);
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let layout = Layout { compression, ..Layout::default() };
        let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
        let mut changed = bytes.clone();
        changed[first(&bytes, op::MESSAGE_INDEX) + 9 + 6] ^= 1;
        let (bag, got) = scratch.serve(&changed);
        assert_eq!(got, seen(&channels, &messages));
        let contents = bag.contents();
        assert!(
            matches!(contents.damage.as_slice(), [Damage { kind: DamageKind::DataCrc { .. }, .. }]),
            "{:?}",
            contents.damage
        );
        assert!(contents.chunks.iter().all(|chunk| chunk.verdict == Verdict::Intact));
    }
}

#[test]
fn nothing_of_a_summary_with_a_wrong_checksum_is_believed() {
    let scratch = Scratch::new();
    let (channels, messages) = content(60, 60, 5);
    let bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
    let chunk_index = first(&bytes, op::CHUNK_INDEX);
    let summary = first(&bytes, op::DATA_END) + 13;
    let mut changed = bytes.clone();
    // The index names a place without a chunk.
    changed[chunk_index + 9 + 16] ^= 1;
    let (bag, got) = scratch.serve(&changed);
    assert_eq!(got, seen(&channels, &messages));
    let damage = &bag.contents().damage;
    assert!(
        matches!(damage.as_slice(), [Damage { offset, kind: DamageKind::SummaryCrc { .. } }]
            if *offset == summary as u64),
        "{damage:?}"
    );
    // A topic that the summary alone would declare: its chunk is lost.
    let chunk = first(&bytes, op::CHUNK);
    let channel_in_summary = {
        let mut at = summary;
        while bytes[at] != op::CHANNEL {
            at += 9 + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
        }
        at
    };
    let mut lost = bytes.clone();
    lost[chunk + 80] ^= 1;
    let (bag, _) = scratch.serve(&lost);
    assert_eq!(bag.contents().declared.channels.len(), 3, "the summary declares what was lost");
    lost[channel_in_summary + 9 + 8] ^= 1;
    let (bag, got) = scratch.serve(&lost);
    let topics: Vec<&str> = got.iter().map(|message| message.topic.as_str()).collect();
    assert!(topics.iter().all(|topic| ["/tf", "/talk"].contains(topic)), "{topics:?}");
    let kinds: Vec<&DamageKind> = bag.contents().damage.iter().map(|d| &d.kind).collect();
    assert!(kinds.iter().any(|kind| matches!(kind, DamageKind::SummaryCrc { .. })), "{kinds:?}");
}

#[test]
fn checksums_that_the_writer_left_out_are_not_missed() {
    let (channels, messages) = content(30, 60, 6);
    for chunked in [true, false] {
        let layout = Layout { chunked, with_crc: false, ..Layout::default() };
        let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
        let (bag, got) = Scratch::new().serve(&bytes);
        assert_eq!(got, seen(&channels, &messages));
        assert_eq!(bag.contents().damage, []);
    }
}

#[test]
fn a_chunk_without_checksum_is_doubtful_in_a_doubtful_data_section() {
    let mut hand = Hand::new();
    hand.put(&channel(1, 0, "/a", "json"));
    let chunk = |time| HandChunk::plain(message(1, time, b"{}"));
    hand.put(&HandChunk { crc: 0, ..chunk(1) }.record());
    hand.put(&chunk(2).record());
    hand.put(&record(op::DATA_END, &7u32.to_le_bytes()));
    let (bag, got) = Scratch::new().serve(&hand.footer(0));
    assert_eq!(got.len(), 2);
    let verdicts: Vec<Verdict> = bag.contents().chunks.iter().map(|chunk| chunk.verdict).collect();
    assert_eq!(verdicts, [Verdict::Doubtful, Verdict::Intact]);
    assert!(matches!(bag.contents().damage[0].kind, DamageKind::DataCrc { expected: 7, .. }));
}
