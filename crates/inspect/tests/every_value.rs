//! Every value of every message in bags that others wrote is what Python's readers find there.
//!
//! `python/expected.py` reads the bags and says how; this reads them with `cat` and compares.
//! Since real bags hold few of the types and forms that there may be, `python/made.py` and
//! `python/xcdr.py` write more of them, with other writers than ours.
//!
//! The bags lie beside the project, not in it; without them, without Python, or without a package
//! index to install from, the tests say so and pass; where `CI` is set and there is a Python,
//! it has to be able to install.

#![cfg(test)]

mod common;
#[path = "every_value/compare.rs"]
mod compare;
#[path = "every_value/json.rs"]
mod json;
#[path = "every_value/theirs.rs"]
mod theirs;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use ros2_memory_inspect::CatOptions;
use ros2_memory_testkit::python::{environment, run, words};

use self::{
    common::text,
    compare::compare,
    json::Json,
    theirs::{Theirs, by_file},
};

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python");

/// A file, a topic in it, and a reason.
type Explained = (&'static str, &'static str, &'static str);

/// Topics whose messages Python does not decode and we do, with the reason.
const ONLY_OURS: &[Explained] = &[];

/// Topics whose messages Python decodes and we do not, with the reason.
const ONLY_THEIRS: &[Explained] = &[];

fn data() -> Option<PathBuf> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if data.join("index.json").is_file() {
        return Some(data);
    }
    println!("skipped: no real bags beside the project");
    None
}

/// The Python that has the other readers, when there is one.
fn python() -> Option<PathBuf> {
    let requirements = Path::new(PYTHON).join("requirements.txt");
    environment("python-readers", &requirements, Path::new(env!("CARGO_TARGET_TMPDIR")))
}

fn script(python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command.arg(Path::new(PYTHON).join(name)).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// What Python finds in the recordings of a folder, as JSON lines.
fn expected(python: &Path, recordings: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("expected.jsonl");
    let asked = run(script(python, "expected.py").args([recordings, &*out]));
    assert!(asked.status.success(), "the other readers fail: {}", words(&asked));
    fs::read_to_string(out).unwrap()
}

/// What was compared.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    files: u64,
    topics: u64,
    messages: u64,
    values: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.topics += other.topics;
        self.messages += other.messages;
        self.values += other.values;
    }
}

/// What one file gave besides agreement.
#[derive(Default)]
struct Findings {
    differences: Vec<String>,
    only_ours: Vec<(String, String)>,
    only_theirs: Vec<(String, String)>,
    /// How many topics that the others decode we do not, by file and reason.
    refused: BTreeMap<String, u64>,
    /// How many topics neither decodes, by both reasons.
    neither: BTreeMap<String, u64>,
    /// What else is worth to be told.
    notes: Vec<String>,
}

impl Findings {
    /// Fails where something differs that is not explained.
    fn assert_explained(&self, only_ours: &[Explained], only_theirs: &[Explained]) {
        println!("{:#?}", self.notes);
        println!("topics that only others decode: {:#?}", self.refused);
        println!("topics that neither decodes: {:#?}", self.neither);
        assert!(self.differences.is_empty(), "{:#?}", self.differences);
        let only_ours = unexplained(&self.only_ours, only_ours);
        assert!(only_ours.is_empty(), "only we decode: {only_ours:#?}");
        let only_theirs = unexplained(&self.only_theirs, only_theirs);
        let (n, shown) = (only_theirs.len(), only_theirs.iter().take(20));
        assert!(n == 0, "{n} only others decode: {:#?}", shown.collect::<Vec<_>>());
    }
}

