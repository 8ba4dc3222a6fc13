//! What is known of one bag without opening it, and its form in bytes.
//!
//! [`Indexer`] makes a [`BagEntry`] in the one pass over a bag; [`encode`] and [`decode`] carry
//! it to and from the catalog's segments.

#![forbid(unsafe_code)]

mod build;
mod codec;
mod encoding;
mod entry;
mod error;
mod transforms;

pub use build::Indexer;
pub use encoding::{decode, decode_declarations, encode, encode_declarations};
pub use entry::{BagEntry, EdgeSpan, LatchedMessage};
pub use error::CodecError;
pub use transforms::{
    TransformPart, TransformPlan, TransformReader, TransformSample, is_transform_type, sample_time,
};
