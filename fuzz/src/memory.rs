//! A place for files that is written thousands of times a second.

use std::path::PathBuf;

use tempfile::TempDir;

/// A folder in memory where the system has one; it is removed when the process ends well.
pub fn folder() -> TempDir {
    let shared = PathBuf::from("/dev/shm");
    let made = if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.expect("a folder for the files of this run")
}
