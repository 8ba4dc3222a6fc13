//! Laying one partial tree over the settings: unknown keys, types, and who set what.

use crate::{
    Config, ConfigError, Origins, Problem,
    nearest::nearest,
    origin::Place,
    section::{Section, Slot, field, find, leaf_keys},
    topics::check_topic,
    yaml::{Entry, Node, Value},
};

/// The settings as far as they are composed, and where each came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) config: Config,
    pub(crate) origins: Origins,
}

impl Tree {
    /// Lays a partial tree over the settings; what it does not name stays.
    ///
    /// # Errors
    ///
    /// A key that does not exist or looks like a secret, a value of the wrong type.
    pub(crate) fn overlay(&mut self, root: &Node, place: &Place) -> Result<(), ConfigError> {
        Overlay { place, origins: &mut self.origins }.section(&mut self.config, "", root)
    }

    /// Whether the dotted path names a key, or an entry of a map of topics.
    pub(crate) fn has(&mut self, path: &[&str]) -> bool {
        match topic_entry(&mut self.config, path) {
            Some((map, topic)) => map.iter().any(|(known, _)| known == topic),
            None => find(&mut self.config, path).is_some(),
        }
    }

    /// Gives the key at `path`, with everything below it, the value that it has in `other`.
    ///
    /// # Errors
    ///
    /// A key that does not exist.
    pub(crate) fn restore(
        &mut self,
        path: &[&str],
        mut other: Self,
        place: &Place,
    ) -> Result<(), ConfigError> {
        let key = path.join(".");
        if let Some((map, topic)) = topic_entry(&mut self.config, path) {
            map.retain(|(known, _)| known != topic);
            if let Some((map, topic)) = topic_entry(&mut other.config, path)
                && let Some(entry) = map.iter().find(|(known, _)| known == topic).cloned()
            {
                self.config.data.time_tolerance_per_topic_s.push(entry);
            }
        } else {
            // A key that does not exist is not found in either tree: the overlay says so.
            let value = find(&mut other.config, path).map_or(Value::Null, |mut slot| slot.value());
            if "data.time_tolerance_per_topic_s".starts_with(&key) {
                self.config.data.time_tolerance_per_topic_s.clear();
            }
            self.overlay(&nested(path, Node::unplaced(value)), place)?;
        }
        self.origins.restore(&key, &other.origins);
        Ok(())
    }
}

/// `a.b` and a value as the mapping `{a: {b: value}}`.
pub(crate) fn nested(path: &[&str], value: Node) -> Node {
    path.iter().rev().fold(value, |value, key| {
        let position = value.position;
        let entry = Entry { value, ..field(key, Value::Null) };
        Node::new(Value::Map(vec![entry]), position)
    })
}

/// The map that a path leads into, and the topic in it.
fn topic_entry<'a, 'p>(
    config: &'a mut Config,
    path: &[&'p str],
) -> Option<(&'a mut Vec<(String, f64)>, &'p str)> {
    let (topic, map) = path.split_last()?;
    match find(config, map)? {
        Slot::TopicSeconds(map) => Some((map, topic)),
        Slot::Section(_) | Slot::Leaf(_) => None,
    }
}

struct Overlay<'a> {
    place: &'a Place,
    origins: &'a mut Origins,
}

