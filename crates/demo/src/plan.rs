use ros2_memory_time::NS_PER_S;

use crate::{
    apartment::{DOCK, OFFICE, ROOMS, door, heading, spot, standing, zone},
    chance::{Chance, Lane},
    geometry::{Pose, distance, wrapped},
    motion::Trapezoid,
    number::{count, float, place, seconds, whole},
};

const TOP_SPEED_MPS: f64 = 0.6;
const ACCELERATION_MPS2: f64 = 0.5;
const TOP_TURN_RADPS: f64 = 0.9;
const TURN_ACCELERATION_RADPS2: f64 = 1.8;

/// Durations are rounded up to this, so that the last bit of a platform's `atan2` cannot move
/// everything that follows.
const GRID_NS: u64 = 10_000_000;

const START_CHARGE: f64 = 0.72;
const MOVING_PER_S: f64 = -0.25 / 3600.0;
const RESTING_PER_S: f64 = -0.10 / 3600.0;
const CHARGING_PER_S: f64 = 0.04 / 60.0;
/// Below this the next stop at the dock lasts until the battery is well charged.
const LOW_CHARGE: f64 = 0.30;
const WELL_CHARGED: f64 = 0.80;

/// Where the robot is and how it moves, in the odometry frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) pose: Pose,
    /// Forward.
    pub(crate) speed_mps: f64,
    /// Counter-clockwise.
    pub(crate) turn_radps: f64,
}

/// Charge and its change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Charge {
    /// From 0 to 1.
    pub(crate) level: f64,
    pub(crate) per_s: f64,
}

/// A trip to a room, on the plan's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trip {
    pub(crate) start_ns: u64,
    pub(crate) arrival_ns: u64,
    pub(crate) room: usize,
    pub(crate) length_m: f64,
    pub(crate) charge_at_start: f64,
}

#[derive(Debug, Clone, Copy)]
enum Move {
    Rest,
    Turn { angle_rad: f64 },
    Drive { length_m: f64 },
}

/// One rest, turn or drive; it lasts until the next one starts.
#[derive(Debug)]
struct Segment {
    start_ns: u64,
    from: Pose,
    kind: Move,
    charge: Charge,
}

/// Everything the robot does when nothing breaks, in closed form.
///
/// A round visits every room once in random order; a stop lasts 8 to 60 s, longer at the dock
/// with a low battery, and the robot looks at two things of the room meanwhile.
#[derive(Debug)]
pub(crate) struct Plan {
    segments: Vec<Segment>,
    pub(crate) trips: Vec<Trip>,
}

impl Plan {
    /// Plans at least `duration_ns`. About 600 segments an hour.
    pub(crate) fn new(chance: Chance, duration_ns: u64) -> Self {
        let (x_m, y_m) = spot(DOCK, 0);
        let mut planner = Planner {
            now_ns: 0,
            pose: Pose::new(x_m, y_m, std::f64::consts::FRAC_PI_2),
            level: START_CHARGE,
            room: DOCK,
            plan: Self { segments: Vec::new(), trips: Vec::new() },
        };
        planner.push(5.0, Move::Rest, RESTING_PER_S);
        let mut round = 0;
        while planner.now_ns < duration_ns {
            for (stop, room) in order(chance, round, planner.room).into_iter().enumerate() {
                let visit = round * count(ROOMS) + count(stop);
                planner.visit(chance, visit, round, room);
            }
            round += 1;
        }
        planner.plan
    }

    /// The state at a time of the plan's clock.
    pub(crate) fn state(&self, plan_ns: u64) -> State {
        let Some(segment) = self.segment(plan_ns) else {
            return State { pose: Pose::new(0.0, 0.0, 0.0), speed_mps: 0.0, turn_radps: 0.0 };
        };
        let from = segment.from;
        let t_s = seconds(plan_ns.saturating_sub(segment.start_ns));
        match segment.kind {
            Move::Rest => State { pose: from, speed_mps: 0.0, turn_radps: 0.0 },
            Move::Turn { angle_rad } => {
                let (angle, rate) = turning(angle_rad).at(t_s);
                let yaw_rad = wrapped(from.yaw_rad + angle.copysign(angle_rad));
                State {
                    pose: Pose { yaw_rad, ..from },
                    speed_mps: 0.0,
                    turn_radps: rate.copysign(angle_rad),
                }
            }
            Move::Drive { length_m } => {
                let (way, speed_mps) = driving(length_m).at(t_s);
                let (x_m, y_m) = from.apply(way, 0.0);
                State { pose: Pose { x_m, y_m, ..from }, speed_mps, turn_radps: 0.0 }
            }
        }
    }

