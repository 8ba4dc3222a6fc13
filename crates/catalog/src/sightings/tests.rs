//! Sightings out of posting lists, against a plain list of what was recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use ros2_memory_bag::{
    Channel, Chunk, ChunkChannel, Compression, ContentMark, Contents, Declarations, Ending,
    FileIdentity, Verdict,
};
use ros2_memory_index::{BagEntry, IndexedMark, Sightings};
use ros2_memory_testkit::prng::Prng;

use super::*;
use crate::{
    Probe, Store, TopicSummary,
    bags::{Bags, Limits},
    snapshot::Given,
};

const LABELS: [&str; 5] = ["cup", "door", "person", "cat", "Cup"];
const TOPICS: [&str; 2] = ["/seen", "/scene"];

/// One message as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Recorded {
    time: u64,
    topic: usize,
    labels: BTreeSet<usize>,
}

/// What the recorder knows: each bag's messages, and the bags whose files were deleted.
#[derive(Debug, Default)]
struct Plain {
    /// With the version of the file.
    bags: BTreeMap<String, (Vec<Recorded>, u64)>,
    deleted: Vec<(String, (Vec<Recorded>, u64))>,
}

impl Plain {
    /// Every message that is wanted in a range, the newest first, with whether its bag is there.
    fn wanted(
        &self,
        wanted: &Wanted,
        topics: &[Arc<str>],
        range: TimeRange,
    ) -> Vec<(u64, &str, bool)> {
        let there = self.bags.values().flat_map(|(of, _)| of).map(|of| (of, true));
        let gone = self.deleted.iter().flat_map(|(_, (of, _))| of).map(|of| (of, false));
        let mut found: Vec<(u64, &str, bool)> = there
            .chain(gone)
            .filter(|(of, _)| {
                let topic = TOPICS[of.topic];
                (topics.is_empty() || topics.iter().any(|wanted| **wanted == *topic))
                    && range.contains(LogTime::from_ns(of.time))
                    && is_wanted(of, wanted)
            })
            .map(|(of, is_there)| (of.time, TOPICS[of.topic], is_there))
            .collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }
}

fn is_wanted(of: &Recorded, wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Label(label) => of.labels.iter().any(|number| *LABELS[*number] == **label),
        Wanted::All(all) => all.iter().all(|one| is_wanted(of, one)),
        Wanted::Any(any) => any.iter().any(|one| is_wanted(of, one)),
        Wanted::Not(not) => !is_wanted(of, not),
    }
}

/// What the indexer would make of a bag.
fn entry(path: &str, messages: &[Recorded], version: u64) -> BagEntry {
    let channel = |(number, topic): (u16, &&str)| Channel {
        id: number,
        topic: (*topic).into(),
        schema: None,
        message_encoding: "cdr".into(),
        offered_qos_profiles: "".into(),
    };
    let channels = (0..).zip(&TOPICS).map(channel).collect();
    let declared = Arc::new(Declarations { channels, ..Declarations::default() });
    let times = || messages.iter().map(|of| LogTime::from_ns(of.time));
    let (first, last) = (times().min().unwrap(), times().max().unwrap());
    let seen = (0..TOPICS.len()).filter_map(|topic| {
        let times = || messages.iter().filter(|of| of.topic == topic).map(|of| of.time);
        Some(ChunkChannel {
            channel: u32::try_from(topic).unwrap(),
            count: u32::try_from(times().count()).unwrap(),
            first: LogTime::from_ns(times().min()?),
            last: LogTime::from_ns(times().max()?),
        })
    });
    let seen = seen.collect();
    let chunk = Chunk {
        offset: 9,
        stored_len: 9,
        len: 9,
        compression: Compression::None,
        crc: 1,
        verdict: Verdict::Intact,
        is_loose: false,
        is_sorted: true,
        index_len: 0,
        first,
        last,
        channels: seen,
    };
    let sightings = (0..TOPICS.len()).filter_map(|topic| {
        let mut own: Vec<&Recorded> = messages.iter().filter(|of| of.topic == topic).collect();
        own.sort_by_key(|of| of.time);
        let mut labels: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (ordinal, of) in (0..).zip(&own) {
            of.labels.iter().for_each(|l| labels.entry(LABELS[*l]).or_default().push(ordinal));
        }
        let is_there = !own.is_empty();
        is_there.then(|| Sightings {
            channel: u32::try_from(topic).unwrap(),
            times: own.iter().map(|of| LogTime::from_ns(of.time)).collect(),
            labels: labels.into_iter().map(|(label, of)| (label.into(), of)).collect(),
            is_complete: !version.is_multiple_of(5),
            has_other_values: version.is_multiple_of(3),
        })
    });
    BagEntry {
        path: Path::new(path).into(),
        identity: FileIdentity { device: 1, inode: version, size_bytes: 9, mtime_ns: 1 },
        mark: ContentMark(u32::try_from(version).unwrap()),
        latched: Vec::new(),
        edges: Vec::new(),
        transform_skew_ns: 0,
        sightings: sightings.collect(),
        words: Vec::new(),
        numbers: Vec::new(),
        // Every seventh was indexed with another configuration.
        indexed: IndexedMark(u32::from(version.is_multiple_of(7))),
        contents: Arc::new(Contents {
            declared,
            chunks: vec![chunk],
            ending: Ending::Closed,
            ..Contents::default()
        }),
    }
}

