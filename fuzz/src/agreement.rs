//! Every way to read a payload, held against the others.

use std::sync::Arc;

use ros2_memory_msg::{
    CdrError, DecodeError, DecodeLimits, FieldPath, Index, Plan, PlanReader, Scalar, Schema, Value,
    decode,
};

/// So many paths are looked at; more of them say nothing new.
const MAX_PATHS: usize = 8;

/// Messages of more values are decoded and no more.
const MAX_VALUES: usize = 20_000;

/// Reads `payloads` one after the other by a decoder, by plans and by readers that remember the
/// payload before.
///
/// `skips_blindly` says that values may carry their lengths (XCDR2, optional and mutable members):
/// then what is skipped is not looked at, and a limited decode may succeed where a whole one fails.
///
/// # Panics
///
/// When two ways contradict each other.
pub fn check(schema: &Arc<Schema>, payloads: &[&[u8]], paths: &[FieldPath], skips_blindly: bool) {
    let paths = &paths[..paths.len().min(MAX_PATHS)];
    let alone = |path: &FieldPath| Plan::compile(schema.clone(), std::slice::from_ref(path)).ok();
    let mut readers: Vec<(&FieldPath, PlanReader)> =
        paths.iter().filter_map(|path| Some((path, PlanReader::new(alone(path)?)))).collect();
    let fitting: Vec<FieldPath> = readers.iter().map(|(path, _)| (*path).clone()).collect();
    let mut together = Plan::compile(schema.clone(), &fitting).ok().map(PlanReader::new);
    for payload in payloads {
        let whole = decode(schema, payload, DecodeLimits::NONE);
        let limited = decode(schema, payload, DecodeLimits { max_items: 3 });
        match (&whole, &limited) {
            (Ok(_), Err(error)) => panic!("only the whole can be read, not a part: {error}"),
            (Err(error), Ok(_)) if !skips_blindly && !is_too_much(error) => {
                panic!("what is skipped is looked at all the same: {error}");
            }
            _ => {}
        }
        if whole.as_ref().map_or_else(is_too_much, |value| count(value) > MAX_VALUES) {
            // Reading it over and over takes longer than it is worth.
            continue;
        }
        let whole = whole.ok();
        for (path, reader) in &mut readers {
            let wanted = whole.as_ref().map(|value| vec![reached(value, path)]);
            check_reader(reader, payload, wanted.as_deref());
            check_numbers(reader, payload);
        }
        if let Some(reader) = &mut together {
            let wanted: Option<Vec<_>> = whole
                .as_ref()
                .map(|value| fitting.iter().map(|path| reached(value, path)).collect());
            check_reader(reader, payload, wanted.as_deref());
        }
    }
}

/// Runs a plan and its reader, which remembers another payload, then this one.
fn check_reader(reader: &mut PlanReader, payload: &[u8], wanted: Option<&[Vec<Value<'_>>]>) {
    let plan = reader.plan().clone();
    let mut by_plan: Vec<(usize, Value<'_>)> = Vec::new();
    let outcome = plan.run(payload, |path, value| by_plan.push((path, value)));
    match (&outcome, wanted) {
        (Ok(()), Some(wanted)) => {
            for (number, wanted) in wanted.iter().enumerate() {
                let found: Vec<&Value<'_>> = by_plan
                    .iter()
                    .filter(|(path, _)| *path == number)
                    .map(|(_, value)| value)
                    .collect();
                let is_same = found.len() == wanted.len()
                    && found.iter().zip(wanted).all(|(found, wanted)| same(found, wanted));
                assert!(is_same, "path {number}: plan {found:?}, whole {wanted:?}");
            }
            assert!(by_plan.iter().all(|(path, _)| *path < wanted.len()), "no other paths");
        }
        (Err(error), Some(_)) if !is_too_much(error) => {
            panic!("a plan reads no more than the whole message: {error}");
        }
        _ => {}
    }
    for round in 0..2 {
        let mut by_reader = Vec::new();
        let again = reader.read(payload, |path, value| by_reader.push((path, value)));
        assert_eq!(again, outcome, "reader, round {round}");
        let is_same = by_reader.len() == by_plan.len()
            && by_reader.iter().zip(&by_plan).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1));
        assert!(is_same, "round {round}: reader {by_reader:?}, plan {by_plan:?}");
    }
}

