//! The recordings that are measured.

use std::{
    fs,
    io::BufWriter,
    path::{Path, PathBuf},
};

use mcap::records::MessageHeader;
use ros2_memory_bag::{Bag, Compression, ReadOptions, TimelinePart, WriteOptions, discover};
use ros2_memory_demo::{History, Options, write_history};
use ros2_memory_time::LogTime;
use tempfile::TempDir;

use crate::Outcome;

/// The beginning of the history: 2026-01-01, so that each run has the same bytes.
pub const START_NS: u64 = 1_767_225_600_000_000_000;
/// The length of the history: 360 splits of ten seconds.
pub const HOUR_S: u64 = 3_600;
/// Chooses the history.
const SEED: u64 = 1;

/// Names a folder with recordings of another writer.
pub const GIVEN_FOLDER: &str = "ROS2_MEMORY_BENCH_DIR";

/// A folder in which recordings are kept from one run to the next.
///
/// The folder `hour_zstd` and its like hold one hour in 360 splits; deleting them has them
/// written anew.
#[derive(Debug, Clone)]
pub struct Data {
    root: PathBuf,
}

impl Data {
    /// Keeps recordings under `root`, which a bench takes from `CARGO_TARGET_TMPDIR`.
    pub fn under(root: &str) -> Self {
        Self { root: Path::new(root).join("bench-data") }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The history of which all recordings are made.
    ///
    /// # Errors
    ///
    /// Never for the options here.
    pub fn history(&self) -> Outcome<History> {
        Ok(History::new(Options::new(SEED, LogTime::from_ns(START_NS), HOUR_S))?)
    }

    /// A history of so many hours, the first of which is [`Self::history`].
    ///
    /// # Errors
    ///
    /// When it is longer than a history may be.
    pub fn history_of(&self, hours: u64) -> Outcome<History> {
        let seconds = hours.saturating_mul(HOUR_S);
        Ok(History::new(Options::new(SEED, LogTime::from_ns(START_NS), seconds))?)
    }

    /// So many hours in Zstandard; written when they are not there yet.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub fn hours(&self, hours: u64) -> Outcome<PathBuf> {
        let folder = self.root.join(format!("hours_{hours}"));
        if !folder.is_dir() {
            fs::create_dir_all(&self.root)?;
            let unfinished = tempfile::tempdir_in(&self.root)?;
            let options =
                WriteOptions { compression: Compression::Zstd, ..WriteOptions::default() };
            write_history(&self.history_of(hours)?, unfinished.path(), &options, &|_| {})?;
            fs::rename(unfinished.keep(), &folder)?;
        }
        Ok(folder)
    }

    /// The hour with chunks stored in this way; written when it is not there yet.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub fn hour(&self, compression: Compression) -> Outcome<PathBuf> {
        let folder = self.root.join(format!("hour_{}", compression.as_str()));
        if folder.is_dir() {
            return Ok(folder);
        }
        fs::create_dir_all(&self.root)?;
        // Renamed when it is whole, so that a run that was ended leaves nothing half written.
        let unfinished = tempfile::tempdir_in(&self.root)?;
        if compression == Compression::Lz4 {
            let from = self.hour(Compression::Zstd)?;
            for file in files_under(&from) {
                let to = unfinished.path().join(file.strip_prefix(&from)?);
                copy_as_lz4(&file, &to)?;
            }
        } else {
            let options = WriteOptions { compression, ..WriteOptions::default() };
            write_history(&self.history()?, unfinished.path(), &options, &|_| {})?;
        }
        fs::rename(unfinished.keep(), &folder)?;
        Ok(folder)
    }

    /// The files of the hour, by path.
    ///
    /// # Errors
    ///
    /// As [`Self::hour`].
    pub fn hour_files(&self, compression: Compression) -> Outcome<Vec<PathBuf>> {
        Ok(files_under(&self.hour(compression)?))
    }

    /// The files of the hour as a timeline takes them.
    ///
    /// # Errors
    ///
    /// As [`Self::hour`].
    pub fn hour_parts(&self, compression: Compression) -> Outcome<Vec<TimelinePart>> {
        parts_of(&self.hour_files(compression)?)
    }

    /// An empty folder on the same file system, removed when it is dropped.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn empty_folder(&self) -> Outcome<TempDir> {
        fs::create_dir_all(&self.root)?;
        Ok(tempfile::tempdir_in(&self.root)?)
    }
}

/// The recordings of some other writer, when the environment names their folder.
pub fn given_folder() -> Option<PathBuf> {
    std::env::var_os(GIVEN_FOLDER).map(PathBuf::from)
}

/// The recordings under a folder, by path.
pub fn files_under(folder: &Path) -> Vec<PathBuf> {
    discover(folder).files.into_iter().map(|file| file.path.to_path_buf()).collect()
}

/// Some recordings as a timeline takes them.
///
/// # Errors
///
/// When one cannot be read.
pub fn parts_of(files: &[PathBuf]) -> Outcome<Vec<TimelinePart>> {
    let mut parts = Vec::new();
    for path in files {
        let bag = Bag::open_unindexed(path, &ReadOptions::default())?;
        parts.push(TimelinePart {
            path: path.as_path().into(),
            identity: bag.source().identity(),
            contents: bag.contents().clone(),
        });
    }
    Ok(parts)
}

/// The same messages in chunks of the same size, compressed by the peer's own LZ4.
fn copy_as_lz4(from: &Path, to: &Path) -> Outcome<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let bytes = fs::read(from)?;
    let mut writer = mcap::WriteOptions::new()
        .profile("ros2")
        .compression(Some(mcap::Compression::Lz4))
        .chunk_size(Some(WriteOptions::default().chunk_bytes))
        .create(BufWriter::new(fs::File::create_new(to)?))?;
    let summary = mcap::Summary::read(&bytes)?.ok_or("a file without a summary")?;
    let mut channels: Vec<_> = summary.channels.values().collect();
    channels.sort_by_key(|channel| channel.id);
    for channel in channels {
        let schema = channel.schema.as_ref().ok_or("a channel without a schema")?;
        let schema = writer.add_schema(&schema.name, &schema.encoding, &schema.data)?;
        let encoding = &channel.message_encoding;
        writer.add_channel_with_id(
            channel.id,
            schema,
            &channel.topic,
            encoding,
            &channel.metadata,
        )?;
    }
    for message in mcap::MessageStream::new(&bytes)? {
        let message = message?;
        let header = MessageHeader {
            channel_id: message.channel.id,
            sequence: message.sequence,
            log_time: message.log_time,
            publish_time: message.publish_time,
        };
        writer.write_to_known_channel(&header, &message.data)?;
    }
    writer.finish()?;
    Ok(())
}
