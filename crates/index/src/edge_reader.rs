//! Edges out of messages, without looking up the same frames again and again.

use std::{borrow::Cow, sync::Arc};

use ros2_memory_msg::{ByteOrder, Layout, NumberPlace, Plan, Primitive, Value, may_learn};
use ros2_memory_time::LogTime;

use crate::{TransformPlan, sample_time, transforms::whole};

/// So many different messages are remembered: a channel has a few publishers, each of which most
/// often sends the same frames again.
const MAX_KNOWN: usize = 8;

/// Reads the edges out of the messages of one channel.
#[derive(Debug)]
pub(crate) struct EdgeReader {
    plan: Arc<Plan>,
    known: Vec<Known>,
    /// Which of them came last.
    last: usize,
    /// Which of them is given up next.
    oldest: usize,
    n_hits: u64,
    n_learned: u64,
}

/// A message that was read: one with the same frames has its stamps in the same places.
#[derive(Debug)]
struct Known {
    layout: Layout,
    /// Where the seconds and the nanoseconds of each transform stand.
    stamps: Vec<(usize, usize)>,
    /// Whether the seconds are signed.
    is_signed: bool,
    /// What the caller made of each edge; `None` in a bag that had none of these yet.
    places: Option<Vec<usize>>,
}

impl EdgeReader {
    /// A reader that remembers nothing yet; `plan` reads edges.
    pub(crate) fn new(plan: &TransformPlan) -> Self {
        let plan = plan.0.clone();
        Self { plan, known: Vec::new(), last: 0, oldest: 0, n_hits: 0, n_learned: 0 }
    }

    /// Forgets what the caller made of edges: the next message is one of another bag.
    pub(crate) fn forget_places(&mut self) {
        self.known.iter_mut().for_each(|known| known.places = None);
    }

    /// Hands each edge of a message to `look_up`, which gives its place, and the place with the
    /// time to `add`. Edges of a message that is remembered are not looked up again.
    #[inline]
    pub(crate) fn read<S>(
        &mut self,
        state: &mut S,
        log_time: LogTime,
        payload: &[u8],
        look_up: impl Fn(&mut S, &str, &str) -> usize,
        add: impl Fn(&mut S, usize, LogTime),
    ) {
        let found = self.find(payload);
        if let Some(known) = found.and_then(|at| self.known.get(at))
            && let Some(places) = &known.places
        {
            self.n_hits += 1;
            for (place, stamp) in places.iter().zip(&known.stamps) {
                let stamp = known.stamp(payload, *stamp);
                add(state, *place, sample_time(LogTime::from_ns(stamp), log_time));
            }
            return;
        }
        let (places, is_whole) = self.read_all(state, log_time, payload, look_up, add);
        if !is_whole {
            return;
        }
        match found.and_then(|at| self.known.get_mut(at)) {
            Some(known) => known.places = Some(places),
            None => self.learn(payload, places),
        }
    }

    /// The message that is remembered with the same frames.
    #[inline]
    fn find(&mut self, payload: &[u8]) -> Option<usize> {
        let fits = |known: &Known| known.layout.has_same_texts(payload);
        if self.known.get(self.last).is_some_and(fits) {
            return Some(self.last);
        }
        let found = self.known.iter().position(fits);
        self.last = found.unwrap_or(self.last);
        found
    }

    /// Reads a message as any other; returns the places of its edges, and whether it could be read
    /// to its end and each transform had an edge.
    fn read_all<S>(
        &self,
        state: &mut S,
        log_time: LogTime,
        payload: &[u8],
        look_up: impl Fn(&mut S, &str, &str) -> usize,
        add: impl Fn(&mut S, usize, LogTime),
    ) -> (Vec<usize>, bool) {
        let (mut sec, mut nanosec, mut n_fields) = (0u64, 0u64, 0);
        let (mut parent, mut places, mut n_begun) = (Cow::Borrowed(""), Vec::new(), 0);
        // What came before a fault counts.
        let outcome = self.plan.run(payload, |field, value| {
            // A field that a message does without is not visited: that transform is none.
            n_fields = if field == 0 { 1 } else { n_fields + 1 };
            n_begun += usize::from(field == 0);
            match (field, value) {
                (0, value) => sec = whole(&value),
                (1, value) => nanosec = whole(&value),
                (2, Value::String(text)) => parent = text,
                (3, Value::String(child)) if n_fields == 4 => {
                    let stamp_ns = sec.saturating_mul(1_000_000_000).saturating_add(nanosec);
                    let place = look_up(state, &parent, &child);
                    add(state, place, sample_time(LogTime::from_ns(stamp_ns), log_time));
                    places.push(place);
                }
                _ => {}
            }
        });
        let is_whole = outcome.is_ok() && places.len() == n_begun;
        (places, is_whole)
    }

    #[cold]
    fn learn(&mut self, payload: &[u8], places: Vec<usize>) {
        if !may_learn(self.n_learned, self.n_hits) {
            return;
        }
        self.n_learned += 1;
        let known = self.plan.layout(payload).and_then(|layout| Known::of(layout, places));
        let Some(known) = known else { return };
        match self.known.get_mut(self.oldest) {
            Some(slot) => *slot = known,
            None => self.known.push(known),
        }
        self.oldest = (self.oldest + 1) % MAX_KNOWN;
    }
}