fn random_messages(prng: &mut Prng) -> Vec<Recorded> {
    // Few times, so that many are the same and bags overlap.
    let start = 1_000 + prng.below(300);
    let length = 1 + prng.below(40);
    (0..=prng.index(8))
        .map(|_| Recorded {
            time: start + prng.below(length),
            topic: prng.index(2),
            labels: (0..prng.index(4)).map(|_| prng.index(LABELS.len())).collect(),
        })
        .collect()
}

fn random_wanted(prng: &mut Prng, depth: usize) -> Wanted {
    let several =
        |prng: &mut Prng| (0..=prng.index(3)).map(|_| random_wanted(prng, depth + 1)).collect();
    match prng.index(if depth > 2 { 1 } else { 5 }) {
        0 | 1 => Wanted::Label(
            [LABELS[prng.index(5)], "unicorn"][usize::from(prng.below(9) == 0)].into(),
        ),
        2 => Wanted::All(several(prng)),
        3 => Wanted::Any(several(prng)),
        _ => Wanted::Not(Box::new(random_wanted(prng, depth + 1))),
    }
}

fn snapshot(bags: &Bags) -> Snapshot {
    let segments = bags.shown(&|_| true);
    Snapshot::new(Given {
        root: "/nowhere".into(),
        segments,
        refused: Vec::new(),
        progress: None,
        indexed: Arc::default(),
    })
}

/// A random history, in the order in which bags appear, change and go, and its catalog.
fn history(prng: &mut Prng, dir: Option<&Path>) -> (Plain, Bags) {
    let limits = Limits { seal_at: 3 + prng.index(4), merge_at: 2, large: 9 };
    let (mut store, loaded) = match dir {
        Some(dir) => Store::open(dir).unwrap(),
        None => Store::in_memory(),
    };
    let mut bags = Bags::with_limits(loaded, limits);
    let mut plain = Plain::default();
    for version in 0..4 + prng.below(24) {
        let path = format!("run/b_{}.mcap", prng.index(12));
        if prng.below(4) == 0 {
            if let Some(messages) = plain.bags.remove(&path) {
                plain.deleted.push((path.clone(), messages));
            }
            bags.look_up_files();
            bags.remove(Path::new(&path), true);
        } else if let Some((path, _)) = plain.deleted.last().filter(|_| prng.below(6) == 0).cloned()
            && !plain.bags.contains_key(&path)
        {
            // The same file is back where it was.
            let (_, (messages, version)) = plain.deleted.pop().unwrap();
            bags.look_up_files();
            bags.insert(entry(&path, &messages, version));
            plain.bags.insert(path, (messages, version));
        } else {
            let messages = random_messages(prng);
            bags.look_up_files();
            bags.insert(entry(&path, &messages, version));
            plain.bags.insert(path, (messages, version));
        }
        if prng.below(2) == 0 {
            bags.save(&mut store, &|_| true).unwrap();
            while bags.merge(&mut store, &|_| true).unwrap() {}
        }
    }
    (plain, bags)
}

