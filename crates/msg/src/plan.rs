use std::sync::Arc;

use ros2_memory_cdr::{CdrError, Cursor};

use crate::{
    DecodeError, DecodeLimits, FieldPath, FieldType, MessageEncoding, PathError, Schema,
    StructType, Value,
    decode::{Budget, Failure, decode_within, read, skip},
    wanted::{Wanted, visit_wanted},
};

/// How to reach some fields of a type: a program that skips and takes, compiled once.
///
/// Running it allocates nothing except where a taken field is itself a struct or an array of
/// strings or structs. It stops behind the last field it takes. Where values have headers around
/// them (XCDR2, optional and mutable members) and in JSON the whole message is read instead.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use ros2_memory_cdr::{Encoding, Writer};
/// use ros2_memory_msg::{Library, Plan, Primitive, Scalar, Schema};
///
/// let schema = Schema::parse("p/msg/T", "string name\nfloat64 x\nfloat64 y", &Library::new());
/// let plan = Plan::compile(Arc::new(schema.unwrap()), &["y".parse().unwrap()]).unwrap();
/// let mut writer = Writer::new(Encoding::XCDR1_LE);
/// writer.string("odom");
/// writer.scalar(Scalar::F64(1.5), Primitive::F64);
/// writer.scalar(Scalar::F64(2.5), Primitive::F64);
/// let payload = writer.into_payload();
/// let mut y = None;
/// plan.run(&payload, |_path, value| y = value.as_f64()).unwrap();
/// assert_eq!(y, Some(2.5));
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) schema: Arc<Schema>,
    pub(crate) steps: Box<[Step]>,
    wanted: Arc<Wanted>,
}

/// One step of a program.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Moves behind `count` primitives of `size` bytes each.
    SkipPrimitives { size: usize, count: usize },
    /// Moves behind one string.
    SkipString,
    /// Moves behind a value of any other type.
    Skip(FieldType),
    /// Reads a value for the path with this number, and stays in front of it when another step
    /// needs the same bytes.
    Take { path: usize, ty: FieldType, stays: bool },
    /// Runs a program over the elements of an array.
    Elements { len: Length, element: FieldType, each: Box<[Step]>, at: Box<[(u32, Box<[Step]>)]> },
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    Fixed(usize),
    /// As the message says.
    Counted,
}

impl Plan {
    /// Compiles the way to `paths`, whose places in the slice number them.
    ///
    /// # Errors
    ///
    /// [`PathError`] when a path does not fit the type. Every path fits a JSON channel: a message
    /// that does not have it gives nothing.
    pub fn compile(schema: Arc<Schema>, paths: &[FieldPath]) -> Result<Self, PathError> {
        let wanted = Arc::new(Wanted::new(paths));
        let mut steps = Vec::new();
        if schema.message_encoding() != MessageEncoding::Json {
            for (i, path) in wanted.takes.iter().enumerate() {
                let stays = !wanted.fields.is_empty() || i + 1 < wanted.takes.len();
                steps.push(Step::Take { path: *path, ty: FieldType::Struct(0), stays });
            }
            compile_fields(&schema, schema.root(), &wanted, &mut steps)?;
        }
        // What lies behind the last taken field need not be looked at.
        while steps.last().is_some_and(Step::only_skips) {
            steps.pop();
        }
        Ok(Self { schema, steps: steps.into(), wanted })
    }

    /// Runs over one payload and hands `visit` each value with the number of its path: once for
    /// a plain path, once for each element behind a `[]`, not at all for a `[n]` past the end.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when the bytes do not fit the type; values before that were visited.
    #[inline]
    pub fn run<'a>(
        &'a self,
        payload: &'a [u8],
        visit: impl FnMut(usize, Value<'a>),
    ) -> Result<(), DecodeError> {
        self.run_limited(payload, DecodeLimits::NONE, visit)
    }

    /// As [`Self::run`], with lists inside the taken values kept within `limits`.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn run_limited<'a>(
        &'a self,
        payload: &'a [u8],
        limits: DecodeLimits,
        mut visit: impl FnMut(usize, Value<'a>),
    ) -> Result<(), DecodeError> {
        let budget = &mut Budget::new(limits);
        let cursor = match self.schema.message_encoding() {
            MessageEncoding::Cdr => Cursor::new(payload).map(Some),
            MessageEncoding::Ros1 => Ok(Some(Cursor::ros1(payload))),
            MessageEncoding::Json => Ok(None),
        };
        let failed = |failure: Failure| failure.at(self.schema.root(), "");
        match cursor.map_err(|error| failed(error.into()))? {
            Some(mut cursor) if self.schema.is_plain_in(cursor.encoding()) => {
                run(&self.schema, &self.steps, &mut cursor, budget, &mut visit).map_err(failed)
            }
            _ => {
                // Lists are thinned where they are taken: paths count all of their elements.
                let mut whole = Budget::new(DecodeLimits::NONE);
                let value = decode_within(&self.schema, payload, &mut whole)?;
                visit_wanted(&value, &self.wanted, limits, &mut visit);
                Ok(())
            }
        }
    }
}

