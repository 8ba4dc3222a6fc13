//! Definitions as ROS writes them: `.msg`, `.srv` and `.action` files, one field a line.
//!
//! Sources: ROS 2 "Interface definition", the ROS 1 wiki's "msg", and the MCAP registry's
//! descriptions of `ros2msg` and `ros1msg`.

use ros2_memory_cdr::Primitive;

use crate::{Definition, DefinitionError, MAX_FIELDS, TypeSpec, canonical_type_name, interfaces};

/// Which ROS the text is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `byte` and `char` are unsigned, a type without fields takes one byte.
    Ros2,
    /// `byte` is signed, `time` and `duration` are types, `Header` is that of `std_msgs`, and a
    /// type without fields takes nothing.
    Ros1,
}

impl Definition {
    /// Reads the `ros2msg` definition of `root` followed by those of the types it needs, each
    /// behind a line of `=` and a line `MSG: package/Type`. The text of a service or an action,
    /// with its `---`, becomes the types that are made of it.
    ///
    /// # Errors
    ///
    /// [`DefinitionError::Syntax`] with the line that is wrong, [`DefinitionError::TooLarge`]
    /// past [`MAX_FIELDS`] fields in all.
    pub fn parse_all(root: &str, text: &str) -> Result<Vec<Self>, DefinitionError> {
        parse_all(root, text, Dialect::Ros2)
    }
}

pub(crate) fn parse_all(
    root: &str,
    text: &str,
    dialect: Dialect,
) -> Result<Vec<Definition>, DefinitionError> {
    let mut reader = Reader { dialect, all: Vec::new(), n_fields: 0 };
    reader.begin(root);
    let mut after_separator = false;
    for (index, raw_line) in text.lines().enumerate() {
        let line = raw_line.split('#').next().unwrap_or_default().trim();
        if is_separator(line) {
            after_separator = true;
        } else if let Some(name) = line.strip_prefix("MSG:").filter(|_| after_separator) {
            reader.begin_block(name.trim());
            after_separator = false;
        } else if is_part_end(line) && reader.may_have_more_parts() {
            reader.begin_part();
        } else if !line.is_empty() {
            reader.line(line, index + 1)?;
        }
    }
    Ok(interfaces::expand(reader.all))
}

/// The definitions read so far; the last one is being added to.
struct Reader {
    dialect: Dialect,
    all: Vec<Definition>,
    n_fields: usize,
}

impl Reader {
    fn begin(&mut self, name: &str) {
        let mut definition = Definition::empty(canonical_type_name(name).into_owned());
        if self.dialect == Dialect::Ros1 {
            definition.filler_bytes = 0;
        }
        self.all.push(definition);
    }

    /// Begins the block of another type. Some writers put a header in front of the root, too.
    fn begin_block(&mut self, name: &str) {
        let name = canonical_type_name(name);
        let is_root_again = match self.all.as_slice() {
            [root] => root.fields.is_empty() && root.name == *name,
            _ => false,
        };
        if !is_root_again {
            self.begin(&name);
        }
    }

    /// Begins the next part of a service or an action, under the name of the whole.
    fn begin_part(&mut self) {
        if let Some(name) = self.all.last().map(|last| last.name.clone()) {
            self.begin(&name);
        }
    }

    /// Whether the root is a service with one part so far, or an action with one or two.
    fn may_have_more_parts(&self) -> bool {
        let is_of_root = |d: &Definition| self.all.first().is_some_and(|root| root.name == d.name);
        let n_parts = self.all.len();
        self.all.iter().all(is_of_root)
            && match self.all.first().map(Definition::kind) {
                Some("srv") => n_parts < 2,
                Some("action") => n_parts < 3,
                _ => false,
            }
    }

    fn line(&mut self, line: &str, number: usize) -> Result<(), DefinitionError> {
        let Some(current) = self.all.last_mut() else { return Ok(()) };
        let syntax = |problem| DefinitionError::Syntax {
            definition: current.name.clone(),
            line: number,
            problem,
        };
        let Some((name, ty)) = parse_line(line, self.dialect).map_err(syntax)? else {
            return Ok(());
        };
        self.n_fields += 1;
        if self.n_fields > MAX_FIELDS {
            return Err(DefinitionError::TooLarge {
                what: "fields",
                found: self.n_fields,
                limit: MAX_FIELDS,
            });
        }
        current.push(name, ty);
        Ok(())
    }
}

fn is_separator(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|b| b == b'=')
}

/// The line between request and response.
fn is_part_end(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|b| b == b'-')
}

/// A field's name and type, or `None` for a constant.
fn parse_line(line: &str, dialect: Dialect) -> Result<Option<(&str, TypeSpec)>, &'static str> {
    let (type_text, rest) = line.split_once(char::is_whitespace).ok_or("a type without a name")?;
    let rest = rest.trim_start();
    let name_len =
        rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, behind) = rest.split_at(name_len);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("a field name that is no identifier");
    }
    if behind.trim_start().starts_with('=') {
        return Ok(None);
    }
    if !behind.is_empty() && !behind.starts_with(char::is_whitespace) {
        return Err("a field name that is no identifier");
    }
    Ok(Some((name, parse_type(type_text, dialect)?)))
}

fn parse_type(text: &str, dialect: Dialect) -> Result<TypeSpec, &'static str> {
    let Some(open) = text.strip_suffix(']') else { return parse_element(text, dialect) };
    let (element, size) = open.rsplit_once('[').ok_or("a ] without its [")?;
    let element = Box::new(parse_element(element, dialect)?);
    match size {
        "" => Ok(TypeSpec::Sequence(element)),
        bound if bound.starts_with("<=") => Ok(TypeSpec::Sequence(element)),
        // As rosidl. Values that take no bytes could also repeat without end.
        fixed => match fixed.parse() {
            Ok(0) => Err("an array of no elements"),
            Ok(len) => Ok(TypeSpec::Array(element, len)),
            Err(_not_a_size) => Err("a bad array size"),
        },
    }
}

fn parse_element(text: &str, dialect: Dialect) -> Result<TypeSpec, &'static str> {
    let unbounded = text.split_once("<=").map_or(text, |(base, _bound)| base);
    Ok(match (unbounded, dialect) {
        ("bool", _) => TypeSpec::Primitive(Primitive::Bool),
        ("byte", Dialect::Ros1) | ("int8", _) => TypeSpec::Primitive(Primitive::I8),
        ("byte" | "char" | "uint8", _) => TypeSpec::Primitive(Primitive::U8),
        ("int16", _) => TypeSpec::Primitive(Primitive::I16),
        ("uint16", _) => TypeSpec::Primitive(Primitive::U16),
        ("int32", _) => TypeSpec::Primitive(Primitive::I32),
        ("uint32", _) => TypeSpec::Primitive(Primitive::U32),
        ("int64", _) => TypeSpec::Primitive(Primitive::I64),
        ("uint64", _) => TypeSpec::Primitive(Primitive::U64),
        ("float32", _) => TypeSpec::Primitive(Primitive::F32),
        ("float64", _) => TypeSpec::Primitive(Primitive::F64),
        ("string", _) => TypeSpec::String,
        ("wstring", _) => TypeSpec::WString,
        // Also where the package has a Header of its own.
        ("Header", Dialect::Ros1) => TypeSpec::Named("std_msgs/Header".to_owned()),
        (named, _) if is_type_name(named) => TypeSpec::Named(named.to_owned()),
        _ => return Err("a type name that is no identifier"),
    })
}

fn is_type_name(text: &str) -> bool {
    text.split('/').all(|part| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

#[cfg(test)]
mod tests;
