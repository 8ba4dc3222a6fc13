//! What the indexes prove, against brute force: over random histories of small bags, conditions and
//! distances are worked out a second time from all that was written.
//!
//! Bags overlap, come late, grow, are replaced and go; the memory is opened again over its catalog,
//! also with other fields configured. A bag with a match that was passed over is found out by the
//! number of matches.
//!
//! `ORACLE_SEED` sets the first seed and `ORACLE_SETS` how many follow; a disagreement names its
//! seed, so `ORACLE_SEED=<seed> ORACLE_SETS=1` repeats it alone.

#![cfg(test)]

#[path = "indexed_conditions/asker.rs"]
mod asker;
#[path = "indexed_conditions/checks.rs"]
mod checks;
#[expect(dead_code, reason = "memories are opened with configurations of their own here")]
mod common;
#[path = "indexed_conditions/configured.rs"]
mod configured;
#[path = "indexed_conditions/history.rs"]
mod history;
#[path = "indexed_conditions/said.rs"]
mod said;
#[path = "indexed_conditions/speaker.rs"]
mod speaker;
#[path = "indexed_conditions/truth.rs"]
mod truth;
#[path = "indexed_conditions/words.rs"]
mod words;

use std::{collections::BTreeMap, time::Duration};

use ros2_memory_query::{IndexUse, Memory};
use ros2_memory_testkit::prng::Prng;

use self::{
    asker::{Asker, Question},
    checks::{Checked, State},
    common::call,
    configured::{Configured, Types},
    history::History,
};

/// A history is given up after so many disagreements; the first says enough.
const MAX_DISAGREEMENTS: usize = 5;

/// What was asked of one kind, and what came of it.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    asked: usize,
    hits: usize,
    misses: usize,
    unsure: usize,
    /// Questions for which an index ruled bags out, or gave sums.
    by_index: usize,
    passed_over: u64,
}

#[derive(Debug, Default)]
struct Tally {
    histories: usize,
    messages: usize,
    kinds: BTreeMap<&'static str, Counts>,
    indexes: BTreeMap<&'static str, Counts>,
    moments: BTreeMap<&'static str, Counts>,
    disagreements: Vec<String>,
}

impl Counts {
    fn count(&mut self, checked: Checked, by_index: bool, passed_over: u64) {
        self.asked += 1;
        match checked {
            Checked::Hit => self.hits += 1,
            Checked::Miss => self.misses += 1,
            Checked::Unsure => self.unsure += 1,
        }
        self.by_index += usize::from(by_index);
        self.passed_over += passed_over;
    }

    fn add(&mut self, other: Self) {
        self.asked += other.asked;
        self.hits += other.hits;
        self.misses += other.misses;
        self.unsure += other.unsure;
        self.by_index += other.by_index;
        self.passed_over += other.passed_over;
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.messages += other.messages;
        self.disagreements.extend(other.disagreements);
        let Self { kinds, indexes, moments, .. } = self;
        for (into, from) in
            [(kinds, other.kinds), (indexes, other.indexes), (moments, other.moments)]
        {
            for (name, counts) in from {
                into.entry(name).or_default().add(counts);
            }
        }
    }

    fn print(&self) {
        println!("{} histories, {} messages", self.histories, self.messages);
        for (title, counts) in
            [("kind", &self.kinds), ("index", &self.indexes), ("moment", &self.moments)]
        {
            for (name, of) in counts {
                println!(
                    "{title} {name}: {} asked, {} hits, {} misses, {} unsure; {} by an index, \
                     {} bags passed over",
                    of.asked, of.hits, of.misses, of.unsure, of.by_index, of.passed_over
                );
            }
        }
    }
}

#[test]
fn no_bag_with_a_match_is_passed_over_and_sums_are_those_of_the_poses() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("ORACLE_SEED").unwrap_or(20_260_201);
    let sets = number("ORACLE_SETS").unwrap_or(300);
    println!("seeds {first} to {}", first + sets - 1);

    let work = |worker: u64| {
        let mut tally = Tally::default();
        for seed in (first..first + sets).filter(|seed| seed % 2 == worker) {
            live_through(seed, &mut tally);
            if tally.disagreements.len() >= MAX_DISAGREEMENTS {
                break;
            }
        }
        tally
    };
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = [0, 1]
            .into_iter()
            .map(|worker| {
                let name = format!("histories-{worker}");
                std::thread::Builder::new().name(name).spawn_scoped(scope, move || work(worker))
            })
            .collect();
        for worker in workers {
            all.add(worker.unwrap().join().unwrap());
        }
    });
    all.print();
    assert!(all.disagreements.is_empty(), "{}", all.disagreements.join("\n\n"));
    if all.histories < 100 {
        return;
    }
    for kind in ["contains", "equals", "above", "below", "near_position", "distance"] {
        let of = all.kinds.get(kind).copied().unwrap_or_default();
        assert!(of.hits > of.asked / 20 && of.misses > 0, "{kind} is asked poorly: {of:?}");
        assert!(of.unsure < of.asked / 5, "{kind} is asked at the limits of rounding: {of:?}");
    }
    for index in ["labels", "words", "numbers", "places", "drives"] {
        let of = all.indexes.get(index).copied().unwrap_or_default();
        assert!(of.hits > 20, "{index} narrowed no answer down: {of:?}");
        let is_sum = index == "drives";
        assert!(is_sum || of.passed_over > 100, "{index} ruled nothing out: {of:?}");
        assert!(is_sum || of.misses > 20, "{index} was not asked for what is absent: {of:?}");
    }
    for moment in ["fresh", "changed", "reopened", "reopened, looked through", "reconfigured"] {
        let of = all.moments.get(moment).copied().unwrap_or_default();
        assert!(of.by_index > 0 && of.hits > 0 && of.misses > 0, "{moment}: {of:?}");
    }
}

