//! The floor plan: ten rooms of 4 m by 5 m along a corridor, and what stands in them.
//!
//! ```text
//!  y=6  +---------+---------+---------+---------+---------+
//!       | kitchen | dining  | living  | office  | workshop|
//!  y=1  +--  -----+--  -----+--  -----+--  -----+--  -----+
//!       |                     corridor                    |
//!  y=-1 +--  -----+--  -----+--  -----+--  -----+--  -----+
//!       | bedroom | bathroom| laundry | storage | entrance|
//!  y=-6 +---------+---------+---------+---------+---------+
//!      x=0        4         8        12        16        20
//! ```

use crate::{
    geometry::wrapped,
    number::{count, float, place, whole},
};

/// How many rooms there are; the corridor is the zone after the last.
pub(crate) const ROOMS: usize = 10;
/// The zone between the rooms.
pub(crate) const CORRIDOR: usize = ROOMS;
/// The room with the charging dock.
pub(crate) const DOCK: usize = 9;
/// Where the history begins to explore: the room with the scissors.
pub(crate) const OFFICE: usize = 3;

const ROOM_WIDTH_M: f64 = 4.0;
/// From the middle of the corridor to the rooms' inner and outer walls.
const NEAR_WALL_M: f64 = 1.0;
const FAR_WALL_M: f64 = 6.0;
const LENGTH_M: f64 = 20.0;
const DOOR_HALF_WIDTH_M: f64 = 0.55;

/// Something that stays where it is. `x_m` counts from the room's left wall, `depth_m` from the
/// middle of the corridor, on the room's side.
#[derive(Debug)]
pub(crate) struct Thing {
    pub(crate) label: &'static str,
    x_m: f64,
    depth_m: f64,
    pub(crate) z_m: f64,
    /// Its apparent width and height.
    pub(crate) size_m: f64,
}

/// A room or the corridor.
#[derive(Debug)]
pub(crate) struct Zone {
    pub(crate) name: &'static str,
    pub(crate) things: &'static [Thing],
}

const fn thing(label: &'static str, x_m: f64, depth_m: f64, z_m: f64, size_m: f64) -> Thing {
    Thing { label, x_m, depth_m, z_m, size_m }
}

/// No label is part of another one, so that looking for a part of a text is unambiguous.
static ZONES: [Zone; ROOMS + 1] = [
    Zone {
        name: "kitchen",
        things: &[
            thing("cup", 0.6, 5.2, 0.95, 0.10),
            thing("kettle", 1.5, 5.7, 1.0, 0.25),
            thing("banana", 3.5, 4.6, 0.9, 0.2),
            thing("refrigerator", 3.6, 2.2, 0.9, 1.6),
        ],
    },
    Zone {
        name: "dining room",
        things: &[
            thing("table", 2.0, 5.3, 0.4, 1.2),
            thing("vase", 2.2, 5.5, 0.9, 0.3),
            thing("chair", 0.6, 3.4, 0.45, 0.8),
        ],
    },
    Zone {
        name: "living room",
        things: &[
            thing("sofa", 2.0, 5.6, 0.4, 1.8),
            thing("television", 0.2, 3.6, 1.1, 1.0),
            thing("plant", 3.4, 5.2, 0.5, 0.7),
            thing("remote", 1.4, 5.1, 0.5, 0.15),
        ],
    },
    Zone {
        name: "office",
        things: &[
            thing("scissors", 0.8, 5.4, 0.76, 0.18),
            thing("laptop", 3.0, 5.5, 0.85, 0.35),
            thing("printer", 3.6, 2.0, 0.8, 0.5),
            thing("chair", 0.5, 2.4, 0.45, 0.8),
        ],
    },
    Zone {
        name: "workshop",
        things: &[
            thing("hammer", 0.5, 5.5, 1.0, 0.3),
            thing("screwdriver", 1.7, 5.7, 1.0, 0.2),
            thing("toolbox", 3.5, 5.2, 0.3, 0.5),
        ],
    },
    Zone {
        name: "bedroom",
        things: &[
            thing("bed", 2.4, 5.2, 0.4, 1.9),
            thing("lamp", 0.4, 5.6, 0.8, 0.4),
            thing("pillow", 3.1, 5.5, 0.6, 0.5),
        ],
    },
    Zone {
        name: "bathroom",
        things: &[
            thing("towel", 0.3, 4.2, 1.2, 0.6),
            thing("toothbrush", 2.0, 5.7, 0.95, 0.15),
            thing("mirror", 2.2, 5.9, 1.5, 0.7),
        ],
    },
    Zone {
        name: "laundry",
        things: &[
            thing("washing machine", 3.5, 5.3, 0.45, 0.85),
            thing("basket", 0.6, 5.3, 0.3, 0.5),
            thing("iron", 0.4, 3.0, 0.9, 0.25),
        ],
    },
    Zone {
        name: "storage",
        things: &[
            thing("ladder", 0.4, 5.5, 1.0, 1.5),
            thing("suitcase", 3.4, 5.4, 0.35, 0.7),
            thing("bucket", 3.6, 3.1, 0.2, 0.3),
        ],
    },
    Zone {
        name: "entrance",
        things: &[
            thing("umbrella", 3.7, 3.9, 0.5, 0.8),
            thing("backpack", 0.5, 5.4, 0.3, 0.5),
            thing("shoe", 2.4, 5.7, 0.05, 0.3),
            thing("plant", 0.4, 2.0, 0.5, 0.7),
        ],
    },
    Zone {
        name: "corridor",
        things: &[
            thing("painting", 7.9, 0.95, 1.5, 0.7),
            thing("fire extinguisher", 15.8, 0.9, 0.9, 0.5),
        ],
    },
];

