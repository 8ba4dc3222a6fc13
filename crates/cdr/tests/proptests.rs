//! What the writer writes is what another writer writes, and the cursor reads it back.

#![cfg(test)]

use proptest::{collection::vec, prelude::*, sample::Index};
use ros2_memory_cdr::{ByteOrder, Cursor, Encoding, Primitive, Scalar, Writer};
use ros2_memory_testkit::payload::{self, CdrWriter};

/// One thing in a payload.
#[derive(Debug, Clone)]
enum Item {
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
    F32(f32),
    F64(f64),
    Text(String),
    Doubles(Vec<f64>),
    Shorts(Vec<i16>),
    Texts(Vec<String>),
}

fn text() -> impl Strategy<Value = String> {
    // A text that ends in NUL reads back without it, as one that was sent with its terminator.
    ".{0,12}".prop_filter("ends in NUL", |text: &String| !text.ends_with('\0'))
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        any::<bool>().prop_map(Item::Bool),
        any::<i8>().prop_map(Item::I8),
        any::<u8>().prop_map(Item::U8),
        any::<i16>().prop_map(Item::I16),
        any::<u16>().prop_map(Item::U16),
        any::<i32>().prop_map(Item::I32),
        any::<u32>().prop_map(Item::U32),
        any::<i64>().prop_map(Item::I64),
        any::<u64>().prop_map(Item::U64),
        any::<f32>().prop_map(Item::F32),
        any::<f64>().prop_map(Item::F64),
        text().prop_map(Item::Text),
        vec(any::<f64>(), 0..5).prop_map(Item::Doubles),
        vec(any::<i16>(), 0..5).prop_map(Item::Shorts),
        vec(text(), 0..4).prop_map(Item::Texts),
    ]
}

fn encoding() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::XCDR1_LE), Just(Encoding::XCDR1_BE)]
}

fn ours(items: &[Item], encoding: Encoding) -> Vec<u8> {
    let mut out = Writer::new(encoding);
    for item in items {
        match item {
            Item::Bool(v) => out.scalar(Scalar::Bool(*v), Primitive::Bool),
            Item::I8(v) => out.scalar(Scalar::I64((*v).into()), Primitive::I8),
            Item::U8(v) => out.scalar(Scalar::U64((*v).into()), Primitive::U8),
            Item::I16(v) => out.scalar(Scalar::I64((*v).into()), Primitive::I16),
            Item::U16(v) => out.scalar(Scalar::U64((*v).into()), Primitive::U16),
            Item::I32(v) => out.scalar(Scalar::I64((*v).into()), Primitive::I32),
            Item::U32(v) => out.scalar(Scalar::U64((*v).into()), Primitive::U32),
            Item::I64(v) => out.scalar(Scalar::I64(*v), Primitive::I64),
            Item::U64(v) => out.scalar(Scalar::U64(*v), Primitive::U64),
            Item::F32(v) => out.scalar(Scalar::F32(*v), Primitive::F32),
            Item::F64(v) => out.scalar(Scalar::F64(*v), Primitive::F64),
            Item::Text(v) => out.string(v),
            Item::Doubles(v) => {
                out.sequence_len(v.len());
                for v in v {
                    out.scalar(Scalar::F64(*v), Primitive::F64);
                }
            }
            Item::Shorts(v) => {
                out.sequence_len(v.len());
                for v in v {
                    out.scalar(Scalar::I64((*v).into()), Primitive::I16);
                }
            }
            Item::Texts(v) => {
                out.sequence_len(v.len());
                for v in v {
                    out.string(v);
                }
            }
        }
    }
    out.into_payload()
}

fn theirs(items: &[Item], encoding: Encoding) -> Vec<u8> {
    let mut out = CdrWriter::new(match encoding.order {
        ByteOrder::Little => payload::ByteOrder::Little,
        ByteOrder::Big => payload::ByteOrder::Big,
    });
    for item in items {
        match item {
            Item::Bool(v) => _ = out.bool(*v),
            Item::I8(v) => _ = out.i8(*v),
            Item::U8(v) => _ = out.u8(*v),
            Item::I16(v) => _ = out.i16(*v),
            Item::U16(v) => _ = out.u16(*v),
            Item::I32(v) => _ = out.i32(*v),
            Item::U32(v) => _ = out.u32(*v),
            Item::I64(v) => _ = out.i64(*v),
            Item::U64(v) => _ = out.u64(*v),
            Item::F32(v) => _ = out.f32(*v),
            Item::F64(v) => _ = out.f64(*v),
            Item::Text(v) => _ = out.string(v),
            Item::Doubles(v) => {
                out.length(v.len());
                for v in v {
                    out.f64(*v);
                }
            }
            Item::Shorts(v) => {
                out.length(v.len());
                for v in v {
                    out.i16(*v);
                }
            }
            Item::Texts(v) => {
                out.length(v.len());
                for v in v {
                    out.string(v);
                }
            }
        }
    }
    out.finish()
}

