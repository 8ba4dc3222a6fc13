//! The catalog on disk: whatever happens to its files, what it says of a bag was written so.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{BufRead, BufReader},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::{Command, Stdio},
};

use ros2_memory_bag::{
    Channel, Chunk, ChunkChannel, Compression, ContentMark, Contents, Damage, DamageKind, Ending,
    Losses, Verdict,
};
use ros2_memory_index::{
    Cells, Drive, EdgeSpan, LatchedMessage, Pose, Sightings, TopicNumbers, TopicWords, Zone,
};
use ros2_memory_testkit::prng::Prng;
use ros2_memory_time::LogTime;

use super::*;
use crate::Store;

/// An entry of a path; two versions differ in all that a version can change.
fn entry(path: &str, version: u64) -> Arc<BagEntry> {
    let ns = |offset: u64| LogTime::from_ns(1_700_000_000_000_000_000 + version * 1_000 + offset);
    let channel = |id: u16| Channel {
        id,
        topic: format!("/topic_{id}").into(),
        schema: None,
        message_encoding: "cdr".into(),
        offered_qos_profiles: "".into(),
    };
    // Two bags in three share their declarations.
    let declared = Declarations {
        profile: "ros2".to_owned(),
        library: format!("library {}", version / 3),
        schemas: Vec::new(),
        channels: vec![channel(1), channel(2)],
    };
    let seen = ChunkChannel { channel: 1, count: 7, first: ns(0), last: ns(50) };
    let chunk = Chunk {
        offset: 90,
        stored_len: 400 + version,
        len: 900,
        compression: Compression::Zstd,
        crc: 77,
        verdict: Verdict::Intact,
        is_loose: false,
        is_sorted: true,
        index_len: 0,
        first: ns(0),
        last: ns(50),
        channels: vec![seen],
    };
    let text = format!("fault {version}");
    let contents = Contents {
        declared: Arc::new(declared),
        chunks: vec![chunk],
        ending: Ending::Closed,
        damage: vec![Damage {
            offset: 3,
            kind: DamageKind::Remembered {
                text,
                losses: Losses { breaks: 1, ..Losses::default() },
            },
        }],
        n_attachments: version,
        n_metadata: 0,
    };
    let payload: Arc<[u8]> = version.to_le_bytes().repeat(3).into();
    Arc::new(BagEntry {
        path: Path::new(path).into(),
        identity: FileIdentity { device: 1, inode: version, size_bytes: 900, mtime_ns: -5 },
        mark: ContentMark(u32::try_from(version).unwrap()),
        contents: Arc::new(contents),
        latched: vec![LatchedMessage { channel: 0, log_time: ns(9), payload }],
        edges: vec![EdgeSpan {
            parent: "map".into(),
            child: "base".into(),
            is_static: true,
            count: 2,
            first: ns(1),
            last: ns(2),
        }],
        transform_skew_ns: version,
        sightings: vec![Sightings {
            channel: 1,
            times: vec![ns(3), ns(5), ns(9)],
            labels: vec![
                (format!("label {}", version % 5).into(), vec![0, 2]),
                ("z".into(), vec![1]),
            ],
            is_complete: version.is_multiple_of(2),
            has_other_values: version.is_multiple_of(3),
        }],
        words: vec![TopicWords {
            channel: 1,
            words: vec!["low".into(), format!("word{}", version % 7).into()],
        }],
        numbers: vec![numbers(version)],
        indexed: IndexedMark(u32::try_from(version).unwrap()),
    })
}

/// Numbers of which every fifth bag has no drive, and every third no zone.
fn numbers(version: u64) -> TopicNumbers {
    let x = f64::from(u32::try_from(version).unwrap());
    let pose = |ns: u64, x: f64| Pose { time: LogTime::from_ns(ns), at_m: [x, 0.5, 0.0] };
    let drive = Drive {
        first: pose(1, x),
        corner: pose(2, x),
        last: pose(9, x + 1.0),
        distance_m: 1.0,
        fastest_mps: x,
        n_poses: 3,
        n_jumps: 1,
        n_invalid: 2,
    };
    let zone = Zone { path: "x".into(), min: -1.0, max: 1e3 };
    TopicNumbers {
        channel: 1,
        zones: Vec::from_iter((!version.is_multiple_of(3)).then_some(zone)),
        cells: Some(Cells { path: "position".into(), cells: vec![(-1, 2), (3, 4)] }),
        drive: (!version.is_multiple_of(5)).then_some(drive),
    }
}

/// What a catalog held, in an order.
type Held = BTreeMap<PathBuf, Arc<BagEntry>>;

