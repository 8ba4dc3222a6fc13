//! Faults that users of other readers met, each with the smallest file that shows it.

use std::time::{Duration, Instant};

use mcap::records::op;
use ros2_memory_bag::{
    Bag, BagError, Damage, DamageKind, Direction, ReadOptions, Timeline, Verdict,
};
use ros2_memory_testkit::bags::{Layout, bag_bytes};
use ros2_memory_time::TimeRange;

use super::{
    hand::{Hand, HandChunk, channel, lying_record, message, record, schema},
    sample::{Scratch, Seen, content, part, seen},
};

/// The log times of all that is served, in file order.
fn times(served: &[Seen]) -> Vec<u64> {
    served.iter().map(|message| message.log_time_ns).collect()
}

/// The log times in timeline order.
fn timeline(bag: &Bag) -> Vec<u64> {
    let mut timeline = Timeline::new(
        vec![part(bag)],
        TimeRange::ALL,
        Direction::Forward,
        ReadOptions::default(),
        |_| Some(0),
        || false,
    );
    let mut times = Vec::new();
    while let Some(message) = timeline.next() {
        times.push(message.log_time.as_ns());
    }
    times
}

/// A closed file with these chunks, indexed, and where the chunks start.
fn chunked(chunks: &[HandChunk]) -> (Vec<u8>, Vec<u64>) {
    let mut hand = Hand::new();
    hand.declare();
    let starts: Vec<u64> = chunks.iter().map(|chunk| hand.put(&chunk.record())).collect();
    (hand.close(&starts), starts)
}

#[test]
fn br_001_a_chunk_index_without_message_indexes_hides_nothing() {
    let (channels, messages) = content(30, 60, 3);
    let layout = Layout { with_message_index: false, ..Layout::default() };
    let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
    let (bag, served) = Scratch::new().serve(&bytes);
    assert_eq!(served, seen(&channels, &messages));
    assert_eq!(bag.contents().damage, []);
}

#[test]
fn br_007_two_chunks_of_one_time_span_come_out_merged() {
    let of = |id, first: u64| -> Vec<u8> {
        (0..5).flat_map(|n| message(id, first + n * 10, b"x")).collect()
    };
    let (bytes, _) = chunked(&[HandChunk::plain(of(1, 0)), HandChunk::plain(of(2, 5))]);
    let scratch = Scratch::new();
    let (bag, _) = scratch.serve(&bytes);
    assert_eq!(timeline(&bag), [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]);
}

#[test]
fn br_008_a_long_chunk_in_front_of_short_ones_keeps_the_order() {
    let of = |times: &[u64]| -> HandChunk {
        HandChunk::plain(times.iter().flat_map(|t| message(1, *t, b"x")).collect())
    };
    let (bytes, _) = chunked(&[of(&[1, 4]), of(&[2]), of(&[3])]);
    let scratch = Scratch::new();
    let (bag, _) = scratch.serve(&bytes);
    assert_eq!(timeline(&bag), [1, 2, 3, 4]);
}

#[test]
fn br_014_a_schema_with_number_0_is_no_schema() {
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&schema(0, "p/msg/T", "ros2msg", "int32 x"));
    hand.put(&channel(9, 0, "/plain", "json"));
    hand.put(&message(9, 1, b"{}"));
    hand.put(&message(1, 2, b"x"));
    let (bag, served) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(times(&served), [1, 2]);
    let declared = &bag.contents().declared;
    assert_eq!(declared.schemas.len(), 1);
    assert_eq!(declared.channels.last().unwrap().schema, None);
}

#[test]
fn br_016_two_publishers_that_look_alike_are_both_served() {
    let mut hand = Hand::new();
    hand.put(&schema(1, "std_msgs/msg/String", "ros2msg", "string data\n"));
    hand.put(&channel(1, 1, "/tf", "cdr"));
    hand.put(&channel(2, 1, "/tf", "cdr"));
    let records: Vec<u8> =
        (0..10u8).flat_map(|n| message(1 + u16::from(n % 2), n.into(), b"x")).collect();
    let chunk = hand.put(&HandChunk::plain(records).record());
    let scratch = Scratch::new();
    let (bag, served) = scratch.serve(&hand.close(&[chunk]));
    assert_eq!(served.iter().filter(|message| message.channel_id == 2).count(), 5);
    assert_eq!(bag.contents().declared.channels.len(), 2);
    assert_eq!(timeline(&bag), (0..10).collect::<Vec<_>>());
}

