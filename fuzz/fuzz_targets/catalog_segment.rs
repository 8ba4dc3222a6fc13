#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ros2_memory_catalog::Store;
use ros2_memory_fuzz::{memory, segment};
use ros2_memory_index::{decode, decode_declarations, encode, encode_declarations};
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(memory::folder);

fuzz_target!(|data: &[u8]| {
    segment::write_catalog(FOLDER.path(), data).expect("room for one segment");
    let (store, loaded) = Store::open(FOLDER.path()).expect("damage is no error");
    assert_eq!(store.needs_rewrite(), loaded.damage.is_some());
    for (path, entry) in loaded.entries.iter().chain(&loaded.gone) {
        assert_eq!(*path, entry.path);
        let declared = decode_declarations(&encode_declarations(&entry.contents.declared));
        let again = decode(&encode(entry), &declared.expect("our own bytes").into());
        assert_eq!(again.as_ref(), Ok(&**entry));
    }
});
