//! Conditions over message values.

#![forbid(unsafe_code)]
