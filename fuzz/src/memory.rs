//! A place for files that is written thousands of times a second.

use std::{env, path::Path};

use tempfile::TempDir;

/// A folder in `TMPDIR`, or in memory where the system has such a place. A fuzzer ends without
/// removing it: `run.sh` gives each run a `TMPDIR` of its own and removes that.
pub fn folder() -> TempDir {
    let shared = Path::new("/dev/shm");
    let is_free = env::var_os("TMPDIR").is_none() && shared.is_dir();
    let made = if is_free { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    made.expect("a folder for the files of this run")
}
