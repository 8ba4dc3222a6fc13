//! The bag directory: which bags exist, what is known of them, and one immutable snapshot a
//! query.
//!
//! What is known is kept in checksummed segments beside the bags ([`Store`]), is derived from
//! them, and may be deleted at any time: that costs a rebuild. [`Catalog`] brings it up to date
//! in a thread of its own and hands out [`Snapshot`]s.

#![forbid(unsafe_code)]

mod catalog;
mod error;
mod place;
mod refresh;
mod segment;
mod settings;
mod snapshot;
mod store;
mod watch;

pub use catalog::{Catalog, forget};
pub use error::CatalogError;
pub use place::{CATALOG_FOLDER, catalog_place};
pub use refresh::{IndexProgress, RefreshReport, Refused};
pub use ros2_memory_index::{BagEntry, EdgeSpan, LatchedMessage};
pub use settings::Settings;
pub use snapshot::{BagView, Run, Snapshot, TopicSummary};
pub use store::{Loaded, Store};
