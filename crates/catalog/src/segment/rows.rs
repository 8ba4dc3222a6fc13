//! The bags of a segment as a table, so that they can be found without reading their entries.

use ros2_memory_bag::Ending;
use ros2_memory_index::{BagEntry, IndexedMark};
use ros2_memory_time::LogTime;

/// One bag.
///
/// ```text
/// offset  width  meaning, little-endian
/// 0       8      first log time
/// 8       8      last log time
/// 16      8      where its entry stands in the file
/// 24      4      how long the entry is, with its header
/// 28      4      the number of its declarations
/// 32      4      the number of its set of topics
/// 36      4      the number of its run
/// 40      4      flags
/// 44      4      with which configuration it was indexed
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) first: LogTime,
    pub(crate) last: LogTime,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) declared: u32,
    /// The set of topics that it has messages of.
    pub(crate) topics: u32,
    pub(crate) run: u32,
    pub(crate) flags: RowFlags,
    pub(crate) indexed: IndexedMark,
}

/// What is so of a bag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowFlags(pub(crate) u32);

impl RowFlags {
    /// It has messages.
    pub(crate) const MESSAGES: Self = Self(1);
    /// Something in it is wrong.
    pub(crate) const DAMAGED: Self = Self(2);
    /// It has no ending.
    pub(crate) const OPEN: Self = Self(4);
    /// Its file is gone.
    pub(crate) const GONE: Self = Self(8);

    pub(crate) fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub(crate) fn with(self, flag: Self, is_set: bool) -> Self {
        if is_set { Self(self.0 | flag.0) } else { self }
    }

    pub(crate) fn of(entry: &BagEntry) -> Self {
        let contents = &entry.contents;
        Self::default()
            .with(Self::MESSAGES, contents.time_span().is_some())
            .with(Self::DAMAGED, !contents.damage.is_empty())
            .with(Self::OPEN, contents.ending != Ending::Closed)
    }
}

impl Row {
    pub(crate) const LEN: usize = 48;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.first.as_ns(), self.last.as_ns(), self.offset] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let Self { len, declared, topics, run, flags, indexed, .. } = self;
        for number in [len, declared, topics, run, &flags.0, &indexed.0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    pub(crate) fn decode(bytes: &[u8; Self::LEN]) -> Self {
        let mut rest = bytes.as_slice();
        let mut take = |width: usize| {
            let (number, behind) = rest.split_at_checked(width).unwrap_or_default();
            rest = behind;
            number.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let (first, last, offset) = (take(8), take(8), take(8));
        #[expect(clippy::cast_possible_truncation, reason = "four bytes each")]
        let mut small = || take(4) as u32;
        Self {
            first: LogTime::from_ns(first),
            last: LogTime::from_ns(last),
            offset,
            len: small(),
            declared: small(),
            topics: small(),
            run: small(),
            flags: RowFlags(small()),
            indexed: IndexedMark(small()),
        }
    }
}

/// For each time, the latest of it and all before it.
pub(crate) fn latest_so_far(times: impl Iterator<Item = LogTime>) -> Vec<LogTime> {
    let mut latest = LogTime::ZERO;
    times
        .map(|time| {
            latest = latest.max(time);
            latest
        })
        .collect()
}
