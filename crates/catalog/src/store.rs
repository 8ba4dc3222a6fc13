//! The catalog on disk.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::Write,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ros2_memory_bag::Declarations;
use ros2_memory_index::{BagEntry, DriveRules};

use crate::{
    CatalogError,
    disk::{
        self, LOCK, MAX_NUMBER, Manifest, Unread, create_new, open_regular, read_regular,
        segment_path,
    },
    log::{LoadedLog, LogEntry, push_entry},
    segment::{
        Dead, Segment,
        entries::header,
        naming::Naming,
        open_all::open_all,
        order,
        sealed::{self, SegmentWriter},
        whole::WholeEntries,
    },
};

/// Changes with every change of the bytes; a catalog of another version is rebuilt.
pub const FORMAT_VERSION: u32 = 6;

/// The segments of one catalog folder.
///
/// Whoever holds the kernel lock on `LOCK` writes; it is released when that process ends, in
/// whatever way. Anybody else may read: a reader sees a prefix of the entries that is whole.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// Held while this process is the writer.
    lock: Option<File>,
    manifest: Manifest,
    log: Option<Log>,
    /// The number that a segment in memory gets next.
    next_in_memory: u64,
    /// How the steps from one bag of a segment to the next are counted.
    pub(crate) rules: DriveRules,
}

/// The segment that is appended to.
#[derive(Debug)]
struct Log {
    file: File,
    naming: Naming,
}

/// What a catalog folder held.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The sealed segments.
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Which of their rows stand for no bag any more, by the number of the segment.
    pub(crate) dead: HashMap<u64, Dead>,
    /// The newest entries, by path.
    pub(crate) tail: HashMap<Arc<Path>, Arc<BagEntry>>,
    /// Newest entries of bags whose files are gone.
    pub(crate) gone: Vec<Arc<BagEntry>>,
    /// The declarations of all of them.
    pub(crate) declared: HashSet<Arc<Declarations>>,
    /// Whether something could not be read and is to be rebuilt, with the reason.
    pub damage: Option<String>,
    /// Whether it could not be read now and may be read another time: then nothing is written.
    pub(crate) is_cut_off: bool,
}

/// What a log holds when it is written anew.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail<'t> {
    pub(crate) entries: &'t [Arc<BagEntry>],
    pub(crate) gone: &'t [Arc<BagEntry>],
    pub(crate) dead: &'t HashMap<u64, Dead>,
}

impl Loaded {
    /// How many bags are known whose files existed.
    pub fn n_bags(&self) -> usize {
        let dead = |segment: &Segment| self.dead.get(&segment.number);
        let sealed = self.segments.iter().map(|segment| segment.live_rows(dead(segment)).count());
        sealed.sum::<usize>() + self.tail.len()
    }

    /// The entries of all bags whose files existed, or why one cannot be read.
    pub fn each_entry(&self) -> impl Iterator<Item = Result<Arc<BagEntry>, String>> {
        let sealed = self.segments.iter().flat_map(|segment| {
            let whole = WholeEntries::of(segment);
            let rows = segment.live_rows(self.dead.get(&segment.number));
            rows.map(move |(number, _)| whole.entry(number))
        });
        sealed.chain(self.tail.values().cloned().map(Ok))
    }
}

impl Store {
    /// Opens a catalog folder and reads what it holds. Becomes the writer when nobody is.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when the folder cannot be read. Damage is no error: what is not
    /// whole is left out, and said in [`Loaded::damage`].
    pub fn open(dir: &Path) -> Result<(Self, Loaded), CatalogError> {
        let lock = disk::take_lock(dir);
        let (manifest, loaded) = read(dir);
        let lock = lock.filter(|_| !loaded.is_cut_off);
        let next_in_memory = MAX_NUMBER + 1;
        let rules = DriveRules::default();
        let store = Self { dir: dir.to_owned(), lock, manifest, log: None, next_in_memory, rules };
        Ok((store, loaded))
    }

    /// A store without a folder: nothing was known, nothing is written.
    pub fn in_memory() -> (Self, Loaded) {
        let store = Self {
            dir: PathBuf::new(),
            lock: None,
            manifest: Manifest::default(),
            log: None,
            next_in_memory: MAX_NUMBER + 1,
            rules: DriveRules::default(),
        };
        (store, Loaded::default())
    }

    /// The catalog's folder; empty for a store in memory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether this process may write.
    pub fn is_writer(&self) -> bool {
        self.lock.is_some()
    }

