//! Payload writers, odd files and independent oracles for the tests.
//!
//! Nothing here depends on a crate of this project: what a test expects is worked out a second
//! time, from plain vectors, in the slowest and plainest way. Bags are written by the `mcap`
//! crate. A helper of a test has no caller to hand an error to, so misuse panics.

#![forbid(unsafe_code)]

pub mod bags;
pub mod content;
pub mod mcap_bytes;
pub mod odd_files;
pub mod oracle;
pub mod payload;
pub mod prng;
pub mod python;
pub mod random_sets;
pub mod typed;
