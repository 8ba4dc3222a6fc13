//! What the benches share: an hour of history on disk, the memory over it, and the passes of
//! this project, of its peer and of a plain walk over the same files.
//!
//! How it is measured, and what came out, stands in `benches/README.md`.

#![forbid(unsafe_code)]

mod big;
mod by_peer;
mod by_plan;
mod data;
mod median;
mod memory;
mod odometry;
mod passes;
mod seen;
pub mod typed;
mod walk;

pub use big::big_bag;
pub use by_peer::{peer_above, peer_fields};
pub use by_plan::{scan_fields, scan_messages, timeline_fields};
pub use data::{Data, GIVEN_FOLDER, HOUR_S, START_NS, files_under, given_folder, parts_of};
pub use median::{Spread, Taken, Watch, spread_of};
pub use memory::{Opened, TOOL_CALLS, arguments, ask, call_arguments};
pub use odometry::{Positions, Sums};
pub use passes::{Tally, indexed_reader, last_with_label, message_stream, summaries, timeline};
pub use seen::Seen;
pub use walk::{inflate_and_check, plain_walk};

/// A result whose error only has to be shown.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
