//! From the tree of wanted fields to the steps that reach them.

use super::{Length, Step};
use crate::{FieldType, PathError, Schema, StructType, wanted::Wanted};

pub(super) fn compile_fields(
    schema: &Schema,
    ty: &StructType,
    wanted: &Wanted,
    steps: &mut Vec<Step>,
) -> Result<(), PathError> {
    if let Some(unknown) =
        wanted.fields.keys().find(|name| ty.fields.iter().all(|field| field.name != **name))
    {
        return Err(PathError::NoSuchField {
            type_name: ty.name.clone(),
            field: unknown.clone(),
            known: known_fields(ty),
        });
    }
    if ty.fields.is_empty() {
        push_skip_primitives(1, ty.filler_bytes, steps);
    }
    for field in &ty.fields {
        match wanted.fields.get(&field.name) {
            None => push_skip(&field.ty, schema, steps),
            Some(inner) => compile_value(schema, ty, &field.name, &field.ty, inner, steps)?,
        }
    }
    Ok(())
}

/// Names for an error message: enough to see the spelling, not a wall of text.
fn known_fields(ty: &StructType) -> String {
    let mut names: Vec<_> = ty.fields.iter().take(20).map(|field| field.name.as_str()).collect();
    if ty.fields.len() > names.len() {
        names.push("and more");
    }
    names.join(", ")
}

fn compile_value(
    schema: &Schema,
    owner: &StructType,
    field: &str,
    ty: &FieldType,
    wanted: &Wanted,
    steps: &mut Vec<Step>,
) -> Result<(), PathError> {
    for (i, path) in wanted.takes.iter().enumerate() {
        let stays = wanted.goes_deeper() || i + 1 < wanted.takes.len();
        steps.push(Step::Take { path: *path, ty: ty.clone(), stays });
    }
    if !wanted.goes_deeper() {
        return Ok(());
    }
    let (len, element) = match ty {
        FieldType::Struct(id) if wanted.each.is_none() && wanted.at.is_empty() => {
            return compile_fields(schema, schema.struct_type(*id), wanted, steps);
        }
        FieldType::Array(element, len) => (Length::Fixed(*len), element),
        FieldType::Sequence(element) => (Length::Counted, element),
        _ if wanted.fields.is_empty() => {
            return Err(PathError::NotAnArray {
                type_name: owner.name.clone(),
                field: field.to_owned(),
            });
        }
        _ => {
            return Err(PathError::NotAStruct {
                type_name: owner.name.clone(),
                field: field.to_owned(),
                hint: "",
            });
        }
    };
    if !wanted.fields.is_empty() {
        return Err(PathError::NotAStruct {
            type_name: owner.name.clone(),
            field: field.to_owned(),
            hint: ": it is an array, write [] or [n] behind it",
        });
    }
    let program = |inner: &Wanted| {
        let mut steps = Vec::new();
        compile_value(schema, owner, field, element, inner, &mut steps)?;
        Ok(steps.into_boxed_slice())
    };
    let each = match &wanted.each {
        Some(inner) => program(inner)?,
        None => Box::default(),
    };
    let at = wanted
        .at
        .iter()
        .map(|(n, inner)| Ok((*n, program(inner)?)))
        .collect::<Result<Box<[_]>, PathError>>()?;
    steps.push(Step::Elements { len, element: (**element).clone(), each, at });
    Ok(())
}

/// Structs are opened, so that their parts join and lie at offsets of their own: those of at most
/// this many fields, until a program has this many steps.
const MAX_OPENED: usize = 256;

/// Appends the steps that skip `ty`, joined with the step before them where both skip primitives
/// of one size.
fn push_skip(ty: &FieldType, schema: &Schema, steps: &mut Vec<Step>) {
    match ty {
        FieldType::Primitive(kind) => push_skip_primitives(kind.size(), 1, steps),
        FieldType::Array(element, len) => match &**element {
            FieldType::Primitive(kind) => push_skip_primitives(kind.size(), *len, steps),
            _ => steps.push(Step::Skip(ty.clone())),
        },
        FieldType::String => steps.push(Step::SkipString),
        FieldType::Struct(id)
            if steps.len() < MAX_OPENED && schema.struct_type(*id).n_leaves <= MAX_OPENED =>
        {
            let ty = schema.struct_type(*id);
            if ty.fields.is_empty() {
                push_skip_primitives(1, ty.filler_bytes, steps);
            }
            for field in &ty.fields {
                push_skip(&field.ty, schema, steps);
            }
        }
        _ => steps.push(Step::Skip(ty.clone())),
    }
}

fn push_skip_primitives(size: usize, count: usize, steps: &mut Vec<Step>) {
    match steps.last_mut() {
        Some(Step::SkipPrimitives { size: last_size, count: last_count })
            if *last_size == size && *last_count > 0 && count > 0 =>
        {
            *last_count = last_count.saturating_add(count);
        }
        _ => steps.push(Step::SkipPrimitives { size, count }),
    }
}
