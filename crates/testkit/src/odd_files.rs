//! What turns up in a bag directory besides bags: broken, foreign and hostile entries.
//!
//! Every entry that is partly a bag records a topic of its own below [`ODD_TOPICS`], at times that
//! the caller chooses, so that answers about other topics and about the recorded range must not
//! change when the entries appear.

mod damage;
mod entries;

use std::{io, path::Path, path::PathBuf};

pub use entries::write_odd_files;

/// The start of every topic that an odd entry records.
pub const ODD_TOPICS: &str = "/odd/";

/// One entry that [`write_odd_files`] made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddFile {
    /// Below the directory.
    pub path: PathBuf,
    /// What is wrong with it, for the message of a failed test.
    pub what: &'static str,
    /// The topic that only this entry records; empty when there is no message in it at all.
    pub topic: String,
    /// Everything that was ever recorded in it, in file order. What is served of `topic` has to be
    /// among these.
    pub recorded: Vec<OddMessage>,
    /// So many, from the first on, are whole and have to be served.
    pub must_serve: usize,
}

/// One message of an odd entry, a `std_msgs/msg/String`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OddMessage {
    /// Nanoseconds since the Unix epoch.
    pub log_time_ns: u64,
    /// Unique among all odd entries.
    pub text: String,
}

/// Where odd entries go and what times they may use.
#[derive(Debug, Clone, Copy)]
pub struct OddPlace<'a> {
    /// The bag directory; it exists.
    pub dir: &'a Path,
    /// A folder that is not below `dir`, for the far ends of links; it exists.
    pub outside: &'a Path,
    /// The earliest log time to use.
    pub first_ns: u64,
    /// The latest log time to use.
    pub last_ns: u64,
}

/// What a maker of entries returns.
type Made = io::Result<()>;

#[cfg(test)]
mod tests;
