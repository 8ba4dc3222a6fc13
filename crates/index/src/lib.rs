//! What is known of one bag without opening it, and its form in bytes.
//!
//! [`Indexer`] makes a [`BagEntry`] in the one pass over a bag; [`encode`] and [`decode`] carry
//! it to and from the catalog's segments.

#![forbid(unsafe_code)]

mod build;
mod cells;
mod channel_plans;
pub mod codec;
mod definition;
mod drive;
mod edge_reader;
mod edges;
mod encoding;
mod entry;
mod error;
mod indexed_types;
mod shared;
mod sightings;
mod take_labels;
mod take_numbers;
mod texts;
mod topic_index;
mod transforms;
mod words;
mod zones;

pub use build::Indexer;
pub use cells::{CELL_M, Cell, Cells, cell_of, cells_near};
pub use drive::{Drive, DriveRules, Pose, Step};
pub use encoding::{
    EntryForm, decode, decode_declarations, decode_identity, decode_times, encode,
    encode_declarations, encode_times,
};
pub use entry::{BagEntry, EdgeSpan, LatchedMessage};
pub use error::CodecError;
pub use indexed_types::{IndexedMark, IndexedPaths, IndexedTypes};
pub use shared::{Shared, SharedItem, Sharing};
pub use sightings::Sightings;
pub use topic_index::{TopicNumbers, TopicWords};
pub use transforms::{
    TransformPart, TransformPlan, TransformReader, TransformSample, is_transform_type, sample_time,
};
pub use words::{WordPart, WordQuery, each_word};
pub use zones::{Span, Zone};
