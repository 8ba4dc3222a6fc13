//! The types that one key can have.

use std::{net::IpAddr, path::PathBuf};

use crate::{
    config::Role,
    yaml::{Node, Value},
};

/// One value of the tree, read from a node and turned back into one.
pub(crate) trait Leaf {
    /// What the key takes, in words for a message.
    fn expected(&self) -> String;

    /// Takes the node's value; `false`, and nothing changed, when it is of another type.
    #[must_use]
    fn read(&mut self, node: &Node) -> bool;

    /// The present value; reading it gives the same again.
    fn value(&self) -> Value;
}

impl Leaf for bool {
    fn expected(&self) -> String {
        "true or false".to_owned()
    }

    fn read(&mut self, node: &Node) -> bool {
        let Value::Bool(value) = node.scalar() else { return false };
        *self = value;
        true
    }

    fn value(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Leaf for f64 {
    fn expected(&self) -> String {
        "a number".to_owned()
    }

    fn read(&mut self, node: &Node) -> bool {
        *self = match node.scalar() {
            Value::Number(value) => value,
            Value::Whole(value) => {
                #[expect(clippy::cast_precision_loss, reason = "a setting of 2^53 is out of range")]
                let value = value as f64;
                value
            }
            _ => return false,
        };
        true
    }

    fn value(&self) -> Value {
        Value::Number(*self)
    }
}

macro_rules! whole_number {
    ($($type:ty),*) => {$(
        impl Leaf for $type {
            fn expected(&self) -> String {
                format!("a whole number from 0 to {}", <$type>::MAX)
            }

            fn read(&mut self, node: &Node) -> bool {
                let Value::Whole(value) = node.scalar() else { return false };
                let Ok(value) = <$type>::try_from(value) else { return false };
                *self = value;
                true
            }

            fn value(&self) -> Value {
                Value::Whole(i128::try_from(*self).unwrap_or(i128::MAX))
            }
        }
    )*};
}

whole_number!(u16, u32, usize);

impl Leaf for PathBuf {
    fn expected(&self) -> String {
        "a path".to_owned()
    }

    fn read(&mut self, node: &Node) -> bool {
        let Some(path) = path(node) else { return false };
        *self = path;
        true
    }

    fn value(&self) -> Value {
        Value::Text(self.to_string_lossy().into_owned())
    }
}

/// A path that may be left out: null, or empty text from the environment.
impl Leaf for Option<PathBuf> {
    fn expected(&self) -> String {
        "a path or null".to_owned()
    }

    fn read(&mut self, node: &Node) -> bool {
        match node.scalar() {
            Value::Null => *self = None,
            _ => match path(node) {
                Some(path) => *self = Some(path),
                None => return false,
            },
        }
        true
    }

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, PathBuf::value)
    }
}

impl Leaf for IpAddr {
    fn expected(&self) -> String {
        "an IP address such as 127.0.0.1".to_owned()
    }

    fn read(&mut self, node: &Node) -> bool {
        let Some(Ok(address)) = node.text().map(str::parse) else { return false };
        *self = address;
        true
    }

    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

impl Leaf for Vec<PathBuf> {
    fn expected(&self) -> String {
        "a list of paths such as [a, b]".to_owned()
    }

    fn read(&mut self, node: &Node) -> bool {
        read_list(self, node, path)
    }

    fn value(&self) -> Value {
        list(self.iter().map(PathBuf::value))
    }
}

impl Leaf for Vec<String> {
    fn expected(&self) -> String {
        "a list of texts such as [a, b]".to_owned()
    }

    fn read(&mut self, node: &Node) -> bool {
        read_list(self, node, |item| item.text().map(str::to_owned))
    }

    fn value(&self) -> Value {
        list(self.iter().cloned().map(Value::Text))
    }
}

impl Leaf for Role {
    fn expected(&self) -> String {
        "auto, a topic, or a list of topics".to_owned()
    }

    fn read(&mut self, node: &Node) -> bool {
        let mut topics = Vec::<String>::new();
        match node.text() {
            Some("auto") => {
                *self = Self::Auto;
                return true;
            }
            Some(topic) => topics.push(topic.to_owned()),
            None if topics.read(node) => {}
            None => return false,
        }
        *self = Self::Topics(topics);
        true
    }

    fn value(&self) -> Value {
        match self {
            Self::Auto => Value::Text("auto".to_owned()),
            Self::Topics(topics) => topics.value(),
        }
    }
}

fn path(node: &Node) -> Option<PathBuf> {
    node.text().filter(|text| !text.is_empty()).map(PathBuf::from)
}

fn read_list<T>(list: &mut Vec<T>, node: &Node, read: impl Fn(&Node) -> Option<T>) -> bool {
    let Value::List(items) = &node.value else { return false };
    let Some(items) = items.iter().map(read).collect() else { return false };
    *list = items;
    true
}

fn list(values: impl Iterator<Item = Value>) -> Value {
    Value::List(values.map(Node::unplaced).collect())
}
