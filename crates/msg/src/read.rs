//! Values out of bytes, in every layout that CDR has.

use ros2_memory_cdr::{CdrError, Cursor, Extensibility, Family, OptionalMember};

use crate::{
    DecodeError, Field, FieldType, List, Schema, Struct, StructType, Value,
    decode::{Budget, Failure, at_field},
    skip::{skip, skip_dimension},
    spread,
};

/// What a value without bytes counts for: nothing in the payload bounds how many there are.
pub(crate) const EMPTY_WEIGHT: usize = 64;

pub(crate) fn read_struct<'a>(
    schema: &'a Schema,
    ty: &'a StructType,
    layout: Extensibility,
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
) -> Result<Struct<'a>, DecodeError> {
    let failed = |source| at_field(ty, "", source);
    let n_values = if ty.min_size == 0 { EMPTY_WEIGHT } else { ty.fields.len() };
    budget.spend(n_values, cursor.offset()).map_err(failed)?;
    let frame = match layout {
        Extensibility::Final => None,
        Extensibility::Appendable | Extensibility::Mutable => {
            cursor.enter_delimited().map_err(failed)?
        }
    };
    let fields = if layout == Extensibility::Mutable {
        read_members(schema, ty, cursor, budget)?
    } else {
        read_fields(schema, ty, cursor, budget)?
    };
    if let Some(frame) = frame {
        cursor.leave(frame);
    }
    Ok(Struct { ty, fields })
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
pub(crate) fn is_of_primitives(ty: &FieldType) -> bool {
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
    let frame = cursor.enter_delimited()?;
    let value = read(cursor)?;
    if let Some(frame) = frame {
        cursor.leave(frame);
    }
    Ok(value)
}

/// The fewest bytes that a value of `ty` can take in the cursor's encoding.
pub(crate) fn min_size(schema: &Schema, ty: &FieldType, cursor: &Cursor<'_>) -> usize {
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
    let n_kept = len.min(budget.max_items());
    let is_empty = schema.min_size(element) == 0;
    let weight = if is_empty { EMPTY_WEIGHT } else { 1 };
    budget.spend(n_kept.saturating_mul(weight), cursor.offset())?;
    let mut items = Vec::with_capacity(n_kept);
    let mut kept = spread(len, budget.max_items()).peekable();
    for i in 0..len {
        let before = cursor.offset();
        if kept.next_if_eq(&i).is_some() {
            items.push(read_one(schema, element, cursor, budget)?);
        } else {
            skip_one(schema, element, cursor)?;
        }
        if cursor.offset() == before {
            // It took no bytes, and the next ones would take none either, however many.
            while items.len() < n_kept {
                items.push(read_one(schema, element, cursor, budget)?);
            }
            break;
        }
    }
    Ok(Value::List(List { items, total: len }))
}
