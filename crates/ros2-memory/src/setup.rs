//! From the command line to a loaded configuration and an open memory.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context;
use ros2_memory_catalog::Settings as CatalogSettings;
use ros2_memory_config::{Loaded, Loader, load_definitions};
use ros2_memory_msg::Library;
use ros2_memory_query::Memory;

use crate::{
    cli::{ConfigOptions, TransportOptions},
    progress::Bar,
};

/// Loads the configuration of a command.
pub(crate) fn load(
    options: &ConfigOptions,
    transport: &TransportOptions,
    more: &[String],
) -> anyhow::Result<Loaded> {
    let beside = Path::new("config");
    let dir = options
        .config
        .clone()
        .or_else(|| beside.join("config.yaml").is_file().then(|| beside.to_owned()));
    let mut overrides: Vec<String> = more.to_vec();
    overrides.extend(options.overrides.iter().cloned());
    if let Some(dir) = &options.bag_dir {
        overrides.push(format!("recording.bag_dir={}", serde_json::to_string(dir)?));
    }
    if let Some(transport) = &transport.transport {
        overrides.push(format!("server.transport={transport}"));
    }
    if let Some(port) = transport.port {
        overrides.push(format!("server.port={port}"));
    }
    Ok(Loader { dir, overrides }.load(&|variable| std::env::var(variable).ok())?)
}

/// The definitions for recordings that have none.
pub(crate) fn definitions(folders: &[std::path::PathBuf]) -> Arc<Library> {
    let loaded = load_definitions(folders);
    for problem in &loaded.problems {
        tracing::warn!(problem, "a message definition was left out");
    }
    Arc::new(loaded.library)
}

/// Opens the memory that a configuration describes; `watch` for a server, which stays.
pub(crate) fn open(loaded: &Loaded, watch: bool) -> anyhow::Result<Memory> {
    let library = definitions(&loaded.config.reader.custom_msg_paths);
    let bag_dir = &loaded.config.recording.bag_dir;
    let catalog = CatalogSettings { watch, ..loaded.catalog_settings(library) };
    Memory::open(catalog, loaded.query_settings(), loaded.schema_map())
        .with_context(|| format!("cannot open the bag directory {}", bag_dir.display()))
}

/// Waits until every bag is known, with a bar when it takes longer.
pub(crate) fn wait_until_indexed(memory: &Memory) {
    let bar = Bar::new("indexing");
    while !memory.wait_until_indexed(Duration::from_millis(100)) {
        if let Some(progress) = memory.snapshot().progress() {
            bar.tell(progress.done, progress.total);
        }
    }
}