/// The shortcut to numbers, of a plan with one path, gives the last number of the long way.
fn check_numbers(reader: &mut PlanReader, payload: &[u8]) {
    const UNTOUCHED: f64 = 0.123_456_789;
    let plan = reader.plan().clone();
    let mut wanted = UNTOUCHED;
    let outcome = plan.run(payload, |_, value| wanted = value.as_f64().unwrap_or(wanted));
    let mut found = [UNTOUCHED];
    assert_eq!(plan.numbers(payload, &mut found), outcome);
    if outcome.is_ok() {
        assert_eq!(found[0].to_bits(), wanted.to_bits(), "a number by its plan");
    }
    let mut found = [UNTOUCHED];
    assert_eq!(reader.numbers(payload, &mut found), outcome);
    if outcome.is_ok() {
        assert_eq!(found[0].to_bits(), wanted.to_bits(), "a number by its reader");
    }
}

/// Whether a message was refused for what it would cost.
fn is_too_much(error: &DecodeError) -> bool {
    matches!(error.source, CdrError::TooManyValues { .. })
}

/// How many values there are in one.
fn count(value: &Value<'_>) -> usize {
    let inner: usize = match value {
        Value::List(list) => list.items.iter().map(count).sum(),
        Value::Struct(value) => value.fields.iter().map(count).sum(),
        Value::Object(value) => value.fields.iter().map(|(_, value)| count(value)).sum(),
        Value::Primitives(numbers) => numbers.len(),
        Value::Absent | Value::Scalar(_) | Value::String(_) => 0,
    };
    inner + 1
}

/// What a path leads to in a message that was read as a whole.
fn reached<'a>(message: &Value<'a>, path: &FieldPath) -> Vec<Value<'a>> {
    let mut reached = vec![message.clone()];
    for segment in path.segments() {
        reached = reached.iter().filter_map(|value| value.field(&segment.field)).cloned().collect();
        for index in &segment.indices {
            reached = reached.iter().flat_map(|value| elements(value, *index)).collect();
        }
    }
    reached.retain(|value| !matches!(value, Value::Absent));
    reached
}

fn elements<'a>(value: &Value<'a>, index: Index) -> Vec<Value<'a>> {
    let all: Vec<Value<'a>> = match value {
        Value::List(list) => list.items.clone(),
        Value::Primitives(numbers) => numbers.iter().map(Value::Scalar).collect(),
        _ => Vec::new(),
    };
    match index {
        Index::Each => all,
        Index::At(n) => all.into_iter().nth(n as usize).into_iter().collect(),
    }
}

/// Whether two values are equal, numbers bit by bit.
pub fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Absent, Value::Absent) => true,
        (Value::Scalar(a), Value::Scalar(b)) => same_scalar(*a, *b),
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Primitives(a), Value::Primitives(b)) => {
            a.kind() == b.kind()
                && a.len() == b.len()
                && a.iter().zip(b.iter()).all(|(a, b)| same_scalar(a, b))
        }
        (Value::List(a), Value::List(b)) => a.total == b.total && same_all(&a.items, &b.items),
        (Value::Struct(a), Value::Struct(b)) => {
            a.ty.name == b.ty.name && same_all(&a.fields, &b.fields)
        }
        (Value::Object(a), Value::Object(b)) => {
            a.fields.len() == b.fields.len()
                && a.fields.iter().zip(&b.fields).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1))
        }
        _ => false,
    }
}

fn same_all(a: &[Value<'_>], b: &[Value<'_>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn same_scalar(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::F32(a), Scalar::F32(b)) => a.to_bits() == b.to_bits(),
        (Scalar::F64(a), Scalar::F64(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}
