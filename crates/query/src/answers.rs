//! The answers, one file a question.

pub(crate) mod candidates;
pub(crate) mod element;
pub(crate) mod expand;
pub(crate) mod explain_gap;
pub(crate) mod find_sightings;
pub(crate) mod intervals;
pub(crate) mod labels;
pub(crate) mod last_seen;
pub(crate) mod matcher;
pub(crate) mod matching;
pub(crate) mod memory_card;
pub(crate) mod motion;
pub(crate) mod nearest;
pub(crate) mod range;
pub(crate) mod sieve;
pub(crate) mod statistics;
pub(crate) mod thin;
pub(crate) mod topics;
pub(crate) mod trajectory;
pub(crate) mod transform;
