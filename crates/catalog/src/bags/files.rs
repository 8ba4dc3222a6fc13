//! Bags that come, change, move and go.

use std::{path::Path, sync::Arc};

use foldhash::fast::RandomState;
use ros2_memory_bag::{Contents, FileIdentity};
use ros2_memory_index::BagEntry;

use super::{
    Bags, File, MAX_ALIASES, Place,
    copies::{Content, Copies},
};
use crate::{
    path_key::{PathKey, PathMap, bytes_of},
    segment::Dead,
};

impl Bags {
    /// The one copy of a path, where a bag is known there.
    pub(crate) fn path(&self, path: &Path) -> Arc<Path> {
        let known = self.files.as_ref().and_then(|files| files.get_key_value(bytes_of(path)));
        known.map_or_else(|| path.into(), |(known, _)| known.0.clone())
    }

    /// Takes note of the bags whose files are gone; returns how many there are. What was `found`
    /// is in the order of the paths' bytes; what lies under a `hidden` path is not gone.
    pub(crate) fn drop_vanished(
        &mut self,
        found: &[(Arc<Path>, FileIdentity)],
        hidden: &[&Path],
    ) -> usize {
        self.look_up_files();
        let Some(files) = &self.files else { return 0 };
        if found.iter().filter(|(path, _)| files.contains_key(bytes_of(path))).count()
            == files.len()
        {
            return 0;
        }
        let is_found = |path: &PathKey| {
            found.binary_search_by(|(of, _)| bytes_of(of).cmp(bytes_of(&path.0))).is_ok()
        };
        let vanished: Vec<Arc<Path>> = files
            .keys()
            .filter(|path| !is_found(path))
            .filter(|path| !hidden.iter().any(|hidden| path.0.starts_with(hidden)))
            .map(|path| path.0.clone())
            .collect();
        for path in &vanished {
            self.remove(path, true);
        }
        vanished.len()
    }

    /// Forgets a bag that can no longer be read.
    pub(crate) fn forget(&mut self, path: &Path) {
        self.remove(path, false);
    }

    pub(crate) fn remove(&mut self, path: &Path, is_gone: bool) {
        let files = self.files.as_mut();
        let Some((PathKey(path), file)) =
            files.and_then(|files| files.remove_entry(bytes_of(path)))
        else {
            return;
        };
        // Where a copy of it is left, nothing of it has gone.
        let is_gone = self.copies.subtract(file.content) && is_gone;
        if is_gone {
            self.copies.set_gone(file.content, file.at);
        }
        match file.at {
            Place::Tail => {
                let entry = self.tail.remove(&path);
                // What the log has not is written with all of it.
                let was_saved = !self.unsaved.bags.remove(&path);
                if is_gone {
                    self.gone.extend(entry);
                }
                if is_gone && was_saved {
                    self.unsaved.gone.push(path);
                } else {
                    self.unsaved.all = true;
                }
            }
            Place::Sealed(number, row) => self.bury(number, row, is_gone),
        }
    }

    pub(super) fn bury(&mut self, number: u64, row: u32, is_gone: bool) {
        let dead = Arc::make_mut(self.dead.entry(number).or_default());
        if is_gone {
            dead.gone.insert(row);
        } else {
            // It may have been gone, and be there again.
            dead.gone.remove(row);
            dead.replaced.insert(row);
        }
        self.unsaved.dead.push((number, row, is_gone));
    }

    /// Takes in what a bag holds, in place of what was known of its path.
    pub(crate) fn insert(&mut self, entry: BagEntry) {
        let entry = Arc::new(self.share_declarations(entry));
        let path = entry.path.clone();
        let file = File::in_tail(&entry);
        let files = self.files.get_or_insert_default();
        if let Some(before) = files.insert(PathKey(path.clone()), file) {
            self.copies.subtract(before.content);
            if let Place::Sealed(number, row) = before.at {
                self.bury(number, row, false);
            }
        }
        self.bring_back(&entry);
        self.tail.insert(path.clone(), entry);
        self.unsaved.bags.insert(path);
    }

