use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{CatalogError, Settings};

/// The catalog's folder inside a bag directory.
pub const CATALOG_FOLDER: &str = ".ros2-memory";

/// Where the catalog of a bag directory is kept, as an existing folder that can be written.
///
/// # Errors
///
/// [`CatalogError::Io`] when a configured folder cannot be made, [`CatalogError::NoPlace`] when
/// none is configured and neither the bag directory nor the cache folder can be written.
pub fn catalog_place(settings: &Settings) -> Result<PathBuf, CatalogError> {
    if let Some(dir) = &settings.catalog_dir {
        return fs::create_dir_all(dir)
            .map(|()| dir.clone())
            .map_err(CatalogError::io("create the catalog's folder", dir));
    }
    let beside = settings.bag_dir.join(CATALOG_FOLDER);
    // A link in its place leads out of the bag directory, where nothing is written.
    let is_link = beside.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    if !is_link && fs::create_dir_all(&beside).is_ok() && is_writable(&beside) {
        return Ok(beside);
    }
    let cached =
        cache_folder().map(|cache| cache.join("ros2-memory").join(name_of(&settings.bag_dir)));
    cached
        .filter(|dir| fs::create_dir_all(dir).is_ok() && is_writable(dir))
        .ok_or_else(|| CatalogError::NoPlace { bag_dir: settings.bag_dir.clone() })
}

/// The user's cache folder by the XDG base directory specification.
fn cache_folder() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
}

/// A folder's name that differs for different bag directories.
fn name_of(bag_dir: &Path) -> String {
    let full = fs::canonicalize(bag_dir).unwrap_or_else(|_| bag_dir.to_owned());
    let bytes = full.as_os_str().as_encoded_bytes();
    let last = full.file_name().unwrap_or_default().to_string_lossy();
    let last: String = last.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    format!("{last}-{:08x}{:08x}", crc32fast::hash(bytes), bytes.len())
}

/// Whether a file can be made in the folder: permissions and read-only mounts both say no.
fn is_writable(dir: &Path) -> bool {
    let probe = dir.join(format!("probe-{}", std::process::id()));
    fs::File::create_new(&probe).is_ok() && fs::remove_file(&probe).is_ok()
}
