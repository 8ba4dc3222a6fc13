use std::{path::PathBuf, sync::Arc, time::Duration};

use ros2_memory_bag::ReadOptions;
use ros2_memory_index::IndexedTypes;
use ros2_memory_msg::Library;

/// Where the bags are and how they are looked after.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder under which the bags lie.
    pub bag_dir: PathBuf,
    /// The catalog's folder; `None` for `.ros2-memory` in the bag directory, or in the user's
    /// cache folder when that is read-only.
    pub catalog_dir: Option<PathBuf>,
    /// How often the folder is looked through.
    pub refresh: Duration,
    /// Whether file events shorten the wait; a program that asks once has no use for them.
    pub watch: bool,
    /// How bags are read.
    pub read: ReadOptions,
    /// Whether complete data of a bag that is still being written is answered too.
    pub include_active: bool,
    /// Definitions for files that have none.
    pub library: Arc<Library>,
    /// Which fields are indexed.
    pub indexed: Arc<IndexedTypes>,
}

impl Settings {
    /// The defaults over one bag directory.
    pub fn new(bag_dir: PathBuf) -> Self {
        Self {
            bag_dir,
            catalog_dir: None,
            refresh: Duration::from_secs(5),
            watch: true,
            read: ReadOptions::default(),
            include_active: true,
            library: Arc::default(),
            indexed: Arc::default(),
        }
    }
}
