//! Message definitions, resolved types, the plan compiled once per (schema, field paths), and
//! values.
//!
//! The way from text to value: [`Definition`] is what a text of `ros2msg`, `ros1msg` or IDL says,
//! [`Schema`] resolves the names in it, [`Plan`] knows how to reach some fields by skipping the
//! rest, and [`Value`] is what it takes. JSON channels have no definition: [`decode`] and [`Plan`]
//! take their messages as they come.
//!
//! Any text and any bytes return a value or an error: nothing panics, recursion is bounded by
//! [`MAX_DEPTH`], and memory stays in proportion to the input.

#![forbid(unsafe_code)]

mod decode;
mod definition;
mod encoding;
mod error;
mod idl;
mod interfaces;
mod json;
mod layout;
mod library;
mod no_bytes;
mod path;
mod plan;
mod plan_reader;
mod read;
mod resolve;
mod ros_text;
mod schema;
mod skip;
mod spread;
mod type_name;
mod value;
mod wanted;

pub use decode::{DecodeLimits, decode};
pub use definition::{Definition, FieldSpec, TypeSpec};
pub use encoding::{MessageEncoding, SchemaEncoding, TypeSource};
pub use error::{DecodeError, DefinitionError, PathError};
pub use layout::{Layout, NumberPlace};
pub use library::Library;
pub use path::{FieldPath, Index, Segment};
pub use plan::Plan;
pub use plan_reader::{PlanReader, may_learn};
pub use ros2_memory_cdr::{ByteOrder, CdrError, Extensibility, Primitive, Primitives, Scalar};
pub use schema::{Field, FieldType, MAX_DEPTH, MAX_FIELDS, Schema, StructType};
pub use spread::spread;
pub use type_name::canonical_type_name;
pub use value::{List, Object, Struct, Value};
