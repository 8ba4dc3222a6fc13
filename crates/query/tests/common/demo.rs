//! Synthetic histories with known truth, written out.

use std::path::Path;

use ros2_memory_bag::WriteOptions;
use ros2_memory_demo::{History, Options, WrittenHistory, write_history};
use ros2_memory_time::LogTime;

/// Long past on every clock, so that nothing of it counts as the future.
pub(crate) const START_NS: u64 = 1_750_000_000_000_000_000;

/// Writes a history in Zstandard into `dir`.
pub(crate) fn write_demo(dir: &Path, seed: u64, duration_s: u64) -> (History, WrittenHistory) {
    let history = History::new(Options::new(seed, LogTime::from_ns(START_NS), duration_s)).unwrap();
    let written = write_history(&history, dir, &WriteOptions::default(), &|_| {}).unwrap();
    (history, written)
}
