use std::collections::BTreeMap;

use ros2_memory_cdr::Primitives;

use crate::{DecodeLimits, FieldPath, Index, List, Value, spread};

/// What is wanted of one value: a tree made of all paths.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The paths that end here.
    pub(crate) takes: Vec<usize>,
    pub(crate) fields: BTreeMap<String, Wanted>,
    pub(crate) each: Option<Box<Wanted>>,
    pub(crate) at: BTreeMap<u32, Wanted>,
}

impl Wanted {
    /// The tree of `paths`, whose places in the slice number them.
    pub(crate) fn new(paths: &[FieldPath]) -> Self {
        let mut tree = Self::default();
        for (number, path) in paths.iter().enumerate() {
            let mut node = &mut tree;
            for segment in path.segments() {
                node = node.fields.entry(segment.field.clone()).or_default();
                for index in &segment.indices {
                    node = match index {
                        Index::Each => node.each.get_or_insert_default(),
                        Index::At(n) => node.at.entry(*n).or_default(),
                    };
                }
            }
            node.takes.push(number);
        }
        tree
    }

    pub(crate) fn goes_deeper(&self) -> bool {
        !self.fields.is_empty() || self.each.is_some() || !self.at.is_empty()
    }
}

/// Hands out what is wanted of a message that was read as a whole, in the order in which a
/// compiled plan does: as the fields stand, a value before its parts.
pub(crate) fn visit_wanted<'a>(
    value: &Value<'a>,
    wanted: &Wanted,
    limits: DecodeLimits,
    visit: &mut dyn FnMut(usize, Value<'a>),
) {
    // What a message does without is no value of it.
    if matches!(value, Value::Absent) {
        return;
    }
    for path in &wanted.takes {
        visit(*path, thinned(value, limits));
    }
    if !wanted.goes_deeper() {
        return;
    }
    match value {
        Value::Struct(value) => {
            for (name, field) in value.iter() {
                if let Some(inner) = wanted.fields.get(name) {
                    visit_wanted(field, inner, limits, visit);
                }
            }
        }
        Value::Object(value) => {
            // Of a repeated name the last holds.
            let last = |name: &str| value.fields.iter().rposition(|(known, _)| known == name);
            let mut found: Vec<(usize, &Wanted)> = wanted
                .fields
                .iter()
                .filter_map(|(name, inner)| Some((last(name)?, inner)))
                .collect();
            found.sort_unstable_by_key(|(place, _)| *place);
            for (place, inner) in found {
                if let Some((_, field)) = value.fields.get(place) {
                    visit_wanted(field, inner, limits, visit);
                }
            }
        }
        Value::List(list) => visit_elements(&list.items, wanted, limits, visit),
        Value::Primitives(numbers) => visit_numbers(numbers, wanted, visit),
        Value::Absent | Value::Scalar(_) | Value::String(_) => {}
    }
}

fn visit_elements<'a>(
    items: &[Value<'a>],
    wanted: &Wanted,
    limits: DecodeLimits,
    visit: &mut dyn FnMut(usize, Value<'a>),
) {
    for (i, item) in items.iter().enumerate() {
        let at = u32::try_from(i).ok().and_then(|i| wanted.at.get(&i));
        for inner in at.into_iter().chain(wanted.each.as_deref()) {
            visit_wanted(item, inner, limits, visit);
        }
    }
}

fn visit_numbers<'a>(
    numbers: &Primitives<'a>,
    wanted: &Wanted,
    visit: &mut dyn FnMut(usize, Value<'a>),
) {
    for (i, number) in numbers.iter().enumerate() {
        let at = u32::try_from(i).ok().and_then(|i| wanted.at.get(&i));
        for inner in at.into_iter().chain(wanted.each.as_deref()) {
            for path in &inner.takes {
                visit(*path, Value::Scalar(number));
            }
        }
    }
}

/// A copy with its lists kept within `limits`.
fn thinned<'a>(value: &Value<'a>, limits: DecodeLimits) -> Value<'a> {
    match value {
        Value::List(list) => Value::List(List {
            items: spread(list.items.len(), limits.max_items)
                .filter_map(|i| list.items.get(i))
                .map(|item| thinned(item, limits))
                .collect(),
            total: list.total,
        }),
        Value::Struct(value) => {
            let mut value = value.clone();
            for field in &mut value.fields {
                *field = thinned(field, limits);
            }
            Value::Struct(value)
        }
        Value::Object(value) => {
            let mut value = value.clone();
            for (_, field) in &mut value.fields {
                *field = thinned(field, limits);
            }
            Value::Object(value)
        }
        whole => whole.clone(),
    }
}
