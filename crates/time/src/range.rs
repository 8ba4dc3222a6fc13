use crate::LogTime;

/// A half-open range of moments: `start` is inside, `end` is not.
///
/// An empty range has `end <= start`. The very last nanosecond ([`LogTime::MAX`]) is reachable
/// only through [`TimeRange::ALL`]-like ranges, and no clock shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// The first moment inside.
    pub start: LogTime,
    /// The first moment after the range.
    pub end: LogTime,
}

impl TimeRange {
    /// Every moment but the last nanosecond of 2554.
    pub const ALL: Self = Self { start: LogTime::ZERO, end: LogTime::MAX };

    /// The moments from `start`, inclusive, to `end`, exclusive.
    pub const fn new(start: LogTime, end: LogTime) -> Self {
        Self { start, end }
    }

    /// The moments from `first` to `last`, both inclusive: what the tools call `[start, end]`.
    pub const fn closed(first: LogTime, last: LogTime) -> Self {
        Self { start: first, end: last.saturating_add_ns(1) }
    }

    /// Whether no moment lies inside.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Whether `t` lies inside.
    pub fn contains(self, t: LogTime) -> bool {
        self.start <= t && t < self.end
    }

    /// Whether any moment of the closed interval `first..=last` lies inside.
    pub fn touches(self, first: LogTime, last: LogTime) -> bool {
        !self.is_empty() && first <= last && first < self.end && self.start <= last
    }

    /// The moments inside both ranges.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        Self { start: self.start.max(other.start), end: self.end.min(other.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(t: u64) -> LogTime {
        LogTime::from_ns(t)
    }

    #[test]
    fn the_end_of_a_closed_range_is_inside() {
        let range = TimeRange::closed(ns(5), ns(9));
        assert!(range.contains(ns(5)) && range.contains(ns(9)) && !range.contains(ns(10)));
        assert!(!TimeRange::new(ns(5), ns(9)).contains(ns(9)));
    }

    #[test]
    fn touching_includes_both_ends() {
        let range = TimeRange::new(ns(5), ns(9));
        assert!(range.touches(ns(0), ns(5)) && range.touches(ns(8), ns(20)));
        assert!(!range.touches(ns(0), ns(4)) && !range.touches(ns(9), ns(20)));
        assert!(!TimeRange::new(ns(5), ns(5)).touches(ns(0), ns(9)));
    }

    #[test]
    fn disjoint_ranges_meet_in_an_empty_one() {
        assert!(TimeRange::new(ns(0), ns(3)).intersect(TimeRange::new(ns(3), ns(9))).is_empty());
    }
}
