use std::{
    fs::{File, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use memmap2::Mmap;
use rustix::fs::OFlags;

use crate::{
    BagError, ContentMark, DamageKind, FileIdentity,
    compressed::{self, Inflated},
    mapping,
};

/// How recordings are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether large closed files may be mapped.
    pub mapping: bool,
    /// A chunk that declares more bytes than this is refused.
    pub max_chunk_bytes: u64,
    /// Whether the CRC of a chunk is checked each time it is read, not only when indexing, and that
    /// of a whole data section each time a file is opened whose chunks have none.
    pub verify_always: bool,
    /// A recording that is compressed as a whole, such as `*.mcap.zstd`, and inflates to more
    /// bytes than this is refused.
    pub max_inflated_file_bytes: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            mapping: true,
            max_chunk_bytes: 256 << 20,
            verify_always: false,
            max_inflated_file_bytes: 16 << 30,
        }
    }
}

/// Files from this size on are mapped. Below it, one read into a reused buffer is faster: a
/// 40 KB bag is read 1.8 times faster than it is mapped, a 1.6 GB bag the other way round.
const MAP_FROM_BYTES: u64 = 8 << 20;
/// How much of an unmapped larger file is read at once.
const WINDOW_BYTES: usize = 1 << 20;

/// The bytes of one open file, mapped or read on demand; of a file that is compressed as a whole
/// those that it inflates to.
#[derive(Debug)]
pub struct Source {
    file: File,
    path: PathBuf,
    identity: FileIdentity,
    map: Option<Mmap>,
    /// All bytes of a small file that is read in one go.
    held: Option<Vec<u8>>,
    inflated: Option<Arc<Inflated>>,
}

impl Source {
    /// Opens a regular file for reading, with the default options.
    ///
    /// # Errors
    ///
    /// As [`Source::open_with`].
    pub fn open(path: &Path) -> Result<Self, BagError> {
        Self::open_with(path, &ReadOptions::default())
    }

    /// Opens a regular file for reading. Never blocks, also not on a pipe. A file of Zstandard
    /// frames is inflated, unless it was a moment ago: into memory, a large one into a temporary
    /// file.
    ///
    /// # Errors
    ///
    /// [`BagError::Io`] when it cannot be opened or inflated, [`BagError::NotAFile`] for anything
    /// but a regular file. Of a compressed file [`BagError::TooLarge`] when it inflates to more
    /// than the options allow, [`BagError::UnknownFormat`] when it holds no recording, and
    /// [`BagError::Damaged`] when not even the start of one can be had.
    pub fn open_with(path: &Path, options: &ReadOptions) -> Result<Self, BagError> {
        let io_error =
            |action| move |source| BagError::Io { action, source, path: path.to_owned() };
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(nonblocking)
            .open(path)
            .map_err(io_error("open"))?;
        let metadata = file.metadata().map_err(io_error("look at"))?;
        if !metadata.is_file() {
            return Err(BagError::NotAFile { path: path.to_owned() });
        }
        let identity = FileIdentity::of(&metadata);
        let mut head = [0; 4];
        let head_len = file.read_at(&mut head, 0).map_err(io_error("read"))?;
        let inflated = if compressed::is_compressed(head.get(..head_len).unwrap_or_default()) {
            Some(compressed::inflated(&file, path, identity, options)?)
        } else {
            None
        };
        Ok(Self { file, path: path.to_owned(), identity, map: None, held: None, inflated })
    }

    /// Maps the file when the options allow it and it is large. Only for files whose writer has
    /// closed them. When mapping fails, as past the limit of maps a process may have, the file
    /// is read instead.
    pub fn map_if_large(&mut self, options: &ReadOptions) {
        if let Some(inflated) = self.inflated.as_ref().filter(|_| options.mapping) {
            inflated.map();
        } else if options.mapping && self.map.is_none() && self.len() >= MAP_FROM_BYTES {
            self.map = mapping::map(&self.file).ok();
        }
    }

