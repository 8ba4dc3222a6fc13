//! When something was last seen, and where.

use std::sync::Arc;

use ros2_memory_bag::{Direction, Message};
use ros2_memory_catalog::{Sighting, Snapshot, Wanted};
use ros2_memory_index::IndexedPaths;
use ros2_memory_msg::{DecodeLimits, Value, decode};
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use super::{
    element::Element,
    labels::{before, known_label, last_times, near_labels, no_labels, note_incomplete},
    motion::position,
    nearest::When,
    transform::to_fixed_frame,
};
use crate::{
    Moment,
    handle::handle,
    json::JsonWriter,
    names::repeated,
    query::Query,
    refusal::{Answer, Refusal},
};

/// Sightings no further apart than this are one.
pub(crate) const MERGE_GAP_NS: u64 = 2_000_000_000;
/// So many messages are looked at to say how long a sighting lasted.
const MAX_LASTED: usize = 4096;
/// How far back from the newest sighting one with a position is looked for.
const POSITION_REACH_NS: u64 = 5_000_000_000;

/// What one message says of a label.
struct Seen {
    topic: Arc<str>,
    bag: String,
    log_time: LogTime,
    stamp: Option<LogTime>,
    /// Whether it is one of the elements of the message, not only a name in a text.
    has_element: bool,
    score: Option<f64>,
    bounds: Option<Json>,
    /// In which frame, and where.
    position: Option<(String, [f64; 3])>,
}

/// The newest sighting of a label, strictly before `until`.
pub(crate) fn last_seen(
    query: &mut Query<'_>,
    word: &str,
    min_score: Option<f64>,
    until: Option<LogTime>,
) -> Answer {
    let snapshot = query.snapshot.clone();
    if snapshot.topics_with_labels().is_empty() {
        return Err(no_labels(query));
    }
    note_incomplete(query);
    let range = before(until);
    let Some(label) = known_label(&snapshot, word) else {
        return Ok(never_seen(query, word, range));
    };
    let wanted = Wanted::Label(label.clone());
    let mut newest: Option<(Sighting, Option<Seen>)> = None;
    let (mut n_weak, mut n_unread) = (0u64, 0u64);
    for sighting in snapshot.sightings_back(&wanted, &[], range) {
        query.check_time("ask without min_score, or with a later `before`")?;
        let seen = look(query, &sighting, &label)?;
        let score = seen.as_ref().and_then(|seen| seen.score);
        if min_score.is_none_or(|least| score.is_some_and(|score| score >= least)) {
            newest = Some((sighting, seen));
            break;
        }
        match seen {
            Some(_) => n_weak += 1,
            None => n_unread += 1,
        }
    }
    if n_unread > 0 {
        query.note(format!(
            "the scores of {n_unread} sightings are not known: their bags are deleted or could not \
             be read"
        ));
    }
    let Some((sighting, seen)) = newest else {
        let n_passed = n_weak + n_unread;
        return Ok(not_then(query, &label, range, min_score, n_passed));
    };
    let mut map = Map::new();
    map.insert("seen".into(), json!(true));
    map.insert("label".into(), json!(&*label));
    put_time(&mut map, sighting.time);
    map.insert("age_s".into(), json!(query.age_s(sighting.time)));
    put_seen(query, &mut map, &sighting, seen.as_ref());
    put_position(query, &mut map, &label, &sighting, seen.as_ref());
    put_robot(query, &mut map, sighting.time);
    let (from, is_all) = lasted(&snapshot, &wanted, sighting.time);
    let lasted_s = seconds(sighting.time.since_ns(from));
    map.insert("lasted_s".into(), json!(lasted_s));
    if !is_all {
        map.insert("lasted_note".into(), json!("or longer"));
    }
    let all = TimeRange::ALL;
    if let Some(of) = snapshot.label(&label, all) {
        map.insert("count".into(), json!(of.count));
        map.insert("first_ever".into(), json!(of.span.0.to_unix_s()));
    }
    Ok(Json::Object(map))
}

fn put_time(map: &mut Map<String, Json>, time: LogTime) {
    map.insert("timestamp".into(), json!(time.to_unix_s()));
    map.insert("timestamp_ns".into(), json!(time.as_ns().to_string()));
    map.insert("iso".into(), json!(time.to_iso_8601()));
}

