//! How far and how fast the robot drove.

use std::{collections::HashMap, sync::Arc};

use ros2_memory_bag::Direction;
use ros2_memory_catalog::{DriveLeg, Leg, Snapshot, TopicSummary};
use ros2_memory_index::{DriveRules, Pose, Step};
use ros2_memory_msg::PlanReader;
use ros2_memory_time::{LogTime, TimeRange};
use serde_json::{Map, Value as Json, json};

use super::{motion::position_plan, range::Window};
use crate::{
    ErrorCode, IndexUse, TypeView,
    handle::handle,
    query::Query,
    refusal::{Answer, Refusal},
    roles::pose_topic,
};

/// How many waypoints a summary has at most.
const MAX_WAYPOINTS: usize = 20;
/// While reading, at most twice this many points are held.
const HELD_POINTS: usize = 2048;

/// Of so few bags the poses are read: that costs little, and gives each of them as a waypoint.
const READ_BAGS: usize = 24;

/// The path in a window: its length, speeds and shape.
pub(crate) fn summary(query: &mut Query<'_>, window: Window) -> Answer {
    let snapshot = query.snapshot.clone();
    let topic = pose_topic(&snapshot, query.types.map(), &query.settings.roles.pose)?;
    let rules = DriveRules {
        jitter_m: query.settings.jitter_m,
        max_speed_mps: query.settings.max_speed_mps,
    };
    let mut reading = Reading { topic, window, plans: HashMap::new(), failed: None };
    let mut path = Path::new(rules);
    let places = snapshot.bags_touching(&[topic], window.range);
    let n_bags = places.len();
    let legs = if n_bags <= READ_BAGS {
        vec![Leg::Read(places)]
    } else {
        let legs = snapshot.drive_legs(topic, window.range, rules);
        legs.unwrap_or_else(|| vec![Leg::Read(places)])
    };
    for leg in &legs {
        match leg {
            Leg::Read(places) => reading.read(query, places, &mut path)?,
            Leg::Summed(leg) => {
                query.stats.index = IndexUse::Drives;
                let n_points = HELD_POINTS * leg.n_bags() / n_bags;
                let run_end = run_end(&snapshot, leg.last.1);
                let points = snapshot.points(topic, leg, n_points.max(MAX_WAYPOINTS));
                path.add_leg(leg, points, run_end);
            }
        }
    }
    let (Some(first), Some(last)) = (path.first, path.last.map(|last| last.time)) else {
        if let Some((failed, reason)) = reading.failed {
            let detail =
                format!("{}: none of {failed} messages could be read: {reason}", topic.topic);
            return Err(Refusal::new(ErrorCode::DecodeFailed, detail));
        }
        let end = window.range.end.saturating_sub_ns(1);
        return Err(Refusal::no_data(format!(
            "{} has no pose from {} to {end}",
            topic.topic, window.range.start
        ))
        .hint(query.recorded()));
    };
    let failed = reading.failed.map_or(0, |(failed, _)| failed);
    #[expect(clippy::cast_precision_loss, reason = "a span of time in seconds")]
    let duration_s = last.since_ns(first) as f64 / 1e9;
    let avg_speed = if duration_s > 0.0 { path.distance_m / duration_s } else { 0.0 };
    let mut map = Map::new();
    map.insert("distance_m".into(), json!(path.distance_m));
    map.insert("avg_speed".into(), json!(avg_speed));
    map.insert("max_speed".into(), json!(path.fastest_mps));
    map.insert("duration_s".into(), json!(duration_s));
    map.insert("waypoints".into(), path.waypoints());
    map.insert("topic".into(), json!(&*topic.topic));
    map.insert("start".into(), json!(first.to_unix_s()));
    map.insert("end".into(), json!(last.to_unix_s()));
    map.insert("n_poses".into(), json!(path.n_poses));
    map.insert("handles".into(), json!([handle(&topic.topic, first), handle(&topic.topic, last)]));
    query.note_losses(&[topic], window.range);
    query.notes.extend(window.clamp_note());
    for (count, what) in [
        (path.n_jumps, "jumps of the pose count as no distance"),
        (path.n_borders, "borders of recording sessions count as no distance"),
        (path.n_doubled, "poses of sessions that overlap another were left out"),
        (path.n_invalid, "poses that are not finite were left out"),
        (failed, "messages could not be read"),
    ] {
        if count > 0 {
            query.notes.push(format!("{count} {what}"));
        }
    }
    Ok(Json::Object(map))
}

/// Reads the poses of a topic out of bags.
struct Reading<'t> {
    topic: &'t TopicSummary,
    window: Window,
    plans: HashMap<*const TypeView, Result<PlanReader, String>>,
    /// How many messages could not be read, and why the last of them.
    failed: Option<(u64, String)>,
}

