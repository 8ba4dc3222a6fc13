use ros2_memory_time::LogTime;

/// How distance is counted along poses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveRules {
    /// A shorter step is noise and counts as none.
    pub jitter_m: f64,
    /// A faster step is a jump of the estimate and counts as none.
    pub max_speed_mps: f64,
}

impl Default for DriveRules {
    fn default() -> Self {
        Self { jitter_m: 0.0, max_speed_mps: 20.0 }
    }
}

/// A position at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// The log time.
    pub time: LogTime,
    /// x, y and z in the frame of the messages; finite.
    pub at_m: [f64; 3],
}

/// What a step between two poses counts as.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// A distance, and a speed where time passed.
    Driven {
        /// How far.
        distance_m: f64,
        /// How fast.
        speed_mps: Option<f64>,
    },
    /// Faster than the robot can be; two different poses of one moment too.
    Jump,
    /// None at all, or noise.
    Still,
}

impl DriveRules {
    /// The step between two poses of one session, the second not earlier than the first.
    pub fn step(&self, from: &Pose, to: &Pose) -> Step {
        let ([x0, y0, z0], [x1, y1, z1]) = (from.at_m, to.at_m);
        let distance_m = ((x1 - x0).powi(2) + (y1 - y0).powi(2) + (z1 - z0).powi(2)).sqrt();
        #[expect(clippy::cast_precision_loss, reason = "a span of time in seconds")]
        let step_s = to.time.since_ns(from.time) as f64 / 1e9;
        if distance_m > self.max_speed_mps * step_s {
            // Two poses of one moment have no speed: they are a jump when they differ.
            if distance_m > 0.0 { Step::Jump } else { Step::Still }
        } else if distance_m >= self.jitter_m {
            Step::Driven { distance_m, speed_mps: (step_s > 0.0).then(|| distance_m / step_s) }
        } else {
            Step::Still
        }
    }
}

/// A path summed up: that of the poses of one topic over one bag, or over many bags in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drive {
    /// The first pose.
    pub first: Pose,
    /// The pose that lies farthest from the line between the first and the last: a waypoint.
    pub corner: Pose,
    /// The last pose.
    pub last: Pose,
    /// The sum of the steps.
    pub distance_m: f64,
    /// The fastest step.
    pub fastest_mps: f64,
    /// How many poses there are.
    pub n_poses: u32,
    /// How many steps were jumps.
    pub n_jumps: u32,
    /// How many poses were not finite.
    pub n_invalid: u32,
}

impl Drive {
    /// How many bytes [`Self::to_bytes`] gives.
    pub const LEN: usize = 3 * 32 - 8 + 2 * 8 + 3 * 4;

    /// As bytes: the poses, each its time, x, y and z, the corner without z; the sums; the counts;
    /// all little-endian.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        let mut rest = out.as_mut_slice();
        let mut put = |bytes: &[u8]| {
            if let Some((place, behind)) =
                std::mem::take(&mut rest).split_at_mut_checked(bytes.len())
            {
                place.copy_from_slice(bytes);
                rest = behind;
            }
        };
        for (pose, n_parts) in [(&self.first, 3), (&self.corner, 2), (&self.last, 3)] {
            put(&pose.time.as_ns().to_le_bytes());
            pose.at_m.iter().take(n_parts).for_each(|part| put(&part.to_le_bytes()));
        }
        put(&self.distance_m.to_le_bytes());
        put(&self.fastest_mps.to_le_bytes());
        for count in [self.n_poses, self.n_jumps, self.n_invalid] {
            put(&count.to_le_bytes());
        }
        out
    }

    /// From such bytes.
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let (words, counts) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let mut word = || words.next().unwrap_or_default();
        let mut pose = |has_height: bool| {
            let time = LogTime::from_ns(word());
            let (x, y) = (f64::from_bits(word()), f64::from_bits(word()));
            let z = if has_height { f64::from_bits(word()) } else { 0.0 };
            Pose { time, at_m: [x, y, z] }
        };
        let (first, corner, last) = (pose(true), pose(false), pose(true));
        let (distance_m, fastest_mps) = (f64::from_bits(word()), f64::from_bits(word()));
        let n_poses_and_jumps = word();
        let [low, high] = [n_poses_and_jumps & 0xffff_ffff, n_poses_and_jumps >> 32];
        let narrow = |wide: u64| u32::try_from(wide).unwrap_or(u32::MAX);
        let n_invalid = counts.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let (n_poses, n_jumps) = (narrow(low), narrow(high));
        Self { first, corner, last, distance_m, fastest_mps, n_poses, n_jumps, n_invalid }
    }
}

