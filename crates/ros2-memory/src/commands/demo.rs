use std::{path::Path, time::SystemTime};

use anyhow::Context;
use ros2_memory_bag::WriteOptions;
use ros2_memory_demo::{History, Options, TRUTH_FILE, write_history};
use ros2_memory_query::Moment;
use ros2_memory_time::{LogTime, NS_PER_S};
use serde_json::json;

use crate::{
    cli::{ConfigOptions, DemoArgs},
    exit::{Outcome, UsageError},
    progress::{Bar, say},
    setup,
};

pub(crate) fn run(args: DemoArgs) -> anyhow::Result<Outcome> {
    if args.dir.join(TRUTH_FILE).is_file() {
        say(&format!(
            "{} holds a history already; it is used as it is (delete the folder for a new one)",
            args.dir.display()
        ));
    } else {
        write(&args)?;
    }
    if args.write_only {
        return Ok(Outcome::Well);
    }
    let config = ConfigOptions { bag_dir: Some(args.dir), ..ConfigOptions::default() };
    let mut transport = args.transport;
    transport.transport.get_or_insert_with(|| "http".to_owned());
    // The history is nobody's to record into or to delete, and its end is now.
    let loaded = setup::load(&config, &transport, &["recorder=none".to_owned()])?;
    let memory = setup::open(&loaded, true)?;
    super::serve::serve(&loaded, memory)
}

fn write(args: &DemoArgs) -> anyhow::Result<()> {
    let duration_s = args.hours * 3600.0;
    if !(10.0..=400.0 * 24.0 * 3600.0).contains(&duration_s) {
        return Err(UsageError("--hours must be between 0.003 and 9600".to_owned()).into());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 10 and 4 * 10^7, checked above"
    )]
    let duration_s = duration_s.round() as u64;
    let start = start(args.start.as_deref(), duration_s)?;
    let history = History::new(Options::new(args.seed, start, duration_s))?;
    refuse_foreign(&args.dir)?;
    let bar = Bar::new("writing");
    let total = history.n_splits();
    let written =
        write_history(&history, &args.dir, &WriteOptions::default(), &|done| bar.tell(done, total))
            .with_context(|| format!("cannot write the history to {}", args.dir.display()))?;
    drop(bar);
    say(&format!(
        "wrote {} messages in {} bags to {}, and what is true of them to {}",
        written.n_messages,
        written.n_bags,
        written.run.display(),
        args.dir.join(TRUTH_FILE).display()
    ));
    Ok(())
}

/// The first moment of the history: as given, else so that it ends now.
fn start(given: Option<&str>, duration_s: u64) -> anyhow::Result<LogTime> {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = LogTime::from_ns(since_1970.as_secs() * NS_PER_S);
    match given {
        None => Ok(now.saturating_sub_ns(duration_s * NS_PER_S)),
        Some(text) => Moment::parse(&json!(text), now)
            .map(|moment| moment.at)
            .map_err(|error| UsageError(format!("--start: {}", error.reason)).into()),
    }
}

/// A folder that holds something else is left alone.
fn refuse_foreign(dir: &Path) -> anyhow::Result<()> {
    let has_entries = dir.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    if has_entries {
        let message = format!("{} holds something else; choose another --dir", dir.display());
        return Err(UsageError(message).into());
    }
    Ok(())
}
