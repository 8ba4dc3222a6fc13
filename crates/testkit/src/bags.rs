//! MCAP files from plain descriptions, written by the `mcap` crate.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Cursor},
    path::Path,
};

use mcap::{WriteOptions, records::MessageHeader};

/// Describes one channel, that is one publisher of a topic.
///
/// Two channels may be equal in all but `id`: two publishers of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestChannel {
    /// Unique inside its file; zero is allowed.
    pub id: u16,
    /// Name of the topic.
    pub topic: String,
    /// Full name of the type, `package/msg/Name`.
    pub type_name: String,
    /// Definition in the `ros2msg` encoding; empty for a channel without a schema.
    pub definition: String,
    /// Whether its profile says `transient_local`.
    pub latched: bool,
}

/// Describes one message record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestMessage {
    /// The `id` of a channel of the same file.
    pub channel: u16,
    /// Nanoseconds since the Unix epoch.
    pub log_time_ns: u64,
    /// Nanoseconds since the Unix epoch.
    pub publish_time_ns: u64,
    /// As the record carries it.
    pub sequence: u32,
    /// CDR with its encapsulation header.
    pub payload: Vec<u8>,
}

/// How the bytes of a chunk are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As they are.
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// Says which optional parts of the format a file has.
#[expect(clippy::struct_excessive_bools, reason = "each is one optional part of the format")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Messages in chunks, else straight in the data section.
    pub chunked: bool,
    /// Of the chunks.
    pub compression: Compression,
    /// A chunk is closed once it holds more than this.
    pub chunk_bytes: u64,
    /// Any records between the data section and the footer.
    pub with_summary: bool,
    /// A statistics record in the summary.
    pub with_statistics: bool,
    /// Message index records after each chunk.
    pub with_message_index: bool,
    /// Checksums of chunks, data section and summary; else they are zero, which means absent.
    pub with_crc: bool,
    /// Schemas again in the summary.
    pub repeat_schemas: bool,
}

impl Default for Layout {
    /// What rosbag2 writes unasked, with small chunks.
    fn default() -> Self {
        Self {
            chunked: true,
            compression: Compression::None,
            chunk_bytes: 1_024,
            with_summary: true,
            with_statistics: true,
            with_message_index: true,
            with_crc: true,
            repeat_schemas: true,
        }
    }
}

/// What rosbag2 notes of a latched publisher.
const LATCHED_PROFILE: &str = "- history: keep_last
  depth: 1
  reliability: reliable
  durability: transient_local
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: automatic
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false
";

/// Writes a bag to `path`, making its folder first.
///
/// # Errors
///
/// As [`bag_bytes`], and when the folder or the file cannot be written.
pub fn write_bag(
    path: &Path,
    channels: &[TestChannel],
    messages: &[TestMessage],
    layout: &Layout,
) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bag_bytes(channels, messages, layout)?)
}

/// The bytes of a bag: all channels first, then the messages in the order given.
///
/// # Errors
///
/// When a message names a channel that is not in `channels`, or two channels that differ share an
/// id.
pub fn bag_bytes(
    channels: &[TestChannel],
    messages: &[TestMessage],
    layout: &Layout,
) -> io::Result<Vec<u8>> {
    write(channels, messages, layout).map_err(io::Error::other)
}

fn write(
    channels: &[TestChannel],
    messages: &[TestMessage],
    layout: &Layout,
) -> mcap::McapResult<Vec<u8>> {
    let mut writer = options(layout).create(Cursor::new(Vec::new()))?;
    for channel in channels {
        let schema = if channel.definition.is_empty() {
            0
        } else {
            writer.add_schema(&channel.type_name, "ros2msg", channel.definition.as_bytes())?
        };
        let mut metadata = BTreeMap::new();
        if channel.latched {
            metadata.insert("offered_qos_profiles".to_owned(), LATCHED_PROFILE.to_owned());
        }
        writer.add_channel_with_id(channel.id, schema, &channel.topic, "cdr", &metadata)?;
    }
    for message in messages {
        let header = MessageHeader {
            channel_id: message.channel,
            sequence: message.sequence,
            log_time: message.log_time_ns,
            publish_time: message.publish_time_ns,
        };
        writer.write_to_known_channel(&header, &message.payload)?;
    }
    writer.finish()?;
    Ok(writer.into_inner().into_inner())
}

fn options(layout: &Layout) -> WriteOptions {
    let compression = match layout.compression {
        Compression::None => None,
        Compression::Lz4 => Some(mcap::Compression::Lz4),
        Compression::Zstd => Some(mcap::Compression::Zstd),
    };
    WriteOptions::new()
        .profile("ros2")
        .library("ros2-memory-testkit")
        .use_chunks(layout.chunked)
        .compression(compression)
        .compression_threads(0)
        .chunk_size(Some(layout.chunk_bytes))
        .emit_summary_records(layout.with_summary)
        .emit_summary_offsets(layout.with_summary)
        .emit_statistics(layout.with_summary && layout.with_statistics)
        .repeat_schemas(layout.with_summary && layout.repeat_schemas)
        .emit_message_indexes(layout.with_message_index)
        .calculate_chunk_crcs(layout.with_crc)
        .calculate_data_section_crc(layout.with_crc)
        .calculate_summary_section_crc(layout.with_crc)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_publishers() -> (Vec<TestChannel>, Vec<TestMessage>) {
        let channel = |id| TestChannel {
            id,
            topic: "/talk".into(),
            type_name: "std_msgs/msg/String".into(),
            definition: "string data\n".into(),
            latched: true,
        };
        let message = |channel, log_time_ns| TestMessage {
            channel,
            log_time_ns,
            publish_time_ns: log_time_ns + 1,
            sequence: 9,
            payload: vec![0, 1, 0, 0, 1, 0, 0, 0, 0],
        };
        (vec![channel(0), channel(40_000)], vec![message(40_000, 5), message(0, 3), message(0, 3)])
    }

    fn read_back(bytes: &[u8]) -> Vec<(u16, u64, u64)> {
        mcap::MessageStream::new(bytes)
            .unwrap()
            .map(|message| message.unwrap())
            .map(|message| (message.channel.id, message.log_time, message.publish_time))
            .collect()
    }

    #[test]
    fn every_layout_holds_the_same_messages_in_the_order_given() {
        let (channels, messages) = two_publishers();
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
            for chunked in [true, false] {
                for with_summary in [true, false] {
                    let layout = Layout {
                        chunked,
                        compression,
                        with_summary,
                        chunk_bytes: 1,
                        ..Layout::default()
                    };
                    let bytes = bag_bytes(&channels, &messages, &layout).unwrap();
                    assert_eq!(read_back(&bytes), [(40_000, 5, 6), (0, 3, 4), (0, 3, 4)]);
                    let summary = mcap::Summary::read(&bytes).unwrap();
                    assert_eq!(summary.is_some(), with_summary, "{layout:?}");
                }
            }
        }
    }

    #[test]
    fn a_latched_channel_says_transient_local() {
        let (channels, messages) = two_publishers();
        let bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
        let first = mcap::MessageStream::new(&bytes).unwrap().next().unwrap().unwrap();
        let profile = &first.channel.metadata["offered_qos_profiles"];
        assert!(profile.contains("durability: transient_local"));
    }

    #[test]
    fn a_message_of_no_channel_is_refused() {
        let (_, messages) = two_publishers();
        assert!(bag_bytes(&[], &messages, &Layout::default()).is_err());
    }
}
