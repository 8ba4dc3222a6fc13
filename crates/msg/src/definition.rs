use ros2_memory_cdr::Primitive;

use crate::{DefinitionError, MAX_FIELDS, canonical_type_name};

/// One message definition in `ros2msg` form: its name and its fields in wire order.
///
/// Constants and default values are recognized and dropped: they take no bytes of a message.
/// Source: ROS 2 "Interface definition" and the MCAP registry's description of `ros2msg`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// `package/msg/Type`.
    pub name: String,
    /// The fields in wire order.
    pub fields: Vec<FieldSpec>,
}

/// One field as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSpec {
    /// The field's name.
    pub name: String,
    /// The type of one element.
    pub base: BaseType,
    /// How many of them.
    pub shape: Shape,
}

/// The type of one element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseType {
    /// A number, a truth value or a byte.
    Primitive(Primitive),
    /// UTF-8 text, bounded or not: the bound does not show on the wire.
    String,
    /// Wide text.
    WString,
    /// Another definition, by the name as written.
    Named(String),
}

/// How many elements a field has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One.
    Single,
    /// Always this many.
    Array(usize),
    /// As many as the message says; a bound does not show on the wire.
    Sequence,
}

impl Definition {
    /// Reads the definition of `root` followed by those of the types it needs, each behind a
    /// line of `=` and a line `MSG: package/Type`.
    ///
    /// # Errors
    ///
    /// [`DefinitionError::Syntax`] with the line that is wrong, [`DefinitionError::TooLarge`]
    /// past [`MAX_FIELDS`] fields in all.
    pub fn parse_all(root: &str, text: &str) -> Result<Vec<Self>, DefinitionError> {
        let mut all = vec![Self { name: canonical_type_name(root).into_owned(), fields: vec![] }];
        let mut n_fields = 0usize;
        let mut after_separator = false;
        for (index, raw_line) in text.lines().enumerate() {
            let line = raw_line.split('#').next().unwrap_or_default().trim();
            if is_separator(line) {
                after_separator = true;
                continue;
            }
            if line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix("MSG:").filter(|_| after_separator) {
                all.push(Self {
                    name: canonical_type_name(name.trim()).into_owned(),
                    fields: vec![],
                });
                after_separator = false;
                continue;
            }
            let Some(current) = all.last_mut() else { break };
            let field = parse_line(line).map_err(|problem| DefinitionError::Syntax {
                definition: current.name.clone(),
                line: index + 1,
                problem,
            })?;
            if let Some(field) = field {
                n_fields += 1;
                if n_fields > MAX_FIELDS {
                    return Err(DefinitionError::TooLarge {
                        what: "fields",
                        found: n_fields,
                        limit: MAX_FIELDS,
                    });
                }
                current.fields.push(field);
            }
        }
        Ok(all)
    }

    /// The package part of the name.
    pub fn package(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

fn is_separator(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|b| b == b'=')
}

/// A field, or `None` for a constant.
fn parse_line(line: &str) -> Result<Option<FieldSpec>, &'static str> {
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
    let (base, shape) = parse_type(type_text)?;
    Ok(Some(FieldSpec { name: name.to_owned(), base, shape }))
}

fn parse_type(text: &str) -> Result<(BaseType, Shape), &'static str> {
    let (element, shape) = match text.strip_suffix(']') {
        None => (text, Shape::Single),
        Some(open) => {
            let (element, size) = open.rsplit_once('[').ok_or("a ] without its [")?;
            let shape = match size {
                "" => Shape::Sequence,
                bound if bound.starts_with("<=") => Shape::Sequence,
                // As rosidl. Values that take no bytes could also repeat without end.
                fixed => match fixed.parse() {
                    Ok(0) => return Err("an array of no elements"),
                    Ok(len) => Shape::Array(len),
                    Err(_not_a_size) => return Err("a bad array size"),
                },
            };
            (element, shape)
        }
    };
    let unbounded = element.split_once("<=").map_or(element, |(base, _bound)| base);
    let base = match unbounded {
        "bool" => BaseType::Primitive(Primitive::Bool),
        "byte" | "char" | "uint8" => BaseType::Primitive(Primitive::U8),
        "int8" => BaseType::Primitive(Primitive::I8),
        "int16" => BaseType::Primitive(Primitive::I16),
        "uint16" => BaseType::Primitive(Primitive::U16),
        "int32" => BaseType::Primitive(Primitive::I32),
        "uint32" => BaseType::Primitive(Primitive::U32),
        "int64" => BaseType::Primitive(Primitive::I64),
        "uint64" => BaseType::Primitive(Primitive::U64),
        "float32" => BaseType::Primitive(Primitive::F32),
        "float64" => BaseType::Primitive(Primitive::F64),
        "string" => BaseType::String,
        "wstring" => BaseType::WString,
        named if is_type_name(named) => BaseType::Named(named.to_owned()),
        _ => return Err("a type name that is no identifier"),
    };
    Ok((base, shape))
}

