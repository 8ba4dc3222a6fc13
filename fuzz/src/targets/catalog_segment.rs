//! A segment of the catalog: opening returns, and each entry survives its bytes.

use ros2_memory_catalog::Store;
use ros2_memory_index::{decode, decode_declarations, encode, encode_declarations};
use tempfile::TempDir;

use crate::{memory, segment};

thread_local! {
    static FOLDER: TempDir = memory::folder();
}

/// `data` as [`segment::write_catalog`] takes it.
pub fn run(data: &[u8]) {
    let folder = FOLDER.with(|folder| folder.path().to_owned());
    segment::write_catalog(&folder, data).expect("room for one segment");
    let (store, loaded) = Store::open(&folder).expect("damage is no error");
    assert_eq!(store.needs_rewrite(), loaded.damage.is_some());
    for (path, entry) in loaded.entries.iter().chain(&loaded.gone) {
        assert_eq!(*path, entry.path);
        let declared = decode_declarations(&encode_declarations(&entry.contents.declared));
        let again = decode(&encode(entry), &declared.expect("our own bytes").into());
        assert_eq!(again.as_ref(), Ok(&**entry));
    }
}