#[test]
fn br_017_a_footer_without_a_summary_is_not_followed() {
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&message(1, 5, b"x"));
    let (bag, served) = Scratch::new().serve(&hand.footer(0));
    assert_eq!(times(&served), [5]);
    assert!(bag.contents().is_closed());
}

#[test]
fn br_018_counts_do_not_need_the_statistics() {
    let (channels, messages) = content(30, 60, 4);
    let layout = Layout { with_statistics: false, ..Layout::default() };
    let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
    let (bag, _) = Scratch::new().serve(&bytes);
    assert_eq!(bag.contents().n_messages(), 30);
}

#[test]
fn br_019_statistics_of_a_channel_that_is_not_there_count_nothing() {
    let mut hand = Hand::new();
    hand.declare();
    let messages: Vec<u8> = (0..3).flat_map(|t| message(1, t, b"x")).collect();
    hand.put(&HandChunk::plain(messages).record());
    hand.put(&record(op::DATA_END, &[0; 4]));
    let summary = hand.0.len() as u64;
    let counts = [&1u16.to_le_bytes()[..], &3u64.to_le_bytes(), &77u16.to_le_bytes()].concat();
    let counts = [&counts[..], &9u64.to_le_bytes()].concat();
    let fixed = [&12u64.to_le_bytes()[..], &[0; 2 + 4 + 4 + 4 + 4 + 8 + 8], &20u32.to_le_bytes()];
    hand.put(&record(op::STATISTICS, &[fixed.concat(), counts].concat()));
    let (bag, served) = Scratch::new().serve(&hand.footer(summary));
    assert_eq!(served.len(), 3);
    assert_eq!(bag.contents().n_messages(), 3);
    assert!(bag.contents().declared.channels.iter().all(|channel| channel.id != 77));
}

#[test]
fn br_021_a_time_just_below_2_to_the_64_is_left_out_and_said() {
    let odd = u64::MAX - 90_000_000;
    let records = [message(1, 10, b"a"), message(1, odd, b"b"), message(1, 20, b"c")].concat();
    let (bytes, _) = chunked(&[HandChunk::plain(records)]);
    let (bag, served) = Scratch::new().serve(&bytes);
    assert_eq!(times(&served), [10, 20]);
    assert_eq!(bag.contents().time_span().unwrap().1.as_ns(), 20);
    assert_eq!(bag.contents().damage[0].kind, DamageKind::ImplausibleTime { messages: 1 });
}

#[test]
fn br_022_messages_at_time_zero_count() {
    let records: Vec<u8> = [0, 5, 10].into_iter().flat_map(|t| message(1, t, b"x")).collect();
    let scratch = Scratch::new();
    let (bag, _) = scratch.serve(&chunked(&[HandChunk::plain(records)]).0);
    assert_eq!(bag.contents().time_span().unwrap().0.as_ns(), 0);
    assert_eq!(timeline(&bag), [0, 5, 10]);
}

#[test]
fn br_025_messages_outside_chunks_are_served_and_a_file_without_any_is_empty() {
    let (channels, messages) = content(40, 60, 5);
    let layout = Layout { chunked: false, ..Layout::default() };
    let scratch = Scratch::new();
    let (bag, served) = scratch.serve(&bag_bytes(&channels, &messages, &layout).unwrap());
    assert_eq!(served, seen(&channels, &messages));
    assert_eq!(timeline(&bag).len(), 40);
    let (bag, served) = scratch.serve(&bag_bytes(&channels, &[], &layout).unwrap());
    assert_eq!((served.len(), timeline(&bag).len()), (0, 0));
    assert_eq!(bag.contents().declared.channels.len(), 3);
}

#[test]
fn br_026_one_file_holds_channels_of_several_encodings() {
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&schema(5, "Cloud", "protobuf", "\u{1}"));
    hand.put(&channel(3, 0, "/status", "json"));
    hand.put(&channel(4, 5, "/pc", "protobuf"));
    for id in [1, 3, 4] {
        hand.put(&message(id, id.into(), b"{}"));
    }
    let (bag, served) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(times(&served), [1, 3, 4]);
    let encodings: Vec<&str> =
        bag.contents().declared.channels.iter().map(|c| &*c.message_encoding).collect();
    assert_eq!(encodings, ["cdr", "cdr", "json", "protobuf"]);
}

