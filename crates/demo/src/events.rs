//! What is published when something happens: log lines and the emergency stop.

use crate::{
    apartment::zone_name,
    fault::MESSAGE,
    number::seconds,
    timetable::{RASTER_NS, on_raster},
    world::World,
};

/// `rcl_interfaces/msg/Log` severities.
const INFO: u8 = 20;
const WARN: u8 = 30;
const ERROR: u8 = 40;

/// One line of `/rosout`.
#[derive(Debug)]
pub(crate) struct LogLine {
    pub(crate) stamp_ns: u64,
    pub(crate) level: u8,
    pub(crate) node: &'static str,
    pub(crate) text: String,
    pub(crate) function: &'static str,
    pub(crate) line: u32,
}

/// One change of the emergency stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EstopChange {
    pub(crate) stamp_ns: u64,
    pub(crate) engaged: bool,
}

/// Start, fault, release.
pub(crate) fn estop_changes(world: &World, phase_ns: u64) -> Vec<EstopChange> {
    [(0, false), (world.fault.stop_ns(), true), (world.fault.release_ns(), false)]
        .map(|(at_ns, engaged)| EstopChange { stamp_ns: on_raster(at_ns, phase_ns), engaged })
        .to_vec()
}

/// The whole log, one line at most in a step of the raster.
pub(crate) fn log_lines(world: &World, phase_ns: u64) -> Vec<LogLine> {
    let mut lines = vec![line(0, INFO, "supervisor", "all nodes are up", "on_start", 88)];
    for trip in &world.plan.trips {
        let start_ns = world.fault.history_ns(trip.start_ns);
        let arrival_ns = world.fault.history_ns(trip.arrival_ns);
        let room = zone_name(trip.room);
        if trip.charge_at_start < 0.35 {
            let text = format!("battery at {:.0} %", trip.charge_at_start * 100.0);
            lines.push(line(start_ns, WARN, "power", &text, "check_level", 141));
        }
        let text = format!("new goal: {room}, {:.1} m away", trip.length_m);
        lines.push(line(start_ns, INFO, "navigator", &text, "on_goal", 212));
        let took_s = seconds(arrival_ns - start_ns);
        let text = format!("arrived: {room}, after {took_s:.1} s");
        lines.push(line(arrival_ns, INFO, "navigator", &text, "on_arrival", 257));
    }
    let fault = world.fault;
    lines.extend([
        line(fault.start_ns, ERROR, "base_driver", MESSAGE, "on_motor_status", 305),
        line(fault.stop_ns(), WARN, "safety", "emergency stop engaged", "engage", 64),
        line(fault.release_ns(), INFO, "safety", "emergency stop released", "release", 79),
        line(fault.end_ns, INFO, "base_driver", "left motor driver is back", "on_recovery", 331),
    ]);
    lines.sort_by_key(|line| line.stamp_ns);
    let mut earliest_ns = 0;
    for line in &mut lines {
        line.stamp_ns = on_raster(line.stamp_ns.max(earliest_ns), phase_ns);
        earliest_ns = line.stamp_ns + RASTER_NS;
    }
    lines
}

fn line(
    stamp_ns: u64,
    level: u8,
    node: &'static str,
    text: &str,
    function: &'static str,
    line: u32,
) -> LogLine {
    LogLine { stamp_ns, level, node, text: text.to_owned(), function, line }
}