    /// Tries to become the writer after another one ended. Returns what that one has left on disk:
    /// segments that were read before may be gone from there.
    pub fn try_take_over(&mut self) -> Option<Loaded> {
        if self.lock.is_some() || self.dir.as_os_str().is_empty() {
            return None;
        }
        self.lock = disk::take_lock(&self.dir);
        self.lock.as_ref()?;
        let (manifest, loaded) = read(&self.dir);
        if loaded.is_cut_off {
            self.lock = None;
            return None;
        }
        (self.manifest, self.log) = (manifest, None);
        Some(loaded)
    }

    /// The process that holds the lock, as it wrote itself down.
    pub fn writer_pid(&self) -> u32 {
        let bytes = read_regular(&self.dir.join(LOCK)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().parse().unwrap_or_default()
    }

    /// Appends to the log. One write for all of it, without a sync: what a loss of power costs is
    /// indexed anew. The first time, and after a failure, the log is begun with all of `tail`.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when writing fails.
    pub(crate) fn append(
        &mut self,
        tail: Tail<'_>,
        fresh: &[LogEntry<'_>],
    ) -> Result<(), CatalogError> {
        debug_assert!(self.is_writer(), "only the writer appends");
        let Some(log) = &mut self.log else { return self.begin_log(tail) };
        let mut bytes = Vec::new();
        for entry in fresh {
            push_entry(&mut bytes, &mut log.naming, entry);
        }
        let written = log.file.write_all(&bytes);
        if written.is_err() {
            self.log = None;
        }
        written.map_err(CatalogError::io("append to the catalog", &self.dir))
    }

    /// Has the log written anew by the next [`Self::append`].
    pub(crate) fn forget_log(&mut self) {
        self.log = None;
    }

    /// Begins a new log that holds all of `tail`, and names it in the manifest.
    fn begin_log(&mut self, tail: Tail<'_>) -> Result<(), CatalogError> {
        let number = self.unused_number();
        let path = segment_path(&self.dir, number);
        let manifest = Manifest { sealed: self.manifest.sealed.clone(), log: Some(number) };
        let begin = || {
            let mut file = create_new(&path)?;
            let mut naming = Naming::default();
            let mut bytes = header();
            for entry in tail.log_entries(&manifest.sealed) {
                push_entry(&mut bytes, &mut naming, &entry);
            }
            file.write_all(&bytes)?;
            manifest.write(&self.dir)?;
            Ok(Log { file, naming })
        };
        let log = begin().map_err(|error| {
            // No manifest names it; on a full disk each try would take more.
            drop(fs::remove_file(&path));
            CatalogError::io("begin the log of the catalog", &path)(error)
        })?;
        self.log = Some(log);
        self.replace_manifest(manifest);
        Ok(())
    }

    /// Writes bags down as a sealed segment, in place of the segments that held them; `tail` is
    /// what the log holds from then on. `add` hands over the bags by start time, then path, and
    /// whether their files are gone.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when writing fails; what was on disk then still stands.
    pub(crate) fn seal(
        &mut self,
        old: &[u64],
        tail: Tail<'_>,
        declared: &mut HashSet<Arc<Declarations>>,
        add: impl FnOnce(&mut SegmentWriter) -> std::io::Result<()>,
    ) -> Result<Arc<Segment>, CatalogError> {
        debug_assert!(self.is_writer(), "only the writer seals");
        let number = self.unused_number();
        let path = segment_path(&self.dir, number);
        let write = || {
            let mut writer = SegmentWriter::new(create_new(&path)?, self.rules)?;
            add(&mut writer)?;
            writer.finish()?;
            let file = open_regular(&path)?;
            let share = Mutex::new(std::mem::take(declared));
            let segment = sealed::open(file, number, &share);
            *declared = share.into_inner().unwrap_or_else(PoisonError::into_inner);
            segment.map_err(|unread| std::io::Error::other(unread.to_string()))
        };
        let segment = match write() {
            Ok(segment) => segment,
            Err(error) => {
                // A file that no manifest names is never read.
                drop(fs::remove_file(&path));
                return Err(CatalogError::io("write the catalog", &path)(error));
            }
        };
        let mut sealed = self.manifest.sealed.clone();
        sealed.retain(|known| !old.contains(known));
        sealed.push(number);
        let before = std::mem::replace(&mut self.manifest.sealed, sealed);
        if let Err(error) = self.begin_log(tail) {
            self.manifest.sealed = before;
            drop(fs::remove_file(&path));
            return Err(error);
        }
        Ok(Arc::new(segment))
    }

    /// Replaces everything on disk: these bags as one sealed segment and those in the log.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when writing fails; what was on disk then still stands.
    pub fn rewrite(
        &mut self,
        sealed: &[Arc<BagEntry>],
        newest: &[Arc<BagEntry>],
    ) -> Result<(), CatalogError> {
        let tail = Tail { entries: newest, gone: &[], dead: &HashMap::new() };
        let mut sealed: Vec<&Arc<BagEntry>> = sealed.iter().collect();
        sealed.sort_by(|a, b| order(a).cmp(&order(b)));
        let old = self.manifest.sealed.clone();
        self.seal(&old, tail, &mut HashSet::new(), |writer| {
            sealed.iter().try_for_each(|entry| writer.add(entry, false))
        })?;
        Ok(())
    }

    /// A segment that is kept in memory alone.
    pub(crate) fn keep(&mut self, entries: Vec<(Arc<BagEntry>, bool)>) -> Arc<Segment> {
        self.next_in_memory += 1;
        let mut segment = Segment::in_memory(entries, self.rules);
        segment.number = self.next_in_memory;
        Arc::new(segment)
    }

    /// Forgets everything on disk.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when writing fails.
    pub(crate) fn clear(&mut self) -> Result<(), CatalogError> {
        self.manifest.sealed.clear();
        self.begin_log(Tail { entries: &[], gone: &[], dead: &HashMap::new() })
    }

    /// Takes note of a manifest that was written, and deletes the segments that it does not name:
    /// old ones, and what a crash has left.
    fn replace_manifest(&mut self, manifest: Manifest) {
        self.manifest = manifest;
        for file in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            let name = file.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("segment-"));
            let number = number.and_then(|number| number.parse::<u64>().ok());
            if number.is_some_and(|number| self.manifest.numbers().all(|named| named != number)) {
                // One that stays is never read.
                drop(fs::remove_file(file.path()));
            }
        }
    }

