//! Which recordings lie under a directory.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{FileIdentity, identity::now_ns};

/// Folders nested deeper than this are not entered.
const MAX_DEPTH: usize = 32;

/// What a walk over a directory found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The files that look like recordings by their names, sorted by the bytes of their paths.
    pub files: Vec<FoundFile>,
    /// What bears the name of a recording, or is a folder, and cannot be looked at.
    pub rejected: Vec<Rejected>,
    /// The folders that were listed, as they were before.
    pub folders: Vec<FoundFolder>,
}

/// A folder that was listed. When nothing of it has changed since, no file came or went.
#[derive(Debug, Clone)]
pub struct FoundFolder {
    /// Where it lies.
    pub path: PathBuf,
    /// What the file system said of it before it was listed.
    pub identity: FileIdentity,
    /// When it was listed, by the wall clock, in nanoseconds since the epoch.
    pub listed_ns: i64,
}

/// A file that may be a recording.
#[derive(Debug, Clone)]
pub struct FoundFile {
    /// Where it lies.
    pub path: Arc<Path>,
    /// What the file system says of it.
    pub identity: FileIdentity,
}

/// Something that cannot be a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Where it lies.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Finds the recordings under `root`, at any depth.
///
/// Recordings are files named `*.mcap`, `*.mcap.active`, or `*.mcap.zstd` and `*.mcap.zst` when
/// they were compressed as a whole. Links are not followed, names that
/// start with a dot are passed over, and nothing is opened. Files that vanish meanwhile are not
/// listed.
pub fn discover(root: &Path) -> Discovery {
    let mut found = Discovery::default();
    visit(root, 0, &mut found);
    // As bytes: comparing paths component by component takes ten times as long.
    found.files.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    found
}

fn visit(folder: &Path, depth: usize, found: &mut Discovery) {
    if depth > MAX_DEPTH {
        return found.reject(folder, format!("nested more than {MAX_DEPTH} folders deep"));
    }
    let listed_ns = now_ns();
    if let Ok(metadata) = fs::symlink_metadata(folder) {
        found.folders.push(FoundFolder {
            path: folder.to_owned(),
            identity: FileIdentity::of(&metadata),
            listed_ns,
        });
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return found.reject(folder, format!("cannot list the folder: {error}")),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                found.reject(folder, format!("cannot list all of the folder: {error}"));
                continue;
            }
        };
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            folders.push(path);
        } else if is_recording_name(&path) {
            if kind.is_symlink() {
                found.reject(&path, "a link; links are not followed".to_owned());
            } else if !kind.is_file() {
                found.reject(&path, "not a regular file".to_owned());
            } else {
                match entry.metadata() {
                    Ok(metadata) => {
                        let identity = FileIdentity::of(&metadata);
                        found.files.push(FoundFile { path: path.into(), identity });
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => found.reject(&path, format!("cannot look at it: {error}")),
                }
            }
        }
    }
    folders.sort();
    for folder in folders {
        visit(&folder, depth + 1, found);
    }
}

impl Discovery {
    fn reject(&mut self, path: &Path, reason: String) {
        self.rejected.push(Rejected { path: path.to_owned(), reason });
    }
}

fn is_recording_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    ENDINGS.iter().any(|ending| name.ends_with(ending.as_bytes()))
}

/// How the names of recordings end; what is longer stands in front.
const ENDINGS: [&str; 4] = [".mcap.active", ".mcap.zstd", ".mcap.zst", ".mcap"];

/// What the splits of one recording session have in common: their folder and their name up to
/// the `_N` that numbers them. A name that ends as a date does, such as `drive_2026_11_30`, is
/// that of a recording of its own, unless the folder has its name. A number behind a date and a
/// time of day to the second is no part of these: so `ros2 bag record` names its splits, whatever
/// their folder is called or seen from.
///
/// # Examples
///
/// ```
/// use ros2_memory_bag::run_key;
///
/// let first = run_key("bags/run_a/run_a_0.mcap".as_ref());
/// assert_eq!(first, run_key("bags/run_a/run_a_17.mcap.active".as_ref()));
/// assert_eq!(first, run_key("bags/run_a/run_a_1.mcap.zstd".as_ref()));
/// assert_ne!(first, run_key("bags/run_b/run_b_0.mcap".as_ref()));
/// assert_ne!(run_key("drive_2026_11_29.mcap".as_ref()), run_key("drive_2026_11_30.mcap".as_ref()));
/// assert_eq!(
///     run_key("rosbag2_2026_11_30-10_44_00_0.mcap".as_ref()),
///     run_key("rosbag2_2026_11_30-10_44_00_17.mcap".as_ref())
/// );
/// assert_ne!(
///     run_key("drive_2026_11_30-10_44_00.mcap".as_ref()),
///     run_key("drive_2026_11_30-10_44_10.mcap".as_ref())
/// );
/// ```
pub fn run_key(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let without_number = match stem.rsplit_once('_') {
        Some((prefix, number)) if is_number(number) => {
            let digits = prefix.rsplit(['_', '-']).take_while(|part| is_number(part));
            let digits: Vec<usize> = digits.map(str::len).take(6).collect();
            // Seconds, minutes, hours, day, month, year.
            let is_behind_a_time = digits == [2, 2, 2, 2, 2, 4];
            let is_date = matches!(digits.first(), Some(2 | 4)) && !is_behind_a_time;
            if is_date && *folder != *prefix { stem } else { prefix }
        }
        _ => stem,
    };
    path.with_file_name(without_number)
}
