//! What is wrong with an index is told, with both numbers, and nothing else is.

use mcap::records::op;
use ros2_memory_bag::{Finding, FindingKind, ReadOptions, Severity, audit};
use ros2_memory_testkit::bags::{Compression, Layout, bag_bytes};

use super::{
    hand::{Hand, HandChunk, message},
    sample::{Sample, Scratch, content, samples},
};

fn findings(scratch: &Scratch, bytes: &[u8]) -> Vec<Finding> {
    let bag = scratch.open(bytes).unwrap();
    audit(bag.source(), bag.contents(), &ReadOptions::default()).unwrap()
}

/// Where the records of this kind start.
fn all(bytes: &[u8], opcode: u8) -> Vec<usize> {
    let mut at = mcap::MAGIC.len();
    let mut found = Vec::new();
    while at + 9 <= bytes.len() - mcap::MAGIC.len() {
        if bytes[at] == opcode {
            found.push(at);
        }
        at += 9 + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
    }
    found
}

#[test]
fn a_sound_file_has_nothing_but_information() {
    let scratch = Scratch::new();
    for Sample { name, bytes, .. } in samples() {
        let found = findings(&scratch, &bytes);
        let grave: Vec<&Finding> =
            found.iter().filter(|finding| finding.severity > Severity::Information).collect();
        assert!(grave.is_empty(), "{name}: {grave:?}");
    }
}

#[test]
fn each_number_that_is_changed_is_found() {
    use FindingKind::{ChunkIndex, Declaration, MessageIndex, Statistics, SummaryOffset};
    let scratch = Scratch::new();
    let (channels, messages) = content(40, 60, 21);
    for compression in [Compression::None, Compression::Zstd] {
        let layout = Layout { compression, chunk_bytes: 300, with_crc: false, ..Layout::default() };
        let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
        let statistics = all(&bytes, op::STATISTICS)[0] + 9;
        let chunk_index = *all(&bytes, op::CHUNK_INDEX).last().unwrap() + 9;
        let message_index = all(&bytes, op::MESSAGE_INDEX)[0] + 9;
        let offsets = all(&bytes, op::SUMMARY_OFFSET)[0] + 9;
        let footer = all(&bytes, op::FOOTER)[0] + 9;
        let summary = bytes.len() - 28;
        let start = u64::from_le_bytes(bytes[summary..summary + 8].try_into().unwrap()) as usize;
        let channel = *all(&bytes, op::CHANNEL).iter().find(|at| **at >= start).unwrap() + 9;
        let map_len =
            u32::from_le_bytes(bytes[chunk_index + 32..chunk_index + 36].try_into().unwrap())
                as usize;
        let behind_map = chunk_index + 36 + map_len;
        for (what, at, kind) in [
            ("messages", statistics, Statistics),
            ("schemas", statistics + 8, Statistics),
            ("channels", statistics + 10, Statistics),
            ("attachments", statistics + 14, Statistics),
            ("metadata", statistics + 18, Statistics),
            ("chunks", statistics + 22, Statistics),
            ("first time", statistics + 26, Statistics),
            ("last time", statistics + 34, Statistics),
            ("a channel", statistics + 46, Statistics),
            ("a channel's count", statistics + 48, Statistics),
            ("first time of a chunk", chunk_index, ChunkIndex),
            ("last time of a chunk", chunk_index + 8, ChunkIndex),
            ("start of a chunk", chunk_index + 16, ChunkIndex),
            ("length of a chunk", chunk_index + 24, ChunkIndex),
            ("channel of an index", chunk_index + 36, ChunkIndex),
            ("place of an index", chunk_index + 38, ChunkIndex),
            ("length of the indexes", behind_map, ChunkIndex),
            ("channel of entries", message_index, MessageIndex),
            ("time of an entry", message_index + 6, MessageIndex),
            ("offset of an entry", message_index + 14, MessageIndex),
            ("start of a group", offsets + 1, SummaryOffset),
            ("length of a group", offsets + 9, SummaryOffset),
            ("start of the offsets", footer + 8, SummaryOffset),
            ("a topic", channel + 9, Declaration),
        ] {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x20;
            let found = findings(&scratch, &bytes);
            let is_told = found.iter().any(|finding| {
                finding.kind == kind && finding.severity == Severity::MisleadsReaders
            });
            assert!(is_told, "{compression:?}, {what}: {found:?}");
            assert!(found.iter().all(|finding| !finding.text.is_empty()));
        }
    }
}

#[test]
fn a_wrong_summary_checksum_a_missing_footer_and_bytes_behind_the_end_are_told() {
    let scratch = Scratch::new();
    let (channels, messages) = content(40, 60, 22);
    let bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
    let has = |bytes: &[u8], kind: FindingKind, text: &str| {
        let found = findings(&scratch, bytes);
        let is_told = found.iter().any(|f| f.kind == kind && f.text.contains(text));
        assert!(is_told, "{text}: {found:?}");
    };
    let mut changed = bytes.clone();
    changed[bytes.len() - 9] ^= 1;
    has(&changed, FindingKind::Summary, "CRC");
    has(&bytes[..bytes.len() - 1], FindingKind::Ending, "no footer");
    let behind = [&bytes[..], &[0; 100]].concat();
    has(&behind, FindingKind::Trailing, "100 bytes");
}

#[test]
fn messages_that_a_lost_chunk_held_are_counted_by_the_statistics() {
    let scratch = Scratch::new();
    let (channels, messages) = content(40, 60, 23);
    let layout = Layout { chunk_bytes: 300, ..Layout::default() };
    let mut bytes = bag_bytes(&channels, &messages, &layout).unwrap();
    let chunk = all(&bytes, op::CHUNK)[2];
    bytes[chunk + 80] ^= 1;
    let served = scratch.open(&bytes).unwrap().contents().n_messages();
    let found = findings(&scratch, &bytes);
    let lost =
        format!("40 messages were written, {served} can be served: {} are lost", 40 - served);
    assert!(found.iter().any(|f| f.severity == Severity::CostsData && f.text == lost), "{found:?}");
}

#[test]
fn a_chunk_that_no_index_lists_and_one_that_is_not_there_are_told() {
    let mut hand = Hand::new();
    hand.declare();
    let first = hand.put(&HandChunk::plain(message(1, 5, b"x")).record());
    hand.put(&HandChunk::plain(message(1, 3, b"x")).record());
    let found = findings(&Scratch::new(), &hand.close(&[first, 9_999_999]));
    let texts: Vec<&str> = found.iter().map(|finding| finding.text.as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("with 1 messages is not listed")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("9999999 that is not there")), "{texts:?}");
    assert!(found.iter().any(|finding| finding.kind == FindingKind::Order), "{texts:?}");
}
