//! The records of a history: order, completeness, and the layout of their payloads.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::support::{START_NS, all_records, detections, history, odometry, text, transform};
use ros2_memory_demo::{History, Options, Record};
use ros2_memory_time::LogTime;

fn digest(records: &[Record]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for record in records {
        (record.channel, record.log_time, record.publish_time, record.sequence).hash(&mut hasher);
        record.payload.hash(&mut hasher);
    }
    hasher.finish()
}

fn channel(history: &History, topic: &str) -> usize {
    history.channels().iter().position(|it| it.topic == topic).unwrap()
}

fn payloads<'a>(
    history: &History,
    records: &'a [Record],
    topic: &str,
) -> impl Iterator<Item = &'a Record> {
    let channel = channel(history, topic);
    records.iter().filter(move |record| record.channel == channel)
}

#[test]
fn the_same_options_give_the_same_bytes_and_another_seed_does_not() {
    let one = digest(&all_records(&history(7, 120)));
    assert_eq!(one, digest(&all_records(&history(7, 120))));
    assert_ne!(one, digest(&all_records(&history(8, 120))));
}

#[test]
fn a_split_does_not_depend_on_what_was_asked_before() {
    let history = history(3, 95);
    let forward: Vec<_> = (0..history.n_splits()).map(|split| history.split(split)).collect();
    assert_eq!(forward.len(), 10);
    for split in (0..forward.len()).rev() {
        assert_eq!(history.split(split), forward[split]);
    }
    let elsewhere = crate::support::history(3, 95);
    let fifth = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("fifth".to_owned());
        thread.spawn_scoped(scope, || elsewhere.split(5)).unwrap().join().unwrap()
    });
    assert_eq!(fifth, forward[5]);
    assert_eq!(history.split(10), []);
    assert_eq!(history.split(usize::MAX), []);
}

#[test]
fn splits_hold_their_own_ten_seconds_and_together_everything() {
    let history = history(5, 95);
    for split in 0..history.n_splits() {
        let from_ns = START_NS + 10_000_000_000 * split as u64;
        let to_ns = (from_ns + 10_000_000_000).min(START_NS + 95_000_000_000);
        let records = history.split(split);
        let first_ns = records.first().unwrap().log_time.as_ns();
        let last_ns = records.last().unwrap().log_time.as_ns();
        assert!(from_ns <= first_ns && first_ns < from_ns + 60_000_000, "{split}");
        assert!(to_ns - 60_000_000 <= last_ns && last_ns < to_ns, "{split}");
    }
    let records = all_records(&history);
    assert!(records.windows(2).all(|pair| pair[0].log_time < pair[1].log_time));
    for number in 0..history.channels().len() {
        let of_channel = records.iter().filter(|record| record.channel == number);
        for (expected, record) in (0..).zip(of_channel) {
            assert_eq!(record.sequence, expected);
            let delay_ns = record.log_time.since_ns(record.publish_time);
            assert!((300_000..3_800_000).contains(&delay_ns), "{delay_ns}");
        }
    }
    let one_split = History::new(history.options().clone().with_split_s(u64::MAX)).unwrap();
    assert_eq!(one_split.n_splits(), 1);
    assert_eq!(digest(&one_split.split(0)), digest(&records));
}

#[test]
fn latched_messages_are_in_the_first_split_only() {
    let history = history(1, 60);
    let latched = |record: &Record| history.channels()[record.channel].latched;
    let first: Vec<_> = history.split(0).into_iter().filter(latched).collect();
    let edges: Vec<_> = first
        .iter()
        .map(|record| {
            let (_, parent, child, _) = transform(&record.payload);
            (parent, child)
        })
        .collect();
    assert_eq!(edges, [("base_link", "camera_link"), ("base_link", "laser")]);
    assert_ne!(first[0].channel, first[1].channel);
    assert!((1..6).all(|split| !history.split(split).iter().any(latched)));
}

#[test]
fn odometry_is_laid_out_as_its_definition_says() {
    let history = history(2, 120);
    let records = all_records(&history);
    let mut fastest: f64 = 0.0;
    for record in payloads(&history, &records, "/odom") {
        let message = odometry(&record.payload);
        assert_eq!(message.stamp_ns + 200_000, record.publish_time.as_ns());
        assert!((0.0..20.0).contains(&message.x) && message.y.abs() < 6.0);
        assert!(message.turn.abs() <= 0.9);
        fastest = fastest.max(message.forward);
    }
    assert!((fastest - 0.6).abs() < 1e-9, "{fastest}");
}

