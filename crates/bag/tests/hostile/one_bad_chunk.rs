//! One chunk in the middle that is lost, each chunk in turn.

use std::ops::Range;

use ros2_memory_bag::Verdict;
use ros2_memory_testkit::{
    mcap_bytes::{Declaration, Fixture, fixtures, records::op},
    prng::Prng,
};

use super::{
    failures::{Failures, Trials},
    rig::{Scratch, Seen, seed, without},
};

/// What is done to a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    /// One bit in the middle of what is stored.
    Bit,
    /// Sixteen bytes in the middle of what is stored.
    Patch,
    /// All that is stored, by zeros.
    StoredZeros,
    /// All that is stored, by noise.
    StoredNoise,
    /// The whole record, by zeros, as a sector that was never written.
    RecordZeros,
    /// The whole record, by noise.
    RecordNoise,
    /// The record's opcode and length, by noise.
    Prefix,
    /// The fields in front of what is stored, by noise.
    Fields,
}

const BLOWS: [Blow; 8] = [
    Blow::Bit,
    Blow::Patch,
    Blow::StoredZeros,
    Blow::StoredNoise,
    Blow::RecordZeros,
    Blow::RecordNoise,
    Blow::Prefix,
    Blow::Fields,
];

impl Blow {
    fn hit(self, bytes: &mut [u8], record: Range<usize>, stored: Range<usize>, prng: &mut Prng) {
        let middle = stored.start + stored.len() / 2;
        let place = match self {
            Self::Bit => middle..middle + 1,
            Self::Patch => middle..(middle + 16).min(stored.end),
            Self::StoredZeros | Self::StoredNoise => stored,
            Self::RecordZeros | Self::RecordNoise => record,
            Self::Prefix => record.start..record.start + 9,
            Self::Fields => record.start + 9..stored.start,
        };
        for byte in &mut bytes[place] {
            *byte = match self {
                Self::Bit => *byte ^ 0x10,
                Self::StoredZeros | Self::RecordZeros => 0,
                _ => *byte ^ u8::try_from(prng.between(1, 255)).unwrap(),
            };
        }
    }
}

#[test]
fn a_lost_chunk_costs_its_own_messages_and_is_counted() {
    let seed = seed("lost chunks");
    let mut prng = Prng::new(seed);
    let (mut failures, mut trials) = (Failures::default(), Trials::new());
    let scratch = Scratch::new();
    for fixture in fixtures(seed) {
        let chunks: Vec<usize> = chunks_with_messages(&fixture);
        for number in chunks {
            for blow in BLOWS {
                let holder = &fixture.walked.holders[number];
                let mut bytes = fixture.bytes.clone();
                blow.hit(&mut bytes, holder.record.clone(), holder.stored.clone(), &mut prng);
                scratch.write(&bytes);
                let example = || {
                    let record = &holder.record;
                    format!("seed {seed}, {blow:?} on chunk {number} at {record:?}")
                };
                let name = fixture.name;
                let done = trials.run(&mut failures, name, &example, || scratch.by_scan());
                let Some(Ok((answer, bag))) = done else {
                    failures.note(name, "opens", example());
                    continue;
                };
                // What a chunk without a checksum declares may be changed with it.
                let declares = |d: &Declaration| d.holder == Some(number);
                let by_topic = holder.has_crc || !fixture.walked.declarations.iter().any(declares);
                let form = |all: Vec<Seen>| -> Vec<Seen> {
                    if by_topic {
                        return all;
                    }
                    let mut all: Vec<Seen> = all.into_iter().map(Seen::without_topic).collect();
                    all.sort();
                    all
                };
                let others = form(others(&fixture, number));
                let lost = without(&others, &form(answer.messages.clone()));
                if !lost.is_empty() {
                    let what = format!("{}: {} of {} lost", example(), lost.len(), others.len());
                    failures.note(name, &format!("{blow:?}: all other chunks are served"), what);
                }
                let n_all = fixture.walked.messages.len();
                let has_index = fixture.walked.has_chunk_index || fixture.walked.has_statistics;
                let is_lost = answer.messages.len() < n_all;
                // What became a record of an unknown kind shows only where something counts it.
                let tells = holder.has_crc && blow != Blow::Prefix || has_index;
                if is_lost && tells && !answer.is_marked {
                    failures.note(name, &format!("{blow:?}: the loss is marked"), example());
                }
                if matches!(blow, Blow::Bit | Blow::Patch | Blow::StoredNoise) && holder.has_crc {
                    let damaged = bag.contents().chunks.iter();
                    let damaged = damaged.filter(|chunk| chunk.verdict == Verdict::Damaged).count();
                    if damaged != 1 || bag.contents().damage.is_empty() {
                        let what = format!("{}: {damaged} counted", example());
                        failures.note(name, "the lost chunk is counted", what);
                    }
                }
                if let Some(disorder) = &answer.disorder {
                    failures.note(name, disorder, example());
                }
            }
        }
    }
    println!("lost chunks: {} trials, slowest {:?}", trials.n(), trials.slowest);
    failures.check();
    assert!(trials.n() > 500);
}

fn chunks_with_messages(fixture: &Fixture) -> Vec<usize> {
    let mut chunks: Vec<usize> = fixture.walked.messages.iter().map(|m| m.holder).collect();
    chunks.dedup();
    chunks.retain(|number| fixture.walked.holders[*number].is_chunk);
    chunks
}

/// The messages of the other holders, as far as their channels are declared somewhere else.
fn others(fixture: &Fixture, lost: usize) -> Vec<Seen> {
    let declarations = &fixture.walked.declarations;
    let is_declared = |channel: u16, holder: usize| {
        declarations.iter().any(|declared| {
            let at = fixture.walked.holders[holder].record.start;
            declared.opcode == op::CHANNEL
                && declared.id == channel
                && declared.holder != Some(lost)
                && (declared.record.start <= at || declared.in_summary)
        })
    };
    let placed = fixture.walked.messages.iter();
    let placed = placed.filter(|m| m.holder != lost && is_declared(m.message.channel, m.holder));
    let mut others: Vec<Seen> = placed.map(Seen::of).collect();
    others.sort();
    others
}
