use ros2_memory_cdr::{Extensibility, Primitive};

/// One message definition, in whatever language it was written: its name and its fields in wire
/// order.
///
/// Constants and default values are recognized and dropped: they take no bytes of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// `package/msg/Type`, or what a type outside ROS is called.
    pub name: String,
    /// The fields in wire order.
    pub fields: Vec<FieldSpec>,
    /// What may be added to the type later; `None` when the text does not say.
    pub extensibility: Option<Extensibility>,
    /// The bytes that a value without fields takes all the same: 1 in ROS 2.
    pub filler_bytes: usize,
}

/// One field as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSpec {
    /// The field's name.
    pub name: String,
    /// Its type.
    pub ty: TypeSpec,
    /// Its number, which members of mutable types carry.
    pub id: u32,
    /// Whether a message may do without it.
    pub is_optional: bool,
}

/// A type as it is written: other definitions are named, not yet found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeSpec {
    /// A number, a truth value or a byte.
    Primitive(Primitive),
    /// UTF-8 text, bounded or not: the bound does not show on the wire.
    String,
    /// Wide text.
    WString,
    /// Another definition, by the name as written.
    Named(String),
    /// Always this many elements.
    Array(Box<TypeSpec>, usize),
    /// As many elements as the message says; a bound does not show on the wire.
    Sequence(Box<TypeSpec>),
    /// A type that is not read, in words.
    Unsupported(String),
}

impl Definition {
    /// A definition of a ROS 2 type without fields.
    pub(crate) fn empty(name: String) -> Self {
        Self { name, fields: Vec::new(), extensibility: None, filler_bytes: 1 }
    }

    /// Appends a field; its number is its place.
    pub(crate) fn push(&mut self, name: &str, ty: TypeSpec) {
        let id = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        self.fields.push(FieldSpec { name: name.to_owned(), ty, id, is_optional: false });
    }

    /// The package part of the name.
    pub fn package(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// The name without its package and kind.
    pub fn short_name(&self) -> &str {
        self.name.rsplit(['/', ':']).next().unwrap_or_default()
    }

    /// `msg`, `srv` or `action`; `msg` for names that have no such part.
    pub fn kind(&self) -> &str {
        match self.name.split('/').nth(1) {
            Some(kind @ ("srv" | "action")) => kind,
            _ => "msg",
        }
    }
}