impl Overlay<'_> {
    fn section(
        &mut self,
        section: &mut dyn Section,
        prefix: &str,
        node: &Node,
    ) -> Result<(), ConfigError> {
        let entries = match &node.value {
            // A section whose keys are all commented out.
            Value::Null => return Ok(()),
            Value::Map(entries) => entries,
            // `roles: auto` and `roles: /odom` stand for every role.
            _ if prefix == "data.roles" => {
                return section.keys().iter().try_for_each(|key| {
                    let entry = Entry {
                        key: (*key).to_owned(),
                        position: node.position,
                        value: node.clone(),
                    };
                    self.entry(section, prefix, &entry)
                });
            }
            _ => {
                let key = if prefix.is_empty() { "the whole file" } else { prefix };
                let keys = section.keys().join(", ");
                return Err(self.wrong_type(key, &format!("a mapping with the keys {keys}"), node));
            }
        };
        entries.iter().try_for_each(|entry| self.entry(section, prefix, entry))
    }

    fn entry(
        &mut self,
        section: &mut dyn Section,
        prefix: &str,
        entry: &Entry,
    ) -> Result<(), ConfigError> {
        let key = join(prefix, &entry.key);
        let expected = section.keys();
        match section.slot(&entry.key) {
            None => Err(self.unknown(expected, prefix, entry)),
            Some(Slot::Section(inner)) => self.section(inner, &key, &entry.value),
            Some(Slot::TopicSeconds(map)) => self.topics(map, &key, &entry.value),
            Some(Slot::Leaf(leaf)) => {
                self.check_kind(&key, entry)?;
                if !leaf.read(&entry.value) {
                    return Err(self.wrong_type(&key, &leaf.expected(), &entry.value));
                }
                self.origins.set(key, self.place.at(entry.position));
                Ok(())
            }
        }
    }

    /// `recorder.kind` and `storage.kind` come with the rest of their group file. Setting one
    /// alone would, for one, leave retention on where nothing records.
    fn check_kind(&self, key: &str, entry: &Entry) -> Result<(), ConfigError> {
        match key.strip_suffix(".kind") {
            Some(group) if self.place.group() != Some(group) => Err(Problem::BadValue {
                key: key.to_owned(),
                message: format!(
                    "is set by the files in {group}/; choose one with `- {group}: NAME` in the \
                     defaults list, or with the override {group}=NAME"
                ),
            }
            .at(self.place.at(entry.position))),
            _ => Ok(()),
        }
    }

    fn topics(
        &mut self,
        map: &mut Vec<(String, f64)>,
        prefix: &str,
        node: &Node,
    ) -> Result<(), ConfigError> {
        let entries = match &node.value {
            Value::Null => return Ok(()),
            Value::Map(entries) => entries,
            _ => return Err(self.wrong_type(prefix, "a mapping of topics to seconds", node)),
        };
        for entry in entries {
            let key = join(prefix, &entry.key);
            let origin = self.place.at(entry.position);
            if let Err(message) = check_topic(&entry.key) {
                return Err(Problem::BadValue { key, message }.at(origin));
            }
            let mut seconds = 0.0;
            if !crate::leaf::Leaf::read(&mut seconds, &entry.value) {
                return Err(self.wrong_type(&key, "a number", &entry.value));
            }
            match map.iter_mut().find(|(topic, _)| *topic == entry.key) {
                Some((_, known)) => *known = seconds,
                None => map.push((entry.key.clone(), seconds)),
            }
            self.origins.set(key, origin);
        }
        Ok(())
    }

    fn wrong_type(&self, key: &str, expected: &str, node: &Node) -> ConfigError {
        Problem::WrongType {
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: node.found(),
        }
        .at(self.place.at(node.position))
    }

    fn unknown(&self, expected: &[&str], prefix: &str, entry: &Entry) -> ConfigError {
        let key = join(prefix, &entry.key);
        let origin = self.place.at(entry.position);
        if is_secret(&entry.key) {
            return Problem::Secret { key }.at(origin);
        }
        let near = nearest(&entry.key, expected.iter().copied()).map(|near| join(prefix, near));
        Problem::UnknownKey {
            nearest: near.or_else(|| elsewhere(&entry.key)),
            expected: expected.iter().map(|key| (*key).to_owned()).collect(),
            key,
        }
        .at(origin)
    }
}

/// The full key of a name that was written in the wrong section.
fn elsewhere(name: &str) -> Option<String> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    leaf_keys(&mut Config::default()).into_iter().find(|key| last(key) == name)
}

/// Whether a key's name says that its value must not be seen.
pub(crate) fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["token", "secret", "passw", "passphrase", "credential", "api_key", "apikey", "bearer"]
        .iter()
        .any(|word| key.contains(word))
}

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}
