use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{Hash, Hasher},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::Arc,
};

/// A map by paths.
pub(crate) type PathMap<T> = HashMap<PathKey, T, foldhash::fast::RandomState>;

/// A path as the key of a map, compared and hashed as its bytes: paths by themselves are compared
/// component by component, which takes ten times as long, and tens of thousands are looked up each
/// time a folder is looked through.
#[derive(Debug, Clone)]
pub(crate) struct PathKey(pub(crate) Arc<Path>);

/// The bytes to look a path up by.
pub(crate) fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

impl PartialEq for PathKey {
    fn eq(&self, other: &Self) -> bool {
        bytes_of(&self.0) == bytes_of(&other.0)
    }
}

impl Eq for PathKey {}

impl Hash for PathKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        bytes_of(&self.0).hash(state);
    }
}

impl Borrow<[u8]> for PathKey {
    fn borrow(&self) -> &[u8] {
        bytes_of(&self.0)
    }
}

impl From<&Path> for PathKey {
    fn from(path: &Path) -> Self {
        Self(path.into())
    }
}
