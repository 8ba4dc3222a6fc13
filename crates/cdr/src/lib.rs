//! The cursor over one payload: where each value of a serialized message lies, and what it is.
//!
//! Any bytes return a value or an error: nothing panics, and nothing is allocated. A length is
//! compared with the bytes that remain before it is believed. Strings and sequences of
//! primitives are borrowed from the payload.
//!
//! Follows the OMG "DDS-XTypes" 1.3, section 7.4 (XCDR1 and XCDR2: plain, delimited, parameter
//! lists), DDS-RTPS 2.5, section 10 (representation identifiers), and ROS 1's serialization.

#![forbid(unsafe_code)]

mod cursor;
mod encoding;
mod error;
mod members;
mod primitive;
mod primitives;
mod text;
mod wide;
mod writer;

pub use cursor::Cursor;
pub use encoding::{ByteOrder, Encoding, Extensibility, Family};
pub use error::CdrError;
pub use members::{Frame, Member, OptionalMember};
pub use primitive::{Primitive, Scalar};
pub use primitives::Primitives;
pub use text::text;
pub use writer::Writer;
