use std::sync::Arc;

use ros2_memory_time::LogTime;

/// What the messages of one topic of a bag name: labels of what was seen.
///
/// The messages are numbered in timeline order, from 0: their *ordinals*.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sightings {
    /// A channel of the topic, by place in the bag's declarations.
    pub channel: u32,
    /// The log time of each message, ascending.
    pub times: Vec<LogTime>,
    /// For each label, in byte order, the ordinals of the messages that name it, ascending.
    pub labels: Vec<(Arc<str>, Vec<u32>)>,
    /// Whether all that the messages name is here: none that could not be read, none too long.
    pub is_complete: bool,
    /// Whether the messages say more than labels where these are: free text, numbers, or what else
    /// the objects of a list hold.
    pub has_other_values: bool,
}
