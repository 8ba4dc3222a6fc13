//! The truth agrees with what the records say when they are read back.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use crate::support::{
    Odometry, Reader, all_records, detections, history, odometry, text, transform,
};
use ros2_memory_demo::{History, Record, Seen, Truth};

struct Hour {
    history: History,
    records: Vec<Record>,
    truth: Truth,
}

static HOUR: LazyLock<Hour> = LazyLock::new(|| {
    let history = history(11, 3600);
    let records = all_records(&history);
    let truth = history.truth();
    Hour { history, records, truth }
});

impl Hour {
    fn on(&self, topic: &str) -> impl Iterator<Item = (u64, &Record)> {
        self.records
            .iter()
            .filter(move |record| self.history.channels()[record.channel].topic == topic)
            .map(|record| (record.log_time.as_ns(), record))
    }

    fn odometry(&self) -> Vec<(u64, Odometry)> {
        self.on("/odom").map(|(log_ns, record)| (log_ns, odometry(&record.payload))).collect()
    }
}

fn seconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}

/// First, last and number of some log times.
fn seen(log_times_ns: impl Iterator<Item = u64>) -> Seen {
    log_times_ns.fold(Seen::default(), |seen, log_ns| Seen {
        messages: seen.messages + 1,
        first_ns: seen.first_ns.or(Some(log_ns)),
        last_ns: Some(log_ns),
    })
}

#[test]
fn every_topic_has_the_messages_the_truth_counts() {
    assert_eq!(HOUR.truth.topics.len(), 12);
    let mut total = 0;
    for topic in &HOUR.truth.topics {
        let found = seen(HOUR.on(&topic.topic).map(|(log_ns, _)| log_ns));
        assert_eq!(found.messages, topic.count, "{}", topic.topic);
        assert_eq!((found.first_ns, found.last_ns), (topic.first_ns, topic.last_ns));
        total += topic.count;
    }
    assert_eq!(total, HOUR.records.len() as u64);
}

#[test]
fn windows_add_up_the_steps_of_the_messages_inside() {
    let odometry = HOUR.odometry();
    assert_eq!(HOUR.truth.windows.len(), 20);
    for window in &HOUR.truth.windows {
        let inside: Vec<_> = odometry
            .iter()
            .filter(|(log_ns, _)| (window.start_ns..=window.end_ns).contains(log_ns))
            .collect();
        let (mut way, mut fastest_step) = (0.0, 0.0_f64);
        for pair in inside.windows(2) {
            let ((from_ns, from), (to_ns, to)) = (pair[0], pair[1]);
            let step = (to.x - from.x).hypot(to.y - from.y);
            way += step;
            fastest_step = fastest_step.max(step / seconds(to_ns - from_ns));
        }
        let fastest = inside.iter().map(|it| it.1.forward).fold(0.0, f64::max);
        assert_eq!(inside.len() as u64, window.messages);
        assert!((way - window.distance_m).abs() < 1e-9, "{way} {window:?}");
        assert!((fastest - window.max_twist_mps).abs() < 1e-12);
        assert!((fastest_step - window.max_step_mps).abs() < 1e-9);
    }
    let whole = &HOUR.truth.windows[0];
    assert_eq!(whole.messages, odometry.len() as u64);
    assert!((400.0..1500.0).contains(&whole.distance_m), "{whole:?}");
}

#[test]
fn poses_and_velocities_are_those_of_the_message_before() {
    let odometry = HOUR.odometry();
    let before = |asked_ns| odometry.iter().rfind(|(log_ns, _)| *log_ns <= asked_ns).unwrap();
    assert_eq!(HOUR.truth.poses.len(), 50);
    for sample in &HOUR.truth.poses {
        let (log_ns, message) = before(sample.asked_ns);
        assert_eq!(*log_ns, sample.log_time_ns);
        assert!((message.x - sample.x_m).hypot(message.y - sample.y_m) < 1e-12);
        assert!((message.yaw.to_degrees() - sample.yaw_deg).sin().abs() < 1e-9);
    }
    assert!(HOUR.truth.velocities.iter().any(|sample| sample.linear_x_mps > 0.5));
    for sample in &HOUR.truth.velocities {
        let (log_ns, message) = before(sample.asked_ns);
        assert_eq!(*log_ns, sample.log_time_ns);
        assert!((message.forward - sample.linear_x_mps).abs() < 1e-12);
        assert!((message.turn - sample.angular_z_radps).abs() < 1e-12);
    }
}

/// Where asked times come close to a log time, rounding to a float could change the answer.
#[test]
fn asked_times_are_away_from_all_log_times() {
    let poses = HOUR.truth.poses.iter().map(|sample| sample.asked_ns);
    let velocities = HOUR.truth.velocities.iter().map(|sample| sample.asked_ns);
    let windows = HOUR.truth.windows.iter().skip(1);
    let edges = windows.flat_map(|window| [window.start_ns, window.end_ns]);
    for asked_ns in poses.chain(velocities).chain(edges.filter(|it| *it < HOUR.truth.end_ns)) {
        let after = HOUR.records.partition_point(|it| it.log_time.as_ns() <= asked_ns);
        for record in HOUR.records[..after].last().into_iter().chain(HOUR.records.get(after)) {
            assert!(record.log_time.as_ns().abs_diff(asked_ns) > 1_000_000, "{asked_ns}");
        }
    }
}

