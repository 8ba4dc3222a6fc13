/// Why no history can be made from some options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// A history too short to hold a fault, or too long for 32-bit sequence counters.
    #[error("a history of {duration_s} s is not between {least_s} and {most_s} s")]
    Duration {
        /// What was asked.
        duration_s: u64,
        /// The shortest history.
        least_s: u64,
        /// The longest history.
        most_s: u64,
    },
    /// Splits of no length.
    #[error("a split of 0 s holds nothing")]
    EmptySplit,
    /// A fault outside the history.
    #[error("a fault at {percent} % of the history is not between 0 and {most} %")]
    FaultPlace {
        /// What was asked.
        percent: u8,
        /// The latest place.
        most: u8,
    },
    /// A header stamp holds its seconds in 31 bits.
    #[error("a history that ends {end_s} s after 1970 is past the last stamp, {last_s} s")]
    TooLate {
        /// The end that was asked.
        end_s: u64,
        /// The last second a stamp can hold.
        last_s: u64,
    },
}
