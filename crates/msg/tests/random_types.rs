//! Random types with random values, written by an encoder that shares nothing with the reader,
//! against the reader: every value of every message in every layout, and random paths by compiled
//! plans, also by a reader that remembers offsets.
//!
//! The short form takes some thousand types and a new seed, which it prints and which
//! `ROS2_MEMORY_SEED` sets again. The long form takes 100,000:
//!
//! ```text
//! ROS2_MEMORY_LONG=1 cargo test --release -p ros2-memory-msg --test random_types -- --nocapture
//! ```

#![cfg(test)]

use std::{
    collections::BTreeMap,
    env,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use ros2_memory_msg::{
    DecodeLimits, FieldPath, Library, Plan, PlanReader, Scalar, Schema, TypeSource, Value, decode,
};
use ros2_memory_testkit::{
    prng::Prng,
    typed::{self, Layout, Options, Quirks, Style, TypeSet, Value as Wanted},
};

const SHORT_TYPES: u64 = 1_000;
const LONG_TYPES: u64 = 100_000;
const VALUES_A_TYPE: usize = 2;

#[test]
fn random_types_in_every_layout_give_what_was_written() {
    let is_long = env::var_os("ROS2_MEMORY_LONG").is_some_and(|value| value == "1");
    let given = env::var("ROS2_MEMORY_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = given.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now.as_secs() ^ u64::from(now.subsec_nanos())
    });
    let n_types = if is_long { LONG_TYPES } else { SHORT_TYPES };
    println!("seed {seed}: ROS2_MEMORY_SEED={seed} repeats this run");
    let mut counts = Seen::default();
    for number in 0..n_types {
        // Each type has a seed of its own, so that one can be looked at alone.
        let seed = seed.wrapping_add(number);
        let mut rng = Prng::new(seed);
        let options = match number % 4 {
            0 => Options::ros1(),
            1 | 2 => Options::ros2(),
            _ => Options::idl(),
        };
        let set = typed::random_types(options, &mut rng);
        one_type(&set, seed, &mut rng, &mut counts);
    }
    println!(
        "{n_types} types, {} texts, {} messages, {} values, {} paths with {} values",
        counts.texts, counts.messages, counts.values, counts.paths, counts.path_values
    );
    for (what, n) in &counts.by_kind {
        println!("  {what}: {n} messages");
    }
    assert!(counts.by_kind.len() >= 14 && counts.by_kind.values().all(|n| *n > 20), "{counts:?}");
    assert!(counts.path_values > n_types);
}

#[derive(Debug, Default)]
struct Seen {
    texts: u64,
    messages: u64,
    values: u64,
    paths: u64,
    path_values: u64,
    /// By schema encoding and layout.
    by_kind: BTreeMap<String, u64>,
}

fn one_type(set: &TypeSet, seed: u64, rng: &mut Prng, counts: &mut Seen) {
    let style = Style::random(rng);
    let texts = match set.family {
        typed::Family::Ros1 => vec![typed::ros1msg(set, style, rng)],
        typed::Family::Ros2 => vec![
            typed::ros2msg(set, style, rng),
            typed::omgidl(set, style, rng),
            typed::ros2idl(set, style, rng),
        ],
        typed::Family::Idl => {
            vec![typed::omgidl(set, style, rng), typed::ros2idl(set, style, rng)]
        }
    };
    for text in texts {
        let is_ros1 = text.encoding == "ros1msg";
        let source = TypeSource {
            type_name: &text.schema_name,
            schema_encoding: text.encoding,
            message_encoding: if is_ros1 { "ros1" } else { "cdr" },
            text: text.text.as_bytes(),
        };
        let at =
            || format!("seed {seed}, {} of {}:\n{}", text.encoding, text.schema_name, text.text);
        let schema = Schema::for_channel(&source, &Library::new())
            .unwrap_or_else(|error| panic!("{error}\n{}", at()));
        let schema = Arc::new(schema);
        counts.texts += 1;
        for _ in 0..VALUES_A_TYPE {
            let wanted = typed::random_value(set, rng);
            let paths = typed::paths(set, &wanted, rng);
            for layout in Layout::fitting(set) {
                let layout =
                    if rng.chance(50) { layout.with_quirks(Quirks::random(rng)) } else { layout };
                let payload = typed::encode(set, &wanted, layout);
                let at = || format!("{layout:?}\n{payload:02x?}\n{}", at());
                let read = decode(&schema, &payload, DecodeLimits::NONE)
                    .unwrap_or_else(|error| panic!("{error}\n{}", at()));
                let mut n = 0;
                assert!(is_same(&read, &wanted, &mut n), "{read:?}\n{wanted:?}\n{}", at());
                counts.messages += 1;
                counts.values += n;
                let kind = format!("{}, {:?} {:?}", text.encoding, layout.encoding, layout.order);
                *counts.by_kind.entry(kind).or_default() += 1;
                check_paths(&schema, &payload, &paths, counts, &at);
            }
        }
    }
}

