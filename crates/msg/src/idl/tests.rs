use std::fmt::Write;

use ros2_memory_cdr::{Extensibility, Primitive};

use super::parse_all;
use crate::{Definition, DefinitionError, TypeSpec};

fn parse(text: &str) -> Vec<Definition> {
    parse_all("T", text).unwrap()
}

fn fields(definition: &Definition) -> Vec<(&str, &TypeSpec)> {
    definition.fields.iter().map(|field| (field.name.as_str(), &field.ty)).collect()
}

fn array(ty: TypeSpec, len: usize) -> TypeSpec {
    TypeSpec::Array(Box::new(ty), len)
}

const F64: TypeSpec = TypeSpec::Primitive(Primitive::F64);

#[test]
fn every_plain_type_has_its_width() {
    use Primitive::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

    let text = "struct T { boolean a; octet b; char c; short d; unsigned short e; long f; \
                unsigned long g; long long h; unsigned long long i; float j; double k; \
                int8 l; uint8 m; int64 n; string o; string<10> p; wstring q; };";
    let kinds: Vec<_> = parse(text)[0].fields.iter().map(|field| field.ty.clone()).collect();
    let mut wanted: Vec<TypeSpec> =
        [Bool, U8, U8, I16, U16, I32, U32, I64, U64, F32, F64, I8, U8, I64]
            .into_iter()
            .map(TypeSpec::Primitive)
            .collect();
    wanted.extend([TypeSpec::String, TypeSpec::String, TypeSpec::WString]);
    assert_eq!(kinds, wanted);
}

#[test]
fn typedefs_arrays_sequences_and_enums_become_what_they_stand_for() {
    let text = "module m { const long N = 3; const unsigned long M = 2 + 2 * N - 2;
        typedef double point[N]; typedef point line[2];
        @bit_bound(16) enum Small { A, @value(7) B }; enum Kind { X, Y };
        struct T { line l; sequence<sequence<double, 4>, M> s; double g[2][M]; Small a; Kind k; }; };";
    let all = parse(text);
    let sequence = |ty| TypeSpec::Sequence(Box::new(ty));
    assert_eq!(
        fields(&all[0]),
        [
            ("l", &array(array(F64, 3), 2)),
            ("s", &sequence(sequence(F64))),
            ("g", &array(array(F64, 6), 2)),
            ("a", &TypeSpec::Primitive(Primitive::I16)),
            ("k", &TypeSpec::Primitive(Primitive::I32)),
        ]
    );
    assert_eq!(all[0].name, "m::T");
}

#[test]
fn names_are_looked_for_from_the_inside_out() {
    let text = "struct P { long outer; }; module a { struct P { long inner; };
        module b { struct T { P p; ::P q; a::P r; }; }; };";
    let all = parse(text);
    let t = all.iter().find(|d| d.name == "a::b::T").unwrap();
    let named = |name: &str| TypeSpec::Named(name.to_owned());
    assert_eq!(fields(t), [("p", &named("a::P")), ("q", &named("P")), ("r", &named("a::P"))]);
}

#[test]
fn dds_names_become_ros_names() {
    let text = "module std_msgs { module msg { module dds_ { @extensibility(FINAL)
        struct String_ { string data; }; struct Two_ { std_msgs::msg::dds_::String_ s; }; }; }; };";
    let all = parse(text);
    assert_eq!(all[0].name, "std_msgs/msg/String");
    assert_eq!(all[0].extensibility, Some(Extensibility::Final));
    assert_eq!(fields(&all[1]), [("s", &TypeSpec::Named("std_msgs/msg/String".to_owned()))]);
}

