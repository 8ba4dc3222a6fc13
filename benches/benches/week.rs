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
    inflate_and_check, last_with_label, peer_above, spread_of, summaries,
};
use ros2_memory_index::DriveRules;
use ros2_memory_query::{CallContext, Memory};
use ros2_memory_time::{LogTime, TimeRange};

const LOOKUPS: usize = 1_000;
const CALLS: usize = 200;
const STARTS: usize = 9;
const MERGE_LIMIT: Duration = Duration::from_secs(600);
const IDLE: Duration = Duration::from_secs(16);
/// No two poses are farther apart in time.
const STEP_S: f64 = 0.1;

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
    let mut n_wrong = check(&memory, &truth.labels)?;
    last_seen(&memory, &truth.labels)?;
    nothing_found(&memory)?;
    n_wrong += trajectories(&memory, &truth.paths)?;
    idle()?;
    if std::env::args().any(|argument| argument == "--peer") {
        peer(&files)?;
    }
    println!("{:<58} {:>12}", "memory of this process, MB", resident_mb("VmRSS:"));
    if n_wrong > 0 {
        return Err(format!("{n_wrong} answers are not as the truth has them").into());
    }
    Ok(())
}

/// What is known of a history from elsewhere.
#[derive(Default)]
struct Truth {
    labels: LastSeen,
    paths: Vec<PathTruth>,
}

/// When each label was last seen; `None` for one that never was.
type LastSeen = BTreeMap<String, Option<u64>>;

/// How far the robot drove in a range.
struct PathTruth {
    start_ns: u64,
    end_ns: u64,
    distance_m: f64,
}

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
    let paths = truth.windows.iter().map(|of| PathTruth {
        start_ns: of.start_ns,
        end_ns: of.end_ns,
        distance_m: of.distance_m,
    });
    Ok((data.hours(hours)?, Truth { labels: labels.collect(), paths: paths.collect() }))
}

fn given_truth(folder: &Path) -> Outcome<Truth> {
    let Ok(text) = fs::read_to_string(folder.join("truth.json")) else {
        println!("no truth.json: answers are not checked");
        return Ok(Truth::default());
    };
    let json: serde_json::Value = serde_json::from_str(&text)?;
    let mut truth = Truth::default();
    for (label, of) in
        json.get("labels").and_then(|labels| labels.as_object()).into_iter().flatten()
    {
        let last = |key: &str| of.get(key).and_then(serde_json::Value::as_u64);
        truth.labels.insert(label.clone(), last("last_det_ns").max(last("last_scene_ns")));
    }
    if let Some(absent) = json.get("absent_label").and_then(|label| label.as_str()) {
        truth.labels.insert(absent.to_owned(), None);
    }
    let path = |of: &serde_json::Value, distance: &str| {
        let number = |key: &str| of.get(key)?.as_u64();
        let distance_m = of.get(distance)?.as_f64()?;
        Some(PathTruth { start_ns: number("start_ns")?, end_ns: number("end_ns")?, distance_m })
    };
    let windows = json.get("windows").and_then(|windows| windows.as_array());
    truth.paths.extend(windows.into_iter().flatten().filter_map(|of| path(of, "distance_m")));
    let all = json.get("topics").and_then(|topics| topics.get("/odom")).and_then(|of| {
        let number = |key: &str| of.get(key)?.as_u64();
        let distance_m = json.get("path_m")?.as_f64()?;
        Some(PathTruth { start_ns: number("first_ns")?, end_ns: number("last_ns")?, distance_m })
    });
    truth.paths.extend(all);
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
    row("first index: labels, words, numbers, drives, transforms", index);
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    println!(
        "{:<58} {:>12.2} ({:.2})",
        "index / limit",
        ratio(index.wall, limit.wall),
        ratio(index.cpu, limit.cpu)
    );
    println!("{:<58} {:>12}", "inflated, MB", bytes / 1_000_000);
    println!("{:<58} {:>12}", "most memory while indexing, MB", resident_mb("VmHWM:"));
    let watch = Watch::start();
    if !memory.catalog().wait_until_tidy(MERGE_LIMIT) {
        return Err("segments were not merged within ten minutes".into());
    }
    row("small segments merged behind that", watch.taken());
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
    by_two(files, inflate_and_check)
}