/// Reads an item of the kind of `like`, or says why not.
fn read(cursor: &mut Cursor<'_>, like: &Item) -> Result<Item, ros2_memory_cdr::CdrError> {
    macro_rules! scalar {
        ($item:ident, $kind:ident, $widened:ident) => {{
            let Scalar::$widened(value) = cursor.scalar(Primitive::$kind)? else {
                panic!("{} is read as another kind", stringify!($kind))
            };
            Item::$item(value.try_into().unwrap())
        }};
    }
    Ok(match like {
        Item::Bool(_) => scalar!(Bool, Bool, Bool),
        Item::I8(_) => scalar!(I8, I8, I64),
        Item::U8(_) => scalar!(U8, U8, U64),
        Item::I16(_) => scalar!(I16, I16, I64),
        Item::U16(_) => scalar!(U16, U16, U64),
        Item::I32(_) => scalar!(I32, I32, I64),
        Item::U32(_) => scalar!(U32, U32, U64),
        Item::I64(_) => scalar!(I64, I64, I64),
        Item::U64(_) => scalar!(U64, U64, U64),
        Item::F32(_) => scalar!(F32, F32, F32),
        Item::F64(_) => scalar!(F64, F64, F64),
        Item::Text(_) => Item::Text(cursor.string()?.into_owned()),
        Item::Doubles(_) => Item::Doubles(
            cursor.primitive_sequence(Primitive::F64)?.iter().map(Scalar::as_f64).collect(),
        ),
        Item::Shorts(_) => Item::Shorts(
            cursor
                .primitive_sequence(Primitive::I16)?
                .iter()
                .map(|value| match value {
                    Scalar::I64(value) => value.try_into().unwrap(),
                    other => panic!("{other:?} in a sequence of int16"),
                })
                .collect(),
        ),
        Item::Texts(_) => {
            let len = cursor.sequence_len(4)?;
            let texts = (0..len).map(|_| cursor.string().map(std::borrow::Cow::into_owned));
            Item::Texts(texts.collect::<Result<_, _>>()?)
        }
    })
}

/// Moves behind an item without looking at it.
fn skip(cursor: &mut Cursor<'_>, like: &Item) -> Result<(), ros2_memory_cdr::CdrError> {
    match like {
        Item::Bool(_) | Item::I8(_) | Item::U8(_) => cursor.skip_primitives(1, 1),
        Item::I16(_) | Item::U16(_) => cursor.skip_primitives(2, 1),
        Item::I32(_) | Item::U32(_) | Item::F32(_) => cursor.skip_primitives(4, 1),
        Item::I64(_) | Item::U64(_) | Item::F64(_) => cursor.skip_primitives(8, 1),
        Item::Text(_) => cursor.string_bytes().map(drop),
        Item::Doubles(_) => cursor.skip_primitive_sequence(8),
        Item::Shorts(_) => cursor.skip_primitive_sequence(2),
        Item::Texts(_) => {
            let len = cursor.sequence_len(4)?;
            (0..len).try_for_each(|_| cursor.string_bytes().map(drop))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_writers_agree_byte_for_byte(items in vec(item(), 0..20), encoding in encoding()) {
        prop_assert_eq!(ours(&items, encoding), theirs(&items, encoding));
    }

    #[test]
    fn what_was_written_is_read_back(items in vec(item(), 0..20), encoding in encoding()) {
        let payload = theirs(&items, encoding);
        let mut cursor = Cursor::new(&payload).unwrap();
        let back: Vec<Item> = items.iter().map(|like| read(&mut cursor, like).unwrap()).collect();
        // Texts of debug forms, in which a NaN equals itself.
        prop_assert_eq!(format!("{back:?}"), format!("{items:?}"));
        prop_assert_eq!(cursor.remaining(), 0);
    }

    #[test]
    fn skipping_ends_where_reading_ends(items in vec(item(), 0..20), encoding in encoding()) {
        let payload = theirs(&items, encoding);
        let mut reading = Cursor::new(&payload).unwrap();
        let mut skipping = reading.clone();
        for item in &items {
            read(&mut reading, item).unwrap();
            skip(&mut skipping, item).unwrap();
            prop_assert_eq!(reading.offset(), skipping.offset());
        }
    }

    #[test]
    fn a_cut_payload_is_an_error_at_the_cut(
        items in vec(item(), 1..20),
        encoding in encoding(),
        cut in any::<Index>(),
    ) {
        let payload = theirs(&items, encoding);
        let cut = cut.index(payload.len());
        let outcome = Cursor::new(&payload[..cut]).and_then(|mut cursor| {
            items.iter().try_for_each(|like| read(&mut cursor, like).map(drop))
        });
        prop_assert!(outcome.is_err());
    }

    #[test]
    fn any_bytes_read_as_anything_panic_nowhere(
        mut bytes in vec(any::<u8>(), 0..200),
        low in 0..3u8,
        items in vec(item(), 0..20),
    ) {
        if let [high, second, ..] = bytes.as_mut_slice() {
            (*high, *second) = (0, low);
        }
        if let Ok(mut cursor) = Cursor::new(&bytes) {
            for item in &items {
                // Also behind a failure, where only the position is unspecified.
                if read(&mut cursor, item).is_err() {
                    let _either_way = skip(&mut cursor, item);
                }
            }
        }
    }
}
