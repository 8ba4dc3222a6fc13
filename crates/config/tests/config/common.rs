//! What the tests share: an environment from a table, and folders from a table.

use std::{fs, path::Path};

use ros2_memory_config::{ConfigError, Loaded, Loader};
use tempfile::TempDir;

/// Loads with a folder of these files, these variables and these overrides.
pub(crate) fn load(
    files: &[(&str, &str)],
    variables: &[(&str, &str)],
    overrides: &[&str],
) -> Result<Loaded, ConfigError> {
    let dir = folder(files);
    load_from((!files.is_empty()).then(|| dir.path()), variables, overrides)
}

pub(crate) fn load_from(
    dir: Option<&Path>,
    variables: &[(&str, &str)],
    overrides: &[&str],
) -> Result<Loaded, ConfigError> {
    let overrides = overrides.iter().map(|text| (*text).to_owned()).collect();
    let find = |name: &str| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    Loader { dir: dir.map(Path::to_owned), overrides }.load(&find)
}

pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// The message with that of its source, and with the folder's own name taken out.
pub(crate) fn message(
    files: &[(&str, &str)],
    variables: &[(&str, &str)],
    overrides: &[&str],
) -> String {
    let dir = folder(files);
    let dir_given = (!files.is_empty()).then(|| dir.path());
    let error = load_from(dir_given, variables, overrides).expect_err("loads, but should not");
    with_source(&error).replace(&format!("{}/", dir.path().display()), "")
}

pub(crate) fn with_source(error: &ConfigError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
