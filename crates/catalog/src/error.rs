use std::{io, path::PathBuf};

/// Why the catalog could not be opened or kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The operating system refused.
    #[error("cannot {action}: {source} ({path})", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
        /// On which file or folder.
        path: PathBuf,
    },
    /// A bag directory that is no directory.
    #[error("the bag directory is not a directory ({path})", path = path.display())]
    NotADirectory {
        /// Which one.
        path: PathBuf,
    },
    /// No place to keep the catalog: the bag directory is read-only and there is no cache
    /// folder.
    #[error("no place for the catalog: {bag_dir} is read-only and no cache folder is known; set catalog.dir", bag_dir = bag_dir.display())]
    NoPlace {
        /// The bag directory.
        bag_dir: PathBuf,
    },
    /// Another process keeps the catalog.
    #[error("the catalog is kept by process {pid} ({path})", path = path.display())]
    Held {
        /// Its number; 0 when it could not be read.
        pid: u32,
        /// The catalog's folder.
        path: PathBuf,
    },
}

impl CatalogError {
    pub(crate) fn io(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, source, path }
    }
}