fn put_seen(
    query: &mut Query<'_>,
    map: &mut Map<String, Json>,
    sighting: &Sighting,
    seen: Option<&Seen>,
) {
    if let Some(seen) = seen {
        if let Some(score) = seen.score {
            map.insert("score".into(), json!(score));
        }
        if let Some(bounds) = &seen.bounds {
            map.insert("box".into(), bounds.clone());
        }
        map.insert("evidence".into(), evidence(seen));
    } else {
        let gone = sighting.place.is_none();
        let why = if gone { "its bag is deleted" } else { "its bag could not be read" };
        query.note(format!("{why}: the index alone says this"));
        map.insert(
            "evidence".into(),
            json!({
                "topic": &*sighting.topic,
                "log_time_ns": sighting.time.as_ns().to_string(),
                "deleted": gone,
            }),
        );
    }
}

fn evidence(seen: &Seen) -> Json {
    json!({
        "topic": &*seen.topic,
        "bag": seen.bag,
        "log_time_ns": seen.log_time.as_ns().to_string(),
        "stamp_ns": seen.stamp.map(|stamp| stamp.as_ns().to_string()),
        "handle": handle(&seen.topic, seen.log_time),
    })
}

/// Where it was: from the newest message that says so, or one shortly before.
fn put_position(
    query: &mut Query<'_>,
    map: &mut Map<String, Json>,
    label: &Arc<str>,
    sighting: &Sighting,
    seen: Option<&Seen>,
) {
    let mut place = seen.and_then(|seen| Some((seen.position.clone()?, seen.log_time)));
    if place.is_none() {
        let start = sighting.time.saturating_sub_ns(POSITION_REACH_NS);
        let range = TimeRange::closed(start, sighting.time);
        let snapshot = query.snapshot.clone();
        for other in snapshot.sightings_back(&Wanted::Label(label.clone()), &[], range).take(32) {
            // Of a list of names no message will say where.
            if seen.is_some_and(|seen| !seen.has_element && seen.topic == other.topic) {
                continue;
            }
            let Ok(Some(seen)) = look(query, &other, label) else { continue };
            if let Some(position) = seen.position {
                place = Some((position, seen.log_time));
                break;
            }
        }
    }
    let Some(((frame, point_m), at)) = place else { return };
    let (frame, [x, y, z]) = to_fixed_frame(query, &frame, point_m, at);
    let mut position = json!({"x": x, "y": y, "z": z, "frame": frame});
    if let Json::Object(position) = &mut position
        && at != sighting.time
    {
        position.insert("timestamp".into(), json!(at.to_unix_s()));
    }
    map.insert("position".into(), position);
}

/// Where the robot was then; left out where no pose is recorded.
fn put_robot(query: &mut Query<'_>, map: &mut Map<String, Json>, at: LogTime) {
    let when = When::at(Moment::exact(at));
    if let Ok(Json::Object(pose)) = position(query, when, Some(ROBOT_TOLERANCE_NS)) {
        let keys = ["x", "y", "z", "yaw_deg", "frame"];
        let pose: Map<String, Json> =
            pose.into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect();
        map.insert("robot".into(), Json::Object(pose));
    }
}

/// A robot is about where it was a second ago.
const ROBOT_TOLERANCE_NS: u64 = 1_000_000_000;

/// Since when it had been in sight, without a gap, and whether that is all of it.
fn lasted(snapshot: &Snapshot, wanted: &Wanted, until: LogTime) -> (LogTime, bool) {
    let range = TimeRange::closed(LogTime::ZERO, until);
    let mut from = until;
    for (n, sighting) in snapshot.sightings_back(wanted, &[], range).enumerate() {
        if from.since_ns(sighting.time) > MERGE_GAP_NS {
            return (from, true);
        }
        if n >= MAX_LASTED {
            return (from, false);
        }
        from = sighting.time;
    }
    (from, true)
}

/// Reads the message of a sighting; `None` when its bag is gone or cannot be read.
fn look(query: &mut Query<'_>, sighting: &Sighting, label: &str) -> Result<Option<Seen>, Refusal> {
    let Some(place) = sighting.place else { return Ok(None) };
    let snapshot = query.snapshot.clone();
    let Some(topic) = snapshot.topic(&sighting.topic) else { return Ok(None) };
    let range = TimeRange::closed(sighting.time, sighting.time);
    let mut timeline = query.timeline_over(&[place], &[topic], range, Direction::Forward);
    let mut found = None;
    while let Some(message) = timeline.next() {
        if let Some(seen) = in_message(query, &message, label) {
            found = Some(seen);
            break;
        }
    }
    query.account(timeline.report(), None)?;
    Ok(found.map(|mut seen| {
        let path = snapshot.bag(place).map(|bag| bag.entry.path.display().to_string());
        seen.bag = path.unwrap_or_default();
        seen
    }))
}

