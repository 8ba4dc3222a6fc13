use ros2_memory_cdr::{CdrError, Cursor, Extensibility, Family, OptionalMember};

use crate::{
    DecodeError, Field, FieldType, List, MessageEncoding, Schema, Struct, StructType, Value, json,
    spread,
};

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

    pub(crate) fn max_items(&self) -> usize {
        self.max_items
    }

    /// Takes `values` off what may still be built; `offset` is where they stand.
    pub(crate) fn spend(&mut self, values: usize, offset: usize) -> Result<(), CdrError> {
        let left = self.values_left.checked_sub(values);
        self.values_left = left.ok_or(CdrError::TooManyValues { offset, limit: MAX_VALUES })?;
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
    decode_within(schema, payload, &mut Budget::new(limits))
}

pub(crate) fn decode_within<'a>(
    schema: &'a Schema,
    payload: &'a [u8],
    budget: &mut Budget,
) -> Result<Value<'a>, DecodeError> {
    let root = schema.root();
    let mut cursor = match schema.message_encoding() {
        MessageEncoding::Json => return json::decode(root, payload, budget),
        MessageEncoding::Ros1 => Cursor::ros1(payload),
        MessageEncoding::Cdr => Cursor::new(payload).map_err(|error| at_field(root, "", error))?,
    };
    if root.fields.is_empty() {
        // Some writers send nothing for an empty message, others its one byte and padding. More
        // is a message whose definition the writer did not have, unless it can be appended to.
        let is_closed = cursor.layout(None) == Extensibility::Final;
        return if is_closed && cursor.remaining() > EMPTY_MESSAGE_LEN {
            Err(at_field(root, "", CdrError::Undefined { found: payload.len() }))
        } else {
            Ok(Value::Struct(Struct { ty: root, fields: Vec::new() }))
        };
    }
    let layout = cursor.layout(None);
    read_struct(schema, root, layout, &mut cursor, budget).map(Value::Struct)
}

/// The most bytes of a message without fields: one, and padding.
const EMPTY_MESSAGE_LEN: usize = 4;

fn read_struct<'a>(
    schema: &'a Schema,
    ty: &'a StructType,
    layout: Extensibility,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Struct<'a>, DecodeError> {
    let failed = |source| at_field(ty, "", source);
    budget.spend(ty.fields.len(), cursor.offset()).map_err(failed)?;
    let fields = match layout {
        Extensibility::Final => read_fields(schema, ty, cursor, budget)?,
        Extensibility::Appendable => {
            let frame = cursor.enter().map_err(failed)?;
            let fields = read_fields(schema, ty, cursor, budget)?;
            cursor.leave(frame);
            fields
        }
        Extensibility::Mutable => {
            let frame = enter_list(cursor).map_err(failed)?;
            let fields = read_members(schema, ty, cursor, budget)?;
            if let Some(frame) = frame {
                cursor.leave(frame);
            }
            fields
        }
    };
    Ok(Struct { ty, fields })
}

/// In XCDR2 a list of members has its length in front of it, in XCDR1 an end mark behind it.
fn enter_list<'a>(cursor: &mut Cursor<'a>) -> Result<Option<ros2_memory_cdr::Frame<'a>>, CdrError> {
    if cursor.encoding().family == Family::Xcdr2 { cursor.enter().map(Some) } else { Ok(None) }
}

/// The fields one behind the other. In XCDR2 a value may end before its last fields, when an
/// older writer did not have them.
fn read_fields<'a>(
    schema: &'a Schema,
    ty: &'a StructType,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Vec<Value<'a>>, DecodeError> {
    if ty.fields.is_empty() {
        cursor.skip_primitives(1, ty.filler_bytes).map_err(|source| at_field(ty, "", source))?;
    }
    let may_end_early = cursor.layout(ty.extensibility) == Extensibility::Appendable;
    let mut fields = Vec::with_capacity(ty.fields.len());
    for field in &ty.fields {
        let value = if may_end_early && cursor.remaining() == 0 {
            Ok(Value::Absent)
        } else {
            read_field(schema, field, cursor, budget)
        };
        fields.push(value.map_err(|e| e.at(ty, &field.name))?);
    }
    Ok(fields)
}

fn read_field<'a>(
    schema: &'a Schema,
    field: &'a Field,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Value<'a>, Failure> {
    if !field.is_optional || cursor.encoding().family == Family::Ros1 {
        return read(schema, &field.ty, cursor, budget);
    }
    match cursor.optional_member()? {
        OptionalMember::Absent => Ok(Value::Absent),
        OptionalMember::Next => read(schema, &field.ty, cursor, budget),
        OptionalMember::Apart(mut apart) => read(schema, &field.ty, &mut apart, budget),
    }
}

