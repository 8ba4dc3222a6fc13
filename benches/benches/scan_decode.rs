//! Every message of an hour seen and its fields of interest read: by this project's pass over
//! whole files and by its merged stream, by the peers, and beside them the least that a pass can
//! cost. Processor time, since others use the machine too.
//!
//! With `--once ROW FOLDER` one row runs once, for a profiler; with `--instructions [FOLDER]` each
//! row does so under `valgrind`, and its instructions for each message are printed.

#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nobody to tell")]
#![expect(clippy::print_stdout, reason = "counts on stdout are what it makes")]

use std::{
    hint::black_box,
    path::{Path, PathBuf},
    process::Command,
};

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use ros2_memory_bag::{Compression, ReadOptions};
use ros2_memory_benches::{
    Data, GIVEN_FOLDER, Outcome, Watch, files_under, given_folder, indexed_reader,
    inflate_and_check, message_stream, parts_of, peer_fields, plain_walk, scan_fields,
    scan_messages, timeline, timeline_fields,
};

/// The rows that can be run once, and the row that prepares one and is not counted in it.
const ROWS: [(&str, Option<&str>); 11] = [
    ("listing", None),
    ("inflate_and_check", None),
    ("plain_walk", None),
    ("scan", None),
    ("scan_fields", None),
    ("timeline", Some("contents")),
    ("timeline_fields", Some("contents")),
    ("peer_message_stream", None),
    ("peer_message_stream_fields", None),
    ("peer_checks_crc_fields", None),
    ("peer_indexed_reader", None),
];

fn main() -> Outcome<()> {
    // Cargo adds an argument of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *arguments.as_slice() {
        ["--once", row, folder] => println!("{row}: {}", once(row, Path::new(folder))?),
        ["--instructions"] => {
            let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
            instructions(&given_folder().map_or_else(|| data.hour(Compression::Zstd), Ok)?)?;
        }
        ["--instructions", folder] => instructions(Path::new(folder))?,
        _ => times(&mut Criterion::default().configure_from_args()),
    }
    Ok(())
}

fn times(criterion: &mut Criterion) {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    for compression in [Compression::None, Compression::Zstd, Compression::Lz4] {
        let name = format!("scan_decode_{}", compression.as_str());
        recordings(criterion, &name, &data.hour_files(compression).unwrap());
    }
    match given_folder() {
        Some(folder) => recordings(criterion, "scan_decode_given", &files_under(&folder)),
        None => println!("{GIVEN_FOLDER} names no folder: no rows for recordings of others"),
    }
    criterion.final_summary();
}

fn recordings(criterion: &mut Criterion, name: &str, files: &[PathBuf]) {
    let parts = parts_of(files).unwrap();
    let expected = peer_fields(files, true).unwrap();
    assert!(expected.numbers > 0 && expected.texts > 0);
    assert_eq!(expected, scan_fields(files).unwrap());
    assert_eq!(expected, timeline_fields(&parts).unwrap());
    assert_eq!(expected.tally, scan_messages(files).unwrap());
    assert!(inflate_and_check(files).unwrap() > expected.tally.bytes);

    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Elements(expected.tally.messages));
    row(&mut group, "inflate_and_check", || inflate_and_check(files).unwrap());
    row(&mut group, "scan", || scan_messages(files).unwrap());
    row(&mut group, "scan_fields", || scan_fields(files).unwrap());
    row(&mut group, "timeline_fields", || timeline_fields(&parts).unwrap());
    row(&mut group, "peer_message_stream_fields", || peer_fields(files, false).unwrap());
    row(&mut group, "peer_checks_crc_fields", || peer_fields(files, true).unwrap());
    group.finish();
}

fn row<T>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut pass: impl FnMut() -> T) {
    group.bench_function(name, |b| {
        b.iter_custom(|n| {
            let watch = Watch::start();
            for _ in 0..n {
                black_box(pass());
            }
            watch.taken().cpu
        });
    });
}

/// Runs one row once. Returns how many messages it saw; of rows that see none, how many files or
/// bytes.
fn once(row: &str, folder: &Path) -> Outcome<u64> {
    let files = files_under(folder);
    Ok(match row {
        "listing" => files.len() as u64,
        "inflate_and_check" => inflate_and_check(&files)?,
        "plain_walk" => plain_walk(&files)?.messages,
        "scan" => scan_messages(&files)?.messages,
        "scan_fields" => scan_fields(&files)?.tally.messages,
        "contents" => parts_of(&files)?.iter().map(|part| part.contents.n_messages()).sum(),
        "timeline" => timeline(&parts_of(&files)?, ReadOptions::default()).messages,
        "timeline_fields" => timeline_fields(&parts_of(&files)?)?.tally.messages,
        "peer_message_stream" => message_stream(&files, false)?.messages,
        "peer_message_stream_fields" => peer_fields(&files, false)?.tally.messages,
        "peer_checks_crc_fields" => peer_fields(&files, true)?.tally.messages,
        "peer_indexed_reader" => indexed_reader(&files)?.messages,
        other => return Err(format!("{other} is no row; the rows are {ROWS:?}").into()),
    })
}

/// Counts the instructions of each row, of its whole process.
fn instructions(folder: &Path) -> Outcome<()> {
    let messages = once("plain_walk", folder)?;
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    println!("{messages} messages; profiles in {}/callgrind.*", out.display());
    println!("{:<30} {:>12} {:>10}", "", "instructions", "a message");
    for (row, preparation) in ROWS {
        let before = preparation.map_or(Ok(0), |row| counted(row, folder, out))?;
        let taken = counted(row, folder, out)?.saturating_sub(before);
        println!("{row:<30} {taken:>12} {:>10}", taken / messages.max(1));
    }
    Ok(())
}

/// The instructions that `valgrind` counts for this program with one row.
fn counted(row: &str, folder: &Path, out: &Path) -> Outcome<u64> {
    let profile = out.join(format!("callgrind.{row}"));
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(std::env::current_exe()?)
        .args(["--once", row])
        .arg(folder)
        .output()
        .map_err(|error| format!("valgrind does not start: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let (true, Some((_, count))) = (output.status.success(), collected) else {
        return Err(format!("{row} under valgrind: {said}").into());
    };
    Ok(count.trim().parse()?)
}
