use super::{Moment, header};
use crate::{
    geometry::Pose,
    payload::Payload,
    world::{CAMERA_M, CAMERA_PITCH_RAD, LASER_M, World},
};

/// A row-major 6x6 covariance with these variances on its diagonal.
const fn diagonal(variances: [f64; 6]) -> [f64; 36] {
    let [x, y, z, roll, pitch, yaw] = variances;
    let mut all = [0.0; 36];
    all[0] = x;
    all[7] = y;
    all[14] = z;
    all[21] = roll;
    all[28] = pitch;
    all[35] = yaw;
    all
}

const POSE_COVARIANCE: [f64; 36] = diagonal([1e-3, 1e-3, 1e-6, 1e-6, 1e-6, 5e-3]);
const TWIST_COVARIANCE: [f64; 36] = diagonal([4e-4, 1e-6, 1e-6, 1e-6, 1e-6, 2e-3]);

/// `nav_msgs/msg/Odometry`; the twist is in the child frame.
pub(super) fn odometry(out: &mut Payload, world: &World, moment: Moment) {
    let state = world.state(moment.at_ns);
    header(out, moment, "odom");
    out.string("base_link");
    pose(out, state.pose);
    out.f64s(&POSE_COVARIANCE);
    twist(out, state.speed_mps, state.turn_radps);
    out.f64s(&TWIST_COVARIANCE);
}

/// `geometry_msgs/msg/Twist`.
pub(super) fn command(out: &mut Payload, world: &World, moment: Moment) {
    let state = world.state(moment.at_ns);
    twist(out, state.speed_mps, state.turn_radps);
}

/// `tf2_msgs/msg/TFMessage`: the robot in the odometry frame.
pub(super) fn odom_transform(out: &mut Payload, world: &World, moment: Moment) {
    edge(out, moment, "odom", "base_link");
    pose(out, world.state(moment.at_ns).pose);
}

/// `tf2_msgs/msg/TFMessage`: the drift of odometry.
pub(super) fn map_transform(out: &mut Payload, moment: Moment) {
    edge(out, moment, "map", "odom");
    pose(out, World::map_from_odom(moment.at_ns));
}

/// `tf2_msgs/msg/TFMessage`: where the camera is mounted.
pub(super) fn camera_mount(out: &mut Payload, moment: Moment) {
    let (sin, cos) = (0.5 * CAMERA_PITCH_RAD).sin_cos();
    edge(out, moment, "base_link", "camera_link");
    out.f64s(&CAMERA_M);
    out.f64s(&[0.0, sin, 0.0, cos]);
}

/// `tf2_msgs/msg/TFMessage`: where the laser is mounted.
pub(super) fn laser_mount(out: &mut Payload, moment: Moment) {
    edge(out, moment, "base_link", "laser");
    out.f64s(&LASER_M);
    out.f64s(&[0.0, 0.0, 0.0, 1.0]);
}

/// A message of one transform up to its transform.
fn edge(out: &mut Payload, moment: Moment, parent: &str, child: &str) {
    out.length(1);
    header(out, moment, parent);
    out.string(child);
}

/// `geometry_msgs/msg/Pose`, or `Transform`, which is laid out the same.
fn pose(out: &mut Payload, pose: Pose) {
    let (sin, cos) = (0.5 * pose.yaw_rad).sin_cos();
    out.f64s(&[pose.x_m, pose.y_m, 0.0, 0.0, 0.0, sin, cos]);
}

fn twist(out: &mut Payload, speed_mps: f64, turn_radps: f64) {
    out.f64s(&[speed_mps, 0.0, 0.0, 0.0, 0.0, turn_radps]);
}
