//! Indexes that lie, in files whose messages are whole.

use ros2_memory_bag::{Bag, Direction, ReadOptions};
use ros2_memory_testkit::{
    mcap_bytes::{
        ChunkIndex, Codec, FileSpec, MessageIndex, Part, Statistics, SummaryOffset, Tail,
        records::{RawMessage, channel, message, schema},
    },
    payload::{ByteOrder, CdrWriter},
    prng::Prng,
};
use ros2_memory_time::TimeRange;

use super::{
    failures::{Failures, Trials},
    rig::{Scratch, Seen, is_long, is_marked, range, seed, stream},
};

/// What is changed in the message indexes of one chunk, and behind the data.
struct Lie {
    name: String,
    in_chunk: Option<(usize, InChunk)>,
    in_tail: InTail,
}

type InChunk = Box<dyn Fn(&mut Vec<MessageIndex>)>;
type InTail = Box<dyn Fn(&mut Tail)>;

const CHUNKS: usize = 6;
const TOPICS: [&str; 3] = ["/odom", "/tf", "/chat"];

#[test]
fn an_index_that_lies_hides_no_message_without_a_mark() {
    let seed = seed("index lies");
    let mut prng = Prng::new(seed);
    let (mut failures, mut trials) = (Failures::default(), Trials::new());
    let scratch = Scratch::new();
    let (mut n_lies, mut by_index, mut marked) = (0, 0, 0);
    let codecs: &[Codec] = if is_long() {
        &[Codec::None, Codec::Zstd, Codec::Lz4]
    } else {
        &[Codec::None, Codec::Zstd]
    };
    for &codec in codecs {
        let base = Base::new(codec, &mut prng);
        for lie in lies(&base, &mut prng) {
            for with_crc in if is_long() { vec![true, false] } else { vec![prng.chance(50)] } {
                n_lies += 1;
                scratch.write(&base.with(&lie, with_crc));
                let name = format!("{codec:?}, {}", lie.name);
                let example = || format!("seed {seed}, summary crc {with_crc}");
                let queries = trials.run(&mut failures, &name, &example, || {
                    let bag = scratch.scanned().map_err(|error| error.to_string())?;
                    Ok::<_, String>(base.wrong_answers(&bag, false))
                });
                match queries {
                    Some(Ok(wrong)) => wrong.iter().for_each(|what| {
                        failures.note(&name, &format!("scan: {what}"), example());
                    }),
                    Some(Err(error)) => failures.note(&name, "opens", error),
                    None => {}
                }
                let queries = trials.run(&mut failures, &name, &example, || {
                    let (answer, bag) = scratch.by_index()?;
                    Some((answer.is_marked, base.wrong_answers(&bag, true)))
                });
                if let Some(Some((is_marked, wrong))) = queries {
                    by_index += 1;
                    marked += u64::from(is_marked);
                    for what in wrong {
                        failures.note(&name, &format!("index: {what}"), example());
                    }
                }
            }
        }
    }
    println!(
        "index lies: {n_lies}, of which {by_index} were read by the index, {marked} with a mark, \
         slowest {:?}",
        trials.slowest
    );
    failures.check();
    assert!(n_lies >= 500, "{n_lies}");
}

/// A file of six chunks, and what is in it.
struct Base {
    spec: FileSpec,
    messages: Vec<Seen>,
}

