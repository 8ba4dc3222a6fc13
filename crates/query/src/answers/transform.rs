//! Where one frame was in another.

use std::collections::BTreeSet;

use ros2_memory_bag::Direction;
use ros2_memory_catalog::{Run as Session, Snapshot, TopicSummary};
use ros2_memory_index::{EdgeSpan, TransformPart, TransformReader, TransformSample};
use ros2_memory_tf::{Buffer, Limits, LookupError, Quaternion, Run, Transform};
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use super::{nearest::When, topics::nothing_recorded};
use crate::{
    ErrorCode,
    names::{nearest, repeated},
    query::Query,
    refusal::{Answer, Refusal},
    roles::transform_topics,
};

/// Header stamps may differ this much from the time of recording; else that counts.
const STAMP_SKEW_NS: u64 = 10_000_000_000;

/// The pose of `child` in `parent` at a moment.
pub(crate) fn transform(query: &mut Query<'_>, parent: &str, child: &str, when: When) -> Answer {
    let (parent, child) = (bare(parent), bare(child));
    let at = when.moment.at;
    let snapshot = query.snapshot.clone();
    let edges = snapshot.edges();
    if edges.is_empty() {
        return Err(match snapshot.time_span() {
            None => nothing_recorded(query),
            Some(_) => Refusal::no_data("no transforms are recorded"),
        });
    }
    for frame in [parent, child] {
        let frames = || edges.iter().flat_map(|edge| [&*edge.parent, &*edge.child]);
        if !frames().any(|known| known == frame) {
            let frames: BTreeSet<&str> = frames().collect();
            let near = nearest(frame, frames.into_iter());
            let shown = repeated(frame);
            let refusal = Refusal::new(
                ErrorCode::UnknownFrame,
                format!("no transform names a frame {shown:?}"),
            );
            return Err(if near.is_empty() {
                refusal.hint("list_frames shows what there is")
            } else {
                refusal.hint(format!("the nearest names are {}", near.join(", ")))
            });
        }
    }
    let buffer = fill(query, at)?;
    let found = buffer.lookup(parent, child, at);
    let transform = found.map_err(|error| refusal(&error, edges, parent, child, at))?;
    let [x, y, z] = transform.translation_m;
    let q = transform.rotation;
    let mut map = Map::new();
    map.insert("translation".into(), json!({"x": x, "y": y, "z": z}));
    map.insert("rotation".into(), json!({"x": q.x, "y": q.y, "z": q.z, "w": q.w}));
    map.insert("yaw_deg".into(), json!(q.yaw_rad().to_degrees()));
    map.insert("parent".into(), json!(parent));
    map.insert("child".into(), json!(child));
    map.insert("timestamp".into(), json!(at.to_unix_s()));
    map.insert("timestamp_ns".into(), json!(at.as_ns().to_string()));
    map.insert("age_s".into(), json!(query.age_s(at)));
    if buffer.rejected() > 0 {
        let note = format!("{} transforms that are none were left out", buffer.rejected());
        query.notes.push(note);
    }
    Ok(Json::Object(map))
}

/// Frames that stand still, the best first.
const FIXED_FRAMES: [&str; 2] = ["map", "odom"];

/// A point in a frame that stands still, through the transforms of that moment: in `map`, else in
/// `odom`, else in the frame that it came in.
pub(crate) fn to_fixed_frame(
    query: &mut Query<'_>,
    frame: &str,
    point_m: [f64; 3],
    at: LogTime,
) -> (String, [f64; 3]) {
    let edges = query.snapshot.edges();
    let is_known =
        |frame: &str| edges.iter().any(|edge| *edge.parent == *frame || *edge.child == *frame);
    let fixed: Vec<&str> = FIXED_FRAMES.into_iter().filter(|fixed| is_known(fixed)).collect();
    let is_there = fixed.first().is_none_or(|best| *best == frame);
    if is_there || !is_known(frame) {
        return (frame.to_owned(), point_m);
    }
    // What could not be read is said of the answer as a whole.
    if let Ok(buffer) = fill(query, at) {
        for target in fixed {
            if let Ok(transform) = buffer.lookup(target, frame, at) {
                return (target.to_owned(), transform.apply(point_m));
            }
        }
    }
    (frame.to_owned(), point_m)
}

