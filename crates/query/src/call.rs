use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// A switch that stops a running call; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A switch that nobody has thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the call to stop at its next chunk.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the switch was thrown.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How far a long call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Steps done (chunks), never more than `total`.
    pub done: u64,
    /// Steps in all.
    pub total: u64,
}

/// Receives the progress of a long call, at most ten times a second.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// What a carrier gives along with a call: when to stop and whom to tell.
#[derive(Clone)]
pub struct CallContext {
    /// Thrown when the caller went away.
    pub cancel: Cancel,
    /// When the call gives up and says what it covered.
    pub deadline: Instant,
    /// Told about long work.
    pub progress: Option<ProgressSink>,
}

impl CallContext {
    /// A call that ends by itself after `limit`.
    pub fn with_time_limit(limit: Duration) -> Self {
        Self { cancel: Cancel::new(), deadline: Instant::now() + limit, progress: None }
    }

    /// Whether the call has to end now.
    pub fn should_stop(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.deadline
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("cancel", &self.cancel)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
