use std::{
    collections::HashSet,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ros2_memory_time::LogTime;

use crate::{
    BagError, Chunk, Compression, Contents, DamageKind, FileIdentity, ReadOptions, Source, Verdict,
    identity::now_ns,
    inflate::Inflater,
    mcap::{
        checksums::data_fault,
        indexed::{channels_in, check_claim, claimed_contents},
        message_index::offsets_of,
        record::{MessageRecord, Record, Records, opcode},
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
    /// Which chunk was inflated into it last.
    holds: Option<InflatedChunk>,
}

/// A chunk of one version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InflatedChunk {
    file: FileIdentity,
    offset: u64,
    len: u64,
    crc: u32,
}

/// Buffers between two questions. A decompressor takes longer to make than a small chunk takes to
/// inflate.
static SPARE: Mutex<Vec<ChunkBuffer>> = Mutex::new(Vec::new());
/// How many are kept: as many as are in use at once in a question or two.
const MAX_SPARE: usize = 8;
/// Larger ones are given back to the system.
const MAX_SPARE_BYTES: usize = 4 << 20;

impl ChunkBuffer {
    /// A buffer that somebody kept, or a new one; the one that holds the chunk, when there is one:
    /// one question most often leads to others about the same moment.
    pub(crate) fn spare_for(chunk: Option<InflatedChunk>) -> Self {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let held = chunk.and_then(|chunk| spare.iter().position(|of| of.holds == Some(chunk)));
        match held {
            Some(place) => spare.remove(place),
            // What was kept longest is asked for least.
            None if !spare.is_empty() => spare.remove(0),
            None => Self::default(),
        }
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
    /// As [`Source::open_with`] and [`scan`].
    pub fn open_unindexed(path: &Path, options: &ReadOptions) -> Result<Self, BagError> {
        let mut source = Source::open_with(path, options)?;
        let contents = scan(&mut source, options, &mut ScanBuffers::default(), &mut ())?;
        Ok(Self { source, contents: Arc::new(contents), options: *options })
    }

    /// Opens a closed file and learns its contents from its own index, without reading what its
    /// chunks hold, but for those with the first message of a channel; `None` when the index is missing or contradicts the file anywhere: then it has
    /// to be gone over. The chunks are [`Verdict::Claimed`].
    ///
    /// A lie that the statistics, the index of chunks and all message indexes tell alike shows
    /// when a chunk that it is about is read, not before.
    ///
    /// # Errors
    ///
    /// As [`Source::open_with`], and [`BagError::Io`] when the file cannot be read.
    pub fn open_indexed(path: &Path, options: &ReadOptions) -> Result<Option<Self>, BagError> {
        let mut source = Source::open_with(path, options)?;
        let Some(claimed) = claimed_contents(&mut source, options)? else { return Ok(None) };
        let bag = Self { source, contents: Arc::new(claimed.contents), options: *options };
        Ok(bag.proves_declarations(claimed.declared_outside).then_some(bag))
    }

    /// Whether each channel is declared as the summary has it, before its first message: the few
    /// chunks that declare one are read, and those that are said to hold no message, since no
    /// question would.
    fn proves_declarations(&self, mut declared: HashSet<u16>) -> bool {
        let mut buffer = ChunkBuffer::spare_for(None);
        let is_proven = self.contents.chunks.iter().all(|chunk| {
            let ids: Vec<u16> = chunk
                .channels
                .iter()
                .filter_map(|seen| Some(self.contents.declared.channel(seen.channel)?.id))
                .collect();
            if !ids.is_empty() && ids.iter().all(|id| declared.contains(id)) {
                return true;
            }
            let bytes = self.chunk_bytes(chunk, &mut buffer);
            declared.extend(bytes.iter().flat_map(|bytes| channels_in(bytes)));
            bytes.is_ok() && ids.iter().all(|id| declared.contains(id))
        });
        buffer.keep_as_spare();
        is_proven
    }

    /// Opens a file whose contents are known from before.
    ///
    /// # Errors
    ///
    /// [`BagError::Changed`] when it is not the file with that `identity` any more; a recording
    /// that is still being written may have grown. Otherwise as [`Source::open_with`].
    pub fn open(
        path: &Path,
        identity: FileIdentity,
        contents: Arc<Contents>,
        options: &ReadOptions,
    ) -> Result<Self, BagError> {
        let mut source = Source::open_with(path, options)?;
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

    /// Verifies the checksum of the data section where messages have no other, when
    /// [`ReadOptions::verify_always`] is set: what is wrong with it now. Which byte is not known,
    /// so everything is served all the same.
    ///
    /// # Errors
    ///
    /// [`BagError::Io`] when the file cannot be read.
    pub fn data_fault(&self) -> Result<Option<DamageKind>, BagError> {
        let is_unproven = |chunk: &Chunk| chunk.verdict == Verdict::Unchecked;
        let contents = &self.contents;
        if !self.options.verify_always
            || !contents.is_closed()
            || !contents.chunks.iter().any(is_unproven)
        {
            return Ok(None);
        }
        data_fault(&self.source)
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
        let key = self.inflated_chunk(chunk);
        let ChunkBuffer { stored, inflated, inflater, holds } = buffer;
        if key.is_some() && *holds == key {
            return Ok(inflated);
        }
        *holds = None;
        let stored = self.source.read(chunk.offset, stored_len, stored)?;
        let bytes = if chunk.compression == Compression::None {
            stored
        } else {
            inflater
                .inflate(chunk.compression, stored, chunk.len, chunk.crc != 0, limit, inflated)
                .map_err(damaged)?;
            inflated
        };
        let is_claimed = chunk.verdict == Verdict::Claimed;
        if (self.options.verify_always || is_claimed) && chunk.crc != 0 {
            let found = crc32fast::hash(bytes);
            if found != chunk.crc {
                return Err(damaged(DamageKind::Crc { expected: chunk.crc, found }));
            }
        }
        if is_claimed {
            check_claim(&self.contents.declared, chunk, bytes).map_err(damaged)?;
        }
        *holds = key;
        Ok(bytes)
    }

    /// What a buffer that holds this chunk is known by; `None` for one that is to be read each
    /// time, or is not inflated at all.
    pub(crate) fn inflated_chunk(&self, chunk: &Chunk) -> Option<InflatedChunk> {
        let file = self.source.identity();
        let is_kept = chunk.compression != Compression::None
            && !self.options.verify_always
            && self.contents.is_closed()
            && file.is_settled_at(now_ns());
        let Chunk { offset, len, crc, .. } = *chunk;
        is_kept.then_some(InflatedChunk { file, offset, len, crc })
    }

    /// The messages of some channels of a chunk, in file order, without touching the others: where
    /// they stand is said by the chunk's indexes, which were proven when the bag was indexed. `None`
    /// when there are none, when the bag is not mapped or is to be verified each time, and when the
    /// wanted messages are not the lesser part.
    pub fn messages_of<'b>(
        &'b self,
        chunk: &Chunk,
        is_wanted: &dyn Fn(u32) -> bool,
    ) -> Option<impl Iterator<Item = MessageRef<'b>> + use<'b>> {
        if chunk.index_len == 0
            || chunk.compression != Compression::None
            || self.options.verify_always
        {
            return None;
        }
        let map = self.source.mapping()?;
        let part = |start: u64, len: u64| {
            let (start, len) = (usize::try_from(start).ok()?, usize::try_from(len).ok()?);
            map.get(start..start.checked_add(len)?)
        };
        let bytes = part(chunk.offset, chunk.stored_len)?;
        let indexes = part(chunk.offset.checked_add(chunk.stored_len)?, chunk.index_len)?;
        if chunk.n_messages_of(is_wanted) * 2 > chunk.n_messages() {
            return None;
        }
        let channels = self.channels_of(chunk, is_wanted);
        let offsets = offsets_of(indexes, |id| channels.iter().any(|(of, _)| *of == id));
        Some(offsets.into_iter().filter_map(move |offset| {
            let record = Records::new(bytes.get(usize::try_from(offset).ok()?..)?).next()?;
            served(record.ok()?, &channels)
        }))
    }

    /// The numbers in the file of the wanted channels of a chunk, with their places.
    fn channels_of(&self, chunk: &Chunk, is_wanted: &dyn Fn(u32) -> bool) -> Vec<(u16, u32)> {
        let wanted = chunk.channels.iter().filter(|seen| is_wanted(seen.channel));
        let number = |place: u32| Some((self.contents.declared.channel(place)?.id, place));
        wanted.filter_map(|seen| number(seen.channel)).collect()
    }

    /// The messages in a chunk's bytes, in file order. Messages that cannot be served (of no
    /// declared channel, or dated past 2262) are left out, as they were when the chunk was
    /// counted.
    pub fn messages<'b>(
        &self,
        chunk: &Chunk,
        bytes: &'b [u8],
    ) -> impl Iterator<Item = MessageRef<'b>> + use<'b> {
        let channels = self.channels_of(chunk, &|_| true);
        Records::new(bytes).filter_map(move |record| served(record.ok()?, &channels))
    }
}

/// A record as a message of one of some channels; `None` when it is none that can be served.
#[inline]
fn served<'b>(record: Record<'b>, channels: &[(u16, u32)]) -> Option<MessageRef<'b>> {
    if record.opcode != opcode::MESSAGE {
        return None;
    }
    let message = MessageRecord::parse(record.body).ok()?;
    let (_, channel) = channels.iter().find(|(id, _)| *id == message.channel_id)?;
    (message.log_time <= MAX_PLAUSIBLE_NS).then(|| MessageRef {
        channel: *channel,
        sequence: message.sequence,
        log_time: LogTime::from_ns(message.log_time),
        publish_time: LogTime::from_ns(message.publish_time),
        payload: message.payload,
    })
}
