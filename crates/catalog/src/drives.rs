//! How far the robot drove, out of sums that the catalog holds.

use std::{ops::Range, sync::Arc};

use ros2_memory_bag::Declarations;
use ros2_memory_index::{Drive, DriveRules, IndexedMark, Pose, Step};
use ros2_memory_time::{LogTime, TimeRange};

use crate::{
    Snapshot, TopicSummary,
    segment::tables::{Column, DriveRecord, Table},
};

/// So many rows are looked at together for one that has poses.
const LOOK_BACK_ROWS: u32 = 8;

/// A part of a path, in the order of time.
#[derive(Debug, Clone, PartialEq)]
pub enum Leg {
    /// The poses of these bags have to be read.
    Read(Vec<u32>),
    /// The poses of some bags, summed up.
    Summed(DriveLeg),
}

/// The poses of bags of one segment that follow each other, summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveLeg {
    /// The first pose, and its session by place in [`Snapshot::runs`].
    pub first: (Pose, u32),
    /// The last pose, and its session by place in [`Snapshot::runs`].
    pub last: (Pose, u32),
    /// The sum of the steps, those between the bags included.
    pub distance_m: f64,
    /// The fastest step.
    pub fastest_mps: f64,
    /// How many poses there are.
    pub n_poses: u64,
    /// How many steps were jumps.
    pub n_jumps: u64,
    /// How many poses were not finite.
    pub n_invalid: u64,
    /// How many steps were from one session to another, and count as none.
    pub n_borders: u64,
    part: usize,
    rows: Range<u32>,
}

/// A bag on the way: where it is, and from when to when its poses are.
#[derive(Debug, Clone, Copy)]
struct Stop {
    place: u32,
    part: usize,
    row: u32,
    run: u32,
    /// Whether all of it is asked for, and it is indexed as the configuration has it.
    is_whole: bool,
}

impl DriveLeg {
    /// How many bags it is summed up from, those without poses between them included.
    pub fn n_bags(&self) -> usize {
        self.rows.len()
    }
}

impl Snapshot {
    /// The path of a pose topic in a range: what is summed up, and which bags have to be read,
    /// since only a part of them is asked for, or their poses are out of order or overlap others.
    /// `None` when steps are not counted by `rules` in the sums.
    pub fn drive_legs(
        &self,
        topic: &TopicSummary,
        range: TimeRange,
        rules: DriveRules,
    ) -> Option<Vec<Leg>> {
        if self.indexed.rules != rules {
            return None;
        }
        let tables: Vec<Option<&Table>> = self
            .parts
            .iter()
            .map(|part| {
                let mut tables = part.segment.index.tables.iter();
                tables.find(|of| {
                    of.topic == topic.topic && of.column == Column::Drive && of.rules == rules
                })
            })
            .collect();
        let legs = self.by_sums(&self.stretches(topic, range), &tables, rules);
        Some(legs.unwrap_or_else(|| {
            let stops: Vec<Stop> = self.stops(topic, range).collect();
            self.one_by_one(&stops, &tables)
        }))
    }

    /// Points of a leg from which a shape can be chosen: at most about `max`.
    pub fn points(&self, topic: &TopicSummary, leg: &DriveLeg, max: usize) -> Vec<Pose> {
        let Some(part) = self.parts.get(leg.part) else { return Vec::new() };
        let mut tables = part.segment.index.tables.iter();
        let table = tables.find(|of| of.topic == topic.topic && of.column == Column::Drive);
        let Some(table) = table else { return Vec::new() };
        let read = |rows: Range<u32>| {
            let records = part.segment.records(table, rows).unwrap_or_default();
            DriveRecord::all(&records).filter_map(|record| record.drive).collect::<Vec<_>>()
        };
        // Two points a bag; of many bags some, of which each costs a read.
        let max = u32::try_from(max / 2).unwrap_or(u32::MAX).max(1);
        let step = (leg.rows.len() / max as usize).max(1);
        let drives = if step < 8 {
            read(leg.rows.clone()).into_iter().step_by(step).collect()
        } else {
            let rows = leg.rows.clone().step_by(step);
            rows.flat_map(|row| read(row..row + 1)).collect::<Vec<_>>()
        };
        let mut points: Vec<Pose> =
            drives.iter().flat_map(|drive| [drive.first, drive.corner]).collect();
        points.push(leg.last.0);
        points.dedup_by_key(|pose| pose.time);
        points
    }

