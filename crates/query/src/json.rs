//! Message values as plain JSON.

use ros2_memory_msg::{List, Primitive, Primitives, Scalar, Value, spread};
use ros2_memory_tf::Quaternion;
use serde_json::{Map, Number, Value as Json, json};

/// How values become JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonOptions {
    /// Longer arrays keep this many evenly spaced elements and end with a note.
    pub max_items: usize,
    /// Longer texts are cut.
    pub max_text_chars: usize,
    /// What becomes of byte arrays.
    pub bytes: BytesForm,
    /// Whether quaternions also get `roll_deg`, `pitch_deg` and `yaw_deg`.
    pub with_angles: bool,
}

/// What becomes of an array of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesForm {
    /// Its length.
    Length,
    /// Its numbers, as any other array.
    Numbers,
}

impl JsonOptions {
    /// Everything as it is.
    pub const FULL: Self = Self {
        max_items: usize::MAX,
        max_text_chars: usize::MAX,
        bytes: BytesForm::Numbers,
        with_angles: false,
    };
}

/// Arrays of at most this many bytes are identifiers, and are shown.
const SHORT_BYTES: usize = 16;
/// How many notes one message may carry.
const MAX_NOTES: usize = 10;

/// Turns values into JSON and gathers what must be said about them.
#[derive(Debug)]
pub(crate) struct JsonWriter {
    options: JsonOptions,
    /// The way to the value at hand, for the notes.
    path: String,
    pub(crate) notes: Vec<String>,
}

impl JsonWriter {
    pub(crate) fn new(options: JsonOptions) -> Self {
        Self { options, path: String::new(), notes: Vec::new() }
    }

    /// A value under a name, which notes about it begin with.
    pub(crate) fn named(&mut self, name: &str, value: &Value<'_>) -> Json {
        let len = self.path.len();
        if len > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let json = self.value(value);
        self.path.truncate(len);
        json
    }

    pub(crate) fn value(&mut self, value: &Value<'_>) -> Json {
        match value {
            Value::Absent => Json::Null,
            Value::Scalar(scalar) => scalar_json(*scalar).unwrap_or_else(|| {
                self.note(|path| format!("{path} is not a finite number, null here"));
                Json::Null
            }),
            Value::String(text) => Json::String(self.text(text)),
            Value::Primitives(numbers) => self.primitives(numbers),
            Value::List(list) => self.list(list),
            Value::Struct(fields) => self.structure(value, fields.iter()),
            Value::Object(object) => {
                self.structure(value, object.fields.iter().map(|(name, field)| (&**name, field)))
            }
        }
    }

    /// Values that a path with `[]` gave, as one array.
    pub(crate) fn collected(&mut self, items: Vec<Json>) -> Json {
        let total = items.len();
        if total <= self.options.max_items {
            return Json::Array(items);
        }
        let mut items: Vec<Option<Json>> = items.into_iter().map(Some).collect();
        let kept = spread(total, self.options.max_items)
            .filter_map(|i| items.get_mut(i).and_then(Option::take))
            .collect();
        thinned(kept, total)
    }

    fn structure<'v, 'a: 'v>(
        &mut self,
        value: &Value<'a>,
        fields: impl Iterator<Item = (&'v str, &'v Value<'a>)>,
    ) -> Json {
        let mut map: Map<String, Json> =
            fields.map(|(name, field)| (name.to_owned(), self.named(name, field))).collect();
        if self.options.with_angles
            && map.len() == 4
            && let Some(quaternion) = as_quaternion(value)
        {
            match quaternion.normalized() {
                Some(rotation) => {
                    let [roll, pitch, yaw] = rotation.to_rpy_rad().map(f64::to_degrees);
                    map.insert("roll_deg".into(), json!(roll));
                    map.insert("pitch_deg".into(), json!(pitch));
                    map.insert("yaw_deg".into(), json!(yaw));
                }
                None => self.note(|path| format!("{path} is no rotation, so it has no angles")),
            }
        }
        Json::Object(map)
    }

    fn list(&mut self, list: &List<'_>) -> Json {
        let len = self.path.len();
        self.path.push_str("[]");
        let kept: Vec<Json> = spread(list.items.len(), self.options.max_items)
            .filter_map(|i| list.items.get(i))
            .map(|item| self.value(item))
            .collect();
        self.path.truncate(len);
        if kept.len() < list.total { thinned(kept, list.total) } else { Json::Array(kept) }
    }

    fn primitives(&mut self, numbers: &Primitives<'_>) -> Json {
        let total = numbers.len();
        let is_long = total > SHORT_BYTES;
        if numbers.kind() == Primitive::U8 && is_long && self.options.bytes == BytesForm::Length {
            return json!({"bytes": total, "note": "bytes are not shown, only how many there are"});
        }
        let mut not_finite = 0usize;
        let kept: Vec<Json> = spread(total, self.options.max_items)
            .filter_map(|i| numbers.get(i))
            .map(|number| {
                scalar_json(number).unwrap_or_else(|| {
                    not_finite += 1;
                    Json::Null
                })
            })
            .collect();
        let shown = kept.len();
        if not_finite > 0 {
            self.note(|path| {
                format!("{path}: {not_finite} of the {shown} shown are not finite, null here")
            });
        }
        if shown < total { thinned(kept, total) } else { Json::Array(kept) }
    }

    fn text(&mut self, text: &str) -> String {
        let limit = self.options.max_text_chars;
        let is_long = text.len() > limit && text.chars().nth(limit).is_some();
        if !is_long {
            return text.to_owned();
        }
        let total = text.chars().count();
        self.note(|path| format!("{path}: the first {limit} of {total} characters"));
        text.chars().take(limit).collect()
    }

    fn note(&mut self, text: impl FnOnce(&str) -> String) {
        if self.notes.len() < MAX_NOTES {
            let path = if self.path.is_empty() { "the value" } else { &self.path };
            self.notes.push(text(path));
        }
    }
}

/// An array that leaves elements out: it ends with one element that says so.
pub(crate) fn thinned(mut kept: Vec<Json>, total: usize) -> Json {
    let returned = kept.len();
    kept.push(json!({
        "note": "evenly spaced elements of a longer array",
        "total": total,
        "returned": returned,
        "next": null,
    }));
    Json::Array(kept)
}

/// `None` for NaN and the infinities, which JSON cannot hold.
pub(crate) fn scalar_json(scalar: Scalar) -> Option<Json> {
    Some(match scalar {
        Scalar::Bool(flag) => Json::Bool(flag),
        Scalar::I64(n) => Json::Number(n.into()),
        Scalar::U64(n) => Json::Number(n.into()),
        // The shortest text of the single, so that 0.1 is not 0.10000000149.
        Scalar::F32(x) => Json::Number(Number::from_f64(x.to_string().parse().ok()?)?),
        Scalar::F64(x) => Json::Number(Number::from_f64(x)?),
    })
}

/// A value with numbers under the four names of a quaternion.
fn as_quaternion(value: &Value<'_>) -> Option<Quaternion> {
    let part = |name| value.field(name).and_then(Value::as_f64);
    Some(Quaternion { x: part("x")?, y: part("y")?, z: part("z")?, w: part("w")? })
}
