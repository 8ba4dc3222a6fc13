//! Recordings on disk as message streams: formats, mapping, ordered and reverse scans, the
//! split writer.
//!
//! A bag is one file. [`Contents`] says what lies where in it, from one pass over its bytes;
//! [`Bag`] is a file opened with its contents; [`Timeline`] merges any number of bags into one
//! stream, forwards or backwards. Payloads are borrowed: from the mapping or the read buffer
//! when a chunk is uncompressed, from the reused inflate buffer otherwise.
//!
//! Any bytes return a value or an error. Nothing is allocated beyond what the bytes that remain
//! can fill, or, for a chunk, its declared size under [`ReadOptions::max_chunk_bytes`].

#![deny(unsafe_code)]

mod bag;
mod compressed;
mod contents;
mod discover;
mod error;
mod identity;
mod inflate;
mod mapping;
mod mcap;
mod source;
mod timeline;
mod writer;

pub use bag::{Bag, ChunkBuffer, MessageRef};
pub use contents::{
    Channel, Chunk, ChunkChannel, Compression, Contents, Damage, Declarations, Ending, Losses,
    Schema, Verdict,
};
pub use discover::{Discovery, FoundFile, FoundFolder, Rejected, discover, run_key};
pub use error::{BagError, DamageKind};
pub use identity::{ContentMark, FileIdentity};
pub use mcap::{
    audit::{Finding, FindingKind, Severity, audit},
    scan::{ScanBuffers, ScannedMessage, Visitor, scan, scan_on},
};
pub use source::{ReadOptions, Source};
pub use timeline::{Direction, Message, Timeline, TimelinePart, TimelineParts, TimelineReport};
pub use writer::{
    FileWriter, SplitOptions, SplitWriter, WriteOptions, WrittenChannel, WrittenFile,
    write_metadata_yaml,
};
