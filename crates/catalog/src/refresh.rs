//! Bringing what is known up to date with the folder.

use std::{
    collections::HashMap,
    os::unix::ffi::OsStrExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant, SystemTime},
};

use ros2_memory_bag::{BagError, FileIdentity, discover};
use ros2_memory_index::{BagEntry, Indexer};

use crate::{
    Settings, Snapshot, Store, bags::Bags, listing::Listing, path_key::bytes_of, snapshot::Given,
};

/// A file without its ending counts as still being written for this long after its last change.
const ACTIVE_FOR: Duration = Duration::from_secs(60);
/// While many bags are indexed, what is known is shown this often.
const SHOW_EVERY: Duration = Duration::from_millis(250);
/// And takes at most one part in so many of the time.
const SHOW_SHARE: u32 = 30;
/// With more bags than this to index, what is known by then is shown.
const MANY: usize = 64;
/// So many bags are handed on together, since handing on wakes a thread.
const BATCH: usize = 16;
/// So many batches may wait to be taken in.
const WAITING: usize = 48;

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
    pool: Arc<rayon::ThreadPool>,
    bags: Bags,
    /// Files that could not be indexed. Those with the identity that they had are tried again only
    /// when they change, the others each time.
    refused: HashMap<PathBuf, (Option<FileIdentity>, String)>,
    /// What was logged of files that cannot be indexed.
    complaints: HashMap<PathBuf, String>,
    listing: Listing,
    /// How many refused files the last shown state had; `None` before the first.
    shown_refused: Option<usize>,
}

impl Known {
    pub(crate) fn new(
        settings: Settings,
        mut store: Store,
        loaded: crate::Loaded,
        pool: rayon::ThreadPool,
    ) -> Self {
        let rules = settings.indexed.rules;
        store.rules = rules;
        Self {
            settings,
            store,
            pool: Arc::new(pool),
            bags: Bags::new(loaded).with_rules(rules),
            refused: HashMap::new(),
            complaints: HashMap::new(),
            listing: Listing::default(),
            shown_refused: None,
        }
    }

    /// The process that keeps the catalog on disk, when it is another one.
    pub(crate) fn other_writer(&self) -> Option<u32> {
        let is_on_disk = !self.store.dir().as_os_str().is_empty();
        (is_on_disk && !self.store.is_writer()).then(|| self.store.writer_pid())
    }

