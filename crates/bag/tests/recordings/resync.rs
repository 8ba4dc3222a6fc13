//! A break anywhere hides no whole chunk and no whole record behind it, with or without an index
//! and an ending, and costs no more than the bytes between.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use mcap::records::op;
use ros2_memory_bag::{Bag, Contents, DamageKind, Ending, Verdict};
use ros2_memory_testkit::{
    bags::{Compression, Layout, bag_bytes},
    prng::Prng,
};

use super::{
    hand::{Hand, HandChunk, channel, lying_record, message, record, schema},
    sample::{Sample, Scratch, Seen, content, seen, served},
};

/// One record: where it starts and ends, and the messages that it holds.
struct Place {
    start: usize,
    end: usize,
    messages: Vec<Seen>,
}

/// The records of a file's data section.
fn all_places(sample: &Sample) -> Vec<Place> {
    let mut left = sample.messages.as_slice();
    let mut places = Vec::new();
    let mut at = mcap::MAGIC.len();
    while sample.bytes[at] != op::DATA_END {
        let body = at + 9;
        let len = u64::from_le_bytes(sample.bytes[at + 1..body].try_into().unwrap());
        let end = body + usize::try_from(len).unwrap();
        let count = match mcap::parse_record(sample.bytes[at], &sample.bytes[body..end]).unwrap() {
            mcap::records::Record::Message { .. } => 1,
            mcap::records::Record::Chunk { header, data } => {
                mcap::read::ChunkReader::new(header, &data)
                    .unwrap()
                    .filter(|record| record.as_ref().unwrap().opcode() == op::MESSAGE)
                    .count()
            }
            _ => 0,
        };
        let (messages, rest) = left.split_at(count);
        left = rest;
        places.push(Place { start: at, end, messages: messages.to_vec() });
        at = end;
    }
    places
}

/// The chunks of a file, or its messages outside chunks, in file order.
fn places(sample: &Sample) -> Vec<Place> {
    let mut places = all_places(sample);
    places.retain(|place| !place.messages.is_empty());
    places
}

/// What is done to some bytes.
#[derive(Debug, Clone, Copy)]
enum Harm {
    Zeros,
    Noise,
    Ones,
    /// As a torn write with bytes of something else in between.
    Inserted,
    Removed,
}

fn harmed(bytes: &[u8], from: usize, to: usize, harm: Harm, prng: &mut Prng) -> Vec<u8> {
    let noise: Vec<u8> = (from..to).map(|_| (prng.next_u64() >> 56) as u8).collect();
    let (before, inside, behind) = (&bytes[..from], &bytes[from..to], &bytes[to..]);
    match harm {
        Harm::Zeros => [before, &vec![0; inside.len()], behind].concat(),
        Harm::Ones => [before, &vec![0xFF; inside.len()], behind].concat(),
        Harm::Noise => [before, &noise, behind].concat(),
        Harm::Inserted => [before, &noise, inside, behind].concat(),
        Harm::Removed => [before, behind].concat(),
    }
}

/// Without its ending, as after a loss of power.
fn without_ending(bytes: &[u8]) -> Vec<u8> {
    let mut at = mcap::MAGIC.len();
    while bytes[at] != op::DATA_END {
        at += 9 + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
    }
    bytes[..at].to_vec()
}

/// The messages that `got` lacks of those that `wanted` has.
fn missing<'w>(wanted: &'w [&Seen], got: &[Seen]) -> Vec<&'w Seen> {
    let got: HashSet<&Seen> = got.iter().collect();
    wanted.iter().copied().filter(|message| !got.contains(message)).collect()
}