#[test]
fn transforms_are_the_chain_of_the_published_edges() {
    let mut edges: BTreeMap<&str, Vec<(u64, [f64; 7])>> = BTreeMap::new();
    for topic in ["/tf", "/tf_static"] {
        for (_, record) in HOUR.on(topic) {
            let (stamp_ns, _, child, values) = transform(&record.payload);
            edges.entry(child).or_default().push((stamp_ns, values));
        }
    }
    let planar = |[x, y, _, _, _, qz, qw]: [f64; 7]| [x, y, 2.0 * qz.atan2(qw)];
    let at = |child: &str, asked_ns: u64, exact: bool| {
        let all = &edges[child];
        let after = all.partition_point(|(stamp_ns, _)| *stamp_ns <= asked_ns);
        let (from_ns, from) = all[after - 1];
        if exact {
            assert_eq!(from_ns, asked_ns, "{child}");
            return planar(from);
        }
        let (to_ns, to) = all[after];
        let part = seconds(asked_ns - from_ns) / seconds(to_ns - from_ns);
        let (from, to) = (planar(from), planar(to));
        let turn = (to[2] - from[2]).sin().atan2((to[2] - from[2]).cos());
        [
            from[0] + part * (to[0] - from[0]),
            from[1] + part * (to[1] - from[1]),
            from[2] + part * turn,
        ]
    };
    assert_eq!(HOUR.truth.transforms.iter().filter(|it| it.exact).count(), 20);
    assert_eq!(HOUR.truth.transforms.len(), 30);
    let camera = edges["camera_link"][0].1;
    for sample in &HOUR.truth.transforms {
        let odom = at("odom", sample.asked_ns, sample.exact);
        let base = at("base_link", sample.asked_ns, sample.exact);
        let yaw = odom[2] + base[2];
        let x = odom[0] + odom[2].cos() * base[0] - odom[2].sin() * base[1] + yaw.cos() * camera[0];
        let y = odom[1] + odom[2].sin() * base[0] + odom[2].cos() * base[1] + yaw.sin() * camera[0];
        let [tx, ty, tz] = sample.translation_m;
        assert!((x - tx).hypot(y - ty) < 1e-9 && (tz - 0.9).abs() < 1e-12, "{sample:?}");
        // Yaw times pitch, as quaternions.
        let (sin, cos) = (0.5 * yaw).sin_cos();
        let (pitch, upright) = (camera[4], camera[6]);
        let expected = [-sin * pitch, cos * pitch, sin * upright, cos * upright];
        let along: f64 = expected.iter().zip(sample.rotation).map(|(a, b)| a * b).sum();
        assert!((along.abs() - 1.0).abs() < 1e-12, "{sample:?}");
    }
}

#[test]
fn labels_are_seen_when_the_truth_says() {
    let lists: Vec<(u64, Vec<String>)> = HOUR
        .on("/vision/scene/scene_objects")
        .map(|(log_ns, record)| (log_ns, serde_json::from_str(text(&record.payload)).unwrap()))
        .collect();
    let arrays: Vec<(u64, Vec<String>)> = HOUR
        .on("/vision/find_object/detections_meta")
        .map(|(log_ns, record)| {
            (log_ns, detections(&record.payload).1.into_iter().map(|it| it.0).collect())
        })
        .collect();
    let with = |all: &[(u64, Vec<String>)], label: &String| {
        seen(all.iter().filter(|it| it.1.contains(label)).map(|it| it.0))
    };
    let odometry = HOUR.odometry();
    for label in &HOUR.truth.labels {
        assert_eq!(with(&lists, &label.label), label.scene_objects, "{}", label.label);
        assert_eq!(with(&arrays, &label.label), label.detections_meta, "{}", label.label);
        let each = arrays.iter().flat_map(|it| &it.1).filter(|it| **it == label.label).count();
        assert_eq!(each as u64, label.detections, "{}", label.label);
        let pose = label.scene_objects.last_ns.map(|last_ns| {
            let before = odometry.iter().rfind(|(log_ns, _)| *log_ns <= last_ns);
            before.unwrap().0
        });
        assert_eq!(pose, label.pose_when_last_seen.as_ref().map(|it| it.log_time_ns));
    }
    let known: Vec<_> = HOUR.truth.labels.iter().map(|it| &it.label).collect();
    assert!(lists.iter().chain(&arrays).flat_map(|it| &it.1).all(|it| known.contains(&it)));
}

