//! Bytes worked out by hand from the rules of the specifications, and paths worked out by hand.

#![cfg(test)]

use std::collections::BTreeSet;

use ros2_memory_testkit::{
    payload::ByteOrder,
    prng::Prng,
    typed::{
        Encoding, EnumDef, Extensibility, Family, Field, Layout, Prim, Quirks, StructDef, Type,
        TypeSet, Typedef, Value, encode, paths,
    },
};

const ONE: Value = Value::F64(1.0);

fn field(name: &str, ty: Type) -> Field {
    Field { name: name.to_owned(), ty, optional: false, id: None }
}

fn structure(name: &str, extensibility: Extensibility, fields: Vec<Field>) -> StructDef {
    StructDef { package: "demo".to_owned(), name: name.to_owned(), extensibility, fields }
}

fn idl(structs: Vec<StructDef>) -> TypeSet {
    TypeSet { family: Family::Idl, structs, enums: Vec::new(), typedefs: Vec::new() }
}

fn ros2(structs: Vec<StructDef>) -> TypeSet {
    TypeSet { family: Family::Ros2, ..idl(structs) }
}

/// A set of one structure of the fields `f0`, `f1` and so on.
fn one(extensibility: Extensibility, types: Vec<Type>) -> TypeSet {
    let fields = types.into_iter().enumerate().map(|(number, ty)| field(&format!("f{number}"), ty));
    idl(vec![structure("Root", extensibility, fields.collect())])
}

fn prim(prim: Prim) -> Type {
    Type::Prim(prim)
}

fn string() -> Type {
    Type::Text { bound: None }
}

fn sequence(elem: Type) -> Type {
    Type::Sequence { elem: Box::new(elem), bound: None }
}

fn array(elem: Type, dims: &[usize]) -> Type {
    Type::Array { elem: Box::new(elem), dims: dims.to_vec() }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    assert!(digits.len().is_multiple_of(2), "{hex}");
    (0..digits.len() / 2)
        .map(|place| u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).unwrap())
        .collect()
}

#[track_caller]
fn lays_out(set: &TypeSet, fields: &[Value], encoding: Encoding, order: ByteOrder, expected: &str) {
    let value = Value::Struct(fields.to_vec());
    let encoded = encode(set, &value, Layout::plain(encoding, order));
    assert_eq!(encoded, bytes(expected));
}

use ByteOrder::{Big, Little};
use Encoding::{Ros1, Xcdr1, Xcdr1List, Xcdr2, Xcdr2Delimited, Xcdr2List};
use Extensibility::{Appendable, Final, Mutable};

#[test]
fn version_1_aligns_to_8_and_version_2_to_4() {
    let set = one(Final, vec![prim(Prim::U8), prim(Prim::F64)]);
    let fields = [Value::U64(1), ONE];
    lays_out(&set, &fields, Xcdr1, Little, "00010000 01 00000000000000 000000000000f03f");
    lays_out(&set, &fields, Xcdr1, Big, "00000000 01 00000000000000 3ff0000000000000");
    lays_out(&set, &fields, Xcdr2, Little, "00070000 01 000000 000000000000f03f");
    lays_out(&set, &fields, Xcdr2, Big, "00060000 01 000000 3ff0000000000000");
    lays_out(&set, &fields, Ros1, Little, "01 000000000000f03f");
}

#[test]
fn an_empty_sequence_is_not_followed_by_the_alignment_of_its_elements() {
    let set = one(Final, vec![sequence(prim(Prim::F64)), prim(Prim::U8)]);
    let fields = [Value::List(Vec::new()), Value::U64(7)];
    lays_out(&set, &fields, Xcdr1, Little, "00010000 00000000 07");
    let fields = [Value::List(vec![ONE]), Value::U64(7)];
    lays_out(&set, &fields, Xcdr1, Little, "00010000 01000000 00000000 000000000000f03f 07");
    lays_out(&set, &fields, Xcdr2, Little, "00070000 01000000 000000000000f03f 07");
}

#[test]
fn strings_count_their_nul_except_in_ros_1() {
    let set = one(Final, vec![string(), prim(Prim::U16)]);
    let fields = [text("\u{e9}"), Value::U64(0x1234)];
    lays_out(&set, &fields, Xcdr1, Little, "00010000 03000000 c3a900 00 3412");
    lays_out(&set, &fields, Ros1, Little, "02000000 c3a9 3412");
}

