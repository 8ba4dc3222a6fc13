//! The few conversions between integers and floats, each with its reason.

/// The nearest double; every count here is far below 2^53.
#[expect(clippy::cast_precision_loss, reason = "offsets and counts stay below 2^53")]
pub(crate) const fn float(n: u64) -> f64 {
    n as f64
}

/// Seconds of a count of nanoseconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    float(ns) * 1e-9
}

/// The nearest single-precision value, as sensors publish.
#[expect(clippy::cast_possible_truncation, reason = "rounding to single precision is meant")]
pub(crate) const fn single(x: f64) -> f32 {
    x as f32
}

/// The whole part of a value that is not negative; 0 for negative ones and NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturation at both ends is meant"
)]
pub(crate) const fn whole(x: f64) -> u64 {
    x as u64
}

/// The whole part as a pixel coordinate, saturating.
#[expect(clippy::cast_possible_truncation, reason = "saturation at both ends is meant")]
pub(crate) const fn pixel(x: f64) -> i32 {
    x as i32
}

/// A count as an index into memory.
pub(crate) fn place(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// An index into memory as a count.
pub(crate) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// The low 32 bits, for sequence counters.
pub(crate) fn sequence(n: u64) -> u32 {
    u32::try_from(n & 0xffff_ffff).unwrap_or(u32::MAX)
}
