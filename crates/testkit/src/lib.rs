//! Payload writers, odd files and independent oracles for the tests.

#![forbid(unsafe_code)]
