use std::collections::HashMap;

use ros2_memory_time::LogTime;

use super::{record::MessageRecord, registry::Registry, scan::ScannedMessage};
use crate::{Chunk, ChunkChannel, bag::MAX_PLAUSIBLE_NS};

/// A chunk rarely has more channels than this; among so few a search beats a map.
const MANY: usize = 24;

/// What was counted of one chunk.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) channels: Vec<ChunkChannel>,
    pub(super) unknown: Vec<(u16, u64)>,
    pub(super) implausible: u64,
    /// By channel, its place in `channels`: from the [`MANY`]th on.
    places: HashMap<u32, usize>,
    last_time: u64,
    is_unsorted: bool,
}

impl Tally {
    /// Counts a message and returns it, when it can be served.
    #[inline]
    pub(super) fn add<'a>(
        &mut self,
        registry: &Registry,
        message: &MessageRecord<'a>,
    ) -> Option<ScannedMessage<'a>> {
        let Some(channel) = registry.channel(message.channel_id) else {
            match self.unknown.iter_mut().find(|(id, _)| *id == message.channel_id) {
                Some((_, count)) => *count += 1,
                None => self.unknown.push((message.channel_id, 1)),
            }
            return None;
        };
        if message.log_time > MAX_PLAUSIBLE_NS {
            self.implausible += 1;
            return None;
        }
        self.is_unsorted |= message.log_time < self.last_time;
        self.last_time = message.log_time;
        let log_time = LogTime::from_ns(message.log_time);
        match self.seen(channel) {
            Some(seen) => {
                seen.count = seen.count.saturating_add(1);
                seen.first = seen.first.min(log_time);
                seen.last = seen.last.max(log_time);
            }
            None => self.begin(channel, log_time),
        }
        Some(ScannedMessage { channel, log_time, payload: message.payload })
    }

    #[inline]
    fn seen(&mut self, channel: u32) -> Option<&mut ChunkChannel> {
        let few = self.channels.len().min(MANY);
        let place = self.channels.iter().take(few).position(|seen| seen.channel == channel);
        let place = place.or_else(|| self.places.get(&channel).copied())?;
        self.channels.get_mut(place)
    }

    /// Counts the first message of a channel.
    fn begin(&mut self, channel: u32, log_time: LogTime) {
        if self.channels.len() >= MANY {
            self.places.insert(channel, self.channels.len());
        }
        self.channels.push(ChunkChannel { channel, count: 1, first: log_time, last: log_time });
    }

    /// The chunk with what was counted in it.
    pub(super) fn of(self, mut chunk: Chunk) -> Chunk {
        chunk.is_sorted = !self.is_unsorted;
        chunk.first = self.channels.iter().map(|c| c.first).min().unwrap_or_default();
        chunk.last = self.channels.iter().map(|c| c.last).max().unwrap_or_default();
        chunk.channels = self.channels;
        chunk
    }
}
