//! The messages of the recordings as types of Rust, for the peer, which fills whole messages.
//!
//! The peer lends no strings, so they are owned.

use serde::Deserialize;

/// Three numbers under the names x, y and z.
pub type Vector = [f64; 3];
/// A row-major matrix of six by six.
pub type Covariance = [[f64; 6]; 6];

/// `std_msgs/msg/Header`.
#[derive(Debug, Clone, Deserialize)]
pub struct Header {
    /// Seconds and nanoseconds.
    pub stamp: (i32, u32),
    /// The frame of the data.
    pub frame_id: String,
}

/// `nav_msgs/msg/Odometry`.
#[derive(Debug, Clone, Deserialize)]
pub struct Odometry {
    /// When, and the frame of the pose.
    pub header: Header,
    /// The frame of the twist.
    pub child_frame_id: String,
    /// Where.
    pub pose: Pose,
    /// The covariance of the pose.
    pub pose_covariance: Covariance,
    /// How fast.
    pub twist: Twist,
    /// The covariance of the twist.
    pub twist_covariance: Covariance,
}

/// `geometry_msgs/msg/Pose`, and `Transform`, which is laid out the same.
#[derive(Debug, Clone, Deserialize)]
pub struct Pose {
    /// Place or translation.
    pub position: Vector,
    /// A quaternion.
    pub orientation: [f64; 4],
}

/// `geometry_msgs/msg/Twist`.
#[derive(Debug, Clone, Deserialize)]
pub struct Twist {
    /// Metres per second.
    pub linear: Vector,
    /// Radians per second.
    pub angular: Vector,
}

/// `tf2_msgs/msg/TFMessage`.
#[derive(Debug, Clone, Deserialize)]
pub struct Transforms {
    /// The edges.
    pub transforms: Vec<Edge>,
}

/// `geometry_msgs/msg/TransformStamped`.
#[derive(Debug, Clone, Deserialize)]
pub struct Edge {
    /// When, and the parent frame.
    pub header: Header,
    /// The child frame.
    pub child_frame_id: String,
    /// From the parent to the child.
    pub transform: Pose,
}

/// `ros2_vision_interfaces/msg/StampedString`.
#[derive(Debug, Clone, Deserialize)]
pub struct StampedString {
    /// When.
    pub header: Header,
    /// The text.
    pub data: String,
}

/// `ros2_vision_interfaces/msg/VisionDetectionArray` of detections `D`.
#[derive(Debug, Clone, Deserialize)]
pub struct Detections<D> {
    /// When.
    pub header: Header,
    /// What detected them.
    pub skill: String,
    /// The objects.
    pub detections: Vec<D>,
}

/// `ros2_vision_interfaces/msg/VisionDetection` in its short form.
#[derive(Debug, Clone, Deserialize)]
pub struct Detection {
    /// What it is.
    pub label: String,
    /// How certain.
    pub score: f32,
    /// Left, top, right, bottom.
    pub pixels: [i32; 4],
    /// Where.
    pub point: Vector,
}

/// `ros2_vision_interfaces/msg/VisionDetection` as the demo has it.
#[derive(Debug, Clone, Deserialize)]
pub struct TrackedDetection {
    /// The fields of the short form.
    pub detection: Detection,
    /// Whether the point means something.
    pub has_point: bool,
    /// Which of the objects with this label.
    pub track_id: String,
}

/// `sensor_msgs/msg/Imu`.
#[derive(Debug, Clone, Deserialize)]
pub struct Imu {
    /// When.
    pub header: Header,
    /// A quaternion, and its covariance.
    pub orientation: ([f64; 4], [f64; 9]),
    /// Radians per second, and their covariance.
    pub angular_velocity: (Vector, [f64; 9]),
    /// Metres per second squared, and their covariance.
    pub linear_acceleration: (Vector, [f64; 9]),
}

/// `sensor_msgs/msg/PointCloud2`.
#[derive(Debug, Clone, Deserialize)]
pub struct PointCloud {
    /// When.
    pub header: Header,
    /// Rows and columns.
    pub size: (u32, u32),
    /// Name, offset, type and count of what a point has.
    pub fields: Vec<(String, u32, u8, u32)>,
    /// Whether the data is big-endian.
    pub is_bigendian: bool,
    /// The bytes of a point and of a row.
    pub steps: (u32, u32),
    /// The points.
    pub data: Vec<u8>,
    /// Whether each is valid.
    pub is_dense: bool,
}
