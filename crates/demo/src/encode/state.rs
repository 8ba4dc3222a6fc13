use super::{Moment, header, stamp};
use crate::{
    events::LogLine,
    fault::{MESSAGE, PART},
    geometry::Pose,
    number::single,
    payload::Payload,
    scan::{RANGE_MAX_M, RANGE_MIN_M, RAYS, Scanner},
    world::{LASER_M, World},
};

/// Seconds of one turn of the laser.
const SCAN_S: f32 = 0.1;
/// One degree between rays.
const RAY_STEP_RAD: f64 = std::f64::consts::TAU / 360.0;

const CAPACITY_AH: f64 = 20.0;
const CELLS: u8 = 7;

/// `sensor_msgs/msg/BatteryState` constants.
const CHARGING: u8 = 1;
const DISCHARGING: u8 = 2;
const FULL: u8 = 4;
const HEALTH_GOOD: u8 = 1;
const LITHIUM_ION: u8 = 2;

/// `diagnostic_msgs/msg/DiagnosticStatus` levels.
const OK: u8 = 0;
const WARN: u8 = 1;
const ERROR: u8 = 2;

/// `sensor_msgs/msg/LaserScan`.
pub(super) fn scan(out: &mut Payload, world: &World, scanner: &Scanner, moment: Moment) {
    header(out, moment, "laser");
    out.f32(-std::f32::consts::PI);
    out.f32(single(std::f64::consts::PI - RAY_STEP_RAD));
    out.f32(single(RAY_STEP_RAD));
    out.f32(SCAN_S / 360.0);
    out.f32(SCAN_S);
    out.f32(single(RANGE_MIN_M));
    out.f32(single(RANGE_MAX_M));
    let [x_m, y_m, _] = LASER_M;
    let laser = world.map_from_base(moment.at_ns).then(Pose::new(x_m, y_m, 0.0));
    out.length(RAYS);
    for range in scanner.ranges(laser, world.chance, moment.k) {
        out.f32(range);
    }
    out.length(0);
}

/// `sensor_msgs/msg/BatteryState`.
pub(super) fn battery(out: &mut Payload, world: &World, moment: Moment) {
    let charge = world.charge(moment.at_ns);
    let cell_v = 3.3 + 0.85 * charge.level;
    let current_a = charge.per_s * 3600.0 * CAPACITY_AH;
    header(out, moment, "base_link");
    out.f32(single(cell_v * f64::from(CELLS)));
    out.f32(single(29.0 + 0.1 * current_a.abs()));
    out.f32(single(current_a));
    out.f32(single(charge.level * CAPACITY_AH));
    out.f32(single(CAPACITY_AH));
    out.f32(single(CAPACITY_AH));
    out.f32(single(charge.level));
    out.u8(if charge.per_s > 0.0 {
        CHARGING
    } else if charge.level >= 1.0 {
        FULL
    } else {
        DISCHARGING
    });
    out.u8(HEALTH_GOOD);
    out.u8(LITHIUM_ION);
    out.bool(true);
    out.length(usize::from(CELLS));
    for _ in 0..CELLS {
        out.f32(single(cell_v));
    }
    out.length(0);
    out.string("base");
    out.string("RB-0042");
}

/// `diagnostic_msgs/msg/DiagnosticArray`.
pub(super) fn diagnostics(out: &mut Payload, world: &World, moment: Moment) {
    let state = world.state(moment.at_ns);
    let level = world.charge(moment.at_ns).level;
    let broken = world.fault.active(moment.at_ns);
    let current_a = |side: f64| 0.4 + 3.0 * (state.speed_mps + side * state.turn_radps).abs();
    let left_a = if broken { 18.4 } else { current_a(-0.2) };
    let left = if broken { (ERROR, MESSAGE) } else { (OK, "running") };
    let battery = if level < 0.3 { (WARN, "low") } else { (OK, "good") };
    header(out, moment, "");
    out.length(4);
    status(out, left, PART, "md-left", ("current_a", left_a));
    status(out, (OK, "running"), "base/motor_right", "md-right", ("current_a", current_a(0.2)));
    status(out, battery, "power/battery", "RB-0042", ("percent", level * 100.0));
    status(out, (OK, "scanning"), "sensors/laser", "laser", ("rate_hz", 2.0));
}

/// `rcl_interfaces/msg/Log`.
pub(super) fn log_line(out: &mut Payload, line: &LogLine, moment: Moment) {
    stamp(out, moment.stamp);
    out.u8(line.level);
    out.string(line.node);
    out.string(&line.text);
    out.string(&format!("src/{}.cpp", line.node));
    out.string(line.function);
    out.u32(line.line);
}

/// `diagnostic_msgs/msg/DiagnosticStatus` with one value.
fn status(
    out: &mut Payload,
    (level, message): (u8, &str),
    name: &str,
    hardware: &str,
    (key, value): (&str, f64),
) {
    out.u8(level);
    out.string(name);
    out.string(message);
    out.string(hardware);
    out.length(1);
    out.string(key);
    out.string(&format!("{value:.1}"));
}
