//! Python packages agree with the test kit: `rosbags` writes random messages of ROS with the same
//! bytes, and reads their definition texts as the same types; Cyclone DDS reads the same values out
//! of random payloads of IDL types. The scripts in `python` do the comparing.
//!
//! Each package lives in a virtual environment that is kept between runs. Without Python, or
//! without a package index to install from, the tests say so and pass; where `CI` is set and there
//! is a Python, they fail instead.

#![cfg(test)]

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    process::Command,
};

use ros2_memory_testkit::{
    payload::ByteOrder,
    prng::Prng,
    python::{environment, run, words},
    typed::{
        Encoding, Layout, Options, Prim, Quirks, Style, Type, TypeSet, Value, encode, random_types,
        random_value, ros1msg, ros2idl, ros2msg,
    },
};
use serde_json::{Value as Json, json};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python");
/// Of each version of ROS.
const SETS: u64 = 1_000;
/// Random sets of IDL, some of which are left out.
const IDL_SETS: u64 = 1_500;
/// One in so many sets is read from IDL too, which is slow.
const IDL_EACH: u64 = 5;

#[test]
fn rosbags_writes_the_same_bytes_and_reads_the_same_types() {
    let cases = (0..SETS)
        .flat_map(|seed| [Options::ros1(), Options::ros2()].map(|options| case(options, seed)));
    let Some(counts) = compared("rosbags", "rosbags_writes.py", cases) else { return };
    for kind in ["le", "be", "ros1", "msg"] {
        assert_eq!(counts[kind], 2 * SETS, "sets compared as {kind}");
    }
    assert_eq!(counts["idl"], SETS / IDL_EACH, "sets compared as idl");
    assert!(counts["bytes"].as_u64().unwrap() > 1_000_000);
}

#[test]
fn cyclone_dds_reads_the_same_values_out_of_every_layout() {
    let cases = (0..IDL_SETS).filter_map(idl_case);
    let Some(counts) = compared("cyclonedds", "cyclonedds_reads.py", cases) else { return };
    let counts = counts.as_object().unwrap();
    assert_eq!(counts.len(), 10, "{counts:?}");
    for (layout, count) in counts {
        assert!(count.as_u64().unwrap() > 300, "{layout}: {count}");
    }
}