impl Plan {
    /// Reads the numbers at the paths into `out`, by the paths' numbers: what [`Self::run`] gives
    /// where every path leads to one number, without making values of them. Places whose path
    /// leads to nothing, or to something else, stay as they are; of several numbers the last
    /// stays.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn numbers(&self, payload: &[u8], out: &mut [f64]) -> Result<(), DecodeError> {
        if self.schema.message_encoding() == MessageEncoding::Cdr
            && let Ok(mut cursor) = Cursor::new(payload)
            && self.schema.is_plain_in(cursor.encoding())
        {
            match take_numbers(&self.steps, &mut cursor, out) {
                Some(Ok(())) => return Ok(()),
                Some(Err(error)) => return Err(Failure::Bytes(error).at(self.schema.root(), "")),
                None => {}
            }
        }
        self.run(payload, |path, value| {
            if let (Some(place), Some(number)) = (out.get_mut(path), value.as_f64()) {
                *place = number;
            }
        })
    }
}

/// Runs the steps as long as they skip and take numbers only; `None` at one that does not.
fn take_numbers(
    steps: &[Step],
    cursor: &mut Cursor<'_>,
    out: &mut [f64],
) -> Option<Result<(), CdrError>> {
    for step in steps {
        let outcome = match step {
            Step::SkipPrimitives { size, count } => cursor.skip_primitives(*size, *count),
            Step::SkipString => cursor.skip_string(),
            Step::Take { path, ty: FieldType::Primitive(kind), .. } => {
                cursor.scalar(*kind).map(|number| {
                    if let Some(place) = out.get_mut(*path) {
                        *place = number.as_f64();
                    }
                })
            }
            Step::Skip(_) | Step::Take { .. } | Step::Elements { .. } => return None,
        };
        if let Err(error) = outcome {
            return Some(Err(error));
        }
    }
    Some(Ok(()))
}

impl Step {
    fn only_skips(&self) -> bool {
        matches!(self, Self::SkipPrimitives { .. } | Self::SkipString | Self::Skip(_))
    }
}

