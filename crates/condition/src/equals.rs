use ros2_memory_msg::{Scalar, Value};
use serde_json::Value as Json;

/// A value that must be equal: exactly for truth values and text, to 1e-9 of the larger for
/// numbers.
///
/// A text that holds JSON is also taken for what it holds, since planners quote numbers: `"3"`
/// equals 3 and the text `3`.
#[derive(Debug, Clone, PartialEq)]
pub struct Equals {
    wanted: Json,
    /// What `wanted` holds, when it is a text of JSON.
    unquoted: Option<Json>,
}

/// How far two numbers may be apart, as a part of the larger.
const RELATIVE: f64 = 1e-9;

impl Equals {
    /// Reads the value from JSON.
    pub fn parse(value: &Json) -> Self {
        let unquoted = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        Self { wanted: value.clone(), unquoted }
    }

    /// The numbers of which one must be near what is equal, truth values as 0 and 1, when nothing
    /// but a number is looked at; `None` when something else may be equal then.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let number = |wanted: &Json| match wanted {
            Json::Number(number) => number.as_f64().map(|number| vec![number]),
            Json::Bool(flag) => Some(vec![f64::from(u8::from(*flag))]),
            Json::String(_) => Some(Vec::new()),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        };
        let mut numbers = number(&self.wanted)?;
        if let Some(wanted) = &self.unquoted {
            numbers.extend(number(wanted)?);
        }
        Some(numbers)
    }

    /// Whether a value is equal.
    pub fn matches(&self, value: &Value<'_>) -> bool {
        is_equal(value, &self.wanted)
            || self.unquoted.as_ref().is_some_and(|wanted| is_equal(value, wanted))
    }
}

fn is_equal(value: &Value<'_>, wanted: &Json) -> bool {
    match value {
        Value::Absent => wanted.is_null(),
        Value::Scalar(scalar) => is_scalar(*scalar, wanted),
        Value::String(text) => match wanted {
            Json::String(wanted) => **text == **wanted,
            // An identifier may be text in one release and a number in the next.
            Json::Number(number) => **text == *number.to_string(),
            _ => false,
        },
        Value::Primitives(numbers) => wanted.as_array().is_some_and(|wanted| {
            wanted.len() == numbers.len()
                && numbers.iter().zip(wanted).all(|(number, wanted)| is_scalar(number, wanted))
        }),
        Value::List(list) => wanted.as_array().is_some_and(|wanted| {
            wanted.len() == list.total
                && list.items.len() == list.total
                && list.items.iter().zip(wanted).all(|(item, wanted)| is_equal(item, wanted))
        }),
        Value::Struct(value) => wanted.as_object().is_some_and(|wanted| {
            wanted.iter().all(|(name, wanted)| {
                value.field(name).is_some_and(|field| is_equal(field, wanted))
            })
        }),
        Value::Object(value) => wanted.as_object().is_some_and(|wanted| {
            wanted.iter().all(|(name, wanted)| {
                value.field(name).is_some_and(|field| is_equal(field, wanted))
            })
        }),
    }
}

fn is_scalar(scalar: Scalar, wanted: &Json) -> bool {
    match (scalar, wanted) {
        (Scalar::Bool(flag), Json::Bool(wanted)) => flag == *wanted,
        (Scalar::Bool(_), _) => false,
        (Scalar::I64(n), Json::Number(wanted)) if wanted.is_i64() => wanted.as_i64() == Some(n),
        (Scalar::U64(n), Json::Number(wanted)) if wanted.is_u64() => wanted.as_u64() == Some(n),
        // A single holds seven digits: 0.1 as it was written must equal it.
        (Scalar::F32(x), Json::Number(wanted)) => wanted.as_f64().is_some_and(|wanted| {
            #[expect(clippy::cast_possible_truncation, reason = "the nearest single is meant")]
            let nearest = wanted as f32;
            (x.to_bits() == nearest.to_bits() && nearest.is_finite()) || is_near(x.into(), wanted)
        }),
        (number, Json::Number(wanted)) => {
            wanted.as_f64().is_some_and(|wanted| is_near(number.as_f64(), wanted))
        }
        _ => false,
    }
}

fn is_near(a: f64, b: f64) -> bool {
    // A part of infinity is infinity, and no number in JSON is.
    a.is_finite() && (a - b).abs() <= RELATIVE * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn matches(value: &Value<'_>, wanted: &Json) -> bool {
        Equals::parse(wanted).matches(value)
    }

    #[test]
    fn quoted_values_equal_what_they_hold() {
        let yes = Value::Scalar(Scalar::Bool(true));
        assert!(matches(&yes, &json!(true)) && matches(&yes, &json!("true")));
        assert!(!matches(&yes, &json!(1)) && !matches(&yes, &json!("yes")));
        let text = Value::String("3".into());
        assert!(matches(&text, &json!("3")) && matches(&text, &json!(3)));
    }

    #[test]
    fn numbers_are_equal_to_one_in_a_thousand_million() {
        let x = Value::Scalar(Scalar::F64(1e6));
        assert!(matches(&x, &json!(1_000_000)) && matches(&x, &json!(1e6 + 1e-4)));
        assert!(!matches(&x, &json!(1_000_000.1)));
        assert!(matches(&Value::Scalar(Scalar::F32(0.1)), &json!(0.1)));
        assert!(!matches(&Value::Scalar(Scalar::F64(f64::NAN)), &json!(0)));
        assert!(!matches(&Value::Scalar(Scalar::F64(f64::INFINITY)), &json!(5)));
        assert!(!matches(&Value::Scalar(Scalar::F32(f32::INFINITY)), &json!(1e39)));
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let n = Value::Scalar(Scalar::U64(u64::MAX));
        assert!(matches(&n, &json!(u64::MAX)) && !matches(&n, &json!(u64::MAX - 1)));
    }
}
