//! A service robot's day with known truth: the same options give the same bytes.
//!
//! [`History`] makes the records of any ten seconds on their own, so that a week can be written
//! by several threads and never has to fit in memory. [`Truth`] says what really happened, from
//! the robot's own motion and not from reading the records back.
//!
//! [`write_history`] is the one place that touches files.

#![forbid(unsafe_code)]

mod error;
mod options;

mod history;
mod record;
mod truth;

mod apartment;
mod fault;
mod plan;
mod scan;
mod sight;
mod world;

mod definitions;
mod encode;
mod events;
mod payload;
mod source;
mod timetable;

mod write;

mod chance;
mod geometry;
mod motion;
mod number;

pub use error::DemoError;
pub use history::History;
pub use options::Options;
pub use record::{ChannelSpec, Record};
pub use truth::{
    FaultTruth, LabelTruth, NearTruth, ObjectTruth, PoseTruth, Seen, TopicTruth, TransformTruth,
    Truth, VelocityTruth, WindowTruth,
};
pub use write::{TRUTH_FILE, WriteError, WrittenHistory, write_history};
