//! The lines of the Python programs, put in order.

use std::collections::BTreeMap;

use crate::json::Json;

/// What Python finds in one file.
#[derive(Default)]
pub(crate) struct Theirs<'t> {
    /// By topic, in file order.
    pub(crate) messages: BTreeMap<String, Vec<Json<'t>>>,
    /// By topic: how many messages without a value, and why.
    pub(crate) undecoded: BTreeMap<String, (u64, String)>,
    /// What the reader said where it gave up.
    pub(crate) stopped: Option<String>,
}

/// The name of ROS for a topic that DDS knows as `rt/name`.
fn ros_topic(topic: &str) -> String {
    topic.strip_prefix("rt").filter(|rest| rest.starts_with('/')).unwrap_or(topic).to_owned()
}

/// What Python finds, by file.
pub(crate) fn by_file(lines: &str) -> BTreeMap<String, Theirs<'_>> {
    let mut files: BTreeMap<String, Theirs<'_>> = BTreeMap::new();
    for line in lines.lines().map(Json::read) {
        let file = files.entry(line.text("file").to_owned()).or_default();
        if line.get("stopped").is_some() {
            file.stopped = Some(line.text("stopped").to_owned());
        } else if line.get("undecoded").is_some() {
            let why = (line.number("count"), line.text("undecoded").to_owned());
            file.undecoded.insert(ros_topic(line.text("topic")), why);
        } else {
            file.messages.entry(ros_topic(line.text("topic"))).or_default().push(line);
        }
    }
    for file in files.values() {
        let both = file.messages.keys().find(|topic| file.undecoded.contains_key(*topic));
        assert!(both.is_none(), "{both:?}: the others decode some messages and some not");
    }
    for messages in files.values_mut().flat_map(|file| file.messages.values_mut()) {
        // In timeline order: by time, and of the same time as they stand in the file.
        messages.sort_by_key(|message| message.number("log_time_ns"));
    }
    files
}
