//! What a test message says, in plain form, with its definition and its payload.
//!
//! Each content carries a serial number that is its own in the whole set (a truth value cannot),
//! in a place that survives extraction, so that a reply shows which of several messages of one
//! moment it took.

use serde_json::Value;

use crate::payload::{ByteOrder, CdrWriter};

/// The types that random sets are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `std_msgs/msg/String`.
    Text,
    /// `std_msgs/msg/Float64`.
    Number,
    /// `std_msgs/msg/Bool`.
    Flag,
    /// `geometry_msgs/msg/PointStamped`.
    Point,
    /// `ros2_vision_interfaces/msg/VisionDetectionArray`.
    Detections,
    /// `warehouse_msgs/msg/Inventory`, a type that no configuration knows.
    Inventory,
}

/// A place in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// Metres along the first axis.
    pub x: f64,
    /// Metres along the second axis.
    pub y: f64,
    /// Metres along the third axis.
    pub z: f64,
}

/// One thing seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// What it is.
    pub label: String,
    /// Where it is.
    pub place: Place,
}

/// One line of an inventory.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it is.
    pub label: String,
    /// How heavy each piece is; any number of them.
    pub weights: Vec<f64>,
}

/// What one message says.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Holds `#<serial>`, as running text or as the last item of a JSON list.
    Text(String),
    /// Unique in its set.
    Number(f64),
    /// The one content without a serial.
    Flag(bool),
    /// `header.frame_id` is `s<serial>`.
    Point {
        /// Unique in its set.
        serial: u64,
        /// May hold NaN and infinities.
        place: Place,
    },
    /// `skill` is `s<serial>`.
    Detections {
        /// Unique in its set.
        serial: u64,
        /// None to a few.
        seen: Vec<Detection>,
    },
    /// `serial` is `s<serial>`.
    Inventory {
        /// Unique in its set.
        serial: u64,
        /// None to a few.
        items: Vec<Item>,
    },
}

const STRING: &str = "string data\n";
const FLOAT64: &str = "float64 data\n";
const BOOL: &str = "bool data\n";
const POINT_STAMPED: &str = "# A point with a frame and a time
std_msgs/Header header
Point point
================================================================================
MSG: geometry_msgs/Point
float64 x
float64 y
float64 z
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
";
const DETECTIONS: &str = "std_msgs/Header header
string skill
VisionDetection[] detections
================================================================================
MSG: ros2_vision_interfaces/VisionDetection
string label
float32 score
int32[4] box
geometry_msgs/Point point
bool has_point
string track_id
================================================================================
MSG: geometry_msgs/Point
float64 x
float64 y
float64 z
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
";
const INVENTORY: &str = "uint8 EMPTY=0
uint8 shelf
string serial
Item[] items
================================================================================
MSG: warehouse_msgs/Item
int16[3] code
string label
float64[] weights
bool fragile
";

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Text, Self::Number, Self::Flag, Self::Point, Self::Detections, Self::Inventory];

    /// The full name of the type.
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::Text => "std_msgs/msg/String",
            Self::Number => "std_msgs/msg/Float64",
            Self::Flag => "std_msgs/msg/Bool",
            Self::Point => "geometry_msgs/msg/PointStamped",
            Self::Detections => "ros2_vision_interfaces/msg/VisionDetectionArray",
            Self::Inventory => "warehouse_msgs/msg/Inventory",
        }
    }

    /// The definition, with those of the types inside, in the `ros2msg` encoding.
    pub const fn definition(self) -> &'static str {
        match self {
            Self::Text => STRING,
            Self::Number => FLOAT64,
            Self::Flag => BOOL,
            Self::Point => POINT_STAMPED,
            Self::Detections => DETECTIONS,
            Self::Inventory => INVENTORY,
        }
    }
}

impl Content {
    /// The message as bytes; `stamp_ns` goes into the header of the types that have one.
    pub fn payload(&self, order: ByteOrder, stamp_ns: u64) -> Vec<u8> {
        let mut writer = CdrWriter::new(order);
        match self {
            Self::Text(text) => {
                writer.string(text);
            }
            Self::Number(number) => {
                writer.f64(*number);
            }
            Self::Flag(flag) => {
                writer.bool(*flag);
            }
            Self::Point { serial, place } => {
                writer.header(stamp_ns, &frame_of(*serial));
                write_place(&mut writer, *place);
            }
            Self::Detections { serial, seen } => {
                writer.header(stamp_ns, "camera").string(&frame_of(*serial)).length(seen.len());
                for detection in seen {
                    writer.string(&detection.label).f32(0.5);
                    writer.i32(1).i32(2).i32(3).i32(4);
                    write_place(&mut writer, detection.place);
                    writer.bool(true).string("");
                }
            }
            Self::Inventory { serial, items } => {
                writer.u8(3).string(&frame_of(*serial)).length(items.len());
                for item in items {
                    writer.i16(-1).i16(2).i16(-3).string(&item.label).length(item.weights.len());
                    for weight in &item.weights {
                        writer.f64(*weight);
                    }
                    writer.bool(false);
                }
            }
        }
        writer.finish()
    }

