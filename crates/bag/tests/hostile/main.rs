//! Files made to break the reader: every cut, every changed byte, indexes that lie, chunks that are
//! lost, entries that are no recordings, bombs, and numbers used to the end.
//!
//! Each test holds the reader to the same promise: nothing panics, hangs or grows without bound;
//! what is whole is served; what a checksum covers is never served changed; and an answer that
//! lacks something says so. What is whole is decided by a walker and a writer of the testkit,
//! which know nothing of the reader.
//!
//! The short form, which is the usual one, tries a random part, with a seed that it prints and
//! that `ROS2_MEMORY_SEED` sets again. The long form tries everything, and is also meant for the
//! optimized build with and without overflow checks:
//!
//! ```sh
//! cargo test -p ros2-memory-bag --test hostile
//! ROS2_MEMORY_LONG=1 cargo test --release -p ros2-memory-bag --test hostile -- --nocapture
//! ROS2_MEMORY_LONG=1 CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true \
//!     cargo test --release -p ros2-memory-bag --test hostile -- --nocapture
//! ```

#![cfg(test)]
#![expect(unsafe_code, reason = "an allocator that counts has no safe form; tests only")]

mod allocation;
mod bombs;
mod byte_changes;
mod definitions;
mod failures;
mod index_lies;
mod many_channels;
mod odd_entries;
mod one_bad_chunk;
mod rig;
mod truncation;
