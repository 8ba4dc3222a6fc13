//! One type name, two definitions: each message is read by the one of its own file and channel.

use std::{fmt::Write, fs, path::Path, sync::Arc};

use ros2_memory_bag::{Bag, Direction, Message, ReadOptions, Timeline};
use ros2_memory_msg::{DecodeLimits, Library, Schema, Value, decode};
use ros2_memory_testkit::{
    mcap_bytes::{
        Codec, FileSpec, Part, SummarySpec,
        records::{RawMessage, channel, message, schema},
    },
    payload::{ByteOrder, CdrWriter},
    prng::Prng,
};
use ros2_memory_time::TimeRange;

use super::rig::{part, seed};

const TYPE: &str = "p/msg/T";
const SEPARATOR: &str =
    "================================================================================\n";

/// A definition of the type, made up at random, and one message of it.
#[derive(Debug, Clone)]
struct Version {
    text: String,
    payload: Vec<u8>,
    /// Field and value, as `field` or `inner.field`.
    values: Vec<(String, f64)>,
}

impl Version {
    /// `mark` is part of every field's name, so that one version's fields are not another's.
    fn random(prng: &mut Prng, mark: &str) -> Self {
        let mut writer = CdrWriter::new(ByteOrder::Little);
        let mut values = Vec::new();
        let mut text = String::new();
        let is_nested = prng.chance(40);
        if is_nested {
            // The root is the same in both versions: only what it contains differs.
            text.push_str("Inner inner\n");
            text.push_str(SEPARATOR);
            text.push_str("MSG: p/Inner\n");
        }
        for n in 0..prng.between(1, 6) {
            let name = format!("{mark}_{n}");
            let value = prng.below(100);
            let small = i8::try_from(value).unwrap();
            let kind = *prng.pick(&["int8", "uint16", "int32", "float32", "int64", "float64"]);
            match kind {
                "int8" => writer.i8(small),
                "uint16" => writer.u16(u16::try_from(value).unwrap()),
                "int32" => writer.i32(i32::from(small)),
                "float32" => writer.f32(f32::from(small)),
                "int64" => writer.i64(i64::from(small)),
                _ => writer.f64(f64::from(small)),
            };
            writeln!(text, "{kind} {name}").unwrap();
            let path = if is_nested { format!("inner.{name}") } else { name };
            values.push((path, f64::from(small)));
        }
        Self { text, payload: writer.finish(), values }
    }

    /// Whether a message that leads to `text` decodes as this version.
    fn is_read_right(&self, text: &str, library: &Library, payload: &[u8]) -> bool {
        let schema = Schema::parse(TYPE, text, library).unwrap();
        let value = decode(&schema, payload, DecodeLimits::NONE).unwrap();
        self.values.iter().all(|(path, expected)| {
            let mut found = Some(&value);
            for field in path.split('.') {
                found = found.and_then(|value| value.field(field));
            }
            found.and_then(Value::as_f64) == Some(*expected)
        })
    }
}

fn raw(channel: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let log_time_ns = 1_000 + u64::from(sequence);
    message(&RawMessage {
        channel,
        sequence,
        log_time_ns,
        publish_time_ns: log_time_ns,
        payload: payload.to_vec(),
    })
}

fn write(folder: &Path, name: &str, parts: Vec<Part>, prng: &mut Prng) -> Bag {
    let spec = FileSpec {
        parts,
        codec: *prng.pick(&[Codec::None, Codec::Lz4, Codec::Zstd]),
        summary: prng.chance(50).then_some(SummarySpec::ALL),
        ..FileSpec::default()
    };
    let path = folder.join(name);
    fs::write(&path, spec.bytes()).unwrap();
    Bag::open_unindexed(&path, &ReadOptions::default()).unwrap()
}

