/// How far from the samples a buffer still answers.
///
/// Both bounds are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The widest distance between two samples that are interpolated, in nanoseconds.
    pub max_gap_ns: u64,
    /// How far from the nearest sample that one is held, in nanoseconds.
    pub max_extrapolation_ns: u64,
}

impl Default for Limits {
    /// One second between samples, half a second beyond them.
    fn default() -> Self {
        Self { max_gap_ns: 1_000_000_000, max_extrapolation_ns: 500_000_000 }
    }
}

/// Names the recording that a sample comes from.
///
/// Between two runs the robot may have been carried elsewhere and odometry starts from zero
/// again, so samples of different runs are never interpolated with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Run(pub u32);
