//! One immutable view of everything that is recorded.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use ros2_memory_bag::{ChunkChannel, TimelinePart, Verdict, run_key};
use ros2_memory_index::{BagEntry, EdgeSpan, LatchedMessage};
use ros2_memory_time::{LogTime, TimeRange};

use crate::{IndexProgress, Refused};

/// Two bags further apart than this leave a gap: a new split follows within milliseconds.
const MIN_GAP_NS: u64 = 2_000_000_000;

/// What is recorded, as of one moment. A query takes one and keeps it to its end.
#[derive(Debug, Default)]
pub struct Snapshot {
    root: PathBuf,
    /// By start time, then path.
    bags: Vec<BagView>,
    /// For each bag, the latest time in it and in all bags before it.
    latest_so_far: Vec<LogTime>,
    topics: BTreeMap<Arc<str>, TopicSummary>,
    /// By start time.
    runs: Vec<Run>,
    gaps: Vec<TimeRange>,
    refused: Vec<Refused>,
    progress: Option<IndexProgress>,
    n_entries: usize,
    /// The bags in which something is wrong.
    damaged: Vec<Arc<BagEntry>>,
    /// Put together when it is first asked for.
    edges: OnceLock<Vec<EdgeSpan>>,
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
    /// What it holds of each channel, over all its chunks.
    pub channels: Vec<ChunkChannel>,
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
    /// The bags with messages of it, by place in [`Snapshot::bags`].
    pub bags: Vec<u32>,
}

/// The bags of one recording session.
#[derive(Debug, Clone)]
pub struct Run {
    /// The folder and name that its splits share.
    pub key: PathBuf,
    /// Its first log time.
    pub first: LogTime,
    /// Its last log time.
    pub last: LogTime,
    /// Latched messages, by log time. Those of bags that are gone are among them.
    latched: Vec<(Arc<BagEntry>, usize)>,
}

impl Run {
    /// The latched messages of a topic in this run, by log time, with the entry of the bag that
    /// held each.
    pub fn latched<'s>(
        &'s self,
        topic: &'s str,
    ) -> impl Iterator<Item = (&'s Arc<BagEntry>, &'s LatchedMessage)> {
        self.latched_messages().filter(move |(entry, message)| {
            entry
                .contents
                .declared
                .channel(message.channel)
                .is_some_and(|channel| &*channel.topic == topic)
        })
    }

    /// All latched messages of this run, by log time.
    pub fn latched_messages(&self) -> impl Iterator<Item = (&Arc<BagEntry>, &LatchedMessage)> {
        self.latched.iter().filter_map(|(entry, place)| Some((entry, entry.latched.get(*place)?)))
    }
}

impl Snapshot {
    /// The view before the bag directory was looked at for the first time.
    pub(crate) fn before_the_first_look() -> Self {
        Self { progress: Some(IndexProgress { done: 0, total: 0 }), ..Self::default() }
    }

    /// Puts a view together from the entries of bags that exist, and of bags that are gone.
    pub(crate) fn new(
        root: &Path,
        entries: impl IntoIterator<Item = Arc<BagEntry>>,
        gone: &[Arc<BagEntry>],
        refused: Vec<Refused>,
        progress: Option<IndexProgress>,
    ) -> Self {
        let mut n_entries = 0;
        let mut declared_only = Vec::new();
        let mut damaged = Vec::new();
        let mut bags: Vec<BagView> = Vec::new();
        for entry in entries {
            n_entries += 1;
            if !entry.contents.damage.is_empty() {
                damaged.push(entry.clone());
            }
            match entry.contents.time_span() {
                Some((first, last)) => {
                    let channels = totals(&entry);
                    bags.push(BagView { entry, first, last, run: 0, channels });
                }
                None => declared_only.push(entry),
            }
        }
        bags.sort_by(|a, b| (a.first, &a.entry.path).cmp(&(b.first, &b.entry.path)));
        let mut latest = LogTime::ZERO;
        let latest_so_far = bags
            .iter()
            .map(|bag| {
                latest = latest.max(bag.last);
                latest
            })
            .collect();
        let runs = group_runs(&mut bags, gone);
        let topics = summarize_topics(&bags, &declared_only);
        let gaps = find_gaps(&bags);
        Self {
            root: root.to_owned(),
            bags,
            latest_so_far,
            topics,
            runs,
            gaps,
            refused,
            progress,
            n_entries,
            damaged,
            edges: OnceLock::new(),
        }
    }

