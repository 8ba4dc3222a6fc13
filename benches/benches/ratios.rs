//! How many times faster than a peer, and how close to what is possible: rows measured side by
//! side, each ratio taken within one round, in processor time.
//!
//! With `--check` the exit code is 1 when a median misses what is claimed.

#![expect(clippy::print_stdout, reason = "a table on stdout is what it makes")]

use std::{path::PathBuf, process::ExitCode};

use ros2_memory_bag::Compression;
use ros2_memory_benches::{
    Data, GIVEN_FOLDER, Outcome, Positions, Watch, files_under, given_folder, inflate_and_check,
    parts_of, peer_fields, scan_fields, scan_messages, timeline_fields,
};

const ROUNDS: usize = 15;
/// How often the positions of all messages are read in a round.
const REPETITIONS: usize = 100;

/// What one row took, in seconds, in each round.
type Taken = Vec<f64>;
/// A row by its name.
type Row<'r> = (&'static str, Box<dyn FnMut() -> Outcome<()> + 'r>);

/// What is claimed of the ratio of two rows.
enum Claim {
    AtLeast(f64),
    AtMost(f64),
    Nothing,
}

/// The table on its way to stdout.
#[derive(Default)]
struct Table {
    is_missed: bool,
}

fn main() -> Outcome<ExitCode> {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    let mut table = Table::default();
    println!("{:<58} {:>8} {:>8} {:>8} {:>9}", "ratio", "median", "least", "most", "claim");
    for compression in [Compression::None, Compression::Zstd, Compression::Lz4] {
        let files = data.hour_files(compression)?;
        passes(&mut table, compression.as_str(), &files)?;
    }
    match given_folder() {
        Some(folder) => passes(&mut table, "given", &files_under(&folder))?,
        None => println!("{GIVEN_FOLDER} names no folder: no rows for recordings of others"),
    }
    positions(&mut table, &Positions::of(&data.history()?)?)?;
    let checks = std::env::args().any(|argument| argument == "--check");
    Ok(if checks && table.is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Passes over every message of some files.
fn passes(table: &mut Table, name: &str, files: &[PathBuf]) -> Outcome<()> {
    let parts = parts_of(files)?;
    let expected = peer_fields(files, true)?;
    if expected != scan_fields(files)? || expected != timeline_fields(&parts)? {
        return Err("the passes do not see the same".into());
    }
    let mut rows: Vec<Row<'_>> = vec![
        ("inflate and check", Box::new(|| inflate_and_check(files).map(drop))),
        ("scan", Box::new(|| scan_messages(files).map(drop))),
        ("scan, fields read", Box::new(|| scan_fields(files).map(drop))),
        ("timeline, fields read", Box::new(|| timeline_fields(&parts).map(drop))),
        ("peer, whole messages", Box::new(|| peer_fields(files, false).map(drop))),
        ("peer, whole messages, checks each CRC", Box::new(|| peer_fields(files, true).map(drop))),
    ];
    println!("{name}: {} messages", expected.tally.messages);
    let taken = rounds(&mut rows)?;
    let [limit, scan, fields, timeline, peer, checking] = taken.as_slice() else { return Ok(()) };
    table.row("  peer / scan, fields read", peer, fields, &Claim::AtLeast(5.0));
    table.row("  peer, checks CRC / scan, fields read", checking, fields, &Claim::Nothing);
    table.row("  peer / timeline, fields read", peer, timeline, &Claim::Nothing);
    table.row("  scan, fields read / inflate and check", fields, limit, &Claim::AtMost(1.2));
    table.row("  scan / inflate and check", scan, limit, &Claim::Nothing);
    Ok(())
}

/// The position out of odometry messages that lie in memory.
fn positions(table: &mut Table, positions: &Positions) -> Outcome<()> {
    let mut rows: Vec<Row<'_>> = vec![
        ("at remembered offsets", repeated(|| positions.by_offset().map(drop))),
        ("by a cursor", repeated(|| positions.by_cursor().map(drop))),
        ("by a plan, as values", repeated(|| positions.by_plan().map(drop))),
        ("peer, whole messages", repeated(|| positions.by_peer().map(drop))),
    ];
    println!("odometry in memory: {} messages, {REPETITIONS} times", positions.len());
    let taken = rounds(&mut rows)?;
    let [offsets, cursor, plan, peer] = taken.as_slice() else { return Ok(()) };
    table.row("  peer / at remembered offsets", peer, offsets, &Claim::AtLeast(40.0));
    table.row("  peer / by a cursor", peer, cursor, &Claim::AtLeast(12.0));
    table.row("  peer / by a plan, as values", peer, plan, &Claim::Nothing);
    Ok(())
}

fn repeated<'r>(
    mut work: impl FnMut() -> Outcome<()> + 'r,
) -> Box<dyn FnMut() -> Outcome<()> + 'r> {
    Box::new(move || (0..REPETITIONS).try_for_each(|_| work()))
}

/// Runs each row once in each round, and prints the middle time of each.
fn rounds(rows: &mut [Row<'_>]) -> Outcome<Vec<Taken>> {
    let mut taken = vec![Taken::new(); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, work), taken) in rows.iter_mut().zip(&mut taken) {
            let watch = Watch::start();
            work()?;
            taken.push(watch.taken().cpu.as_secs_f64());
        }
    }
    for ((name, _), taken) in rows.iter().zip(&taken) {
        let mut sorted = taken.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.get(ROUNDS / 2).copied().unwrap_or_default();
        println!("  {name:<56} {:>8.3} ms", middle * 1e3);
    }
    Ok(taken)
}

impl Table {
    /// Prints the ratio of two rows.
    fn row(&mut self, what: &str, over: &Taken, under: &Taken, claim: &Claim) {
        let mut ratios: Vec<f64> =
            over.iter().zip(under).map(|(over, under)| over / under).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |place: usize| ratios.get(place).copied().unwrap_or_default();
        let (least, median, most) = (at(0), at(ratios.len() / 2), at(ratios.len() - 1));
        let (claim, is_met) = match claim {
            Claim::AtLeast(bound) => (format!(">= {bound}"), Some(median >= *bound)),
            Claim::AtMost(bound) => (format!("<= {bound}"), Some(median <= *bound)),
            Claim::Nothing => (String::new(), None),
        };
        self.is_missed |= is_met == Some(false);
        let verdict = match is_met {
            Some(true) => "ok",
            Some(false) => "MISSED",
            None => "",
        };
        println!("{what:<58} {median:>8.2} {least:>8.2} {most:>8.2} {claim:>9} {verdict}");
    }
}
