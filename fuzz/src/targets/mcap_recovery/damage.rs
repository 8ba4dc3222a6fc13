//! What is done to a file, and which of its bytes are still there.

use std::ops::Range;

use arbitrary::Arbitrary;
use ros2_memory_testkit::{
    mcap_bytes::records::{MAGIC, PREFIX_BYTES, data_end, op},
    prng::Prng,
};

/// One damage. Places past the end wrap around.
#[derive(Debug, Arbitrary)]
pub(super) enum Damage {
    Flip {
        at: u16,
        bit: u8,
    },
    Set {
        at: u16,
        byte: u8,
    },
    /// Noise over some bytes.
    Overwrite {
        at: u16,
        len: u16,
        seed: u8,
    },
    Zeros {
        at: u16,
        len: u16,
    },
    /// The rest of the file is gone.
    Cut {
        at: u16,
    },
    /// Noise between two bytes.
    Insert {
        at: u16,
        len: u8,
        seed: u8,
    },
    /// Bytes of another place between two bytes.
    Copy {
        from: u16,
        len: u16,
        at: u16,
    },
    /// Some bytes are gone, and those behind them move up.
    Remove {
        at: u16,
        len: u16,
    },
}

/// A file and where each of its bytes comes from.
pub(super) struct Damaged {
    /// A byte, and its place in the right file when it is the one that stood there.
    bytes: Vec<(u8, Option<usize>)>,
    original: Vec<u8>,
}

impl Damaged {
    pub(super) fn new(original: &[u8]) -> Self {
        let bytes = original.iter().enumerate().map(|(at, byte)| (*byte, Some(at))).collect();
        Self { bytes, original: original.to_vec() }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.bytes.iter().map(|(byte, _)| *byte).collect()
    }

    pub(super) fn original(&self) -> &[u8] {
        &self.original
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn original_len(&self) -> usize {
        self.original.len()
    }

    /// Whether nothing was cut off, put in or taken out.
    pub(super) fn keeps_len(&self) -> bool {
        self.len() == self.original_len()
    }

    /// Where these bytes of the right file are now, when all are there, one behind the other.
    pub(super) fn place_of(&self, range: Range<usize>) -> Option<usize> {
        let start = self.bytes.iter().position(|(_, from)| *from == Some(range.start))?;
        self.stands_at(start, range).then_some(start)
    }

    /// Whether these bytes of the right file are all there, where they were.
    pub(super) fn is_in_place(&self, range: Range<usize>) -> bool {
        self.stands_at(range.start, range)
    }

    fn stands_at(&self, start: usize, range: Range<usize>) -> bool {
        let found = self.bytes.get(start..start + range.len()).unwrap_or_default();
        found.len() == range.len()
            && found.iter().zip(range).all(|((_, from), wanted)| *from == Some(wanted))
    }

    /// Whether a file starts in the middle, or ends there: copies make files behind files.
    pub(super) fn has_second_file(&self) -> bool {
        let bytes = self.bytes();
        let start = [&MAGIC[..], &[op::HEADER]].concat();
        let end = data_end(0);
        let end = &end[..PREFIX_BYTES];
        bytes.windows(start.len()).skip(1).any(|window| window == start)
            || bytes.windows(end.len()).filter(|window| *window == end).count() > 1
    }

    /// The places that do not hold what they held, for the message of a failure.
    pub(super) fn changes(&self) -> Vec<(usize, u8, Option<u8>)> {
        let places = self.bytes.iter().enumerate();
        places
            .filter(|(at, (_, from))| *from != Some(*at))
            .map(|(at, (byte, _))| (at, *byte, self.original.get(at).copied()))
            .take(40)
            .collect()
    }

    fn set(&mut self, at: usize, byte: u8) {
        let Some(place) = self.bytes.get_mut(at) else { return };
        let stood = place.1.and_then(|from| self.original.get(from));
        if stood != Some(&byte) {
            *place = (byte, None);
        }
    }

    fn place(&self, at: u16) -> usize {
        usize::from(at) % self.len().max(1)
    }

    fn range(&self, at: u16, len: u16) -> Range<usize> {
        let start = self.place(at);
        start..(start + usize::from(len)).min(self.len())
    }
}

impl Damage {
    pub(super) fn apply(&self, damaged: &mut Damaged) {
        match *self {
            Self::Flip { at, bit } => {
                let at = damaged.place(at);
                let byte = damaged.bytes.get(at).map_or(0, |(byte, _)| *byte);
                damaged.set(at, byte ^ 1 << (bit % 8));
            }
            Self::Set { at, byte } => damaged.set(damaged.place(at), byte),
            Self::Overwrite { at, len, seed } => {
                let mut rng = Prng::new(seed.into());
                for at in damaged.range(at, len) {
                    damaged.set(at, noise(&mut rng));
                }
            }
            Self::Zeros { at, len } => {
                damaged.range(at, len).for_each(|at| damaged.set(at, 0));
            }
            Self::Cut { at } => damaged.bytes.truncate(damaged.place(at)),
            Self::Insert { at, len, seed } => {
                let mut rng = Prng::new(seed.into());
                let at = damaged.place(at);
                let new = (0..len).map(|_| (noise(&mut rng), None));
                damaged.bytes.splice(at..at, new);
            }
            Self::Copy { from, len, at } => {
                let from = damaged.range(from, len);
                let copied = damaged.bytes.get(from).unwrap_or_default();
                let copied: Vec<_> = copied.iter().map(|(byte, _)| (*byte, None)).collect();
                let at = damaged.place(at);
                damaged.bytes.splice(at..at, copied);
            }
            Self::Remove { at, len } => {
                let range = damaged.range(at, len);
                damaged.bytes.drain(range);
            }
        }
    }
}

fn noise(rng: &mut Prng) -> u8 {
    rng.next_u64().to_le_bytes()[0]
}
