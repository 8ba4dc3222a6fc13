//! Long histories: the first index, the start on a catalog, and when something was last seen.
//!
//! Over the folder that `ROS2_MEMORY_BENCH_DIR` names, checked against its `truth.json` where it
//! has one; else over the demo's history, `-- --hours H` of it (1), checked against its own truth.
//! `-- --peer` also has the `mcap` crate look for what is not there, backwards through everything.
//! A wrong answer ends it with exit code 1; figures alone never do.

#![expect(clippy::print_stdout, reason = "a table on stdout is what it makes")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use ros2_memory_benches::{
    Data, Opened, Outcome, Spread, Taken, Watch, arguments, ask, files_under, given_folder,
    inflate_and_check, last_with_label, spread_of, summaries,
};
use ros2_memory_query::{CallContext, Memory};
use ros2_memory_time::TimeRange;

const LOOKUPS: usize = 1_000;
const CALLS: usize = 200;
const STARTS: usize = 9;

fn main() -> Outcome<()> {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    let (bags, truth) = match given_folder() {
        Some(folder) => {
            let truth = given_truth(&folder)?;
            (folder, truth)
        }
        None => demo(&data)?,
    };
    let files = files_under(&bags);
    println!("{} bags under {}; times are wall (CPU of all threads)", files.len(), bags.display());
    let catalog = data.empty_folder()?;
    first_index(&bags, &files, catalog.path())?;
    start(&bags, &files, catalog.path())?;
    let memory = Opened::configuration(&bags, catalog.path())?.memory()?;
    let n_wrong = check(&memory, &truth)?;
    last_seen(&memory, &truth)?;
    nothing_found(&memory)?;
    if std::env::args().any(|argument| argument == "--peer") {
        peer(&files)?;
    }
    println!("{:<58} {:>12}", "memory of this process, MB", resident_mb("VmRSS:"));
    if n_wrong > 0 {
        return Err(format!("{n_wrong} labels are not as the truth has them").into());
    }
    Ok(())
}

/// When each label was last seen, by the truth; `None` for one that never was.
type Truth = BTreeMap<String, Option<u64>>;

/// The demo's history, written when it is not there yet.
fn demo(data: &Data) -> Outcome<(PathBuf, Truth)> {
    let arguments: Vec<String> = std::env::args().collect();
    let hours = arguments.iter().position(|argument| argument == "--hours");
    let hours = hours.and_then(|place| arguments.get(place + 1)?.parse().ok()).unwrap_or(1);
    let truth = data.history_of(hours)?.truth();
    let labels = truth
        .labels
        .into_iter()
        .map(|of| (of.label, of.scene_objects.last_ns.max(of.detections_meta.last_ns)));
    Ok((data.hours(hours)?, labels.collect()))
}

fn given_truth(folder: &Path) -> Outcome<Truth> {
    let Ok(text) = fs::read_to_string(folder.join("truth.json")) else {
        println!("no truth.json: answers are not checked");
        return Ok(Truth::new());
    };
    let json: serde_json::Value = serde_json::from_str(&text)?;
    let mut truth = Truth::new();
    for (label, of) in
        json.get("labels").and_then(|labels| labels.as_object()).into_iter().flatten()
    {
        let last = |key: &str| of.get(key).and_then(serde_json::Value::as_u64);
        truth.insert(label.clone(), last("last_det_ns").max(last("last_scene_ns")));
    }
    if let Some(absent) = json.get("absent_label").and_then(|label| label.as_str()) {
        truth.insert(absent.to_owned(), None);
    }
    Ok(truth)
}

fn first_index(bags: &Path, files: &[PathBuf], catalog: &Path) -> Outcome<()> {
    // Twice: the first time brings the files into memory.
    inflate_by_two(files)?;
    let watch = Watch::start();
    let bytes = inflate_by_two(files)?;
    let limit = watch.taken();
    row("limit: inflate and check every chunk, two threads", limit);
    let opened = Opened::configuration(bags, catalog)?;
    let watch = Watch::start();
    let memory = opened.memory()?;
    let index = watch.taken();
    row("first index: labels, transforms, latched messages", index);
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!(
        "{:<58} {:>12.2} ({:.2})",
        "index / limit",
        ratio(index.wall, limit.wall),
        ratio(index.cpu, limit.cpu)
    );
    println!("{:<58} {:>12}", "inflated, MB", bytes / 1_000_000);
    println!("{:<58} {:>12}", "most memory while indexing, MB", resident_mb("VmHWM:"));
    drop(memory);
    let size: u64 = fs::read_dir(catalog)?
        .flatten()
        .filter_map(|file| file.metadata().ok())
        .map(|metadata| metadata.len())
        .sum();
    println!("{:<58} {:>12}", "catalog, KB", size / 1000);
    Ok(())
}

fn inflate_by_two(files: &[PathBuf]) -> Outcome<u64> {
    let (first, second) = files.split_at(files.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| inflate_and_check(first));
        let bytes = inflate_and_check(second)?;
        Ok(bytes + other.join().map_err(|_panic| "a thread panicked")??)
    })
}

