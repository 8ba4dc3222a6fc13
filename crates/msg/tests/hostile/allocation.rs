//! How many bytes each thread holds.

use std::{
    alloc::{GlobalAlloc, Layout as Block, System},
    cell::Cell,
};

/// Counts the bytes that each thread holds, and leaves the rest to the system.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    pub(super) static HELD: Cell<i64> = const { Cell::new(0) };
    pub(super) static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    // Nothing is counted while a thread is being torn down.
    let _gone = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _gone = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

// SAFETY: every call goes to `System` with the arguments it came with, so its promises hold here;
// the counters are `Cell`s without destructors, and changing them does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Block) -> *mut u8 {
        count(size(block.size()));
        // SAFETY: the caller's promise about `block` is passed on.
        unsafe { System.alloc(block) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, block: Block) {
        count(-size(block.size()));
        // SAFETY: `pointer` came from `System`, with this `block`.
        unsafe { System.dealloc(pointer, block) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, block: Block, to: usize) -> *mut u8 {
        count(size(to) - size(block.size()));
        // SAFETY: `pointer` came from `System`, with this `block`; `to` is the caller's promise.
        unsafe { System.realloc(pointer, block, to) }
    }
}
