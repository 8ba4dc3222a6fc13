//! What is known of one bag without opening it.

#![forbid(unsafe_code)]