    /// The bags with messages, by start time, then path.
    pub fn bags(&self) -> &[BagView] {
        &self.bags
    }

    /// How many bags are known, those without messages included.
    pub fn n_bags(&self) -> usize {
        self.n_entries
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
        Some((self.bags.first()?.first, *self.latest_so_far.last()?))
    }

    /// Every pair of frames that a transform was recorded for.
    pub fn edges(&self) -> &[EdgeSpan] {
        self.edges.get_or_init(|| self.join_edges())
    }

    fn join_edges(&self) -> Vec<EdgeSpan> {
        let gone = self.runs.iter().flat_map(|run| &run.latched).map(|(entry, _)| entry);
        let mut edges: BTreeMap<_, EdgeSpan> = BTreeMap::new();
        let mut seen: std::collections::HashSet<&Path> = std::collections::HashSet::new();
        for entry in self.bags.iter().map(|bag| &bag.entry).chain(gone) {
            if !seen.insert(&entry.path) {
                continue;
            }
            for edge in &entry.edges {
                let key = (edge.parent.clone(), edge.child.clone(), edge.is_static);
                edges
                    .entry(key)
                    .and_modify(|known| {
                        known.count += edge.count;
                        known.first = known.first.min(edge.first);
                        known.last = known.last.max(edge.last);
                    })
                    .or_insert_with(|| edge.clone());
            }
        }
        edges.into_values().collect()
    }

