use std::{fs::Metadata, os::unix::fs::MetadataExt, time::SystemTime};

/// Longer than the step in which any file system counts the time of a change.
const CLOCK_STEP_NS: i64 = 2_000_000_000;

/// What the wall clock shows, in nanoseconds since the epoch.
pub(crate) fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

/// What tells one version of a file from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The device it lies on.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// When it was last written, in nanoseconds since the epoch.
    pub mtime_ns: i64,
}

impl FileIdentity {
    /// The identity that the file system shows.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size_bytes: metadata.size(),
            mtime_ns: metadata
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(metadata.mtime_nsec()),
        }
    }

    /// Whether the last change lay so long before a moment, in nanoseconds since the epoch, that
    /// another one since would show in the time of change, which goes in steps.
    pub fn is_settled_at(&self, ns: i64) -> bool {
        self.mtime_ns.saturating_add(CLOCK_STEP_NS) < ns
    }

    /// Whether `now` may be the same file with bytes added at its end.
    pub fn may_have_grown_into(&self, now: &Self) -> bool {
        self.device == now.device && self.inode == now.inode && self.size_bytes <= now.size_bytes
    }
}

/// A checksum over the first and the last bytes of a file, which differs between recordings
/// that share size and time of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ContentMark(pub u32);

impl ContentMark {
    /// How many bytes at the start go into it: magic and header record.
    pub const HEAD_LEN: usize = 64;
    /// How many bytes at the end go into it: footer record (with the CRC of the summary) and
    /// magic.
    pub const TAIL_LEN: usize = 37;

    pub(crate) fn of(head: &[u8], tail: &[u8]) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(head);
        hasher.update(tail);
        Self(hasher.finalize())
    }
}