/// The members of a mutable struct, in whatever order they come.
fn read_members<'a>(
    schema: &'a Schema,
    ty: &'a StructType,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Vec<Value<'a>>, DecodeError> {
    let failed = |source| at_field(ty, "", source);
    let mut fields = vec![Value::Absent; ty.fields.len()];
    let mut expected = 0;
    loop {
        let offset = cursor.offset();
        let Some(mut member) = cursor.next_member().map_err(failed)? else { return Ok(fields) };
        // Most writers keep the order of the type.
        let is_expected = ty.fields.get(expected).is_some_and(|field| field.id == member.id);
        let place = if is_expected {
            Some(expected)
        } else {
            ty.fields.iter().position(|field| field.id == member.id)
        };
        match place.and_then(|place| ty.fields.get(place).zip(fields.get_mut(place))) {
            Some((field, slot)) => {
                *slot = read(schema, &field.ty, &mut member.value, budget)
                    .map_err(|e| e.at(ty, &field.name))?;
                expected = place.map_or(0, |place| place + 1);
            }
            None if member.must_understand => {
                let what = "a member that must be understood is not in the definition";
                return Err(failed(CdrError::Member { offset, what, found: member.id }));
            }
            None => {}
        }
    }
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

pub(crate) fn at_field(ty: &StructType, field: &str, source: CdrError) -> DecodeError {
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
        FieldType::WString => Value::String(cursor.wstring()?.into()),
        FieldType::Struct(id) => {
            let ty = schema.struct_type(*id);
            let layout = cursor.layout(ty.extensibility);
            Value::Struct(read_struct(schema, ty, layout, cursor, budget).map_err(Failure::Named)?)
        }
        FieldType::Array(..) if is_of_primitives(ty) => read_dimension(schema, ty, cursor, budget)?,
        FieldType::Array(..) => {
            in_collection(cursor, |cursor| read_dimension(schema, ty, cursor, budget))?
        }
        FieldType::Sequence(element) => match &**element {
            FieldType::Primitive(kind) => Value::Primitives(cursor.primitive_sequence(*kind)?),
            _ => in_collection(cursor, |cursor| {
                let len = cursor.sequence_len(min_size(schema, element, cursor))?;
                read_list(schema, element, len, ListKind::Sequence, cursor, budget)
            })?,
        },
    })
}

/// Reads an array, or a further dimension of one: what stands in front of an array stands there
/// once, however many dimensions it has.
fn read_dimension<'a>(
    schema: &'a Schema,
    ty: &'a FieldType,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Value<'a>, Failure> {
    match ty {
        FieldType::Array(element, len) => match &**element {
            FieldType::Primitive(kind) => Ok(Value::Primitives(cursor.primitives(*kind, *len)?)),
            _ => read_list(schema, element, *len, ListKind::Array, cursor, budget),
        },
        _ => read(schema, ty, cursor, budget),
    }
}

/// Whether a type is a primitive, or an array of such of any number of dimensions.
fn is_of_primitives(ty: &FieldType) -> bool {
    match ty {
        FieldType::Primitive(_) => true,
        FieldType::Array(element, _) => is_of_primitives(element),
        _ => false,
    }
}

/// Reads elements that are not primitive, inside the length that XCDR2 puts in front of them.
fn in_collection<'a, T>(
    cursor: &mut Cursor<'a>,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let frame = cursor.enter_collection()?;
    let value = read(cursor)?;
    if let Some(frame) = frame {
        cursor.leave(frame);
    }
    Ok(value)
}

/// The fewest bytes that a value of `ty` can take in the cursor's encoding.
fn min_size(schema: &Schema, ty: &FieldType, cursor: &Cursor<'_>) -> usize {
    let size = schema.min_size(ty);
    // Where there are headers, members can be absent.
    if schema.is_plain_in(cursor.encoding()) { size } else { size.min(1) }
}

/// What elements stand in: those of an array may be its further dimensions.
#[derive(Debug, Clone, Copy)]
enum ListKind {
    Array,
    Sequence,
}

fn read_list<'a>(
    schema: &'a Schema,
    element: &'a FieldType,
    len: usize,
    list: ListKind,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Value<'a>, Failure> {
    let read_one = match list {
        ListKind::Array => read_dimension,
        ListKind::Sequence => read,
    };
    let skip_one = match list {
        ListKind::Array => skip_dimension,
        ListKind::Sequence => skip,
    };
    let needed = len.saturating_mul(min_size(schema, element, cursor));
    if needed > cursor.remaining() {
        return Err(Failure::Bytes(CdrError::Truncated {
            offset: cursor.offset(),
            needed,
            available: cursor.remaining(),
        }));
    }
    let n_kept = len.min(budget.max_items);
    budget.spend(n_kept, cursor.offset())?;
    let mut items = Vec::with_capacity(n_kept);
    if takes_no_bytes(schema, element, cursor) {
        // One is as good as another: the number that is left out may be any.
        for _ in 0..n_kept {
            items.push(read_one(schema, element, cursor, budget)?);
        }
        return Ok(Value::List(List { items, total: len }));
    }
    let mut kept = spread(len, budget.max_items).peekable();
    for i in 0..len {
        if kept.next_if_eq(&i).is_some() {
            items.push(read_one(schema, element, cursor, budget)?);
        } else {
            skip_one(schema, element, cursor)?;
        }
    }
    Ok(Value::List(List { items, total: len }))
}

