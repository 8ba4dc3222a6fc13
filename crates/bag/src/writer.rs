//! Writing recordings: one file, and files that follow each other by time.

mod file;
mod metadata;
mod split;

pub use file::{FileWriter, WriteOptions, WrittenChannel, WrittenFile};
pub use metadata::write_metadata_yaml;
pub use split::{SplitOptions, SplitWriter};
