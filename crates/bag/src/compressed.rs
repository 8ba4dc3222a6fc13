//! Recordings that were compressed as a whole, `*.mcap.zstd`: inflated once, then read like any
//! other.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use memmap2::Mmap;

use crate::{BagError, DamageKind, FileIdentity, ReadOptions, mapping, mcap::record::MAGIC};

/// What a frame of Zstandard starts with, and a frame that is to be skipped, but for the low half
/// of its first byte.
const FRAME_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const SKIPPED_MAGIC: [u8; 4] = [0x50, 0x2A, 0x4D, 0x18];
/// The longest header of a frame.
const FRAME_HEADER_LEN: usize = 18;

/// What inflates to more than this goes into a temporary file.
const MAX_MEMORY_BYTES: u64 = 64 << 20;
/// How much is inflated in one step.
const STEP_BYTES: usize = 128 << 10;
/// Inflated files are kept for the next question: so many, and so many bytes of them in memory
/// and in temporary files.
const MAX_KEPT: usize = 8;
const MAX_KEPT_MEMORY_BYTES: u64 = 256 << 20;
const MAX_KEPT_FILE_BYTES: u64 = 16 << 30;
/// Where temporary files go unless `TMPDIR` says otherwise: `/tmp` is often memory.
const LARGE_FILES: &str = "/var/tmp";

/// A whole file, inflated.
#[derive(Debug)]
pub(crate) struct Inflated {
    held: Held,
    len: u64,
    fault: Option<DamageKind>,
}

#[derive(Debug)]
enum Held {
    Memory(Vec<u8>),
    /// A file without a name, which nobody else can change.
    File(File, OnceLock<Option<Mmap>>),
}

impl Inflated {
    /// The bytes, where they are in memory or mapped.
    pub(crate) fn mapped(&self) -> Option<&[u8]> {
        match &self.held {
            Held::Memory(bytes) => Some(bytes),
            Held::File(_, map) => map.get()?.as_deref(),
        }
    }

    pub(crate) fn map(&self) {
        if let Held::File(file, map) = &self.held {
            map.get_or_init(|| mapping::map(file).ok());
        }
    }

    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.held {
            Held::File(file, _) => file.read_exact_at(buffer, offset),
            Held::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let held = bytes.get(start..start.saturating_add(buffer.len()));
                buffer.copy_from_slice(held.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Why it does not go on, when the compressed file is cut off or damaged.
    pub(crate) fn fault(&self) -> Option<&DamageKind> {
        self.fault.as_ref()
    }

    fn memory_bytes(&self) -> u64 {
        if matches!(self.held, Held::Memory(_)) { self.len } else { 0 }
    }
}

/// Whether a file that starts with `head` is compressed as a whole.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    head.first_chunk::<4>().is_some_and(|magic| {
        let skipped = [magic[0] & 0xF0, magic[1], magic[2], magic[3]];
        *magic == FRAME_MAGIC || skipped == SKIPPED_MAGIC
    })
}

/// A file that was inflated, or is being inflated, by its identity.
struct Kept {
    identity: FileIdentity,
    place: Arc<Mutex<Option<Arc<Inflated>>>>,
}

/// The least recently used first.
static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// The inflated bytes of a compressed file: those of an earlier call, or inflated now. Several
/// callers at once wait for one of them.
pub(crate) fn inflated(
    file: &File,
    path: &Path,
    identity: FileIdentity,
    options: &ReadOptions,
) -> Result<Arc<Inflated>, BagError> {
    let limit = options.max_inflated_file_bytes;
    let too_large = |found| BagError::TooLarge { found, limit, path: path.to_owned() };
    let place = {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().position(|known| known.identity == identity);
        let known = known.map(|index| kept.remove(index));
        let known = known.unwrap_or_else(|| Kept { identity, place: Arc::default() });
        let place = known.place.clone();
        kept.push(known);
        place
    };
    let inflated = {
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inflated) = &*place {
            inflated.clone()
        } else {
            let outcome = inflate(file, path, identity, limit);
            if outcome.is_err() {
                forget(identity);
            }
            place.insert(Arc::new(outcome?)).clone()
        }
    };
    drop_old();
    if inflated.len > limit {
        return Err(too_large(inflated.len));
    }
    Ok(inflated)
}

