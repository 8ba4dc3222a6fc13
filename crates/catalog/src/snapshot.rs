//! One immutable view of everything that is recorded.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use ros2_memory_bag::{BagError, ChunkChannel, TimelinePart, TimelineParts, Verdict};
use ros2_memory_index::{BagEntry, EdgeSpan, IndexedTypes};
use ros2_memory_time::{LogTime, TimeRange};

use self::joining::{Sets, find_deleted, find_gaps, join_edges, join_topics, sort_places};
use crate::{
    IndexProgress, Refused,
    runs::{self, Run},
    segment::{
        Dead, Segment,
        rows::{RowFlags, latest_so_far},
        summary::Summary,
    },
    sightings::ListsByLabel,
};

mod joining;

/// Two bags further apart than this leave a gap: a new split follows within milliseconds.
const MIN_GAP_NS: u64 = 2_000_000_000;

/// What is recorded, as of one moment. A query takes one and keeps it to its end.
#[derive(Debug, Default)]
pub struct Snapshot {
    root: PathBuf,
    pub(crate) parts: Vec<Part>,
    /// By start time, then path.
    places: Vec<Place>,
    /// For each bag, the latest time in it and in all bags before it.
    latest_so_far: Vec<LogTime>,
    topics: BTreeMap<Arc<str>, TopicSummary>,
    /// Sets of topics that bags have messages of.
    sets: Vec<Vec<Arc<str>>>,
    /// By start time.
    runs: Vec<Run>,
    gaps: Vec<TimeRange>,
    /// When bags were recorded that are gone, ascending and apart.
    deleted: Vec<(LogTime, LogTime)>,
    refused: Vec<Refused>,
    progress: Option<IndexProgress>,
    /// What the configuration has indexed.
    pub(crate) indexed: Arc<IndexedTypes>,
    n_entries: u64,
    n_open: u64,
    bag_bytes: u64,
    edges: Vec<EdgeSpan>,
    /// The bags in which something is wrong.
    damaged: Vec<Arc<BagEntry>>,
    /// The names of all labels, in byte order; put together when they are first asked for.
    pub(crate) labels: OnceLock<Vec<Arc<str>>>,
    /// Put together when a label is first asked for.
    pub(crate) lists_by_label: OnceLock<ListsByLabel>,
    /// How often an entry could not be read.
    n_unreadable: AtomicU64,
}

/// A segment as a snapshot sees it.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) segment: Arc<Segment>,
    pub(crate) dead: Arc<Dead>,
    /// For each row, its bag's place in the snapshot; `u32::MAX` for those that have none.
    pub(crate) places: Arc<[u32]>,
}

/// One bag with messages.
#[derive(Debug, Clone, Copy)]
struct Place {
    first: LogTime,
    last: LogTime,
    part: u32,
    row: u32,
    run: u32,
    /// The set of topics that it has messages of.
    set: u32,
}

/// A bag that holds messages.
#[derive(Debug, Clone)]
pub struct BagView {
    /// What is known of it.
    pub entry: Arc<BagEntry>,
    /// Its first log time.
    pub first: LogTime,
    /// Its last log time.
    pub last: LogTime,
    /// The recording session it belongs to, by place in [`Snapshot::runs`].
    pub run: u32,
}

/// One topic over all bags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSummary {
    /// Its name.
    pub topic: Arc<str>,
    /// Its type as the newest bag has it; empty when no file says.
    pub type_name: Arc<str>,
    /// How many messages there are.
    pub count: u64,
    /// The first and last log time; `None` when it was declared and nothing came.
    pub span: Option<(LogTime, LogTime)>,
}

/// A segment that a snapshot is made of, with what became of its bags since.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) segment: Arc<Segment>,
    pub(crate) dead: Arc<Dead>,
    /// Over the rows that are not dead.
    pub(crate) summary: Arc<Summary>,
}

/// What a snapshot is made of.
pub(crate) struct Given {
    pub(crate) root: PathBuf,
    /// By the start time of their first bags.
    pub(crate) segments: Vec<Shown>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) progress: Option<IndexProgress>,
    pub(crate) indexed: Arc<IndexedTypes>,
}

