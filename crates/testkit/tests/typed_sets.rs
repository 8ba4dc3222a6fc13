//! The random types, values, texts and bytes cover what they are made for.

#![cfg(test)]

use std::collections::BTreeSet;

use ros2_memory_testkit::{
    prng::Prng,
    typed::{
        Encoding, Extensibility, Family, Layout, Options, Quirks, Style, Type, TypeSet, Value,
        encode, omgidl, paths, random_types, random_value, ros1msg, ros2idl, ros2msg,
    },
};

const SETS: u64 = 400;
const FAMILIES: [fn() -> Options; 3] = [Options::ros1, Options::ros2, Options::idl];

fn sets(options: Options) -> impl Iterator<Item = (TypeSet, Value, Prng)> {
    (0..SETS).map(move |seed| {
        let mut rng = Prng::new(seed);
        let set = random_types(options, &mut rng);
        let value = random_value(&set, &mut rng);
        (set, value, rng)
    })
}

/// Everything that can be made of a set, as one text.
fn everything(options: Options, seed: u64) -> String {
    let mut rng = Prng::new(seed);
    let set = random_types(options, &mut rng);
    let value = random_value(&set, &mut rng);
    let style = Style::random(&mut rng);
    let texts = match set.family {
        Family::Ros1 => vec![ros1msg(&set, style, &mut rng)],
        Family::Ros2 => vec![
            ros2msg(&set, style, &mut rng),
            omgidl(&set, style, &mut rng),
            ros2idl(&set, style, &mut rng),
        ],
        Family::Idl => vec![omgidl(&set, style, &mut rng), ros2idl(&set, style, &mut rng)],
    };
    let quirks = Quirks::random(&mut rng);
    let payloads: Vec<Vec<u8>> = Layout::fitting(&set)
        .into_iter()
        .map(|layout| encode(&set, &value, layout.with_quirks(quirks)))
        .collect();
    let paths = paths(&set, &value, &mut rng);
    format!("{set:?} {value:?} {texts:?} {payloads:?} {paths:?}")
}

#[test]
fn equal_seeds_give_equal_everything() {
    for options in FAMILIES {
        let mut seen = BTreeSet::new();
        for seed in 0..60 {
            let made = everything(options(), seed);
            assert_eq!(made, everything(options(), seed), "seed {seed}");
            seen.insert(made);
        }
        assert_eq!(seen.len(), 60);
    }
}

fn visit(set: &TypeSet, ty: &Type, depth: usize, seen: &mut BTreeSet<&'static str>) -> usize {
    let kind = match ty {
        Type::Prim(_) => "number",
        Type::Text { bound: None } => "string",
        Type::Text { bound: Some(_) } => "bounded string",
        Type::Enum(_) => "enum",
        Type::Typedef(_) => "typedef",
        Type::Struct(index) if set.structs[*index].fields.is_empty() => "empty structure",
        Type::Struct(_) => "structure",
        Type::Array { dims, .. } if dims.len() > 1 => "array of dimensions",
        Type::Array { .. } => "array",
        Type::Sequence { elem, .. } if matches!(set.resolved(elem), Type::Sequence { .. }) => {
            "sequence of sequences"
        }
        Type::Sequence { elem, .. } if matches!(set.resolved(elem), Type::Array { .. }) => {
            "sequence of arrays"
        }
        Type::Sequence { bound: None, .. } => "sequence",
        Type::Sequence { bound: Some(_), .. } => "bounded sequence",
    };
    seen.insert(kind);
    match ty {
        Type::Typedef(index) => visit(set, &set.typedefs[*index].ty, depth, seen),
        Type::Struct(index) => set.structs[*index]
            .fields
            .iter()
            .map(|field| visit(set, &field.ty, depth + 1, seen))
            .max()
            .unwrap_or(depth),
        Type::Array { elem, .. } | Type::Sequence { elem, .. } => visit(set, elem, depth, seen),
        Type::Prim(_) | Type::Text { .. } | Type::Enum(_) => depth,
    }
}

