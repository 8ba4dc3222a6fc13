use ros2_memory_time::{LogTime, NS_PER_S};

use crate::{
    encode::{Encoder, Moment},
    error::DemoError,
    events::{estop_changes, log_lines},
    number::{count, place, sequence},
    options::Options,
    record::{ChannelSpec, Record},
    scan::Scanner,
    source::{SOURCES, Source},
    timetable::Timetable,
    truth::Truth,
    world::World,
};

/// From stamp to publication.
const PUBLISH_DELAY_NS: u64 = 200_000;

/// A robot's history: a plan made at once, and records made as they are asked for.
///
/// Every split can be made alone, in any order and on any thread, and always has the same bytes.
/// Within a history no two records share a log time.
#[derive(Debug)]
pub struct History {
    options: Options,
    world: World,
    encoder: Encoder,
    channels: Vec<ChannelSpec>,
    tracks: Vec<Track>,
}

/// One channel's messages: the first `messages` of its timetable.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) source: Source,
    pub(crate) table: Timetable,
    pub(crate) messages: u64,
}

impl History {
    /// Plans a history. A week takes a few milliseconds and megabytes.
    ///
    /// # Errors
    ///
    /// A [`DemoError`] that names the option without a history.
    pub fn new(options: Options) -> Result<Self, DemoError> {
        options.check()?;
        let world = World::new(&options);
        let encoder = Encoder {
            scanner: Scanner::new(),
            estop: estop_changes(&world, Source::Estop.event_phase_ns()),
            log: log_lines(&world, Source::Log.event_phase_ns()),
        };
        let tracks = SOURCES
            .map(|source| {
                let events = match source {
                    Source::Estop => encoder.estop.iter().map(|it| it.stamp_ns).collect(),
                    Source::Log => encoder.log.iter().map(|it| it.stamp_ns).collect(),
                    _ => Vec::new(),
                };
                let table = source.timetable(world.chance, events);
                let messages = table.first_from(world.duration_ns);
                Track { source, table, messages }
            })
            .into();
        let channels = SOURCES.iter().map(|source| source.channel()).collect();
        Ok(Self { options, world, encoder, channels, tracks })
    }

    /// What this history was made of.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The publishers; [`Record::channel`] counts them from 0.
    pub fn channels(&self) -> &[ChannelSpec] {
        &self.channels
    }

    /// How many splits the history has; the last one may be shorter.
    pub fn n_splits(&self) -> usize {
        place(self.options.duration_s.div_ceil(self.options.split_s))
    }

    /// The records logged during split `split`, in the order of their log times; none past the
    /// last split.
    ///
    /// Split `i` covers `split_s` seconds from `start + i * split_s`. Latched messages are in the
    /// first split only.
    pub fn split(&self, split: usize) -> Vec<Record> {
        let length_ns = self.options.split_s.saturating_mul(NS_PER_S);
        let from_ns = count(split).saturating_mul(length_ns);
        let to_ns = from_ns.saturating_add(length_ns).min(self.world.duration_ns);
        let mut records = Vec::new();
        if from_ns >= to_ns {
            return records;
        }
        for (channel, track) in self.tracks.iter().enumerate() {
            let mut capacity = 64;
            for k in track.table.first_from(from_ns)..track.table.first_from(to_ns) {
                let record = self.record(channel, track, k, capacity);
                capacity = record.payload.len();
                records.push(record);
            }
        }
        records.sort_unstable_by_key(|record| record.log_time);
        records
    }

    /// What really happened, from the world itself; a few seconds for a week.
    pub fn truth(&self) -> Truth {
        Truth::of(self)
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    pub(crate) fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The moment `offset_ns` after the start.
    pub(crate) fn time(&self, offset_ns: u64) -> LogTime {
        self.options.start.saturating_add_ns(offset_ns)
    }

    fn record(&self, channel: usize, track: &Track, k: u64, capacity: usize) -> Record {
        let at_ns = track.table.stamp_ns(k);
        let stamp = self.time(at_ns);
        let moment = Moment { at_ns, stamp, k };
        Record {
            channel,
            log_time: self.time(track.table.log_ns(k)),
            publish_time: stamp.saturating_add_ns(PUBLISH_DELAY_NS),
            sequence: sequence(k),
            payload: self.encoder.payload(&self.world, track.source, moment, capacity),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_can_be_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<History>();
    }
}