impl Base {
    /// Chunks that follow each other in time, but for two that overlap; not every channel is in
    /// every chunk.
    fn new(codec: Codec, prng: &mut Prng) -> Self {
        let mut parts =
            vec![Part::Record(schema(1, "std_msgs/msg/String", "ros2msg", b"string data\n"))];
        for (id, topic) in (1..).zip(TOPICS) {
            parts.push(Part::Record(channel(id, 1, topic, "cdr", &[])));
        }
        let mut messages = Vec::new();
        for chunk in 0..CHUNKS as u64 {
            let mut records = Vec::new();
            // The third starts inside the second.
            let start = 1_000_000 + if chunk == 2 { 1_400 } else { chunk * 1_000 };
            for n in 0..5 {
                let mut payload = CdrWriter::new(ByteOrder::Little);
                payload.string(&format!("{chunk} {n} {:x}", prng.below(1 << 30)));
                let id = 1 + u16::try_from(if chunk % 2 == 0 { n % 2 } else { n % 3 }).unwrap();
                let raw = RawMessage {
                    channel: id,
                    sequence: u32::try_from(chunk * 5 + n).unwrap(),
                    log_time_ns: start + n * 150 + prng.below(100),
                    publish_time_ns: start,
                    payload: payload.finish(),
                };
                messages.push(Seen {
                    log_time_ns: raw.log_time_ns,
                    sequence: raw.sequence,
                    publish_time_ns: raw.publish_time_ns,
                    channel_id: id,
                    payload: raw.payload.clone(),
                    topic: TOPICS[usize::from(id) - 1].to_owned(),
                });
                records.push(message(&raw));
            }
            parts.push(Part::Chunk(records));
        }
        messages.sort();
        Self { spec: FileSpec { parts, codec, ..FileSpec::default() }, messages }
    }

    fn with(&self, lie: &Lie, with_crc: bool) -> Vec<u8> {
        let mut laid = self.spec.lay(&mut |number, indexes| {
            if let Some((chunk, in_chunk)) = &lie.in_chunk
                && *chunk == number
            {
                in_chunk(indexes);
            }
        });
        (lie.in_tail)(&mut laid.tail);
        if let Some(summary) = &mut laid.tail.summary {
            summary.with_crc = with_crc;
        }
        laid.finish()
    }

    /// What the questions to a bag get wrong. By the index it may be wrong when it says so.
    fn wrong_answers(&self, bag: &Bag, may_be_marked: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let is_said = may_be_marked && is_marked(bag);
        let n = self.messages.len() as u64;
        if bag.contents().n_messages() != n && !is_said {
            wrong.push(format!("counts {} of {n}", bag.contents().n_messages()));
        }
        let times: Vec<u64> = self.messages.iter().map(|m| m.log_time_ns).collect();
        let ranges = [
            ("all", TimeRange::ALL),
            ("first half", range(0, times[times.len() / 2])),
            ("second half", range(times[times.len() / 2] + 1, u64::MAX - 1)),
            ("middle", range(times[7], times[16])),
            ("one", range(times[11], times[11])),
        ];
        for direction in [Direction::Forward, Direction::Reverse] {
            for (what, range) in ranges {
                for topic in [None, Some("/tf"), Some("/chat")] {
                    let is_wanted = |of: &str| topic.is_none_or(|topic| topic == of);
                    let got = stream(bag, ReadOptions::default(), direction, range, &is_wanted);
                    let mut expected: Vec<&Seen> = self
                        .messages
                        .iter()
                        .filter(|m| {
                            range.contains(ros2_memory_time::LogTime::from_ns(m.log_time_ns))
                        })
                        .filter(|m| is_wanted(&m.topic))
                        .collect();
                    if direction == Direction::Reverse {
                        expected.reverse();
                    }
                    // Times of one channel are never equal, so only the order of times counts.
                    let in_order = match direction {
                        Direction::Forward => got.messages.is_sorted_by_key(|m| m.log_time_ns),
                        Direction::Reverse => {
                            got.messages.is_sorted_by_key(|m| std::cmp::Reverse(m.log_time_ns))
                        }
                    };
                    let mut sorted: Vec<&Seen> = got.messages.iter().collect();
                    sorted.sort();
                    expected.sort();
                    let is_right = in_order && sorted == expected;
                    let is_said = is_said || may_be_marked && got.n_skipped > 0;
                    if !is_right && !is_said {
                        let (n, of) = (got.messages.len(), expected.len());
                        wrong.push(format!(
                            "{what}, {direction:?}, {topic:?}: {n} of {of}, in order: {in_order}"
                        ));
                    }
                }
            }
        }
        // One line a lie is enough.
        let rest = wrong.len().saturating_sub(1);
        wrong.into_iter().take(1).map(|what| format!("{what}, and {rest} more")).collect()
    }
}

