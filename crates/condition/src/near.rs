use ros2_memory_msg::Value;
use serde_json::Value as Json;

use crate::ConditionError;

/// A place within which a position must lie: a circle in x and y, or a ball when z is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearPosition {
    /// In metres, in the message's own frame.
    pub x_m: f64,
    /// In metres, in the message's own frame.
    pub y_m: f64,
    /// In metres; any height when `None`.
    pub z_m: Option<f64>,
    /// How far from there, inclusive.
    pub tolerance_m: f64,
}

impl NearPosition {
    /// Reads `{"x": 1.0, "y": 2.0}` with an optional `z`, also as quoted JSON or as a list.
    ///
    /// # Errors
    ///
    /// [`ConditionError::Value`] for anything else, and for numbers that are not finite.
    pub fn parse(value: &Json, tolerance_m: f64) -> Result<Self, ConditionError> {
        let unquoted = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        let value = unquoted.as_ref().unwrap_or(value);
        let part = |name: &str, place: usize| match value {
            Json::Object(fields) => fields.get(name).and_then(Json::as_f64),
            Json::Array(items) => items.get(place).and_then(Json::as_f64),
            _ => None,
        };
        match (part("x", 0), part("y", 1)) {
            (Some(x_m), Some(y_m))
                if (x_m + y_m + tolerance_m).is_finite() && tolerance_m >= 0.0 =>
            {
                Ok(Self { x_m, y_m, z_m: part("z", 2), tolerance_m })
            }
            _ => Err(ConditionError::Value {
                kind: "near_position",
                expected: "a place such as {\"x\": 1.0, \"y\": 2.0} in metres",
            }),
        }
    }

    /// Whether a position, a struct with `x`, `y` and perhaps `z`, lies near enough. In a list
    /// any element may.
    pub fn matches(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Struct(_) | Value::Object(_) => {
                let part = |name| value.field(name).and_then(Value::as_f64);
                match (part("x"), part("y")) {
                    (Some(x), Some(y)) => self.is_near(x, y, part("z")),
                    _ => false,
                }
            }
            Value::List(list) => list.items.iter().any(|item| self.matches(item)),
            _ => false,
        }
    }

    fn is_near(&self, x: f64, y: f64, z: Option<f64>) -> bool {
        let height = match (self.z_m, z) {
            (Some(wanted), Some(z)) => z - wanted,
            (Some(wanted), None) => wanted,
            (None, _) => 0.0,
        };
        let (ahead, aside) = (x - self.x_m, y - self.y_m);
        let squared = ahead.powi(2) + aside.powi(2) + height.powi(2);
        let reach = self.tolerance_m.powi(2);
        if reach.is_normal() {
            return squared <= reach;
        }
        // Squares of what is huge or tiny say nothing any more.
        let distance_m = ahead.hypot(aside).hypot(height);
        distance_m.is_finite() && distance_m <= self.tolerance_m
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn places_are_read_in_every_spelling() {
        for value in [
            json!({"x": 1, "y": 2.0}),
            json!("{\"x\": 1, \"y\": 2}"),
            json!([1, 2]),
            json!("[1.0, 2.0]"),
        ] {
            let near = NearPosition::parse(&value, 0.5).unwrap();
            assert_eq!((near.x_m, near.y_m, near.z_m), (1.0, 2.0, None), "{value}");
        }
        for value in [json!(1), json!("x"), json!({"x": 1}), json!({"x": "a", "y": 1}), json!(null)]
        {
            assert!(NearPosition::parse(&value, 0.5).is_err(), "{value}");
        }
    }

    #[test]
    fn the_border_is_inside_and_nan_is_not() {
        let near = NearPosition { x_m: 0.0, y_m: 0.0, z_m: None, tolerance_m: 5.0 };
        assert!(near.is_near(3.0, 4.0, Some(100.0)));
        assert!(!near.is_near(3.1, 4.0, None) && !near.is_near(f64::NAN, 0.0, None));
        let ball = NearPosition { z_m: Some(1.0), ..near };
        let all = NearPosition { tolerance_m: 1e200, ..near };
        assert!(all.is_near(1e199, 0.0, None) && !all.is_near(1e201, 0.0, None));
        assert!(!all.is_near(f64::INFINITY, 0.0, None));
        assert!(ball.is_near(0.0, 0.0, Some(6.0)) && !ball.is_near(3.0, 4.0, Some(2.0)));
    }
}
