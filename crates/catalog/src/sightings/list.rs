//! The sightings of one topic in one segment.

use std::{borrow::Cow, sync::Arc};

use roaring::RoaringBitmap;
use ros2_memory_time::{LogTime, TimeRange};

use super::LabelSummary;
use crate::{segment::postings::TopicPostings, snapshot::Part};

/// The messages of one topic in one segment that name what is wanted.
#[derive(Clone)]
pub(super) struct List<'s> {
    pub(super) part: &'s Part,
    pub(super) postings: &'s TopicPostings,
    pub(super) numbers: Cow<'s, RoaringBitmap>,
}

impl List<'_> {
    /// Whether a row's messages count: not those that a newer entry stands for.
    pub(super) fn counts(&self, row: u32) -> bool {
        !self.part.dead.replaced.contains(row)
    }

    /// The messages of a row, by ordinal, with their times.
    pub(super) fn frames(&self, row: u32) -> Vec<(LogTime, u32)> {
        let Some(of) = self.part.segment.row(row) else { return Vec::new() };
        let numbers = self.postings.of_row(row);
        let times = self.postings.times_of(row, of.first);
        self.numbers
            .range(numbers.clone())
            .filter_map(|number| {
                let ordinal = number - numbers.start;
                Some((*times.get(ordinal as usize)?, ordinal))
            })
            .collect()
    }

    /// The rows that may touch a range.
    pub(super) fn rows(&self, range: TimeRange) -> std::ops::Range<u32> {
        let index = &self.part.segment.index;
        let end = index.rows.partition_point(|row| row.first < range.end);
        let start = index.latest_so_far.partition_point(|latest| *latest < range.start);
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        number(start)..number(end)
    }

    pub(super) fn count(&self, range: TimeRange) -> u64 {
        if range == TimeRange::ALL {
            let replaced = self.part.dead.replaced.iter();
            let lost: u64 = replaced.map(|row| self.in_row(row)).sum();
            return self.numbers.len() - lost;
        }
        let rows = self.rows(range);
        let whole = |row: u32| {
            let of = self.part.segment.row(row);
            of.is_some_and(|of| range.contains(of.first) && range.contains(of.last))
        };
        rows.filter(|row| self.counts(*row))
            .map(|row| match whole(row) {
                true => self.in_row(row),
                false if self.in_row(row) == 0 => 0,
                false => {
                    let frames = self.frames(row);
                    frames.iter().filter(|(time, _)| range.contains(*time)).count() as u64
                }
            })
            .sum()
    }

    pub(super) fn in_row(&self, row: u32) -> u64 {
        self.numbers.range_cardinality(self.postings.of_row(row))
    }

    /// Adds what the messages in a range say of a label, whose list this is.
    pub(super) fn add_to(
        &self,
        summary: &mut Option<LabelSummary>,
        label: &Arc<str>,
        range: TimeRange,
    ) {
        let count = self.count(range);
        let Some(span) = self.span(range).filter(|_| count > 0) else { return };
        let known = summary.get_or_insert_with(|| LabelSummary {
            label: label.clone(),
            count: 0,
            span,
            topics: Vec::new(),
        });
        known.count += count;
        known.span = (known.span.0.min(span.0), known.span.1.max(span.1));
        if !known.topics.contains(&self.postings.topic) {
            known.topics.push(self.postings.topic.clone());
        }
    }

    /// The first and last time in a range.
    pub(super) fn span(&self, range: TimeRange) -> Option<(LogTime, LogTime)> {
        let index = &self.part.segment.index;
        let rows = self.rows(range);
        let in_range = |row: u32| {
            let frames = if self.counts(row) { self.frames(row) } else { Vec::new() };
            frames.into_iter().map(|(time, _)| time).filter(|time| range.contains(*time))
        };
        let mut last: Option<LogTime> = None;
        let mut before = rows.end;
        while let Some(row) = self.postings.row_before(&self.numbers, before) {
            if row < rows.start || last >= index.latest_so_far.get(row as usize).copied() {
                break;
            }
            last = last.max(in_range(row).max());
            before = row;
        }
        last?;
        let mut first: Option<LogTime> = None;
        let mut row = self.postings.row_from(&self.numbers, rows.start);
        while let Some(at) = row.filter(|row| *row < rows.end) {
            let starts = index.rows.get(at as usize).map(|row| row.first);
            if first.is_some() && first <= starts {
                break;
            }
            first = [first, in_range(at).min()].into_iter().flatten().min();
            row = self.postings.row_from(&self.numbers, at + 1);
        }
        first.zip(last)
    }
}