/// Each path alone, then all at once.
fn check_paths(
    schema: &Arc<Schema>,
    payload: &[u8],
    paths: &[(String, Vec<Wanted>)],
    seen: &mut Seen,
    at: &dyn Fn() -> String,
) {
    let parsed: Vec<FieldPath> = paths.iter().map(|(path, _)| path.parse().unwrap()).collect();
    let all = Plan::compile(schema.clone(), &parsed).unwrap_or_else(|e| panic!("{e}\n{}", at()));
    let mut by_path: Vec<Vec<Value<'_>>> = vec![Vec::new(); paths.len()];
    all.run(payload, |number, value| by_path[number].push(value)).unwrap();
    for (number, ((text, wanted), path)) in paths.iter().zip(&parsed).enumerate() {
        let plan = Plan::compile(schema.clone(), std::slice::from_ref(path)).unwrap();
        let mut alone = Vec::new();
        plan.run(payload, |_, value| alone.push(value))
            .unwrap_or_else(|error| panic!("{text}: {error}\n{}", at()));
        let mut reader = PlanReader::new(plan.clone());
        let mut remembered = Vec::new();
        for _ in 0..2 {
            remembered.clear();
            // The values borrow from the reader; what they say is kept.
            reader.read(payload, |_, value| remembered.push(format!("{value:?}"))).unwrap();
        }
        let mut n = 0;
        let is_right = |found: &[Value<'_>], n: &mut u64| {
            found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(value, wanted)| is_same(value, wanted, n))
        };
        assert!(is_right(&alone, &mut n), "{text}: {alone:?}\n{wanted:?}\n{}", at());
        assert!(is_right(&by_path[number], &mut 0), "{text} among others\n{}", at());
        let alone: Vec<String> = alone.iter().map(|value| format!("{value:?}")).collect();
        assert_eq!(alone, remembered, "{text} by its offsets\n{}", at());
        seen.paths += 1;
        seen.path_values += n;
    }
}

/// Whether a value is what was written; `n` counts the numbers and texts in it.
fn is_same(read: &Value<'_>, wanted: &Wanted, n: &mut u64) -> bool {
    match (read, wanted) {
        (Value::Absent, Wanted::Absent) => true,
        (Value::Scalar(scalar), wanted) => is_same_scalar(*scalar, wanted, n),
        (Value::String(read), Wanted::Text(wanted)) => {
            *n += 1;
            **read == **wanted
        }
        (Value::Primitives(read), Wanted::List(wanted)) => {
            read.len() == wanted.len()
                && read.iter().zip(wanted).all(|(read, wanted)| is_same_scalar(read, wanted, n))
        }
        (Value::List(read), Wanted::List(wanted)) => {
            read.items.len() == wanted.len()
                && read.total == wanted.len()
                && read.items.iter().zip(wanted).all(|(read, wanted)| is_same(read, wanted, n))
        }
        (Value::Struct(read), Wanted::Struct(wanted)) => {
            read.fields.len() == wanted.len()
                && read.fields.iter().zip(wanted).all(|(read, wanted)| is_same(read, wanted, n))
        }
        _ => false,
    }
}

fn is_same_scalar(read: Scalar, wanted: &Wanted, n: &mut u64) -> bool {
    *n += 1;
    match (read, wanted) {
        (Scalar::Bool(read), Wanted::Bool(wanted)) => read == *wanted,
        (Scalar::I64(read), Wanted::I64(wanted)) => read == *wanted,
        (Scalar::U64(read), Wanted::U64(wanted)) => read == *wanted,
        (Scalar::F32(read), Wanted::F32(wanted)) => read.to_bits() == wanted.to_bits(),
        (Scalar::F64(read), Wanted::F64(wanted)) => read.to_bits() == wanted.to_bits(),
        _ => false,
    }
}
