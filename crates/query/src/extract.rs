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
            let is_list =
                path.segments().iter().any(|segment| segment.indices.contains(&Index::Each));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ros2_memory_bag::{Channel, Declarations, Schema as SchemaText};
    use ros2_memory_cdr::{Encoding, Writer};
    use ros2_memory_msg::{Library, Primitive, Scalar};
    use serde_json::json;

    use super::*;
    use crate::{BytesForm, SchemaMap, TypeCache, TypePaths};

    const OPTIONS: JsonOptions = JsonOptions {
        max_items: 4,
        max_text_chars: 10,
        bytes: BytesForm::Length,
        with_angles: true,
    };

    fn view(text: &str, message_encoding: &str, paths: &[(&str, &str)]) -> Arc<TypeView> {
        let mut map = SchemaMap::default();
        let fields =
            paths.iter().map(|(name, path)| ((*name).to_owned(), path.parse().unwrap())).collect();
        map.insert("p/msg/T", TypePaths { fields, ..TypePaths::default() });
        let schema = SchemaText {
            id: 1,
            name: "p/msg/T".into(),
            encoding: "ros2msg".into(),
            text: text.as_bytes().into(),
        };
        let channel = Channel {
            id: 1,
            topic: "/t".into(),
            schema: Some(0),
            message_encoding: message_encoding.into(),
            offered_qos_profiles: "".into(),
        };
        let declared = Declarations {
            schemas: vec![schema],
            channels: vec![channel.clone()],
            ..Declarations::default()
        };
        TypeCache::new(Arc::new(Library::new()), map).view(&declared, &channel)
    }

    fn doubles(writer: &mut Writer, values: &[f64]) {
        for x in values {
            writer.scalar(Scalar::F64(*x), Primitive::F64);
        }
    }

    #[test]
    fn long_arrays_are_thinned_and_numbers_that_are_none_are_null() {
        let view = view("float64[] ranges\nuint8[] image\nstring text", "cdr", &[]);
        let mut w = Writer::new(Encoding::XCDR1_LE);
        w.sequence_len(7);
        doubles(&mut w, &[f64::NAN, 1.0, 2.0, f64::INFINITY, 4.0, 5.0, 6.5]);
        w.sequence_len(1000);
        (0..1000).for_each(|_| w.scalar(Scalar::U64(1), Primitive::U8));
        w.string("0123456789abcdef");
        let shown = extract(&view, &w.into_payload(), OPTIONS).unwrap();
        let end = json!({
            "note": "evenly spaced elements of a longer array",
            "total": 7, "returned": 4, "next": null,
        });
        assert_eq!(shown.value["ranges"], json!([null, 2.0, 4.0, 6.5, end]));
        assert_eq!(shown.value["image"]["bytes"], 1000);
        assert_eq!(shown.value["text"], "0123456789");
        assert_eq!(
            shown.notes,
            [
                "ranges: 1 of the 4 shown are not finite, null here",
                "text: the first 10 of 16 characters"
            ]
        );
    }

    #[test]
    fn configured_fields_come_in_their_order_and_missing_ones_are_named() {
        let text = "float64 a\nfloat64[3] b\nQ q\n\
                    ================================================================================\n\
                    MSG: p/Q\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w";
        let paths = [("turn", "q"), ("second", "b[1]"), ("gone", "c"), ("all", "b[]"), ("a", "a")];
        let view = view(text, "cdr", &paths);
        let mut w = Writer::new(Encoding::XCDR1_LE);
        doubles(&mut w, &[1.5, 10.0, 20.0, 30.0, 0.0, 0.0, 1.0, 0.0]);
        let shown = extract(&view, &w.into_payload(), OPTIONS).unwrap();
        let keys: Vec<_> = shown.value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["turn", "second", "all", "a"]);
        assert_eq!(shown.value["turn"]["yaw_deg"], 180.0);
        assert_eq!(shown.value["second"], 20.0);
        assert_eq!(shown.value["all"], json!([10.0, 20.0, 30.0]));
        assert_eq!(shown.notes, ["this recording's type has no gone"]);
    }

    #[test]
    fn br_149_a_quaternion_of_zeros_has_no_angles_and_says_so() {
        let view = view("float64 x\nfloat64 y\nfloat64 z\nfloat64 w", "cdr", &[]);
        let mut w = Writer::new(Encoding::XCDR1_LE);
        doubles(&mut w, &[0.0; 4]);
        let shown = extract(&view, &w.into_payload(), OPTIONS).unwrap();
        assert_eq!(shown.value, json!({"x": 0.0, "y": 0.0, "z": 0.0, "w": 0.0}));
        assert_eq!(shown.notes, ["the value is no rotation, so it has no angles"]);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let protobuf = view("", "protobuf", &[]);
        let reason = extract(&protobuf, &[], OPTIONS).unwrap_err();
        assert_eq!(reason, "message encoding \"protobuf\" is not supported");
        let cut = view("float64 x", "cdr", &[]);
        let reason = extract(&cut, &[0, 1, 0, 0, 1], OPTIONS).unwrap_err();
        assert_eq!(reason, "p/msg/T, field x: at byte 4: 8 bytes needed, 1 left");
    }

    #[test]
    fn singles_keep_the_digits_that_they_were_written_with() {
        let view = view("float32 x", "cdr", &[]);
        let mut w = Writer::new(Encoding::XCDR1_LE);
        w.scalar(Scalar::F32(0.1), Primitive::F32);
        let shown = extract(&view, &w.into_payload(), OPTIONS).unwrap();
        assert_eq!(shown.value.to_string(), r#"{"x":0.1}"#);
    }
}