/// Other values than the true one that a field of eight bytes may have.
fn lying_values(truth: u64, prng: &mut Prng) -> Vec<u64> {
    let mut values = vec![
        0,
        1,
        truth.wrapping_add(1),
        truth.wrapping_sub(1),
        truth.wrapping_mul(2),
        truth / 2,
        truth.wrapping_add(1_000),
        truth.wrapping_sub(1_000),
        u64::from(u32::MAX),
        1 << 40,
        1 << 63,
        u64::MAX - 8,
        u64::MAX,
        prng.below(4_000),
    ];
    values.retain(|value| *value != truth);
    values
}

fn lies(base: &Base, prng: &mut Prng) -> Vec<Lie> {
    let tail = base.spec.lay(&mut |_, _| {}).tail;
    let mut lies = Vec::new();
    of_chunk_fields(&tail, prng, &mut lies);
    of_chunk_entries(&tail, prng, &mut lies);
    of_message_places(&tail, &mut lies);
    of_statistics(&tail, prng, &mut lies);
    of_declarations(&mut lies);
    of_offsets(&base.spec, prng, &mut lies);
    of_message_indexes(prng, &mut lies);
    lies
}

fn in_tail(name: impl Into<String>, lie: impl Fn(&mut Tail) + 'static) -> Lie {
    Lie { name: name.into(), in_chunk: None, in_tail: Box::new(lie) }
}

fn in_chunk(
    name: impl Into<String>,
    chunk: usize,
    lie: impl Fn(&mut Vec<MessageIndex>) + 'static,
) -> Lie {
    let in_chunk: InChunk = Box::new(lie);
    Lie { name: name.into(), in_chunk: Some((chunk, in_chunk)), in_tail: Box::new(|_| {}) }
}

fn chunks(tail: &mut Tail) -> &mut Vec<ChunkIndex> {
    &mut tail.summary.as_mut().unwrap().chunks
}

fn statistics(tail: &mut Tail) -> &mut Statistics {
    tail.summary.as_mut().unwrap().statistics.as_mut().unwrap()
}

fn of_chunk_fields(tail: &Tail, prng: &mut Prng, lies: &mut Vec<Lie>) {
    type Field = fn(&mut ChunkIndex) -> &mut u64;
    let fields: [(&str, Field); 7] = [
        ("start", |chunk| &mut chunk.start_ns),
        ("end", |chunk| &mut chunk.end_ns),
        ("offset", |chunk| &mut chunk.offset),
        ("length", |chunk| &mut chunk.length),
        ("message index length", |chunk| &mut chunk.message_index_length),
        ("stored size", |chunk| &mut chunk.stored_size),
        ("uncompressed size", |chunk| &mut chunk.uncompressed_size),
    ];
    let mut tail = tail.clone();
    for (name, field) in fields {
        for number in [0, prng.index(CHUNKS - 2) + 1, CHUNKS - 1] {
            let truth = *field(&mut chunks(&mut tail)[number]);
            for value in lying_values(truth, prng) {
                lies.push(in_tail(
                    format!("chunk index {number}, {name} {value} for {truth}"),
                    move |tail| *field(&mut chunks(tail)[number]) = value,
                ));
            }
        }
        lies.push(in_tail(format!("{name} 0 in all"), move |tail| {
            for chunk in chunks(tail) {
                *field(chunk) = 0;
            }
        }));
        lies.push(in_tail(format!("{name} of the next in all"), move |tail| {
            let values: Vec<u64> = chunks(tail).iter_mut().map(|chunk| *field(chunk)).collect();
            for (chunk, value) in chunks(tail).iter_mut().zip(values.iter().cycle().skip(1)) {
                *field(chunk) = *value;
            }
        }));
    }
    for compression in ["", "lz4", "zstd", "rar"] {
        lies.push(in_tail(format!("compression {compression:?}"), move |tail| {
            chunks(tail)[1].compression = compression.to_owned();
        }));
    }
}

