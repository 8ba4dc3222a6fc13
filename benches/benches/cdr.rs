//! The position out of odometry messages: by a plan that skips, by decoding the whole message,
//! and by the peer's typed decoding.

#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nobody to tell")]

use std::{hint::black_box, sync::Arc};

use byteorder::LittleEndian;
use criterion::{Criterion, Throughput};
use ros2_memory_benches::Data;
use ros2_memory_msg::{DecodeLimits, FieldPath, Library, Plan, Scalar, Schema, Value, decode};
use serde::Deserialize;

const POSITION: [&str; 3] =
    ["pose.pose.position.x", "pose.pose.position.y", "pose.pose.position.z"];
/// The splits whose odometry is used.
const SPLITS: usize = 20;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    position(&mut criterion);
    criterion.final_summary();
}

fn position(criterion: &mut Criterion) {
    let history = Data::under(env!("CARGO_TARGET_TMPDIR")).history().unwrap();
    let odom = history.channels().iter().position(|it| it.topic == "/odom").unwrap();
    let text = &history.channels().get(odom).unwrap().definition;
    let schema = Schema::parse("nav_msgs/msg/Odometry", text, &Library::new()).unwrap();
    let schema = Arc::new(schema);
    let payloads: Vec<Vec<u8>> = (0..SPLITS)
        .flat_map(|split| history.split(split))
        .filter(|record| record.channel == odom)
        .map(|record| record.payload)
        .collect();
    let paths = POSITION.map(|path| path.parse::<FieldPath>().unwrap());
    let plan = Plan::compile(schema.clone(), &paths).unwrap();

    let bits = |sums: [f64; 3]| sums.map(f64::to_bits);
    let expected = bits(all(&payloads, |payload| by_plan(&plan, payload)));
    assert_eq!(expected, bits(all(&payloads, |payload| by_decoding(&schema, payload))));
    assert_eq!(expected, bits(all(&payloads, by_peer)));

    let mut group = criterion.benchmark_group("odometry_position");
    group.throughput(Throughput::Elements(payloads.len() as u64));
    group.bench_function("plan", |b| {
        b.iter(|| all(&payloads, |payload| by_plan(&plan, payload)));
    });
    group.bench_function("whole_message", |b| {
        b.iter(|| all(&payloads, |payload| by_decoding(&schema, payload)));
    });
    group.bench_function("peer_cdr_encoding", |b| b.iter(|| all(&payloads, by_peer)));
    group.finish();
}

fn all(payloads: &[Vec<u8>], position: impl Fn(&[u8]) -> [f64; 3]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for payload in payloads {
        let position = position(black_box(payload));
        for (sum, value) in sum.iter_mut().zip(position) {
            *sum += value;
        }
    }
    sum
}

fn by_plan(plan: &Plan, payload: &[u8]) -> [f64; 3] {
    let mut position = [0.0; 3];
    plan.run(payload, |path, value| {
        if let (Some(place), Some(x)) = (position.get_mut(path), value.as_f64()) {
            *place = x;
        }
    })
    .unwrap();
    position
}

fn by_decoding(schema: &Schema, payload: &[u8]) -> [f64; 3] {
    let message = decode(schema, payload, DecodeLimits::NONE).unwrap();
    let point = field(field(field(&message, 2), 0), 0);
    [0, 1, 2].map(|place| match field(point, place) {
        Value::Scalar(Scalar::F64(x)) => *x,
        other => panic!("no number: {other:?}"),
    })
}

/// The field with this place in a struct.
fn field<'v, 'a>(value: &'v Value<'a>, place: usize) -> &'v Value<'a> {
    match value {
        Value::Struct(fields) => fields.fields.get(place).unwrap(),
        other => panic!("no struct: {other:?}"),
    }
}

fn by_peer(payload: &[u8]) -> [f64; 3] {
    let body = payload.get(4..).unwrap();
    let (message, _) = cdr_encoding::from_bytes::<Odometry, LittleEndian>(body).unwrap();
    black_box(&message);
    message.pose.pose.position
}

/// `nav_msgs/msg/Odometry` as a type of Rust. The peer lends no strings, so they are owned.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the peer fills the whole message, whatever is read of it")]
struct Odometry {
    stamp: (i32, u32),
    frame_id: String,
    child_frame_id: String,
    pose: PoseWithCovariance,
    twist: TwistWithCovariance,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the peer fills the whole message, whatever is read of it")]
struct PoseWithCovariance {
    pose: Pose,
    covariance: Covariance,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the peer fills the whole message, whatever is read of it")]
struct Pose {
    position: [f64; 3],
    orientation: [f64; 4],
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "the peer fills the whole message, whatever is read of it")]
struct TwistWithCovariance {
    linear: [f64; 3],
    angular: [f64; 3],
    covariance: Covariance,
}

/// 36 numbers in two halves: serde's arrays end at 32.
type Covariance = ([f64; 18], [f64; 18]);
