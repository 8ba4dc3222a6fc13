//! Every cut and every changed byte of small files: nothing panics, what is whole is served, and
//! what a checksum covers is never served changed.

use std::collections::HashSet;

use mcap::records::{Record, op};
use ros2_memory_bag::{BagError, Ending};
use ros2_memory_testkit::prng::Prng;

use super::sample::{Sample, Scratch, Seen, samples};

/// The end of each top-level record and how many messages become whole with it, by walking the
/// whole file: those of a compressed chunk together, all others by themselves.
pub(crate) fn record_ends(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut ends = Vec::new();
    let mut at = mcap::MAGIC.len();
    while at + 9 <= bytes.len() - mcap::MAGIC.len() {
        let len = u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap());
        let end = at + 9 + usize::try_from(len).unwrap();
        let count = match mcap::parse_record(bytes[at], &bytes[at + 9..end]).unwrap() {
            Record::Message { .. } => 1,
            Record::Chunk { header, data } if header.compression.is_empty() => {
                let mut inner = end - data.len();
                while inner < end {
                    let len = u64::from_le_bytes(bytes[inner + 1..inner + 9].try_into().unwrap());
                    let is_message = bytes[inner] == op::MESSAGE;
                    inner += 9 + usize::try_from(len).unwrap();
                    ends.push((inner, usize::from(is_message)));
                }
                0
            }
            Record::Chunk { header, data } => mcap::read::ChunkReader::new(header, &data)
                .unwrap()
                .filter(|record| record.as_ref().unwrap().opcode() == op::MESSAGE)
                .count(),
            _ => 0,
        };
        ends.push((end, count));
        at = end;
    }
    ends
}

#[test]
fn a_file_cut_anywhere_serves_all_that_is_whole() {
    let scratch = Scratch::new();
    for sample in samples() {
        let Sample { name, bytes, messages, .. } = &sample;
        let ends = record_ends(bytes);
        assert_eq!(ends.iter().map(|(_, count)| count).sum::<usize>(), messages.len(), "{name}");
        for cut in 0..=bytes.len() {
            let outcome = scratch.open(&bytes[..cut]);
            if cut < mcap::MAGIC.len() {
                assert!(matches!(outcome, Err(BagError::UnknownFormat { .. })), "{name} at {cut}");
                continue;
            }
            let bag = outcome.unwrap();
            let whole: usize =
                ends.iter().filter(|(end, _)| *end <= cut).map(|(_, count)| count).sum();
            let served = super::sample::served(&bag);
            assert!(served == messages[..whole], "{name} at {cut}: {:?}", bag.contents());
            assert_eq!(bag.contents().is_closed(), cut == bytes.len(), "{name} at {cut}");
            if let Ending::Open { served_to } = bag.contents().ending {
                let last_whole = ends.iter().map(|(end, _)| *end).filter(|end| *end <= cut).max();
                assert!(served_to as usize <= last_whole.unwrap_or(mcap::MAGIC.len()));
            }
        }
    }
}

/// Changes a byte in one of four ways; the last two are always a change.
fn changed(byte: u8, way: usize) -> u8 {
    [0x00, 0xFF, byte ^ 0x01, byte ^ 0x80][way]
}

/// How many changes of one file are tried; all of them would take minutes.
const CHANGES: usize = 2_500;

#[test]
fn a_changed_byte_panics_nowhere_and_is_never_served_past_a_checksum() {
    let seed = 20;
    println!("seed {seed}");
    let mut prng = Prng::new(seed);
    let scratch = Scratch::new();
    for sample in samples() {
        let Sample { name, layout, bytes, messages } = &sample;
        let recorded: HashSet<&Seen> = messages.iter().collect();
        let total = bytes.len() * 4;
        let stride = (total / CHANGES).max(1);
        let mut n_lost = 0;
        for number in (prng.index(stride)..total).step_by(stride) {
            let (at, way) = (number / 4, (number + number / stride) % 4);
            let mut bytes = bytes.clone();
            bytes[at] = changed(bytes[at], way);
            let Ok(bag) = scratch.open(&bytes) else {
                assert!(at < mcap::MAGIC.len(), "{name}: byte {at} way {way}");
                continue;
            };
            let served = super::sample::served(&bag);
            let contents = bag.contents();
            if layout.with_crc && layout.chunked {
                let strange = served.iter().find(|message| !recorded.contains(message));
                assert_eq!(strange, None, "{name}: byte {at} way {way}");
            }
            if layout.with_summary && layout.with_crc && layout.chunked {
                let all = served.len() == messages.len();
                n_lost += usize::from(!all);
                let is_said = !contents.damage.is_empty() || !contents.is_closed();
                assert!(all || is_said, "{name}: byte {at} way {way}: {contents:?}");
            }
            if layout.with_crc && !layout.chunked {
                // The checksum of the data section says that some byte is wrong, not which.
                let as_recorded =
                    served == *messages && served.iter().all(|m| recorded.contains(m));
                let is_said = !contents.damage.is_empty() || !contents.is_closed();
                assert!(as_recorded || is_said, "{name}: byte {at} way {way}: {contents:?}");
            }
        }
        println!("{name}: {n_lost} of {} changes cost messages", total / stride);
    }
}

#[test]
fn garbage_of_every_kind_behind_the_data_costs_nothing() {
    let scratch = Scratch::new();
    let mut prng = Prng::new(5);
    for sample in samples() {
        let Sample { name, bytes, messages, .. } = &sample;
        let end = record_ends(bytes).iter().rfind(|(_, count)| *count > 0).unwrap().0;
        let noise: Vec<u8> = (0..3_000).map(|_| (prng.next_u64() >> 56) as u8).collect();
        for (what, tail) in [
            ("zeros", vec![0; 65_536]),
            ("ones", vec![0xFF; 3_000]),
            ("noise", noise),
            ("text", b"{'format': 'h264'}".repeat(200)),
            ("magic", mcap::MAGIC.repeat(50)),
        ] {
            let torn = [&bytes[..end], &tail].concat();
            let (bag, served) = scratch.serve(&torn);
            assert!(served == *messages, "{name}, {what}: {:?}", bag.contents());
        }
        let (bag, served) = scratch.serve(&[&bytes[..], &[0; 4_096]].concat());
        assert!(served == *messages && !bag.contents().is_closed(), "{name}");
    }
}

#[test]
fn random_bytes_behind_the_magic_panic_nowhere() {
    let scratch = Scratch::new();
    let mut prng = Prng::new(9);
    let opcodes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 0x80, 0xFF];
    for _ in 0..1_000 {
        let mut bytes = mcap::MAGIC.to_vec();
        for _ in 0..prng.below(20) {
            let body: Vec<u8> = (0..prng.below(90))
                .map(|_| prng.below(256) as u8 & prng.below(256) as u8)
                .collect();
            let length = if prng.chance(90) { body.len() as u64 } else { prng.next_u64() };
            bytes.extend(super::hand::lying_record(*prng.pick(&opcodes), length, &body));
        }
        if prng.chance(50) {
            bytes = super::hand::Hand(bytes).footer(prng.next_u64() >> prng.below(64));
        }
        scratch.serve(&bytes);
    }
}
