//! What is known of one bag without opening it, and its form in bytes.
//!
//! [`Indexer`] makes a [`BagEntry`] in the one pass over a bag; [`encode`] and [`decode`] carry
//! it to and from the catalog's segments.

#![forbid(unsafe_code)]

mod build;
pub mod codec;
mod definition;
mod encoding;
mod entry;
mod error;
mod indexed_types;
mod shared;
mod sightings;
mod take_labels;
mod transforms;

pub use build::Indexer;
pub use encoding::{
    decode, decode_declarations, decode_identity, decode_times, encode, encode_declarations,
    encode_times,
};
pub use entry::{BagEntry, EdgeSpan, LatchedMessage};
pub use error::CodecError;
pub use indexed_types::{IndexedMark, IndexedPaths, IndexedTypes};
pub use shared::{Shared, SharedItem, Sharing};
pub use sightings::Sightings;
pub use transforms::{
    TransformPart, TransformPlan, TransformReader, TransformSample, is_transform_type, sample_time,
};
