//! The bag directory, its index on disk and one immutable snapshot a query.

#![forbid(unsafe_code)]