/// The sum of what two threads find, each in one half of the files.
fn by_two<T: std::ops::Add<Output = T> + Send>(
    files: &[PathBuf],
    count: impl Fn(&[PathBuf]) -> Outcome<T> + Sync,
) -> Outcome<T> {
    let (first, second) = files.split_at(files.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| count(first));
        let counted = count(second)?;
        Ok(counted + other.join().map_err(|_panic| "a thread panicked")??)
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
fn check(memory: &Memory, truth: &LastSeen) -> Outcome<usize> {
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

fn last_seen(memory: &Memory, truth: &LastSeen) -> Outcome<()> {
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
        spread(&format!("last_seen, whole answer, {what}, again and again"), &call);
    }
    // In turn, so that what one call has read does not help the next.
    let mut in_turn = by_time.iter().cycle();
    let call = spread_of(CALLS, || -> Outcome<Taken> {
        let (label, _) = in_turn.next().ok_or("no labels")?;
        let arguments = arguments(&serde_json::json!({"label": label}).to_string())?;
        let watch = Watch::start();
        ask(memory, "last_seen", &arguments)?;
        Ok(watch.taken())
    })?;
    spread("last_seen, whole answer, one label after the other", &call);
    Ok(())
}

/// Conditions that no message fulfils: everything has to be ruled out.
fn nothing_found(memory: &Memory) -> Outcome<()> {
    let questions = [
        (
            "a place where it never was",
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
            "a text that never was, its words neither",
            r#"{"topic": "/vision/scene/scene_description", "condition_type": "contains",
                "value": "never said by anybody"}"#,
        ),
        (
            "a number that never was",
            r#"{"topic": "/odom", "condition_type": "above", "value": 1e6,
                "field": "twist.twist.linear.x"}"#,
        ),
        (
            "a number that is not indexed: every bag read",
            r#"{"topic": "/odom", "condition_type": "above", "value": 1e6,
                "field": "pose.pose.position.x"}"#,
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

/// Compares how far the robot drove with the truth; returns how often that is wrong.
fn trajectories(memory: &Memory, truth: &[PathTruth]) -> Outcome<usize> {
    let (mut n_wrong, mut worst, mut n_borders) = (0, 0f64, 0);
    let snapshot = memory.snapshot();
    let asked = |of: &PathTruth| {
        arguments(
            &serde_json::json!({
                "start": of.start_ns.to_string(), "end": of.end_ns.to_string(),
            })
            .to_string(),
        )
    };
    for of in truth {
        let reply = ask(memory, "trajectory_summary", &asked(of)?)?;
        let found = reply.value.get("distance_m").and_then(serde_json::Value::as_f64);
        let found = found.ok_or_else(|| format!("no distance in {}", reply.value))?;
        let range = TimeRange::new(LogTime::from_ns(of.start_ns), LogTime::from_ns(of.end_ns));
        let is_border = |first: LogTime| first > range.start && range.contains(first);
        let borders = snapshot.runs().iter().filter(|run| is_border(run.first)).count();
        // From one session to the next nothing is known: that step counts as none.
        let fastest = reply.value.get("max_speed").and_then(serde_json::Value::as_f64);
        let unknown_m = fastest.unwrap_or_default() * STEP_S * f64::from(u32::try_from(borders)?);
        let missing_m = (of.distance_m - found).clamp(0.0, unknown_m);
        let error = (found + missing_m - of.distance_m).abs() / of.distance_m.max(1.0);
        worst = worst.max(error);
        n_borders += borders;
        if error > 1e-6 {
            println!("WRONG: {} to {}: {found} m", of.start_ns, of.end_ns);
            n_wrong += 1;
        }
    }
    println!("{:<58} {:>12}", "paths compared with the truth", truth.len());
    println!("{:<58} {worst:>12.1e}", "largest error, as a part of the path");
    println!("{:<58} {n_borders:>12}", "borders of sessions in them, whose steps count as none");
    let topic = snapshot.topic("/odom").ok_or("no /odom")?;
    let rules = DriveRules::default();
    let mut by_length: Vec<&PathTruth> = truth.iter().collect();
    by_length.sort_by_key(|of| of.end_ns - of.start_ns);
    let picks = [by_length.len() / 4, by_length.len() / 2, by_length.len().saturating_sub(1)];
    for of in picks.into_iter().filter_map(|pick| by_length.get(pick)) {
        let range = TimeRange::new(LogTime::from_ns(of.start_ns), LogTime::from_ns(of.end_ns));
        let hours = (of.end_ns - of.start_ns) / 1_000_000 / 3600;
        let what = format!("{}.{:03} h", hours / 1000, hours % 1000);
        let legs = spread_of(CALLS, || -> Outcome<Taken> {
            let watch = Watch::start();
            std::hint::black_box(snapshot.drive_legs(topic, range, rules));
            Ok(watch.taken())
        })?;
        spread(&format!("distance out of sums, {what}"), &legs);
        let arguments = asked(of)?;
        let call = spread_of(CALLS / 4, || -> Outcome<Taken> {
            let watch = Watch::start();
            ask(memory, "trajectory_summary", &arguments)?;
            Ok(watch.taken())
        })?;
        spread(&format!("trajectory_summary, whole answer, {what}"), &call);
    }
    Ok(n_wrong)
}

/// What the refresh costs, one every five seconds, while nothing changes.
fn idle() -> Outcome<()> {
    let before = bytes_read()?;
    let watch = Watch::start();
    thread::sleep(IDLE);
    let taken = watch.taken();
    let percent = 100.0 * taken.cpu.as_secs_f64() / taken.wall.as_secs_f64();
    println!("{:<58} {percent:>12.2}", "idle, refreshed every 5 s: percent of a processor");
    println!("{:<58} {:>12}", "bytes read meanwhile", bytes_read()? - before);
    Ok(())
}

/// By this process, from wherever.
fn bytes_read() -> Outcome<u64> {
    let told = fs::read_to_string("/proc/self/io")?;
    let line = told.lines().find_map(|line| line.strip_prefix("rchar:"));
    Ok(line.ok_or("the kernel does not tell what was read")?.trim().parse()?)
}

fn peer(files: &[PathBuf]) -> Outcome<()> {
    let watch = Watch::start();
    let found = last_with_label(files, "never seen by anybody")?;
    assert_eq!(found, None);
    row("peer: backwards through everything, absent, one thread", watch.taken());
    let watch = Watch::start();
    let n_above = by_two(files, |files| peer_above(files, "/odom", 1e6))?;
    assert_eq!(n_above, 0);
    row("peer: a number that is not indexed, decoded, two threads", watch.taken());
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
