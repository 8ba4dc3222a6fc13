use ros2_memory_bag::Severity;
use ros2_memory_inspect::{diagnose, diagnosis_json, diagnosis_text};
use ros2_memory_query::{SchemaMap, TypeCache};
use serde_json::Value;

use crate::{
    cli::{DoctorArgs, TransportOptions},
    exit::Outcome,
    progress::{Bar, say},
    setup,
};

pub(crate) fn run(args: &DoctorArgs) -> anyhow::Result<Outcome> {
    let loaded = setup::load(&args.config, &TransportOptions::default(), &[])?;
    let read = loaded.read_options();
    // Without paths it is about the bag directory of the configuration.
    let paths = match args.paths.as_slice() {
        [] => vec![loaded.config.recording.bag_dir],
        paths => paths.to_vec(),
    };
    let mut msg_paths = loaded.config.reader.custom_msg_paths;
    msg_paths.extend(args.msg_path.iter().cloned());
    let types = TypeCache::new(setup::definitions(&msg_paths), SchemaMap::default());
    let bar = Bar::new("examining");
    let diagnosis = diagnose(&paths, &read, &types, &|done, total| bar.tell(done, total));
    drop(bar);
    for problem in &diagnosis.problems {
        say(problem);
    }
    if args.json {
        let list: Value = diagnosis.files.iter().map(diagnosis_json).collect();
        super::print(&format!("{list}\n"))?;
    } else {
        let texts: Vec<String> = diagnosis.files.iter().map(diagnosis_text).collect();
        super::print(&texts.concat())?;
    }
    let is_damaged = |severity: Option<Severity>| severity == Some(Severity::CostsData);
    Ok(if diagnosis.files.is_empty() {
        Outcome::Failed
    } else if !diagnosis.problems.is_empty()
        || diagnosis.files.iter().any(|file| is_damaged(file.worst()))
    {
        Outcome::Losses
    } else {
        Outcome::Well
    })
}
