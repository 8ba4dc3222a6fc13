//! The catalog on disk: whatever happens to its files, what it says of a bag was written so.

#![cfg(test)]

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{BufRead, BufReader},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use ros2_memory_bag::{
    Channel, Chunk, ChunkChannel, Compression, ContentMark, Contents, Damage, DamageKind,
    Declarations, Ending, FileIdentity, Losses, Verdict,
};
use ros2_memory_catalog::{BagEntry, EdgeSpan, LatchedMessage, Loaded, Store};
use ros2_memory_testkit::prng::Prng;
use ros2_memory_time::LogTime;

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
        mark: ContentMark(9),
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
    })
}

/// What a store held, in an order.
type Held = BTreeMap<PathBuf, Arc<BagEntry>>;

fn held(entries: &HashMap<Arc<Path>, Arc<BagEntry>>) -> Held {
    entries.iter().map(|(path, entry)| (path.to_path_buf(), entry.clone())).collect()
}

/// A catalog that was written in four sittings, and every version that was ever in it.
struct History {
    folder: tempfile::TempDir,
    versions: Vec<Arc<BagEntry>>,
    entries: Held,
    gone: Held,
}

fn history() -> History {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let mut versions = Vec::new();
    let mut make = |path: &str| {
        let made = entry(path, versions.len() as u64);
        versions.push(made.clone());
        made
    };
    let (mut store, loaded) = Store::open(dir).unwrap();
    assert!(store.is_writer() && store.needs_rewrite() && loaded.entries.is_empty());
    store.rewrite(&[make("run/a_0.mcap"), make("run/a_1.mcap")], &[]).unwrap();
    store.append(&[make("run/a_2.mcap.active")], &[]).unwrap();
    for sitting in 0..3 {
        drop(store);
        store = Store::open(dir).unwrap().0;
        assert!(!store.needs_rewrite());
        store.append(&[make("run/a_2.mcap.active"), make("run/a_0.mcap")], &[]).unwrap();
        store.append(&[make(&format!("other_{sitting}.mcap"))], &[]).unwrap();
    }
    store.append(&[], &[Path::new("run/a_1.mcap").into(), Path::new("never").into()]).unwrap();
    drop(store);
    let loaded = Store::open(dir).unwrap().1;
    assert_eq!(loaded.damage, None);
    History { versions, entries: held(&loaded.entries), gone: held(&loaded.gone), folder }
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

    fn is_whole(&self, loaded: &Loaded) -> bool {
        held(&loaded.entries) == self.entries && held(&loaded.gone) == self.gone
    }

    /// Fails when the store says something that nobody wrote.
    fn check(&self, loaded: &Loaded, what: &str) {
        for (path, entry) in loaded.entries.iter().chain(&loaded.gone) {
            assert_eq!(*path, entry.path, "{what}");
            assert!(self.versions.contains(entry), "{what}: {path:?} was never written so");
        }
    }

    /// Opens, writes everything anew, and finds it whole.
    fn mend(&self, what: &str) {
        let (mut store, _) = Store::open(self.folder.path()).unwrap();
        let entries: Vec<_> = self.entries.values().cloned().collect();
        let gone: Vec<_> = self.gone.values().cloned().collect();
        store.rewrite(&entries, &gone).unwrap();
        drop(store);
        let (store, loaded) = Store::open(self.folder.path()).unwrap();
        assert!(!store.needs_rewrite() && loaded.damage.is_none(), "{what}: {loaded:?}");
        assert!(self.is_whole(&loaded), "{what}");
    }
}

/// Replaces a file's bytes without emptying it, for which some file systems wait for the disk.
fn overwrite(file: &File, bytes: &[u8]) {
    file.write_all_at(bytes, 0).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
}

#[test]
fn the_newest_version_of_each_path_comes_back() {
    let history = history();
    let newest = |path: &str| {
        history.versions.iter().rfind(|entry| *entry.path == *Path::new(path)).unwrap().clone()
    };
    for path in ["run/a_0.mcap", "run/a_2.mcap.active", "other_0.mcap", "other_2.mcap"] {
        assert_eq!(history.entries[Path::new(path)], newest(path));
    }
    assert_eq!(history.entries.len(), 5);
    assert_eq!(history.gone.values().collect::<Vec<_>>(), [&newest("run/a_1.mcap")]);
    assert!(history.files().len() >= 5, "a manifest and a segment of each sitting");
    history.mend("nothing happened");
}

