use std::f64::consts::TAU;

use ros2_memory_time::NS_PER_S;

use crate::{
    apartment::zone_at,
    chance::Chance,
    fault::Fault,
    geometry::Pose,
    number::seconds,
    options::Options,
    plan::{Charge, Plan, State},
};

/// The camera in the base frame: 15 cm ahead, 90 cm up, looking 0.2 rad down.
pub(crate) const CAMERA_M: [f64; 3] = [0.15, 0.0, 0.9];
/// See [`CAMERA_M`]; positive is nose down (REP 103).
pub(crate) const CAMERA_PITCH_RAD: f64 = 0.2;
/// The laser in the base frame.
pub(crate) const LASER_M: [f64; 3] = [0.1, 0.0, 0.25];

/// What is true at any time, in nanoseconds after the start of the history.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) chance: Chance,
    pub(crate) plan: Plan,
    pub(crate) fault: Fault,
    pub(crate) duration_ns: u64,
}

impl World {
    pub(crate) fn new(options: &Options) -> Self {
        let chance = Chance::new(options.seed);
        let duration_ns = options.duration_s * NS_PER_S;
        let plan = Plan::new(chance, duration_ns);
        let fault = Fault::new(options, &plan);
        Self { chance, plan, fault, duration_ns }
    }

    /// The robot in the odometry frame.
    pub(crate) fn state(&self, at_ns: u64) -> State {
        let time = self.fault.plan_time(at_ns);
        let state = self.plan.state(time.ns);
        State {
            speed_mps: state.speed_mps * time.rate,
            turn_radps: state.turn_radps * time.rate,
            ..state
        }
    }

    /// How far odometry has drifted: a few centimetres, over minutes, back and forth.
    pub(crate) fn map_from_odom(at_ns: u64) -> Pose {
        let t_s = seconds(at_ns);
        let wave = |period_s: f64, phase: f64| (TAU * t_s / period_s + phase).sin();
        Pose {
            x_m: 0.05 * wave(1700.0, 0.3) + 0.02 * wave(310.0, 0.0),
            y_m: 0.04 * wave(1300.0, 1.1) + 0.02 * wave(370.0, 2.0),
            yaw_rad: 0.004 * wave(2300.0, 0.7),
        }
    }

    pub(crate) fn map_from_base(&self, at_ns: u64) -> Pose {
        Self::map_from_odom(at_ns).then(self.state(at_ns).pose)
    }

    pub(crate) fn charge(&self, at_ns: u64) -> Charge {
        self.plan.charge(self.fault.plan_time(at_ns).ns)
    }

    /// The room or corridor the robot is in.
    pub(crate) fn zone(&self, at_ns: u64) -> usize {
        let here = self.map_from_base(at_ns);
        zone_at(here.x_m, here.y_m)
    }
}
