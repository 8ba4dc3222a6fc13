//! The whole crate from outside: folders, variables and overrides in, settings or a message out.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test, whose helpers stand outside the test functions"
)]

mod common;
mod errors;
mod layers;
mod shipped;