impl BagView {
    /// What it holds of each channel, over all its chunks.
    pub fn channels(&self) -> Vec<ChunkChannel> {
        let mut totals: Vec<ChunkChannel> = Vec::new();
        for seen in self.entry.contents.chunks.iter().flat_map(|chunk| &chunk.channels) {
            match totals.iter_mut().find(|total| total.channel == seen.channel) {
                Some(total) => {
                    total.count = total.count.saturating_add(seen.count);
                    total.first = total.first.min(seen.first);
                    total.last = total.last.max(seen.last);
                }
                None => totals.push(*seen),
            }
        }
        totals
    }
}

impl Snapshot {
    /// The view before the bag directory was looked at for the first time.
    pub(crate) fn before_the_first_look() -> Self {
        Self { progress: Some(IndexProgress { done: 0, total: 0 }), ..Self::default() }
    }

    pub(crate) fn new(given: Given) -> Self {
        let Given { root, segments, refused, progress, indexed } = given;
        let summaries = || segments.iter().map(|shown| &*shown.summary);
        let runs = runs::join(summaries());
        let run_places: HashMap<&Path, u32> =
            (0..).zip(&runs).map(|(place, run)| (run.key.as_path(), place)).collect();
        let mut sets = Sets::default();
        let mut places = Vec::new();
        for (part, Shown { segment, dead, .. }) in (0..).zip(&segments) {
            let index = &segment.index;
            let local_sets: Vec<u32> =
                index.sets.iter().map(|set| sets.place(index, set)).collect();
            let local_runs: Vec<u32> = index
                .runs
                .iter()
                .map(|run| run_places.get(run.as_path()).copied().unwrap_or_default())
                .collect();
            for (row, of) in segment.live_rows(Some(dead)) {
                if of.flags.has(RowFlags::MESSAGES) {
                    places.push(Place {
                        first: of.first,
                        last: of.last,
                        part,
                        row,
                        run: local_runs.get(of.run as usize).copied().unwrap_or_default(),
                        set: local_sets.get(of.topics as usize).copied().unwrap_or_default(),
                    });
                }
            }
        }
        sort_places(&mut places, &segments);
        let latest_so_far = latest_so_far(places.iter().map(|place| place.last));
        let mut rows_to_places: Vec<Vec<u32>> =
            segments.iter().map(|shown| vec![u32::MAX; shown.segment.index.rows.len()]).collect();
        for (number, place) in (0..).zip(&places) {
            let rows = rows_to_places.get_mut(place.part as usize);
            if let Some(slot) = rows.and_then(|rows| rows.get_mut(place.row as usize)) {
                *slot = number;
            }
        }
        let total = |of: fn(&Summary) -> u64| summaries().map(of).sum();
        Self {
            root,
            gaps: find_gaps(&places),
            deleted: find_deleted(&segments),
            places,
            latest_so_far,
            topics: join_topics(summaries()),
            sets: sets.all,
            runs,
            refused,
            progress,
            indexed,
            n_entries: total(|summary| summary.n_bags),
            n_open: total(|summary| summary.n_open),
            bag_bytes: total(|summary| summary.bag_bytes),
            edges: join_edges(summaries()),
            damaged: summaries().flat_map(|summary| &summary.damaged).cloned().collect(),
            labels: OnceLock::new(),
            lists_by_label: OnceLock::new(),
            n_unreadable: AtomicU64::new(0),
            parts: segments
                .into_iter()
                .zip(rows_to_places)
                .map(|(Shown { segment, dead, .. }, places)| Part {
                    segment,
                    dead,
                    places: places.into(),
                })
                .collect(),
        }
    }

    /// The bag directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many bags have messages. Their places go up to here, by start time, then path.
    pub fn n_places(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// The bag at a place: read from the catalog and decoded, unless it is one of the newest.
    /// `None` when the catalog is damaged there, which is counted and logged.
    pub fn bag(&self, place: u32) -> Option<BagView> {
        let of = self.places.get(place as usize)?;
        let part = self.parts.get(of.part as usize)?;
        match part.segment.entry(of.row) {
            Ok(entry) => Some(BagView { entry, first: of.first, last: of.last, run: of.run }),
            Err(reason) => {
                self.n_unreadable.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    segment = part.segment.number,
                    row = of.row,
                    reason,
                    "what the catalog knows of a bag cannot be read; delete it to rebuild it"
                );
                None
            }
        }
    }