#[test]
fn br_027_a_channel_declared_anew_holds_for_the_messages_behind_it() {
    let mut hand = Hand::new();
    hand.put(&schema(1, "std_msgs/msg/String", "ros2msg", "string data\n"));
    for (topic, time) in [("/a", 1), ("/b", 2), ("/a", 3)] {
        hand.put(&channel(1, 1, topic, "cdr"));
        hand.put(&message(1, time, b"x"));
    }
    let (_, served) = Scratch::new().serve(&hand.close(&[]));
    let topics: Vec<&str> = served.iter().map(|message| message.topic.as_str()).collect();
    assert_eq!(topics, ["/a", "/b", "/a"]);
}

#[test]
fn br_027_a_channel_declared_anew_inside_a_chunk_is_said() {
    let schema = schema(1, "std_msgs/msg/String", "ros2msg", "string data\n");
    let records = [
        schema,
        channel(1, 1, "/a", "cdr"),
        message(1, 1, b"x"),
        channel(1, 1, "/b", "cdr"),
        message(1, 2, b"y"),
    ];
    let mut hand = Hand::new();
    let chunk = hand.put(&HandChunk::plain(records.concat()).record());
    let (bag, served) = Scratch::new().serve(&hand.close(&[chunk]));
    assert_eq!(bag.contents().damage[0].kind, DamageKind::ChannelConflict { channel: 1 });
    assert!(served.iter().all(|message| message.topic == "/b"));
}

#[test]
fn br_027_a_channel_declared_behind_its_messages_in_a_chunk_serves_them() {
    let records = [message(1, 1, b"x"), channel(1, 0, "/a", "json"), message(1, 2, b"y")].concat();
    let mut hand = Hand::new();
    let chunk = hand.put(&HandChunk::zstd(&records).record());
    let scratch = Scratch::new();
    let (bag, served) = scratch.serve(&hand.close(&[chunk]));
    assert_eq!(times(&served), [1, 2]);
    assert_eq!(timeline(&bag), [1, 2]);
}

#[test]
fn br_029_a_plain_chunk_of_two_sizes_costs_only_itself() {
    let good = |t| HandChunk::plain(message(1, t, b"x"));
    let bad = HandChunk { uncompressed_size: 999, ..good(2) };
    let (bag, served) = Scratch::new().serve(&chunked(&[good(1), bad, good(3)]).0);
    assert_eq!(times(&served), [1, 3]);
    assert!(matches!(bag.contents().damage[0].kind, DamageKind::ChunkSize { declared: 999, .. }));
}

#[test]
fn br_031_random_bytes_in_the_place_of_the_footer_are_no_footer() {
    let (channels, messages) = content(30, 60, 6);
    let mut bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
    let len = bytes.len();
    bytes[len - 8..].copy_from_slice(&[0x9C, 0x11, 0xFE, 0x40, 0x77, 0xA2, 0x03, 0xD8]);
    let (bag, served) = Scratch::new().serve(&bytes);
    assert_eq!(served, seen(&channels, &messages));
    assert!(!bag.contents().is_closed());
}

#[test]
fn br_032_foreign_text_behind_the_magic_is_over_at_once() {
    let scratch = Scratch::new();
    let bytes = [mcap::MAGIC, b"{'format': 'h264', 'width': 640}"].concat();
    let start = Instant::now();
    let (bag, served) = scratch.serve(&bytes);
    assert!(start.elapsed() < Duration::from_millis(50));
    assert_eq!((served.len(), bag.contents().chunks.len()), (0, 0));
    assert!(matches!(scratch.open(&bytes[1..]), Err(BagError::UnknownFormat { .. })));
}

#[test]
fn br_033_a_bad_chunk_hides_none_behind_it() {
    let chunks: Vec<HandChunk> = (0..5)
        .map(|n| {
            let messages: Vec<u8> =
                (0..20).flat_map(|m| message(1, n * 100 + m, b"some words")).collect();
            HandChunk::zstd(&messages)
        })
        .collect();
    let (mut bytes, starts) = chunked(&chunks);
    let middle = starts[2] as usize - chunks[1].stored.len() / 2;
    bytes[middle - 8..middle + 8].iter_mut().for_each(|byte| *byte ^= 0xA5);
    let (bag, served) = Scratch::new().serve(&bytes);
    let expected: Vec<u64> =
        [0, 2, 3, 4].into_iter().flat_map(|n| (0..20).map(move |m| n * 100 + m)).collect();
    assert_eq!(times(&served), expected);
    assert_eq!((bag.contents().n_damaged_chunks(), bag.contents().damage.len()), (1, 1));
}