    /// The bags on the way, in their order.
    fn stops(&self, topic: &TopicSummary, range: TimeRange) -> impl Iterator<Item = Stop> {
        // Most bags of a history declare the same.
        let mut last_mark: Option<(*const Declarations, IndexedMark)> = None;
        let shared = self.shared_times();
        let (start, end) = self.reach(range);
        self.having(&[topic], start..end).filter_map(move |place| {
            let (part, row, run, (first, last)) = self.stop_at(place)?;
            if !range.touches(first, last) {
                return None;
            }
            let segment = &self.parts.get(part)?.segment;
            let of = segment.row(row)?;
            let declared = segment.index.declared.get(of.declared as usize)?;
            let mark = match last_mark {
                Some((known, mark)) if known == Arc::as_ptr(declared) => mark,
                _ => self.indexed.mark(declared),
            };
            last_mark = Some((Arc::as_ptr(declared), mark));
            let is_alone = shared
                .get(run as usize)?
                .iter()
                .all(|(other_first, other_last)| first > *other_last || *other_first > last);
            let is_whole =
                range.contains(first) && range.contains(last) && mark == of.indexed && is_alone;
            Some(Stop { place, part, row, run, is_whole })
        })
    }

    /// The first and last of bags that follow each other in a segment and can be summed up
    /// together; a bag that cannot is alone.
    fn stretches(&self, topic: &TopicSummary, range: TimeRange) -> Vec<(Stop, Stop)> {
        let mut stretches: Vec<(Stop, Stop)> = Vec::new();
        for stop in self.stops(topic, range) {
            match stretches.last_mut() {
                Some((_, last))
                    if last.is_whole
                        && stop.is_whole
                        && last.part == stop.part
                        && self.has_no_dead(stop.part, last.row, stop.row) =>
                {
                    *last = stop;
                }
                _ => stretches.push((stop, stop)),
            }
        }
        stretches
    }

    /// For each session the times of others that recorded meanwhile. Of these one is followed to
    /// its end, which no sum knows.
    fn shared_times(&self) -> Vec<Vec<(LogTime, LogTime)>> {
        let runs = self.runs();
        let mut by_start: Vec<usize> = (0..runs.len()).collect();
        by_start.sort_by_key(|at| runs.get(*at).map(|run| run.first));
        let mut shared = vec![Vec::new(); runs.len()];
        for (place, at) in by_start.iter().enumerate() {
            let Some(run) = runs.get(*at) else { continue };
            for other_at in by_start.iter().skip(place + 1) {
                let Some(other) = runs.get(*other_at).filter(|of| of.first <= run.last) else {
                    break;
                };
                for (of, by) in [(*at, other), (*other_at, run)] {
                    if let Some(shared) = shared.get_mut(of) {
                        shared.push((by.first, by.last));
                    }
                }
            }
        }
        shared
    }

    /// By differences of running sums; `None` where these break off.
    fn by_sums(
        &self,
        stretches: &[(Stop, Stop)],
        tables: &[Option<&Table>],
        rules: DriveRules,
    ) -> Option<Vec<Leg>> {
        let mut legs: Vec<Leg> = Vec::new();
        let mut last_time: Option<LogTime> = None;
        for (first, last) in stretches {
            let (leg, span) = if first.is_whole {
                let leg = self.sum(first, last, *tables.get(first.part)?, rules)?;
                let span = (leg.first.0.time, leg.last.0.time);
                (Leg::Summed(leg), span)
            } else {
                let span = self.pose_span(first, *tables.get(first.part)?)?;
                (Leg::Read(vec![first.place]), span)
            };
            if last_time.is_some_and(|last| span.0 <= last) {
                return None;
            }
            last_time = Some(span.1);
            legs.push(leg);
        }
        Some(legs)
    }

    /// Whether all rows between two of a segment stand for bags that are there.
    fn has_no_dead(&self, part: usize, from: u32, to: u32) -> bool {
        let Some(part) = self.parts.get(part) else { return false };
        (from + 1..to)
            .all(|number| part.segment.row(number).is_some_and(|row| part.dead.leaves(number, row)))
    }

