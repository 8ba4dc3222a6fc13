//! Ways behind values that are not built.

use ros2_memory_cdr::{CdrError, Cursor, Extensibility, Family, OptionalMember};

use crate::{
    FieldType, Schema, StructType,
    read::{is_of_primitives, min_size},
};

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
        FieldType::Array(..) if cursor.skip_delimited()? => Ok(()),
        FieldType::Array(..) => skip_dimension(schema, ty, cursor),
        FieldType::Sequence(element) => match &**element {
            FieldType::Primitive(kind) => cursor.skip_primitive_sequence(kind.size()),
            _ if cursor.skip_delimited()? => Ok(()),
            _ => {
                let len = cursor.sequence_len(min_size(schema, element, cursor))?;
                skip_elements(schema, element, len, cursor, skip)
            }
        },
    }
}

/// Moves behind an array, or a further dimension of one.
pub(crate) fn skip_dimension(
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
    for _ in 0..len {
        let before = cursor.offset();
        skip_one(schema, element, cursor)?;
        if cursor.offset() == before {
            // It took no bytes, and the next ones would take none either, however many.
            break;
        }
    }
    Ok(())
}

fn skip_struct(schema: &Schema, ty: &StructType, cursor: &mut Cursor<'_>) -> Result<(), CdrError> {
    if ty.no_bytes_in.contains(cursor.encoding()) {
        return Ok(());
    }
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
        _ if cursor.skip_delimited()? => Ok(()),
        _ => {
            while cursor.next_member()?.is_some() {}
            Ok(())
        }
    }
}
