//! Bags that overlap come out as the one order that is defined for them.

use std::{cell::Cell, fs};

use ros2_memory_bag::{Bag, Direction, ReadOptions, Timeline, TimelinePart, TimelineReport};
use ros2_memory_testkit::{
    bags::{Compression, Layout, TestChannel, TestMessage, bag_bytes},
    prng::Prng,
};
use ros2_memory_time::{LogTime, TimeRange};

use super::sample::part;

const TOPICS: [&str; 4] = ["/a", "/b", "/c", "/d"];

/// A message's place in the order: time, topic, bag, place in the file; and its payload.
type Place = (u64, u32, usize, usize, Vec<u8>);

fn rank(topic: &str) -> u32 {
    (0..).zip(TOPICS).find(|(_, known)| *known == topic).unwrap().0
}

/// A few bags of every layout with times of a small range, so that many are equal.
fn random_bags(folder: &std::path::Path, prng: &mut Prng) -> (Vec<TimelinePart>, Vec<Place>) {
    let (mut parts, mut places) = (Vec::new(), Vec::new());
    for number in 0..prng.between(1, 6) as usize {
        let channels: Vec<TestChannel> = (0..prng.between(1, 6) as u16)
            .map(|id| TestChannel {
                id,
                topic: (*prng.pick(&TOPICS)).to_owned(),
                type_name: "std_msgs/msg/String".into(),
                definition: "string data\n".into(),
                latched: false,
            })
            .collect();
        let start = prng.below(200);
        let spread = prng.between(1, 150);
        let messages: Vec<TestMessage> = (0..prng.below(120) as u32)
            .map(|sequence| TestMessage {
                channel: prng.pick(&channels).id,
                log_time_ns: start + prng.below(spread),
                publish_time_ns: 0,
                sequence,
                payload: [&number.to_le_bytes()[..], &sequence.to_le_bytes()].concat(),
            })
            .collect();
        let layout = Layout {
            chunked: prng.chance(80),
            compression: *prng.pick(&[Compression::None, Compression::Lz4, Compression::Zstd]),
            chunk_bytes: prng.between(1, 1_500),
            ..Layout::default()
        };
        let path = folder.join(format!("{number}.mcap"));
        fs::write(&path, bag_bytes(&channels, &messages, &layout).unwrap()).unwrap();
        parts.push(part(&Bag::open_unindexed(&path, &ReadOptions::default()).unwrap()));
        places.extend(messages.into_iter().enumerate().map(|(place, message)| {
            let topic = rank(&channels[usize::from(message.channel)].topic);
            (message.log_time_ns, topic, number, place, message.payload)
        }));
    }
    places.sort();
    (parts, places)
}

/// What a timeline gives, up to the place in the file, which it does not show.
fn run(timeline: &mut Timeline<'_>) -> Vec<(u64, u32, usize, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(m) = timeline.next() {
        all.push((m.log_time.as_ns(), rank(&m.channel.topic), m.part, m.payload.to_vec()));
    }
    all
}

fn without_place(places: &[Place]) -> Vec<(u64, u32, usize, Vec<u8>)> {
    places.iter().map(|p| (p.0, p.1, p.2, p.4.clone())).collect()
}

