use ros2_memory_time::LogTime;

use super::{record::MessageRecord, registry::Registry, scan::ScannedMessage};
use crate::{ChunkChannel, bag::MAX_PLAUSIBLE_NS};

/// What was counted of one chunk.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) channels: Vec<ChunkChannel>,
    pub(super) unknown: Vec<(u16, u64)>,
    pub(super) implausible: u64,
    last_time: u64,
    pub(super) is_unsorted: bool,
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
        // A chunk rarely has more than a dozen channels, so a search beats a map.
        match self.channels.iter_mut().find(|seen| seen.channel == channel) {
            Some(seen) => {
                seen.count = seen.count.saturating_add(1);
                seen.first = seen.first.min(log_time);
                seen.last = seen.last.max(log_time);
            }
            None => self.channels.push(ChunkChannel {
                channel,
                count: 1,
                first: log_time,
                last: log_time,
            }),
        }
        Some(ScannedMessage { channel, log_time, payload: message.payload })
    }
}
