//! The messages of the world at one moment.

mod motion;
mod state;
mod vision;

use ros2_memory_time::{LogTime, NS_PER_S};

use crate::{
    events::{EstopChange, LogLine},
    number::{place, sequence},
    payload::Payload,
    scan::Scanner,
    source::Source,
    world::World,
};

/// The moment a message speaks about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Nanoseconds after the start of the history.
    pub(crate) at_ns: u64,
    /// The header stamp.
    pub(crate) stamp: LogTime,
    /// The message's number in its channel.
    pub(crate) k: u64,
}

/// Turns moments into payloads.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) scanner: Scanner,
    pub(crate) estop: Vec<EstopChange>,
    pub(crate) log: Vec<LogLine>,
}

impl Encoder {
    /// Writes a message; `capacity` is a guess at its length.
    pub(crate) fn payload(
        &self,
        world: &World,
        source: Source,
        moment: Moment,
        capacity: usize,
    ) -> Vec<u8> {
        let mut out = Payload::with_capacity(capacity);
        let event = place(moment.k);
        match source {
            Source::Odometry => motion::odometry(&mut out, world, moment),
            Source::OdomTransform => motion::odom_transform(&mut out, world, moment),
            Source::MapTransform => motion::map_transform(&mut out, moment),
            Source::CameraMount => motion::camera_mount(&mut out, moment),
            Source::LaserMount => motion::laser_mount(&mut out, moment),
            Source::Command => motion::command(&mut out, world, moment),
            Source::Scan => state::scan(&mut out, world, &self.scanner, moment),
            Source::Battery => state::battery(&mut out, world, moment),
            Source::Diagnostics => state::diagnostics(&mut out, world, moment),
            Source::Estop => out.bool(self.estop.get(event).is_some_and(|it| it.engaged)),
            Source::Log => {
                if let Some(line) = self.log.get(event) {
                    state::log_line(&mut out, line, moment);
                }
            }
            Source::Description => vision::description(&mut out, world, moment),
            Source::SceneObjects => vision::scene_objects(&mut out, world, moment),
            Source::Detections => vision::detections(&mut out, world, moment),
        }
        out.into_bytes()
    }
}

/// `builtin_interfaces/msg/Time`.
fn stamp(out: &mut Payload, at: LogTime) {
    out.i32(i32::try_from(at.as_ns() / NS_PER_S).unwrap_or(i32::MAX));
    out.u32(sequence(at.as_ns() % NS_PER_S));
}

/// `std_msgs/msg/Header`.
fn header(out: &mut Payload, moment: Moment, frame: &str) {
    stamp(out, moment.stamp);
    out.string(frame);
}