#[test]
fn each_family_has_every_kind_of_type_that_it_can_have() {
    let always = ["number", "string", "structure", "array", "sequence"];
    let bounded = ["bounded string", "bounded sequence"];
    let nested =
        ["enum", "typedef", "array of dimensions", "sequence of sequences", "sequence of arrays"];
    for (options, more) in [
        (Options::ros1(), &["empty structure"] as &[_]),
        (Options::ros2(), &["empty structure", bounded[0], bounded[1]]),
        (Options::idl(), &[&bounded[..], &nested[..]].concat()),
    ] {
        let mut seen = BTreeSet::new();
        let mut deepest = 0;
        let mut same_name = 0;
        for (set, _, _) in sets(options) {
            deepest = deepest.max(visit(&set, &Type::Struct(0), 0, &mut seen));
            let names: BTreeSet<&str> = set.structs.iter().map(|def| &*def.name).collect();
            same_name += u32::from(names.len() < set.structs.len());
            for def in &set.structs {
                let ids: BTreeSet<u32> = def.member_ids().into_iter().collect();
                assert_eq!(ids.len(), def.fields.len(), "ids of {def:?}");
                let names: BTreeSet<&String> = def.fields.iter().map(|field| &field.name).collect();
                assert_eq!(names.len(), def.fields.len(), "names of {def:?}");
                assert!(def.fields.len() <= 20, "{} fields", def.fields.len());
            }
        }
        assert_eq!(seen, always.iter().chain(more).copied().collect(), "{options:?}");
        assert!((5..=10).contains(&deepest), "{options:?}: {deepest} deep");
        assert!(same_name > 5, "{options:?}: the same name in two packages {same_name} times");
    }
}

#[test]
fn every_layout_is_used_and_none_is_huge() {
    let mut used = BTreeSet::new();
    let mut inner = BTreeSet::new();
    let mut longest = 0;
    for options in FAMILIES {
        for (set, value, mut rng) in sets(options()) {
            for layout in Layout::fitting(&set) {
                let quirks = Quirks::random(&mut rng);
                let bytes = encode(&set, &value, layout.with_quirks(quirks));
                used.insert(format!("{:?} {:?}", layout.encoding, layout.order));
                longest = longest.max(bytes.len());
                if layout.encoding == Encoding::Xcdr2 {
                    inner.extend(set.structs.iter().map(|def| format!("{:?}", def.extensibility)));
                }
            }
        }
    }
    assert_eq!(used.len(), 11, "{used:?}");
    let kinds = [Extensibility::Final, Extensibility::Appendable, Extensibility::Mutable];
    assert_eq!(inner, kinds.iter().map(|kind| format!("{kind:?}")).collect());
    assert!((2_000..200_000).contains(&longest), "{longest} bytes");
}

#[test]
fn texts_take_every_freedom() {
    let mut text = String::new();
    for options in FAMILIES {
        for seed in 0..SETS {
            text.push_str(&everything(options(), seed));
        }
    }
    // As the debug output writes them.
    for sign in [
        "\\r\\n",
        "\\nHeader ",
        "\\nstd_msgs/Header ",
        "\\ntime ",
        "\\nduration ",
        "=.5",
        "=1.\\n",
        "=1e-3",
        "string K1=\\n",
        "string K1=hello world",
        "string K1='text'",
        "[1, 0",
        "string<=",
        "[<=",
        "\\tK",
        "MSG: std_msgs/Header\\n",
        "MSG: std_msgs/msg/Header\\n",
        "IDL: std_msgs/msg/Header\\n",
        "structure_needs_at_least_one_member;",
        "@verbatim (language=",
        "@key ",
        "@default(value=",
        "@default (value=",
        "@unit(value=",
        "@transfer_mode(SHMEM_REF)",
        "@extensibility(MUTABLE)",
        "@appendable",
        "@optional",
        "@id(0x",
        "@value(",
        "unsigned long long ",
        "int32 ",
        "typedef double double__",
        "const unsigned long SIZE_",
        "#include ",
        "][",
        "> >",
        ">>",
        "::msg::",
        " ::",
        "enum Mode0 ",
    ] {
        assert!(text.contains(sign), "{sign}");
    }
}
