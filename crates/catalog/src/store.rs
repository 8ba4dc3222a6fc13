//! The catalog on disk: segments, the manifest that names them, and the lock of their writer.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use ros2_memory_bag::Declarations;
use ros2_memory_index::{BagEntry, decode, decode_declarations, encode, encode_declarations};
use rustix::fs::{FlockOperation, OFlags};

use crate::{
    CatalogError,
    segment::{self, Entries, Kind},
};

/// Changes with every change of the bytes; a catalog of another version is rebuilt.
pub(crate) const FORMAT_VERSION: u32 = 3;
/// From this size on, a new segment is begun and the old one never written again.
const SEGMENT_BYTES: u64 = 8 << 20;
/// With this many segments they are merged into one.
const MAX_SEGMENTS: usize = 16;
const MANIFEST: &str = "MANIFEST";
const LOCK: &str = "LOCK";

/// The segments of one catalog folder.
///
/// Whoever holds the kernel lock on `LOCK` writes; it is released when that process ends, in
/// whatever way. Anybody else may read: a reader sees a prefix of the entries that is whole.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// Held while this process is the writer.
    lock: Option<File>,
    segments: Vec<u64>,
    log: Option<Log>,
    /// Whether what is on disk must be written anew before anything is appended.
    is_damaged: bool,
}

/// The segment that is appended to.
#[derive(Debug)]
struct Log {
    file: File,
    len: u64,
    declared: Numbers,
}

/// What a catalog folder held.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The newest entry of each path.
    pub entries: HashMap<Arc<Path>, Arc<BagEntry>>,
    /// Bags whose files are gone, kept for their latched messages.
    pub gone: HashMap<Arc<Path>, Arc<BagEntry>>,
    /// Whether something could not be read and is to be rebuilt, with the reason.
    pub damage: Option<String>,
}

impl Store {
    /// Opens a catalog folder and reads what it holds. Becomes the writer when nobody is.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when the folder cannot be read. Damage is no error: what is not
    /// whole is left out, and said in [`Loaded::damage`].
    pub fn open(dir: &Path) -> Result<(Self, Loaded), CatalogError> {
        let lock = take_lock(dir);
        let mut loaded = Loaded::default();
        let manifest = read_manifest(dir);
        if let Err(reason) = &manifest {
            loaded.damage = Some(reason.clone());
        }
        let segments = manifest.unwrap_or_default();
        for number in &segments {
            let path = segment_path(dir, *number);
            match read_regular(&path) {
                Ok(bytes) => load_segment(&bytes, *number, &mut loaded),
                Err(error) => {
                    loaded.damage = Some(format!("segment {number} cannot be read: {error}"));
                }
            }
        }
        let is_damaged = loaded.damage.is_some();
        let store = Self { dir: dir.to_owned(), lock, segments, log: None, is_damaged };
        Ok((store, loaded))
    }

