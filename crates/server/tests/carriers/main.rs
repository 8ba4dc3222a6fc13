//! The server from outside, over a memory that is none: pipes, HTTP, and what peers do wrong.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod common;

mod client;
mod stdio;

mod api;
mod guard;
mod limits;
mod sse;
mod streamable;
