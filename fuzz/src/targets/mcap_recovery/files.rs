//! Right files: those of the tests, and small ones that the fuzzer describes.

use std::sync::LazyLock;

use arbitrary::Arbitrary;
use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    mcap_bytes::{Fixture, Walked, fixtures, walk},
    prng::Prng,
};

/// One file.
#[derive(Debug, Arbitrary)]
pub(super) enum FilePick {
    /// One of every make, by hand and by the `mcap` crate.
    Fixture(u8),
    Made {
        compression: u8,
        is_loose: bool,
        lacks_summary: bool,
        lacks_statistics: bool,
        lacks_message_index: bool,
        lacks_crc: bool,
        lacks_schemas: bool,
        chunk_bytes: u8,
        messages: Vec<MessagePick>,
    },
}

#[derive(Debug, Arbitrary)]
pub(super) struct MessagePick {
    channel: u8,
    time: u8,
    payload_len: u8,
}

/// The makes differ in their messages only from seed to seed.
const SEEDS: u64 = 2;
const MAX_MESSAGES: usize = 24;

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| (0..SEEDS).flat_map(fixtures).collect());

impl FilePick {
    /// The file and what lies where in it.
    pub(super) fn file(&self) -> Option<(Vec<u8>, Walked)> {
        match self {
            Self::Fixture(number) => {
                let fixture = FIXTURES.get(usize::from(*number) % FIXTURES.len())?;
                Some((fixture.bytes.clone(), fixture.walked.clone()))
            }
            Self::Made { messages, .. } => {
                let bytes = bag_bytes(&channels(), &made(messages), &self.layout()?);
                let bytes = bytes.expect("the library writes any of these");
                let walked = walk(&bytes).expect("the library writes right files");
                Some((bytes, walked))
            }
        }
    }

    fn layout(&self) -> Option<Layout> {
        let Self::Made {
            compression,
            is_loose,
            lacks_summary,
            lacks_statistics,
            lacks_message_index,
            lacks_crc,
            lacks_schemas,
            chunk_bytes,
            ..
        } = self
        else {
            return None;
        };
        let compression = match compression % 3 {
            0 => Compression::None,
            1 => Compression::Lz4,
            _ => Compression::Zstd,
        };
        Some(Layout {
            chunked: !is_loose,
            compression,
            chunk_bytes: u64::from(*chunk_bytes) * 4 + 1,
            with_summary: !lacks_summary,
            with_statistics: !lacks_statistics,
            with_message_index: !lacks_message_index,
            with_crc: !lacks_crc,
            repeat_schemas: !lacks_schemas,
        })
    }
}

fn channels() -> Vec<TestChannel> {
    [(0, "/a"), (1, "/b"), (600, "/b")]
        .map(|(id, topic)| TestChannel {
            id,
            topic: topic.into(),
            type_name: "std_msgs/msg/String".into(),
            definition: "string data\n".into(),
            latched: id == 1,
        })
        .into()
}

fn made(picks: &[MessagePick]) -> Vec<TestMessage> {
    let mut rng = Prng::new(1);
    let ids = [0, 1, 600];
    (0..)
        .zip(picks.iter().take(MAX_MESSAGES))
        .map(|(sequence, pick)| TestMessage {
            channel: ids[usize::from(pick.channel) % ids.len()],
            log_time_ns: 1_700_000_000_000_000_000 + u64::from(pick.time),
            publish_time_ns: 1_700_000_000_000_000_000,
            sequence,
            payload: (0..pick.payload_len).map(|_| rng.next_u64().to_le_bytes()[0]).collect(),
        })
        .collect()
}
