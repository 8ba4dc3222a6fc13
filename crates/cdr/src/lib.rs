//! The cursor over one CDR payload.

#![forbid(unsafe_code)]
