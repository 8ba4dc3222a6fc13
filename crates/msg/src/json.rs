//! Messages of JSON channels, which name their fields themselves.

use std::{borrow::Cow, fmt};

use ros2_memory_cdr::{CdrError, Scalar};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use crate::{
    DecodeError, List, Object, StructType, Value,
    decode::{Budget, at_field},
    spread,
};

/// Reads a message of a JSON channel. Text without escapes is borrowed.
pub(crate) fn decode<'a>(
    root: &StructType,
    payload: &'a [u8],
    budget: &mut Budget,
) -> Result<Value<'a>, DecodeError> {
    let mut reader = serde_json::Deserializer::from_slice(payload);
    let read = Reader { budget }.deserialize(&mut reader).and_then(|value| {
        reader.end()?;
        Ok(value)
    });
    read.map_err(|error| {
        let reason = match error.classify() {
            Category::Eof => "the text ends inside a value",
            Category::Data => "more values than are built of one message",
            Category::Syntax | Category::Io => "this is no JSON, or nested too deeply",
        };
        let (line, column) = (error.line(), error.column());
        at_field(root, "", CdrError::Json { line, column, reason })
    })
}

struct Reader<'b> {
    budget: &'b mut Budget,
}

impl Reader<'_> {
    fn spend<E: Error>(&mut self) -> Result<(), E> {
        self.budget.spend(1, 0).map_err(|_spent| E::custom("more values than are built of one"))
    }
}

impl<'a> DeserializeSeed<'a> for Reader<'_> {
    type Value = Value<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Value<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Reader<'_> {
    type Value = Value<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::Absent)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value<'a>, E> {
        Ok(Value::Scalar(Scalar::Bool(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'a>, E> {
        Ok(Value::Scalar(Scalar::I64(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'a>, E> {
        Ok(Value::Scalar(Scalar::U64(number)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'a>, E> {
        Ok(Value::Scalar(Scalar::F64(number)))
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Value<'a>, E> {
        Ok(Value::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'a>, E> {
        Ok(Value::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut items: A) -> Result<Value<'a>, A::Error> {
        let mut all: Vec<Value<'a>> = Vec::new();
        while let Some(item) = items.next_element_seed(Reader { budget: self.budget })? {
            self.spend()?;
            all.push(item);
        }
        let total = all.len();
        let limit = self.budget.max_items();
        if total > limit {
            let mut kept = spread(total, limit).peekable();
            let mut place = 0;
            all.retain(|_| {
                place += 1;
                kept.next_if_eq(&(place - 1)).is_some()
            });
        }
        Ok(Value::List(List { items: all, total }))
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut entries: A) -> Result<Value<'a>, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = entries.next_key_seed(Reader { budget: self.budget })? {
            self.spend()?;
            let Value::String(name) = name else {
                return Err(A::Error::custom("a name that is no text"));
            };
            let value = entries.next_value_seed(Reader { budget: self.budget })?;
            fields.push((name, value));
        }
        Ok(Value::Object(Object { fields }))
    }
}

#[cfg(test)]
mod tests {
    use crate::{DecodeLimits, FieldPath, Plan, Schema, decode as decode_message};

    fn read(text: &str, max_items: usize) -> Result<String, String> {
        let schema = Schema::json("T");
        decode_message(&schema, text.as_bytes(), DecodeLimits { max_items })
            .map(|value| format!("{value:?}"))
            .map_err(|error| error.to_string())
    }

    fn visited(text: &str, paths: &[&str]) -> Vec<(usize, String)> {
        let paths: Vec<FieldPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
        let plan = Plan::compile(Schema::json("T").into(), &paths).unwrap();
        let mut seen = Vec::new();
        plan.run(text.as_bytes(), |path, value| seen.push((path, format!("{value:?}")))).unwrap();
        seen
    }

    #[test]
    fn paths_lead_into_objects_and_lists_as_far_as_a_message_has_them() {
        let text = r#"{"a": {"b": [{"c": 1}, {"c": 2.5}, {}]}, "t": "x\u0041"}"#;
        let scalar = |text: &str| format!("Scalar({text})");
        assert_eq!(
            visited(text, &["a.b[].c", "t", "a.b[1].c", "a.x", "t.y"]),
            [
                (0, scalar("U64(1)")),
                (2, scalar("F64(2.5)")),
                (0, scalar("F64(2.5)")),
                (1, "String(\"xA\")".to_owned()),
            ]
        );
    }

    #[test]
    fn long_lists_are_thinned_and_say_how_long_they_were() {
        let read = read("[0,1,2,3,4,5,6,7,8,9]", 2).unwrap();
        assert!(read.contains("U64(0)") && read.contains("U64(9)") && read.contains("total: 10"));
        assert!(!read.contains("U64(5)"), "{read}");
    }

    #[test]
    fn what_is_no_json_says_where() {
        assert_eq!(
            read("{\"a\": \n nil}", 9).unwrap_err(),
            "T: at line 2, column 3: this is no JSON, or nested too deeply"
        );
        assert!(read("{} x", 9).unwrap_err().contains("column 4"));
        assert!(read("", 9).unwrap_err().contains("ends inside a value"));
        assert!(read("\u{ff}{}", 9).is_err());
    }

    #[test]
    fn nesting_and_the_number_of_values_are_bounded() {
        assert!(read(&"[".repeat(100_000), 9).unwrap_err().contains("nested too deeply"));
        let many = format!("[{}0]", "0,".repeat(5 << 20));
        assert!(read(&many, usize::MAX).unwrap_err().contains("more values"));
    }

    #[test]
    fn of_a_repeated_name_the_last_holds_however_many_there_are() {
        let many = (0..50_000).map(|n| format!("\"a\": {n}")).collect::<Vec<_>>().join(",");
        let text = format!("{{{many}, \"b\": 1}}");
        assert_eq!(visited(&text, &["a"]), [(0, "Scalar(U64(49999))".to_owned())]);
    }
}
