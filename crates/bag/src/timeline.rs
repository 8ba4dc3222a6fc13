//! Any number of bags as one ordered stream.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, binary_heap::PeekMut},
    path::{Path, PathBuf},
    sync::Arc,
};

use ros2_memory_time::{LogTime, TimeRange};

use crate::{Bag, BagError, Channel, ChunkBuffer, Contents, FileIdentity, MessageRef, ReadOptions};

/// Which way a timeline runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Oldest first.
    Forward,
    /// Newest first: exactly the forward order, backwards.
    Reverse,
}

/// One bag of a timeline, not yet opened.
#[derive(Debug, Clone)]
pub struct TimelinePart {
    /// The file.
    pub path: Arc<Path>,
    /// Which version of it the contents describe.
    pub identity: FileIdentity,
    /// What it holds.
    pub contents: Arc<Contents>,
}

/// The bags of a timeline, by place, in the order that breaks ties. What a bag holds is asked for
/// when the timeline reaches its time, and let go when it is behind it.
pub trait TimelineParts: Send {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first and last log time of a bag; `None` for one without messages.
    fn span(&self, place: usize) -> Option<(LogTime, LogTime)>;

    /// What is needed to read a bag.
    ///
    /// # Errors
    ///
    /// Where it lies, and why that is not known.
    fn part(&self, place: usize) -> Result<TimelinePart, (PathBuf, BagError)>;
}

impl TimelineParts for Vec<TimelinePart> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn span(&self, place: usize) -> Option<(LogTime, LogTime)> {
        self.get(place)?.contents.time_span()
    }

    fn part(&self, place: usize) -> Result<TimelinePart, (PathBuf, BagError)> {
        match self.get(place) {
            Some(part) => Ok(part.clone()),
            None => unreachable!("only places below the length are asked for"),
        }
    }
}

/// One message of a timeline, borrowed until the next is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The bag, by place in the parts that the timeline was made of.
    pub part: usize,
    /// What the bag holds.
    pub contents: &'a Arc<Contents>,
    /// The channel, by place in the contents.
    pub channel_index: u32,
    /// The channel.
    pub channel: &'a Channel,
    /// When it was recorded.
    pub log_time: LogTime,
    /// When it was published.
    pub publish_time: LogTime,
    /// The publisher's counter.
    pub sequence: u32,
    /// The serialized message.
    pub payload: &'a [u8],
}

/// What reading a timeline cost, and what it could not read.
#[derive(Debug, Default)]
pub struct TimelineReport {
    /// Bags that were opened.
    pub bags_opened: u64,
    /// Chunks that were read.
    pub chunks_read: u64,
    /// Messages that were looked at.
    pub messages_scanned: u64,
    /// How long these chunks are, inflated.
    pub chunk_bytes: u64,
    /// What was passed over, with the reason.
    pub skipped: Vec<(PathBuf, BagError)>,
    /// Whether `stop` ended it early.
    pub was_stopped: bool,
}

/// A stream over bags in timeline order: log time, then topic, then bag (the order of the
/// parts), then position in the file.
///
/// Chunks are opened only when the stream reaches their time, so that taking the newest message
/// out of a week opens one chunk. Nothing is allocated for a message: a chunk's messages are
/// listed in a reused vector and borrow from its reused buffer.
pub struct Timeline<'s> {
    parts: Box<dyn TimelineParts + 's>,
    /// The bags that the stream is in, with the number of their chunks that are still to come.
    open: HashMap<u32, (TimelinePart, usize)>,
    range: TimeRange,
    direction: Direction,
    options: ReadOptions,
    select: Select<'s>,
    stop: Stop<'s>,
    heap: BinaryHeap<Reverse<Entry>>,
    cursors: Vec<Cursor>,
    idle: Vec<usize>,
    /// A cursor whose last message is still borrowed.
    finished: Option<usize>,
    /// What it cost so far.
    report: TimelineReport,
}

/// The rank of a channel's topic; `None` for channels that are not wanted.
type Select<'s> = Box<dyn Fn(&Channel) -> Option<u32> + Send + 's>;
/// Asked in front of every chunk.
type Stop<'s> = Box<dyn Fn() -> bool + Send + 's>;

