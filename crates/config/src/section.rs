//! One declaration per section of the tree: its fields, their defaults, and the way to them by
//! name. So a key exists in the struct, in the files and in `config show`, or in none of them.

use crate::{
    leaf::Leaf,
    yaml::{Entry, Node, Value},
};

/// A mapping with a fixed set of keys.
pub(crate) trait Section {
    /// Every key, in the order of the shipped file.
    fn keys(&self) -> &'static [&'static str];

    /// The field of that name.
    fn slot(&mut self, key: &str) -> Option<Slot<'_>>;
}

/// One field of a section.
pub(crate) enum Slot<'a> {
    Section(&'a mut dyn Section),
    Leaf(&'a mut dyn Leaf),
    /// A mapping whose keys are topics, and whose values are seconds.
    TopicSeconds(&'a mut Vec<(String, f64)>),
}

pub(crate) trait AsSlot {
    fn as_slot(&mut self) -> Slot<'_>;
}

impl<T: Leaf> AsSlot for T {
    fn as_slot(&mut self) -> Slot<'_> {
        Slot::Leaf(self)
    }
}

impl AsSlot for Vec<(String, f64)> {
    fn as_slot(&mut self) -> Slot<'_> {
        Slot::TopicSeconds(self)
    }
}

impl Slot<'_> {
    /// The present value as a node.
    pub(crate) fn value(&mut self) -> Value {
        match self {
            Self::Leaf(leaf) => leaf.value(),
            Self::TopicSeconds(map) => {
                let entry =
                    |(topic, seconds): &(String, f64)| field(topic, Value::Number(*seconds));
                Value::Map(map.iter().map(entry).collect())
            }
            Self::Section(section) => {
                let mut entries = Vec::new();
                for key in section.keys() {
                    if let Some(mut slot) = section.slot(key) {
                        entries.push(field(key, slot.value()));
                    }
                }
                Value::Map(entries)
            }
        }
    }
}

/// The field at the end of a path; the path itself may not lead into a map of topics.
pub(crate) fn find<'a>(section: &'a mut dyn Section, path: &[&str]) -> Option<Slot<'a>> {
    let (first, rest) = path.split_first()?;
    match section.slot(first)? {
        slot if rest.is_empty() => Some(slot),
        Slot::Section(inner) => find(inner, rest),
        Slot::Leaf(_) | Slot::TopicSeconds(_) => None,
    }
}

/// Every dotted key that holds a value, in the order of the shipped file.
pub(crate) fn leaf_keys(section: &mut dyn Section) -> Vec<String> {
    let mut keys = Vec::new();
    for key in section.keys() {
        match section.slot(key) {
            Some(Slot::Section(inner)) => {
                keys.extend(leaf_keys(inner).into_iter().map(|inside| format!("{key}.{inside}")));
            }
            Some(Slot::Leaf(_) | Slot::TopicSeconds(_)) => keys.push((*key).to_owned()),
            None => {}
        }
    }
    keys
}

pub(crate) fn field(key: &str, value: Value) -> Entry {
    let value = Node::unplaced(value);
    Entry { key: key.to_owned(), position: value.position, value }
}

/// Declares a section: a public struct whose fields are `name: type = default`.
macro_rules! section {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident: $type:ty = $default:expr,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::section::Section for $name {
            fn keys(&self) -> &'static [&'static str] {
                &[$(stringify!($field),)*]
            }

            fn slot(&mut self, key: &str) -> Option<$crate::section::Slot<'_>> {
                match key {
                    $(stringify!($field) => {
                        Some($crate::section::AsSlot::as_slot(&mut self.$field))
                    })*
                    _ => None,
                }
            }
        }

        impl $crate::section::AsSlot for $name {
            fn as_slot(&mut self) -> $crate::section::Slot<'_> {
                $crate::section::Slot::Section(self)
            }
        }
    };
}

/// Declares a setting that is one of a few words; the first word of a variant is its name, others
/// are accepted for it.
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal $(| $alias:literal)*,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $name {
            /// The word that stands for it in the files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::leaf::Leaf for $name {
            fn expected(&self) -> String {
                [$($word,)*].join(" or ")
            }

            fn read(&mut self, node: &$crate::yaml::Node) -> bool {
                match node.text() {
                    $(Some($word $(| $alias)*) => *self = Self::$variant,)*
                    _ => return false,
                }
                true
            }

            fn value(&self) -> $crate::yaml::Value {
                $crate::yaml::Value::Text(self.name().to_owned())
            }
        }
    };
}

pub(crate) use choice;
pub(crate) use section;
