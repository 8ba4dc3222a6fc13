//! The MCAP container: records, and the pass over a whole file.

pub(crate) mod record;
mod registry;
pub(crate) mod scan;
mod summary;
mod tally;
