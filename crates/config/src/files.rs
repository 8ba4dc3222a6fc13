//! The shipped files, embedded, and the files of a configuration folder.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use crate::{
    ConfigError, Problem,
    environment::Environment,
    interpolate::interpolate,
    nearest::nearest,
    origin::{Origin, Place},
    yaml::{self, Node},
};

/// The group folders; one file of each is always chosen.
pub(crate) const GROUPS: [&str; 2] = ["storage", "recorder"];
/// The folder of the presets.
pub(crate) const DEPLOYMENT_FOLDER: &str = "deployment";
pub(crate) const ROOT: &str = "config.yaml";
pub(crate) const TOPICS: &str = "topics.yaml";
pub(crate) const SCHEMAS: &str = "message_schemas.yaml";

/// More than any configuration; a folder may hold anything under our names.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Every shipped file by its name under `config/`.
const SHIPPED: [(&str, &str); 9] = [
    (ROOT, include_str!("../../../config/config.yaml")),
    ("storage/mcap.yaml", include_str!("../../../config/storage/mcap.yaml")),
    ("storage/rosbag2.yaml", include_str!("../../../config/storage/rosbag2.yaml")),
    ("recorder/ros2bag.yaml", include_str!("../../../config/recorder/ros2bag.yaml")),
    ("recorder/none.yaml", include_str!("../../../config/recorder/none.yaml")),
    ("deployment/query-only.yaml", include_str!("../../../config/deployment/query-only.yaml")),
    ("deployment/small-disk.yaml", include_str!("../../../config/deployment/small-disk.yaml")),
    (TOPICS, include_str!("../../../config/topics.yaml")),
    (SCHEMAS, include_str!("../../../config/message_schemas.yaml")),
];

/// A file that was read: its tree, with the environment put in, and how to name its places.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) root: Node,
    pub(crate) place: Place,
}

/// Finds files by name and remembers which were read.
pub(crate) struct Files<'a> {
    dir: Option<&'a Path>,
    environment: Environment<'a>,
    read: Vec<String>,
}

impl<'a> Files<'a> {
    /// # Errors
    ///
    /// A folder that does not exist or is none.
    pub(crate) fn new(
        dir: Option<&'a Path>,
        environment: Environment<'a>,
    ) -> Result<Self, ConfigError> {
        if let Some(dir) = dir {
            let io = |source| ConfigError::Io { path: dir.to_owned(), source };
            if !fs::metadata(dir).map_err(io)?.is_dir() {
                return Err(io(io::ErrorKind::NotADirectory.into()));
            }
        }
        Ok(Self { dir, environment, read: Vec::new() })
    }

    pub(crate) fn dir(&self) -> Option<&'a Path> {
        self.dir
    }

    /// What was read so far, the weakest first.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.read
    }

    /// The shipped file of that name.
    pub(crate) fn shipped(&mut self, name: &str) -> Result<Option<Document>, ConfigError> {
        match SHIPPED.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => self.document(&format!("<shipped>/{name}"), name, text).map(Some),
            None => Ok(None),
        }
    }

    /// The file of that name in the configuration folder, if there are both.
    pub(crate) fn in_dir(&mut self, name: &str) -> Result<Option<Document>, ConfigError> {
        match self.dir {
            Some(dir) => self.at(&dir.join(name), name),
            None => Ok(None),
        }
    }

    /// The file at `path`, which stands for the shipped `name`.
    pub(crate) fn at(&mut self, path: &Path, name: &str) -> Result<Option<Document>, ConfigError> {
        match read(path)? {
            Some(text) => self.document(&path.display().to_string(), name, &text).map(Some),
            None => Ok(None),
        }
    }

    fn document(&mut self, shown: &str, name: &str, text: &str) -> Result<Document, ConfigError> {
        let folder = name.split_once('/').map(|(folder, _)| folder);
        let group = GROUPS.into_iter().find(|group| folder == Some(*group));
        let place = Place::file(shown, group);
        let mut root = yaml::parse(text).map_err(|error| {
            Problem::Yaml { message: error.message }.at(place.at(error.position))
        })?;
        interpolate(&mut root, &place, self.environment)?;
        self.read.push(shown.to_owned());
        Ok(Document { root, place })
    }

    /// There is no `folder/option.yaml`, chosen by `origin`.
    pub(crate) fn unknown_option(&self, folder: &str, option: &str, origin: Origin) -> ConfigError {
        let mut available: Vec<String> = SHIPPED
            .iter()
            .filter_map(|(name, _)| name.strip_prefix(folder)?.strip_prefix('/'))
            .map(str::to_owned)
            .collect();
        let in_dir = self.dir.and_then(|dir| fs::read_dir(dir.join(folder)).ok());
        available.extend(
            in_dir
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|file| file.file_name().into_string().ok()),
        );
        let mut available: Vec<String> = available
            .iter()
            .filter_map(|name| Some(name.strip_suffix(".yaml")?.to_owned()))
            .collect();
        available.sort();
        available.dedup();
        Problem::UnknownOption {
            folder: folder.to_owned(),
            nearest: nearest(option, available.iter().map(String::as_str)).map(str::to_owned),
            option: option.to_owned(),
            available,
        }
        .at(origin)
    }
}

/// Whether a text can name a file of a group; it never leaves the folder.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Where the configured path of the topics leads: relative to the configuration folder when there
/// is one, for which a leading `config/` stands too.
pub(crate) fn beside(dir: Option<&Path>, path: &Path) -> PathBuf {
    match dir {
        Some(dir) => dir.join(path.strip_prefix("config").unwrap_or(path)),
        None => path.to_owned(),
    }
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let io = |source| ConfigError::Io { path: path.to_owned(), source };
    match fs::metadata(path) {
        // Opening a pipe would wait for its writer.
        Ok(metadata) if !metadata.is_file() => {
            return Err(io(io::Error::other("not a regular file")));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    }
    let mut text = String::new();
    let file = File::open(path).map_err(io)?;
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(io)?;
    if u64::try_from(text.len()).is_ok_and(|len| len > MAX_FILE_BYTES) {
        return Err(ConfigError::TooLong { path: path.to_owned(), limit: MAX_FILE_BYTES });
    }
    Ok(Some(text))
}
