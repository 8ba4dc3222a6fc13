//! A message of a JSON channel: read as `serde_json` reads it, and paths lead to what is there.

use std::sync::Arc;

use ros2_memory_msg::{DecodeLimits, FieldPath, Scalar, Schema, Value, decode};

use crate::agreement;

/// The first line of `data` is paths with blanks between them, the rest the message.
pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (paths, message) = data.split_at(end);
    let message = message.get(1..).unwrap_or_default();
    let paths = String::from_utf8_lossy(paths);
    let paths: Vec<FieldPath> = paths.split(' ').filter_map(|path| path.parse().ok()).collect();
    let schema = Arc::new(Schema::json("T"));
    let read = decode(&schema, message, DecodeLimits::NONE);
    let wanted = serde_json::from_slice::<serde_json::Value>(message);
    match (&read, &wanted) {
        (Ok(read), Ok(wanted)) => assert!(is_json(read, wanted), "{read:?}, {wanted:?}"),
        (Err(_), Err(_)) => {}
        _ => panic!("{read:?}, {wanted:?}"),
    }
    let cut = &message[..message.len() / 2];
    agreement::check(&schema, &[message, cut, message], &paths, false);
}

fn is_json(read: &Value<'_>, wanted: &serde_json::Value) -> bool {
    use serde_json::Value as Json;
    match (read, wanted) {
        (Value::Absent, Json::Null) => true,
        (Value::Scalar(Scalar::Bool(read)), Json::Bool(wanted)) => read == wanted,
        (Value::Scalar(Scalar::U64(read)), Json::Number(n)) => n.as_u64() == Some(*read),
        (Value::Scalar(Scalar::I64(read)), Json::Number(n)) => n.as_i64() == Some(*read),
        (Value::Scalar(Scalar::F64(read)), Json::Number(n)) => {
            n.is_f64() && n.as_f64().is_some_and(|n| n.to_bits() == read.to_bits())
        }
        (Value::String(read), Json::String(wanted)) => **read == **wanted,
        (Value::List(read), Json::Array(wanted)) => {
            read.total == wanted.len()
                && read.items.len() == wanted.len()
                && read.items.iter().zip(wanted).all(|(read, wanted)| is_json(read, wanted))
        }
        // Of a repeated name the last holds.
        (Value::Object(read), Json::Object(wanted)) => {
            read.fields.iter().all(|(name, _)| wanted.contains_key(&**name))
                && wanted
                    .iter()
                    .all(|(name, wanted)| read.field(name).is_some_and(|v| is_json(v, wanted)))
        }
        _ => false,
    }
}
