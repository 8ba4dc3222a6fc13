//! Whatever happens to the catalog's files, the answers stay as they were.

#![cfg(test)]

mod common;
#[path = "common/demo.rs"]
mod demo;
#[path = "common/questions.rs"]
mod questions;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, Permissions},
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use ros2_memory_catalog::{CATALOG_FOLDER, Store};
use ros2_memory_testkit::prng::Prng;
use serde_json::Value;

use self::{
    common::{memory_over, memory_with},
    demo::write_demo,
    questions::{answers, questions},
};

/// Eight bags of ten seconds.
const DURATION_S: u64 = 80;
const MOMENTS_PERCENT: [u64; 1] = [57];
/// How long one kind of damage is tried.
const BUDGET: Duration = Duration::from_secs(12);

/// A bag directory with its catalog, and what the undamaged one answers.
struct Scene {
    dir: tempfile::TempDir,
    questions: Vec<(&'static str, Value)>,
    answers: Vec<String>,
    files: BTreeMap<OsString, Vec<u8>>,
}

impl Scene {
    fn new() -> Self {
        // In memory where there is such a folder: each repair is synced, and a disk is slow at it.
        let in_memory = Path::new("/dev/shm");
        let place =
            if in_memory.is_dir() { in_memory.to_owned() } else { tempfile::env::temp_dir() };
        let dir = tempfile::tempdir_in(place).unwrap();
        write_demo(dir.path(), 41, DURATION_S);
        let questions = questions(DURATION_S, &MOMENTS_PERCENT);
        let answers = answers(&memory_over(dir.path()), &questions);
        let files = files_in(&dir.path().join(CATALOG_FOLDER));
        assert!(files.contains_key(&OsString::from("MANIFEST")) && files.len() >= 2, "{files:?}");
        Self { dir, questions, answers, files }
    }

    fn catalog(&self) -> PathBuf {
        self.dir.path().join(CATALOG_FOLDER)
    }

    /// Puts back every file of the undamaged catalog and takes away all others.
    fn restore(&self) {
        let catalog = self.catalog();
        fs::create_dir_all(&catalog).unwrap();
        for name in files_in(&catalog).into_keys() {
            if !self.files.contains_key(&name) {
                fs::remove_file(catalog.join(name)).unwrap();
            }
        }
        for (name, bytes) in &self.files {
            fs::write(catalog.join(name), bytes).unwrap();
        }
    }

    /// Opens what is on disk now and compares all answers.
    fn check(&self, what: &str) {
        self.compare(&answers(&memory_over(self.dir.path()), &self.questions), what);
    }

    fn compare(&self, given: &[String], what: &str) {
        for (expected, given) in self.answers.iter().zip(given) {
            assert_eq!(expected, given, "{what}");
        }
    }

