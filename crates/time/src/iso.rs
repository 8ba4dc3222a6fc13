use jiff::Timestamp;

use crate::{LogTime, NS_PER_S, TimeError};

impl LogTime {
    /// Reads ISO 8601 (RFC 3339) with a zone or offset.
    ///
    /// # Errors
    ///
    /// [`TimeError::Iso`] when the text is no such time, [`TimeError::OutOfRange`] when the
    /// moment is before 1970.
    ///
    /// # Examples
    ///
    /// ```
    /// use ros2_memory_time::LogTime;
    ///
    /// let t = LogTime::from_iso_8601("2026-11-30T11:44:00.5+01:00").unwrap();
    /// assert_eq!(t.to_iso_8601(), "2026-11-30T10:44:00.500000000Z");
    /// ```
    pub fn from_iso_8601(text: &str) -> Result<Self, TimeError> {
        let stamp: Timestamp =
            text.parse().map_err(|e: jiff::Error| TimeError::Iso { reason: e.to_string() })?;
        u64::try_from(stamp.as_nanosecond())
            .map(Self::from_ns)
            .map_err(|_before_1970| TimeError::OutOfRange)
    }

    /// Writes ISO 8601 in UTC with nine digits of a second.
    ///
    /// # Panics
    ///
    /// Never: every 64-bit count of nanoseconds lies inside jiff's years -9999 to 9999.
    pub fn to_iso_8601(self) -> String {
        let nanos = i128::from(self.as_ns());
        match Timestamp::from_nanosecond(nanos) {
            Ok(stamp) => format!("{stamp:.9}"),
            Err(_) => unreachable!("u64 nanoseconds end in 2554, jiff's range in 9999"),
        }
    }

    /// Writes whole seconds, a point and nine digits, as `ros2 bag info` does.
    pub fn to_decimal_s(self) -> String {
        format!("{}.{:09}", self.as_ns() / NS_PER_S, self.as_ns() % NS_PER_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_required() {
        assert!(matches!(
            LogTime::from_iso_8601("2026-11-30T10:44:00"),
            Err(TimeError::Iso { .. })
        ));
    }

    #[test]
    fn before_1970_is_out_of_range() {
        assert_eq!(LogTime::from_iso_8601("1969-12-31T23:59:59Z"), Err(TimeError::OutOfRange));
    }

    #[test]
    fn the_last_moment_can_be_written() {
        assert_eq!(LogTime::MAX.to_iso_8601(), "2554-07-21T23:34:33.709551615Z");
        assert_eq!(LogTime::from_ns(1_000_000_002).to_decimal_s(), "1.000000002");
    }
}
