use std::{collections::BTreeMap, fmt, sync::Arc};

/// A line and a column of a file, both counted from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
}

/// Where a value came from: a place in a file, a variable of the environment, or an override.
///
/// Displays as `config/config.yaml:12:3`, `environment MCP_PORT` or `override "server.port=1"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    name: Arc<str>,
    position: Option<Position>,
}

/// From which place each key of the resolved configuration got its value, by dotted key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, Origin>);

/// A source of values while it is read: it turns the positions of nodes into origins.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    name: Arc<str>,
    /// Only the positions inside a file mean anything to a person.
    is_file: bool,
    /// The group folder that the file stands in.
    group: Option<&'static str>,
}

impl Origin {
    /// The file, variable or override, without the position.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The position, when the source is a file.
    pub fn position(&self) -> Option<Position> {
        self.position
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match self.position {
            Some(Position { line, column }) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

impl Origins {
    /// Where the value of `key`, such as `server.port`, came from. `None` for a key that no
    /// source set, so that the program's own default stands.
    pub fn get(&self, key: &str) -> Option<&Origin> {
        self.0.get(key)
    }

    /// Every known origin in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Origin)> {
        self.0.iter().map(|(key, origin)| (key.as_str(), origin))
    }

    pub(crate) fn set(&mut self, key: String, origin: Origin) {
        self.0.insert(key, origin);
    }

    /// Forgets `key` and everything below it.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|known, _| !is_at_or_below(known, key));
    }

    /// Takes over from `other` what it knows of `key` and of everything below it.
    pub(crate) fn restore(&mut self, key: &str, other: &Self) {
        self.remove(key);
        let below = other.0.iter().filter(|(known, _)| is_at_or_below(known, key));
        self.0.extend(below.map(|(known, origin)| (known.clone(), origin.clone())));
    }
}

impl Place {
    pub(crate) fn file(name: &str, group: Option<&'static str>) -> Self {
        Self { name: name.into(), is_file: true, group }
    }

    /// A source without lines, such as an override.
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.into(), is_file: false, group: None }
    }

    pub(crate) fn group(&self) -> Option<&'static str> {
        self.group
    }

    pub(crate) fn at(&self, position: Position) -> Origin {
        Origin { name: Arc::clone(&self.name), position: self.is_file.then_some(position) }
    }

    /// The source as a whole.
    pub(crate) fn whole(&self) -> Origin {
        Origin { name: Arc::clone(&self.name), position: None }
    }
}

fn is_at_or_below(known: &str, key: &str) -> bool {
    known.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
