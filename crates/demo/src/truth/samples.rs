use super::{PoseTruth, TransformTruth, VelocityTruth, collect::track};
use crate::{
    chance::Lane,
    geometry::Pose,
    history::{History, Track},
    number::float,
    plan::State,
    source::Source,
    timetable::{QUIET_NS, RASTER_NS},
    world::{CAMERA_M, CAMERA_PITCH_RAD, World},
};

const POSES: u64 = 50;
const EXACT_TRANSFORMS: u64 = 20;
const MIXED_TRANSFORMS: u64 = 10;

pub(super) fn poses(history: &History) -> Vec<PoseTruth> {
    asked_times(history, 1000).filter_map(|at_ns| pose_at(history, at_ns)).collect()
}

pub(super) fn velocities(history: &History) -> Vec<VelocityTruth> {
    asked_times(history, 2000)
        .filter_map(|at_ns| {
            let (log_time_ns, state) = odometry_at(history, at_ns)?;
            Some(VelocityTruth {
                asked_ns: history.time(at_ns).as_ns(),
                log_time_ns,
                linear_x_mps: state.speed_mps,
                angular_z_radps: state.turn_radps,
            })
        })
        .collect()
}

/// The `/odom` message logged at or before an offset.
pub(super) fn pose_at(history: &History, at_ns: u64) -> Option<PoseTruth> {
    let (log_time_ns, State { pose, .. }) = odometry_at(history, at_ns)?;
    Some(PoseTruth {
        asked_ns: history.time(at_ns).as_ns(),
        log_time_ns,
        x_m: pose.x_m,
        y_m: pose.y_m,
        yaw_deg: pose.yaw_rad.to_degrees(),
    })
}

pub(super) fn transforms(history: &History) -> Vec<TransformTruth> {
    let (Some(map), Some(odom)) =
        (track(history, Source::MapTransform), track(history, Source::OdomTransform))
    else {
        return Vec::new();
    };
    // Not the last message: a float may ask a little after its stamp.
    let choices = map.messages.saturating_sub(1);
    if choices == 0 {
        return Vec::new();
    }
    let world = history.world();
    let draw = |n, below| world.chance.below(Lane::Sample, n, below);
    let exact = (0..EXACT_TRANSFORMS).map(|n| {
        let at_ns = map.table.stamp_ns(draw(3000 + n, choices));
        let base = World::map_from_odom(at_ns).then(world.state(at_ns).pose);
        camera(history, at_ns, true, base)
    });
    let mixed = (0..MIXED_TRANSFORMS).map(|n| {
        let stamp_ns = map.table.stamp_ns(draw(4000 + n, choices));
        let at_ns = stamp_ns + 1_000_000 + draw(5000 + n, 998_000_000);
        let map_from_odom = between(map, at_ns, World::map_from_odom);
        let odom_from_base = between(odom, at_ns, |at_ns| world.state(at_ns).pose);
        camera(history, at_ns, false, map_from_odom.then(odom_from_base))
    });
    exact.chain(mixed).collect()
}

/// A time in the quiet end of the raster step around `at_ns`, where nothing is logged within a
/// millisecond.
pub(super) fn quiet_time(at_ns: u64, salt: u64) -> u64 {
    at_ns / RASTER_NS * RASTER_NS + QUIET_NS + salt % 50 * 60_013
}

/// One of the times `0..below_ns`; 0 when there is none.
pub(super) fn random_time(history: &History, n: u64, below_ns: u64) -> u64 {
    history.world().chance.below(Lane::Sample, n, below_ns)
}

/// The messages on both sides of a stamp, blended.
fn between(track: &Track, at_ns: u64, pose: impl Fn(u64) -> Pose) -> Pose {
    let (mut low, mut high) = (0, track.messages.saturating_sub(1));
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        if track.table.stamp_ns(middle) <= at_ns { low = middle } else { high = middle }
    }
    let (from_ns, to_ns) = (track.table.stamp_ns(low), track.table.stamp_ns(high));
    let part = float(at_ns.saturating_sub(from_ns)) / float(to_ns.saturating_sub(from_ns).max(1));
    pose(from_ns).towards(pose(to_ns), part)
}

/// The camera's pose: the robot's, then 15 cm ahead and a pitch.
fn camera(history: &History, at_ns: u64, exact: bool, map_from_base: Pose) -> TransformTruth {
    let (x_m, y_m) = map_from_base.apply(CAMERA_M[0], CAMERA_M[1]);
    let (sin_yaw, cos_yaw) = (0.5 * map_from_base.yaw_rad).sin_cos();
    let (sin_pitch, cos_pitch) = (0.5 * CAMERA_PITCH_RAD).sin_cos();
    TransformTruth {
        asked_ns: history.time(at_ns).as_ns(),
        exact,
        translation_m: [x_m, y_m, CAMERA_M[2]],
        rotation: [
            -sin_yaw * sin_pitch,
            cos_yaw * sin_pitch,
            sin_yaw * cos_pitch,
            cos_yaw * cos_pitch,
        ],
        yaw_deg: map_from_base.yaw_rad.to_degrees(),
    }
}

fn odometry_at(history: &History, at_ns: u64) -> Option<(u64, State)> {
    let odometry = track(history, Source::Odometry)?;
    let after = odometry.table.first_from(at_ns + 1).min(odometry.messages);
    let k = after.checked_sub(1)?;
    let state = history.world().state(odometry.table.stamp_ns(k));
    Some((history.time(odometry.table.log_ns(k)).as_ns(), state))
}

fn asked_times(history: &History, lane: u64) -> impl Iterator<Item = u64> {
    let duration_ns = history.world().duration_ns;
    (0..POSES).map(move |n| quiet_time(random_time(history, lane + n, duration_ns), n))
}
