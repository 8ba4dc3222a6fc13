//! Files cut off at any length, as after a loss of power, a kill, or in the middle of a copy.

use ros2_memory_bag::BagError;
use ros2_memory_testkit::{
    mcap_bytes::{Fixture, fixtures, records::MAGIC},
    prng::Prng,
};

use super::{
    failures::{Failures, Trials},
    rig::{Budget, Scratch, Seen, is_long, seed, truth, without},
};

/// So many versions of the fixtures give more than 200,000 lengths.
const LONG_SEEDS: u64 = 3;

#[test]
fn a_file_cut_anywhere_serves_every_chunk_that_is_whole_and_invents_nothing() {
    let seed = seed("cuts");
    let mut prng = Prng::new(seed);
    let (mut failures, mut trials, budget) = (Failures::default(), Trials::new(), Budget::new());
    let scratch = Scratch::new();
    let (mut n, mut n_required, mut n_served, mut n_files) = (0, 0, 0, 0);
    for version in 0..if is_long() { LONG_SEEDS } else { 1 } {
        let mut all = fixtures(seed + version);
        prng.shuffle(&mut all);
        for fixture in all {
            if budget.is_spent() {
                break;
            }
            n_files += 1;
            let whole = truth(&fixture.walked);
            scratch.write(&fixture.bytes);
            for len in (0..=fixture.bytes.len()).rev() {
                if !is_long() && len != fixture.bytes.len() && !prng.chance(10) {
                    continue;
                }
                scratch.cut(len);
                n += 1;
                let cut = Cut { fixture: &fixture, whole: &whole, len };
                let counts = cut.try_it(&scratch, &mut trials, &mut failures);
                n_required += counts.0;
                n_served += counts.1;
            }
        }
    }
    let slowest = trials.slowest;
    println!(
        "cuts: {n} lengths of {n_files} files, {n_served} messages served, {n_required} of them \
         required, slowest {slowest:?}"
    );
    failures.check();
    assert!(n >= if is_long() { 200_000 } else { 200 }, "{n} lengths");
    assert!(n_required > 0);
}

struct Cut<'a> {
    fixture: &'a Fixture,
    whole: &'a [Seen],
    len: usize,
}

impl Cut<'_> {
    /// How many messages had to be served, and how many were.
    fn try_it(
        &self,
        scratch: &Scratch,
        trials: &mut Trials,
        failures: &mut Failures,
    ) -> (usize, usize) {
        let (name, len) = (self.fixture.name, self.len);
        let example = || format!("seed {}, cut to {len} bytes", self.fixture.seed);
        let outcome = trials.run(failures, name, &example, || scratch.by_scan());
        let required = self.required();
        match outcome {
            None => (required.len(), 0),
            Some(Err(error)) => {
                let is_foreign = matches!(error, BagError::UnknownFormat { .. });
                if len >= MAGIC.len() || !is_foreign {
                    failures.note(name, "opens", format!("{}: {error}", example()));
                }
                (required.len(), 0)
            }
            Some(Ok((answer, bag))) => {
                if bag.contents().is_closed() != (len == self.fixture.bytes.len()) {
                    failures.note(name, "is closed only when whole", example());
                }
                if len == self.fixture.bytes.len() && answer.is_marked {
                    let damage = &bag.contents().damage;
                    failures.note(name, "whole: no mark", format!("{}: {damage:?}", example()));
                }
                self.judge("scan", &required, &answer, failures, &example);
                let served = answer.messages.len();
                let by_index = trials.run(failures, name, &example, || scratch.by_index());
                if let Some(Some((answer, _))) = by_index {
                    self.judge("index", &required, &answer, failures, &example);
                }
                (required.len(), served)
            }
        }
    }

    /// The messages whose chunk, or own record, lies wholly in front of the cut.
    fn required(&self) -> Vec<Seen> {
        let walked = &self.fixture.walked;
        let is_whole = |holder: usize| walked.holders[holder].record.end <= self.len;
        let placed = walked.messages.iter().filter(|placed| is_whole(placed.holder));
        let mut required: Vec<Seen> = placed.map(Seen::of).collect();
        required.sort();
        required
    }

    fn judge(
        &self,
        path: &str,
        required: &[Seen],
        answer: &super::rig::Answer,
        failures: &mut Failures,
        example: &dyn Fn() -> String,
    ) {
        let name = self.fixture.name;
        let lost = without(required, &answer.messages);
        if !lost.is_empty() {
            let n = lost.len();
            let what = format!("{}: {n} lost, of {}", example(), required.len());
            failures.note(name, &format!("{path}: whole chunks are served"), what);
        }
        let invented = without(&answer.messages, self.whole);
        if let Some(first) = invented.first() {
            let what = format!("{}: {first:?}", example());
            failures.note(name, &format!("{path}: nothing is invented"), what);
        }
        if let Some(disorder) = &answer.disorder {
            failures.note(name, &format!("{path}: {disorder}"), example());
        }
    }
}
