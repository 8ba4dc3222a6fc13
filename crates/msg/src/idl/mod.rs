//! Definitions in OMG IDL: the subset that DDS recorders and rosbag2 write into recordings.
//!
//! Modules, structs (also derived ones), typedefs, enums, constants, sequences, arrays of any
//! dimension, and the annotations that change the wire: extensibility, `@id`, `@optional`,
//! `@bit_bound`. Unions, maps, bitmasks and wide characters are read over; a type that needs one
//! is refused by its name.
//!
//! Source: OMG IDL 4.2; for `ros2idl` the MCAP registry and rosidl's generated files.

mod annotations;
mod parse;
mod resolve;
mod token;
mod types;

use crate::{Definition, DefinitionError};

/// Reads the text of an `omgidl` or `ros2idl` schema. The blocks of `ros2idl`, each behind a line
/// of `=` and a line `IDL: package/msg/Type`, are IDL files of their own that name each other's
/// types in full.
pub(crate) fn parse_all(root: &str, text: &str) -> Result<Vec<Definition>, DefinitionError> {
    let syntax =
        |(line, problem)| DefinitionError::Syntax { definition: root.to_owned(), line, problem };
    let tokens = token::tokens(text).map_err(syntax)?;
    let scope = parse::parse(&tokens).map_err(syntax)?;
    resolve::definitions(&scope)
}

/// A place in the text and what is wrong there.
type Problem = (usize, &'static str);

#[cfg(test)]
mod tests;
