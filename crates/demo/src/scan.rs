use std::f64::consts::TAU;

use crate::{
    apartment::{CORRIDOR, behind_door, walls, zone_at},
    chance::{Chance, Lane},
    geometry::Pose,
    number::{count, float, single},
};

/// Rays of one turn; ray 0 looks backwards, the middle one ahead.
pub(crate) const RAYS: usize = 360;
pub(crate) const RANGE_MIN_M: f64 = 0.12;
/// Farther walls come back as infinity.
pub(crate) const RANGE_MAX_M: f64 = 8.0;

/// A laser scanner: knows its directions, so that a scan needs one sine.
#[derive(Debug)]
pub(crate) struct Scanner {
    directions: Vec<(f64, f64)>,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        let directions = (0..RAYS)
            .map(|ray| {
                let (sin, cos) = (TAU * (float(count(ray)) / float(count(RAYS)) - 0.5)).sin_cos();
                (cos, sin)
            })
            .collect();
        Self { directions }
    }

    /// The ranges of scan `k` from a place in the map; some black surfaces give infinity, a few
    /// panes NaN.
    pub(crate) fn ranges(
        &self,
        map_from_laser: Pose,
        chance: Chance,
        k: u64,
    ) -> impl Iterator<Item = f32> {
        let (sin, cos) = map_from_laser.yaw_rad.sin_cos();
        let zone = zone_at(map_from_laser.x_m, map_from_laser.y_m);
        self.directions.iter().zip(k * count(RAYS)..).map(move |((along, across), key)| {
            let direction = (cos * along - sin * across, sin * along + cos * across);
            let range_m = to_wall(zone, map_from_laser.x_m, map_from_laser.y_m, direction);
            let roll = chance.unit(Lane::Ray, key);
            if roll < 0.004 {
                f32::NAN
            } else if roll < 0.015 || range_m > RANGE_MAX_M {
                f32::INFINITY
            } else {
                single((range_m + 0.02 * (roll - 0.5)).max(RANGE_MIN_M))
            }
        })
    }
}

/// The way to the first wall, through up to three doors.
fn to_wall(mut zone: usize, x_m: f64, y_m: f64, (dx, dy): (f64, f64)) -> f64 {
    let [left, right, low, high] = walls(zone);
    // Odometry drift may put the robot a centimetre into a wall.
    let (mut x, mut y) = (x_m.clamp(left, right), y_m.clamp(low, high));
    let mut way = 0.0;
    for _ in 0..4 {
        let [left, right, low, high] = walls(zone);
        let across = until(x, dx, left, right);
        let up = until(y, dy, low, high);
        way += across.min(up);
        if across <= up || way > RANGE_MAX_M {
            return way;
        }
        x += dx * up;
        y = if dy > 0.0 { high } else { low };
        let upper = y > 0.0;
        let inner = zone >= CORRIDOR || upper == (dy < 0.0);
        match behind_door(zone, x, upper) {
            Some(next) if inner => zone = next,
            _ => return way,
        }
    }
    way
}

/// How long until a coordinate leaves its interval.
fn until(at: f64, speed: f64, low: f64, high: f64) -> f64 {
    if speed > 0.0 {
        (high - at) / speed
    } else if speed < 0.0 {
        (low - at) / speed
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apartment::door;

    #[test]
    fn rays_stop_at_walls_and_pass_doors() {
        let kitchen = 0;
        assert!((to_wall(kitchen, 1.0, 3.0, (-1.0, 0.0)) - 1.0).abs() < 1e-12);
        assert!((to_wall(kitchen, 1.0, 3.0, (0.0, 1.0)) - 3.0).abs() < 1e-12);
        assert!((to_wall(kitchen, 3.5, 3.0, (0.0, -1.0)) - 2.0).abs() < 1e-12, "wall beside door");
        // Out of the door, across the corridor, and against the wall opposite: the lower door is
        // a metre to the side.
        let (x, _) = door(kitchen, 1.0);
        assert!((to_wall(kitchen, x, 3.0, (0.0, -1.0)) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_scan_has_walls_gaps_and_a_few_nan() {
        let scanner = Scanner::new();
        let corridor = Pose::new(10.0, 0.0, 0.0);
        let ranges: Vec<f32> =
            (0..20).flat_map(|k| scanner.ranges(corridor, Chance::new(1), k)).collect();
        assert_eq!(ranges.len(), 20 * RAYS);
        let nan = ranges.iter().filter(|range| range.is_nan()).count();
        let far = ranges.iter().filter(|range| range.is_infinite()).count();
        assert!((5..100).contains(&nan), "{nan}");
        assert!((100..3000).contains(&far), "{far}");
        assert!(ranges.iter().all(|range| range.is_nan() || *range >= 0.12));
    }
}
