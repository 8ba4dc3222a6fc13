use ros2_memory_cdr::CdrError;

/// Why a message definition could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// A line that is neither field, constant, comment nor separator.
    #[error("{definition}, line {line}: {problem}")]
    Syntax {
        /// The type whose text it is.
        definition: String,
        /// The line, from 1, in the whole text.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A field of a type that is defined nowhere.
    #[error("{in_type} has a field of type {missing}, which is defined nowhere")]
    UnknownType {
        /// The type that needs it.
        in_type: String,
        /// The name that was looked for.
        missing: String,
    },
    /// A type that contains itself.
    #[error("{name} contains itself")]
    Recursive {
        /// The type's name.
        name: String,
    },
    /// A definition past one of the limits.
    #[error("{found} {what}, at most {limit} are read")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How many there are, as far as was counted.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// A field of a kind that is not read.
    #[error("{in_type} has a field of type {what}, which is not supported")]
    Unsupported {
        /// The type that needs it.
        in_type: String,
        /// The kind.
        what: String,
    },
    /// A schema encoding that this program does not read.
    #[error("schema encoding {encoding:?} is not supported")]
    SchemaEncoding {
        /// Its name in the file.
        encoding: String,
    },
    /// A message encoding that this program does not read.
    #[error("message encoding {encoding:?} is not supported")]
    MessageEncoding {
        /// Its name in the file.
        encoding: String,
    },
    /// A channel that no schema belongs to.
    #[error("the recording does not say of which type it is")]
    NoType,
    /// A type that neither the file nor the library defines.
    #[error(
        "the recording has no definition of {type_name}; add its .msg files to \
         reader.custom_msg_paths"
    )]
    NoDefinition {
        /// The type.
        type_name: String,
    },
}

/// Why a field path does not fit a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// A text that is no path.
    #[error("{path:?} is not a field path such as pose.pose.position or detections[].label")]
    Syntax {
        /// The text.
        path: String,
    },
    /// A field that the type does not have.
    #[error("{type_name} has no field {field:?}; it has {known}")]
    NoSuchField {
        /// The type.
        type_name: String,
        /// The name that was looked for.
        field: String,
        /// The names of its fields.
        known: String,
    },
    /// An index on a field that is no array.
    #[error("{field:?} in {type_name} is not an array")]
    NotAnArray {
        /// The type that holds the field.
        type_name: String,
        /// The field.
        field: String,
    },
    /// A step into a field that has no fields of its own.
    #[error("{field:?} in {type_name} has no fields{hint}")]
    NotAStruct {
        /// The type that holds the field.
        type_name: String,
        /// The field.
        field: String,
        /// What would work.
        hint: &'static str,
    },
}

/// Why a message could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{type_name}{}: {source}", if field.is_empty() { String::new() } else { format!(", field {field}") })]
pub struct DecodeError {
    /// The type that was being read.
    pub type_name: String,
    /// The field of it, empty when the payload's header is at fault.
    pub field: String,
    /// What was wrong with the bytes.
    pub source: CdrError,
}
