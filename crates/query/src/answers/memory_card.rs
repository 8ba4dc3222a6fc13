//! What this memory holds, on about a kilobyte.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::{labels::most_seen, topics::nothing_recorded};
use crate::{TypePaths, query::Query, refusal::Answer};

/// So many topics are named, those with a meaning first.
const MAX_TOPICS: usize = 12;
/// What is asked about most, first.
const MEANINGS: [&str; 6] = ["labels", "pose", "velocity", "transforms", "numbers", "text"];
/// So many labels.
const MAX_LABELS: usize = 10;
/// So many gaps, the newest.
const MAX_GAPS: usize = 3;
/// So many frames.
const MAX_FRAMES: usize = 12;

/// Topics with their meaning, ranges, the labels most seen, gaps, frames, and now.
pub(crate) fn memory_card(query: &mut Query<'_>) -> Answer {
    let snapshot = query.snapshot.clone();
    let Some((first, last)) = snapshot.time_span() else { return Err(nothing_recorded(query)) };
    let mut map = Map::new();
    map.insert("now".into(), json!(query.now.to_unix_s()));
    map.insert("from".into(), json!(first.to_iso_8601()));
    map.insert("to".into(), json!(last.to_iso_8601()));
    map.insert("age_s".into(), json!(query.age_s(last)));
    map.insert("messages".into(), json!(snapshot.n_messages()));
    let mut topics: Vec<(&str, u64, &str)> = snapshot
        .topics()
        .filter(|topic| topic.count > 0)
        .map(|topic| (&*topic.topic, topic.count, meaning(query, &topic.type_name)))
        .collect();
    let n_topics = topics.len();
    let rank = |meaning: &str| MEANINGS.iter().position(|known| *known == meaning);
    topics.sort_by_key(|(name, count, meaning)| {
        (rank(meaning).unwrap_or(MEANINGS.len()), std::cmp::Reverse(*count), *name)
    });
    let listed: Map<String, Json> = topics
        .iter()
        .take(MAX_TOPICS)
        .map(|(name, count, meaning)| {
            let words =
                if meaning.is_empty() { json!(count) } else { json!(format!("{count} {meaning}")) };
            ((*name).to_owned(), words)
        })
        .collect();
    map.insert("topics".into(), Json::Object(listed));
    if n_topics > MAX_TOPICS {
        map.insert("n_topics".into(), json!(n_topics));
    }
    let labels = most_seen(&snapshot, MAX_LABELS);
    if !labels.is_empty() {
        let names: Vec<&str> = labels.iter().map(|of| &*of.label).collect();
        map.insert("most_seen".into(), json!(names));
        map.insert("n_labels".into(), json!(snapshot.label_names().len()));
    }
    let gaps = snapshot.gaps();
    if !gaps.is_empty() {
        let newest = gaps
            .iter()
            .rev()
            .take(MAX_GAPS)
            .map(|gap| json!([gap.start.to_unix_s(), gap.end.to_unix_s()]));
        map.insert("gaps".into(), newest.collect());
        map.insert("n_gaps".into(), json!(gaps.len()));
    }
    let edges = snapshot.edges().iter();
    let frames: BTreeSet<&str> = edges.flat_map(|edge| [&*edge.parent, &*edge.child]).collect();
    if !frames.is_empty() {
        let shown: Vec<&str> = frames.iter().take(MAX_FRAMES).copied().collect();
        map.insert("frames".into(), json!(shown));
    }
    let damaged = snapshot.damaged().len();
    if damaged > 0 {
        map.insert("damaged_bags".into(), json!(damaged));
    }
    Ok(Json::Object(map))
}

/// What a type says, in a word or two.
fn meaning(query: &Query<'_>, type_name: &str) -> &'static str {
    if ros2_memory_index::is_transform_type(type_name) {
        return "transforms";
    }
    let Some(paths) = query.types.map().get(type_name) else { return "" };
    let has = |name: &str| TypePaths::field(paths, name).is_some();
    if !paths.index.labels.is_empty() {
        "labels"
    } else if has("position") && has("orientation") {
        "pose"
    } else if has("linear_velocity") {
        "velocity"
    } else if !paths.index.text.is_empty() {
        "text"
    } else if !paths.index.numbers.is_empty() {
        "numbers"
    } else {
        ""
    }
}
