//! Payloads are borrowed where the bytes allow it, and a message costs no allocation.

#![cfg(test)]
#![expect(unsafe_code, reason = "an allocator that counts has no safe form; tests only")]

use std::{
    alloc::{GlobalAlloc, Layout as Block, System},
    cell::Cell,
    path::Path,
    sync::Arc,
};

use ros2_memory_bag::{Bag, Direction, ReadOptions, Timeline, TimelinePart};
use ros2_memory_testkit::bags::{Compression, Layout, TestChannel, TestMessage, write_bag};
use ros2_memory_time::TimeRange;

/// Counts the allocations of each thread, and leaves them to the system.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // Nothing is counted while a thread is being torn down.
    ALLOCATIONS.try_with(|n| n.set(n.get() + 1)).unwrap_or_default();
}

// SAFETY: every call goes to `System` with the arguments it came with, so its promises hold here;
// the counter is a `Cell` without a destructor, and changing it does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        count();
        // SAFETY: the caller's promise about `block` is passed on.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        // SAFETY: `pointer` came from `System`, with this `block`.
        unsafe { System.dealloc(pointer, block) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, block: Block, size: usize) -> *mut u8 {
        count();
        // SAFETY: `pointer` came from `System`, with this `block`; `size` is the caller's promise.
        unsafe { System.realloc(pointer, block, size) }
    }
}

const N_MESSAGES: u32 = 100_000;

/// One bag of 100,000 messages of 100 bytes: 12 MB, past the size from which files are mapped.
fn bag(folder: &Path, layout: &Layout) -> (Bag, TimelinePart) {
    let channel = |id, topic: &str| TestChannel {
        id,
        topic: topic.into(),
        type_name: "std_msgs/msg/String".into(),
        definition: "string data\n".into(),
        latched: false,
    };
    let messages: Vec<TestMessage> = (0..N_MESSAGES)
        .map(|sequence| TestMessage {
            channel: 1 + u16::from(sequence % 3 == 0),
            log_time_ns: 1_000_000 + u64::from(sequence) * 1_000,
            publish_time_ns: 0,
            sequence,
            payload: sequence.to_le_bytes().repeat(25),
        })
        .collect();
    let path = folder.join("big.mcap");
    write_bag(&path, &[channel(1, "/a"), channel(2, "/b")], &messages, layout).unwrap();
    let bag = Bag::open_unindexed(&path, &ReadOptions::default()).unwrap();
    let part = TimelinePart {
        path: Arc::from(path),
        identity: bag.source().identity(),
        contents: bag.contents().clone(),
    };
    (bag, part)
}

/// The checksum of one payload's worth of the stream, so that each payload is touched.
fn drain(timeline: &mut Timeline<'_>) -> (u32, u64) {
    let (mut n, mut sum) = (0, 0u64);
    while let Some(message) = timeline.next() {
        n += 1;
        sum += u64::from(message.payload[0]) + u64::from(message.sequence);
    }
    (n, sum)
}

#[test]
fn a_message_costs_no_allocation_in_either_direction() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        for chunked in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let layout =
                Layout { compression, chunked, chunk_bytes: 64 << 10, ..Layout::default() };
            let (_, part) = bag(folder.path(), &layout);
            for mapping in [true, false] {
                for direction in [Direction::Forward, Direction::Reverse] {
                    let options = ReadOptions { mapping, ..ReadOptions::default() };
                    let parts = vec![part.clone()];
                    let before = ALLOCATIONS.get();
                    let mut timeline = Timeline::new(
                        parts,
                        TimeRange::ALL,
                        direction,
                        options,
                        |channel| Some(u32::from(*channel.topic == *"/b")),
                        || false,
                    );
                    let (n, _) = drain(&mut timeline);
                    let allocations = ALLOCATIONS.get() - before;
                    assert_eq!(n, N_MESSAGES);
                    assert!(
                        allocations < u64::from(N_MESSAGES) / 100,
                        "{allocations} allocations, {layout:?}, {direction:?}, mapping {mapping}"
                    );
                    println!(
                        "{compression:?}, {chunked}, {direction:?}: {allocations} allocations"
                    );
                }
            }
        }
    }
}

#[test]
fn payloads_of_a_mapped_file_lie_in_the_mapping() {
    for chunked in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout { chunked, chunk_bytes: 64 << 10, ..Layout::default() };
        let (bag, _) = bag(folder.path(), &layout);
        let map = bag.source().mapped().unwrap().as_ptr_range();
        let mut buffer = ros2_memory_bag::ChunkBuffer::default();
        let mut n = 0;
        for chunk in &bag.contents().chunks {
            let bytes = bag.chunk_bytes(chunk, &mut buffer).unwrap();
            for message in bag.messages(chunk, bytes) {
                let payload = message.payload.as_ptr_range();
                assert!(map.start <= payload.start && payload.end <= map.end);
                n += 1;
            }
        }
        assert_eq!(n, N_MESSAGES);
    }
}
