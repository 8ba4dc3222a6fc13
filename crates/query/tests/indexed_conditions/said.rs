//! What a message says, as a plain value, with its bytes and with what stands at each path.

use std::fmt::Write;

use ros2_memory_testkit::payload::{ByteOrder, CdrWriter};
use serde_json::Value as Json;

/// The types that histories are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Type {
    Text,
    Stamped,
    Log,
    Seen,
    Float64,
    Float32,
    Int32,
    Bool,
    Battery,
    Twist,
    Odometry,
    Pose,
    Point,
}

/// One thing seen.
#[derive(Debug, Clone)]
pub(crate) struct Thing {
    pub(crate) label: String,
    pub(crate) score: f32,
    pub(crate) at_m: [f64; 3],
}

/// What one message says.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    Text(String),
    Stamped(String),
    Log { level: u8, name: String, msg: String },
    Seen { skill: String, things: Vec<Thing> },
    Float64(f64),
    Float32(f32),
    Int32(i32),
    Bool(bool),
    Battery { voltage: f32, current: f32, percentage: f32 },
    Twist { linear_x: f64, angular_z: f64 },
    Odometry { at_m: [f64; 3], linear_x: f64, angular_z: f64 },
    Pose { at_m: [f64; 3] },
    Point { at_m: [f64; 3] },
}

/// What stands at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'s> {
    Text(&'s str),
    Float64(f64),
    Float32(f32),
    Whole(i64),
    Flag(bool),
    Place([f64; 3]),
}

/// Of every log line.
const FILE: &str = "driver.cpp";
/// Of every log line.
const FUNCTION: &str = "spin";

const TIME: (&str, &str) = ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n");
const HEADER: (&str, &str) =
    ("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n");
const POINT: (&str, &str) = ("geometry_msgs/Point", "float64 x\nfloat64 y\nfloat64 z\n");
const VECTOR3: (&str, &str) = ("geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z\n");
const QUATERNION: (&str, &str) =
    ("geometry_msgs/Quaternion", "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n");
const POSE: (&str, &str) =
    ("geometry_msgs/Pose", "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n");
const TWIST: (&str, &str) =
    ("geometry_msgs/Twist", "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular\n");

