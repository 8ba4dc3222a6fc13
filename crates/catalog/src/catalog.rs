use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    CatalogError, IndexProgress, RefreshReport, Settings, Snapshot, Store, catalog_place,
    refresh::Known, watch::FolderWatch,
};

/// How long a change may be waited for before the folder is looked through: writers change a
/// file many times a second.
const SETTLE: Duration = Duration::from_millis(150);
/// How many times as long as the last look through the folder it is left alone.
const PAUSE_FACTOR: u32 = 10;
/// How long a query waits for a look through the folder that is overdue.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// The bag directory, kept up to date by a thread of its own.
///
/// Dropping it ends the thread.
#[derive(Debug)]
pub struct Catalog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    refresh: Duration,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when `state` changes.
    changed: Condvar,
}

/// Locked only for the moment of looking or swapping, never while files are read.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that may be so by itself")]
struct State {
    snapshot: Arc<Snapshot>,
    /// Whether the snapshot was made before the folder was looked through, of what was known.
    is_from_catalog: bool,
    /// How many times the folder was looked through to the end.
    refreshes: u64,
    refreshed_at: Option<Instant>,
    last_report: RefreshReport,
    other_writer: Option<u32>,
    /// Whether something asks for a look through the folder.
    is_wanted: bool,
    /// Whether a look through the folder has begun and not ended.
    is_looking: bool,
    /// Whether nothing is left to be merged since the last look.
    is_tidy: bool,
    is_stopping: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn want_refresh(&self) {
        self.lock().is_wanted = true;
        self.changed.notify_all();
    }
}

impl Catalog {
    /// Opens the catalog of a bag directory and starts to bring it up to date.
    ///
    /// Returns at once; [`Self::wait_until_indexed`] waits for the first look through the
    /// folder. A folder that does not exist yet is taken for an empty one.
    ///
    /// # Errors
    ///
    /// [`CatalogError::NotADirectory`] when the bag directory is something else. A place that
    /// cannot be written is no error: the catalog is then kept in memory alone.
    pub fn open(settings: Settings) -> Result<Self, CatalogError> {
        let mut known = open_known(settings.clone())?;
        // What was known when the catalog was last written is answered at once.
        let is_from_catalog = !known.is_empty();
        let progress = Some(IndexProgress { done: 0, total: 0 });
        let first = if is_from_catalog {
            known.snapshot(progress)
        } else {
            Snapshot::before_the_first_look()
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                snapshot: Arc::new(first),
                is_from_catalog,
                refreshes: 0,
                refreshed_at: None,
                last_report: RefreshReport::default(),
                other_writer: None,
                is_wanted: true,
                is_looking: false,
                is_tidy: false,
                is_stopping: false,
            }),
            changed: Condvar::new(),
        });
        let in_thread = shared.clone();
        let interval = settings.refresh;
        let thread = thread::Builder::new()
            .name("catalog".to_owned())
            .spawn(move || keep_up_to_date(&in_thread, &mut known, &settings))
            .map_err(CatalogError::io("start the catalog's thread", Path::new("catalog")))?;
        Ok(Self { shared, thread: Some(thread), refresh: interval })
    }

    /// The present view. While the folder is looked through for the first time and nothing was
    /// known of it, and when that was longer ago than it should be, as after a sleep of the
    /// machine, it waits for it up to half a second.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let mut state = self.shared.lock();
        if state.refreshes == 0 && !state.is_from_catalog {
            state = self.wait(state, MAX_WAIT, |state| state.refreshes > 0);
        }
        let is_overdue = state.refreshed_at.is_some_and(|at| at.elapsed() > self.refresh * 2);
        // A look that is under way takes its time; its end is not waited for.
        if is_overdue && !state.is_looking {
            let seen = state.refreshes;
            state.is_wanted = true;
            self.shared.changed.notify_all();
            state = self.wait(state, MAX_WAIT, |state| state.refreshes > seen);
        }
        state.snapshot.clone()
    }

    /// The present view, without waiting for anything.
    pub fn last_snapshot(&self) -> Arc<Snapshot> {
        self.shared.lock().snapshot.clone()
    }

    /// Waits for the first look through the folder, at most `limit`; returns whether it ended.
    pub fn wait_until_indexed(&self, limit: Duration) -> bool {
        self.wait(self.shared.lock(), limit, |state| state.refreshes > 0).refreshes > 0
    }

    /// Waits until the folder was looked through and small segments of the catalog were merged, at
    /// most `limit`; returns whether they were. Answers are the same before, and come later.
    pub fn wait_until_tidy(&self, limit: Duration) -> bool {
        self.wait(self.shared.lock(), limit, |state| state.is_tidy).is_tidy
    }

    /// Looks through the folder now and waits for the end of it, at most `limit`.
    pub fn refresh(&self, limit: Duration) -> Option<RefreshReport> {
        let mut state = self.shared.lock();
        // A look that is under way may have passed a change by: wait for one that starts later.
        let wanted = state.refreshes + u64::from(state.is_looking);
        state.is_wanted = true;
        self.shared.changed.notify_all();
        let state = self.wait(state, limit, |state| state.refreshes > wanted);
        (state.refreshes > wanted).then_some(state.last_report)
    }

    /// What the last look through the folder did.
    pub fn last_report(&self) -> RefreshReport {
        self.shared.lock().last_report
    }

    /// The process that keeps the catalog on disk, when it is another one.
    pub fn other_writer(&self) -> Option<u32> {
        self.shared.lock().other_writer
    }

    /// How often the folder was looked through.
    pub fn n_refreshes(&self) -> u64 {
        self.shared.lock().refreshes
    }

    fn wait<'s>(
        &'s self,
        state: MutexGuard<'s, State>,
        limit: Duration,
        is_done: impl Fn(&State) -> bool,
    ) -> MutexGuard<'s, State> {
        self.shared
            .changed
            .wait_timeout_while(state, limit, |state| !is_done(state) && !state.is_stopping)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        self.shared.lock().is_stopping = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread has no result; a panic of it was reported when it happened.
            drop(thread.join());
        }
    }
}

