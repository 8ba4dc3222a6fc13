//! One module a target. Each has a function `run` that takes any bytes.

pub mod catalog_segment;
pub mod cdr_cursor;
pub mod field_path;
pub mod idl_parse;
pub mod json_message;
pub mod mcap_differential;
pub mod mcap_recovery;
pub mod mcap_scan;
pub mod msg_parse;
pub mod typed_roundtrip;

/// A target by its name, which is also that of its program and of its folder of seeds.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const ALL: &[Target] = &[
    ("catalog_segment", catalog_segment::run),
    ("cdr_cursor", cdr_cursor::run),
    ("field_path", field_path::run),
    ("idl_parse", idl_parse::run),
    ("json_message", json_message::run),
    ("mcap_differential", mcap_differential::run),
    ("mcap_recovery", mcap_recovery::run),
    ("mcap_scan", mcap_scan::run),
    ("msg_parse", msg_parse::run),
    ("typed_roundtrip", typed_roundtrip::run),
];
