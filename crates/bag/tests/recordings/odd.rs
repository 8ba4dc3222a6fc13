//! Containers that are legal and unusual, or that contradict themselves.

use mcap::records::op;
use ros2_memory_bag::{Channel, DamageKind, Direction, ReadOptions, Timeline};
use ros2_memory_testkit::bags::{Layout, bag_bytes};
use ros2_memory_time::TimeRange;

use super::{
    hand::{Hand, HandChunk, channel, lying_record, message, record, schema},
    sample::{Sample, Scratch, Seen, content, part, samples, seen},
};

fn times(served: &[Seen]) -> Vec<u64> {
    served.iter().map(|message| message.log_time_ns).collect()
}

fn topics(served: &[Seen]) -> Vec<&str> {
    served.iter().map(|message| message.topic.as_str()).collect()
}

/// The same file with some bytes of padding at the end of each record but the footer.
fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut out = mcap::MAGIC.to_vec();
    let mut at = mcap::MAGIC.len();
    // Without a summary, whose offsets would have to be moved.
    while bytes[at] != op::DATA_END {
        let len = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap());
        let end = at + 9 + len as usize;
        if bytes[at] == op::MESSAGE {
            out.extend(&bytes[at..end]);
        } else {
            out.extend(lying_record(bytes[at], len + 5, &[&bytes[at + 9..end], &[1; 5]].concat()));
        }
        at = end;
    }
    out
}

#[test]
fn padding_behind_records_is_passed_over() {
    let scratch = Scratch::new();
    for Sample { name, layout, bytes, messages } in samples() {
        if !layout.chunked {
            continue;
        }
        let open = padded(&bytes);
        let (bag, got) = scratch.serve(&open);
        assert_eq!(got, messages, "{name}");
        assert_eq!(bag.contents().damage, [], "{name}");
        let (bag, got) = scratch.serve(&Hand(open).close(&[]));
        assert_eq!((got, bag.contents().is_closed()), (messages, true), "{name}");
        assert_eq!(bag.contents().damage, [], "{name}");
    }
}

#[test]
fn a_schema_declared_anew_holds_for_the_channels_behind_it() {
    let mut hand = Hand::new();
    for (number, text) in ["int32 a", "int32 b", "int32 a"].into_iter().enumerate() {
        let id = 1 + number as u16;
        hand.put(&schema(1, "p/msg/T", "ros2msg", text));
        hand.put(&channel(id, 1, &format!("/{id}"), "cdr"));
        hand.put(&message(id, id.into(), b"x"));
    }
    let (bag, got) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(times(&got), [1, 2, 3]);
    let declared = &bag.contents().declared;
    let texts: Vec<&[u8]> =
        declared.channels.iter().map(|c| &*declared.schema(c).unwrap().text).collect();
    assert_eq!(texts, [b"int32 a", b"int32 b", b"int32 a"]);
    assert_eq!(declared.schemas.len(), 2);
}

#[test]
fn channels_and_schemas_that_are_repeated_stand_once() {
    let mut hand = Hand::new();
    for time in 0..20 {
        hand.declare();
        hand.put(&message(1, time, b"x"));
    }
    let (bag, got) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(got.len(), 20);
    let contents = bag.contents();
    assert_eq!((contents.declared.schemas.len(), contents.declared.channels.len()), (1, 2));
    assert_eq!(contents.chunks.len(), 1, "one run");
    assert_eq!(contents.damage, []);
}

#[test]
fn a_number_that_changes_its_meaning_again_and_again_keeps_few_channels() {
    let mut hand = Hand::new();
    hand.put(&schema(1, "std_msgs/msg/String", "ros2msg", "string data\n"));
    for time in 0..2_000 {
        hand.put(&channel(1, 1, if time % 2 == 0 { "/a" } else { "/b" }, "cdr"));
        hand.put(&message(1, time, b"x"));
    }
    let (bag, got) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(bag.contents().declared.channels.len(), 2);
    let expected: Vec<&str> = (0..2_000).map(|n| if n % 2 == 0 { "/a" } else { "/b" }).collect();
    assert_eq!(topics(&got), expected);
}

#[test]
fn a_channel_without_messages_is_listed_and_empty() {
    let mut hand = Hand::new();
    hand.declare();
    let chunk = hand.put(&HandChunk::plain(message(1, 5, b"x")).record());
    let (bag, _) = Scratch::new().serve(&hand.close(&[chunk]));
    let declared = &bag.contents().declared.channels;
    let topics: Vec<&str> = declared.iter().map(|channel| &*channel.topic).collect();
    assert_eq!(topics, ["/a", "/b"]);
    assert!(bag.contents().chunks.iter().flat_map(|c| &c.channels).all(|seen| seen.channel == 0));
}

