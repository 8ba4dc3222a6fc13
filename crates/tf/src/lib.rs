//! The transform buffer: frames, interpolation and their failures.
//!
//! A [`Buffer`] takes stamped and static transforms, as `/tf` and `/tf_static` carry them, and
//! says where one frame was in another at a moment, or why that cannot be said. Nothing here
//! reads a file or knows a message type. Any input returns: no sample, however broken, makes a
//! look-up panic, run without end, or give a NaN.
//!
//! # Examples
//!
//! ```
//! use ros2_memory_tf::{Buffer, Limits, Quaternion, Run, Transform};
//! use ros2_memory_time::LogTime;
//!
//! let mut buffer = Buffer::new(Limits::default());
//! let at_x = |x| Transform { translation_m: [x, 0.0, 0.0], rotation: Quaternion::IDENTITY };
//! buffer.insert("map", "base", LogTime::from_ns(1_000), Run(0), at_x(1.0))?;
//! buffer.insert("map", "base", LogTime::from_ns(2_000), Run(0), at_x(2.0))?;
//! buffer.insert_static("base", "laser", at_x(0.5))?;
//!
//! let map_from_laser = buffer.lookup("map", "laser", LogTime::from_ns(1_500))?;
//! assert_eq!(map_from_laser, at_x(2.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod buffer;
mod chain;
mod track;

mod quaternion;
mod transform;

mod error;
mod frames;
mod limits;

pub use buffer::{Buffer, Edge, MAX_TRANSLATION_M};
pub use chain::MAX_DEPTH;
pub use error::{LookupError, Rejected};
pub use limits::{Limits, Run};
pub use quaternion::Quaternion;
pub use transform::Transform;
