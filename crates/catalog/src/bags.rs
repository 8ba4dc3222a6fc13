//! Every bag that is known, and where its entry is.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ros2_memory_bag::{Declarations, FileIdentity};
use ros2_memory_index::{BagEntry, DriveRules, IndexedMark, IndexedTypes};

use self::copies::{Content, Copies};
use crate::{
    Loaded,
    path_key::{PathMap, bytes_of},
    segment::{Dead, Segment, summary::Summary},
    snapshot::Shown,
};

mod copies;
mod files;
mod saving;
#[cfg(test)]
mod tests;

/// When bags are sealed and segments merged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// With this many bags outside sealed segments, they are sealed.
    pub(crate) seal_at: usize,
    /// So many small segments are merged into one.
    pub(crate) merge_at: usize,
    /// A segment with this many bags is not small: merging it again would gain little, and what
    /// becomes of its bags would cost more to sum up.
    pub(crate) large: u32,
}

/// More declarations than this are forgotten, and compared again when they come again.
const MAX_ALIASES: usize = 1000;
const LIMITS: Limits = Limits { seal_at: 1024, merge_at: 8, large: 4096 };

/// How many rows of a segment are gone, and how many replaced.
type NDead = [u64; 2];

/// Every bag that is known.
#[derive(Debug)]
pub(crate) struct Bags {
    limits: Limits,
    /// With this many new bags they are sealed: as the limits say, or later after a failure.
    seal_at: usize,
    needs_a_full_look: bool,
    /// By the start time of their first bags.
    segments: Vec<Arc<Segment>>,
    dead: HashMap<u64, Arc<Dead>>,
    /// The newest entries.
    tail: HashMap<Arc<Path>, Arc<BagEntry>>,
    /// Newest entries whose files are gone.
    gone: Vec<Arc<BagEntry>>,
    /// Where every bag is whose file exists. Filled when the folder is looked through for the
    /// first time: an answer from the catalog alone does not need it.
    files: Option<PathMap<File>>,
    /// What is known by its size and mark, wherever it lies: a file that is moved, copied or back
    /// from a disk that was away is the same bag.
    copies: Copies,
    /// What changed since the log was last written.
    unsaved: Unsaved,
    declared: HashSet<Arc<Declarations>>,
    /// For each of the declarations that indexers brought, those that are shared.
    aliases: HashMap<usize, [Arc<Declarations>; 2]>,
    /// The totals of segments with dead rows, as of so many of these.
    summaries: Mutex<HashMap<u64, (NDead, Arc<Summary>)>>,
    /// What the configuration in force makes of declarations.
    marks: Mutex<HashMap<usize, IndexedMark>>,
    rules: DriveRules,
}

#[derive(Debug, Default)]
struct Unsaved {
    bags: HashSet<Arc<Path>>,
    gone: Vec<Arc<Path>>,
    dead: Vec<(u64, u32, bool)>,
    /// Whether the log on disk must be written as a whole.
    all: bool,
}

/// Where the entry of a bag is.
#[derive(Debug, Clone, Copy)]
struct File {
    identity: FileIdentity,
    content: Content,
    at: Place,
}

impl File {
    fn in_tail(entry: &BagEntry) -> Self {
        Self { identity: entry.identity, content: Content::of(entry), at: Place::Tail }
    }
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Tail,
    /// The number of a segment, and a row of it.
    Sealed(u64, u32),
}

impl Bags {
    pub(crate) fn new(loaded: Loaded) -> Self {
        Self::with_limits(loaded, LIMITS)
    }

    pub(crate) fn with_limits(loaded: Loaded, limits: Limits) -> Self {
        let Loaded { mut segments, dead, tail, gone, declared, damage, .. } = loaded;
        sort_segments(&mut segments);
        Self {
            limits,
            seal_at: limits.seal_at,
            needs_a_full_look: false,
            segments,
            dead: dead.into_iter().map(|(number, dead)| (number, Arc::new(dead))).collect(),
            tail,
            gone,
            files: None,
            copies: Copies::default(),
            unsaved: Unsaved { all: damage.is_some(), ..Unsaved::default() },
            declared,
            aliases: HashMap::new(),
            summaries: Mutex::default(),
            marks: Mutex::default(),
            rules: DriveRules::default(),
        }
    }

