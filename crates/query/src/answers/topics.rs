//! What is recorded.

use ros2_memory_catalog::TopicSummary;
use ros2_memory_time::TimeRange;
use serde_json::{Map, Value as Json, json};

use crate::{
    query::Query,
    refusal::{Answer, Refusal},
};

/// Every topic with its type, count and times.
pub(crate) fn list_recorded_topics(query: &Query<'_>) -> Json {
    let mut list: Vec<Json> = query
        .snapshot
        .topics()
        .map(|topic| {
            json!({
                "topic": &*topic.topic,
                "type": &*ros2_memory_msg::canonical_type_name(&topic.type_name),
                "first_ts": topic.span.map(|(first, _)| first.to_unix_s()),
                "last_ts": topic.span.map(|(_, last)| last.to_unix_s()),
                "count": topic.count,
                "rate_hz": rate_hz(query, topic),
            })
        })
        .collect();
    if !query.notes.is_empty() {
        let n = list.len();
        list.push(json!({
            "note": query.notes.join("; "), "total": n, "returned": n, "next": null,
        }));
    }
    Json::Array(list)
}

/// Messages a second while anything was recorded; `None` of fewer than two messages.
fn rate_hz(query: &Query<'_>, topic: &TopicSummary) -> Option<f64> {
    let (first, last) = topic.span.filter(|_| topic.count > 1)?;
    let span = TimeRange::new(first, last);
    let gaps = query.snapshot.gaps().iter().map(|gap| gap.intersect(span));
    let gaps_ns: u64 =
        gaps.filter(|gap| !gap.is_empty()).map(|gap| gap.end.since_ns(gap.start)).sum();
    let recorded_ns = last.since_ns(first).saturating_sub(gaps_ns).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a rate, to four digits")]
    let rate = (topic.count - 1) as f64 / (recorded_ns as f64 / 1e9);
    format!("{rate:.3e}").parse().ok()
}

/// The first and last recorded time.
pub(crate) fn data_time_range(query: &Query<'_>) -> Answer {
    let Some((first, last)) = query.snapshot.time_span() else {
        return Err(nothing_recorded(query));
    };
    let mut map = Map::new();
    map.insert("earliest".into(), json!(first.to_unix_s()));
    map.insert("latest".into(), json!(last.to_unix_s()));
    map.insert("earliest_iso".into(), json!(first.to_iso_8601()));
    map.insert("latest_iso".into(), json!(last.to_iso_8601()));
    map.insert("age_s".into(), json!(query.age_s(last)));
    map.insert("n_bags".into(), json!(query.snapshot.n_bags()));
    let gaps = query.snapshot.gaps();
    if !gaps.is_empty() {
        // The newest are asked about most.
        let newest: Vec<Json> = gaps
            .iter()
            .rev()
            .take(10)
            .map(|gap| json!({"start": gap.start.to_unix_s(), "end": gap.end.to_unix_s()}))
            .collect();
        map.insert("n_gaps".into(), json!(gaps.len()));
        map.insert("newest_gaps".into(), json!(newest));
    }
    Ok(Json::Object(map))
}

/// The refusal when no bag holds a message.
pub(crate) fn nothing_recorded(query: &Query<'_>) -> Refusal {
    let refusal = match query.snapshot.progress() {
        Some(_) => Refusal::no_data(format!("nothing is known yet: {}", query.notes.join("; ")))
            .hint("ask again in a few seconds"),
        None => Refusal::no_data("nothing is recorded in the bag directory"),
    };
    match query.snapshot.refused().len() {
        0 => refusal,
        n => refusal.with("unreadable_files", n),
    }
}
