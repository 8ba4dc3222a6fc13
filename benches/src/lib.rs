//! What the benches share: an hour of history on disk, the memory over it, and the passes of
//! this project, of its peer and of a plain walk over the same files.
//!
//! How it is measured, and what came out, stands in `benches/README.md`.

#![forbid(unsafe_code)]

mod data;
mod median;
mod memory;
mod passes;
mod walk;

pub use data::{Data, HOUR_S, START_NS};
pub use median::{Spread, Taken, Watch, spread_of};
pub use memory::{Opened, TOOL_CALLS, arguments, ask};
pub use passes::{Tally, indexed_reader, message_stream, summaries, timeline};
pub use walk::plain_walk;

/// A result whose error only has to be shown.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
