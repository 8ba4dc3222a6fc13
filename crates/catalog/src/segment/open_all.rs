//! Opening the sealed segments of a catalog together, since the first answer waits for it.

use std::{
    collections::HashSet,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ros2_memory_bag::Declarations;

use super::{Segment, sealed};
use crate::disk::{Unread, open_regular, segment_path};

/// More threads than this would wait for each other's memory.
const MAX_THREADS: usize = 4;

/// The segments of these numbers, in their order, or why one cannot be read; and the declarations
/// that they share. On as many threads as there are processors, up to four.
pub(crate) fn open_all(
    dir: &Path,
    numbers: &[u64],
) -> (Vec<Result<Segment, Unread>>, HashSet<Arc<Declarations>>) {
    let share = Mutex::new(HashSet::new());
    let next = AtomicUsize::new(0);
    let open_some = || {
        let mut opened = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(number) = numbers.get(place) else { return opened };
            let segment = open_regular(&segment_path(dir, *number))
                .map_err(|error| Unread::of(&error))
                .and_then(|file| sealed::open(file, *number, &share));
            opened.push((place, segment));
        }
    };
    let n_threads = thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS));
    let mut opened = thread::scope(|scope| {
        let n_others = n_threads.min(numbers.len()).saturating_sub(1);
        let others: Vec<_> = (0..n_others).map(|_| scope.spawn(open_some)).collect();
        let mut opened = open_some();
        // A panic was reported; what its thread had opened counts as what cannot be read.
        opened.extend(others.into_iter().flat_map(|other| other.join().unwrap_or_default()));
        opened
    });
    opened.sort_by_key(|(place, _)| *place);
    let mut opened = opened.into_iter().peekable();
    let segments = (0..numbers.len()).map(|place| match opened.next_if(|(of, _)| *of == place) {
        Some((_, segment)) => segment,
        None => Err(Unread::Damaged("it could not be opened".to_owned())),
    });
    let segments = segments.collect();
    (segments, share.into_inner().unwrap_or_else(PoisonError::into_inner))
}
