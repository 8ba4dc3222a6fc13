mod compile;
mod numbers;

use std::sync::Arc;

use ros2_memory_cdr::Cursor;

use self::numbers::Hop;

use crate::{
    DecodeError, DecodeLimits, FieldPath, FieldType, MessageEncoding, PathError, Schema, Value,
    decode::{Budget, Failure, decode_within},
    read::{EMPTY_WEIGHT, read},
    skip::skip,
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
    /// The steps once more, where they are such that numbers can be taken in a run.
    hops: Option<Box<[Hop]>>,
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
            compile::compile_fields(&schema, schema.root(), &wanted, &mut steps)?;
        }
        // What lies behind the last taken field need not be looked at.
        while steps.last().is_some_and(Step::only_skips) {
            steps.pop();
        }
        let hops = numbers::hops(&schema, &steps);
        Ok(Self { schema, steps: steps.into(), hops, wanted })
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

impl Step {
    fn only_skips(&self) -> bool {
        matches!(self, Self::SkipPrimitives { .. } | Self::SkipString | Self::Skip(_))
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
                    budget.spend(len.saturating_mul(EMPTY_WEIGHT), cursor.offset())?;
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
mod tests;