fn of_chunk_entries(tail: &Tail, prng: &mut Prng, lies: &mut Vec<Lie>) {
    for number in 0..CHUNKS {
        lies.push(in_tail(format!("no entry of chunk {number}"), move |tail| {
            chunks(tail).remove(number);
        }));
        lies.push(in_tail(format!("entry of chunk {number} twice"), move |tail| {
            let again = chunks(tail)[number].clone();
            chunks(tail).push(again);
        }));
        lies.push(in_tail(format!("no entry of chunk {number}, and counts to fit"), move |tail| {
            let gone = chunks(tail).remove(number);
            let counts = statistics(tail);
            counts.chunks -= 1;
            counts.messages -= 5;
            // As an editor that drops a chunk would leave them.
            for (channel, _) in &gone.message_indexes {
                let of = counts.per_channel.iter_mut().find(|(id, _)| id == channel).unwrap();
                of.1 -= if number % 2 == 0 {
                    5 / 2 + u64::from(*channel == 1)
                } else {
                    2 - u64::from(*channel == 3)
                };
            }
        }));
        lies.push(in_tail(format!("entry of chunk {number} alone"), move |tail| {
            let only = chunks(tail)[number].clone();
            *chunks(tail) = vec![only];
        }));
    }
    lies.push(in_tail("no entries", |tail| chunks(tail).clear()));
    lies.push(in_tail("no entries and no statistics", |tail| {
        chunks(tail).clear();
        tail.summary.as_mut().unwrap().statistics = None;
    }));
    lies.push(in_tail("entries in reverse", |tail| chunks(tail).reverse()));
    lies.push(in_tail("all entries are the first", |tail| {
        let first = chunks(tail)[0].clone();
        chunks(tail).fill(first);
    }));
    let end = tail.summary.as_ref().unwrap().chunks.last().unwrap().offset;
    for at in [0, 8, 9, 100, end - 1, end + 1, end + 40, 1 << 40, u64::MAX, prng.below(end)] {
        lies.push(in_tail(format!("one more entry, at {at}"), move |tail| {
            let more = ChunkIndex { offset: at, ..chunks(tail)[2].clone() };
            chunks(tail).push(more);
        }));
        lies.push(in_tail(format!("one more entry in front, at {at}"), move |tail| {
            let more = ChunkIndex { offset: at, ..chunks(tail)[2].clone() };
            chunks(tail).insert(0, more);
            statistics(tail).chunks += 1;
        }));
    }
}

fn of_message_places(tail: &Tail, lies: &mut Vec<Lie>) {
    for number in [0, 3, CHUNKS - 1] {
        let places = tail.summary.as_ref().unwrap().chunks[number].message_indexes.clone();
        lies.push(in_tail(format!("chunk {number} has no message indexes"), move |tail| {
            chunks(tail)[number].message_indexes.clear();
        }));
        lies.push(in_tail(format!("chunk {number} has message indexes of 0 bytes"), move |tail| {
            chunks(tail)[number].message_indexes.clear();
            chunks(tail)[number].message_index_length = 0;
        }));
        lies.push(in_tail(format!("chunk {number} has a channel too many"), move |tail| {
            let at = chunks(tail)[number].message_indexes[0].1;
            chunks(tail)[number].message_indexes.push((77, at));
        }));
        for (place, (channel, at)) in places.into_iter().enumerate() {
            lies.push(in_tail(format!("chunk {number} lacks channel {channel}"), move |tail| {
                chunks(tail)[number].message_indexes.remove(place);
            }));
            for value in [0, at + 1, at - 1, at + 9, 1 << 40, u64::MAX] {
                lies.push(in_tail(
                    format!("chunk {number}, channel {channel} indexed at {value}"),
                    move |tail| chunks(tail)[number].message_indexes[place].1 = value,
                ));
            }
            lies.push(in_tail(format!("chunk {number}, channel {channel} named 2"), move |tail| {
                chunks(tail)[number].message_indexes[place].0 = 2;
            }));
        }
        lies.push(in_tail(format!("chunk {number}, message indexes swapped"), move |tail| {
            let places = &mut chunks(tail)[number].message_indexes;
            let (first, second) = (places[0].1, places[1].1);
            places[0].1 = second;
            places[1].1 = first;
        }));
    }
}