#[test]
fn both_directions_are_the_sorted_order_in_any_range_and_selection() {
    for seed in 0..150 {
        let mut prng = Prng::new(seed);
        let folder = tempfile::tempdir().unwrap();
        let (parts, places) = random_bags(folder.path(), &mut prng);
        for round in 0..4 {
            let ns = LogTime::from_ns;
            let range = match round {
                0 => TimeRange::ALL,
                1 => TimeRange::closed(ns(prng.below(300)), ns(prng.below(400))),
                _ => TimeRange::new(ns(prng.below(200)), ns(prng.below(400))),
            };
            let wanted: Vec<bool> = TOPICS.iter().map(|_| round == 0 || prng.chance(60)).collect();
            let expected: Vec<Place> = places
                .iter()
                .filter(|p| wanted[p.1 as usize] && range.contains(ns(p.0)))
                .cloned()
                .collect();
            let mut expected = without_place(&expected);
            for direction in [Direction::Forward, Direction::Reverse] {
                let select = |channel: &ros2_memory_bag::Channel| {
                    let rank = rank(&channel.topic);
                    wanted[rank as usize].then_some(rank)
                };
                let options = ReadOptions::default();
                let mut timeline =
                    Timeline::new(parts.clone(), range, direction, options, select, || false);
                let all = run(&mut timeline);
                assert!(all == expected, "seed {seed}, round {round}, {direction:?}");
                let TimelineReport { skipped, was_stopped, .. } = timeline.report();
                assert!(skipped.is_empty() && !was_stopped, "seed {seed}");
                expected.reverse();
            }
        }
    }
}

#[test]
fn a_stop_leaves_the_start_of_the_same_order() {
    for seed in 0..40 {
        let mut prng = Prng::new(1_000 + seed);
        let folder = tempfile::tempdir().unwrap();
        let (parts, places) = random_bags(folder.path(), &mut prng);
        let left = Cell::new(prng.below(8));
        let mut timeline = Timeline::new(
            parts,
            TimeRange::ALL,
            Direction::Forward,
            ReadOptions::default(),
            |channel| Some(rank(&channel.topic)),
            move || {
                let now = left.get();
                left.set(now.saturating_sub(1));
                now == 0
            },
        );
        let all = run(&mut timeline);
        assert!(without_place(&places).starts_with(&all), "seed {seed}");
        assert_eq!(timeline.report().was_stopped, all.len() < places.len(), "seed {seed}");
        assert_eq!(run(&mut timeline), [], "seed {seed}: nothing comes behind the end");
    }
}

#[test]
fn the_newest_message_of_many_bags_opens_one_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let channels = [TestChannel {
        id: 1,
        topic: "/a".into(),
        type_name: "std_msgs/msg/String".into(),
        definition: "string data\n".into(),
        latched: false,
    }];
    let parts: Vec<TimelinePart> = (0..50u64)
        .map(|number| {
            let messages: Vec<TestMessage> = (0..100)
                .map(|n| TestMessage {
                    channel: 1,
                    log_time_ns: number * 100 + n,
                    publish_time_ns: 0,
                    sequence: 0,
                    payload: vec![0; 50],
                })
                .collect();
            let path = folder.path().join(format!("{number}.mcap"));
            let bytes = bag_bytes(&channels, &messages, &Layout::default()).unwrap();
            fs::write(&path, bytes).unwrap();
            part(&Bag::open_unindexed(&path, &ReadOptions::default()).unwrap())
        })
        .collect();
    let options = ReadOptions::default();
    let mut timeline =
        Timeline::new(parts, TimeRange::ALL, Direction::Reverse, options, |_| Some(0), || false);
    assert_eq!(timeline.next().unwrap().log_time.as_ns(), 4_999);
    assert_eq!((timeline.report().bags_opened, timeline.report().chunks_read), (1, 1));
}

#[test]
fn a_bag_that_changed_is_passed_over_and_the_others_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let mut prng = Prng::new(8);
    let (parts, places) = loop {
        let made = random_bags(folder.path(), &mut prng);
        if made.0.len() >= 3 && made.1.iter().any(|place| place.2 == 1) {
            break made;
        }
    };
    let bytes = fs::read(&parts[1].path).unwrap();
    fs::write(&parts[1].path, &bytes[..bytes.len() - 1]).unwrap();
    let options = ReadOptions::default();
    let select = |channel: &ros2_memory_bag::Channel| Some(rank(&channel.topic));
    let mut timeline =
        Timeline::new(parts, TimeRange::ALL, Direction::Forward, options, select, || false);
    let others: Vec<Place> = places.into_iter().filter(|place| place.2 != 1).collect();
    assert_eq!(run(&mut timeline), without_place(&others));
    assert!(!timeline.report().skipped.is_empty());
}