#[test]
fn br_066_annotations_that_do_not_matter_are_read_over() {
    let text = "@transfer_mode(SHMEM_REF) @verbatim (language=\"comment\", text=
          \"says \\\"}\\\" and ; more\" \"\\n\")
        struct T { @key int32 v; @default (value=\"x\") @unit(value=\"m\") string s; \
        @range(min=-1.5, max=1e-3) double d; @a::b @key ::T u; };";
    let names: Vec<_> = parse(text)[0].fields.iter().map(|f| f.name.clone()).collect();
    assert_eq!(names, ["v", "s", "d", "u"]);
}

#[test]
fn extensibility_ids_and_presence_are_kept() {
    let text = "@mutable struct T { @id(5) long a; long b; @optional @id(2) string c; };
        @extensibility(APPENDABLE) struct U : T { long d; }; @final struct V { long e; };";
    let all = parse(text);
    let told: Vec<_> =
        all[1].fields.iter().map(|f| (f.name.as_str(), f.id, f.is_optional)).collect();
    assert_eq!(told, [("a", 5, false), ("b", 6, false), ("c", 2, true), ("d", 3, false)]);
    let kinds: Vec<_> = all.iter().map(|d| d.extensibility.unwrap()).collect();
    assert_eq!(kinds, [Extensibility::Mutable, Extensibility::Appendable, Extensibility::Final]);
}

#[test]
fn blocks_of_ros2idl_are_one_text() {
    let line = "=".repeat(80);
    let text = format!(
        "{line}\nIDL: p/msg/T\n// generated\n#include \"p/msg/B.idl\"\nmodule p {{ module msg {{\n\
         typedef p::msg::B p__msg__B; typedef p__msg__B p__msg__B__2[2];\n\
         module T_Constants {{ const double PI = 3.14; const string S = \"a;b\"; }};\n\
         struct T {{ p__msg__B__2 b; std_msgs::msg::Header h; }}; }}; }};\n{line}\nIDL: p/msg/B\n\
         module p {{ module msg {{ struct B {{ uint8 structure_needs_at_least_one_member; }}; }}; }};"
    );
    let all = parse_all("p/msg/T", &text).unwrap();
    let named = |name: &str| TypeSpec::Named(name.to_owned());
    assert_eq!(
        fields(&all[0]),
        [("b", &array(named("p/msg/B"), 2)), ("h", &named("std_msgs/msg/Header"))]
    );
    assert_eq!((all[1].fields.len(), all[1].filler_bytes), (0, 1));
}

#[test]
fn what_is_not_read_is_named_where_it_is_needed() {
    let text = "union U switch(long) { case 1: long a; default: string b; };
        bitmask M { A, B }; struct T { U u; map<string, long> m; M k; wchar w; long double x; };";
    let kinds: Vec<_> = parse(text)[0].fields.iter().map(|field| field.ty.clone()).collect();
    let wanted = ["union U", "map", "bitmask M", "wchar", "long double"];
    assert_eq!(kinds, wanted.map(|what| TypeSpec::Unsupported(what.to_owned())));
}

#[test]
fn bad_texts_say_where_and_what() {
    for (text, line, what) in [
        ("struct T {\n long a\n};", 3, "a member without its ;"),
        ("struct T {\n long a[0]; };", 2, "a bad array size"),
        ("struct T {\n long a[n]; };", 2, "a size that is no known constant"),
        ("module m {\n", 1, "a module that does not end"),
        ("/* never", 1, "a comment that does not end"),
        ("\nstring x = \"", 2, "a text that does not end"),
        ("interface I {};", 1, "a declaration that is not known"),
        ("@mutable struct T { @id(N) long a; };", 1, "an @id that is no whole number"),
        ("@hashid(\"a\") struct T { long a; };", 1, "@hashid is not supported"),
    ] {
        let error = parse_all("T", text).unwrap_err();
        let DefinitionError::Syntax { line: at, problem, .. } = error else { panic!("{error}") };
        assert_eq!((at, problem), (line, what), "{text}");
    }
}

#[test]
fn endless_typedefs_and_bases_are_refused() {
    assert!(parse_all("T", "typedef b a; typedef a b; struct T { a x; };").is_err());
    assert!(parse_all("T", "struct T : T { long x; };").is_err());
    assert!(parse_all("T", &format!("struct T {{ {} }};", "sequence<".repeat(5000))).is_err());
}

#[test]
fn names_are_short_and_declarations_few_enough_to_multiply() {
    let long = "x".repeat(300);
    assert!(parse_all("T", &format!("module {long} {{ struct T {{ long a; }}; }};")).is_err());
    let nested = format!("module {} {{", "y".repeat(200)).repeat(8);
    assert!(parse_all("T", &format!("{nested} struct T {{ long a; }};")).is_err());
    let mut many = String::new();
    for n in 0..20_000 {
        write!(many, "typedef long t{n};").unwrap();
    }
    assert!(parse_all("T", &many).is_err());
}
