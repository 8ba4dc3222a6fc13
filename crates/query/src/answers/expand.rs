//! The whole message behind a handle.

use ros2_memory_bag::Direction;
use ros2_memory_time::TimeRange;
use serde_json::{Map, Value as Json, json};

use crate::{
    extract::full_message,
    handle::resolve,
    query::Query,
    refusal::{Answer, Refusal},
};

/// The message that a handle names, with all its fields.
pub(crate) fn expand(query: &mut Query<'_>, handle: &str) -> Answer {
    let snapshot = query.snapshot.clone();
    let (at, topics) = resolve(&snapshot, handle).ok_or_else(|| {
        Refusal::bad_argument("handle is none that a reply gave")
            .hint("copy `handle` from the evidence of a reply")
    })?;
    let topics: Vec<_> = topics.into_iter().filter_map(|topic| snapshot.topic(topic)).collect();
    if topics.is_empty() {
        return Err(Refusal::no_data("no recorded topic is the one that the handle names"));
    }
    let range = TimeRange::closed(at, at);
    let places = snapshot.bags_touching(&topics, range);
    let mut timeline = query.timeline_over(&places, &topics, range, Direction::Forward);
    let mut found = None;
    let mut n_same = 0;
    while let Some(message) = timeline.next() {
        n_same += 1;
        if found.is_some() {
            continue;
        }
        let view = query.view(&message.contents.declared, message.channel_index);
        let value = full_message(&view, message.payload, query.json).map_err(|reason| {
            let words = format!("{}: {reason}", message.channel.topic);
            Refusal::new(crate::ErrorCode::DecodeFailed, words)
        });
        let bag = places.get(message.part).and_then(|place| snapshot.bag(*place));
        let mut map = Map::new();
        map.insert("topic".into(), json!(&*message.channel.topic));
        map.insert("type".into(), json!(&*view.type_name));
        map.insert("timestamp".into(), json!(message.log_time.to_unix_s()));
        map.insert("timestamp_ns".into(), json!(message.log_time.as_ns().to_string()));
        map.insert("publish_time_ns".into(), json!(message.publish_time.as_ns().to_string()));
        map.insert("sequence".into(), json!(message.sequence));
        map.insert("bag".into(), json!(bag.map(|bag| bag.entry.path.display().to_string())));
        found = Some((map, value));
    }
    query.account(timeline.report(), None)?;
    let Some((mut map, value)) = found else {
        return Err(Refusal::no_data(format!("there is no message of {at} any more"))
            .hint("its bag may be deleted: explain_gap says so"));
    };
    map.insert("value".into(), value?);
    if n_same > 1 {
        map.insert("note".into(), json!(format!("the first of {n_same} messages of that time")));
    }
    Ok(Json::Object(map))
}
