//! The configuration tree, the environment and the overrides.

#![forbid(unsafe_code)]