#[test]
fn a_break_of_any_kind_anywhere_hides_nothing_behind_it() {
    let seed = 41;
    println!("seed {seed}");
    let mut prng = Prng::new(seed);
    let scratch = Scratch::new();
    let (channels, messages) = content(40, 60, 2);
    let mut n_breaks = 0;
    for (name, layout) in super::sample::layouts() {
        let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
        let sample = Sample { name, layout, bytes, messages: seen(&channels, &messages) };
        let places = places(&sample);
        // Declarations stand in front of the first messages, or with them in the first chunk.
        let first = if layout.chunked { places[0].end } else { places[0].start };
        let recorded: HashSet<&Seen> = sample.messages.iter().collect();
        let declarations: Vec<Place> = all_places(&sample)
            .into_iter()
            .filter(|place| matches!(sample.bytes[place.start], op::SCHEMA | op::CHANNEL))
            .collect();
        for is_closed in [true, false] {
            let bytes =
                if is_closed { sample.bytes.clone() } else { without_ending(&sample.bytes) };
            let data_end = places.last().unwrap().end;
            for round in 0..150 {
                let harm = [Harm::Zeros, Harm::Noise, Harm::Ones, Harm::Inserted, Harm::Removed]
                    [round % 5];
                let from = first + prng.index(data_end - first);
                let to = (from + 1 + prng.index(80)).min(data_end);
                // Without a summary, what is declared nowhere else is lost with its messages.
                let costs_meaning = declarations.iter().any(|d| d.start < to && from < d.end);
                if costs_meaning && !(is_closed && layout.with_summary) {
                    continue;
                }
                let torn = harmed(&bytes, from, to, harm, &mut prng);
                let what = format!("{name}, closed {is_closed}, {harm:?} {from}..{to}");
                let (bag, got) = scratch.serve(&torn);
                let is_untouched = |place: &&Place| match harm {
                    Harm::Inserted => place.end <= from || place.start >= from,
                    _ => place.end <= from || place.start >= to,
                };
                let wanted: Vec<&Seen> =
                    places.iter().filter(is_untouched).flat_map(|place| &place.messages).collect();
                let lost = missing(&wanted, &got);
                assert!(lost.is_empty(), "{what}: {lost:?} of {:?}", bag.contents());
                if layout.chunked && layout.with_crc {
                    let strange = got.iter().find(|message| !recorded.contains(message));
                    assert_eq!(strange, None, "{what}");
                }
                if is_closed && layout.with_crc {
                    let is_same = got == sample.messages;
                    assert!(is_same || !bag.contents().damage.is_empty(), "{what}");
                }
                n_breaks += 1;
            }
        }
    }
    assert!(n_breaks > 2_000, "{n_breaks}");
}

#[test]
fn several_breaks_in_one_file_hide_nothing_between_them() {
    let mut prng = Prng::new(42);
    let scratch = Scratch::new();
    let (channels, messages) = content(200, 60, 3);
    for (name, layout) in super::sample::layouts().into_iter().filter(|(_, l)| l.chunked) {
        let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
        let sample = Sample { name, layout, bytes, messages: seen(&channels, &messages) };
        let places = places(&sample);
        for is_closed in [true, false] {
            let mut bytes =
                if is_closed { sample.bytes.clone() } else { without_ending(&sample.bytes) };
            let mut hit = HashSet::new();
            for _ in 0..5 {
                let index = 1 + prng.index(places.len() - 1);
                let place = &places[index];
                let from = place.start + prng.index(20);
                bytes[from..from + 12].fill((prng.next_u64() >> 56) as u8);
                hit.insert(index);
            }
            let (bag, got) = scratch.serve(&bytes);
            let wanted: Vec<&Seen> = places
                .iter()
                .enumerate()
                .filter(|(index, _)| !hit.contains(index))
                .flat_map(|(_, place)| &place.messages)
                .collect();
            let lost = missing(&wanted, &got);
            assert!(lost.is_empty(), "{name}, {is_closed}: {lost:?} of {:?}", bag.contents());
            let losses = bag.contents().losses();
            let is_all = got == sample.messages;
            assert!(is_all || losses.breaks + losses.chunks > 0, "{name}: {:?}", bag.contents());
        }
    }
}

/// The times of three chunks and whether there is an ending.
fn three_chunks(is_closed: bool) -> (Vec<u8>, Vec<u64>) {
    let mut hand = Hand::new();
    hand.declare();
    let starts: Vec<u64> = (1..4)
        .map(|time| hand.put(&HandChunk::zstd(&message(1, time, b"some words")).record()))
        .collect();
    let bytes = if is_closed { hand.close(&[]) } else { hand.0 };
    (bytes, starts)
}

fn times(served: &[Seen]) -> Vec<u64> {
    served.iter().map(|message| message.log_time_ns).collect()
}

