//! Bringing what is known up to date with the folder.

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use ros2_memory_bag::{
    BagError, Contents, Declarations, FileIdentity, FoundFile, discover, run_key,
};
use ros2_memory_index::{BagEntry, Indexer};

use crate::{Settings, Snapshot, Store};

/// A file without its ending counts as still being written for this long after its last change.
const ACTIVE_FOR: Duration = Duration::from_secs(60);
/// While many bags are indexed, what is known is shown this often.
const SHOW_EVERY: Duration = Duration::from_millis(250);
/// How many bags are indexed between two looks at the clock.
const BATCH: usize = 64;

/// How far indexing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexProgress {
    /// Bags that are known.
    pub done: usize,
    /// Bags that were found.
    pub total: usize,
}

/// A file that could not be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Where it lies, from the bag directory.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// What one refresh did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefreshReport {
    /// Bags that were opened and gone over.
    pub indexed: usize,
    /// Bags whose files are gone since the last time.
    pub vanished: usize,
    /// Files that cannot be indexed.
    pub refused: usize,
    /// Bags that are known now.
    pub known: usize,
}

/// Everything that is known of a bag directory, between two refreshes.
#[derive(Debug)]
pub(crate) struct Known {
    settings: Settings,
    store: Store,
    pool: rayon::ThreadPool,
    entries: HashMap<Arc<Path>, Arc<BagEntry>>,
    gone: HashMap<Arc<Path>, Arc<BagEntry>>,
    /// Files that could not be indexed. Those with the identity that they had are tried again only
    /// when they change, the others each time.
    refused: HashMap<PathBuf, (Option<FileIdentity>, String)>,
    /// What was logged of files that cannot be indexed.
    complaints: HashMap<PathBuf, String>,
    /// The paths whose present entry is in the store.
    stored: HashSet<Arc<Path>>,
    declared: HashSet<Arc<Declarations>>,
    /// The declarations of the bag that was indexed last.
    last_declared: Option<Arc<Declarations>>,
    /// How many refused files the last shown state had; `None` before the first.
    shown_refused: Option<usize>,
}

impl Known {
    pub(crate) fn new(
        settings: Settings,
        store: Store,
        loaded: crate::Loaded,
        pool: rayon::ThreadPool,
    ) -> Self {
        let stored = loaded.entries.keys().cloned().collect();
        // The entries of a segment share their declarations: hash each once.
        let by_place: HashMap<usize, &Arc<Declarations>> = loaded
            .entries
            .values()
            .map(|entry| &entry.contents.declared)
            .map(|declared| (Arc::as_ptr(declared).addr(), declared))
            .collect();
        let declared = by_place.into_values().cloned().collect();
        Self {
            settings,
            store,
            pool,
            entries: loaded.entries,
            gone: loaded.gone,
            refused: HashMap::new(),
            complaints: HashMap::new(),
            stored,
            declared,
            last_declared: None,
            shown_refused: None,
        }
    }

    /// The process that keeps the catalog on disk, when it is another one.
    pub(crate) fn other_writer(&self) -> Option<u32> {
        let is_on_disk = !self.store.dir().as_os_str().is_empty();
        (is_on_disk && !self.store.is_writer()).then(|| self.store.writer_pid())
    }

