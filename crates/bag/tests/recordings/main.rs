//! Whole recordings through the whole crate: every layout, every damage, any number of bags.

#![cfg(test)]
#![expect(clippy::cast_possible_truncation, reason = "small numbers that the tests made")]

mod against_upstream;
mod audit;
mod by_index;
mod checksums;
mod compressed;
mod damage;
mod framing;
mod growing;
mod hand;
mod indexed;
mod kept_chunks;
mod odd;
mod reports;
mod resync;
mod sample;
mod timeline;
