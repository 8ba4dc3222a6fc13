use ros2_memory_bag::ReadOptions;
use ros2_memory_inspect::{info, info_json, info_text, open_files_by_index};
use serde_json::Value;

use crate::{
    cli::InfoArgs,
    exit::Outcome,
    progress::{Bar, say},
};

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<Outcome> {
    let bar = Bar::new("reading");
    let tell = |done, total| bar.tell(done, total);
    let opened = open_files_by_index(&args.paths, &ReadOptions::default(), &tell);
    drop(bar);
    for problem in &opened.problems {
        say(problem);
    }
    let bags = info(&opened.parts);
    if args.json {
        let list: Value = bags.iter().map(info_json).collect();
        super::print(&format!("{list}\n"))?;
    } else {
        let texts: Vec<String> = bags.iter().map(info_text).collect();
        super::print(&texts.join("\n"))?;
    }
    Ok(match (bags.is_empty(), opened.problems.is_empty()) {
        (true, _) => Outcome::Failed,
        (false, false) => Outcome::Losses,
        (false, true) => Outcome::Well,
    })
}
