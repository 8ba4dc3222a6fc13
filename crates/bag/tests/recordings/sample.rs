//! A small recording in every layout, and what this crate serves of a file.

use std::{
    collections::BTreeMap, fs::File, io::Cursor, os::unix::fs::FileExt, path::PathBuf, sync::Arc,
};

use mcap::records::{MessageHeader, Metadata};
use ros2_memory_bag::{Bag, BagError, ChunkBuffer, ReadOptions, TimelinePart, Verdict};
use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    prng::Prng,
};

/// A message as it was recorded or served.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Seen {
    pub(crate) log_time_ns: u64,
    pub(crate) topic: String,
    pub(crate) channel_id: u16,
    pub(crate) sequence: u32,
    pub(crate) publish_time_ns: u64,
    pub(crate) payload: Vec<u8>,
}

/// One file and everything in it, in file order.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) layout: Layout,
    pub(crate) bytes: Vec<u8>,
    pub(crate) messages: Vec<Seen>,
}

pub(crate) fn layouts() -> Vec<(&'static str, Layout)> {
    let plain = Layout { chunk_bytes: 300, ..Layout::default() };
    vec![
        ("none", plain),
        ("lz4", Layout { compression: Compression::Lz4, ..plain }),
        ("zstd", Layout { compression: Compression::Zstd, ..plain }),
        ("unchunked", Layout { chunked: false, ..plain }),
        ("no summary", Layout { with_summary: false, ..plain }),
        ("no statistics", Layout { with_statistics: false, ..plain }),
        ("no message index", Layout { with_message_index: false, ..plain }),
        ("no crc", Layout { with_crc: false, compression: Compression::Zstd, ..plain }),
        ("schemas once", Layout { repeat_schemas: false, ..plain }),
    ]
}

/// About 3 KB in each layout, and one more with attachments and metadata.
pub(crate) fn samples() -> Vec<Sample> {
    let (channels, messages) = content(16, 60, 1);
    let mut samples: Vec<Sample> = layouts()
        .into_iter()
        .map(|(name, layout)| Sample {
            name,
            layout,
            bytes: bag_bytes(&channels, &messages, &layout).unwrap(),
            messages: seen(&channels, &messages),
        })
        .collect();
    samples.push(Sample {
        name: "attachments and metadata",
        layout: Layout::default(),
        bytes: with_attachments(&channels, &messages),
        messages: seen(&channels, &messages),
    });
    samples
}

/// Three channels, two of them publishers of one topic, and messages that are not quite in the
/// order of their times.
pub(crate) fn content(
    n_messages: u32,
    payload_len: u64,
    seed: u64,
) -> (Vec<TestChannel>, Vec<TestMessage>) {
    let channel = |id, topic: &str| TestChannel {
        id,
        topic: topic.into(),
        type_name: "std_msgs/msg/String".into(),
        definition: "string data\n".into(),
        latched: id == 7,
    };
    let mut prng = Prng::new(seed);
    let messages = (0..n_messages)
        .map(|sequence| {
            let log_time_ns = 1_000 + u64::from(sequence) * 10 + prng.below(25);
            TestMessage {
                channel: *prng.pick(&[0, 3, 7]),
                log_time_ns,
                publish_time_ns: log_time_ns - prng.below(5),
                sequence,
                payload: (0..prng.below(payload_len))
                    .map(|_| (prng.next_u64() >> 56) as u8)
                    .collect(),
            }
        })
        .collect();
    (vec![channel(0, "/tf"), channel(3, "/talk"), channel(7, "/tf")], messages)
}

pub(crate) fn seen(channels: &[TestChannel], messages: &[TestMessage]) -> Vec<Seen> {
    let topics: BTreeMap<u16, &str> = channels.iter().map(|c| (c.id, c.topic.as_str())).collect();
    messages
        .iter()
        .map(|m| Seen {
            log_time_ns: m.log_time_ns,
            topic: topics[&m.channel].to_owned(),
            channel_id: m.channel,
            sequence: m.sequence,
            publish_time_ns: m.publish_time_ns,
            payload: m.payload.clone(),
        })
        .collect()
}

