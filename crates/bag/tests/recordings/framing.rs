//! One wrong opcode or length, or a break in front of all messages, costs no message that its
//! bytes leave in no doubt.

use mcap::records::op;
use ros2_memory_bag::DamageKind;
use ros2_memory_testkit::prng::Prng;

use super::{
    hand::{Hand, HandChunk, channel, lying_record, message, record},
    sample::{Scratch, Seen},
};

fn times(served: &[Seen]) -> Vec<u64> {
    served.iter().map(|message| message.log_time_ns).collect()
}

/// A message index without entries.
fn message_index(id: u16) -> Vec<u8> {
    record(op::MESSAGE_INDEX, &[&id.to_le_bytes()[..], &[0; 4]].concat())
}

#[test]
fn a_length_that_ends_inside_an_indexed_chunk_hides_no_message_in_front_of_that() {
    let mut hand = Hand::new();
    hand.declare();
    // Where a file has messages outside chunks.
    hand.put(&message(1, 0, b"before"));
    let first = hand.put(&HandChunk::plain(message(1, 1, b"x")).record());
    let lying = hand.put(&record(0x99, &[7; 20]));
    hand.put(&message(1, 2, b"between"));
    hand.put(&message(2, 3, b"between"));
    let second = hand.put(&HandChunk::plain(message(1, 4, b"y")).record());
    // At the first record inside the second chunk.
    let length = second + 9 + 40 - (lying + 9);
    hand.0[lying as usize + 1..lying as usize + 9].copy_from_slice(&length.to_le_bytes());
    let (bag, got) = Scratch::new().serve(&hand.close(&[first, second]));
    assert_eq!(times(&got), [0, 1, 2, 3, 4], "{:?}", bag.contents());
}

#[test]
fn a_length_that_ends_where_bytes_look_like_a_record_by_chance_is_not_believed() {
    // The index ends at a byte that could be the opcode of a private record, inside the next one.
    let by_chance = [&[0x97][..], &4u64.to_le_bytes(), &[1; 4]].concat();
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&HandChunk::zstd(&message(1, 1, b"x")).record());
    let lying = hand.put(&message_index(1));
    hand.put(&message_index(2));
    hand.put(&HandChunk::zstd(&message(1, 2, b"x")).record());
    let inside = hand.put(&record(op::METADATA, &[&[0; 8][..], &by_chance, &[3; 40]].concat()));
    hand.put(&HandChunk::zstd(&message(1, 3, b"x")).record());
    let length = inside + 9 + 8 - (lying + 9);
    hand.0[lying as usize + 1..lying as usize + 9].copy_from_slice(&length.to_le_bytes());
    let (bag, got) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(times(&got), [1, 2, 3], "{:?}", bag.contents());
    assert!(
        matches!(bag.contents().damage[..], [ref d] if matches!(d.kind, DamageKind::RecordLength { .. })),
        "{:?}",
        bag.contents()
    );
}

#[test]
fn a_header_whose_length_ends_inside_a_message_hides_no_chunk() {
    let mut hand = Hand::new();
    hand.declare();
    // What looks like a private record stands in a message outside chunks.
    let by_chance = [&[0x97][..], &4u64.to_le_bytes(), &[1; 60]].concat();
    for time in 1..4 {
        hand.put(&HandChunk::zstd(&message(1, time, b"x")).record());
    }
    let inside = hand.put(&message(1, 4, &by_chance)) + 9 + 22;
    hand.0[9..17].copy_from_slice(&(inside - 17).to_le_bytes());
    for bytes in [hand.0.clone(), hand.close(&[])] {
        let (bag, got) = Scratch::new().serve(&bytes);
        assert_eq!(times(&got), [1, 2, 3, 4], "{:?}", bag.contents());
        assert_eq!(bag.contents().damage.len(), 1, "{:?}", bag.contents());
    }
}

#[test]
fn a_header_over_a_chunk_that_is_cut_off_is_no_end_of_the_file() {
    let mut hand = Hand::new();
    hand.declare();
    let chunk = hand.put(&HandChunk::plain(message(1, 1, &[7; 300])).record()) as usize;
    for cut in chunk + 60..hand.0.len() {
        let mut bytes = hand.0[..cut].to_vec();
        bytes[9..17].copy_from_slice(&(cut as u64 - 17).to_le_bytes());
        let (bag, _) = Scratch::new().serve(&bytes);
        assert!(!bag.contents().is_closed(), "{:?}", bag.contents());
    }
}

#[test]
fn padding_behind_the_fields_of_a_record_is_no_wrong_length() {
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&HandChunk::zstd(&message(1, 1, b"x")).record());
    for padding in [&[0; 30][..], &[0x97; 30], &message_index(1)] {
        let body = [&message_index(1)[9..], padding].concat();
        hand.put(&lying_record(op::MESSAGE_INDEX, body.len() as u64, &body));
    }
    hand.put(&HandChunk::zstd(&message(1, 2, b"x")).record());
    let (bag, got) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(times(&got), [1, 2]);
    assert_eq!(bag.contents().damage, []);
}

#[test]
fn a_declaration_whose_opcode_became_zero_is_one_all_the_same() {
    for lost in [op::SCHEMA, op::CHANNEL] {
        for chunked in [true, false] {
            let mut hand = Hand::new();
            let start = hand.0.len();
            hand.declare();
            let mut at = start;
            while hand.0[at] != lost {
                at += 9 + u64::from_le_bytes(hand.0[at + 1..at + 9].try_into().unwrap()) as usize;
            }
            hand.0[at] = 0;
            let messages: Vec<u8> =
                (1..7).flat_map(|time| message(1 + (time % 2) as u16, time, b"x")).collect();
            hand.put(&if chunked { HandChunk::zstd(&messages).record() } else { messages });
            let (bag, got) = Scratch::new().serve(&hand.close(&[]));
            assert_eq!(times(&got), [1, 2, 3, 4, 5, 6], "{:?}", bag.contents());
            let declared = &bag.contents().declared;
            let types: Vec<&str> =
                declared.channels.iter().map(|channel| declared.type_name(channel)).collect();
            assert_eq!(types, ["std_msgs/msg/String"; 2]);
            assert_eq!(bag.contents().damage.len(), 1, "{:?}", bag.contents());
        }
    }
}

/// Of a file of chunks whose declarations stand in front of them, and nowhere else.
#[test]
fn a_break_in_front_of_all_chunks_hides_no_declaration_behind_it() {
    let seed = 77;
    let mut prng = Prng::new(seed);
    for case in 0..500 {
        let mut hand = Hand::new();
        hand.declare();
        let whole = hand.put(&channel(3, 1, "/c", "cdr")) as usize;
        let chunk = |time| HandChunk::zstd(&message(3, time, b"x")).record();
        hand.put(&chunk(1));
        hand.put(&chunk(2));
        for _run in 0..=prng.index(2) {
            let from = 8 + prng.index(whole - 8);
            let to = from + 1 + prng.index(whole - from);
            // Noise may say a length that ends at a later record, and then there is no break.
            hand.0[from..to].fill([0x00, 0xFF][prng.index(2)]);
        }
        let bytes = if prng.index(2) == 0 { hand.close(&[]) } else { hand.0 };
        let (bag, got) = Scratch::new().serve(&bytes);
        assert_eq!(times(&got), [1, 2], "case {case} of seed {seed}: {:?}", bag.contents());
    }
}