/// Compares one file.
fn compare_file(path: &Path, file: &str, theirs: &Theirs<'_>, findings: &mut Findings) -> Tally {
    let (shown, _) = text(&[path.to_owned()], &CatOptions::default()).unwrap();
    let mut ours: BTreeMap<String, Vec<Json<'_>>> = BTreeMap::new();
    for line in shown.lines().map(Json::read) {
        ours.entry(line.text("topic").to_owned()).or_default().push(line);
    }
    let mut tally = Tally { files: 1, ..Tally::default() };
    for (topic, (count, why)) in &theirs.undecoded {
        let ours = ours.remove(topic).unwrap_or_default();
        if ours.len() as u64 != *count {
            findings.differences.push(format!("{file} {topic}: {} of {count}", ours.len()));
        }
        match ours.iter().find_map(|line| line.get("error")) {
            Some(error) => {
                *findings.neither.entry(format!("{why}; to us: {error:?}")).or_default() += 1;
            }
            None => findings.only_ours.push((file.to_owned(), topic.clone())),
        }
    }
    for (topic, theirs_here) in &theirs.messages {
        let ours = ours.remove(topic).unwrap_or_default();
        let is_count_right = ours.len() == theirs_here.len()
            || (theirs.stopped.is_some() && ours.len() > theirs_here.len());
        if !is_count_right {
            let n = (ours.len(), theirs_here.len());
            findings.differences.push(format!("{file} {topic}: {} messages of {}", n.0, n.1));
        }
        if ours.len() > theirs_here.len() {
            let n = ours.len() - theirs_here.len();
            findings.notes.push(format!("{file} {topic}: {n} more where the others gave up"));
        }
        if let Some(error) = ours.iter().find_map(|line| line.get("error")) {
            *findings.refused.entry(format!("{file}: {error:?}")).or_default() += 1;
            findings.only_theirs.push((file.to_owned(), topic.clone()));
            continue;
        }
        tally.topics += 1;
        for (n, (ours, theirs)) in ours.iter().zip(theirs_here).enumerate() {
            match compare_message(ours, theirs) {
                Ok(values) => tally.values += values,
                Err(why) => {
                    findings.differences.push(format!("{file} {topic} message {n}: {why}"));
                    break;
                }
            }
            tally.messages += 1;
        }
    }
    for (topic, messages) in ours {
        let n = messages.len();
        if theirs.stopped.is_none() {
            findings.differences.push(format!("{file} {topic}: {n} messages that no other finds"));
        } else {
            findings.notes.push(format!("{file} {topic}: {n} more where the others gave up"));
        }
    }
    tally
}

/// Compares one message; gives how many values it holds.
fn compare_message(ours: &Json<'_>, theirs: &Json<'_>) -> Result<u64, String> {
    for name in ["log_time_ns", "publish_time_ns", "sequence"] {
        if ours.number(name) != theirs.number(name) {
            return Err(format!("{name} {}, others {}", ours.number(name), theirs.number(name)));
        }
    }
    let mut values = 0;
    let (ours, theirs) = (ours.get("data").unwrap(), theirs.get("value").unwrap());
    compare(ours, theirs, "data", &mut values)?;
    Ok(values)
}

/// What a list of explained topics and the topics found have not in common.
fn unexplained(found: &[(String, String)], explained: &[Explained]) -> Vec<String> {
    let is_listed = |(file, topic): &(String, String)| {
        explained.iter().any(|(f, t, _)| (*f, *t) == (file.as_str(), topic.as_str()))
    };
    let new = found.iter().filter(|it| !is_listed(it)).map(|it| format!("not listed: {it:?}"));
    let gone = explained
        .iter()
        .filter(|(file, topic, _)| !found.iter().any(|it| it.0 == *file && it.1 == *topic))
        .map(|it| format!("listed, but no longer so: {it:?}"));
    new.chain(gone).collect()
}

/// Compares all files of a folder, and tells how much that was for each part of it.
fn compare_folder(folder: &Path, lines: &str) -> (Tally, Findings) {
    let mut findings = Findings::default();
    let mut groups: BTreeMap<&str, Tally> = BTreeMap::new();
    let files = by_file(lines);
    for (file, theirs) in &files {
        let tally = compare_file(&folder.join(file), file, theirs, &mut findings);
        groups.entry(file.split('/').next().unwrap()).or_default().add(tally);
    }
    let mut total = Tally::default();
    for (group, tally) in &groups {
        println!("{group}: {tally:?}");
        total.add(*tally);
    }
    println!("in all: {total:?}");
    (total, findings)
}

#[test]
fn every_value_of_every_message_is_what_others_read() {
    let Some(data) = data() else { return };
    let Some(python) = python() else { return };
    let (total, findings) = compare_folder(&data, &expected(&python, &data));
    findings.assert_explained(ONLY_OURS, ONLY_THEIRS);
    assert!(total.messages > 14_000 && total.values > 1_700_000, "{total:?}");
}

#[test]
fn every_type_in_every_form_is_what_others_read() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut making = script(&python, "made.py");
    making.arg(folder.path()).arg("1");
    if let Some(data) = data() {
        making.arg(data.join("types/descriptions"));
    }
    let made = run(&mut making);
    assert!(made.status.success(), "no recordings to compare: {}", words(&made));
    let (total, findings) = compare_folder(folder.path(), &expected(&python, folder.path()));
    findings.assert_explained(&[], &[]);
    assert!(total.topics > 800 && total.messages > 2_400, "{total:?}");
}

#[test]
fn every_layout_of_dds_types_is_what_its_writer_wrote() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("written.jsonl");
    let mut writing = script(&python, "xcdr.py");
    let written = run(writing.arg(folder.path()).arg("1").arg(&out));
    assert!(written.status.success(), "no recordings to compare: {}", words(&written));
    let Ok(lines) = fs::read_to_string(out) else {
        println!("skipped: {}", words(&written));
        return;
    };
    let (total, findings) = compare_folder(folder.path(), &lines);
    findings.assert_explained(&[], &[]);
    assert!(total.messages >= 960 && total.values > 7_000, "{total:?}");
}
