use ros2_memory_msg::Value;
use serde_json::Value as Json;

use crate::ConditionError;

/// A number that must lie above, or below, another; neither includes it.
///
/// In a list any number may; a truth value is no number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The other number; finite.
    pub limit: f64,
    /// Whether to lie above it, instead of below.
    pub is_above: bool,
}

impl Bound {
    /// Reads the limit from JSON, also as quoted JSON.
    ///
    /// # Errors
    ///
    /// [`ConditionError::Value`] for what is no finite number.
    pub fn parse(value: &Json, is_above: bool) -> Result<Self, ConditionError> {
        let unquoted = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        let number = unquoted.as_ref().unwrap_or(value).as_f64().filter(|limit| limit.is_finite());
        let kind = if is_above { "above" } else { "below" };
        let expected = "a number, such as 0.2";
        let limit = number.ok_or(ConditionError::Value { kind, expected })?;
        Ok(Self { limit, is_above })
    }

    /// Whether a number lies there.
    pub fn holds(&self, number: f64) -> bool {
        if self.is_above { number > self.limit } else { number < self.limit }
    }

    /// Whether a value lies there.
    pub fn matches(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Scalar(ros2_memory_msg::Scalar::Bool(_)) => false,
            Value::Scalar(number) => self.holds(number.as_f64()),
            Value::Primitives(numbers) => numbers.iter().any(|number| self.holds(number.as_f64())),
            Value::List(list) => list.items.iter().any(|item| self.matches(item)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ros2_memory_msg::Scalar;
    use serde_json::json;

    #[test]
    fn a_limit_is_outside_and_what_is_no_number_is_nowhere() {
        let low = Bound::parse(&json!("0.2"), false).unwrap();
        let number = |x: f64| Value::Scalar(Scalar::F64(x));
        assert!(low.matches(&number(0.1)) && !low.matches(&number(0.2)));
        let high = Bound { is_above: true, ..low };
        assert!(high.matches(&number(0.3)) && !high.matches(&number(0.2)));
        for value in
            [number(f64::NAN), Value::Scalar(Scalar::Bool(false)), Value::String("0".into())]
        {
            assert!(!low.matches(&value) && !high.matches(&value), "{value:?}");
        }
        for value in [json!("x"), json!(null), json!([1]), json!({})] {
            assert!(Bound::parse(&value, true).is_err(), "{value}");
        }
    }
}
