use std::{
    fs,
    path::{Path, PathBuf},
};

use ros2_memory_time::LogTime;

use crate::{BagError, FileWriter, WriteOptions, WrittenChannel, WrittenFile, write_metadata_yaml};

/// When a new file is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitOptions {
    /// How long one file lasts, in log time.
    pub split_ns: u64,
    /// How each file is laid out.
    pub write: WriteOptions,
}

/// Writes a recording session as files that follow each other by time.
///
/// Files are `DIR/NAME_0.mcap`, `DIR/NAME_1.mcap` and so on, where NAME is the folder's name,
/// with `metadata.yaml` at the end, as rosbag2 lays out a bag.
#[derive(Debug)]
pub struct SplitWriter {
    folder: PathBuf,
    name: String,
    channels: Vec<WrittenChannel>,
    options: SplitOptions,
    current: Option<(FileWriter, LogTime)>,
    files: Vec<WrittenFile>,
}

impl SplitWriter {
    /// Starts a session in `folder`, which is created and must not exist.
    ///
    /// # Errors
    ///
    /// [`BagError::Io`] when the folder exists or cannot be created.
    pub fn create(
        folder: &Path,
        channels: Vec<WrittenChannel>,
        options: SplitOptions,
    ) -> Result<Self, BagError> {
        let io_error = |source| BagError::Io { action: "create", source, path: folder.to_owned() };
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(io_error)?;
        }
        fs::create_dir(folder).map_err(io_error)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            folder: folder.to_owned(),
            name,
            channels,
            options,
            current: None,
            files: Vec::new(),
        })
    }

    /// Appends a message, in a new file when the current one has lasted its time.
    ///
    /// # Errors
    ///
    /// As [`FileWriter::create`], [`FileWriter::write`] and [`FileWriter::finish`].
    pub fn write(
        &mut self,
        channel: usize,
        log_time: LogTime,
        publish_time: LogTime,
        sequence: u32,
        payload: &[u8],
    ) -> Result<(), BagError> {
        let is_due = self
            .current
            .as_ref()
            .is_some_and(|(_, start)| log_time.since_ns(*start) >= self.options.split_ns);
        if is_due {
            self.close_current()?;
        }
        let (file, _) = match &mut self.current {
            Some(current) => current,
            none => {
                let path = self.folder.join(format!("{}_{}.mcap", self.name, self.files.len()));
                let file = FileWriter::create(&path, &self.channels, &self.options.write)?;
                none.insert((file, log_time))
            }
        };
        file.write(channel, log_time, publish_time, sequence, payload)
    }

    /// Closes the last file and writes `metadata.yaml`.
    ///
    /// # Errors
    ///
    /// As [`FileWriter::finish`]; [`BagError::Io`] when `metadata.yaml` cannot be written.
    pub fn finish(mut self) -> Result<Vec<WrittenFile>, BagError> {
        self.close_current()?;
        write_metadata_yaml(&self.folder, &self.channels, &self.files)?;
        Ok(self.files)
    }

    fn close_current(&mut self) -> Result<(), BagError> {
        if let Some((file, _)) = self.current.take() {
            self.files.push(file.finish()?);
        }
        Ok(())
    }
}