/// What `script` counted, given `cases`; nothing when there is no Python that has `package`.
fn compared(package: &str, script: &str, cases: impl Iterator<Item = Json>) -> Option<Json> {
    let requirements = Path::new(FOLDER).join(format!("requirements-{package}.txt"));
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python = environment(&format!("python-{package}"), &requirements, kept)?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.jsonl");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for case in cases {
        serde_json::to_writer(&mut file, &case).unwrap();
        file.write_all(b"\n").unwrap();
    }
    drop(file.into_inner().unwrap());
    let output = run(Command::new(&python)
        .arg(Path::new(FOLDER).join(script))
        .arg(&path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONIOENCODING", "utf-8"));
    assert!(output.status.success(), "{}", words(&output));
    println!("compared {}", words(&output).trim());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn case(options: Options, seed: u64) -> Json {
    let mut rng = Prng::new(seed);
    let set = random_types(options, &mut rng);
    let value = random_value(&set, &mut rng);
    // What `rosbags` does not read.
    let style =
        Style { crlf: false, odd_strings: false, final_newline: true, ..Style::random(&mut rng) };
    let is_ros1 = options == Options::ros1();
    let msg = if is_ros1 { ros1msg(&set, style, &mut rng) } else { ros2msg(&set, style, &mut rng) };
    let has_idl = !is_ros1 && seed.is_multiple_of(IDL_EACH);
    let idl = if has_idl { idl_files(&set, &mut rng) } else { Vec::new() };
    let bytes = |encoding, order| hex(&encode(&set, &value, Layout::plain(encoding, order)));
    json!({
        "name": name(&set, 0),
        "types": types(&set),
        "msg": msg.text,
        "idl": idl,
        "value": plain(&value),
        "le": bytes(Encoding::Xcdr1, ByteOrder::Little),
        "be": bytes(Encoding::Xcdr1, ByteOrder::Big),
        "ros1": bytes(Encoding::Ros1, ByteOrder::Little),
    })
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte");
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).collect()
}

/// The blocks of `ros2idl`, without the lines between them.
fn idl_files(set: &TypeSet, rng: &mut Prng) -> Vec<String> {
    let style = Style { crlf: false, odd_strings: false, ..Style::random(rng) };
    let definition = ros2idl(set, style, rng);
    let separator = format!("{}\nIDL: ", "=".repeat(80));
    definition
        .text
        .split(&separator)
        .skip(1)
        .map(|block| block.split_once('\n').expect("a name on a line of its own").1.to_owned())
        .collect()
}

fn name(set: &TypeSet, index: usize) -> String {
    let def = &set.structs[index];
    format!("{}/msg/{}", def.package, def.name)
}

fn types(set: &TypeSet) -> Json {
    let types = set.structs.iter().enumerate().map(|(index, def)| {
        let fields: Vec<Json> =
            def.fields.iter().map(|field| json!([field.name, described(set, &field.ty)])).collect();
        json!([name(set, index), fields])
    });
    Json::Array(types.collect())
}

fn described(set: &TypeSet, ty: &Type) -> Json {
    match ty {
        Type::Prim(prim) => json!(["base", prim.ros_name(), 0]),
        Type::Text { bound } => json!(["base", "string", bound.unwrap_or(0)]),
        Type::Struct(index) => json!(["name", name(set, *index)]),
        Type::Array { elem, dims } => json!(["array", described(set, elem), dims[0]]),
        Type::Sequence { elem, bound } => {
            json!(["sequence", described(set, elem), bound.unwrap_or(0)])
        }
        Type::Enum(_) | Type::Typedef(_) => panic!("{ty:?} is none of ROS"),
    }
}

/// The value in JSON, with floats as the integers of their bits.
fn plain(value: &Value) -> Json {
    match value {
        Value::Bool(value) => json!(value),
        Value::I64(value) => json!(value),
        Value::U64(value) => json!(value),
        Value::F32(value) => json!(value.to_bits()),
        Value::F64(value) => json!(value.to_bits()),
        Value::Text(text) => json!(text),
        Value::List(items) | Value::Struct(items) => items.iter().map(plain).collect(),
        Value::Absent => panic!("nothing is optional in ROS"),
    }
}

/// A set of IDL with its value in each layout, plain and with freedoms taken. Nothing for sets with
/// lists of enums, which Cyclone DDS does not count as primitive.
fn idl_case(seed: u64) -> Option<Json> {
    let mut rng = Prng::new(seed);
    let set = random_types(Options::idl(), &mut rng);
    let types = || set.structs.iter().flat_map(|def| &def.fields).map(|field| &field.ty);
    if types().any(|ty| has_list_of_enums(&set, ty)) {
        return None;
    }
    let value = random_value(&set, &mut rng);
    let enums: Vec<Json> = set
        .enums
        .iter()
        .enumerate()
        .map(|(index, def)| json!([format!("E{index}"), def.enumerators]))
        .collect();
    let structs = set.structs.iter().enumerate().rev().map(|(index, def)| {
        let fields = def.fields.iter().map(|field| {
            json!([field.name, expression(&set, &field.ty), field.optional, field.id])
        });
        let extensibility = format!("{:?}", def.extensibility).to_lowercase();
        json!([format!("S{index}"), extensibility, fields.collect::<Vec<_>>()])
    });
    let structs: Vec<Json> = structs.collect();
    let mut payloads = Vec::new();
    for layout in Layout::fitting(&set) {
        let free = Quirks { strings_without_nul: false, ..Quirks::random(&mut rng) };
        for quirks in [Quirks::NONE, free] {
            let name = format!("{:?} {:?}", layout.encoding, layout.order);
            payloads.push(json!([name, hex(&encode(&set, &value, layout.with_quirks(quirks)))]));
        }
    }
    let value = with_kinds(&value);
    Some(json!({ "enums": enums, "structs": structs, "value": value, "payloads": payloads }))
}

fn has_list_of_enums(set: &TypeSet, ty: &Type) -> bool {
    match set.resolved(ty) {
        Type::Array { elem, .. } | Type::Sequence { elem, .. } => {
            matches!(set.resolved(elem), Type::Enum(_)) || has_list_of_enums(set, elem)
        }
        _ => false,
    }
}

/// The type, as the Python of Cyclone DDS writes it.
fn expression(set: &TypeSet, ty: &Type) -> String {
    match set.resolved(ty) {
        Type::Prim(Prim::Bool) => "bool".to_owned(),
        Type::Prim(prim) => format!("idl_types.{}", prim.ros_name()),
        Type::Text { bound: None } => "str".to_owned(),
        Type::Text { bound: Some(bound) } => format!("idl_types.bounded_str[{bound}]"),
        Type::Enum(index) => format!("E{index}"),
        Type::Struct(index) => format!("S{index}"),
        Type::Array { elem, dims } => dims
            .iter()
            .rev()
            .fold(expression(set, elem), |inner, dim| format!("idl_types.array[{inner}, {dim}]")),
        Type::Sequence { elem, bound } => {
            let bound = bound.map_or_else(String::new, |bound| format!(", {bound}"));
            format!("idl_types.sequence[{}{bound}]", expression(set, elem))
        }
        Type::Typedef(_) => unreachable!("resolved"),
    }
}

/// The value in JSON, with lists, structures and floats told apart.
fn with_kinds(value: &Value) -> Json {
    match value {
        Value::F32(value) => json!({ "bits": [4, value.to_bits()] }),
        Value::F64(value) => json!({ "bits": [8, value.to_bits()] }),
        Value::List(items) => json!({ "items": items.iter().map(with_kinds).collect::<Vec<_>>() }),
        Value::Struct(fields) => {
            json!({ "fields": fields.iter().map(with_kinds).collect::<Vec<_>>() })
        }
        Value::Absent => Json::Null,
        _ => plain(value),
    }
}
