//! What the bag directory looked like when it was last listed, so that a look at it when nothing
//! has changed costs next to nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use ros2_memory_bag::{FileIdentity, FoundFolder};

/// Files are looked at in rotation: all of them within so many looks, and at least so many a time.
const ROUNDS: usize = 12;
const LEAST_FILES: usize = 4096;
/// A file that was written so lately is looked at every time.
const LATELY: Duration = Duration::from_secs(120);

/// A directory as it was listed.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    root: PathBuf,
    folders: Vec<FoundFolder>,
    /// By their paths from the root.
    files: Vec<(Arc<Path>, FileIdentity)>,
    /// The file that is looked at next.
    next: usize,
}

impl Listing {
    /// What was just found under `root`; the times of the folders are those from before.
    pub(crate) fn of(
        root: &Path,
        folders: &[FoundFolder],
        files: Vec<(Arc<Path>, FileIdentity)>,
    ) -> Self {
        Self { root: root.to_owned(), folders: folders.to_vec(), files, next: 0 }
    }

    /// The folders that were listed.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|folder| folder.path.as_path())
    }

    /// The files that are known to have changed, as far as this look shows: folders every time,
    /// files lately written every time, the others in rotation. `None` when files may have come or
    /// gone: then the directory has to be listed.
    pub(crate) fn changed(&mut self) -> Option<Vec<(Arc<Path>, FileIdentity)>> {
        if self.folders.is_empty() || !self.folders.iter().all(is_as_it_was) {
            return None;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let lately = i64::try_from(now.saturating_sub(LATELY).as_nanos()).unwrap_or(i64::MAX);
        let n_turn = (self.files.len() / ROUNDS).max(LEAST_FILES);
        let turn = self.next..self.next.saturating_add(n_turn);
        self.next = if turn.end >= self.files.len() { 0 } else { turn.end };
        let mut changed = Vec::new();
        for (place, (path, known)) in self.files.iter_mut().enumerate() {
            if !turn.contains(&place) && known.mtime_ns < lately {
                continue;
            }
            let metadata = fs::symlink_metadata(self.root.join(&**path));
            let metadata = metadata.ok().filter(fs::Metadata::is_file)?;
            let identity = FileIdentity::of(&metadata);
            if identity != *known {
                *known = identity;
                changed.push((path.clone(), identity));
            }
        }
        Some(changed)
    }
}

fn is_as_it_was(folder: &FoundFolder) -> bool {
    // One that changed shortly before it was listed may have changed once more since.
    folder.identity.is_settled_at(folder.listed_ns)
        && fs::symlink_metadata(&folder.path)
            .is_ok_and(|now| now.is_dir() && FileIdentity::of(&now) == folder.identity)
}
