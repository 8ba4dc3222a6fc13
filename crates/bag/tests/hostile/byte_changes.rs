//! Files with one byte changed, anywhere.

use std::{ops::Range, sync::Arc};

use ros2_memory_bag::Contents;
use ros2_memory_testkit::{
    mcap_bytes::{Fixture, Holder, Span, fixtures, records::MAGIC, records::op},
    prng::Prng,
};

use super::{
    failures::{Failures, Trials},
    rig::{Answer, Budget, Scratch, Seen, is_long, seed, truth, without},
};

/// So many versions of the fixtures give more than 800,000 changes.
const LONG_SEEDS: u64 = 4;

/// Changes a byte in one of four ways.
fn changed(byte: u8, way: usize) -> u8 {
    [0x00, 0xFF, byte ^ 0x01, byte ^ 0x80][way]
}

#[test]
fn a_changed_byte_costs_its_own_chunk_and_is_never_served_past_a_checksum() {
    let seed = seed("changes");
    let versions = if is_long() { LONG_SEEDS } else { 1 };
    let (mut failures, mut trials) = (Failures::default(), Trials::new());
    let mut counts = Counts::default();
    for version in 0..versions {
        let all = fixtures(seed + version);
        let subjects: Vec<Subject<'_>> = all.iter().map(Subject::new).collect();
        let mut each = |number: usize, at: usize, way: usize| {
            let subject: &Subject<'_> = &subjects[number];
            let byte = changed(subject.fixture.bytes[at], way);
            if byte != subject.fixture.bytes[at] {
                subject.try_it(at, byte, &mut trials, &mut failures, &mut counts);
            }
        };
        if is_long() {
            for (number, fixture) in all.iter().enumerate() {
                (0..fixture.bytes.len())
                    .for_each(|at| (0..4).for_each(|way| each(number, at, way)));
            }
        } else {
            let (mut prng, budget) = (Prng::new(seed), Budget::new());
            let tenth = all.iter().map(|fixture| fixture.bytes.len() * 4 / 10).sum();
            for _ in 0..tenth {
                if budget.is_spent() {
                    break;
                }
                let number = prng.index(all.len());
                each(number, prng.index(all[number].bytes.len()), prng.index(4));
            }
        }
    }
    println!("changes: {counts:?}, slowest {:?}", trials.slowest);
    failures.check();
    let n = counts.changes;
    assert!(n >= if is_long() { 800_000 } else { 200 }, "{n} changes");
}

#[derive(Debug, Default)]
struct Counts {
    changes: u64,
    /// No recording any more: a byte of the first magic.
    refused: u64,
    /// The answer of the whole pass says that something is wrong.
    marked: u64,
    /// The answer of the whole pass lacks messages: those of the chunk that was hit.
    lacking: u64,
    /// Read by the file's own index.
    by_index: u64,
    by_index_marked: u64,
}

/// A fixture in its file, and what is known of it.
struct Subject<'a> {
    fixture: &'a Fixture,
    whole: Vec<Seen>,
    scratch: Scratch,
    /// From before anything changed.
    contents: Arc<Contents>,
    /// Whether some messages have no checksum but that of the data, if there is one.
    has_unchecked: bool,
}

/// One change, and what it may cost.
struct Change {
    at: usize,
    /// What a record of a wrong length takes in when it ends where another record does: the format
    /// allows bytes behind the known fields, so nothing shows where it was to end. Only an index
    /// of chunks tells of a chunk in there.
    swallowed: Range<usize>,
    /// The chunk or message that it lies in.
    holder: Option<usize>,
    /// Whether it may change what a channel is: it lies in a declaration that no chunk's checksum
    /// covers.
    in_declaration: bool,
    /// Whether the data's checksum covers it.
    in_checked_data: bool,
}

impl<'a> Subject<'a> {
    fn new(fixture: &'a Fixture) -> Self {
        let scratch = Scratch::new();
        scratch.write(&fixture.bytes);
        let contents = scratch.scanned().unwrap().contents().clone();
        let walked = &fixture.walked;
        let has_unchecked = walked.messages.iter().any(|m| !walked.holders[m.holder].has_crc);
        Self { fixture, whole: truth(walked), scratch, contents, has_unchecked }
    }

