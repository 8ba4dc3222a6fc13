//! The bag directory: which bags exist, what is known of them, and one immutable snapshot a
//! query.
//!
//! What is known is kept in checksummed segments beside the bags ([`Store`]), is derived from
//! them, and may be deleted at any time: that costs a rebuild. [`Catalog`] brings it up to date
//! in a thread of its own and hands out [`Snapshot`]s.

#![forbid(unsafe_code)]

mod bags;
mod catalog;
mod disk;
mod drives;
mod error;
mod listing;
mod log;
mod path_key;
mod place;
mod proofs;
mod refresh;
mod runs;
mod segment;
mod settings;
mod sightings;
mod snapshot;
mod store;
mod watch;

pub use catalog::{Catalog, forget};
pub use drives::{DriveLeg, Leg};
pub use error::CatalogError;
pub use place::{CATALOG_FOLDER, catalog_place};
pub use proofs::Probe;
pub use refresh::{IndexProgress, RefreshReport, Refused};
pub use ros2_memory_index::{BagEntry, EdgeSpan, IndexedTypes, LatchedMessage};
pub use runs::Run;
pub use settings::Settings;
pub use sightings::{LabelSummary, Sighting, SightingsBack, Wanted};
pub use snapshot::{BagView, Snapshot, SnapshotParts, TopicSummary};
pub use store::{FORMAT_VERSION, Loaded, Store};
