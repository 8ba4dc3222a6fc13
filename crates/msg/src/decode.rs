use ros2_memory_cdr::{CdrError, Cursor, Extensibility};

use crate::{
    DecodeError, MessageEncoding, Schema, Struct, StructType, Value, json, read::read_struct,
};

/// How much of a message becomes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Of a longer array of strings or structs, this many evenly spaced elements are kept; the
    /// others are skipped without being built (in JSON: built and dropped again).
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

#[cfg(test)]
mod tests;