    /// Whether `value`, an extracted message of a reply, shows this content, wherever in it.
    pub fn is_shown_in(&self, value: &Value) -> bool {
        match self {
            Self::Text(text) => {
                let serial = text.rsplit('#').next().unwrap_or_default();
                let digits: String = serial.chars().take_while(char::is_ascii_digit).collect();
                shows_serial(value, &digits)
            }
            Self::Number(number) => shows_number(value, *number),
            Self::Flag(flag) => any_leaf(value, &|leaf| leaf.as_bool() == Some(*flag)),
            Self::Point { serial, place } => {
                shows_text(value, &frame_of(*serial))
                    && [place.x, place.y, place.z]
                        .into_iter()
                        .filter(|number| number.is_finite())
                        .all(|number| shows_number(value, number))
            }
            Self::Detections { serial, seen } => {
                shows_text(value, &frame_of(*serial))
                    && seen.iter().all(|detection| shows_text(value, &detection.label))
            }
            Self::Inventory { serial, items } => {
                shows_text(value, &frame_of(*serial))
                    && items.iter().all(|item| {
                        shows_text(value, &item.label)
                            && item.weights.iter().all(|weight| shows_number(value, *weight))
                    })
            }
        }
    }
}

/// The text that carries a serial in the types that have a name of some sort.
pub fn frame_of(serial: u64) -> String {
    format!("s{serial}")
}

fn write_place(writer: &mut CdrWriter, place: Place) {
    writer.f64(place.x).f64(place.y).f64(place.z);
}

fn shows_text(value: &Value, text: &str) -> bool {
    any_leaf(value, &|leaf| leaf.as_str() == Some(text))
}

fn shows_number(value: &Value, number: f64) -> bool {
    any_leaf(value, &|leaf| leaf.as_f64() == Some(number))
}

/// Whether a string in `value` holds `#<digits>` that does not go on with another digit.
fn shows_serial(value: &Value, digits: &str) -> bool {
    let mark = format!("#{digits}");
    any_leaf(value, &|leaf| {
        leaf.as_str().is_some_and(|text| {
            text.match_indices(&mark).any(|(at, _)| {
                let rest = text.get(at + mark.len()..).unwrap_or_default();
                !rest.starts_with(|c: char| c.is_ascii_digit())
            })
        })
    })
}

fn any_leaf(value: &Value, wanted: &dyn Fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any_leaf(item, wanted)),
        Value::Object(fields) => fields.values().any(|field| any_leaf(field, wanted)),
        leaf => wanted(leaf),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_serial_is_not_found_in_a_longer_one() {
        let content = Content::Text("a cup #12".into());
        assert!(content.is_shown_in(&json!({"value": "a cup #12"})));
        assert!(content.is_shown_in(&json!({"value": ["a cup", "#12"]})));
        assert!(!content.is_shown_in(&json!({"value": "a cup #123"})));
        assert!(!content.is_shown_in(&json!({"value": "a cup #1"})));
    }

    #[test]
    fn a_point_shows_its_frame_and_its_finite_numbers() {
        let place = Place { x: 1.5, y: f64::NAN, z: -2.0 };
        let content = Content::Point { serial: 4, place };
        let dump =
            |x: f64| json!({"header": {"frame_id": "s4"}, "point": {"x": x, "y": null, "z": -2}});
        assert!(content.is_shown_in(&dump(1.5)));
        assert!(!content.is_shown_in(&dump(1.25)));
    }

    #[test]
    fn a_detection_is_laid_out_as_its_definition_says() {
        let place = Place { x: 1.0, y: 0.0, z: 0.0 };
        let content =
            Content::Detections { serial: 1, seen: vec![Detection { label: "cup".into(), place }] };
        let bytes = content.payload(ByteOrder::Little, 0);
        // Header 8 + "camera" 4+7, pad 1, "s1" 4+3, pad 1, count 4, "cup" 4+4, score 4, box 16,
        // pad 0: the point is at 60 rounded up to 64.
        assert_eq!(bytes[4 + 64..4 + 72], 1.0_f64.to_le_bytes());
        // After the point: the truth value, pad 3, the empty string.
        assert_eq!(bytes[4 + 88..], [1, 0, 0, 0, 1, 0, 0, 0, 0]);
    }
}
