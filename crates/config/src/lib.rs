//! The configuration tree, the environment and the overrides.
//!
//! [`Loader`] composes the settings as Hydra does, from the weakest source to the strongest: the
//! shipped files (embedded in the program), the files of a configuration folder, a deployment
//! preset, the environment, the command line. What is wrong is told with the file, line and
//! column it stands in, or with the variable or override it came from. Any input returns a value
//! or an error; files are bounded in size and YAML in depth and aliases.
//!
//! ```
//! use ros2_memory_config::{Loader, Now};
//!
//! let loader = Loader { dir: None, overrides: vec!["recorder=none".to_owned()] };
//! let loaded = loader.load(&|variable| std::env::var(variable).ok())?;
//! assert_eq!(loaded.config.data.now, Now::Latest);
//! # Ok::<(), ros2_memory_config::ConfigError>(())
//! ```

#![forbid(unsafe_code)]

// What comes out.
mod config;
mod error;
mod loaded;
mod origin;
mod schemas;
mod topics;

// What it means to the crates below.
mod definitions;
mod wiring;

// How the layers are found and put together.
mod apply;
mod check;
mod defaults;
mod environment;
mod files;
mod loader;
mod overrides;

// Reading one value.
mod field_path;
mod interpolate;
mod leaf;
mod nearest;
mod section;
mod yaml;

pub use config::{
    ActiveBag, Catalog, Config, Data, Mapping, Now, Reader, Recorder, RecorderKind, Recording,
    Retention, Role, Roles, Server, Storage, StorageKind, Transport, Verify,
};
pub use definitions::{LoadedDefinitions, load_definitions};
pub use error::{ConfigError, Problem};
pub use loaded::Loaded;
pub use loader::Loader;
pub use origin::{Origin, Origins, Position};
pub use schemas::{IndexedPaths, MessageSchema, MessageSchemas};
pub use topics::Topics;