    /// A store without a folder: nothing was known, nothing is written.
    pub fn in_memory() -> (Self, Loaded) {
        let store = Self {
            dir: PathBuf::new(),
            lock: None,
            segments: Vec::new(),
            log: None,
            is_damaged: false,
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

    /// Tries to become the writer after another one ended. What that one wrote is then written
    /// anew, from what this process knows.
    ///
    /// Returns whether this process has just become it.
    pub fn try_take_over(&mut self) -> bool {
        if self.lock.is_some() || self.dir.as_os_str().is_empty() {
            return false;
        }
        self.lock = take_lock(&self.dir);
        self.is_damaged |= self.lock.is_some();
        self.lock.is_some()
    }

    /// The process that holds the lock, as it wrote itself down.
    pub fn writer_pid(&self) -> u32 {
        let bytes = read_regular(&self.dir.join(LOCK)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().parse().unwrap_or_default()
    }

    /// Whether [`Self::rewrite`] must come before [`Self::append`].
    ///
    /// After damage, and when restarts have left many small segments.
    pub fn needs_rewrite(&self) -> bool {
        self.is_damaged || self.segments.len() >= MAX_SEGMENTS
    }

    /// Appends entries and the paths of bags that are gone. One write for all of them, without a
    /// sync: what a loss of power costs is indexed anew.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when writing fails; the store then needs a rewrite.
    pub fn append(
        &mut self,
        entries: &[Arc<BagEntry>],
        gone: &[Arc<Path>],
    ) -> Result<(), CatalogError> {
        debug_assert!(
            self.is_writer() && !self.is_damaged,
            "only the writer appends, after a rewrite"
        );
        if entries.is_empty() && gone.is_empty() {
            return Ok(());
        }
        if self.log.as_ref().is_none_or(|log| log.len >= SEGMENT_BYTES) {
            self.begin_segment()?;
        }
        let Some(log) = &mut self.log else { return Ok(()) };
        let mut bytes = Vec::new();
        push_entries(&mut bytes, &mut log.declared, entries);
        for path in gone {
            segment::push(&mut bytes, Kind::Gone, path.as_os_str().as_bytes());
        }
        let written = log.file.write_all(&bytes);
        log.len += bytes.len() as u64;
        self.is_damaged = written.is_err();
        written.map_err(CatalogError::io("append to the catalog", &self.dir))
    }

    /// Replaces everything on disk by these entries: written, synced, then named by the
    /// manifest, and only then are the old segments deleted.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when writing fails; what was on disk then still stands.
    pub fn rewrite(
        &mut self,
        entries: &[Arc<BagEntry>],
        gone: &[Arc<BagEntry>],
    ) -> Result<(), CatalogError> {
        debug_assert!(self.is_writer(), "only the writer rewrites");
        let old = std::mem::take(&mut self.segments);
        // A number that no manifest ever named, so that no reader takes old bytes for new ones.
        let number = self.unused_number(&old);
        let path = segment_path(&self.dir, number);
        let mut declared = Numbers::default();
        let mut bytes = segment::header();
        push_entries(&mut bytes, &mut declared, entries);
        push_entries(&mut bytes, &mut declared, gone);
        for entry in gone {
            segment::push(&mut bytes, Kind::Gone, entry.path.as_os_str().as_bytes());
        }
        let write = || {
            let mut file = create_new(&path)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            write_manifest(&self.dir, &[number])?;
            Ok(file)
        };
        let file = match write() {
            Ok(file) => file,
            Err(error) => {
                self.segments = old;
                return Err(CatalogError::io("write the catalog", &path)(error));
            }
        };
        for number in old {
            // An old segment that stays is never read again; the next rewrite passes it by.
            drop(fs::remove_file(segment_path(&self.dir, number)));
        }
        self.segments = vec![number];
        self.log = Some(Log { file, len: bytes.len() as u64, declared });
        self.is_damaged = false;
        Ok(())
    }

    fn begin_segment(&mut self) -> Result<(), CatalogError> {
        let number = self.unused_number(&self.segments);
        let path = segment_path(&self.dir, number);
        let header = segment::header();
        let mut segments = self.segments.clone();
        segments.push(number);
        let begin = || {
            let mut file = create_new(&path)?;
            file.write_all(&header)?;
            write_manifest(&self.dir, &segments)?;
            Ok(file)
        };
        let file = begin().map_err(CatalogError::io("begin a segment of the catalog", &path))?;
        self.segments = segments;
        self.log = Some(Log { file, len: header.len() as u64, declared: Numbers::default() });
        Ok(())
    }

    fn unused_number(&self, known: &[u64]) -> u64 {
        let mut number = known.iter().max().map_or(1, |last| last + 1);
        while segment_path(&self.dir, number).exists() {
            number += 1;
        }
        number
    }
}

/// The numbers that declarations have in one segment. They are told apart by where they lie in
/// memory: the splits of a session share them, and hashing their texts for each bag took a third
/// of the time of writing. Those that are equal and do not share are merely written twice.
#[derive(Debug, Default)]
struct Numbers(HashMap<usize, (u32, Arc<Declarations>)>);

impl Numbers {
    /// The number of some declarations, and whether it is new.
    fn of(&mut self, declared: &Arc<Declarations>) -> (u32, bool) {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        // Holding on to them keeps their place from being used for others.
        let entry = self.0.entry(Arc::as_ptr(declared).addr());
        let (number, _) = entry.or_insert_with(|| (next, declared.clone()));
        (*number, *number == next)
    }
}

fn push_entries(bytes: &mut Vec<u8>, declared: &mut Numbers, entries: &[Arc<BagEntry>]) {
    for entry in entries {
        let declarations = &entry.contents.declared;
        let (number, is_new) = declared.of(declarations);
        if is_new {
            segment::push(bytes, Kind::Declarations, &encode_declarations(declarations));
        }
        let mut payload = number.to_le_bytes().to_vec();
        payload.extend_from_slice(&encode(entry));
        segment::push(bytes, Kind::Bag, &payload);
    }
}

fn load_segment(bytes: &[u8], number: u64, loaded: &mut Loaded) {
    if !segment::has_header(bytes) {
        loaded.damage = Some(format!("segment {number} is not of format {FORMAT_VERSION}"));
        return;
    }
    let mut declared: Vec<Arc<Declarations>> = Vec::new();
    let mut entries = Entries::new(bytes);
    for (kind, payload) in entries.by_ref() {
        let understood = match kind {
            Kind::Declarations => decode_declarations(payload)
                .map(|declarations| declared.push(Arc::new(declarations)))
                .is_ok(),
            Kind::Bag => match load_bag(payload, &declared) {
                Some(entry) => {
                    loaded.gone.remove(&entry.path);
                    loaded.entries.insert(entry.path.clone(), Arc::new(entry));
                    true
                }
                None => false,
            },
            Kind::Gone => {
                let path = Path::new(std::ffi::OsStr::from_bytes(payload));
                if let Some((path, entry)) = loaded.entries.remove_entry(path) {
                    loaded.gone.insert(path, entry);
                }
                true
            }
        };
        if !understood {
            loaded.damage = Some(format!("segment {number} holds an entry that makes no sense"));
            return;
        }
    }
    if entries.position() < bytes.len() {
        loaded.damage = Some(format!(
            "segment {number} is whole up to byte {} of {}",
            entries.position(),
            bytes.len()
        ));
    }
}

fn load_bag(payload: &[u8], declared: &[Arc<Declarations>]) -> Option<BagEntry> {
    let (number, entry) = payload.split_first_chunk::<4>()?;
    let declarations = declared.get(u32::from_le_bytes(*number) as usize)?;
    decode(entry, declarations).ok()
}

fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("segment-{number:08}"))
}

/// The manifest is text, one segment's number a line, and ends in a checksum of what is before
/// it.
fn write_manifest(dir: &Path, segments: &[u64]) -> std::io::Result<()> {
    let lines: Vec<String> = segments.iter().map(|number| format!("segment {number}\n")).collect();
    let body = format!("ros2-memory catalog {FORMAT_VERSION}\n{}", lines.concat());
    let text = format!("{body}crc {:08x}\n", crc32fast::hash(body.as_bytes()));
    let new = dir.join("MANIFEST.new");
    // One that a crash left behind, or a link that somebody put there: the name goes, not what it
    // leads to.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_new(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, dir.join(MANIFEST))?;
    File::open(dir)?.sync_all()
}

/// The live segments; none when there is no manifest yet.
fn read_manifest(dir: &Path) -> Result<Vec<u64>, String> {
    let damaged = || "the manifest is damaged".to_owned();
    let text = match read_regular(&dir.join(MANIFEST)) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_not_text| damaged())?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err("there is no catalog yet".to_owned());
        }
        Err(error) => return Err(format!("the manifest cannot be read: {error}")),
    };
    let (body, crc) = text.rsplit_once("crc ").ok_or_else(damaged)?;
    if crc != format!("{:08x}\n", crc32fast::hash(body.as_bytes())) {
        return Err(damaged());
    }
    let mut lines = body.lines();
    if lines.next() != Some(format!("ros2-memory catalog {FORMAT_VERSION}").as_str()) {
        return Err(format!("the catalog is not of format {FORMAT_VERSION}"));
    }
    lines
        .map(|line| line.strip_prefix("segment ").and_then(|n| n.parse().ok()).ok_or_else(damaged))
        .collect()
}

/// The flags that keep an open from following a link and from waiting for the other end of a pipe:
/// anybody who may write into the bag directory may put such things into the catalog's folder.
fn unlinked() -> i32 {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    i32::try_from(flags.bits()).unwrap_or_default()
}

/// Makes a file that must not exist.
fn create_new(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).custom_flags(unlinked()).open(path)
}

/// Reads a regular file.
fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = OpenOptions::new().read(true).custom_flags(unlinked()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Takes the kernel lock, unless another process holds it or the folder is read-only.
fn take_lock(dir: &Path) -> Option<File> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(unlinked())
        .open(dir.join(LOCK))
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    // For people and messages; what counts is the kernel's lock.
    let mut held = String::new();
    drop(file.read_to_string(&mut held));
    let pid = format!("{}\n", std::process::id());
    if held != pid && file.set_len(0).is_ok() && file.seek(SeekFrom::Start(0)).is_ok() {
        drop(file.write_all(pid.as_bytes()));
    }
    Some(file)
}
