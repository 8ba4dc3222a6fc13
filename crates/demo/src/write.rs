//! A history as files on disk.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use ros2_memory_bag::{
    BagError, FileWriter, WriteOptions, WrittenChannel, WrittenFile, write_metadata_yaml,
};

use crate::History;

/// The name of the file that holds the truth, in the folder that the history is written to.
pub const TRUTH_FILE: &str = "truth.json";

/// Why a history could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A bag could not be written.
    #[error(transparent)]
    Bag(#[from] BagError),
    /// The folder or the truth could not be written.
    #[error("cannot write: {source} ({path})", path = path.display())]
    Io {
        /// Why.
        source: io::Error,
        /// Where.
        path: PathBuf,
    },
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenHistory {
    /// The folder of the recording session.
    pub run: PathBuf,
    /// How many bags.
    pub n_bags: usize,
    /// How many messages.
    pub n_messages: u64,
}

/// Writes a history under `folder` as one recording session of splits, in several threads, with
/// `metadata.yaml` and the truth beside it. `tell` is called with how many bags are done.
///
/// # Errors
///
/// [`WriteError`] when the session's folder exists or something cannot be written.
pub fn write_history(
    history: &History,
    folder: &Path,
    options: &WriteOptions,
    tell: &(dyn Fn(usize) + Sync),
) -> Result<WrittenHistory, WriteError> {
    let io_error = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteError::Io { source, path }
    };
    let name = run_name(history);
    let run = folder.join(&name);
    fs::create_dir_all(folder).map_err(io_error(folder))?;
    fs::create_dir(&run).map_err(io_error(&run))?;
    let channels: Vec<WrittenChannel> = history
        .channels()
        .iter()
        .map(|channel| WrittenChannel {
            topic: channel.topic.to_owned(),
            type_name: channel.type_name.to_owned(),
            definition: channel.definition.clone(),
            is_latched: channel.latched,
        })
        .collect();
    let done = AtomicUsize::new(0);
    let files: Vec<WrittenFile> = (0..history.n_splits())
        .into_par_iter()
        .map(|split| {
            let path = run.join(format!("{name}_{split}.mcap"));
            let mut file = FileWriter::create(&path, &channels, options)?;
            for record in history.split(split) {
                file.write(
                    record.channel,
                    record.log_time,
                    record.publish_time,
                    record.sequence,
                    &record.payload,
                )?;
            }
            let written = file.finish()?;
            tell(done.fetch_add(1, Ordering::Relaxed) + 1);
            Ok(written)
        })
        .collect::<Result<_, BagError>>()?;
    write_metadata_yaml(&run, &channels, &files)?;
    let truth = folder.join(TRUTH_FILE);
    let text = serde_json::to_vec_pretty(&history.truth())
        .map_err(io::Error::other)
        .map_err(io_error(&truth))?;
    fs::write(&truth, text).map_err(io_error(&truth))?;
    let n_messages = files.iter().flat_map(|file| &file.counts).sum();
    Ok(WrittenHistory { run, n_bags: files.len(), n_messages })
}

/// The folder's name, as the recorder names its sessions: `run_20261130T104400Z`.
fn run_name(history: &History) -> String {
    let start = history.options().start.to_iso_8601();
    let to_the_second = start.split('.').next().unwrap_or_default();
    let compact: String = to_the_second.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("run_{compact}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use ros2_memory_time::LogTime;

    #[test]
    fn a_written_history_holds_its_records_and_its_truth() {
        let folder = tempfile::tempdir().unwrap();
        let start = LogTime::from_iso_8601("2026-11-30T10:44:00Z").unwrap();
        let history = History::new(Options::new(3, start, 60)).unwrap();
        let written =
            write_history(&history, folder.path(), &WriteOptions::default(), &|_| {}).unwrap();
        assert_eq!(written.run.file_name().unwrap(), "run_20261130T104400Z");
        assert_eq!(written.n_bags, 6);
        let expected: usize = (0..history.n_splits()).map(|i| history.split(i).len()).sum();
        assert_eq!(written.n_messages, expected as u64);
        assert!(folder.path().join(TRUTH_FILE).is_file());
        assert!(write_history(&history, folder.path(), &WriteOptions::default(), &|_| {}).is_err());
    }
}
