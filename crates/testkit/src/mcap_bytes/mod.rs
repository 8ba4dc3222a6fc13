//! MCAP files written byte by byte, and a walker that says what lies where in one.
//!
//! Both are from the format's text and from nothing of ours, so that a reader is tested against a
//! second mind: [`records`] writes single records, right or lying; [`FileSpec`] lays out a whole
//! file with its indexes; [`walk`] finds every message of a whole file, the bytes that hold it and
//! the checksum over them; [`fixtures`] makes small files of every make.
//!
//! Source: the MCAP format specification, version 0.

mod crc;
mod fixtures;
mod layout;
pub mod records;
mod tail;
mod walk;

pub use crc::crc32;
pub use fixtures::{Fixture, fixtures};
pub use layout::{Codec, FileSpec, Laid, MessageIndex, Part, SummarySpec, compressed};
pub use tail::{ChunkIndex, Statistics, Summary, SummaryOffset, Tail};
pub use walk::{Declaration, Holder, Placed, Span, Walked, spans, walk};

#[cfg(test)]
mod tests;