    pub(crate) fn charge(&self, plan_ns: u64) -> Charge {
        self.segment(plan_ns).map_or(Charge { level: 0.0, per_s: 0.0 }, |segment| {
            let t_s = seconds(plan_ns.saturating_sub(segment.start_ns));
            let level = (segment.charge.level + segment.charge.per_s * t_s).clamp(0.0, 1.0);
            Charge { level, ..segment.charge }
        })
    }

    /// The middle of the first drive of at least 1.5 m whose middle is `earliest_ns` or later.
    pub(crate) fn next_long_drive(&self, earliest_ns: u64) -> Option<u64> {
        let from = self.segments.partition_point(|it| it.start_ns < earliest_ns).saturating_sub(1);
        let rest = self.segments.get(from..).unwrap_or_default();
        rest.iter().find_map(|segment| match segment.kind {
            Move::Drive { length_m } if length_m >= 1.5 => {
                let half_ns = whole(driving(length_m).duration_s() * 0.5e9);
                let middle_ns = segment.start_ns + half_ns;
                (middle_ns >= earliest_ns).then_some(middle_ns)
            }
            _ => None,
        })
    }

    fn segment(&self, plan_ns: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|it| it.start_ns <= plan_ns);
        self.segments.get(after.saturating_sub(1))
    }
}

/// The rooms of one round: shuffled, never the room the robot is in first; the first round of
/// all begins with the office.
fn order(chance: Chance, round: u64, current: usize) -> Vec<usize> {
    let mut rooms: Vec<usize> = (0..ROOMS).collect();
    for last in (1..ROOMS).rev() {
        let draw = chance.below(Lane::Order, round * 64 + count(last), count(last) + 1);
        rooms.swap(last, place(draw));
    }
    if round == 0 {
        rooms.retain(|room| *room != OFFICE);
        rooms.insert(0, OFFICE);
    } else if rooms.first() == Some(&current) {
        rooms.rotate_left(1);
    }
    rooms
}

fn turning(angle_rad: f64) -> Trapezoid {
    Trapezoid::new(angle_rad.abs(), TOP_TURN_RADPS, TURN_ACCELERATION_RADPS2)
}

fn driving(length_m: f64) -> Trapezoid {
    Trapezoid::new(length_m, TOP_SPEED_MPS, ACCELERATION_MPS2)
}

struct Planner {
    now_ns: u64,
    pose: Pose,
    level: f64,
    room: usize,
    plan: Plan,
}

impl Planner {
    fn visit(&mut self, chance: Chance, visit: u64, round: u64, room: usize) {
        let target = spot(room, chance.below(Lane::Spot, visit, 2));
        let (start_ns, charge_at_start) = (self.now_ns, self.level);
        let mut length_m = 0.0;
        let way =
            [door(self.room, 1.7), door(self.room, 0.0), door(room, 0.0), door(room, 1.7), target];
        for point in way {
            length_m += self.drive_to(point);
        }
        self.room = room;
        self.plan.trips.push(Trip {
            start_ns,
            arrival_ns: self.now_ns,
            room,
            length_m,
            charge_at_start,
        });
        let stop_s = 8.0 + 52.0 * chance.unit(Lane::Dwell, visit);
        self.stay(stop_s * 0.4);
        // Two things a visit, the next two in the next round: all are looked at in turn.
        for look in 0..2 {
            self.look_at_thing(round * 2 + look);
            self.stay(stop_s * 0.3);
        }
    }

