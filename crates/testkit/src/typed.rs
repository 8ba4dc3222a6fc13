//! Random message types, values of them, their definition texts, and their bytes in every layout.
//!
//! This is a second opinion on everything that reads typed payloads. It shares nothing with the
//! readers: the rules are written down again from the specifications, slowly and plainly.
//!
//! ```text
//! random_types --> TypeSet --> ros1msg, ros2msg, omgidl, ros2idl   what a recording says of it
//!                     |
//!               random_value --> Value --> encode                  the payload in a Layout
//!                                  |
//!                                paths                             what dot-paths reach in it
//! ```
//!
//! A set belongs to one [`Family`]. [`Family::Ros1`] has `ros1msg` texts; [`Family::Ros2`] has
//! `ros2msg`, `omgidl` and `ros2idl` texts; [`Family::Idl`] has the two IDL texts and uses what
//! only IDL can say. Equal seeds give equal types, values, texts and bytes.

mod encode;
mod idl_text;
mod layout;
mod members;
mod model;
mod msg_text;
mod paths;
mod random_types;
mod random_values;
mod style;
mod writer;

pub use encode::encode;
pub use idl_text::{omgidl, ros2idl};
pub use layout::{Encoding, Layout, Quirks};
pub use model::{
    EnumDef, Extensibility, Family, Field, Prim, StructDef, Type, TypeSet, Typedef, Value,
};
pub use msg_text::{ros1msg, ros2msg};
pub use paths::paths;
pub use random_types::{Options, random_types};
pub use random_values::random_value;
pub use style::{DefinitionText, Style};