#[test]
fn a_structure_of_ros_without_fields_takes_a_byte_except_in_ros_1() {
    let set = ros2(vec![
        structure(
            "Root",
            Final,
            vec![field("nothing", Type::Struct(1)), field("n", prim(Prim::U16))],
        ),
        structure("Nothing", Final, Vec::new()),
    ]);
    let fields = [Value::Struct(Vec::new()), Value::U64(5)];
    lays_out(&set, &fields, Xcdr1, Little, "00010000 00 00 0500");
    lays_out(&set, &fields, Ros1, Little, "0500");
    lays_out(&set, &fields, Xcdr2Delimited, Little, "00090000 08000000 01000000 00 00 0500");
}

#[test]
fn an_appendable_structure_says_its_size_in_version_2_only() {
    let set = one(Appendable, vec![prim(Prim::U8), string()]);
    let fields = [Value::U64(1), text("hi")];
    lays_out(&set, &fields, Xcdr2Delimited, Little, "00090000 0b000000 01 000000 03000000 686900");
    lays_out(&set, &fields, Xcdr1, Little, "00010000 01 000000 03000000 686900");
}

#[test]
fn a_list_says_its_size_unless_its_elements_are_primitive() {
    let set = one(Final, vec![sequence(string())]);
    lays_out(
        &set,
        &[Value::List(vec![text("a")])],
        Xcdr2,
        Big,
        "00060000 0000000a 00000001 00000002 6100",
    );
    // Of all dimensions one size.
    let set = one(Final, vec![array(string(), &[1, 2])]);
    lays_out(
        &set,
        &[Value::List(vec![Value::List(vec![text("a"), text("")])])],
        Xcdr2,
        Little,
        "00070000 0d000000 02000000 6100 0000 01000000 00",
    );
    let set = one(Final, vec![array(prim(Prim::U16), &[2])]);
    let pair = Value::List(vec![Value::U64(1), Value::U64(2)]);
    lays_out(&set, std::slice::from_ref(&pair), Xcdr2, Little, "00070000 0100 0200");
    // The elements of a list of lists are not primitive, even if theirs are.
    let mut set = one(Final, vec![sequence(Type::Typedef(0))]);
    set.typedefs.push(Typedef {
        package: "demo".to_owned(),
        name: "pair".to_owned(),
        ty: array(prim(Prim::U16), &[2]),
    });
    lays_out(
        &set,
        &[Value::List(vec![pair])],
        Xcdr2,
        Little,
        "00070000 08000000 01000000 0100 0200",
    );
    let mut set = one(Final, vec![sequence(Type::Enum(0))]);
    set.enums.push(EnumDef {
        package: "demo".to_owned(),
        name: "Color".to_owned(),
        enumerators: vec![("RED".to_owned(), 0), ("GREEN".to_owned(), 5)],
    });
    lays_out(
        &set,
        &[Value::List(vec![Value::I64(5)])],
        Xcdr2,
        Little,
        "00070000 01000000 05000000",
    );
}

#[test]
fn in_a_delimited_payload_of_ros_every_structure_says_its_size() {
    let set = ros2(vec![
        structure("Root", Final, vec![field("inner", sequence(Type::Struct(1)))]),
        structure("Inner", Final, vec![field("n", prim(Prim::U8))]),
    ]);
    let inner = |number| Value::Struct(vec![Value::U64(number)]);
    let fields = [Value::List(vec![inner(1), inner(2)])];
    lays_out(
        &set,
        &fields,
        Xcdr2Delimited,
        Little,
        "00090000 15000000 11000000 02000000 01000000 01 000000 01000000 02",
    );
    lays_out(&set, &fields, Xcdr2, Little, "00070000 06000000 02000000 01 02");
}

fn with_optional(extensibility: Extensibility) -> TypeSet {
    let mut set =
        one(extensibility, vec![prim(Prim::F64), prim(Prim::F64), prim(Prim::U16), prim(Prim::U8)]);
    for number in [1, 2] {
        set.structs[0].fields[number].optional = true;
    }
    set
}

#[test]
fn an_optional_member_has_a_boolean_in_version_2_and_a_header_in_version_1() {
    let set = with_optional(Final);
    let fields = [ONE, ONE, Value::Absent, Value::U64(9)];
    lays_out(
        &set,
        &fields,
        Xcdr2,
        Little,
        "00070000 000000000000f03f 01 000000 000000000000f03f 00 09",
    );
    // The second number is at 12: alignment is counted from the end of its header.
    lays_out(
        &set,
        &fields,
        Xcdr1,
        Little,
        "00010000 000000000000f03f 01000800 000000000000f03f 02000000 09",
    );
}

