use crate::{
    chance::{Chance, Lane},
    number::{count, place},
};

/// Every channel has a window of its own in this raster for its log times, so that no two
/// records of a history share a log time.
pub(crate) const RASTER_NS: u64 = 50_000_000;
/// From here to the end of the raster no record is logged.
pub(crate) const QUIET_NS: u64 = 43_000_000;
/// The longest way from stamp to log.
const MOST_DELAY_NS: u64 = 4_000_000;

/// When a channel's messages are stamped.
#[derive(Debug)]
pub(crate) enum Stamps {
    Every { period_ns: u64, phase_ns: u64 },
    At(Vec<u64>),
}

/// When a channel's messages are stamped and logged, in nanoseconds after the start.
#[derive(Debug)]
pub(crate) struct Timetable {
    pub(crate) stamps: Stamps,
    pub(crate) chance: Chance,
    pub(crate) channel: u8,
    /// Least delay from stamp to log, and how much longer it may be.
    pub(crate) delay_ns: (u64, u64),
}

impl Timetable {
    /// The stamp of message `k`; past the last message the end of time.
    pub(crate) fn stamp_ns(&self, k: u64) -> u64 {
        match &self.stamps {
            Stamps::Every { period_ns, phase_ns } => {
                phase_ns.saturating_add(period_ns.saturating_mul(k))
            }
            Stamps::At(stamps) => stamps.get(place(k)).copied().unwrap_or(u64::MAX),
        }
    }

    /// The log time of message `k`; grows with `k`.
    pub(crate) fn log_ns(&self, k: u64) -> u64 {
        let (least, width) = self.delay_ns;
        let delay = least + self.chance.below(Lane::Jitter(self.channel), k, width);
        self.stamp_ns(k).saturating_add(delay)
    }

    /// The first message logged at `bound_ns` or later.
    pub(crate) fn first_from(&self, bound_ns: u64) -> u64 {
        let surely_before = bound_ns.saturating_sub(MOST_DELAY_NS);
        let mut k = match &self.stamps {
            Stamps::Every { period_ns, phase_ns } => {
                surely_before.saturating_sub(*phase_ns).checked_div(*period_ns).unwrap_or(0)
            }
            Stamps::At(stamps) => count(stamps.partition_point(|stamp| *stamp < surely_before)),
        };
        while self.log_ns(k) < bound_ns {
            k += 1;
        }
        k
    }
}

/// The first time of the raster with this phase that is not before `at_ns`.
pub(crate) fn on_raster(at_ns: u64, phase_ns: u64) -> u64 {
    at_ns.saturating_sub(phase_ns).div_ceil(RASTER_NS) * RASTER_NS + phase_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_from_a_bound_is_the_one_a_search_finds() {
        let stamps = (0..50).map(|k| k * k * RASTER_NS + 7).collect();
        for stamps in [Stamps::Every { period_ns: RASTER_NS, phase_ns: 77 }, Stamps::At(stamps)] {
            let table = Timetable {
                stamps,
                chance: Chance::new(2),
                channel: 3,
                delay_ns: (500_000, 3_500_000),
            };
            for k in 0..40 {
                let log_ns = table.log_ns(k);
                assert!((500_000..4_000_000).contains(&(log_ns - table.stamp_ns(k))));
                assert_eq!(table.first_from(log_ns), k);
                assert_eq!(table.first_from(log_ns + 1), k + 1);
            }
            assert_eq!(table.first_from(0), 0);
        }
    }

    #[test]
    fn the_raster_rounds_up() {
        assert_eq!(on_raster(0, 5), 5);
        assert_eq!(on_raster(5, 5), 5);
        assert_eq!(on_raster(6, 5), RASTER_NS + 5);
    }
}
