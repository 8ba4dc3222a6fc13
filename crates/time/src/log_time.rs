use crate::{NS_PER_S, TimeError};

/// A moment in integer nanoseconds since the Unix epoch, as MCAP's `log_time`.
///
/// Arithmetic saturates at the ends of the range: a recorder with a broken clock writes times
/// near zero and near 2^64, and neither may wrap round into an answer.
///
/// # Examples
///
/// ```
/// use ros2_memory_time::LogTime;
///
/// let t = LogTime::from_ns(1_796_039_506_161_000_001);
/// let seen_by_a_tool = t.to_unix_s();
/// let back = LogTime::from_unix_s(seen_by_a_tool).unwrap();
/// assert!(t.abs_diff_ns(back) < 500);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LogTime(u64);

impl LogTime {
    /// 1970-01-01T00:00:00Z.
    pub const ZERO: Self = Self(0);
    /// The last representable moment, in the year 2554.
    pub const MAX: Self = Self(u64::MAX);

    /// The moment `ns` nanoseconds after the Unix epoch.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The nearest nanosecond to `unix_s` seconds since the epoch.
    ///
    /// A double near today's epoch resolves about 240 ns, so the float of a time is up to 120 ns
    /// away from it.
    ///
    /// # Errors
    ///
    /// [`TimeError::NotFinite`] for NaN and infinities, [`TimeError::OutOfRange`] for a time
    /// before 1970 or after 2554.
    pub fn from_unix_s(unix_s: f64) -> Result<Self, TimeError> {
        if !unix_s.is_finite() {
            return Err(TimeError::NotFinite);
        }
        if !(0.0..18_446_744_073.0).contains(&unix_s) {
            return Err(TimeError::OutOfRange);
        }
        // Both parts are exact: `trunc` keeps at most 35 bits, and the rest of a double that
        // large has no bits below a nanosecond that matter.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to lie in 0..2^64 just above"
        )]
        let (whole_s, part_ns) = (unix_s.trunc() as u64, (unix_s.fract() * 1e9).round() as u64);
        Ok(Self(whole_s * NS_PER_S + part_ns))
    }

    /// Seconds since the epoch as the nearest double.
    #[expect(clippy::cast_precision_loss, reason = "the tool boundary speaks doubles; see above")]
    pub fn to_unix_s(self) -> f64 {
        (self.0 / NS_PER_S) as f64 + (self.0 % NS_PER_S) as f64 / 1e9
    }

    /// This moment `ns` later, at most [`Self::MAX`].
    #[must_use]
    pub const fn saturating_add_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// This moment `ns` earlier, at least [`Self::ZERO`].
    #[must_use]
    pub const fn saturating_sub_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_sub(ns))
    }

    /// The distance between two moments, whichever is earlier.
    pub const fn abs_diff_ns(self, other: Self) -> u64 {
        self.0.abs_diff(other.0)
    }

    /// Nanoseconds from `earlier` to this moment; 0 when `earlier` is not earlier.
    pub const fn since_ns(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl std::fmt::Display for LogTime {
    /// Writes ISO 8601 in UTC with nanoseconds.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_iso_8601())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_fed_back_as_a_float_is_less_than_500_ns_away() {
        let mut ns: u64 = 1_600_000_000_000_000_007;
        for _ in 0..20_000 {
            let t = LogTime::from_ns(ns);
            let back = LogTime::from_unix_s(t.to_unix_s()).unwrap();
            assert!(t.abs_diff_ns(back) <= 120, "{ns}");
            ns += 9_999_999_967;
        }
    }

    #[test]
    fn small_times_survive_exactly() {
        for ns in [0, 1, 999_999_999, 1_000_000_000, 5_000_000_001] {
            let t = LogTime::from_ns(ns);
            assert_eq!(LogTime::from_unix_s(t.to_unix_s()), Ok(t));
        }
    }

    #[test]
    fn floats_that_are_no_time_are_refused() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(LogTime::from_unix_s(bad), Err(TimeError::NotFinite));
        }
        for bad in [-1e-9, -1.0, 1e11, 1e308] {
            assert_eq!(LogTime::from_unix_s(bad), Err(TimeError::OutOfRange));
        }
    }

    #[test]
    fn arithmetic_stops_at_the_ends() {
        assert_eq!(LogTime::ZERO.saturating_sub_ns(1), LogTime::ZERO);
        assert_eq!(LogTime::MAX.saturating_add_ns(1), LogTime::MAX);
        assert_eq!(LogTime::from_ns(3).since_ns(LogTime::from_ns(5)), 0);
    }
}
