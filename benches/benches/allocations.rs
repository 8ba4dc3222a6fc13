//! How often memory is asked for, and how much is held at most: counts, not times, so that they
//! are the same on every machine.

#![expect(unsafe_code, reason = "an allocator that counts has no safe form")]
#![expect(clippy::print_stdout, reason = "a table on stdout is what it makes")]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use ros2_memory_bag::{Compression, ReadOptions};
use ros2_memory_benches::{
    Data, Opened, Outcome, TOOL_CALLS, Tally, ask, call_arguments, indexed_reader, message_stream,
    timeline,
};

/// Counts what all threads ask for, and leaves it to the system.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static HELD_BYTES: AtomicU64 = AtomicU64::new(0);
static MOST_BYTES: AtomicU64 = AtomicU64::new(0);

fn taken(bytes: usize) {
    CALLS.fetch_add(1, Relaxed);
    let held = HELD_BYTES.fetch_add(bytes as u64, Relaxed) + bytes as u64;
    MOST_BYTES.fetch_max(held, Relaxed);
}

fn given_back(bytes: usize) {
    HELD_BYTES.fetch_sub(bytes as u64, Relaxed);
}

// SAFETY: every call goes to `System` with the arguments it came with, so its promises hold here;
// the counters are atomics, and changing them does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        given_back(layout.size());
        // SAFETY: `pointer` came from `System`, with this `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        taken(size);
        given_back(layout.size());
        // SAFETY: `pointer` came from `System`, with this `layout`; `size` is the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn main() -> Outcome<()> {
    let data = Data::under(env!("CARGO_TARGET_TMPDIR"));
    for compression in [Compression::None, Compression::Zstd, Compression::Lz4] {
        passes(&data, compression)?;
    }

    let bags = data.hour(Compression::Zstd)?;
    let catalog = data.empty_folder()?;
    let opened = Opened::configuration(&bags, catalog.path())?;
    let (memory, calls, most) = counted(|| opened.memory())?;
    println!("\nfirst index of the hour: {calls} allocations, {} KB held at most", kb(most));
    drop(memory);
    let (memory, calls, most) = counted(|| opened.memory())?;
    println!("opened with the catalog: {calls} allocations, {} KB held at most", kb(most));

    println!("\n{:<42} {:>11} {:>8}", "one call, warm", "allocations", "KB held");
    for (tool, text) in TOOL_CALLS {
        let arguments = call_arguments(&memory, text)?;
        ask(&memory, tool, &arguments)?;
        let (_, calls, most) = counted(|| ask(&memory, tool, &arguments))?;
        println!("{tool:<42} {calls:>11} {:>8}", kb(most));
    }
    Ok(())
}

/// Passes over every message of the hour.
fn passes(data: &Data, compression: Compression) -> Outcome<()> {
    let files = data.hour_files(compression)?;
    let parts = data.hour_parts(compression)?;
    println!("\n{:<42} {:>11} {:>8}", compression.as_str(), "a message", "KB held");
    row("timeline", || Ok(timeline(&parts, ReadOptions::default())))?;
    row("peer_message_stream", || message_stream(&files, false))?;
    row("peer_indexed_reader", || indexed_reader(&files))
}

fn row(name: &str, pass: impl FnMut() -> Outcome<Tally>) -> Outcome<()> {
    let (tally, calls, most) = counted(pass)?;
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let per_message = calls as f64 / tally.messages as f64;
    println!("{name:<42} {per_message:>11.4} {:>8}", kb(most));
    Ok(())
}

/// What a piece of work gave, how often it asked for memory, and how many bytes more than before
/// were held at most while it ran.
fn counted<T>(mut work: impl FnMut() -> Outcome<T>) -> Outcome<(T, u64, u64)> {
    let (calls, held) = (CALLS.load(Relaxed), HELD_BYTES.load(Relaxed));
    MOST_BYTES.store(held, Relaxed);
    let result = work()?;
    Ok((result, CALLS.load(Relaxed) - calls, MOST_BYTES.load(Relaxed).saturating_sub(held)))
}

fn kb(bytes: u64) -> u64 {
    bytes.div_ceil(1_000)
}
