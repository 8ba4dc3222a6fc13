#![no_main]

use std::{fs, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use ros2_memory_bag::{
    Bag, ChunkBuffer, Direction, ReadOptions, ScanBuffers, Source, Timeline, TimelinePart, Verdict,
    scan, scan_on,
};
use ros2_memory_fuzz::memory;
use ros2_memory_time::TimeRange;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(memory::folder);
const OPTIONS: ReadOptions =
    ReadOptions { mapping: true, max_chunk_bytes: 1 << 20, verify_always: true };

fuzz_target!(|data: &[u8]| {
    let path = FOLDER.path().join("a.mcap");
    // First as it was when half of it was written.
    fs::write(&path, &data[..data.len() / 2]).expect("room for one file");
    let mut buffers = ScanBuffers::default();
    let half = Source::open(&path).and_then(|mut s| scan(&mut s, &OPTIONS, &mut buffers, &mut ()));
    fs::write(&path, data).expect("room for one file");
    let Ok(bag) = Bag::open_unindexed(&path, &OPTIONS) else { return };
    if let (Ok(half), Ok(mut source)) = (half, Source::open(&path))
        && !half.is_closed()
        && half.damage.is_empty()
    {
        let grown = scan_on(&mut source, &OPTIONS, &mut buffers, &mut (), half);
        assert_eq!(grown.map(|c| c.n_messages()).ok(), Some(bag.contents().n_messages()));
    }
    let mut buffer = ChunkBuffer::default();
    for chunk in bag.contents().chunks.iter().filter(|c| c.verdict != Verdict::Damaged) {
        let bytes = bag.chunk_bytes(chunk, &mut buffer).expect("what was whole still is");
        assert_eq!(bag.messages(chunk, bytes).count() as u64, chunk.n_messages());
    }
    let part = TimelinePart {
        path: path.into(),
        identity: bag.source().identity(),
        contents: bag.contents().clone(),
    };
    let run = |direction| {
        let parts = vec![part.clone()];
        let mut timeline =
            Timeline::new(parts, TimeRange::ALL, direction, OPTIONS, |_| Some(0), || false);
        let mut times = Vec::new();
        while let Some(message) = timeline.next() {
            times.push(message.log_time);
        }
        times
    };
    let forward = run(Direction::Forward);
    assert!(forward.is_sorted());
    assert_eq!(forward.len() as u64, bag.contents().n_messages());
    assert!(forward.iter().rev().eq(&run(Direction::Reverse)));
});