#[test]
fn a_path_that_is_no_text_comes_back() {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(b"run/\xff\xfe\n.mcap"));
    let entry = Arc::new(BagEntry { path: path.into(), ..(*entry("x", 0)).clone() });
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).unwrap().0.rewrite(std::slice::from_ref(&entry), &[]).unwrap();
    assert_eq!(Store::open(folder.path()).unwrap().1.entries[path], entry);
}

/// Where the header and each entry of a segment end; a file cut there is a whole shorter one.
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
        let ends = if name == "MANIFEST" { Vec::new() } else { entry_ends(&bytes) };
        for len in 0..bytes.len() {
            let what = format!("{} cut to {len} of {}", name.display(), bytes.len());
            overwrite(&file, &bytes[..len]);
            let loaded = Store::open(history.folder.path()).unwrap().1;
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
                let loaded = Store::open(history.folder.path()).unwrap().1;
                history.check(&loaded, &what);
                assert!(loaded.damage.is_some(), "{what} is not noticed");
            }
            file.write_all_at(&bytes[at..=at], at as u64).unwrap();
        }
    }
    assert!(history.is_whole(&Store::open(history.folder.path()).unwrap().1));
}

#[test]
fn a_rewrite_after_any_damage_makes_it_whole() {
    let mut prng = Prng::new(11);
    for round in 0..24 {
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
        let (store, loaded) = Store::open(history.folder.path()).unwrap();
        history.check(&loaded, &what);
        assert_eq!(store.needs_rewrite(), loaded.damage.is_some(), "{what}");
        drop(store);
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
        let (store, loaded) = Store::open(history.folder.path()).unwrap();
        assert!(store.needs_rewrite());
        assert!(loaded.damage.as_ref().unwrap().contains("not of format "), "{loaded:?}");
        assert_eq!(loaded.entries.is_empty(), target == "MANIFEST");
        drop(store);
        history.mend(target);
    }
}

#[test]
fn a_second_opener_reads_and_the_lock_goes_with_the_first() {
    let history = history();
    let (first, _) = Store::open(history.folder.path()).unwrap();
    assert!(first.is_writer());
    let (mut second, loaded) = Store::open(history.folder.path()).unwrap();
    assert!(!second.is_writer() && history.is_whole(&loaded));
    assert_eq!(second.writer_pid(), std::process::id());
    assert!(!second.try_take_over());
    drop(first);
    assert!(second.try_take_over() && second.is_writer() && second.needs_rewrite());
    assert!(!second.try_take_over(), "it is the writer already");
}

#[test]
fn a_reader_sees_a_whole_prefix_of_what_another_appends() {
    let history = history();
    let (mut writer, _) = Store::open(history.folder.path()).unwrap();
    for version in 100..110 {
        let new = entry("tail.mcap.active", version);
        writer.append(std::slice::from_ref(&new), &[]).unwrap();
        let (reader, loaded) = Store::open(history.folder.path()).unwrap();
        assert!(!reader.is_writer());
        assert_eq!(loaded.damage, None);
        assert_eq!(loaded.entries[Path::new("tail.mcap.active")], new);
    }
}

const HOLD: &str = "ROS2_MEMORY_TEST_HOLD";

#[test]
#[ignore = "the other process of the test below"]
fn holds_the_store_until_it_is_killed() {
    let dir = std::env::var_os(HOLD).unwrap();
    let (store, loaded) = Store::open(Path::new(&dir)).unwrap();
    println!("\nholding {} {}", store.is_writer(), loaded.entries.len());
    std::thread::sleep(std::time::Duration::from_mins(1));
}

#[test]
fn a_killed_process_leaves_no_lock() {
    let history = history();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holds_the_store_until_it_is_killed", "--ignored", "--nocapture"])
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
    assert!(!store.is_writer() && history.is_whole(&loaded));
    assert_eq!(store.writer_pid(), child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(store.try_take_over());
}

#[test]
fn many_small_segments_ask_to_be_merged() {
    let history = history();
    let mut sittings = 0;
    loop {
        let (mut store, loaded) = Store::open(history.folder.path()).unwrap();
        assert_eq!(loaded.damage, None);
        if store.needs_rewrite() {
            break;
        }
        store.append(&[entry("again.mcap", sittings)], &[]).unwrap();
        sittings += 1;
        assert!(sittings < 100);
    }
    history.mend("merged");
    let segments = history.files().into_iter().filter(|(name, _)| name != "MANIFEST").count();
    assert_eq!(segments, 1);
}