#[test]
fn scissors_are_seen_a_few_times_an_hour_and_the_unicorn_never() {
    for seed in 0..12 {
        let truth = history(seed, 3600).truth();
        let label = |name| truth.labels.iter().find(|it| it.label == name).unwrap();
        for seen in [label("scissors").scene_objects, label("scissors").detections_meta] {
            assert!(seen.messages >= 10, "{seed} {seen:?}");
            let apart_ns = seen.last_ns.unwrap() - seen.first_ns.unwrap();
            assert!(apart_ns > 600_000_000_000, "{seed} {seen:?}");
        }
        assert_eq!(label("unicorn").scene_objects, Seen::default());
        assert_eq!(label("unicorn").detections_meta, Seen::default());
        for other in truth.labels.iter().filter(|it| it.label != "unicorn") {
            assert!(other.scene_objects.messages > 0, "{seed} {}", other.label);
        }
        assert!(truth.path_clear.messages > truth.path_blocked.messages);
        assert!(truth.path_blocked.messages > 0, "{seed}");
    }
}

#[test]
fn descriptions_say_whether_the_path_is_clear() {
    let with = |part: &str| {
        let texts = HOUR.on("/vision/scene/scene_description");
        seen(texts.filter(|it| text(&it.1.payload).contains(part)).map(|it| it.0))
    };
    assert_eq!(with("path is clear"), HOUR.truth.path_clear);
    assert_eq!(with("path is blocked"), HOUR.truth.path_blocked);
}

#[test]
fn the_fault_shows_in_diagnostics_log_stop_and_motion() {
    let fault = &HOUR.truth.fault;
    let share = (fault.start_ns - HOUR.truth.start_ns) * 100 / 3_600_000_000_000;
    assert!((60..=65).contains(&share), "{share}");

    let errors = HOUR.on("/diagnostics").filter(|(_, record)| {
        let mut reader = Reader::new(&record.payload);
        reader.header();
        assert_eq!(reader.u32(), 4);
        let (level, name, message) = (reader.u8(), reader.string(), reader.string());
        assert_eq!(name, fault.name);
        assert_eq!(level == 2, message == fault.message);
        level == 2
    });
    assert_eq!(seen(errors.map(|it| it.0)), fault.diagnostics);
    assert_eq!(fault.diagnostics.messages, 24);

    let lines = HOUR.on("/rosout").filter(|(_, record)| {
        let mut reader = Reader::new(&record.payload);
        let (_, _, level) = (reader.i32(), reader.u32(), reader.u8());
        let (name, message) = (reader.string(), reader.string());
        assert_eq!(level == 40, (name, message) == ("base_driver", &*fault.message));
        level == 40
    });
    assert_eq!(seen(lines.map(|it| it.0)), fault.log_lines);
    assert_eq!(fault.log_lines.messages, 1);

    let stops: Vec<_> =
        HOUR.on("/estop").map(|(log_ns, record)| (log_ns, record.payload[4])).collect();
    assert_eq!(stops.iter().map(|it| it.1).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(Some(stops[1].0), HOUR.truth.last_estop_true_ns);
    assert_eq!(Some(stops[2].0), fault.released_ns);
    assert!(fault.start_ns < stops[1].0 && stops[2].0 < fault.end_ns);

    let odometry = HOUR.odometry();
    let speed_at = |from_ns: u64, to_ns: u64| {
        let inside = odometry.iter().filter(|it| (from_ns..to_ns).contains(&it.1.stamp_ns));
        inside.map(|it| it.1.forward).fold(0.0, f64::max)
    };
    let second_ns = 1_000_000_000;
    assert!(speed_at(fault.start_ns - second_ns / 2, fault.start_ns) > 0.5);
    assert!(speed_at(fault.start_ns + second_ns, fault.end_ns) < 1e-9);
    assert!(speed_at(fault.end_ns, fault.end_ns + second_ns) > 0.5);
}

#[test]
fn the_last_time_near_a_point_is_the_last_message_within_reach() {
    let odometry = HOUR.odometry();
    for point in &HOUR.truth.near {
        let last = odometry
            .iter()
            .rfind(|it| (it.1.x - point.x_m).hypot(it.1.y - point.y_m) <= point.tolerance_m);
        assert_eq!(last.map(|it| it.0), point.log_time_ns, "{point:?}");
    }
    assert!(HOUR.truth.near.iter().any(|point| point.log_time_ns.is_none()));
    assert!(HOUR.truth.near.iter().filter(|point| point.log_time_ns.is_some()).count() > 10);
}

#[test]
fn the_truth_survives_json() {
    let text = serde_json::to_string(&HOUR.truth).unwrap();
    let back: Truth = serde_json::from_str(&text).unwrap();
    assert_eq!(back.fault, HOUR.truth.fault);
    assert_eq!(back.topics, HOUR.truth.topics);
    for (read, written) in back.windows.iter().zip(&HOUR.truth.windows) {
        assert!((read.distance_m - written.distance_m).abs() < 1e-9);
        assert_eq!(read.start_ns, written.start_ns);
    }
}

#[test]
fn the_shortest_history_has_a_fault_too() {
    for seed in 0..20 {
        let truth = history(seed, 10).truth();
        assert!(truth.start_ns < truth.fault.start_ns && truth.fault.end_ns < truth.end_ns);
        assert!(truth.fault.diagnostics.messages > 0 && truth.last_estop_true_ns.is_some());
        assert!(truth.fault.released_ns.is_some());
    }
}