    /// Looks through the folder, indexes what is new or changed, newest first, and hands every
    /// state on the way to `show`. Unchanged bags are not opened. `stop` may end it between bags;
    /// what is known by then is written down.
    pub(crate) fn refresh(
        &mut self,
        show: &mut dyn FnMut(Snapshot),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> RefreshReport {
        let discovery = discover(&self.settings.bag_dir);
        let mut report = RefreshReport { known: self.entries.len(), ..RefreshReport::default() };
        let root = self.settings.bag_dir.clone();
        if let Some(rejected) = discovery.rejected.iter().find(|rejected| rejected.path == root) {
            // A disk that is away for a moment has lost no bags.
            tracing::debug!(reason = rejected.reason, "the bag directory cannot be listed");
            show(self.snapshot(None));
            return report;
        }
        let relative = |path: &Path| path.strip_prefix(&root).unwrap_or(path).to_owned();
        let found: HashMap<Arc<Path>, FoundFile> = discovery
            .files
            .into_iter()
            .map(|file| (Arc::from(relative(&file.path)), file))
            .collect();
        let vanished = self.drop_vanished(&found);
        report.vanished = vanished.len();
        self.refused.retain(|path, (identity, _)| {
            identity.is_some() && found.get(path.as_path()).map(|file| file.identity) == *identity
        });
        for rejected in discovery.rejected {
            self.refused.insert(relative(&rejected.path), (None, rejected.reason));
        }
        let mut work: Vec<(Arc<Path>, FileIdentity)> = found
            .iter()
            .filter(|(path, file)| {
                let is_known =
                    self.entries.get(*path).is_some_and(|entry| entry.identity == file.identity);
                !is_known && !self.refused.contains_key(&***path)
            })
            .map(|(path, file)| (path.clone(), file.identity))
            .collect();
        // Newest first, so that questions about the recent past are answered soonest.
        work.sort_by(|a, b| (b.1.mtime_ns, &b.0).cmp(&(a.1.mtime_ns, &a.0)));
        if work.len() > BATCH {
            show(self.snapshot(Some(self.progress(found.len()))));
        }
        report.indexed = self.index(&work, found.len(), show, stop);
        self.save(&vanished);
        report.known = self.entries.len();
        report.refused = self.refused.len();
        // Without bags that age from active to closed, nothing to see means nothing to show.
        let is_same = report.indexed + report.vanished == 0
            && self.shown_refused == Some(report.refused)
            && self.settings.include_active;
        if !is_same {
            show(self.snapshot(None));
            self.shown_refused = Some(report.refused);
        }
        report
    }

    fn progress(&self, total: usize) -> IndexProgress {
        let done = self.entries.len() + self.refused.len();
        IndexProgress { done: done.min(total), total }
    }

    fn drop_vanished(&mut self, found: &HashMap<Arc<Path>, FoundFile>) -> Vec<Arc<Path>> {
        let vanished: Vec<Arc<Path>> =
            self.entries.keys().filter(|path| !found.contains_key(*path)).cloned().collect();
        for path in &vanished {
            if let Some(entry) = self.entries.remove(path)
                && !entry.latched.is_empty()
            {
                self.gone.insert(path.clone(), entry);
            }
        }
        self.gone.retain(|path, _| !found.contains_key(path));
        vanished
    }

    /// Goes over bags and returns how many could be indexed.
    fn index(
        &mut self,
        work: &[(Arc<Path>, FileIdentity)],
        total: usize,
        show: &mut dyn FnMut(Snapshot),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> usize {
        let mut shown = Instant::now();
        let mut n_indexed = 0;
        for batch in work.chunks(BATCH) {
            if stop() {
                break;
            }
            let (settings, entries) = (&self.settings, &self.entries);
            let outcomes: Vec<_> = self.pool.install(|| {
                let indexer = || Indexer::new(settings.library.clone());
                batch
                    .into_par_iter()
                    .map_init(indexer, |indexer, (path, identity)| {
                        let known = entries.get(path).map(|entry| &**entry);
                        (path.clone(), *identity, index_one(indexer, settings, path, known))
                    })
                    .collect()
            });
            for (path, identity, outcome) in outcomes {
                self.stored.remove(&path);
                match outcome {
                    Ok(entry) => {
                        n_indexed += 1;
                        self.complaints.remove(&*path);
                        note_damage(&entry);
                        let entry = self.share_declarations(entry);
                        self.entries.insert(path, Arc::new(entry));
                    }
                    Err(failure) => {
                        self.entries.remove(&path);
                        self.complain(&path, &failure.reason);
                        let identity = Some(identity).filter(|_| !failure.may_pass);
                        self.refused.insert(path.to_path_buf(), (identity, failure.reason));
                    }
                }
            }
            if shown.elapsed() >= SHOW_EVERY {
                show(self.snapshot(Some(self.progress(total))));
                shown = Instant::now();
            }
        }
        n_indexed
    }

    /// Logs why a file cannot be indexed, once for each reason.
    fn complain(&mut self, path: &Path, reason: &str) {
        let known = self.complaints.insert(path.to_owned(), reason.to_owned());
        if known.as_deref() != Some(reason) {
            tracing::warn!(path = %path.display(), reason, "a file cannot be indexed");
        }
    }

    /// The splits of a session declare the same: they share one copy of it.
    fn share_declarations(&mut self, mut entry: BagEntry) -> BagEntry {
        let declared = &entry.contents.declared;
        // Most often they are those of the bag before, and comparing is quicker than hashing.
        let last = self.last_declared.as_ref().filter(|last| *last == declared);
        let Some(shared) = last.or_else(|| self.declared.get(declared)).cloned() else {
            self.declared.insert(declared.clone());
            self.last_declared = Some(declared.clone());
            return entry;
        };
        self.last_declared = Some(shared.clone());
        entry.contents =
            Arc::new(Contents { declared: shared, ..Arc::unwrap_or_clone(entry.contents) });
        entry
    }

    /// Writes down what is new. Bags that are still being written are not: they change with
    /// every refresh.
    fn save(&mut self, vanished: &[Arc<Path>]) {
        self.store.try_take_over();
        if !self.store.is_writer() {
            return;
        }
        let now = SystemTime::now();
        let is_settled =
            |entry: &BagEntry| entry.contents.is_closed() || age(entry.identity, now) > ACTIVE_FOR;
        let gone_stored: Vec<Arc<Path>> =
            vanished.iter().filter(|path| self.stored.remove(*path)).cloned().collect();
        let outcome = if self.store.needs_rewrite() {
            let entries: Vec<_> =
                self.entries.values().filter(|entry| is_settled(entry)).cloned().collect();
            // Latched messages live as long as their run has a bag.
            let runs: HashSet<PathBuf> = self.entries.keys().map(|path| run_key(path)).collect();
            self.gone.retain(|path, _| runs.contains(&run_key(path)));
            let gone: Vec<_> = self.gone.values().cloned().collect();
            self.stored = entries.iter().map(|entry| entry.path.clone()).collect();
            self.store.rewrite(&entries, &gone)
        } else {
            let mut fresh: Vec<_> = self
                .entries
                .values()
                .filter(|entry| is_settled(entry) && !self.stored.contains(&entry.path))
                .cloned()
                .collect();
            fresh.sort_by(|a, b| a.path.cmp(&b.path));
            self.stored.extend(fresh.iter().map(|entry| entry.path.clone()));
            self.store.append(&fresh, &gone_stored)
        };
        if let Err(error) = outcome {
            // Answers go on from memory; the next refresh tries again.
            tracing::warn!(%error, "the catalog cannot be written");
            self.stored.clear();
        }
    }

    pub(crate) fn snapshot(&self, progress: Option<IndexProgress>) -> Snapshot {
        let now = SystemTime::now();
        let is_shown = |entry: &BagEntry| {
            self.settings.include_active
                || entry.contents.is_closed()
                || age(entry.identity, now) > ACTIVE_FOR
        };
        let mut refused: Vec<Refused> = self
            .refused
            .iter()
            .map(|(path, (_, reason))| Refused { path: path.clone(), reason: reason.clone() })
            .collect();
        refused.sort_by(|a, b| a.path.cmp(&b.path));
        let gone: Vec<_> = self.gone.values().cloned().collect();
        let entries = self.entries.values().filter(|entry| is_shown(entry)).cloned();
        Snapshot::new(&self.settings.bag_dir, entries, &gone, refused, progress)
    }
}

/// Why a bag could not be indexed.
struct Failure {
    reason: String,
    /// Whether the same file may be read another time: a disk that failed, a permission, a lack
    /// of descriptors.
    may_pass: bool,
}

fn index_one(
    indexer: &mut Indexer,
    settings: &Settings,
    path: &Arc<Path>,
    known: Option<&BagEntry>,
) -> Result<BagEntry, Failure> {
    // The second line behind code that has no panic: one bag must not end the catalog's thread.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        indexer.index(&settings.bag_dir, path, &settings.read, known)
    }));
    match outcome {
        Ok(Ok(entry)) => Ok(entry),
        Ok(Err(error)) => Err(Failure {
            may_pass: matches!(error, BagError::Io { .. }),
            reason: error.to_string(),
        }),
        Err(_panic) => {
            *indexer = Indexer::new(settings.library.clone());
            Err(Failure { reason: "a fault of the program".to_owned(), may_pass: false })
        }
    }
}

/// How long ago a file was last written; zero when its time lies ahead.
fn age(identity: FileIdentity, now: SystemTime) -> Duration {
    let written = u64::try_from(identity.mtime_ns).unwrap_or_default();
    let written = SystemTime::UNIX_EPOCH + Duration::from_nanos(written);
    now.duration_since(written).unwrap_or_default()
}

fn note_damage(entry: &BagEntry) {
    if let Some(first) = entry.contents.damage.first() {
        tracing::warn!(
            path = %entry.path.display(),
            faults = entry.contents.damage.len(),
            damaged_chunks = entry.contents.n_damaged_chunks(),
            first = %first.kind,
            offset = first.offset,
            "a bag is damaged; what is whole in it is served"
        );
    }
}
