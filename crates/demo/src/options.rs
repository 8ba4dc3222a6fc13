use ros2_memory_time::{LogTime, NS_PER_S};

use crate::DemoError;

/// The shortest history, in seconds: room for a fault and for driving around it.
const LEAST_S: u64 = 10;
/// The longest history, in seconds: 400 days, far below 2^32 messages a channel.
const MOST_S: u64 = 400 * 24 * 3600;
/// The latest fault, as a share of the history.
const LATEST_FAULT_PERCENT: u8 = 90;
/// The last second of `builtin_interfaces/msg/Time`.
const LAST_STAMP_S: u64 = 2_147_483_647;

/// What history to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Chooses where the robot goes, what it overlooks, and when; equal seeds, equal histories.
    pub seed: u64,
    /// The beginning of the history; the first record follows within milliseconds.
    pub start: LogTime,
    /// The length of the history, in seconds; the last record lies before its end.
    pub duration_s: u64,
    /// The length of one split, in seconds.
    pub split_s: u64,
    /// Where in the history the motor fails, in percent; moved to the next longer drive when the
    /// robot stands there at that time.
    pub fault_percent: u8,
}

impl Options {
    /// Splits of ten seconds and a fault at 60 %.
    pub const fn new(seed: u64, start: LogTime, duration_s: u64) -> Self {
        Self { seed, start, duration_s, split_s: 10, fault_percent: 60 }
    }

    /// The same history in splits of another length.
    #[must_use]
    pub const fn with_split_s(self, split_s: u64) -> Self {
        Self { split_s, ..self }
    }

    /// The same history with its fault elsewhere.
    #[must_use]
    pub const fn with_fault_percent(self, fault_percent: u8) -> Self {
        Self { fault_percent, ..self }
    }

    pub(crate) fn check(&self) -> Result<(), DemoError> {
        if !(LEAST_S..=MOST_S).contains(&self.duration_s) {
            return Err(DemoError::Duration {
                duration_s: self.duration_s,
                least_s: LEAST_S,
                most_s: MOST_S,
            });
        }
        if self.split_s == 0 {
            return Err(DemoError::EmptySplit);
        }
        if self.fault_percent > LATEST_FAULT_PERCENT {
            return Err(DemoError::FaultPlace {
                percent: self.fault_percent,
                most: LATEST_FAULT_PERCENT,
            });
        }
        let end_s = (self.start.as_ns() / NS_PER_S).saturating_add(self.duration_s);
        if end_s >= LAST_STAMP_S {
            return Err(DemoError::TooLate { end_s, last_s: LAST_STAMP_S });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_without_a_history_are_refused() {
        let good = Options::new(1, LogTime::from_ns(1_700_000_000 * NS_PER_S), 60);
        assert_eq!(good.check(), Ok(()));
        let short = Options { duration_s: 9, ..good.clone() };
        assert!(matches!(short.check(), Err(DemoError::Duration { duration_s: 9, .. })));
        let endless = Options { duration_s: u64::MAX, ..good.clone() };
        assert!(matches!(endless.check(), Err(DemoError::Duration { .. })));
        assert_eq!(good.clone().with_split_s(0).check(), Err(DemoError::EmptySplit));
        let late_fault = good.clone().with_fault_percent(91).check();
        assert!(matches!(late_fault, Err(DemoError::FaultPlace { percent: 91, .. })));
        let late = Options { start: LogTime::MAX, ..good };
        assert!(matches!(late.check(), Err(DemoError::TooLate { .. })));
    }
}
