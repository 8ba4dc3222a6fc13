//! One large bag: one field of every message of a topic, beside the peer's reader by index with
//! `cdr-encoding`, which fills whole messages; and, compressed, beside inflating its chunks.
//!
//! Over the bags in the folder that `ROS2_MEMORY_BENCH_DIR` names, which have `/imu/data` and
//! `/points`; else over a bag that it writes. Ends with exit code 1 when the two see other values.

#![expect(clippy::print_stdout, reason = "a table on stdout is what it makes")]

use std::{fs, path::PathBuf, sync::Arc};

use byteorder::LittleEndian;
use mcap::sans_io::{IndexedReadEvent, IndexedReader, IndexedReaderOptions};
use ros2_memory_bag::{Compression, Direction, ReadOptions, Timeline, TimelinePart};
use ros2_memory_benches::{
    Data, Outcome, Spread, Watch, big_bag, files_under, given_folder, inflate_and_check, parts_of,
    spread_of,
    typed::{Imu, PointCloud},
};
use ros2_memory_msg::{Library, Plan, PlanReader, Schema};
use ros2_memory_time::TimeRange;

const ROUNDS: usize = 5;

/// How many values, and the sum of their bits.
type Seen = (u64, u64);

fn main() -> Outcome<()> {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    let files: Vec<PathBuf> = match given_folder() {
        Some(folder) => files_under(&folder),
        None => [Compression::None, Compression::Zstd]
            .map(|compression| big_bag(data.root(), compression))
            .into_iter()
            .collect::<Result<_, _>>()?,
    };
    println!("medians of {ROUNDS} rounds, wall (CPU), ms; the peer / ours in processor time");
    for file in files {
        let parts = parts_of(std::slice::from_ref(&file))?;
        let megabytes = fs::metadata(&file)?.len() / 1_000_000;
        let mut chunks = parts.iter().flat_map(|part| &part.contents.chunks);
        let compression = chunks.next().ok_or("a bag without chunks")?.compression;
        println!("{}: {megabytes} MB, {}", file.display(), compression.as_str());
        let limit = spread_of(ROUNDS, || {
            let watch = Watch::start();
            inflate_and_check(std::slice::from_ref(&file))?;
            Outcome::Ok(watch.taken())
        })?;
        row("read, inflate and check every chunk", &limit);
        let bytes = fs::read(&file)?;
        let imu = |payload: &[u8]| -> Outcome<f64> {
            let (message, _) = cdr_encoding::from_bytes::<Imu, LittleEndian>(payload)?;
            let ([.., z], _) = message.linear_acceleration;
            Ok(z)
        };
        one_topic(&bytes, &parts, "/imu/data", "linear_acceleration.z", &limit, &imu)?;
        let points = |payload: &[u8]| -> Outcome<f64> {
            let (message, _) = cdr_encoding::from_bytes::<PointCloud, LittleEndian>(payload)?;
            Ok(message.size.1.into())
        };
        one_topic(&bytes, &parts, "/points", "width", &limit, &points)?;
    }
    Ok(())
}

fn one_topic(
    file: &[u8],
    parts: &[TimelinePart],
    topic: &str,
    field: &str,
    limit: &Spread,
    decode: &dyn Fn(&[u8]) -> Outcome<f64>,
) -> Outcome<()> {
    let seen = ours(parts, topic, field)?;
    if seen != peer(file, topic, decode)? || seen.0 == 0 {
        return Err(format!("{topic}: the peer does not see the same").into());
    }
    let (mut ours_taken, mut peer_taken) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let watch = Watch::start();
        ours(parts, topic, field)?;
        ours_taken.push(watch.taken());
        let watch = Watch::start();
        peer(file, topic, decode)?;
        peer_taken.push(watch.taken());
    }
    let spread = |taken: Vec<_>| {
        let mut taken = taken.into_iter();
        spread_of(ROUNDS, || Outcome::Ok(taken.next().unwrap_or_default()))
    };
    let (ours, peer) = (spread(ours_taken)?, spread(peer_taken)?);
    row(&format!("{field} of {topic}, {} messages", seen.0), &ours);
    row("   the peer", &peer);
    let ratio = |a: &Spread| a.cpu_median.as_secs_f64() / ours.cpu_median.as_secs_f64();
    println!("{:<58} {:>9.2}", "   times the peer's speed", ratio(&peer));
    println!("{:<58} {:>9.2}", "   of the time of the limit", 1.0 / ratio(limit));
    Ok(())
}

/// By this project's timeline and plans; the bag is known and verified.
fn ours(parts: &[TimelinePart], topic: &str, field: &str) -> Outcome<Seen> {
    let options = ReadOptions::default();
    let is_topic = topic.to_owned();
    let mut stream = Timeline::new(
        parts.to_vec(),
        TimeRange::ALL,
        Direction::Forward,
        options,
        move |channel| (*channel.topic == *is_topic).then_some(0),
        || false,
    );
    let mut reader: Option<PlanReader> = None;
    let mut seen = (0, 0u64);
    while let Some(message) = stream.next() {
        let reader = match &mut reader {
            Some(reader) => reader,
            none => {
                let declared = &message.contents.declared;
                let channel = declared.channel(message.channel_index).ok_or("no channel")?;
                let schema = declared.schema(channel).ok_or("no schema")?;
                let text = str::from_utf8(&schema.text)?;
                let schema = Schema::parse(&schema.name, text, &Library::new())?;
                let plan = Plan::compile(Arc::new(schema), &[field.parse()?])?;
                none.insert(PlanReader::new(plan))
            }
        };
        let mut number = [0.0];
        reader.numbers(message.payload, &mut number)?;
        seen = (seen.0 + 1, seen.1.wrapping_add(number[0].to_bits()));
    }
    match stream.report().skipped.first() {
        Some((path, error)) => Err(format!("{}: {error}", path.display()).into()),
        None => Ok(seen),
    }
}

/// By the peer's reader by index, which has the whole file in memory already.
fn peer(bytes: &[u8], topic: &str, decode: &dyn Fn(&[u8]) -> Outcome<f64>) -> Outcome<Seen> {
    let summary = mcap::Summary::read(bytes)?.ok_or("a file without a summary")?;
    let options = IndexedReaderOptions::new().include_topics([topic]);
    let mut reader = IndexedReader::new_with_options(&summary, options)?;
    let mut seen = (0, 0u64);
    while let Some(event) = reader.next_event() {
        match event? {
            IndexedReadEvent::Message { data, .. } => {
                let body = data.get(4..).ok_or("a payload without its header")?;
                seen = (seen.0 + 1, seen.1.wrapping_add(decode(body)?.to_bits()));
            }
            IndexedReadEvent::ReadChunkRequest { offset, length } => {
                let start = usize::try_from(offset)?;
                let chunk = bytes.get(start..start + length).ok_or("a chunk past the end")?;
                reader.insert_chunk_record_data(offset, chunk)?;
            }
        }
    }
    Ok(seen)
}

fn row(what: &str, spread: &Spread) {
    let ms = |of: std::time::Duration| of.as_secs_f64() * 1e3;
    println!("{what:<58} {:>9.2} ms ({:.2})", ms(spread.median), ms(spread.cpu_median));
}
