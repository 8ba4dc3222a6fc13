use ros2_memory_msg::{Scalar, Value};
use serde_json::Value as Json;

use crate::ConditionError;

/// Case-folded text that must occur within text.
///
/// In a list any item may hold it; in a struct any text field; text that holds a JSON list is
/// taken for that list, so that `["cup","plant"]` has no item `p","p`. A number matches when it
/// is written like the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contains {
    folded: String,
}

impl Contains {
    /// Looks for `text`.
    pub fn new(text: &str) -> Self {
        Self { folded: text.to_lowercase() }
    }

    /// The text, case folded.
    pub fn folded(&self) -> &str {
        &self.folded
    }

    /// Reads the text from JSON; a number or truth value stands for its text.
    ///
    /// # Errors
    ///
    /// [`ConditionError::Value`] for anything else, and for empty text, which everything would
    /// contain.
    pub fn parse(value: &Json) -> Result<Self, ConditionError> {
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            Json::Bool(flag) => flag.to_string(),
            _ => String::new(),
        };
        if text.is_empty() {
            let expected = "a text to look for, such as \"scissors\"";
            return Err(ConditionError::Value { kind: "contains", expected });
        }
        Ok(Self::new(&text))
    }

    /// Whether a value holds the text.
    pub fn matches(&self, value: &Value<'_>) -> bool {
        match value {
            Value::Absent => false,
            Value::String(text) => self.in_text(text),
            Value::Scalar(scalar) => self.is_number(*scalar),
            Value::Primitives(numbers) => numbers.iter().any(|scalar| self.is_number(scalar)),
            Value::List(list) => list.items.iter().any(|item| self.matches(item)),
            // In a struct, only its text is looked at: "1" would be found in every stamp.
            Value::Struct(value) => value.fields.iter().any(|field| self.in_field(field)),
            Value::Object(value) => value.fields.iter().any(|(_, field)| self.in_field(field)),
        }
    }

    fn in_field(&self, field: &Value<'_>) -> bool {
        let is_number = matches!(field, Value::Scalar(_) | Value::Primitives(_));
        !is_number && self.matches(field)
    }

    fn in_text(&self, text: &str) -> bool {
        let start = text.trim_start();
        if start.starts_with('[')
            && let Ok(Json::Array(items)) = serde_json::from_str(start)
        {
            return items.iter().any(|item| self.in_json(item));
        }
        self.is_in(text)
    }

    fn in_json(&self, value: &Json) -> bool {
        match value {
            Json::String(text) => self.is_in(text),
            Json::Array(items) => items.iter().any(|item| self.in_json(item)),
            Json::Object(fields) => fields.values().any(|field| self.in_json(field)),
            Json::Null => false,
            Json::Bool(flag) => self.is_number(Scalar::Bool(*flag)),
            Json::Number(number) => number.to_string() == self.folded,
        }
    }

    /// Whether a text by itself holds it, whatever the text looks like.
    pub fn is_in(&self, text: &str) -> bool {
        if text.is_ascii() && self.folded.is_ascii() {
            let (text, wanted) = (text.as_bytes(), self.folded.as_bytes());
            return text.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted));
        }
        text.to_lowercase().contains(&self.folded)
    }

    fn is_number(&self, scalar: Scalar) -> bool {
        match scalar {
            Scalar::Bool(flag) => self.folded == if flag { "true" } else { "false" },
            Scalar::I64(n) => self.folded.parse() == Ok(n),
            Scalar::U64(n) => self.folded.parse() == Ok(n),
            Scalar::F32(x) => self.folded.parse() == Ok(x),
            Scalar::F64(x) => self.folded.parse() == Ok(x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_matches(wanted: &str, text: &str) -> bool {
        Contains::new(wanted).matches(&Value::String(text.into()))
    }

    #[test]
    fn case_is_folded_also_beyond_ascii() {
        assert!(text_matches("Scissors", "two SCISSORS here"));
        assert!(text_matches("ÄPFEL", "drei äpfel"));
        assert!(!text_matches("scissors", "scissor s"));
    }

    #[test]
    fn a_json_list_matches_per_item() {
        assert!(text_matches("cup", r#"["plant", "Red Cup"]"#));
        assert!(!text_matches("p\",\"p", r#"["cup","plant"]"#));
        assert!(text_matches("cup", r#"[{"label": "cup", "score": 0.9}]"#));
        assert!(text_matches("[cup", "[cup and no JSON"));
    }

    #[test]
    fn br_170_a_number_matches_as_text_and_as_number() {
        let three = Value::Scalar(Scalar::I64(3));
        for value in [serde_json::json!("3"), serde_json::json!(3)] {
            assert!(Contains::parse(&value).unwrap().matches(&three));
        }
        assert!(!Contains::new("3").matches(&Value::Scalar(Scalar::I64(33))));
    }

    #[test]
    fn empty_text_and_objects_are_refused() {
        for value in [serde_json::json!(""), serde_json::json!(null), serde_json::json!({})] {
            assert!(Contains::parse(&value).is_err());
        }
    }
}