fn for_each(bags: &[Bag], mut look: impl FnMut(&Message<'_>)) {
    let parts: Vec<_> = bags.iter().map(part).collect();
    let options = ReadOptions::default();
    let mut timeline =
        Timeline::new(parts, TimeRange::ALL, Direction::Forward, options, |_| Some(0), || false);
    while let Some(message) = timeline.next() {
        look(&message);
    }
    assert!(timeline.report().skipped.is_empty());
}

fn text_of(message: &Message<'_>) -> String {
    let declared = &message.contents.declared;
    assert_eq!(declared.type_name(message.channel), TYPE);
    let schema = declared.schema(message.channel).unwrap();
    String::from_utf8(schema.text.to_vec()).unwrap()
}

#[test]
fn two_bags_of_one_type_name_each_decode_with_their_own_definition() {
    let mut prng = Prng::new(seed("definitions across bags"));
    let mut n = 0;
    for _ in 0..15 {
        let folder = tempfile::tempdir().unwrap();
        let versions = [Version::random(&mut prng, "a"), Version::random(&mut prng, "b")];
        let bags: Vec<Bag> = (0..)
            .zip(&versions)
            .map(|(number, version)| {
                let parts = vec![
                    Part::Record(schema(1, TYPE, "ros2msg", version.text.as_bytes())),
                    Part::Record(channel(1, 1, "/same", "cdr", &[])),
                    // The bags' messages alternate in the timeline.
                    Part::Chunk((0..6).map(|m| raw(1, m * 2 + number, &version.payload)).collect()),
                ];
                write(folder.path(), &format!("{number}.mcap"), parts, &mut prng)
            })
            .collect();
        for_each(&bags, |message| {
            let version = &versions[message.part];
            assert_eq!(text_of(message), version.text);
            assert!(version.is_read_right(&text_of(message), &Library::new(), message.payload));
            n += 1;
        });
    }
    assert_eq!(n, 15 * 12);
}

#[test]
fn two_definitions_of_one_type_name_inside_a_bag_are_kept_apart() {
    let mut prng = Prng::new(seed("definitions inside a bag"));
    let mut n = 0;
    for way in 0..24 {
        let folder = tempfile::tempdir().unwrap();
        let versions = [Version::random(&mut prng, "a"), Version::random(&mut prng, "b")];
        let declare = |schema_id: u16, version: &Version, id: u16, topic: &str| {
            [
                schema(schema_id, TYPE, "ros2msg", version.text.as_bytes()),
                channel(id, schema_id, topic, "cdr", &[]),
            ]
        };
        let (first, second) = (&versions[0], &versions[1]);
        let alternating = |declarations: Vec<Vec<u8>>| {
            let messages = (0..8)
                .map(|m| raw(1 + u16::from(m % 2 == 1), m, &versions[m as usize % 2].payload));
            let chunk = Part::Chunk(messages.collect());
            declarations.into_iter().map(Part::Record).chain([chunk]).collect::<Vec<_>>()
        };
        let half = |from: u32, id: u16, version: &Version| -> Vec<Vec<u8>> {
            (from..from + 4).map(|m| raw(id, m, &version.payload)).collect()
        };
        let parts = match way % 4 {
            // Two schemas, two topics; two schemas, one topic.
            0 | 1 => {
                let topic = if way % 4 == 0 { "/other" } else { "/same" };
                let both = [declare(1, first, 1, "/same"), declare(2, second, 2, topic)].concat();
                alternating(both)
            }
            // Each declared in its own chunk.
            2 => vec![
                Part::Chunk([declare(1, first, 1, "/same").to_vec(), half(0, 1, first)].concat()),
                Part::Chunk([declare(2, second, 2, "/same").to_vec(), half(4, 2, second)].concat()),
            ],
            // The same numbers declared anew between two chunks, as when files are joined.
            _ => [
                declare(1, first, 1, "/same").map(Part::Record).to_vec(),
                vec![Part::Chunk(half(0, 1, first))],
                declare(1, second, 1, "/same").map(Part::Record).to_vec(),
                vec![Part::Chunk(half(4, 1, second))],
            ]
            .concat(),
        };
        let is_second = |sequence: u32| match way % 4 {
            0 | 1 => sequence % 2 == 1,
            _ => sequence >= 4,
        };
        let bag = write(folder.path(), "a.mcap", parts, &mut prng);
        let mut own = 0;
        for_each(&[bag], |message| {
            let version = &versions[usize::from(is_second(message.sequence))];
            let text = text_of(message);
            assert_eq!(text, version.text, "way {way}, message {}", message.sequence);
            assert!(version.is_read_right(&text, &Library::new(), message.payload));
            own += 1;
        });
        assert_eq!(own, 8, "way {way}");
        n += own;
    }
    assert_eq!(n, 24 * 8);
}

#[test]
fn the_definition_inside_a_bag_is_taken_before_any_other() {
    let mut prng = Prng::new(seed("definitions embedded and bundled"));
    for _ in 0..15 {
        let folder = tempfile::tempdir().unwrap();
        let own = Version::random(&mut prng, "a");
        let bundled = Version::random(&mut prng, "b");
        let mut library = Library::new();
        library.add(TYPE, &bundled.text).unwrap();
        library.add("p/msg/Inner", "int64 of_nobody\n").unwrap();
        let parts = vec![
            Part::Record(schema(1, TYPE, "ros2msg", own.text.as_bytes())),
            Part::Record(channel(1, 1, "/own", "cdr", &[])),
            Part::Chunk(vec![raw(1, 0, &own.payload)]),
        ];
        let bag = write(folder.path(), "a.mcap", parts, &mut prng);
        let mut n = 0;
        for_each(&[bag], |message| {
            assert!(own.is_read_right(&text_of(message), &library, message.payload));
            n += 1;
        });
        assert_eq!(n, 1);
    }
}

#[test]
fn a_bag_without_a_definition_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let parts = vec![
        Part::Record(channel(1, 0, "/none", "cdr", &[])),
        Part::Record(schema(2, TYPE, "", b"")),
        Part::Record(channel(2, 2, "/empty", "cdr", &[])),
        Part::Chunk(vec![raw(1, 0, b"x"), raw(2, 1, b"y")]),
    ];
    let bag = write(folder.path(), "a.mcap", parts, &mut Prng::new(1));
    let texts: Vec<Option<Arc<[u8]>>> = {
        let declared = &bag.contents().declared;
        declared.channels.iter().map(|c| declared.schema(c).map(|s| s.text.clone())).collect()
    };
    assert_eq!(texts[0], None);
    assert!(texts[1].as_ref().is_none_or(|text| text.is_empty()));
    assert_eq!(bag.contents().n_messages(), 2);
}
