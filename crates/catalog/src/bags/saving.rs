//! What is new goes into the log, what is enough into a segment, and small segments into one.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use ros2_memory_index::BagEntry;

use super::{Bags, File, Place, Unsaved, copies::Content, sort_segments};
use crate::{
    CatalogError, Store,
    disk::MAX_NUMBER,
    log::LogEntry,
    segment::{Dead, Segment, rows::RowFlags, sealed::SegmentWriter, whole::WholeEntries},
    store::Tail,
};

impl Bags {
    /// Writes down what is new: into the log, and, when there is enough of it, as a segment.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when writing fails; nothing is forgotten.
    pub(crate) fn save(
        &mut self,
        store: &mut Store,
        is_settled: &dyn Fn(&BagEntry) -> bool,
    ) -> Result<(), CatalogError> {
        // Who may not write keeps what is new in memory, until it may: then it begins anew.
        let is_in_memory = !store.is_writer();
        let mut sealed = Ok(());
        if self.is_full() {
            sealed = self.seal(store, is_settled, is_in_memory);
            // After a failure not at once again.
            self.seal_at = match sealed {
                Ok(()) => self.limits.seal_at,
                Err(_) => (self.tail.len() + self.gone.len()).saturating_mul(2),
            };
        }
        if is_in_memory {
            self.unsaved = Unsaved::default();
            return sealed;
        }
        self.append(store, is_settled)?;
        sealed
    }

    pub(super) fn tail_by_path(&self) -> Vec<Arc<BagEntry>> {
        let mut entries: Vec<_> = self.tail.values().cloned().collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries
    }

    fn settled(&self, is_settled: &dyn Fn(&BagEntry) -> bool) -> Vec<Arc<BagEntry>> {
        let mut entries = self.tail_by_path();
        entries.retain(|entry| is_settled(entry));
        entries
    }

    fn append(
        &mut self,
        store: &mut Store,
        is_settled: &dyn Fn(&BagEntry) -> bool,
    ) -> Result<(), CatalogError> {
        let fresh: Vec<Arc<BagEntry>> = self
            .unsaved
            .bags
            .iter()
            .filter_map(|path| self.tail.get(path))
            .filter(|entry| is_settled(entry))
            .cloned()
            .collect();
        let Unsaved { gone, dead, all, .. } = &self.unsaved;
        if fresh.is_empty() && gone.is_empty() && dead.is_empty() && !all {
            return Ok(());
        }
        let entries = self.settled(is_settled);
        let dead_rows = self.dead_rows();
        let tail = Tail { entries: &entries, gone: &self.gone, dead: &dead_rows };
        if *all {
            store.forget_log();
        }
        let bags = fresh.iter().map(LogEntry::Bag);
        let gone = gone.iter().map(|path| LogEntry::Gone(path));
        let dead = dead.iter().map(|(segment, row, is_gone)| LogEntry::Dead {
            segment: *segment,
            row: *row,
            is_gone: *is_gone,
        });
        // What went first: a file of that name may be there again.
        let all: Vec<LogEntry<'_>> = gone.chain(dead).chain(bags).collect();
        store.append(tail, &all)?;
        for entry in &fresh {
            self.unsaved.bags.remove(&entry.path);
        }
        self.unsaved =
            Unsaved { bags: std::mem::take(&mut self.unsaved.bags), ..Unsaved::default() };
        Ok(())
    }

    fn dead_rows(&self) -> HashMap<u64, Dead> {
        self.dead.iter().map(|(number, dead)| (*number, Dead::clone(dead))).collect()
    }

    /// Makes a segment of the newest entries.
    fn seal(
        &mut self,
        store: &mut Store,
        is_settled: &dyn Fn(&BagEntry) -> bool,
        is_in_memory: bool,
    ) -> Result<(), CatalogError> {
        let settled = self.settled(is_settled).into_iter().map(|entry| (entry, false));
        let gone = self.gone.iter().map(|entry| (entry.clone(), true));
        let mut entries: Vec<(Arc<BagEntry>, bool)> = settled.chain(gone).collect();
        if entries.is_empty() {
            return Ok(());
        }
        entries.sort_by(|(a, _), (b, _)| crate::segment::order(a).cmp(&crate::segment::order(b)));
        let segment = if is_in_memory {
            store.keep(entries.clone())
        } else {
            let dead = self.dead_rows();
            // Bags that are still being written are not in the log.
            let tail = Tail { entries: &[], gone: &[], dead: &dead };
            let segment = store.seal(&[], tail, &mut self.declared, |writer| {
                entries.iter().try_for_each(|(entry, is_gone)| writer.add(entry, *is_gone))
            })?;
            self.unsaved.gone.clear();
            self.unsaved.dead.clear();
            self.unsaved.all = false;
            segment
        };
        self.gone.clear();
        for (entry, _) in entries.iter().filter(|(_, is_gone)| !is_gone) {
            self.tail.remove(&entry.path);
            self.unsaved.bags.remove(&entry.path);
        }
        self.place(segment, &[]);
        Ok(())
    }