/// Of a longer bag, every second pose is a waypoint to choose from, and so on.
const HELD_POSES: usize = 512;

/// Sums up the poses of a bag.
#[derive(Debug)]
pub(crate) struct DriveSum {
    rules: DriveRules,
    drive: Option<Drive>,
    n_invalid: u32,
    /// Every `stride`-th pose.
    held: Vec<Pose>,
    stride: u32,
    /// Whether poses came out of order, or were lost.
    is_broken: bool,
}

impl DriveSum {
    pub(crate) fn new(rules: DriveRules) -> Self {
        let held = Vec::new();
        Self { rules, drive: None, n_invalid: 0, held, stride: 1, is_broken: false }
    }

    /// Goes on behind what is known of a bag that has grown since.
    pub(crate) fn behind(rules: DriveRules, drive: Option<Drive>) -> Self {
        let mut sum = Self::new(rules);
        if let Some(drive) = drive {
            sum.held.extend([drive.first, drive.corner]);
            sum.n_invalid = drive.n_invalid;
        }
        Self { drive, ..sum }
    }

    pub(crate) fn lose(&mut self) {
        self.is_broken = true;
    }

    #[inline]
    pub(crate) fn add(&mut self, time: LogTime, [x, y, z]: [f64; 3]) {
        // A type without height has no third part.
        let at_m = [x, y, if z.is_nan() { 0.0 } else { z }];
        if at_m.iter().any(|part| !part.is_finite()) {
            self.n_invalid = self.n_invalid.saturating_add(1);
            return;
        }
        let pose = Pose { time, at_m };
        let Some(drive) = &mut self.drive else {
            let (distance_m, fastest_mps, n_poses, n_jumps, n_invalid) = (0.0, 0.0, 1, 0, 0);
            self.held.push(pose);
            self.drive = Some(Drive {
                first: pose,
                corner: pose,
                last: pose,
                distance_m,
                fastest_mps,
                n_poses,
                n_jumps,
                n_invalid,
            });
            return;
        };
        if pose.time < drive.last.time {
            self.is_broken = true;
            return;
        }
        match self.rules.step(&drive.last, &pose) {
            Step::Driven { distance_m, speed_mps } => {
                drive.distance_m += distance_m;
                drive.fastest_mps = drive.fastest_mps.max(speed_mps.unwrap_or_default());
            }
            Step::Jump => drive.n_jumps = drive.n_jumps.saturating_add(1),
            Step::Still => {}
        }
        drive.last = pose;
        if drive.n_poses.is_multiple_of(self.stride) {
            self.held.push(pose);
            if self.held.len() >= 2 * HELD_POSES {
                let mut keeps = false;
                self.held.retain(|_| {
                    keeps = !keeps;
                    keeps
                });
                self.stride = self.stride.saturating_mul(2);
            }
        }
        match drive.n_poses.checked_add(1) {
            Some(n_poses) => drive.n_poses = n_poses,
            None => self.is_broken = true,
        }
    }

    /// The sum; `None` when there was no pose, or they were not in order.
    pub(crate) fn finish(self) -> Option<Drive> {
        let mut drive = self.drive.filter(|_| !self.is_broken)?;
        drive.n_invalid = self.n_invalid;
        drive.corner = farthest_from_line(&self.held, &drive.first, &drive.last);
        Some(drive)
    }
}