    /// Takes back that a bag is gone when it is there again, wherever it lies now: whole, or grown
    /// since, when it was still being written.
    fn bring_back(&mut self, entry: &BagEntry) {
        let content = Content::of(entry);
        let gone = self.copies.add(content);
        let n_before = self.gone.len();
        self.gone.retain(|gone| {
            let known = Content::of(gone);
            let is_first_part = !gone.contents.is_closed()
                && gone.identity.may_have_grown_into(&entry.identity)
                && known.first == content.first;
            known != content && !is_first_part
        });
        self.unsaved.all |= self.gone.len() < n_before;
        if let Some(Place::Sealed(number, row)) = gone {
            self.bury(number, row, false);
        }
    }

    /// The splits of a session declare the same: they share one copy of it.
    fn share_declarations(&mut self, mut entry: BagEntry) -> BagEntry {
        let declared = &entry.contents.declared;
        // An indexer gives bags that declare the same the same declarations; holding on to them
        // keeps their place from being used for others.
        let [_, shared] = self.aliases.entry(Arc::as_ptr(declared).addr()).or_insert_with(|| {
            let shared = self.declared.get(declared).unwrap_or(declared).clone();
            self.declared.insert(shared.clone());
            [declared.clone(), shared]
        });
        if !Arc::ptr_eq(shared, declared) {
            let declared = shared.clone();
            let contents = Arc::unwrap_or_clone(entry.contents);
            entry.contents = Arc::new(Contents { declared, ..contents });
        }
        if self.aliases.len() > MAX_ALIASES {
            self.aliases.clear();
        }
        entry
    }

    /// Reads which file each entry describes. Entries that cannot be read are buried: their files
    /// are indexed anew.
    pub(crate) fn look_up_files(&mut self) {
        if self.files.is_some() {
            return;
        }
        let mut files = PathMap::with_capacity_and_hasher(self.n_bags(), RandomState::default());
        let mut copies = Copies::default();
        let mut lost = Vec::new();
        let mut know = |path: PathKey, file: File| {
            copies.add(file.content);
            let before = files.insert(path, file)?;
            copies.subtract(before.content);
            match before.at {
                Place::Sealed(number, row) => Some((number, row)),
                Place::Tail => None,
            }
        };
        let mut gone = Vec::new();
        let none = Arc::default();
        for segment in &self.segments {
            let dead: &Arc<Dead> = self.dead.get(&segment.number).unwrap_or(&none);
            let identities = segment.identities();
            for ((row, of), identity) in (0..).zip(&segment.index.rows).zip(identities) {
                if dead.replaced.contains(row) {
                    continue;
                }
                let is_gone = dead.is_gone(row, of);
                let at = Place::Sealed(segment.number, row);
                match identity {
                    Ok((_, identity, mark)) if is_gone => {
                        gone.push((Content::of_row(of, identity, mark), at));
                    }
                    Ok((path, identity, mark)) => {
                        let content = Content::of_row(of, identity, mark);
                        let file = File { identity, content, at };
                        lost.extend(know(path.as_path().into(), file));
                    }
                    Err(_) if is_gone => {}
                    Err(reason) => {
                        tracing::warn!(segment = segment.number, row, reason, "indexed anew");
                        lost.push((segment.number, row));
                    }
                }
            }
        }
        for entry in self.tail_by_path() {
            lost.extend(know(PathKey(entry.path.clone()), File::in_tail(&entry)));
        }
        for entry in &self.gone {
            gone.push((Content::of(entry), Place::Tail));
        }
        for (content, at) in gone {
            copies.set_gone(content, at);
        }
        (self.files, self.copies) = (Some(files), copies);
        for (number, row) in lost {
            self.bury(number, row, false);
        }
    }
}
