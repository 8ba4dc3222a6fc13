//! The transform buffer: frames, interpolation and their failures.

#![forbid(unsafe_code)]