fn in_message(query: &mut Query<'_>, message: &Message<'_>, label: &str) -> Option<Seen> {
    let view = query.view(&message.contents.declared, message.channel_index);
    let schema = view.schema.as_ref().ok()?;
    let value = decode(schema, message.payload, DecodeLimits::NONE).ok()?;
    let none = IndexedPaths::default();
    let paths = query.types.map().get(&view.type_name).map_or(&none, |paths| &paths.index);
    let header = value.field("header");
    let stamp = header.and_then(|header| header.field("stamp")).and_then(stamp);
    let frame = header.and_then(|header| header.field("frame_id")).and_then(Value::as_str);
    let mut seen = Seen {
        topic: message.channel.topic.clone(),
        bag: String::new(),
        log_time: message.log_time,
        stamp,
        has_element: false,
        score: None,
        bounds: None,
        position: None,
    };
    let elements = Element::all(&value, paths, label);
    // Of several, the surest.
    let surest = elements.iter().max_by(|a, b| {
        let score = |element: &Element<'_, '_>| element.score.unwrap_or(f64::NEG_INFINITY);
        score(a).total_cmp(&score(b))
    });
    if let Some(element) = surest {
        seen.has_element = true;
        seen.score = element.score;
        let mut writer = JsonWriter::new(query.json);
        seen.bounds = element.bounds().map(|bounds| writer.value(bounds));
        seen.position = element
            .position_m
            .map(|point| (frame.unwrap_or_default().trim_start_matches('/').to_owned(), point));
    } else if !paths.text.is_empty() {
        // A list in a text: the index has read it.
    } else {
        return None;
    }
    Some(seen)
}

fn stamp(value: &Value<'_>) -> Option<LogTime> {
    let part = |names: [&str; 2]| {
        let field = names.iter().find_map(|name| value.field(name))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        field.as_f64().map(|number| number.max(0.0) as u64)
    };
    let (sec, nanosec) = (part(["sec", "secs"])?, part(["nanosec", "nsecs"])?);
    Some(LogTime::from_ns(sec.saturating_mul(1_000_000_000).saturating_add(nanosec)))
}

/// The answer for a word that no message names.
fn never_seen(query: &Query<'_>, word: &str, range: TimeRange) -> Json {
    let snapshot = &query.snapshot;
    let near = near_labels(snapshot, word);
    let word = repeated(word);
    let span = snapshot.labelled_span(&[], range);
    let mut map = Map::new();
    map.insert("seen".into(), json!(false));
    map.insert("reason".into(), json!("never_seen"));
    map.insert(
        "detail".into(),
        json!(match span {
            Some((first, last)) => format!("nothing from {first} to {last} is called {word:?}"),
            None =>
                format!("nothing is called {word:?}, and nothing with labels was recorded then"),
        }),
    );
    if !near.is_empty() {
        map.insert("near".into(), Json::Array(last_times(snapshot, &near, range)));
    }
    Json::Object(map)
}

/// The answer for a label that is known and was not seen in the range.
fn not_then(
    query: &Query<'_>,
    label: &str,
    range: TimeRange,
    min_score: Option<f64>,
    n_passed: u64,
) -> Json {
    let snapshot = &query.snapshot;
    let mut map = Map::new();
    map.insert("seen".into(), json!(false));
    map.insert("label".into(), json!(label));
    let next = snapshot.label(label, TimeRange::new(range.end, LogTime::MAX));
    let (reason, detail) = match (snapshot.labelled_span(&[], range), min_score) {
        (_, Some(least)) if n_passed > 0 => (
            "absent",
            format!(
                "{label} was seen {n_passed} times, never with a known score of {least} or more"
            ),
        ),
        (Some((first, last)), _) => (
            "absent",
            format!("what was seen from {first} to {last} was recorded, and {label} is not in it"),
        ),
        (None, _) => {
            ("not_recorded", "nothing that has labels was recorded before that".to_owned())
        }
    };
    map.insert("reason".into(), json!(reason));
    map.insert("detail".into(), json!(detail));
    if let Some(of) = next.filter(|_| n_passed == 0) {
        map.insert("first_seen_later".into(), json!(of.span.0.to_unix_s()));
    }
    Json::Object(map)
}

#[expect(clippy::cast_precision_loss, reason = "a span of time in seconds")]
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
