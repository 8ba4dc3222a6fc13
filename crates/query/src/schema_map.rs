use std::collections::BTreeMap;

use ros2_memory_index::{DriveRules, IndexedPaths, IndexedTypes};
use ros2_memory_msg::{FieldPath, canonical_type_name};

/// For each message type, which fields a reply shows and what they mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaMap {
    types: BTreeMap<String, TypePaths>,
}

/// The paths of one message type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypePaths {
    /// The fields of a reply, in order. Some names have a meaning: `value` is what conditions
    /// look at; `position` and `orientation` make a pose; `linear_velocity` and
    /// `angular_velocity` a velocity; `frame` and `child_frame` name the frames of these.
    pub fields: Vec<(String, FieldPath)>,
    /// What is indexed: `contains` looks at its labels and text; its position counts before the
    /// field `position`.
    pub index: IndexedPaths,
}

impl SchemaMap {
    /// Sets the paths of a type.
    pub fn insert(&mut self, type_name: &str, paths: TypePaths) {
        self.types.insert(canonical_type_name(type_name).into_owned(), paths);
    }

    /// The paths of a type.
    pub fn get(&self, type_name: &str) -> Option<&TypePaths> {
        self.types.get(&*canonical_type_name(type_name))
    }
}

impl SchemaMap {
    /// What is indexed of all types, with distance counted by `rules`.
    pub fn indexed(&self, rules: DriveRules) -> IndexedTypes {
        let mut types = IndexedTypes::with_rules(rules);
        for (name, paths) in &self.types {
            if paths.index != IndexedPaths::default() {
                types.insert(name, paths.index.clone());
            }
        }
        types
    }
}

impl TypePaths {
    /// The path of a field by its name in replies.
    pub fn field(&self, name: &str) -> Option<&FieldPath> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, path)| path)
    }

    /// Where `near_position` looks.
    pub fn position(&self) -> Option<&FieldPath> {
        self.index.position.as_ref().or_else(|| self.field("position"))
    }
}
