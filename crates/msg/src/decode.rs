use ros2_memory_cdr::{CdrError, Cursor};

use crate::{DecodeError, FieldType, List, Schema, Struct, StructType, Value, spread};

/// How much of a message becomes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Of a longer array of strings or structs, this many evenly spaced elements are kept; the
    /// others are skipped without being built.
    pub max_items: usize,
}

impl DecodeLimits {
    /// Everything is kept.
    pub const NONE: Self = Self { max_items: usize::MAX };
}

/// How many values one message may become. The largest real ones, maps and clouds as arrays of
/// structs, have some hundred thousand; without a limit, 64 structs of one field inside each other
/// would make some kilobytes of every byte.
pub(crate) const MAX_VALUES: usize = 4 << 20;

/// What may still be built of one message.
#[derive(Debug)]
pub(crate) struct Budget {
    max_items: usize,
    values_left: usize,
}

impl Budget {
    pub(crate) fn new(limits: DecodeLimits) -> Self {
        Self { max_items: limits.max_items, values_left: MAX_VALUES }
    }

    fn spend(&mut self, values: usize, cursor: &Cursor<'_>) -> Result<(), CdrError> {
        let left = self.values_left.checked_sub(values);
        self.values_left =
            left.ok_or(CdrError::TooManyValues { offset: cursor.offset(), limit: MAX_VALUES })?;
        Ok(())
    }
}

/// Reads a whole message.
///
/// Allocates one `Vec` a struct and one an array of strings or structs; numbers and text are
/// borrowed. Bytes behind the last field are ignored, as DDS allows padding there.
///
/// # Errors
///
/// [`DecodeError`] that names the field whose bytes are missing or wrong.
pub fn decode<'a>(
    schema: &'a Schema,
    payload: &'a [u8],
    limits: DecodeLimits,
) -> Result<Value<'a>, DecodeError> {
    let root = schema.root();
    let mut cursor = Cursor::new(payload).map_err(|source| DecodeError {
        type_name: root.name.clone(),
        field: String::new(),
        source,
    })?;
    if root.fields.is_empty() {
        // Some writers send nothing for an empty message, others its one byte.
        return Ok(Value::Struct(Struct { ty: root, fields: Vec::new() }));
    }
    read_struct(schema, root, &mut cursor, &mut Budget::new(limits)).map(Value::Struct)
}

fn read_struct<'a>(
    schema: &'a Schema,
    ty: &'a StructType,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Struct<'a>, DecodeError> {
    if ty.fields.is_empty() {
        cursor.skip_primitives(1, 1).map_err(|source| at_field(ty, "", source))?;
    }
    budget.spend(ty.fields.len(), cursor).map_err(|source| at_field(ty, "", source))?;
    let mut fields = Vec::with_capacity(ty.fields.len());
    for field in &ty.fields {
        fields.push(read(schema, &field.ty, cursor, budget).map_err(|e| e.at(ty, &field.name))?);
    }
    Ok(Struct { ty, fields })
}

/// A failure on its way up to the innermost struct that names it.
pub(crate) enum Failure {
    Bytes(CdrError),
    Named(DecodeError),
}

impl From<CdrError> for Failure {
    fn from(source: CdrError) -> Self {
        Self::Bytes(source)
    }
}

impl Failure {
    pub(crate) fn at(self, ty: &StructType, field: &str) -> DecodeError {
        match self {
            Self::Bytes(source) => at_field(ty, field, source),
            Self::Named(error) => error,
        }
    }
}

fn at_field(ty: &StructType, field: &str, source: CdrError) -> DecodeError {
    DecodeError { type_name: ty.name.clone(), field: field.to_owned(), source }
}

/// Reads one value of `ty`.
pub(crate) fn read<'a>(
    schema: &'a Schema,
    ty: &'a FieldType,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Value<'a>, Failure> {
    Ok(match ty {
        FieldType::Primitive(kind) => Value::Scalar(cursor.scalar(*kind)?),
        FieldType::String => Value::String(cursor.string()?),
        FieldType::WString => Value::String(String::from_utf8_lossy(cursor.wstring()?)),
        FieldType::Struct(id) => Value::Struct(
            read_struct(schema, schema.struct_type(*id), cursor, budget).map_err(Failure::Named)?,
        ),
        FieldType::Array(element, len) => match &**element {
            FieldType::Primitive(kind) => Value::Primitives(cursor.primitives(*kind, *len)?),
            _ => read_list(schema, element, *len, cursor, budget)?,
        },
        FieldType::Sequence(element) => {
            if let FieldType::Primitive(kind) = **element {
                Value::Primitives(cursor.primitive_sequence(kind)?)
            } else {
                let len = cursor.sequence_len(schema.min_size(element))?;
                read_list(schema, element, len, cursor, budget)?
            }
        }
    })
}

