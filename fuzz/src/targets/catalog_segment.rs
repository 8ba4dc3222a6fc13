//! A segment of the catalog, sealed or the log: opening returns, and each entry that can be read
//! survives its bytes.

use ros2_memory_catalog::Store;
use ros2_memory_index::{
    EntryForm, Shared, Sharing, decode, decode_declarations, encode, encode_declarations,
};
use tempfile::TempDir;

use crate::{memory, segment};

thread_local! {
    static FOLDER: TempDir = memory::folder();
}

/// `data` as [`segment::write_catalog`] takes it.
pub fn run(data: &[u8]) {
    let folder = FOLDER.with(|folder| folder.path().to_owned());
    segment::write_catalog(&folder, data).expect("room for one segment");
    let (_store, loaded) = Store::open(&folder).expect("damage is no error");
    let mut n_bags = 0;
    for entry in loaded.each_entry() {
        n_bags += 1;
        let Ok(entry) = entry else { continue };
        let declared = decode_declarations(&encode_declarations(&entry.contents.declared));
        let (mut sharing, mut shared) = (Sharing::default(), Shared::default());
        let bytes = encode(&entry, &mut sharing, EntryForm::Whole);
        sharing.take_fresh().into_iter().for_each(|item| shared.push(item));
        let declared = declared.expect("our own bytes").into();
        let again = decode(&bytes, &declared, &shared, EntryForm::Whole).expect("our own bytes");
        // As bytes: what is not a number is not equal to itself.
        assert_eq!(encode(&again, &mut Sharing::default(), EntryForm::Whole), bytes);
    }
    assert_eq!(n_bags, loaded.n_bags());
}
