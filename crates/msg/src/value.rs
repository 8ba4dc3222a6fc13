use std::borrow::Cow;

use ros2_memory_cdr::{Primitives, Scalar};

use crate::StructType;

/// A value out of a message, borrowed from its payload as far as the bytes allow.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Nothing: an optional field that the message does without, or JSON's `null`.
    Absent,
    /// A number or a truth value.
    Scalar(Scalar),
    /// Text; owned when its bytes were not UTF-8, wide, or JSON with escapes.
    String(Cow<'a, str>),
    /// An array of numbers or bytes, not yet read.
    Primitives(Primitives<'a>),
    /// An array of anything else.
    List(List<'a>),
    /// A struct.
    Struct(Struct<'a>),
    /// An object of a JSON message, which names its fields itself.
    Object(Object<'a>),
}

/// An array whose elements are values of their own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct List<'a> {
    /// The elements that were kept: all, or evenly spaced ones.
    pub items: Vec<Value<'a>>,
    /// How many the message holds.
    pub total: usize,
}

/// A struct: its type and a value for each field of the type, in the type's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Struct<'a> {
    /// The type, which names the fields.
    pub ty: &'a StructType,
    /// The values, as many as the type has fields.
    pub fields: Vec<Value<'a>>,
}

/// The fields of a JSON object, in the order of the text. Of a repeated name the last holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object<'a> {
    /// Names and values.
    pub fields: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Value<'a> {
    /// The value as a double, when it is a number or a truth value.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Scalar(scalar) => Some(scalar.as_f64()),
            _ => None,
        }
    }

    /// The value as text, when it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A field of a struct by its name.
    pub fn field(&self, name: &str) -> Option<&Value<'a>> {
        match self {
            Self::Struct(value) => value.field(name),
            Self::Object(value) => value.field(name),
            _ => None,
        }
    }
}

impl<'a> Struct<'a> {
    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&Value<'a>> {
        let index = self.ty.fields.iter().position(|field| field.name == name)?;
        self.fields.get(index)
    }

    /// The fields with their names, in wire order.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &Value<'a>)> {
        self.ty.fields.iter().map(|field| field.name.as_str()).zip(&self.fields)
    }
}

impl<'a> Object<'a> {
    /// A field by its name.
    pub fn field(&self, name: &str) -> Option<&Value<'a>> {
        self.fields.iter().rfind(|(known, _)| known == name).map(|(_, value)| value)
    }
}
