use std::collections::HashMap;

use crate::{Definition, DefinitionError};

/// Definitions that serve recordings which carry none of their own.
///
/// The caller reads the files: this crate does no I/O.
#[derive(Debug, Clone, Default)]
pub struct Library {
    definitions: HashMap<String, Definition>,
}

impl Library {
    /// A library without definitions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the text of one `.msg` file under `package/msg/Type`; a later text of the same name
    /// replaces the earlier one.
    ///
    /// # Errors
    ///
    /// As [`Definition::parse_all`].
    pub fn add(&mut self, type_name: &str, text: &str) -> Result<(), DefinitionError> {
        for definition in Definition::parse_all(type_name, text)? {
            self.definitions.insert(definition.name.clone(), definition);
        }
        Ok(())
    }

    /// The definition of a type by its long name.
    pub fn get(&self, type_name: &str) -> Option<&Definition> {
        self.definitions.get(type_name)
    }

    /// The long names of its definitions, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.definitions.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// How many definitions it holds.
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }
}