    /// The files whose damage is worth trying: all but the lock.
    fn targets(&self) -> impl Iterator<Item = (&OsString, &Vec<u8>)> {
        self.files.iter().filter(|(name, _)| *name != "LOCK")
    }
}

fn files_in(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .map(|name| (name.clone(), fs::read(folder.join(&name)).unwrap()))
        .collect()
}

/// The places of `0..len` in an order in which any beginning is spread over all of it, from
/// another one each time.
fn spread_places(len: usize, seed: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    let mut prng = Prng::new(seed);
    for i in (1..places.len()).rev() {
        places.swap(i, prng.index(i + 1));
    }
    places
}

fn seed() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let given = std::env::var("DAMAGE_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or(now.as_secs());
    println!("DAMAGE_SEED={seed}");
    seed
}

#[test]
fn a_cut_anywhere_changes_no_answer() {
    let (scene, seed) = (Scene::new(), seed());
    for (name, bytes) in scene.targets() {
        let path = scene.catalog().join(name);
        let started = Instant::now();
        let mut n_tried = 0;
        for len in spread_places(bytes.len(), seed) {
            if name != "MANIFEST" && started.elapsed() > BUDGET {
                break;
            }
            scene.restore();
            fs::write(&path, &bytes[..len]).unwrap();
            scene.check(&format!("{} cut to {len} of {}", name.display(), bytes.len()));
            n_tried += 1;
        }
        println!("{}: {n_tried} of {} lengths", name.display(), bytes.len());
        assert!(n_tried > 10);
    }
}

#[test]
fn a_flipped_byte_anywhere_changes_no_answer() {
    let (scene, seed) = (Scene::new(), seed());
    let mut prng = Prng::new(seed);
    for (name, bytes) in scene.targets() {
        let path = scene.catalog().join(name);
        let started = Instant::now();
        let mut n_tried = 0;
        for at in spread_places(bytes.len(), seed + 1) {
            if name != "MANIFEST" && started.elapsed() > BUDGET {
                break;
            }
            scene.restore();
            let flip = [0xFF, 0x01, 0x80, 1 << prng.below(8)][prng.index(4)];
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            fs::write(&path, damaged).unwrap();
            scene.check(&format!("{} byte {at} flipped by {flip:#x}", name.display()));
            n_tried += 1;
        }
        println!("{}: {n_tried} of {} bytes", name.display(), bytes.len());
        assert!(n_tried > 10);
    }
}

#[test]
fn files_that_are_gone_or_empty_or_of_another_format_change_no_answer() {
    let scene = Scene::new();
    let names: Vec<OsString> = scene.files.keys().cloned().collect();
    for name in &names {
        let path = scene.catalog().join(name);
        let what = name.display();
        scene.restore();
        fs::remove_file(&path).unwrap();
        scene.check(&format!("{what} is missing"));
        scene.restore();
        fs::write(&path, b"").unwrap();
        scene.check(&format!("{what} is empty"));
        scene.restore();
        fs::write(&path, vec![0; scene.files[name].len()]).unwrap();
        scene.check(&format!("{what} is all zeros"));
        scene.restore();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        scene.check(&format!("{what} is a folder"));
        fs::remove_dir(&path).unwrap_or_default();
        let other = if path.is_dir() { fs::remove_dir_all(&path) } else { Ok(()) };
        other.unwrap();
    }
    for name in names.iter().filter(|name| *name != "LOCK") {
        scene.restore();
        let mut bytes = scene.files[name].clone();
        if name == "MANIFEST" {
            let text = String::from_utf8(bytes).unwrap();
            let (first, rest) = text.split_once('\n').unwrap();
            let (words, _) = first.rsplit_once(' ').unwrap();
            let (body, _) = rest.rsplit_once("crc ").unwrap();
            let body = format!("{words} 999\n{body}");
            bytes = format!("{body}crc {:08x}\n", crc32(body.as_bytes())).into_bytes();
        } else {
            bytes[8..12].copy_from_slice(&999_u32.to_le_bytes());
            let crc = crc32(&bytes[..12]).to_le_bytes();
            bytes[12..16].copy_from_slice(&crc);
        }
        fs::write(scene.catalog().join(name), bytes).unwrap();
        scene.check(&format!("{} is of format 999", name.display()));
    }
    scene.restore();
    fs::remove_dir_all(scene.catalog()).unwrap();
    scene.check("no catalog at all");
    fs::remove_dir_all(scene.catalog()).unwrap();
    fs::write(scene.catalog(), b"a file in its place").unwrap();
    scene.check("a file in the catalog's place");
}

/// CRC-32 of zlib, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    })
}

#[test]
fn a_follower_answers_alike_and_writes_nothing() {
    let scene = Scene::new();
    let (store, _) = Store::open(&scene.catalog()).unwrap();
    assert!(store.is_writer());
    let before = files_in(&scene.catalog());
    let memory = memory_over(scene.dir.path());
    assert_eq!(memory.catalog().other_writer(), Some(std::process::id()));
    scene.compare(&answers(&memory, &scene.questions), "followed");
    drop(memory);
    assert_eq!(files_in(&scene.catalog()), before);

    // With nothing to read from the one that holds the lock, either.
    for name in scene.targets().map(|(name, _)| name) {
        fs::remove_file(scene.catalog().join(name)).unwrap();
    }
    let bare = files_in(&scene.catalog());
    scene.check("followed, and the other one has written nothing yet");
    assert_eq!(files_in(&scene.catalog()), bare);
    drop(store);
    let memory = memory_over(scene.dir.path());
    assert_eq!(memory.catalog().other_writer(), None);
    scene.compare(&answers(&memory, &scene.questions), "took over");
    assert!(files_in(&scene.catalog()).len() >= 2, "written by who took over");
}

