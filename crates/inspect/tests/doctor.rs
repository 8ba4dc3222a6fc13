//! `doctor` names what is wrong with a recording, and finds nothing wrong with one that is well.

#![cfg(test)]

use std::{fs, path::PathBuf, sync::Arc};

use ros2_memory_bag::{ReadOptions, Severity};
use ros2_memory_inspect::{
    Diagnosis, diagnose, diagnosis_json, diagnosis_text, info, info_json, open_files,
};
use ros2_memory_msg::Library;
use ros2_memory_query::{SchemaMap, TypeCache};
use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    content::{Content, Kind},
    payload::ByteOrder,
};

fn bag(layout: Layout, message_encoding: &str) -> Vec<u8> {
    let channel = TestChannel {
        id: 1,
        topic: "/words".to_owned(),
        type_name: Kind::Text.type_name().to_owned(),
        definition: Kind::Text.definition().to_owned(),
        latched: false,
    };
    let messages: Vec<TestMessage> = (0..60u64)
        .map(|n| TestMessage {
            channel: 1,
            sequence: u32::try_from(n).unwrap(),
            log_time_ns: 1_750_000_000_000_000_000 + n * 1_000_000,
            publish_time_ns: 1_750_000_000_000_000_000 + n * 1_000_000,
            payload: Content::Text(format!("word {n}")).payload(ByteOrder::Little, 0),
        })
        .collect();
    let mut bytes = bag_bytes(&[channel], &messages, &layout).unwrap();
    // The name has the length of `cdr`, so that nothing else moves.
    for at in 0..bytes.len().saturating_sub(7) {
        if message_encoding != "cdr" && bytes[at..].starts_with(b"\x03\0\0\0cdr") {
            bytes[at + 4..at + 7].copy_from_slice(message_encoding.as_bytes());
        }
    }
    bytes
}

fn diagnosed(bytes: &[u8]) -> (Diagnosis, PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mcap");
    fs::write(&path, bytes).unwrap();
    let paths = [path.clone()];
    let types = TypeCache::new(Arc::new(Library::new()), SchemaMap::default());
    (diagnose(&paths, &ReadOptions::default(), &types, &|_, _| ()), path, folder)
}

fn zstd() -> Layout {
    Layout { compression: Compression::Zstd, chunk_bytes: 300, ..Layout::default() }
}

#[test]
fn nothing_is_wrong_with_a_recording_that_is_well() {
    let (diagnosis, _, _folder) = diagnosed(&bag(zstd(), "cdr"));
    let file = &diagnosis.files[0];
    assert_eq!((file.worst(), file.n_messages), (None, 60), "{file:?}");
    assert!(file.n_chunks > 3 && file.n_verified == file.n_chunks);
    assert!(diagnosis_text(file).contains(": well; 60 messages"), "{}", diagnosis_text(file));
}

#[test]
fn a_damaged_chunk_is_named_with_its_place_and_counted_also_by_info() {
    let mut bytes = bag(Layout { compression: Compression::None, ..zstd() }, "cdr");
    let at = bytes.windows(7).position(|part| part == b"word 30").unwrap();
    bytes[at] ^= 1;
    let (diagnosis, path, _folder) = diagnosed(&bytes);
    let file = &diagnosis.files[0];
    assert_eq!((file.worst(), file.losses.chunks), (Some(Severity::CostsData), 1));
    assert!(file.n_messages < 60 && file.n_messages > 40, "{}", file.n_messages);
    let text = diagnosis_text(file);
    assert!(text.contains("damaged; ") && text.contains("chunk CRC is"), "{text}");
    assert!(text.contains("lost: 1 chunks of "), "{text}");
    let opened = open_files(&[path], &ReadOptions::default(), &|_, _| ());
    let json = info_json(&info(&opened.parts)[0]);
    assert_eq!(json["losses"]["chunks"], 1);
    assert_eq!(json["losses"], diagnosis_json(file)["losses"]);
}

#[test]
fn a_cut_recording_is_not_closed_and_loses_no_whole_chunk() {
    let bytes = bag(zstd(), "cdr");
    let (diagnosis, _, _folder) = diagnosed(&bytes[..bytes.len() / 2]);
    let file = &diagnosis.files[0];
    assert!(!file.is_closed && file.n_messages > 0 && file.losses.chunks == 0, "{file:?}");
    assert!(diagnosis_text(file).contains(": not closed; "), "{}", diagnosis_text(file));
}

#[test]
fn statistics_that_lie_mislead_others_and_cost_nothing() {
    let mut bytes = bag(Layout { with_crc: false, ..zstd() }, "cdr");
    let count = 60u64.to_le_bytes();
    let at = bytes.len() - bytes.windows(8).rev().position(|part| part == count).unwrap() - 8;
    bytes[at] = 61;
    let (diagnosis, _, _folder) = diagnosed(&bytes);
    let file = &diagnosis.files[0];
    assert_eq!((file.worst(), file.n_messages), (Some(Severity::MisleadsReaders), 60));
    let text = diagnosis_text(file);
    assert!(text.contains("61") && text.contains("60"), "{text}");
}

#[test]
fn messages_that_cannot_be_decoded_are_counted_by_topic() {
    let layout = Layout { with_crc: false, compression: Compression::None, ..zstd() };
    let (diagnosis, _, _folder) = diagnosed(&bag(layout, "abc"));
    let text = diagnosis_text(&diagnosis.files[0]);
    assert!(text.contains("/words: 60 messages of type"), "{text}");
    assert!(text.contains("message encoding \"abc\" is not supported"), "{text}");
}

#[test]
fn what_is_no_recording_is_a_problem_and_no_diagnosis() {
    let (diagnosis, _, _folder) = diagnosed(b"<html>not found</html>");
    assert!(diagnosis.files.is_empty());
    assert!(diagnosis.problems[0].contains("not a recording"), "{:?}", diagnosis.problems);
}
