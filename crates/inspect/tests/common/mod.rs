//! `cat` over files, with the shipped configuration.

use std::{path::PathBuf, sync::Arc};

use ros2_memory_bag::ReadOptions;
use ros2_memory_config::{Loader, load_definitions};
use ros2_memory_inspect::{CatOptions, CatReport, InspectError, OpenedFiles, cat, open_files};
use ros2_memory_query::TypeCache;

pub(crate) fn opened(paths: &[PathBuf]) -> OpenedFiles {
    open_files(paths, &ReadOptions::default(), &|_, _| {})
}

pub(crate) fn types() -> TypeCache {
    let shipped = Loader { dir: None, overrides: vec!["recorder=none".to_owned()] };
    let loaded = shipped.load(&|_| None).expect("the shipped configuration loads");
    TypeCache::new(Arc::new(load_definitions(&[]).library), loaded.schema_map())
}

/// What `cat` writes.
pub(crate) fn text(
    paths: &[PathBuf],
    options: &CatOptions,
) -> Result<(String, CatReport), InspectError> {
    let mut out = Vec::new();
    let report = cat(opened(paths).parts, options, &ReadOptions::default(), &types(), &mut out)?;
    let text = String::from_utf8(out).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    Ok((text, report))
}