    /// The bags, by place, that may hold messages of one of `topics` within `range`.
    pub fn bags_touching(&self, topics: &[&TopicSummary], range: TimeRange) -> Vec<u32> {
        let touches = |place: &u32| {
            self.bags.get(*place as usize).is_some_and(|bag| range.touches(bag.first, bag.last))
        };
        let mut places: Vec<u32> = topics
            .iter()
            .flat_map(|summary| {
                let places = &summary.bags;
                // Bags are numbered by start time: those behind `end` start too late, and those
                // before `start` end too early.
                let end = places.partition_point(|place| self.starts_before(*place, range.end));
                let start =
                    places.partition_point(|place| self.all_end_before(*place, range.start));
                places.get(start..end).unwrap_or_default().iter().copied().filter(touches)
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// A bag as a part of a timeline.
    pub fn part(&self, place: u32) -> Option<TimelinePart> {
        let bag = self.bags.get(place as usize)?;
        Some(TimelinePart {
            path: self.root.join(&bag.entry.path).into(),
            identity: bag.entry.identity,
            contents: bag.entry.contents.clone(),
        })
    }

    /// How many bytes the bags take.
    pub fn bag_bytes(&self) -> u64 {
        self.bags.iter().map(|bag| bag.entry.identity.size_bytes).sum()
    }

    /// How many messages there are.
    pub fn n_messages(&self) -> u64 {
        self.topics.values().map(|topic| topic.count).sum()
    }

    fn starts_before(&self, place: u32, t: LogTime) -> bool {
        self.bags.get(place as usize).is_some_and(|bag| bag.first < t)
    }

    fn all_end_before(&self, place: u32, t: LogTime) -> bool {
        self.latest_so_far.get(place as usize).is_some_and(|latest| *latest < t)
    }
}

/// What a bag holds of each channel.
fn totals(entry: &BagEntry) -> Vec<ChunkChannel> {
    let mut totals: Vec<ChunkChannel> = Vec::new();
    for seen in entry.contents.chunks.iter().flat_map(|chunk| &chunk.channels) {
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

/// Groups bags into recording sessions, numbered by start time.
fn group_runs(bags: &mut [BagView], gone: &[Arc<BagEntry>]) -> Vec<Run> {
    let mut places: HashMap<PathBuf, usize> = HashMap::new();
    let mut runs: Vec<Run> = Vec::new();
    for bag in bags.iter_mut() {
        let key = run_key(&bag.entry.path);
        let place = *places.entry(key).or_insert_with_key(|key| {
            runs.push(Run {
                key: key.clone(),
                first: bag.first,
                last: bag.last,
                latched: Vec::new(),
            });
            runs.len() - 1
        });
        bag.run = u32::try_from(place).unwrap_or(u32::MAX);
        if let Some(run) = runs.get_mut(place) {
            run.last = run.last.max(bag.last);
            run.latched.extend((0..bag.entry.latched.len()).map(|i| (bag.entry.clone(), i)));
        }
    }
    for entry in gone {
        // Latched messages of a bag that is gone live as long as its run has another bag.
        let run = places.get(&run_key(&entry.path)).and_then(|place| runs.get_mut(*place));
        if let Some(run) = run {
            run.latched.extend((0..entry.latched.len()).map(|i| (entry.clone(), i)));
        }
    }
    for run in &mut runs {
        run.latched.sort_by_key(|(entry, i)| entry.latched.get(*i).map(|message| message.log_time));
    }
    runs
}

fn summarize_topics(
    bags: &[BagView],
    declared_only: &[Arc<BagEntry>],
) -> BTreeMap<Arc<str>, TopicSummary> {
    let mut topics: BTreeMap<Arc<str>, TopicSummary> = BTreeMap::new();
    let declare = |topics: &mut BTreeMap<Arc<str>, TopicSummary>, entry: &BagEntry| {
        let declared = &entry.contents.declared;
        for channel in &declared.channels {
            let type_name = declared.type_name(channel);
            match topics.get_mut(&channel.topic) {
                Some(summary) if *summary.type_name != *type_name && !type_name.is_empty() => {
                    summary.type_name = type_name.into();
                }
                Some(_) => {}
                None => {
                    topics.insert(
                        channel.topic.clone(),
                        TopicSummary {
                            topic: channel.topic.clone(),
                            type_name: type_name.into(),
                            count: 0,
                            span: None,
                            bags: Vec::new(),
                        },
                    );
                }
            }
        }
    };
    for entry in declared_only {
        declare(&mut topics, entry);
    }
    let mut last_declared: Option<&Arc<ros2_memory_bag::Declarations>> = None;
    for (place, bag) in (0u32..).zip(bags) {
        let declared = &bag.entry.contents.declared;
        // The splits of a session share their declarations: look at them once.
        if !last_declared.is_some_and(|last| Arc::ptr_eq(last, declared)) {
            declare(&mut topics, &bag.entry);
            last_declared = Some(declared);
        }
        for seen in &bag.channels {
            let channel = declared.channel(seen.channel);
            let Some(summary) = channel.and_then(|channel| topics.get_mut(&channel.topic)) else {
                continue;
            };
            summary.count += u64::from(seen.count);
            let (first, last) = summary.span.unwrap_or((seen.first, seen.last));
            summary.span = Some((first.min(seen.first), last.max(seen.last)));
            if summary.bags.last() != Some(&place) {
                summary.bags.push(place);
            }
        }
    }
    topics
}

fn find_gaps(bags: &[BagView]) -> Vec<TimeRange> {
    let mut gaps = Vec::new();
    let mut covered_to: Option<LogTime> = None;
    for bag in bags {
        if let Some(end) = covered_to
            && bag.first.since_ns(end) > MIN_GAP_NS
        {
            gaps.push(TimeRange::new(end, bag.first));
        }
        covered_to = covered_to.max(Some(bag.last));
    }
    gaps
}