/// Forgets all that is known of a bag directory: it is indexed anew when it is opened next.
///
/// # Errors
///
/// [`CatalogError::Held`] while another process keeps the catalog, [`CatalogError::Io`] when it
/// cannot be deleted.
pub fn forget(settings: &Settings) -> Result<(), CatalogError> {
    let dir = catalog_place(settings)?;
    let (mut store, _) = Store::open(&dir)?;
    if !store.is_writer() {
        return Err(CatalogError::Held { pid: store.writer_pid(), path: dir });
    }
    store.clear()
}

fn open_known(mut settings: Settings) -> Result<Known, CatalogError> {
    if settings.bag_dir.exists() && !settings.bag_dir.is_dir() {
        return Err(CatalogError::NotADirectory { path: settings.bag_dir });
    }
    if let Ok(full) = std::path::absolute(&settings.bag_dir) {
        settings.bag_dir = full;
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(thread::available_parallelism().map_or(2, |n| n.get().min(4)))
        .thread_name(|number| format!("index-{number}"))
        .build()
        .map_err(|error| CatalogError::Io {
            action: "start threads",
            source: std::io::Error::other(error),
            path: settings.bag_dir.clone(),
        })?;
    // A bag directory that does not exist is not made by looking at it.
    let place = if settings.bag_dir.is_dir() || settings.catalog_dir.is_some() {
        catalog_place(&settings).inspect_err(|error| {
            tracing::warn!(%error, "the catalog is kept in memory alone");
        })
    } else {
        Err(CatalogError::NoPlace { bag_dir: settings.bag_dir.clone() })
    };
    let (store, loaded) = match place {
        Ok(dir) => Store::open(&dir)?,
        Err(_) => Store::in_memory(),
    };
    if let Some(reason) = &loaded.damage {
        tracing::info!(reason, bags = loaded.n_bags(), "the catalog is rebuilt");
    }
    Ok(Known::new(settings, store, loaded, pool))
}

fn keep_up_to_date(shared: &Arc<Shared>, known: &mut Known, settings: &Settings) {
    let waking = shared.clone();
    let mut watcher = None;
    if settings.watch {
        watcher = FolderWatch::new(move || waking.want_refresh());
    }
    loop {
        {
            let mut state = shared.lock();
            (state.is_wanted, state.is_looking, state.is_tidy) = (false, true, false);
        }
        let began = Instant::now();
        let mut show = |snapshot| shared.lock().snapshot = Arc::new(snapshot);
        // The second line behind code that has no panic: answers go on from what was known.
        let look = AssertUnwindSafe(|| known.refresh(&mut show, &|| shared.lock().is_stopping));
        let report = catch_unwind(look).unwrap_or_default();
        let took = began.elapsed();
        let other_writer = known.other_writer();
        let has_new_folders = watcher.as_mut().is_some_and(|watch| watch.watch(known.folders()));
        let mut state = shared.lock();
        // Between being listed and being watched, something may have come into a new folder.
        state.is_wanted |= has_new_folders && state.refreshes > 0;
        state.other_writer = other_writer;
        state.is_looking = false;
        state.refreshes += 1;
        state.refreshed_at = Some(Instant::now());
        state.last_report = report;
        shared.changed.notify_all();
        drop(state);
        if report.indexed + report.vanished > 0 {
            tracing::debug!(?report, "looked through the bag directory");
        }
        let mut show = |snapshot| shared.lock().snapshot = Arc::new(snapshot);
        let is_needed = || {
            let state = shared.lock();
            state.is_stopping || state.is_wanted
        };
        let tidy = AssertUnwindSafe(|| known.merge(&mut show, &is_needed));
        if catch_unwind(tidy).is_err() {
            tracing::error!("segments of the catalog could not be merged");
        }
        let mut state = shared.lock();
        state.is_tidy = !state.is_wanted;
        shared.changed.notify_all();
        let (mut state, _) = shared
            .changed
            .wait_timeout_while(state, settings.refresh, |state| {
                !state.is_wanted && !state.is_stopping
            })
            .unwrap_or_else(PoisonError::into_inner);
        if state.is_wanted && !state.is_stopping && watcher.is_some() {
            // More changes most often follow the first; and where a look takes long, a writer that
            // never pauses must not make one follow the other.
            let pause = SETTLE.max(took * PAUSE_FACTOR).min(settings.refresh);
            (state, _) = shared
                .changed
                .wait_timeout_while(state, pause, |state| !state.is_stopping)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_stopping {
            return;
        }
    }
}