impl Reading<'_> {
    fn read(
        &mut self,
        query: &mut Query<'_>,
        places: &[u32],
        path: &mut Path,
    ) -> Result<(), Refusal> {
        let snapshot = query.snapshot.clone();
        let range = self.window.range;
        let mut timeline = query.timeline_over(places, &[self.topic], range, Direction::Forward);
        while let Some(message) = timeline.next() {
            let view = query.view(&message.contents.declared, message.channel_index);
            let plan = self.plans.entry(Arc::as_ptr(&view)).or_insert_with(|| {
                let paths = query.types.map().get(&view.type_name).cloned().unwrap_or_default();
                position_plan(&view, &paths).map(PlanReader::new)
            });
            let mut at = [f64::NAN; 3];
            let outcome = match plan {
                Ok(plan) => {
                    plan.numbers(message.payload, &mut at).map_err(|error| error.to_string())
                }
                Err(reason) => Err(reason.clone()),
            };
            if let Err(why) = outcome {
                self.failed = Some((self.failed.take().map_or(0, |(n, _)| n) + 1, why));
                continue;
            }
            let run = places.get(message.part).and_then(|place| snapshot.run_of(*place));
            let run = run.unwrap_or_default();
            path.add(message.log_time, at, (run, run_end(&snapshot, run)));
        }
        let covered = path.last.map(|last| TimeRange::closed(range.start, last.time));
        query.account(timeline.report(), covered)
    }
}

/// When a session ends, by its place.
fn run_end(snapshot: &Snapshot, run: u32) -> LogTime {
    snapshot.runs().get(run as usize).map_or(LogTime::MAX, |run| run.last)
}

/// What is gathered of a path, pose by pose.
#[derive(Debug)]
struct Path {
    rules: DriveRules,
    first: Option<LogTime>,
    last: Option<Pose>,
    last_run: u32,
    /// When the recording session of the last pose ends.
    last_run_end: LogTime,
    distance_m: f64,
    fastest_mps: f64,
    n_poses: u64,
    n_jumps: u64,
    n_borders: u64,
    n_doubled: u64,
    n_invalid: u64,
    /// Every `stride`-th pose of those that were offered.
    held: Vec<Pose>,
    stride: u64,
    n_offered: u64,
}

impl Path {
    fn new(rules: DriveRules) -> Self {
        Self {
            rules,
            first: None,
            last: None,
            last_run: 0,
            last_run_end: LogTime::ZERO,
            distance_m: 0.0,
            fastest_mps: 0.0,
            n_poses: 0,
            n_jumps: 0,
            n_borders: 0,
            n_doubled: 0,
            n_invalid: 0,
            held: Vec::new(),
            stride: 1,
            n_offered: 0,
        }
    }

    fn add(&mut self, time: LogTime, at_m: [f64; 3], (run, run_end): (u32, LogTime)) {
        let [x, y, z] = at_m;
        // A type without height has no third part.
        let at_m = [x, y, if z.is_nan() { 0.0 } else { z }];
        if at_m.iter().any(|part| !part.is_finite()) {
            self.n_invalid += 1;
            return;
        }
        let pose = Pose { time, at_m };
        if self.last.is_some() && self.last_run != run && time <= self.last_run_end {
            // Another session recorded the same drive: one of them is followed to its end.
            self.n_doubled += 1;
            return;
        }
        self.step(&pose, run);
        self.first.get_or_insert(time);
        self.last = Some(pose);
        (self.last_run, self.last_run_end) = (run, run_end);
        self.hold(pose);
        self.n_poses += 1;
    }

    /// Adds poses that are summed up, behind all that were added before, and some of them.
    fn add_leg(&mut self, leg: &DriveLeg, points: Vec<Pose>, run_end: LogTime) {
        let ((first, first_run), (last, last_run)) = (leg.first, leg.last);
        self.step(&first, first_run);
        self.first.get_or_insert(first.time);
        self.distance_m += leg.distance_m;
        self.fastest_mps = self.fastest_mps.max(leg.fastest_mps);
        self.n_poses += leg.n_poses;
        self.n_jumps += leg.n_jumps;
        self.n_borders += leg.n_borders;
        self.n_invalid += leg.n_invalid;
        self.last = Some(last);
        (self.last_run, self.last_run_end) = (last_run, run_end);
        for pose in points {
            self.hold(pose);
        }
    }

    /// Counts the step from the last pose.
    fn step(&mut self, to: &Pose, run: u32) {
        let Some(from) = &self.last else { return };
        if self.last_run != run {
            self.n_borders += 1;
            return;
        }
        match self.rules.step(from, to) {
            Step::Driven { distance_m, speed_mps } => {
                self.distance_m += distance_m;
                self.fastest_mps = self.fastest_mps.max(speed_mps.unwrap_or_default());
            }
            Step::Jump => self.n_jumps += 1,
            Step::Still => {}
        }
    }