fn is_type_name(text: &str) -> bool {
    text.split('/').all(|part| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Vec<FieldSpec> {
        Definition::parse_all("p/msg/T", text).unwrap().remove(0).fields
    }

    fn names(text: &str) -> Vec<String> {
        fields(text).into_iter().map(|f| f.name).collect()
    }

    #[test]
    fn constants_of_every_form_take_no_bytes() {
        let text = "uint8 A=1\nuint8 B = 2\nstring C=\nstring D=hello world\nstring E=\"#x\"\n\
                    float64 F=.5\nbool G=True # yes\nint32 x";
        assert_eq!(names(text), ["x"]);
    }

    #[test]
    fn defaults_and_odd_literals_are_read_over() {
        let text =
            "float64 w 1\nfloat32 b 1e-3\nfloat32 c 1.\nstring[] n [\"a\",'b']\nstring s \"x y\"";
        assert_eq!(names(text), ["w", "b", "c", "n", "s"]);
    }

    #[test]
    fn bounds_and_sizes_are_told_apart() {
        let read = fields("string<=10 a\nstring<=10[<=5] b\nint32[4] c\nint32[<=4] d\nint32[] e");
        let shapes: Vec<_> = read.iter().map(|f| f.shape).collect();
        assert_eq!(
            shapes,
            [Shape::Single, Shape::Sequence, Shape::Array(4), Shape::Sequence, Shape::Sequence]
        );
        assert_eq!(read[1].base, BaseType::String);
    }

    #[test]
    fn an_array_of_no_elements_is_refused() {
        assert!(Definition::parse_all("p/msg/T", "int32[0] x").is_err());
        assert!(Definition::parse_all("p/msg/T", "int32[<=0] x").is_ok());
    }

    #[test]
    fn br_060_byte_and_char_are_unsigned() {
        for field in fields("byte a\nchar b\nuint8 c") {
            assert_eq!(field.base, BaseType::Primitive(Primitive::U8));
        }
    }

    #[test]
    fn br_062_field_names_that_start_with_a_type_name_are_names() {
        assert_eq!(
            names("string string_value\nint32 int32_count\nbuiltin_interfaces/Time timestamp"),
            ["string_value", "int32_count", "timestamp"]
        );
    }

    #[test]
    fn br_056_a_comment_that_looks_like_an_annotation_is_a_comment() {
        assert_eq!(names("float64 longitude #[x]"), ["longitude"]);
    }

    #[test]
    fn several_definitions_and_windows_line_ends_are_read() {
        let text = "a/B b\r\n\r\n================================================================================\r\nMSG: a/B\r\nint32 x";
        let all = Definition::parse_all("p/T", text).unwrap();
        assert_eq!(all[0].name, "p/msg/T");
        assert_eq!((all[1].name.as_str(), all[1].fields[0].name.as_str()), ("a/msg/B", "x"));
    }

    #[test]
    fn a_bad_line_is_named() {
        for bad in ["int32", "int32 7x", "int32 a-b", "in!t a", "int32[x] a", "int32] a"] {
            let text = format!("int32 ok\n{bad}\n");
            let error = Definition::parse_all("p/msg/T", &text).unwrap_err();
            assert!(matches!(error, DefinitionError::Syntax { line: 2, .. }), "{bad}: {error}");
        }
    }

    #[test]
    fn a_hundred_thousand_fields_are_refused() {
        let text = "int8 a\n".repeat(100_000);
        let error = Definition::parse_all("p/msg/T", &text).unwrap_err();
        assert!(matches!(error, DefinitionError::TooLarge { limit: MAX_FIELDS, .. }));
    }
}
