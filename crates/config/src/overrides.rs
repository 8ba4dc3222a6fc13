//! The overrides, Hydra's basic grammar:
//!
//! | text | meaning |
//! |---|---|
//! | `group=option` | chooses `group/option.yaml` |
//! | `a.b=value` | sets a key that exists |
//! | `+a.b=value` | adds an entry that does not exist yet (a topic of a mapping) |
//! | `++a.b=value` | sets or adds |
//! | `~a.b` | back to the shipped default |
//!
//! A value is YAML: `5`, `0.5`, `true`, `text`, `[a, b]`, `"quoted text"`.

use crate::{
    ConfigError, Problem,
    apply::{Tree, is_secret, nested},
    environment::Environment,
    files::{GROUPS, is_name},
    interpolate::interpolate,
    origin::Place,
    yaml::{self, Node, Value},
};

/// One override, and what messages call it.
#[derive(Debug)]
pub(crate) struct Override {
    pub(crate) place: Place,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum Action {
    Choose { group: &'static str, option: String },
    Set { mode: Mode, path: Vec<String>, value: Node },
    Reset { path: Vec<String> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Existing,
    New,
    Either,
}

impl Override {
    /// Reads one override. `from` says who holds it, when it is not the command line.
    ///
    /// # Errors
    ///
    /// A text that is not of the grammar, a value that is not YAML, a key that looks like a
    /// secret.
    pub(crate) fn parse(
        text: &str,
        from: Option<&str>,
        environment: Environment<'_>,
    ) -> Result<Self, ConfigError> {
        let text = text.trim();
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (text, None),
        };
        // The value of a secret never reaches a message.
        let shown = if is_secret(key) { format!("{key}=...") } else { text.to_owned() };
        let name = match from {
            Some(variable) => format!("environment {variable}, override \"{shown}\""),
            None => format!("override \"{shown}\""),
        };
        let place = Place::named(&name);
        let action = action(key, value, &place, environment)?;
        Ok(Self { place, action })
    }

    /// Lays a value over the tree, or takes one back to what it is in `shipped`. A choice of a
    /// group has had its effect before.
    pub(crate) fn apply(&self, tree: &mut Tree, shipped: &Tree) -> Result<(), ConfigError> {
        match &self.action {
            Action::Choose { .. } => Ok(()),
            Action::Reset { path } => {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                tree.restore(&path, shipped.clone(), &self.place)
            }
            Action::Set { mode, path, value } => {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                let known = tree.has(&path);
                let topic = path.starts_with(&["data", "time_tolerance_per_topic_s"]);
                match mode {
                    Mode::New if known => Err(self.refused(format!(
                        "`{key}` exists; write {key}=..., or ++{key}=... to set it either way",
                        key = path.join(".")
                    ))),
                    Mode::Existing if !known && topic => Err(self.refused(format!(
                        "`{key}` does not exist yet; write +{key}=... to add it",
                        key = path.join(".")
                    ))),
                    _ => tree.overlay(&nested(&path, value.clone()), &self.place),
                }
            }
        }
    }

    fn refused(&self, message: String) -> ConfigError {
        Problem::Override { message }.at(self.place.whole())
    }
}

fn action(
    key: &str,
    value: Option<&str>,
    place: &Place,
    environment: Environment<'_>,
) -> Result<Action, ConfigError> {
    let refused =
        |message: &str| Problem::Override { message: message.to_owned() }.at(place.whole());
    let (mode, path) = if let Some(path) = key.strip_prefix("++") {
        (Mode::Either, path)
    } else if let Some(path) = key.strip_prefix('+') {
        (Mode::New, path)
    } else {
        (Mode::Existing, key)
    };
    let (reset, path) = path.strip_prefix('~').map_or((false, path), |path| (true, path));
    let group = GROUPS.into_iter().find(|group| *group == path.split('.').next().unwrap_or(path));

    if reset {
        return match (mode, value, group) {
            (Mode::Existing, None, None) => Ok(Action::Reset { path: split(path, place)? }),
            (Mode::Existing, None, Some(group)) => Err(refused(&format!(
                "the group `{group}` always has a choice; write {group}=NAME"
            ))),
            _ => Err(refused("~ goes back to the default and takes nothing more: ~key")),
        };
    }
    let Some(value) = value else {
        return Err(refused("an override is written key=value, or ~key for the default"));
    };
    let path = split(path, place)?;
    let mut node = yaml::parse(value)
        .map_err(|error| Problem::Yaml { message: error.message }.at(place.whole()))?;
    interpolate(&mut node, place, environment)?;
    match (group, path.as_slice()) {
        (Some(group), [_]) if mode == Mode::Existing => match node.text() {
            Some(option) if is_name(option) => {
                Ok(Action::Choose { group, option: option.to_owned() })
            }
            _ => Err(refused(&format!("`{group}` takes the name of a file in {group}/"))),
        },
        (Some(group), [_]) => Err(refused(&format!("a group is chosen with {group}=NAME alone"))),
        // `a.b=` is text that is empty, as in Hydra.
        _ if value.is_empty() => {
            Ok(Action::Set { mode, path, value: Node::unplaced(Value::Text(String::new())) })
        }
        _ => Ok(Action::Set { mode, path, value: node }),
    }
}

fn split(path: &str, place: &Place) -> Result<Vec<String>, ConfigError> {
    let path: Vec<String> = path.split('.').map(|key| key.trim().to_owned()).collect();
    if path.iter().any(String::is_empty) {
        let message = "a key is names separated by dots, such as server.port".to_owned();
        return Err(Problem::Override { message }.at(place.whole()));
    }
    Ok(path)
}

/// Splits a line of overrides at its spaces, but not inside quotes or brackets. A quote opens
/// where a value or an item begins, so that one inside a path is just a character.
///
/// # Errors
///
/// A quote or a bracket that does not close.
pub(crate) fn split_line(line: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut quote, mut previous) = (None, 0_usize, None, '=');
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if (c == '"' || c == '\'') && "=[{,: ".contains(previous) => quote = Some(c),
            None if c == '[' || c == '{' => depth += 1,
            None if c == ']' || c == '}' => depth = depth.saturating_sub(1),
            Some(_) | None => {}
        }
        if c.is_whitespace() && depth == 0 && quote.is_none() {
            parts.extend(start.take().and_then(|start| line.get(start..at)));
        } else if start.is_none() {
            start = Some(at);
        }
        previous = c;
    }
    if depth > 0 || quote.is_some() {
        let what = quote.map_or("a bracket".to_owned(), |quote| format!("a quote {quote}"));
        return Err(format!("{what} does not close"));
    }
    parts.extend(start.and_then(|start| line.get(start..)));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_split_outside_quotes_and_brackets() {
        for (line, expected) in [
            ("", vec![]),
            ("  a=1   b=2 ", vec!["a=1", "b=2"]),
            ("a=[x, y] b={k: v}", vec!["a=[x, y]", "b={k: v}"]),
            ("a='x y' b=\"p q\"", vec!["a='x y'", "b=\"p q\""]),
            ("a=/home/o'neil b=1", vec!["a=/home/o'neil", "b=1"]),
        ] {
            assert_eq!(split_line(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_does_not_close_is_refused() {
        for line in ["a=[x", "a='x y", "a={k: v"] {
            assert!(split_line(line).is_err(), "{line}");
        }
    }
}
