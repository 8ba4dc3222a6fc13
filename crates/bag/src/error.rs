use std::{io, path::PathBuf};

use crate::Losses;

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
    /// A compressed file that is larger than may be inflated.
    #[error("inflates to {found} bytes or more, the limit is {limit} ({path})", path = path.display())]
    TooLarge {
        /// What it declares, or what it had inflated to when it was given up.
        found: u64,
        /// What is allowed.
        limit: u64,
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
    /// Bytes that belong to no whole record, up to the next one that is whole, or to the end.
    #[error("{reason}; {bytes} bytes skipped")]
    Skipped {
        /// How many.
        bytes: u64,
        /// What is wrong with the first of them.
        reason: Box<DamageKind>,
    },
    /// The end of a search for whole records behind a break: what looked like one was tried too
    /// often.
    #[error("the search for whole records was given up after trying {tried} bytes of {allowed}")]
    SearchGivenUp {
        /// How many bytes of records that were none were read or inflated.
        tried: u64,
        /// How many are allowed for a file of its size.
        allowed: u64,
    },
    /// A chunk that is whole although its record says something else.
    #[error(
        "a whole chunk of {expected} bytes stands in a record of opcode {opcode:#04x} and \
         {length} bytes"
    )]
    ChunkRecord {
        /// The opcode of its record.
        opcode: u8,
        /// The length of its record.
        length: u64,
        /// The length that its fields add up to.
        expected: u64,
    },
    /// A record whose length reaches over a whole record.
    #[error("record of {length} bytes, a whole one starts after {room}")]
    Overlap {
        /// How long it says it is.
        length: u64,
        /// How many bytes there are up to the next record.
        room: u64,
    },
    /// A record that says another length than its fields fill.
    #[error("record of {expected} bytes says that it has {length}")]
    RecordLength {
        /// How long it says it is.
        length: u64,
        /// How long its fields are.
        expected: u64,
    },
    /// Fewer messages than the file's own statistics count, and nothing that tells why.
    #[error("{found} messages of {counted} that the statistics count")]
    FewerMessages {
        /// What the statistics say.
        counted: u64,
        /// What there is.
        found: u64,
    },
    /// Data behind the record that ends the data section, in a file without its ending.
    #[error("the data section ends here, and the file does not")]
    BehindEnd,
    /// The start of a file in the middle of another.
    #[error("another recording starts here")]
    SecondFile,
    /// A data section whose bytes are not those that were written; which ones is not known.
    #[error("data section CRC is {found:#010x}, expected {expected:#010x}")]
    DataCrc {
        /// What the end of the data section says.
        expected: u32,
        /// What its bytes give.
        found: u32,
    },
    /// A summary whose bytes are not those that were written. Nothing of it is believed.
    #[error("summary CRC is {found:#010x}, expected {expected:#010x}")]
    SummaryCrc {
        /// What the footer says.
        expected: u32,
        /// What its bytes give.
        found: u32,
    },
    /// A compressed file that does not inflate to its end.
    #[error("the {compression} file of {stored} bytes inflates to {inflated} bytes only: {reason}")]
    FileInflate {
        /// Its compression.
        compression: &'static str,
        /// Its size.
        stored: u64,
        /// How many bytes came out.
        inflated: u64,
        /// What the decompressor said.
        reason: String,
    },
    /// A chunk that does not hold what the file's index claims.
    #[error("the index lies: {what} is {found}, claimed {claimed}")]
    IndexLies {
        /// What is wrong.
        what: String,
        /// What the index has.
        claimed: u64,
        /// What the chunk has.
        found: u64,
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
        /// What it cost, apart from a chunk that is known as damaged.
        losses: Losses,
    },
}

impl DamageKind {
    /// What it cost, as far as it can be told, apart from a chunk that is listed as damaged.
    pub fn losses(&self) -> Losses {
        let none = Losses::default();
        match self {
            Self::Skipped { bytes, .. } => Losses { breaks: 1, skipped_bytes: *bytes, ..none },
            Self::NoChunk => Losses { chunks: 1, ..none },
            Self::UnknownChannel { messages, .. } | Self::ImplausibleTime { messages } => {
                Losses { messages: *messages, ..none }
            }
            Self::Remembered { losses, .. } => *losses,
            _ => none,
        }
    }
}
