//! Broken promises, gathered so that one run shows all of them.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// What went wrong, by where and how, each with its number and its first example.
#[derive(Debug, Default)]
pub(crate) struct Failures(BTreeMap<(String, String), (u64, String)>);

impl Failures {
    /// Notes that `promise` does not hold for `subject`, with the smallest way to see it.
    pub(crate) fn note(&mut self, subject: &str, promise: &str, example: impl Into<String>) {
        let entry = self.0.entry((subject.to_owned(), promise.to_owned()));
        let entry = entry.or_insert_with(|| (0, example.into()));
        entry.0 += 1;
    }

    /// Ends the test with all that was noted.
    pub(crate) fn check(self) {
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|((subject, promise), (n, example))| {
                format!("{subject}: {promise}: {n} times, first {example}")
            })
            .collect();
        assert!(lines.is_empty(), "{} promises broken:\n{}", lines.len(), lines.join("\n"));
    }
}

/// Longer than this, and one file hangs the reader.
pub(crate) const HANG: Duration = Duration::from_secs(1);

/// Runs trials one after the other, and ends the process when one of them does not end.
pub(crate) struct Trials {
    doing: Arc<Mutex<String>>,
    done: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    pub(crate) slowest: Duration,
}

impl Trials {
    pub(crate) fn new() -> Self {
        let trials = Self {
            doing: Arc::default(),
            done: Arc::default(),
            is_over: Arc::default(),
            slowest: Duration::ZERO,
        };
        let (doing, done) = (trials.doing.clone(), trials.done.clone());
        let is_over = trials.is_over.clone();
        let watch = move || {
            let mut seen = (u64::MAX, Instant::now());
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(200));
                let now = done.load(Ordering::Relaxed);
                if now != seen.0 {
                    seen = (now, Instant::now());
                }
                if seen.1.elapsed() > 60 * HANG {
                    let doing = doing.lock().map(|doing| doing.clone()).unwrap_or_default();
                    eprintln!("hangs: {doing}");
                    std::process::abort();
                }
            }
        };
        // Not joined: it ends soon after the trials.
        thread::Builder::new().name("watch".to_owned()).spawn(watch).unwrap();
        trials
    }

    /// How many trials there were.
    pub(crate) fn n(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Runs one trial. A panic and a hang are noted; a slow one is run again, since another
    /// process may have taken the time.
    pub(crate) fn run<T>(
        &mut self,
        failures: &mut Failures,
        subject: &str,
        example: &dyn Fn() -> String,
        mut trial: impl FnMut() -> T,
    ) -> Option<T> {
        if let Ok(mut doing) = self.doing.lock() {
            subject.clone_into(&mut doing);
            doing.push_str(": ");
            doing.push_str(&example());
        }
        let mut once = || {
            let start = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(&mut trial));
            (result, start.elapsed())
        };
        let (mut result, mut took) = once();
        if took > HANG {
            (result, took) = once();
        }
        if took > HANG {
            failures.note(subject, "ends within a second", format!("{}: {took:?}", example()));
        }
        self.slowest = self.slowest.max(took);
        self.done.fetch_add(1, Ordering::Relaxed);
        match result {
            Ok(value) => Some(value),
            Err(panic) => {
                let words = words(panic.as_ref());
                failures.note(subject, &format!("no panic ({words})"), example());
                None
            }
        }
    }
}

impl Drop for Trials {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn words(panic: &dyn Any) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?")
}
