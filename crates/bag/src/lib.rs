//! Recordings on disk as message streams.

#![forbid(unsafe_code)]
