//! A small right file with a few damages: every message in a chunk whose bytes are all there is
//! served, and nothing is served past a checksum that was never recorded.

mod damage;
mod files;

use arbitrary::{Arbitrary, Unstructured};
use damage::{Damage, Damaged};
use files::FilePick;
use ros2_memory_bag::{Bag, Verdict};
use ros2_memory_testkit::mcap_bytes::{
    Declaration, Placed, Walked,
    records::{MAGIC, op},
};

use crate::recordings::{OPTIONS, Seen, in_file_order, scanned, timeline};

#[derive(Debug, Arbitrary)]
struct Input {
    damages: Vec<Damage>,
    file: FilePick,
}

/// So many damages are done: more leave nothing to promise.
const MAX_DAMAGES: usize = 4;

/// The file that an input stands for, as it was and with its damages.
pub fn files(data: &[u8]) -> Option<[Vec<u8>; 2]> {
    let (_, damaged) = made(data)?;
    Some([damaged.original().to_vec(), damaged.bytes()])
}

fn made(data: &[u8]) -> Option<(Walked, Damaged)> {
    let input = Input::arbitrary_take_rest(Unstructured::new(data)).ok()?;
    let (bytes, walked) = input.file.file()?;
    let mut damaged = Damaged::new(&bytes);
    input.damages.iter().take(MAX_DAMAGES).for_each(|damage| damage.apply(&mut damaged));
    Some((walked, damaged))
}

/// `data` makes a file and what is done to it.
pub fn run(data: &[u8]) {
    let Some((walked, damaged)) = made(data) else { return };
    if !damaged.is_in_place(0..MAGIC.len()) {
        // It may be no recording any more; opening returns all the same.
        drop(scanned(&damaged.bytes()));
        return;
    }
    let bag = scanned(&damaged.bytes()).expect("a recording by its first bytes");
    let (served, n_skipped) = timeline(&bag);
    assert_eq!(n_skipped, 0, "what was whole still is");
    let indexed = Bag::open_indexed(bag.source().path(), &OPTIONS).expect("a file to read");
    if let Some(indexed) = indexed {
        let (by_index, n_skipped) = timeline(&indexed);
        assert!(n_skipped > 0 || by_index == served, "by its index: {by_index:?}\n{served:?}");
    }
    let trial = Trial { walked: &walked, damaged: &damaged };
    trial.check_checked(&bag);
    if damaged.has_second_file() {
        // What was declared holds no longer, and the counts are those of one of two files.
        return;
    }
    trial.check_untouched(&served, &bag);
    trial.check_marks(&served, &bag);
}

struct Trial<'a> {
    walked: &'a Walked,
    damaged: &'a Damaged,
}

impl Trial<'_> {
    /// Every message in a chunk of which no byte changed is served.
    fn check_untouched(&self, served: &[Seen], bag: &Bag) {
        for (number, holder) in self.walked.holders.iter().enumerate() {
            let place = self.damaged.place_of(holder.record.clone());
            let Some(place) = place.filter(|_| holder.is_chunk) else { continue };
            if Self::is_claimed(bag, place) {
                continue;
            }
            for placed in self.walked.messages.iter().filter(|placed| placed.holder == number) {
                if !self.is_declared(bag, placed, number) {
                    continue;
                }
                // Its topic may be changed where it is declared without a checksum.
                let is_served = served.iter().any(|served| is_same(served, placed));
                assert!(
                    is_served,
                    "of the untouched chunk at {:?}: {placed:?}\n{:?}\n{:?}",
                    holder.record,
                    bag.contents().damage,
                    self.damaged.changes(),
                );
            }
        }
    }

    /// Whether the chunk at a place of the damaged file lies in what another chunk claims to store.
    /// One that can be opened is believed to its end, also where bytes went missing in it and
    /// nothing checks it, or where both of its lengths grew alike.
    fn is_claimed(bag: &Bag, at: usize) -> bool {
        let at = at as u64;
        bag.contents().chunks.iter().any(|chunk| {
            let end = chunk.offset.saturating_add(chunk.stored_len);
            chunk.verdict != Verdict::Damaged && (chunk.offset..end).contains(&at)
        })
    }

    /// Whether some place that nothing happened to declares the channel for the messages of a
    /// holder: one in front of them, their own chunk, or the summary. Records outside chunks are
    /// not searched for in a file of chunks, so nothing may have happened in front of them either.
    fn is_declared(&self, bag: &Bag, placed: &Placed, holder: usize) -> bool {
        let at = self.walked.holders[holder].record.start;
        let is_found = |declared: &Declaration| match declared.holder {
            Some(_) => {
                let place = self.damaged.place_of(declared.record.clone());
                place.is_some_and(|at| !Self::is_claimed(bag, at))
            }
            None if declared.in_summary => self.has_tail(),
            None => self.damaged.is_in_place(0..declared.record.end),
        };
        self.walked.declarations.iter().any(|declared| {
            declared.opcode == op::CHANNEL
                && declared.id == placed.message.channel
                && (declared.record.start <= at || declared.in_summary)
                && is_found(declared)
        })
    }

    /// Whether everything from the end of the data on is as and where it was.
    fn has_tail(&self) -> bool {
        self.damaged.is_in_place(self.walked.data_end..self.damaged.original_len())
            && self.damaged.len() == self.damaged.original_len()
    }

    /// What a chunk with a right checksum serves was recorded; and where nothing happened but to
    /// bytes with a checksum of their own, nothing else is served.
    fn check_checked(&self, bag: &Bag) {
        let is_covered = self.walked.holders.iter().all(|holder| holder.has_crc)
            && self.damaged.keeps_len()
            && self.has_framing();
        for (verdict, served) in in_file_order(bag) {
            if verdict == Verdict::Intact || is_covered {
                let is_recorded =
                    self.walked.messages.iter().any(|placed| is_same(&served, placed));
                assert!(is_recorded, "{verdict:?}, never recorded: {served:?}");
            }
        }
    }

    /// Whether everything but what the chunks store is as and where it was.
    fn has_framing(&self) -> bool {
        let mut at = 0;
        for holder in &self.walked.holders {
            if !self.damaged.is_in_place(at..holder.stored.start) {
                return false;
            }
            at = holder.stored.end;
        }
        self.damaged.is_in_place(at..self.damaged.original_len())
    }

    /// A closed file with its counts that serves fewer messages says that something is wrong.
    fn check_marks(&self, served: &[Seen], bag: &Bag) {
        let is_counted = self.walked.has_statistics && self.has_tail();
        if is_counted && served.len() < self.walked.messages.len() {
            let is_marked = !bag.contents().damage.is_empty() || !bag.contents().is_closed();
            assert!(is_marked, "{} of {}", served.len(), self.walked.messages.len());
        }
    }
}

fn is_same(served: &Seen, placed: &Placed) -> bool {
    served.log_time_ns == placed.message.log_time_ns
        && served.sequence == placed.message.sequence
        && served.publish_time_ns == placed.message.publish_time_ns
        && served.payload == placed.message.payload
}