#[test]
fn detections_are_laid_out_as_their_definition_says() {
    let history = history(2, 600);
    let records = all_records(&history);
    let mut found = 0;
    for record in payloads(&history, &records, "/vision/find_object/detections_meta") {
        let (stamp_ns, detections) = detections(&record.payload);
        assert_eq!(stamp_ns + 200_000, record.publish_time.as_ns());
        for (label, score, [left, top, right, bottom], point, has_point, track) in detections {
            assert!(track.starts_with(&format!("{label}-")), "{track}");
            assert!((0.3..=0.99).contains(&score));
            assert!(0 <= left && left <= right && right < 640, "{label} {left} {right}");
            assert!(0 <= top && top <= bottom && bottom < 480, "{label} {top} {bottom}");
            let away = point.iter().map(|it| it * it).sum::<f64>().sqrt();
            assert_eq!(has_point, away > 0.1);
            assert!(away < 3.4, "{label} {away}");
            found += 1;
        }
    }
    assert!(found > 200, "{found}");
}

#[test]
fn detected_points_are_where_things_stand_in_the_map() {
    let history = history(6, 600);
    let truth = history.truth();
    let records = all_records(&history);
    let transforms = |child: &str| -> Vec<(u64, [f64; 7])> {
        let all =
            records.iter().filter(|it| history.channels()[it.channel].topic.starts_with("/tf"));
        all.map(|record| transform(&record.payload))
            .filter(|it| it.2 == child)
            .map(|(stamp_ns, _, _, values)| (stamp_ns, values))
            .collect()
    };
    let [drift, moves] = ["odom", "base_link"].map(transforms);
    let nearest = |all: &[(u64, [f64; 7])], stamp_ns: u64| {
        all.iter().min_by_key(|it| it.0.abs_diff(stamp_ns)).unwrap().1
    };
    let outwards = |values: [f64; 7], [x, y, z]: [f64; 3]| {
        let yaw = 2.0 * values[5].atan2(values[6]);
        let (sin, cos) = yaw.sin_cos();
        [values[0] + cos * x - sin * y, values[1] + sin * x + cos * y, values[2] + z]
    };
    let mut checked = 0;
    for record in payloads(&history, &records, "/vision/find_object/detections_meta") {
        let (stamp_ns, found) = detections(&record.payload);
        for (_, _, _, [x, y, z], _, track) in found.into_iter().filter(|it| it.4) {
            let Some(thing) = truth.objects.iter().find(|it| it.track_id == track) else {
                continue;
            };
            // Out of the camera: pitch, mount, then the two moving edges nearest in time.
            let (sin, cos) = 0.2_f64.sin_cos();
            let in_base = [cos * x + sin * z + 0.15, y, cos * z - sin * x + 0.9];
            let in_odom = outwards(nearest(&moves, stamp_ns), in_base);
            let [x, y, z] = outwards(nearest(&drift, stamp_ns), in_odom);
            // A turn of 0.9 rad/s for 25 ms at 3 m, and the drift of half a second.
            let away = (x - thing.x_m).hypot(y - thing.y_m);
            assert!(away < 0.1 && (z - thing.z_m).abs() < 1e-9, "{track} {away} {z}");
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn scene_objects_are_json_lists() {
    let history = history(4, 300);
    let records = all_records(&history);
    let lists: Vec<Vec<String>> = payloads(&history, &records, "/vision/scene/scene_objects")
        .map(|record| serde_json::from_str(text(&record.payload)).unwrap())
        .collect();
    assert!(lists.iter().any(Vec::is_empty) && lists.iter().any(|list| list.len() > 1));
}

#[test]
fn a_history_may_start_at_the_epoch() {
    let history = History::new(Options::new(0, LogTime::ZERO, 10)).unwrap();
    let records = all_records(&history);
    assert!(records.len() > 500);
    assert!(records.iter().all(|record| record.log_time.as_ns() < 10_000_000_000));
}