    fn hold(&mut self, pose: Pose) {
        self.n_offered += 1;
        if !(self.n_offered - 1).is_multiple_of(self.stride) {
            return;
        }
        self.held.push(pose);
        if self.held.len() >= 2 * HELD_POINTS {
            let mut index = 0;
            self.held.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// The points that keep the path's shape: those that lie farthest from the line between the
    /// points chosen so far (Douglas and Peucker 1973, stopped at a number instead of a distance).
    fn waypoints(&self) -> Json {
        let mut points = self.held.clone();
        if let (Some(last), Some(end)) = (self.last, points.last())
            && end.time != last.time
        {
            points.push(last);
        }
        let mut chosen = vec![0];
        if points.len() > 1 {
            chosen.push(points.len() - 1);
        }
        while chosen.len() < MAX_WAYPOINTS {
            let farthest = chosen
                .windows(2)
                .filter_map(|pair| {
                    let [from, to] = *pair else { return None };
                    farthest_between(&points, from, to)
                })
                .max_by(|a, b| a.1.total_cmp(&b.1));
            match farthest {
                Some((index, offset_m)) if offset_m > 1e-3 => {
                    let place = chosen.partition_point(|known| *known < index);
                    chosen.insert(place, index);
                }
                _ => break,
            }
        }
        chosen
            .iter()
            .filter_map(|index| points.get(*index))
            .map(|pose| {
                let [x, y, _] = pose.at_m;
                json!({"timestamp": pose.time.to_unix_s(), "x": x, "y": y})
            })
            .collect()
    }
}

/// The point between two places that lies farthest from the line through them, and how far.
fn farthest_between(points: &[Pose], from: usize, to: usize) -> Option<(usize, f64)> {
    let (a, b) = (points.get(from)?.at_m, points.get(to)?.at_m);
    let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
    let length_squared = dx * dx + dy * dy;
    let between = points.get(from + 1..to)?;
    between
        .iter()
        .enumerate()
        .map(|(i, pose)| {
            let (px, py) = (pose.at_m[0] - a[0], pose.at_m[1] - a[1]);
            let along = if length_squared > 0.0 {
                ((px * dx + py * dy) / length_squared).clamp(0.0, 1.0)
            } else {
                0.0
            };
            (from + 1 + i, (px - along * dx).hypot(py - along * dy))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(points: &[(f64, f64)], jitter_m: f64) -> Path {
        let mut path = Path::new(DriveRules { jitter_m, max_speed_mps: 20.0 });
        for (i, (x, y)) in (1u64..).zip(points) {
            path.add(LogTime::from_ns(i * 1_000_000_000), [*x, *y, 0.0], (0, LogTime::MAX));
        }
        path
    }

    #[test]
    fn corners_are_kept_as_waypoints() {
        let mut points: Vec<(f64, f64)> = (0..1000).map(|i| (f64::from(i) * 0.01, 0.0)).collect();
        points.extend((0..1000).map(|i| (10.0, f64::from(i) * 0.01)));
        let path = path(&points, 0.0);
        let waypoints = path.waypoints();
        let waypoints = waypoints.as_array().unwrap();
        assert!(waypoints.len() <= MAX_WAYPOINTS);
        let corner = waypoints.iter().any(|w| {
            let part = |name: &str| w[name].as_f64().unwrap();
            (part("x") - 10.0).abs() < 0.05 && part("y").abs() < 0.05
        });
        assert!(corner, "{waypoints:?}");
    }

    #[test]
    fn jitter_jumps_and_borders_are_no_distance() {
        let still = path(&[(0.0, 0.0), (0.01, 0.0), (0.0, 0.0), (1.0, 0.0)], 0.05);
        assert!((still.distance_m - 1.0).abs() < 1e-12);
        let mut jump = path(&[(0.0, 0.0), (1.0, 0.0), (500.0, 0.0), (501.0, 0.0)], 0.0);
        assert!((jump.distance_m - 2.0).abs() < 1e-12 && jump.n_jumps == 1);
        jump.last_run_end = jump.last.map_or(LogTime::ZERO, |last| last.time);
        jump.add(LogTime::from_ns(60_000_000_000), [502.0, 0.0, 0.0], (1, LogTime::MAX));
        assert!((jump.distance_m - 2.0).abs() < 1e-12 && jump.n_borders == 1);
    }

    #[test]
    fn of_two_sessions_of_one_drive_one_is_followed() {
        let mut path = Path::new(DriveRules::default());
        for i in 0..10u32 {
            let time = LogTime::from_ns(u64::from(i) * 1_000_000_000);
            let end = LogTime::from_ns(9_000_000_000);
            path.add(time, [f64::from(i), 0.0, 0.0], (0, end));
            path.add(time, [f64::from(i), 0.0, 0.0], (1, end));
        }
        assert!((path.distance_m - 9.0).abs() < 1e-12, "{}", path.distance_m);
        assert_eq!((path.n_doubled, path.n_borders), (10, 0));
    }

    #[test]
    fn a_week_of_poses_holds_few_points() {
        let mut path = Path::new(DriveRules::default());
        for i in 0..1_000_000u32 {
            let x = f64::from(i) * 0.001;
            path.add(
                LogTime::from_ns(u64::from(i) * 50_000_000),
                [x, x.sin(), 0.0],
                (0, LogTime::MAX),
            );
        }
        assert!(path.held.len() <= 2 * HELD_POINTS);
        assert_eq!(path.waypoints().as_array().unwrap().len(), MAX_WAYPOINTS);
    }
}
