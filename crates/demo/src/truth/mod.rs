//! What really happened, in a form that can be kept as JSON beside a recording.
//!
//! All times are absolute nanoseconds. "Asked" times lie at least a millisecond away from every
//! log time, so that a question put in floating-point seconds has the same answer.

mod collect;
mod labels;
mod route;
mod samples;

use serde::{Deserialize, Serialize};

/// All that is known of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// The start of the history.
    pub start_ns: u64,
    /// The end of the history; nothing is logged at or after it.
    pub end_ns: u64,
    /// Per topic, in the order of their first channel.
    pub topics: Vec<TopicTruth>,
    /// The whole history first, then 19 windows of 10 s to an hour.
    pub windows: Vec<WindowTruth>,
    /// Where the robot was according to `/odom`.
    pub poses: Vec<PoseTruth>,
    /// How it moved according to `/odom`.
    pub velocities: Vec<VelocityTruth>,
    /// The camera in the map.
    pub transforms: Vec<TransformTruth>,
    /// Every label there is, and `unicorn`, by name.
    pub labels: Vec<LabelTruth>,
    /// Where things stand; people and cats are not among them.
    pub objects: Vec<ObjectTruth>,
    /// The motor fault.
    pub fault: FaultTruth,
    /// The last `/estop` message with `true`.
    pub last_estop_true_ns: Option<u64>,
    /// Descriptions that contain "path is clear".
    pub path_clear: Seen,
    /// Descriptions that contain "path is blocked".
    pub path_blocked: Seen,
    /// When the robot was last near some points.
    pub near: Vec<NearTruth>,
}

/// One topic, all its channels together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicTruth {
    /// The topic's name.
    pub topic: String,
    /// The full type name.
    pub type_name: String,
    /// How many messages it has.
    pub count: u64,
    /// The log time of the first.
    pub first_ns: Option<u64>,
    /// The log time of the last.
    pub last_ns: Option<u64>,
}

/// The way driven between two times, both inclusive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowTruth {
    /// The beginning.
    pub start_ns: u64,
    /// The end.
    pub end_ns: u64,
    /// `/odom` messages with a log time inside.
    pub messages: u64,
    /// The sum of the distances between consecutive ones.
    pub distance_m: f64,
    /// The greatest speed among their twists.
    pub max_twist_mps: f64,
    /// The greatest distance of consecutive ones over the difference of their log times: above
    /// the true speed, since log times jitter.
    pub max_step_mps: f64,
}

/// The `/odom` message at or before a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoseTruth {
    /// The time.
    pub asked_ns: u64,
    /// The message's log time.
    pub log_time_ns: u64,
    /// Position in the odometry frame.
    pub x_m: f64,
    /// Position in the odometry frame.
    pub y_m: f64,
    /// Heading, between -180 and 180.
    pub yaw_deg: f64,
}

/// The twist in the `/odom` message at or before a time, in the base frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VelocityTruth {
    /// The time.
    pub asked_ns: u64,
    /// The message's log time.
    pub log_time_ns: u64,
    /// Forward speed; the other two are zero.
    pub linear_x_mps: f64,
    /// Turning about the vertical axis; the other two are zero.
    pub angular_z_radps: f64,
}

/// The pose of `camera_link` in `map` at a time of header stamps.
///
/// `exact` ones are at stamps that both `map` to `odom` and `odom` to `base_link` were published
/// with. Between stamps each edge is interpolated on its own between its neighbouring samples:
/// the translation linearly, the rotation over the shorter arc at constant rate (slerp); then
/// the edges are composed. That is what tf2 does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransformTruth {
    /// The time, by header stamps.
    pub asked_ns: u64,
    /// Whether it is a stamp of both moving edges.
    pub exact: bool,
    /// x, y, z.
    pub translation_m: [f64; 3],
    /// x, y, z, w.
    pub rotation: [f64; 4],
    /// Heading, between -180 and 180.
    pub yaw_deg: f64,
}

/// First, last and number of some messages, by log time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seen {
    /// How many messages.
    pub messages: u64,
    /// The first one's log time.
    pub first_ns: Option<u64>,
    /// The last one's log time.
    pub last_ns: Option<u64>,
}

/// When a label was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelTruth {
    /// The label.
    pub label: String,
    /// Messages of `/vision/scene/scene_objects` with it.
    pub scene_objects: Seen,
    /// Messages of `/vision/find_object/detections_meta` with it.
    pub detections_meta: Seen,
    /// Detections in the latter; above its messages when two things of one label are in view.
    pub detections: u64,
    /// The `/odom` message at or before the last of `scene_objects`.
    pub pose_when_last_seen: Option<PoseTruth>,
}

/// Where a thing stands in the map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectTruth {
    /// Its label; several things may share one.
    pub label: String,
    /// The room it stands in.
    pub room: String,
    /// Its identity in `detections_meta`.
    pub track_id: String,
    /// Position in the map.
    pub x_m: f64,
    /// Position in the map.
    pub y_m: f64,
    /// Height above the floor.
    pub z_m: f64,
}

/// The fault of `base/motor_left`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultTruth {
    /// When the motor failed and the robot braked.
    pub start_ns: u64,
    /// When it worked again.
    pub end_ns: u64,
    /// The `name` of the status in `/diagnostics`.
    pub name: String,
    /// The manufacturer's code, part of the message.
    pub code: String,
    /// The `message` in `/diagnostics`, the `msg` in `/rosout`.
    pub message: String,
    /// `/diagnostics` messages with level ERROR.
    pub diagnostics: Seen,
    /// `/rosout` lines with level ERROR.
    pub log_lines: Seen,
    /// `/estop` messages with `true`.
    pub estop: Seen,
    /// The `/estop` message that released it.
    pub released_ns: Option<u64>,
}

/// When the robot was last within a distance of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NearTruth {
    /// The point in the odometry frame.
    pub x_m: f64,
    /// The point in the odometry frame.
    pub y_m: f64,
    /// The distance, inclusive.
    pub tolerance_m: f64,
    /// The log time of the last `/odom` message there; none if it never was.
    pub log_time_ns: Option<u64>,
}

impl Seen {
    /// Counts one more message, later than all before.
    fn add(&mut self, log_time_ns: u64) {
        self.messages += 1;
        self.first_ns.get_or_insert(log_time_ns);
        self.last_ns = Some(log_time_ns);
    }
}
