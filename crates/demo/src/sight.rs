//! What the camera can see.

use ros2_memory_time::NS_PER_S;

use crate::{
    apartment::{CORRIDOR, in_zone, standing, zone, zone_at},
    chance::Lane,
    geometry::{Pose, distance},
    number::{place, seconds},
    world::World,
};

/// The label that everyone may ask for and nobody ever saw.
pub(crate) const NEVER_SEEN: &str = "unicorn";
/// Who walks about, and how large they appear.
pub(crate) const MOVERS: [(&str, f64); 2] = [("person", 1.6), ("cat", 0.35)];

/// Far enough for everything in a room from either stopping place.
const REACH_M: f64 = 3.2;
const HALF_VIEW_RAD: f64 = 0.55;
/// A mover does one thing for this long.
const SLOT_NS: u64 = 45 * NS_PER_S;

/// Something in view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting {
    pub(crate) label: &'static str,
    /// Tells several things of one label apart: the zone they stand in, 0 for movers.
    pub(crate) number: usize,
    /// In the base frame, metres ahead and to the left.
    pub(crate) ahead_m: f64,
    pub(crate) left_m: f64,
    /// Above the floor.
    pub(crate) z_m: f64,
    pub(crate) size_m: f64,
    pub(crate) distance_m: f64,
}

impl Sighting {
    /// Whether it stands where the robot is about to drive.
    pub(crate) fn blocks_path(&self) -> bool {
        self.label == "person" && self.distance_m < 1.8 && self.left_m.abs() < 0.7
    }
}

impl World {
    /// Everything in view at a time: in the same room, within reach, roughly ahead.
    pub(crate) fn in_view(&self, at_ns: u64) -> Vec<Sighting> {
        let base = self.map_from_base(at_ns);
        let here = zone_at(base.x_m, base.y_m);
        let things = zone(here).map_or([].as_slice(), |found| found.things);
        let fixed = things.iter().map(|thing| {
            let (x_m, y_m) = standing(here, thing);
            (thing.label, here, x_m, y_m, thing.z_m, thing.size_m)
        });
        let moving = MOVERS.iter().zip(0..).filter_map(|((label, size_m), mover)| {
            let (x_m, y_m) = self.mover(mover, at_ns)?;
            (zone_at(x_m, y_m) == here).then_some((*label, 0, x_m, y_m, size_m * 0.5, *size_m))
        });
        fixed
            .chain(moving)
            .filter_map(|(label, number, x_m, y_m, z_m, size_m)| {
                let distance_m = in_reach(base, x_m, y_m)?;
                let (ahead_m, left_m) = base.unapply(x_m, y_m);
                Some(Sighting { label, number, ahead_m, left_m, z_m, size_m, distance_m })
            })
            .collect()
    }

    /// The labels of `scene_objects` message `k`: each once, a few overlooked.
    pub(crate) fn scene_labels(&self, at_ns: u64, k: u64) -> Vec<&'static str> {
        let seen = self.noticed(at_ns, k, Lane::SceneMiss, 0.05);
        let mut labels: Vec<&'static str> = seen.iter().map(|it| it.label).collect();
        labels.dedup();
        labels
    }

    /// The things in `detections_meta` message `k`.
    pub(crate) fn detected(&self, at_ns: u64, k: u64) -> Vec<Sighting> {
        self.noticed(at_ns, k, Lane::DetectionMiss, 0.12)
    }

    /// What is in view but for a share that is overlooked.
    fn noticed(&self, at_ns: u64, k: u64, lane: Lane, missed: f64) -> Vec<Sighting> {
        let mut seen = self.in_view(at_ns);
        let mut key = k * 64;
        seen.retain(|_| {
            key += 1;
            self.chance.unit(lane, key) >= missed
        });
        seen
    }

    /// Where a mover is, if at home: half of the time near the robot.
    fn mover(&self, mover: u64, at_ns: u64) -> Option<(f64, f64)> {
        let slot = at_ns / SLOT_NS;
        let key = slot * 8 + mover * 4;
        let zone = match self.chance.below(Lane::MoverZone, key, 20) {
            near if near < 8 => self.zone(slot * SLOT_NS),
            far if far < 19 => place(far - 8),
            _ => return None,
        };
        let roll = |n| self.chance.unit(Lane::MoverPlace, key + n);
        let point = |along: f64, deep: f64| {
            if zone >= CORRIDOR {
                in_zone(zone, 1.0 + 18.0 * along, 1.2 * (deep - 0.5))
            } else {
                in_zone(zone, 0.6 + 2.8 * along, 1.8 + 3.6 * deep)
            }
        };
        let (from, to) = (point(roll(0), roll(1)), point(roll(2), roll(3)));
        // Walks there and back: a slot is a period, so the ends of its way are smooth.
        let part = 0.5 - 0.5 * (std::f64::consts::TAU * seconds(at_ns % SLOT_NS) / 45.0).cos();
        Some((from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part))
    }
}

fn in_reach(base: Pose, x_m: f64, y_m: f64) -> Option<f64> {
    let distance_m = distance(base.x_m, base.y_m, x_m, y_m);
    if !(0.6..=REACH_M).contains(&distance_m) {
        return None;
    }
    let (ahead_m, left_m) = base.unapply(x_m, y_m);
    (left_m.atan2(ahead_m).abs() <= HALF_VIEW_RAD).then_some(distance_m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apartment::{ROOMS, heading, spot, zones};

    #[test]
    fn everything_in_a_room_can_be_seen_from_both_stopping_places() {
        for (room, zone) in zones().take(ROOMS) {
            for (choice, thing) in
                (0..2).flat_map(|choice| zone.things.iter().map(move |it| (choice, it)))
            {
                let (from, to) = (spot(room, choice), standing(room, thing));
                let facing = Pose::new(from.0, from.1, heading(from, to));
                assert!(in_reach(facing, to.0, to.1).is_some(), "{} {choice}", thing.label);
                let away = Pose { yaw_rad: facing.yaw_rad + 1.0, ..facing };
                assert_eq!(in_reach(away, to.0, to.1), None, "{}", thing.label);
            }
        }
    }
}