    fn stay(&mut self, rest_s: f64) {
        if self.room != DOCK {
            self.push(rest_s, Move::Rest, RESTING_PER_S);
            return;
        }
        let needed_s = if self.level < LOW_CHARGE {
            (WELL_CHARGED - self.level) / CHARGING_PER_S
        } else {
            0.0
        };
        let rate = if self.level < 1.0 { CHARGING_PER_S } else { 0.0 };
        self.push(rest_s.max(needed_s), Move::Rest, rate);
    }

    fn look_at_thing(&mut self, turn: u64) {
        let things = zone(self.room).map_or([].as_slice(), |found| found.things);
        let choice = turn.checked_rem(count(things.len())).unwrap_or(0);
        if let Some(thing) = things.get(place(choice)) {
            let here = (self.pose.x_m, self.pose.y_m);
            self.turn_to(heading(here, standing(self.room, thing)));
        }
    }

    /// Turns and drives; returns the length of the drive.
    fn drive_to(&mut self, to: (f64, f64)) -> f64 {
        let here = (self.pose.x_m, self.pose.y_m);
        let length_m = distance(here.0, here.1, to.0, to.1);
        if length_m < 0.01 {
            return 0.0;
        }
        self.turn_to(heading(here, to));
        self.push(driving(length_m).duration_s(), Move::Drive { length_m }, MOVING_PER_S);
        self.pose = Pose { x_m: to.0, y_m: to.1, ..self.pose };
        length_m
    }

    fn turn_to(&mut self, yaw_rad: f64) {
        let angle_rad = wrapped(yaw_rad - self.pose.yaw_rad);
        if angle_rad.abs() > 1e-3 {
            self.push(turning(angle_rad).duration_s(), Move::Turn { angle_rad }, MOVING_PER_S);
        }
        self.pose.yaw_rad = yaw_rad;
    }

    fn push(&mut self, duration_s: f64, kind: Move, charge_per_s: f64) {
        let charge = Charge { level: self.level, per_s: charge_per_s };
        self.plan.segments.push(Segment { start_ns: self.now_ns, from: self.pose, kind, charge });
        let steps = whole((duration_s * float(NS_PER_S) / float(GRID_NS)).ceil());
        self.now_ns += steps * GRID_NS;
        self.level = (self.level + charge_per_s * seconds(steps * GRID_NS)).clamp(0.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: u64 = 3600 * NS_PER_S;

    #[test]
    fn the_robot_never_jumps() {
        let plan = Plan::new(Chance::new(3), HOUR_NS);
        let mut before = plan.state(0);
        for step in 1..HOUR_NS / 20_000_000 {
            let now = plan.state(step * 20_000_000);
            let (a, b) = (before.pose, now.pose);
            assert!(distance(a.x_m, a.y_m, b.x_m, b.y_m) <= 0.6 * 0.02 + 1e-9, "{step}");
            assert!(wrapped(b.yaw_rad - a.yaw_rad).abs() <= 0.9 * 0.02 + 1e-3, "{step}");
            assert!(now.speed_mps <= 0.6 && now.turn_radps.abs() <= 0.9);
            before = now;
        }
    }

    #[test]
    fn every_round_visits_every_room_and_none_twice_in_a_row() {
        let plan = Plan::new(Chance::new(9), 4 * HOUR_NS);
        assert_eq!(plan.trips.first().map(|trip| trip.room), Some(OFFICE));
        for round in plan.trips.chunks_exact(ROOMS) {
            let mut rooms: Vec<_> = round.iter().map(|trip| trip.room).collect();
            rooms.sort_unstable();
            assert_eq!(rooms, (0..ROOMS).collect::<Vec<_>>());
        }
        assert!(plan.trips.windows(2).all(|pair| pair[0].room != pair[1].room));
        assert!(plan.trips.iter().all(|trip| trip.length_m > 3.0));
    }

    #[test]
    fn the_battery_lasts_and_is_charged() {
        let plan = Plan::new(Chance::new(4), 48 * HOUR_NS);
        let levels: Vec<_> =
            (0..48 * 60).map(|minute| plan.charge(minute * 60 * NS_PER_S)).collect();
        assert!(levels.iter().all(|charge| (0.1..=1.0).contains(&charge.level)));
        assert!(levels.iter().any(|charge| charge.per_s > 0.0));
        assert!(levels.iter().any(|charge| charge.level < 0.4));
    }
}
