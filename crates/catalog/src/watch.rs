//! Changes below the bag directory as the kernel tells them, which only shorten the wait: the look
//! through the folders is the truth.
//!
//! Only folders are watched, those that a look has listed, and only for changes: a watcher that is
//! also told of files that are opened hears of every bag that this process reads, and one that
//! finds the folders by itself looks at every file once more.

use std::{
    collections::HashSet,
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll},
    fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init},
    io::Errno,
};

/// A writer that never pauses wakes no more often than this.
const LEAST_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Watches folders until it is dropped.
#[derive(Debug)]
pub(crate) struct FolderWatch {
    inotify: Arc<OwnedFd>,
    watched: HashSet<PathBuf>,
    /// Ends the thread when it is written to.
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl FolderWatch {
    /// Watches nothing yet; `wake` is called after each change in a folder. `None` where the
    /// system offers no events.
    pub(crate) fn new(wake: impl Fn() + Send + 'static) -> Option<Self> {
        let none = |what: &'static str| move |error: Errno| tracing::debug!(%error, what, "no file events");
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let inotify = Arc::new(inotify.inspect_err(|error| none("inotify")(*error)).ok()?);
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let stop = Arc::new(stop.inspect_err(|error| none("eventfd")(*error)).ok()?);
        let (events, ending) = (inotify.clone(), stop.clone());
        let thread = thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || listen(&events, &ending, &wake))
            .inspect_err(|error| tracing::debug!(%error, "no file events"))
            .ok()?;
        Some(Self { inotify, watched: HashSet::new(), stop, thread: Some(thread) })
    }

    /// Watches these folders and no others; returns whether one was not watched before. One that
    /// cannot be watched, as past the limit of watches, is left to the look through the folders.
    pub(crate) fn watch<'f>(&mut self, folders: impl Iterator<Item = &'f Path>) -> bool {
        let changes = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let before = std::mem::take(&mut self.watched);
        let mut is_any_new = false;
        for folder in folders {
            // Also one that is watched: a folder of that name may be another one by now.
            if let Err(error) = add_watch(&*self.inotify, folder, changes) {
                tracing::debug!(%error, folder = %folder.display(), "a folder is not watched");
                continue;
            }
            is_any_new |= !before.contains(folder);
            self.watched.insert(folder.to_owned());
        }
        is_any_new
    }
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        if rustix::io::write(&*self.stop, &[1; 8]).is_ok()
            && let Some(thread) = self.thread.take()
        {
            // It has no result; a panic of it was reported when it happened.
            drop(thread.join());
        }
    }
}

/// Calls `wake` after changes until `stop` is written to.
fn listen(inotify: &OwnedFd, stop: &OwnedFd, wake: &dyn Fn()) {
    let is_stopped = |timeout: Option<&Timespec>, inotify: Option<&OwnedFd>| {
        let mut waits = vec![PollFd::new(stop, PollFlags::IN)];
        waits.extend(inotify.map(|events| PollFd::new(events, PollFlags::IN)));
        match poll(&mut waits, timeout) {
            Ok(_) => waits.first().is_some_and(|stop| !stop.revents().is_empty()),
            Err(error) => error != Errno::INTR,
        }
    };
    while !is_stopped(None, Some(inotify)) {
        if has_changed(inotify) {
            wake();
            if is_stopped(Some(&LEAST_PAUSE), None) {
                break;
            }
        }
    }
}

/// Takes the events that wait; returns whether one of them is of something that is looked at.
fn has_changed(inotify: &OwnedFd) -> bool {
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut reader = Reader::new(inotify, &mut buffer);
    let mut has_changed = false;
    // It ends when there are no more for now.
    while let Ok(event) = reader.next() {
        // What begins with a dot is passed over, the catalog's own folder too. What has no name is
        // of a folder itself, or tells that there were too many to tell.
        has_changed |= !event.file_name().is_some_and(|name| name.to_bytes().starts_with(b"."));
    }
    has_changed
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::mpsc, time::Duration};

    use super::*;

    #[test]
    fn changes_wake_and_reading_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let bag = folder.path().join("a_0.mcap");
        fs::write(&bag, b"before").unwrap();
        let (sender, woken) = mpsc::sync_channel(64);
        let mut watch = FolderWatch::new(move || sender.send(()).unwrap()).unwrap();
        assert!(watch.watch([folder.path()].into_iter()));
        assert!(!watch.watch([folder.path()].into_iter()));
        let has_woken = |limit: u64| {
            let first = woken.recv_timeout(Duration::from_millis(limit)).is_ok();
            // What belongs to the same change.
            while woken.recv_timeout(Duration::from_millis(200)).is_ok() {}
            first
        };
        let (hidden, new) = (folder.path().join(".ros2-memory"), folder.path().join("run"));
        assert_eq!(fs::read(&bag).unwrap(), b"before");
        fs::create_dir(&hidden).unwrap();
        fs::write(hidden.join("segment"), b"ours").unwrap();
        assert!(!has_woken(300));
        fs::write(&bag, b"after").unwrap();
        assert!(has_woken(10_000));
        fs::create_dir(&new).unwrap();
        assert!(has_woken(10_000));
        assert!(watch.watch([folder.path(), &new].into_iter()));
        fs::rename(&bag, new.join("a_0.mcap")).unwrap();
        assert!(has_woken(10_000));
        fs::remove_dir_all(&new).unwrap();
        assert!(has_woken(10_000));
    }

    #[test]
    fn a_watch_that_is_dropped_ends_its_thread() {
        let (sender, woken) = mpsc::sync_channel::<()>(1);
        drop(FolderWatch::new(move || sender.send(()).unwrap()).unwrap());
        assert!(woken.recv().is_err(), "the thread still holds its end");
    }
}