    /// Reads a small file as a whole into `buffer`: then nothing of it is read a second time. A
    /// larger or compressed one is left as it is.
    ///
    /// # Errors
    ///
    /// [`BagError::Io`] when reading fails.
    pub(crate) fn hold(&mut self, mut buffer: Vec<u8>) -> Result<(), BagError> {
        let len = match usize::try_from(self.len()) {
            Ok(len) if self.len() < MAP_FROM_BYTES && self.inflated.is_none() => len,
            _ => return Ok(()),
        };
        // The bytes of the file before are overwritten, and not zeroed first.
        buffer.truncate(len);
        buffer.resize(len, 0);
        self.read_stored_at(&mut buffer, 0)?;
        self.held = Some(buffer);
        Ok(())
    }

    /// The buffer that the file was read into.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.held.unwrap_or_default()
    }

    /// The mapping of a large file.
    pub(crate) fn mapping(&self) -> Option<&[u8]> {
        self.map.as_deref()
    }

    /// The file's size when it was opened; of a compressed file what it inflates to.
    pub fn len(&self) -> u64 {
        self.inflated.as_ref().map_or(self.identity.size_bytes, |inflated| inflated.len())
    }

    /// Why a compressed file does not inflate to its end.
    pub fn inflate_fault(&self) -> Option<&DamageKind> {
        self.inflated.as_ref()?.fault()
    }

    /// Whether the file held nothing when it was opened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which file it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What told it from others when it was opened; of a compressed file that of the file on disk.
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// All bytes, when the file is mapped, read as a whole or inflated into memory.
    pub fn mapped(&self) -> Option<&[u8]> {
        match &self.inflated {
            Some(inflated) => inflated.mapped(),
            None => self.map.as_deref().or(self.held.as_deref()),
        }
    }

    /// `len` bytes from `offset`: borrowed from the mapping, or read into `buffer`.
    ///
    /// # Errors
    ///
    /// [`BagError::Damaged`] when the file is shorter, before anything is allocated;
    /// [`BagError::Io`] when reading fails.
    pub fn read<'b>(
        &'b self,
        offset: u64,
        len: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], BagError> {
        self.check(offset, len)?;
        if let Some(map) = self.mapped() {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            return map
                .get(start..start.saturating_add(len))
                .ok_or_else(|| self.short(offset, len));
        }
        buffer.clear();
        buffer.resize(len, 0);
        self.read_exact_at(buffer, offset)?;
        Ok(buffer)
    }

    /// The checksum over the file's first bytes and the last ones before `end`: the end of the
    /// file, or how far a file that is being written was read. That of a compressed file is over
    /// the whole file on disk.
    ///
    /// # Errors
    ///
    /// [`BagError::Io`] when reading fails, [`BagError::Damaged`] when the file ends before `end`.
    pub fn content_mark(&self, end: u64) -> Result<ContentMark, BagError> {
        self.check(0, usize::try_from(end).unwrap_or(usize::MAX))?;
        let end = if self.inflated.is_some() { self.identity.size_bytes } else { end };
        let mut head = [0; ContentMark::HEAD_LEN];
        let mut tail = [0; ContentMark::TAIL_LEN];
        let head_len = head.len().min(usize::try_from(end).unwrap_or(usize::MAX));
        let head = head.split_at_mut(head_len).0;
        self.read_stored_at(head, 0)?;
        let tail_start = end.saturating_sub(tail.len() as u64);
        let tail_len = usize::try_from(end - tail_start).unwrap_or_default();
        let tail = tail.split_at_mut(tail_len).0;
        self.read_stored_at(tail, tail_start)?;
        Ok(ContentMark::of(head, tail))
    }

    fn check(&self, offset: u64, len: usize) -> Result<(), BagError> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.len() => Ok(()),
            _ => Err(self.short(offset, len)),
        }
    }

    fn short(&self, offset: u64, len: usize) -> BagError {
        BagError::damaged(
            offset,
            DamageKind::Truncated {
                what: "a part",
                needed: len as u64,
                available: self.len().saturating_sub(offset),
            },
        )
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), BagError> {
        let Some(inflated) = &self.inflated else { return self.read_stored_at(buffer, offset) };
        inflated.read_exact_at(buffer, offset).map_err(|source| BagError::Io {
            action: "read what was inflated",
            source,
            path: self.path.clone(),
        })
    }

    fn read_stored_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), BagError> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let held = self.held.as_ref().and_then(|held| held.get(start..)?.get(..buffer.len()));
        if let Some(held) = held {
            buffer.copy_from_slice(held);
            return Ok(());
        }
        self.file.read_exact_at(buffer, offset).map_err(|source| BagError::Io {
            action: "read",
            source,
            path: self.path.clone(),
        })
    }
}

