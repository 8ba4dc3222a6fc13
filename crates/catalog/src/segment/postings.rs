//! Which messages of a topic name which labels, over the bags of a segment.

use std::{collections::BTreeMap, sync::Arc};

use roaring::RoaringBitmap;
use ros2_memory_index::{
    CodecError, Sightings,
    codec::{Decoder, Encoder},
    decode_times, encode_times,
};
use ros2_memory_time::LogTime;

use super::whole::Labels;

/// The posting lists of one topic: for each label the messages that name it.
///
/// Messages are numbered over the whole segment, bag after bag in the order of its rows; their
/// ordinals within a bag start behind those of the bags before.
#[derive(Debug, Clone, Default)]
pub(crate) struct TopicPostings {
    pub(crate) topic: Arc<str>,
    /// How many messages stand in front of each row; one more than there are rows.
    base: Vec<u32>,
    /// Where the times of each row start in `times`; one more than there are rows.
    times_at: Vec<u32>,
    times: Vec<u8>,
    pub(crate) labels: BTreeMap<Arc<str>, RoaringBitmap>,
    /// The rows in which something could not be read, or is no label.
    pub(crate) incomplete: RoaringBitmap,
    /// The rows in which messages say more than labels.
    pub(crate) with_other_values: RoaringBitmap,
}

impl TopicPostings {
    pub(crate) fn new(topic: Arc<str>) -> Self {
        Self { topic, ..Self::default() }
    }

    /// Appends what a bag has of the topic; `row` is larger than all before.
    pub(crate) fn add(&mut self, row: u32, first: LogTime, sightings: &Sightings) {
        self.fill(row);
        let base = self.base.last().copied().unwrap_or_default();
        for (label, ordinals) in &sightings.labels {
            let list = match self.labels.get_mut(label) {
                Some(list) => list,
                None => self.labels.entry(label.clone()).or_default(),
            };
            let numbers = ordinals.iter().filter_map(|ordinal| base.checked_add(*ordinal));
            // Behind all that are there; ordinals that do not ascend were never taken.
            if list.append(numbers).is_err() {
                self.incomplete.insert(row);
            }
        }
        if !sightings.is_complete {
            self.incomplete.insert(row);
        }
        if sightings.has_other_values {
            self.with_other_values.insert(row);
        }
        let mut out = Encoder(std::mem::take(&mut self.times));
        encode_times(&mut out, first.as_ns(), &sightings.times);
        self.times = out.0;
        let n = u32::try_from(sightings.times.len()).unwrap_or(u32::MAX);
        self.base.push(base.saturating_add(n));
        self.times_at.push(u32::try_from(self.times.len()).unwrap_or(u32::MAX));
    }

    /// Makes rows up to `n_rows`, none of which has messages of the topic.
    fn fill(&mut self, n_rows: u32) {
        let len = n_rows as usize + 1;
        let (base, at) = (self.base.last().copied(), self.times_at.last().copied());
        self.base.resize(len.max(self.base.len()), base.unwrap_or_default());
        self.times_at.resize(len.max(self.times_at.len()), at.unwrap_or_default());
    }

    /// Ends with the last row of the segment.
    pub(crate) fn finish(&mut self, n_rows: u32) {
        self.fill(n_rows);
        for list in self.labels.values_mut() {
            list.optimize();
        }
    }

    /// How many messages there are.
    pub(crate) fn n_messages(&self) -> u32 {
        self.base.last().copied().unwrap_or_default()
    }

    /// The numbers of all messages.
    pub(crate) fn all(&self) -> RoaringBitmap {
        let mut all = RoaringBitmap::new();
        all.insert_range(0..self.n_messages());
        all
    }

    /// The numbers of a row's messages: from, and to before which.
    pub(crate) fn of_row(&self, row: u32) -> std::ops::Range<u32> {
        let at = |row: usize| self.base.get(row).copied().unwrap_or_default();
        at(row as usize)..at(row as usize + 1)
    }

    /// The row that holds a message, by its number.
    pub(crate) fn row_of(&self, number: u32) -> Option<u32> {
        let row = self.base.partition_point(|base| *base <= number).checked_sub(1)?;
        u32::try_from(row).ok().filter(|_| number < self.n_messages())
    }

    /// The log times of a row's messages; `first` is that of the bag.
    pub(crate) fn times_of(&self, row: u32, first: LogTime) -> Vec<LogTime> {
        let count = self.of_row(row).len();
        let at = |row: usize| self.times_at.get(row).copied().unwrap_or_default() as usize;
        let bytes = self.times.get(at(row as usize)..at(row as usize + 1)).unwrap_or_default();
        // What was encoded here, and was checked when it was read, is whole.
        decode_times(&mut Decoder::new(bytes), first.as_ns(), count).unwrap_or_default()
    }