fn compile_fields(
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

/// Structs are opened, so that their parts join and lie at offsets of their own, until a program
/// has this many steps.
const MAX_OPENED_STEPS: usize = 256;

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
        FieldType::Struct(id) if steps.len() < MAX_OPENED_STEPS => {
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

/// Generic over the visitor, so that taking a number is not a call through a pointer.
fn run<'a, V: FnMut(usize, Value<'a>)>(
    schema: &'a Schema,
    steps: &'a [Step],
    cursor: &mut Cursor<'a>,
    budget: &mut Budget,
    visit: &mut V,
) -> Result<(), Failure> {
    for step in steps {
        match step {
            Step::SkipPrimitives { size, count } => cursor.skip_primitives(*size, *count)?,
            Step::SkipString => cursor.skip_string()?,
            Step::Skip(ty) => skip(schema, ty, cursor)?,
            Step::Take { path, ty: FieldType::Primitive(kind), stays: false } => {
                visit(*path, Value::Scalar(cursor.scalar(*kind)?));
            }
            Step::Take { path, ty, stays: false } => {
                visit(*path, read(schema, ty, cursor, budget)?);
            }
            Step::Take { path, ty, stays: true } => {
                visit(*path, read(schema, ty, &mut cursor.clone(), budget)?);
            }
            Step::Elements { len, element, each, at } => {
                let len = match len {
                    Length::Fixed(len) => *len,
                    Length::Counted => cursor.sequence_len(schema.min_size(element))?,
                };
                if schema.min_size(element) == 0 {
                    // Nothing in the payload bounds elements that take no bytes.
                    budget.spend(len, cursor.offset())?;
                }
                let mut at = at.iter().peekable();
                for i in 0..len {
                    if let Some((_, program)) = at.next_if(|(n, _)| *n as usize == i) {
                        run(schema, program, &mut cursor.clone(), budget, visit)?;
                    }
                    if each.is_empty() {
                        skip(schema, element, cursor)?;
                    } else {
                        run(schema, each, cursor, budget, visit)?;
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Library;
    use ros2_memory_cdr::{Encoding, Primitive, Scalar, Writer};

    const TEXT: &str = "builtin_interfaces/Time stamp\nstring frame\nDet[] dets\nfloat32[] raw\n\
        geometry_msgs/Point p\n\
        ================================================================================\n\
        MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n\
        ================================================================================\n\
        MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n\
        ================================================================================\n\
        MSG: p/Det\nstring label\nfloat32 score\nHyp[] hyps\n\
        ================================================================================\n\
        MSG: p/Hyp\nstring id\n";

    fn payload() -> Vec<u8> {
        let mut w = Writer::new(Encoding::XCDR1_LE);
        w.scalar(Scalar::I64(7), Primitive::I32);
        w.scalar(Scalar::U64(8), Primitive::U32);
        w.string("cam");
        w.sequence_len(3);
        for (label, score) in [("cup", 0.5), ("scissors", 0.75), ("box", 0.25)] {
            w.string(label);
            w.scalar(Scalar::F64(score), Primitive::F32);
            w.sequence_len(2);
            w.string(&format!("{label}-1"));
            w.string(&format!("{label}-2"));
        }
        w.sequence_len(2);
        w.scalar(Scalar::F64(1.5), Primitive::F32);
        w.scalar(Scalar::F64(2.5), Primitive::F32);
        (1..=3).for_each(|i| w.scalar(Scalar::I64(i), Primitive::F64));
        w.into_payload()
    }

    fn run_paths(paths: &[&str]) -> Vec<(usize, String)> {
        let schema = Arc::new(Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap());
        let paths: Vec<FieldPath> = paths.iter().map(|p| p.parse().unwrap()).collect();
        let plan = Plan::compile(schema, &paths).unwrap();
        let payload = payload();
        let mut seen = Vec::new();
        plan.run(&payload, |path, value| {
            let text = match value {
                Value::String(text) => text.into_owned(),
                Value::Scalar(scalar) => scalar.as_f64().to_string(),
                Value::Primitives(p) => {
                    format!("{:?}", p.iter().map(Scalar::as_f64).collect::<Vec<_>>())
                }
                Value::Struct(s) => format!("{} fields", s.fields.len()),
                Value::List(list) => format!("{} items", list.total),
                Value::Absent | Value::Object(_) => panic!("not in CDR without headers"),
            };
            seen.push((path, text));
        })
        .unwrap();
        seen
    }

    fn seen(paths: &[&str]) -> Vec<String> {
        run_paths(paths).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn plain_paths_reach_behind_strings_and_sequences() {
        assert_eq!(run_paths(&["p.y", "stamp.nanosec"]), [(1, "8".into()), (0, "2".into())]);
        assert_eq!(seen(&["p"]), ["3 fields"]);
        assert_eq!(seen(&["raw"]), ["[1.5, 2.5]"]);
    }

    #[test]
    fn each_element_is_visited_in_order() {
        assert_eq!(seen(&["dets[].label"]), ["cup", "scissors", "box"]);
        assert_eq!(seen(&["dets[].hyps[].id"]).len(), 6);
    }

    #[test]
    fn one_element_is_reached_by_its_number_and_absent_past_the_end() {
        assert_eq!(seen(&["dets[1].label"]), ["scissors"]);
        assert_eq!(seen(&["dets[2].hyps[1].id", "p.z"]), ["box-2", "3"]);
        assert_eq!(seen(&["raw[1]"]), ["2.5"]);
        assert!(seen(&["dets[3].label"]).is_empty());
    }

    #[test]
    fn paths_that_share_bytes_all_see_them() {
        assert_eq!(
            run_paths(&["dets", "dets[].score", "dets[0].label", "dets[].label"]),
            [
                (0, "3 items".into()),
                (2, "cup".into()),
                (3, "cup".into()),
                (1, "0.5".into()),
                (3, "scissors".into()),
                (1, "0.75".into()),
                (3, "box".into()),
                (1, "0.25".into())
            ]
        );
    }

    #[test]
    fn a_path_that_does_not_fit_says_why() {
        let schema = Arc::new(Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap());
        let error = |path: &str| {
            Plan::compile(schema.clone(), &[path.parse().unwrap()]).unwrap_err().to_string()
        };
        assert_eq!(
            error("pose"),
            "p/msg/T has no field \"pose\"; it has stamp, frame, dets, raw, p"
        );
        assert_eq!(
            error("dets.label"),
            "\"dets\" in p/msg/T has no fields: it is an array, write [] or [n] behind it"
        );
        assert_eq!(error("frame[]"), "\"frame\" in p/msg/T is not an array");
        assert_eq!(error("frame.x"), "\"frame\" in p/msg/T has no fields");
    }

    #[test]
    fn every_truncation_is_an_error_or_the_same_values() {
        let schema = Arc::new(Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap());
        let plan = Plan::compile(schema, &["dets[].label".parse().unwrap()]).unwrap();
        let payload = payload();
        for len in 0..payload.len() {
            let mut n = 0;
            let result = plan.run(&payload[..len], |_, _| n += 1);
            assert!(result.is_err() || n == 3, "{len}");
        }
    }
}
