//! File events, which only shorten the wait: the look through the folder is the truth.

use std::path::Path;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use crate::CATALOG_FOLDER;

/// Watches a folder and everything below it; `wake` is called after each change there that is
/// not the catalog's own. `None` where the system offers no events.
pub(crate) fn watch(folder: &Path, wake: impl Fn() + Send + 'static) -> Option<RecommendedWatcher> {
    let on_event = move |event: notify::Result<Event>| {
        // An overflow comes as an event that asks for a rescan: any event is a reason to look.
        let is_ours = event.as_ref().is_ok_and(|event| {
            !event.paths.is_empty()
                && event
                    .paths
                    .iter()
                    .all(|path| path.components().any(|part| part.as_os_str() == CATALOG_FOLDER))
        });
        let is_read = event.as_ref().is_ok_and(|event| event.kind.is_access());
        if !is_ours && !is_read {
            wake();
        }
    };
    let mut watcher = notify::recommended_watcher(on_event)
        .inspect_err(|error| tracing::debug!(%error, "no file events"))
        .ok()?;
    watcher
        .watch(folder, RecursiveMode::Recursive)
        .inspect_err(|error| tracing::debug!(%error, "no file events"))
        .ok()?;
    Some(watcher)
}
