//! Which fields a condition looks at, in a type that is configured or any other.

use std::{collections::HashMap, sync::Arc};

use ros2_memory_bag::Message;
use ros2_memory_condition::{Condition, NearPosition};
use ros2_memory_msg::{
    FieldPath, FieldType, MessageEncoding, Plan, PlanReader, Schema, StructType,
};

use super::matching::Search;
use crate::{ErrorCode, TypePaths, TypeView, query::Query, refusal::Refusal};

/// How many text fields `contains` looks at in a type that is not configured.
const MAX_TEXT_FIELDS: usize = 256;
/// How many fields are looked at for text.
const MAX_VISITED_FIELDS: usize = ros2_memory_msg::MAX_FIELDS;

/// The programs of a search for the types that it meets, and how often they served.
#[derive(Debug)]
pub(crate) struct Matchers<'s> {
    search: &'s Search,
    readers: HashMap<*const TypeView, Result<PlanReader, Refusal>>,
    /// Messages that were compared with the condition.
    pub(crate) n_compared: u64,
    /// Of these the ones that could not be read.
    n_failed: u64,
    /// Why a type cannot be searched: the first such.
    refusal: Option<Refusal>,
}

impl<'s> Matchers<'s> {
    pub(crate) fn new(search: &'s Search) -> Self {
        Self { search, readers: HashMap::new(), n_compared: 0, n_failed: 0, refusal: None }
    }

    /// Whether a message matches; `None` when its type cannot be searched.
    pub(crate) fn matches(&mut self, query: &mut Query<'_>, message: &Message<'_>) -> Option<bool> {
        let view = query.view(&message.contents.declared, message.channel_index);
        let reader = self.readers.entry(Arc::as_ptr(&view)).or_insert_with(|| {
            let paths = query.types.map().get(&view.type_name);
            matcher(&view, paths, self.search).map(PlanReader::new)
        });
        let reader = match reader {
            Ok(reader) => reader,
            Err(why) => {
                self.refusal.get_or_insert_with(|| why.clone());
                return None;
            }
        };
        self.n_compared += 1;
        let mut is_match = false;
        let outcome = reader.read(message.payload, |_, value| {
            is_match = is_match || self.search.condition.matches(&value);
        });
        self.n_failed += u64::from(outcome.is_err());
        Some(is_match)
    }

    /// Says of the whole answer what could not be read or searched.
    pub(crate) fn tell(&self, query: &mut Query<'_>) {
        let topic = &self.search.topic;
        if self.n_failed > 0 {
            query.note(format!("{} messages of {topic} could not be read", self.n_failed));
        }
        if let Some(refusal) = self.refusal.as_ref().filter(|_| self.n_compared > 0) {
            query.note(format!("some of {topic} could not be searched: {}", refusal.detail()));
        }
    }

    /// # Errors
    ///
    /// `decode_failed` when no message could be read; when no type could be searched, why.
    pub(crate) fn has_compared(self) -> Result<(), Refusal> {
        if self.n_failed > 0 && self.n_failed == self.n_compared {
            return Err(Refusal::new(
                ErrorCode::DecodeFailed,
                format!(
                    "none of the {} messages of {} could be read",
                    self.n_failed, self.search.topic
                ),
            ));
        }
        match self.refusal {
            Some(refusal) if self.n_compared == 0 => Err(refusal),
            _ => Ok(()),
        }
    }
}

/// The program that reaches what the condition looks at in one type.
pub(crate) fn matcher(
    view: &TypeView,
    paths: Option<&TypePaths>,
    search: &Search,
) -> Result<Plan, Refusal> {
    let schema = view.schema.as_ref().map_err(|reason| {
        Refusal::new(ErrorCode::DecodeFailed, format!("{}: {reason}", search.topic))
    })?;
    let compile = |paths: &[FieldPath]| compile(schema, paths);
    let has_x = |path: &FieldPath| {
        format!("{path}.x").parse().is_ok_and(|x: FieldPath| compile(&[x]).is_ok())
    };
    if let Some(field) = &search.field {
        let (path, plan) = named_field(schema, paths, field)?;
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
            let value = value.ok_or_else(|| no_value(&view.type_name, schema))?;
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

/// The program for a field that the caller named, and its path: the name of a configured field is
/// as good as its path.
pub(crate) fn named_field<'p>(
    schema: &Arc<Schema>,
    paths: Option<&'p TypePaths>,
    field: &'p FieldPath,
) -> Result<(&'p FieldPath, Plan), Refusal> {
    let one = |path: &'p FieldPath| Ok((path, compile(schema, std::slice::from_ref(path))?));
    let configured = paths.and_then(|paths| paths.field(&field.to_string()));
    one(field).or_else(|refusal| configured.map_or(Err(refusal), one))
}

pub(crate) fn compile(schema: &Arc<Schema>, paths: &[FieldPath]) -> Result<Plan, Refusal> {
    Plan::compile(schema.clone(), paths).map_err(|error| Refusal::bad_argument(error.to_string()))
}

/// What to say of a type that has no configured value when no field was named.
pub(crate) fn no_value(type_name: &str, schema: &Schema) -> Refusal {
    let known: Vec<&str> =
        schema.root().fields.iter().take(20).map(|field| field.name.as_str()).collect();
    Refusal::bad_argument(format!("{type_name} has no configured value to compare: give `field`"))
        .hint(format!("its fields are {}", known.join(", ")))
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