/// Segments of four bags, merged by three.
const LIMITS: Limits = Limits { seal_at: 4, merge_at: 3, large: 12 };

/// An open catalog.
struct Open {
    store: Store,
    bags: Bags,
}

impl Open {
    fn new(dir: &Path) -> (Self, Option<String>) {
        let (store, loaded) = Store::open(dir).unwrap();
        let damage = loaded.damage.clone();
        (Self { store, bags: Bags::with_limits(loaded, LIMITS) }, damage)
    }

    fn save(&mut self) {
        self.bags.save(&mut self.store, &|_| true).unwrap();
        while self.bags.merge(&mut self.store, &|_| true).unwrap() {}
    }

    /// As a look through the folder finds it: files of these entries, and no others.
    fn reconcile(&mut self, present: &Held) {
        let mut found: Vec<(Arc<Path>, FileIdentity)> =
            present.values().map(|entry| (entry.path.clone(), entry.identity)).collect();
        found.sort_by(|(a, _), (b, _)| bytes_of(a).cmp(bytes_of(b)));
        self.bags.drop_vanished(&found, &[]);
        for entry in present.values() {
            let is_known = |file: &File| file.identity == entry.identity;
            if !self.bags.files.as_ref().unwrap().get(bytes_of(&entry.path)).is_some_and(is_known) {
                self.bags.insert(BagEntry::clone(entry));
            }
        }
    }

    fn remove(&mut self, path: &str) {
        self.bags.look_up_files();
        self.bags.remove(Path::new(path), true);
    }

    fn insert(&mut self, entry: &BagEntry) {
        self.bags.look_up_files();
        self.bags.insert(entry.clone());
    }
}

/// The entries that can be read.
fn held(loaded: &Loaded) -> Held {
    let entries = loaded.each_entry().filter_map(Result::ok);
    entries.map(|entry| (entry.path.to_path_buf(), entry)).collect()
}

/// Whether anything is wrong, at opening or in an entry.
fn is_noticed(loaded: &Loaded) -> bool {
    loaded.damage.is_some() || loaded.each_entry().any(|entry| entry.is_err())
}

/// A catalog that was written in some sittings, and every version that was ever in it.
struct History {
    folder: tempfile::TempDir,
    versions: Vec<Arc<BagEntry>>,
    entries: Held,
}

fn history() -> History {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut versions: Vec<Arc<BagEntry>> = Vec::new();
    let mut entries = Held::new();
    let mut put = |open: &mut Open, path: &str| {
        let made = entry(path, versions.len() as u64);
        open.insert(&made);
        entries.insert(path.into(), made.clone());
        versions.push(made);
    };
    for sitting in 0..4 {
        let (mut open, damage) = Open::new(dir);
        assert!(open.store.is_writer());
        assert_eq!(damage.is_some(), sitting == 0, "{damage:?}");
        put(&mut open, "run/a_0.mcap");
        put(&mut open, "run/a_1.mcap");
        open.save();
        put(&mut open, "run/a_2.mcap.active");
        open.save();
        for number in 0..sitting {
            put(&mut open, &format!("other_{sitting}_{number}.mcap"));
            open.save();
        }
        put(&mut open, "run/a_2.mcap.active");
        open.save();
    }
    let (mut open, damage) = Open::new(dir);
    assert_eq!(damage, None);
    for path in ["run/a_1.mcap", "other_1_0.mcap", "never"] {
        open.remove(path);
        entries.remove(Path::new(path));
    }
    open.save();
    drop(open);
    let loaded = Store::open(dir).unwrap().1;
    assert_eq!(loaded.damage, None);
    assert_eq!(held(&loaded), entries);
    History { folder, versions, entries }
}

