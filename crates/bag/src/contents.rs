use std::{collections::HashSet, sync::Arc};

use ros2_memory_time::LogTime;

use crate::DamageKind;

/// What one recording holds and where, as one pass over its bytes found it.
///
/// All counts and times are of messages that were seen, never of what an index claims, except
/// in chunks that are [`Verdict::Claimed`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// What the file declares in front of its messages.
    pub declared: Arc<Declarations>,
    /// The places that hold messages, in file order.
    pub chunks: Vec<Chunk>,
    /// Whether the writer closed the file.
    pub ending: Ending,
    /// What is wrong with it, in file order.
    pub damage: Vec<Damage>,
    /// How many attachments it has.
    pub n_attachments: u64,
    /// How many metadata records it has.
    pub n_metadata: u64,
}

/// What a file declares, which the splits of a session have in common.
///
/// Channels and schemas are numbered by their place in the vectors here, since a file may use
/// one number twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Declarations {
    /// What kind of recording the writer says it is, such as `ros2`.
    pub profile: String,
    /// The library that wrote it.
    pub library: String,
    /// The message definitions.
    pub schemas: Vec<Schema>,
    /// The streams.
    pub channels: Vec<Channel>,
}

impl Declarations {
    /// The channel with this place.
    pub fn channel(&self, place: u32) -> Option<&Channel> {
        self.channels.get(place as usize)
    }

    /// Whether no number stands for two schemas or two channels: then it is known what each means
    /// at the end of the file.
    pub fn has_unique_ids(&self) -> bool {
        let mut schemas = HashSet::new();
        let mut channels = HashSet::new();
        self.schemas.iter().all(|schema| schemas.insert(schema.id))
            && self.channels.iter().all(|channel| channels.insert(channel.id))
    }

    /// The name of a channel's type; empty when the file does not say.
    pub fn type_name(&self, channel: &Channel) -> &str {
        self.schema(channel).map_or("", |schema| &schema.name)
    }

    /// The definition of a channel's type, when the file has one.
    pub fn schema(&self, channel: &Channel) -> Option<&Schema> {
        self.schemas.get(channel.schema? as usize)
    }
}

/// A message definition as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Schema {
    /// Its number in the file.
    pub id: u16,
    /// The type's name.
    pub name: Arc<str>,
    /// How the text is to be read, such as `ros2msg`.
    pub encoding: Arc<str>,
    /// The text.
    pub text: Arc<[u8]>,
}

/// One stream of messages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Its number in the file.
    pub id: u16,
    /// Its topic.
    pub topic: Arc<str>,
    /// Its definition, by place in [`Declarations::schemas`]; `None` when the file has none.
    pub schema: Option<u32>,
    /// How payloads are serialized, such as `cdr`.
    pub message_encoding: Arc<str>,
    /// The publishers' quality of service as the recorder wrote it; empty when it did not.
    pub offered_qos_profiles: Arc<str>,
}

/// A place that holds messages: a chunk, or a run of messages outside any chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where its stored bytes start.
    pub offset: u64,
    /// How many stored bytes there are.
    pub stored_len: u64,
    /// How many bytes they inflate to.
    pub len: u64,
    /// How they are compressed.
    pub compression: Compression,
    /// The CRC-32 of the inflated bytes; 0 when the writer left it out.
    pub crc: u32,
    /// What checking it gave.
    pub verdict: Verdict,
    /// Whether it is a run of messages outside any chunk, whose bytes start with a record.
    pub is_loose: bool,
    /// Whether the messages' log times never decrease.
    pub is_sorted: bool,
    /// The first log time; of a damaged chunk what its writer says.
    pub first: LogTime,
    /// The last log time; of a damaged chunk what its writer says.
    pub last: LogTime,
    /// The channels that have messages here.
    pub channels: Vec<ChunkChannel>,
    /// How many bytes of message indexes stand right behind the stored ones, each entry of which
    /// was compared with the messages; 0 when they were not, or differ, or there are none.
    pub index_len: u64,
}

impl Chunk {
    /// How many messages it holds.
    pub fn n_messages(&self) -> u64 {
        self.n_messages_of(|_| true)
    }

