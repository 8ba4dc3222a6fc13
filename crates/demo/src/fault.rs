use ros2_memory_time::NS_PER_S;

use crate::{
    number::{float, whole},
    options::Options,
    plan::Plan,
};

/// The name of the failing part in `/diagnostics`.
pub(crate) const PART: &str = "base/motor_left";
/// The manufacturer's code for it.
pub(crate) const CODE: &str = "E1107";
/// What diagnostics and log say about it.
pub(crate) const MESSAGE: &str = "left motor driver overcurrent (code E1107)";

/// Braking and starting again take this long.
const RAMP_NS: u64 = 400_000_000;

/// The one fault of a history, in nanoseconds after its start: the robot brakes at once, stands
/// until the end, then goes on with what it was doing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

/// A time of the plan's clock, and how fast that clock runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanTime {
    pub(crate) ns: u64,
    pub(crate) rate: f64,
}

impl Fault {
    /// Lasts a tenth of the history, between 2 and 24 s, and starts in the middle of a drive if
    /// one comes within a tenth of the history.
    pub(crate) fn new(options: &Options, plan: &Plan) -> Self {
        let duration_ns = options.duration_s * NS_PER_S;
        let length_ns = (duration_ns / 10).clamp(2 * NS_PER_S, 24 * NS_PER_S);
        let asked_ns = duration_ns / 100 * u64::from(options.fault_percent);
        let latest_ns = duration_ns - length_ns - NS_PER_S;
        let start_ns = plan
            .next_long_drive(asked_ns)
            .filter(|middle_ns| *middle_ns <= asked_ns + duration_ns / 10)
            .unwrap_or(asked_ns)
            .min(latest_ns);
        Self { start_ns, end_ns: start_ns + length_ns }
    }

    pub(crate) fn active(self, at_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&at_ns)
    }

    /// When the emergency stop engages.
    pub(crate) fn stop_ns(self) -> u64 {
        self.start_ns + 60_000_000
    }

    /// When the emergency stop is released, a while before the fault clears.
    pub(crate) fn release_ns(self) -> u64 {
        self.end_ns - (self.end_ns - self.start_ns) / 5
    }

    /// The plan's clock at a time of the history: it slows to a halt, stands, starts again.
    pub(crate) fn plan_time(self, at_ns: u64) -> PlanTime {
        let ramp = float(RAMP_NS);
        if at_ns < self.start_ns {
            return PlanTime { ns: at_ns, rate: 1.0 };
        }
        if at_ns >= self.end_ns + RAMP_NS {
            return PlanTime { ns: at_ns - (self.end_ns - self.start_ns), rate: 1.0 };
        }
        if at_ns < self.end_ns {
            let since = float(at_ns - self.start_ns).min(ramp);
            let gone = since - since * since / (2.0 * ramp);
            return PlanTime { ns: self.start_ns + whole(gone), rate: 1.0 - since / ramp };
        }
        let since = float(at_ns - self.end_ns);
        let gone = ramp / 2.0 + since * since / (2.0 * ramp);
        PlanTime { ns: self.start_ns + whole(gone), rate: since / ramp }
    }

    /// When the plan's clock shows a time; what falls into the braking comes after the fault.
    pub(crate) fn history_ns(self, plan_ns: u64) -> u64 {
        if plan_ns < self.start_ns { plan_ns } else { plan_ns + (self.end_ns - self.start_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plans_clock_stands_during_the_fault_and_never_runs_back() {
        let fault = Fault { start_ns: 10 * NS_PER_S, end_ns: 15 * NS_PER_S };
        let mut before = fault.plan_time(9 * NS_PER_S);
        for step in 9_000..17_000 {
            let now = fault.plan_time(step * 1_000_000);
            assert!((0.0..=1.0).contains(&now.rate));
            assert!(now.ns >= before.ns && now.ns - before.ns <= 1_000_001, "{step}");
            before = now;
        }
        assert_eq!(fault.plan_time(11 * NS_PER_S).ns, fault.plan_time(14 * NS_PER_S).ns);
        assert_eq!(fault.plan_time(20 * NS_PER_S).ns, 15 * NS_PER_S);
        assert_eq!(fault.history_ns(15 * NS_PER_S), 20 * NS_PER_S);
    }
}
