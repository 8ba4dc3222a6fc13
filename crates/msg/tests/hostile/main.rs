//! Definitions made to break the reader of definitions, in each language: on a small stack, with
//! little memory, and soon, each gives a type or an error; and the types that come out read any
//! bytes under the same limits.

#![cfg(test)]
#![expect(unsafe_code, reason = "an allocator that counts has no safe form; tests only")]

mod allocation;
mod cases;
mod render;
mod run;

use std::{env, fmt::Write, sync::mpsc, thread, time::Duration};

use ros2_memory_msg::{
    DecodeLimits, DefinitionError, Library, MAX_DEPTH, MAX_FIELDS, Schema, SchemaEncoding,
    TypeSource, decode,
};

use self::{
    cases::{Fate, cases, root},
    render::{LANGUAGES, ROOT, Shape, chain, one, render, ty},
    run::{FROM, HANG, LIMIT, PEAK_BYTES, ask_process, run_from},
};

/// In processes of their own: one that overflows its stack cannot say so, and a thread that does
/// not end cannot be stopped.
#[test]
fn a_hostile_definition_gives_an_error_or_a_type_on_a_small_stack_in_little_memory() {
    if let Ok(from) = env::var(FROM) {
        return run_from(from.parse().unwrap());
    }
    let cases = cases();
    let mut broken = Vec::new();
    let (mut refused, mut worst, mut slowest) = (0, 0, Duration::ZERO);
    let mut from = 0;
    while from < cases.len() {
        let (ended, stopped) = ask_process(from);
        let name = |number: usize| format!("{:?}, {}", cases[number].language, cases[number].name);
        from = stopped.as_ref().map_or(cases.len(), |(number, _)| number + 1);
        for (number, outcome) in ended {
            refused += usize::from(outcome.is_refused);
            worst = worst.max(outcome.peak);
            slowest = slowest.max(outcome.took);
            let mut note = |what: String| broken.push(format!("{}: {what}", name(number)));
            if cases[number].fate == Fate::Refused && !outcome.is_refused {
                note("is taken".to_owned());
            }
            if outcome.took > LIMIT {
                note(format!("takes {:?}", outcome.took));
            }
            if outcome.peak > PEAK_BYTES {
                note(format!("takes {} MiB", outcome.peak >> 20));
            }
        }
        broken.extend(stopped.map(|(number, why)| format!("{}: {why}", name(number))));
    }
    let n = cases.len();
    println!("{n} definitions, {refused} refused, most {} KiB, longest {slowest:?}", worst >> 10);
    assert!(broken.is_empty(), "{} promises broken:\n{}", broken.len(), broken.join("\n"));
    assert!(n >= 40 && refused >= 40, "{refused} of {n}");
}

#[test]
fn what_the_limits_allow_is_taken() {
    for language in LANGUAGES {
        let deepest = chain(MAX_DEPTH - 2, 1, Shape::One, vec![one("uint8")]);
        let text = render(language, &deepest);
        assert!(Schema::parse_as(language, ROOT, &text, &Library::new()).is_ok(), "{language:?}");
        let widest = render(language, &[ty("T", vec![one("uint8"); MAX_FIELDS])]);
        let widest = Schema::parse_as(language, ROOT, &widest, &Library::new());
        assert!(widest.is_ok(), "{language:?}: {:?}", widest.err());
    }
}

#[test]
fn a_library_of_loops_is_an_error() {
    let mut library = Library::new();
    library.add("p/msg/A", "B b\n").unwrap();
    library.add("p/msg/B", "A a\n").unwrap();
    assert!(Schema::from_library("p/msg/A", &library).is_err());
    let embedded = Schema::parse(ROOT, "A a\n", &library);
    assert!(matches!(embedded, Err(DefinitionError::Recursive { .. })), "{embedded:?}");
    for level in 0..10_000 {
        library.add(&format!("p/msg/L{level}"), &format!("L{} x\n", level + 1)).unwrap();
    }
    assert!(Schema::from_library("p/msg/L0", &library).is_err());
}

/// Each pair is of one name and two texts, of which the file's own is taken.
#[test]
fn a_files_own_definition_is_taken_before_the_librarys_and_the_librarys_only_without_one() {
    let kinds = ["int8", "uint16", "int32", "float32", "int64", "float64", "string", "bool"];
    let mut n = 0;
    for own in kinds {
        for other in kinds.iter().filter(|other| **other != own) {
            let mut library = Library::new();
            library.add(ROOT, &format!("{other} theirs\n")).unwrap();
            let schema = |text: &str| {
                let source = TypeSource {
                    type_name: ROOT,
                    schema_encoding: "ros2msg",
                    message_encoding: "cdr",
                    text: text.as_bytes(),
                };
                Schema::for_channel(&source, &library).unwrap()
            };
            assert_eq!(schema(&format!("{own} ours\n")).root().fields[0].name, "ours");
            assert_eq!(schema("").root().fields[0].name, "theirs");
            n += 1;
        }
    }
    assert!(n >= 30, "{n} pairs");
}

/// Of a thinned list what is not kept is walked over, and nothing of the payload bounds a walk
/// over values that take no bytes: 2^40 of them stand in a type with two of the next, 40 deep.
#[test]
fn values_of_no_bytes_are_not_walked_over_one_by_one() {
    let mut definitions = Vec::new();
    for note in ["", "@final", "@appendable", "@mutable"] {
        for leaf in ["N x;", "N x[2];", "N x[2][3];"] {
            let mut text = format!("struct N {{}};\n{note} struct A0 {{ {leaf} }};\n");
            for n in 1..=40 {
                writeln!(text, "{note} struct A{n} {{ A{0} a; A{0} b; }};", n - 1).unwrap();
            }
            for field in ["@optional A40 a;", "@optional octet o; sequence<A40> a;", "A40 a[2];"] {
                let element = format!("@final struct E {{ {field} }};\n");
                let text = text.clone() + &element + &root("@optional octet o; E many[20];");
                definitions.push(format!("module p {{ module msg {{\n{text}\n}}; }};\n"));
            }
        }
    }
    let (tell, told) = mpsc::sync_channel(1);
    let expected = definitions.len();
    let walk = move || {
        for text in definitions {
            let schema =
                Schema::parse_as(SchemaEncoding::OmgIdl, ROOT, &text, &Library::new()).unwrap();
            let mut n_read = 0;
            for form in [1, 3, 7, 9, 11] {
                for at in 0..64 {
                    let mut payload = [&[0, form, 0, 0][..], &[0; 1024]].concat();
                    payload[4 + at] = 1;
                    let thinned = DecodeLimits { max_items: 3 };
                    n_read += u32::from(decode(&schema, &payload, thinned).is_ok());
                }
            }
            tell.send((text, n_read)).unwrap_or_default();
        }
    };
    thread::Builder::new().name("no bytes".to_owned()).spawn(walk).unwrap();
    for n in 0..expected {
        let (text, n_read) = told.recv_timeout(HANG).unwrap_or_else(|_| panic!("{n} does not end"));
        assert!(n_read > 0 || text.contains("A40 a[2]"), "none is read:\n{text}");
    }
}
