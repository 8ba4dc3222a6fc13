//! Keeping a reply within its bytes.

use ros2_memory_msg::spread;
use serde_json::{Value as Json, json};

/// Makes a reply fit `max_bytes`. A list of samples is thinned, still spanning its window; what
/// is too long in any other way has its arrays and texts cut, and says so.
pub(crate) fn fit(reply: Json, max_bytes: usize) -> Json {
    if size(&reply) <= max_bytes {
        return reply;
    }
    match reply {
        Json::Array(items) => fit_list(items, max_bytes),
        object => cut(object, max_bytes),
    }
}

fn size(value: &Json) -> usize {
    // A value of JSON always has a text.
    serde_json::to_string(value).map_or(usize::MAX, |text| text.len())
}

/// The note that ends a list, taken off it.
fn split_note(mut items: Vec<Json>) -> (Vec<Json>, Option<Json>) {
    let has_note = items.last().is_some_and(|last| {
        last.get("note").is_some() && last.get("returned").is_some() && last.get("total").is_some()
    });
    let note = if has_note { items.pop() } else { None };
    (items, note)
}

/// How long a list was before anything was left out.
fn total(note: Option<&Json>, items: &[Json]) -> u64 {
    note.and_then(|note| note.get("total")).and_then(Json::as_u64).unwrap_or(items.len() as u64)
}

fn fit_list(items: Vec<Json>, max_bytes: usize) -> Json {
    let (items, note) = split_note(items);
    let total = total(note.as_ref(), &items);
    let mut words = note
        .as_ref()
        .and_then(|note| note.get("note"))
        .and_then(Json::as_str)
        .map_or_else(Vec::new, |words| vec![words.to_owned()]);
    words.push(format!("thinned to fit {max_bytes} bytes; ask for a shorter range or more bytes"));
    let next = note.as_ref().and_then(|note| note.get("next")).cloned().unwrap_or(Json::Null);
    let end = |returned: usize| json!({"note": words.join("; "), "total": total, "returned": returned, "next": next});
    let room = max_bytes.saturating_sub(size(&end(items.len())) + 3);
    let mut kept = items.len();
    let mut items: Vec<(usize, Json)> =
        items.into_iter().map(|item| (size(&item) + 1, item)).collect();
    // Sizes vary little within a list, so that this ends after two or three rounds.
    loop {
        let bytes: usize =
            spread(items.len(), kept).filter_map(|i| items.get(i)).map(|(bytes, _)| bytes).sum();
        if bytes <= room || kept <= 2 {
            break;
        }
        kept = (kept * room / bytes.max(1)).clamp(2, kept - 1);
    }
    let keep: Vec<usize> = spread(items.len(), kept).collect();
    let mut index = 0;
    items.retain(|_| {
        let is_kept = keep.binary_search(&index).is_ok();
        index += 1;
        is_kept
    });
    let each = room / items.len().max(1);
    let mut list: Vec<Json> = items
        .into_iter()
        .map(|(bytes, item)| if bytes > each { cut(item, each) } else { item })
        .collect();
    let returned = list.len();
    list.push(end(returned));
    Json::Array(list)
}

/// Cuts arrays and texts inside a value, harder and harder until it fits.
fn cut(value: Json, max_bytes: usize) -> Json {
    let mut value = value;
    for (max_items, max_chars) in [(25, 1000), (10, 300), (4, 100), (2, 40), (1, 20)] {
        value = shorten(value, max_items, max_chars);
        if size(&value) <= max_bytes {
            break;
        }
    }
    let is_fitting = size(&value) <= max_bytes;
    if let Json::Object(map) = &mut value {
        let said = map.get("note").and_then(Json::as_str).map(ToOwned::to_owned);
        let mut words: Vec<String> = said.into_iter().collect();
        words.push("arrays and texts are cut to keep the reply short".to_owned());
        if !is_fitting {
            words.push("it has too many fields to be as short as was asked for".to_owned());
        }
        map.insert("note".into(), json!(words.join("; ")));
    }
    value
}

/// What names something: it must be fed back as it is.
const NAMES: [&str; 9] = [
    "topic",
    "type",
    "frame",
    "timestamp_ns",
    "note",
    "condition_topic",
    "condition_timestamp_ns",
    "parent",
    "child",
];

fn shorten(value: Json, max_items: usize, max_chars: usize) -> Json {
    match value {
        Json::String(text) if text.chars().nth(max_chars).is_some() => {
            let mut cut: String = text.chars().take(max_chars).collect();
            cut.push_str("...");
            Json::String(cut)
        }
        Json::Array(items) => {
            let (items, note) = split_note(items);
            let total = total(note.as_ref(), &items);
            let keep: Vec<usize> = spread(items.len(), max_items).collect();
            let kept: Vec<Json> = items
                .into_iter()
                .enumerate()
                .filter(|(i, _)| keep.binary_search(i).is_ok())
                .map(|(_, item)| shorten(item, max_items, max_chars))
                .collect();
            if (kept.len() as u64) < total {
                crate::json::thinned(kept, usize::try_from(total).unwrap_or(usize::MAX))
            } else {
                Json::Array(kept)
            }
        }
        Json::Object(map) => Json::Object(
            map.into_iter()
                .map(|(key, value)| {
                    let is_name = NAMES.contains(&key.as_str());
                    let short = if is_name { value } else { shorten(value, max_items, max_chars) };
                    (key, short)
                })
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_thinned_and_still_spans_its_window() {
        let items: Vec<Json> =
            (0..1000).map(|i| json!({"t": i, "value": "x".repeat(50)})).collect();
        let Json::Array(list) = fit(Json::Array(items), 5000) else { panic!() };
        assert!(size(&Json::Array(list.clone())) <= 5000);
        assert_eq!(
            (list[0]["t"].as_u64(), list[list.len() - 2]["t"].as_u64()),
            (Some(0), Some(999))
        );
        let end = list.last().unwrap();
        assert_eq!(end["total"], 1000);
        assert_eq!(end["returned"].as_u64(), Some(list.len() as u64 - 1));
    }

    #[test]
    fn the_total_of_a_list_that_was_thinned_before_stays() {
        let mut items: Vec<Json> =
            (0..100).map(|i| json!({"t": i, "v": "x".repeat(100)})).collect();
        items.push(json!({"note": "thinned", "total": 7777, "returned": 100, "next": null}));
        let Json::Array(list) = fit(Json::Array(items), 3000) else { panic!() };
        assert_eq!(list.last().unwrap()["total"], 7777);
    }

    #[test]
    fn one_huge_value_is_cut() {
        let topic = "/a/topic/with/a/very/long/name/that/must/be/fed/back";
        let value = json!({"timestamp": 1.0, "topic": topic, "note": "said before", "value": {"a": (0..5000).collect::<Vec<_>>(), "s": "y".repeat(9000)}});
        let small = fit(value, 2000);
        assert!(size(&small) <= 2000, "{}", size(&small));
        assert_eq!((&small["timestamp"], &small["topic"]), (&json!(1.0), &json!(topic)));
        assert!(small["note"].as_str().unwrap().starts_with("said before; "));
        assert_eq!(small["value"]["a"].as_array().unwrap().last().unwrap()["total"], 5000);
    }
}
