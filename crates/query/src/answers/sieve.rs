//! Going over many bags at once to leave out those without a match.

use std::{
    collections::HashMap,
    num::NonZero,
    ops::AddAssign,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ros2_memory_bag::{Bag, ChunkBuffer, Declarations, MessageRef, ReadOptions};
use ros2_memory_catalog::{Snapshot, TopicSummary};
use ros2_memory_msg::PlanReader;

use super::{matcher::matcher, matching::Search};
use crate::{CallContext, TypeCache, query::Query};

/// More threads gain little: they share the disk and the memory.
const MAX_THREADS: usize = 4;

/// Reads whole bags on all processors and leaves out those in which nothing matches.
///
/// What is out of the ordinary in a bag, such as a message that cannot be read, keeps it in: the
/// reader in order, which comes behind, finds words for it.
pub(crate) struct Sieve<'q> {
    snapshot: &'q Snapshot,
    types: &'q TypeCache,
    read: ReadOptions,
    context: &'q CallContext,
    search: &'q Search,
    topics: &'q [&'q TopicSummary],
}

/// What bags that were left out had cost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cost {
    pub(crate) bags: u64,
    pub(crate) chunks: u64,
    pub(crate) chunk_bytes: u64,
    pub(crate) messages: u64,
    /// Messages that were compared with the condition.
    pub(crate) compared: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.bags += other.bags;
        self.chunks += other.chunks;
        self.chunk_bytes += other.chunk_bytes;
        self.messages += other.messages;
        self.compared += other.compared;
    }
}

impl<'q> Sieve<'q> {
    pub(crate) fn new(
        query: &'q Query<'_>,
        snapshot: &'q Snapshot,
        search: &'q Search,
        topics: &'q [&'q TopicSummary],
    ) -> Self {
        let Query { types, read, context, .. } = query;
        Self { snapshot, types, read: *read, context, search, topics }
    }

    /// The bags out of `places` that may have a match, in their order.
    pub(crate) fn keep(&self, places: &[u32]) -> (Vec<u32>, Cost) {
        let n_threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let next = AtomicUsize::new(0);
        let kept = Mutex::new((Vec::new(), Cost::default()));
        let work = || {
            let mut worker =
                Worker { sieve: self, readers: HashMap::new(), buffer: ChunkBuffer::default() };
            let (mut own, mut cost) = (Vec::new(), Cost::default());
            while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                // Out of time, all that is left is kept: the reader in order says so.
                let is_out = self.context.should_stop();
                match if is_out { None } else { worker.without_match(*place) } {
                    Some(of_bag) => {
                        cost += of_bag;
                    }
                    None => own.push(*place),
                }
            }
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.0.append(&mut own);
            kept.1 += cost;
        };
        thread::scope(|scope| {
            for _other in 1..n_threads {
                scope.spawn(work);
            }
            work();
        });
        let (mut places, cost) = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        places.sort_unstable();
        (places, cost)
    }
}

/// One thread's part.
struct Worker<'s, 'q> {
    sieve: &'s Sieve<'q>,
    /// For each channel of some declarations how to read it; `None` where that is a matter for
    /// words.
    readers: HashMap<(*const Declarations, u32), Option<PlanReader>>,
    buffer: ChunkBuffer,
}

impl Worker<'_, '_> {
    /// What it cost to see that a bag has no match; `None` when it may have one, or cannot be read
    /// to its end without a word.
    fn without_match(&mut self, place: u32) -> Option<Cost> {
        let Self { sieve, readers, buffer } = self;
        let view = sieve.snapshot.bag(place)?;
        let part = sieve.snapshot.timeline_part(&view.entry);
        let declared = part.contents.declared.clone();
        let wanted: Vec<bool> = declared
            .channels
            .iter()
            .map(|channel| sieve.topics.iter().any(|topic| topic.topic == channel.topic))
            .collect();
        let is_wanted = |channel: u32| wanted.get(channel as usize).copied().unwrap_or(false);
        let mut bag = None;
        let mut cost = Cost { bags: 1, ..Cost::default() };
        for chunk in &part.contents.chunks {
            if !chunk.channels.iter().any(|seen| is_wanted(seen.channel)) {
                continue;
            }
            if bag.is_none() {
                let open = Bag::open(&part.path, part.identity, part.contents.clone(), &sieve.read);
                let open = open.ok()?;
                // What its checksum says is for words.
                if !matches!(open.data_fault(), Ok(None)) {
                    return None;
                }
                bag = Some(open);
            }
            let bag = bag.as_ref()?;
            if sieve.context.should_stop() {
                return None;
            }
            let bytes = bag.chunk_bytes(chunk, buffer).ok()?;
            let mut n_messages = 0;
            let mut has_no_match = |message: MessageRef<'_>| {
                n_messages += 1;
                if !is_wanted(message.channel) {
                    return Some(());
                }
                let key = (Arc::as_ptr(&declared), message.channel);
                let reader = readers
                    .entry(key)
                    .or_insert_with(|| sieve.reader(&declared, message.channel))
                    .as_mut()?;
                let mut is_match = false;
                let outcome = reader.read(message.payload, |_, value| {
                    is_match = is_match || sieve.search.condition.matches(&value);
                });
                if is_match || outcome.is_err() {
                    return None;
                }
                cost.compared += 1;
                Some(())
            };
            let n_expected = if let Some(mut messages) = bag.messages_of(chunk, &is_wanted) {
                messages.try_for_each(&mut has_no_match)?;
                chunk.n_messages_of(is_wanted)
            } else {
                bag.messages(chunk, bytes).try_for_each(&mut has_no_match)?;
                chunk.n_messages()
            };
            if n_messages != n_expected {
                return None;
            }
            cost.chunks += 1;
            cost.chunk_bytes += chunk.len;
            cost.messages += n_messages;
        }
        Some(cost)
    }
}

impl Sieve<'_> {
    fn reader(&self, declared: &Declarations, place: u32) -> Option<PlanReader> {
        let view = self.types.view(declared, declared.channel(place)?);
        let paths = self.types.map().get(&view.type_name);
        matcher(&view, paths, self.search).ok().map(PlanReader::new)
    }
}
