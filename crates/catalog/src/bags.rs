//! Every bag that is known, and where its entry is.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ros2_memory_bag::{Contents, Declarations, FileIdentity};
use ros2_memory_index::{BagEntry, IndexedMark, IndexedTypes};

use self::copies::{Content, Copies};
use crate::{
    CatalogError, Loaded, Store,
    disk::MAX_NUMBER,
    log::LogEntry,
    path_key::{PathKey, bytes_of},
    segment::{
        Dead, Segment,
        rows::{Row, RowFlags},
        sealed::SegmentWriter,
        summary::Summary,
    },
    snapshot::Shown,
    store::Tail,
};

mod copies;
#[cfg(test)]
mod tests;

/// When bags are sealed and segments merged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// With this many bags outside sealed segments, they are sealed.
    pub(crate) seal_at: usize,
    /// So many small segments are merged into one.
    pub(crate) merge_at: usize,
    /// A segment with this many bags is not small: merging it again would gain little, and what
    /// becomes of its bags would cost more to sum up.
    pub(crate) large: u32,
}

/// More declarations than this are forgotten, and compared again when they come again.
const MAX_ALIASES: usize = 1000;
const LIMITS: Limits = Limits { seal_at: 1024, merge_at: 8, large: 4096 };

/// How many rows of a segment are gone, and how many replaced.
type NDead = [u64; 2];

/// Every bag that is known.
#[derive(Debug)]
pub(crate) struct Bags {
    limits: Limits,
    /// With this many new bags they are sealed: as the limits say, or later after a failure.
    seal_at: usize,
    needs_a_full_look: bool,
    /// By the start time of their first bags.
    segments: Vec<Arc<Segment>>,
    dead: HashMap<u64, Arc<Dead>>,
    /// The newest entries.
    tail: HashMap<Arc<Path>, Arc<BagEntry>>,
    /// Newest entries whose files are gone.
    gone: Vec<Arc<BagEntry>>,
    /// Where every bag is whose file exists. Filled when the folder is looked through for the
    /// first time: an answer from the catalog alone does not need it.
    files: Option<HashMap<PathKey, File>>,
    /// What is known by its size and mark, wherever it lies: a file that is moved, copied or back
    /// from a disk that was away is the same bag.
    copies: Copies,
    /// What changed since the log was last written.
    unsaved: Unsaved,
    declared: HashSet<Arc<Declarations>>,
    /// For each of the declarations that indexers brought, those that are shared.
    aliases: HashMap<usize, [Arc<Declarations>; 2]>,
    /// The totals of segments with dead rows, as of so many of these.
    summaries: Mutex<HashMap<u64, (NDead, Arc<Summary>)>>,
    /// What the configuration in force makes of declarations.
    marks: Mutex<HashMap<usize, IndexedMark>>,
}

#[derive(Debug, Default)]
struct Unsaved {
    bags: HashSet<Arc<Path>>,
    gone: Vec<Arc<Path>>,
    dead: Vec<(u64, u32, bool)>,
    /// Whether the log on disk must be written as a whole.
    all: bool,
}

/// Where the entry of a bag is.
#[derive(Debug, Clone, Copy)]
struct File {
    identity: FileIdentity,
    content: Content,
    at: Place,
}

impl File {
    fn in_tail(entry: &BagEntry) -> Self {
        Self { identity: entry.identity, content: Content::of(entry), at: Place::Tail }
    }
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Tail,
    /// The number of a segment, and a row of it.
    Sealed(u64, u32),
}

impl Bags {
    pub(crate) fn new(loaded: Loaded) -> Self {
        Self::with_limits(loaded, LIMITS)
    }

    pub(crate) fn with_limits(loaded: Loaded, limits: Limits) -> Self {
        let Loaded { mut segments, dead, tail, gone, declared, damage, .. } = loaded;
        sort_segments(&mut segments);
        Self {
            limits,
            seal_at: limits.seal_at,
            needs_a_full_look: false,
            segments,
            dead: dead.into_iter().map(|(number, dead)| (number, Arc::new(dead))).collect(),
            tail,
            gone,
            files: None,
            copies: Copies::default(),
            unsaved: Unsaved { all: damage.is_some(), ..Unsaved::default() },
            declared,
            aliases: HashMap::new(),
            summaries: Mutex::default(),
            marks: Mutex::default(),
        }
    }

    /// How many bags are known whose files exist.
    pub(crate) fn n_bags(&self) -> usize {
        if let Some(files) = &self.files {
            return files.len();
        }
        let sealed: u64 = self.segments.iter().map(|segment| self.n_live(segment)).sum();
        usize::try_from(sealed).unwrap_or(usize::MAX) + self.tail.len()
    }

    fn n_live(&self, segment: &Segment) -> u64 {
        let dead = self.dead.get(&segment.number);
        let is_live = |(number, row): &(u32, &Row)| {
            !row.flags.has(RowFlags::GONE) && dead.is_none_or(|dead| !dead.has(*number))
        };
        (0..).zip(&segment.index.rows).filter(is_live).count() as u64
    }

    /// Whether there are enough new bags to seal them.
    pub(crate) fn is_full(&self) -> bool {
        self.tail.len() + self.gone.len() >= self.seal_at
    }

    /// Whether something that is known to be there has to be looked for anew.
    pub(crate) fn needs_a_full_look(&mut self) -> bool {
        std::mem::take(&mut self.needs_a_full_look)
    }

    /// The newest entry of a path, unless it is sealed: what is sealed does not grow.
    pub(crate) fn newest(&self, path: &Path) -> Option<&Arc<BagEntry>> {
        self.tail.get(path)
    }