    fn change(&self, at: usize, byte: u8) -> Change {
        let walked = &self.fixture.walked;
        let holder = walked.holders.iter().position(|holder| holder.record.contains(&at));
        let unchecked = |of: Option<usize>| of.is_none_or(|of| !walked.holders[of].has_crc);
        let in_declaration = walked
            .declarations
            .iter()
            .any(|declared| declared.record.contains(&at) && unchecked(declared.holder));
        let in_checked_data = walked.has_data_crc && at < walked.data_end;
        let swallowed = self.swallowed(at, byte);
        Change { at, swallowed, holder, in_declaration, in_checked_data }
    }

    fn swallowed(&self, at: usize, byte: u8) -> Range<usize> {
        let spans = &self.fixture.walked.spans;
        let is_length = |span: &&Span| (span.start + 1..span.start + 9).contains(&at);
        let Some(Span { start, end, .. }) = spans.iter().find(is_length).copied() else {
            return 0..0;
        };
        let mut length: [u8; 8] = self.fixture.bytes[start + 1..start + 9].try_into().unwrap();
        length[at - start - 1] = byte;
        let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
        let new_end = length.saturating_add(start + 9);
        let is_boundary = new_end > end && spans.iter().any(|span| span.end == new_end);
        if is_boundary { start..new_end } else { 0..0 }
    }

    fn try_it(
        &self,
        at: usize,
        byte: u8,
        trials: &mut Trials,
        failures: &mut Failures,
        counts: &mut Counts,
    ) {
        let (fixture, scratch) = (self.fixture, &self.scratch);
        let (name, old) = (fixture.name, fixture.bytes[at]);
        let change = self.change(at, byte);
        let example = || {
            let place = self.place(at);
            format!("seed {}, byte {at} {old:#04x} -> {byte:#04x} ({place})", fixture.seed)
        };
        scratch.change(at, byte);
        counts.changes += 1;
        match trials.run(failures, name, &example, || scratch.by_scan()) {
            Some(Ok((answer, _))) => {
                counts.marked += u64::from(answer.is_marked);
                counts.lacking += u64::from(answer.messages.len() < self.whole.len());
                self.judge("scan", &change, &answer, failures, &example);
            }
            Some(Err(error)) if at >= MAGIC.len() => {
                failures.note(name, "opens", format!("{}: {error}", example()));
            }
            Some(Err(_)) => counts.refused += 1,
            None => {}
        }
        let by_index = trials.run(failures, name, &example, || scratch.by_index());
        if let Some(Some((answer, _))) = by_index {
            counts.by_index += 1;
            counts.by_index_marked += u64::from(answer.is_marked);
            self.judge("index", &change, &answer, failures, &example);
        }
        let remembered =
            trials.run(failures, name, &example, || scratch.remembered(&self.contents));
        if let Some(answer) = remembered {
            self.judge("remembered", &change, &answer, failures, &example);
        }
        scratch.change(at, old);
    }

    /// What stands at a byte, for the message of a failure.
    fn place(&self, at: usize) -> String {
        let walked = &self.fixture.walked;
        let Some(span) = walked.spans.iter().find(|span| (span.start..span.end).contains(&at))
        else {
            return "magic".to_owned();
        };
        let part = match at - span.start {
            0 => "opcode",
            1..=8 => "length",
            _ => "content",
        };
        format!("{part} of record {:#04x}, +{}", span.opcode, at - span.start)
    }