/// The pose that lies farthest from the line through two others in the plane; the first of them
/// when there is none beside it.
fn farthest_from_line(poses: &[Pose], from: &Pose, to: &Pose) -> Pose {
    let ([ax, ay, _], [bx, by, _]) = (from.at_m, to.at_m);
    let (dx, dy) = (bx - ax, by - ay);
    let length_squared = dx * dx + dy * dy;
    let offset = |pose: &Pose| {
        let (px, py) = (pose.at_m[0] - ax, pose.at_m[1] - ay);
        let along = (px * dx + py * dy) / length_squared;
        let along = if along.is_finite() { along.clamp(0.0, 1.0) } else { 0.0 };
        (px - along * dx).powi(2) + (py - along * dy).powi(2)
    };
    let farthest = poses.iter().map(|pose| (offset(pose), pose));
    farthest.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(*from, |(_, pose)| *pose)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pose(second: u32, x: f64, y: f64) -> (LogTime, [f64; 3]) {
        (LogTime::from_ns(u64::from(second) * 1_000_000_000), [x, y, f64::NAN])
    }

    fn sum(poses: &[(LogTime, [f64; 3])]) -> Option<Drive> {
        let mut sum = DriveSum::new(DriveRules { jitter_m: 0.05, max_speed_mps: 20.0 });
        for (time, at) in poses {
            sum.add(*time, *at);
        }
        sum.finish()
    }

    #[test]
    fn steps_add_up_and_the_corner_is_kept() {
        let mut poses = vec![pose(0, 0.0, 0.0), pose(1, 1.0, 0.0), pose(2, 1.0, 0.01)];
        poses.extend([pose(3, 1.0, 2.0), pose(4, 500.0, 0.0), pose(5, f64::NAN, 0.0)]);
        let drive = sum(&poses).unwrap();
        assert!((drive.distance_m - 2.99).abs() < 1e-9, "{drive:?}");
        assert!((drive.fastest_mps - 1.99).abs() < 1e-9);
        assert_eq!((drive.n_poses, drive.n_jumps, drive.n_invalid), (5, 1, 1));
        assert_eq!(drive.corner.at_m.map(f64::to_bits), [1.0, 2.0, 0.0].map(f64::to_bits));
    }

    #[test]
    fn poses_out_of_order_are_not_summed_up() {
        assert_eq!(sum(&[pose(1, 0.0, 0.0), pose(0, 0.0, 0.0)]), None);
        assert_eq!(sum(&[]), None);
    }

    #[test]
    fn what_is_known_is_gone_on_from() {
        let poses: Vec<_> =
            (0..40u32).map(|i| pose(i, f64::from(i) * 0.5, f64::from(i % 3))).collect();
        let whole = sum(&poses).unwrap();
        let (known, new) = poses.split_at(17);
        let rules = DriveRules { jitter_m: 0.05, max_speed_mps: 20.0 };
        let mut grown = DriveSum::behind(rules, sum(known));
        for (time, at) in new {
            grown.add(*time, *at);
        }
        let grown = grown.finish().unwrap();
        assert_eq!((grown.first, grown.last), (whole.first, whole.last));
        assert_eq!((grown.distance_m, grown.n_poses), (whole.distance_m, whole.n_poses));
    }

    #[test]
    fn a_long_bag_holds_few_poses() {
        let mut sum = DriveSum::new(DriveRules::default());
        for i in 0..100_000u32 {
            let x = f64::from(i) * 0.01;
            sum.add(LogTime::from_ns(u64::from(i) * 10_000_000), [x, (x * 0.01).sin(), 0.0]);
        }
        assert!(sum.held.len() < 2 * HELD_POSES);
        assert_eq!(sum.finish().unwrap().n_poses, 100_000);
    }
}
