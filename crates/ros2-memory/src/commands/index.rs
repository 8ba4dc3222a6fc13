use std::time::{Duration, Instant};

use crate::{
    cli::{IndexArgs, TransportOptions},
    exit::Outcome,
    progress::say,
    setup,
};

/// Merging is done when there is time for it; a catalog that is not merged is as good.
const MERGE_LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &IndexArgs) -> anyhow::Result<Outcome> {
    let loaded = setup::load(&args.config, &TransportOptions::default(), &[])?;
    let library = setup::definitions(&loaded.config.reader.custom_msg_paths);
    let settings = loaded.catalog_settings(library);
    if args.rebuild {
        ros2_memory_catalog::forget(&settings)?;
    }
    let started = Instant::now();
    let memory = setup::open(&loaded, false)?;
    setup::wait_until_indexed(&memory);
    if let Some(pid) = memory.catalog().other_writer() {
        say(&format!("process {pid} keeps this catalog; it brings it up to date by itself"));
    }
    let snapshot = memory.snapshot();
    let report = memory.catalog().last_report();
    let elapsed: Duration = started.elapsed();
    super::print(&format!(
        "{} bags, {} messages, {} topics; {} bags were gone over, {} have vanished, in {:.3} s\n",
        snapshot.n_bags(),
        snapshot.n_messages(),
        snapshot.topics().count(),
        report.indexed,
        report.vanished,
        elapsed.as_secs_f64(),
    ))?;
    // What starts on this catalog next starts sooner.
    memory.catalog().wait_until_tidy(MERGE_LIMIT);
    let mut has_losses = false;
    for refused in snapshot.refused() {
        has_losses = true;
        say(&format!("left out: {}: {}", refused.path.display(), refused.reason));
    }
    for entry in snapshot.damaged() {
        let contents = &entry.contents;
        if let Some(first) = contents.damage.first() {
            has_losses = true;
            say(&format!(
                "damaged: {}: {} at byte {} ({} faults in all)",
                entry.path.display(),
                first.kind,
                first.offset,
                contents.damage.len()
            ));
        }
    }
    Ok(if has_losses { Outcome::Losses } else { Outcome::Well })
}