fn with_attachments(channels: &[TestChannel], messages: &[TestMessage]) -> Vec<u8> {
    let options = mcap::WriteOptions::new().compression(None).chunk_size(Some(300));
    let mut writer = options.create(Cursor::new(Vec::new())).unwrap();
    for c in channels {
        let schema = writer.add_schema(&c.type_name, "ros2msg", c.definition.as_bytes()).unwrap();
        writer.add_channel_with_id(c.id, schema, &c.topic, "cdr", &BTreeMap::new()).unwrap();
    }
    for (number, m) in messages.iter().enumerate() {
        if number % 5 == 2 {
            let data = b"a calibration".as_slice().into();
            let (name, media_type) = ("calibration".to_owned(), "text/plain".to_owned());
            let attachment =
                mcap::Attachment { log_time: 3, create_time: 2, name, media_type, data };
            writer.attach(&attachment).unwrap();
            let metadata = BTreeMap::from([("robot".to_owned(), "r2".to_owned())]);
            writer.write_metadata(&Metadata { name: "run".to_owned(), metadata }).unwrap();
        }
        let header = MessageHeader {
            channel_id: m.channel,
            sequence: m.sequence,
            log_time: m.log_time_ns,
            publish_time: m.publish_time_ns,
        };
        writer.write_to_known_channel(&header, &m.payload).unwrap();
    }
    writer.finish().unwrap();
    writer.into_inner().into_inner()
}

/// A folder with one file that is written again and again.
pub(crate) struct Scratch {
    _folder: tempfile::TempDir,
    file: File,
    pub(crate) path: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mcap");
        let file = File::create(&path).unwrap();
        Self { _folder: folder, file, path }
    }

    /// Replaces the file's bytes. It is never emptied: some file systems wait for the disk then.
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.file.write_all_at(bytes, 0).unwrap();
        self.file.set_len(bytes.len() as u64).unwrap();
    }

    pub(crate) fn open(&self, bytes: &[u8]) -> Result<Bag, BagError> {
        self.write(bytes);
        Bag::open_unindexed(&self.path, &ReadOptions::default())
    }

    /// Everything that is served of these bytes, with the bag.
    pub(crate) fn serve(&self, bytes: &[u8]) -> (Bag, Vec<Seen>) {
        let bag = self.open(bytes).unwrap();
        let messages = served(&bag);
        (bag, messages)
    }
}

/// The bag as a part of a timeline.
pub(crate) fn part(bag: &Bag) -> TimelinePart {
    TimelinePart {
        path: Arc::from(bag.source().path()),
        identity: bag.source().identity(),
        contents: bag.contents().clone(),
    }
}

/// The messages of all chunks that are not damaged, in file order. What was counted of each
/// chunk is what it serves.
pub(crate) fn served(bag: &Bag) -> Vec<Seen> {
    let mut buffer = ChunkBuffer::default();
    let mut all = Vec::new();
    for chunk in &bag.contents().chunks {
        if chunk.verdict == Verdict::Damaged {
            assert!(bag.chunk_bytes(chunk, &mut buffer).is_err());
            continue;
        }
        let bytes = bag.chunk_bytes(chunk, &mut buffer).unwrap();
        let before = all.len();
        for m in bag.messages(chunk, bytes) {
            let channel = bag.contents().declared.channel(m.channel).unwrap();
            let counted = chunk.channels.iter().find(|c| c.channel == m.channel).unwrap();
            assert!(counted.first <= m.log_time && m.log_time <= counted.last);
            all.push(Seen {
                log_time_ns: m.log_time.as_ns(),
                topic: channel.topic.to_string(),
                channel_id: channel.id,
                sequence: m.sequence,
                publish_time_ns: m.publish_time.as_ns(),
                payload: m.payload.to_vec(),
            });
        }
        assert_eq!((all.len() - before) as u64, chunk.n_messages(), "{:?}", bag.contents());
    }
    all
}