    /// Whether a version of a file is known, as the configuration has it.
    pub(crate) fn knows(
        &self,
        path: &Path,
        identity: FileIdentity,
        indexed: &Arc<IndexedTypes>,
    ) -> bool {
        let file = self.files.as_ref().and_then(|files| files.get(bytes_of(path)));
        let Some(file) = file.filter(|file| file.identity == identity) else { return false };
        let (declared, mark) = match file.at {
            Place::Tail => match self.tail.get(path) {
                Some(entry) => (&entry.contents.declared, entry.indexed),
                None => return false,
            },
            Place::Sealed(number, row) => {
                let segment = self.segments.iter().find(|segment| segment.number == number);
                let row = segment.and_then(|segment| Some((segment, segment.row(row)?)));
                let Some((segment, row)) = row else { return false };
                match segment.index.declared.get(row.declared as usize) {
                    Some(declared) => (declared, row.indexed),
                    None => return false,
                }
            }
        };
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Arc::as_ptr(declared).addr();
        *marks.entry(place).or_insert_with(|| indexed.mark(declared)) == mark
    }

    /// Takes note of the bags whose files are gone; returns how many there are. What lies under a
    /// `hidden` path is not gone.
    pub(crate) fn drop_vanished(
        &mut self,
        found: &HashMap<PathKey, FileIdentity>,
        hidden: &[&Path],
    ) -> usize {
        self.look_up_files();
        let files = self.files.iter().flatten();
        let vanished: Vec<Arc<Path>> = files
            .map(|(path, _)| path)
            .filter(|path| !found.contains_key(*path))
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

    fn bury(&mut self, number: u64, row: u32, is_gone: bool) {
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
        let mut files: HashMap<PathKey, File> = HashMap::with_capacity(self.n_bags());
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
        for segment in &self.segments {
            let dead = self.dead.get(&segment.number);
            let identities = segment.identities();
            for ((row, of), identity) in (0..).zip(&segment.index.rows).zip(identities) {
                if dead.is_some_and(|dead| dead.replaced.contains(row)) {
                    continue;
                }
                let is_gone = of.flags.has(RowFlags::GONE)
                    || dead.is_some_and(|dead| dead.gone.contains(row));
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
        sealed?;
        while self.merge(store, is_settled)? {}
        Ok(())
    }

    fn tail_by_path(&self) -> Vec<Arc<BagEntry>> {
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
    fn merge(
        &mut self,
        store: &mut Store,
        is_settled: &dyn Fn(&BagEntry) -> bool,
    ) -> Result<bool, CatalogError> {
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
                let is_gone = of.flags.has(RowFlags::GONE) || dead.gone.contains(row);
                if !dead.replaced.contains(row) {
                    rows.push((segment, row, is_gone));
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
            for together in rows.chunk_by(|a, b| first(a) == first(b)) {
                n_left_out += write_together(writer, together)?;
            }
            Ok(())
        })?;
        self.needs_a_full_look |= n_left_out > 0;
        self.place(segment, &old);
        Ok(true)
    }

    /// What a snapshot shows: the segments, that of the newest entries included.
    pub(crate) fn shown(&self, is_shown: &dyn Fn(&BagEntry) -> bool) -> Vec<Shown> {
        let shown = self.tail.values().filter(|entry| is_shown(entry));
        let tail = shown.map(|entry| (entry.clone(), false));
        let gone = self.gone.iter().map(|entry| (entry.clone(), true));
        let mut segments = self.segments.clone();
        segments.push(Arc::new(Segment::in_memory(tail.chain(gone).collect())));
        sort_segments(&mut segments);
        let with_summaries = segments.into_iter().map(|segment| {
            let dead = self.dead.get(&segment.number).filter(|_| segment.number > 0);
            let dead = dead.cloned().unwrap_or_default();
            let summary = self.summary(&segment, &dead);
            Shown { segment, dead, summary }
        });
        with_summaries.collect()
    }

    fn summary(&self, segment: &Segment, dead: &Dead) -> Arc<Summary> {
        if dead.len() == 0 {
            return segment.index.summary.clone();
        }
        let counts = [dead.gone.len(), dead.replaced.len()];
        let mut summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((n_dead, summary)) = summaries.get(&segment.number)
            && *n_dead == counts
        {
            return summary.clone();
        }
        let summary = segment.summary(dead).unwrap_or_else(|reason| {
            tracing::warn!(segment = segment.number, reason, "totals may count too much");
            segment.index.summary.clone()
        });
        summaries.insert(segment.number, (counts, summary.clone()));
        summary
    }
}

/// Writes bags that start together, by path; returns how many could not be read.
fn write_together(
    writer: &mut SegmentWriter,
    together: &[(&Arc<Segment>, u32, bool)],
) -> std::io::Result<usize> {
    let mut entries = Vec::with_capacity(together.len());
    for (segment, row, is_gone) in together {
        match segment.entry(*row) {
            Ok(entry) => entries.push((entry, *is_gone)),
            // Its file, when it is there, is found to be unknown at the next full look.
            Err(reason) => tracing::warn!(segment = segment.number, row, reason, "left out"),
        }
    }
    entries.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    entries.iter().try_for_each(|(entry, is_gone)| writer.add(entry, *is_gone))?;
    Ok(together.len() - entries.len())
}

fn sort_segments(segments: &mut [Arc<Segment>]) {
    segments.sort_by_key(|segment| segment.row(0).map(|row| row.first));
}
