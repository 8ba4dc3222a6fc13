//! The cursor over one payload: where each value of a serialized message lies, and what it is.
//!
//! Any bytes return a value or an error: nothing panics, and nothing is allocated. A length is
//! compared with the bytes that remain before it is believed. Strings and sequences of
//! primitives are borrowed from the payload.
//!
//! Follows the OMG "DDS-XTypes" 1.3, section 7.4, and DDS-RTPS 2.5, section 10 (representation
//! identifiers).

#![forbid(unsafe_code)]

mod cursor;
mod encoding;
mod error;
mod primitive;
mod primitives;
mod writer;

pub use cursor::Cursor;
pub use encoding::{ByteOrder, Encoding};
pub use error::CdrError;
pub use primitive::{Primitive, Scalar};
pub use primitives::Primitives;
pub use writer::Writer;