impl Type {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Text => "std_msgs/msg/String",
            Self::Stamped => "ros2_vision_interfaces/msg/StampedString",
            Self::Log => "rcl_interfaces/msg/Log",
            Self::Seen => "ros2_vision_interfaces/msg/VisionDetectionArray",
            Self::Float64 => "std_msgs/msg/Float64",
            Self::Float32 => "std_msgs/msg/Float32",
            Self::Int32 => "std_msgs/msg/Int32",
            Self::Bool => "std_msgs/msg/Bool",
            Self::Battery => "sensor_msgs/msg/BatteryState",
            Self::Twist => "geometry_msgs/msg/Twist",
            Self::Odometry => "nav_msgs/msg/Odometry",
            Self::Pose => "geometry_msgs/msg/PoseStamped",
            Self::Point => "geometry_msgs/msg/PointStamped",
        }
    }

    /// The definition, with those of the types inside, in the `ros2msg` encoding.
    pub(crate) fn definition(self) -> String {
        let (own, inside): (&str, &[(&str, &str)]) = match self {
            Self::Text => ("string data\n", &[]),
            Self::Stamped => ("std_msgs/Header header\nstring data\n", &[HEADER, TIME]),
            Self::Log => (
                "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\n\
                 string file\nstring function\nuint32 line\n",
                &[TIME],
            ),
            Self::Seen => (
                "std_msgs/Header header\nstring skill\nVisionDetection[] detections\n",
                &[
                    (
                        "ros2_vision_interfaces/VisionDetection",
                        "string label\nfloat32 score\nint32[4] box\ngeometry_msgs/Point point\n\
                         bool has_point\nstring track_id\n",
                    ),
                    HEADER,
                    TIME,
                    POINT,
                ],
            ),
            Self::Float64 => ("float64 data\n", &[]),
            Self::Float32 => ("float32 data\n", &[]),
            Self::Int32 => ("int32 data\n", &[]),
            Self::Bool => ("bool data\n", &[]),
            Self::Battery => (
                "std_msgs/Header header\nfloat32 voltage\nfloat32 temperature\nfloat32 current\n\
                 float32 charge\nfloat32 capacity\nfloat32 design_capacity\nfloat32 percentage\n\
                 uint8 power_supply_status\nuint8 power_supply_health\n\
                 uint8 power_supply_technology\nbool present\nfloat32[] cell_voltage\n\
                 float32[] cell_temperature\nstring location\nstring serial_number\n",
                &[HEADER, TIME],
            ),
            Self::Twist => (TWIST.1, &[VECTOR3]),
            Self::Odometry => (
                "std_msgs/Header header\nstring child_frame_id\n\
                 geometry_msgs/PoseWithCovariance pose\ngeometry_msgs/TwistWithCovariance twist\n",
                &[
                    (
                        "geometry_msgs/PoseWithCovariance",
                        "geometry_msgs/Pose pose\nfloat64[36] covariance\n",
                    ),
                    (
                        "geometry_msgs/TwistWithCovariance",
                        "geometry_msgs/Twist twist\nfloat64[36] covariance\n",
                    ),
                    HEADER,
                    TIME,
                    POSE,
                    POINT,
                    QUATERNION,
                    TWIST,
                    VECTOR3,
                ],
            ),
            Self::Pose => (
                "std_msgs/Header header\ngeometry_msgs/Pose pose\n",
                &[HEADER, TIME, POSE, POINT, QUATERNION],
            ),
            Self::Point => {
                ("std_msgs/Header header\ngeometry_msgs/Point point\n", &[HEADER, TIME, POINT])
            }
        };
        let mut text = own.to_owned();
        for (name, fields) in inside {
            let line = "=".repeat(80);
            write!(text, "{line}\nMSG: {name}\n{fields}").unwrap();
        }
        text
    }
}

impl Said {
    /// The message as bytes.
    pub(crate) fn payload(&self, order: ByteOrder, stamp_ns: u64) -> Vec<u8> {
        let mut writer = CdrWriter::new(order);
        match self {
            Self::Text(text) => {
                writer.string(text);
            }
            Self::Stamped(text) => {
                writer.header(stamp_ns, "mic").string(text);
            }
            Self::Log { level, name, msg } => {
                writer.time_ns(stamp_ns).u8(*level).string(name).string(msg);
                writer.string(FILE).string(FUNCTION).u32(7);
            }
            Self::Seen { skill, things } => {
                writer.header(stamp_ns, "camera").string(skill).length(things.len());
                for thing in things {
                    writer.string(&thing.label).f32(thing.score).i32(1).i32(2).i32(3).i32(4);
                    numbers(&mut writer, &thing.at_m);
                    writer.bool(true).string("");
                }
            }
            Self::Float64(number) => {
                writer.f64(*number);
            }
            Self::Float32(number) => {
                writer.f32(*number);
            }
            Self::Int32(number) => {
                writer.i32(*number);
            }
            Self::Bool(flag) => {
                writer.bool(*flag);
            }
            Self::Battery { voltage, current, percentage } => {
                writer.header(stamp_ns, "").f32(*voltage).f32(21.0).f32(*current);
                writer.f32(1.0).f32(2.0).f32(3.0).f32(*percentage);
                writer.u8(1).u8(1).u8(2).bool(true).length(0).length(0).string("").string("");
            }
            Self::Twist { linear_x, angular_z } => twist(&mut writer, *linear_x, *angular_z),
            Self::Odometry { at_m, linear_x, angular_z } => {
                writer.header(stamp_ns, "odom").string("base_link");
                numbers(&mut writer, at_m);
                numbers(&mut writer, &[0.0, 0.0, 0.0, 1.0]);
                numbers(&mut writer, &[0.0; 36]);
                twist(&mut writer, *linear_x, *angular_z);
                numbers(&mut writer, &[0.0; 36]);
            }
            Self::Pose { at_m } => {
                writer.header(stamp_ns, "map");
                numbers(&mut writer, at_m);
                numbers(&mut writer, &[0.0, 0.0, 0.0, 1.0]);
            }
            Self::Point { at_m } => {
                writer.header(stamp_ns, "map");
                numbers(&mut writer, at_m);
            }
        }
        writer.finish()
    }

