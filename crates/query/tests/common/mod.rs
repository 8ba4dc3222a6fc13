//! A memory over a directory, with the shipped configuration.

use std::{path::Path, sync::Arc, time::Duration};

use ros2_memory_config::{Loader, load_definitions};
use ros2_memory_query::{CallContext, Memory, Reply};
use serde_json::{Map, Value};

/// Opens the directory as it stands, with everything in it known.
pub(crate) fn memory_over(dir: &Path) -> Memory {
    memory_with(dir, &[])
}

/// As [`memory_over`], with `key=value` settings on top.
pub(crate) fn memory_with(dir: &Path, settings: &[String]) -> Memory {
    let mut overrides =
        vec![format!("recording.bag_dir={}", dir.display()), "recorder=none".to_owned()];
    overrides.extend_from_slice(settings);
    let loaded =
        Loader { dir: None, overrides }.load(&|_| None).expect("the shipped configuration loads");
    let library = Arc::new(load_definitions(&[]).library);
    let memory = Memory::open(
        loaded.catalog_settings(library),
        loaded.query_settings(),
        loaded.schema_map(),
    )
    .expect("the bag directory opens");
    assert!(memory.wait_until_indexed(Duration::from_secs(60)));
    memory
}

/// One call of a tool, with the time limit that is shipped.
pub(crate) fn call(memory: &Memory, tool: &str, arguments: &Value) -> Reply {
    let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    memory.call(tool, &arguments, &CallContext::with_time_limit(Duration::from_secs(25)))
}
