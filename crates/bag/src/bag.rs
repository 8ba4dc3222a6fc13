use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ros2_memory_time::LogTime;

use crate::{
    BagError, Chunk, Compression, Contents, DamageKind, FileIdentity, ReadOptions, Source, Verdict,
    inflate::Inflater,
    mcap::{
        record::{MessageRecord, Records, opcode},
        scan::{ScanBuffers, scan},
    },
};

/// Later times, from the year 2262 on, come from clocks that ran backwards through zero.
pub(crate) const MAX_PLAUSIBLE_NS: u64 = i64::MAX as u64;

/// One recording, opened with what is known of it.
#[derive(Debug)]
pub struct Bag {
    source: Source,
    contents: Arc<Contents>,
    options: ReadOptions,
}

/// One message inside a chunk, borrowed from the bytes that hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRef<'a> {
    /// The channel, by place in [`crate::Declarations::channels`].
    pub channel: u32,
    /// The publisher's counter; 0 when there was none.
    pub sequence: u32,
    /// When it was recorded.
    pub log_time: LogTime,
    /// When it was published.
    pub publish_time: LogTime,
    /// The serialized message.
    pub payload: &'a [u8],
}

/// The buffers of one chunk, kept from one to the next.
#[derive(Debug, Default)]
pub struct ChunkBuffer {
    stored: Vec<u8>,
    inflated: Vec<u8>,
    inflater: Inflater,
}

/// Buffers between two questions. A decompressor takes longer to make than a small chunk takes to
/// inflate.
static SPARE: Mutex<Vec<ChunkBuffer>> = Mutex::new(Vec::new());
/// How many are kept: as many as are in use at once in a question or two.
const MAX_SPARE: usize = 8;
/// Larger ones are given back to the system.
const MAX_SPARE_BYTES: usize = 4 << 20;

impl ChunkBuffer {
    /// A buffer that somebody kept, or a new one.
    pub(crate) fn spare() -> Self {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        spare.pop().unwrap_or_default()
    }

    /// Keeps the buffer for the next question, unless there are enough or it is large.
    pub(crate) fn keep_as_spare(self) {
        if self.stored.capacity() + self.inflated.capacity() <= MAX_SPARE_BYTES {
            let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.len() < MAX_SPARE {
                spare.push(self);
            }
        }
    }

    /// The bytes that [`Bag::chunk_bytes`] last gave for this chunk through this buffer.
    pub(crate) fn held<'b>(&'b self, source: &'b Source, chunk: &Chunk) -> Option<&'b [u8]> {
        match (chunk.compression, source.mapped()) {
            (Compression::None, Some(map)) => {
                let start = usize::try_from(chunk.offset).ok()?;
                let len = usize::try_from(chunk.stored_len).ok()?;
                map.get(start..start.checked_add(len)?)
            }
            (Compression::None, None) => Some(&self.stored),
            _ => Some(&self.inflated),
        }
    }
}

impl Bag {
    /// Goes over a whole file to learn its contents, and keeps it open.
    ///
    /// # Errors
    ///
    /// As [`Source::open`] and [`scan`].
    pub fn open_unindexed(path: &Path, options: &ReadOptions) -> Result<Self, BagError> {
        let mut source = Source::open(path)?;
        let contents = scan(&mut source, options, &mut ScanBuffers::default(), &mut ())?;
        Ok(Self { source, contents: Arc::new(contents), options: *options })
    }

    /// Opens a file whose contents are known from before.
    ///
    /// # Errors
    ///
    /// [`BagError::Changed`] when it is not the file with that `identity` any more; a recording
    /// that is still being written may have grown. Otherwise as [`Source::open`].
    pub fn open(
        path: &Path,
        identity: FileIdentity,
        contents: Arc<Contents>,
        options: &ReadOptions,
    ) -> Result<Self, BagError> {
        let mut source = Source::open(path)?;
        let is_same = if contents.is_closed() {
            source.identity() == identity
        } else {
            identity.may_have_grown_into(&source.identity())
        };
        if !is_same {
            return Err(BagError::Changed { path: path.to_owned() });
        }
        if contents.is_closed() {
            source.map_if_large(options);
        }
        Ok(Self { source, contents, options: *options })
    }

    /// What the recording holds.
    pub fn contents(&self) -> &Arc<Contents> {
        &self.contents
    }

    /// The open file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The bytes of a chunk, inflated into `buffer` when they are compressed.
    ///
    /// # Errors
    ///
    /// [`BagError::Damaged`] when the chunk is known to be damaged or turns out to be,
    /// [`BagError::Io`] when it cannot be read.
    pub fn chunk_bytes<'b>(
        &'b self,
        chunk: &Chunk,
        buffer: &'b mut ChunkBuffer,
    ) -> Result<&'b [u8], BagError> {
        let damaged = |kind| BagError::damaged(chunk.offset, kind);
        if chunk.verdict == Verdict::Damaged {
            let known = self.contents.damage.iter().find(|damage| damage.offset == chunk.offset);
            return Err(damaged(known.map_or(DamageKind::Zeros, |damage| damage.kind.clone())));
        }
        let limit = self.options.max_chunk_bytes;
        let stored_len = match usize::try_from(chunk.stored_len) {
            Ok(len) if chunk.stored_len <= limit => len,
            _ => {
                let declared = chunk.stored_len;
                return Err(damaged(DamageKind::ChunkTooLarge { declared, limit }));
            }
        };
        let ChunkBuffer { stored, inflated, inflater } = buffer;
        let stored = self.source.read(chunk.offset, stored_len, stored)?;
        let bytes = if chunk.compression == Compression::None {
            stored
        } else {
            inflater
                .inflate(chunk.compression, stored, chunk.len, limit, inflated)
                .map_err(damaged)?;
            inflated
        };
        if self.options.verify_always && chunk.crc != 0 {
            let found = crc32fast::hash(bytes);
            if found != chunk.crc {
                return Err(damaged(DamageKind::Crc { expected: chunk.crc, found }));
            }
        }
        Ok(bytes)
    }

    /// The messages in a chunk's bytes, in file order. Messages that cannot be served (of no
    /// declared channel, or dated past 2262) are left out, as they were when the chunk was
    /// counted.
    pub fn messages<'b>(
        &self,
        chunk: &Chunk,
        bytes: &'b [u8],
    ) -> impl Iterator<Item = MessageRef<'b>> + use<'b> {
        let channels: Vec<(u16, u32)> = chunk
            .channels
            .iter()
            .filter_map(|seen| {
                let channel = self.contents.declared.channel(seen.channel)?;
                Some((channel.id, seen.channel))
            })
            .collect();
        Records::new(bytes).filter_map(move |record| {
            let record = record.ok().filter(|record| record.opcode == opcode::MESSAGE)?;
            let message = MessageRecord::parse(record.body).ok()?;
            let (_, channel) = channels.iter().find(|(id, _)| *id == message.channel_id)?;
            (message.log_time <= MAX_PLAUSIBLE_NS).then(|| MessageRef {
                channel: *channel,
                sequence: message.sequence,
                log_time: LogTime::from_ns(message.log_time),
                publish_time: LogTime::from_ns(message.publish_time),
                payload: message.payload,
            })
        })
    }
}
