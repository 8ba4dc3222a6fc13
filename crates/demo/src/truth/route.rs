use ros2_memory_time::NS_PER_S;

use super::{
    NearTruth, WindowTruth,
    collect::messages,
    samples::{quiet_time, random_time},
};
use crate::{
    apartment::{ROOMS, door, spot},
    geometry::distance,
    history::History,
    number::seconds,
    source::Source,
};

/// Windows by length in seconds, and how many of each beside the whole history.
const WINDOWS: [(u64, u64); 4] = [(10, 6), (60, 6), (600, 5), (3600, 2)];
const TOLERANCE_M: f64 = 0.5;
/// A point outside the building.
const NOWHERE_M: (f64, f64) = (100.0, 100.0);

/// Follows the robot from first to last `/odom` message once, for all sums along its way.
pub(super) fn follow(history: &History) -> (Vec<WindowTruth>, Vec<NearTruth>) {
    let mut windows = windows(history);
    let mut near = points();
    let mut before: Option<(u64, f64, f64)> = None;
    for (at_ns, log_ns, _) in messages(history, Source::Odometry) {
        let state = history.world().state(at_ns);
        let (x_m, y_m) = (state.pose.x_m, state.pose.y_m);
        for point in &mut near {
            if distance(point.x_m, point.y_m, x_m, y_m) <= TOLERANCE_M {
                point.log_time_ns = Some(log_ns);
            }
        }
        let step = before.map(|(then_ns, x, y)| (then_ns, distance(x, y, x_m, y_m)));
        for window in &mut windows {
            if !(window.start_ns..=window.end_ns).contains(&log_ns) {
                continue;
            }
            window.messages += 1;
            window.max_twist_mps = window.max_twist_mps.max(state.speed_mps);
            if let Some((then_ns, step_m)) = step.filter(|(then_ns, _)| *then_ns >= window.start_ns)
            {
                window.distance_m += step_m;
                let step_mps = step_m / seconds(log_ns - then_ns);
                window.max_step_mps = window.max_step_mps.max(step_mps);
            }
        }
        before = Some((log_ns, x_m, y_m));
    }
    (windows, near)
}

/// Windows of fixed length at random places; the first 60 s window spans the fault's start.
fn windows(history: &History) -> Vec<WindowTruth> {
    let duration_ns = history.world().duration_ns;
    let window = |from_ns: u64, to_ns: u64| WindowTruth {
        start_ns: history.time(from_ns).as_ns(),
        end_ns: history.time(to_ns).as_ns(),
        messages: 0,
        distance_m: 0.0,
        max_twist_mps: 0.0,
        max_step_mps: 0.0,
    };
    let mut all = vec![window(0, duration_ns)];
    for (length_s, number) in WINDOWS {
        let length_ns = (length_s * NS_PER_S).min(duration_ns);
        for choice in 0..number {
            let room_ns = duration_ns - length_ns;
            let from_ns = if length_s == 60 && choice == 0 {
                let quarter_ns = length_ns / 4;
                quiet_time(
                    history.world().fault.start_ns.saturating_sub(quarter_ns).min(room_ns),
                    0,
                )
            } else {
                let place = random_time(history, length_s * 8 + choice, room_ns);
                quiet_time(place, choice)
            };
            all.push(window(from_ns, (from_ns + length_ns).min(duration_ns)));
        }
    }
    all
}

/// Every stopping place, two doors, and a point outside.
fn points() -> Vec<NearTruth> {
    let spots = (0..ROOMS).flat_map(|room| [spot(room, 0), spot(room, 1)]);
    spots
        .chain([door(0, 1.0), door(7, 1.0), NOWHERE_M])
        .map(|(x_m, y_m)| NearTruth { x_m, y_m, tolerance_m: TOLERANCE_M, log_time_ns: None })
        .collect()
}
