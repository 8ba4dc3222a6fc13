//! Message definitions that serve recordings without any: the bundled ones and the user's.

use std::{
    fs,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};
use ros2_memory_msg::Library;

static BUNDLED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../config/msgs");

/// Folders nested deeper than this are not entered.
const MAX_DEPTH: usize = 8;
/// A larger file is no message definition.
const MAX_BYTES: u64 = 1 << 20;

/// The definitions, and what could not be taken in.
#[derive(Debug, Default)]
pub struct LoadedDefinitions {
    /// The bundled definitions, with the user's over them.
    pub library: Library,
    /// How many of them are the user's.
    pub n_custom: usize,
    /// What was left out, each with its path and the reason.
    pub problems: Vec<String>,
}

/// Reads the bundled definitions and the `.msg` files under `folders`, which replace bundled
/// ones of the same name. A file's package is the folder that holds it, or the one above a
/// folder called `msg`.
pub fn load_definitions(folders: &[PathBuf]) -> LoadedDefinitions {
    let mut loaded = LoadedDefinitions::default();
    add_bundled(&BUNDLED, &mut loaded);
    for folder in folders {
        if folder.is_dir() {
            add_folder(folder, 0, &mut loaded);
        } else {
            loaded.problems.push(format!("{} is not a folder", folder.display()));
        }
    }
    loaded
}

fn add_bundled(folder: &Dir<'_>, loaded: &mut LoadedDefinitions) {
    for file in folder.files() {
        if let (Some(name), Some(text)) = (type_name(file.path()), file.contents_utf8()) {
            loaded.add(&name, text, file.path());
        }
    }
    for inner in folder.dirs() {
        add_bundled(inner, loaded);
    }
}

fn add_folder(folder: &Path, depth: usize, loaded: &mut LoadedDefinitions) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            return loaded.problems.push(format!("cannot list {}: {error}", folder.display()));
        }
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            if depth < MAX_DEPTH {
                add_folder(&path, depth + 1, loaded);
            }
            continue;
        }
        let Some(name) = path.canonicalize().ok().and_then(|full| type_name(&full)) else {
            continue;
        };
        let is_small = fs::metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= MAX_BYTES);
        if !is_small {
            loaded.problems.push(format!("{} is too large or no file", path.display()));
            continue;
        }
        match fs::read_to_string(&path) {
            Ok(text) => {
                let before = loaded.problems.len();
                loaded.add(&name, &text, &path);
                loaded.n_custom += usize::from(loaded.problems.len() == before);
            }
            Err(error) => {
                loaded.problems.push(format!("cannot read {}: {error}", path.display()));
            }
        }
    }
}

impl LoadedDefinitions {
    fn add(&mut self, name: &str, text: &str, path: &Path) {
        if let Err(error) = self.library.add(name, text) {
            self.problems.push(format!("{}: {error}", path.display()));
        }
    }
}

/// `package/msg/Type` for the path of a `.msg` file.
fn type_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".msg")?;
    let folder = path.parent()?;
    let is_msg = folder.file_name()? == "msg";
    let package = if is_msg { folder.parent()?.file_name()? } else { folder.file_name()? };
    Some(format!("{}/msg/{name}", package.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ros2_memory_msg::Schema;

    #[test]
    fn every_bundled_definition_resolves() {
        let loaded = load_definitions(&[]);
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        assert!(loaded.library.len() > 100);
        for name in ["nav_msgs/msg/Odometry", "ros2_vision_interfaces/msg/VisionDetectionArray"] {
            assert!(Schema::from_library(name, &loaded.library).is_ok(), "{name}");
        }
        for name in loaded.library.names() {
            let resolved = Schema::from_library(name, &loaded.library);
            assert!(resolved.is_ok(), "{name}: {resolved:?}");
        }
    }

    #[test]
    fn br_046_files_without_a_final_newline_stay_two_definitions() {
        let folder = tempfile::tempdir().unwrap();
        let msg = folder.path().join("my_msgs/msg");
        fs::create_dir_all(&msg).unwrap();
        fs::write(msg.join("A.msg"), "int32 a").unwrap();
        fs::write(msg.join("B.msg"), "A a\nint32 b").unwrap();
        fs::write(msg.join("Bad.msg"), "int32 7x").unwrap();
        let loaded = load_definitions(&[folder.path().to_owned(), "/nowhere".into()]);
        assert_eq!((loaded.n_custom, loaded.problems.len()), (2, 2), "{:?}", loaded.problems);
        assert!(Schema::from_library("my_msgs/msg/B", &loaded.library).is_ok());
    }
}
