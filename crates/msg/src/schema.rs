use ros2_memory_cdr::{Encoding, Extensibility, Family, Primitive};

use crate::{
    Definition, DefinitionError, Library, MessageEncoding, SchemaEncoding, TypeSource,
    canonical_type_name, idl,
    no_bytes::NoBytesIn,
    resolve::{Embedded, Resolver, builtin_types, min_size},
    ros_text::{self, Dialect},
};

/// How deep types may contain types.
pub const MAX_DEPTH: usize = 64;
/// How many fields one schema may have, over all its types.
pub const MAX_FIELDS: usize = 10_000;

/// A message type with every name in it resolved, and how its messages are serialized.
///
/// Invariants: the types form no cycle, are at most [`MAX_DEPTH`] deep and have at most
/// [`MAX_FIELDS`] fields in all; every struct id lies inside `structs`. The type of a JSON channel
/// has no fields here: each message says its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    structs: Vec<StructType>,
    message_encoding: MessageEncoding,
    /// Whether some values carry headers also where CDR has none: optional and mutable members.
    has_headers: bool,
}

/// One struct of a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct StructType {
    /// `package/msg/Type`.
    pub name: String,
    /// The fields in wire order.
    pub fields: Vec<Field>,
    /// What may be added to it; `None` when the definition does not say.
    pub(crate) extensibility: Option<Extensibility>,
    /// The bytes that a value without fields takes all the same.
    pub(crate) filler_bytes: usize,
    /// The fewest bytes a value can take where all its fields are there and have no headers.
    pub(crate) min_size: usize,
    /// How many fields it has with those of its structs counted, lists as one; saturating.
    pub(crate) n_leaves: usize,
    /// Where a value takes no bytes.
    pub(crate) no_bytes_in: NoBytesIn,
    /// How many types deep it goes, itself and its arrays counted.
    pub(crate) height: usize,
}

/// One field of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The field's name.
    pub name: String,
    /// Its type.
    pub ty: FieldType,
    /// Its number among the members of a mutable struct.
    pub(crate) id: u32,
    /// Whether a message may do without it.
    pub(crate) is_optional: bool,
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldType {
    /// A number, a truth value or a byte.
    Primitive(Primitive),
    /// UTF-8 text.
    String,
    /// Wide text.
    WString,
    /// A struct of the same schema, by its number.
    Struct(usize),
    /// Always this many elements.
    Array(Box<FieldType>, usize),
    /// As many elements as the message says.
    Sequence(Box<FieldType>),
}

impl Schema {
    /// How to read the messages of a channel: the one place that decides between the definition
    /// that a file embeds and one of the library. The file's own always wins; a file that has
    /// none, or an empty one for a type that the library knows, is read by the library's.
    ///
    /// # Errors
    ///
    /// [`DefinitionError`]: an encoding that is not read, no type, no definition, or a definition
    /// that is malformed, needs an unknown type, contains itself or is too large.
    pub fn for_channel(
        source: &TypeSource<'_>,
        library: &Library,
    ) -> Result<Self, DefinitionError> {
        let message_encoding = MessageEncoding::from_name(source.message_encoding)?;
        let type_name = canonical_type_name(source.type_name);
        if message_encoding == MessageEncoding::Json {
            return Ok(Self::json(&type_name));
        }
        if type_name.is_empty() {
            return Err(DefinitionError::NoType);
        }
        let text = String::from_utf8_lossy(source.text);
        let is_ros2 = message_encoding == MessageEncoding::Cdr;
        if text.trim().is_empty() && is_ros2 && library.get(&type_name).is_some() {
            return Self::from_library(&type_name, library);
        }
        if source.schema_encoding.is_empty() && !is_ros2 {
            return Err(DefinitionError::SchemaEncoding { encoding: String::new() });
        }
        if source.schema_encoding.is_empty() {
            return Err(DefinitionError::NoDefinition { type_name: type_name.into_owned() });
        }
        let encoding = SchemaEncoding::from_name(source.schema_encoding)?;
        if (encoding == SchemaEncoding::Ros1Msg) == is_ros2 {
            return Err(DefinitionError::SchemaEncoding {
                encoding: source.schema_encoding.to_owned(),
            });
        }
        Self::parse_as(encoding, &type_name, &text, library)
    }

    /// Resolves the `ros2msg` definition that a file embeds. Names it does not define itself are
    /// taken from `library`.
    ///
    /// # Errors
    ///
    /// [`DefinitionError`] when the text is malformed, needs an unknown type, contains itself or
    /// is too large.
    pub fn parse(type_name: &str, text: &str, library: &Library) -> Result<Self, DefinitionError> {
        Self::parse_as(SchemaEncoding::Ros2Msg, type_name, text, library)
    }

