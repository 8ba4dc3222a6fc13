//! The answers, and the name, arguments and reply of every tool.

#![forbid(unsafe_code)]

mod call;
mod memory;
mod reply;
pub mod tools;

pub use call::{CallContext, Cancel, Progress, ProgressSink};
pub use memory::{Memory, Metric};
pub use reply::{CallStats, ErrorCode, Reply};
