use std::{path::PathBuf, sync::Arc};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use ros2_memory_bag::{Bag, FileIdentity, ReadOptions, TimelinePart, discover};

/// Recordings that were gone over, and what could not be.
#[derive(Debug, Default)]
pub struct OpenedFiles {
    /// By start time, then path.
    pub parts: Vec<TimelinePart>,
    /// What could not be read, with the reason.
    pub problems: Vec<String>,
}

/// Goes over every recording among `paths`: files as they are, folders at any depth. `tell` is
/// called with how many are done and how many there are.
pub fn open_files(
    paths: &[PathBuf],
    options: &ReadOptions,
    tell: &(dyn Fn(usize, usize) + Sync),
) -> OpenedFiles {
    let mut opened = OpenedFiles::default();
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = discover(path);
            files.extend(found.files.iter().map(|file| file.path.to_path_buf()));
            let rejected = found.rejected.iter();
            opened.problems.extend(rejected.map(|r| format!("{}: {}", r.path.display(), r.reason)));
            if found.files.is_empty() && found.rejected.is_empty() {
                opened.problems.push(format!("{}: no recordings in this folder", path.display()));
            }
        } else {
            files.push(path.clone());
        }
    }
    let done = std::sync::atomic::AtomicUsize::new(0);
    let outcomes: Vec<_> = files
        .par_iter()
        .map(|path| {
            let outcome = open(path, options);
            let n = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            tell(n, files.len());
            outcome.map_err(|error| error.to_string())
        })
        .collect();
    for outcome in outcomes {
        match outcome {
            Ok(part) => opened.parts.push(part),
            Err(problem) => opened.problems.push(problem),
        }
    }
    opened.parts.sort_by(|a, b| {
        let start = |part: &TimelinePart| part.contents.time_span().map(|(first, _)| first);
        (start(a), &a.path).cmp(&(start(b), &b.path))
    });
    opened
}

fn open(
    path: &std::path::Path,
    options: &ReadOptions,
) -> Result<TimelinePart, ros2_memory_bag::BagError> {
    let bag = Bag::open_unindexed(path, options)?;
    let identity: FileIdentity = bag.source().identity();
    Ok(TimelinePart { path: Arc::from(path), identity, contents: bag.contents().clone() })
}
