/// Why a text or a number is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// A float that is NaN or infinite.
    #[error("not a finite number of seconds")]
    NotFinite,
    /// A time before 1970 or after 2554, which 64 bits of nanoseconds cannot hold.
    #[error("outside 1970-01-01 to 2554-07-21")]
    OutOfRange,
    /// A text that is not ISO 8601 with a zone.
    #[error("not an ISO 8601 time with a zone such as 2026-11-30T10:44:00Z: {reason}")]
    Iso {
        /// What the parser said.
        reason: String,
    },
}