impl History {
    fn files(&self) -> Vec<(OsString, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name != "LOCK")
            .map(|name| (name.clone(), fs::read(self.folder.path().join(&name)).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn load(&self) -> Loaded {
        Store::open(self.folder.path()).unwrap().1
    }

    /// Fails when the catalog says something that nobody wrote.
    fn check(&self, loaded: &Loaded, what: &str) {
        for (path, entry) in held(loaded) {
            assert_eq!(*path, *entry.path, "{what}");
            assert!(self.versions.contains(&entry), "{what}: {path:?} was never written so");
        }
    }

    /// Opens, takes in what is missing, and finds it whole.
    fn mend(&self, what: &str) {
        let (mut open, _) = Open::new(self.folder.path());
        open.reconcile(&self.entries);
        open.save();
        drop(open);
        let loaded = self.load();
        assert!(!is_noticed(&loaded), "{what}: {:?}", loaded.damage);
        assert_eq!(held(&loaded), self.entries, "{what}");
    }
}

/// Replaces a file's bytes without emptying it, for which some file systems wait for the disk.
fn overwrite(file: &fs::File, bytes: &[u8]) {
    file.write_all_at(bytes, 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

#[test]
fn the_newest_version_of_each_path_comes_back() {
    let history = history();
    let newest = |path: &str| {
        history.versions.iter().rfind(|entry| *entry.path == *Path::new(path)).unwrap().clone()
    };
    for path in ["run/a_0.mcap", "run/a_2.mcap.active", "other_2_1.mcap"] {
        assert_eq!(history.entries[Path::new(path)], newest(path));
    }
    let loaded = history.load();
    assert!(!loaded.segments.is_empty() && !loaded.dead.is_empty(), "{loaded:?}");
    assert_eq!(loaded.n_bags(), history.entries.len());
    history.mend("nothing happened");
}

#[test]
fn a_path_that_is_no_text_comes_back() {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(b"run/\xff\xfe\n.mcap"));
    let entry = BagEntry { path: path.into(), ..(*entry("x", 0)).clone() };
    let folder = tempfile::tempdir().unwrap();
    let (mut open, _) = Open::new(folder.path());
    open.insert(&entry);
    open.save();
    drop(open);
    assert_eq!(*held(&Store::open(folder.path()).unwrap().1)[path], entry);
}

#[test]
fn bags_come_and_go_over_many_segments_and_none_is_lost_or_kept() {
    let mut prng = Prng::new(31);
    for _round in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let (mut present, mut gone, mut version) = (Held::new(), BTreeMap::new(), 0);
        for _sitting in 0..6 {
            let (mut open, _) = Open::new(folder.path());
            for _save in 0..prng.index(8) {
                for _change in 0..=prng.index(6) {
                    // Few names, so that files come again between two saves.
                    let path = format!("run_{}/b_{}.mcap", prng.index(2), prng.index(5));
                    if prng.index(4) == 0 {
                        open.remove(&path);
                        if let Some(entry) = present.remove(Path::new(&path)) {
                            gone.insert(PathBuf::from(path), entry);
                        }
                    } else {
                        version += 1;
                        let made = entry(&path, version);
                        open.insert(&made);
                        gone.remove(Path::new(&path));
                        present.insert(path.into(), made);
                    }
                }
                open.save();
            }
            assert_eq!(open.bags.n_bags(), present.len());
            let segments = open.bags.shown(&|_| true);
            let total: u64 = segments.iter().map(|shown| shown.summary.n_bags).sum();
            assert_eq!(total, present.len() as u64);
            let small = open.bags.segments.iter().filter(|s| s.n_rows() < LIMITS.large).count();
            assert!(small < LIMITS.merge_at, "{small} small segments");
            drop(open);
            let loaded = Store::open(folder.path()).unwrap().1;
            assert!(!is_noticed(&loaded) || present.is_empty(), "{:?}", loaded.damage);
            assert_eq!(held(&loaded), present);
        }
    }
}

/// Where the header and each entry of a log end; a file cut there is a whole shorter one.
fn entry_ends(segment: &[u8]) -> Vec<usize> {
    let mut ends = vec![16];
    while let Some(len) = segment.get(ends[ends.len() - 1]..).and_then(|rest| rest.first_chunk()) {
        ends.push(ends[ends.len() - 1] + 9 + u32::from_le_bytes(*len) as usize);
    }
    ends
}

#[test]
fn a_cut_at_any_length_invents_nothing() {
    let history = history();
    for (name, bytes) in history.files() {
        let path = history.folder.path().join(&name);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let is_log = bytes.starts_with(b"R2MEMSEG") && !bytes.ends_with(b"IDX1");
        let ends = if is_log { entry_ends(&bytes) } else { Vec::new() };
        for len in 0..bytes.len() {
            let what = format!("{} cut to {len} of {}", name.display(), bytes.len());
            overwrite(&file, &bytes[..len]);
            let loaded = history.load();
            history.check(&loaded, &what);
            assert_eq!(loaded.damage.is_none(), ends.contains(&len), "{what}: {:?}", loaded.damage);
        }
        overwrite(&file, &bytes);
    }
}

#[test]
fn a_flipped_byte_invents_nothing_and_is_noticed() {
    let history = history();
    let mut prng = Prng::new(4);
    for (name, bytes) in history.files() {
        let path = history.folder.path().join(&name);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xFF, 1 << prng.below(8)] {
                let what = format!("{} byte {at} flipped by {flip:#x}", name.display());
                file.write_all_at(&[bytes[at] ^ flip], at as u64).unwrap();
                let loaded = history.load();
                history.check(&loaded, &what);
                // What is wrong with a bag that stands for nothing any more is not looked for.
                let is_used = held(&loaded) != history.entries;
                assert!(!is_used || is_noticed(&loaded), "{what} is not noticed");
            }
            file.write_all_at(&bytes[at..=at], at as u64).unwrap();
        }
    }
    assert_eq!(held(&history.load()), history.entries);
}

