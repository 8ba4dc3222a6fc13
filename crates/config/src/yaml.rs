//! YAML text to a tree of nodes that know their line and column. The one place that knows the
//! YAML library.
//!
//! Any text returns: depth, aliases and nodes are bounded, merge keys and second documents are
//! refused. Words are YAML 1.2: `yes`, `no`, `on` and `off` are text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{
    Location, MergeKeyPolicy, MessageFormatter, Options, Spanned, UserMessageFormatter,
    alias_limits, budget, options,
};

use crate::Position;

/// One value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) position: Position,
}

/// One key of a mapping, where it stands, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) position: Position,
    pub(crate) value: Node,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Whole(i128),
    /// Always finite.
    Number(f64),
    Text(String),
    /// Text that came from the environment, where everything is text: a key that takes a number
    /// reads it as one.
    EnvironmentText(String),
    List(Vec<Node>),
    /// In the order of the text, no key twice.
    Map(Vec<Entry>),
}

/// Why a text is not a tree.
#[derive(Debug)]
pub(crate) struct YamlError {
    pub(crate) position: Position,
    pub(crate) message: String,
}

/// Reads one document. A text without any (empty, or only comments) is null.
pub(crate) fn parse(text: &str) -> Result<Node, YamlError> {
    serde_saphyr::from_str_with_options::<Spanned<Value>>(text, limits()).map(Node::from).map_err(
        |error| {
            let error = error.without_snippet();
            let message = match error {
                serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                    format!("the key `{key}` stands twice in one mapping")
                }
                _ => UserMessageFormatter.format_message(error).into_owned(),
            };
            YamlError { position: error.location().map_or(START, position), message }
        },
    )
}

const START: Position = Position { line: 1, column: 1 };

/// Far above any configuration, far below what hurts.
fn limits() -> Options {
    options! {
        budget: budget! {
            max_depth: 32,
            max_nodes: 50_000,
            max_aliases: 1_000,
            max_anchors: 1_000,
        },
        alias_limits: alias_limits! { max_total_replayed_events: 10_000 },
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        with_snippet: false,
    }
}

fn position(location: Location) -> Position {
    Position { line: location.line(), column: location.column() }
}

impl Node {
    pub(crate) fn new(value: Value, position: Position) -> Self {
        Self { value, position }
    }

    /// A node of a source that has no lines.
    pub(crate) fn unplaced(value: Value) -> Self {
        Self { value, position: START }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::EnvironmentText(text) => Some(text),
            _ => None,
        }
    }

    /// The value, with text of the environment read as the scalar that it spells.
    pub(crate) fn scalar(&self) -> Value {
        match &self.value {
            Value::EnvironmentText(text) => match parse(text.trim()) {
                Ok(Node { value: Value::List(_) | Value::Map(_), .. }) | Err(_) => {
                    self.value.clone()
                }
                Ok(node) => node.value,
            },
            other => other.clone(),
        }
    }

    /// What stands here, in words for a message.
    pub(crate) fn found(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => format!("{value}"),
            Value::Whole(value) => format!("the whole number {value}"),
            Value::Number(value) => format!("the number {value:?}"),
            Value::Text(text) | Value::EnvironmentText(text) => {
                let short: String = text.chars().take(60).collect();
                let rest = if short.len() < text.len() { "..." } else { "" };
                format!("the text {short:?}{rest}")
            }
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self { value: spanned.value, position: position(spanned.referenced) }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Whole(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        // No key takes a number that large; the largest that is told keeps the message right.
        Ok(Value::Whole(i128::try_from(value).unwrap_or(i128::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Spanned<Value>>()? {
            list.push(item.into());
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, Spanned<Value>>()? {
            let position = position(key.referenced);
            map.push(Entry { key: key.value, position, value: value.into() });
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line_and_column() {
        let Value::Map(root) = parse("a:\n  b: [1, x]\n").unwrap().value else { panic!("no map") };
        let Value::Map(inner) = &root[0].value.value else { panic!("no map") };
        assert_eq!(inner[0].position, Position { line: 2, column: 3 });
        let Value::List(items) = &inner[0].value.value else { panic!("no list") };
        assert_eq!(items[1].position, Position { line: 2, column: 10 });
    }

    #[test]
    fn words_are_those_of_yaml_1_2() {
        for word in ["yes", "no", "on", "off", "010"] {
            assert_eq!(parse(word).unwrap().value, Value::Text(word.to_owned()));
        }
        assert_eq!(parse("true").unwrap().value, Value::Bool(true));
    }

    #[test]
    fn a_key_twice_is_refused_at_the_second() {
        let error = parse("a: 1\nb: 2\na: 3\n").unwrap_err();
        assert_eq!(error.position, Position { line: 3, column: 1 });
        assert_eq!(error.message, "the key `a` stands twice in one mapping");
    }

    #[test]
    fn a_text_without_a_document_is_null() {
        for text in ["", "\n\n", "# only a comment\n", "---\n"] {
            assert_eq!(parse(text).unwrap().value, Value::Null, "{text:?}");
        }
    }

    #[test]
    fn depth_and_aliases_are_bounded() {
        let flow = "[".repeat(40) + &"]".repeat(40);
        assert!(parse(&flow).is_err());
        let mut bomb = "a: &a [1,2,3,4,5,6,7,8,9,0]\n".to_owned();
        for (from, to) in ["ab", "bc", "cd", "de"].map(|pair| pair.split_at(1)) {
            let ten = format!("*{from},").repeat(10);
            bomb.push_str(&[to, ": &", to, " [", &ten, "]\n"].concat());
        }
        assert!(parse(&bomb).is_err());
        assert!(parse("a: &a [1]\nb: [*a, *a]").is_ok(), "a few aliases are fine");
    }
}