    /// Puts a new segment in the place of others.
    fn place(&mut self, segment: Arc<Segment>, old: &[u64]) {
        if let Some(files) = &mut self.files {
            for ((row, of), identity) in (0..).zip(&segment.index.rows).zip(segment.identities()) {
                let at = Place::Sealed(segment.number, row);
                match identity {
                    Ok((_, identity, mark)) if of.flags.has(RowFlags::GONE) => {
                        self.copies.set_gone(Content::of_row(of, identity, mark), at);
                    }
                    Ok((path, identity, mark)) => {
                        let content = Content::of_row(of, identity, mark);
                        files.insert(path.as_path().into(), File { identity, content, at });
                    }
                    // What was just written cannot be read.
                    Err(_) => self.needs_a_full_look = true,
                }
            }
        }
        self.summaries
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|number, _| !old.contains(number));
        self.segments.retain(|known| !old.contains(&known.number));
        self.dead.retain(|number, _| !old.contains(number));
        self.segments.push(segment);
        sort_segments(&mut self.segments);
    }

    /// Merges small segments when there are enough of them; returns whether it did.
    ///
    /// # Errors
    ///
    /// [`CatalogError::Io`] when writing fails; nothing is forgotten.
    pub(crate) fn merge(
        &mut self,
        store: &mut Store,
        is_settled: &dyn Fn(&BagEntry) -> bool,
    ) -> Result<bool, CatalogError> {
        if !store.is_writer() {
            return Ok(false);
        }
        let n_used = |segment: &Segment| {
            let replaced = self.dead.get(&segment.number).map_or(0, |dead| dead.replaced.len());
            u64::from(segment.n_rows()).saturating_sub(replaced)
        };
        let is_small = |segment: &&Arc<Segment>| {
            n_used(segment) < self.limits.large.into() && segment.number <= MAX_NUMBER
        };
        let small: Vec<Arc<Segment>> =
            self.segments.iter().filter(is_small).take(self.limits.merge_at).cloned().collect();
        if small.len() < self.limits.merge_at {
            return Ok(false);
        }
        let mut rows: Vec<(&Arc<Segment>, u32, bool)> = Vec::new();
        for segment in &small {
            let none = Arc::default();
            let dead: &Arc<Dead> = self.dead.get(&segment.number).unwrap_or(&none);
            for (row, of) in (0..).zip(&segment.index.rows) {
                if !dead.replaced.contains(row) {
                    rows.push((segment, row, dead.is_gone(row, of)));
                }
            }
        }
        rows.sort_by_key(|(segment, row, _)| segment.row(*row).map(|row| row.first));
        let old: Vec<u64> = small.iter().map(|segment| segment.number).collect();
        let entries = self.settled(is_settled);
        let mut dead = self.dead_rows();
        dead.retain(|number, _| !old.contains(number));
        let tail = Tail { entries: &entries, gone: &self.gone, dead: &dead };
        let mut n_left_out = 0;
        let segment = store.seal(&old, tail, &mut self.declared, |writer| {
            let first = |(segment, row, _): &(&Arc<Segment>, u32, bool)| {
                segment.row(*row).map(|row| row.first)
            };
            let whole: HashMap<u64, WholeEntries<'_>> =
                small.iter().map(|segment| (segment.number, WholeEntries::of(segment))).collect();
            for together in rows.chunk_by(|a, b| first(a) == first(b)) {
                n_left_out += write_together(writer, &whole, together)?;
            }
            Ok(())
        })?;
        self.needs_a_full_look |= n_left_out > 0;
        self.place(segment, &old);
        Ok(true)
    }
}

/// Writes bags that start together, by path; returns how many could not be read.
fn write_together(
    writer: &mut SegmentWriter,
    whole: &HashMap<u64, WholeEntries<'_>>,
    together: &[(&Arc<Segment>, u32, bool)],
) -> std::io::Result<usize> {
    let mut entries = Vec::with_capacity(together.len());
    for (segment, row, is_gone) in together {
        let Some(whole) = whole.get(&segment.number) else { continue };
        match whole.entry(*row) {
            Ok(entry) => entries.push((entry, *is_gone)),
            // Its file, when it is there, is found to be unknown at the next full look.
            Err(reason) => tracing::warn!(segment = segment.number, row, reason, "left out"),
        }
    }
    entries.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    entries.iter().try_for_each(|(entry, is_gone)| writer.add(entry, *is_gone))?;
    Ok(together.len() - entries.len())
}
