use std::sync::Arc;

/// Between which values the numbers of one field lie, over the messages of one topic of a bag.
///
/// Rounded outwards to single precision; truth values count as 0 and 1, and what is not a number
/// is left out. Without any numbers, `min` is larger than `max`.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// The field's path.
    pub path: Arc<str>,
    /// No number is smaller.
    pub min: f32,
    /// No number is larger.
    pub max: f32,
}

/// Numbers from one to another, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Span {
    /// Without numbers.
    pub const NONE: Self = Self { min: f64::INFINITY, max: f64::NEG_INFINITY };
    /// Every number.
    pub const ALL: Self = Self { min: f64::NEG_INFINITY, max: f64::INFINITY };

    /// Makes room for a number.
    pub fn add(&mut self, number: f64) {
        // Comparing with what is not a number is false both times.
        if number < self.min {
            self.min = number;
        }
        if number > self.max {
            self.max = number;
        }
    }

    /// Whether some number may lie in both.
    pub fn touches(self, min: f32, max: f32) -> bool {
        self.min <= f64::from(max) && self.max >= f64::from(min)
    }
}

/// The largest single that is not larger.
#[expect(clippy::cast_possible_truncation, reason = "rounded, and then put right")]
pub(crate) fn round_down(number: f64) -> f32 {
    let near = number as f32;
    if f64::from(near) > number { near.next_down() } else { near }
}

/// The smallest single that is not smaller.
#[expect(clippy::cast_possible_truncation, reason = "rounded, and then put right")]
pub(crate) fn round_up(number: f64) -> f32 {
    let near = number as f32;
    if f64::from(near) < number { near.next_up() } else { near }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rounding_is_outward_and_tight(number in prop_oneof![any::<f64>(), -1e3..1e3f64]) {
            prop_assume!(!number.is_nan());
            let (down, up) = (round_down(number), round_up(number));
            prop_assert!(f64::from(down) <= number && number <= f64::from(up));
            prop_assert!(up <= down.next_up());
        }
    }

    #[test]
    fn what_is_no_number_makes_no_room() {
        let mut span = Span::NONE;
        span.add(f64::NAN);
        assert_eq!(span, Span::NONE);
        assert!(!Span::ALL.touches(f32::INFINITY, f32::NEG_INFINITY) || span.min > span.max);
        span.add(2.0);
        span.add(-1.0);
        assert_eq!(span, Span { min: -1.0, max: 2.0 });
        assert!(span.touches(2.0, 3.0) && !span.touches(2.1, 3.0));
    }
}
