//! The tools against brute force: random directories of overlapping bags, every answer worked out
//! a second time over plain vectors.
//!
//! `ORACLE_SEED` sets the first seed and `ORACLE_SETS` how many follow; a disagreement names its
//! seed, so `ORACLE_SEED=<seed> ORACLE_SETS=1` repeats it alone.

#![cfg(test)]

#[path = "oracle/asker.rs"]
mod asker;
#[path = "oracle/checks.rs"]
mod checks;
mod common;
#[path = "oracle/question.rs"]
mod question;

use std::{collections::BTreeMap, fs, io};

use ros2_memory_query::Memory;
use ros2_memory_testkit::{
    odd_files::{OddFile, OddPlace, write_odd_files},
    oracle::Oracle,
    random_sets::RandomSet,
};
use serde_json::{Value, json};

use self::{
    asker::Asker,
    checks::samples_of,
    common::{call, memory_over},
};

#[derive(Debug, Default)]
struct Tally {
    sets: usize,
    messages: usize,
    questions: BTreeMap<&'static str, usize>,
    /// Replies that found nothing; too many would mean poor questions.
    nothing: usize,
    disagreements: Vec<String>,
}

#[test]
fn a_thousand_random_sets_are_answered_as_brute_force_answers() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("ORACLE_SEED").unwrap_or(20_260_101);
    let sets = number("ORACLE_SETS").unwrap_or(1_000);
    println!("seeds {first} to {}", first + sets - 1);

    let work = |worker: u64| {
        let mut tally = Tally::default();
        for seed in (first..first + sets).filter(|seed| seed % 2 == worker) {
            ask_about_set(seed, &mut tally).unwrap();
            if tally.disagreements.len() >= 5 {
                break;
            }
        }
        tally
    };
    let tallies = std::thread::scope(|scope| {
        let workers: Vec<_> = [0, 1]
            .into_iter()
            .map(|worker| {
                let name = format!("oracle-{worker}");
                std::thread::Builder::new().name(name).spawn_scoped(scope, move || work(worker))
            })
            .collect();
        workers.into_iter().map(|worker| worker.unwrap().join().unwrap()).collect::<Vec<_>>()
    });

    let mut all = Tally::default();
    for tally in tallies {
        all.sets += tally.sets;
        all.messages += tally.messages;
        all.nothing += tally.nothing;
        all.disagreements.extend(tally.disagreements);
        for (tool, asked) in tally.questions {
            *all.questions.entry(tool).or_default() += asked;
        }
    }
    let questions: usize = all.questions.values().sum();
    println!("{} sets, {} messages, {questions} questions", all.sets, all.messages);
    println!("by tool: {:?}; {} found nothing", all.questions, all.nothing);
    assert!(all.disagreements.is_empty(), "{}", all.disagreements.join("\n\n"));
    assert!(all.sets < 100 || all.questions.len() == 6, "a tool was never asked");
    assert!(all.sets < 100 || all.nothing < questions / 2, "most questions found nothing");
}

#[test]
fn odd_entries_are_passed_over_and_change_no_other_answer() {
    let mut tally = Tally::default();
    for seed in 9_000..9_010 {
        let set = RandomSet::new(seed);
        let oracle = Oracle::new(&set);
        let Some((first_ns, last_ns)) = oracle.range() else { continue };
        let both = tempfile::tempdir().unwrap();
        let (dir, outside) = (both.path().join("bags"), both.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        fs::create_dir(&dir).unwrap();
        set.write_into(&dir).unwrap();
        let place = OddPlace { dir: &dir, outside: &outside, first_ns, last_ns };
        let odd = write_odd_files(&place).unwrap();

        let memory = memory_over(&dir);
        ask_all(&memory, &set, &oracle, &mut tally);
        for odd in odd.iter().filter(|odd| !odd.topic.is_empty()) {
            if let Err(problem) = check_odd(&memory, odd, first_ns, last_ns) {
                let path = odd.path.display();
                tally.disagreements.push(format!("{path}, {}: {problem}", odd.what));
            }
        }
    }
    println!("{} questions beside odd entries", tally.questions.values().sum::<usize>());
    assert!(tally.disagreements.is_empty(), "{}", tally.disagreements.join("\n\n"));
}

fn ask_about_set(seed: u64, tally: &mut Tally) -> io::Result<()> {
    let set = RandomSet::new(seed);
    let dir = tempfile::Builder::new().prefix(&format!("oracle-{seed}-")).tempdir()?;
    set.write_into(dir.path())?;
    ask_all(&memory_over(dir.path()), &set, &Oracle::new(&set), tally);
    Ok(())
}

fn ask_all(memory: &Memory, set: &RandomSet, oracle: &Oracle<'_>, tally: &mut Tally) {
    tally.sets += 1;
    tally.messages += set.message_count();
    for question in Asker::new(set, oracle).questions() {
        let (tool, arguments) = question.call();
        *tally.questions.entry(tool).or_default() += 1;
        let reply = call(memory, tool, &arguments);
        tally.nothing += usize::from(reply.value.is_null() || reply.error.is_some());
        if let Err(expected) = question.check(oracle, &reply) {
            tally.disagreements.push(format!(
                "seed {}: {tool} {arguments}\n  expected: {expected}\n  answered: {}\n  {question:?}",
                set.seed, reply.value
            ));
        }
    }
}

/// Whether `memory` serves of an odd entry what it has to and nothing that was not recorded.
fn check_odd(memory: &Memory, odd: &OddFile, first_ns: u64, last_ns: u64) -> Result<(), String> {
    let arguments = json!({
        "topic": odd.topic, "start": first_ns.to_string(), "end": last_ns.to_string(),
        "max_samples": 500, "max_bytes": 200_000,
    });
    let reply = call(memory, "get_topic_in_range", &arguments);
    let (samples, _) = samples_of(&reply).unwrap_or_default();
    for sample in &samples {
        let text = sample.get("value").map(Value::to_string).unwrap_or_default();
        let is_recorded = odd.recorded.iter().any(|message| {
            sample.get("timestamp_ns") == Some(&json!(message.log_time_ns.to_string()))
                && text.contains(&message.text)
        });
        if !is_recorded {
            return Err(format!("serves {sample}, which was never recorded"));
        }
    }
    if samples.len() < odd.must_serve || samples.len() > odd.recorded.len() {
        let (least, most) = (odd.must_serve, odd.recorded.len());
        let answered = &reply.value;
        return Err(format!("serves {}, not {least} to {most}: {answered}", samples.len()));
    }
    Ok(())
}
