//! The value of `/odom` at random times, as a whole answer in process, beside the peer's reader
//! by index, which knows every summary and reads the file where the answer is.
//!
//! Over the folder that `ROS2_MEMORY_BENCH_DIR` names, else over the demo's hour, Zstandard and
//! uncompressed. Ends with exit code 1 when the two find other messages.

#![expect(clippy::print_stdout, reason = "a table on stdout is what it makes")]

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use byteorder::LittleEndian;
use mcap::{
    Summary,
    sans_io::{IndexedReadEvent, IndexedReader, IndexedReaderOptions, indexed_reader::ReadOrder},
};
use ros2_memory_bag::Compression;
use ros2_memory_benches::{
    Data, Opened, Outcome, Spread, Watch, arguments, ask, files_under, given_folder, spread_of,
    typed::Odometry,
};
use ros2_memory_query::Memory;

const TIMES: usize = 400;
const TOPIC: &str = "/odom";

fn main() -> Outcome<()> {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    match given_folder() {
        Some(folder) => of_folder(&data, &folder),
        None => [Compression::Zstd, Compression::None]
            .into_iter()
            .try_for_each(|compression| of_folder(&data, &data.hour(compression)?)),
    }
}

fn of_folder(data: &Data, folder: &Path) -> Outcome<()> {
    let catalog = data.empty_folder()?;
    let memory = Opened::configuration(folder, catalog.path())?.memory()?;
    let peer = Peer::over(files_under(folder))?;
    println!("{}: {} bags, {TIMES} times", folder.display(), peer.files.len());
    let times = times(&memory)?;
    let mut turn = 0;
    let mut next = || {
        turn += 1;
        times.get(turn % times.len()).copied().unwrap_or_default()
    };
    for _ in 0..TIMES {
        let at = next();
        let (ours, theirs) = (ours(&memory, at)?, peer.value(at)?);
        if ours != theirs {
            return Err(format!("at {at}: {ours:?}, and the peer {theirs:?}").into());
        }
    }
    let ours = spread_of(TIMES, || {
        let (at, watch) = (next(), Watch::start());
        ours(&memory, at)?;
        Outcome::Ok(watch.taken())
    })?;
    let theirs = spread_of(TIMES, || {
        let (at, watch) = (next(), Watch::start());
        peer.value(at)?;
        Outcome::Ok(watch.taken())
    })?;
    row("get_position_at, whole answer", &ours);
    row("the peer, the message filled", &theirs);
    let ratio = theirs.median.as_secs_f64() / ours.median.as_secs_f64();
    println!("{:<44} {ratio:>9.2}", "   times the peer's speed");
    Ok(())
}

/// Times spread over the history, in an order that jumps.
fn times(memory: &Memory) -> Outcome<Vec<u64>> {
    let snapshot = memory.snapshot();
    let span = snapshot.topic(TOPIC).and_then(|topic| topic.span).ok_or("no /odom")?;
    let (first, last) = (span.0.as_ns() + 1_000_000_000, span.1.as_ns());
    let step = u128::from(last - first);
    // Multiples of the golden ratio fall evenly and far from each other.
    let at = |i: u128| {
        first
            + u64::try_from(step * ((i * 618_033_988) % 1_000_000_000) / 1_000_000_000).unwrap_or(0)
    };
    Ok((0..TIMES as u128).map(at).collect())
}

/// When the message is, and its x.
type Value = (u64, f64);

fn ours(memory: &Memory, at: u64) -> Outcome<Value> {
    let given = arguments(&format!(r#"{{"timestamp": "{at}", "tolerance_s": 60}}"#))?;
    let reply = ask(memory, "get_position_at", &given)?.value;
    let time = reply.get("timestamp_ns").and_then(|ns| ns.as_str()?.parse().ok());
    let x = reply.get("x").and_then(serde_json::Value::as_f64);
    Ok(time.zip(x).ok_or_else(|| format!("no position in {reply}"))?)
}

/// Summaries of all files, in the order of their times.
struct Peer {
    files: Vec<(PathBuf, Summary, u64)>,
}

impl Peer {
    fn over(paths: Vec<PathBuf>) -> Outcome<Self> {
        let mut files = Vec::new();
        for path in paths {
            let summary = Summary::read(&std::fs::read(&path)?)?.ok_or("no summary")?;
            let start = summary.chunk_indexes.iter().map(|chunk| chunk.message_start_time).min();
            files.push((path, summary, start.ok_or("a bag without chunks")?));
        }
        files.sort_by_key(|(_, _, start)| *start);
        Ok(Self { files })
    }

    fn value(&self, at: u64) -> Outcome<Value> {
        let behind = self.files.partition_point(|(_, _, start)| *start <= at);
        for (path, summary, _) in self.files.get(..behind).unwrap_or_default().iter().rev() {
            let file = File::open(path)?;
            let options = IndexedReaderOptions::new()
                .with_order(ReadOrder::ReverseLogTime)
                .include_topics([TOPIC])
                .ending_before(at + 1);
            let mut reader = IndexedReader::new_with_options(summary, options)?;
            let mut chunk = Vec::new();
            while let Some(event) = reader.next_event() {
                match event? {
                    IndexedReadEvent::Message { header, data } => {
                        let body = data.get(4..).ok_or("a payload without its header")?;
                        let (message, _) =
                            cdr_encoding::from_bytes::<Odometry, LittleEndian>(body)?;
                        let [x, ..] = message.pose.position;
                        return Ok((header.log_time, x));
                    }
                    IndexedReadEvent::ReadChunkRequest { offset, length } => {
                        chunk.resize(length, 0);
                        file.read_exact_at(&mut chunk, offset)?;
                        reader.insert_chunk_record_data(offset, &chunk)?;
                    }
                }
            }
        }
        Err(format!("nothing before {at}").into())
    }
}

fn row(what: &str, spread: &Spread) {
    let us = |of: std::time::Duration| of.as_secs_f64() * 1e6;
    println!(
        "{what:<44} {:>9.1} us ({:.1}), {:.1} to {:.1}",
        us(spread.median),
        us(spread.cpu_median),
        us(spread.least),
        us(spread.most)
    );
}
