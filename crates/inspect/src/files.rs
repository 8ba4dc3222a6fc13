use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use ros2_memory_bag::{Bag, BagError, ReadOptions, TimelinePart, discover};

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
    open_each(paths, &|path| open(path, options), tell)
}

/// As [`open_files`], but of files of 64 MiB and more, where reading takes long, believes the
/// file's own index when nothing in the file contradicts it. Chunks known so are
/// [`Verdict::Claimed`](ros2_memory_bag::Verdict::Claimed): reading one verifies what is claimed.
pub fn open_files_by_index(
    paths: &[PathBuf],
    options: &ReadOptions,
    tell: &(dyn Fn(usize, usize) + Sync),
) -> OpenedFiles {
    let open = |path: &Path| {
        let is_large = path.metadata().is_ok_and(|metadata| metadata.len() >= LARGE_BYTES);
        if is_large && let Some(bag) = Bag::open_indexed(path, options)? {
            return Ok(part_of(path, &bag));
        }
        open(path, options)
    };
    open_each(paths, &open, tell)
}

/// Files from this size on take a noticeable time to read.
const LARGE_BYTES: u64 = 64 << 20;

fn open_each(
    paths: &[PathBuf],
    open: &(dyn Fn(&Path) -> Result<TimelinePart, BagError> + Sync),
    tell: &(dyn Fn(usize, usize) + Sync),
) -> OpenedFiles {
    let Listed { files, problems } = list_files(paths);
    let mut opened = OpenedFiles { parts: Vec::new(), problems };
    let done = std::sync::atomic::AtomicUsize::new(0);
    let outcomes: Vec<_> = files
        .par_iter()
        .map(|path| {
            let outcome = open(path);
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

/// The recordings among some paths, and what cannot be one.
pub(crate) struct Listed {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) problems: Vec<String>,
}

/// Lists files as they are, folders at any depth.
pub(crate) fn list_files(paths: &[PathBuf]) -> Listed {
    let mut listed = Listed { files: Vec::new(), problems: Vec::new() };
    for path in paths {
        if path.is_dir() {
            let found = discover(path);
            listed.files.extend(found.files.iter().map(|file| file.path.to_path_buf()));
            let rejected = found.rejected.iter();
            listed.problems.extend(rejected.map(|r| format!("{}: {}", r.path.display(), r.reason)));
            if found.files.is_empty() && found.rejected.is_empty() {
                listed.problems.push(format!("{}: no recordings in this folder", path.display()));
            }
        } else {
            listed.files.push(path.clone());
        }
    }
    listed
}

fn open(path: &Path, options: &ReadOptions) -> Result<TimelinePart, BagError> {
    Ok(part_of(path, &Bag::open_unindexed(path, options)?))
}

fn part_of(path: &Path, bag: &Bag) -> TimelinePart {
    let identity = bag.source().identity();
    TimelinePart { path: Arc::from(path), identity, contents: bag.contents().clone() }
}
