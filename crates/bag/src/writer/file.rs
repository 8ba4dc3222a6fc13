use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
};

use ros2_memory_time::LogTime;

use crate::{BagError, Compression};

/// How a file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOptions {
    /// How chunks are compressed; LZ4 is read but not written.
    pub compression: Compression,
    /// The size at which a chunk is closed.
    pub chunk_bytes: u64,
}

impl Default for WriteOptions {
    /// Zstandard in chunks of 64 KiB: a tenth larger than with the customary 768 KiB, and one
    /// message is reached three times faster.
    fn default() -> Self {
        Self { compression: Compression::Zstd, chunk_bytes: 64 << 10 }
    }
}

/// A stream to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenChannel {
    /// Its topic.
    pub topic: String,
    /// Its type, `package/msg/Type`.
    pub type_name: String,
    /// The definition in `ros2msg` form.
    pub definition: String,
    /// Whether late subscribers get the last message, as with `/tf_static`.
    pub is_latched: bool,
}

/// What a finished file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// Where it lies.
    pub path: PathBuf,
    /// How many messages of each channel, in the channels' order.
    pub counts: Vec<u64>,
    /// The first and last log time, when there is a message.
    pub span: Option<(LogTime, LogTime)>,
}

/// Writes one MCAP file with a summary and indexes.
///
/// The file bears the name `*.mcap.active` until [`FileWriter::finish`] renames it, so that a
/// reader never takes it for a closed one. Dropping the writer leaves the `.active` file.
pub struct FileWriter {
    writer: mcap::Writer<BufWriter<File>>,
    active: PathBuf,
    ids: Vec<u16>,
    file: WrittenFile,
}

impl std::fmt::Debug for FileWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileWriter").field("file", &self.file).finish_non_exhaustive()
    }
}

impl FileWriter {
    /// Starts a file at `path`, which must not exist.
    ///
    /// # Errors
    ///
    /// [`BagError::Io`] when it exists or cannot be created, [`BagError::Write`] when the first
    /// records cannot be written.
    pub fn create(
        path: &Path,
        channels: &[WrittenChannel],
        options: &WriteOptions,
    ) -> Result<Self, BagError> {
        let mut active = path.as_os_str().to_owned();
        active.push(".active");
        let active = PathBuf::from(active);
        let exists = path.exists().then(|| std::io::ErrorKind::AlreadyExists.into());
        let created = match exists {
            Some(error) => Err(error),
            None => File::create_new(&active),
        };
        let file = created.map_err(|source| BagError::Io {
            action: "create",
            source,
            path: path.to_owned(),
        })?;
        let failed = |source| BagError::Write { source, path: path.to_owned() };
        let mut writer = mcap::WriteOptions::new()
            .profile("ros2")
            .library(concat!("ros2-memory ", env!("CARGO_PKG_VERSION")))
            .compression(match options.compression {
                Compression::Zstd => Some(mcap::Compression::Zstd),
                Compression::None | Compression::Lz4 => None,
            })
            .compression_level(1)
            .chunk_size(Some(options.chunk_bytes))
            .create(BufWriter::new(file))
            .map_err(failed)?;
        let mut ids = Vec::with_capacity(channels.len());
        for channel in channels {
            let schema = writer
                .add_schema(&channel.type_name, "ros2msg", channel.definition.as_bytes())
                .map_err(failed)?;
            let metadata = BTreeMap::from([(
                "offered_qos_profiles".to_owned(),
                offered_qos(channel.is_latched),
            )]);
            // A number each, since two publishers of one topic are two channels that look alike.
            let id = u16::try_from(ids.len() + 1).unwrap_or(u16::MAX);
            let known = writer.add_channel_with_id(id, schema, &channel.topic, "cdr", &metadata);
            ids.push(known.map_err(failed)?);
        }
        let counts = vec![0; channels.len()];
        let file = WrittenFile { path: path.to_owned(), counts, span: None };
        Ok(Self { writer, active, ids, file })
    }

    /// Appends a message of the channel with this place in the list given at the start.
    ///
    /// # Errors
    ///
    /// [`BagError::Write`] when it cannot be written.
    ///
    /// # Panics
    ///
    /// When there is no such channel.
    pub fn write(
        &mut self,
        channel: usize,
        log_time: LogTime,
        publish_time: LogTime,
        sequence: u32,
        payload: &[u8],
    ) -> Result<(), BagError> {
        let (Some(id), Some(count)) = (self.ids.get(channel), self.file.counts.get_mut(channel))
        else {
            unreachable!("channel {channel} of {}", self.ids.len())
        };
        let header = mcap::records::MessageHeader {
            channel_id: *id,
            sequence,
            log_time: log_time.as_ns(),
            publish_time: publish_time.as_ns(),
        };
        self.writer
            .write_to_known_channel(&header, payload)
            .map_err(|source| BagError::Write { source, path: self.active.clone() })?;
        *count += 1;
        let (first, last) = self.file.span.unwrap_or((log_time, log_time));
        self.file.span = Some((first.min(log_time), last.max(log_time)));
        Ok(())
    }

    /// Writes the summary and gives the file its name.
    ///
    /// # Errors
    ///
    /// [`BagError::Write`] or [`BagError::Io`]; the `.active` file then stays.
    pub fn finish(mut self) -> Result<WrittenFile, BagError> {
        self.writer
            .finish()
            .map_err(|source| BagError::Write { source, path: self.active.clone() })?;
        let io_error = |action| {
            let path = self.file.path.clone();
            move |source| BagError::Io { action, source, path }
        };
        let file = self
            .writer
            .into_inner()
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)
            .map_err(io_error("write"))?;
        drop(file);
        fs::rename(&self.active, &self.file.path).map_err(io_error("rename"))?;
        Ok(self.file)
    }
}

/// The quality of service in the form that rosbag2 writes into a channel's metadata, numbers in
/// place of words: these every version reads. It is whole, since readers open no file without.
pub(super) fn offered_qos(is_latched: bool) -> String {
    // Of history keep_last, of reliability reliable, of liveliness automatic.
    let (depth, durability) = if is_latched { (1, 1) } else { (10, 2) };
    let never = |name: &str| format!("  {name}:\n    sec: 9223372036\n    nsec: 854775807\n");
    format!(
        "- history: 1\n  depth: {depth}\n  reliability: 1\n  durability: {durability}\n{}{}  \
         liveliness: 1\n{}  avoid_ros_namespace_conventions: false\n",
        never("deadline"),
        never("lifespan"),
        never("liveliness_lease_duration"),
    )
}