    /// A number that no manifest ever named, so that no reader takes old bytes for new ones.
    fn unused_number(&self) -> u64 {
        let mut number = self.manifest.numbers().max().map_or(1, |last| last + 1);
        while segment_path(&self.dir, number).exists() {
            number += 1;
        }
        number
    }
}

impl<'t> Tail<'t> {
    fn log_entries(self, sealed: &[u64]) -> impl Iterator<Item = LogEntry<'t>> {
        let entries = self.entries.iter().map(LogEntry::Bag);
        let gone =
            self.gone.iter().flat_map(|entry| [LogEntry::Bag(entry), LogEntry::Gone(&entry.path)]);
        let marks = self.dead.iter().filter(|(number, _)| sealed.contains(number));
        let dead = marks.flat_map(|(number, dead)| {
            let of = |rows: &'t roaring::RoaringBitmap, is_gone: bool| {
                rows.iter().map(move |row| LogEntry::Dead { segment: *number, row, is_gone })
            };
            of(&dead.gone, true).chain(of(&dead.replaced, false))
        });
        let dead: Vec<LogEntry<'t>> = dead.collect();
        gone.chain(entries).chain(dead)
    }
}

/// What a catalog folder holds: the manifest, without segments that cannot be read, and the rest.
fn read(dir: &Path) -> (Manifest, Loaded) {
    let mut loaded = Loaded::default();
    let mut manifest = Manifest::read(dir).unwrap_or_else(|unread| {
        loaded.damage = Some(unread.to_string());
        loaded.is_cut_off = unread.may_pass();
        Manifest::default()
    });
    let (opened, declared) = open_all(dir, &manifest.sealed);
    loaded.declared = declared;
    let mut opened = opened.into_iter();
    manifest.sealed.retain(|number| match opened.next() {
        Some(Ok(segment)) => {
            loaded.segments.push(Arc::new(segment));
            true
        }
        Some(Err(unread)) => {
            loaded.damage = Some(format!("segment {number} cannot be read: {unread}"));
            unread.may_pass()
        }
        None => unreachable!("each segment was opened, or it is known why not"),
    });
    if let Some(number) = manifest.log {
        match read_regular(&segment_path(dir, number)).map_err(|error| Unread::of(&error)) {
            Ok(bytes) => LoadedLog { number, loaded: &mut loaded }.read(&bytes),
            Err(unread) => {
                loaded.damage = Some(format!("segment {number} cannot be read: {unread}"));
                loaded.is_cut_off |= unread.may_pass();
            }
        }
    }
    (manifest, loaded)
}

/// A path out of its bytes in a log.
pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}
