use std::{
    io::{ErrorKind, Write},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use ros2_memory_bag::{Channel, Direction, Message, ReadOptions, Timeline, TimelinePart};
use ros2_memory_query::{JsonOptions, Moment, TypeCache, full_message, tools::topic_matcher};
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use crate::InspectError;

/// Which messages are written, and how.
#[derive(Debug, Clone, Default)]
pub struct CatOptions {
    /// Names or globs; empty for all topics.
    pub topics: Vec<String>,
    /// The first moment, inclusive; as the tools take times, counted from the last message.
    pub start: Option<String>,
    /// The last moment, exclusive.
    pub end: Option<String>,
    /// The stored payload in base64 instead of its fields.
    pub is_raw: bool,
}

/// How it went.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CatReport {
    /// Messages that were written.
    pub written: u64,
    /// Messages of them whose fields could not be read.
    pub undecodable: u64,
    /// Parts of the recordings that could not be read, with the reason.
    pub skipped: Vec<String>,
}

/// Writes messages in timeline order, one JSON object a line.
///
/// Numbers that are not finite are `null`, since JSON has none. A message whose fields cannot be
/// read has `"data": null` and says why in `error`. A reader that closes the pipe ends it quietly.
///
/// # Errors
///
/// [`InspectError`] for a moment or topic that makes no sense, and when writing fails.
pub fn cat(
    parts: Vec<TimelinePart>,
    options: &CatOptions,
    read: &ReadOptions,
    types: &TypeCache,
    out: &mut dyn Write,
) -> Result<CatReport, InspectError> {
    let range = range(&parts, options)?;
    let wanted = wanted_topics(&parts, &options.topics)?;
    let select = |channel: &Channel| {
        let rank = wanted.binary_search(&channel.topic).ok()?;
        u32::try_from(rank).ok()
    };
    let mut timeline = Timeline::new(parts, range, Direction::Forward, *read, select, || false);
    let mut report = CatReport::default();
    while let Some(message) = timeline.next() {
        let (line, is_whole) = line(&message, options.is_raw, types);
        report.undecodable += u64::from(!is_whole);
        match writeln!(out, "{line}") {
            Ok(()) => report.written += 1,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(report),
            Err(error) => return Err(error.into()),
        }
    }
    let skipped = timeline.report().skipped.iter();
    report.skipped = skipped.map(|(path, why)| format!("{}: {why}", path.display())).collect();
    match out.flush() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(report),
    }
}

/// One message as JSON, and whether its fields could be read.
fn line(message: &Message<'_>, is_raw: bool, types: &TypeCache) -> (Json, bool) {
    let declared = &message.contents.declared;
    let view = types.view(declared, message.channel);
    let mut map = Map::new();
    map.insert("topic".into(), json!(&*message.channel.topic));
    map.insert("type".into(), json!(&*view.type_name));
    map.insert("log_time_ns".into(), json!(message.log_time.as_ns().to_string()));
    map.insert("publish_time_ns".into(), json!(message.publish_time.as_ns().to_string()));
    map.insert("sequence".into(), json!(message.sequence));
    map.insert("encoding".into(), json!(&*message.channel.message_encoding));
    if is_raw {
        map.insert("data_base64".into(), json!(BASE64_STANDARD.encode(message.payload)));
        return (Json::Object(map), true);
    }
    let data = full_message(&view, message.payload, JsonOptions::FULL);
    let is_whole = data.is_ok();
    match data {
        Ok(data) => {
            map.insert("data".into(), data);
        }
        Err(reason) => {
            map.insert("data".into(), Json::Null);
            map.insert("error".into(), json!(reason));
        }
    }
    (Json::Object(map), is_whole)
}

fn range(parts: &[TimelinePart], options: &CatOptions) -> Result<TimeRange, InspectError> {
    let last =
        parts.iter().filter_map(|part| part.contents.time_span()).map(|(_, last)| last).max();
    let now = last.unwrap_or(LogTime::ZERO);
    let moment = |argument, text: &Option<String>| {
        text.as_ref()
            .map(|text| Moment::parse(&json!(text), now))
            .transpose()
            .map_err(|error| InspectError::Moment { argument, reason: error.reason })
    };
    let start = moment("--start", &options.start)?.map_or(LogTime::ZERO, Moment::at_or_after);
    let end = moment("--end", &options.end)?.map_or(LogTime::MAX, |moment| moment.at);
    Ok(TimeRange::new(start, end))
}

/// The names of the wanted topics, sorted.
fn wanted_topics(
    parts: &[TimelinePart],
    patterns: &[String],
) -> Result<Vec<Arc<str>>, InspectError> {
    let mut known: Vec<Arc<str>> = parts
        .iter()
        .flat_map(|part| &part.contents.declared.channels)
        .map(|channel| channel.topic.clone())
        .collect();
    known.sort();
    known.dedup();
    if patterns.is_empty() {
        return Ok(known);
    }
    let matchers: Vec<_> = patterns.iter().map(|pattern| topic_matcher(pattern)).collect();
    for (pattern, is_match) in patterns.iter().zip(&matchers) {
        if !known.iter().any(|topic| is_match(topic)) {
            let names: Vec<&str> = known.iter().map(|topic| &**topic).collect();
            return Err(InspectError::UnknownTopic {
                pattern: pattern.clone(),
                known: names.join(", "),
            });
        }
    }
    known.retain(|topic| matchers.iter().any(|is_match| is_match(topic)));
    Ok(known)
}
