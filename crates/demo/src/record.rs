use ros2_memory_time::LogTime;

/// One publisher of one topic.
///
/// Two channels may share a topic: `/tf` and `/tf_static` have two publishers each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSpec {
    /// The topic's name, such as `/odom`.
    pub topic: &'static str,
    /// The full type name, such as `nav_msgs/msg/Odometry`.
    pub type_name: &'static str,
    /// The message definition with all it depends on, in MCAP's `ros2msg` schema encoding.
    pub definition: String,
    /// Whether the publisher is transient-local: its message appears once in a run and stays
    /// in force.
    pub latched: bool,
}

/// One recorded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The place of its channel in [`History::channels`](crate::History::channels).
    pub channel: usize,
    /// When the recorder got it: 0.5 to 4 ms after its stamp.
    pub log_time: LogTime,
    /// When it was published: 0.2 ms after its stamp.
    pub publish_time: LogTime,
    /// Counts the channel's messages from 0 over the whole history.
    pub sequence: u32,
    /// The encapsulation header and the message in little-endian CDR.
    pub payload: Vec<u8>,
}