/// Whether every value of `ty` is empty, so that moving behind any number of them is moving
/// nowhere. A mutable or appendable value has a header even then.
fn takes_no_bytes(schema: &Schema, ty: &FieldType, cursor: &Cursor<'_>) -> bool {
    schema.min_size(ty) == 0 && schema.is_plain_in(cursor.encoding())
}

/// Moves behind one value of `ty` without building it.
pub(crate) fn skip(
    schema: &Schema,
    ty: &FieldType,
    cursor: &mut Cursor<'_>,
) -> Result<(), CdrError> {
    match ty {
        FieldType::Primitive(kind) => cursor.skip_primitives(kind.size(), 1),
        FieldType::String => cursor.skip_string(),
        FieldType::WString => cursor.wstring().map(drop),
        FieldType::Struct(id) => skip_struct(schema, schema.struct_type(*id), cursor),
        FieldType::Array(..) if is_of_primitives(ty) => skip_dimension(schema, ty, cursor),
        FieldType::Array(..) if cursor.skip_collection()? => Ok(()),
        FieldType::Array(..) => skip_dimension(schema, ty, cursor),
        FieldType::Sequence(element) => match &**element {
            FieldType::Primitive(kind) => cursor.skip_primitive_sequence(kind.size()),
            _ if cursor.skip_collection()? => Ok(()),
            _ => {
                let len = cursor.sequence_len(min_size(schema, element, cursor))?;
                skip_elements(schema, element, len, cursor, skip)
            }
        },
    }
}

/// Moves behind an array, or a further dimension of one.
fn skip_dimension(
    schema: &Schema,
    ty: &FieldType,
    cursor: &mut Cursor<'_>,
) -> Result<(), CdrError> {
    match ty {
        FieldType::Array(element, len) => match &**element {
            FieldType::Primitive(kind) => cursor.skip_primitives(kind.size(), *len),
            _ => skip_elements(schema, element, *len, cursor, skip_dimension),
        },
        _ => skip(schema, ty, cursor),
    }
}

fn skip_elements(
    schema: &Schema,
    element: &FieldType,
    len: usize,
    cursor: &mut Cursor<'_>,
    skip_one: fn(&Schema, &FieldType, &mut Cursor<'_>) -> Result<(), CdrError>,
) -> Result<(), CdrError> {
    if takes_no_bytes(schema, element, cursor) {
        return Ok(());
    }
    (0..len).try_for_each(|_| skip_one(schema, element, cursor))
}

fn skip_struct(schema: &Schema, ty: &StructType, cursor: &mut Cursor<'_>) -> Result<(), CdrError> {
    match (cursor.layout(ty.extensibility), cursor.encoding().family) {
        (Extensibility::Final, _) if ty.fields.is_empty() => {
            cursor.skip_primitives(1, ty.filler_bytes)
        }
        (Extensibility::Final, family) => ty.fields.iter().try_for_each(|field| {
            if !field.is_optional || family == Family::Ros1 {
                return skip(schema, &field.ty, cursor);
            }
            match cursor.optional_member()? {
                OptionalMember::Next => skip(schema, &field.ty, cursor),
                OptionalMember::Absent | OptionalMember::Apart(_) => Ok(()),
            }
        }),
        (_, Family::Xcdr2) => {
            let frame = cursor.enter()?;
            cursor.leave(frame);
            Ok(())
        }
        _ => {
            while cursor.next_member()?.is_some() {}
            Ok(())
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
    fn a_message_with_bytes_and_a_definition_without_fields_is_no_empty_message() {
        let payload = [0, 1, 0, 0, 1, 2, 3, 4, 5];
        let schema = schema("");
        let error = decode(&schema, &payload, DecodeLimits::NONE).unwrap_err();
        assert_eq!(error.source, CdrError::Undefined { found: 9 });
    }

    #[test]
    fn any_number_of_values_without_bytes_costs_no_time() {
        let text = format!(
            "E[4294967295] e\nA[4294967295] a\nuint8 end{SEPARATOR}MSG: p/A\n\
             E[4294967295] e{SEPARATOR}MSG: p/E\n"
        );
        let schema =
            Schema::parse_as(crate::SchemaEncoding::Ros1Msg, "p/T", &text, &Library::new());
        let schema = schema.unwrap();
        let limits = DecodeLimits { max_items: 2 };
        let value = decode(&schema, &[9], limits).unwrap();
        assert_eq!(value.field("end").and_then(Value::as_f64), Some(9.0));
        let error = decode(&schema, &[9], DecodeLimits::NONE).unwrap_err();
        assert!(matches!(error.source, CdrError::TooManyValues { .. }));
        let plan = crate::Plan::compile(schema.into(), &["end".parse().unwrap()]).unwrap();
        let mut seen = None;
        plan.run(&[9], |_, value| seen = value.as_f64()).unwrap();
        assert_eq!(seen, Some(9.0));
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
