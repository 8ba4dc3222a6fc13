//! The lines of `cat`, read.

use std::path::PathBuf;

use ros2_memory_inspect::{CatOptions, CatReport, InspectError};
use serde_json::Value;

use crate::common::text;

/// The lines that `cat` writes.
pub(crate) fn lines(
    paths: &[PathBuf],
    options: &CatOptions,
) -> Result<(Vec<Value>, CatReport), InspectError> {
    let (text, report) = text(paths, options)?;
    Ok((text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), report))
}