    /// The newest row in front of `before_row` in which a label is named.
    pub(crate) fn row_before(&self, label: &RoaringBitmap, before_row: u32) -> Option<u32> {
        let end = self.base.get(before_row as usize).copied().unwrap_or(self.n_messages());
        self.row_of(label.range(..end).next_back()?)
    }

    /// The oldest row from `from_row` on in which a label is named.
    pub(crate) fn row_from(&self, label: &RoaringBitmap, from_row: u32) -> Option<u32> {
        let start = self.base.get(from_row as usize).copied().unwrap_or(self.n_messages());
        self.row_of(label.range(start..).next()?)
    }

    /// For each row its labels, with the ordinals of the messages that name them.
    pub(crate) fn by_row(&self, n_rows: usize) -> Vec<Labels> {
        let mut rows: Vec<Labels> = vec![Vec::new(); n_rows];
        for (label, numbers) in &self.labels {
            // Numbers ascend, and so do the rows that hold them.
            let mut row = 0u32;
            for number in numbers {
                while self.of_row(row).end <= number && (row as usize) < n_rows {
                    row += 1;
                }
                let Some(of_row) = rows.get_mut(row as usize) else { break };
                let ordinal = number.saturating_sub(self.of_row(row).start);
                match of_row.last_mut().filter(|(last, _)| Arc::ptr_eq(last, label)) {
                    Some((_, ordinals)) => ordinals.push(ordinal),
                    None => of_row.push((label.clone(), vec![ordinal])),
                }
            }
        }
        rows
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.bytes(self.topic.as_bytes());
        for numbers in [&self.base, &self.times_at] {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            out.bytes(&bytes);
        }
        out.bytes(&self.times);
        out.number(self.labels.len() as u64);
        for (label, list) in &self.labels {
            out.bytes(label.as_bytes());
            encode_list(out, list);
        }
        encode_list(out, &self.incomplete);
        encode_list(out, &self.with_other_values);
    }

    pub(crate) fn decode(from: &mut Decoder<'_>, n_rows: usize) -> Result<Self, CodecError> {
        let topic: Arc<str> = from.text()?.into();
        let base = ascending(from.bytes()?, n_rows)?;
        let times_at = ascending(from.bytes()?, n_rows)?;
        let times = from.bytes()?.to_vec();
        let n_messages = base.last().copied().unwrap_or_default();
        let mut labels = BTreeMap::new();
        for _ in 0..from.count()? {
            let label: Arc<str> = from.text()?.into();
            let list = decode_list(from.bytes()?)?;
            if list.max().is_some_and(|last| last >= n_messages) {
                return Err(wrong("posting", list.max().unwrap_or_default()));
            }
            labels.insert(label, list);
        }
        let incomplete = decode_list(from.bytes()?)?;
        let with_other_values = decode_list(from.bytes()?)?;
        // Each time takes a byte at least.
        let has_room = |(base, at): (&[u32], &[u32])| match (base, at) {
            ([a, b], [from, to]) => b - a <= to - from,
            _ => true,
        };
        if !base.windows(2).zip(times_at.windows(2)).all(has_room) {
            return Err(wrong("number of messages", n_messages));
        }
        let end = times_at.last().copied().unwrap_or_default();
        if end as usize != times.len() {
            return Err(wrong("end of times", end));
        }
        Ok(Self { topic, base, times_at, times, labels, incomplete, with_other_values })
    }
}

fn wrong(what: &'static str, found: u32) -> CodecError {
    CodecError::Value { offset: 0, what, found: found.into() }
}

pub(crate) fn encode_list(out: &mut Encoder, list: &RoaringBitmap) {
    let mut bytes = Vec::with_capacity(list.serialized_size());
    match list.serialize_into(&mut bytes) {
        Ok(()) => out.bytes(&bytes),
        Err(_never) => unreachable!("memory takes all that is written"),
    }
}

pub(crate) fn decode_list(bytes: &[u8]) -> Result<RoaringBitmap, CodecError> {
    RoaringBitmap::deserialize_from(bytes).map_err(|_error| wrong("posting list", 0))
}

fn ascending(bytes: &[u8], n_rows: usize) -> Result<Vec<u32>, CodecError> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let numbers: Vec<u32> = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    if numbers.len() != n_rows + 1 || !rest.is_empty() || !numbers.is_sorted() {
        return Err(CodecError::Value { offset: 0, what: "table", found: bytes.len() as u64 });
    }
    Ok(numbers)
}