/// Reads a source from front to back through one buffer, small files in one go.
#[derive(Debug)]
pub(crate) struct Window<'s> {
    source: &'s Source,
    buffer: Vec<u8>,
    /// How many of its bytes are the source's.
    filled: usize,
    start: u64,
    /// How far to read ahead.
    size: usize,
}

impl<'s> Window<'s> {
    pub(crate) fn new(source: &'s Source, buffer: Vec<u8>) -> Self {
        let size = match usize::try_from(source.len()) {
            Ok(len) if source.len() < MAP_FROM_BYTES => len,
            _ => WINDOW_BYTES,
        };
        Self::of_size(source, buffer, size)
    }

    /// A window that reads at least `size` bytes at once.
    pub(crate) fn of_size(source: &'s Source, buffer: Vec<u8>, size: usize) -> Self {
        Self { source, buffer, filled: 0, start: 0, size }
    }

    /// `len` bytes from `offset`.
    pub(crate) fn bytes(&mut self, offset: u64, len: usize) -> Result<&[u8], BagError> {
        self.source.check(offset, len)?;
        if let Some(map) = self.source.mapped() {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            return map
                .get(start..start.saturating_add(len))
                .ok_or_else(|| self.source.short(offset, len));
        }
        let held = self.start..self.start + self.filled as u64;
        if offset < held.start || offset + len as u64 > held.end {
            // A source that fits is read once, from its start.
            let start = if self.source.len() <= self.size as u64 { 0 } else { offset };
            let left = usize::try_from(self.source.len() - start).unwrap_or(usize::MAX);
            let load = self.size.max(len).min(left);
            // The bytes of the source before are overwritten, and not zeroed first.
            if self.buffer.len() < load {
                self.buffer.resize(load, 0);
            }
            self.filled = 0;
            let room = self.buffer.split_at_mut(load).0;
            self.source.read_exact_at(room, start)?;
            self.filled = load;
            self.start = start;
        }
        let at = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        self.buffer.get(at..at.saturating_add(len)).ok_or_else(|| self.source.short(offset, len))
    }

    /// Whether the source is mapped, so that parts of it can be had without the rest.
    pub(crate) fn is_mapped(&self) -> bool {
        self.source.map.is_some()
    }

    /// `len` bytes from `offset` without moving the window: borrowed where they are held, else read
    /// into `scratch`.
    pub(crate) fn peek<'b>(
        &'b self,
        offset: u64,
        len: usize,
        scratch: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], BagError> {
        let held = self.start..self.start + self.filled as u64;
        let is_held = held.contains(&offset) && offset.saturating_add(len as u64) <= held.end;
        if is_held && self.source.mapped().is_none() {
            let at = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
            return self
                .buffer
                .get(at..at.saturating_add(len))
                .ok_or_else(|| self.source.short(offset, len));
        }
        self.source.read(offset, len, scratch)
    }

    /// Gives the buffer back for the next file.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}
