//! Conditions over message values: does this message match?
//!
//! A [`Condition`] sees the values at its paths, one at a time; a message matches when one of
//! them does.

#![forbid(unsafe_code)]

mod bound;
mod contains;
mod equals;
mod error;
mod near;

pub use bound::Bound;
pub use contains::Contains;
pub use equals::Equals;
pub use error::ConditionError;
pub use near::NearPosition;

use ros2_memory_msg::Value;

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Text within text.
    Contains(Contains),
    /// A value.
    Equals(Equals),
    /// A place.
    NearPosition(NearPosition),
    /// Numbers on one side of another.
    Bound(Bound),
}

impl Condition {
    /// The names of the kinds, as the tools take them.
    pub const KINDS: [&'static str; 5] = ["contains", "equals", "near_position", "above", "below"];

    /// Reads a condition of one of the [`Self::KINDS`] from its JSON value; `tolerance_m` is how
    /// near is near.
    ///
    /// # Errors
    ///
    /// [`ConditionError`] for an unknown kind or a value that does not fit it.
    pub fn parse(
        kind: &str,
        value: &serde_json::Value,
        tolerance_m: f64,
    ) -> Result<Self, ConditionError> {
        match kind {
            "contains" => Contains::parse(value).map(Self::Contains),
            "equals" => Ok(Self::Equals(Equals::parse(value))),
            "above" | "below" => Bound::parse(value, kind == "above").map(Self::Bound),
            "near_position" => NearPosition::parse(value, tolerance_m).map(Self::NearPosition),
            _ => Err(ConditionError::UnknownKind { kind: kind.chars().take(80).collect() }),
        }
    }

    /// Whether one value matches.
    pub fn matches(&self, value: &Value<'_>) -> bool {
        match self {
            Self::Contains(contains) => contains.matches(value),
            Self::Equals(equals) => equals.matches(value),
            Self::NearPosition(near) => near.matches(value),
            Self::Bound(bound) => bound.matches(value),
        }
    }
}