#[test]
fn what_was_skipped_is_one_entry_with_its_place_and_length() {
    for is_closed in [true, false] {
        let (mut bytes, starts) = three_chunks(is_closed);
        let (start, behind) = (starts[1] as usize, starts[2] as usize);
        bytes[start..behind].fill(0);
        let len = bytes.len() as u64;
        let (bag, got) = Scratch::new().serve(&bytes);
        assert_eq!(times(&got), [1, 3]);
        let contents = bag.contents();
        assert_eq!(contents.damage.len(), 1, "{contents:?}");
        assert_eq!(contents.damage[0].offset, starts[1]);
        assert_eq!(
            contents.damage[0].kind,
            DamageKind::Skipped {
                bytes: starts[2] - starts[1],
                reason: Box::new(DamageKind::Zeros)
            }
        );
        let losses = contents.losses();
        assert_eq!((losses.breaks, losses.skipped_bytes), (1, starts[2] - starts[1]));
        if !is_closed {
            assert_eq!(contents.ending, Ending::Open { served_to: len });
        }
    }
}

#[test]
fn a_chunk_whose_record_lies_about_its_length_is_served_by_its_own_fields() {
    for is_closed in [true, false] {
        for length in [0, 10, 70, 5_000, u64::from(u32::MAX), u64::MAX] {
            let (mut bytes, starts) = three_chunks(is_closed);
            let at = starts[1] as usize + 1;
            bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
            let (bag, got) = Scratch::new().serve(&bytes);
            let what = format!("{length}, {is_closed}: {:?}", bag.contents());
            // A record too short for a chunk's fields tells nothing.
            let expected: &[u64] = if length < 40 { &[1, 3] } else { &[1, 2, 3] };
            assert_eq!(times(&got), expected, "{what}");
            assert!(!bag.contents().damage.is_empty(), "{what}");
        }
    }
}

#[test]
fn a_record_that_swallows_others_gives_them_back() {
    let longer = |opcode, body: &[u8]| lying_record(opcode, body.len() as u64 + 90, body);
    for opcode in [op::MESSAGE_INDEX, op::ATTACHMENT, op::METADATA, 0x42, 0x99] {
        for is_closed in [true, false] {
            let mut hand = Hand::new();
            hand.declare();
            hand.put(&HandChunk::zstd(&message(1, 1, b"x")).record());
            hand.put(&longer(opcode, &[7; 40]));
            hand.put(&HandChunk::zstd(&message(1, 2, b"x")).record());
            hand.put(&HandChunk::zstd(&message(1, 3, b"x")).record());
            let bytes = if is_closed { hand.close(&[]) } else { hand.0 };
            let (bag, got) = Scratch::new().serve(&bytes);
            assert_eq!(times(&got), [1, 2, 3], "{opcode:#x}: {:?}", bag.contents());
            assert_eq!(bag.contents().damage.len(), 1);
        }
    }
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&message(1, 1, b"x"));
    let body = [&1u16.to_le_bytes()[..], &[0; 4], &2u64.to_le_bytes(), &[0; 8]].concat();
    hand.put(&longer(op::MESSAGE, &body));
    (3..9).for_each(|time| {
        hand.put(&message(2, time, b"x"));
    });
    let (bag, got) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(times(&got), [1, 3, 4, 5, 6, 7, 8], "{:?}", bag.contents());
}

#[test]
fn recordings_put_one_behind_the_other_are_all_served() {
    let one = |topic: &str, time: u64, is_closed: bool, chunked: bool| {
        let mut hand = Hand::new();
        let declared = [
            schema(1, "std_msgs/msg/String", "ros2msg", "string data\n"),
            channel(1, 1, topic, "cdr"),
        ]
        .concat();
        let records: Vec<u8> = (0..9).flat_map(|n| message(1, time + n, &[7; 30])).collect();
        if chunked {
            hand.put(&HandChunk::zstd(&[declared, records].concat()).record());
        } else {
            hand.put(&[declared, records].concat());
        }
        if is_closed { hand.close(&[]) } else { hand.0 }
    };
    for chunked in [true, false] {
        for first_closed in [true, false] {
            for second_closed in [true, false] {
                let second = one("/b", 20, second_closed, chunked);
                let both = [one("/a", 10, first_closed, chunked), second].concat();
                let (bag, got) = Scratch::new().serve(&both);
                let what = format!("{chunked}, {first_closed}, {second_closed}: {bag:?}");
                let expected: Vec<(u64, &str)> =
                    (10..19).map(|t| (t, "/a")).chain((20..29).map(|t| (t, "/b"))).collect();
                let got: Vec<(u64, &str)> =
                    got.iter().map(|m| (m.log_time_ns, m.topic.as_str())).collect();
                assert_eq!(got, expected, "{what}");
                assert!(
                    bag.contents().damage.iter().any(|d| d.kind == DamageKind::SecondFile),
                    "{what}"
                );
            }
        }
    }
}