#[test]
fn br_037_a_tail_of_zeros_ends_the_scan() {
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&message(1, 5, b"x"));
    let end = hand.0.len() as u64;
    hand.0.resize(hand.0.len() + (64 << 10), 0);
    let (bag, served) = Scratch::new().serve(&hand.0);
    assert_eq!(times(&served), [5]);
    assert_eq!(bag.contents().ending, ros2_memory_bag::Ending::Open { served_to: end });
}

#[test]
fn br_039_a_cut_in_the_message_indexes_costs_no_message() {
    let (channels, messages) = content(30, 60, 7);
    let bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
    let is_index = |at: &usize| bytes[*at] == op::MESSAGE_INDEX;
    let mut at = mcap::MAGIC.len();
    let mut starts = Vec::new();
    while bytes[at] != op::DATA_END {
        starts.push(at);
        at += 9 + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
    }
    let last = starts.into_iter().rfind(is_index).unwrap();
    let (_, served) = Scratch::new().serve(&bytes[..last + 11]);
    assert_eq!(served, seen(&channels, &messages));
}

#[test]
fn br_040_times_that_ran_backwards_through_zero_are_left_out() {
    let records: Vec<u8> = [u64::MAX - 999, u64::MAX, 2, 5]
        .into_iter()
        .flat_map(|time| message(1, time, b"x"))
        .collect();
    let scratch = Scratch::new();
    let (bag, _) = scratch.serve(&chunked(&[HandChunk::plain(records)]).0);
    assert_eq!(timeline(&bag), [2, 5]);
    assert_eq!(bag.contents().damage[0].kind, DamageKind::ImplausibleTime { messages: 2 });
    let span = bag.contents().time_span().unwrap();
    assert_eq!((span.0.as_ns(), span.1.as_ns()), (2, 5));
}

#[test]
fn br_042_a_file_without_any_index_works() {
    let (channels, messages) = content(30, 60, 8);
    let layout = Layout { with_message_index: false, with_summary: false, ..Layout::default() };
    let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
    assert_eq!(Scratch::new().serve(&bytes).1, seen(&channels, &messages));
}

#[test]
fn br_200_a_chunk_that_declares_64_gib_is_refused_and_the_others_are_served() {
    let good = |t| HandChunk::zstd(&message(1, t, b"x"));
    for bad in [
        HandChunk { uncompressed_size: 64 << 30, ..good(2) },
        HandChunk { uncompressed_size: u64::MAX, ..good(2) },
        HandChunk { compression: "lz4", uncompressed_size: 64 << 30, ..good(2) },
        HandChunk { stored_size: u64::MAX, crc: 1, ..good(2) },
        HandChunk { stored_size: 64 << 30, crc: 0, compression: "", ..good(2) },
    ] {
        let (bag, served) = Scratch::new().serve(&chunked(&[good(1), bad, good(3)]).0);
        assert_eq!(times(&served), [1, 3]);
        assert_eq!(bag.contents().n_damaged_chunks(), 1);
    }
}

#[test]
fn br_200_a_stored_size_that_is_a_lie_costs_nothing_where_the_checksum_fits() {
    let good = |t| HandChunk::zstd(&message(1, t, b"x"));
    let plain = |t| HandChunk::plain(message(1, t, b"x"));
    for bad in [
        HandChunk { stored_size: u64::MAX, ..good(2) },
        HandChunk { stored_size: good(2).stored_size + 60, ..good(2) },
        HandChunk { stored_size: 64 << 30, ..plain(2) },
    ] {
        let (bytes, starts) = chunked(&[good(1), bad, good(3)]);
        let (bag, served) = Scratch::new().serve(&bytes);
        assert_eq!(times(&served), [1, 2, 3], "{:?}", bag.contents());
        let damage = &bag.contents().damage;
        assert!(
            matches!(damage.as_slice(), [Damage { offset, kind: DamageKind::ChunkRecord { .. } }]
            if *offset == starts[1]),
            "{damage:?}"
        );
    }
}

