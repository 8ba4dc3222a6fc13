//! The bars of the README, measured in one run and printed as a table.
//!
//! With `--check` the exit code is 1 when a median is over its bar.

#![expect(clippy::print_stdout, reason = "a table on stdout is what it makes")]

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use ros2_memory_bag::Compression;
use ros2_memory_benches::{Data, Opened, Outcome, Spread, Taken, Watch, arguments, ask, spread_of};

const FIRST_INDEX_BAR: Duration = Duration::from_millis(150);
const RESTART_BAR: Duration = Duration::from_millis(50);
const POSITION_BAR: Duration = Duration::from_millis(1);

const OPENINGS: usize = 9;
const CALLS: usize = 1_000;

const TOOL: &str = "get_position_seconds_ago";

/// One line of the table; a line without a bar says where the time of another goes.
struct Row {
    what: &'static str,
    spread: Spread,
    bar: Option<Duration>,
}

fn main() -> Outcome<ExitCode> {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    let bags = data.hour(Compression::Zstd)?;
    let mut rows = in_process(&data, &bags)?;
    match program() {
        Some(program) => rows.extend(whole_process(&program, &data, &bags)?),
        None => println!("no release build of ros2-memory: rows of whole processes are left out"),
    }

    println!("360 splits of 10 s; milliseconds; CPU: of all threads of this process, median");
    println!("{:<50} {:>9} {:>9} {:>9} {:>9} {:>5}", "", "median", "least", "most", "CPU", "bar");
    let mut is_over = false;
    for Row { what, spread, bar } in rows {
        let verdict = match bar {
            Some(bar) if spread.median < bar => "ok",
            Some(_) => "OVER",
            None => "",
        };
        is_over |= verdict == "OVER";
        let [median, least, most] =
            [spread.median, spread.least, spread.most].map(|time| format!("{:.3}", ms(time)));
        let cpu = match spread.cpu_median {
            Duration::ZERO => String::new(),
            time => format!("{:.3}", ms(time)),
        };
        let bar = bar.map_or(String::new(), |bar| format!("{:.0}", ms(bar)));
        println!("{what:<50} {median:>9} {least:>9} {most:>9} {cpu:>9} {bar:>5} {verdict}");
    }
    let checks = std::env::args().any(|argument| argument == "--check");
    Ok(if checks && is_over { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn in_process(data: &Data, bags: &Path) -> Outcome<Vec<Row>> {
    let ten = arguments(r#"{"seconds_ago": 10}"#)?;
    let first_index = spread_of(OPENINGS, || {
        let catalog = data.empty_folder()?;
        let opened = Opened::configuration(bags, catalog.path())?;
        let watch = Watch::start();
        let memory = opened.memory()?;
        let taken = watch.taken();
        drop(memory);
        Outcome::Ok(taken)
    })?;

    let catalog = data.empty_folder()?;
    Opened::configuration(bags, catalog.path())?.memory()?;
    let restart = spread_of(OPENINGS, || {
        let watch = Watch::start();
        let memory = Opened::configuration(bags, catalog.path())?.memory()?;
        ask(&memory, TOOL, &ten)?;
        let taken = watch.taken();
        drop(memory);
        Outcome::Ok(taken)
    })?;
    let configuration = spread_of(OPENINGS, || {
        let watch = Watch::start();
        let opened = Opened::configuration(bags, catalog.path())?;
        let taken = watch.taken();
        drop(opened);
        Outcome::Ok(taken)
    })?;

    let memory = Opened::configuration(bags, catalog.path())?.memory()?;
    let position = spread_of(CALLS, || {
        let watch = Watch::start();
        ask(&memory, TOOL, &ten)?;
        Outcome::Ok(watch.taken())
    })?;
    let row = |what, spread, bar| Row { what, spread, bar };
    Ok(vec![
        row("first index, no catalog", first_index, Some(FIRST_INDEX_BAR)),
        row("restart with the catalog, to the first answer", restart, Some(RESTART_BAR)),
        row("  of it configuration and definitions", configuration, None),
        row("get_position_seconds_ago(10), warm", position, Some(POSITION_BAR)),
    ])
}

fn whole_process(program: &Path, data: &Data, bags: &Path) -> Outcome<Vec<Row>> {
    let query = |catalog: &Path| {
        let mut command = Command::new(program);
        command.args(["query", TOOL, "--seconds_ago", "10", "-o", "recorder=none"]);
        command.arg("-o").arg(format!("catalog.dir={}", catalog.display()));
        command.arg("--bag-dir").arg(bags);
        let watch = Watch::start();
        let output = command.output()?;
        // The program's processor time is not this process's.
        let taken = Taken { cpu: Duration::ZERO, ..watch.taken() };
        if output.status.success() {
            Outcome::Ok(taken)
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into())
        }
    };
    let first = spread_of(OPENINGS, || query(data.empty_folder()?.path()))?;
    let catalog = data.empty_folder()?;
    query(catalog.path())?;
    let again = spread_of(OPENINGS, || query(catalog.path()))?;
    Ok(vec![
        Row { what: "process: query without a catalog", spread: first, bar: None },
        Row { what: "process: query with the catalog", spread: again, bar: Some(RESTART_BAR) },
    ])
}

/// The release build of the program, beside the folder that cargo gives to benches.
fn program() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    Some(target.join("release/ros2-memory")).filter(|program| program.is_file())
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
