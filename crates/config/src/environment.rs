//! The variables that stand for a key, and where their overrides begin.

use std::path::PathBuf;

use crate::{
    ConfigError,
    apply::{Tree, nested},
    origin::Place,
    yaml::{Node, Value},
};

/// How a variable is looked up; the process environment in the program, a table in tests.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Chooses the deployment preset.
pub(crate) const DEPLOYMENT: &str = "MEMORY_DEPLOYMENT";
/// Holds overrides, separated by spaces.
pub(crate) const OVERRIDES: &str = "MEMORY_CONFIG_OVERRIDES";
/// Holds directories of `.msg` files, separated by colons.
const INTERFACES: &str = "ROS_VISION_INTERFACES_PATH";

/// The variables that replace the value of one key.
const KEYS: [(&str, &[&str]); 3] = [
    ("MCP_TRANSPORT", &["server", "transport"]),
    ("MCP_PORT", &["server", "port"]),
    ("MEMORY_BAG_DIR", &["recording", "bag_dir"]),
];

/// A variable's value; one that is set to nothing counts as not set, as in `.env` files.
pub(crate) fn variable(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).filter(|value| !value.trim().is_empty())
}

pub(crate) fn place(name: &str) -> Place {
    Place::named(&format!("environment {name}"))
}

/// Lays the variables that stand for keys over the tree.
pub(crate) fn apply(tree: &mut Tree, environment: Environment<'_>) -> Result<(), ConfigError> {
    for (name, path) in KEYS {
        if let Some(value) = variable(environment, name) {
            let node = Node::unplaced(Value::EnvironmentText(value));
            tree.overlay(&nested(path, node), &place(name))?;
        }
    }
    if let Some(value) = variable(environment, INTERFACES) {
        let paths = &mut tree.config.reader.custom_msg_paths;
        for path in value.split(':').filter(|path| !path.is_empty()).map(PathBuf::from) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        tree.origins.set("reader.custom_msg_paths".to_owned(), place(INTERFACES).whole());
    }
    Ok(())
}
