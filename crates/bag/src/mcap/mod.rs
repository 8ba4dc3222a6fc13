//! The MCAP container: records, and the pass over a whole file.

pub(crate) mod audit;
mod audit_chunks;
pub(crate) mod checksums;
mod chunk;
mod index_record;
pub(crate) mod indexed;
mod loose;
pub(crate) mod message_index;
mod names;
mod plausible;
pub(crate) mod record;
mod registry;
mod resync;
pub(crate) mod scan;
mod summary;
mod tally;
