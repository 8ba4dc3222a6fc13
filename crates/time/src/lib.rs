//! Times as the rest of the program keeps them: integer nanoseconds and half-open ranges.
//!
//! Floats and closed ranges exist only at the tool boundary; the conversions to and from them
//! are here, so that there is one rule for rounding.

#![forbid(unsafe_code)]

mod error;
mod iso;
mod log_time;
mod range;

pub use error::TimeError;
pub use log_time::LogTime;
pub use range::TimeRange;

/// Nanoseconds in one second.
pub const NS_PER_S: u64 = 1_000_000_000;