/// One history from its beginning, asked about at each turn.
fn live_through(seed: u64, tally: &mut Tally) {
    tally.histories += 1;
    let mut prng = Prng::new(seed ^ 0x1DE3_0000_0000_0000);
    let dir = tempfile::Builder::new().prefix(&format!("indexed-{seed}-")).tempdir().unwrap();
    let dir = dir.path();
    let mut history = History::begin(seed, dir);
    tally.messages += history.bags.iter().map(|bag| bag.messages.len()).sum::<usize>();
    let mut configured = random_configuration(&mut prng);

    let memory = configured.open(dir, true);
    let mut turn = Turn { seed, dir: dir.display().to_string(), number: 0, tally };
    turn.ask("fresh", &memory, configured, &history);

    history.go_on(dir);
    memory.catalog().refresh(Duration::from_secs(30)).expect("the folder is looked through");
    turn.ask("changed", &memory, configured, &history);
    drop(memory);

    // What the catalog remembers answers at once, and again once the folder was looked through.
    let memory = configured.open(dir, false);
    if history.is_written_down() {
        turn.ask("reopened", &memory, configured, &history);
    }
    assert!(memory.wait_until_indexed(Duration::from_secs(60)));
    turn.ask("reopened, looked through", &memory, configured, &history);
    drop(memory);

    // What was indexed before says nothing about other fields, or about other rules of distance.
    configured = random_configuration(&mut prng);
    let memory = configured.open(dir, false);
    if history.is_written_down() {
        turn.ask("reconfigured", &memory, configured, &history);
    }
    assert!(memory.wait_until_indexed(Duration::from_secs(60)));
    history.go_on(dir);
    memory.catalog().refresh(Duration::from_secs(30)).expect("the folder is looked through");
    turn.ask("reconfigured, changed", &memory, configured, &history);
}

fn random_configuration(prng: &mut Prng) -> Configured {
    let types = if prng.chance(50) { Types::Shipped } else { *prng.pick(&Types::ALL) };
    Configured {
        types,
        jitter_m: *prng.pick(&[0.0, 0.0, 0.03125, 0.05]),
        max_speed_mps: *prng.pick(&[20.0, 20.0, 1.5]),
    }
}

/// Asks about one history.
struct Turn<'t> {
    seed: u64,
    dir: String,
    number: u64,
    tally: &'t mut Tally,
}

impl Turn<'_> {
    fn ask(
        &mut self,
        moment: &'static str,
        memory: &Memory,
        configured: Configured,
        history: &History,
    ) {
        self.number += 1;
        let known = history.known();
        let run_ends = history.run_ends();
        let n_bags = history.present().count();
        let may_be_indexing = matches!(moment, "reopened" | "reconfigured");
        let run_ends = &run_ends;
        let state = State { configured, known: &known, run_ends, n_bags, may_be_indexing };
        let seed = self.seed * 16 + self.number;
        for question in Asker::new(seed, &known, configured.types).questions() {
            let (tool, arguments) = question.call();
            let reply = call(memory, tool, &arguments);
            match state.check(&question, &reply) {
                Ok(checked) => {
                    let kind = match &question {
                        Question::Last(asked)
                        | Question::Count(asked)
                        | Question::When { asked, .. } => asked.condition.kind(),
                        Question::Drive { .. } => "distance",
                    };
                    let index = index_of(reply.stats.index, &question);
                    let passed_over = reply.stats.bags_passed_over;
                    let is_by_index = reply.stats.index != IndexUse::None;
                    let Tally { kinds, indexes, moments, .. } = &mut *self.tally;
                    for (counts, name) in [(kinds, kind), (indexes, index), (moments, moment)] {
                        let of = counts.entry(name).or_default();
                        of.count(checked, is_by_index, passed_over);
                    }
                }
                Err(expected) if self.tally.disagreements.len() < MAX_DISAGREEMENTS => {
                    let (seed, dir, answered) = (self.seed, &self.dir, &reply.value);
                    let cost = reply.stats;
                    self.tally.disagreements.push(format!(
                        "seed {seed}, {moment}, {configured:?}, {n_bags} bags in {dir}:\n  {tool} \
                         {arguments}\n  expected: {expected}\n  answered: {answered}\n  {cost:?}"
                    ));
                }
                Err(_) => {}
            }
        }
    }
}

/// The index that narrowed an answer down; labels and words are told apart by what was searched.
fn index_of(index: IndexUse, question: &Question) -> &'static str {
    match (index, question) {
        (IndexUse::None, _) => "none",
        (IndexUse::Text, Question::Last(asked) | Question::Count(asked)) => match asked.topic {
            "/seen" | "/text/scene_objects" => "labels",
            _ => "words",
        },
        (IndexUse::Text, _) => "text",
        (IndexUse::Numbers, _) => "numbers",
        (IndexUse::Places, _) => "places",
        (IndexUse::Drives, _) => "drives",
    }
}