#[test]
fn a_mutable_structure_is_a_list_of_members() {
    let set = with_optional(Mutable);
    let fields = [ONE, Value::Absent, Value::U64(0x0102), Value::U64(9)];
    lays_out(
        &set,
        &fields,
        Xcdr2List,
        Little,
        "000b0000 19000000 00000030 000000000000f03f 02000010 0201 0000 03000000 09",
    );
    lays_out(
        &set,
        &fields,
        Xcdr2List,
        Big,
        "000a0000 00000019 30000000 3ff0000000000000 10000002 0102 0000 00000003 09",
    );
    lays_out(
        &set,
        &fields,
        Xcdr1List,
        Little,
        "00030000 00000800 000000000000f03f 02000200 0201 0000 03000100 09 000000 023f0000",
    );
    lays_out(
        &set,
        &fields,
        Xcdr1List,
        Big,
        "00020000 00000008 3ff0000000000000 00020002 0102 0000 00030001 09 000000 3f020000",
    );
}

#[test]
fn ids_count_on_from_the_last_and_large_ones_take_the_long_header() {
    let mut set = one(Mutable, vec![prim(Prim::U8), prim(Prim::U8), string()]);
    set.structs[0].fields[0].id = Some(0x3F00);
    set.structs[0].fields[2].id = Some(0x0123_4567);
    let fields = [Value::U64(1), Value::U64(2), text("xyz")];
    assert_eq!(set.structs[0].member_ids(), [0x3F00, 0x3F01, 0x0123_4567]);
    lays_out(
        &set,
        &fields,
        Xcdr1List,
        Little,
        "00030000 003f0100 01 000000 013f0800 013f0000 01000000 02 000000
         013f0800 67452301 08000000 04000000 78797a00 023f0000",
    );
    lays_out(
        &set,
        &fields,
        Xcdr2List,
        Little,
        "000b0000 1c000000 003f0000 01 000000 013f0000 02 000000 67452331 04000000 78797a00",
    );
}

#[test]
fn a_structure_keeps_its_own_rules_inside_another() {
    let set = idl(vec![
        structure("Root", Final, vec![field("n", prim(Prim::U8)), field("inner", Type::Struct(1))]),
        structure("Inner", Mutable, vec![field("x", prim(Prim::F64))]),
    ]);
    let fields = [Value::U64(1), Value::Struct(vec![ONE])];
    lays_out(&set, &fields, Xcdr2, Little, "00070000 01 000000 0c000000 00000030 000000000000f03f");
    lays_out(&set, &fields, Xcdr1, Little, "00010000 01 000000 00000800 000000000000f03f 023f0000");
}

/// What a list of one member may look like in version 2, without the bit that it must be
/// understood.
fn member_forms(ty: Type, value: Value) -> BTreeSet<Vec<u8>> {
    let set = one(Mutable, vec![ty]);
    let value = Value::Struct(vec![value]);
    (0..300)
        .map(|seed| {
            let quirks = Quirks { seed, any_form: true, ..Quirks::NONE };
            let layout = Layout::plain(Xcdr2List, Little).with_quirks(quirks);
            let mut member = encode(&set, &value, layout).split_off(8);
            member[3] &= 0x7f;
            member
        })
        .collect()
}

fn forms(hex: &[&str]) -> BTreeSet<Vec<u8>> {
    hex.iter().map(|hex| bytes(hex)).collect()
}

#[test]
fn a_member_takes_every_length_code_that_is_legal_for_it_and_no_other() {
    let numbers =
        |numbers: &[u64]| Value::List(numbers.iter().map(|number| Value::U64(*number)).collect());
    assert_eq!(
        member_forms(prim(Prim::U8), Value::U64(9)),
        forms(&["00000000 09", "00000040 01000000 09"])
    );
    assert_eq!(
        member_forms(sequence(prim(Prim::U32)), numbers(&[1, 2])),
        forms(&[
            "00000040 0c000000 02000000 01000000 02000000",
            "00000060 02000000 01000000 02000000"
        ])
    );
    assert_eq!(
        member_forms(sequence(prim(Prim::U64)), numbers(&[1, 2])),
        forms(&[
            "00000040 14000000 02000000 0100000000000000 0200000000000000",
            "00000070 02000000 0100000000000000 0200000000000000",
        ])
    );
    assert_eq!(
        member_forms(string(), text("abc")),
        forms(&[
            "00000030 04000000 61626300",
            "00000040 08000000 04000000 61626300",
            "00000050 04000000 61626300",
        ])
    );
    // The size of two bytes an element cannot be told by a code.
    assert_eq!(
        member_forms(sequence(prim(Prim::U16)), numbers(&[1, 2, 3])),
        forms(&["00000040 0a000000 03000000 0100 0200 0300"])
    );
    // A number that happens to equal a length is none.
    assert_eq!(
        member_forms(prim(Prim::U32), Value::U64(0)),
        forms(&["00000020 00000000", "00000040 04000000 00000000"])
    );
}