/// The zone with this number, as long as there is one.
pub(crate) fn zone(number: usize) -> Option<&'static Zone> {
    ZONES.get(number)
}

pub(crate) fn zones() -> impl Iterator<Item = (usize, &'static Zone)> {
    ZONES.iter().enumerate()
}

pub(crate) fn zone_name(number: usize) -> &'static str {
    zone(number).map_or("unknown", |found| found.name)
}

/// Where a thing of a zone stands in the map.
pub(crate) fn standing(zone: usize, thing: &Thing) -> (f64, f64) {
    in_zone(zone, thing.x_m, thing.depth_m)
}

/// A point given by its distance from the left wall and from the middle of the corridor.
pub(crate) fn in_zone(zone: usize, x_m: f64, depth_m: f64) -> (f64, f64) {
    (left_wall_m(zone) + x_m, side(zone) * depth_m)
}

/// One of the two places in a room where the robot stops.
pub(crate) fn spot(room: usize, choice: u64) -> (f64, f64) {
    if choice.is_multiple_of(2) { in_zone(room, 1.2, 3.1) } else { in_zone(room, 2.7, 3.9) }
}

/// The middle of a room's door, `depth_m` from the middle of the corridor.
pub(crate) fn door(room: usize, depth_m: f64) -> (f64, f64) {
    in_zone(room, door_x_m(room), depth_m)
}

/// The zone a point of the map lies in; points outside count to the nearest.
pub(crate) fn zone_at(x_m: f64, y_m: f64) -> usize {
    if y_m.abs() <= NEAR_WALL_M { CORRIDOR } else { room_at(x_m, y_m > 0.0) }
}

/// The walls of a zone: least and greatest x, least and greatest y.
pub(crate) fn walls(zone: usize) -> [f64; 4] {
    if zone >= CORRIDOR {
        return [0.0, LENGTH_M, -NEAR_WALL_M, NEAR_WALL_M];
    }
    let left = left_wall_m(zone);
    let (low, high) =
        if side(zone) > 0.0 { (NEAR_WALL_M, FAR_WALL_M) } else { (-FAR_WALL_M, -NEAR_WALL_M) };
    [left, left + ROOM_WIDTH_M, low, high]
}

/// Where one gets to through the wall between corridor and rooms at this point, if a door is
/// there.
pub(crate) fn behind_door(from: usize, x_m: f64, upper: bool) -> Option<usize> {
    let room = room_at(x_m, upper);
    let (door_m, _) = door(room, NEAR_WALL_M);
    let open = (x_m - door_m).abs() < DOOR_HALF_WIDTH_M;
    let to = if from >= CORRIDOR { room } else { CORRIDOR };
    open.then_some(to)
}

/// The heading from one point to another.
pub(crate) fn heading(from: (f64, f64), to: (f64, f64)) -> f64 {
    wrapped((to.1 - from.1).atan2(to.0 - from.0))
}

fn room_at(x_m: f64, upper: bool) -> usize {
    let column = whole(x_m / ROOM_WIDTH_M).min(4);
    let row = if upper { 0 } else { 5 };
    place(column + row)
}

fn left_wall_m(zone: usize) -> f64 {
    if zone >= CORRIDOR { 0.0 } else { ROOM_WIDTH_M * float(count(zone % 5)) }
}

/// 1 for the upper row and the corridor, -1 for the lower row.
fn side(zone: usize) -> f64 {
    if (5..CORRIDOR).contains(&zone) { -1.0 } else { 1.0 }
}

fn door_x_m(room: usize) -> f64 {
    if room.is_multiple_of(2) { 1.4 } else { 2.4 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_label_is_part_of_another() {
        let mut labels: Vec<_> =
            zones().flat_map(|(_, zone)| zone.things).map(|thing| thing.label).collect();
        labels.extend(["person", "cat", "unicorn"]);
        labels.sort_unstable();
        labels.dedup();
        assert!(labels.len() > 30);
        for label in &labels {
            let holders = labels.iter().filter(|other| other.contains(label)).count();
            assert_eq!(holders, 1, "{label}");
        }
    }

    #[test]
    fn everything_stands_in_its_own_room() {
        for (number, zone) in zones() {
            let [left, right, low, high] = walls(number);
            let spots = [spot(number, 0), spot(number, 1)].into_iter().filter(|_| number < ROOMS);
            for (x, y) in zone.things.iter().map(|it| standing(number, it)).chain(spots) {
                assert_eq!(zone_at(x, y), number, "{} {x} {y}", zone.name);
                assert!(left < x && x < right && low < y && y < high, "{} {x} {y}", zone.name);
            }
        }
    }

    #[test]
    fn doors_lead_from_rooms_to_the_corridor_and_back() {
        for room in 0..ROOMS {
            let (x, y) = door(room, 1.0);
            assert_eq!(behind_door(room, x, y > 0.0), Some(CORRIDOR));
            assert_eq!(behind_door(CORRIDOR, x, y > 0.0), Some(room));
            assert_eq!(behind_door(CORRIDOR, x + 0.9, y > 0.0), None);
        }
    }
}
