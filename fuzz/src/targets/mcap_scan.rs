//! Any bytes as a recording: each counted message is served, in order, in both directions; growing
//! changes nothing; its own index is believed only where it says the truth.

use std::{fs, path::Path};

use ros2_memory_bag::{Bag, ScanBuffers, Source, audit, scan, scan_on};

use crate::recordings::{OPTIONS, in_file_order, timeline, write, write_anew};

/// What a frame of Zstandard starts with.
const FRAME_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// `data` is the file; it may be compressed as a whole.
pub fn run(data: &[u8]) {
    if data.starts_with(&FRAME_MAGIC) {
        let path = write_anew(data);
        if let Ok(bag) = Bag::open_unindexed(&path, &OPTIONS) {
            check(&path, &bag);
        }
        return;
    }
    let half = half_of(data);
    let path = write(data);
    let Ok(bag) = Bag::open_unindexed(&path, &OPTIONS) else { return };
    if let (Some(half), Ok(mut source)) = (half, Source::open(&path)) {
        let mut buffers = ScanBuffers::default();
        let grown = scan_on(&mut source, &OPTIONS, &mut buffers, &mut (), half);
        let grown = grown.expect("a file that can be read");
        // What is wrong may show only in the light of the other half: where either pass finds
        // something wrong, a pass anew decides.
        if bag.contents().damage.is_empty() && grown.damage.is_empty() {
            assert_eq!(grown.n_messages(), bag.contents().n_messages(), "grown, and anew");
        }
    }
    check(&path, &bag);
}

/// What the file held when half of it was written, where a later pass may go on from there.
fn half_of(data: &[u8]) -> Option<ros2_memory_bag::Contents> {
    let path = write(&data[..data.len() / 2]);
    let mut source = Source::open(&path).ok()?;
    let half = scan(&mut source, &OPTIONS, &mut ScanBuffers::default(), &mut ()).ok()?;
    (!half.is_closed() && half.damage.is_empty()).then_some(half)
}

fn check(path: &Path, bag: &Bag) {
    assert_eq!(in_file_order(bag).len() as u64, bag.contents().n_messages());
    let (served, n_skipped) = timeline(bag);
    assert_eq!(n_skipped, 0, "what was whole still is");
    let _losses = bag.contents().losses();
    audit(bag.source(), bag.contents(), &OPTIONS).expect("a file that can be read");
    let indexed = Bag::open_indexed(path, &OPTIONS).expect("a file that can be read");
    if let Some(indexed) = indexed {
        let (by_index, n_skipped) = timeline(&indexed);
        assert!(n_skipped > 0 || by_index == served, "by its index: {by_index:?}\n{served:?}");
    }
    assert!(fs::exists(path).is_ok_and(|is_there| is_there), "reading leaves the file");
}
