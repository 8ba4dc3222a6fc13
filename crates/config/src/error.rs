use std::{io, path::PathBuf};

use crate::Origin;

/// Why there is no configuration. Every message begins with the place that a person must go to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Something is wrong at one place of a file, a variable or an override.
    #[error("{origin}: {problem}")]
    At {
        /// The place.
        origin: Origin,
        /// What is wrong there.
        problem: Box<Problem>,
    },
    /// A file or folder that cannot be read.
    #[error("{}: cannot be read", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file longer than any configuration is.
    #[error("{}: longer than {limit} bytes, which no configuration is", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Text that is not YAML, or YAML that this program does not take.
    #[error("{message}")]
    Yaml {
        /// What the parser said.
        message: String,
    },
    /// A key that does not exist.
    #[error("unknown key `{key}`{}; expected {}", did_you_mean(.nearest.as_deref()), one_of(.expected))]
    UnknownKey {
        /// The full dotted key.
        key: String,
        /// The most similar key, when one is similar.
        nearest: Option<String>,
        /// Every key that could stand there.
        expected: Vec<String>,
    },
    /// A secret in a place that is copied, shown and committed. The origin never holds its value.
    #[error(
        "`{key}` looks like a secret, and secrets do not belong in YAML or overrides; pass it \
         through the environment"
    )]
    Secret {
        /// The full dotted key.
        key: String,
    },
    /// A value of the wrong type.
    #[error("`{key}` expects {expected}, found {found}")]
    WrongType {
        /// The full dotted key.
        key: String,
        /// What the key takes.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A number outside what makes sense.
    #[error("`{key}` is {value}, but must be {bounds}")]
    OutOfRange {
        /// The full dotted key.
        key: String,
        /// The value.
        value: String,
        /// The bounds in words.
        bounds: String,
    },
    /// A value of the right type that cannot be used.
    #[error("`{key}`: {message}")]
    BadValue {
        /// The full dotted key.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// A `${...}` that is not `${oc.env:VAR}` or `${oc.env:VAR,default}`, or has no value.
    #[error("{message}")]
    Interpolation {
        /// What is wrong.
        message: String,
    },
    /// A `defaults` list that cannot be followed.
    #[error("{message}")]
    Defaults {
        /// What is wrong.
        message: String,
    },
    /// A choice for which there is no file.
    #[error("there is no `{folder}/{option}.yaml`{}; there is {}", did_you_mean(.nearest.as_deref()), one_of(.available))]
    UnknownOption {
        /// The folder: a group, or `deployment`.
        folder: String,
        /// The choice.
        option: String,
        /// The most similar option, when one is similar.
        nearest: Option<String>,
        /// Every option, shipped or in the configuration folder.
        available: Vec<String>,
    },
    /// A file that a value names, and that is not there.
    #[error("there is no file {}", path.display())]
    MissingFile {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// An override that does not follow the grammar.
    #[error("{message}")]
    Override {
        /// What is wrong.
        message: String,
    },
}

impl Problem {
    pub(crate) fn at(self, origin: Origin) -> ConfigError {
        ConfigError::At { origin, problem: Box::new(self) }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

fn one_of(names: &[String]) -> String {
    match names {
        [] => "nothing here".to_owned(),
        [only] => only.clone(),
        _ => format!("one of {}", names.join(", ")),
    }
}