    /// How many messages it holds of some channels.
    pub fn n_messages_of(&self, is_wanted: impl Fn(u32) -> bool) -> u64 {
        let wanted = self.channels.iter().filter(|seen| is_wanted(seen.channel));
        wanted.map(|seen| u64::from(seen.count)).sum()
    }
}

/// What one chunk holds of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkChannel {
    /// The channel, by place in [`Declarations::channels`].
    pub channel: u32,
    /// How many messages.
    pub count: u32,
    /// The first log time.
    pub first: LogTime,
    /// The last log time.
    pub last: LogTime,
}

/// How a chunk is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all: payloads are borrowed from the file's bytes.
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// The name in an MCAP file, except that no compression is `none` and not the empty text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// What checking a chunk gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Its CRC is right.
    Intact,
    /// It has no CRC, and can be walked from end to end.
    Unchecked,
    /// It is not served; [`Contents::damage`] says why.
    Damaged,
    /// It was not read: the file's own index says what it holds. Each time that it is read, its
    /// CRC and its messages are checked against that.
    Claimed,
    /// It has no CRC of its own, and that of the whole data section is wrong. It is served; a
    /// byte of it may not be the one that was written.
    Doubtful,
}

/// Whether the writer closed the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It ends in a footer.
    Closed,
    /// It does not: it is being written, or was cut off. Everything before `served_to` is
    /// served, and of an uncompressed chunk that starts there the messages that are whole.
    Open {
        /// The end of the last whole record.
        served_to: u64,
    },
}

impl Default for Ending {
    fn default() -> Self {
        Self::Open { served_to: 0 }
    }
}

/// Something wrong in a file, which costs its place and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where in the file.
    pub offset: u64,
    /// What.
    pub kind: DamageKind,
}

/// What was lost of one file. Bytes that no record claims cannot be told apart further: how many
/// messages stood in them is known only to the file's own statistics, which [`crate::audit`]
/// compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// Chunks that are not served.
    pub chunks: u64,
    /// Their stored bytes, where their records were found.
    pub chunk_bytes: u64,
    /// Places where no record could be read and the next whole one was searched for.
    pub breaks: u64,
    /// The bytes between these places and the next whole records.
    pub skipped_bytes: u64,
    /// Messages that were seen and cannot be served: of no declared channel, or with a time that
    /// no clock shows.
    pub messages: u64,
}

impl Contents {
    /// Whether the writer closed the file.
    pub fn is_closed(&self) -> bool {
        self.ending == Ending::Closed
    }

    /// The end of what was read of a file of `len` bytes: all of a closed one.
    pub fn read_to(&self, len: u64) -> u64 {
        match self.ending {
            Ending::Closed => len,
            Ending::Open { served_to } => served_to,
        }
    }

    /// How many messages can be served.
    pub fn n_messages(&self) -> u64 {
        self.chunks.iter().map(Chunk::n_messages).sum()
    }

    /// The first and the last log time of all messages.
    pub fn time_span(&self) -> Option<(LogTime, LogTime)> {
        let with_messages = || self.chunks.iter().filter(|chunk| !chunk.channels.is_empty());
        Some((
            with_messages().map(|chunk| chunk.first).min()?,
            with_messages().map(|chunk| chunk.last).max()?,
        ))
    }

    /// What was lost of the file, as far as it can be told.
    pub fn losses(&self) -> Losses {
        let damaged = || self.chunks.iter().filter(|chunk| chunk.verdict == Verdict::Damaged);
        let mut losses = Losses {
            chunks: damaged().count() as u64,
            chunk_bytes: damaged().map(|chunk| chunk.stored_len).fold(0, u64::saturating_add),
            ..Losses::default()
        };
        for damage in &self.damage {
            losses += damage.kind.losses();
        }
        losses
    }

    /// How many chunks are not served.
    pub fn n_damaged_chunks(&self) -> u64 {
        self.chunks.iter().filter(|chunk| chunk.verdict == Verdict::Damaged).count() as u64
    }
}

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, more: Self) {
        for (sum, more) in [
            (&mut self.chunks, more.chunks),
            (&mut self.chunk_bytes, more.chunk_bytes),
            (&mut self.breaks, more.breaks),
            (&mut self.skipped_bytes, more.skipped_bytes),
            (&mut self.messages, more.messages),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}
