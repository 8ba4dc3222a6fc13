use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{CallContext, Progress};

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// How far a call has come, over all that it reads one after the other.
#[derive(Debug)]
pub(crate) struct Steps(Mutex<State>);

#[derive(Debug)]
struct State {
    done: u64,
    total: u64,
    told: Instant,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State { done: 0, total: 0, told: Instant::now() }))
    }

    /// Expects so many steps more than were done.
    pub(crate) fn expect(&self, steps: u64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.total = state.total.max(state.done.saturating_add(steps));
    }

    /// Counts steps, and tells of them now and then.
    pub(crate) fn add(&self, steps: u64, context: &CallContext) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.done = state.done.saturating_add(steps);
        if let Some(tell) = &context.progress
            && state.told.elapsed() >= TELL_EVERY
        {
            state.told = Instant::now();
            tell(Progress { done: state.done.min(state.total), total: state.total });
        }
    }
}