#[test]
fn members_come_in_any_order_with_unknown_ones_between() {
    let set = one(Mutable, vec![prim(Prim::U8), prim(Prim::U8)]);
    let value = Value::Struct(vec![Value::U64(1), Value::U64(2)]);
    for encoding in [Xcdr1List, Xcdr2List] {
        let quirks = |seed| Quirks { seed, any_form: true, unknown_members: true, ..Quirks::NONE };
        let variants: Vec<Vec<u8>> = (0..100)
            .map(|seed| {
                encode(&set, &value, Layout::plain(encoding, Little).with_quirks(quirks(seed)))
            })
            .collect();
        let plain = encode(&set, &value, Layout::plain(encoding, Little));
        let longest = variants.iter().map(Vec::len).max().unwrap();
        assert!(longest > plain.len() + 8, "{longest}");
        // The first member to come, where it is in its plain form.
        for first in [[0, 0], [1, 0]] {
            let place = if encoding == Xcdr1List { 4 } else { 8 };
            assert!(variants.iter().any(|bytes| bytes[place..place + 2] == first));
        }
    }
}

#[test]
fn some_vendors_leave_out_the_nul() {
    let set = one(Final, vec![string()]);
    let variants = |value: &str| -> BTreeSet<Vec<u8>> {
        (0..50)
            .map(|seed| {
                let quirks = Quirks { seed, strings_without_nul: true, ..Quirks::NONE };
                let layout = Layout::plain(Xcdr1, Little).with_quirks(quirks);
                encode(&set, &Value::Struct(vec![text(value)]), layout)
            })
            .collect()
    };
    assert_eq!(variants("hi"), forms(&["00010000 03000000 686900", "00010000 02000000 6869"]));
    assert_eq!(variants(""), forms(&["00010000 01000000 00", "00010000 00000000"]));
}

#[test]
fn the_options_say_how_many_bytes_fill_up_the_end() {
    let set = one(Final, vec![prim(Prim::U8)]);
    let quirks = Quirks { end_padding: true, padding_byte: 0xA5, ..Quirks::NONE };
    let layout = Layout::plain(Xcdr1, Little).with_quirks(quirks);
    let encoded = encode(&set, &Value::Struct(vec![Value::U64(1)]), layout);
    assert_eq!(encoded, bytes("00010003 01 a5a5a5"));
}

#[test]
#[should_panic(expected = "does not fit")]
fn a_layout_that_does_not_fit_the_type_is_refused() {
    let set = one(Mutable, vec![prim(Prim::U8)]);
    encode(&set, &Value::Struct(vec![Value::U64(1)]), Layout::plain(Xcdr2, Little));
}

#[test]
fn paths_reach_what_they_say() {
    let set = idl(vec![
        structure(
            "Root",
            Final,
            vec![
                field("a", sequence(Type::Struct(1))),
                field("m", array(prim(Prim::U8), &[2, 2])),
                Field { optional: true, ..field("o", Type::Struct(1)) },
            ],
        ),
        structure("Inner", Final, vec![field("b", prim(Prim::U8))]),
    ]);
    let inner = |number| Value::Struct(vec![Value::U64(number)]);
    let row = |a, b| Value::List(vec![Value::U64(a), Value::U64(b)]);
    let value = Value::Struct(vec![
        Value::List(vec![inner(1), inner(2)]),
        Value::List(vec![row(3, 4), row(5, 6)]),
        Value::Absent,
    ]);
    let numbers = |numbers: &[u64]| numbers.iter().map(|n| Value::U64(*n)).collect::<Vec<_>>();
    let expected = [
        ("a", vec![Value::List(vec![inner(1), inner(2)])]),
        ("a[]", vec![inner(1), inner(2)]),
        ("a[1]", vec![inner(2)]),
        ("a[2]", Vec::new()),
        ("a[].b", numbers(&[1, 2])),
        ("a[0].b", numbers(&[1])),
        ("a[2].b", Vec::new()),
        ("m", vec![Value::List(vec![row(3, 4), row(5, 6)])]),
        ("m[]", vec![row(3, 4), row(5, 6)]),
        ("m[][]", numbers(&[3, 4, 5, 6])),
        ("m[1][]", numbers(&[5, 6])),
        ("m[][0]", numbers(&[3, 5])),
        ("m[0][1]", numbers(&[4])),
        ("o", Vec::new()),
        ("o.b", Vec::new()),
    ];
    let mut seen = BTreeSet::new();
    let mut rng = Prng::new(1);
    for _ in 0..300 {
        for (path, values) in paths(&set, &value, &mut rng) {
            if let Some((known, expected)) = expected.iter().find(|(known, _)| *known == path) {
                assert_eq!(values, *expected, "{path}");
                seen.insert(*known);
            }
        }
    }
    assert_eq!(seen, expected.iter().map(|(path, _)| *path).collect());
}
