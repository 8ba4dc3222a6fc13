//! Small files of every make, each with what it holds.

use std::{collections::BTreeMap, io, io::Cursor};

use super::{
    Codec, FileSpec, Part, SummarySpec, Walked,
    records::{self, RawMessage, attachment, channel, message, op, record, schema},
    walk,
};
use crate::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    payload::{ByteOrder, CdrWriter},
    prng::Prng,
};

/// A whole and right file, and the truth about it.
#[derive(Debug, Clone)]
pub struct Fixture {
    /// What is special about it.
    pub name: &'static str,
    /// What it was made from; together with the name it makes the same bytes again.
    pub seed: u64,
    /// The file.
    pub bytes: Vec<u8>,
    /// What lies where.
    pub walked: Walked,
}

/// How many messages each file has.
const MESSAGES: u32 = 24;
/// The text of the one definition that is used.
const DEFINITION: &str = "string data\n";
/// Its type.
const TYPE: &str = "std_msgs/msg/String";

/// The channels of every file: two publishers of one topic, and a number far from the others.
const CHANNELS: [(u16, &str); 4] = [(1, "/odom"), (2, "/tf"), (3, "/tf"), (900, "/chat")];

/// One file of each make, of 2 to 8 KB.
///
/// Half are written by the `mcap` crate, half by hand.
///
/// # Panics
///
/// When a file cannot be made, which is a fault of this module.
pub fn fixtures(seed: u64) -> Vec<Fixture> {
    let mut prng = Prng::new(seed);
    let mut made: Vec<(&'static str, Vec<u8>)> = Vec::new();
    let plain = Layout { chunk_bytes: 300, ..Layout::default() };
    for (name, layout) in [
        ("none", plain),
        ("lz4", Layout { compression: Compression::Lz4, ..plain }),
        ("zstd", Layout { compression: Compression::Zstd, ..plain }),
        ("unchunked", Layout { chunked: false, ..plain }),
        ("no summary", Layout { with_summary: false, compression: Compression::Zstd, ..plain }),
        ("no message index", Layout { with_message_index: false, ..plain }),
        (
            "no statistics",
            Layout { with_statistics: false, compression: Compression::Lz4, ..plain },
        ),
        ("no crc", Layout { with_crc: false, ..plain }),
        ("no crc, zstd", Layout { with_crc: false, compression: Compression::Zstd, ..plain }),
        ("unchunked, no summary", Layout { chunked: false, with_summary: false, ..plain }),
    ] {
        made.push((name, or_fail(name, by_the_library(&mut prng, &layout))));
    }
    let name = "attachments and metadata between";
    made.push((name, or_fail(name, with_attachments(&mut prng))));
    made.extend(by_hand(&mut prng));
    made.into_iter()
        .map(|(name, bytes)| {
            let Some(walked) = walk(&bytes) else { unreachable!("{name} of {seed} is malformed") };
            Fixture { name, seed, bytes, walked }
        })
        .collect()
}

fn or_fail(name: &str, made: io::Result<Vec<u8>>) -> Vec<u8> {
    match made {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("{name}: {error}"),
    }
}

/// The messages of one file, nearly in the order of their times.
fn messages(prng: &mut Prng) -> Vec<RawMessage> {
    (0..MESSAGES)
        .map(|sequence| {
            let log_time_ns = 1_700_000_000_000_000_000 + u64::from(sequence) * 1_000;
            let log_time_ns = log_time_ns + prng.below(1_500);
            let words = ["forward", "left", "right", "stop", "charging", "a box of tools"];
            let text = format!("{sequence} {} {:x}", prng.pick(&words), prng.below(1 << 40));
            let mut payload = CdrWriter::new(ByteOrder::Little);
            payload.string(&text);
            RawMessage {
                channel: prng.pick(&CHANNELS).0,
                sequence,
                log_time_ns,
                publish_time_ns: log_time_ns - prng.below(500),
                payload: payload.finish(),
            }
        })
        .collect()
}

fn by_the_library(prng: &mut Prng, layout: &Layout) -> io::Result<Vec<u8>> {
    let channels = CHANNELS.map(|(id, topic)| TestChannel {
        id,
        topic: topic.to_owned(),
        type_name: TYPE.to_owned(),
        definition: DEFINITION.to_owned(),
        latched: false,
    });
    let messages: Vec<TestMessage> = messages(prng)
        .into_iter()
        .map(|m| TestMessage {
            channel: m.channel,
            log_time_ns: m.log_time_ns,
            publish_time_ns: m.publish_time_ns,
            sequence: m.sequence,
            payload: m.payload,
        })
        .collect();
    bag_bytes(&channels, &messages, layout)
}

fn with_attachments(prng: &mut Prng) -> io::Result<Vec<u8>> {
    let mut write = || -> mcap::McapResult<Vec<u8>> {
        let options = mcap::WriteOptions::new().compression(None).chunk_size(Some(300));
        let mut writer = options.create(Cursor::new(Vec::new()))?;
        let schema = writer.add_schema(TYPE, "ros2msg", DEFINITION.as_bytes())?;
        for (id, topic) in CHANNELS {
            writer.add_channel_with_id(id, schema, topic, "cdr", &BTreeMap::new())?;
        }
        for m in messages(prng) {
            if m.sequence % 7 == 3 {
                let data = b"a calibration".as_slice().into();
                let (name, media_type) = ("calibration".to_owned(), "text/plain".to_owned());
                let (log_time, create_time) = (3, 2);
                writer.attach(&mcap::Attachment {
                    log_time,
                    create_time,
                    name,
                    media_type,
                    data,
                })?;
                let metadata = BTreeMap::from([("robot".to_owned(), "r2".to_owned())]);
                writer.write_metadata(&mcap::records::Metadata {
                    name: "run".to_owned(),
                    metadata,
                })?;
            }
            let header = mcap::records::MessageHeader {
                channel_id: m.channel,
                sequence: m.sequence,
                log_time: m.log_time_ns,
                publish_time: m.publish_time_ns,
            };
            writer.write_to_known_channel(&header, &m.payload)?;
        }
        writer.finish()?;
        Ok(writer.into_inner().into_inner())
    };
    write().map_err(io::Error::other)
}

/// The schema and the channels, as records.
fn declarations() -> Vec<Vec<u8>> {
    let mut all = vec![schema(1, TYPE, "ros2msg", DEFINITION.as_bytes())];
    all.extend(CHANNELS.map(|(id, topic)| channel(id, 1, topic, "cdr", &[])));
    all
}

/// The schema and those channels that `messages` are of.
fn declarations_of(messages: &[RawMessage]) -> Vec<Vec<u8>> {
    let mut all = vec![schema(1, TYPE, "ros2msg", DEFINITION.as_bytes())];
    for (id, topic) in CHANNELS {
        if messages.iter().any(|message| message.channel == id) {
            all.push(channel(id, 1, topic, "cdr", &[]));
        }
    }
    all
}

fn top(records: Vec<Vec<u8>>) -> Vec<Part> {
    records.into_iter().map(Part::Record).collect()
}

fn chunk_of(messages: &[RawMessage]) -> Part {
    Part::Chunk(messages.iter().map(message).collect())
}

fn by_hand(prng: &mut Prng) -> Vec<(&'static str, Vec<u8>)> {
    let spec = FileSpec::default();
    let no_crc = SummarySpec { crc: false, ..SummarySpec::ALL };
    let mut made = Vec::new();
    let mut put = |name, parts, spec: FileSpec| {
        made.push((name, FileSpec { parts, ..spec }.bytes()));
    };

    let loose = messages(prng).iter().map(message).collect();
    let parts = [top(declarations()), top(loose)].concat();
    let without = FileSpec { data_crc: false, summary: Some(no_crc), ..spec.clone() };
    put("by hand: unchunked, no crc", parts, without);

    put("by hand: unchunked, declared late", declared_late(prng), spec.clone());

    let lz4 = FileSpec { codec: Codec::Lz4, data_crc: false, ..spec.clone() };
    put("by hand: overlapping chunks out of order", overlapping(prng), lz4);

    let one_each = messages(prng).chunks(1).map(chunk_of).collect();
    put("by hand: a chunk a message", [top(declarations()), one_each].concat(), spec.clone());

    let padded = FileSpec {
        header_padding: b"a field of a later version".to_vec(),
        data_crc: false,
        ..spec.clone()
    };
    put("by hand: private records and padding", private_records(prng), padded);

    let inside: Vec<Part> = messages(prng).chunks(4).map(declaring_chunk).collect();
    let bare = FileSpec { summary: None, codec: Codec::Zstd, data_crc: false, ..spec.clone() };
    put("by hand: declared inside each chunk alone", inside, bare);

    put("by hand: empty channels", empty_channels(prng), spec.clone());
    put("by hand: equal channels", equal_channels(prng), spec.clone());
    put("by hand: chunks and loose messages", mixed(prng), spec.clone());

    let chunks: Vec<Part> = messages(prng).chunks(5).map(chunk_of).collect();
    let data_only = FileSpec { chunk_crc: false, ..spec.clone() };
    put("by hand: a crc over the data alone", [top(declarations()), chunks].concat(), data_only);

    let chunks: Vec<Part> = nested_payloads(prng).chunks(4).map(chunk_of).collect();
    put("by hand: payloads of records", [top(declarations()), chunks].concat(), spec);
    made
}

/// Each channel is declared right in front of its first message.
fn declared_late(prng: &mut Prng) -> Vec<Part> {
    let mut parts = vec![Part::Record(schema(1, TYPE, "ros2msg", DEFINITION.as_bytes()))];
    let mut declared = Vec::new();
    for m in messages(prng) {
        let topic = CHANNELS.iter().find(|(id, _)| *id == m.channel).map_or("", |(_, topic)| topic);
        if !declared.contains(&m.channel) {
            parts.push(Part::Record(channel(m.channel, 1, topic, "cdr", &[])));
            declared.push(m.channel);
        }
        parts.push(Part::Record(message(&m)));
    }
    parts
}

/// Messages dealt out to six chunks at random, each in an order of its own.
fn overlapping(prng: &mut Prng) -> Vec<Part> {
    let mut chunks: Vec<Vec<RawMessage>> = vec![Vec::new(); 6];
    let mut all = messages(prng);
    prng.shuffle(&mut all);
    for m in all {
        let at = prng.index(chunks.len());
        if let Some(chunk) = chunks.get_mut(at) {
            chunk.push(m);
        }
    }
    chunks.retain(|chunk| !chunk.is_empty());
    [top(declarations()), chunks.iter().map(|chunk| chunk_of(chunk)).collect()].concat()
}

/// Records of no known kind between and inside the chunks, and fields that a later version of
/// the format may add.
fn private_records(prng: &mut Prng) -> Vec<Part> {
    let longer = |bytes: Vec<u8>| -> Vec<u8> {
        let opcode = bytes.first().copied().unwrap_or_default();
        let body = bytes.get(records::PREFIX_BYTES..).unwrap_or_default();
        record(opcode, &[body, b"more"].concat())
    };
    let mut parts = top(declarations().into_iter().map(longer).collect());
    for (number, some) in (0_u8..).zip(messages(prng).chunks(5)) {
        parts.push(Part::Record(record(op::PRIVATE + number, &[number; 21])));
        parts.push(Part::Record(record(0x40 + number, b"of a later version")));
        let mut inside: Vec<Vec<u8>> = some.iter().map(message).collect();
        inside.insert(1, record(op::PRIVATE + number, b"inside"));
        inside.push(record(0xFF, b""));
        parts.push(Part::Chunk(inside));
    }
    parts
}

fn declaring_chunk(messages: &[RawMessage]) -> Part {
    let mut records = declarations_of(messages);
    records.extend(messages.iter().map(message));
    Part::Chunk(records)
}

/// Channels without messages, without a schema, and schemas without channels.
fn empty_channels(prng: &mut Prng) -> Vec<Part> {
    let mut parts = top(declarations());
    parts.push(Part::Record(schema(7, "p/msg/Unused", "ros2msg", b"int32 x\n")));
    parts.push(Part::Record(channel(50, 0, "/without_schema", "json", &[("a", "b")])));
    parts.push(Part::Record(channel(51, 7, "/never", "cdr", &[])));
    let mut all = messages(prng);
    for m in all.iter_mut().filter(|m| m.sequence % 4 == 1) {
        m.channel = 50;
        m.payload = b"{\"x\": 1}".to_vec();
    }
    parts.extend(all.chunks(6).map(chunk_of));
    parts.push(Part::Record(channel(52, 1, "/declared_last", "cdr", &[])));
    parts.push(Part::Chunk(Vec::new()));
    parts
}

/// Six publishers that differ in their numbers alone, and one definition under three numbers.
fn equal_channels(prng: &mut Prng) -> Vec<Part> {
    let mut parts = Vec::new();
    for id in [1, 2, 3] {
        parts.push(Part::Record(schema(id, TYPE, "ros2msg", DEFINITION.as_bytes())));
    }
    for id in 0..6 {
        parts.push(Part::Record(channel(id, 1 + id % 3, "/tf", "cdr", &[])));
    }
    let mut all = messages(prng);
    for m in &mut all {
        m.channel = u16::try_from(prng.below(6)).unwrap_or_default();
    }
    parts.extend(all.chunks(5).map(chunk_of));
    parts
}

/// Chunks, loose messages and an attachment by turns.
fn mixed(prng: &mut Prng) -> Vec<Part> {
    let mut parts = top(declarations());
    for (number, some) in messages(prng).chunks(3).enumerate() {
        if number % 2 == 0 {
            parts.push(chunk_of(some));
        } else {
            parts.extend(top(some.iter().map(message).collect()));
        }
        if number == 3 {
            parts.push(Part::Record(attachment("notes", b"nothing")));
            parts.push(Part::Record(records::metadata("run", &[("robot", "r2")])));
        }
    }
    parts
}

/// Messages whose payloads are themselves records of a file: what looks for a way on behind
/// damage must not take them for messages of its own.
fn nested_payloads(prng: &mut Prng) -> Vec<RawMessage> {
    let mut all = messages(prng);
    for m in all.iter_mut().filter(|m| m.sequence % 3 == 0) {
        let inner = RawMessage { sequence: 7_000 + m.sequence, ..m.clone() };
        m.payload = [message(&inner), message(&inner)].concat();
    }
    all
}
