//! The element of a message that names a label: one detection of a list of them.

use ros2_memory_index::IndexedPaths;
use ros2_memory_msg::{FieldPath, Index, Segment, Value};

/// One element that names a label.
#[derive(Debug)]
pub(crate) struct Element<'v, 'a> {
    /// The element; the whole message where labels stand outside lists.
    pub(crate) value: &'v Value<'a>,
    /// How sure the detector was.
    pub(crate) score: Option<f64>,
    /// Where it was, in the message's frame.
    pub(crate) position_m: Option<[f64; 3]>,
}

/// What a box of an element may be called.
const BOXES: [&str; 3] = ["box", "bbox", "bounding_box"];

impl<'v, 'a> Element<'v, 'a> {
    /// The elements of a message that name a label, in its order.
    pub(crate) fn all(message: &'v Value<'a>, paths: &IndexedPaths, label: &str) -> Vec<Self> {
        let mut found = Vec::new();
        for path in &paths.labels {
            let (list, rest) = split(path);
            for value in leaves(message, list) {
                let labels = leaves(value, rest);
                let Some(place) = labels.iter().position(|leaf| is_label(leaf, label)) else {
                    continue;
                };
                let score = paths.numbers.iter().find_map(|path| {
                    let numbers = leaves(value, beside_of(path, list)?);
                    // One for each label of the element, or one for all of them.
                    numbers.get(place).or_else(|| numbers.first()).and_then(|leaf| leaf.as_f64())
                });
                let position = paths.position.as_ref().and_then(|path| beside_of(path, list));
                let position = position.and_then(|rest| leaves(value, rest).first().copied());
                found.push(Self { value, score, position_m: position.and_then(point) });
            }
        }
        found
    }

    /// Its box, as the message has it.
    pub(crate) fn bounds(&self) -> Option<&'v Value<'a>> {
        BOXES.iter().find_map(|name| self.value.field(name))
    }
}

/// A path up to the elements of its first list, and the rest of it.
fn split(path: &FieldPath) -> (&[Segment], &[Segment]) {
    let segments = path.segments();
    let is_list = |segment: &Segment| segment.indices.contains(&Index::Each);
    segments.split_at(segments.iter().position(is_list).map_or(0, |at| at + 1))
}

/// What a path has behind the list of another.
fn beside_of<'p>(path: &'p FieldPath, list: &[Segment]) -> Option<&'p [Segment]> {
    let (same, rest) = split(path);
    (same == list).then_some(rest)
}

/// The values at the end of a path.
fn leaves<'v, 'a>(value: &'v Value<'a>, path: &[Segment]) -> Vec<&'v Value<'a>> {
    let mut values = vec![value];
    for segment in path {
        let mut next: Vec<&Value<'a>> =
            values.iter().filter_map(|value| value.field(&segment.field)).collect();
        for index in &segment.indices {
            next = next
                .into_iter()
                .flat_map(|value| match (value, index) {
                    (Value::List(list), Index::Each) => list.items.iter().collect(),
                    (Value::List(list), Index::At(at)) => {
                        list.items.get(*at as usize).into_iter().collect()
                    }
                    _ => Vec::new(),
                })
                .collect();
        }
        values = next;
    }
    values
}

fn is_label(leaf: &Value<'_>, label: &str) -> bool {
    match leaf {
        Value::String(text) => **text == *label,
        Value::Scalar(ros2_memory_msg::Scalar::I64(number)) => number.to_string() == label,
        Value::Scalar(ros2_memory_msg::Scalar::U64(number)) => number.to_string() == label,
        _ => false,
    }
}

fn point(value: &Value<'_>) -> Option<[f64; 3]> {
    let part = |name: &str| value.field(name).and_then(Value::as_f64);
    let point = [part("x")?, part("y")?, part("z").unwrap_or(0.0)];
    // A detector without a depth for it says that it lies in the lens, or nowhere.
    let is_somewhere = point.iter().all(|x| x.is_finite()) && point.iter().any(|x| *x != 0.0);
    is_somewhere.then_some(point)
}