#[test]
fn a_cut_recording_in_front_of_another_hides_none_of_it() {
    let (first, second) = (three_chunks(false).0, three_chunks(true).0);
    for cut in 9..first.len() {
        let (bag, got) = Scratch::new().serve(&[&first[..cut], &second[..]].concat());
        assert!(times(&got).ends_with(&[1, 2, 3]), "{cut}: {:?}", bag.contents());
    }
}

/// A file within the message that is being written must not be taken for the file around it.
#[test]
fn a_growing_file_is_not_damaged_by_what_its_last_record_holds() {
    let inner = three_chunks(true).0;
    let scratch = Scratch::new();
    for compression in ["", "zstd"] {
        let mut hand = Hand::new();
        hand.declare();
        hand.put(&HandChunk::zstd(&message(1, 5, b"x")).record());
        let records: Vec<u8> =
            [message(1, 6, &inner), message(2, 7, b"y"), message(1, 8, &inner)].concat();
        let chunk = match compression {
            "" => HandChunk::plain(records),
            _ => HandChunk::zstd(&records),
        };
        let start = hand.put(&chunk.record()) as usize;
        let whole_at: Vec<usize> = if compression.is_empty() {
            // Once the first message is whole, what stands in it is not looked at.
            let stored = hand.0.len() - chunk.stored.len();
            (stored + 9 + 22 + inner.len()..hand.0.len() - inner.len()).collect()
        } else {
            (start..hand.0.len()).collect()
        };
        for cut in whole_at {
            // Cut there, the file ends as a closed one does.
            if hand.0[..cut].ends_with(mcap::MAGIC) {
                continue;
            }
            let (bag, got) = scratch.serve(&hand.0[..cut]);
            assert_eq!(bag.contents().damage, [], "{compression} at {cut}");
            assert!(got.iter().all(|message| [5, 6, 7].contains(&message.log_time_ns)));
        }
    }
}

#[test]
fn an_incomplete_plain_chunk_serves_its_whole_messages() {
    let records: Vec<u8> = (1..5).flat_map(|time| message(1, time, &[9; 50])).collect();
    let mut hand = Hand::new();
    hand.declare();
    let start = hand.put(&HandChunk::plain(records).record());
    let cut = hand.0.len() - 120;
    let scratch = Scratch::new();
    let (bag, got) = scratch.serve(&hand.0[..cut]);
    assert_eq!(times(&got), [1, 2]);
    assert_eq!(bag.contents().ending, Ending::Open { served_to: start });
    assert_eq!(bag.contents().damage, []);
    assert_eq!(bag.contents().chunks[0].verdict, Verdict::Unchecked);
    // With another chunk behind it, it is not being written any more.
    let behind = HandChunk::zstd(&message(2, 9, &[3; 200])).record();
    let (bag, got) = scratch.serve(&[&hand.0[..cut], &behind].concat());
    assert_eq!(times(&got), [1, 2, 9], "{:?}", bag.contents());
    assert_eq!(bag.contents().damage.len(), 1);
    assert_eq!(bag.contents().chunks[0].verdict, Verdict::Unchecked);
}

fn timed(bytes: &[u8]) -> (Duration, Bag) {
    let scratch = Scratch::new();
    scratch.write(bytes);
    let start = Instant::now();
    let bag = scratch.open(bytes).unwrap();
    (start.elapsed(), bag)
}

