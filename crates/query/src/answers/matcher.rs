//! Which fields a condition looks at, in a type that is configured or any other.

use ros2_memory_condition::{Condition, NearPosition};
use ros2_memory_msg::{FieldPath, FieldType, MessageEncoding, Plan, Schema, StructType};

use super::matching::Search;
use crate::{ErrorCode, TypePaths, TypeView, refusal::Refusal};

/// How many text fields `contains` looks at in a type that is not configured.
const MAX_TEXT_FIELDS: usize = 256;
/// How many fields are looked at for text.
const MAX_VISITED_FIELDS: usize = ros2_memory_msg::MAX_FIELDS;

/// The program that reaches what the condition looks at in one type.
pub(crate) fn matcher(
    view: &TypeView,
    paths: Option<&TypePaths>,
    search: &Search,
) -> Result<Plan, Refusal> {
    let schema = view.schema.as_ref().map_err(|reason| {
        Refusal::new(ErrorCode::DecodeFailed, format!("{}: {reason}", search.topic))
    })?;
    let compile = |paths: &[FieldPath]| {
        Plan::compile(schema.clone(), paths)
            .map_err(|error| Refusal::bad_argument(error.to_string()))
    };
    let has_x = |path: &FieldPath| {
        format!("{path}.x").parse().is_ok_and(|x: FieldPath| compile(&[x]).is_ok())
    };
    if let Some(field) = &search.field {
        // The name of a configured field is as good as its path.
        let configured = paths.and_then(|paths| paths.field(&field.to_string()));
        let (path, plan) = match (compile(std::slice::from_ref(field)), configured) {
            (Ok(plan), _) => (field, plan),
            (Err(_), Some(path)) => (path, compile(std::slice::from_ref(path))?),
            (Err(refusal), None) => return Err(refusal),
        };
        if matches!(search.condition, Condition::NearPosition(_)) && !has_x(path) {
            return Err(Refusal::bad_argument(format!(
                "{path} of {} is no position: it has no x and y",
                view.type_name
            )));
        }
        return Ok(plan);
    }
    let value = paths.and_then(|paths| paths.field("value"));
    match &search.condition {
        Condition::Contains(_) => {
            // What a message names and what it says: a log line is looked for by either.
            let fitting: Vec<FieldPath> = paths
                .iter()
                .flat_map(|paths| paths.index.labels.iter().chain(&paths.index.text))
                .filter(|path| compile(std::slice::from_ref(*path)).is_ok())
                .cloned()
                .collect();
            if !fitting.is_empty() {
                return compile(&fitting);
            }
            if let Some(plan) = value.and_then(|value| compile(std::slice::from_ref(value)).ok()) {
                return Ok(plan);
            }
            // A JSON message names its fields itself: all of its text is looked at.
            let texts = match schema.message_encoding() {
                MessageEncoding::Json => vec![FieldPath::whole()],
                _ => text_fields(schema),
            };
            if texts.is_empty() {
                return Err(Refusal::bad_argument(format!("{} has no text", view.type_name))
                    .hint("use equals, or `field` with the path of a list"));
            }
            compile(&texts)
        }
        Condition::Equals(_) | Condition::Bound(_) => {
            let value = value.ok_or_else(|| {
                let known: Vec<&str> =
                    schema.root().fields.iter().take(20).map(|f| f.name.as_str()).collect();
                Refusal::bad_argument(format!(
                    "{} has no configured value to compare: give `field`",
                    view.type_name
                ))
                .hint(format!("its fields are {}", known.join(", ")))
            })?;
            compile(std::slice::from_ref(value))
        }
        Condition::NearPosition(NearPosition { .. }) => {
            let position = paths.and_then(TypePaths::position);
            let position = position.filter(|path| has_x(path)).ok_or_else(|| {
                Refusal::bad_argument(format!("{} has no position", view.type_name))
                    .hint("near_position needs a topic such as /odom, or `field` with x and y")
            })?;
            compile(std::slice::from_ref(position))
        }
    }
}

/// The paths of all text in a type, arrays walked, as far as the limits go.
fn text_fields(schema: &Schema) -> Vec<FieldPath> {
    let mut found = TextFields { schema, paths: Vec::new(), fields_left: MAX_VISITED_FIELDS };
    found.collect(schema.root(), "");
    found.paths.iter().filter_map(|path| path.parse().ok()).collect()
}

struct TextFields<'s> {
    schema: &'s Schema,
    paths: Vec<String>,
    /// A type that holds another twice, and so on for sixty levels, has 2^60 fields.
    fields_left: usize,
}

impl TextFields<'_> {
    fn collect(&mut self, ty: &StructType, prefix: &str) {
        for field in &ty.fields {
            if self.paths.len() >= MAX_TEXT_FIELDS || self.fields_left == 0 {
                return;
            }
            self.fields_left -= 1;
            let (mut path, mut inner) = (format!("{prefix}{}", field.name), &field.ty);
            while let FieldType::Array(element, _) | FieldType::Sequence(element) = inner {
                path.push_str("[]");
                inner = element;
            }
            match inner {
                FieldType::String => self.paths.push(path),
                FieldType::Struct(id) => {
                    path.push('.');
                    self.collect(self.schema.struct_type(*id), &path);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ros2_memory_msg::Library;

    const SEPARATOR: &str =
        "\n================================================================================\n";

    #[test]
    fn all_text_of_a_type_is_found() {
        let text = format!("string a\nB[] b\nint8 c{SEPARATOR}MSG: p/B\nstring[] d\nfloat64 e");
        let schema = Schema::parse("p/msg/T", &text, &Library::new()).unwrap();
        let paths: Vec<String> = text_fields(&schema).iter().map(ToString::to_string).collect();
        assert_eq!(paths, ["a", "b[].d[]"]);
    }

    #[test]
    fn types_that_double_at_each_level_end_the_search_for_text() {
        use std::fmt::Write;
        let mut text = "T1 a\nT1 b".to_owned();
        for level in 1..60 {
            let next = level + 1;
            write!(text, "{SEPARATOR}MSG: p/T{level}\nT{next} a\nT{next} b").unwrap();
        }
        write!(text, "{SEPARATOR}MSG: p/T60\nbool x").unwrap();
        let schema = Schema::parse("p/msg/T", &text, &Library::new()).unwrap();
        assert!(text_fields(&schema).is_empty());
    }
}