/// Forgets a file that does not inflate.
fn forget(identity: FileIdentity) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.retain(|known| known.identity != identity);
}

/// Forgets inflated files past what may be kept, but not the last one.
fn drop_old() {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut n, mut memory, mut files) = (0, 0, 0);
    let keep: Vec<bool> = kept
        .iter()
        .rev()
        .map(|known| {
            // One that is being inflated now is in use.
            let Ok(place) = known.place.try_lock() else { return true };
            let Some(inflated) = &*place else { return n == 0 };
            n += 1;
            memory += inflated.memory_bytes();
            files += inflated.len - inflated.memory_bytes();
            n == 1
                || (n <= MAX_KEPT
                    && memory <= MAX_KEPT_MEMORY_BYTES
                    && files <= MAX_KEPT_FILE_BYTES)
        })
        .collect();
    let mut keep = keep.into_iter().rev();
    kept.retain(|_| keep.next().unwrap_or(true));
}

fn inflate(
    file: &File,
    path: &Path,
    identity: FileIdentity,
    limit: u64,
) -> Result<Inflated, BagError> {
    let io_error = |action| move |source| BagError::Io { action, source, path: path.to_owned() };
    let too_large = |found| BagError::TooLarge { found, limit, path: path.to_owned() };
    let mut head = [0; FRAME_HEADER_LEN];
    let head_len = file.read_at(&mut head, 0).map_err(io_error("read"))?;
    let head = head.get(..head_len).unwrap_or_default();
    let declared = zstd::zstd_safe::get_frame_content_size(head).ok().flatten();
    if let Some(declared) = declared.filter(|declared| *declared > limit) {
        return Err(too_large(declared));
    }
    let stored = Stored { file, at: 0, end: identity.size_bytes };
    let mut decoder = zstd::stream::read::Decoder::new(stored).map_err(io_error("inflate"))?;
    let mut step = vec![0; STEP_BYTES];
    let (mut sink, mut len, mut fault) = (Sink::Memory(Vec::new()), 0, None);
    let mut start = Vec::new();
    loop {
        let n = match decoder.read(&mut step) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // What the system said, and not the decompressor.
            Err(error) if error.raw_os_error().is_some() => return Err(io_error("read")(error)),
            Err(error) => {
                fault = Some(DamageKind::FileInflate {
                    compression: "zstd",
                    stored: identity.size_bytes,
                    inflated: len,
                    reason: error.to_string(),
                });
                break;
            }
        };
        let bytes = step.get(..n).unwrap_or_default();
        if start.len() < MAGIC.len() {
            start.extend(bytes.iter().take(MAGIC.len() - start.len()));
            // Seen before much was inflated for nothing.
            if !MAGIC.starts_with(&start) {
                return Err(BagError::UnknownFormat { found: start, path: path.to_owned() });
            }
        }
        len += n as u64;
        if len > limit {
            return Err(too_large(len));
        }
        sink.put(bytes).map_err(io_error("inflate into a temporary file"))?;
    }
    match fault {
        Some(kind) if start.len() < MAGIC.len() => Err(BagError::damaged(0, kind)),
        fault => {
            let held_in = match sink {
                Sink::Memory(bytes) => Held::Memory(bytes),
                Sink::File(file) => Held::File(file, OnceLock::new()),
            };
            Ok(Inflated { held: held_in, len, fault })
        }
    }
}

/// Where inflated bytes go.
enum Sink {
    Memory(Vec<u8>),
    File(File),
}

impl Sink {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Self::Memory(held) = self {
            if (held.len() + bytes.len()) as u64 <= MAX_MEMORY_BYTES {
                held.extend_from_slice(bytes);
                return Ok(());
            }
            let mut file = temporary()?;
            file.write_all(held)?;
            *self = Self::File(file);
        }
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(file) => file.write_all(bytes),
        }
    }
}

/// A file without a name.
fn temporary() -> io::Result<File> {
    if std::env::var_os("TMPDIR").is_none()
        && let Ok(file) = tempfile::tempfile_in(LARGE_FILES)
    {
        return Ok(file);
    }
    tempfile::tempfile()
}

/// The compressed bytes, read without moving the file's own position.
struct Stored<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl Read for Stored<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let n = self.file.read_at(buffer.get_mut(..left).unwrap_or_default(), self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