#[test]
fn bytes_that_all_look_like_records_take_no_longer_than_their_number() {
    let chunk = HandChunk {
        uncompressed_size: 4 << 20,
        crc: 1,
        compression: "",
        stored_size: 4 << 20,
        stored: Vec::new(),
    };
    // Each says that it reaches far over the next ones, and none has the CRC that it names.
    let far = |chunk: &HandChunk| {
        let mut record = chunk.record();
        let length = (record.len() as u64 - 9) + chunk.stored_size;
        record[1..9].copy_from_slice(&length.to_le_bytes());
        record
    };
    let bomb = zstd::bulk::compress(&vec![0; 32 << 20], 3).unwrap();
    let bombs = HandChunk {
        uncompressed_size: 32 << 20,
        crc: 1,
        compression: "zstd",
        stored_size: bomb.len() as u64,
        stored: bomb,
    };
    let messages = message(1, 5, &[]).repeat(40_000);
    let odd_messages: Vec<u8> = [&[0x99][..], &messages].concat();
    for (what, body) in [
        ("chunk opcodes", vec![op::CHUNK; 6 << 20]),
        ("message opcodes", vec![op::MESSAGE; 6 << 20]),
        ("chunks of wrong CRCs", [&far(&chunk).repeat(100_000)[..], &vec![1; 4 << 20]].concat()),
        ("bombs", [&[0][..], &bombs.record().repeat(1_000)].concat()),
        ("starts of files", mcap::MAGIC.repeat(500_000)),
        ("messages of no channel", odd_messages),
        ("small lengths", [&[op::CHUNK, 60][..], &[0; 7]].concat().repeat(400_000)),
    ] {
        for prefix in [&[0u8; 9][..], &[]] {
            let bytes = [&Hand::new().0[..], prefix, &body].concat();
            let (took, bag) = timed(&bytes);
            println!("{what}: {took:?}, {} faults", bag.contents().damage.len());
            assert!(took < Duration::from_secs(20), "{what}: {took:?}");
        }
    }
}

#[test]
fn a_search_that_costs_too_much_is_given_up_and_says_so() {
    // Whole frames whose CRC is wrong, all of which must be inflated to see that.
    let plain: Vec<u8> = message(1, 5, &vec![7; 8 << 20]);
    let chunk = HandChunk { crc: 1, ..HandChunk::zstd(&plain) };
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&[0; 9]);
    // Not in a row, so that each is tried by itself.
    let spaced = [&chunk.record()[..], &[0; 9]].concat();
    hand.put(&spaced.repeat(60));
    let (took, bag) = timed(&hand.0);
    let contents: &Contents = bag.contents();
    let is_given_up =
        |d: &ros2_memory_bag::Damage| matches!(d.kind, DamageKind::SearchGivenUp { .. });
    assert!(contents.damage.iter().any(is_given_up), "{contents:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn chunks_of_every_compression_are_found_without_index() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        for with_crc in [true, false] {
            let (channels, messages) = content(60, 60, 9);
            let layout = Layout {
                compression,
                with_crc,
                chunk_bytes: 300,
                with_message_index: false,
                with_summary: false,
                ..Layout::default()
            };
            let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
            let sample = Sample { name: "", layout, bytes, messages: seen(&channels, &messages) };
            let places = places(&sample);
            let mut bytes = sample.bytes.clone();
            bytes[places[1].start..places[1].start + 50].fill(0);
            let (bag, got) = Scratch::new().serve(&bytes);
            let expected: Vec<Seen> = places
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != 1)
                .flat_map(|(_, place)| place.messages.clone())
                .collect();
            assert_eq!(got, expected, "{compression:?} {with_crc}: {:?}", bag.contents());
            assert_eq!(served(&bag), expected);
        }
    }
}

#[test]
fn a_private_record_after_each_chunk_is_passed_over() {
    let mut hand = Hand::new();
    hand.declare();
    for time in 1..5 {
        hand.put(&HandChunk::zstd(&message(1, time, b"x")).record());
        hand.put(&record(0x80 + time as u8, b"our own"));
        hand.put(&record(0x20, b"of a later version"));
    }
    let (bag, got) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(times(&got), [1, 2, 3, 4]);
    assert_eq!(bag.contents().damage, []);
}

#[test]
fn a_channel_whose_record_lies_about_its_length_is_declared() {
    for chunked in [true, false] {
        for is_closed in [true, false] {
            let mut hand = Hand::new();
            hand.declare();
            hand.put(&message(1, 1, b"x"));
            let at = hand.put(&channel(7, 1, "/late", "cdr")) as usize;
            let messages: Vec<u8> = (2..9).flat_map(|time| message(7, time, b"y")).collect();
            if chunked {
                hand.put(&HandChunk::zstd(&messages).record());
            } else {
                hand.put(&messages);
            }
            hand.0[at + 7] = 1;
            let bytes = if is_closed { hand.close(&[]) } else { hand.0 };
            let (bag, got) = Scratch::new().serve(&bytes);
            assert_eq!(times(&got), [1, 2, 3, 4, 5, 6, 7, 8], "{:?}", bag.contents());
            let kinds: Vec<&DamageKind> = bag.contents().damage.iter().map(|d| &d.kind).collect();
            assert!(matches!(kinds.as_slice(), [DamageKind::RecordLength { .. }]), "{kinds:?}");
        }
    }
}
