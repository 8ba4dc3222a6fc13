//! A look-up through four moving edges in a buffer of 100,000 samples.

#![expect(clippy::unwrap_used, reason = "a bench that cannot run has nobody to tell")]

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use ros2_memory_tf::{Buffer, Limits, Quaternion, Run, Transform};
use ros2_memory_time::LogTime;

const EDGES: [(&str, &str); 4] =
    [("map", "odom"), ("odom", "base_link"), ("base_link", "arm"), ("arm", "camera")];
const SAMPLES_PER_EDGE: u64 = 25_000;
const PERIOD_NS: u64 = 20_000_000;
const START_NS: u64 = 1_767_225_600_000_000_000;
/// Look-ups measured at once.
const LOOKUPS: u64 = 1_000;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    lookup(&mut criterion);
    criterion.final_summary();
}

fn lookup(criterion: &mut Criterion) {
    let buffer = filled();
    let mut group = criterion.benchmark_group("tf_lookup");
    group.throughput(Throughput::Elements(LOOKUPS));
    // A step that shares no factor with the number of samples reaches times all over.
    let spread = |i: u64| {
        let sample = i * 7_919 % (SAMPLES_PER_EDGE - 1);
        LogTime::from_ns(START_NS + sample * PERIOD_NS + PERIOD_NS / 3)
    };
    group.bench_function("four_edges_interpolated", |b| {
        b.iter(|| {
            for i in 0..LOOKUPS {
                black_box(buffer.lookup("map", "camera", spread(i)).unwrap());
            }
        });
    });
    group.bench_function("one_edge_interpolated", |b| {
        b.iter(|| {
            for i in 0..LOOKUPS {
                black_box(buffer.lookup("odom", "base_link", spread(i)).unwrap());
            }
        });
    });
    group.throughput(Throughput::Elements(SAMPLES_PER_EDGE * EDGES.len() as u64));
    group.sample_size(20);
    group.bench_function("fill", |b| b.iter_with_large_drop(filled));
    group.finish();
}

fn filled() -> Buffer {
    let mut buffer = Buffer::new(Limits::default());
    for i in 0..SAMPLES_PER_EDGE {
        let at = LogTime::from_ns(START_NS + i * PERIOD_NS);
        let angle = 1e-3 * f64::from(u32::try_from(i).unwrap());
        let (sin, cos) = (0.5 * angle).sin_cos();
        let rotation = Quaternion { x: 0.0, y: 0.0, z: sin, w: cos };
        let transform = Transform { translation_m: [angle, 0.5, 0.0], rotation };
        for (parent, child) in EDGES {
            buffer.insert(parent, child, at, Run(0), transform).unwrap();
        }
    }
    buffer
}
