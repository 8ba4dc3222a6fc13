//! Recording sessions, and what their publishers latched.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use ros2_memory_bag::Declarations;
use ros2_memory_index::LatchedMessage;
use ros2_memory_time::LogTime;

use crate::segment::summary::{RunLatched, Summary};

/// The bags of one recording session.
#[derive(Debug, Clone)]
pub struct Run {
    /// The folder and name that its splits share.
    pub key: PathBuf,
    /// Its first log time.
    pub first: LogTime,
    /// Its last log time.
    pub last: LogTime,
    /// Latched messages, by log time, without those that repeat what their publisher said before.
    /// Those of bags that are gone are among them.
    latched: Vec<RunLatched>,
}

impl Run {
    /// The latched messages of a topic in this run, by log time, with the declarations of the bag
    /// that held each.
    pub fn latched<'s>(
        &'s self,
        topic: &'s str,
    ) -> impl Iterator<Item = (&'s Arc<Declarations>, &'s LatchedMessage)> {
        self.latched_messages().filter(move |(declared, message)| {
            declared.channel(message.channel).is_some_and(|channel| &*channel.topic == topic)
        })
    }

    /// All latched messages of this run, by log time.
    pub fn latched_messages(&self) -> impl Iterator<Item = (&Arc<Declarations>, &LatchedMessage)> {
        self.latched.iter().map(|latched| (&latched.declared, &latched.message))
    }
}

/// The sessions of some segments, by start time.
pub(crate) fn join<'s>(summaries: impl Iterator<Item = &'s Summary> + Clone) -> Vec<Run> {
    let mut places: HashMap<&Path, usize> = HashMap::new();
    let mut runs: Vec<Run> = Vec::new();
    for total in summaries.clone().flat_map(|summary| &summary.runs) {
        let place = *places.entry(&total.key).or_insert_with(|| {
            let (first, last) = (total.first, total.last);
            runs.push(Run { key: total.key.clone(), first, last, latched: Vec::new() });
            runs.len() - 1
        });
        if let Some(run) = runs.get_mut(place) {
            run.first = run.first.min(total.first);
            run.last = run.last.max(total.last);
        }
    }
    // What a bag latched lives as long as its run has another bag, also when it is gone itself.
    for latched in summaries.flat_map(|summary| &summary.latched) {
        let run = places.get(latched.run.as_path()).and_then(|place| runs.get_mut(*place));
        if let Some(run) = run {
            run.latched.push(latched.clone());
        }
    }
    for run in &mut runs {
        run.latched.sort_by_key(|latched| latched.message.log_time);
        drop_repeated(&mut run.latched);
    }
    runs.sort_by(|a, b| (a.first, &a.key).cmp(&(b.first, &b.key)));
    runs
}

/// Drops messages that say what the one before from the same publisher said.
fn drop_repeated(latched: &mut Vec<RunLatched>) {
    let mut last: HashMap<(Arc<str>, u32), Arc<[u8]>> = HashMap::new();
    latched.retain(|latched| {
        let channel = latched.message.channel;
        let topic = latched.declared.channel(channel).map(|channel| channel.topic.clone());
        let key = (topic.unwrap_or_default(), channel);
        let payload = &latched.message.payload;
        match last.get_mut(&key) {
            Some(known) if **known == **payload => false,
            Some(known) => {
                known.clone_from(payload);
                true
            }
            None => {
                last.insert(key, payload.clone());
                true
            }
        }
    });
}
