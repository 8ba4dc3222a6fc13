//! What the fuzzer runs, as plain functions over bytes.
//!
//! A target is a module of [`targets`]: it takes any bytes and panics when a reader contradicts
//! itself, the generator that made the input, or the `mcap` crate. The rest is what targets have
//! in common: inputs with a shape, files in memory, and the comparisons.

pub mod agreement;
pub mod definition;
pub mod memory;
pub mod recordings;
pub mod segment;
pub mod targets;
pub mod typed_values;