    /// Steps from bag to bag are counted by `rules`.
    pub(crate) fn with_rules(self, rules: DriveRules) -> Self {
        Self { rules, ..self }
    }

    /// How many bags are known whose files exist.
    pub(crate) fn n_bags(&self) -> usize {
        if let Some(files) = &self.files {
            return files.len();
        }
        let dead = |segment: &Segment| self.dead.get(&segment.number).map(|dead| &**dead);
        let sealed = self.segments.iter().map(|segment| segment.live_rows(dead(segment)).count());
        sealed.sum::<usize>() + self.tail.len()
    }

    /// Whether there are enough new bags to seal them.
    pub(crate) fn is_full(&self) -> bool {
        self.tail.len() + self.gone.len() >= self.seal_at
    }

    /// Whether something that is known to be there has to be looked for anew.
    pub(crate) fn needs_a_full_look(&mut self) -> bool {
        std::mem::take(&mut self.needs_a_full_look)
    }

    /// The newest entry of a path, unless it is sealed: what is sealed does not grow.
    pub(crate) fn newest(&self, path: &Path) -> Option<&Arc<BagEntry>> {
        self.tail.get(path)
    }

    /// Whether a version of a file is known, as the configuration has it.
    pub(crate) fn knows(
        &self,
        path: &Path,
        identity: FileIdentity,
        indexed: &Arc<IndexedTypes>,
    ) -> bool {
        let file = self.files.as_ref().and_then(|files| files.get(bytes_of(path)));
        let Some(file) = file.filter(|file| file.identity == identity) else { return false };
        let (declared, mark) = match file.at {
            Place::Tail => match self.tail.get(path) {
                Some(entry) => (&entry.contents.declared, entry.indexed),
                None => return false,
            },
            Place::Sealed(number, row) => {
                let segment = self.segments.iter().find(|segment| segment.number == number);
                let row = segment.and_then(|segment| Some((segment, segment.row(row)?)));
                let Some((segment, row)) = row else { return false };
                match segment.index.declared.get(row.declared as usize) {
                    Some(declared) => (declared, row.indexed),
                    None => return false,
                }
            }
        };
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Arc::as_ptr(declared).addr();
        *marks.entry(place).or_insert_with(|| indexed.mark(declared)) == mark
    }

    /// What a snapshot shows: the segments, that of the newest entries included.
    pub(crate) fn shown(&self, is_shown: &dyn Fn(&BagEntry) -> bool) -> Vec<Shown> {
        let shown = self.tail.values().filter(|entry| is_shown(entry));
        let tail = shown.map(|entry| (entry.clone(), false));
        let gone = self.gone.iter().map(|entry| (entry.clone(), true));
        let mut segments = self.segments.clone();
        segments.push(Arc::new(Segment::in_memory(tail.chain(gone).collect(), self.rules)));
        sort_segments(&mut segments);
        let with_summaries = segments.into_iter().map(|segment| {
            let dead = self.dead.get(&segment.number).filter(|_| segment.number > 0);
            let dead = dead.cloned().unwrap_or_default();
            let summary = self.summary(&segment, &dead);
            Shown { segment, dead, summary }
        });
        with_summaries.collect()
    }

    fn summary(&self, segment: &Segment, dead: &Dead) -> Arc<Summary> {
        if dead.len() == 0 {
            return segment.index.summary.clone();
        }
        let counts = [dead.gone.len(), dead.replaced.len()];
        let mut summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((n_dead, summary)) = summaries.get(&segment.number)
            && *n_dead == counts
        {
            return summary.clone();
        }
        let summary = segment.summary(dead).unwrap_or_else(|reason| {
            tracing::warn!(segment = segment.number, reason, "totals may count too much");
            segment.index.summary.clone()
        });
        summaries.insert(segment.number, (counts, summary.clone()));
        summary
    }
}

fn sort_segments(segments: &mut [Arc<Segment>]) {
    segments.sort_by_key(|segment| segment.row(0).map(|row| row.first));
}