fn of_statistics(tail: &Tail, prng: &mut Prng, lies: &mut Vec<Lie>) {
    type Field = fn(&mut Statistics) -> &mut u64;
    type Narrow = fn(&mut Statistics) -> &mut u32;
    let wide: [(&str, Field); 3] = [
        ("messages", |counts| &mut counts.messages),
        ("start", |counts| &mut counts.start_ns),
        ("end", |counts| &mut counts.end_ns),
    ];
    let mut tail = tail.clone();
    for (name, field) in wide {
        let truth = *field(statistics(&mut tail));
        for value in lying_values(truth, prng) {
            lies.push(in_tail(format!("statistics, {name} {value} for {truth}"), move |tail| {
                *field(statistics(tail)) = value;
            }));
        }
    }
    let narrow: [(&str, Narrow); 4] = [
        ("channels", |counts| &mut counts.channels),
        ("chunks", |counts| &mut counts.chunks),
        ("attachments", |counts| &mut counts.attachments),
        ("metadata", |counts| &mut counts.metadata),
    ];
    for (name, field) in narrow {
        for value in [0, 1, 2, 5, 7, 1 << 20, u32::MAX] {
            lies.push(in_tail(format!("statistics, {name} {value}"), move |tail| {
                *field(statistics(tail)) = value;
            }));
        }
    }
    for value in [0, 2, u16::MAX] {
        lies.push(in_tail(format!("statistics, schemas {value}"), move |tail| {
            statistics(tail).schemas = value;
        }));
    }
    for place in 0..3 {
        for value in [0, 1, 9, 12, u64::MAX] {
            lies.push(in_tail(format!("statistics, count {place} is {value}"), move |tail| {
                statistics(tail).per_channel[place].1 = value;
            }));
        }
        lies.push(in_tail(format!("statistics, count {place} of channel 99"), move |tail| {
            statistics(tail).per_channel[place].0 = 99;
        }));
        lies.push(in_tail(format!("statistics, no count {place}"), move |tail| {
            statistics(tail).per_channel.remove(place);
        }));
    }
    lies.push(in_tail("statistics, no counts", |tail| statistics(tail).per_channel.clear()));
    lies.push(in_tail("statistics, counts twice", |tail| {
        let again = statistics(tail).per_channel.clone();
        statistics(tail).per_channel.extend(again);
    }));
    lies.push(in_tail("no statistics", |tail| tail.summary.as_mut().unwrap().statistics = None));
    lies.push(in_tail("statistics of nothing", |tail| {
        *statistics(tail) = Statistics::default();
    }));
}

fn of_declarations(lies: &mut Vec<Lie>) {
    fn summary(tail: &mut Tail) -> &mut ros2_memory_testkit::mcap_bytes::Summary {
        tail.summary.as_mut().unwrap()
    }
    lies.push(in_tail("no schemas", |tail| summary(tail).schemas.clear()));
    lies.push(in_tail("no channels", |tail| summary(tail).channels.clear()));
    lies.push(in_tail("no declarations", |tail| {
        summary(tail).schemas.clear();
        summary(tail).channels.clear();
    }));
    for (place, topic) in TOPICS.into_iter().enumerate() {
        lies.push(in_tail(format!("no channel {place}"), move |tail| {
            summary(tail).channels.remove(place);
        }));
        lies.push(in_tail(format!("channel {place} twice"), move |tail| {
            let again = summary(tail).channels[place].clone();
            summary(tail).channels.push(again);
        }));
        lies.push(in_tail(format!("channel {place} of another schema"), move |tail| {
            let id = u16::try_from(place + 1).unwrap();
            summary(tail).channels[place] = channel(id, 9, topic, "cdr", &[]);
        }));
        lies.push(in_tail(format!("channel {place} of another topic"), move |tail| {
            let id = u16::try_from(place + 1).unwrap();
            summary(tail).channels[place] = channel(id, 1, "/lie", "cdr", &[]);
        }));
    }
    lies.push(in_tail("a channel too many", |tail| {
        summary(tail).channels.push(channel(9, 1, "/more", "cdr", &[]));
    }));
}