    /// As [`Self::parse`], for a definition in any language. A ROS 1 definition must be complete:
    /// the library is of ROS 2, whose types of the same names are others.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    pub fn parse_as(
        encoding: SchemaEncoding,
        type_name: &str,
        text: &str,
        library: &Library,
    ) -> Result<Self, DefinitionError> {
        let root = canonical_type_name(type_name);
        let parsed = match encoding {
            SchemaEncoding::Ros2Msg => ros_text::parse_all(&root, text, Dialect::Ros2),
            SchemaEncoding::Ros1Msg => ros_text::parse_all(&root, text, Dialect::Ros1),
            SchemaEncoding::Ros2Idl | SchemaEncoding::OmgIdl => idl::parse_all(&root, text),
        }?;
        let embedded = Embedded::new(&parsed);
        let message_encoding = match encoding {
            SchemaEncoding::Ros1Msg => MessageEncoding::Ros1,
            _ => MessageEncoding::Cdr,
        };
        let builtin = builtin_types(message_encoding);
        let library = (message_encoding == MessageEncoding::Cdr).then_some(library);
        let find = |name: &str| {
            embedded
                .get(name)
                .or_else(|| embedded.get_unique(name))
                .or_else(|| library.and_then(|library| library.get(name)))
                .or_else(|| builtin.iter().find(|definition| definition.name == name))
        };
        Self::resolve(&root, message_encoding, &find)
    }

    /// Resolves a type that only the library defines.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`]; [`DefinitionError::UnknownType`] when the library lacks it.
    pub fn from_library(type_name: &str, library: &Library) -> Result<Self, DefinitionError> {
        let find = |name: &str| library.get(name);
        Self::resolve(&canonical_type_name(type_name), MessageEncoding::Cdr, &find)
    }

    /// The type of a JSON channel: whatever each message holds.
    pub fn json(type_name: &str) -> Self {
        let root = StructType {
            name: type_name.to_owned(),
            fields: Vec::new(),
            extensibility: None,
            filler_bytes: 0,
            min_size: 0,
            n_leaves: 0,
            no_bytes_in: NoBytesIn::default(),
            height: 1,
        };
        Self { structs: vec![root], message_encoding: MessageEncoding::Json, has_headers: false }
    }

    /// How messages of the type are serialized.
    pub fn message_encoding(&self) -> MessageEncoding {
        self.message_encoding
    }

    /// The message's own type.
    ///
    /// # Panics
    ///
    /// Never: a schema is only made with its root in the first place.
    pub fn root(&self) -> &StructType {
        match self.structs.first() {
            Some(root) => root,
            None => unreachable!("a schema holds at least its root"),
        }
    }

    /// The struct with the number that a [`FieldType::Struct`] of this schema holds.
    ///
    /// # Panics
    ///
    /// When the number is of another schema.
    pub fn struct_type(&self, id: usize) -> &StructType {
        match self.structs.get(id) {
            Some(ty) => ty,
            None => unreachable!("struct {id} of a schema with {}", self.structs.len()),
        }
    }

    /// Whether values in this encoding stand one behind the other, without headers around them.
    #[inline]
    pub(crate) fn is_plain_in(&self, encoding: Encoding) -> bool {
        !self.has_headers
            && encoding.family != Family::Xcdr2
            && encoding.extensibility == Extensibility::Final
    }

    /// The fewest bytes a value of `ty` can take where it has no headers; 0 for types that take
    /// none at all.
    pub(crate) fn min_size(&self, ty: &FieldType) -> usize {
        min_size(&self.structs, ty)
    }

    fn resolve<'d>(
        root: &str,
        message_encoding: MessageEncoding,
        find: &dyn Fn(&str) -> Option<&'d Definition>,
    ) -> Result<Self, DefinitionError> {
        let mut resolver = Resolver::new(find);
        let definition = find(root).ok_or_else(|| DefinitionError::UnknownType {
            in_type: "the recording".to_owned(),
            missing: root.to_owned(),
        })?;
        resolver.add(definition, 0)?;
        let structs = resolver.into_structs();
        let has_headers = structs.iter().any(|ty| {
            ty.extensibility == Some(Extensibility::Mutable)
                || ty.fields.iter().any(|field| field.is_optional)
        });
        Ok(Self { structs, message_encoding, has_headers })
    }
}

#[cfg(test)]
mod tests;