const CHILD_DIR: &str = "ROS2_MEMORY_TEST_BAG_DIR";

/// Opens the directory that the environment names, and prints what the questions get.
#[test]
#[ignore = "the other process of the tests below"]
fn answers_in_a_process_of_its_own() {
    let dir = PathBuf::from(std::env::var_os(CHILD_DIR).unwrap());
    let memory = memory_over(&dir);
    println!("\nwriter {:?}", memory.catalog().other_writer());
    for answer in answers(&memory, &questions(DURATION_S, &MOMENTS_PERCENT)) {
        println!("answer {answer}");
    }
    println!("done");
    // Until the parent closes the pipe.
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

fn other_process(dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "answers_in_a_process_of_its_own", "--ignored", "--nocapture"])
        .env(CHILD_DIR, dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// A process that has answered and keeps the catalog open.
struct Other {
    child: Child,
    out: BufReader<ChildStdout>,
    answers: Vec<String>,
}

impl Other {
    fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let lines = out.by_ref().lines().map(Result::unwrap);
        let answers = lines
            .take_while(|line| line != "done")
            .filter_map(|line| line.strip_prefix("answer ").map(str::to_owned))
            .collect();
        Self { child, out, answers }
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        // Its last words need a reader.
        std::io::copy(&mut self.out, &mut std::io::sink()).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn while_another_process_keeps_the_catalog_it_is_only_read() {
    let scene = Scene::new();
    let other = Other::start(&mut other_process(scene.dir.path()));
    assert_eq!(other.answers.len(), scene.answers.len());
    scene.compare(&other.answers, "in another process");
    let before = files_in(&scene.catalog());
    let memory = memory_over(scene.dir.path());
    assert_eq!(memory.catalog().other_writer(), Some(other.child.id()));
    scene.compare(&answers(&memory, &scene.questions), "beside another process");
    assert_eq!(files_in(&scene.catalog()), before);
    other.end();
    memory.catalog().refresh(Duration::from_secs(10)).unwrap();
    assert_eq!(memory.catalog().other_writer(), None, "taken over when the other one ended");
}

#[test]
fn a_catalog_elsewhere_leaves_the_bag_directory_alone() {
    let scene = Scene::new();
    fs::remove_dir_all(scene.catalog()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let setting = format!("catalog.dir={}", elsewhere.path().join("a/b").display());
    set_mode(scene.dir.path(), 0o555);
    for round in 1..=2 {
        let memory = memory_with(scene.dir.path(), std::slice::from_ref(&setting));
        let indexed = memory.catalog().last_report().indexed;
        assert_eq!(indexed, if round == 1 { 8 } else { 0 }, "round {round}");
        scene.compare(&answers(&memory, &scene.questions), "with a catalog elsewhere");
    }
    set_mode(scene.dir.path(), 0o755);
    assert!(!scene.catalog().exists());
    assert!(files_in(&elsewhere.path().join("a/b")).len() >= 3);
}

fn set_mode(dir: &Path, mode: u32) {
    fs::set_permissions(dir, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_read_only_bag_directory_has_its_catalog_in_the_cache_folder() {
    let scene = Scene::new();
    fs::remove_dir_all(scene.catalog()).unwrap();
    set_mode(scene.dir.path(), 0o555);
    let probe = scene.dir.path().join("probe");
    if fs::write(&probe, b"").is_ok() {
        fs::remove_file(probe).unwrap();
        // For root no folder is read-only by its mode: a file where the catalog's folder would
        // be stands in the way instead.
        fs::write(scene.catalog(), b"").unwrap();
        println!("the mode does not bind this user; a file takes the folder's place");
    }
    let cache = tempfile::tempdir().unwrap();
    for round in 1..=2 {
        let mut command = other_process(scene.dir.path());
        let other = Other::start(command.env("XDG_CACHE_HOME", cache.path()));
        assert_eq!(other.answers.len(), scene.answers.len(), "round {round}");
        scene.compare(&other.answers, "from a read-only directory");
        other.end();
        let folders: Vec<_> = fs::read_dir(cache.path().join("ros2-memory"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        assert!(files_in(&folders[0]).contains_key(&OsString::from("MANIFEST")));
    }
    set_mode(scene.dir.path(), 0o755);
}