impl std::fmt::Debug for Timeline<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timeline")
            .field("parts", &self.parts.len())
            .field("range", &self.range)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

/// Something to do next, ordered by when its first message can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: Key,
    target: Target,
}

/// Ascending in the timeline's direction. Unopened bags and chunks come before messages of the
/// same time, since they may hold one that sorts earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time: u64,
    is_message: bool,
    topic: u32,
    part: u32,
    position: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Bag(u32),
    Chunk(u32, u32),
    Cursor(usize),
}

/// One open chunk.
#[derive(Debug, Default)]
struct Cursor {
    part: u32,
    bag: Option<Arc<Bag>>,
    /// `None` before its first chunk.
    buffer: Option<ChunkBuffer>,
    chunk: u32,
    /// The wanted messages in the timeline's direction.
    messages: Vec<Listed>,
    next: usize,
}

#[derive(Debug, Clone, Copy)]
struct Listed {
    log_time: LogTime,
    publish_time: LogTime,
    topic: u32,
    channel: u32,
    sequence: u32,
    /// Its number among the chunk's messages.
    ordinal: u32,
    payload_at: usize,
    payload_len: usize,
}

impl<'s> Timeline<'s> {
    /// A stream over `parts`, which stand in the order that breaks ties. `select` gives the rank
    /// of a wanted channel's topic, `None` for the others; `stop` may end it between chunks.
    pub fn new(
        parts: impl TimelineParts + 's,
        range: TimeRange,
        direction: Direction,
        options: ReadOptions,
        select: impl Fn(&Channel) -> Option<u32> + Send + 's,
        stop: impl Fn() -> bool + Send + 's,
    ) -> Self {
        let mut timeline = Self {
            parts: Box::new(parts),
            open: HashMap::new(),
            range,
            direction,
            options,
            select: Box::new(select),
            stop: Box::new(stop),
            heap: BinaryHeap::new(),
            cursors: Vec::new(),
            idle: Vec::new(),
            finished: None,
            report: TimelineReport::default(),
        };
        let entries: Vec<_> = (0u32..)
            .zip(0..timeline.parts.len())
            .filter_map(|(number, place)| {
                let (first, last) = timeline.parts.span(place)?;
                timeline.range.touches(first, last).then(|| {
                    Reverse(Entry {
                        key: timeline.opening_key(first, last, number),
                        target: Target::Bag(number),
                    })
                })
            })
            .collect();
        timeline.heap = entries.into();
        timeline
    }

    /// What it cost so far.
    pub fn report(&self) -> &TimelineReport {
        &self.report
    }

