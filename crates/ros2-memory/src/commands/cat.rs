use ros2_memory_bag::ReadOptions;
use ros2_memory_inspect::{CatOptions, cat, open_files};
use ros2_memory_query::{SchemaMap, TypeCache};

use crate::{
    cli::CatArgs,
    exit::Outcome,
    progress::{Bar, say},
    setup,
};

pub(crate) fn run(args: CatArgs) -> anyhow::Result<Outcome> {
    let read = ReadOptions::default();
    let bar = Bar::new("reading");
    let opened = open_files(&args.paths, &read, &|done, total| bar.tell(done, total));
    drop(bar);
    for problem in &opened.problems {
        say(problem);
    }
    if opened.parts.is_empty() {
        return Ok(Outcome::Failed);
    }
    let damage: usize = opened.parts.iter().map(|part| part.contents.damage.len()).sum();
    let types = TypeCache::new(setup::definitions(&args.msg_path), SchemaMap::default());
    let options =
        CatOptions { topics: args.topics, start: args.start, end: args.end, is_raw: args.raw };
    let report = cat(opened.parts, &options, &read, &types, &mut super::output())?;
    for skipped in &report.skipped {
        say(skipped);
    }
    if damage > 0 {
        say(&format!("{damage} faults in the recordings; `ros2-memory info` names them"));
    }
    if report.undecodable > 0 {
        say(&format!(
            "{} of {} messages could not be decoded; --raw gives their bytes",
            report.undecodable, report.written
        ));
    }
    let is_whole = opened.problems.is_empty()
        && report.skipped.is_empty()
        && damage + usize::from(report.undecodable > 0) == 0;
    Ok(if is_whole { Outcome::Well } else { Outcome::Losses })
}