    fn judge(
        &self,
        path: &str,
        change: &Change,
        answer: &Answer,
        failures: &mut Failures,
        example: &dyn Fn() -> String,
    ) {
        let (name, walked) = (self.fixture.name, &self.fixture.walked);
        let mut note = |promise: &str, what: String| {
            let said = &answer.damage[..answer.damage.len().min(2)];
            let what = format!("{}: {what}, said: {said:?}", example());
            failures.note(name, &format!("{path}: {promise}"), what);
        };
        let holder = change.holder.map(|number| &walked.holders[number]);
        let is_checked = holder.is_some_and(|holder| holder.has_crc);
        let is_remembered = path == "remembered";
        if change.in_checked_data && self.has_unchecked && path == "scan" && !answer.is_marked {
            note("a file whose data's crc is wrong is marked", "no mark".to_owned());
        }
        if let Some(disorder) = &answer.disorder
            && (!is_remembered || is_checked || holder.is_none())
        {
            note(disorder, String::new());
        }
        if answer.messages == self.whole {
            return;
        }

        // With contents from before, declarations in the file are not looked at again.
        let by_topic = is_remembered || !change.in_declaration;
        let form = |mut all: Vec<Seen>| -> Vec<Seen> {
            if !by_topic {
                all = all.into_iter().map(Seen::without_topic).collect();
            }
            all.sort();
            all
        };
        let untouched = walked.messages.iter().filter(|m| {
            !self.is_touched(m.holder, change, is_remembered)
                && (is_remembered || self.is_still_declared(m.message.channel, m.holder, change.at))
        });
        let untouched = form(untouched.map(Seen::of).collect());
        let served = form(answer.messages.clone());
        let lost = without(&untouched, &served);
        // An index that is wrong about a chunk costs it, with a mark; a pass then finds it. So
        // does a checksum over all the data that is wrong, where contents from before are held
        // against it and no other shows which part is meant.
        let is_known = match path {
            "index" => true,
            "remembered" => self.has_unchecked,
            _ => false,
        };
        let may_lose = change.at < MAGIC.len() || is_known && answer.is_marked;
        if !lost.is_empty() && !may_lose {
            let what = format!("{} lost, of {}", lost.len(), untouched.len());
            note(promise_of_untouched(holder, self.is_framing(change.at)), what);
        }

        let strange = without(&served, &form(self.whole.clone()));
        if let Some(first) = strange.first() {
            let is_stored = holder.is_some_and(|holder| holder.stored.contains(&change.at));
            if is_checked && is_stored {
                note("what a chunk's crc covers is not served changed", format!("{first:?}"));
            } else if holder.is_none() && !change.in_declaration {
                note("nothing is invented", format!("{first:?}"));
            } else if is_checked {
                note("a chunk with a crc gives only what was recorded", format!("{first:?}"));
            } else if change.in_checked_data && !answer.is_marked {
                note("what the data's crc covers is marked when changed", format!("{first:?}"));
            }
        }
        if served.len() > self.whole.len() && (strange.is_empty() || is_checked) {
            note("nothing is served twice", format!("{} served", served.len()));
        }
        if served.len() < self.whole.len() && !answer.is_marked && self.is_counted() {
            let what = format!("{} of {}", served.len(), self.whole.len());
            note("fewer messages than the file counts are marked", what);
        }
    }

    /// Whether the change may cost the messages of a holder. With contents from before, loose
    /// messages are remembered in runs, each of which is what a chunk is elsewhere.
    fn is_touched(&self, holder: usize, change: &Change, is_remembered: bool) -> bool {
        let walked = &self.fixture.walked;
        let record = &walked.holders[holder].record;
        let in_run = |at: usize| {
            let at = at as u64;
            let chunks = &self.contents.chunks;
            chunks.iter().position(|c| (c.offset..c.offset + c.stored_len).contains(&at))
        };
        let is_loose = !walked.holders[holder].is_chunk;
        Some(holder) == change.holder
            || change.swallowed.contains(&record.start) && (is_loose || !walked.has_chunk_index)
            || is_remembered
                && is_loose
                && in_run(change.at).is_some_and(|run| in_run(record.start) == Some(run))
    }

    /// Whether some place still declares the channel for the messages of a holder: one in front of
    /// them, one in their own chunk, or the summary.
    fn is_still_declared(&self, channel: u16, holder: usize, changed: usize) -> bool {
        let walked = &self.fixture.walked;
        let at = walked.holders[holder].record.start;
        walked.declarations.iter().any(|declared| {
            declared.opcode == op::CHANNEL
                && declared.id == channel
                && !declared.record.contains(&changed)
                && (declared.record.start <= at || declared.in_summary)
        })
    }

    /// Whether the byte is part of a record's opcode or length.
    fn is_framing(&self, at: usize) -> bool {
        let spans = &self.fixture.walked.spans;
        spans.iter().any(|span| (span.start..span.start + 9).contains(&at))
    }

    /// Whether the file itself says how many messages it has.
    fn is_counted(&self) -> bool {
        let walked = &self.fixture.walked;
        walked.has_statistics
            || walked.holders.iter().all(|holder| holder.is_chunk) && walked.has_chunk_index
    }
}

/// The promise that is broken when messages are lost that the change did not touch.
fn promise_of_untouched(touched: Option<&Holder>, is_framing: bool) -> &'static str {
    match touched {
        Some(holder) if !holder.is_chunk && is_framing => {
            "a loose message of a wrong opcode or length costs itself alone"
        }
        Some(_) => "a chunk or message costs itself alone",
        None if is_framing => "a record of a wrong opcode or length costs no message",
        None => "what is no message costs no message",
    }
}