fn read_list<'a>(
    schema: &'a Schema,
    element: &'a FieldType,
    len: usize,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Value<'a>, Failure> {
    let needed = len.saturating_mul(schema.min_size(element));
    if needed > cursor.remaining() {
        return Err(Failure::Bytes(CdrError::Truncated {
            offset: cursor.offset(),
            needed,
            available: cursor.remaining(),
        }));
    }
    let mut kept = spread(len, budget.max_items);
    let mut next = kept.next();
    budget.spend(len.min(budget.max_items), cursor)?;
    let mut items = Vec::with_capacity(len.min(budget.max_items));
    for i in 0..len {
        if next == Some(i) {
            items.push(read(schema, element, cursor, budget)?);
            next = kept.next();
        } else {
            skip(schema, element, cursor)?;
        }
    }
    Ok(Value::List(List { items, total: len }))
}

/// Moves behind one value of `ty` without building it.
pub(crate) fn skip(
    schema: &Schema,
    ty: &FieldType,
    cursor: &mut Cursor<'_>,
) -> Result<(), CdrError> {
    match ty {
        FieldType::Primitive(kind) => cursor.skip_primitives(kind.size(), 1),
        FieldType::String => cursor.string_bytes().map(drop),
        FieldType::WString => cursor.wstring().map(drop),
        FieldType::Struct(id) => {
            let ty = schema.struct_type(*id);
            if ty.fields.is_empty() {
                return cursor.skip_primitives(1, 1);
            }
            ty.fields.iter().try_for_each(|field| skip(schema, &field.ty, cursor))
        }
        FieldType::Array(element, len) => match &**element {
            FieldType::Primitive(kind) => cursor.skip_primitives(kind.size(), *len),
            _ => (0..*len).try_for_each(|_| skip(schema, element, cursor)),
        },
        FieldType::Sequence(element) => {
            if let FieldType::Primitive(kind) = **element {
                cursor.skip_primitive_sequence(kind.size())
            } else {
                let len = cursor.sequence_len(schema.min_size(element))?;
                (0..len).try_for_each(|_| skip(schema, element, cursor))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Library;
    use ros2_memory_cdr::{Encoding, Primitive, Scalar, Writer};

    const SEPARATOR: &str =
        "\n================================================================================\n";

    fn schema(text: &str) -> Schema {
        Schema::parse("p/msg/T", text, &Library::new()).unwrap()
    }

    fn writer() -> Writer {
        Writer::new(Encoding::XCDR1_LE)
    }

    #[test]
    fn br_075_elements_of_a_struct_sequence_keep_their_own_padding() {
        let schema = schema(&format!("E[] e{SEPARATOR}MSG: p/E\nfloat64 d\nuint8 u"));
        let mut w = writer();
        w.sequence_len(3);
        for i in 0..3u8 {
            w.scalar(Scalar::F64(f64::from(i) + 0.5), Primitive::F64);
            w.scalar(Scalar::U64(i.into()), Primitive::U8);
        }
        let payload = w.into_payload();
        let value = decode(&schema, &payload, DecodeLimits::NONE).unwrap();
        let Some(Value::List(list)) = value.field("e") else { panic!() };
        let read: Vec<_> = list
            .items
            .iter()
            .map(|e| {
                (
                    e.field("d").and_then(Value::as_f64).unwrap(),
                    e.field("u").and_then(Value::as_f64).unwrap(),
                )
            })
            .collect();
        assert_eq!(read, [(0.5, 0.0), (1.5, 1.0), (2.5, 2.0)]);
    }

    #[test]
    fn an_empty_struct_inside_a_message_takes_one_byte() {
        let schema = schema(&format!("E e\nuint8 x{SEPARATOR}MSG: p/E\n"));
        let value = decode(&schema, &[0, 1, 0, 0, 0, 9], DecodeLimits::NONE).unwrap();
        assert_eq!(value.field("x"), Some(&Value::Scalar(Scalar::U64(9))));
    }

    /// Each type holds the next one twice: 2^60 values in all, each of a byte at least.
    #[test]
    fn types_that_double_at_each_level_end_with_the_bytes() {
        use std::fmt::Write;
        let mut text = "T1 a\nT1 b".to_owned();
        for level in 1..60 {
            let next = level + 1;
            write!(text, "{SEPARATOR}MSG: p/T{level}\nT{next} a\nT{next} b").unwrap();
        }
        for leaf in ["bool x", ""] {
            let schema = schema(&format!("{text}{SEPARATOR}MSG: p/T60\n{leaf}"));
            let payload = [&[0, 1, 0, 0], &[0; 10_000][..]].concat();
            assert!(decode(&schema, &payload, DecodeLimits::NONE).is_err());
        }
    }

    #[test]
    fn an_empty_message_may_have_no_bytes_at_all() {
        let schema = schema("");
        assert!(decode(&schema, &[0, 1, 0, 0], DecodeLimits::NONE).is_ok());
        assert!(decode(&schema, &[0, 1, 0, 0, 0], DecodeLimits::NONE).is_ok());
    }

    #[test]
    fn long_lists_are_thinned_and_say_how_long_they_were() {
        let schema = schema("string[] names\nint8 end");
        let mut w = writer();
        w.sequence_len(1000);
        for i in 0..1000 {
            w.string(&i.to_string());
        }
        w.scalar(Scalar::I64(-1), Primitive::I8);
        let payload = w.into_payload();
        let value = decode(&schema, &payload, DecodeLimits { max_items: 4 }).unwrap();
        let Some(Value::List(list)) = value.field("names") else { panic!() };
        let kept: Vec<_> = list.items.iter().filter_map(Value::as_str).collect();
        assert_eq!((kept.as_slice(), list.total), (["0", "333", "666", "999"].as_slice(), 1000));
        assert_eq!(value.field("end"), Some(&Value::Scalar(Scalar::I64(-1))));
    }

    #[test]
    fn values_are_bounded_however_little_bytes_each_takes() {
        use std::fmt::Write;
        let mut text = "T1[] list".to_owned();
        for level in 1..60 {
            write!(text, "{SEPARATOR}MSG: p/T{level}\nT{} inner", level + 1).unwrap();
        }
        write!(text, "{SEPARATOR}MSG: p/T60\nuint8 x").unwrap();
        let schema = schema(&text);
        let mut w = writer();
        w.sequence_len(1 << 20);
        let mut payload = w.into_payload();
        payload.resize(payload.len() + (1 << 20), 0);
        let error = decode(&schema, &payload, DecodeLimits::NONE).unwrap_err();
        assert!(matches!(error.source, CdrError::TooManyValues { limit: MAX_VALUES, .. }));
        assert!(decode(&schema, &payload, DecodeLimits { max_items: 50 }).is_ok());
    }

    #[test]
    fn the_field_whose_bytes_are_missing_is_named() {
        let schema = schema("int32 a\nfloat64 b");
        let error = decode(&schema, &[0, 1, 0, 0, 1, 0, 0, 0], DecodeLimits::NONE).unwrap_err();
        assert_eq!(error.field, "b");
        assert_eq!(error.to_string(), "p/msg/T, field b: at byte 12: 8 bytes needed, 0 left");
    }

    #[test]
    fn a_huge_fixed_array_is_refused_before_it_is_built() {
        let schema = schema("string[2147483648] a");
        let error = decode(&schema, &[0; 64], DecodeLimits::NONE).unwrap_err();
        assert!(matches!(error.source, CdrError::Truncated { available: 60, .. }));
    }

    #[test]
    fn every_truncation_of_a_message_is_an_error() {
        let schema = schema(&format!(
            "string s\nE[] e\nint16[3] f{SEPARATOR}MSG: p/E\nfloat64 d\nstring[] n"
        ));
        let mut w = writer();
        w.string("hello");
        w.sequence_len(2);
        for _ in 0..2 {
            w.scalar(Scalar::F64(1.0), Primitive::F64);
            w.sequence_len(1);
            w.string("x");
        }
        (0..3).for_each(|i| w.scalar(Scalar::I64(i), Primitive::I16));
        let payload = w.into_payload();
        assert!(decode(&schema, &payload, DecodeLimits::NONE).is_ok());
        for len in 0..payload.len() {
            assert!(decode(&schema, &payload[..len], DecodeLimits::NONE).is_err(), "{len}");
        }
    }
}
