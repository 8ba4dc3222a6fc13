use std::collections::BTreeMap;

use ros2_memory_bag::Declarations;
use ros2_memory_msg::{FieldPath, canonical_type_name};

use crate::DriveRules;

/// Which fields of which message types are indexed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexedTypes {
    types: BTreeMap<String, IndexedPaths>,
    /// How distance is counted along positions.
    pub rules: DriveRules,
}

/// The fields of one type that are indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexedPaths {
    /// Where labels are: text, or a number that stands for it.
    pub labels: Vec<FieldPath>,
    /// Where free text is. A text that holds a JSON list gives its items as labels.
    pub text: Vec<FieldPath>,
    /// Numbers, of which the extremes are kept.
    pub numbers: Vec<FieldPath>,
    /// Where a position is, with x and y.
    pub position: Option<FieldPath>,
}

/// A checksum over what is configured for the types of a bag: with another, it is indexed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct IndexedMark(pub u32);

impl IndexedTypes {
    /// No types; distance is counted by `rules`.
    pub fn with_rules(rules: DriveRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Sets what is indexed of a type.
    pub fn insert(&mut self, type_name: &str, paths: IndexedPaths) {
        self.types.insert(canonical_type_name(type_name).into_owned(), paths);
    }

    /// What is indexed of a type, in any spelling of its name.
    pub fn get(&self, type_name: &str) -> Option<&IndexedPaths> {
        self.types.get(&*canonical_type_name(type_name))
    }

    /// The mark of bags that declare these types.
    pub fn mark(&self, declared: &Declarations) -> IndexedMark {
        let mut names: Vec<_> =
            declared.schemas.iter().map(|schema| canonical_type_name(&schema.name)).collect();
        names.sort_unstable();
        names.dedup();
        let mut hasher = crc32fast::Hasher::new();
        for (name, paths) in names.iter().filter_map(|name| self.types.get_key_value(&**name)) {
            let IndexedPaths { labels, text, numbers, position } = paths;
            hasher.update(name.as_bytes());
            if position.is_some() {
                hasher.update(&self.rules.jitter_m.to_le_bytes());
                hasher.update(&self.rules.max_speed_mps.to_le_bytes());
            }
            let position = position.as_slice();
            for (kind, paths) in
                [(b'l', &labels[..]), (b't', text), (b'n', numbers), (b'p', position)]
            {
                for path in paths {
                    hasher.update(&[0, kind]);
                    hasher.update(path.to_string().as_bytes());
                }
            }
            hasher.update(&[1]);
        }
        IndexedMark(hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ros2_memory_bag::Schema;

    use super::*;

    fn declared(types: &[&str]) -> Declarations {
        let schema = |name: &&str| Schema {
            id: 1,
            name: Arc::from(*name),
            encoding: "ros2msg".into(),
            text: Arc::default(),
        };
        Declarations { schemas: types.iter().map(schema).collect(), ..Declarations::default() }
    }

    #[test]
    fn a_mark_changes_with_what_is_configured_of_a_bags_own_types() {
        let mut types = IndexedTypes::default();
        let both = declared(&["p/msg/A", "p/msg/B"]);
        let none = types.mark(&both);
        types.insert(
            "p/A",
            IndexedPaths { labels: vec!["x".parse().unwrap()], ..IndexedPaths::default() },
        );
        let one = types.mark(&both);
        assert_ne!(none, one);
        assert_eq!(one, types.mark(&declared(&["p/msg/B", "p/msg/A", "p/msg/A"])));
        assert_eq!(none, types.mark(&declared(&["p/msg/B"])));
        types.insert(
            "p/A",
            IndexedPaths { text: vec!["x".parse().unwrap()], ..IndexedPaths::default() },
        );
        assert_ne!(one, types.mark(&both));
        types.insert("q/C", IndexedPaths::default());
        assert_eq!(none, types.mark(&declared(&["p/msg/B"])));
    }
}