    /// The next message, or `None` at the end and when `stop` ended it.
    #[expect(clippy::should_implement_trait, reason = "a lending iterator: messages borrow")]
    pub fn next(&mut self) -> Option<Message<'_>> {
        if let Some(cursor) = self.finished.take() {
            self.retire(cursor);
        }
        let number = loop {
            let Reverse(entry) = self.heap.peek()?;
            match entry.target {
                Target::Cursor(number) => break number,
                Target::Bag(part) => {
                    self.heap.pop();
                    self.open_bag(part);
                }
                Target::Chunk(part, chunk) => {
                    self.heap.pop();
                    if (self.stop)() {
                        self.report.was_stopped = true;
                        self.heap.clear();
                        return None;
                    }
                    self.open_chunk(part, chunk);
                }
            }
        };
        self.advance(number);
        self.message(number)
    }

    /// Moves a cursor behind the message that is about to be lent, and sorts it in again.
    fn advance(&mut self, number: usize) {
        let Some(cursor) = self.cursors.get_mut(number) else { return };
        cursor.next += 1;
        let next = cursor
            .messages
            .get(cursor.next)
            .map(|listed| message_key(self.direction, listed, cursor.part, cursor.chunk));
        let Some(mut top) = self.heap.peek_mut() else { return };
        if let Some(key) = next {
            top.0.key = key;
        } else {
            PeekMut::pop(top);
            self.finished = Some(number);
        }
    }

    /// The message in front of a cursor's position.
    fn message(&self, number: usize) -> Option<Message<'_>> {
        let cursor = self.cursors.get(number)?;
        let listed = cursor.messages.get(cursor.next.checked_sub(1)?)?;
        let bag = cursor.bag.as_ref()?;
        let chunk = bag.contents().chunks.get(cursor.chunk as usize)?;
        let bytes = cursor.buffer.as_ref()?.held(bag.source(), chunk)?;
        let end = listed.payload_at.checked_add(listed.payload_len)?;
        Some(Message {
            part: cursor.part as usize,
            contents: bag.contents(),
            channel_index: listed.channel,
            channel: bag.contents().declared.channel(listed.channel)?,
            log_time: listed.log_time,
            publish_time: listed.publish_time,
            sequence: listed.sequence,
            payload: bytes.get(listed.payload_at..end)?,
        })
    }

    /// Replaces a bag by its chunks. The file is opened with the first chunk that is read.
    fn open_bag(&mut self, number: u32) {
        let part = match self.parts.part(number as usize) {
            Ok(part) => part,
            Err(skipped) => {
                self.report.skipped.push(skipped);
                return;
            }
        };
        let wanted: Vec<bool> = part
            .contents
            .declared
            .channels
            .iter()
            .map(|channel| (self.select)(channel).is_some())
            .collect();
        let mut n_chunks = 0;
        for (index, chunk) in (0u32..).zip(&part.contents.chunks) {
            let span = chunk
                .channels
                .iter()
                .filter(|seen| wanted.get(seen.channel as usize).copied().unwrap_or(false))
                .filter(|seen| self.range.touches(seen.first, seen.last))
                .map(|seen| (seen.first, seen.last))
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            if let Some((first, last)) = span {
                n_chunks += 1;
                self.heap.push(Reverse(Entry {
                    key: self.opening_key(first, last, number),
                    target: Target::Chunk(number, index),
                }));
            }
        }
        if n_chunks > 0 {
            self.open.insert(number, (part, n_chunks));
        }
    }

    fn open_chunk(&mut self, number: u32, index: u32) {
        let slot = self.idle.pop().unwrap_or_else(|| {
            self.cursors.push(Cursor::default());
            self.cursors.len() - 1
        });
        let filled = self.fill(slot, number, index);
        let path = self.forget_chunk(number);
        if let Err(error) = filled {
            let path = path.map(|path| path.to_path_buf()).unwrap_or_default();
            self.report.skipped.push((path, error));
            self.retire(slot);
            return;
        }
        let Some(cursor) = self.cursors.get(slot) else { return };
        match cursor.messages.first() {
            Some(first) => self.heap.push(Reverse(Entry {
                key: message_key(self.direction, first, number, index),
                target: Target::Cursor(slot),
            })),
            None => self.retire(slot),
        }
    }

    /// Lets a bag go with its last chunk, since a cursor on it holds what it needs. Returns where
    /// it lies.
    fn forget_chunk(&mut self, number: u32) -> Option<Arc<Path>> {
        let (part, n_chunks) = self.open.get_mut(&number)?;
        *n_chunks -= 1;
        let (path, is_last) = (part.path.clone(), *n_chunks == 0);
        if is_last {
            self.open.remove(&number);
        }
        Some(path)
    }

    /// Reads a chunk into a cursor and lists its wanted messages.
    fn fill(&mut self, slot: usize, number: u32, index: u32) -> Result<(), BagError> {
        let bag = self.bag(number)?;
        let Some(cursor) = self.cursors.get_mut(slot) else { return Ok(()) };
        let Some(chunk) = bag.contents().chunks.get(index as usize) else { return Ok(()) };
        cursor.part = number;
        cursor.chunk = index;
        cursor.next = 0;
        cursor.messages.clear();
        let buffer =
            cursor.buffer.get_or_insert_with(|| ChunkBuffer::spare_for(bag.inflated_chunk(chunk)));
        let bytes = bag.chunk_bytes(chunk, buffer)?;
        self.report.chunks_read += 1;
        self.report.chunk_bytes += chunk.len;
        let ranks: Vec<Option<u32>> =
            bag.contents().declared.channels.iter().map(&self.select).collect();
        let rank = |channel: u32| ranks.get(channel as usize).copied().flatten();
        let mut n_scanned = 0;
        let mut list = |(ordinal, message): (u32, MessageRef<'_>)| {
            n_scanned += 1;
            if let Some(topic) = rank(message.channel)
                && self.range.contains(message.log_time)
            {
                cursor.messages.push(Listed {
                    log_time: message.log_time,
                    publish_time: message.publish_time,
                    topic,
                    channel: message.channel,
                    sequence: message.sequence,
                    ordinal,
                    payload_at: message.payload.as_ptr().addr() - bytes.as_ptr().addr(),
                    payload_len: message.payload.len(),
                });
            }
        };
        let is_wanted = |channel: u32| rank(channel).is_some();
        let n_expected = if let Some(messages) = bag.messages_of(chunk, &is_wanted) {
            (0u32..).zip(messages).for_each(&mut list);
            chunk.n_messages_of(is_wanted)
        } else {
            (0u32..).zip(bag.messages(chunk, bytes)).for_each(&mut list);
            chunk.n_messages()
        };
        self.report.messages_scanned += n_scanned;
        if n_scanned != n_expected {
            // What has no checksum shows a change by its number only; what is there is served.
            let path = bag.source().path().to_owned();
            self.report.skipped.push((path.clone(), BagError::Changed { path }));
        }
        let order = |listed: &Listed| (listed.log_time, listed.topic, listed.ordinal);
        if !cursor.messages.is_sorted_by_key(order) {
            cursor.messages.sort_unstable_by_key(order);
        }
        if self.direction == Direction::Reverse {
            cursor.messages.reverse();
        }
        cursor.bag = Some(bag);
        Ok(())
    }

    /// The open bag of a part: that of a cursor on it, or the file opened anew.
    fn bag(&mut self, number: u32) -> Result<Arc<Bag>, BagError> {
        let open = self
            .cursors
            .iter()
            .filter(|cursor| cursor.part == number)
            .find_map(|cursor| cursor.bag.clone());
        if let Some(bag) = open {
            return Ok(bag);
        }
        let Some((part, _)) = self.open.get(&number) else {
            unreachable!("a bag is open until its last chunk was read")
        };
        let bag = Bag::open(&part.path, part.identity, part.contents.clone(), &self.options)?;
        self.report.bags_opened += 1;
        if let Some(kind) = bag.data_fault()? {
            let path = part.path.to_path_buf();
            self.report.skipped.push((path, BagError::damaged(0, kind)));
        }
        Ok(Arc::new(bag))
    }

    /// Keeps a cursor's buffers for the next chunk. Its bag stays open until then: the next
    /// chunk is most often one of the same bag.
    fn retire(&mut self, slot: usize) {
        if let Some(cursor) = self.cursors.get_mut(slot) {
            cursor.messages.clear();
            self.idle.push(slot);
        }
    }

    /// When a bag or chunk with messages from `first` to `last` must be opened.
    fn opening_key(&self, first: LogTime, last: LogTime, part: u32) -> Key {
        let time = match self.direction {
            Direction::Forward => first.max(self.range.start).as_ns(),
            Direction::Reverse => !last.min(self.range.end).as_ns(),
        };
        Key { time, is_message: false, topic: 0, part, position: 0 }
    }
}

impl Drop for Timeline<'_> {
    fn drop(&mut self) {
        for cursor in self.cursors.drain(..) {
            cursor.buffer.into_iter().for_each(ChunkBuffer::keep_as_spare);
        }
    }
}

fn message_key(direction: Direction, listed: &Listed, part: u32, chunk: u32) -> Key {
    let position = u64::from(chunk) << 32 | u64::from(listed.ordinal);
    let time = listed.log_time.as_ns();
    match direction {
        Direction::Forward => Key { time, is_message: true, topic: listed.topic, part, position },
        Direction::Reverse => Key {
            time: !time,
            is_message: true,
            topic: !listed.topic,
            part: !part,
            position: !position,
        },
    }
}
