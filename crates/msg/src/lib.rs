//! Message definitions, resolved types, the plan compiled once per (schema, field paths), and
//! values.
//!
//! The way from text to value: [`Definition`] parses, [`Schema`] resolves the names in it,
//! [`Plan`] knows how to reach some fields by skipping the rest, and [`Value`] is what it takes.
//!
//! Any text and any bytes return a value or an error: nothing panics, recursion is bounded by
//! [`MAX_DEPTH`], and memory stays in proportion to the input.

#![forbid(unsafe_code)]

mod decode;
mod definition;
mod error;
mod library;
mod path;
mod plan;
mod schema;
mod spread;
mod type_name;
mod value;

pub use decode::{DecodeLimits, decode};
pub use definition::{BaseType, Definition, FieldSpec, Shape};
pub use error::{DecodeError, DefinitionError, PathError};
pub use library::Library;
pub use path::{FieldPath, Index, Segment};
pub use plan::Plan;
pub use ros2_memory_cdr::{CdrError, Primitive, Primitives, Scalar};
pub use schema::{Field, FieldType, MAX_DEPTH, MAX_FIELDS, Schema, StructType};
pub use spread::spread;
pub use type_name::canonical_type_name;
pub use value::{List, Struct, Value};
