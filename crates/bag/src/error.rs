use std::{io, path::PathBuf};

/// Why a recording could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BagError {
    /// The operating system refused.
    #[error("cannot {action}: {source} ({path})", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
        /// On which file.
        path: PathBuf,
    },
    /// A folder, pipe, socket or device under the name of a recording.
    #[error("not a regular file ({path})", path = path.display())]
    NotAFile {
        /// Which one.
        path: PathBuf,
    },
    /// A file that does not start as any known recording does.
    #[error("not a recording: starts with {found:02x?} ({path})", path = path.display())]
    UnknownFormat {
        /// The first bytes, at most eight.
        found: Vec<u8>,
        /// Which file.
        path: PathBuf,
    },
    /// Bytes of a recording that do not make sense.
    #[error("at byte {offset}: {kind}")]
    Damaged {
        /// Where in the file.
        offset: u64,
        /// What is wrong.
        kind: DamageKind,
    },
    /// A file that is no longer the one that was indexed.
    #[error("changed since it was indexed ({path})", path = path.display())]
    Changed {
        /// Which file.
        path: PathBuf,
    },
    /// The writer of the MCAP library failed.
    #[error("cannot write a recording: {source} ({path})", path = path.display())]
    Write {
        /// What it said.
        source: mcap::McapError,
        /// Which file.
        path: PathBuf,
    },
}

impl BagError {
    pub(crate) fn damaged(offset: u64, kind: DamageKind) -> Self {
        Self::Damaged { offset, kind }
    }
}

/// What is wrong with some bytes of a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// A record or field that ends after the bytes that hold it.
    #[error("{what} of {needed} bytes, {available} left")]
    Truncated {
        /// Which part.
        what: &'static str,
        /// How long it says it is.
        needed: u64,
        /// How much there is.
        available: u64,
    },
    /// A run of zeros where a record should start, as after a loss of power.
    #[error("zeros instead of a record")]
    Zeros,
    /// A chunk that the summary lists where the file has none.
    #[error("no chunk where the index has one")]
    NoChunk,
    /// A chunk whose bytes are not those that were written.
    #[error("chunk CRC is {found:#010x}, expected {expected:#010x}")]
    Crc {
        /// What the chunk says.
        expected: u32,
        /// What its bytes give.
        found: u32,
    },
    /// A chunk that cannot be inflated.
    #[error("{compression} chunk does not inflate: {reason}")]
    Inflate {
        /// Its compression.
        compression: &'static str,
        /// What the decompressor said.
        reason: String,
    },
    /// A chunk in a compression that is not known.
    #[error("unknown compression {name:?}")]
    UnknownCompression {
        /// Its name in the file.
        name: String,
    },
    /// A chunk whose declared size is past the configured limit.
    #[error("chunk of {declared} bytes, the limit is {limit}")]
    ChunkTooLarge {
        /// What it declares.
        declared: u64,
        /// What is allowed.
        limit: u64,
    },
    /// A chunk that inflates to another size than it declares.
    #[error("chunk of {found} bytes declares {declared}")]
    ChunkSize {
        /// What it declares.
        declared: u64,
        /// What it holds.
        found: u64,
    },
    /// Messages of a channel that was never declared.
    #[error("{messages} messages of channel {channel}, which is declared nowhere")]
    UnknownChannel {
        /// The channel's number in the file.
        channel: u16,
        /// How many messages in this place.
        messages: u64,
    },
    /// A channel number that two channels use inside one chunk.
    #[error("channel {channel} is declared twice with different content")]
    ChannelConflict {
        /// The number.
        channel: u16,
    },
    /// Messages with times that no clock shows, past the year 2262.
    #[error("{messages} messages dated after 2262")]
    ImplausibleTime {
        /// How many in this place.
        messages: u64,
    },
    /// What an earlier pass found, as it was said then.
    #[error("{text}")]
    Remembered {
        /// The words.
        text: String,
    },
}
