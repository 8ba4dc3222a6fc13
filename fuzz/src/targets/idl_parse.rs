//! The text of a definition in IDL: parsing returns, and what parses can be decoded.

use super::msg_parse;

/// The first line of `data` is the name of the type, the rest its text: `ros2idl` when it starts
/// with the line that stands in front of each definition, else `omgidl`.
pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (name, text) = data.split_at(end);
    let name = String::from_utf8_lossy(name);
    let text = text.get(1..).unwrap_or_default();
    let encoding = if text.starts_with(b"===") { "ros2idl" } else { "omgidl" };
    msg_parse::check(encoding, "cdr", &name, text);
}