    /// The first and last log time of the bag at a place.
    pub fn span(&self, place: u32) -> Option<(LogTime, LogTime)> {
        self.places.get(place as usize).map(|of| (of.first, of.last))
    }

    /// The recording session of the bag at a place, by place in [`Self::runs`].
    pub fn run_of(&self, place: u32) -> Option<u32> {
        self.places.get(place as usize).map(|of| of.run)
    }

    /// How often what the catalog knows of a bag could not be read.
    pub fn n_unreadable(&self) -> u64 {
        self.n_unreadable.load(Ordering::Relaxed)
    }

    /// How many bags are known, those without messages included.
    pub fn n_bags(&self) -> usize {
        usize::try_from(self.n_entries).unwrap_or(usize::MAX)
    }

    /// How many of them have no ending.
    pub fn n_open(&self) -> u64 {
        self.n_open
    }

    /// The topics, by name.
    pub fn topics(&self) -> impl Iterator<Item = &TopicSummary> {
        self.topics.values()
    }

    /// One topic by its exact name.
    pub fn topic(&self, topic: &str) -> Option<&TopicSummary> {
        self.topics.get(topic)
    }

    /// The recording sessions, by start time.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The recording sessions whose latched messages hold at `t`: those that span it, else the
    /// last one before it, else the first.
    pub fn runs_at(&self, t: LogTime) -> Vec<&Run> {
        let spanning: Vec<&Run> =
            self.runs.iter().filter(|run| run.first <= t && t <= run.last).collect();
        if !spanning.is_empty() {
            return spanning;
        }
        let before = self.runs.iter().filter(|run| run.last < t).max_by_key(|run| run.last);
        before.or_else(|| self.runs.first()).into_iter().collect()
    }

    /// The stretches between the first and the last bag in which no bag has a message.
    pub fn gaps(&self) -> &[TimeRange] {
        &self.gaps
    }

    /// The stretches of a range of which bags were recorded that are gone now: first and last log
    /// time.
    pub fn deleted(&self, range: TimeRange) -> Vec<(LogTime, LogTime)> {
        let within = |(first, last): &(LogTime, LogTime)| range.touches(*first, *last);
        self.deleted
            .iter()
            .filter(|span| within(span))
            .map(|(first, last)| ((*first).max(range.start), (*last).min(range.end)))
            .collect()
    }

    /// Files that could not be indexed, with the reason.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// The bags in which something is wrong; what is whole in them is served.
    pub fn damaged(&self) -> &[Arc<BagEntry>] {
        &self.damaged
    }

    /// How many damaged bags may have lost messages of one of `topics` within `range`.
    pub fn losses(&self, topics: &[&TopicSummary], range: TimeRange) -> usize {
        let may_have_lost = |entry: &&Arc<BagEntry>| {
            let contents = &entry.contents;
            let damaged = contents.chunks.iter().filter(|c| c.verdict == Verdict::Damaged);
            let n_damaged = damaged.clone().count();
            // A chunk that is lost has the times that its writer gave it. What else is wrong may
            // concern the whole of the bag, or, where nothing of it is left, any time.
            let touches = damaged.clone().any(|chunk| range.touches(chunk.first, chunk.last))
                || (contents.damage.len() > n_damaged
                    && contents.time_span().is_none_or(|(first, last)| range.touches(first, last)));
            let channels = &contents.declared.channels;
            let declares =
                |topic: &&TopicSummary| channels.iter().any(|channel| channel.topic == topic.topic);
            touches && (channels.is_empty() || topics.iter().any(declares))
        };
        self.damaged.iter().filter(may_have_lost).count()
    }

    /// How far indexing has come, while it is not finished.
    pub fn progress(&self) -> Option<IndexProgress> {
        self.progress
    }

    /// The first and last log time of all bags.
    pub fn time_span(&self) -> Option<(LogTime, LogTime)> {
        Some((self.places.first()?.first, *self.latest_so_far.last()?))
    }

