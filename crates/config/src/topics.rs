use crate::{
    ConfigError, Problem,
    files::Document,
    nearest::nearest,
    yaml::{Node, Value},
};

/// The topics that the recorder captures: `topics.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topics {
    /// Recorded topics; `*` stands for one token and `**` for any depth. In the order written.
    pub topics: Vec<String>,
    /// Topics or globs that are left out again.
    pub exclude: Vec<String>,
}

impl Topics {
    pub(crate) fn read(document: &Document) -> Result<Self, ConfigError> {
        let Value::Map(entries) = &document.root.value else {
            return Err(wrong_type(document, "topics.yaml", MAPPING, &document.root));
        };
        let mut topics = None;
        let mut exclude = None;
        for entry in entries {
            match entry.key.as_str() {
                "topics" => topics = Some(list(document, "topics", &entry.value)?),
                "exclude" => exclude = Some(list(document, "exclude", &entry.value)?),
                key => {
                    return Err(Problem::UnknownKey {
                        key: key.to_owned(),
                        nearest: nearest(key, KEYS).map(str::to_owned),
                        expected: KEYS.map(str::to_owned).to_vec(),
                    }
                    .at(document.place.at(entry.position)));
                }
            }
        }
        match topics {
            Some(topics) => Ok(Self { topics, exclude: exclude.unwrap_or_default() }),
            None => Err(wrong_type(document, "topics", "a list of topics", &document.root)),
        }
    }
}

const KEYS: [&str; 2] = ["topics", "exclude"];
const MAPPING: &str = "a mapping with the keys topics, exclude";

/// Whether a text is a topic name with its leading slash, or a glob of such names.
pub(crate) fn check_topic(topic: &str) -> Result<(), String> {
    let is_token = |token: &str| {
        !token.is_empty()
            && token.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '*')
    };
    match topic.strip_prefix('/') {
        Some(tokens) if tokens.split('/').all(is_token) => Ok(()),
        Some(_) => Err(format!(
            "{topic:?} is no topic; names are letters, digits and _ between slashes, * and ** are \
             globs"
        )),
        None => Err(format!("{topic:?} is no topic; a topic begins with a slash")),
    }
}

fn list(document: &Document, key: &str, node: &Node) -> Result<Vec<String>, ConfigError> {
    let items = match &node.value {
        Value::List(items) => items,
        // Every entry commented out.
        Value::Null => return Ok(Vec::new()),
        _ => return Err(wrong_type(document, key, "a list of topics", node)),
    };
    let mut topics = Vec::<String>::with_capacity(items.len());
    for item in items {
        let Some(topic) = item.text() else {
            return Err(wrong_type(document, key, "a topic", item));
        };
        let bad_value = |message| {
            Problem::BadValue { key: key.to_owned(), message }.at(document.place.at(item.position))
        };
        check_topic(topic).map_err(bad_value)?;
        if topics.iter().any(|known| known == topic) {
            return Err(bad_value(format!("{topic} stands twice")));
        }
        topics.push(topic.to_owned());
    }
    Ok(topics)
}

fn wrong_type(document: &Document, key: &str, expected: &str, node: &Node) -> ConfigError {
    Problem::WrongType { key: key.to_owned(), expected: expected.to_owned(), found: node.found() }
        .at(document.place.at(node.position))
}
