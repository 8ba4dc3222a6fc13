//! Making the columns of a segment.

use std::sync::Arc;

use ros2_memory_index::{Drive, DriveRules, Step, Zone};

use super::tables::{Column, DriveRecord, DriveTotals, Table, zone_record};

/// The columns as far as they are made.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    rules: DriveRules,
    zones: Vec<ZoneColumn>,
    drives: Vec<DriveColumn>,
}

#[derive(Debug)]
struct DriveColumn {
    topic: Arc<str>,
    drives: Vec<(u32, Drive)>,
}

#[derive(Debug)]
struct ZoneColumn {
    topic: Arc<str>,
    path: Arc<str>,
    records: Vec<u8>,
}

impl Columns {
    pub(crate) fn new(rules: DriveRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Adds where a row's numbers lie; it is larger than all before.
    pub(crate) fn add_zone(&mut self, row: u32, topic: &Arc<str>, zone: &Zone) {
        let is_same = |known: &ZoneColumn| known.topic == *topic && known.path == zone.path;
        let at = self.zones.iter().position(is_same).unwrap_or_else(|| {
            let (topic, path) = (topic.clone(), zone.path.clone());
            self.zones.push(ZoneColumn { topic, path, records: Vec::new() });
            self.zones.len() - 1
        });
        if let Some(column) = self.zones.get_mut(at) {
            column.fill(row as usize);
            column.records.extend_from_slice(&zone_record(Some((zone.min, zone.max))));
        }
    }

    /// Adds the drive of a row; it is larger than all before.
    pub(crate) fn add_drive(&mut self, row: u32, topic: &Arc<str>, drive: Drive) {
        match self.drives.iter_mut().find(|known| known.topic == *topic) {
            Some(column) => column.drives.push((row, drive)),
            None => {
                self.drives.push(DriveColumn { topic: topic.clone(), drives: vec![(row, drive)] });
            }
        }
    }

    /// Ends with the last row of the segment. `has_topic` says whether a row has messages of a
    /// topic, `run_of` to which session it belongs.
    pub(crate) fn finish(
        self,
        n_rows: usize,
        has_topic: &dyn Fn(usize, &str) -> bool,
        run_of: &dyn Fn(usize) -> u32,
    ) -> Vec<Table> {
        let zones = self.zones.into_iter().map(|mut column| {
            column.fill(n_rows);
            let path = Column::Zone(column.path);
            Table::of(column.topic, path, self.rules, &column.records, &[])
        });
        let drives = self.drives.into_iter().map(|DriveColumn { topic, drives }| {
            let mut records = Vec::with_capacity(n_rows * DriveRecord::LEN);
            let mut sum = RunningSum { rules: self.rules, ..RunningSum::default() };
            let mut drives = drives.into_iter().peekable();
            let mut fastest_mps = vec![0.0; n_rows];
            for (row, fastest) in fastest_mps.iter_mut().enumerate() {
                let drive = drives.next_if(|(of, _)| *of as usize == row).map(|(_, drive)| drive);
                match drive {
                    Some(drive) => *fastest = sum.add(&drive, run_of(row)),
                    None if has_topic(row, &topic) => sum.break_off(),
                    None => {}
                }
                DriveRecord { drive, totals: sum.totals }.put(&mut records);
            }
            Table::of(topic, Column::Drive, self.rules, &records, &fastest_mps)
        });
        zones.chain(drives).collect()
    }
}

impl ZoneColumn {
    /// Nothing is known of the rows in front of `n_rows` that have no record yet.
    fn fill(&mut self, n_rows: usize) {
        let unknown = zone_record(None);
        while self.records.len() < n_rows * unknown.len() {
            self.records.extend_from_slice(&unknown);
        }
    }
}

/// Sums up drives that follow each other, with the steps from one to the next.
#[derive(Debug, Default)]
struct RunningSum {
    rules: DriveRules,
    totals: DriveTotals,
    last: Option<(Drive, u32)>,
}

impl RunningSum {
    /// Returns the fastest step within the drive and to it.
    fn add(&mut self, drive: &Drive, run: u32) -> f64 {
        let mut fastest_mps = drive.fastest_mps;
        if let Some((last, last_run)) = &self.last {
            if drive.first.time <= last.last.time {
                self.totals.n_breaks += 1;
            } else if *last_run != run {
                self.totals.n_borders += 1;
            } else {
                let step = self.rules.step(&last.last, &drive.first);
                if let Step::Driven { speed_mps: Some(speed_mps), .. } = step {
                    fastest_mps = fastest_mps.max(speed_mps);
                }
                self.totals.step(step);
            }
        }
        self.totals.distance_m += drive.distance_m;
        self.totals.n_poses += u64::from(drive.n_poses);
        self.totals.n_jumps = self.totals.n_jumps.saturating_add(drive.n_jumps);
        self.totals.n_invalid = self.totals.n_invalid.saturating_add(drive.n_invalid);
        self.last = Some((*drive, run));
        fastest_mps
    }

    fn break_off(&mut self) {
        self.totals.n_breaks += 1;
        self.last = None;
    }
}
