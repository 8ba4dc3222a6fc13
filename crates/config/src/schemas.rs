use crate::{
    ConfigError, Problem,
    field_path::check_field_path,
    files::Document,
    nearest::nearest,
    yaml::{Entry, Node, Value},
};

/// How messages become plain JSON, and what of them is indexed: `message_schemas.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageSchemas {
    types: Vec<MessageSchema>,
}

/// What is configured for one message type. Paths are text here, checked only to be names, dots
/// and brackets; whether a type has such fields is known once a bag brings its definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageSchema {
    /// The full type name, such as `nav_msgs/msg/Odometry`.
    pub type_name: String,
    /// The fields of the extracted value in their order: name and path. Empty: all fields.
    pub fields: Vec<(String, String)>,
    /// What is indexed.
    pub index: IndexedPaths,
}

/// The paths of one type that are indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexedPaths {
    /// Labels of what was seen. `contains` looks at these in an array of structs.
    pub labels: Vec<String>,
    /// Texts, indexed by word.
    pub text: Vec<String>,
    /// Numbers, of which the extremes are kept.
    pub numbers: Vec<String>,
    /// The position, for `near_position`.
    pub position: Option<String>,
}

impl MessageSchemas {
    /// Every configured type, in the order of the files.
    pub fn types(&self) -> &[MessageSchema] {
        &self.types
    }

    /// What is configured for a type. The ROS 1 spelling without `msg/` finds it too.
    pub fn get(&self, type_name: &str) -> Option<&MessageSchema> {
        let is_it = |known: &str| match type_name.split_once('/') {
            _ if known == type_name => true,
            Some((package, name)) => {
                known.strip_prefix(package).and_then(|rest| rest.strip_prefix("/msg/"))
                    == Some(name)
            }
            None => false,
        };
        self.types.iter().find(|schema| is_it(&schema.type_name))
    }

    /// Takes a file's types in; a type that is known already is replaced as a whole.
    pub(crate) fn overlay(&mut self, document: &Document) -> Result<(), ConfigError> {
        let read = Reader { document };
        let mut types = Vec::new();
        for section in read.map(&document.root, "message_schemas.yaml", &["schemas", "index"])? {
            for entry in read.entries(&section.value, &section.key)? {
                let key = format!("{}.{}", section.key, entry.key);
                if !is_type_name(&entry.key) {
                    let message = "a type is written package/msg/Name".to_owned();
                    return Err(read.bad_value(&key, entry, message));
                }
                let schema = find_or_add(&mut types, &entry.key);
                if section.key == "schemas" {
                    schema.fields = read.fields(entry, &key)?;
                } else {
                    schema.index = read.index(entry, &key)?;
                }
            }
        }
        for schema in types {
            let known = find_or_add(&mut self.types, &schema.type_name);
            *known = schema;
        }
        Ok(())
    }
}

impl MessageSchema {
    /// The path of the field of that name, such as `value`, `position` or `orientation`.
    pub fn path(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, path)| path.as_str())
    }
}

fn find_or_add<'a>(types: &'a mut Vec<MessageSchema>, name: &str) -> &'a mut MessageSchema {
    let at = types.iter().position(|known| known.type_name == name).unwrap_or_else(|| {
        types.push(MessageSchema { type_name: name.to_owned(), ..MessageSchema::default() });
        types.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "found or pushed just before")]
    &mut types[at]
}

fn is_type_name(name: &str) -> bool {
    let is_word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [package, "msg", name] => is_word(package) && is_word(name),
        _ => false,
    }
}

/// Reads the parts of one file.
struct Reader<'a> {
    document: &'a Document,
}

impl Reader<'_> {
    fn fields(&self, entry: &Entry, key: &str) -> Result<Vec<(String, String)>, ConfigError> {
        let mut fields = Vec::new();
        for field in self.entries(&entry.value, key)? {
            let path = self.path(&field.value, &format!("{key}.{}", field.key))?;
            fields.push((field.key.clone(), path));
        }
        Ok(fields)
    }

    fn index(&self, entry: &Entry, key: &str) -> Result<IndexedPaths, ConfigError> {
        let mut index = IndexedPaths::default();
        let known = ["labels", "text", "numbers", "position"];
        for part in self.map(&entry.value, key, &known)? {
            let key = format!("{key}.{}", part.key);
            match part.key.as_str() {
                "labels" => index.labels = self.paths(&part.value, &key)?,
                "text" => index.text = self.paths(&part.value, &key)?,
                "numbers" => index.numbers = self.paths(&part.value, &key)?,
                _ => index.position = Some(self.path(&part.value, &key)?),
            }
        }
        Ok(index)
    }

    /// A mapping with no other keys than these.
    fn map<'n>(
        &self,
        node: &'n Node,
        key: &str,
        known: &[&str],
    ) -> Result<&'n [Entry], ConfigError> {
        let entries = self.entries(node, key)?;
        match entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            None => Ok(entries),
            Some(entry) => Err(Problem::UnknownKey {
                key: entry.key.clone(),
                nearest: nearest(&entry.key, known.iter().copied()).map(str::to_owned),
                expected: known.iter().map(|key| (*key).to_owned()).collect(),
            }
            .at(self.document.place.at(entry.position))),
        }
    }

    fn entries<'n>(&self, node: &'n Node, key: &str) -> Result<&'n [Entry], ConfigError> {
        match &node.value {
            Value::Map(entries) => Ok(entries),
            Value::Null => Ok(&[]),
            _ => Err(self.wrong_type(key, "a mapping", node)),
        }
    }

    /// One path, or a list of paths.
    fn paths(&self, node: &Node, key: &str) -> Result<Vec<String>, ConfigError> {
        match &node.value {
            Value::List(items) => items.iter().map(|item| self.path(item, key)).collect(),
            _ => Ok(vec![self.path(node, key)?]),
        }
    }

    fn path(&self, node: &Node, key: &str) -> Result<String, ConfigError> {
        let Some(path) = node.text() else {
            return Err(self.wrong_type(key, "a field path such as pose.pose.position", node));
        };
        check_field_path(path).map_err(|message| {
            Problem::BadValue { key: key.to_owned(), message }
                .at(self.document.place.at(node.position))
        })?;
        Ok(path.to_owned())
    }

    fn bad_value(&self, key: &str, entry: &Entry, message: String) -> ConfigError {
        let origin = self.document.place.at(entry.position);
        Problem::BadValue { key: key.to_owned(), message }.at(origin)
    }

    fn wrong_type(&self, key: &str, expected: &str, node: &Node) -> ConfigError {
        Problem::WrongType {
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: node.found(),
        }
        .at(self.document.place.at(node.position))
    }
}