fn start(bags: &Path, files: &[PathBuf], catalog: &Path) -> Outcome<()> {
    let ten = arguments(r#"{"seconds_ago": 10}"#)?;
    let opened = Opened::configuration(bags, catalog)?;
    let first = spread_of(STARTS, || -> Outcome<Taken> {
        let watch = Watch::start();
        let memory = opened.open()?;
        ask(&memory, "get_position_seconds_ago", &ten)?;
        Ok(watch.taken())
    })?;
    spread("start on the catalog, to the first answer", &first);
    let reconciled = spread_of(STARTS, || -> Outcome<Taken> {
        let watch = Watch::start();
        let memory = opened.open()?;
        memory.wait_until_indexed(Duration::from_secs(60));
        Ok(watch.taken())
    })?;
    spread("start on the catalog, to the end of the look through", &reconciled);
    let watch = Watch::start();
    summaries(files)?;
    row("peer: every summary by the mcap crate", watch.taken());
    Ok(())
}

/// Compares every label with the truth; returns how many are wrong.
fn check(memory: &Memory, truth: &Truth) -> Outcome<usize> {
    let snapshot = memory.snapshot();
    let mut n_wrong = 0;
    for (label, wanted) in truth {
        let found = snapshot.last_sighting(label, TimeRange::ALL).map(|of| of.time.as_ns());
        let arguments = arguments(&serde_json::json!({"label": label}).to_string())?;
        let reply = ask(memory, "last_seen", &arguments)?;
        let told = reply.value.get("timestamp_ns").and_then(|ns| ns.as_str());
        let told = told.and_then(|ns| ns.parse::<u64>().ok());
        if found != *wanted || told != *wanted {
            println!("WRONG: {label}: {wanted:?} is right, found {found:?}, told {told:?}");
            n_wrong += 1;
        }
    }
    println!("{:<58} {:>12}", "labels compared with the truth", truth.len());
    Ok(n_wrong)
}

fn last_seen(memory: &Memory, truth: &Truth) -> Outcome<()> {
    let snapshot = memory.snapshot();
    let mut by_time: Vec<(&String, u64)> =
        truth.iter().filter_map(|(label, last)| Some((label, (*last)?))).collect();
    by_time.sort_by_key(|(_, last)| *last);
    let picks = [
        ("newest", by_time.last().map(|(label, _)| label.as_str())),
        ("oldest", by_time.first().map(|(label, _)| label.as_str())),
        ("absent", truth.iter().find(|(_, last)| last.is_none()).map(|(label, _)| label.as_str())),
    ];
    for (what, label) in picks {
        let Some(label) = label else { continue };
        // Many at a time: one is shorter than the clock's step.
        let started = Instant::now();
        let mut n_found = 0;
        for _ in 0..LOOKUPS {
            let found = snapshot.last_sighting(std::hint::black_box(label), TimeRange::ALL);
            n_found += usize::from(found.is_some());
        }
        let each = started.elapsed() / u32::try_from(LOOKUPS)?;
        let name = format!("last seen, time only, {what} ({label})");
        println!("{name:<58} {:>9.2} us", each.as_secs_f64() * 1e6);
        assert!(n_found == 0 || n_found == LOOKUPS);
        let arguments = arguments(&serde_json::json!({"label": label}).to_string())?;
        let call = spread_of(CALLS, || -> Outcome<Taken> {
            let watch = Watch::start();
            ask(memory, "last_seen", &arguments)?;
            Ok(watch.taken())
        })?;
        spread(&format!("last_seen, whole answer, {what}"), &call);
    }
    Ok(())
}

/// Conditions that no message fulfils: everything has to be ruled out.
fn nothing_found(memory: &Memory) -> Outcome<()> {
    let questions = [
        (
            "a place where it never was: no index, every bag read",
            r#"{"topic": "/odom", "condition_type": "near_position", "value": {"x": 1e6, "y": 1e6}}"#,
        ),
        (
            "a label that never was: passed over by the index",
            r#"{"topic": "/vision/find_object/detections_meta", "condition_type": "contains",
                "value": "never seen by anybody"}"#,
        ),
        (
            "an item of a JSON list that never was",
            r#"{"topic": "/vision/scene/scene_objects", "condition_type": "contains",
                "value": "never seen by anybody"}"#,
        ),
        (
            "a text that never was: no index, every bag read",
            r#"{"topic": "/vision/scene/scene_description", "condition_type": "contains",
                "value": "never said by anybody"}"#,
        ),
    ];
    for (what, text) in questions {
        let arguments = arguments(text)?;
        let context = CallContext::with_time_limit(Duration::from_secs(600));
        let watch = Watch::start();
        let reply = memory.call("find_last_match", &arguments, &context);
        let taken = watch.taken();
        if !reply.value.is_null() {
            return Err(format!("{what}: {} is no answer", reply.value).into());
        }
        row(&format!("find_last_match, {what}"), taken);
    }
    Ok(())
}

fn peer(files: &[PathBuf]) -> Outcome<()> {
    let watch = Watch::start();
    let found = last_with_label(files, "never seen by anybody")?;
    assert_eq!(found, None);
    row("peer: backwards through everything, absent, one thread", watch.taken());
    Ok(())
}

fn row(what: &str, taken: Taken) {
    println!(
        "{what:<58} {:>9.1} ms ({:.1})",
        taken.wall.as_secs_f64() * 1e3,
        taken.cpu.as_secs_f64() * 1e3
    );
}

fn spread(what: &str, spread: &Spread) {
    println!(
        "{what:<58} {:>9.3} ms ({:.3}), {:.3} to {:.3}",
        spread.median.as_secs_f64() * 1e3,
        spread.cpu_median.as_secs_f64() * 1e3,
        spread.least.as_secs_f64() * 1e3,
        spread.most.as_secs_f64() * 1e3
    );
}

/// A line of the kernel's word on this process, in megabytes.
fn resident_mb(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|of| of.strip_prefix(line)).unwrap_or_default();
    found.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1000
}
