//! The files of a catalog folder: the manifest that names the live segments, and the lock of their
//! writer.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, OFlags};

use crate::store::FORMAT_VERSION;

const MANIFEST: &str = "MANIFEST";
pub(crate) const LOCK: &str = "LOCK";

/// The live segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Those that are not written again, in any order.
    pub(crate) sealed: Vec<u64>,
    /// The one that is appended to.
    pub(crate) log: Option<u64>,
}

pub(crate) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("segment-{number:08}"))
}

/// Why something of the catalog is not known.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is not there, damaged, or of another format.
    Damaged(String),
    /// The operating system refused, which it may not do the next time.
    NotNow(String),
}

impl Unread {
    /// Why a file could not be opened or read.
    pub(crate) fn of(error: &std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Damaged(error.to_string()),
            _ => Self::NotNow(error.to_string()),
        }
    }

    /// Whether it may be read another time.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::NotNow(_))
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Damaged(reason) | Self::NotNow(reason)) = self;
        f.write_str(reason)
    }
}

/// Numbers of segments go up to here; larger ones are those of segments in memory.
pub(crate) const MAX_NUMBER: u64 = 1 << 62;
/// No file of a catalog is larger.
pub(crate) const MAX_FILE_BYTES: u64 = 4 << 30;

impl Manifest {
    /// All of them.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.sealed.iter().copied().chain(self.log)
    }

    /// Replaces the manifest of a folder. It is text, a segment a line, and ends in a checksum of
    /// what is before it.
    pub(crate) fn write(&self, dir: &Path) -> std::io::Result<()> {
        let sealed = self.sealed.iter().map(|number| format!("segment {number}\n"));
        let log = self.log.iter().map(|number| format!("log {number}\n"));
        let lines: String = sealed.chain(log).collect();
        let body = format!("ros2-memory catalog {FORMAT_VERSION}\n{lines}");
        let text = format!("{body}crc {:08x}\n", crc32fast::hash(body.as_bytes()));
        let new = dir.join("MANIFEST.new");
        // One that a crash left behind, or a link that somebody put there: the name goes, not what
        // it leads to.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = create_new(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, dir.join(MANIFEST))?;
        // It is in force. Some file systems cannot sync a folder; a loss of power then costs what is
        // indexed anew.
        if let Err(error) = File::open(dir).and_then(|dir| dir.sync_all()) {
            tracing::debug!(%error, "the catalog's folder cannot be synced");
        }
        Ok(())
    }

    /// The manifest of a folder.
    ///
    /// # Errors
    ///
    /// Why there is none that can be read.
    pub(crate) fn read(dir: &Path) -> Result<Self, Unread> {
        let damaged = || Unread::Damaged("the manifest is damaged".to_owned());
        let text = match read_regular(&dir.join(MANIFEST)) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_not_text| damaged())?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Unread::Damaged("there is no catalog yet".to_owned()));
            }
            Err(error) => {
                return Err(Unread::NotNow(format!("the manifest cannot be read: {error}")));
            }
        };
        let (body, crc) = text.rsplit_once("crc ").ok_or_else(damaged)?;
        if crc != format!("{:08x}\n", crc32fast::hash(body.as_bytes())) {
            return Err(damaged());
        }
        let mut lines = body.lines();
        if lines.next() != Some(format!("ros2-memory catalog {FORMAT_VERSION}").as_str()) {
            let words = format!("the catalog is not of format {FORMAT_VERSION}");
            return Err(Unread::Damaged(words));
        }
        let mut manifest = Self::default();
        for line in lines {
            let (kind, number) = line.split_once(' ').ok_or_else(damaged)?;
            let number = number.parse().map_err(|_not_a_number| damaged())?;
            if number == 0 || number > MAX_NUMBER || manifest.numbers().any(|of| of == number) {
                return Err(damaged());
            }
            match kind {
                "segment" => manifest.sealed.push(number),
                "log" => manifest.log = Some(number),
                _ => return Err(damaged()),
            }
        }
        Ok(manifest)
    }
}

/// The flags that keep an open from following a link and from waiting for the other end of a pipe:
/// anybody who may write into the bag directory may put such things into the catalog's folder.
fn unlinked() -> i32 {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    i32::try_from(flags.bits()).unwrap_or_default()
}

/// Makes a file that must not exist.
pub(crate) fn create_new(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).custom_flags(unlinked()).open(path)
}

/// Reads a regular file.
pub(crate) fn read_regular(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Takes the kernel lock, unless another process holds it or the folder is read-only.
pub(crate) fn take_lock(dir: &Path) -> Option<File> {
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

/// Opens a regular file to read.
pub(crate) fn open_regular(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(unlinked()).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(std::io::Error::other("larger than a file of the catalog can be"));
    }
    Ok(file)
}