    /// Every pair of frames that a transform was recorded for.
    pub fn edges(&self) -> &[EdgeSpan] {
        &self.edges
    }

    /// The bags, by place, that may hold messages of one of `topics` within `range`.
    pub fn bags_touching(&self, topics: &[&TopicSummary], range: TimeRange) -> Vec<u32> {
        let (start, end) = self.reach(range);
        self.having(topics, start..end).filter(|place| self.touches(*place, range)).collect()
    }

    /// The bags with messages of one of `topics`, by place, out of some places.
    pub fn having<'s>(
        &'s self,
        topics: &[&TopicSummary],
        places: std::ops::Range<u32>,
    ) -> impl DoubleEndedIterator<Item = u32> + use<'s> {
        let wanted: Vec<bool> = self
            .sets
            .iter()
            .map(|set| set.iter().any(|topic| topics.iter().any(|t| t.topic == *topic)))
            .collect();
        let has = move |place: &u32| {
            let set = self.places.get(*place as usize).map(|of| of.set as usize);
            set.and_then(|set| wanted.get(set).copied()).unwrap_or(false)
        };
        places.filter(has)
    }

    /// The part and the row of the bag at a place, and the topics that it has messages of.
    pub(crate) fn at(&self, place: u32) -> Option<(usize, u32, &[Arc<str>])> {
        let of = self.places.get(place as usize)?;
        Some((of.part as usize, of.row, self.sets.get(of.set as usize)?))
    }

    /// The part, the row, the session and the time of the bag at a place.
    pub(crate) fn stop_at(&self, place: u32) -> Option<(usize, u32, u32, (LogTime, LogTime))> {
        let of = self.places.get(place as usize)?;
        Some((of.part as usize, of.row, of.run, (of.first, of.last)))
    }

    /// The places between which all bags lie that may touch a range: bags are numbered by start
    /// time, so that those behind start too late, and those in front end too early.
    pub fn reach(&self, range: TimeRange) -> (u32, u32) {
        let end = self.places.partition_point(|of| of.first < range.end);
        let start = self.latest_so_far.partition_point(|latest| *latest < range.start);
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        (number(start), number(end))
    }

    fn touches(&self, place: u32, range: TimeRange) -> bool {
        self.span(place).is_some_and(|(first, last)| range.touches(first, last))
    }

    /// The latest time in the bags up to a place.
    pub fn latest_up_to(&self, place: u32) -> Option<LogTime> {
        self.latest_so_far.get(place as usize).copied()
    }

    /// Some bags as the parts of a timeline.
    pub fn timeline_parts(self: &Arc<Self>, places: Vec<u32>) -> SnapshotParts {
        SnapshotParts { snapshot: self.clone(), places }
    }

    /// What a timeline needs of a bag.
    pub fn timeline_part(&self, entry: &BagEntry) -> TimelinePart {
        TimelinePart {
            path: self.root.join(&entry.path).into(),
            identity: entry.identity,
            contents: entry.contents.clone(),
        }
    }

    /// How many bytes the bags take.
    pub fn bag_bytes(&self) -> u64 {
        self.bag_bytes
    }

    /// How many messages there are.
    pub fn n_messages(&self) -> u64 {
        self.topics.values().map(|topic| topic.count).sum()
    }
}

/// Bags of a snapshot as the parts of a timeline, read from the catalog as they are reached.
#[derive(Debug)]
pub struct SnapshotParts {
    snapshot: Arc<Snapshot>,
    places: Vec<u32>,
}

impl TimelineParts for SnapshotParts {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn span(&self, place: usize) -> Option<(LogTime, LogTime)> {
        self.snapshot.span(*self.places.get(place)?)
    }

    fn part(&self, place: usize) -> Result<TimelinePart, (PathBuf, BagError)> {
        let snapshot = &self.snapshot;
        let bag = self.places.get(place).and_then(|place| snapshot.bag(*place));
        let Some(BagView { entry, .. }) = bag else {
            let source = std::io::Error::other("its entry in the catalog is damaged");
            let path = snapshot.root.clone();
            let action = "look up a bag";
            return Err((path.clone(), BagError::Io { action, source, path }));
        };
        Ok(snapshot.timeline_part(&entry))
    }
}