impl Known {
    /// `None` when the stamps are none that stand in the bytes as the processor has them.
    fn of(layout: Layout, places: Vec<usize>) -> Option<Self> {
        let numbers: Vec<NumberPlace> = layout.numbers().collect();
        let is_plain = |place: &NumberPlace| {
            place.order == ByteOrder::Little
                && matches!(place.kind, Primitive::I32 | Primitive::U32)
        };
        let (pairs, rest) = numbers.as_chunks::<2>();
        let is_stamp = |[sec, nanosec]: &[NumberPlace; 2]| {
            (sec.path, nanosec.path) == (0, 1) && nanosec.kind == Primitive::U32
        };
        if !numbers.iter().all(is_plain)
            || !rest.is_empty()
            || !pairs.iter().all(is_stamp)
            || pairs.len() != places.len()
        {
            return None;
        }
        let is_signed = numbers.first().is_some_and(|sec| sec.kind == Primitive::I32);
        let stamps = pairs.iter().map(|[sec, nanosec]| (sec.offset, nanosec.offset)).collect();
        Some(Self { layout, stamps, is_signed, places: Some(places) })
    }

    /// The stamp that stands at two places, in nanoseconds.
    #[inline]
    fn stamp(&self, payload: &[u8], (sec_at, nanosec_at): (usize, usize)) -> u64 {
        let number = |at: usize| {
            let bytes = payload.get(at..).and_then(|rest| rest.first_chunk());
            u32::from_le_bytes(bytes.copied().unwrap_or_default())
        };
        let sec = number(sec_at);
        // A negative one counts as 0, which no clock shows either.
        let sec = if self.is_signed && sec > i32::MAX.cast_unsigned() { 0 } else { sec };
        u64::from(sec) * 1_000_000_000 + u64::from(number(nanosec_at))
    }
}

#[cfg(test)]
mod tests {
    use ros2_memory_msg::{FieldPath, Library, Scalar, Schema};

    use super::*;

    const TEXT: &str = "TF[] transforms\n===\nMSG: p/TF\nH header\nstring child_frame_id\n\
                        float64 x\n===\nMSG: p/H\nint32 sec\nuint32 nanosec\nstring frame_id";

    fn reader() -> EdgeReader {
        let schema = Schema::parse("p/msg/T", TEXT, &Library::new()).unwrap();
        let paths: Vec<FieldPath> = ["header.sec", "header.nanosec", "header.frame_id"]
            .into_iter()
            .chain(["child_frame_id"])
            .map(|path| format!("transforms[].{path}").parse().unwrap())
            .collect();
        let plan = Arc::new(Plan::compile(Arc::new(schema), &paths).unwrap());
        EdgeReader { plan, known: Vec::new(), last: 0, oldest: 0, n_hits: 0, n_learned: 0 }
    }

    fn message(edges: &[(&str, &str)], sec: i32) -> Vec<u8> {
        use ros2_memory_cdr::{Encoding, Writer};
        let mut writer = Writer::new(Encoding::XCDR1_LE);
        writer.sequence_len(edges.len());
        for (nanosec, (parent, child)) in (0u64..).zip(edges) {
            writer.scalar(Scalar::I64(sec.into()), Primitive::I32);
            writer.scalar(Scalar::U64(nanosec), Primitive::U32);
            writer.string(parent);
            writer.string(child);
            writer.scalar(Scalar::F64(f64::from(sec)), Primitive::F64);
        }
        writer.into_payload()
    }

    /// The edges by name, with the time of each, as the reader finds them.
    #[derive(Default)]
    struct Found {
        names: Vec<(String, String)>,
        added: Vec<(String, String, u64)>,
    }

    fn read(reader: &mut EdgeReader, found: &mut Found, payload: &[u8], sec: u64) {
        reader.read(
            found,
            LogTime::from_ns(sec * 1_000_000_000),
            payload,
            |found, parent, child| {
                let name = (parent.to_owned(), child.to_owned());
                found.names.iter().position(|known| *known == name).unwrap_or_else(|| {
                    found.names.push(name);
                    found.names.len() - 1
                })
            },
            |found, place, time| {
                let (parent, child) = found.names[place].clone();
                found.added.push((parent, child, time.as_ns()));
            },
        );
    }

    #[test]
    fn publishers_that_take_turns_keep_their_own_edges() {
        // Some of the same lengths as others, and more than are remembered.
        let publishers: Vec<Vec<(String, String)>> = (0..11)
            .map(|n| {
                (0..=n % 3)
                    .map(|k| (format!("f{n}"), format!("c{}{}", n % 10, "x".repeat(k + n / 5))))
                    .collect()
            })
            .collect();
        let mut reader = reader();
        for bag in 0..3 {
            reader.forget_places();
            let mut found = Found::default();
            let mut wanted = Vec::new();
            for round in 0..400usize {
                // Now one after the other, now one for a while, now as it comes.
                let turn = match round / 100 {
                    0 => round % 11,
                    1 => round / 20 % 11,
                    2 => (round * round + bag) % 11,
                    _ => round % 3,
                };
                let edges: Vec<(&str, &str)> =
                    publishers[turn].iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
                let sec = 1000 + round;
                let payload = message(&edges, i32::try_from(sec).unwrap());
                read(&mut reader, &mut found, &payload, sec as u64);
                for (nanosec, (parent, child)) in (0u64..).zip(edges) {
                    let time = sec as u64 * 1_000_000_000 + nanosec;
                    wanted.push((parent.to_owned(), child.to_owned(), time));
                }
            }
            assert!(found.added == wanted, "in bag {bag}");
        }
        assert!(reader.n_hits > 600, "{}", reader.n_hits);
    }

    #[test]
    fn a_negative_second_counts_as_none_whether_remembered_or_not() {
        let (mut reader, mut found) = (reader(), Found::default());
        for sec in [5, -5, 5, -5] {
            read(&mut reader, &mut found, &message(&[("a", "b")], sec), 0);
        }
        let times: Vec<u64> = found.added.iter().map(|(.., time)| *time).collect();
        assert_eq!(times, [5_000_000_000, 0, 5_000_000_000, 0]);
    }
}