/// The frames, and which transforms join them.
pub(crate) fn list_frames(query: &Query<'_>) -> Answer {
    let edges = query.snapshot.edges();
    if edges.is_empty() {
        return Err(match query.snapshot.time_span() {
            None => nothing_recorded(query),
            Some(_) => Refusal::no_data("no transforms are recorded"),
        });
    }
    let frames: BTreeSet<&str> = edges.iter().flat_map(|e| [&*e.parent, &*e.child]).collect();
    let listed: Vec<Json> = edges
        .iter()
        .map(|edge| {
            json!({
                "parent": &*edge.parent,
                "child": &*edge.child,
                "static": edge.is_static,
                "first_ts": edge.first.to_unix_s(),
                "last_ts": edge.last.to_unix_s(),
            })
        })
        .collect();
    let mut map = Map::new();
    map.insert("frames".into(), json!(frames));
    map.insert("edges".into(), Json::Array(listed));
    Ok(Json::Object(map))
}

/// Old transform libraries write a leading slash, which is no part of the name.
fn bare(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

/// A buffer with every transform that can matter at a moment.
fn fill(query: &mut Query<'_>, at: LogTime) -> Result<Buffer, Refusal> {
    let limits = Limits {
        max_gap_ns: query.settings.max_transform_gap_ns,
        max_extrapolation_ns: query.settings.max_extrapolation_ns,
    };
    let mut buffer = Buffer::new(limits);
    let snapshot = query.snapshot.clone();
    let mut reader = TransformReader::new(query.types.library().clone());
    let topics = transform_topics(&snapshot, &query.settings.roles.transforms);
    insert_static(&mut buffer, &mut reader, &snapshot, &topics, at);
    let around =
        |reach: u64| TimeRange::closed(at.saturating_sub_ns(reach), at.saturating_add_ns(reach));
    let limit = limits.max_gap_ns.max(limits.max_extrapolation_ns);
    // What matters lies as near as the stamps of these bags are to the time of recording.
    let furthest = around(limit.saturating_add(STAMP_SKEW_NS));
    let skews = snapshot
        .bags_touching(&topics, furthest)
        .into_iter()
        .map(|place| snapshot.bag(place).map_or(STAMP_SKEW_NS, |bag| bag.entry.transform_skew_ns));
    let reach = limit.saturating_add(skews.max().unwrap_or_default());
    let range = around(reach);
    query.note_losses(&topics, range);
    let places = snapshot.bags_touching(&topics, range);
    let mut timeline = query.timeline_over(&places, &topics, range, Direction::Forward);
    let mut latched: (Option<usize>, Vec<u32>) = (None, Vec::new());
    while let Some(message) = timeline.next() {
        let declared = &message.contents.declared;
        if latched.0 != Some(message.part) {
            latched = (Some(message.part), latched_channels(&snapshot, &places, message.part));
        }
        if latched.1.contains(&message.channel_index) {
            continue;
        }
        let Some(plan) = reader.plan(declared, message.channel_index, TransformPart::Whole) else {
            continue;
        };
        let run = places.get(message.part).and_then(|place| snapshot.run_of(*place));
        let run = Run(run.unwrap_or_default());
        plan.read(message.log_time, message.payload, |sample| {
            // Only samples around the moment can take part in an answer.
            if sample.time.abs_diff_ns(at) <= reach {
                // What is no transform is counted by the buffer.
                let _counted =
                    buffer.insert(&sample.parent, &sample.child, sample.time, run, pose(sample));
            }
        });
    }
    query.account(timeline.report(), None)?;
    Ok(buffer)
}

/// The channels of a bag whose messages the catalog holds as static transforms.
fn latched_channels(snapshot: &Snapshot, places: &[u32], part: usize) -> Vec<u32> {
    let bag = places.get(part).and_then(|place| snapshot.bag(*place));
    bag.iter().flat_map(|bag| &bag.entry.latched).map(|latched| latched.channel).collect()
}

/// The static transforms in force at a moment: the union over the publishers of the sessions
/// around it, by child frame the last before it, else the first.
fn insert_static(
    buffer: &mut Buffer,
    reader: &mut TransformReader,
    snapshot: &Snapshot,
    topics: &[&TopicSummary],
    at: LogTime,
) {
    let mut samples: Vec<(LogTime, (String, String), Transform)> = Vec::new();
    for (declared, message) in snapshot.runs_at(at).into_iter().flat_map(Session::latched_messages)
    {
        let is_wanted = declared
            .channel(message.channel)
            .is_some_and(|channel| topics.iter().any(|topic| topic.topic == channel.topic));
        let Some(plan) =
            reader.plan(declared, message.channel, TransformPart::Whole).filter(|_| is_wanted)
        else {
            continue;
        };
        plan.read(message.log_time, &message.payload, |sample| {
            let frames = (sample.parent.to_string(), sample.child.to_string());
            samples.push((message.log_time, frames, pose(sample)));
        });
    }
    samples.sort_by_key(|(log_time, ..)| *log_time);
    // A later insert replaces an earlier one of the same child: those after the moment go first,
    // the nearest last, then those before it in order.
    let split = samples.partition_point(|(log_time, ..)| *log_time <= at);
    let (before, after) = samples.split_at(split);
    for (_, (parent, child), transform) in after.iter().rev().chain(before) {
        let _counted = buffer.insert_static(parent, child, *transform);
    }
}

fn pose(sample: &TransformSample<'_>) -> Transform {
    let [x, y, z, w] = sample.rotation;
    Transform { translation_m: sample.translation_m, rotation: Quaternion { x, y, z, w } }
}

/// Turns a failed look-up into a refusal, with what the whole recording knows of the frames.
fn refusal(
    error: &LookupError,
    edges: &[EdgeSpan],
    parent: &str,
    child: &str,
    at: LogTime,
) -> Refusal {
    let code = match error {
        LookupError::Reparented { .. } => ErrorCode::Reparented,
        LookupError::Extrapolation { .. } => ErrorCode::Extrapolation,
        // The buffer holds the transforms around the moment. Frames that other moments join are
        // not strangers: there is only nothing now.
        LookupError::UnknownFrame { .. } | LookupError::NotConnected { .. }
            if are_joined(edges, parent, child) =>
        {
            let spans: Vec<String> = edges
                .iter()
                .filter(|edge| !edge.is_static)
                .take(5)
                .map(|edge| {
                    format!(
                        "{} -> {} from {} to {}",
                        edge.parent, edge.child, edge.first, edge.last
                    )
                })
                .collect();
            return Refusal::new(
                ErrorCode::Extrapolation,
                format!("no transforms around {at} join {parent} and {child}"),
            )
            .hint(format!("recorded are {}", spans.join("; ")));
        }
        LookupError::UnknownFrame { .. } | LookupError::NotConnected { .. } => {
            ErrorCode::NotConnected
        }
        _ => ErrorCode::NotConnected,
    };
    let refusal = Refusal::new(code, error.to_string());
    match code {
        ErrorCode::NotConnected => refusal.hint("list_frames shows which frames are joined"),
        _ => refusal,
    }
}

/// Whether any transforms of any time lead from one frame to the other.
fn are_joined(edges: &[EdgeSpan], a: &str, b: &str) -> bool {
    let mut reached: BTreeSet<&str> = BTreeSet::from([a]);
    loop {
        let before = reached.len();
        for edge in edges {
            if reached.contains(&*edge.parent) || reached.contains(&*edge.child) {
                reached.insert(&edge.parent);
                reached.insert(&edge.child);
            }
        }
        if reached.contains(b) {
            return true;
        }
        if reached.len() == before {
            return false;
        }
    }
}
