//! Believable synthetic robot histories with known truth.

#![forbid(unsafe_code)]
