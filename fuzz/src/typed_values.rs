//! What was read, compared with the value that the generator wrote.

use ros2_memory_msg::{Scalar, Value};
use ros2_memory_testkit::typed::Value as Wanted;

/// Whether a value is what was written; floats bit by bit.
pub fn is_written(read: &Value<'_>, wanted: &Wanted) -> bool {
    match (read, wanted) {
        (Value::Absent, Wanted::Absent) => true,
        (Value::Scalar(scalar), wanted) => is_written_scalar(*scalar, wanted),
        (Value::String(read), Wanted::Text(wanted)) => **read == **wanted,
        (Value::Primitives(read), Wanted::List(wanted)) => {
            read.len() == wanted.len()
                && read.iter().zip(wanted).all(|(read, wanted)| is_written_scalar(read, wanted))
        }
        (Value::List(read), Wanted::List(wanted)) => {
            read.total == wanted.len() && are_written(&read.items, wanted)
        }
        (Value::Struct(read), Wanted::Struct(wanted)) => are_written(&read.fields, wanted),
        _ => false,
    }
}

/// Whether values are those that were written, in their order.
pub fn are_written(read: &[Value<'_>], wanted: &[Wanted]) -> bool {
    read.len() == wanted.len()
        && read.iter().zip(wanted).all(|(read, wanted)| is_written(read, wanted))
}

fn is_written_scalar(read: Scalar, wanted: &Wanted) -> bool {
    match (read, wanted) {
        (Scalar::Bool(read), Wanted::Bool(wanted)) => read == *wanted,
        (Scalar::I64(read), Wanted::I64(wanted)) => read == *wanted,
        (Scalar::U64(read), Wanted::U64(wanted)) => read == *wanted,
        (Scalar::F32(read), Wanted::F32(wanted)) => read.to_bits() == wanted.to_bits(),
        (Scalar::F64(read), Wanted::F64(wanted)) => read.to_bits() == wanted.to_bits(),
        _ => false,
    }
}