    /// The folders that were listed.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.listing.folders()
    }

    /// Whether any bag is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.bags.n_bags() == 0
    }

    /// Looks through the folder, indexes what is new or changed, newest first, and hands every
    /// state on the way to `show`. Unchanged bags are not opened. `stop` may end it between bags;
    /// what is known by then is written down.
    pub(crate) fn refresh(
        &mut self,
        show: &mut dyn FnMut(Snapshot),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> RefreshReport {
        if let Some(loaded) = self.store.try_take_over() {
            // What the writer before knew last counts; what it did not is found to be new.
            let bags = Bags::new(loaded).with_rules(self.settings.indexed.rules);
            (self.bags, self.listing) = (bags, Listing::default());
        }
        // A file that may be read another time is tried at each look.
        let is_settled = self.refused.values().all(|(identity, _)| identity.is_some());
        if is_settled
            && self.settings.include_active
            && self.shown_refused.is_some()
            && !self.bags.needs_a_full_look()
            && let Some(changed) = self.listing.changed()
        {
            return self.refresh_changed(&changed, show, stop);
        }
        let discovery = discover(&self.settings.bag_dir);
        let mut report = RefreshReport { known: self.bags.n_bags(), ..RefreshReport::default() };
        let root = self.settings.bag_dir.clone();
        if let Some(rejected) = discovery.rejected.iter().find(|rejected| rejected.path == root) {
            // A disk that is away for a moment has lost no bags.
            tracing::debug!(reason = rejected.reason, "the bag directory cannot be listed");
            show(self.snapshot(None));
            return report;
        }
        self.bags.look_up_files();
        // As the paths that are known, each once. They come in the order of their bytes.
        let found: Vec<(Arc<Path>, FileIdentity)> = discovery
            .files
            .iter()
            .map(|file| (self.bags.path(relative(&root, &file.path)), file.identity))
            .collect();
        self.listing = Listing::of(&root, &discovery.folders, found.clone());
        // What lies in a folder that cannot be listed has not gone.
        let hidden: Vec<&Path> =
            discovery.rejected.iter().map(|of| relative(&root, &of.path)).collect();
        report.vanished = self.bags.drop_vanished(&found, &hidden);
        self.refused.retain(|path, (identity, _)| {
            let is_path = |(of, _): &(Arc<Path>, FileIdentity)| bytes_of(of).cmp(bytes_of(path));
            let place = found.binary_search_by(is_path).ok();
            let now = place.and_then(|place| found.get(place)).map(|(_, identity)| *identity);
            identity.is_some() && now == *identity
        });
        for rejected in discovery.rejected {
            let path = relative(&root, &rejected.path).to_owned();
            self.refused.insert(path, (None, rejected.reason));
        }
        let mut work: Vec<(Arc<Path>, FileIdentity)> = found
            .iter()
            .filter(|(path, identity)| {
                let is_known = self.bags.knows(path, *identity, &self.settings.indexed);
                !is_known && !self.refused.contains_key(&**path)
            })
            .cloned()
            .collect();
        // Newest first, so that questions about the recent past are answered soonest.
        work.sort_by(|a, b| (b.1.mtime_ns, &b.0).cmp(&(a.1.mtime_ns, &a.0)));
        if work.len() > MANY {
            show(self.snapshot(Some(self.progress(found.len()))));
        }
        report.indexed = self.index(&work, found.len(), show, stop);
        self.save();
        report.known = self.bags.n_bags();
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

    /// As [`Self::refresh`] where no file came or went and these may have changed.
    fn refresh_changed(
        &mut self,
        changed: &[(Arc<Path>, FileIdentity)],
        show: &mut dyn FnMut(Snapshot),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> RefreshReport {
        let mut work: Vec<(Arc<Path>, FileIdentity)> = Vec::new();
        for (path, identity) in changed {
            self.refused.remove(&**path);
            if !self.bags.knows(path, *identity, &self.settings.indexed) {
                work.push((path.clone(), *identity));
            }
        }
        let indexed =
            if work.is_empty() { 0 } else { self.index(&work, self.bags.n_bags(), show, stop) };
        // Also what could not be written the last time, and bags that have settled since.
        self.save();
        if indexed > 0 {
            show(self.snapshot(None));
        }
        self.shown_refused = Some(self.refused.len());
        let (known, refused) = (self.bags.n_bags(), self.refused.len());
        RefreshReport { indexed, vanished: 0, refused, known }
    }

    fn progress(&self, total: usize) -> IndexProgress {
        let done = self.bags.n_bags() + self.refused.len();
        IndexProgress { done: done.min(total), total }
    }

    /// Goes over bags and returns how many could be indexed.
    fn index(
        &mut self,
        work: &[(Arc<Path>, FileIdentity)],
        total: usize,
        show: &mut dyn FnMut(Snapshot),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> usize {
        // What is known of a bag that has grown, looked up before bags are taken in.
        let work: Vec<_> = work
            .iter()
            .map(|(path, identity)| (path, *identity, self.bags.newest(path).cloned()))
            .collect();
        let (settings, pool) = (self.settings.clone(), self.pool.clone());
        let next = AtomicUsize::new(0);
        // Few bags may be large ones, and are handed on one by one.
        let batch = (work.len() / (pool.current_num_threads() * BATCH)).clamp(1, BATCH);
        let (sender, outcomes) = mpsc::sync_channel(WAITING);
        let (mut shown, mut show_every) = (Instant::now(), SHOW_EVERY);
        let mut n_indexed = 0;
        // Taking in and sealing goes on here, while the pool goes over the next bags.
        pool.in_place_scope(|scope| {
            for _thread in 0..pool.current_num_threads() {
                let sender = sender.clone();
                let (settings, work, next) = (&settings, &work, &next);
                scope.spawn(move |_| {
                    let mut indexer =
                        Indexer::new(settings.indexed.clone(), settings.library.clone());
                    while let Some(batch) =
                        work.chunks(batch).nth(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let of_batch = batch.iter().map(|(path, identity, known)| {
                            let outcome = index_one(&mut indexer, settings, path, known.as_deref());
                            ((*path).clone(), *identity, outcome)
                        });
                        let outcomes: Vec<_> = of_batch.collect();
                        if stop() || sender.send(outcomes).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (path, identity, outcome) in outcomes.into_iter().flatten() {
                n_indexed += usize::from(outcome.is_ok());
                self.take_in(&path, identity, outcome);
                if self.bags.is_full() {
                    self.save();
                }
                if shown.elapsed() >= show_every {
                    let started = Instant::now();
                    show(self.snapshot(Some(self.progress(total))));
                    shown = Instant::now();
                    // What there is to show grows, and so does what showing it costs.
                    show_every = SHOW_EVERY.max((shown - started) * SHOW_SHARE);
                }
            }
        });
        n_indexed
    }

    fn take_in(&mut self, path: &Path, identity: FileIdentity, outcome: Result<BagEntry, Failure>) {
        match outcome {
            Ok(entry) => {
                if !self.complaints.is_empty() {
                    self.complaints.remove(path);
                }
                note_damage(&entry);
                self.bags.insert(entry);
            }
            Err(failure) => {
                self.bags.forget(path);
                self.complain(path, &failure.reason);
                let identity = Some(identity).filter(|_| !failure.may_pass);
                self.refused.insert(path.to_path_buf(), (identity, failure.reason));
            }
        }
    }

    /// Logs why a file cannot be indexed, once for each reason.
    fn complain(&mut self, path: &Path, reason: &str) {
        let known = self.complaints.insert(path.to_owned(), reason.to_owned());
        if known.as_deref() != Some(reason) {
            tracing::warn!(path = %path.display(), reason, "a file cannot be indexed");
        }
    }

    /// Writes down what is new. Bags that are still being written are not: they change with
    /// every refresh.
    fn save(&mut self) {
        if let Err(error) = self.bags.save(&mut self.store, &is_settled(SystemTime::now())) {
            // Answers go on from memory; the next refresh tries again.
            tracing::warn!(%error, "the catalog cannot be written");
        }
    }

    /// Merges small segments, when nothing else is left to be done: answers are the same, and come
    /// sooner. `stop` may end it between two of them.
    pub(crate) fn merge(&mut self, show: &mut dyn FnMut(Snapshot), stop: &dyn Fn() -> bool) {
        let mut has_merged = false;
        while !stop() {
            match self.bags.merge(&mut self.store, &is_settled(SystemTime::now())) {
                Ok(true) => has_merged = true,
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "segments of the catalog cannot be merged");
                    break;
                }
            }
        }
        if has_merged {
            show(self.snapshot(None));
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
        let root = self.settings.bag_dir.clone();
        let segments = self.bags.shown(&is_shown);
        let indexed = self.settings.indexed.clone();
        Snapshot::new(Given { root, segments, refused, progress, indexed })
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
            *indexer = Indexer::new(settings.indexed.clone(), settings.library.clone());
            Err(Failure { reason: "a fault of the program".to_owned(), may_pass: false })
        }
    }
}

/// A path from the bag directory.
fn relative<'p>(root: &Path, path: &'p Path) -> &'p Path {
    let behind = bytes_of(path).strip_prefix(bytes_of(root));
    let behind = behind.map(|behind| behind.strip_prefix(b"/").unwrap_or(behind));
    behind.map_or(path, |behind| Path::new(std::ffi::OsStr::from_bytes(behind)))
}

/// How long ago a file was last written; zero when its time lies ahead.
fn age(identity: FileIdentity, now: SystemTime) -> Duration {
    let written = u64::try_from(identity.mtime_ns).unwrap_or_default();
    let written = SystemTime::UNIX_EPOCH + Duration::from_nanos(written);
    now.duration_since(written).unwrap_or_default()
}

/// Whether a bag will not grow, as far as one can tell.
fn is_settled(now: SystemTime) -> impl Fn(&BagEntry) -> bool {
    move |entry| entry.contents.is_closed() || age(entry.identity, now) > ACTIVE_FOR
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
