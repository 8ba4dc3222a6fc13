use std::{path::Path, sync::Arc};

use ros2_memory_bag::{ContentMark, Contents, FileIdentity};
use ros2_memory_time::LogTime;

use crate::{IndexedMark, Sightings, TopicNumbers, TopicWords};

/// What the catalog remembers of one bag.
#[derive(Debug, Clone, PartialEq)]
pub struct BagEntry {
    /// Where the file lies, from the bag directory.
    pub path: Arc<Path>,
    /// Which version of the file this describes.
    pub identity: FileIdentity,
    /// A checksum over the file's first and last bytes.
    pub mark: ContentMark,
    /// What lies where in it, with the verdict on each chunk.
    pub contents: Arc<Contents>,
    /// The messages of its latched channels, in full.
    pub latched: Vec<LatchedMessage>,
    /// Which transforms it holds.
    pub edges: Vec<EdgeSpan>,
    /// How far the stamp of a transform lies from the time it was recorded at, at most.
    pub transform_skew_ns: u64,
    /// What its topics with labels name.
    pub sightings: Vec<Sightings>,
    /// The words of its topics with text.
    pub words: Vec<TopicWords>,
    /// Where the numbers of its topics lie.
    pub numbers: Vec<TopicNumbers>,
    /// With which configuration it was indexed.
    pub indexed: IndexedMark,
}

/// A message that late subscribers were to get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatchedMessage {
    /// The channel, by place in the bag's declarations: which topic, and which publisher.
    pub channel: u32,
    /// When it was recorded.
    pub log_time: LogTime,
    /// The serialized message.
    pub payload: Arc<[u8]>,
}

/// The transforms between two frames that one bag holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeSpan {
    /// The frame that the transform is given in.
    pub parent: Arc<str>,
    /// The frame that it places.
    pub child: Arc<str>,
    /// Whether it came on a latched channel and holds until it is replaced.
    pub is_static: bool,
    /// How many there are.
    pub count: u64,
    /// The earliest stamp.
    pub first: LogTime,
    /// The latest stamp.
    pub last: LogTime,
}