    /// What stands at a path of the message; empty for a path that its type does not have.
    pub(crate) fn at(&self, path: &str) -> Vec<Part<'_>> {
        let x = |at_m: &[f64; 3]| Part::Float64(at_m[0]);
        match (self, path) {
            (Self::Text(text) | Self::Stamped(text), "data") => vec![Part::Text(text)],
            (Self::Log { name, .. }, "name") => vec![Part::Text(name)],
            (Self::Log { msg, .. }, "msg") => vec![Part::Text(msg)],
            (Self::Log { .. }, "file") => vec![Part::Text(FILE)],
            (Self::Log { .. }, "function") => vec![Part::Text(FUNCTION)],
            (Self::Log { level, .. }, "level") => vec![Part::Whole((*level).into())],
            (Self::Seen { skill, .. }, "skill") => vec![Part::Text(skill)],
            (Self::Seen { things, .. }, "detections[].label") => {
                things.iter().map(|thing| Part::Text(&thing.label)).collect()
            }
            (Self::Seen { things, .. }, "detections[].score") => {
                things.iter().map(|thing| Part::Float32(thing.score)).collect()
            }
            (Self::Seen { things, .. }, "detections[].point") => {
                things.iter().map(|thing| Part::Place(thing.at_m)).collect()
            }
            (Self::Float64(number), "data") => vec![Part::Float64(*number)],
            (Self::Float32(number), "data") => vec![Part::Float32(*number)],
            (Self::Int32(number), "data") => vec![Part::Whole((*number).into())],
            (Self::Bool(flag), "data") => vec![Part::Flag(*flag)],
            (Self::Battery { voltage, .. }, "voltage") => vec![Part::Float32(*voltage)],
            (Self::Battery { current, .. }, "current") => vec![Part::Float32(*current)],
            (Self::Battery { percentage, .. }, "percentage") => vec![Part::Float32(*percentage)],
            (Self::Twist { linear_x, .. }, "linear.x")
            | (Self::Odometry { linear_x, .. }, "twist.twist.linear.x") => {
                vec![Part::Float64(*linear_x)]
            }
            (Self::Twist { angular_z, .. }, "angular.z")
            | (Self::Odometry { angular_z, .. }, "twist.twist.angular.z") => {
                vec![Part::Float64(*angular_z)]
            }
            (Self::Odometry { at_m, .. }, "pose.pose.position")
            | (Self::Pose { at_m }, "pose.position")
            | (Self::Point { at_m }, "point") => vec![Part::Place(*at_m)],
            (Self::Odometry { at_m, .. }, "pose.pose.position.x")
            | (Self::Pose { at_m }, "pose.position.x") => vec![x(at_m)],
            _ => Vec::new(),
        }
    }

    /// Whether the message of a reply may be this one: where it is one number, flag or plain text,
    /// that must be the same.
    pub(crate) fn may_be(&self, shown: &Json) -> bool {
        let shown = shown.get("value").unwrap_or(shown);
        match self {
            Self::Text(text) | Self::Stamped(text) if !text.contains('[') => {
                shown.as_str().is_none_or(|shown| shown == text)
            }
            Self::Float64(number) if number.is_finite() => shown.as_f64() == Some(*number),
            Self::Int32(number) => shown.as_i64() == Some((*number).into()),
            Self::Bool(flag) => shown.as_bool() == Some(*flag),
            _ => true,
        }
    }
}

fn numbers(writer: &mut CdrWriter, numbers: &[f64]) {
    for number in numbers {
        writer.f64(*number);
    }
}

fn twist(writer: &mut CdrWriter, linear_x: f64, angular_z: f64) {
    numbers(writer, &[linear_x, 0.0, 0.0, 0.0, 0.0, angular_z]);
}
