//! Whole recordings through the whole crate: every layout, every damage, any number of bags.

#![cfg(test)]

mod against_upstream;
mod damage;
mod growing;
mod hand;
mod reports;
mod sample;
mod timeline;
