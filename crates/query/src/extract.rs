//! One message as the JSON of a reply.

use ros2_memory_msg::{DecodeLimits, Index, Value, decode};
use serde_json::{Map, Value as Json};

use crate::{JsonOptions, TypeView, json::JsonWriter};

/// A message in JSON, with what must be said about it.
#[derive(Debug)]
pub(crate) struct Extracted {
    pub(crate) value: Json,
    pub(crate) notes: Vec<String>,
}

/// The configured fields of a message, or all of them when its type is not configured.
///
/// # Errors
///
/// Why the message cannot be read, in words.
pub(crate) fn extract(
    view: &TypeView,
    payload: &[u8],
    options: JsonOptions,
) -> Result<Extracted, String> {
    let schema = view.schema.as_ref().map_err(Clone::clone)?;
    let limits = DecodeLimits { max_items: options.max_items };
    let mut writer = JsonWriter::new(options);
    let Some(shown) = &view.shown else {
        let value = decode(schema, payload, limits).map_err(|error| error.to_string())?;
        let value = writer.value(&value);
        return Ok(Extracted { value, notes: writer.notes });
    };
    // A slot a field, in the order of the configuration.
    let mut slots: Vec<Slot> = shown
        .fields
        .iter()
        .map(|(_, path)| {
            let is_list = path.segments().iter().any(|segment| segment.index == Index::Each);
            if is_list { Slot::Many(Vec::new()) } else { Slot::One(Json::Null) }
        })
        .collect();
    shown
        .plan
        .run_limited(payload, limits, |number, value| {
            let (Some((name, _)), Some(slot)) = (shown.fields.get(number), slots.get_mut(number))
            else {
                return;
            };
            let json = writer.named(name, &value);
            match slot {
                Slot::One(place) => *place = json,
                Slot::Many(items) => items.push(json),
            }
        })
        .map_err(|error| error.to_string())?;
    let mut map = Map::with_capacity(slots.len());
    for ((name, _), slot) in shown.fields.iter().zip(slots) {
        let json = match slot {
            Slot::One(json) => json,
            Slot::Many(items) => writer.collected(items),
        };
        map.insert(name.clone(), json);
    }
    let mut notes = writer.notes;
    if !shown.missing.is_empty() {
        notes.push(format!("this recording's type has no {}", shown.missing.join(", ")));
    }
    Ok(Extracted { value: Json::Object(map), notes })
}

enum Slot {
    One(Json),
    Many(Vec<Json>),
}

/// A whole message as JSON, whatever the configuration says of its type.
///
/// # Errors
///
/// Why the message cannot be read, in words.
pub fn full_message(view: &TypeView, payload: &[u8], options: JsonOptions) -> Result<Json, String> {
    let schema = view.schema.as_ref().map_err(Clone::clone)?;
    let limits = DecodeLimits { max_items: options.max_items };
    let value: Value<'_> = decode(schema, payload, limits).map_err(|error| error.to_string())?;
    Ok(JsonWriter::new(options).value(&value))
}