    /// The sum over the rows from one to another of a segment; `None` where it breaks off.
    fn sum(
        &self,
        from: &Stop,
        to: &Stop,
        table: Option<&Table>,
        rules: DriveRules,
    ) -> Option<DriveLeg> {
        let (part, table) = (self.parts.get(from.part)?, table?);
        let read = |rows: Range<u32>| {
            let records = part.segment.records(table, rows).inspect_err(|reason| {
                tracing::warn!(segment = part.segment.number, reason, "bags are read instead");
            });
            Some(DriveRecord::all(&records.ok()?).collect::<Vec<_>>())
        };
        let (a, b) = (*read(from.row..from.row + 1)?.first()?, *read(to.row..to.row + 1)?.first()?);
        let (first, last) = (a.drive?, b.drive?);
        if b.totals.n_breaks != a.totals.n_breaks {
            return None;
        }
        let run_of = |row: u32| part.segment.row(row).map(|row| row.run);
        let (mut fastest_mps, edges) = table.fastest(from.row..to.row + 1);
        for rows in edges.into_iter().filter(|rows| !rows.is_empty()) {
            // The step to the first of them is from the last row in front that has poses.
            let (mut start, mut before) = (rows.start, None);
            while before.is_none() && start > from.row {
                let end = start;
                start = start.saturating_sub(LOOK_BACK_ROWS).max(from.row);
                let drives = (start..end).zip(read(start..end)?);
                before = drives.filter_map(|(row, of)| Some((of.drive?, run_of(row)?))).next_back();
            }
            for (row, record) in rows.clone().zip(read(rows)?) {
                let Some(drive) = record.drive else { continue };
                let run = run_of(row)?;
                fastest_mps = fastest_mps.max(drive.fastest_mps);
                let within = before.filter(|(_, of): &(Drive, u32)| *of == run);
                let step = within.map(|(before, _)| rules.step(&before.last, &drive.first));
                if let Some(Step::Driven { speed_mps: Some(speed_mps), .. }) = step {
                    fastest_mps = fastest_mps.max(speed_mps);
                }
                before = Some((drive, run));
            }
        }
        let count = |b: u32, a: u32, own: u32| u64::from(b.saturating_sub(a)) + u64::from(own);
        Some(DriveLeg {
            first: (first.first, from.run),
            last: (last.last, to.run),
            distance_m: b.totals.distance_m - a.totals.distance_m + first.distance_m,
            fastest_mps,
            n_poses: b.totals.n_poses.saturating_sub(a.totals.n_poses) + u64::from(first.n_poses),
            n_jumps: count(b.totals.n_jumps, a.totals.n_jumps, first.n_jumps),
            n_invalid: count(b.totals.n_invalid, a.totals.n_invalid, first.n_invalid),
            n_borders: count(b.totals.n_borders, a.totals.n_borders, 0),
            part: from.part,
            rows: from.row..to.row + 1,
        })
    }

    /// From when to when the poses of a bag are: as its drive says, else the bag.
    fn pose_span(&self, stop: &Stop, table: Option<&Table>) -> Option<(LogTime, LogTime)> {
        let drive = table.and_then(|table| {
            let segment = &self.parts.get(stop.part)?.segment;
            let records = segment.records(table, stop.row..stop.row + 1).ok()?;
            DriveRecord::all(&records).find_map(|record| record.drive)
        });
        match drive {
            Some(drive) => Some((drive.first.time, drive.last.time)),
            None => self.span(stop.place),
        }
    }

    /// Bag by bag: those that overlap in time are read together.
    fn one_by_one(&self, stops: &[Stop], tables: &[Option<&Table>]) -> Vec<Leg> {
        let mut groups: Vec<(Vec<&Stop>, LogTime)> = Vec::new();
        // Bags are in the order of their first messages, which need not be poses.
        let mut spans: Vec<(&Stop, (LogTime, LogTime))> = stops
            .iter()
            .filter_map(|stop| {
                let table = tables.get(stop.part).copied().flatten();
                Some((stop, self.pose_span(stop, table)?))
            })
            .collect();
        spans.sort_by_key(|(_, span)| *span);
        for (stop, (first, last)) in spans {
            match groups.last_mut() {
                Some((group, latest)) if first <= *latest => {
                    group.push(stop);
                    *latest = (*latest).max(last);
                }
                _ => groups.push((vec![stop], last)),
            }
        }
        let mut legs: Vec<Leg> = Vec::new();
        for (group, _) in &groups {
            let alone = match group.as_slice() {
                [stop] if stop.is_whole => {
                    let table = tables.get(stop.part).copied().flatten();
                    self.sum(stop, stop, table, self.indexed.rules)
                }
                _ => None,
            };
            let places = group.iter().map(|stop| stop.place);
            match (alone, legs.last_mut()) {
                (Some(leg), _) => legs.push(Leg::Summed(leg)),
                // What is read is read in the order of time, also over groups.
                (None, Some(Leg::Read(before))) => before.extend(places),
                (None, _) => legs.push(Leg::Read(places.collect())),
            }
        }
        for leg in &mut legs {
            if let Leg::Read(places) = leg {
                places.sort_unstable();
            }
        }
        legs
    }
}