#[test]
fn chunks_out_of_order_and_over_each_other_come_out_in_order() {
    let of = |times: &[u64]| -> HandChunk {
        HandChunk::zstd(&times.iter().flat_map(|t| message(1, *t, b"x")).collect::<Vec<u8>>())
    };
    let mut hand = Hand::new();
    hand.declare();
    let chunks = [&[50, 60, 55][..], &[10, 90], &[20, 30], &[5], &[30, 30, 91]]
        .map(|t| hand.put(&of(t).record()));
    let scratch = Scratch::new();
    let (bag, _) = scratch.serve(&hand.close(&chunks));
    let run = |direction| {
        let select = |_: &Channel| Some(0);
        let parts = vec![part(&bag)];
        let options = ReadOptions::default();
        let mut timeline =
            Timeline::new(parts, TimeRange::ALL, direction, options, select, || false);
        let mut times = Vec::new();
        while let Some(message) = timeline.next() {
            times.push(message.log_time.as_ns());
        }
        times
    };
    let expected = [5, 10, 20, 30, 30, 30, 50, 55, 60, 90, 91];
    assert_eq!(run(Direction::Forward), expected);
    assert!(run(Direction::Reverse).iter().rev().eq(&expected));
}

#[test]
fn an_index_without_chunks_is_told_and_serves_the_rest() {
    let mut hand = Hand::new();
    hand.declare();
    hand.put(&message(1, 5, b"x"));
    let (bag, got) = Scratch::new().serve(&hand.close(&[20, 77]));
    assert_eq!(times(&got), [5]);
    let kinds: Vec<(u64, &DamageKind)> =
        bag.contents().damage.iter().map(|damage| (damage.offset, &damage.kind)).collect();
    assert_eq!(kinds, [(20, &DamageKind::NoChunk), (77, &DamageKind::NoChunk)]);
    assert_eq!(bag.contents().losses().chunks, 2);
}

#[test]
fn records_that_only_others_understand_are_passed_over() {
    let mut hand = Hand::new();
    hand.declare();
    for (number, opcode) in [0x10, 0x42, 0x7F, 0x80, 0xC3, 0xFF].into_iter().enumerate() {
        hand.put(&record(opcode, &vec![opcode; 40 * number]));
        hand.put(&message(1, number as u64, b"x"));
    }
    let (bag, got) = Scratch::new().serve(&hand.close(&[]));
    assert_eq!(times(&got), [0, 1, 2, 3, 4, 5]);
    assert_eq!(bag.contents().damage, []);
}

#[test]
fn attachments_and_metadata_are_counted_wherever_they_stand() {
    let (channels, messages) = content(40, 60, 31);
    let bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
    let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    // A recording as an attachment is not part of the recording.
    let data = [&(bytes.len() as u64).to_le_bytes()[..], &bytes, &[0; 4]].concat();
    let attachment = [&[0; 16][..], &text("inner.mcap"), &text("application/mcap"), &data].concat();
    let mut hand = Hand::new();
    hand.put(&record(op::METADATA, &[text("run"), vec![0; 4]].concat()));
    hand.declare();
    hand.put(&record(op::ATTACHMENT, &attachment));
    let chunk = hand.put(&HandChunk::plain(message(1, 5, b"x")).record());
    hand.put(&record(op::ATTACHMENT, &attachment));
    // Also where the next record is one that no reader knows.
    hand.put(&record(0x42, b"abc"));
    hand.put(&message(2, 6, b"x"));
    hand.put(&record(op::METADATA, &[text("end"), vec![0; 4]].concat()));
    let (bag, got) = Scratch::new().serve(&hand.close(&[chunk]));
    assert_eq!(times(&got), [5, 6], "{:?}", bag.contents().damage);
    assert_eq!((bag.contents().n_attachments, bag.contents().n_metadata), (2, 2));
    assert_eq!(bag.contents().damage, []);
    assert_ne!(got, seen(&channels, &messages));
}

#[test]
fn names_that_dds_gave_are_those_of_ros() {
    let idl = "module nav_msgs { };";
    for chunked in [true, false] {
        let declared = [
            schema(1, "nav_msgs::msg::dds_::Odometry_", "omgidl", idl),
            schema(2, "p::srv::dds_::T_Request_", "omgidl", idl),
            schema(3, "Plain", "omgidl", idl),
            channel(1, 1, "rt/robot/odom", "cdr"),
            channel(2, 2, "rq/addRequest", "cdr"),
            channel(3, 3, "rt/foo", "cdr"),
        ]
        .concat();
        let messages: Vec<u8> = (1..4).flat_map(|id| message(id, id.into(), b"x")).collect();
        let mut hand = Hand::new();
        if chunked {
            hand.put(&HandChunk::zstd(&[declared.clone(), messages].concat()).record());
        } else {
            hand.put(&[declared.clone(), messages].concat());
        }
        // Once more, as a writer does that repeats what it declared.
        hand.put(&declared);
        let (bag, got) = Scratch::new().serve(&hand.close(&[]));
        assert_eq!(topics(&got), ["/robot/odom", "rq/addRequest", "rt/foo"]);
        let declared = &bag.contents().declared;
        assert_eq!((declared.schemas.len(), declared.channels.len()), (3, 3));
        let names: Vec<&str> =
            declared.channels.iter().map(|channel| declared.type_name(channel)).collect();
        assert_eq!(names, ["nav_msgs/msg/Odometry", "p/srv/T_Request", "Plain"]);
        assert!(declared.schemas.iter().all(|schema| &*schema.text == idl.as_bytes()));
    }
}