#[test]
fn br_200_a_bomb_is_stopped_at_what_it_declares() {
    let bomb = zstd::bulk::compress(&vec![0; 32 << 20], 3).unwrap();
    let chunk = HandChunk {
        uncompressed_size: 4_000,
        crc: 0,
        compression: "zstd",
        stored_size: bomb.len() as u64,
        stored: bomb,
    };
    let after = HandChunk::plain(message(1, 3, b"x"));
    let (bag, served) = Scratch::new().serve(&chunked(&[chunk, after]).0);
    assert_eq!(times(&served), [3]);
    assert!(matches!(bag.contents().damage[0].kind, DamageKind::Inflate { .. }));
}

#[test]
fn br_200_records_of_absurd_lengths_end_the_scan_where_they_stand() {
    for length in [u64::MAX, u64::MAX - 8, 1 << 63, 1 << 40, u64::from(u32::MAX)] {
        for opcode in [op::HEADER, op::SCHEMA, op::MESSAGE, op::CHUNK, op::ATTACHMENT, 0x90] {
            let mut hand = Hand::new();
            hand.declare();
            hand.put(&message(1, 5, b"x"));
            hand.put(&lying_record(opcode, length, b"abc"));
            assert_eq!(times(&Scratch::new().serve(&hand.0).1), [5]);
            // Closed, with a chunk behind it.
            let chunk = hand.put(&HandChunk::plain(message(1, 6, b"y")).record());
            let (bag, served) = Scratch::new().serve(&hand.close(&[chunk]));
            assert_eq!(times(&served), [5, 6]);
            let damage = &bag.contents().damage[0];
            let bytes = chunk - damage.offset;
            assert!(
                matches!(&damage.kind, DamageKind::Skipped { bytes: b, reason }
                    if *b == bytes && matches!(**reason, DamageKind::Truncated { .. })),
                "{damage:?}"
            );
        }
    }
}

#[test]
fn a_footer_that_points_anywhere_costs_nothing() {
    let chunk = HandChunk::plain(message(1, 5, b"x"));
    let mut hand = Hand::new();
    hand.declare();
    let start = hand.put(&chunk.record());
    hand.put(&record(op::DATA_END, &[0; 4]));
    let end = hand.0.len() as u64;
    for summary_start in
        [1, start, start + 3, end - 1, end, end + 1, end + 28, 1 << 40, u64::MAX - 8, u64::MAX]
    {
        let whole = hand.clone().footer(summary_start);
        assert_eq!(times(&Scratch::new().serve(&whole).1), [5], "{summary_start}");
        // With a break in the file, so that the summary is looked at for the way on.
        let mut broken = hand.clone();
        broken.put(&[0; 40]);
        let (bag, served) = Scratch::new().serve(&broken.footer(summary_start));
        assert_eq!(times(&served), [5], "{summary_start}");
        assert_eq!(bag.contents().chunks[0].verdict, Verdict::Intact);
    }
}

#[test]
fn a_chunk_that_became_another_record_is_served_and_said() {
    let chunks: Vec<HandChunk> =
        (1..4).map(|time| HandChunk::plain(message(1, time, b"x"))).collect();
    for opcode in [0, op::SCHEMA, op::MESSAGE, op::METADATA, op::DATA_END, op::FOOTER, 0x86, 0xFF] {
        let (mut bytes, starts) = chunked(&chunks);
        bytes[starts[1] as usize] = opcode;
        let (bag, served) = Scratch::new().serve(&bytes);
        assert_eq!(times(&served), [1, 2, 3], "{opcode:#x}");
        let length = starts[2] - starts[1] - 9;
        let kind = DamageKind::ChunkRecord { opcode, length, expected: length };
        assert_eq!(bag.contents().damage, [Damage { offset: starts[1], kind }]);
    }
}

/// Each break asks for the next chunk: the index is read once, not once a break.
#[test]
fn an_index_full_of_lies_is_gone_through_once() {
    let mut hand = Hand::new();
    let zeros = hand.put(&vec![0; 40_000]);
    let lies: Vec<u64> = (zeros..zeros + 40_000).collect();
    let start = Instant::now();
    let (bag, _) = Scratch::new().serve(&hand.close(&lies));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // A thousand are listed, and one says that there are more.
    assert_eq!(bag.contents().damage.len(), 1_001);
    assert!(bag.contents().losses().chunks >= 39_999);
}
