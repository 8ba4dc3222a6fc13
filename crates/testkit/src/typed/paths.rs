//! Random dot-paths into a value, and what they reach.

#![expect(clippy::indexing_slicing, reason = "indices are those of the set")]

use super::model::{Type, TypeSet, Value};
use crate::prng::Prng;

/// Makes some paths of the forms `a.b[].c`, `a[3].d` and `a`, each with the values that it
/// reaches, in order.
///
/// `[]` stands for each element, `[n]` for the element at `n` or, when the list is shorter, for
/// nothing. An array of two dimensions takes two brackets. A path may end at a structure or a
/// list, and then reaches it whole. An optional member that is missing is not reached, neither
/// are the members inside it.
///
/// # Panics
///
/// When `value` is not of the message type of `set`.
pub fn paths(set: &TypeSet, value: &Value, rng: &mut Prng) -> Vec<(String, Vec<Value>)> {
    if set.structs[0].fields.is_empty() {
        return Vec::new();
    }
    let count = rng.between(3, 10);
    (0..count).map(|_| path(set, value, rng)).collect()
}

/// Where a path stands: at a type, or at a list that has further dimensions.
enum Place<'a> {
    Type(&'a Type),
    Dims(&'a Type, &'a [usize]),
}

fn path(set: &TypeSet, value: &Value, rng: &mut Prng) -> (String, Vec<Value>) {
    let mut text = String::new();
    let mut reached = vec![value];
    let root = Type::Struct(0);
    let mut place = Place::Type(&root);
    loop {
        let resolved = match place {
            Place::Type(ty) => set.resolved(ty),
            Place::Dims(elem, []) => set.resolved(elem),
            Place::Dims(elem, dims) => {
                if rng.chance(20) {
                    break;
                }
                bracket(&mut text, &mut reached, rng);
                place = Place::Dims(elem, &dims[1..]);
                continue;
            }
        };
        if !text.is_empty() && rng.chance(20) {
            break;
        }
        match resolved {
            Type::Struct(index) => {
                let fields = &set.structs[*index].fields;
                if fields.is_empty() {
                    break;
                }
                let number = rng.index(fields.len());
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(&fields[number].name);
                reached = reached
                    .into_iter()
                    .map(|value| match value {
                        Value::Struct(fields) => &fields[number],
                        other => panic!("{other:?} is no structure"),
                    })
                    .filter(|value| **value != Value::Absent)
                    .collect();
                place = Place::Type(&fields[number].ty);
            }
            Type::Array { elem, dims } => place = Place::Dims(elem, dims),
            Type::Sequence { elem, .. } => {
                bracket(&mut text, &mut reached, rng);
                place = Place::Type(elem);
            }
            Type::Prim(_) | Type::Text { .. } | Type::Enum(_) | Type::Typedef(_) => break,
        }
    }
    (text, reached.into_iter().cloned().collect())
}

fn bracket(text: &mut String, reached: &mut Vec<&Value>, rng: &mut Prng) {
    let lists: Vec<&Vec<Value>> = reached
        .iter()
        .map(|value| match value {
            Value::List(items) => items,
            other => panic!("{other:?} is no list"),
        })
        .collect();
    if rng.chance(60) {
        text.push_str("[]");
        *reached = lists.into_iter().flatten().collect();
    } else {
        // Now and then one past the end of the longest.
        let longest = lists.iter().map(|items| items.len()).max().unwrap_or(0);
        let index = rng.index(longest + 1);
        text.push('[');
        text.push_str(&index.to_string());
        text.push(']');
        *reached = lists.into_iter().filter_map(|items| items.get(index)).collect();
    }
}