fn of_offsets(spec: &FileSpec, prng: &mut Prng, lies: &mut Vec<Lie>) {
    let file = spec.bytes();
    let data_end = spec.lay(&mut |_, _| {}).data.len() as u64;
    let (start, end) = (data_end + 13, file.len() as u64);
    let places = [
        1,
        8,
        start - 13,
        start - 1,
        start + 1,
        start + 9,
        end - 37,
        end - 8,
        end - 1,
        end,
        end + 1,
        1 << 40,
        u64::MAX - 8,
        u64::MAX,
        prng.below(start),
        prng.below(end),
    ];
    for place in places.into_iter().chain([0]) {
        lies.push(in_tail(format!("footer, summary at {place}"), move |tail| {
            tail.summary_start = Some(place);
        }));
        lies.push(in_tail(format!("footer, offsets at {place}"), move |tail| {
            tail.summary_offset_start = Some(place);
        }));
        for opcode in [0x03, 0x04, 0x08, 0x0B] {
            lies.push(in_tail(format!("records {opcode:#x} said at {place}"), move |tail| {
                let lie = SummaryOffset { opcode, start: place, length: 100 };
                tail.summary.as_mut().unwrap().offsets = Some(vec![lie]);
            }));
        }
    }
    for length in [0, 1, 1 << 40, u64::MAX] {
        lies.push(in_tail(format!("chunk indexes said {length} bytes long"), move |tail| {
            let lie = SummaryOffset { opcode: 0x08, start, length };
            tail.summary.as_mut().unwrap().offsets = Some(vec![lie]);
        }));
    }
    lies.push(in_tail("no offsets", |tail| tail.summary.as_mut().unwrap().offsets = Some(vec![])));
    lies.push(in_tail("no summary", |tail| tail.summary = None));
    lies.push(in_tail("a wrong checksum of the data", |tail| tail.data_crc ^= 0xFFFF));
    lies.push(in_tail("no checksum of the data", |tail| tail.data_crc = 0));
}

fn of_message_indexes(prng: &mut Prng, lies: &mut Vec<Lie>) {
    for chunk in [0, 1 + prng.index(CHUNKS - 2), CHUNKS - 1] {
        let mut put = |what: &str, lie: fn(&mut Vec<MessageIndex>)| {
            lies.push(in_chunk(format!("message indexes of chunk {chunk}: {what}"), chunk, lie));
        };
        put("none", Vec::clear);
        put("no first", |all| {
            all.remove(0);
        });
        put("no last", |all| {
            all.pop();
        });
        put("the first twice", |all| all.push(all[0].clone()));
        put("of channel 99", |all| all[0].channel = 99);
        put("of one channel all", |all| all.iter_mut().for_each(|index| index.channel = 1));
        put("no entries", |all| all[0].entries.clear());
        put("no first entry", |all| {
            all[0].entries.remove(0);
        });
        put("no last entry", |all| {
            all[0].entries.pop();
        });
        put("the first entry twice", |all| {
            let again = all[0].entries[0];
            all[0].entries.push(again);
        });
        put("entries in reverse", |all| all[0].entries.reverse());
        put("times 0", |all| all[0].entries.iter_mut().for_each(|entry| entry.0 = 0));
        put("times 2^64-1", |all| all[0].entries.iter_mut().for_each(|entry| entry.0 = u64::MAX));
        put("times a second later", |all| {
            all[0].entries.iter_mut().for_each(|entry| entry.0 += 1_000_000_000);
        });
        put("places 0", |all| all[0].entries.iter_mut().for_each(|entry| entry.1 = 0));
        put("places one further", |all| all[0].entries.iter_mut().for_each(|entry| entry.1 += 1));
        put("places 2^64-1", |all| all[0].entries.iter_mut().for_each(|entry| entry.1 = u64::MAX));
        put("says 0 bytes", |all| all[0].says_bytes = Some(0));
        put("says 15 bytes", |all| all[0].says_bytes = Some(15));
        put("says 16 bytes", |all| all[0].says_bytes = Some(16));
        put("says 4 GiB", |all| all[0].says_bytes = Some(u32::MAX));
        put("says too many", |all| all[0].says_bytes = Some(16 * 40));
    }
}
