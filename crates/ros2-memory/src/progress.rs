//! What people see on standard error while something takes longer.

use std::{
    io::{Write, stderr},
    sync::OnceLock,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends within this time shows no bar.
const SHOW_AFTER: Duration = Duration::from_secs(1);

/// Writes a line to standard error. A reader that is gone is no reason to fail.
pub(crate) fn say(line: &str) {
    drop(writeln!(stderr(), "{line}"));
}

/// A bar that appears once the work has lasted a second, and only on a terminal.
pub(crate) struct Bar {
    what: &'static str,
    started: Instant,
    shown: OnceLock<ProgressBar>,
}

impl Bar {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, started: Instant::now(), shown: OnceLock::new() }
    }

    pub(crate) fn tell(&self, done: usize, total: usize) {
        if self.started.elapsed() < SHOW_AFTER {
            return;
        }
        let bar = self.shown.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let template = "{msg} {wide_bar} {pos}/{len} {eta}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.with_message(self.what)
        });
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.shown.get() {
            bar.finish_and_clear();
        }
    }
}