#[test]
fn a_look_through_the_folder_mends_any_damage() {
    let mut prng = Prng::new(11);
    for round in 0..32 {
        let history = history();
        let files = history.files();
        let (name, bytes) = prng.pick(&files);
        let path = history.folder.path().join(name);
        let what = format!("round {round}, {}", name.display());
        match round % 4 {
            0 => fs::write(&path, &bytes[..prng.index(bytes.len())]).unwrap(),
            1 => {
                let mut bytes = bytes.clone();
                let at = prng.index(bytes.len());
                bytes[at] ^= 0x20;
                fs::write(&path, bytes).unwrap();
            }
            2 => fs::remove_file(&path).unwrap(),
            _ => fs::write(&path, [bytes.as_slice(), &[0; 40]].concat()).unwrap(),
        }
        history.check(&history.load(), &what);
        history.mend(&what);
    }
}

#[test]
fn another_format_is_rebuilt_and_never_read() {
    for target in ["MANIFEST", "segment-"] {
        let history = history();
        let (name, mut bytes) = history
            .files()
            .into_iter()
            .find(|(name, _)| name.to_string_lossy().starts_with(target))
            .unwrap();
        if target == "MANIFEST" {
            let text = String::from_utf8(bytes).unwrap();
            let body = text.rsplit_once("crc ").unwrap().0.replacen("catalog ", "catalog 9", 1);
            bytes = format!("{body}crc {:08x}\n", crc32fast::hash(body.as_bytes())).into_bytes();
        } else {
            bytes[8] += 1;
            let crc = crc32fast::hash(&bytes[..12]);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        }
        fs::write(history.folder.path().join(name), bytes).unwrap();
        let loaded = history.load();
        assert!(loaded.damage.as_ref().unwrap().contains("not of format "), "{loaded:?}");
        assert_eq!(held(&loaded).is_empty(), target == "MANIFEST");
        history.mend(target);
    }
}

#[test]
fn a_second_opener_reads_and_the_lock_goes_with_the_first() {
    let history = history();
    let (first, _) = Store::open(history.folder.path()).unwrap();
    assert!(first.is_writer());
    let (mut second, loaded) = Store::open(history.folder.path()).unwrap();
    assert!(!second.is_writer());
    assert_eq!(held(&loaded), history.entries);
    assert_eq!(second.writer_pid(), std::process::id());
    assert!(second.try_take_over().is_none());
    drop(first);
    let loaded = second.try_take_over().unwrap();
    assert!(second.is_writer() && held(&loaded) == history.entries);
    assert!(second.try_take_over().is_none(), "it is the writer already");
}

#[test]
fn a_reader_sees_a_whole_prefix_of_what_another_appends() {
    let history = history();
    let (mut writer, _) = Open::new(history.folder.path());
    for version in 100..110 {
        let new = entry("tail.mcap.active", version);
        writer.insert(&new);
        writer.save();
        let (reader, loaded) = Store::open(history.folder.path()).unwrap();
        assert!(!reader.is_writer());
        assert_eq!(loaded.damage, None);
        assert_eq!(held(&loaded)[Path::new("tail.mcap.active")], new);
    }
}

const HOLD: &str = "ROS2_MEMORY_TEST_HOLD";

#[test]
#[ignore = "the other process of the test below"]
fn holds_the_store_until_it_is_killed() {
    let dir = std::env::var_os(HOLD).unwrap();
    let (store, loaded) = Store::open(Path::new(&dir)).unwrap();
    println!("\nholding {} {}", store.is_writer(), loaded.n_bags());
    std::thread::sleep(std::time::Duration::from_mins(1));
}

#[test]
fn a_killed_process_leaves_no_lock() {
    let history = history();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "bags::tests::holds_the_store_until_it_is_killed",
            "--ignored",
            "--nocapture",
        ])
        .env(HOLD, history.folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap)
        .find(|line| line.starts_with("holding"))
        .unwrap();
    assert_eq!(said, format!("holding true {}", history.entries.len()));
    let (mut store, loaded) = Store::open(history.folder.path()).unwrap();
    assert!(!store.is_writer());
    assert_eq!(held(&loaded), history.entries);
    assert_eq!(store.writer_pid(), child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(store.try_take_over().is_some());
}