#[test]
fn sightings_are_those_of_a_plain_list_over_ten_thousand_histories() {
    let n = if std::env::var_os("ROS2_MEMORY_LONG").is_some() { 10_000 } else { 1_000 };
    let seed = 5;
    let (mut n_found, mut n_segments, mut n_passed_over) = (0usize, 0usize, 0usize);
    for number in 0..n {
        let mut prng = Prng::new(seed + number);
        // Most in memory: only one in ten goes over a disk.
        let folder = (number % 10 == 0).then(|| tempfile::tempdir().unwrap());
        let (plain, bags) = history(&mut prng, folder.as_ref().map(tempfile::TempDir::path));
        let snapshot = snapshot(&bags);
        n_segments += snapshot.parts.len();
        for _question in 0..12 {
            let wanted = random_wanted(&mut prng, 0);
            let topics: Vec<Arc<str>> =
                if prng.below(3) == 0 { vec![TOPICS[prng.index(2)].into()] } else { Vec::new() };
            let start = 990 + prng.below(340);
            let range = match prng.below(3) {
                0 => TimeRange::ALL,
                _ => TimeRange::new(
                    LogTime::from_ns(start),
                    LogTime::from_ns(start + prng.below(200)),
                ),
            };
            let right = plain.wanted(&wanted, &topics, range);
            let mut found: Vec<(u64, String, bool)> = Vec::new();
            for sighting in snapshot.sightings_back(&wanted, &topics, range) {
                let is_there = sighting.place.is_some();
                found.push((sighting.time.as_ns(), sighting.topic.to_string(), is_there));
            }
            assert!(found.is_sorted_by(|a, b| a.0 >= b.0), "history {number}: {found:?}");
            found.sort_unstable_by(|a, b| b.cmp(a));
            let right: Vec<(u64, String, bool)> =
                right.into_iter().map(|(time, topic, is)| (time, topic.to_owned(), is)).collect();
            assert_eq!(found, right, "history {number}: {wanted:?} of {topics:?} in {range:?}");
            n_found += found.len();
            if let Wanted::Label(label) = &wanted {
                let summary = snapshot.label(label, range);
                let all = plain.wanted(&wanted, &[], range);
                let span = all.last().zip(all.first()).map(|(first, last)| (first.0, last.0));
                let told = summary.as_ref().map(|of| (of.span.0.as_ns(), of.span.1.as_ns()));
                assert_eq!(told, span, "history {number}: {label} in {range:?}");
                assert_eq!(summary.map_or(0, |of| of.count), all.len() as u64);
            }
        }
        n_passed_over += check_narrowing(&snapshot, &plain, &mut prng);
        let listed = snapshot.labels(&[], TimeRange::ALL);
        for of in &listed {
            assert_eq!(Some(of), snapshot.label(&of.label, TimeRange::ALL).as_ref());
        }
        let names: Vec<_> = listed.iter().map(|of| of.label.clone()).collect();
        assert!(names.iter().all(|name| snapshot.label_names().contains(name)));
    }
    println!(
        "{n} histories, {n_segments} segments, {n_found} sightings, {n_passed_over} bags passed over"
    );
    assert!(n_found > 1_000 && n_passed_over > 100);
}

/// No bag with a message that is looked for is passed over; returns how many were.
fn check_narrowing(snapshot: &Snapshot, plain: &Plain, prng: &mut Prng) -> usize {
    let word = *prng.pick(&["cup", "c", "person", "Cup", "unicorn"]);
    let names: Vec<&str> = TOPICS.iter().copied().filter(|_| prng.below(3) > 0).collect();
    let topics: Vec<&TopicSummary> = names.iter().filter_map(|name| snapshot.topic(name)).collect();
    let all = snapshot.bags_touching(&topics, TimeRange::ALL);
    let probe = Probe::Text {
        is_wanted: &|label| label.contains(word),
        words: None,
        is_indexed: &|_type_name| true,
    };
    let kept = snapshot.may_match(&topics, all.clone(), &probe);
    let has_it = |of: &Recorded| {
        names.contains(&TOPICS[of.topic]) && of.labels.iter().any(|l| LABELS[*l].contains(word))
    };
    for place in &all {
        let path = snapshot.bag(*place).unwrap().entry.path.display().to_string();
        let (messages, version) = &plain.bags[&path];
        // Every third says more than labels, every fifth is not complete.
        let is_proven = [3, 5, 7].iter().all(|n| !version.is_multiple_of(*n));
        let may = messages.iter().any(has_it) || !is_proven;
        assert_eq!(kept.contains(place), may, "{path} {messages:?}: {word} of {names:?}");
    }
    all.len() - kept.len()
}
